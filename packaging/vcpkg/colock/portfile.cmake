if(VCPKG_TARGET_IS_MINGW)
    vcpkg_check_linkage(ONLY_STATIC_LIBRARY)
endif()

vcpkg_download_distfile(ARCHIVE
    URLS "@ARCHIVE@"
    FILENAME "colock-@VERSION@.tar.gz"
    SHA512 @SHA512@
)
vcpkg_extract_source_archive(SOURCE_PATH ARCHIVE "${ARCHIVE}")

vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        -DCOLOCK_BUILD_TESTS=OFF
        -DCOLOCK_BUILD_BENCH=OFF
        -DCOLOCK_BUILD_TOOLS=OFF
        -DCOLOCK_BUILD_EXAMPLES=OFF
        -DCOLOCK_BOTH_LIBRARIES=OFF
        -DCMAKE_DISABLE_FIND_PACKAGE_spdlog=ON
        -DCMAKE_DISABLE_FIND_PACKAGE_prometheus-cpp=ON
        -DCMAKE_DISABLE_FIND_PACKAGE_Lua=ON
    MAYBE_UNUSED_VARIABLES
        COLOCK_BOTH_LIBRARIES
)
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/colock)
vcpkg_fixup_pkgconfig()

file(REMOVE_RECURSE
    "${CURRENT_PACKAGES_DIR}/debug/include"
    "${CURRENT_PACKAGES_DIR}/debug/share"
)
file(INSTALL "${CMAKE_CURRENT_LIST_DIR}/usage" DESTINATION "${CURRENT_PACKAGES_DIR}/share/${PORT}")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
