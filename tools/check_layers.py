#!/usr/bin/python3
"""Checks that includes go down only, and the rules that keep the layers apart.

    check_layers.py [ROOT]        exits 1 with file:line messages
    check_layers.py --self-test

docs/internals/architecture.md shows the layers; ALLOWED below is the same in one table.
"""

import pathlib
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass

# What a file of each layer may include of our own. "src" is what lies in src/ itself, "bridge" a
# public header that knows somebody else's library, "programs" what is built on top.
BELOW_CORE = ("redis", "base", "decide", "system", "public")
ALLOWED = {
    "public": {"public"},
    "bridge": {"bridge", "public"},
    "system": {"system"},
    "vocabulary": {"vocabulary", "system", "public"},
    "decide": {"decide", "system", "public"},
    "base": {"base", "system", "public"},
    "resp": {"resp", "base", "decide", "public"},
    "redis": {"redis", "resp", "base", "decide", "system", "public"},
    "core": {"core", *BELOW_CORE},
    "holds": {"holds", "core", *BELOW_CORE},
    "waiting": {"waiting", "holds", "core", *BELOW_CORE},
    "locks": {"locks", "waiting", "holds", "core", *BELOW_CORE},
    "counters": {"counters", "waiting", "holds", "core", *BELOW_CORE},
    "client": {"client", "counters", "locks", "waiting", "holds", "core", *BELOW_CORE},
    "src": {"src", "resp", "client", "counters", "locks", "waiting", "holds", "core", *BELOW_CORE},
    "simulated_server": {"simulated_server", "decide", "public"},
    "test_double": {"test_double", "simulated_server", "client", "core", *BELOW_CORE},
    "programs": None,  # a matter of taste
}
INSIDE = set(ALLOWED) - {"public", "bridge", "programs"}

# Each is the one place below the programs that includes that library: what begins so.
BRIDGES = {
    "spdlog": "include/colock/log/spdlog.hpp",
    "prometheus": "include/colock/metrics/prometheus.hpp",
    "opentelemetry": "include/colock/otel",
}
# A server or a child process lives in real time, also in a test with virtual time.
REAL_TIME = ("src/base/clock.", "test_double/child.", "test_double/private_server.")
# What the preprocessor chooses: between systems, between Asio's configurations, for a sanitizer.
CHOOSING = ("src/system/", "src/base/clock.cpp", "src/base/resume_notice.cpp", "src/base/recycling.cpp",
            "include/colock/detail/abi.hpp")
# Of the system's headers other sources include this one, which all systems have.
EVERYWHERE = {"sys/stat.h"}
CONDITION = re.compile(r"[ \t]*#[ \t]*(?:if|ifdef|ifndef|elif)\b")
OF_THE_SYSTEM = re.compile(
    r"(?:sys|arpa|net|netinet|linux|mach)/|(?:unistd|fcntl|poll|netdb|pthread|dlfcn|dirent|process|windows|winsock2"
    r"|afunix|signal|termios)\.h$|csignal$")
PROGRAMS = ("cli", "bench", "examples", "tools")
# These show what can be done with the public headers; what they lack is not public yet.
OUTSIDE = ("cli/", "examples/")
FOLDERS = ("include", "src", "simulated_server", "test_double", *PROGRAMS)
SUFFIXES = {".hpp", ".cpp", ".ipp", ".h"}

# The library; what stands on it for tests, and programs, have their own way with systems.
PORTABLE = INSIDE - {"simulated_server", "test_double"} | {"public"}

INCLUDE = re.compile(r'[ \t]*#[ \t]*include[ \t]*([<"])([^>"]+)[>"]')
# One alternative takes what another must not look into: comments first, then strings.
NOT_CODE = re.compile(
    r"//[^\n]*"
    r"|/\*.*?\*/"
    r'|R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<!\w)'(?:\\.|[^'\\\n])+'",  # not the mark between digits
    re.DOTALL,
)
COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


def blank(match: re.Match[str]) -> str:
    """As many lines as before, so that line numbers stay."""
    return re.sub(r"[^\n]", " ", match.group())


@dataclass(frozen=True)
class Include:
    line: int
    name: str  # as written
    own: str | None  # the file of ours that it means


def layer_of(path: str) -> str | None:
    if path.startswith(tuple(BRIDGES.values())):
        return "bridge"
    first, *rest = path.split("/")
    if first == "include":
        return "public"
    if first in PROGRAMS:
        return "programs"
    if first in ("simulated_server", "test_double"):
        return first
    if first != "src":
        return None
    if len(rest) == 1:
        return "src"
    return rest[0] if rest[0] in ALLOWED else None


# Two minor versions in one process have different names, and a program that was compiled with another
# version's headers does not link.
OWN_NAMESPACE = re.compile(r"^namespace colock\b[^\n]*\n(?:inline namespace (\w+) \{)?", re.MULTILINE)
INNER = "detail|testing|blocking|admin|events"
OTHER_INNER = re.compile(
    rf"^namespace colock::(?:{INNER})\b|^namespace colock \{{\n+namespace (?:{INNER})\b"
    r"|^(?!inline namespace v)[^\n]*\nnamespace detail\b",
    re.MULTILINE,
)


# Its end has a comment, which is blank by then.
UNNAMED = re.compile(r"^namespace \{$(.*?)^\}  ", re.MULTILINE | re.DOTALL)
# Constants and types; functions may be overloads.
OF_ONE_SOURCE = re.compile(r"^(?:constexpr [\w:<> ]+? |class |struct )(\w+)(?=\{| = | \{| final|\n)", re.MULTILINE)


def chooses(path: str) -> bool:
    return path.startswith(CHOOSING)


class Tree:
    """The files of the project, and what is wrong with them."""

    def __init__(self, files: dict[str, str], version: str = "v1_2") -> None:
        self.files = files
        self.version = version
        self.includes = {path: list(self.includes_of(path)) for path in files}
        self.findings: list[str] = []
        self.asio: dict[str, bool] = {}

    def includes_of(self, path: str) -> Iterator[Include]:
        text = COMMENT.sub(blank, self.files[path])
        for number, line in enumerate(text.splitlines(), 1):
            if match := INCLUDE.match(line):
                yield Include(number, match[2], self.resolve(path, match[1], match[2]))

    def resolve(self, path: str, bracket: str, name: str) -> str | None:
        places = ["include", "src", ""]
        if bracket == '"':
            places.insert(0, path.rpartition("/")[0])
        for place in places:
            parts: list[str] = []
            for part in f"{place}/{name}".split("/"):
                if part == ".." and parts:
                    parts.pop()
                elif part not in ("", "."):
                    parts.append(part)
            if (candidate := "/".join(parts)) in self.files:
                return candidate
        return None

    def reaches_asio(self, path: str) -> bool:
        if path not in self.asio:
            self.asio[path] = False  # ends a cycle, which is a finding of its own
            self.asio[path] = any(
                include.name.startswith("boost/asio")
                or (include.own is not None and self.reaches_asio(include.own))
                for include in self.includes[path]
            )
        return self.asio[path]

    def find(self, path: str, line: int, what: str) -> None:
        self.findings.append(f"{path}:{line}: {what}")

    def check(self) -> list[str]:
        for path in sorted(self.files):
            layer = layer_of(path)
            if layer is None:
                self.find(path, 1, "lies in no layer")
                continue
            for include in self.includes[path]:
                self.check_own(path, layer, include)
                self.check_foreign(path, layer, include)
            self.check_words(path, layer)
        self.check_cycles()
        self.check_units()
        self.check_unnamed()
        return self.findings

    def check_unnamed(self) -> None:
        """A unity build compiles several sources as one, and which these are changes with each new file."""
        known: dict[str, str] = {}
        for path in sorted(self.files):
            if not path.startswith("src/") or not path.endswith(".cpp"):
                continue
            code = NOT_CODE.sub(blank, self.files[path])
            for space in UNNAMED.finditer(code):
                for name in OF_ONE_SOURCE.finditer(space[1]):
                    line = code.count("\n", 0, space.start(1) + name.start(1)) + 1
                    if (other := known.setdefault(name[1], path)) != path:
                        self.find(path, line, f"{other} has an unnamed {name[1]}, too, and a unity build has one")

    def check_own(self, path: str, layer: str, include: Include) -> None:
        if include.own is None:
            if include.name == "colock_scripts.hpp" and layer not in INSIDE - {"decide", "base"}:
                self.find(path, include.line, "the scripts belong to src/redis and above")
            return
        target = layer_of(include.own)
        allowed = ALLOWED[layer]
        if path.startswith(OUTSIDE) and target in INSIDE:
            self.find(path, include.line, f"a program for users includes public headers alone, not {include.name}")
        if target == "bridge" and layer not in ("bridge", "programs"):
            self.find(path, include.line, "a bridge to another library is for programs only")
        elif allowed is not None and target not in allowed and include.own != path:
            self.find(path, include.line, f"{layer} must not include {target} ({include.name})")
        elif layer == "decide" and target == "public" and self.reaches_asio(include.own):
            self.find(path, include.line, f"a decision gets Asio by way of {include.name}")

    def check_foreign(self, path: str, layer: str, include: Include) -> None:
        name = include.name

        def refuse(what: str) -> None:
            self.find(path, include.line, what)

        if re.match(r"boost/redis[/.]", name):
            refuse("Boost.Redis is not in the oldest Boost that colock takes")
        if layer in PORTABLE and OF_THE_SYSTEM.match(name) and not chooses(path) and name not in EVERYWHERE:
            refuse(f"<{name}> is not on every system: it belongs to src/system")
        for library, bridge in BRIDGES.items():
            if name.startswith(f"{library}/") and layer != "programs" and not path.startswith(bridge):
                refuse(f"{library} is included in {bridge} and in programs only")
        if layer in ("decide", "resp") and re.match(r"boost/(asio|beast)|openssl/", name):
            refuse("a decision knows no I/O")
        if layer in ("public", "bridge"):
            if re.match(r"openssl/|boost/asio/ssl", name):
                refuse("a public header doesn't include OpenSSL")
            if name in ("boost/asio.hpp", "regex", "iostream"):
                refuse(f"<{name}> is too much for a public header")

    def check_words(self, path: str, layer: str) -> None:
        if layer == "programs":
            return
        # The literals of scripts and messages don't count, nor does what comments say.
        code = NOT_CODE.sub(blank, self.files[path])
        if layer in ("public", "bridge"):
            for opened in OWN_NAMESPACE.finditer(code):
                if opened[1] != self.version:
                    number = code.count("\n", 0, opened.start()) + 1
                    self.find(path, number, f"a public header opens colock, and in it inline {self.version}")
        for opened in re.finditer(r"^inline namespace (v\d+_\d+)\b", code, re.MULTILINE):
            if layer not in ("public", "bridge") and opened[1] != self.version:
                number = code.count("\n", 0, opened.start()) + 1
                self.find(path, number, f"the inline namespace of this version is {self.version}")
        for opened in OTHER_INNER.finditer(code) if layer not in ("public", "bridge") else ():
            number = code.count("\n", 0, opened.end()) + 1
            self.find(path, number, f"opened outside of inline {self.version}: for Clang it is another namespace")
        if layer in PORTABLE and not chooses(path):
            for number, line in enumerate(code.splitlines(), 1):
                if CONDITION.match(line):
                    self.find(path, number, "what differs between systems belongs to src/system")
        clock = path.startswith(REAL_TIME)
        for number, line in enumerate(code.splitlines(), 1):
            if layer in ("decide", "resp") and re.search(r"\bclock(_type)?\s*::\s*now\s*\(|_clock::now\s*\(", line):
                self.find(path, number, "a decision gets the time as an argument")
            elif not clock and re.search(r"\bsteady_clock\s*::\s*now\b", line):
                self.find(path, number, "the time comes from src/base/clock alone")
            if layer in INSIDE and (word := re.search(r"\b(detached|use_awaitable)(_t)?\b", line)):
                self.find(path, number, f"no {word[1]} in src/: somebody must get the error")

    def check_cycles(self) -> None:
        done: set[str] = set()

        def visit(path: str, way: list[str]) -> None:
            if path in way:
                cycle = way[way.index(path) :] + [path]
                line = next(i.line for i in self.includes[cycle[0]] if i.own == cycle[1])
                self.find(cycle[0], line, "includes go in a circle: " + " -> ".join(cycle))
                return
            if path in done:
                return
            for include in self.includes[path]:
                if include.own is not None:
                    visit(include.own, [*way, path])
            done.add(path)

        for path in sorted(self.files):
            visit(path, [])

    def check_units(self) -> None:
        """A unit is a header with the sources that carry its name; units of a folder form no circle."""
        after: dict[str, dict[str, tuple[str, int]]] = {}
        for path in self.files:
            if not path.startswith("src/"):
                continue
            unit = self.unit_of(path)
            for include in self.includes[path]:
                if include.own is not None and include.own.rpartition("/")[0] == path.rpartition("/")[0]:
                    if (other := self.unit_of(include.own)) != unit:
                        after.setdefault(unit, {}).setdefault(other, (path, include.line))
        done: set[str] = set()

        def visit(unit: str, way: list[str]) -> None:
            if unit in way:
                cycle = way[way.index(unit) :] + [unit]
                path, line = after[cycle[0]][cycle[1]]
                names = [each.rpartition("/")[2] for each in cycle]
                self.find(path, line, "units of one folder go in a circle: " + " -> ".join(names))
                return
            if unit in done:
                return
            for other in after.get(unit, {}):
                visit(other, [*way, unit])
            done.add(unit)

        for unit in sorted(after):
            visit(unit, [])

    def unit_of(self, path: str) -> str:
        stem = path.rpartition(".")[0]
        while f"{stem}.hpp" not in self.files and "_" in stem.rpartition("/")[2]:
            stem = stem.rpartition("_")[0]
        return stem if f"{stem}.hpp" in self.files else path.rpartition(".")[0]


def version_of(root: pathlib.Path) -> str:
    text = (root / "CMakeLists.txt").read_text(encoding="utf-8")
    return "v{}_{}".format(*re.search(r"^project\(colock VERSION (\d+)\.(\d+)", text, re.MULTILINE).groups())


def load(root: pathlib.Path) -> dict[str, str]:
    return {
        file.relative_to(root).as_posix(): file.read_text(encoding="utf-8")
        for folder in FOLDERS
        for file in sorted((root / folder).rglob("*"))
        if file.suffix in SUFFIXES and file.is_file()
    }


# Each case: files, and what the one finding begins with and holds; nothing when all is well.
CASES: list[tuple[dict[str, str], str, str]] = [
    (
        {
            "src/core/a.cpp": "namespace {\nint f() {\n}\nconstexpr int most = 3;\n}  // namespace\n",
            "src/locks/b.cpp": "namespace {\n\nconstexpr int most{4};\n}  // namespace\n",
        },
        "src/locks/b.cpp:3:",
        "src/core/a.cpp has an unnamed most",
    ),
    (
        {
            "include/colock/error.hpp": "#include <boost/system/error_code.hpp>\n",
            "include/colock/lock.hpp": "#include <colock/error.hpp>\n#include <boost/asio/deferred.hpp>\n",
            "include/colock/log/spdlog.hpp": "#include <spdlog/spdlog.h>\n#include <colock/error.hpp>\n",
            "src/decide/queue.hpp": "#include <colock/error.hpp>\n#include <deque>\n// clock::now()\n",
            "src/base/clock.hpp": "auto now() { return std::chrono::steady_clock::now(); }\n",
            "src/redis/link.hpp": "#include <boost/asio/ssl/stream.hpp>\n#include <base/clock.hpp>\n",
            "src/core/core.cpp": '#include "redis/link.hpp"\nauto t = "detached"; // use_awaitable\n'
            "int x = 10'000; char c = ','; auto d = R\"(detached)\";\n",
            "src/locks/lock.cpp": '#include <core/core.hpp>\n#include "../decide/queue.hpp"\n',
            "src/client.cpp": "#include <locks/lock.hpp>\n#include <colock_scripts.hpp>\n",
            "cli/main.cpp": "#include <colock/log/spdlog.hpp>\n#include <spdlog/spdlog.h>\nasio::detached;\n",
        },
        "",
        "",
    ),
    (
        {"src/redis/link.hpp": '#include "core/core.hpp"\n', "src/core/core.hpp": ""},
        "src/redis/link.hpp:1:",
        "redis must not include core",
    ),
    (
        {"src/decide/x.cpp": "\n#include <base/clock.hpp>\n", "src/base/clock.hpp": ""},
        "src/decide/x.cpp:2:",
        "decide must not include base",
    ),
    (
        {"src/base/task.hpp": "#include <decide/x.hpp>\n", "src/decide/x.hpp": ""},
        "src/base/task.hpp:1:",
        "base must not include decide",
    ),
    (
        {"test_double/x.hpp": "#include <locks/x.hpp>\n", "src/locks/x.hpp": ""},
        "test_double/x.hpp:1:",
        "test_double must not include locks",
    ),
    ({"test_double/x.hpp": "auto t = steady_clock::now();\n"}, "test_double/x.hpp:1:", "src/base/clock"),
    ({"src/decide/x.cpp": "#include <boost/asio/buffer.hpp>\n"}, "src/decide/x.cpp:1:", "no I/O"),
    (
        {
            "src/decide/x.cpp": "#include <colock/a.hpp>\n",
            "include/colock/a.hpp": "#include <colock/b.hpp>\n",
            "include/colock/b.hpp": "#include <boost/asio/buffer.hpp>\n",
        },
        "src/decide/x.cpp:1:",
        "by way of colock/a.hpp",
    ),
    ({"src/decide/x.cpp": "auto t = clock::now();\n"}, "src/decide/x.cpp:1:", "as an argument"),
    (
        {"src/core/x.cpp": "/*\n*/ auto t = std::chrono::steady_clock::now();\n"},
        "src/core/x.cpp:2:",
        "src/base/clock",
    ),
    ({"include/colock/a.hpp": "auto t = steady_clock::now();\n"}, "include/colock/a.hpp:1:", "clock"),
    ({"src/locks/x.cpp": "co_spawn(a, b, asio::detached);\n"}, "src/locks/x.cpp:1:", "no detached"),
    ({"src/locks/x.cpp": "asio::use_awaitable_t<> t;\n"}, "src/locks/x.cpp:1:", "no use_awaitable"),
    ({"src/redis/x.cpp": "#include <boost/redis/request.hpp>\n"}, "src/redis/x.cpp:1:", "Boost.Redis"),
    ({"examples/x.cpp": "#include <boost/redis.hpp>\n"}, "examples/x.cpp:1:", "Boost.Redis"),
    ({"src/core/x.cpp": "#include <spdlog/spdlog.h>\n"}, "src/core/x.cpp:1:", "spdlog"),
    (
        {"src/core/x.cpp": "#include <colock/log/spdlog.hpp>\n", BRIDGES["spdlog"]: ""},
        "src/core/x.cpp:1:",
        "for programs only",
    ),
    (
        {BRIDGES["spdlog"]: "#include <prometheus/registry.h>\n"},
        f"{BRIDGES['spdlog']}:1:",
        "prometheus is included in",
    ),
    (
        {
            "include/colock/otel.hpp": "#include <colock/otel/a.hpp>\n",
            "include/colock/otel/a.hpp": "#include <opentelemetry/a.h>\n",
        },
        "",
        "",
    ),
    (
        {"include/colock/a.hpp": "#include <core/x.hpp>\n", "src/core/x.hpp": ""},
        "include/colock/a.hpp:1:",
        "public must not include core",
    ),
    ({"include/colock/a.hpp": "#include <openssl/ssl.h>\n"}, "include/colock/a.hpp:1:", "OpenSSL"),
    ({"include/colock/a.hpp": "#include <boost/asio.hpp>\n"}, "include/colock/a.hpp:1:", "too much"),
    (
        {"cli/a.cpp": "#include <colock/a.hpp>\n#include <core/x.hpp>\n", "include/colock/a.hpp": "", "src/core/x.hpp": ""},
        "cli/a.cpp:2:",
        "public headers alone, not core/x.hpp",
    ),
    ({"bench/a.cpp": "#include <core/x.hpp>\n", "src/core/x.hpp": ""}, "", ""),
    ({"src/extra/x.cpp": ""}, "src/extra/x.cpp:1:", "no layer"),
    ({"include/colock/a.hpp": "\nnamespace colock {\n}\n"}, "include/colock/a.hpp:2:", "inline v1_2"),
    ({"include/colock/a.hpp": "namespace colock::detail {\n}\n"}, "include/colock/a.hpp:1:", "inline v1_2"),
    ({"include/colock/a.hpp": "namespace colock {\ninline namespace v1_1 {\n}\n"}, "include/colock/a.hpp:1:", "v1_2"),
    ({"include/colock/a.hpp": "namespace colock {\ninline namespace v1_2 {\n}\n"}, "", ""),
    ({"src/core/a.hpp": "namespace colock {\ninline namespace v1_1 {\n}\n"}, "src/core/a.hpp:2:", "v1_2"),
    ({"src/core/a.hpp": "namespace colock::detail {\n}\n"}, "src/core/a.hpp:1:", "inline v1_2"),
    ({"src/core/a.hpp": "namespace colock::testing {\n}\n"}, "src/core/a.hpp:1:", "inline v1_2"),
    ({"src/core/a.hpp": "namespace colock {\nnamespace detail {\n}\n}\n"}, "src/core/a.hpp:2:", "inline v1_2"),
    ({"src/core/a.hpp": "inline namespace v1_2 {\nnamespace detail {\n}\n}\n"}, "", ""),
    ({"src/system/x.cpp": "#ifdef _WIN32\n#include <process.h>\n#endif\n"}, "", ""),
    ({"src/redis/x.cpp": "#ifdef _WIN32\n#endif\n"}, "src/redis/x.cpp:1:", "belongs to src/system"),
    ({"src/redis/x.cpp": "#include <unistd.h>\n"}, "src/redis/x.cpp:1:", "belongs to src/system"),
    ({"src/redis/x.cpp": "#include <sys/stat.h>\n"}, "", ""),
    (
        {"src/system/x.cpp": "#include <base/x.hpp>\n", "src/base/x.hpp": ""},
        "src/system/x.cpp:1:",
        "system must not include base",
    ),
    (
        {
            "src/core/a.hpp": "#include <core/b.hpp>\n",
            "src/core/b.hpp": '\n#include <colock/c.hpp>\n',
            "include/colock/c.hpp": '#include "d.hpp"\n',
            "include/colock/d.hpp": '#include "c.hpp"\n',
        },
        "include/colock/c.hpp:1:",
        "in a circle: include/colock/c.hpp -> include/colock/d.hpp -> include/colock/c.hpp",
    ),
    (
        {
            "src/core/a.hpp": "",
            "src/core/a_more.cpp": '#include "core/b.hpp"\n',
            "src/core/b.hpp": "",
            "src/core/b.cpp": '\n#include "core/a.hpp"\n',
        },
        "src/core/a_more.cpp:1:",
        "in a circle: a -> b -> a",
    ),
]


def self_test() -> None:
    for files, start, part in CASES:
        findings = Tree(files).check()
        good = not findings if not start else len(findings) == 1
        if not good or (start and not (findings[0].startswith(start) and part in findings[0])):
            sys.exit(f"expected {start or 'nothing'} {part}\nfound {findings}\nin {files}")
    print(f"{len(CASES)} cases")


def main() -> None:
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return
    root = pathlib.Path(sys.argv[1] if sys.argv[1:] else pathlib.Path(__file__).parents[1])
    files = load(root)
    findings = Tree(files, version_of(root)).check()
    for finding in findings:
        print(finding)
    print(f"{len(files)} files, {len(findings)} findings")
    sys.exit(1 if findings else 0)


main()
