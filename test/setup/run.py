#!/usr/bin/python3
"""Checks what tools/setup --dry-run says on several systems, by release files and lists of packages
that are made up here. It runs a copy of the script, in a PATH that holds stand-ins for apt, dpkg and
cmake, so that this machine's packages make no difference.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

SETUP = pathlib.Path(__file__).resolve().parents[2] / "tools/setup"
PLAIN = "bash cat dirname env find grep head mkdir mktemp rm sed sort tail".split()

DEBIAN_12 = 'PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"\nID=debian\nVERSION_ID="12"\nVERSION_CODENAME=bookworm\n'
DEBIAN_13 = 'PRETTY_NAME="Debian GNU/Linux 13 (trixie)"\nID=debian\nVERSION_ID="13"\nVERSION_CODENAME=trixie\n'
FRESH = DEBIAN_12.replace("(bookworm)", "(no lists of packages yet)")
UBUNTU_22 = 'PRETTY_NAME="Ubuntu 22.04.5 LTS"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID="22.04"\nVERSION_CODENAME=jammy\n'
UBUNTU_24 = 'PRETTY_NAME="Ubuntu 24.04.1 LTS"\nID=ubuntu\nID_LIKE=debian\nVERSION_ID="24.04"\nVERSION_CODENAME=noble\n'
FEDORA = 'PRETTY_NAME="Fedora Linux 42 (Server Edition)"\nID=fedora\nVERSION_ID=42\n'
ARCH = 'PRETTY_NAME="Arch Linux"\nID=arch\n'

COMMON = """g++ make cmake ninja-build ccache python3 libssl-dev libspdlog-dev libcli11-dev redis-server git
pkg-config prometheus-cpp-dev default-jdk-headless maven libsqlite3-dev liblua5.1-0-dev spin doxygen
python3-venv golang-go groff-base openssl procps valgrind zsh""".split()


def clang(*releases: int) -> list[str]:
    return [name.format(n) for n in releases
            for name in ("clang-{}", "clang-format-{}", "clang-tidy-{}", "libclang-rt-{}-dev")]


# What apt has there: names, and versions where they matter.
PACKAGES = {
    DEBIAN_12: {**dict.fromkeys([*COMMON, *clang(14, 16), "chromium"], "1"), "libboost-dev": "1.74.0.3"},
    DEBIAN_13: {**dict.fromkeys([*COMMON, *clang(17, 19), "chromium", "valkey-server"], "1"),
                "libboost-dev": "1.83.0.2+b2", "libboost1.83-dev": "1.83.0-4.2"},
    UBUNTU_22: {**dict.fromkeys([*COMMON, *clang(14, 15)], "1"), "libboost-dev": "1.74.0.3ubuntu7"},
    UBUNTU_24: {**dict.fromkeys([*COMMON, *clang(14, 16, 18), "valkey-server"], "1"),
                "libboost-dev": "1.83.0.1ubuntu2"},
}

APT_CACHE = """#!/bin/bash
case $1 in
policy) if [[ -s $PACKAGES ]]; then echo " 500 http://mirror.example/debian stable/main amd64 Packages"; fi ;;
pkgnames) sed -n "s/^\\($2[^ ]*\\) .*/\\1/p" "$PACKAGES" ;;
show) sed -n "s/^${!#} \\(.*\\)/Package: ${!#}\\nVersion: \\1/p" "$PACKAGES" ;;
esac
"""

# Each case: system, arguments, exit status, what it must say, what it must not say.
CASES: list[tuple[str, str, int, list[str], list[str]]] = [
    (DEBIAN_12, "", 0,
     ["Debian GNU/Linux 12", "would install: g++ ", "clang-format-16", "clang-16 clang-tidy-16", "golang-go",
      "would unpack libboost1.92-dev of trixie-backports into .deps/",
      "valkey-server: would unpack it of bookworm-backports",
      "would unpack libboost1.83-dev of trixie into .deps/boost-1.83/"],
     ["libboost-dev", "clang-19"]),
    (DEBIAN_12, "--library", 0,
     ["would install: g++ make cmake ninja-build", "would unpack libboost1.92-dev of trixie-backports"],
     ["valkey", "boost-1.83", "clang", "doxygen"]),
    (DEBIAN_12, "--tests", 0,
     ["would install: g++ make cmake ninja-build", "clang-format-16", "doxygen",
      "would unpack libboost1.92-dev of trixie-backports", "would unpack it of bookworm-backports"],
     ["boost-1.83", "clang-tidy", "libclang-rt", "jdk", "chromium", "golang"]),
    (FRESH, "", 0,
     ["apt has no lists of packages yet", "would install: g++ ", "clang-16",
      "would unpack libboost1.92-dev of trixie-backports"],
     ["libboost-dev", "has no clang"]),
    (DEBIAN_13, "", 0,
     ["has no clang-16: clang-19 comes in its place", "clang-format-19", "clang-19 clang-tidy-19",
      "libclang-rt-19-dev", " libboost-dev valkey-server", "Boost: libboost-dev of the system, 1.83.0.2",
      "valkey-server: the system's"],
     ["unpack", "backports", "clang-16 libclang"]),
    (UBUNTU_24, "", 0,
     ["Ubuntu 24.04", "clang-format-16", "clang-16 clang-tidy-16", "has no chromium",
      "Boost: libboost-dev of the system, 1.83.0.1", "valkey-server: the system's"],
     ["unpack", "backports", "comes in its place"]),
    (UBUNTU_24, "--library", 0, ["libboost-dev"], ["valkey", "clang", "unpack"]),
    (UBUNTU_22, "", 0,
     ["clang-15 comes in its place", "Boost: none; configure with -DCOLOCK_FETCH_BOOST=ON",
      "valkey-server: none"],
     ["unpack", "libboost"]),
    (FEDORA, "", 1,
     ["Fedora Linux 42", "dnf install gcc-c++ make cmake", "boost-devel", "clang-tools-extra"],
     ["libssl-dev", "would"]),
    (FEDORA, "--library", 1, ["dnf install gcc-c++ make cmake", "boost-devel"], ["clang", "doxygen"]),
    (ARCH, "", 1, ["Arch Linux", "libssl-dev", "Boost >= 1.83"], ["dnf", "would"]),
]


def make_path(home: pathlib.Path) -> None:
    home.mkdir()
    for name in PLAIN:
        (home / name).symlink_to(shutil.which(name) or f"/bin/{name}")
    (home / "apt-cache").write_text(APT_CACHE)
    for name in ("apt-get", "cmake", "dpkg-deb", "dpkg-query", "g++"):
        (home / name).write_text("#!/bin/bash\nexit 1\n")
    for file in home.iterdir():
        if not file.is_symlink():
            file.chmod(0o755)


def check(home: pathlib.Path, system: str, arguments: str, status: int) -> str:
    (home / "os-release").write_text(system)
    lines = (f"{name} {version}\n" for name, version in PACKAGES.get(system, {}).items())
    (home / "packages").write_text("".join(lines))
    done = subprocess.run(
        [home / "tools/setup", "--dry-run", *arguments.split()],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PATH": str(home / "path"), "PACKAGES": str(home / "packages"),
             "COLOCK_OS_RELEASE": str(home / "os-release")},
    )
    if done.returncode != status:
        sys.exit(f"it ends with {done.returncode}, not {status}:\n{done.stdout}")
    if (home / ".deps").exists():
        sys.exit("a dry run makes .deps")
    return done.stdout


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        home = pathlib.Path(folder)
        (home / "tools").mkdir()
        shutil.copy2(SETUP, home / "tools/setup")
        make_path(home / "path")
        for system, arguments, status, says, says_not in CASES:
            said = check(home, system, arguments, status)
            for part in says:
                if part not in said:
                    sys.exit(f"'{part}' is missing in what setup {arguments} says:\n{said}")
            for part in says_not:
                if part in said:
                    sys.exit(f"'{part}' should not be in what setup {arguments} says:\n{said}")
    print(f"{len(CASES)} cases")


main()
