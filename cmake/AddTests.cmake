# colock_add_tests(program LABEL label SOURCES file...
#                  [TIMEOUT seconds] [PROCESSORS n] [LINK library...])
#
# Builds a program of Boost.Test units and gives ctest one test per top-level suite, label.suite.
# The list of suites is made when the program is built, so a new suite needs no new configure run.
function(colock_add_tests program)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "LABEL;TIMEOUT;PROCESSORS" "SOURCES;LINK")
    if(NOT arg_SOURCES)
        return()
    endif()
    if(NOT arg_TIMEOUT)
        set(arg_TIMEOUT 120)
    endif()
    # With a sanitizer bounds are ten times as wide, and need no quiet machine.
    if(NOT arg_PROCESSORS OR COLOCK_SANITIZE)
        set(arg_PROCESSORS 1)
    endif()

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
    target_link_libraries(${program} PRIVATE colock-test-main colock-test-support ${arg_LINK})
    colock_warnings(${program})
    if(arg_LABEL STREQUAL "unit")
        colock_sanitize_tests(${program} DECISIONS)
    else()
        colock_sanitize_tests(${program})
    endif()

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
