#!/usr/bin/python3
"""Many users, several requests each, at several servers at once: who got what?

    load.py SECKILL --redis URL [--kill] [--without-lock] [--users N] [--requests N] [--stock N]

Exits 1 unless there are exactly as many orders as stock, and none twice for one user.
"""

import argparse
import asyncio
import collections
import random
import sys
import time

from servers import Server, servers

ANSWERED = {201, 409, 410}  # ordered, has ordered already, sold out
AT_ONCE = 60
PATIENCE = 2_000  # requests that had to be repeated


class Load:
    def __init__(self, options: argparse.Namespace, at: list[Server]) -> None:
        self.at = at
        # Those of one user come close together: at several servers at once.
        when = {(u, r): u + random.uniform(0, 10) for u in range(options.users) for r in range(options.requests)}
        self.requests = [f"user{u}" for u, _ in sorted(when, key=when.__getitem__)]
        self.kill_at = len(self.requests) * 2 // 3 if options.kill else -1
        self.answers: collections.Counter[int] = collections.Counter()
        self.told: list[str] = []  # those who were told that they have ordered
        self.repeated = 0

    async def run(self) -> None:
        await asyncio.gather(*(self.work() for _ in range(AT_ONCE)))

    async def work(self) -> None:
        while self.requests:
            if len(self.requests) <= self.kill_at:
                self.kill_at = -1
                self.at.pop().process.kill()
            user = self.requests.pop()
            while (answer := await self.order(user)) not in ANSWERED:
                self.repeated += 1  # the server went, or had no time
                if self.repeated > PATIENCE:
                    raise SystemExit("the servers don't answer")
            self.answers[answer] += 1
            if answer == 201:
                self.told.append(user)

    async def order(self, user: str) -> int:
        try:
            return (await random.choice(self.at).ask("POST", f"/orders/{user}"))[0]
        except OSError:
            return 0


async def check(options: argparse.Namespace) -> bool:
    more = ["--redis", options.redis, "--stock", str(options.stock), "--lease", "1000"]
    more += ["--without-lock"] if options.without_lock else []
    async with servers(options.program, 3, *more) as started:
        alive = list(started)
        load = Load(options, alive)
        begin = time.monotonic()
        await load.run()
        took = time.monotonic() - begin

        orders = (await alive[0].ask("GET", "/orders"))[1].split("\n")[:-1]
        users = collections.Counter(each.split(" ")[0] for each in orders)
        state = await alive[0].state()
        counts = {
            name: int(sum([await each.metric("colock_" + name) for each in alive]))
            for name in ("acquire_wait_seconds_count", "waits_total", "lost_total", "waiters", "holds")
        }
        ended = [await each.end() for each in alive]

    twice = sum(1 for n in users.values() if n > 1)
    print(f"{sum(load.answers.values())} requests in {took:.1f} s: {dict(load.answers)}, {load.repeated} repeated")
    print(f"orders {len(orders)} of stock {options.stock}, left {state['stock']}; users who ordered twice: {twice}")
    print(f"by server: {dict(collections.Counter(each.split(' ')[1] for each in orders))}; locks: {counts}")
    findings = {
        "orders and stock disagree": len(orders) != options.stock or state["stock"] != 0,
        "a user has ordered twice": twice != 0,
        "somebody was told of an order that isn't there": not set(load.told) <= set(users),
        "an order was told twice": len(set(load.told)) != len(load.told),
        "something is held, or waits": counts["waiters"] + counts["holds"] != 0,
        "a server did not end in order": any(ended),
    }
    for what, is_so in findings.items():
        if is_so:
            print("FOUND:", what)
    return not any(findings.values())


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("program")
    parser.add_argument("--redis", required=True)
    parser.add_argument("--users", type=int, default=200)
    parser.add_argument("--requests", type=int, default=4)
    parser.add_argument("--stock", type=int, default=100)
    parser.add_argument("--kill", action="store_true", help="one of the servers, in the middle")
    parser.add_argument("--without-lock", action="store_true")
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 32))
    options = parser.parse_args()
    print("seed", options.seed)
    random.seed(options.seed)
    return 0 if asyncio.run(check(options)) else 1


if __name__ == "__main__":
    sys.exit(main())
