"""Drives a headless Chromium over two pipes, as its developer tools do: what a page shows, and what it asks for."""

import base64
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_SWITCHES = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",  # it cannot start its own as root, and it opens nothing but our own file
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--no-first-run",
    "--hide-scrollbars",
)
# The launcher puts its two pipes where Chromium looks for them: at 3 and 4.
_LAUNCHER = """
import fcntl, os, sys
ends = [fcntl.fcntl(int(word), fcntl.F_DUPFD, 10) for word in sys.argv[1:3]]
os.dup2(ends[0], 3)
os.dup2(ends[1], 4)
os.execv(sys.argv[3], sys.argv[3:])
"""
_WAIT = """new Promise((done, fail) => {
  const end = performance.now() + 10000;
  const look = () => {
    const found = (%s);
    if (found) done(found);
    else if (performance.now() > end) fail(new Error("in vain"));
    else setTimeout(look, 10);
  };
  look();
})"""


def find_chromium() -> str | None:
    """Return the path of a Chromium; None: there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


@contextmanager
def open_chromium(home: Path) -> Iterator["Chromium"]:
    """Start a Chromium with a profile of its own below `home`, and end it with all its processes."""
    path = find_chromium()
    assert path, "no Chromium"
    down, up = os.pipe(), os.pipe()
    ends = (down[0], up[1])
    process = subprocess.Popen(
        [sys.executable, "-c", _LAUNCHER, *map(str, ends), path, *_SWITCHES, f"--user-data-dir={home / 'profile'}"],
        pass_fds=ends,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={**os.environ, "HOME": str(home)},
    )
    for end in ends:
        os.close(end)
    with os.fdopen(down[1], "wb", buffering=0) as sender, os.fdopen(up[0], "rb") as receiver:
        chromium = Chromium(sender, receiver)
        try:
            yield chromium
            chromium.call("Browser.close")
            process.wait(10)
        finally:
            process.kill()
            process.wait()


@dataclass
class Chromium:
    """A running browser: commands out, answers and events in."""

    sender: Any
    receiver: Any
    events: list[dict[str, Any]] = field(default_factory=list)
    _number: int = 0
    _rest: bytes = b""

    def call(self, method: str, session: str | None = None, **params: Any) -> dict[str, Any]:
        """Send a command, and return its result; events that come meanwhile are kept."""
        self._number += 1
        message = {
            "id": self._number,
            "method": method,
            "params": params,
            **({"sessionId": session} if session else {}),
        }
        self.sender.write(json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read()
            if answer.get("id") == self._number:
                assert "error" not in answer, f"{method}: {answer['error']}"
                return answer["result"]
            self.events.append(answer)

    def read(self) -> dict[str, Any]:
        """Return the next message of the browser."""
        while b"\0" not in self._rest:
            block = self.receiver.read1(1 << 20)
            assert block, "Chromium is gone"
            self._rest += block
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def wait_for(self, method: str, session: str) -> None:
        """Wait for the next event of this kind."""
        while True:
            event = self.read()
            self.events.append(event)
            if event.get("method") == method and event.get("sessionId") == session:
                return

    def open(self, url: str, *, width: int = 1280, height: int = 900, dark: bool = False) -> "Page":
        """Open a page in a window of its own, and wait until it is loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session, target)
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            self.call(f"{domain}.enable", session)
        page.resize(width, height)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", session, features=[scheme])
        page.go(url)
        return page


@dataclass(frozen=True)
class Page:
    """An open page."""

    chromium: Chromium
    session: str
    target: str

    def go(self, url: str) -> None:
        """Load a page from its beginning."""
        self.chromium.call("Page.navigate", self.session, url=url)
        self.chromium.wait_for("Page.loadEventFired", self.session)

    def resize(self, width: int, height: int) -> None:
        """Give the window this size, in CSS pixels."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < 600}
        self.chromium.call("Emulation.setDeviceMetricsOverride", self.session, **size)

    def run(self, code: str) -> Any:
        """Return what an expression gives; a promise is waited for."""
        asked = {"expression": code, "awaitPromise": True, "returnByValue": True, "userGesture": True}
        answer = self.chromium.call("Runtime.evaluate", self.session, **asked)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, code: str) -> Any:
        """Wait until an expression gives something, within ten seconds, and return it."""
        return self.run(_WAIT % code)

    def text(self, selector: str = "body") -> str:
        """Return what is to be read in the first element that a selector finds."""
        return self.run(f"document.querySelector({json.dumps(selector)}).innerText")

    def press(self, key: str) -> None:
        """Press and release a key."""
        for kind in ("keyDown", "keyUp"):
            text = key if len(key) == 1 else {"Enter": "\r"}.get(key, "")
            codes = {"Enter": 13, "Tab": 9, "Escape": 27}
            event = {"type": kind, "key": key, "text": text, "windowsVirtualKeyCode": codes.get(key, ord(key[0]))}
            self.chromium.call("Input.dispatchKeyEvent", self.session, **event)

    def write(self, text: str) -> None:
        """Type a text into what has the focus."""
        self.chromium.call("Input.insertText", self.session, text=text)

    def picture(self, *, full: bool = False) -> bytes:
        """Return a PNG of the window, or of the whole page."""
        shot = self.chromium.call("Page.captureScreenshot", self.session, format="png", captureBeyondViewport=full)
        return base64.b64decode(shot["data"])

    def complaints(self) -> list[str]:
        """Return what the browser found wrong so far: errors, warnings, what its policy blocked."""
        self.run("1")  # what happened before it is told before it
        kinds = ("Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded", "Audits.issueAdded")
        return [json.dumps(event["params"]) for event in self._events() if event["method"] in kinds]

    def requests(self) -> list[str]:
        """Return all that was asked for, the page itself and data within it left out."""
        urls = [e["params"]["request"]["url"] for e in self._events() if e["method"] == "Network.requestWillBeSent"]
        return [url for url in urls if not url.startswith(("data:", "blob:"))][1:]

    def close(self) -> None:
        """Close the window."""
        self.chromium.call("Target.closeTarget", targetId=self.target)

    def _events(self) -> Iterator[dict[str, Any]]:
        return (event for event in self.chromium.events if event.get("sessionId") == self.session)
