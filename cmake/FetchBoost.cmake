# Where find_package has found no Boost: downloads the headers of a release if COLOCK_FETCH_BOOST says
# so, and otherwise tells how to get one. FETCHCONTENT_SOURCE_DIR_COLOCK_BOOST names a folder with
# Boost's headers in boost/; then nothing is downloaded.

if(NOT COLOCK_FETCH_BOOST)
    set(older)
    if(Boost_CONSIDERED_VERSIONS)
        list(JOIN Boost_CONSIDERED_VERSIONS ", " older)
        set(older " (found, but too old: ${older})")
    endif()
    message(FATAL_ERROR
        "colock needs the headers of Boost >= ${colock_boost_least}${older}. One of these brings them:\n"
        "  * Debian 13, Ubuntu 24.04 or newer: apt install libboost-dev\n"
        "  * Fedora: dnf install boost-devel\n"
        "  * Debian 12: tools/setup --library, which unpacks them into .deps/\n"
        "  * a Boost elsewhere: -DCMAKE_PREFIX_PATH=FOLDER\n"
        "  * -DCOLOCK_FETCH_BOOST=ON, which downloads a release of Boost")
endif()

# The headers of this archive are in one folder, as those of an installed Boost are.
set(COLOCK_BOOST_URL
    "https://github.com/boostorg/boost/releases/download/boost-1.92.0/boost-1.92.0-b2-nodocs.tar.xz"
    CACHE STRING "The archive that COLOCK_FETCH_BOOST downloads")
set(COLOCK_BOOST_HASH "SHA256=ea7b982002cc9dfbe59b0b217b206f470dc75f3de0bb2973d844118934d82411"
    CACHE STRING "Its hash, as FetchContent's URL_HASH")
mark_as_advanced(COLOCK_BOOST_URL COLOCK_BOOST_HASH)

include(FetchContent)
FetchContent_Declare(colock_boost
    URL "${COLOCK_BOOST_URL}"
    URL_HASH "${COLOCK_BOOST_HASH}"
    DOWNLOAD_EXTRACT_TIMESTAMP OFF
    SOURCE_SUBDIR colock-builds-nothing-of-it)
FetchContent_MakeAvailable(colock_boost)

set(Boost_INCLUDE_DIRS "${colock_boost_SOURCE_DIR}")
set(version_header "${Boost_INCLUDE_DIRS}/boost/version.hpp")
if(NOT EXISTS "${version_header}")
    message(FATAL_ERROR "no Boost: ${version_header} is missing")
endif()
file(STRINGS "${version_header}" version REGEX "^#define BOOST_VERSION [0-9]+")
string(REGEX REPLACE "[^0-9]" "" version "${version}")
math(EXPR Boost_VERSION_MAJOR "${version} / 100000")
math(EXPR Boost_VERSION_MINOR "${version} / 100 % 1000")
math(EXPR Boost_VERSION_PATCH "${version} % 100")
set(Boost_VERSION "${Boost_VERSION_MAJOR}.${Boost_VERSION_MINOR}.${Boost_VERSION_PATCH}")
if(Boost_VERSION VERSION_LESS colock_boost_least)
    message(FATAL_ERROR
        "colock needs Boost >= ${colock_boost_least}, and ${version_header} is that of ${Boost_VERSION}")
endif()

add_library(Boost::headers INTERFACE IMPORTED GLOBAL)
set_target_properties(Boost::headers PROPERTIES INTERFACE_INCLUDE_DIRECTORIES "${Boost_INCLUDE_DIRS}")
set(Boost_FOUND TRUE)
set(Boost_DIR "${Boost_INCLUDE_DIRS}")
set(colock_boost_is_fetched TRUE)
