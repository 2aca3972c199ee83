"""Stands in for Conan's Boost where that can't be had: the headers in $SYSTEM_INCLUDE.

conan create packaging/conan/system/boost --version 1.92.0
"""

import os

from conan import ConanFile


class SystemBoost(ConanFile):
    name = "boost"
    package_type = "header-library"

    def package_info(self):
        headers = self.cpp_info.components["headers"]
        headers.includedirs = [os.environ.get("SYSTEM_INCLUDE", "/usr/include")]
        headers.bindirs = headers.libdirs = []
        headers.set_property("cmake_target_name", "Boost::headers")
        self.cpp_info.set_property("cmake_file_name", "Boost")
