#!/usr/bin/python3
"""Keeps the Chinese pages in step with the English ones.

    translations.py            exits 1 and names each English page that has changed since its Chinese
                               one was last brought up to date
    translations.py --update   notes the Chinese pages that have changed as up to date, and refuses
                               those that have not although their English page has
    translations.py --unchanged PAGE REASON
                               notes that the Chinese page needs no change, and why; PAGE as in the list
    translations.py --self-test

docs/zh/FOLLOWS has a line for each page in docs/zh, and for README.zh-CN.md: its name, the hash of the
English page that it follows, its own hash then, and the reason if it needed no change. Both pages have to link to each other in their third line, and to
show the same programs and outputs in the same order. A number that tools/figures fills in may change without the
other page. What a Chinese page shows of commands, CMake and
other code, the English page shows too, line for line but for the comments.
"""

import hashlib
import pathlib
import re
import sys
import tempfile

import snippets

LIST = "docs/zh/FOLLOWS"
README = "README.zh-CN.md"
# tools/figures checks the marks of figures in each page by itself.
SHOWN = re.compile(r"^<!-- (?!from |table |run ).* -->$", re.MULTILINE)
FILLED = re.compile(r"(?:\d+ [A-Z][a-z]+ \d{4}|\d{4} 年 \d+ 月 \d+ 日|\d[\d.,-]*|\b[0-9a-f]{7,40})(?=<!-- from )")
FILLED_TABLE = re.compile(r"^(<!-- (?:table|run) .* -->\n)(?:.+\n)*", re.MULTILINE)
FILLED_BLOCK = re.compile(r"^(<!-- from .* -->\n\n?)((?:.+\n)+)", re.MULTILINE)
# check_docs.py compares these blocks with the programs; a picture's labels are in its page's language.
WITH_PROGRAM = ("cpp", "text", "mermaid")


def pages(root: pathlib.Path) -> list[str]:
    folder = root / "docs/zh"
    found = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.md"))
    return [README, *found] if (root / README).is_file() else found


def pair(root: pathlib.Path, name: str) -> tuple[pathlib.Path, pathlib.Path]:
    """The English page and the Chinese one."""
    if name == README:
        return root / "README.md", root / README
    return root / "docs" / name, root / "docs/zh" / name


def without_figures(text: str) -> str:
    """Without what tools/figures fills in."""
    text = FILLED_TABLE.sub(r"\1", text)
    text = FILLED_BLOCK.sub(lambda found: found[1] + re.sub(r"\d[\d,.]*", "", found[2]), text)
    return FILLED.sub("", text)


def hash_of(page: pathlib.Path) -> str:
    text = without_figures(page.read_text(encoding="utf-8"))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def links(name: str) -> tuple[str, str]:
    if name == README:
        return f"English | [中文]({README})", "[English](README.md) | 中文"
    up = "../" * (name.count("/") + 1)
    return f"English | [中文]({up[3:]}zh/{name})", f"[English]({up}{name}) | 中文"


def shown(page: pathlib.Path) -> list[str]:
    return SHOWN.findall(page.read_text(encoding="utf-8"))


def code(page: pathlib.Path) -> dict[str, int]:
    """The lines of blocks that no program stands behind, without comments, each with its number."""
    found = {}
    for number, _, language, lines in snippets.blocks(page.read_text(encoding="utf-8")):
        for at, line in enumerate(lines, number + 1):
            if language not in WITH_PROGRAM and (plain := line.partition(" #")[0].strip()):
                found[plain] = at
    return found


def third_line(page: pathlib.Path) -> str:
    return (page.read_text(encoding="utf-8").splitlines() + [""] * 3)[2]


def read(root: pathlib.Path) -> dict[str, list[str]]:
    """Of each page: the hash of the English one, its own, and perhaps a reason."""
    lines = (root / LIST).read_text(encoding="utf-8").splitlines() if (root / LIST).is_file() else []
    return {name: rest for name, *rest in (line.split(" ", 3) for line in lines)}


def check(root: pathlib.Path) -> list[str]:
    noted = read(root)
    findings = [f"{LIST}: {name} does not exist" for name in noted.keys() - set(pages(root))]
    for name in pages(root):
        english, chinese = pair(root, name)
        about = chinese.relative_to(root)
        if not english.is_file():
            findings.append(f"{about}: there is no {english.relative_to(root)}")
            continue
        known = [*noted.get(name, []), "", ""][:2]
        if known[0] != hash_of(english):
            findings.append(
                f"{english.relative_to(root)} has changed: bring {about} up to date,"
                f" then tools/translations.py --update; if it needs no change, --unchanged {name} REASON"
            )
        elif known[1] != hash_of(chinese):
            findings.append(f"{about} has changed: tools/translations.py --update")
        if shown(english) != shown(chinese):
            findings.append(f"{about}: shows other programs or outputs than {english.relative_to(root)}")
        here, there = code(chinese), code(english)
        for line in here.keys() - there.keys():
            findings.append(f"{about}:{here[line]}: {english.relative_to(root)} does not show this line")
        for page, link in zip((english, chinese), links(name), strict=True):
            if third_line(page) != link:
                findings.append(f"{page.relative_to(root)}:3: the link to the other language: {link}")
    return sorted(findings)


def update(root: pathlib.Path, unchanged: dict[str, str] | None = None) -> list[str]:
    """Notes what has changed, and gives the pages that it refuses."""
    noted = read(root)
    refused = []
    lines = []
    for name in pages(root):
        english, chinese = (hash_of(page) for page in pair(root, name))
        known = noted.get(name, [])
        reason = (unchanged or {}).get(name)
        if reason:
            known = [english, chinese, reason]
        elif known[:1] != [english] and known[1:2] == [chinese]:
            about = pair(root, name)[1].relative_to(root)
            refused.append(
                f"{about} has not changed, and its English page has: bring it up to date, or"
                f" --unchanged {name} REASON"
            )
        elif known[:2] != [english, chinese]:
            known = [english, chinese, *(known[2:] if known[:1] == [english] else [])]
        lines.append(" ".join([name, *known]))
    (root / LIST).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return refused


def self_test() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder)
        english, chinese = root / "docs/a.md", root / "docs/zh/a.md"
        chinese.parent.mkdir(parents=True)
        english.write_text("# A\n\nEnglish | [中文](zh/a.md)\n<!-- a.cpp b -->\n")
        chinese.write_text("# 甲\n\n[English](../a.md) | 中文\n<!-- a.cpp b -->\n")
        (root / "README.md").write_text(f"# R\n\nEnglish | [中文]({README})\n")
        (root / README).write_text("# R\n\n[English](README.md) | 中文\n")
        update(root)
        assert not check(root), check(root)
        measured = (
            "\nAt 1f2e3d4<!-- from a:commit --> on 1 May 2026<!-- from a:taken --> 12<!-- from a:b --> µs.\n"
            "<!-- table a b -->\n| 1 |\n\n<!-- run a -->\nTaken in 7 s.\n\n<!-- from a:c -->\n![12 µs](a.svg)\n"
        )
        english.write_text(english.read_text() + measured)
        assert check(root) and not update(root, {"a.md": "the figures"})
        again = measured.replace("12", "1,034.5").replace("1 May", "27 June").replace("1f2e", "a000")
        english.write_text(english.read_text().replace(measured, again.replace("| 1 |", "| 2 |").replace("7 s", "9 s")))
        assert not check(root), check(root)
        english.write_text(english.read_text() + "\nMore.\n")
        assert any("docs/a.md has changed" in finding for finding in check(root))
        assert update(root) and any("docs/a.md has changed" in finding for finding in check(root))
        assert not update(root, {"a.md": "the new word is a name"})
        assert (root / LIST).read_text().endswith(" the new word is a name\n")
        assert not check(root), check(root)
        chinese.write_text(chinese.read_text() + "\n还有。\n")
        assert check(root) == ["docs/zh/a.md has changed: tools/translations.py --update"]
        assert not update(root)
        assert not check(root), check(root)
        (root / "README.md").write_text("# S\n")
        assert any(f"bring {README}" in finding for finding in check(root))
        chinese.write_text(chinese.read_text() + "```sh\nls b  # 乙\n```\n")
        assert any("docs/zh/a.md:8: docs/a.md does not show" in finding for finding in check(root))
        english.write_text(english.read_text() + "```sh\nls b # B\n```\n")
        update(root, {README: "its title"})
        assert check(root) == ["README.md:3: the link to the other language: English | [中文](README.zh-CN.md)"]
        chinese.write_text("# 甲\n")
        assert any("docs/zh/a.md: shows other" in finding for finding in check(root))
        assert any("docs/zh/a.md:3" in finding for finding in check(root))
        english.unlink()
        assert any("there is no docs/a.md" in finding for finding in check(root))
        chinese.unlink()
        assert any("a.md does not exist" in finding for finding in check(root))


def main() -> None:
    root = pathlib.Path(__file__).resolve().parent.parent
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    elif sys.argv[1:] == ["--update"]:
        if refused := update(root):
            sys.exit("\n".join(refused))
    elif sys.argv[1:2] == ["--unchanged"] and len(sys.argv) == 4:
        if sys.argv[2] not in pages(root):
            sys.exit(f"no page {sys.argv[2]}; {LIST} has their names")
        update(root, {sys.argv[2]: sys.argv[3]})
    elif findings := check(root):
        sys.exit("\n".join(findings))


if __name__ == "__main__":
    main()
