"""Checks the blocks of code in the documents, for check_docs.py.

- Each ```cpp block comes right after a comment `<!-- FILE NAME -->` and equals what stands between
  `// [NAME` and `// NAME]` in that file, which the build compiles.
- A block of a language that nothing here compiles comes right after `<!-- not compiled: WHY -->`.
- No other way of writing code escapes: a fence is at the begin of its line and names one of the known
  languages, and no indented line has C++ in it.
- Each line of a ```cmake block stands in a project of test/consumer, but for the name of the target
  and the address of a repository.
- What a page tells cmake exists: presets, and options of colock.
"""

import json
import pathlib
import re
import textwrap
from collections.abc import Iterator

SOURCE = re.compile(r"<!-- (?P<file>\S+) (?P<name>\w+) -->")
NOT_COMPILED = re.compile(r"<!-- not compiled: .+ -->")
FENCE = re.compile(r"(?P<indent> *)(?P<mark>`{3,}|~{3,}) *(?P<language>[^`\s]*)")
COMPILED = {"cpp"}
# Code of other languages that pages quote.
QUOTED = {"java", "go", "python", "lua", "sql"}
# Checked elsewhere or by their readers: outputs, commands, pictures, rules of a server, plain text.
OTHERS = {"text", "sh", "cmake", "mermaid", "acl"}
INDENTED_CPP = re.compile(r"    .*\b(?:co_await|co_return|colock::|asio::|std::)")
OPTION = re.compile(r"-D(COLOCK_\w+)")
PRESET = re.compile(r"--preset[ =](\w[\w.-]*)")
CONSUMERS = "test/consumer/*/CMakeLists.txt"


def region(text: str, name: str) -> str | None:
    found = re.search(rf"^ *// \[{name}\n(.*?)^ *// {name}\]$", text, re.DOTALL | re.MULTILINE)
    return textwrap.dedent(found[1]) if found else None


def blocks(text: str) -> Iterator[tuple[int, str, str, list[str]]]:
    """Each fenced block: the line of its fence, the line before it, its language, its lines."""
    lines = text.splitlines()
    number = 0
    while number < len(lines):
        fence = FENCE.match(lines[number])
        if fence:
            begin = number
            number += 1
            while number < len(lines) and lines[number].strip() != fence["mark"]:
                number += 1
            before = lines[begin - 1] if begin else ""
            yield begin + 1, before, fence["language"], lines[begin + 1 : number]
        number += 1


def check_compiled(root: pathlib.Path, before: str, shown: list[str]) -> str | None:
    source = SOURCE.fullmatch(before)
    if not source:
        return "a block of C++ without a line <!-- FILE NAME --> before it"
    try:
        expected = region((root / source["file"]).read_text(), source["name"])
    except OSError as e:
        return str(e)
    if expected is None:
        return f"{source['file']} has no region '{source['name']}'"
    if expected != "".join(line + "\n" for line in shown):
        return f"differs from region '{source['name']}' of {source['file']}"
    return None


def plain_cmake(line: str) -> str:
    """Without what each project names itself."""
    return re.sub(r"(add_executable|target_link_libraries|project)\(\w+", r"\1(X", line.strip())


def check_cmake(root: pathlib.Path, number: int, shown: list[str]) -> Iterator[tuple[int, str]]:
    tested = {
        plain_cmake(line)
        for project in root.glob(CONSUMERS)
        for line in project.read_text().splitlines()
    }
    for at, line in enumerate(shown, number + 1):
        if line.strip() and plain_cmake(line) not in tested:
            yield at, f"no project of {CONSUMERS} has this line"


def check_blocks(root: pathlib.Path, _: pathlib.Path, text: str) -> Iterator[tuple[int, str]]:
    for number, before, language, shown in blocks(text):
        if language in COMPILED:
            if message := check_compiled(root, before, shown):
                yield number, message
        elif language in QUOTED:
            if not NOT_COMPILED.fullmatch(before):
                yield number, "nothing compiles this: say so by <!-- not compiled: WHY --> before it"
        elif language not in OTHERS:
            yield number, f"a block of '{language}': name one of {', '.join(sorted(COMPILED | OTHERS))}"
        if language == "cmake":
            yield from check_cmake(root, number, shown)


def check_lines(root: pathlib.Path, _: pathlib.Path, text: str) -> Iterator[tuple[int, str]]:
    settings = [root / "CMakeLists.txt", *root.glob("cmake/*"), *root.glob("*/CMakeLists.txt")]
    known = "".join(path.read_text() for path in settings if path.is_file())
    file = root / "CMakePresets.json"
    presets = json.loads(file.read_text()) if file.is_file() else {}
    names = {one["name"] for kind in presets.values() if isinstance(kind, list) for one in kind}
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if fence := FENCE.match(line):
            inside = not inside
            if fence["indent"]:
                yield number, "a fence that does not begin its line"
        elif not inside and INDENTED_CPP.match(line):
            yield number, "C++ in an indented block, which nothing compiles"
        for option in OPTION.findall(line):
            if not re.search(rf"\b{option}\b", known):
                yield number, f"there is no option {option}"
        for preset in PRESET.findall(line):
            if preset not in names:
                yield number, f"there is no preset {preset}"


GOOD = {
    "README.md": "# A\n\n[b](docs/b.md#two-words-1) `docs/b.md`\n\n"
    "<!-- examples/e.cpp part -->\n```cpp\nint a;\n```\n\n<!-- not compiled: Java -->\n```java\nint a;\n```\n\n"
    "```cmake\nadd_executable(mine main.cpp)\n```\n\n```sh\ncmake --preset dev -DCOLOCK_A=ON\n```\n",
    "examples/e.cpp": "  // [part\n  int a;\n  // part]\n",
    "test/consumer/first/CMakeLists.txt": "add_executable(first main.cpp)\n",
    "CMakePresets.json": '{"configurePresets": [{"name": "dev"}]}',
    "cmake/options.cmake": "option(COLOCK_A)\n",
}
BAD = {
    "differs": {"examples/e.cpp": "// [part\nint b;\n// part]\n"},
    "no region": {"examples/e.cpp": "int a;\n"},
    "without a line": {"README.md": "```cpp\nint a;\n```\n"},
    "nothing compiles this": {"README.md": "```java\nint a;\n```\n"},
    "a block of 'c++'": {"README.md": "```c++\nint a;\n```\n"},
    "a block of ''": {"README.md": "```\nint a;\n```\n"},
    "does not begin its line": {"README.md": "- a\n\n  ```text\n  a\n  ```\n"},
    "C++ in an indented block": {"README.md": "So:\n\n    co_await lock.acquire();\n"},
    "has this line": {"test/consumer/first/CMakeLists.txt": ""},
    "no option COLOCK_B": {"README.md": "`-DCOLOCK_B=ON`\n"},
    "no preset prod": {"README.md": "    cmake --build --preset prod\n"},
}
