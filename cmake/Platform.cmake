# Refuses what colock is not built for, in one sentence, before a compiler has its say in hundreds.
# docs/install.md has the table of what runs, and what is only built.

if(CMAKE_SCRIPT_MODE_FILE)  # test/setup/platforms.py
    cmake_minimum_required(VERSION 3.25)
endif()

function(colock_check_platform)
    set(systems Linux Darwin FreeBSD Windows)
    if(NOT CMAKE_SYSTEM_NAME IN_LIST systems)
        message(FATAL_ERROR
            "colock needs Linux, macOS, FreeBSD or Windows, and this build is for ${CMAKE_SYSTEM_NAME}.")
    endif()
    if(NOT CMAKE_SIZEOF_VOID_P EQUAL 8)
        message(FATAL_ERROR
            "colock needs a 64-bit target, and ${CMAKE_CXX_COMPILER} compiles for another one.")
    endif()
    set(least_GNU 12)
    set(least_Clang 16)
    set(least_AppleClang 16)
    set(least "${least_${CMAKE_CXX_COMPILER_ID}}")
    if(NOT least OR CMAKE_CXX_COMPILER_VERSION VERSION_LESS least)
        message(FATAL_ERROR
            "colock needs g++ ${least_GNU}, Clang ${least_Clang}, Apple Clang ${least_AppleClang} or newer "
            "(on Windows those of MinGW), and ${CMAKE_CXX_COMPILER} is "
            "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}.")
    endif()
    if(WIN32 AND BUILD_SHARED_LIBS)
        message(FATAL_ERROR "on Windows colock needs BUILD_SHARED_LIBS=OFF: it is a static library alone there.")
    endif()
endfunction()

# Sets `flag` to what a compiler needs to have std::stop_token: libc++ before 20, and that of Apple,
# have it only among their experimental parts.
function(colock_find_stop_token flag)
    include(CheckCXXSourceCompiles)
    set(source "#include <stop_token>\nint main() { return std::stop_source{}.stop_requested(); }")
    set(CMAKE_CXX_STANDARD 20)
    set(${flag} "" PARENT_SCOPE)
    check_cxx_source_compiles("${source}" COLOCK_HAS_STOP_TOKEN)
    if(COLOCK_HAS_STOP_TOKEN)
        return()
    endif()
    set(CMAKE_REQUIRED_FLAGS -fexperimental-library)
    check_cxx_source_compiles("${source}" COLOCK_HAS_EXPERIMENTAL_STOP_TOKEN)
    if(NOT COLOCK_HAS_EXPERIMENTAL_STOP_TOKEN)
        message(FATAL_ERROR
            "colock needs a C++ library with std::stop_token (libstdc++ 10, libc++ 20, or libc++ 18 with "
            "-fexperimental-library), and that of ${CMAKE_CXX_COMPILER} has none.")
    endif()
    set(${flag} -fexperimental-library PARENT_SCOPE)
endfunction()

if(CMAKE_SCRIPT_MODE_FILE)
    colock_check_platform()
endif()
