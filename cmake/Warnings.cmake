# colock_warnings(target): the warnings of our own targets. Boost's headers come as system headers
# and stay silent.
function(colock_warnings target)
    # An implicit change of sign alone is everywhere in code with sizes and differences.
    target_compile_options(${target} PRIVATE
        -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wno-sign-conversion)
    if(COLOCK_WERROR)
        target_compile_options(${target} PRIVATE -Werror)
    endif()
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # g++ 12 takes the frame allocation of an Asio coroutine, where it is inlined, for one that
        # the matching operator delete does not know.
        target_compile_options(${target} PRIVATE -Wno-mismatched-new-delete)
    endif()
    # Some targets are compiled so in each build.
    set(unity "$<BOOL:$<TARGET_PROPERTY:UNITY_BUILD>>")
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # Unnamed namespaces of included files are fine where the files are sources.
        target_compile_options(${target} PRIVATE $<${unity}:-Wno-subobject-linkage>)
    elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        # A parameter in a header may be called as a constant of a source that happens to come before
        # it. The builds clang and alone compile each source by itself, with this warning.
        target_compile_options(${target} PRIVATE $<${unity}:-Wno-shadow>)
    endif()
    if(COLOCK_SANITIZE AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # The checks that a sanitizer inserts hide from g++ that a variable is set.
        target_compile_options(${target} PRIVATE -Wno-maybe-uninitialized)
    endif()
endfunction()
