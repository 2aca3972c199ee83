"""The Conan 2 recipe of colock, from the sources that it lies among.

    conan create packaging/conan --build=missing
    conan create packaging/conan -o "&:system_packages=True"     Boost and OpenSSL of the system
"""

import os
import pathlib

from conan import ConanFile
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy

SOURCES = ("CMakeLists.txt", "LICENSE", "cmake/*", "include/*", "scripts/*", "simulated_server/*",
           "src/*", "test_double/*")


class Colock(ConanFile):
    name = "colock"
    version = "0.3.0"
    description = "Distributed locks for C++20 coroutines on Boost.Asio, over Redis or Valkey"
    license = "BSL-1.0"
    topics = ("redis", "valkey", "lock", "asio", "coroutines")
    settings = "os", "arch", "compiler", "build_type"
    package_type = "library"
    options = {"shared": [True, False], "fPIC": [True, False], "system_packages": [True, False]}
    default_options = {"shared": False, "fPIC": True, "system_packages": False}
    implements = ["auto_shared_fpic"]

    def export_sources(self):
        root = pathlib.Path(self.recipe_folder).parent.parent
        for pattern in SOURCES:
            copy(self, pattern, src=root, dst=self.export_sources_folder)

    def layout(self):
        cmake_layout(self)

    def validate(self):
        check_min_cppstd(self, 20)

    def requirements(self):
        # Its headers are in colock's; another release of Boost is another colock.
        if not self.options.system_packages:
            self.requires("boost/[>=1.83 <2]", transitive_headers=True,
                          package_id_mode="full_version_mode")
            self.requires("openssl/[>=1.1 <4]")

    def generate(self):
        toolchain = CMakeToolchain(self)
        toolchain.cache_variables["COLOCK_BUILD_TESTS"] = False
        toolchain.cache_variables["COLOCK_BUILD_BENCH"] = False
        toolchain.cache_variables["COLOCK_BUILD_TOOLS"] = False
        toolchain.cache_variables["COLOCK_BUILD_EXAMPLES"] = False
        toolchain.cache_variables["COLOCK_BOTH_LIBRARIES"] = False
        # Whether the system has these is no business of a package.
        toolchain.cache_variables["CMAKE_DISABLE_FIND_PACKAGE_spdlog"] = True
        toolchain.cache_variables["CMAKE_DISABLE_FIND_PACKAGE_prometheus-cpp"] = True
        # Conan has no Lua 5.1, without which there is no colock::testing.
        toolchain.cache_variables["CMAKE_DISABLE_FIND_PACKAGE_Lua"] = not self.options.system_packages
        # A package that is moved can't name the folder in which the system's Boost was found.
        toolchain.cache_variables["COLOCK_BUNDLE_BOOST"] = bool(self.options.system_packages)
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()

    def package_info(self):
        # colock brings its own package for find_package.
        self.cpp_info.set_property("cmake_find_mode", "none")
        self.cpp_info.builddirs = [os.path.join("lib", "cmake", "colock")]
        self.cpp_info.libs = ["colock"]
        if self.options.system_packages:
            self.cpp_info.includedirs = ["include", os.path.join("include", "colock-boost")]
            self.cpp_info.system_libs = [] if self.options.shared else ["ssl", "crypto"]
