#!/usr/bin/python3
"""Sends one HTTP request to the program of http.cpp, and prints the trace that its exporter has written.

    trace.py PROGRAM REDIS_URL        exits 1 if a span is not what it has to be

Somebody else has the lock when the request comes, for a third of a second.
"""

import http.client
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
from typing import NamedTuple

TRACE = "4bf92f3577b34da6a3ce929d0e0e4736"
CALLER = "00f067aa0ba902b7"
OTHERS_MS = 333
MARGIN_MS = 33  # the request takes some of that time before it waits


class Span(NamedTuple):
    name: str
    trace: str
    id: str
    parent: str
    begin: int
    nanoseconds: int
    kind: str
    status: str
    attributes: dict[str, str]


def spans_in(text: str) -> list[Span]:
    """As the exporter writes them: a block in braces for each, with `name: value` in its lines."""
    spans = []
    for block in re.findall(r"^\{\n(.*?)^\}$", text, re.MULTILINE | re.DOTALL):
        fields = dict(re.findall(r"^  ([\w ]+?) *: (.*)$", block, re.MULTILINE))
        attributes = dict(re.findall(r"^\t([\w.]+): (.*)$", block.partition("  events")[0], re.MULTILINE))
        spans.append(Span(fields["name"], fields["trace_id"], fields["span_id"], fields["parent_span_id"],
                          int(fields["start"]), int(fields["duration"]), fields["span kind"], fields["status"],
                          attributes))
    return spans


def occupy(url: str, name: str) -> None:
    """Takes the lock for somebody who does not release it."""
    with socket.socket(socket.AF_UNIX) as redis:
        redis.connect(url.removeprefix("unix://"))
        redis.sendall(f"HSET {name} somebody:1 1\r\nPEXPIRE {name} {OTHERS_MS}\r\n".encode())
        said = b""
        while said.count(b"\r\n") < 2:
            said += redis.recv(64)


def ask(port: int) -> int:
    connection = http.client.HTTPConnection("127.0.0.1", port)
    connection.request("POST", "/ann", headers={"traceparent": f"00-{TRACE}-{CALLER}-01"})
    return connection.getresponse().status


def collect(program: str, url: str) -> list[Span]:
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, "spans")
        with subprocess.Popen([program, url, file], stdout=subprocess.PIPE, text=True) as server:
            port = int(server.stdout.readline())
            occupy(url, "user:/ann")
            status = ask(port)
            server.terminate()
        if status != 200 or server.returncode:
            sys.exit(f"the request was answered by {status}, and the server ended with {server.returncode}")
        return spans_in(file.read_text())


def show(spans: list[Span], parent: Span, before: str) -> None:
    children = sorted((each for each in spans if each.parent == parent.id), key=lambda span: span.begin)
    for child in children:
        last = child is children[-1]
        how = child.attributes.get("colock.outcome", "")
        name = f"{before}{'└─' if last else '├─'} {child.name}"
        print(f"{name:<24} ~{child.nanoseconds / 1e6:.1f} ms  {how}".rstrip())
        show(spans, child, before + ("   " if last else "│  "))


def check(spans: list[Span]) -> None:
    by_name = {span.name: span for span in spans}
    wait, hold, release = (by_name[f"colock.{what}"] for what in ("wait", "hold", "release"))
    request = by_name["POST /{user}"]
    facts = {
        "all spans are of the caller's trace": all(span.trace == TRACE for span in spans),
        "each of them once": len(spans) == len(by_name) == 5,
        "the request's parent is the caller": request.parent == CALLER,
        "it is the parent of all three": all(each.parent == request.id for each in (wait, hold, release)),
        "work is a child of the hold": by_name["sell"].parent == hold.id,
        "the wait waited": wait.nanoseconds > (OTHERS_MS - MARGIN_MS) * 1e6,
        "one follows the other": wait.begin + wait.nanoseconds <= hold.begin
        and hold.begin + hold.nanoseconds <= release.begin,
        "calls to the server are of a client": wait.kind == release.kind == "Client" != hold.kind,
        "the server is a database": wait.attributes["db.system.name"] == "redis"
        and wait.attributes["db.operation.name"] == "acquire"
        and release.attributes["db.operation.name"] == "release",
        "none is an error": all(span.status == "Unset" for span in spans),
        "the lock is named": {span.attributes["colock.name"] for span in (wait, hold, release)} == {"user:/ann"},
        "its outcome is known": (wait.attributes["colock.outcome"], hold.attributes["colock.outcome"])
        == ("acquired", "released"),
    }
    wrong = [fact for fact, is_so in facts.items() if not is_so]
    if wrong:
        sys.exit("not so: " + "; ".join(wrong) + "\n" + "\n".join(map(str, spans)))


def main() -> None:
    program, url = sys.argv[1:]
    spans = collect(program, url)
    check(spans)
    request = next(span for span in spans if span.parent == CALLER)
    print(f"{request.name:<24} ~{request.nanoseconds / 1e6:.1f} ms")
    show(spans, request, "")


main()
