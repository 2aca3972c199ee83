# colock_sanitize(target): builds the target, and whatever links it, with COLOCK_SANITIZE.
function(colock_sanitize target)
    if(NOT COLOCK_SANITIZE)
        return()
    endif()
    set(flags -fsanitize=${COLOCK_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer)
    target_compile_options(${target} PUBLIC ${flags})
    target_link_options(${target} PUBLIC ${flags})
    if(COLOCK_SANITIZE MATCHES "address")
        # Asio keeps freed memory for the next operation, where a use after free goes unseen.
        # All units must agree on these, so they are public.
        target_compile_definitions(${target} PUBLIC
            BOOST_ASIO_DISABLE_AWAITABLE_FRAME_RECYCLING
            BOOST_ASIO_DISABLE_SMALL_BLOCK_RECYCLING)
    endif()
endfunction()

# colock_sanitize_tests(target [DECISIONS]): what a sanitizer costs a test to compile is spent where
# it finds something. A test itself is checked for undefined behaviour only where it has DECISIONS
# inside, which are in headers.
function(colock_sanitize_tests target)
    if(NOT COLOCK_SANITIZE)
        return()
    endif()
    if(COLOCK_SANITIZE MATCHES "undefined" AND NOT "DECISIONS" IN_LIST ARGN)
        target_compile_options(${target} PRIVATE -fno-sanitize=undefined)
    endif()
endfunction()
