#!/usr/bin/python3
"""Uses colock as its users do: installed, or with its sources among their own.

    run.py library --build DIR --compiler C++ ...
    run.py install|static|shared|symbols|pkg_config|other_boost --build DIR --compiler C++ ...
    run.py readme --build DIR --compiler C++ ...
    run.py fetched_boost --build DIR --boost DIR --compiler C++ ...
    run.py subdirectory|fetch_content --build DIR --build-type TYPE --flags=FLAGS ...
    run.py command --build DIR --prefix PREFIX

`library` builds what can be installed, if DIR is not yet such a build. `install` puts the build's package in a fresh prefix, which the others of its line use. `readme` does
what README.md and docs/command.md say, in build/install as they do, but for the prefix.
`fetched_boost` configures colock where find_package finds no Boost; nothing is downloaded.
`subdirectory` and `fetch_content` compile colock in folders beside the build's, the latter from the archive
of a release; with the build's own flags ccache has most of what the former compiles. `command` tries what comes with the colock command.
"""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
VERSION = re.search(r"^project\(colock VERSION ([\d.]+)", (ROOT / "CMakeLists.txt").read_text(),
                    re.MULTILINE)[1]
SONAME = "libcolock.so." + VERSION.rpartition(".")[0]

INSTALLED = ("library", "install", "readme", "static", "shared", "symbols", "pkg_config", "other_boost",
             "fetched_boost", "pages")
FROM_SOURCE = ("subdirectory", "fetch_content")
# The folder of the build makes no difference to ccache.
SHARED_CACHE = {"CCACHE_BASEDIR": str(ROOT), "CCACHE_NOHASHDIR": "true"}

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

# Switches that change types of the interface, and what the guard calls them.
OTHER_ABIS = {
    "-D_GLIBCXX_DEBUG": "glibcxx_debug",
    "-D_GLIBCXX_USE_CXX11_ABI=0": "old_string",
    "-fno-rtti": "no_rtti",
    "-DBOOST_ASIO_ENABLE_HANDLER_TRACKING": "handler_tracking",
    "-DBOOST_ASIO_DISABLE_EPOLL": "no_epoll",
    "-DBOOST_ASIO_DISABLE_THREADS": "no_threads",
    "-DBOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE=4": "cache_size",
    "-DBOOST_ASIO_USE_TS_EXECUTOR_AS_DEFAULT": "ts_executor",
}


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


def install_lines(page: str) -> list[str]:
    """What a page says to type, up to the prefix."""
    return re.findall(r"^ *(cmake --(?:preset|build --preset|install) .*?)(?: (?:/\S+|\"\$HOME/\S+\"))?$",
                      (ROOT / page).read_text(), re.MULTILINE)


def fetch_content_lines() -> list[str]:
    """What docs/install.md says to type for FetchContent."""
    section = (ROOT / "docs/install.md").read_text().partition("\n## From source")[2].partition("\n## ")[0]
    shown = re.search(r"^```sh\n(.*?)^```", section, re.MULTILINE | re.DOTALL)
    if shown is None or "tools/release" not in shown[1]:
        sys.exit("run.py: docs/install.md shows no lines for FetchContent")
    return shown[1].splitlines()


class Package:
    def __init__(self, given: argparse.Namespace):
        self.given = given
        build = given.build.resolve()
        self.work = build / "consumer"
        if given.way in FROM_SOURCE:
            # As deep as the build: the compiler gets the same relative paths, by which ccache knows.
            self.work = build.with_name(f"{build.name}-{given.way}")
        self.prefix = (given.prefix or self.work / "prefix").resolve()

    def libraries(self) -> pathlib.Path:
        return min(self.prefix.glob("**/libcolock.*")).parent

    def environment(self) -> dict[str, str]:
        if self.given.way in FROM_SOURCE:
            return {**os.environ}
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

    def beside_server(self, *command: object) -> str | None:
        if shutil.which("redis-server") is None:
            print("no redis-server: not run")
            return None
        return run(ROOT / "examples/with_redis.py", *command, env=self.environment())

    def first(self, program: object) -> None:
        said = self.beside_server(program, "{url}")
        if said is not None:
            expect(said, "token")

    # ---- The ways --------------------------------------------------------------------------------

    def library(self) -> None:
        build = self.given.build
        kind = self.given.build_type.upper()
        if not (build / "test").is_dir():
            parts = ("TESTS", "BENCH", "TOOLS", "EXAMPLES")
            run("cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCOLOCK_BOTH_LIBRARIES=ON",
                f"-DCMAKE_CXX_COMPILER={self.given.compiler}",
                f"-DCMAKE_CXX_COMPILER_LAUNCHER={self.given.launcher}",
                f"-DCMAKE_BUILD_TYPE={self.given.build_type}",
                f"-DCMAKE_CXX_FLAGS_{kind}={self.given.flags}",
                *(f"-DCOLOCK_BUILD_{part}=OFF" for part in parts))
        run("cmake", "--build", build)

    def install(self) -> None:
        shutil.rmtree(self.prefix, ignore_errors=True)
        for component in ("dev", "lib"):
            run(*("cmake", "--install", self.given.build), "--prefix", self.prefix,
                *("--component", component))

    def pages(self) -> None:
        """The pages that say how to install say the same."""
        same = {
            "README.md": ("README.zh-CN.md", "docs/install.md", "docs/zh/install.md"),
            "docs/command.md": ("docs/zh/command.md",),
        }
        for first, others in same.items():
            lines = install_lines(first)
            for other in others:
                if install_lines(other) != lines:
                    sys.exit(f"run.py: {other} and {first} say differently how to install")

    def readme(self) -> None:
        self.prefix = self.work / "readme-prefix"
        shutil.rmtree(self.prefix, ignore_errors=True)
        self.follow(install_lines("README.md"))
        self.first(self.build("first", "readme"))
        self.follow(install_lines("docs/command.md"))
        self.command()

    def follow(self, lines: list[str]) -> None:
        compiler = {"CXX": self.given.compiler, "CMAKE_CXX_COMPILER_LAUNCHER": self.given.launcher}
        for line in lines:
            words = [*shlex.split(line), *([self.prefix] if line.endswith(" --prefix") else [])]
            run(*words, cwd=ROOT, env={**os.environ, **SHARED_CACHE, **compiler})
        if not self.prefix.is_dir():
            sys.exit("run.py: these lines install nothing:\n" + "\n".join(lines))

    def tested(self, folder: str, *more: str) -> pathlib.Path | None:
        """A program with colock::testing, which find_package misses without Lua 5.1, and says so."""
        without = f"{folder}-without-lua", "-DCMAKE_DISABLE_FIND_PACKAGE_Lua=ON"
        if not any(self.prefix.glob("**/colockTestingTargets.cmake")):
            expect(fails(*self.configure("tested", *without, *more)), "was built without Lua 5.1")
            return None
        expect(fails(*self.configure("tested", *without, *more)),
               "colock::testing needs Lua 5.1", "liblua5.1-0-dev")
        os.environ.setdefault("LUA_DIR", str(ROOT / ".deps/usr"))
        program = self.build("tested", folder, *more)
        run(program)
        return program

    def static(self) -> None:
        self.tested("static-tested")
        self.first(self.build("first", "static"))

    def shared(self) -> None:
        if tested := self.tested("shared-tested", "-DBUILD_SHARED_LIBS=ON"):
            expect(run("readelf", "-d", tested), SONAME)
        self.first(self.build("first", "shared", "-DBUILD_SHARED_LIBS=ON"))

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
        expect(run("readelf", "-d", target / "shared"), SONAME)
        self.first(target / "shared")
        static = ["-l:libcolock.a" if w == "-lcolock" else w for w in flags("--libs", "--static")]
        run(self.given.compiler, target / "main.o", *static, "-o", target / "static")
        self.first(target / "static")

    # ---- From source -----------------------------------------------------------------------------

    def subdirectory(self) -> None:
        kind = self.given.build_type.upper()
        flags = [f"-DCMAKE_CXX_FLAGS_{kind}={self.given.flags}"] if self.given.flags else []
        run(*self.configure("subdirectory", ".", "-DCOLOCK_WERROR=ON", *flags))
        run("cmake", "--build", self.work, env={**os.environ, **SHARED_CACHE})
        run(self.work / "tested")
        self.first(self.work / "first")
        run("cmake", "--install", self.work, "--prefix", self.work / "installed")
        if (self.work / "installed").exists():
            sys.exit("run.py: a project that has colock's sources installs them too")

    def fetch_content(self) -> None:
        """What docs/install.md says to do with the archive of a release, as a shared library and
        without Python."""
        shutil.rmtree(self.work, ignore_errors=True)
        first = self.work / "first"
        first.mkdir(parents=True)
        shutil.copy(HERE / "fetched/CMakeLists.txt", first)  # which the page shows
        shutil.copy(HERE / "first/main.cpp", first)
        kind = self.given.build_type.upper()
        more = {
            "cmake -S": ["-G", "Ninja", f"-DCMAKE_CXX_COMPILER={self.given.compiler}",
                         f"-DCMAKE_CXX_COMPILER_LAUNCHER={self.given.launcher}",
                         f"-DCMAKE_BUILD_TYPE={self.given.build_type}",
                         *([f"-DCMAKE_CXX_FLAGS_{kind}={self.given.flags}"] if self.given.flags else []),
                         f"-DCMAKE_PREFIX_PATH={ROOT / '.deps/usr'}",
                         "-DCMAKE_DISABLE_FIND_PACKAGE_Python3=ON", "-DBUILD_SHARED_LIBS=ON"],
            "tools/release": ["--output", self.work / "archive"],
        }
        for line in fetch_content_lines():
            # They are typed in the folder of colock's sources.
            words = shlex.split(line.replace("$PWD/build/", f"{self.work}/"))
            given = [word for begin, words_more in more.items() if line.startswith(begin) for word in words_more]
            run(*words, *given, cwd=ROOT if words[0] == "tools/release" else self.work,
                env={**os.environ, **SHARED_CACHE})
        program = self.work / "build-first/first"
        expect(run("readelf", "-d", program), SONAME)
        self.first(program)

    # ---- The command -----------------------------------------------------------------------------

    def command(self) -> None:
        program = self.prefix / "bin/colock"
        expect(run(program, "--version"), VERSION)
        expect(run(program, "--help"), "run", "doctor")
        said = self.beside_server(program, "run", "--url", "{url}", "k", "--", "echo", "its turn")
        if said is not None:
            expect(said, "its turn")
        page = next(self.prefix.glob("share/man/man1/colock.1*"))
        if shutil.which("man"):
            expect(run("man", "--warnings", "-l", page, env={**os.environ, "MANPAGER": "cat"}), "SYNOPSIS")
        run("bash", "-n", self.prefix / "share/bash-completion/completions/colock")
        completion = next(self.prefix.glob("share/zsh/*/_colock"))
        if shutil.which("zsh"):
            run("zsh", "-n", completion)

    # ---- Refused ---------------------------------------------------------------------------------

    def other_boost(self) -> None:
        """Another release of Boost is refused, by the package and by the linker, and so are switches
        that change types of the library's interface."""
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
        caller = self.work / "other_boost.cmake"
        caller.write_text("find_package(Boost CONFIG REQUIRED)\n")  # before colock does
        said = fails(*given, f"-DCMAKE_PROJECT_first_INCLUDE={caller}")
        expect(said, "is built with Boost 1.", "but Boost 1.93.0 is found")

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

        source.write_text("#include <colock/detail/abi.hpp>\nint main() {}\n")
        link = (self.given.compiler, "-std=c++20", source, *words, "-o", self.work / "other")
        run(*link)
        for switch, name in OTHER_ABIS.items():
            expect(fails(*link, switch), "colock_abi_boost_", f"_{name}")

    # ---- Without a Boost -------------------------------------------------------------------------

    def fetched_boost(self) -> None:
        build = self.work / "fetched-boost"
        shutil.rmtree(build, ignore_errors=True)
        parts = ("TESTS", "BENCH", "TOOLS", "EXAMPLES")
        given = ("cmake", "-S", ROOT, "-B", build, "-G", "Ninja",
                 f"-DCMAKE_CXX_COMPILER={self.given.compiler}",
                 "-DCMAKE_DISABLE_FIND_PACKAGE_Boost=ON",
                 *(f"-DCOLOCK_BUILD_{part}=OFF" for part in parts))
        expect(fails(*given), "headers of Boost >= 1.83", "libboost-dev", "-DCOLOCK_FETCH_BOOST=ON")
        given = (*given, "-DCOLOCK_FETCH_BOOST=ON")
        expect(fails(*given, f"-DFETCHCONTENT_SOURCE_DIR_COLOCK_BOOST={HERE}"), "no Boost:")
        said = run(*given, f"-DFETCHCONTENT_SOURCE_DIR_COLOCK_BOOST={self.given.boost}")
        expect(said, f": {self.given.boost}", "Boost's headers for the package")
        if not (build / "colock-boost/boost/version.hpp").is_file():
            sys.exit("run.py: a package with a downloaded Boost has no headers of it")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("way", choices=(*INSTALLED, *FROM_SOURCE, "command"))
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--prefix", type=pathlib.Path)
    parser.add_argument("--boost", help="the folder of its headers")
    parser.add_argument("--compiler", default="c++")
    parser.add_argument("--launcher", default="")
    parser.add_argument("--build-type", default="Release")
    parser.add_argument("--flags", default="", help="the compiler's flags of that build type")
    given = parser.parse_args()
    getattr(Package(given), given.way)()


main()
