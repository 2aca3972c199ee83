"""Servers of the flash sale, and requests to them: what the checks beside this file share."""

import asyncio
import contextlib
import ctypes
import json
import re
import signal
from collections.abc import AsyncIterator

LIMIT = 30.0  # for anything that should be there at once


def die_with_parent() -> None:
    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Server:
    """A process that serves, from its first line on."""

    def __init__(self, process: asyncio.subprocess.Process, port: int) -> None:
        self.process = process
        self.port = port

    @staticmethod
    async def start(program: str, *arguments: str) -> "Server":
        process = await asyncio.create_subprocess_exec(
            program,
            *("--port", "0"),
            *arguments,
            stdout=asyncio.subprocess.PIPE,
            preexec_fn=die_with_parent,
        )
        assert process.stdout
        line = await asyncio.wait_for(process.stdout.readline(), LIMIT)
        found = re.search(rb"http://127\.0\.0\.1:(\d+)", line)
        if not found:
            raise SystemExit(f"{program} did not begin to serve")
        return Server(process, int(found[1]))

    async def open(self, method: str, path: str) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        """Sends a request. Whoever closes the writer has hung up."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(
            f"{method} {path} HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".encode()
        )
        await writer.drain()
        return reader, writer

    async def ask(self, method: str, path: str) -> tuple[int, str]:
        reader, writer = await self.open(method, path)
        try:
            return answer_in(await asyncio.wait_for(reader.read(), LIMIT))
        finally:
            writer.close()

    async def state(self) -> dict:
        return json.loads((await self.ask("GET", "/state"))[1])

    async def metric(self, series: str) -> float:
        """A number of /metrics, added up over its labels."""
        lines = (await self.ask("GET", "/metrics"))[1].splitlines()
        return sum(float(each.rsplit(" ", 1)[1]) for each in lines if each.startswith(series + "{"))

    async def end(self) -> int:
        if self.process.returncode is None:
            self.process.terminate()
        return await asyncio.wait_for(self.process.wait(), LIMIT)


def answer_in(raw: bytes) -> tuple[int, str]:
    head, _, body = raw.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 "):
        raise ConnectionResetError("the server went before it answered")
    return int(head.split(b" ", 2)[1]), body.decode()


@contextlib.asynccontextmanager
async def servers(program: str, count: int, *arguments: str) -> AsyncIterator[list[Server]]:
    """So many, called a, b, c unless they are told; all gone afterwards."""
    started: list[Server] = []
    try:
        for i in range(count):
            name = () if "--name" in arguments else ("--name", chr(ord("a") + i))
            started.append(await Server.start(program, *name, *arguments))
        yield started
    finally:
        for each in started:
            if each.process.returncode is None:
                each.process.kill()
                await each.process.wait()


async def until(what: str, is_so) -> None:
    """Waits for what a coroutine says."""
    async def look() -> None:
        while not await is_so():
            await asyncio.sleep(0.02)

    try:
        await asyncio.wait_for(look(), LIMIT)
    except asyncio.TimeoutError:
        raise SystemExit(f"it did not come to pass that {what}") from None
