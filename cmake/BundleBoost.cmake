# Gathers the headers of Boost that come with colock; see bundle_boost.py.
find_package(Python3 REQUIRED COMPONENTS Interpreter)
execute_process(
    COMMAND "${Python3_EXECUTABLE}" "${PROJECT_SOURCE_DIR}/cmake/bundle_boost.py"
        "${CMAKE_CXX_COMPILER}" "${PROJECT_SOURCE_DIR}/include" "${Boost_INCLUDE_DIRS}"
        "${colock_boost_headers}"
    OUTPUT_VARIABLE bundled
    OUTPUT_STRIP_TRAILING_WHITESPACE
    COMMAND_ERROR_IS_FATAL ANY)
message(STATUS "Boost's headers for the package: ${bundled}")
