# cpack -G DEB, in a build with -DCMAKE_INSTALL_PREFIX=/usr -DCOLOCK_BOTH_LIBRARIES=ON
# -DCOLOCK_BUNDLE_BOOST=ON: libcolock0.3, libcolock-dev, and colock-tools where the command is built.
# tools/packages does it and tries what comes out.
set(soversion "${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}")
set(CPACK_COMPONENTS_ALL lib dev)
if(TARGET colock-cli)
    list(APPEND CPACK_COMPONENTS_ALL tools)
endif()

set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME colock)
set(CPACK_PACKAGE_VENDOR "the colock authors")
# The first line of each description.
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "distributed locks over Redis or Valkey, as Redisson has them")
# Nobody maintains the packages until packaging/owner.json names somebody.
set(CPACK_PACKAGE_CONTACT "nobody <nobody@localhost>")
set(owner "${PROJECT_SOURCE_DIR}/packaging/owner.json")
if(EXISTS "${owner}")
    file(READ "${owner}" owner)
    string(JSON maintainer GET "${owner}" maintainer)
    if(NOT maintainer MATCHES "^PUT IN")
        set(CPACK_PACKAGE_CONTACT "${maintainer}")
    endif()
endif()
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_RELEASE 1)
set(CPACK_DEBIAN_COMPRESSION_TYPE xz)
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS_POLICY ">=")
set(CPACK_DEBIAN_ENABLE_COMPONENT_DEPENDS OFF)
set(CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS
    OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ WORLD_EXECUTE)

set(CPACK_DEBIAN_LIB_PACKAGE_NAME "libcolock${soversion}")
set(CPACK_DEBIAN_LIB_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_LIB_PACKAGE_CONTROL_EXTRA "${PROJECT_SOURCE_DIR}/packaging/cpack/triggers")
set(CPACK_COMPONENT_LIB_DESCRIPTION
    "Locks that processes share through a Redis or Valkey server, for C++20
coroutines on Boost.Asio. This is the shared library.")

set(CPACK_DEBIAN_DEV_PACKAGE_NAME libcolock-dev)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_DEV_PACKAGE_DEPENDS
    "libcolock${soversion} (= ${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}), libssl-dev")
set(CPACK_DEBIAN_DEV_PACKAGE_SUGGESTS "redis-server, liblua5.1-0-dev, libspdlog-dev, prometheus-cpp-dev")
set(CPACK_COMPONENT_DEV_DESCRIPTION
    "Headers, libraries, and the packages for find_package and pkg-config. With
them come the headers of Asio from Boost ${Boost_VERSION}, in a folder of their own:
they are part of the library's binary interface.")

set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME colock-tools)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION utils)
set(CPACK_COMPONENT_TOOLS_DESCRIPTION
    "The colock command: runs a command while it has a lock, says who holds which,
and checks a server's settings.")

# ---- What Debian wants of each package -------------------------------------------------------

set(CPACK_RESOURCE_FILE_LICENSE "${PROJECT_SOURCE_DIR}/LICENSE")
set(CPACK_COLOCK_CHANGELOG "${PROJECT_BINARY_DIR}/changelog.Debian")
file(WRITE "${CPACK_COLOCK_CHANGELOG}"
"colock (${PROJECT_VERSION}-${CPACK_DEBIAN_PACKAGE_RELEASE}) unstable; urgency=low

  * Release ${PROJECT_VERSION}.

 -- ${CPACK_PACKAGE_CONTACT}  Thu, 01 Jan 1970 00:00:00 +0000
")
set(CPACK_PRE_BUILD_SCRIPTS "${PROJECT_SOURCE_DIR}/packaging/cpack/layout.cmake")

set(CPACK_PACKAGE_DIRECTORY "${PROJECT_BINARY_DIR}/packages")

include(CPack)
