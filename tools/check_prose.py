#!/usr/bin/python3
"""Checks that documents and comments are in plain English.

    check_prose.py [ROOT]       exits 1 with file:line messages
    check_prose.py --count      how many findings each file has
    check_prose.py --self-test

CONTRIBUTING.md says how to write. This check refuses the habits that make a reader read twice: a
clause in place of a subject ("Who waits gets in"), "he" for a client or a task, ", for" in place of
"because", and old words. Quotations, code, and questions are free. tools/prose_allowed.txt lists
the exceptions; one that is no longer needed is an error too.
"""

import collections
import pathlib
import re
import sys
import tempfile
from collections.abc import Iterator

DOCUMENTS = ("*.md", "docs/**/*.md", "scripts/*.md", "bench/**/*.md", "test/**/*.md")
SOURCES = (
    "include/**/*.hpp", "src/**/*.?pp", "cli/*.?pp", "examples/**/*.?pp", "scripts/**/*.lua",
)
ALLOWED = "tools/prose_allowed.txt"

VERB = (
    r"(?:is|are|was|were|isn't|aren't|has|have|had|hasn't|haven't|does|do|did|doesn't|don't|can"
    r"|can't|cannot|could|may|might|must|will|would|won't|needs?|goes|comes)"
)
CLAUSE = rf"(?:(?!(?:that|which|who|whose|where|when|as) )[\w'`/-]+ ){{1,4}}?{VERB}\b"
# Each habit: how to find it, and what to write. "^" is the begin of a sentence.
HABITS = [
    (r"^(?:Who|Whom|Whose|Whoever|Whatever|What)\b", "begin with the actor: 'The waiter that …'"),
    (r"^(?:That|Those) of\b", "name the thing"),
    (r"^Else\b", "'Otherwise'"),
    (r"\b[Ww]ho(?:m|so)?ever\b", "name the actor"),
    (r"\b(?:[Hh]e|[Hh]is|[Hh]im|[Hh]imself|[Ww]hom)\b", "'it', or the name of the actor"),
    (r"\b(?:and|but|for|so|than|beside|while|to|by|of) who\b", "name the actor"),
    (r"\ball the same\b", "'still', 'nevertheless'"),
    (r"\bfor so long\b", "'for that long', or the time"),
    (r"\banew\b", "'again'"),
    (r"\bfirst thing\b", "'immediately'"),
    (r"\bthe (?:sooner|later|longer|more|less|fewer), the\b", "say what depends on what"),
    (
        r"[,;] for (?:it|they|he|we|you|there|nobody|nothing|somebody|then|what|who|when|if|until"
        r"|otherwise|neither|no one|by then|only then)\b(?! (?:is|are)?$)",
        "'because'",
    ),
    (
        r"(?<!a list)[,;] for (?:the|a|an|its|their|no|each|some|other|others|both|all|one|many|these"
        rf"|those|this|that|most|such|with|in|on|at|to|by|from|after|several) (?:{CLAUSE}|{VERB}\b)",
        "'because'",
    ),
]
FOUND = [(re.compile(pattern), advice) for pattern, advice in HABITS]

QUOTED = re.compile(r"`[^`]*`|\"[^\"]*\"|“[^”]*”|\]\([^)]*\)")
MARK = re.compile(r"(?<=[.:;!?])[\"')\]]* +(?=[\"'(\[]*[A-Z`])|^")
STRING_OR_COMMENT = re.compile(
    r'R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<!\w)'(?:\\.|[^'\\\n])+'"
    r"|(?P<comment>//[^\n]*)",
    re.DOTALL,
)

# A piece of prose that belongs together: its lines, with their numbers.
Unit = list[tuple[int, str]]


def markdown(text: str) -> Iterator[Unit]:
    """Paragraphs, items and cells, but no headings: many are questions without a question mark."""
    unit: Unit = []
    inside = False
    lines = text.splitlines()
    for number, (line, following) in enumerate(zip(lines, [*lines[1:], ""]), 1):
        fence = line.lstrip().startswith("```")
        inside = inside != fence
        ends = not line.strip() or fence or inside or line.startswith(("#", "|", "    ", "<!--"))
        if ends or re.match(r" *(?:[-*>]|\d+\.) ", line):
            yield unit
            unit = []
        if not inside and line.startswith("|") and not re.match(r"\| ?:?-", following):
            yield from ([(number, cell)] for cell in re.split(r"(?<!\\)\|", line))
        elif not ends:
            unit.append((number, re.sub(r"^ *(?:[-*>]|\d+\.) +", "", line)))
    yield unit


def comments(path: pathlib.Path, text: str) -> Iterator[tuple[int, int, bool, str]]:
    """Each comment with its line, its column, and whether code stands before it."""
    if path.suffix == ".lua":
        found = [(match.start(), match[0][2:]) for match in re.finditer(r"--[^\n]*", text)]
    else:
        found = [
            (match.start(), re.sub(r"^//[/!]?<?", "", match[0]))
            for match in STRING_OR_COMMENT.finditer(text)
            if match["comment"]
        ]
    for at, words in found:
        begin = text.rfind("\n", 0, at) + 1
        yield text.count("\n", 0, at) + 1, at - begin, bool(text[begin:at].strip()), words


def commented(path: pathlib.Path, text: str) -> Iterator[Unit]:
    """Comments, joined where one goes on in the next line. Code in them is left out."""
    unit: Unit = []
    last = (0, 0)
    code = False
    for number, column, trails, words in comments(path, text):
        new = trails or last != (number - 1, column) or not words.strip()
        if new or re.match(r" *(?:- |\\|[A-Z]+ |Reply:)", words):
            yield unit
            unit = []
        last = (number, column)
        code = words.startswith("     ") if path.suffix == ".hpp" else False
        if not code and not re.match(r" *\\par ", words):  # which is a heading
            unit.append((number, re.sub(r"^ *(?:- |\\\w+ |KEYS |ARGV |Reply: )?", "", words)))
    yield unit


def findings_in(unit: Unit) -> Iterator[tuple[int, str, str]]:
    """The line, what is wrong there, and the sentence."""
    text = " ".join(line for _, line in unit)
    text = QUOTED.sub(lambda match: "`" + "x" * (len(match[0]) - 2) + "`", text)
    starts = sorted({0, *(match.end() for match in MARK.finditer(text))})
    for begin, end in zip(starts, [*starts[1:], len(text)]):
        sentence = text[begin:end].lstrip(" *_(>[")
        begin = end - len(sentence)
        if sentence.rstrip(" *_)\"").endswith("?"):
            continue
        for pattern, advice in FOUND:
            if match := pattern.search(sentence):
                line = line_at(unit, begin + match.start())
                yield line, f"'{match[0]}': {advice}", sentence.strip()


def line_at(unit: Unit, offset: int) -> int:
    for number, line in unit:
        offset -= len(line) + 1
        if offset < 0:
            return number
    return unit[-1][0]


def covered(root: pathlib.Path) -> Iterator[pathlib.Path]:
    for pattern in (*DOCUMENTS, *SOURCES):
        yield from sorted(root.glob(pattern))


def allowed(root: pathlib.Path) -> dict[tuple[str, str], int]:
    """Exceptions, as `FILE: words of the sentence`, with their lines."""
    path = root / ALLOWED
    lines = path.read_text().splitlines() if path.is_file() else []
    found = {}
    for number, line in enumerate(lines, 1):
        if line and not line.startswith("#"):
            name, _, words = line.partition(": ")
            found[name, words] = number
    return found


def check(root: pathlib.Path) -> list[str]:
    found: dict[str, None] = {}
    exceptions = allowed(root)
    used = set()
    for path in covered(root):
        name = path.relative_to(root).as_posix()
        text = path.read_text()
        units = markdown(text) if path.suffix == ".md" else commented(path, text)
        for unit in units:
            for line, message, sentence in findings_in(unit):
                excused = {key for key in exceptions if key[0] == name and key[1] in sentence}
                used |= excused
                if not excused:
                    found[f"{name}:{line}: {message}"] = None
    for key in exceptions.keys() - used:
        found[f"{ALLOWED}:{exceptions[key]}: not needed"] = None
    return list(found)


PLAIN = {
    "README.md": "# What is here\n\nA waiter that dies is skipped. Who holds it?\n\n"
    '```cpp\n// Who waits\n```\n\n| What | For |\n| --- | --- |\n| a lock, for a task that is new | x |\n\n'
    'Say "he" never, `anew` never.\n',
    "include/colock/a.hpp": '/// A task, for a lock, for as long as it runs.\nauto s = "// he";\n'
    "///\n///     // Who waits\nint a;  ///< of the waiter\n",
    "scripts/a.lua": "-- Takes the lock.\n-- Reply: a list, for each lock 1 if it was free\n",
}
HARD = {
    "'Who'": {"README.md": "It is so. Who waits\ngets in.\n"},
    "'What'": {"README.md": "- What is gone is gone.\n"},
    "README.md:2: 'whoever'": {"README.md": "It is told\nto whoever waits.\n"},
    "'That of'": {"include/colock/a.hpp": "/// That of all its times.\nint a;\n"},
    "'his'": {"include/colock/a.hpp": "int a;  ///< his\n"},
    "a.hpp:2: 'all the same'": {"include/colock/a.hpp": "/// It goes on\n/// all the same.\n"},
    "', for it'": {"README.md": "It waits, for it has none.\n"},
    "', for the server has'": {"README.md": "It waits, for the server has none.\n"},
    "'anew'": {"scripts/a.lua": "-- Begins anew.\n"},
    "'and who'": {"README.md": "It ends, and who waits is told.\n"},
    "not needed": {ALLOWED: "README.md: is\n"},
}


def self_test() -> None:
    excused = {ALLOWED: "# Why\nREADME.md: goes on\n", "README.md": "He goes on.\n"}
    for expected, change in {"": {}, " ": excused, **HARD}.items():
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder)
            for name, text in {**PLAIN, **change}.items():
                (root / name).parent.mkdir(parents=True, exist_ok=True)
                (root / name).write_text(text)
            found = check(root)
            if expected.strip():
                assert any(expected in finding for finding in found), (expected, found)
            else:
                assert not found, found


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    root = pathlib.Path(__file__).resolve().parent.parent
    if sys.argv[1:] == ["--count"]:
        counts = collections.Counter(finding.partition(":")[0] for finding in check(root))
        print(*(f"{count:5} {name}" for name, count in counts.most_common()), sep="\n")
        return 0
    found = check(pathlib.Path(sys.argv[1]).resolve() if len(sys.argv) > 1 else root)
    print(*found, sep="\n", end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
