#!/usr/bin/python3
"""What a browser shows of the page: stock, orders, and who waits. Exits with 77 without Chromium.

    page.py SECKILL --redis URL [--screenshot FILE]
"""

import argparse
import asyncio
import itertools
import os
import re
import shutil
import signal
import sys
import tempfile

from servers import Server, servers, until

SKIPPED = 77
STOCK = 1_000
NAMES = ("anna", "ben", "chen"), ("dora", "emil", "fang"), ("gita", "hugo", "ines")
LIMIT = 60.0


async def browse(chromium: str, *arguments: str) -> str:
    """What a browser without a window prints. It goes with its own processes, and its folder."""
    with tempfile.TemporaryDirectory(prefix="colock-page-", ignore_cleanup_errors=True) as folder:
        process = await asyncio.create_subprocess_exec(
            chromium,
            *("--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"),
            *("--no-first-run", "--disable-dev-shm-usage", "--disable-background-networking"),
            *("--disable-component-update", "--disable-sync", f"--user-data-dir={folder}"),
            *arguments,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            out, _ = await asyncio.wait_for(process.communicate(), LIMIT)
            return out.decode()
        finally:
            if process.returncode is None:
                os.killpg(process.pid, signal.SIGKILL)
                await process.wait()


def text_of(dom: str, name: str) -> str:
    found = re.search(rf'id="{name}"[^>]*>(.*?)</(b|ul|small)>', dom, re.DOTALL)
    assert found, f"the page has no {name}: {dom[:2000]}"
    return re.sub(r"<[^>]+>", " ", found[1]).strip()


async def keep_coming(server: Server, names: tuple[str, ...]) -> None:
    """New users without end, each with three requests at once: two of them wait."""
    for n in itertools.count():
        user = f"{names[n % len(names)]}-{n}"
        await asyncio.gather(*(server.ask("POST", f"/orders/{user}") for _ in range(3)))


async def check(options: argparse.Namespace, chromium: str) -> None:
    more = ("--redis", options.redis, "--stock", str(STOCK), "--paying", "400")
    async with servers(options.program, 1, *more) as (server,):
        crowd = [asyncio.create_task(keep_coming(server, names)) for names in NAMES]

        async def is_so() -> bool:
            return (await server.state())["orders"] >= 12

        await until("twelve orders are there", is_so)
        url = f"http://127.0.0.1:{server.port}/"
        if options.screenshot:
            await browse(
                chromium,
                *("--window-size=800,680", "--virtual-time-budget=300"),
                *(f"--screenshot={os.path.abspath(options.screenshot)}", url),
            )
        before = await server.state()
        dom = await browse(chromium, "--virtual-time-budget=300", "--dump-dom", url)
        after = await server.state()
        for each in crowd:
            each.cancel()
    stock, orders, waiters = (int(text_of(dom, name)) for name in ("stock", "orders", "waiters"))
    print(f"the page shows stock {stock}, orders {orders}, {waiters} who wait")
    print(f"latest: {text_of(dom, 'latest')!r}; waiting: {text_of(dom, 'waiting')!r}")
    assert stock + orders == STOCK, (stock, orders)
    assert before["orders"] <= orders <= after["orders"], (before, orders, after)
    assert "server a" in text_of(dom, "latest")
    assert waiters > 0 and "×" in text_of(dom, "waiting")
    assert text_of(dom, "server") == "at server a"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--redis", required=True)
    parser.add_argument("--screenshot")
    options = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        print("page.py: no chromium in PATH")
        return SKIPPED
    asyncio.run(check(options, chromium))
    return 0


if __name__ == "__main__":
    sys.exit(main())
