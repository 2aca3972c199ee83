"""Builds colock for other systems by the cross compiler of the Python package ziglang, which is clang with
libc++, and runs on this machine what it can run.

What colock needs there is built by that compiler, too, from the sources of Debian's packages.
"""

import pathlib
import shlex
import shutil
import subprocess
import sys
from concurrent import futures
from typing import NamedTuple

from . import builds, debian
from .parts import ROOT, Failed

ZIG = "ziglang==0.17.*"
WORK = ROOT / "build/platforms"
# What other checkouts on this machine can use as well.
KEPT = ROOT / ".deps/platforms"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
SOURCES = ("openssl", "lua5.1")

# OpenSSL without what neither colock nor its tests use: minutes less to compile.
WITHOUT = """shared tests module legacy engine dso comp idea camellia seed rc2 rc4 md4 mdc2 bf cast whirlpool
aria gost cms ct ts srp sctp ssl3 weak-ssl-ciphers psk sm2 sm3 sm4 dtls cmp""".split()


class Target(NamedTuple):
    name: str
    triple: str
    system: str
    processor: str
    openssl: str  # what its Configure calls the system
    needs: tuple[str, ...] = ()  # packages of Debian to run its programs
    by: tuple[str, ...] | None = None  # what runs them; none: nothing here can
    without: tuple[str, ...] = ()  # unit tests that fail by what runs them
    # Without POSIX there is no command, and only some of the tests. Then the programs of the tutorial
    # show that the library works.
    posix: bool = True

    @property
    def prefix(self) -> pathlib.Path:
        return KEPT / self.name

    @property
    def build(self) -> pathlib.Path:
        return WORK / self.name


MUSL = Target("musl", "x86_64-linux-musl", "Linux", "x86_64", "linux-x86_64", ("musl",), by=())
# The glibc of Debian 12, on which its programs run.
LIBCXX = Target("libc++", "x86_64-linux-gnu.2.36", "Linux", "x86_64", "linux-x86_64", by=())
# qemu-aarch64 of Debian 12 ends in an assertion of its own if a process with threads forks. It takes ten
# times as long, so there are fewer worlds.
ARM = Target("arm", "aarch64-linux-gnu.2.36", "Linux", "aarch64", "linux-aarch64",
             ("qemu-user", "libc6-arm64-cross"),
             by=("env", "COLOCK_SIMULATION_WORLDS=10", "qemu-aarch64", "-L", "/usr/aarch64-linux-gnu"),
             without=("name_lookups/a_name_that_the_parent_is_looking_up_is_found_in_a_child",
                      "default_log/a_forked_child_writes_lines_of_its_own"))
MACOS = Target("macos", "aarch64-macos", "Darwin", "arm64", "darwin64-arm64-cc")
FREEBSD = Target("freebsd", "x86_64-freebsd", "FreeBSD", "x86_64", "BSD-x86_64")
# The package puts wine64 into no folder of PATH.
WINDOWS = Target("windows", "x86_64-windows-gnu", "Windows", "x86_64", "mingw64", ("wine64",),
                 by=("env", "WINEDEBUG=-all", f"WINEPREFIX={WORK}/windows/wine", "/usr/lib/wine/wine64"),
                 posix=False)
TESTS = ("colock-unit-tests", "colock-world-tests")


def quiet(*words: object, log: pathlib.Path, **more) -> None:
    """Its output goes to a file, whose end is shown if it fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("a") as out:
        status = subprocess.run([str(word) for word in words], stdout=out, stderr=out, check=False, **more).returncode
    if status:
        print(f"{shlex.join(map(str, words))} ended with {status}; the end of {log}:")
        print("\n".join(log.read_text(errors="replace").splitlines()[-30:]))
        raise Failed


# ---- The compiler --------------------------------------------------------------------------------


def compiler() -> pathlib.Path:
    """A Python that has ziglang."""
    python = KEPT / "zig/bin/python"
    if not python.exists():
        builds.run(sys.executable, "-m", "venv", KEPT / "zig")
        builds.run(python, "-m", "pip", "install", "-q", ZIG)
    return python


def tool(target: Target, name: str, *more: str) -> pathlib.Path:
    """A program of that name, as build systems want it."""
    path = target.build / "bin" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f'#!/bin/sh\nexec {compiler()} -m ziglang {name} {" ".join(more)} "$@"\n')
    path.chmod(0o755)
    return path


def compilers(target: Target) -> dict[str, pathlib.Path]:
    # By itself zig adds a sanitizer, and links programs for musl statically; the tests have a
    # getaddrinfo of their own, which finds that of the system only in a library.
    how = ["-target", target.triple, "-fno-sanitize=undefined"]
    if target.by is not None and target.system == "Linux":
        how.append("-dynamic")
    made = {name: tool(target, name, *how) for name in ("cc", "c++")}
    return made | {name: tool(target, name) for name in ("ar", "ranlib", "rc")}


# ---- What colock needs ---------------------------------------------------------------------------


def unpacked() -> pathlib.Path:
    """A folder with the sources of Debian's packages, each in one of its own."""
    place = KEPT / "sources"
    if (place / "ready").exists():
        return place
    shutil.rmtree(place, ignore_errors=True)
    (place / "lists/partial").mkdir(parents=True)
    # Of the suites that apt knows already, with their mirrors.
    line = f"deb-src [signed-by={KEYRING}] $(REPO_URI) $(RELEASE) main"
    known = subprocess.run(
        ["apt-get", "indextargets", "--format", line, "Created-By: Packages", "Component: main", "Origin: Debian"],
        stdout=subprocess.PIPE, text=True, check=True)
    (place / "sources.list").write_text("".join(f"{each}\n" for each in sorted(set(known.stdout.splitlines()))))
    apt = ["apt-get", "-q", "-o", f"Dir::Etc::sourcelist={place}/sources.list", "-o", "Dir::Etc::sourceparts=-",
           "-o", f"Dir::State::lists={place}/lists"]
    log = WORK / "sources.log"
    quiet(*apt, "update", log=log)
    quiet(*apt, "source", "--tar-only", *SOURCES, log=log, cwd=place)
    for name in SOURCES:
        archive = max(place.glob(f"{name}_*.orig.tar.*z"))
        (place / name).mkdir()
        quiet("tar", "-xf", archive, "-C", place / name, "--strip-components", "1", log=log)
    (place / "ready").touch()
    return place


def provide(target: Target) -> None:
    """OpenSSL and Lua 5.1 for that system, in its prefix."""
    if (target.prefix / "ready").exists():
        return
    shutil.rmtree(target.prefix, ignore_errors=True)
    tools = compilers(target)
    log = target.build / "needs.log"
    source = target.build / "openssl"
    shutil.rmtree(source, ignore_errors=True)
    shutil.copytree(unpacked() / "openssl", source)
    quiet("./Configure", target.openssl, *(f"no-{each}" for each in WITHOUT), f"--prefix={target.prefix}",
          "--libdir=lib", f"CC={tools['cc']}", f"AR={tools['ar']}", f"RANLIB={tools['ranlib']}", log=log, cwd=source)
    quiet("make", "-s", f"-j{builds.JOBS}", "build_libs", log=log, cwd=source)
    quiet("make", "-s", "install_dev", log=log, cwd=source)
    shutil.rmtree(source)

    lua = target.build / "lua"
    shutil.rmtree(lua, ignore_errors=True)
    shutil.copytree(unpacked() / "lua5.1/src", lua)
    for header in ("src/lua.h", "src/luaconf.h", "src/lauxlib.h", "src/lualib.h", "etc/lua.hpp"):
        shutil.copy(unpacked() / "lua5.1" / header, target.prefix / "include")
    (target.prefix / "lib").mkdir(exist_ok=True)
    posix = "" if target.system == "Windows" else "-DLUA_USE_POSIX -fPIC"
    quiet("make", "-s", "liblua.a", f"CC={tools['cc']}", f"AR={tools['ar']} rcu", f"RANLIB={tools['ranlib']}",
          f"MYCFLAGS={posix}", log=log, cwd=lua)
    shutil.copy(lua / "liblua.a", target.prefix / "lib")
    (target.prefix / "ready").touch()


# ---- colock --------------------------------------------------------------------------------------


def settings(tests: str) -> dict[str, object]:
    """To compile fast, and no more than what is run or linked."""
    return {
        "CMAKE_BUILD_TYPE": "Debug", "CMAKE_CXX_FLAGS_DEBUG": "-O0 -g0 -w",
        "CMAKE_UNITY_BUILD": "ON", "CMAKE_UNITY_BUILD_BATCH_SIZE": "16", "COLOCK_SEPARATE_ASIO": tests,
        "CMAKE_CXX_COMPILER_LAUNCHER": "", "COLOCK_CCACHE": "COLOCK_CCACHE-NOTFOUND",
        "COLOCK_BUILD_TESTS": tests, "COLOCK_BUILD_TOOLS": "OFF", "COLOCK_BUILD_BENCH": "OFF",
        "COLOCK_BUILD_EXAMPLES": "OFF", "COLOCK_INTEROP": "OFF", "COLOCK_INSTALL": "OFF",
        "COLOCK_BOTH_LIBRARIES": "OFF",
        "CMAKE_DISABLE_FIND_PACKAGE_spdlog": "ON", "CMAKE_DISABLE_FIND_PACKAGE_prometheus-cpp": "ON",
        "CMAKE_DISABLE_FIND_PACKAGE_SQLite3": "ON",
    }


def configure(target: Target) -> None:
    tools = compilers(target)
    toolchain = target.build / "toolchain.cmake"
    words = {
        "SYSTEM_NAME": target.system, "SYSTEM_PROCESSOR": target.processor, "C_COMPILER": tools["cc"],
        "CXX_COMPILER": tools["c++"], "AR": tools["ar"], "RANLIB": tools["ranlib"], "RC_COMPILER": tools["rc"],
        "INSTALL_NAME_TOOL": "/bin/true", "OSX_SYSROOT": "", "FIND_ROOT_PATH": target.prefix,
    }
    toolchain.write_text("".join(f'set(CMAKE_{name} "{value}")\n' for name, value in words.items()))
    boost = next((ROOT / ".deps/usr").rglob("BoostConfig.cmake"), None)
    library = target.prefix / "lib"
    given = {
        **settings("ON"), "CMAKE_TOOLCHAIN_FILE": toolchain,
        "COLOCK_BUILD_TOOLS" if target.posix else "COLOCK_BUILD_EXAMPLES": "ON",
        "OPENSSL_INCLUDE_DIR": target.prefix / "include", "OPENSSL_SSL_LIBRARY": library / "libssl.a",
        "OPENSSL_CRYPTO_LIBRARY": library / "libcrypto.a",
        "LUA_INCLUDE_DIR": target.prefix / "include", "LUA_LIBRARY": library / "liblua.a",
        "LUA_MATH_LIBRARY": "m",
    }
    if boost:
        given["Boost_DIR"] = boost.parent
    quiet("cmake", "-G", "Ninja", "-S", ROOT, "-B", target.build / "colock",
          *(f"-D{name}={value}" for name, value in given.items()), log=target.build / "configure.log")


def build(target: Target, *what: str) -> None:
    builds.run("cmake", "--build", target.build / "colock", "-j", builds.JOBS, "--target", *what)


def link(target: Target) -> None:
    """Builds the library, the tests and the command; without POSIX the tutorial in its place."""
    builds.set_up()
    provide(target)
    configure(target)
    rest = ["colock-cli"] if target.posix else [f"colock-tutorial-{name}" for name in tutorial()]
    build(target, *TESTS, *rest)


def tutorial() -> list[str]:
    """Its programs, but those that take SQLite or colock::testing, which works by POSIX."""
    names = sorted(path.stem for path in (ROOT / "examples/1_tutorial").glob("*.cpp"))
    return [name for name in names if not name.endswith(("_sqlite", "_testing"))]


def run(target: Target) -> None:
    """Builds these, and runs the unit tests, the simulated worlds, and the tutorial if it is built."""
    builds.set_up()
    debian.install(*target.needs)
    link(target)
    suffix = ".exe" if target.system == "Windows" else ""
    built = target.build / "colock"
    skipped = [f"--run_test=!{name}" for name in target.without]
    unit = [*target.by, built / f"test/colock-unit-tests{suffix}", *skipped]
    worlds = [*target.by, built / f"test/simulation/colock-world-tests{suffix}"]
    with futures.ThreadPoolExecutor() as both:  # each works on one processor
        for each in [both.submit(builds.run, *program) for program in (unit, worlds)]:
            each.result()
    for name in () if target.posix else tutorial():
        urls = ["{tcp}", "{tcp2}", "{tcp3}"] if name.endswith("_servers") else ["{tcp}"]
        builds.run(ROOT / "examples/with_redis.py", "--servers", len(urls),
                   ROOT / "tools/check_docs.py", "--output", f"examples/1_tutorial/{name}.cpp",
                   *target.by, built / f"examples/{name}{suffix}", *urls)


# ---- In Debian 13 --------------------------------------------------------------------------------


def run_gcc() -> None:
    """Builds and runs the unit tests and the worlds by its compilers."""
    lines = []
    for version in (13, 14):
        build = f"/build-{version}"
        lines += [
            f"cmake -G Ninja -S /sources -B {build} -DCMAKE_CXX_COMPILER=g++-{version} {debian.words(settings('ON'))}",
            f"cmake --build {build} --target {' '.join(TESTS)}",
            f"{build}/test/colock-unit-tests & unit=$!",
            f"{build}/test/simulation/colock-world-tests || {{ wait $unit; exit 1; }}",
            "wait $unit",
            f"rm -rf {build}",
        ]
    debian.run(["g++-13", "g++-14"], lines)


# The CMake package of opentelemetry-cpp-dev looks for all of these, and Debian does not bring them.
OTEL = """g++ redis-server opentelemetry-cpp-dev libgrpc++-dev libprotobuf-dev protobuf-compiler
protobuf-compiler-grpc""".split()


def run_otel() -> None:
    """Builds what uses colock::otel of an installed colock, and runs it."""
    given = debian.words(settings("OFF") | {"COLOCK_INSTALL": "ON", "CMAKE_INSTALL_PREFIX": "/installed"})
    debian.run(OTEL, [
        f"cmake -G Ninja -S /sources -B /build {given}",
        "cmake --build /build",
        "cmake --install /build",
        f"cmake -G Ninja -S /sources/test/otel -B /otel -DCMAKE_PREFIX_PATH=/installed {given}",
        "cmake --build /otel",
        "ctest --test-dir /otel --output-on-failure",
    ])
