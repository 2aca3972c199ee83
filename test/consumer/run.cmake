# Installs the build in COLOCK_BINARY_DIR to a fresh prefix, then builds and runs the project beside
# this file against what is there.
cmake_minimum_required(VERSION 3.25)

set(work "${COLOCK_BINARY_DIR}/consumer")
file(REMOVE_RECURSE "${work}")

function(run)
    execute_process(COMMAND ${ARGV} COMMAND_ERROR_IS_FATAL ANY)
endfunction()

run("${CMAKE_COMMAND}" --install "${COLOCK_BINARY_DIR}" --prefix "${work}/prefix")
run("${CMAKE_COMMAND}" -S "${CONSUMER_DIR}" -B "${work}/build" -G Ninja
    "-DCMAKE_PREFIX_PATH=${work}/prefix"
    "-DCMAKE_CXX_COMPILER=${COMPILER}"
    "-DCMAKE_CXX_COMPILER_LAUNCHER=${LAUNCHER}"
    "-DCMAKE_BUILD_TYPE=${BUILD_TYPE}")
run("${CMAKE_COMMAND}" --build "${work}/build")
run("${work}/build/consumer")
