"""Makes mutants of a source or of a script: each changes one place, as a slip of its author could.

The text is read, not the compiler's view of it. A mutant that does not compile, or a script that Lua
does not read, is none.
"""

import hashlib
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .parts import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from shape import NOT_CODE, File, blank  # noqa: E402

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
LUA_COMMENT = re.compile(r"--(?! include )[^\n]*")
LUA_NOT_CODE = re.compile(r"--(?! include )[^\n]*|'(?:\\.|[^'\\\n])*'|\"(?:\\.|[^\"\\\n])*\"")

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "!=": "==", "~=": "=="}


class Function(NamedTuple):
    """A mutant belongs to one, and is known by it: not by the text of a line."""

    name: str
    begin: int  # in the text of the file
    end: int
    digest: str  # of its code: comments and layout don't count


class Change(NamedTuple):
    operator: str
    begin: int
    end: int
    instead: str


class Mutant(NamedTuple):
    file: str
    function: Function
    operator: str
    number: int  # of those of this operator in the function
    line: int
    last_line: int
    change: Change

    @property
    def label(self) -> str:
        return f"{self.operator} {self.number}"

    @property
    def name(self) -> str:
        return f"{self.file}:{self.function.name}:{self.label}"

    def apply(self, text: str) -> str:
        return text[: self.change.begin] + self.change.instead + text[self.change.end :]

    def share(self, of: int) -> int:
        """From 0 to `of` - 1, the same on each machine as long as the function is the same."""
        text = f"{self.file} {self.function.digest} {self.label}"
        return int(hashlib.sha1(text.encode()).hexdigest(), 16) % of


# ---- Functions -----------------------------------------------------------------------------------


def digest_of(text: str, comments: re.Pattern[str]) -> str:
    code = " ".join(comments.sub(" ", text).split())
    return hashlib.sha1(code.encode()).hexdigest()[:12]


def starts_of_lines(text: str) -> list[int]:
    return [0, *(match.end() for match in re.finditer("\n", text)), len(text)]


def functions_of_source(path: str, text: str) -> list[Function]:
    starts = starts_of_lines(text)
    found = []
    for lines, name, first in File(path, text).functions:
        begin, end = starts[first - 1], starts[min(first + lines - 1, len(starts) - 1)]
        found.append(Function(name, begin, end, digest_of(text[begin:end], COMMENT)))
    return found


def functions_of_script(text: str) -> list[Function]:
    """Those that begin in the first column, and what is left between them."""
    starts = starts_of_lines(text)
    lines = text.splitlines()
    found, begin, name = [], 0, "main"

    def close(end: int) -> None:
        piece = text[starts[begin] : starts[end]]
        if piece.strip():
            found.append(Function(name, starts[begin], starts[end], digest_of(piece, LUA_COMMENT)))

    for at, line in enumerate(lines):
        if match := re.match(r"(?:local )?function ([\w.]+)|local (\w+) = function\b", line):
            close(at)
            begin, name = at, match[1] or match[2]
            if re.search(r"\bend\s*$", line):
                close(at + 1)
                begin, name = at + 1, "main"
        elif name != "main" and line == "end":
            close(at + 1)
            begin, name = at + 1, "main"
    close(len(lines))
    return found


# ---- What both languages have --------------------------------------------------------------------


def matches(
    pattern: str, code: str, name: str, instead: Callable[[re.Match[str]], str]
) -> Iterator[Change]:
    for match in re.finditer(pattern, code):
        yield Change(name, match.start(), match.end(), instead(match))


def comparisons(code: str, unequal: str) -> Iterator[Change]:
    """Binary operators have a blank on both sides, brackets of templates have not."""
    pattern = r"(?<=\s)(?:[<>]=?|[=!~]=)(?=\s)"
    yield from matches(pattern, code, "comparison", lambda match: COMPARISONS.get(match[0], unequal))
    # One more than is compared with.
    literal = r"(?<=\s)(?P<sign>[<>]=?|[=!~]=) (?P<number>[0-9]+)\b(?![.'\w])"
    yield from matches(
        literal, code, "bound", lambda match: f"{match['sign']} {int(match['number']) + 1}"
    )


def arithmetic(code: str) -> Iterator[Change]:
    one_after, one_before = r"\s[+-] 1\b(?![.'\w])", r"(?<![\w.'])1 \+ "
    yield from matches(f"{one_after}|{one_before}", code, "one", lambda _: "")
    other = r"(?<=[\w)\]}])\s(?P<sign>[+*/-])(?=\s(?!1\b(?![.'\w])))"
    signs = {"+": "-", "-": "+", "*": "/", "/": "*"}
    yield from matches(other, code, "sign", lambda match: " " + signs[match["sign"]])
    yield from matches(
        r"(?<=[\w)\]])\[(\w+)\](?=[.;,)\s])", code, "index", lambda match: f"[{match[1]} + 1]"
    )


def truths(code: str) -> Iterator[Change]:
    pattern = r"(?<![\w:])(?:true|false)\b(?!_)"
    yield from matches(pattern, code, "truth", lambda match: "false" if match[0] == "true" else "true")


def closing(code: str, at: int) -> int:
    """Where the parenthesis closes that opens at `at`; -1: nowhere."""
    depth = 0
    for end in range(at, len(code)):
        if code[end] in "([{":
            depth += 1
        elif code[end] in ")]}":
            depth -= 1
            if depth == 0:
                return end
    return -1


# ---- C++ -----------------------------------------------------------------------------------------


def logic(code: str) -> Iterator[Change]:
    yield from matches(
        r"(?<=\s)(?:&&|\|\|)(?=\s)", code, "logic", lambda m: "||" if m[0] == "&&" else "&&"
    )
    yield from matches(r"(?<![\w!])!(?=[\w(:*])", code, "negation", lambda _: "")
    yield from matches(
        r"\bstd::(?:min|max)(?=[(<{])",
        code,
        "least",
        lambda m: "std::max" if m[0].endswith("min") else "std::min",
    )


def branches(code: str) -> Iterator[Change]:
    for match in re.finditer(r"\b(?P<word>if|while) \(", code):
        open_ = match.end() - 1
        end = closing(code, open_)
        if end < 0:
            continue
        # Of `if (auto x = f(); condition)` the condition alone.
        begin = max(code.rfind(";", open_, end), open_) + 1
        condition = code[begin:end]
        if re.match(r"\s*(?:auto|[\w:<>]+(?: const)?[*&]*) (?:const )?[*&]*\s*\w+ ?[={\[]", condition):
            continue  # it declares something
        has_else = match["word"] == "if" and re.match(
            r"\s*else\b", code[end_of_statement(code, end + 1) :]
        )
        before, after = ("!(", ")") if has_else else ("false && (", ")")
        yield Change("branch" if has_else else "guard", begin, end, before + "\0" + after)


def end_of_statement(code: str, at: int) -> int:
    """After the statement that follows: a block, or up to its semicolon."""
    while at < len(code) and code[at].isspace():
        at += 1
    if code[at : at + 1] == "{":
        return closing(code, at) + 1
    depth = 0
    for end in range(at, len(code)):
        if code[end] in "([{":
            depth += 1
        elif code[end] in ")]}":
            depth -= 1
            if depth < 0:
                return end
        elif code[end] == ";" and depth == 0:
            return end + 1
    return len(code)


def choices(code: str) -> Iterator[Change]:
    """`a ? b : c` becomes `a ? c : b`, unless one is in the other."""
    for match in re.finditer(r"(?<=\s)\?\s", code):
        colon = end = -1
        depth = 0
        for at in range(match.end(), len(code)):
            sign = code[at]
            if sign in "([{":
                depth += 1
            elif sign in ")]}":
                depth -= 1
            if depth < 0 or (depth == 0 and sign in ";,"):
                end = at
                break
            if depth == 0 and sign == "?":
                break
            if (
                depth == 0
                and sign == ":"
                and code[at - 1].isspace()
                and code[at + 1].isspace()
                and colon < 0
            ):
                colon = at
        if colon > 0 and end > 0:
            yield Change("choice", match.end(), end, f"\0{colon}\0")


NO_CALL = re.compile(
    r"(?:return|co_return|throw|delete|using|break|continue|goto|static_assert|assert|BOOST_ASSERT"
    r"|else|do|case|default|public|private|protected|template|friend|typedef|new)\b"
)
CALL = re.compile(r"(?:co_await )?[*(]*[\w:.~<>\[\]*-]+?\(|\(")
ASSIGNMENT = re.compile(r"[*(]*[\w.:>\[\]*()-]+ [+|*&-]?= ")
STEP = re.compile(r"(?:\+\+|--)[\w.>_\[\]-]+$|[\w.>_\[\]-]+(?:\+\+|--)$")
HEADER = re.compile(
    r"\s*(?:(?P<control>if|while|for|switch)\b(?: constexpr)? ?\(|else\b|do\b"
    r"|case [^;?{}]*?(?<!:):(?!:)|default:)"
)


def statements(code: str) -> Iterator[Change]:
    """A call, an assignment or a step is left out; what it names stays in use."""
    begins, depth, header = [0], [0], False
    for at, sign in enumerate(code):
        if sign == "{":
            begins.append(at + 1)
            depth.append(0)
        elif sign == "}" and len(begins) > 1:
            begins.pop()
            depth.pop()
            if depth[-1] == 0:
                begins[-1] = at + 1
        elif sign in "([":
            depth[-1] += 1
        elif sign in ")]":
            depth[-1] -= 1
        elif sign == ";" and depth[-1] == 0:
            begin, begins[-1] = begins[-1], at + 1
            if len(begins) == 1:
                continue
            while header := HEADER.match(code, begin, at):
                begin = closing(code, header.end() - 1) + 1 if header["control"] else header.end()
                if begin <= 0:
                    break
            text = code[begin:at].strip()
            if begin <= 0 or not text or NO_CALL.match(text):
                continue
            begin += len(code[begin:at]) - len(code[begin:at].lstrip())
            if (CALL.match(text) and text.endswith(")")) or ASSIGNMENT.match(text) or STEP.match(text):
                yield Change("statement", begin, at + 1, "{ if (false) \0 }")


def changes_of_source(code: str) -> Iterator[Change]:
    yield from comparisons(code, "!=")
    for make in (arithmetic, truths, logic, branches, choices, statements):
        yield from make(code)


# ---- Lua -----------------------------------------------------------------------------------------


def lua_logic(code: str) -> Iterator[Change]:
    yield from matches(
        r"(?<=\s)(?:and|or)(?=\s)", code, "logic", lambda m: "or" if m[0] == "and" else "and"
    )
    yield from matches(r"\bnot (?=[\w(])", code, "negation", lambda _: "")
    yield from matches(
        r"math\.(?:min|max)\b",
        code,
        "least",
        lambda m: "math.max" if m[0].endswith("min") else "math.min",
    )


def lua_branches(code: str) -> Iterator[Change]:
    for match in re.finditer(
        r"^(?P<indent> *)(?P<word>if|elseif|while) (?P<condition>.*?) (?:then|do)\b",
        code,
        re.DOTALL | re.MULTILINE,
    ):
        rest = code[match.end() :]
        after = re.search(rf"^{match['indent']}(?P<word>elseif|else|end)\b", rest, re.MULTILINE)
        swaps = match["word"] == "if" and after and after["word"] == "else"
        begin, end = match.span("condition")
        yield Change(
            "branch" if swaps else "guard", begin, end, ("not (" if swaps else "false and (") + "\0)"
        )


def lua_statements(code: str) -> Iterator[Change]:
    call = r"(?P<before>(?:local [\w, ]+ = |return ))(?P<call>(?:redis\.)?p?call\(|publish\()[^\n]*$"
    for match in re.finditer(call, code, re.MULTILINE):
        begin = match.start("call")
        end = closing(code, match.end("call") - 1) + 1
        if begin < end and code[end : end + 1] in ("", "\n", " "):
            yield Change("call", begin, end, "nil")
    pattern = r"^ *(?P<text>(?:[\w.]+(?:\[[^\]\n]*\])*(?:, )?)+(?:\(| = )[^\n]*)$"
    for match in re.finditer(pattern, code, re.MULTILINE):
        begin, end = match.span("text")
        if re.match(r"(?:local|return|if|elseif|while|for|function|end|until)\b", match["text"]):
            continue
        while end < len(code) and sum(code.count(s, begin, end) for s in "([{") > sum(
            code.count(s, begin, end) for s in ")]}"
        ):
            end = code.find("\n", end + 1) if code.find("\n", end + 1) > 0 else len(code)
        yield Change("statement", begin, end, "if false then \0 end")


def includes(code: str) -> Iterator[Change]:
    yield from matches(r"-- include [a-z_]+\.lua", code, "include", lambda _: "--")


def changes_of_script(code: str) -> Iterator[Change]:
    yield from comparisons(code, "~=")
    for make in (arithmetic, truths, lua_logic, lua_branches, lua_statements, includes):
        yield from make(code)


# ---- All of a file -------------------------------------------------------------------------------


def filled(change: Change, text: str) -> Change:
    """With what stood there before, where the change keeps it."""
    old = text[change.begin : change.end]
    instead = change.instead
    if (swap := re.fullmatch("\0([0-9]+)\0", instead)) is not None:
        colon = int(swap[1])
        first, second = text[change.begin : colon].strip(), text[colon + 1 : change.end].strip()
        instead = f"{second} : {first}"
    return change._replace(instead=instead.replace("\0", old))


def functions_of(path: str, text: str) -> list[Function]:
    return functions_of_script(text) if path.endswith(".lua") else functions_of_source(path, text)


def mutants_of(path: str, text: str) -> list[Mutant]:
    """Those of each function, in the order of the text."""
    is_script = path.endswith(".lua")
    code = (LUA_NOT_CODE if is_script else NOT_CODE).sub(blank, text)
    make = changes_of_script if is_script else changes_of_source
    found = []
    for function in functions_of(path, text):
        # At their places in the file, and nothing beyond the function.
        inside = re.sub(r"[^\n]", " ", code[: function.begin]) + code[function.begin : function.end]
        changes = {filled(change, text) for change in make(inside)}
        numbers: Counter[str] = Counter()
        for change in sorted(changes, key=lambda each: (each.begin, each.end, each.operator)):
            numbers[change.operator] += 1
            line = text.count("\n", 0, change.begin) + 1
            last = text.count("\n", 0, change.end) + 1
            number = numbers[change.operator]
            found.append(Mutant(path, function, change.operator, number, line, last, change))
    return found
