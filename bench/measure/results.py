"""A file of runs, written as they come; what pages quote of it, and the part of a page that shows it.

The runs stay in build/bench. What pages quote goes into docs/results, from where tools/figures takes it
into every page that has a mark of it.
"""

import datetime
import json
import os
import pathlib
import subprocess
import sys

import result_files

from measure import machine
from measure.drivers import ROOT
from measure.problem import Failure

FOLDER = ROOT / "build/bench"
DOCUMENT = ROOT / "docs/benchmarks.md"
DOCUMENTS = {"compare-far": ROOT / "bench/far-results.md"}  # of parts that are elsewhere
PICTURES = ROOT / "docs/img"
OF_README = "overview"


class Results:
    """What a command has measured. The file is whole at any moment."""

    def __init__(self, kind: str, part: str = "") -> None:
        """`part` is that of the document and begins the names of pictures; `kind` unless set."""
        now = datetime.datetime.now(datetime.timezone.utc)
        part = part or kind
        self.path = FOLDER / f"{now:%Y-%m-%d-%H%M}-{part}.json"
        self.data: dict = {
            "kind": kind,
            "part": part,
            "taken": f"{now:%Y-%m-%d %H:%M} UTC",
            # The name alone: what comes before is this machine's affair.
            "command": " ".join([f"bench/{kind}", *sys.argv[1:]]),
            "machine": machine.describe(),
            "load_before": round(os.getloadavg()[0], 2),
            "versions": machine.versions(),
            "skipped": {},
            "ceilings": [],
            "runs": [],
        }

    @classmethod
    def read(cls, path: pathlib.Path, kind: str) -> "Results":
        found = cls.__new__(cls)
        found.path = path
        try:
            found.data = json.loads(path.read_text())
        except (OSError, ValueError) as error:
            raise Failure(f"{path}: {error}") from error
        if found.data.get("kind") != kind:
            raise Failure(f"{path} doesn't come from bench/{kind}")
        return found

    @property
    def runs(self) -> list[dict]:
        return self.data["runs"]

    @property
    def part(self) -> str:
        return self.data.get("part", self.data["kind"])

    def add(self, run: dict) -> None:
        self.runs.append(run)
        self.save()

    def save(self) -> None:
        FOLDER.mkdir(parents=True, exist_ok=True)
        new = self.path.with_suffix(".new")
        new.write_text(json.dumps(self.data, indent=1) + "\n")
        new.replace(self.path)

    def quoted(self, tables: dict[str, result_files.Rows], values: dict[str, float]) -> dict:
        """What pages quote of it."""
        data = self.data
        found = {
            "taken": data["taken"],
            "commit": data["versions"]["colock"],
            "machine": machine.in_words(data["machine"], data["load_before"]),
            "command": data["command"],
            "versions": {name: text for name, text in data["versions"].items() if name != "colock"},
            "values": values,
            "tables": tables,
        }
        return {name: value for name, value in found.items() if value}

    def header(self, quoted: dict) -> str:
        data = self.data
        parts = [f"<!-- run {self.part} -->\n" + result_files.Results(self.part, quoted).of_run()]
        parts.append("Versions: " + "; ".join(f"{n} {v}" for n, v in quoted["versions"].items()) + ".")
        if data["skipped"]:
            skipped = "; ".join(f"{name}: {why}" for name, why in data["skipped"].items())
            parts.append(f"Not measured: {skipped}.")
        return "\n\n".join(parts)


def replace_part(path: pathlib.Path, name: str, text: str) -> None:
    document = path.read_text()
    begin, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    if begin not in document or end not in document:
        raise Failure(f"{path.relative_to(ROOT)} has no part {begin} … {end}")
    before, _, rest = document.partition(begin)
    path.write_text(before + begin + "\n" + text.strip() + "\n" + end + rest.partition(end)[2])


def shown(part: str, name: str, rows: result_files.Rows) -> str:
    """A table with the mark by which tools/figures fills it in again."""
    return f"<!-- table {part} {name} -->\n{result_files.markdown(rows)}"


def publish(
    results: Results,
    text: str,
    tables: dict[str, result_files.Rows],
    pictures: dict[str, str],
    to_docs: bool,
    values: dict[str, float] | None = None,
) -> None:
    """Writes the text and the pictures beside the results; if asked to, also what pages quote, and then
    all pages that quote it."""
    kind, document_part = results.data["kind"], results.part
    quoted = results.quoted(tables, values or {})
    for name, picture in pictures.items():
        results.path.with_name(f"{results.path.stem}-{name}.svg").write_text(picture)
    beside = "\n\n".join(f"![{n}]({results.path.stem}-{n}.svg)" for n in pictures)
    page = f"# bench/{kind}\n\n{results.header(quoted)}\n\n{text}\n\n{beside}\n"
    written = results.path.with_suffix(".md")
    written.write_text(page)
    print(f"{kind}: {written.relative_to(ROOT) if written.is_relative_to(ROOT) else written}")
    if not to_docs:
        return
    PICTURES.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures.items():
        (PICTURES / f"{document_part}-{name}.svg").write_text(picture)
    document = DOCUMENTS.get(document_part, DOCUMENT)
    folder = os.path.relpath(PICTURES, document.parent)
    beside = "\n\n".join(
        f"![{name}]({folder}/{document_part}-{name}.svg)" for name in pictures if name != OF_README
    )
    replace_part(document, document_part, f"{results.header(quoted)}\n\n{beside}\n\n{text}")
    print(f"{kind}: {document.relative_to(ROOT)}")
    result_files.save(document_part, quoted)
    if subprocess.run([ROOT / "tools/figures"], check=False).returncode:
        raise Failure("a mark in a page does not fit what was measured")
