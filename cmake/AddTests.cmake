# colock_add_tests(program LABEL label SOURCES file...
#                  [TIMEOUT seconds] [PROCESSORS n] [LINK library...] [ALONE])
#
# ALONE: linked to nothing but what LINK names, for a program that has a colock of its own.
#
# Builds a program of Boost.Test units and gives ctest one test per top-level suite, label.suite.
# The list of suites is made when the program is built, so a new suite needs no new configure run.
function(colock_add_tests program)
    cmake_parse_arguments(PARSE_ARGV 1 arg "ALONE" "LABEL;TIMEOUT;PROCESSORS" "SOURCES;LINK")
    if(NOT arg_SOURCES)
        return()
    endif()
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 120)
    endif()
    # It ends what hangs; how long something may take is for the tests to say. A sanitizer makes
    # them five to fifteen times as slow.
    if(COLOCK_SANITIZE)
        math(EXPR arg_TIMEOUT "${arg_TIMEOUT} * 5")
    endif()
    # With a sanitizer bounds are ten times as wide, and need no quiet machine.
    if(NOT arg_PROCESSORS OR COLOCK_SANITIZE)
        set(arg_PROCESSORS 1)
    endif()

    set(sources)
    foreach(source IN LISTS arg_SOURCES)
        cmake_path(ABSOLUTE_PATH source)
        string(APPEND sources " ${source}")
    endforeach()
    string(STRIP "${sources}" sources)

    set(list "${CMAKE_CURRENT_BINARY_DIR}/${program}-suites.cmake")
    set(lister "${PROJECT_SOURCE_DIR}/cmake/list_suites.py")
    add_custom_command(
        OUTPUT "${list}"
        COMMAND "${Python3_EXECUTABLE}" "${lister}" "${list}"
            --program "$<TARGET_FILE:${program}>" --label ${arg_LABEL}
            --timeout ${arg_TIMEOUT} --processors ${arg_PROCESSORS}
            ${arg_SOURCES}
        DEPENDS "${lister}" ${arg_SOURCES}
        COMMENT "Listing the suites of ${program}"
        VERBATIM)

    add_executable(${program} ${arg_SOURCES} "${list}")
    if(arg_ALONE)
        set(main "${PROJECT_SOURCE_DIR}/test/support/boost_test_main.cpp")
        target_sources(${program} PRIVATE "${main}")
        colock_compile_alone("${main}")
        target_link_libraries(${program} PRIVATE ${arg_LINK})
    else()
        target_link_libraries(${program}
            PRIVATE colock-test-main colock-test-support ${arg_LINK})
        colock_precompile(${program} FROM colock-test-headers)
    endif()
    colock_warnings(${program})
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        # g++ 12 takes the frame of a coroutine in a template, such as a case with data, for a type of
        # a header. Where it inlines a hook of Boost.Intrusive, it sees that the hook reads a bit which
        # nobody has set, and not that nobody uses that bit.
        target_compile_options(${program} PRIVATE
            -Wno-subobject-linkage $<$<NOT:$<CONFIG:Debug>>:-Wno-maybe-uninitialized>)
    endif()
    if(arg_LABEL STREQUAL "unit")
        colock_sanitize_tests(${program} DECISIONS)
    else()
        colock_sanitize_tests(${program})
    endif()

    # tools/running reads it.
    set_property(GLOBAL APPEND PROPERTY colock_test_programs "${arg_LABEL} ${program} ${sources}")

    # A program that isn't built yet shows as a test that fails.
    set(include "${CMAKE_CURRENT_BINARY_DIR}/${program}-tests.cmake")
    file(CONFIGURE OUTPUT "${include}" @ONLY CONTENT [[
if(EXISTS "@list@")
    include("@list@")
else()
    add_test("@arg_LABEL@.not_built" "@program@")
    set_tests_properties("@arg_LABEL@.not_built" PROPERTIES LABELS "@arg_LABEL@")
endif()
]])
    set_property(DIRECTORY APPEND PROPERTY TEST_INCLUDE_FILES "${include}")
endfunction()
