# What `cmake --install` copies, and what CPack makes packages of: the libraries, their headers, a
# package for find_package(colock), another for pkg-config, the command.
include(CMakePackageConfigHelpers)

set(colock_package "${CMAKE_INSTALL_LIBDIR}/cmake/colock")
# Boost's types are part of the library's binary interface, so its user must have the same release.
set(colock_boost_release "${Boost_VERSION_MAJOR}.${Boost_VERSION_MINOR}")
# For a system that has no Boost of this release: the headers that colock's users need come with it.
set(colock_bundles OFF)
if(colock_boost_is_fetched)
    set(colock_bundles ON)
endif()
option(COLOCK_BUNDLE_BOOST "Install the headers of Asio and what they include beside colock's"
    ${colock_bundles})

function(colock_install target export)
    install(TARGETS ${target} EXPORT ${export}
        RUNTIME COMPONENT tools
        ARCHIVE COMPONENT dev
        LIBRARY COMPONENT lib NAMELINK_COMPONENT dev)
    install(EXPORT ${export} NAMESPACE colock:: DESTINATION "${colock_package}" COMPONENT dev)
endfunction()

# Static and shared are two exports of the same name: the package takes one of them.
get_target_property(colock_type colock TYPE)
if(colock_type STREQUAL "SHARED_LIBRARY")
    colock_install(colock colockSharedTargets)
else()
    colock_install(colock colockStaticTargets)
    if(COLOCK_BOTH_LIBRARIES)
        colock_install(colock_shared colockSharedTargets)
    endif()
endif()
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/colock"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT dev
    FILES_MATCHING PATTERN "*.hpp")

if(TARGET colock_spdlog)
    # An export of its own: who hasn't got spdlog can still find colock.
    colock_install(colock_spdlog colockSpdlogTargets)
endif()

# What users test with: the same.
if(TARGET colock_testing)
    colock_install(colock_testing colockTestingTargets)
endif()

if(COLOCK_BUNDLE_BOOST)
    set(colock_boost_headers "${PROJECT_BINARY_DIR}/colock-boost")
    include(cmake/BundleBoost.cmake)
    install(DIRECTORY "${colock_boost_headers}"
        DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}" COMPONENT dev)
    set(colock_boost_hint)
elseif(colock_boost_is_fetched)
    set(colock_boost_hint)
else()
    set(colock_boost_hint "HINTS [[${Boost_DIR}]]")
endif()

if(TARGET colock_prometheus)
    # And who hasn't got prometheus-cpp.
    colock_install(colock_prometheus colockPrometheusTargets)
endif()

configure_package_config_file(
    "${PROJECT_SOURCE_DIR}/cmake/colockConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/colockConfig.cmake"
    INSTALL_DESTINATION "${colock_package}"
    PATH_VARS CMAKE_INSTALL_INCLUDEDIR
    NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor release may change the interface.
write_basic_package_version_file(
    "${PROJECT_BINARY_DIR}/colockConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES
    "${PROJECT_BINARY_DIR}/colockConfig.cmake"
    "${PROJECT_BINARY_DIR}/colockConfigVersion.cmake"
    "${PROJECT_SOURCE_DIR}/cmake/colockLua.cmake"
    DESTINATION "${colock_package}" COMPONENT dev)

# ---- pkg-config ------------------------------------------------------------------------------

if(COLOCK_BUNDLE_BOOST)
    set(colock_pc_boost "-isystem\${includedir}/colock-boost")
elseif(NOT Boost_INCLUDE_DIRS STREQUAL "/usr/include")
    set(colock_pc_boost "-isystem${Boost_INCLUDE_DIRS}")
endif()
list(TRANSFORM colock_system_libraries PREPEND " -l" OUTPUT_VARIABLE colock_pc_system)
string(REPLACE ";" "" colock_pc_system "${colock_pc_system}")
file(RELATIVE_PATH colock_pc_up "/p/${CMAKE_INSTALL_LIBDIR}/pkgconfig" /p)
string(REGEX REPLACE "/$" "" colock_pc_up "${colock_pc_up}")
configure_file(cmake/colock.pc.in "${PROJECT_BINARY_DIR}/colock.pc" @ONLY)
install(FILES "${PROJECT_BINARY_DIR}/colock.pc"
    DESTINATION "${CMAKE_INSTALL_LIBDIR}/pkgconfig" COMPONENT dev)

include(cmake/Debian.cmake)
