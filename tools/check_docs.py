#!/usr/bin/python3
"""Checks what README.md and the other documents say that can be checked.

    check_docs.py [ROOT]        exits 1 with file:line messages
    check_docs.py --self-test
    check_docs.py --output FILE COMMAND [ARG...]
                                runs the program made of FILE: it prints what the pages show

- Code is compiled code, and no code block escapes: tools/snippets.py.
- Output is a program's output: where a page has blocks of ```text, each right after a comment
  `<!-- output FILE -->`, they are together all that the program prints. A number behind `~` is a
  measured one, and may differ where a program of examples/ measures it. Each program of
  examples/1_tutorial is on some page.
- Links to files and headings lead somewhere, and so do paths in `backticks`.
- scripts/README.md has a row for each script, and no other.
- docs/internals/architecture.md says of each folder in src/ what it is for, in 250 lines.
- docs/deployments.md lets a user run what the scripts call, and what the connections send; and
  these ask at their start about what the scripts call.
- docs/configuration.md names each field of the config and the options, with its default, and
  docs/errors.md each error: tools/reference_pages.py.
- docs/internals/proofs.md names tests for each section of docs/guarantees.md that promises something,
  and docs/internals/failures.md each test of test/replay; and these tests exist.
- The lists of docs/tutorial and docs/zh/tutorial have all lessons, in one order, and each lesson ends
  with links to those before and after it.
- A version of colock that a page asks for is that of CMakeLists.txt.
"""

import difflib
import pathlib
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator

import reference_pages
import snippets

FOLDERS = "bench|cli|cmake|docs|examples|include|scripts|src|test|tools"
OUTPUT = re.compile(r"<!-- output (?P<file>\S+) -->")
MEASURED = re.compile(r" *~[\d.,]+")
LINK = re.compile(r"\[[^\]]*\]\((?P<to>[^)\s]+)\)")
CODE_SPAN = re.compile(r"`[^`]*`")
PATH = re.compile(rf"`(?P<path>(?:{FOLDERS})/[\w./+-]*\w)`")
CALL = re.compile(r"\bp?call\((?:'(?P<command>[a-z]+)')?")
# What src/redis sends by itself.
SENT = set(
    "client|id client|kill eval evalsha info ping publish select subscribe time unsubscribe".split()
)
PROBE = "src/redis/permissions.cpp"
# How a message is published, which the documents explain apart.
PUBLISH = {"publish", "spublish"}
# What is asked about and granted with a subcommand.
CONTAINERS = {"pubsub"}
# Sections of docs/guarantees.md that promise nothing: what is not, and a heading of others.
WITHOUT_PROMISES = {"What is not promised", "What each failure looks like"}
HEADING = re.compile(r"##+ +(.*)")
# In the list of proofs a row may begin a section, too.
PROOF_HEADING = re.compile(r"(?:##+ +|\| \*\*)(.*?)(?:\*\* \|.*)?$")
TEST_NAME = re.compile(r"`(?P<case>[a-z]\w*/[a-z]\w*)`")
BOOST_TEST = re.compile(
    r"^BOOST_(?:AUTO|FIXTURE|DATA)_TEST_(?P<what>SUITE|CASE)(?:_TEMPLATE)?"
    r"(?:_F\(\s*\w+,|\()\s*(?P<name>\w+)",
    re.MULTILINE,
)
VERSION = re.compile(r"^project\(colock VERSION (?P<version>[\d.]+)", re.MULTILINE)
ASKED_VERSION = re.compile(r"find_package\(colock ([\d.]+)|GIT_TAG v([\d.]+)|libcolock(\d+\.\d+)")
ROW = re.compile(r"\| *\[(?P<name>[^\]]+\.lua)\]")


def documents(root: pathlib.Path) -> list[pathlib.Path]:
    some = [
        *sorted(root.glob("*.md")),
        root / "scripts/README.md",
        *sorted(root.glob("docs/**/*.md")),
        *sorted(root.glob("test/**/*.md")),
    ]
    return [path for path in some if path.is_file()]


def prose(text: str) -> Iterator[tuple[int, str]]:
    """The lines that are not in code blocks, with their numbers."""
    inside = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            inside = not inside
        elif not inside and not line.startswith("    "):
            yield number, line


def anchors(text: str) -> set[str]:
    """The names of the headings, as GitHub makes them."""
    found: set[str] = set()
    for _, line in prose(text):
        if match := re.match(r"#+ +(.*)", line):
            name = re.sub(r"[^\w\- ]", "", match[1].strip().lower()).replace(" ", "-")
            repeats = sum(1 for other in found if re.fullmatch(re.escape(name) + r"(-\d+)?", other))
            found.add(f"{name}-{repeats}" if repeats else name)
    return found


def outputs(text: str) -> Iterator[tuple[int, str, str | None]]:
    """What a page shows as output: the line, the program's file, and the block if there is one."""
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        if match := OUTPUT.fullmatch(line):
            block = None
            if lines[number : number + 1] == ["```text"] and "```" in lines[number:]:
                end = lines.index("```", number)
                block = "".join(line + "\n" for line in lines[number + 1 : end])
            yield number, match["file"], block


def check_outputs(root: pathlib.Path) -> Iterator[tuple[str, int, str]]:
    shown = set()
    for path in documents(root):
        for number, file, block in outputs(path.read_text()):
            name = str(path.relative_to(root))
            shown.add(file)
            if not (root / file).is_file():
                yield name, number, f"{file} does not exist"
            if block is None:
                yield name, number, "no block of ```text follows"
    for program in sorted(root.glob("examples/1_tutorial/*.cpp")):
        if (file := program.relative_to(root).as_posix()) not in shown:
            yield file, 1, "no page shows what it prints"


def compare_output(root: pathlib.Path, file: str, printed: str) -> list[str]:
    """What differs between the output of a program and the pages that show it."""
    pages: dict[str, str] = {}
    for path in documents(root):
        for _, shown, block in outputs(path.read_text()):
            if shown == file:
                name = str(path.relative_to(root))
                pages[name] = pages.get(name, "") + (block or "")
    found = [] if pages else [f"no page shows the output of {file}"]
    for name, block in pages.items():
        old, new = block, printed
        if file.startswith("examples/"):
            old, new = (MEASURED.sub(" ~N", text) for text in (block, printed))
        if old != new:
            found += difflib.unified_diff(
                old.splitlines(), new.splitlines(), name, "what it prints", lineterm=""
            )
    return found


def check_output(root: pathlib.Path, file: str, command: list[str]) -> int:
    program = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    findings = compare_output(root, file, program.stdout)
    if program.returncode:
        findings.append(f"{file} exits with {program.returncode}")
    print(*findings, sep="\n", end="")
    if findings:
        print("\n\nAll that it prints:\n" + program.stdout, end="")
    return 1 if findings else 0


def check_links(root: pathlib.Path, path: pathlib.Path, text: str) -> Iterator[tuple[int, str]]:
    for number, line in prose(text):
        for match in LINK.finditer(CODE_SPAN.sub("", line)):
            to, _, anchor = match["to"].partition("#")
            if "://" in to or to.startswith("mailto:"):
                continue
            target = (path.parent / to) if to else path
            if not target.exists():
                yield number, f"{to} does not exist"
            elif anchor and anchor not in anchors(target.read_text()):
                yield number, f"{to or path.name} has no heading '{anchor}'"
        for match in PATH.finditer(line):
            if not (root / match["path"]).exists():
                yield number, f"{match['path']} does not exist"


def check_version(root: pathlib.Path, path: pathlib.Path, text: str) -> Iterator[tuple[int, str]]:
    project = VERSION.search((root / "CMakeLists.txt").read_text())
    for number, line in enumerate(text.splitlines(), 1):
        for match in ASKED_VERSION.finditer(line):
            asked = next(filter(None, match.groups()))
            if project and not f"{project['version']}.".startswith(f"{asked}."):
                yield number, f"asks for version {asked}, and this is {project['version']}"


def check_tutorial(root: pathlib.Path) -> Iterator[tuple[str, int, str]]:
    orders = []
    for name in ("docs/tutorial", "docs/zh/tutorial"):
        contents = root / name / "README.md"
        if not contents.is_file():
            continue
        order = re.findall(r"^- \[[^\]]*\]\(([\w-]+\.md)\)", contents.read_text(), re.MULTILINE)
        orders.append(order)
        for lesson in sorted(path.name for path in contents.parent.glob("*.md")):
            if lesson not in (*order, "README.md"):
                yield f"{name}/{lesson}", 1, f"is not in the list of {name}/README.md"
        for at, lesson in enumerate(order):
            text = (contents.parent / lesson).read_text() if (contents.parent / lesson).is_file() else ""
            end = text.rstrip().rpartition("\n\n")[2]
            beside = [*order[max(0, at - 1) : at], *order[at + 1 : at + 2]]
            if [to for to in LINK.findall(end) if to in order] != beside:
                yield f"{name}/{lesson}", text.count("\n"), "does not end with links to its neighbours"
    if len(orders) == 2 and orders[0] != orders[1]:
        yield "docs/zh/tutorial/README.md", 1, "has another order than docs/tutorial/README.md"


def check_scripts(root: pathlib.Path) -> Iterator[tuple[str, int, str]]:
    name = "scripts/README.md"
    text = (root / name).read_text() if (root / name).is_file() else ""
    rows = {m["name"]: n for n, line in prose(text) if (m := ROW.match(line))}
    scripts = {script.name for script in root.glob("scripts/*.lua")}
    for missing in sorted(scripts - rows.keys()):
        yield name, 1, f"no row for {missing}"
    for extra in sorted(rows.keys() - scripts):
        yield name, rows[extra], f"a row for {extra}, which does not exist"


def check_architecture(root: pathlib.Path) -> Iterator[tuple[str, int, str]]:
    name = "docs/internals/architecture.md"
    text = (root / name).read_text() if (root / name).is_file() else ""
    if len(text.splitlines()) > 250:
        yield name, 251, "is a guide, not an inventory: 250 lines at the most"
    for folder in sorted({source.parent for source in root.glob("src/*/*.?pp")}):
        if f"`{folder.relative_to(root).as_posix()}`" not in text:
            yield name, 1, f"does not say what {folder.relative_to(root)} is for"


def script_commands(root: pathlib.Path) -> Iterator[tuple[str, int, str | None]]:
    """What each script calls, with its place; None for a call whose command is not spelt out."""
    for script in sorted(root.glob("scripts/**/*.lua")):
        for number, line in enumerate(script.read_text().splitlines(), 1):
            for match in CALL.finditer(line.partition("--")[0]):
                yield str(script.relative_to(root)), number, match["command"]


def probed_commands(root: pathlib.Path) -> set[str]:
    """What src/redis asks about at the start of a connection, because scripts call it."""
    text = (root / PROBE).read_text() if (root / PROBE).is_file() else ""
    table = re.search(r" script_commands\{(.*?)\};", text, re.DOTALL)
    return set(re.findall(r'"([a-z]+)[^"]*"', table[1])) if table else set()


def check_permissions(root: pathlib.Path) -> Iterator[tuple[str, int, str]]:
    name = "docs/deployments.md"
    text = (root / name).read_text() if (root / name).is_file() else ""
    block = re.search(r"^```acl\n(.*?)^```$", text, re.DOTALL | re.MULTILINE)
    granted = set(re.findall(r"(?<=\s)\+(\S+)", block[1])) if block else set()
    called = set()
    for path, number, command in script_commands(root):
        if command is None and "/publish." in path:
            continue
        if command is None:
            yield path, number, "a call whose command is not a literal: no list can name it"
        elif command not in granted and f"+{command}" not in text:
            yield path, number, f"{name} does not grant +{command}"
        called.add(command)
    called -= CONTAINERS
    granted = {one for one in granted if one.partition("|")[0] not in CONTAINERS}
    asked = probed_commands(root) | PUBLISH | {"info"}  # without which the script goes on
    for command in sorted(called - asked - {None}):
        yield PROBE, 1, f"does not ask about {command}, which scripts call"
    for command in sorted(asked - called - PUBLISH - {"info"}):
        yield PROBE, 1, f"asks about {command}, which no script calls"
    for command in sorted(granted - called - SENT):
        yield name, 1, f"+{command} is granted, and nothing needs it"
    for command in sorted(SENT - granted) if block else ():
        yield name, 1, f"does not grant +{command}, which connections send"


def test_cases(root: pathlib.Path) -> dict[str, pathlib.Path]:
    """Each `suite/case` of Boost.Test, with its file."""
    found = {}
    for source in sorted(root.glob("test/**/*.cpp")):
        suite = ""
        for match in BOOST_TEST.finditer(source.read_text()):
            if match["what"] == "SUITE":
                suite = match["name"]
            else:
                found[f"{suite}/{match['name']}"] = source
    return found


def check_guarantees(root: pathlib.Path) -> Iterator[tuple[str, int, str]]:
    """Each section that promises something has one of the same title in the list of proofs, which
    names tests that exist."""
    name, proofs = "docs/guarantees.md", "docs/internals/proofs.md"
    text = (root / name).read_text() if (root / name).is_file() else ""
    list_of_proofs = (root / proofs).read_text() if (root / proofs).is_file() else ""
    cases = test_cases(root)
    proved: dict[str, set[str]] = {}
    title = ""
    for number, line in prose(list_of_proofs):
        if match := PROOF_HEADING.match(line):
            title = match[1]
            proved[title] = set()
        for match in TEST_NAME.finditer(line if title and line.startswith("|") else ""):
            proved[title].add(match["case"])
            if match["case"] not in cases:
                yield proofs, number, f"there is no test {match['case']}"
    promised = {match[1]: number for number, line in prose(text) if (match := HEADING.match(line))}
    for title, number in promised.items():
        if not proved.get(title) and title not in WITHOUT_PROMISES:
            yield name, number, f"{proofs} names no test that proves '{title}'"
    for title in proved.keys() - promised.keys():
        yield proofs, 1, f"{name} has no section '{title}'"


def check_failures(root: pathlib.Path) -> Iterator[tuple[str, int, str]]:
    name = "docs/internals/failures.md"
    text = (root / name).read_text() if (root / name).is_file() else ""
    cases = test_cases(root)
    named = set()
    for number, line in prose(text):
        for match in TEST_NAME.finditer(line if line.startswith("|") else ""):
            named.add(match["case"])
            if match["case"] not in cases:
                yield name, number, f"there is no test {match['case']}"
    for case, source in cases.items():
        if source.is_relative_to(root / "test/replay") and case not in named:
            yield name, 1, f"does not name {case} of {source.relative_to(root)}"


def check(root: pathlib.Path) -> list[str]:
    findings: dict[str, None] = {}
    for path in documents(root):
        text = path.read_text()
        for part in (snippets.check_blocks, snippets.check_lines, check_links, check_version):
            for line, message in part(root, path, text):
                findings[f"{path.relative_to(root)}:{line}: {message}"] = None
    for place, line, message in (
        *check_outputs(root),
        *check_tutorial(root),
        *check_scripts(root),
        *check_architecture(root),
        *check_permissions(root),
        *check_failures(root),
        *check_guarantees(root),
        *reference_pages.check(root),
    ):
        findings[f"{place}:{line}: {message}"] = None
    return list(findings)


OUTPUT_PAGE = """<!-- output examples/1_tutorial/1_a.cpp -->
```text
in after ~12 ms
```
And then:

<!-- output examples/1_tutorial/1_a.cpp -->
```text
out
```
"""


def self_test_output() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        (root / "docs").mkdir()
        (root / "docs/a.md").write_text(OUTPUT_PAGE)
        file = "examples/1_tutorial/1_a.cpp"
        assert not compare_output(root, file, "in after ~3,456.7 ms\nout\n")
        for wrong in ("in after 12 ms\nout\n", "in after ~12 ms\n", "in after ~1 s\nout\n"):
            assert any("-" in line for line in compare_output(root, file, wrong)), wrong
        assert compare_output(root, "examples/other.cpp", "")
        (root / "docs/a.md").write_text(OUTPUT_PAGE.replace(file, "tools/sizing"))
        assert not compare_output(root, "tools/sizing", "in after ~12 ms\nout\n")
        assert compare_output(root, "tools/sizing", "in after ~13 ms\nout\n")


def self_test() -> None:
    self_test_output()
    good = {
        "docs/b.md": "# B\n\n## Two words\n\n## Two, words!\n\n```text\n[x](nowhere)\n```\n[up](../README.md)\n",
        "docs/internals/architecture.md": "`src/base` `src/redis`\n",
        "CMakeLists.txt": "project(colock VERSION 0.2.0)\n",
        "docs/version.md": "find_package(colock 0.2) GIT_TAG v0.2.0 libcolock0.2\n",
        "examples/1_tutorial/1_a.cpp": "",
        "docs/tutorial/1.md": OUTPUT_PAGE + "\nnext: [b](2.md)\n",
        "docs/tutorial/2.md": "# 2\n\nBefore: [a](1.md)\n",
        "docs/tutorial/README.md": "- [a](1.md)\n- [b](2.md)\n",
        "scripts/README.md": "| [a.lua](a.lua) | x |\n",
        "scripts/a.lua": "redis.call('get', k)\n",
        "docs/deployments.md": "```acl\nuser +get +" + " +".join(sorted(SENT)) + "\n```\n",
        "src/base/x.hpp": "",
        PROBE: 'array<x, 1> script_commands{"get K"};',
        "src/base/x.cpp": "",
        "docs/internals/failures.md": "| a failure | `lost/by_time` |\n",
        "docs/guarantees.md": "# G\n\nIntroduced.\n\n## One\n\n### Two\n\n"
        "## What is not promised\n\nMuch.\n",
        "docs/internals/proofs.md": "## One\n\n| a | `held/again` |\n\n"
        "| **Two** | b | `lost/by_time` |\n",
        "test/unit/held.cpp": "BOOST_FIXTURE_TEST_SUITE(held, h)\n"
        "BOOST_DATA_TEST_CASE_F(\n    h, again, k)\n",
        "test/replay/lost.cpp": "BOOST_AUTO_TEST_SUITE(lost)\n"
        "BOOST_DATA_TEST_CASE(\n    by_time, k)\n",
        **snippets.GOOD,
        **reference_pages.EXAMPLE,
    }
    bad = {
        "no heading": {"README.md": "[b](docs/b.md#three)\n"},
        "asks for version 0.1,": {"docs/version.md": "find_package(colock 0.1)\n"},
        "asks for version 0.2.1,": {"docs/version.md": "GIT_TAG v0.2.1\n"},
        "nowhere does not exist": {"README.md": "[b](nowhere)\n"},
        "src/base/y.hpp does not exist": {"README.md": "`src/base/y.hpp`\n"},
        "no block of ```text": {"docs/tutorial/1.md": "<!-- output examples/1_tutorial/1_a.cpp -->\n"},
        "1_b.cpp does not exist": {"README.md": OUTPUT_PAGE.replace("1_a", "1_b")},
        "no page shows": {"docs/tutorial/1.md": ""},
        "not in the list": {"docs/tutorial/3.md": ""},
        "its neighbours": {"docs/tutorial/2.md": "# 2\n"},
        "another order": {"docs/zh/tutorial/README.md": "- [b](2.md)\n"},
        "no row for b.lua": {"scripts/b.lua": ""},
        "a row for a.lua": {"scripts/a.lua": None},
        "does not grant +set": {"scripts/a.lua": "pcall('set', k)\n"},
        "does not ask about set": {"scripts/a.lua": "pcall('set', k)\n"},
        "asks about set": {PROBE: 'array<x, 2> script_commands{"get K", "set K 0"};'},
        "not a literal": {"scripts/a.lua": "call(what, 'get')\n"},
        "+get is granted": {"scripts/a.lua": ""},
        "what src/other is for": {"src/other/z.hpp": ""},
        "250 lines": {"docs/internals/architecture.md": "`src/base` `src/redis`\n" * 251},
        "no test lost/by_luck": {"docs/internals/failures.md": "| a | `lost/by_time` `lost/by_luck` |\n"},
        "no test held/never": {"docs/internals/proofs.md": "## One\n\n| a | `held/never` |\n"},
        "proves 'Two'": {"docs/internals/proofs.md": "## One\n\n| a | `held/again` |\n"},
        "no section 'Three'": {
            "docs/internals/proofs.md": "## Three\n\n| a | `held/again` |\n"
        },
        "does not name lost/by_time": {"docs/internals/failures.md": "| a | b |\n"},
        **snippets.BAD,
        **reference_pages.mistakes(),
    }
    for expected, change in {"": {}, **bad}.items():
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {**good, **change}.items():
                if text is not None:
                    (root / name).parent.mkdir(parents=True, exist_ok=True)
                    (root / name).write_text(text)
            findings = check(root)
            if expected:
                assert any(expected in finding for finding in findings), (expected, findings)
            else:
                assert not findings, findings


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    if len(sys.argv) > 3 and sys.argv[1] == "--output":
        return check_output(pathlib.Path(__file__).resolve().parent.parent, sys.argv[2], sys.argv[3:])
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else __file__).resolve()
    findings = check(root if root.is_dir() else root.parent.parent)
    for finding in findings:
        print(finding)
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
