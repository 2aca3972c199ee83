# Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
"""A browser without a window, which is asked over a pipe (the Chrome DevTools Protocol)."""

import base64
import contextlib
import json
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or ""
LIMIT = 60.0


class Browser:
    """It shows one page. It goes with its own processes, and its folder."""

    def __init__(self, language: str = "en-US") -> None:
        self.folder = tempfile.mkdtemp(prefix="colock-browser-")
        to_browser, self.writes = os.pipe()
        self.reads, from_browser = os.pipe()
        self.read = b""
        self.number = 0
        self.session = ""
        flags = (
            *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--hide-scrollbars"),
            *("--no-first-run", "--disable-dev-shm-usage", "--disable-background-networking"),
            *("--disable-component-update", "--disable-sync", f"--user-data-dir={self.folder}"),
            *("--remote-debugging-pipe", f"--lang={language}", f"--accept-lang={language}", "about:blank"),
        )

        def take_pipes() -> None:  # the browser expects them at 3 and 4
            a, b = os.dup(to_browser), os.dup(from_browser)
            os.dup2(a, 3)
            os.dup2(b, 4)

        self.process = subprocess.Popen(
            [CHROMIUM, *flags],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=take_pipes,
            close_fds=False,
        )
        os.close(to_browser)
        os.close(from_browser)
        targets = self.ask("Target.getTargets")["targetInfos"]
        page = next(each for each in targets if each["type"] == "page")
        asked = self.ask("Target.attachToTarget", targetId=page["targetId"], flatten=True)
        self.session = asked["sessionId"]

    def ask(self, method: str, **parameters: object) -> dict:  # type: ignore[type-arg]
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.writes, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + LIMIT
        while True:
            while b"\0" not in self.read:
                ready, _, _ = select.select([self.reads], [], [], max(0.0, until - time.monotonic()))
                new = os.read(self.reads, 1 << 20) if ready else b""
                if not new:
                    raise AssertionError(f"the browser doesn't answer {method}")
                self.read += new
            text, self.read = self.read.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("id") == self.number:
                assert "error" not in answer, (method, answer)
                return answer["result"]

    def open(self, url: str) -> None:
        self.ask("Page.navigate", url=url)

    def value(self, expression: str) -> object:
        answer = self.ask("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, (expression, answer)
        return answer["result"].get("value")

    def look(self, width: int, height: int, dark: bool) -> None:
        """As a screen of this size has it."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])
        self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def picture(self, file: str) -> None:
        with open(file, "wb") as to:
            to.write(base64.b64decode(self.ask("Page.captureScreenshot", format="png")["data"]))

    def close(self) -> None:
        with contextlib.suppress(OSError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        os.close(self.writes)
        os.close(self.reads)
        shutil.rmtree(self.folder, ignore_errors=True)


def skip_without_browser() -> None:
    """tools/setup installs one, so where all tests have to run there is one."""
    if CHROMIUM:
        return
    if os.environ.get("CI") == "true":
        sys.exit("there is no chromium, and CI=true")
    print("no chromium")
    sys.exit(77)
