#!/usr/bin/python3
"""Checks a site in a folder: links lead to files and anchors that are there, and no page loads
anything from elsewhere; and the search finds words of the Chinese pages.

    check_links.py FOLDER       exits 1 with one line for each finding
    check_links.py --self-test
"""

import html.parser
import json
import pathlib
import re
import sys
import tempfile
import urllib.parse
from collections.abc import Iterator

APART = "\u200b"
LOADS = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
# Of <link>, what a browser fetches by itself.
FETCHED = {"stylesheet", "icon", "preload", "modulepreload", "prefetch", "preconnect", "manifest"}


class page(html.parser.HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, given: list[tuple[str, str | None]]) -> None:
        attributes = {name: value or "" for name, value in given}
        self.anchors |= {attributes[name] for name in ("id", "name") if name in attributes}
        to = attributes.get(LOADS.get(tag, ""))
        if tag == "a" and "href" in attributes:
            self.links.append(attributes["href"])
        elif to and (tag != "link" or FETCHED & set(attributes.get("rel", "").split())):
            self.loads.append(to)

    handle_startendtag = handle_starttag


def check(root: pathlib.Path) -> Iterator[str]:
    pages = {path: page(path.read_text(errors="replace")) for path in sorted(root.rglob("*.html"))}
    for path, content in pages.items():
        here = path.relative_to(root)
        for to in content.loads:
            if urllib.parse.urlsplit(to).netloc:
                yield f"{here}: loads {to} from elsewhere"
        for to in {**dict.fromkeys(content.links), **dict.fromkeys(content.loads)}:
            parts = urllib.parse.urlsplit(to)
            if parts.scheme or parts.netloc:
                continue
            name = urllib.parse.unquote(parts.path)
            base = root if name.startswith("/") else path.parent
            goal = (base / name.lstrip("/")).resolve() if name else path
            goal = goal / "index.html" if goal.is_dir() else goal
            anchor = urllib.parse.unquote(parts.fragment)
            if not goal.is_file():
                yield f"{here}: {to} does not exist"
            elif anchor and goal in pages and not anchor.startswith(("__", ":~:")):
                if anchor not in pages[goal].anchors:
                    yield f"{here}: {to} has no anchor '{anchor}'"


def check_search(root: pathlib.Path) -> Iterator[str]:
    """Chinese is written without blanks: the index has its words apart, and the search splits there."""
    index = json.loads((root / "search/search_index.json").read_text())
    if len(re.split(index["config"]["separator"], f"公平{APART}队列")) != 2:
        yield "search: the separator does not split Chinese words"
    texts = [one["text"] for one in index["docs"] if one["location"].startswith("zh/")]
    if texts and not any(APART in text for text in texts):
        yield "search: the index does not have Chinese words apart (jieba)"


def self_test() -> None:
    good = {
        "search/search_index.json": '{"config": {"separator": "\\u200b"}, "docs": '
        '[{"location": "zh/a.html", "text": "\\u200b公平\\u200b队列"}]}',
        "index.html": '<a href="b/c.html#x">',
        "b/c.html": '<p id="x"><img src="../d.png">',
        "d.png": "",
    }
    bad = {
        "nowhere.html does not exist": {"index.html": '<a href="nowhere.html">'},
        "no anchor 'y'": {"index.html": '<a href="b/c.html#y">'},
        "e.png does not exist": {"index.html": '<img src="e.png">'},
        "does not split": {"search/search_index.json": '{"config": {"separator": "-"}, "docs": []}'},
        "words apart": {
            "search/search_index.json": '{"config": {"separator": "\\u200b"}, "docs": '
            '[{"location": "zh/a.html", "text": "公平队列"}]}'
        },
        "from elsewhere": {"index.html": '<script src="//other.example/x.js"></script>'},
    }
    for message, changed in {"": {}, **bad}.items():
        with tempfile.TemporaryDirectory() as folder:
            root = pathlib.Path(folder).resolve()
            for name, text in {**good, **changed}.items():
                (root / name).parent.mkdir(exist_ok=True)
                (root / name).write_text(text)
            found = [*check(root), *check_search(root)]
            well = any(message in one for one in found) if message else not found
            assert well, (message, found)


def main() -> int:
    if sys.argv[1:] == ["--self-test"]:
        self_test()
        return 0
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 64
    root = pathlib.Path(sys.argv[1]).resolve()
    findings = [*check(root), *check_search(root)]
    print("".join(one + "\n" for one in findings), end="")
    return 1 if findings else 0


if __name__ == "__main__":
    sys.exit(main())
