# What `cmake --install` copies: the library, its headers and a package for find_package(colock).
include(CMakePackageConfigHelpers)

set(colock_package "${CMAKE_INSTALL_LIBDIR}/cmake/colock")
# Boost's types are part of the library's binary interface, so its user must have the same release.
set(colock_boost_release "${Boost_VERSION_MAJOR}.${Boost_VERSION_MINOR}")

install(TARGETS colock EXPORT colockTargets)
install(EXPORT colockTargets NAMESPACE colock:: DESTINATION "${colock_package}")
install(DIRECTORY "${PROJECT_SOURCE_DIR}/include/colock"
    DESTINATION "${CMAKE_INSTALL_INCLUDEDIR}"
    FILES_MATCHING PATTERN "*.hpp")

if(TARGET colock_spdlog)
    # An export of its own: who hasn't got spdlog can still find colock.
    install(TARGETS colock_spdlog EXPORT colockSpdlogTargets)
    install(EXPORT colockSpdlogTargets NAMESPACE colock:: DESTINATION "${colock_package}")
endif()

configure_package_config_file(
    "${PROJECT_SOURCE_DIR}/cmake/colockConfig.cmake.in"
    "${PROJECT_BINARY_DIR}/colockConfig.cmake"
    INSTALL_DESTINATION "${colock_package}"
    NO_SET_AND_CHECK_MACRO)
# Before 1.0 a minor release may change the interface.
write_basic_package_version_file(
    "${PROJECT_BINARY_DIR}/colockConfigVersion.cmake"
    COMPATIBILITY SameMinorVersion)
install(FILES
    "${PROJECT_BINARY_DIR}/colockConfig.cmake"
    "${PROJECT_BINARY_DIR}/colockConfigVersion.cmake"
    DESTINATION "${colock_package}")
install(FILES "${PROJECT_SOURCE_DIR}/LICENSE" DESTINATION "${CMAKE_INSTALL_DOCDIR}")
