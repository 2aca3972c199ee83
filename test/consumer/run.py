#!/usr/bin/python3
"""Uses the installed package as its users do.

    run.py install|static|shared|symbols|pkg_config|other_boost --build DIR --compiler C++ ...

`install` puts the build's package in a fresh prefix, which the others use.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent

# What the shared library may show: colock's names, the guard, and those objects of Asio of which
# there must be one in a process. See cmake/colock.map.
OWN = re.compile(
    r"_Z(?:T[VIS]|GV)?Z?N[KR]?6colock"
    r"|colock_abi_boost_\d+_\d+$"
    r"|_Z(?:GV)?N5boost4asio6detail\d+"
    r"(?:call_stackI\w+4top_|keyword_tss_ptrI\w+6value_|posix_global_implI\w+9instance_"
    r"|(?:execution_context_)?service_baseI\w+2id)E$"
    r"|_Z(?:GV)?ZN5boost4asio\w*5error\d+get_\w+_category\w*E8instance$"
)


def run(*command: object, **more) -> str:
    words = [str(word) for word in command]
    print("+", *words, flush=True)
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **more)
    if done.returncode != 0:
        print(done.stdout)
        sys.exit(f"run.py: {words[0]} ended with {done.returncode}")
    return done.stdout


def fails(*command: object) -> str:
    """What it prints; it must fail."""
    words = [str(word) for word in command]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode == 0:
        sys.exit(f"run.py: {' '.join(words)} succeeds, and should not")
    return done.stdout


def expect(text: str, *parts: str) -> None:
    flat = " ".join(text.split())
    for part in parts:
        if part not in flat:
            sys.exit(f"run.py: '{part}' is missing in:\n{text}")


class Package:
    def __init__(self, given: argparse.Namespace):
        self.given = given
        self.work = given.build.resolve() / "consumer"
        self.prefix = (given.prefix or self.work / "prefix").resolve()

    def libraries(self) -> pathlib.Path:
        return min(self.prefix.glob("**/libcolock.*")).parent

    def environment(self) -> dict[str, str]:
        return {**os.environ, "LD_LIBRARY_PATH": str(self.libraries())}

    def configure(self, project: str, folder: str, *more: str) -> list[object]:
        shutil.rmtree(self.work / folder, ignore_errors=True)
        return [
            *("cmake", "-S", HERE / project, "-B", self.work / folder, "-G", "Ninja"),
            f"-DCMAKE_CXX_COMPILER={self.given.compiler}",
            f"-DCMAKE_CXX_COMPILER_LAUNCHER={self.given.launcher}",
            f"-DCMAKE_BUILD_TYPE={self.given.build_type}",
            f"-DCMAKE_PREFIX_PATH={self.prefix}",
            *more,
        ]

    def build(self, project: str, folder: str, *more: str) -> pathlib.Path:
        run(*self.configure(project, folder, *more))
        run("cmake", "--build", self.work / folder)
        return self.work / folder / project

    def beside_server(self, program: object) -> None:
        if shutil.which("redis-server") is None:
            print("no redis-server: not run")
            return
        expect(run(ROOT / "examples/with_redis.py", program, "{url}", env=self.environment()), "token")

    # ---- The ways --------------------------------------------------------------------------------

    def install(self) -> None:
        shutil.rmtree(self.prefix, ignore_errors=True)
        for component in ("dev", "lib"):
            run(*("cmake", "--install", self.given.build), "--prefix", self.prefix,
                *("--component", component))

    def static(self) -> None:
        run(self.build("tested", "static-tested"))
        self.beside_server(self.build("first", "static"))

    def shared(self) -> None:
        tested = self.build("tested", "shared-tested", "-DBUILD_SHARED_LIBS=ON")
        expect(run("readelf", "-d", tested), "libcolock.so.0.1")
        run(tested)
        self.beside_server(self.build("first", "shared", "-DBUILD_SHARED_LIBS=ON"))

    def symbols(self) -> None:
        shown = run("nm", "-D", "--defined-only", self.libraries() / "libcolock.so")
        names = [line.split(" ", 2)[2] for line in shown.splitlines()]
        foreign = [name for name in names if not OWN.match(name)]
        print(f"{len(names)} names, foreign: {len(foreign)}")
        if foreign or len(names) < 100:
            sys.exit("run.py: libcolock.so shows\n" + "\n".join(foreign[:20]))

    def pkg_config(self) -> None:
        folder = next(self.prefix.glob("**/colock.pc")).parent
        paths = {**os.environ, "PKG_CONFIG_PATH": str(folder)}

        def flags(*words: str) -> list[str]:
            return run("pkg-config", *words, "colock", env=paths).split()

        target = self.work / "pkg_config"
        target.mkdir(parents=True, exist_ok=True)
        run(self.given.compiler, "-std=c++20", "-c", HERE / "first/main.cpp",
            *flags("--cflags"), "-o", target / "main.o")
        run(self.given.compiler, target / "main.o", *flags("--libs"), "-o", target / "shared")
        expect(run("readelf", "-d", target / "shared"), "libcolock.so.0.1")
        self.beside_server(target / "shared")
        static = ["-l:libcolock.a" if w == "-lcolock" else w for w in flags("--libs", "--static")]
        run(self.given.compiler, target / "main.o", *static, "-o", target / "static")
        self.beside_server(target / "static")

    def other_boost(self) -> None:
        """Another release of Boost is refused, by the package and by the linker."""
        fake = self.work / "other-boost"
        (fake / "lib/cmake/Boost-1.93.0").mkdir(parents=True, exist_ok=True)
        config = fake / "lib/cmake/Boost-1.93.0"
        (config / "BoostConfig.cmake").write_text(
            "set(Boost_VERSION_MAJOR 1)\nset(Boost_VERSION_MINOR 93)\n"
            "add_library(Boost::headers INTERFACE IMPORTED)\n"
        )
        (config / "BoostConfigVersion.cmake").write_text(
            'set(PACKAGE_VERSION "1.93.0")\nset(PACKAGE_VERSION_COMPATIBLE TRUE)\n'
        )
        given = self.configure("first", "other-boost-first", f"-DBoost_DIR={config}")
        said = fails(*given, f"-DCMAKE_PROJECT_first_INCLUDE={HERE / 'other_boost.cmake'}")
        expect(said, "is built with Boost 1.92", "Boost 1.93.0 is found")

        source = self.work / "other_boost.cpp"
        source.write_text(
            "#include <boost/version.hpp>\n#undef BOOST_LIB_VERSION\n"
            '#define BOOST_LIB_VERSION "1_93"\n#include <colock/detail/abi.hpp>\nint main() {}\n'
        )
        folder = next(self.prefix.glob("**/colock.pc")).parent
        paths = {**os.environ, "PKG_CONFIG_PATH": str(folder)}
        words = run("pkg-config", "--cflags", "--libs", "colock", env=paths).split()
        said = fails(self.given.compiler, "-std=c++20", source, *words, "-o", self.work / "other")
        expect(said, "colock_abi_boost_1_93")


def main() -> None:
    ways = ("install", "static", "shared", "symbols", "pkg_config", "other_boost")
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=ways)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--prefix", type=pathlib.Path)
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--launcher", default="")
    parser.add_argument("--build-type", default="Release")
    given = parser.parse_args()
    getattr(Package(given), given.way)()


main()
