"""Builds colock for other systems by the cross compiler of the Python package ziglang, and runs on this
machine what it can run: programs for musl.

What colock needs there is built by that compiler, too, from the sources of Debian's packages. Systems
whose programs can't run here get no more than the headers of it, and nothing is linked for them.
"""

import os
import pathlib
import shlex
import shutil
import subprocess
import sys
from typing import NamedTuple

from . import builds
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
    runs_here: bool = False

    @property
    def prefix(self) -> pathlib.Path:
        return KEPT / self.name

    @property
    def build(self) -> pathlib.Path:
        return WORK / self.name


MUSL = Target("musl", "x86_64-linux-musl", "Linux", "x86_64", "linux-x86_64", runs_here=True)
COMPILED = (
    Target("macos", "aarch64-macos", "Darwin", "arm64", "darwin64-arm64-cc"),
    Target("freebsd", "x86_64-freebsd", "FreeBSD", "x86_64", "BSD-x86_64"),
    Target("windows", "x86_64-windows-gnu", "Windows", "x86_64", "mingw64"),
    Target("arm", "aarch64-linux-gnu", "Linux", "aarch64", "linux-aarch64"),
)
# On Windows there are no forks and no processes in groups, by which the tests and the command work.
LIBRARY = ("colock",)
PROGRAMS = ("colock", "colock-unit-tests", "colock-world-tests", "colock-cli")


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
    if target.runs_here:
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
    """OpenSSL and Lua 5.1 for that system, in its prefix; of what can't run here, the headers."""
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
    if target.runs_here:
        quiet("make", "-s", f"-j{builds.JOBS}", "build_libs", log=log, cwd=source)
        quiet("make", "-s", "install_dev", log=log, cwd=source)
    else:
        quiet("make", "-s", "build_generated", log=log, cwd=source)
        shutil.copytree(source / "include/openssl", target.prefix / "include/openssl")
    shutil.rmtree(source)

    lua = target.build / "lua"
    shutil.rmtree(lua, ignore_errors=True)
    shutil.copytree(unpacked() / "lua5.1/src", lua)
    for header in ("lua.h", "luaconf.h", "lauxlib.h", "lualib.h"):
        shutil.copy(lua / header, target.prefix / "include")
    (target.prefix / "lib").mkdir(exist_ok=True)
    if target.runs_here:
        quiet("make", "-s", "liblua.a", f"CC={tools['cc']}", f"AR={tools['ar']} rcu", f"RANLIB={tools['ranlib']}",
              "MYCFLAGS=-DLUA_USE_POSIX -fPIC", log=log, cwd=lua)
        shutil.copy(lua / "liblua.a", target.prefix / "lib")
    else:
        for name in ("ssl", "crypto", "lua"):  # CMake looks whether they are there
            (target.prefix / f"lib/lib{name}.a").write_text("!<arch>\n")
    (target.prefix / "ready").touch()


# ---- colock --------------------------------------------------------------------------------------


def configure(target: Target, programs: bool) -> None:
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
    switch = "ON" if programs else "OFF"
    given = {
        "CMAKE_TOOLCHAIN_FILE": toolchain, "CMAKE_BUILD_TYPE": "Debug", "CMAKE_CXX_FLAGS_DEBUG": "-O0 -g0 -w",
        "CMAKE_UNITY_BUILD": "ON", "CMAKE_UNITY_BUILD_BATCH_SIZE": "16", "COLOCK_SEPARATE_ASIO": switch,
        "CMAKE_CXX_COMPILER_LAUNCHER": "", "COLOCK_CCACHE": "COLOCK_CCACHE-NOTFOUND",
        "OPENSSL_INCLUDE_DIR": target.prefix / "include", "OPENSSL_SSL_LIBRARY": library / "libssl.a",
        "OPENSSL_CRYPTO_LIBRARY": library / "libcrypto.a",
        "LUA_INCLUDE_DIR": target.prefix / "include", "LUA_LIBRARY": library / "liblua.a",
        "LUA_MATH_LIBRARY": "m",
        "COLOCK_BUILD_TESTS": switch, "COLOCK_BUILD_TOOLS": switch, "COLOCK_BUILD_BENCH": "OFF",
        "COLOCK_BUILD_EXAMPLES": "OFF", "COLOCK_INTEROP": "OFF", "COLOCK_INSTALL": "OFF",
        "COLOCK_BOTH_LIBRARIES": "OFF",
        "CMAKE_DISABLE_FIND_PACKAGE_spdlog": "ON", "CMAKE_DISABLE_FIND_PACKAGE_prometheus-cpp": "ON",
        "CMAKE_DISABLE_FIND_PACKAGE_SQLite3": "ON",
    }
    if boost:
        given["Boost_DIR"] = boost.parent
    quiet("cmake", "-G", "Ninja", "-S", ROOT, "-B", target.build / "colock",
          *(f"-D{name}={value}" for name, value in given.items()), log=target.build / "configure.log")


def objects(target: Target, programs: tuple[str, ...]) -> list[str]:
    """The object files of these targets and of those that they link."""
    ninja = ["ninja", "-C", str(target.build / "colock"), "-t", "inputs", *programs]
    said = subprocess.run(ninja, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    return [path for path in said if path.endswith((".o", ".obj"))]


def build(target: Target, *what: str) -> None:
    builds.run("cmake", "--build", target.build / "colock", "-j", builds.JOBS, "--target", *what)


def compile_all() -> None:
    """Compiles the library, its tests and the command for systems whose programs can't run here."""
    builds.set_up()
    for target in COMPILED:
        is_whole = target.system != "Windows"
        print(f"{target.name}: {target.triple}, {'all' if is_whole else 'the library'}", flush=True)
        provide(target)
        configure(target, programs=is_whole)
        build(target, *(objects(target, PROGRAMS) if is_whole else LIBRARY))


def run_musl() -> None:
    """Builds the unit tests and the simulated worlds for musl, and runs them."""
    builds.set_up()
    if not pathlib.Path("/lib/ld-musl-x86_64.so.1").exists():
        root = [] if os.geteuid() == 0 else ["sudo"]
        builds.run(*root, "apt-get", "install", "-q", "-y", "musl")
    provide(MUSL)
    configure(MUSL, programs=True)
    build(MUSL, "colock-unit-tests", "colock-world-tests")
    for program in ("colock-unit-tests", "simulation/colock-world-tests"):
        builds.run(MUSL.build / "colock/test" / program)
