"""Headless Chromium, driven through its DevTools pipe: no driver, no package."""

import base64
import fcntl
import itertools
import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import attrs

PROGRAM = shutil.which("chromium") or "/usr/bin/chromium"
_OPTIONS = ("--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe", "--no-first-run")


@attrs.define
class Page:
    """One tab, and all that its console said."""

    browser: "Browser"
    session: str
    console: list[str] = attrs.Factory(list)
    requests: list[str] = attrs.Factory(list)

    def send(self, method: str, **params: Any) -> Any:
        """Send a command to the tab; return its result."""
        return self.browser.send(method, params, self)

    def show(self, file: Path, *, width: int, height: int = 900, dark: bool = False) -> None:
        """Load a file at a width, in a colour scheme, and wait until it is there."""
        self.console.clear()
        self.requests.clear()
        scheme = "dark" if dark else "light"
        self.send("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=1, mobile=width < 600,
        )  # fmt: skip
        self.send("Page.navigate", url=file.as_uri())
        while self.run("document.readyState + location.href") != f"complete{file.as_uri()}":
            pass

    def run(self, script: str) -> Any:
        """Return the value of a script; a promise is awaited."""
        result = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in result, result
        return result["result"].get("value")

    def press(self, key: str) -> None:
        """Press and release a key."""
        for kind in ("rawKeyDown", "keyUp"):
            code = {"Tab": 9, "Enter": 13}[key]
            self.send("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code)

    def screenshot(self, file: Path) -> None:
        """Write the whole page as a picture."""
        size = self.send("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        picture = self.send("Page.captureScreenshot", clip=clip, captureBeyondViewport=True)
        file.write_bytes(base64.b64decode(picture["data"]))


@attrs.define
class Browser:
    """A process of Chromium: messages are JSON, each with a NUL at its end."""

    commands: BinaryIO
    answers: int
    received: bytearray = attrs.Factory(bytearray)
    pages: dict[str, Page] = attrs.Factory(dict)
    numbers: Iterator[int] = attrs.Factory(lambda: itertools.count(1))

    def send(self, method: str, params: dict[str, Any], page: Page | None = None) -> Any:
        """Send a command; handle events until its result comes."""
        number = next(self.numbers)
        message = {"id": number, "method": method, "params": params}
        if page is not None:
            message["sessionId"] = page.session
        self.commands.write(json.dumps(message).encode() + b"\0")
        self.commands.flush()
        while True:
            answer = self._next()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def open(self) -> Page:
        """Open a tab."""
        target = self.send("Target.createTarget", {"url": "about:blank"})["targetId"]
        session = self.send("Target.attachToTarget", {"targetId": target, "flatten": True})["sessionId"]
        page = self.pages[session] = Page(self, session)
        for domain in ("Page", "Runtime", "Log", "Network"):
            page.send(f"{domain}.enable")
        return page

    def _next(self) -> Any:
        begin = 0
        while (end := self.received.find(b"\0", begin)) < 0:
            begin = len(self.received)
            received = os.read(self.answers, 1 << 16)
            assert received, "Chromium has ended"
            self.received += received
        text = bytes(self.received[:end])
        del self.received[: end + 1]
        return json.loads(text)

    def _note(self, event: Any) -> None:
        page = self.pages.get(event.get("sessionId", ""))
        if page is None:
            return
        if event["method"] in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            page.console.append(json.dumps(event["params"]))
        elif event["method"] == "Network.requestWillBeSent":
            page.requests.append(event["params"]["request"]["url"])
        elif event["method"] == "Page.javascriptDialogOpening":
            page.console.append("a dialog opened")
            page.send("Page.handleJavaScriptDialog", accept=True)


def _high(descriptor: int) -> int:
    """Move a descriptor away from 3 and 4, which are those of Chromium's pipes."""
    high = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return high


@contextmanager
def chromium(profile: Path) -> Iterator[Browser]:
    """Run Chromium with a fresh profile."""
    read_commands, commands = map(_high, os.pipe())
    answers, write_answers = map(_high, os.pipe())
    options = " ".join((*_OPTIONS, f"--user-data-dir='{profile}'"))
    process = subprocess.Popen(
        ["/bin/bash", "-c", f"exec {PROGRAM} {options} about:blank 3<&{read_commands} 4>&{write_answers}"],
        pass_fds=(read_commands, write_answers),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    os.close(read_commands)
    os.close(write_answers)
    with os.fdopen(commands, "wb") as stream:
        browser = Browser(stream, answers)
        try:
            yield browser
        finally:
            browser.send("Browser.close", {})
            process.wait(20)
            os.close(answers)
