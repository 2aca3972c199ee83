"""Stands in for Conan's OpenSSL where that can't be had: the system's.

conan create packaging/conan/system/openssl --version 3.0.0
"""

from conan import ConanFile


class SystemOpenssl(ConanFile):
    name = "openssl"
    package_type = "shared-library"

    def package_info(self):
        self.cpp_info.set_property("cmake_find_mode", "both")
        self.cpp_info.set_property("cmake_file_name", "OpenSSL")
        for name, library, target in (("crypto", "crypto", "Crypto"), ("ssl", "ssl", "SSL")):
            part = self.cpp_info.components[name]
            part.includedirs = part.libdirs = part.bindirs = []
            part.system_libs = [library]
            part.set_property("cmake_target_name", f"OpenSSL::{target}")
        self.cpp_info.components["ssl"].requires = ["crypto"]
