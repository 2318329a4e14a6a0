"""A headless Chromium, driven through its debugging pipe (one JSON message after another, each ended by a NUL): pages, what
their scripts say, and pictures. It reaches nothing but this machine."""

import base64
import json
import os
import shutil
import signal
import subprocess
import threading
import time

from support import wait_until

PROGRAM = shutil.which("chromium")
FLAGS = ["--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run", "--no-default-browser-check",
         "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions", "--mute-audio",
         "--hide-scrollbars", "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1", "--remote-debugging-pipe"]


class Browser:
    """One profile: its tabs share cookies, not sessionStorage."""

    def __init__(self, folder):
        read, self._write = os.pipe()
        self._read, write = os.pipe()
        command = ["bash", "-c", f'exec "$@" 3<&{read} 4>&{write} {read}<&- {write}>&-', "bash", PROGRAM, *FLAGS,
                   f"--user-data-dir={folder}", "about:blank"]
        self.process = subprocess.Popen(command, pass_fds=(read, write), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True)
        os.close(read)
        os.close(write)
        self._answers, self._number, self.events = {}, 0, []
        self._more, self._lock = threading.Condition(), threading.Lock()
        self._reader = threading.Thread(target=self._listen, daemon=True)
        self._reader.start()

    def _listen(self):
        rest = b""
        while data := os.read(self._read, 1 << 20):
            *messages, rest = (rest + data).split(b"\0")
            with self._more:
                for message in map(json.loads, messages):
                    if "id" in message:
                        self._answers[message["id"]] = message
                    else:
                        self.events.append(message)
                self._more.notify_all()

    def call(self, method, session=None, timeout=20.0, **params):
        with self._lock:
            self._number += 1
            number = self._number
            message = {"id": number, "method": method, "params": params, **({"sessionId": session} if session else {})}
            data = json.dumps(message).encode() + b"\0"
            while data:
                data = data[os.write(self._write, data):]
        with self._more:
            assert self._more.wait_for(lambda: number in self._answers, timeout), f"no answer to {method}"
            answer = self._answers.pop(number)
        assert "error" not in answer, f"{method}: {answer['error']}"
        return answer["result"]

    def tab(self, url="about:blank", width=420, height=760):
        return Tab(self, url, width, height)

    def close(self):
        """Its helpers are of its own process group, which nobody else is in."""
        try:
            self.call("Browser.close", timeout=5)
            self.process.wait(5)
        except (AssertionError, OSError, subprocess.TimeoutExpired):
            pass
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
        self.process.wait()
        self._reader.join(5)
        os.close(self._write)
        os.close(self._read)


class Tab:
    def __init__(self, browser, url, width, height):
        self.browser = browser
        self.target = browser.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = browser.call("Target.attachToTarget", targetId=self.target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Network.enable")
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.go(url)

    def call(self, method, **params):
        return self.browser.call(method, session=self.session, **params)

    def go(self, url):
        if url != "about:blank":
            assert "errorText" not in self.call("Page.navigate", url=url), url
            self.wait("document.readyState === 'complete'")

    def reload(self):
        """Returns when the page is another one."""
        self.run("window.before = true")
        self.call("Page.reload")
        self.wait("!window.before && document.readyState === 'complete'")

    def run(self, script):
        """The value of an expression; promises are waited for."""
        answer = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, f"{script}: {answer['exceptionDetails']}"
        return answer["result"].get("value")

    def wait(self, script, timeout=10.0):
        """The first true value of an expression; a page that is just being replaced has none."""
        def value():
            try:
                return self.run(script)
            except AssertionError:
                return None
        return wait_until(value, timeout, script)

    def text(self, element):
        return self.run(f"document.getElementById({json.dumps(element)}).textContent")

    def wait_text(self, element, text, timeout=10.0):
        self.wait(f"document.getElementById({json.dumps(element)}).textContent.includes({json.dumps(text)})", timeout)

    def answers(self, part):
        """The statuses of the answers so far to requests whose address has PART in it."""
        with self.browser._more:
            return [event["params"]["response"]["status"] for event in self.browser.events
                    if event.get("sessionId") == self.session and event["method"] == "Network.responseReceived"
                    and part in event["params"]["response"]["url"]]

    def picture(self, path):
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))
        return path


# In a page: opens an EventSource named NAME, and writes down all it sees.
WATCH = """
window.watch = (name, url, options) => {
  const source = new EventSource(url, options), seen = { opened: 0, errors: 0, events: [] };
  (window.watched ||= {})[name] = { source, seen };
  source.onopen = () => { seen.opened++; };
  source.onerror = () => { seen.errors++; };
  for (const event of ['waiting-state', 'entry', 'closed', 'superseded', 'lobby', 'notice', 'unavailable', 'refused'])
    source.addEventListener(event, (e) => seen.events.push({ event, data: JSON.parse(e.data), id: e.lastEventId, at: performance.now() }));
};
window.seen = (name) => ({ ...window.watched[name].seen, state: window.watched[name].source.readyState });
true
"""
OPEN, CLOSED = 1, 2  # an EventSource's readyState


class Watcher:
    """An EventSource of a page that has nothing to do with ours."""

    def __init__(self, tab, name, url):
        self.tab, self.name = tab, name
        tab.run(WATCH)
        tab.run(f"window.watch({json.dumps(name)}, {json.dumps(url)})")

    def seen(self):
        return self.tab.run(f"window.seen({json.dumps(self.name)})")

    def named(self, event):
        return [one for one in self.seen()["events"] if one["event"] == event]

    def wait_event(self, event, timeout=10.0):
        return wait_until(lambda: self.named(event), timeout, event)[-1]

    def wait_state(self, state, timeout=10.0):
        wait_until(lambda: self.seen()["state"] == state, timeout, f"state {state}")


def minute(check, seconds=60):
    """Looks again and again for so long."""
    until = time.monotonic() + seconds
    wait_until(lambda: (check(), time.monotonic() >= until)[1], seconds + 10, "the end of the minute")
