#!/usr/bin/python3
"""The kept inputs of the fuzz targets: corpus/<target>.txt has one a line, NAME="BYTES".

    corpus.py unpack FOLDER          writes each input to FOLDER/<target>/NAME
    corpus.py pack FOLDER            keeps what is in FOLDER/<target>/ in place of what was kept
    corpus.py add TARGET FILE...     keeps these files as well

A line "BYTES" without a name is a word of the target's dictionary; unpack copies the words to
FOLDER/<target>.dict. Bytes are written as in dictionaries of libFuzzer: \\\\, \\" and \\xAB.
"""

import pathlib
import re
import shutil
import sys

CORPUS = pathlib.Path(__file__).resolve().parent / "corpus"
INPUT = re.compile(r'([\w.-]+)="(.*)"')
ESCAPE = re.compile(rb'\\(?:x([0-9a-f]{2})|([\\"]))')


def escaped(data: bytes) -> str:
    def show(byte: int) -> str:
        if byte in b'\\"':
            return "\\" + chr(byte)
        return chr(byte) if 0x20 <= byte < 0x7F else f"\\x{byte:02x}"

    return "".join(map(show, data))


def bytes_of(text: str) -> bytes:
    return ESCAPE.sub(
        lambda found: bytes.fromhex(found[1].decode()) if found[1] else found[2], text.encode()
    )


def name_of(file: pathlib.Path) -> str:
    """libFuzzer's own names are 40 digits long; 12 are enough."""
    return file.name[:12] if re.fullmatch("[0-9a-f]{40}", file.name) else file.name


def read(target: str) -> tuple[list[str], dict[str, bytes]]:
    """The words, as they stand, and the inputs."""
    path = CORPUS / f"{target}.txt"
    words, inputs = [], {}
    for line in path.read_text("ascii").splitlines() if path.exists() else []:
        if found := INPUT.fullmatch(line):
            inputs[found[1]] = bytes_of(found[2])
        elif line.startswith(('"', "#")):
            words.append(line)
        elif line:
            sys.exit(f"{path}: cannot read this line: {line}")
    return words, inputs


def write(target: str, words: list[str], inputs: dict[str, bytes]) -> None:
    lines = [*words, "", *(f'{name}="{escaped(inputs[name])}"' for name in sorted(inputs))]
    (CORPUS / f"{target}.txt").write_text("\n".join(lines).lstrip("\n") + "\n", "ascii")
    print(f"{target}: {len(inputs)} inputs")


def unpack(folder: pathlib.Path) -> None:
    for path in sorted(CORPUS.glob("*.txt")):
        words, inputs = read(path.stem)
        (folder / f"{path.stem}.dict").unlink(missing_ok=True)
        shutil.rmtree(folder / path.stem, ignore_errors=True)
        (folder / path.stem).mkdir(parents=True)
        for name, data in inputs.items():
            (folder / path.stem / name).write_bytes(data)
        if words:
            (folder / f"{path.stem}.dict").write_text("\n".join(words) + "\n", "ascii")


def pack(folder: pathlib.Path) -> None:
    for target in sorted(each for each in folder.iterdir() if each.is_dir()):
        write(
            target.name,
            read(target.name)[0],
            {name_of(file): file.read_bytes() for file in target.iterdir()},
        )


def add(target: str, files: list[pathlib.Path]) -> None:
    words, inputs = read(target)
    for file in files:
        data, name = file.read_bytes(), name_of(file)
        if inputs.get(name, data) != data:
            sys.exit(f"{target} has another input called {name}")
        inputs[name] = data
    write(target, words, inputs)


match sys.argv[1:]:
    case ["unpack", folder]:
        unpack(pathlib.Path(folder))
    case ["pack", folder]:
        pack(pathlib.Path(folder))
    case ["add", target, file, *more]:
        add(target, [pathlib.Path(each) for each in [file, *more]])
    case _:
        sys.exit(__doc__)
