#!/usr/bin/python3
"""Measures the shape of src: how large classes and functions are, and how many classes there are.

    shape.py              prints the figures, and the largest of each
    shape.py --check      exits 1 if a figure is over its bound (LIMITS below)
    shape.py --self-test

It reads the text, not the compiler's view of it: a class is what a header defines with a body, a
data member a declaration without parentheses, a function a body behind a parameter list.
"""

import pathlib
import re
import statistics
import sys
from collections import defaultdict
from dataclasses import dataclass, field

# The folders whose classes run on a client's strand; see docs/internals/architecture.md.
STRAND = ("core", "holds", "waiting", "locks", "counters")

LIMITS = {
    "classes of the strand layers": 37,
    "abstract classes of the strand layers": 9,
    "data members of a class": 15,
    "functions of a class that are not inline": 25,
    "files of a class": 2,
    "functions over 40 lines": 3,
    "median lines of a function": 6,
    "p90 lines of a function": 16,
}

NOT_CODE = re.compile(
    r"//[^\n]*"
    r"|/\*.*?\*/"
    r'|R"(?P<mark>[^\s()\\]{0,16})\(.*?\)(?P=mark)"'
    r'|"(?:\\.|[^"\\\n])*"'
    r"|(?<!\w)'(?:\\.|[^'\\\n])+'"
    r"|^[ \t]*#[^\n]*",
    re.DOTALL | re.MULTILINE,
)
CLASS = re.compile(
    r"(?<!enum )\b(?:class|struct)\s+(?P<name>\w+(?:::\w+)*)(?:\s+final)?\s*(?::(?!:)[^;{}()]*(?:\([^)]*\)[^;{}()]*)?)?$"
)
NOT_A_MEMBER = re.compile(
    r"(?:using|typedef|friend|static_assert|static constexpr|template|enum|class|struct|union)\b"
)
SCOPE = re.compile(r"\b(?:namespace|extern|class|struct|union|enum)\b")
LABEL = re.compile(r"\b(?:public|protected|private)\s*:")


@dataclass
class Class:
    name: str
    path: str
    nested: bool
    members: int = 0
    declared: int = 0
    abstract: bool = False
    files: set[str] = field(default_factory=set)


def blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match.group())


def without_template_arguments(text: str) -> str:
    """A parenthesis in them is no parameter list."""
    while (shorter := re.sub(r"<[^<>;{}]*>", "", text)) != text:
        text = shorter
    return text


def note_statement(of: Class, statement: str) -> None:
    text = without_template_arguments(" ".join(LABEL.sub(" ", statement).split()))
    if not text or re.match(r"(?:using|typedef|friend|static_assert)\b", text):
        return
    head = text.split("=")[0]
    if "(" in head or "operator" in text:
        pure = re.search(r"\)[^()]*= ?0$", text)
        of.abstract = of.abstract or bool(pure)
        if not pure and not re.search(r"= ?(?:default|delete)$", text):
            of.declared += 1
    elif not NOT_A_MEMBER.match(text):
        of.members += 1


class File:
    """What the braces of one file enclose."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.classes: list[Class] = []
        self.functions: list[tuple[int, str, int]] = []  # lines, name, first line
        self.read(NOT_CODE.sub(blank, text))

    def read(self, text: str) -> None:
        # Each open brace: a class, "scope", ("function", name, first line), or "value".
        open_: list[object] = []
        begin = 0
        line = 1
        for at, sign in enumerate(text):
            inside = open_[-1] if open_ else "scope"
            if sign == "\n":
                line += 1
            elif sign == "{":
                head = text[begin:at]
                kind = self.kind_of(head, line, inside)
                open_.append(kind)
                if kind != "value":
                    begin = at + 1
            elif sign == "}" and open_:
                closed = open_.pop()
                if isinstance(closed, tuple):
                    _, name, first = closed
                    self.functions.append((line - first + 1, name, first))
                if closed != "value":
                    begin = at + 1
            elif sign == ";":
                if isinstance(inside, Class):
                    note_statement(inside, text[begin:at])
                if inside != "value":
                    begin = at + 1

    def kind_of(self, head: str, line: int, inside: object) -> object:
        if isinstance(inside, tuple) or inside == "value":
            return "value"
        text = LABEL.sub(" ", head)
        flat = without_template_arguments(" ".join(text.split()))
        if (match := CLASS.search(flat)) and "=" not in flat:
            # With the classes that it is nested in, wherever it is defined.
            outer = f"{inside.name}::" if isinstance(inside, Class) else ""
            name = outer + match["name"]
            made = Class(name, self.path, "::" in name)
            self.classes.append(made)
            return made
        if "(" not in flat:
            return "scope" if SCOPE.search(flat) else "value"
        if re.search(r"[:,] \w+$", flat) or re.search(r"=$", flat):
            return "value"  # an initialiser of a constructor, or of a member
        name = re.search(r"((?:[\w~]+::)*(?:operator\s*\S+|~?\w+))\s*\(", flat)
        lines = head.lstrip("\n ").count("\n")
        return ("function", name[1] if name else "?", line - lines)


def read(files: dict[str, str]) -> list[File]:
    return [File(path, text) for path, text in sorted(files.items())]


@dataclass
class Shape:
    classes: list[Class]
    functions: list[tuple[int, str, str]]  # lines, name, place

    def figures(self) -> dict[str, int]:
        lengths = sorted(lines for lines, _, _ in self.functions)
        outer = [each for each in self.classes if not each.nested]
        return {
            "classes of the strand layers": len(outer),
            "abstract classes of the strand layers": sum(each.abstract for each in self.classes),
            "data members of a class": max(each.members for each in self.classes),
            "functions of a class that are not inline": max(each.declared for each in self.classes),
            "files of a class": max(len(each.files) for each in self.classes),
            "functions over 40 lines": sum(length > 40 for length in lengths),
            "median lines of a function": int(statistics.median(lengths)),
            "p90 lines of a function": lengths[len(lengths) * 9 // 10],
        }


def measure(files: dict[str, str]) -> Shape:
    parsed = read(files)
    classes = [
        each
        for file in parsed
        if file.path.endswith(".hpp") and file.path.split("/")[1] in STRAND
        for each in file.classes
    ]
    defined: dict[str, set[str]] = defaultdict(set)
    functions = []
    for file in parsed:
        for lines, name, first in file.functions:
            functions.append((lines, name, f"{file.path}:{first}"))
            if "::" in name:
                defined[name.rpartition("::")[0]].add(file.path)
    for each in classes:
        each.files = {each.path} | {p for p in defined[each.name] if p.split("/")[1] in STRAND}
    return Shape(classes, functions)


def print_shape(shape: Shape) -> None:
    for what, figure in shape.figures().items():
        print(f"{what:45} {figure:5}   at most {LIMITS[what]}")
    print("\nlargest classes: data members, functions that are not inline, files")
    for each in sorted(shape.classes, key=lambda c: -(c.members + c.declared))[:10]:
        print(f"  {each.name:24} {each.members:4} {each.declared:4} {len(each.files):4}  {each.path}")
    print("\nlongest functions")
    for lines, name, place in sorted(shape.functions, reverse=True)[:10]:
        print(f"  {lines:4}  {name}  {place}")


def self_test() -> None:
    text = """
namespace a {
/// class comment {
class b : public c<int(int)> {
public:
    b();
    ~b() = default;
    void f() const { return; }
    virtual void g() = 0;
    struct inner { int x = 0; std::string y{}; };
private:
    std::function<void(int)> call_;
    int n_ = 0;
    char text_[2]{};
    friend class d;
    static constexpr int k = 3;
};
struct b::later final : d<int> {
    int z_;
};
}
"""
    source = """
namespace a {
b::b() : n_{1}, call_{[](int) { f(); }}
{
    if (n_) {
        f();
    }
}
}
"""
    shape = measure({"src/core/b.hpp": text, "src/core/b.cpp": source})
    b = next(each for each in shape.classes if each.name == "b")
    assert (b.members, b.declared, b.abstract, len(b.files)) == (3, 1, True, 2), b
    inner = next(each for each in shape.classes if each.name == "b::inner")
    assert inner.nested and inner.members == 2, inner
    later = next(each for each in shape.classes if each.name == "b::later")
    assert later.nested and later.members == 1, later
    assert sorted((n, l) for l, n, _ in shape.functions) == [("b::b", 6), ("f", 1)], shape.functions
    print("ok")


def main() -> int:
    if "--self-test" in sys.argv:
        self_test()
        return 0
    root = pathlib.Path(__file__).resolve().parent.parent
    files = {
        str(path.relative_to(root)): path.read_text()
        for path in sorted((root / "src").rglob("*.?pp"))
    }
    shape = measure(files)
    if "--check" not in sys.argv:
        print_shape(shape)
        return 0
    over = [(w, f) for w, f in shape.figures().items() if f > LIMITS[w]]
    for what, figure in over:
        print(f"src: {what}: {figure}, at most {LIMITS[what]} (tools/shape.py shows which)")
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
