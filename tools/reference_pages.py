"""Checks that the reference pages name what the headers have, for check_docs.py.

- docs/configuration.md has a section for each struct that a user fills in, and in it a table row for
  each field. The row's second cell begins with the default that the header gives.
- docs/errors.md has a row for each value of `colock::error`.
- docs/api.md names each operation of the public headers.
"""

import pathlib
import re
from collections.abc import Iterator

CONFIGURATION = "docs/configuration.md"
ERRORS = "docs/errors.md"
OPERATIONS = "docs/api.md"
ERROR_HEADER = "include/colock/error.hpp"
STRUCTS = {
    "config": "include/colock/config.hpp",
    "address": "include/colock/config.hpp",
    "tls_options": "include/colock/config.hpp",
    "acquire_options": "include/colock/options.hpp",
    "backoff": "include/colock/detail/lock_id.hpp",
    "private_server_options": "include/colock/testing/private_server.hpp",
}
COMMENT = re.compile(r"//.*")
FIELD = re.compile(
    r"^    (?!friend |static |using |return )(?P<type>[\w:<>, ]+?) (?P<name>\w+)"
    r"(?P<default> = [^;]+|\{[^;]*\})?;",
    re.MULTILINE,
)
ENUMERATOR = re.compile(r"^    (?P<name>[a-z]\w*)(?: = \d+)?,", re.MULTILINE)
OPERATION = re.compile(r"^    auto (?P<name>\w+)\(", re.MULTILINE)
HEADING = re.compile(r"## .*?`(?P<name>\w+)`")
ROW = re.compile(r"\| `(?P<name>\w+)` \| *(?P<second>[^|]*)")
UNITS = ((1_000, "s"), (1, "ms"))


def body_of(header: str, kind: str, name: str) -> str | None:
    text = COMMENT.sub("", header)
    found = re.search(rf"^{kind} {name} \{{\n(.*?)^\}};", text, re.DOTALL | re.MULTILINE)
    return found[1] if found else None


def duration(milliseconds: int) -> str:
    size, unit = next(each for each in UNITS if milliseconds % each[0] == 0)
    return f"{milliseconds // size} {unit}"


def shown_default(of_type: str, default: str) -> str:
    """A default of a header, as a page shows it to a reader."""
    plain = default.removeprefix(" = ")
    inner = plain[1:-1] if plain.startswith("{") else plain
    if inner == "":
        if of_type == "std::string" or of_type.startswith("std::vector"):
            return "empty"
        can_be_none = of_type.startswith(("std::optional", "std::shared_ptr"))
        return "none" if can_be_none else of_type + "{}"
    if of_type.endswith("milliseconds"):
        return duration(int(inner.replace("'", "")))
    if shift := re.fullmatch(r"std::size_t\{(\d+)\} << 20U", inner):
        return f"{shift[1]} MiB"
    return inner.rpartition("::")[2].strip('"')


def fields_of(header: str, struct: str) -> dict[str, str]:
    """The fields of a struct, with their defaults."""
    body = body_of(header, "struct", struct) or ""
    return {m["name"]: shown_default(m["type"], m["default"] or "") for m in FIELD.finditer(body)}


def rows_of(lines: list[str]) -> dict[str, dict[str, tuple[int, str]]]:
    """By section of a page, and by name: the line, and the second cell without backticks."""
    found: dict[str, dict[str, tuple[int, str]]] = {}
    section = ""
    for number, line in enumerate(lines, 1):
        if line.startswith("## "):
            heading = HEADING.match(line)
            section = heading["name"] if heading else ""
        elif row := ROW.match(line):
            found.setdefault(section, {})[row["name"]] = (number, row["second"].replace("`", ""))
    return found


def text_of(root: pathlib.Path, name: str) -> str:
    return (root / name).read_text() if (root / name).is_file() else ""


def check_configuration(root: pathlib.Path) -> Iterator[tuple[str, int, str]]:
    sections = rows_of(text_of(root, CONFIGURATION).splitlines())
    for struct, header in STRUCTS.items():
        rows = sections.get(struct, {})
        fields = fields_of(text_of(root, header), struct)
        if (root / header).is_file() and not fields:
            yield header, 1, f"struct {struct} has no fields that could be read"
        for name, default in fields.items():
            if name not in rows:
                yield CONFIGURATION, 1, f"the section on `{struct}` has no row for {name}"
            elif not re.match(re.escape(default) + r"(\W|$)", rows[name][1]):
                yield CONFIGURATION, rows[name][0], f"the default of {name} is {default}"
        for extra in sorted(rows.keys() - fields.keys()):
            yield CONFIGURATION, rows[extra][0], f"{struct} has no field {extra}"


def check_errors(root: pathlib.Path) -> Iterator[tuple[str, int, str]]:
    enumerators = ENUMERATOR.findall(body_of(text_of(root, ERROR_HEADER), "enum class", "error") or "")
    rows = {
        name: place[0]
        for section in rows_of(text_of(root, ERRORS).splitlines()).values()
        for name, place in section.items()
    }
    for name in enumerators:
        if name not in rows:
            yield ERRORS, 1, f"no row for error::{name}"
    for extra in sorted(rows.keys() - set(enumerators)):
        yield ERRORS, rows[extra], f"there is no error::{extra}"


def check_operations(root: pathlib.Path) -> Iterator[tuple[str, int, str]]:
    page = root / OPERATIONS
    text = page.read_text() if page.is_file() else ""
    for header in sorted(root.glob("include/colock/*.hpp")):
        for name in dict.fromkeys(OPERATION.findall(header.read_text())):
            if not re.search(rf"\b{name}\(", text):
                yield OPERATIONS, 1, f"does not name {name}() of {header.name}"


def check(root: pathlib.Path) -> Iterator[tuple[str, int, str]]:
    yield from check_configuration(root)
    yield from check_errors(root)
    yield from check_operations(root)


# What check_docs.py tests itself with: files in which nothing is wrong, and changes that are found.
EXAMPLE = {
    "include/colock/config.hpp": """struct address {
    std::string host = "localhost";  ///< a name
    friend bool operator==(address const&, address const&) = default;
};
struct tls_options {
    bool enabled = false;
};
struct config {
    using milliseconds = std::chrono::milliseconds;
    address where{};
    milliseconds lease{30'000};
    milliseconds pause{1'500};
    std::optional<milliseconds> limit{};
    std::size_t most = std::size_t{64} << 20U;
    kind what = kind::plain;
    static config from_url(std::string_view url);
};
""",
    ERROR_HEADER: "enum class error {\n    /// A.\n    closed = 1,\n    lost,\n};\n",
    CONFIGURATION: """## `config`
| `where` | `address{}`: of this machine |
| `lease` | 30 s: a third of it, renewed |
### More
| `pause` | 1500 ms | |
| `limit` | none | |
| `most` | `64 MiB` | |
| `what` | `plain` | |
## `address`
| `host` | `localhost` |
## `tls_options`
| `enabled` | false |
## Others
| `url` | any |
""",
    ERRORS: "| `closed` | a |\n\n## More\n\n| `lost` | b |\n| `asio::error::eof` | c |\n",
}


def mistakes() -> dict[str, dict[str, str | None]]:
    page, errors = EXAMPLE[CONFIGURATION], EXAMPLE[ERRORS]
    config, options = "include/colock/config.hpp", "include/colock/options.hpp"
    return {
        "no row for pause": {CONFIGURATION: page.replace("`pause`", "pause")},
        "on `tls_options` has no row": {CONFIGURATION: page.replace("tls_", "other_")},
        "the default of lease is 30 s": {CONFIGURATION: page.replace("30 s", "3 s")},
        "the default of limit is none": {CONFIGURATION: page.replace("none | |", "nonesuch | |")},
        "the default of what is sharded": {config: EXAMPLE[config].replace("kind::pl", "kind::sharded; // pl")},
        "config has no field rest": {CONFIGURATION: page.replace("### More", "| `rest` | 1 |")},
        "acquire_options has no fields": {options: "class acquire_options {};\n"},
        "no row for error::lost": {ERRORS: errors.replace("`lost`", "lost")},
        "does not name wait() of a.hpp": {"include/colock/a.hpp": "class a {\n    auto wait(int token) const\n"},
        "there is no error::gone": {ERRORS: errors + "| `gone` | d |\n"},
    }
