import os

from conan import ConanFile
from conan.errors import ConanInvalidConfiguration
from conan.tools.build import check_min_cppstd
from conan.tools.cmake import CMake, CMakeDeps, CMakeToolchain, cmake_layout
from conan.tools.files import copy, get, rmdir
from conan.tools.scm import Version

required_conan_version = ">=2.4"

# As cmake/Platform.cmake has it.
SYSTEMS = ("Linux", "Macos", "FreeBSD", "Windows")
ARCHITECTURES = ("x86_64", "armv8")
COMPILERS = {"gcc": "12", "clang": "16", "apple-clang": "16"}


class ColockConan(ConanFile):
    name = "colock"
    description = "Distributed locks for C++20 coroutines on Boost.Asio, over Redis or Valkey"
    license = "BSL-1.0"
    url = "https://github.com/conan-io/conan-center-index"
    homepage = "@HOMEPAGE@"
    topics = ("redis", "valkey", "lock", "asio", "coroutines")
    package_type = "library"
    settings = "os", "arch", "compiler", "build_type"
    options = {"shared": [True, False], "fPIC": [True, False]}
    default_options = {"shared": False, "fPIC": True}
    implements = ["auto_shared_fpic"]

    @property
    def _stop_token_is_experimental(self):
        compiler = self.settings.compiler
        if compiler.get_safe("libcxx") != "libc++":
            return False
        return compiler == "apple-clang" or Version(compiler.version) < "20"

    def layout(self):
        cmake_layout(self, src_folder="src")

    def requirements(self):
        # Boost's types are part of the binary interface: another release of it is another colock.
        self.requires("boost/1.83.0", transitive_headers=True, package_id_mode="full_version_mode")
        self.requires("openssl/[>=1.1 <4]")

    def validate(self):
        check_min_cppstd(self, 20)
        if self.settings.os not in SYSTEMS:
            raise ConanInvalidConfiguration(
                f"colock is not for {self.settings.os}: it builds for {', '.join(SYSTEMS)}"
            )
        if self.settings.arch not in ARCHITECTURES:
            raise ConanInvalidConfiguration("colock needs a 64-bit target: x86_64 or armv8")
        compiler = self.settings.compiler
        least = COMPILERS.get(str(compiler))
        if least is None or Version(compiler.version) < least:
            named = ", ".join(f"{name} {version}" for name, version in COMPILERS.items())
            raise ConanInvalidConfiguration(f"colock needs {named} or newer")
        if self.settings.os == "Windows" and self.options.shared:
            raise ConanInvalidConfiguration("on Windows colock is a static library alone")

    def build_requirements(self):
        self.tool_requires("cmake/[>=3.25]")

    def source(self):
        get(self, **self.conan_data["sources"][self.version], strip_root=True)

    def generate(self):
        toolchain = CMakeToolchain(self)
        for part in ("BUILD_TESTS", "BUILD_BENCH", "BUILD_TOOLS", "BUILD_EXAMPLES", "BOTH_LIBRARIES"):
            toolchain.cache_variables[f"COLOCK_{part}"] = False
        # What the system has of these is not for a package. Conan has no Lua 5.1 that this could be.
        for package in ("spdlog", "prometheus-cpp", "Lua"):
            toolchain.cache_variables[f"CMAKE_DISABLE_FIND_PACKAGE_{package}"] = True
        toolchain.generate()
        CMakeDeps(self).generate()

    def build(self):
        cmake = CMake(self)
        cmake.configure()
        cmake.build()

    def package(self):
        copy(self, "LICENSE", self.source_folder, os.path.join(self.package_folder, "licenses"))
        CMake(self).install()
        rmdir(self, os.path.join(self.package_folder, "lib", "cmake"))
        rmdir(self, os.path.join(self.package_folder, "lib", "pkgconfig"))

    def package_info(self):
        self.cpp_info.set_property("cmake_file_name", "colock")
        self.cpp_info.set_property("pkg_config_name", "colock-all")
        library = self.cpp_info.components["core"]
        library.set_property("cmake_target_name", "colock::colock")
        library.set_property("pkg_config_name", "colock")
        library.libs = ["colock"]
        library.requires = ["boost::headers", "openssl::ssl", "openssl::crypto"]
        if self.settings.os in ("Linux", "FreeBSD"):
            library.system_libs = ["pthread"]
        elif self.settings.os == "Windows":
            library.system_libs = ["ws2_32", "mswsock", "bcrypt"]
        if self._stop_token_is_experimental:
            library.cxxflags = ["-fexperimental-library"]
