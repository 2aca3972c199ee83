#!/usr/bin/python3
"""Counts the public overloads that begin an operation: the functions that take a completion token,
and the coroutines.

    count_operations.py [--list] [--most N] [FOLDER]

With --most the exit status is 1 if more than N take a token.
"""
import argparse
import pathlib
import re
import sys

WITHOUT = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"", re.DOTALL)
SCOPE = re.compile(r"(inline )?namespace|(template.*)?\b(class|struct)\b|extern")
ACCESS = ("public", "private", "protected")


def declarations(text: str):
    """Each declaration up to its body or semicolon, and the scopes that it is in, with their access."""
    text = re.sub(r"^\s*#.*$", "", WITHOUT.sub(" ", text), flags=re.MULTILINE)
    scopes: list[list[str]] = []
    begin, parens = 0, 0
    for at, c in enumerate(text):
        head = " ".join(text[begin:at].split()) if c in "{};:" else ""
        if c in "()":
            parens += 1 if c == "(" else -1
        elif parens:
            continue
        elif c == ":" and head in ACCESS and scopes:
            scopes[-1][1] = head
            begin = at + 1
        elif c in "{};":
            if head and c != "}":
                yield head, [scope[:] for scope in scopes]
            if c == "{":
                scopes.append([head, "private" if re.search(r"\bclass\b", head) else "public"])
            elif c == "}" and scopes:
                scopes.pop()
            begin = at + 1


def is_public(scopes: list[list[str]]) -> bool:
    return all(
        SCOPE.match(head) and access == "public" and "namespace detail" not in head
        for head, access in scopes
    )


def operations(path: pathlib.Path):
    """The name of each, and whether it takes a token, or has the default one."""
    functions, with_token = [], set()
    for head, scopes in declarations(path.read_text(encoding="utf-8")):
        declared = re.sub(r"\brequires\b.*?(?=\bauto\b)", "", head)
        name = re.search(r"\b(auto|awaitable<.*>)\s+(\w+)\s*\(", declared)
        if not name or not is_public(scopes) or head.endswith("= delete"):
            continue
        classes = [re.findall(r"\b(?:class|struct) (?:\[\[\w+\]\] )?(\w+)(?! =|,|>)", each) for each, _ in scopes]
        whole = ".".join([*(found[-1] for found in classes if found), name[2]])
        is_coroutine = name[1] != "auto" or "Work work" in declared
        if "Token&& token" in declared:
            with_token.add(whole)
        functions.append((whole, is_coroutine))
    for whole, is_coroutine in functions:
        if is_coroutine or whole in with_token:
            yield whole, not is_coroutine


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--most", type=int)
    parser.add_argument("folder", nargs="?", default="include/colock", type=pathlib.Path)
    options = parser.parse_args()
    found = [each for path in sorted(options.folder.glob("*.hpp")) for each in operations(path)]
    if options.list:
        print("\n".join(f"{name} {'(token)' if token else '(coroutine)'}" for name, token in found))
    tokens = sum(token for _, token in found)
    print(f"{len(found)} overloads: {tokens} with a completion token, {len(found) - tokens} coroutines")
    if options.most is not None and tokens > options.most:
        sys.exit(f"at most {options.most} may take a token")


main()
