# Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
"""The page of colock watch --web, in a browser. With COLOCK_PICTURES=FOLDER it leaves pictures."""

import os
import subprocess

import support
from browser import Browser, skip_without_browser
from support import Case, wait_for

OTHER = "11111111-2222-3333-4444-555555555555:7"
HOSTILE = 'order:<img src=x onerror="document.title=1">\u202egnp'


class Page(Case):
    def open(self, language: str = "en-US") -> Browser:
        self.web = self.start("watch", "--web", "0")
        url = self.web.stdout.readline().strip()  # type: ignore[union-attr]
        browser = Browser(language)
        self.addCleanup(browser.close)
        browser.open(url)
        self.browser = browser
        self.wait_for_text("link", "实时" if language == "zh-CN" else "live")
        return browser

    def text(self, name: str) -> str:
        return str(self.browser.value(f"document.getElementById('{name}')?.innerText || ''"))

    def wait_for_text(self, name: str, text: str) -> None:
        wait_for(lambda: text in self.text(name), f"{text!r} in {name}", 30)

    def picture(self, name: str, *size: int) -> None:
        folder = os.environ.get("COLOCK_PICTURES")
        for scheme in ("light", "dark") if folder else ():
            self.browser.look(*size, dark=scheme == "dark")
            self.browser.value("at('place').textContent = 'redis.example:6379'; true")
            self.browser.picture(f"{folder}/{name}-{scheme}.png")

    def test_a_lock_comes_and_goes(self) -> None:
        self.open()
        self.wait_for_text("none", "No lock is held")
        holder = self.hold("order:1")
        owner = self.server.ask("HKEYS", "order:1")[0]  # type: ignore[index]
        self.wait_for_text("locks", "order:1")
        self.wait_for_text("locks", owner)
        self.wait_for_text("sum", "locks: 1")
        self.wait_for_text("events", "acquired")
        self.assertRegex(self.text("locks"), r"\b\d{1,2}:\d\d:\d\d\b")
        waits = self.start("run", "order:1", "--", "true")
        self.wait_for_text("sum", "waiting clients: 1")
        holder.stdin.close()  # type: ignore[union-attr]
        self.assertEqual(waits.end().status, 0)
        self.wait_for_text("events", "released")
        self.wait_for_text("none", "No lock is held")

    def test_a_hostile_name_is_text(self) -> None:
        self.server.ask("HSET", HOSTILE, OTHER, "1")
        browser = self.open()
        self.wait_for_text("locks", "<img src=x onerror=")
        self.assertIn("\\u202e", self.text("locks"))
        self.assertEqual(browser.value("document.images.length"), 0)
        self.assertEqual(browser.value("document.title"), "Locks")
        self.server.ask("DEL", HOSTILE)
        self.wait_for_text("events", "<img src=x onerror=")
        self.assertEqual(browser.value("document.images.length"), 0)
        # Even a script that got in would not run.
        browser.value("document.body.append(Object.assign(document.createElement('script'), "
                      "{textContent: 'document.title = 2'}))")
        self.assertEqual(browser.value("document.title"), "Locks")

    def test_groups_and_filter(self) -> None:
        for key in ("order:1", "order:2", "user:1"):
            self.server.ask("HSET", key, OTHER, "1")
        browser = self.open()
        self.wait_for_text("sum", "locks: 3")
        rows = "[...document.querySelectorAll('tbody tr')].filter(r => !r.hidden).length"
        self.assertEqual(browser.value(rows), 5)
        browser.value("document.querySelector('tbody button').click()")
        self.assertEqual(browser.value(rows), 3)
        expanded = "document.querySelector('tbody button').getAttribute('aria-expanded')"
        self.assertEqual(browser.value(expanded), "false")
        browser.value("filter = document.getElementById('filter'); filter.value = 'USER'; filter.oninput()")
        self.assertIn("locks: 1", self.text("sum"))
        self.assertNotIn("order:", self.text("locks"))
        browser.value("document.getElementById('pause').click()")
        self.assertEqual(self.text("link"), "paused")

    def test_redis_goes_and_comes(self) -> None:
        self.open()
        self.wait_for_text("none", "No lock is held")
        self.server.kill()
        self.wait_for_text("link", "Redis is away")
        self.wait_for_text("trouble", "no connection")
        self.server.start()
        self.server.ask("HSET", "k", OTHER, "1")
        self.wait_for_text("locks", OTHER)
        self.assertEqual(self.text("trouble"), "")

    def test_the_page_is_left_alone(self) -> None:
        self.open()
        self.web.terminate()
        self.assertEqual(self.web.wait(support.LIMIT), 0)
        self.wait_for_text("link", "away")

    def test_chinese(self) -> None:
        self.server.ask("HSET", "k", OTHER, "1")
        self.open("zh-CN")
        self.wait_for_text("locks", "持有者")
        self.assertEqual(self.browser.value("document.documentElement.lang"), "zh-CN")

    def test_how_it_looks(self) -> None:
        holders = [self.hold(key, *more) for key, *more in (
            ("deploy:web",), ("order:4711",), ("catalogue", "--kind", "read"), ("report:nightly", "--kind", "fair"))]
        self.start("run", "order:4711", "--", "true")
        self.start("run", "--kind", "fair", "report:nightly", "--", "true")
        self.server.ask("HSET", "order:forgotten", OTHER, "1")
        self.open()
        self.wait_for_text("sum", "locks: 5")
        self.wait_for_text("sum", "waiting clients: 2")
        self.hold("order:4712")
        holders[0].stdin.close()  # type: ignore[union-attr]
        self.wait_for_text("events", "released")
        self.wait_for_text("events", "acquired")
        for width in (1000, 390):
            self.browser.look(width, 620, dark=False)
            overflow = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
            self.assertEqual(self.browser.value(overflow), 0, f"it is wider than {width}")
        self.picture("watch-web", 1000, 620)
        self.picture("watch-web-phone", 390, 844)


if __name__ == "__main__":
    skip_without_browser()
    support.main()
