# From the sources that this port lies among. For a registry: vcpkg_from_github(REPO … REF "v${VERSION}").
set(SOURCE_PATH "${CMAKE_CURRENT_LIST_DIR}/../../..")

string(COMPARE EQUAL "${VCPKG_LIBRARY_LINKAGE}" "dynamic" shared)
vcpkg_find_acquire_program(PYTHON3)
vcpkg_cmake_configure(
    SOURCE_PATH "${SOURCE_PATH}"
    OPTIONS
        "-DBUILD_SHARED_LIBS=${shared}"
        -DCOLOCK_BUILD_TESTS=OFF
        -DCOLOCK_BUILD_BENCH=OFF
        -DCOLOCK_BUILD_TOOLS=OFF
        -DCOLOCK_BUILD_EXAMPLES=OFF
        -DCOLOCK_BOTH_LIBRARIES=OFF
        # Whether the system has these is no business of a package.
        -DCMAKE_DISABLE_FIND_PACKAGE_spdlog=ON
        -DCMAKE_DISABLE_FIND_PACKAGE_prometheus-cpp=ON
        # vcpkg has no Lua 5.1, without which there is no colock::testing.
        -DCMAKE_DISABLE_FIND_PACKAGE_Lua=ON
        "-DPython3_EXECUTABLE=${PYTHON3}")
vcpkg_cmake_install()
vcpkg_cmake_config_fixup(CONFIG_PATH lib/cmake/colock)
vcpkg_fixup_pkgconfig()
file(REMOVE_RECURSE
    "${CURRENT_PACKAGES_DIR}/debug/include"
    "${CURRENT_PACKAGES_DIR}/debug/share")
vcpkg_install_copyright(FILE_LIST "${SOURCE_PATH}/LICENSE")
