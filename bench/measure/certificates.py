"""A certificate of a server at one address, and its authority, made with the openssl command."""

import dataclasses
import pathlib
import shutil
import subprocess

from measure.problem import Failure


@dataclasses.dataclass(frozen=True)
class Certificates:
    ca_file: pathlib.Path
    certificate_file: pathlib.Path
    key_file: pathlib.Path


def _openssl(*words: str | pathlib.Path) -> None:
    done = subprocess.run(
        ["openssl", *map(str, words)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise Failure(f"openssl {words[0]}: {done.stderr.strip().splitlines()[-1]}")


def make(folder: pathlib.Path, address: str) -> Certificates:
    """In `folder`; good for a day."""
    if not shutil.which("openssl"):
        raise Failure("openssl is not there: tools/setup installs it")
    ca, ca_key = folder / "ca.pem", folder / "ca.key"
    made = Certificates(ca, folder / "server.pem", folder / "server.key")
    new_key = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    _openssl(
        "req", "-x509", *new_key, "-keyout", ca_key, "-out", ca, "-days", "1",
        "-subj", "/CN=colock bench authority",
    )  # fmt: skip
    _openssl(
        "req", "-x509", *new_key, "-keyout", made.key_file, "-out", made.certificate_file,
        "-days", "1", "-subj", "/CN=colock bench server", "-CA", ca, "-CAkey", ca_key,
        "-addext", "basicConstraints=critical,CA:FALSE",
        "-addext", f"subjectAltName=IP:{address},DNS:localhost",
    )  # fmt: skip
    return made
