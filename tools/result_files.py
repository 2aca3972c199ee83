"""The files in docs/results: what was measured, when, on what, with which command.

Each is JSON with `taken`, `commit`, `machine` and `command`, and has `values`, `tables`, or both. A value
has its unit in its name (`server_ping_us`). A table is a list of rows of text as pages show them: the
titles of its columns, the line of dashes, and the rest.

A key names a number in a file: `compare:server_ping_us`, or `compare:W2.colock.p50` for table, row and
column. Names are spelt in small letters, with `_` for everything else; words at the end can be left out
where what is left means one thing. Of a cell with several numbers the first one is meant, or `.1`, `.2` the next ones.
The row `all` stands for all rows and `others` for those of other libraries; then `.least` or `.greatest` follows. `*` and `/` with
another key of that file, or with a number, calculate from left to right. `config:NAME` is a default of
colock::config.
"""

import dataclasses
import json
import math
import pathlib
import re
from collections.abc import Mapping

import reference_pages

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDER = "docs/results"
REQUIRED = ("taken", "commit", "machine", "command")
CONFIG = "config"
MANY = ("all", "others")

NUMBER = re.compile(r"\d+(?:,\d{3})*(?:\.\d+)?(?:e-?\d+)?")
# What one of each is, of its kind.
TIME = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1, "seconds": 1, "minutes": 60, "hours": 3600}
SIZE = {"bytes": 1, "kb": 1e3, "kib": 2**10, "mb": 1e6, "mib": 2**20, "gb": 1e9}
SPELLINGS = {
    "second": "s", "秒": "s", "min": "minutes", "minute": "minutes", "分钟": "minutes", "h": "hours",
    "hour": "hours", "小时": "hours", "毫秒": "ms", "微秒": "us", "µs": "us", "b": "bytes", "byte": "bytes",
    "字节": "bytes",
}

Rows = list[list[str]]


class Problem(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Number:
    value: float
    unit: str = ""  # as in TIME and SIZE
    digits: int = 99  # that it is known to

    def of(self, unit: str) -> "Number":
        """The same in the unit that a page uses, if both are times or both are sizes."""
        for kind in (TIME, SIZE):
            if self.unit in kind and unit in kind:
                return Number(self.value * kind[self.unit] / kind[unit], unit, self.digits)
        if self.unit and unit and {self.unit, unit} <= {*TIME, *SIZE}:
            raise Problem(f"is in {self.unit}, not in {unit}")
        return self


def slug(text: str) -> str:
    text = re.sub(r"(?<=\d),(?=\d)", "", text).replace("µ", "u").replace("×", "by").replace("%", "percent")
    text = re.sub(r"/s\b", " a second", text)
    return re.sub(r"[^0-9A-Za-z]+", "_", text).strip("_").lower()


def unit_of(name: str) -> str:
    """The unit that a name or the title of a column contains."""
    return next((word for word in slug(name).split("_") if word in TIME or word in SIZE), "")


def spelt(unit: str) -> str:
    return SPELLINGS.get(unit.lower(), unit.lower())


def digits_of(text: str) -> int:
    plain = text.partition("e")[0].replace(",", "").replace(".", "")
    return len(plain.lstrip("0")) or 1


def slugs(texts: list[str]) -> list[str]:
    """One for each text; a second of the same name ends in _2."""
    found: list[str] = []
    for name in map(slug, texts):
        at = 1 + sum(1 for other in found if re.fullmatch(rf"{re.escape(name)}(?:_\d+)?", other))
        found.append(f"{name}_{at}" if name in found else name)
    return found


def one_of(names: list[str], part: str, what: str) -> int:
    """The place of a name, of which words may be left out at the end. The shortest one that begins like
    all the others is meant."""
    part = part.lower()
    fit = sorted((name for name in names if f"{name}_".startswith(f"{part}_")), key=len)
    if not fit or not all(f"{name}_".startswith(f"{fit[0]}_") for name in fit):
        raise Problem(f"has {'no' if not fit else 'several'} {what} '{part}': {', '.join(names)}")
    return names.index(fit[0])


def is_ours(row: list[str]) -> bool:
    return row[0].startswith("**") or row[0] == "raw"


class Results:
    """One file."""

    def __init__(self, name: str, data: dict) -> None:
        self.name = name
        self.data = data
        self.values: dict[str, float] = data.get("values", {})
        self.tables: dict[str, Rows] = data.get("tables", {})

    def problems(self) -> list[str]:
        missing = [field for field in REQUIRED if not self.data.get(field)]
        return [f"does not say '{field}'" for field in missing]

    def of_run(self) -> str:
        """When, by what and on what it was measured, as pages say it."""
        data = self.data
        return (
            f"Taken {data['taken']} by `{data['command']}`, colock at {data['commit']}."
            f" Machine: {data['machine']}."
        )

    def table(self, name: str) -> Rows:
        return self.tables[list(self.tables)[one_of([slug(each) for each in self.tables], name, "table")]]

    def columns(self, name: str) -> list[dict[str, str]]:
        """The rows of a table, by the titles of their columns."""
        head, _, *rows = self.table(name)
        return [dict(zip(head, row, strict=False)) for row in rows]

    def cells(self, name: str, row: str, column: str) -> tuple[list[str], str]:
        """What stands there, and the title of the column."""
        head, _, *rows = self.table(name)
        at = one_of(slugs(head), column, "column")
        if row in MANY:
            of_all = [each for each in rows if row == "all" or not is_ours(each)]
            found = [each[at] for each in of_all if len(each) > at and NUMBER.search(each[at])]
        else:
            found = [rows[one_of(slugs([each[0] for each in rows]), row, "row")][at]]
        return found, head[at]

    def one(self, key: str) -> Number:
        parts = key.split(".")
        if len(parts) == 1:
            name = list(self.values)[one_of(list(self.values), key, "value")]
            return Number(float(self.values[name]), unit_of(name), digits_of(str(self.values[name])))
        if len(parts) not in (3, 4):
            raise Problem(f"'{key}' is not TABLE.ROW.COLUMN")
        which = parts[3] if len(parts) == 4 else ("" if parts[1] in MANY else "0")
        cells, title = self.cells(*(slug(part) for part in parts[:3]))
        if parts[1] in MANY:
            pick = {"least": min, "greatest": max}.get(which)
            if not pick or not cells:
                raise Problem(f"'{key}' ends in .least or .greatest, or nobody has that")
            return pick((number_in(cell, 0, title) for cell in cells), key=lambda each: each.value)
        if not which.isdecimal():
            raise Problem(f"'{key}' ends in the place of a number")
        return number_in(cells[0], int(which), title)

    def get(self, key: str) -> Number:
        """What a key without the name of its file means."""
        found: Number | None = None
        for sign, part in re.findall(r"(^|[*/])([^*/]+)", key):
            try:
                each = Number(float(part))
            except ValueError:
                each = self.one(part)
            if found is None:
                found = each
            elif sign == "*":
                found = Number(found.value * each.value, found.unit)
            else:
                found = Number(found.value / each.value, "" if each.unit else found.unit)
        if found is None:
            raise Problem(f"'{key}' names nothing")
        return found


def number_in(cell: str, at: int, title: str) -> Number:
    """A number of a cell. Its unit stands behind it, or in the title of the column."""
    found = list(NUMBER.finditer(cell))
    if len(found) <= at:
        raise Problem(f"has no number there: '{cell}'")
    behind = cell[found[at].end() :].split()
    unit = unit_of(behind[0] if behind else "") or unit_of(title)
    return Number(float(found[at][0].replace(",", "")), unit, digits_of(found[at][0]))


class Files:
    """All of them, by name."""

    def __init__(self, root: pathlib.Path = ROOT) -> None:
        self.root = root
        self.known: dict[str, Results] = {}

    def names(self) -> list[str]:
        return sorted(path.stem for path in (self.root / FOLDER).glob("*.json"))

    def file(self, name: str) -> Results:
        if name not in self.known:
            path = self.root / FOLDER / f"{name}.json"
            try:
                self.known[name] = Results(name, json.loads(path.read_text()))
            except (OSError, ValueError) as e:
                raise Problem(f"{FOLDER}/{name}.json: {e}") from e
        return self.known[name]

    def get(self, key: str) -> Number:
        """What a key with the name of its file means."""
        name, _, inner = key.partition(":")
        if name == CONFIG:
            return self.default(inner)
        try:
            return self.file(name).get(inner)
        except Problem as e:
            raise Problem(f"{name} {e}") from e

    def default(self, field: str) -> Number:
        header = self.root / reference_pages.STRUCTS[CONFIG]
        found = reference_pages.fields_of(header.read_text(), CONFIG) if header.is_file() else {}
        match = re.fullmatch(r"(\d+)(?: (\w+))?", found.get(field, ""))
        if not match:
            raise Problem(f"config has no number '{field}'")
        return Number(float(match[1]), spelt(match[2] or ""), digits_of(match[1]))


def rounded(value: float, digits: int) -> float:
    return float(f"{value:.{digits - 1}e}")


def written(value: float, digits: int) -> str:
    """With as many digits, and with commas."""
    if value == 0:
        return "0"
    decimals = digits - 1 - math.floor(math.log10(abs(rounded(value, digits))))
    return f"{rounded(value, digits):,.{max(0, decimals)}f}"


def markdown(rows: Rows) -> str:
    """As a page shows it."""
    return "".join("| " + " | ".join(row) + " |\n" for row in rows)


def dump(data: Mapping) -> str:
    """JSON with a row of a table in a line."""
    marks: list[str] = []

    def marked(value: object) -> object:
        if isinstance(value, list) and all(isinstance(each, str | float | int) for each in value):
            marks.append(json.dumps(value, ensure_ascii=False))
            return f"@{len(marks) - 1}@"
        if isinstance(value, list):
            return [marked(each) for each in value]
        return {k: marked(v) for k, v in value.items()} if isinstance(value, dict) else value

    text = json.dumps(marked(data), indent=1, ensure_ascii=False)
    return re.sub(r'"@(\d+)@"', lambda found: marks[int(found[1])], text) + "\n"


def save(name: str, data: Mapping, root: pathlib.Path = ROOT) -> None:
    folder = root / FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.json").write_text(dump(data))
