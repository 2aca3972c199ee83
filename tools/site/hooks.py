"""What MkDocs is told while it builds the site.

- The navigation: NAVIGATION in its order, as far as the pages are there, and whatever else is in
  docs/ after it.
- README.md is the front page, and README.zh-CN.md a page.
- The reference that Doxygen made is part of the site.
- Links out of docs/ lead into the site as well: those to a public header to its class in the
  reference, those to any other file to a page that shows it.
- A line that ends and goes on in Chinese has no blank at its end.
- Code in a cell of a table writes | as \\|, as GitHub wants it, and is shown without the \\.
- Pages with diagrams bring the script that draws them.
"""

import pathlib
import posixpath
import re
import xml.etree.ElementTree as ElementTree

from mkdocs.structure.files import File

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
REFERENCE = ROOT / "build/docs/reference"
TAGS = ROOT / "build/docs/reference.tag"

# The lessons, in the order in which the list of the tutorial has them.
CONTENTS = (ROOT / "docs/tutorial/README.md").read_text()
LESSONS = ["tutorial/" + name for name in re.findall(r"^- \[.*?\]\((\S+)\)", CONTENTS, re.MULTILINE)]

# A section takes the pages that its patterns match, in their order, and no page twice. "A/B" is a part
# of the section A before it.
NAVIGATION = [
    ("Start", ["index.md", "install.md", "api.md", "faq.md", "comparison.md", "migration.md",
                "without-coroutines.md", "how-it-works.md", "glossary.md"]),
    ("Tutorial", ["tutorial/README.md", *LESSONS]),
    ("Locks", ["locks/README.md", "locks/lock.md", "locks/fair_lock.md", "locks/read_write_lock.md",
               "locks/*_lock.md", "locks/*.md"]),
    ("Recipes", ["recipes.md", "seckill.md"]),
    ("Operation", ["deployments.md", "configuration.md", "production.md",
                   "sizing.md", "metrics.md", "command.md", "troubleshooting.md", "errors.md",
                   "redisson.md"]),
    ("中文", ["zh-CN.md", "zh/install.md", "zh/faq.md", "zh/guarantees.md", "zh/redisson.md", "zh/how-it-works.md",
             "zh/seckill.md", "zh/command.md", "zh/deployments.md", "zh/production.md",
             "zh/errors.md", "zh/troubleshooting.md", "zh/*.md"]),
    ("中文/该用哪种锁？", ["zh/locks/README.md", "zh/locks/lock.md", "zh/locks/*.md"]),
    ("中文/教程", ["zh/tutorial/README.md", *(f"zh/{lesson}" for lesson in LESSONS)]),
    ("Assurance", ["guarantees.md", "reliability.md", "versions.md", "benchmarks.md", "*.md"]),
    ("Internals", ["internals/architecture.md", "internals/model.md", "internals/proofs.md",
                   "internals/failures.md", "internals/*.md"]),
]
TITLES = {"index.md": "colock", "zh-CN.md": "首页"}

LINK = re.compile(r"\]\((?P<to>[^)\s]+)\)")
FENCE = re.compile(r"^```.*?^```$", re.DOTALL | re.MULTILINE)
WIDE = "[\u2e80-\u9fff\uff00-\uffef]"
CHINESE_LINE_END = re.compile(rf"(?<={WIDE})\n *(?={WIDE})")
CELL = re.compile(r"<td\b.*?</td>", re.DOTALL)
COMMENT = re.compile(r"^<!-- .*? -->\n|<!-- from \S+ -->", re.MULTILINE)

# The way back from the reference.
BRIEF = re.compile(r'(<div id="projectbrief">)(.*?)(?=</div>)')
UP = "../index.html"

origins: dict[str, str] = {}  # of the pages that don't lie in docs/: their files
classes: dict[str, str] = {}  # by header: the page of the reference


def on_files(files, config):
    origins.clear()
    add_page(files, config, "README.md", "index.md")
    if (ROOT / "README.zh-CN.md").exists():
        add_page(files, config, "README.zh-CN.md", "zh-CN.md")
    add_reference(files, config)
    for name in sorted(linked_files(files)):
        add_source(files, config, name)
    for name in ("site.css", "mermaid.js"):
        add_asset(files, config, name)
    return files


def add_page(files, config, origin: str, page: str) -> None:
    origins[page] = origin
    files.append(File.generated(config, page, content=(ROOT / origin).read_text()))


def add_asset(files, config, name: str) -> None:
    if name == "mermaid.js":
        import importlib.util

        found = importlib.util.find_spec("mermaidx")
        path = pathlib.Path(found.submodule_search_locations[0]) / "assets" / name
    else:
        path = ROOT / "tools/site" / name
    files.append(File.generated(config, "assets/" + name, abs_src_path=str(path)))


# ---- The reference -----------------------------------------------------------------------------


def add_reference(files, config) -> None:
    for path in sorted(REFERENCE.rglob("*")):
        if not path.is_file():
            continue
        name = "reference/" + path.relative_to(REFERENCE).as_posix()
        if path.suffix == ".html":
            content = BRIEF.sub(rf'\1\2 · <a href="{UP}">all pages</a>', path.read_text(), count=1)
            files.append(File.generated(config, name, content=content))
        else:
            files.append(File.generated(config, name, abs_src_path=str(path)))
    classes.clear()
    root = ElementTree.parse(TAGS).getroot()
    for part in root.iter("compound"):
        if part.get("kind") in ("class", "struct"):
            classes.setdefault(part.findtext("name", ""), part.findtext("filename", ""))
        for member in part.iter("member") if part.get("kind") == "namespace" else ():
            page = f"{member.findtext('anchorfile')}#{member.findtext('anchor')}"
            classes.setdefault("colock::" + member.findtext("name", ""), page)


def in_reference(header: str) -> str:
    stem = pathlib.PurePath(header).stem
    source = stem.replace("_", "__") + "_8hpp_source.html"
    return "reference/" + classes.get("colock::" + stem, source)


# ---- Other files -------------------------------------------------------------------------------


def target(page: str, link: str) -> tuple[str, str]:
    """What a link leads to: a path from the root of the project, and the rest of the link."""
    path, mark, anchor = link.partition("#")
    origin = origins.get(page, "docs/" + page)
    return posixpath.normpath(posixpath.join(posixpath.dirname(origin), path)), mark + anchor


def is_public(name: str) -> bool:
    return name.startswith("include/colock/") and "/detail/" not in name


def links_of(page: str, text: str) -> set[str]:
    found = set()
    for match in LINK.finditer(FENCE.sub("", text)):
        if "://" not in match["to"] and not match["to"].startswith("#"):
            name, _ = target(page, match["to"])
            found.add(name)
    return found


def linked_files(files) -> set[str]:
    """The files outside docs/ that pages link to, and those to which these link."""
    found: set[str] = set()
    new = set()
    for file in files.documentation_pages():
        new |= links_of(file.src_uri, file.content_string)
    while new:
        one = new.pop()
        inside = one.startswith("docs/") or one in origins.values() or is_public(one)
        if inside or one in found or not (ROOT / one).exists():
            continue
        found.add(one)
        origins[source_page(one)] = one
        if (ROOT / one).is_dir() or one.endswith(".md"):
            new |= links_of(source_page(one), text_of(one))
    return found


def source_page(name: str) -> str:
    return f"source/{name}" if name.endswith(".md") else f"source/{name}.md"


def text_of(name: str) -> str:
    """What the page of a file, or of a folder, says."""
    path = ROOT / name
    if path.is_dir():
        inside = sorted(one.name for one in path.iterdir() if one.is_file())
        return f"# {name}\n\n" + "".join(f"- [{one}]({path.name}/{one})\n" for one in inside)
    text = path.read_text()
    if name.endswith(".md"):
        return text
    language = {".hpp": "cpp"}.get(path.suffix, path.suffix.removeprefix(".") or "text")
    return f"# {name}\n\n````{language}\n{text}````\n"


def add_source(files, config, name: str) -> None:
    files.append(File.generated(config, source_page(name), content=text_of(name)))


def rewritten(page: str, link: str) -> str:
    if "://" in link or link.startswith(("#", "mailto:")):
        return link
    name, anchor = target(page, link)
    if name.startswith("docs/") and (ROOT / name / "README.md").is_file():
        name += "/README.md"
    if name.startswith("docs/"):
        to = name.removeprefix("docs/")
    elif name in origins.values():
        to = next(key for key, value in origins.items() if value == name)
    elif is_public(name):
        to = in_reference(name)
    else:
        return link  # a warning of MkDocs
    return posixpath.relpath(to, posixpath.dirname(page) or ".") + anchor


def on_page_markdown(markdown, page, config, files):
    name = page.file.src_uri
    if name.startswith("source/") and not origins[name].endswith(".md"):
        page.meta["search"] = {"exclude": True}
    if name.startswith("source/") and (ROOT / origins[name]).suffix not in (".md", ""):
        return markdown
    parts, end = [], 0
    for fence in [*FENCE.finditer(markdown), None]:
        prose = COMMENT.sub("", markdown[end : fence.start() if fence else None])
        prose = CHINESE_LINE_END.sub("", prose)
        parts.append(LINK.sub(lambda m: f"]({rewritten(name, m['to'])})", prose))
        if fence:
            parts.append(fence[0])
            end = fence.end()
    return "".join(parts)


def on_page_content(html, page, config, files):
    return CELL.sub(lambda cell: cell[0].replace("\\|", "|"), html)


# ---- Navigation and diagrams -------------------------------------------------------------------




def on_config(config):
    config.nav = None
    docs = pathlib.Path(config.docs_dir)
    there = {"index.md"} | {path.relative_to(docs).as_posix() for path in docs.rglob("*.md")}
    if (ROOT / "README.zh-CN.md").exists():
        there.add("zh-CN.md")
    taken: set[str] = set()
    sections = []
    for title, patterns in [*NAVIGATION, ("More", ["**/*.md"])]:
        pages = []
        for pattern in patterns:
            for page in sorted(there - taken):
                deep = pattern.startswith("**/")
                if deep or (
                    page.count("/") == pattern.count("/")
                    and pathlib.PurePath(page).match(pattern)
                ):
                    taken.add(page)
                    pages.append({TITLES[page]: page} if page in TITLES else page)
        parent, _, own = title.rpartition("/")
        if pages and parent:
            sections[-1][parent].append({own: pages})
        elif pages:
            sections.append({title: pages})
    sections.append({"Reference": "reference/index.html"})
    config.nav = sections
    return config


def on_post_page(output, page, config):
    if '<pre class="mermaid">' not in output:
        return output
    script = posixpath.relpath("assets/mermaid.js", posixpath.dirname(page.file.dest_uri) or ".")
    return output.replace("</head>", f'<script src="{script}"></script></head>', 1)
