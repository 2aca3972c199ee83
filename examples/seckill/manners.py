#!/usr/bin/python3
"""How a server behaves: who hangs up waits no more, who waits too long is told, SIGTERM is orderly.

    manners.py SECKILL --redis URL
"""

import argparse
import asyncio
import contextlib
import pathlib
import re
import shutil
import signal
import sys

from servers import LIMIT, Server, servers, until


async def waits_for(server: Server, users: list[str]) -> None:
    async def is_so() -> bool:
        return (await server.state())["waiting"] == users

    await until(f"{users} wait", is_so)


async def who_hangs_up_waits_no_more(a: Server, b: Server) -> None:
    order = asyncio.create_task(a.ask("POST", "/orders/eve"))
    await until_held(a)
    _, writer = await b.open("POST", "/orders/eve")
    await waits_for(b, ["eve"])
    writer.close()
    await waits_for(b, [])
    assert not order.done(), "it waited for the first order, not for the client"
    assert (await order)[0] == 201
    assert (await b.ask("POST", "/orders/eve"))[0] == 409


async def who_waits_too_long_is_told(slow: Server, b: Server) -> None:
    """A payment that takes longer than a request may: nothing is sold, and nothing stays locked."""
    status, text = await slow.ask("POST", "/orders/slow")
    assert status == 503 and "not in time" in text, (status, text)
    assert (await b.ask("POST", "/orders/slow"))[0] == 201


async def who_sleeps_past_his_lease_sells_nothing(sleeper: Server, b: Server) -> None:
    order = asyncio.create_task(sleeper.ask("POST", "/orders/doze"))
    await until_held(sleeper)
    sleeper.process.send_signal(signal.SIGSTOP)
    while (status := (await b.ask("POST", "/orders/doze"))[0]) == 503:
        pass  # the lease has to run out
    assert status == 201, status
    sleeper.process.send_signal(signal.SIGCONT)
    assert (await order)[0] == 503
    orders = (await b.ask("GET", "/orders"))[1].split("\n")
    assert orders.count("doze b") == 1 and "doze d" not in orders, orders


def script(name: str) -> str:
    """What the server sends: one of the parts in store.cpp, behind the fence."""
    source = pathlib.Path(__file__).with_name("store.cpp").read_text()
    parts = [re.search(rf'{part} = R"\((.*?)\)"', source, re.DOTALL) for part in ("fence_part", name)]
    assert all(parts), name
    return "".join(part[1] for part in parts if part)


async def the_scripts_refuse_old_tokens(redis: str) -> None:
    """What a sleeper would send if he didn't notice: the server's own steps, with tokens of ours."""
    keys = [f"test:{name}" for name in ("tokens", "buyers", "stock", "orders")]
    cli = [shutil.which("redis-cli") or "redis-cli"]
    cli += ["-s", redis.removeprefix("unix://")] if redis.startswith("unix:") else ["-u", redis]

    async def run(*words: str) -> str:
        process = await asyncio.create_subprocess_exec(*cli, *words, stdout=asyncio.subprocess.PIPE)
        return (await process.communicate())[0].decode().strip()

    async def look(token: int) -> str:
        return await run("EVAL", script("look_part"), "2", *keys[:2], "sleeper", str(token))

    async def order(token: int) -> str:
        return await run("EVAL", script("order_part"), "4", *keys, "sleeper", str(token), "x")

    now = 1_700_000_000_000_000  # as large as tokens are
    await run("SET", keys[2], "3")
    # The sleeper's order comes while the next one pays, and must not get in before him.
    assert await look(now) == "free"
    assert await look(now + 1) == "free"
    assert await order(now) == "stale"
    assert await order(now + 1) == "ordered"
    # And after him.
    assert await order(now) == "stale"
    assert await look(now) == "stale"
    assert await look(now + 2) == "already ordered"
    assert [await run("GET", keys[2]), await run("LLEN", keys[3])] == ["2", "1"]
    await run("DEL", *keys)


async def until_held(server: Server) -> None:
    async def is_so() -> bool:
        return await server.metric("colock_holds") == 1

    await until("the lock is held", is_so)


async def answers_that_are_wrong(a: Server) -> None:
    assert (await a.ask("POST", "/orders/"))[0] == 400
    assert (await a.ask("POST", "/orders/a%22b"))[0] == 400
    assert (await a.ask("GET", "/nothing"))[0] == 404
    assert (await a.ask("PUT", "/state"))[0] == 405


async def sigterm_is_orderly(a: Server) -> None:
    idle_reader, idle = await asyncio.open_connection("127.0.0.1", a.port)
    order = asyncio.create_task(a.ask("POST", "/orders/last"))
    await until_held(a)
    a.process.terminate()
    assert (await order)[0] == 201, "the answer that was under way"
    assert await idle_reader.read() == b"", "who has asked for nothing is let go"
    idle.close()
    assert await asyncio.wait_for(a.process.wait(), LIMIT) == 0


async def check(program: str, redis: str) -> None:
    at = ("--redis", redis, "--lease")
    async with contextlib.AsyncExitStack() as stack:
        a, b = await stack.enter_async_context(servers(program, 2, *at, "10000", "--paying", "500"))
        (slow,) = await stack.enter_async_context(servers(program, 1, *at, "10000", "--paying", "9000"))
        (sleeper,) = await stack.enter_async_context(
            servers(program, 1, *at, "1500", "--paying", "500", "--name", "d")
        )
        await asyncio.gather(
            who_waits_too_long_is_told(slow, b),
            who_sleeps_past_his_lease_sells_nothing(sleeper, b),
            the_scripts_refuse_old_tokens(redis),
        )
        await answers_that_are_wrong(a)
        await who_hangs_up_waits_no_more(a, b)
        await sigterm_is_orderly(a)
        # What it held is released, though its lease is long.
        status, _ = await asyncio.wait_for(b.ask("POST", "/orders/last"), 3)
        assert status == 409, status


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--redis", required=True)
    options = parser.parse_args()
    asyncio.run(check(options.program, options.redis))
    print("well-mannered")
    return 0


if __name__ == "__main__":
    sys.exit(main())
