"""A real browser on the console, driven from inside the page: a proxy in front of the admin listener adds one script, which
puts the token where the page keeps it, does what a test wants done, and tells what it saw. Nothing of it is in the product."""

import contextlib
import http.client
import http.server
import json
import shutil
import subprocess
import threading

CHROMIUM = shutil.which("chromium")

# until(what, condition): the first true value, looked for often; said(name, value): to the test.
HELPERS = """'use strict';
const at = (id) => document.getElementById(id);
const text = (id) => at(id).textContent;
const until = (what, condition) => new Promise((found) => {
  const look = () => { let value; try { value = condition(); } catch { value = null; } if (value) { clearInterval(timer); found(value); } };
  const timer = setInterval(look, 20);
});
const said = (name, value) => fetch('/test/said', {method: 'POST', body: JSON.stringify([name, value])});
const type = (id, value) => { at(id).value = value; at(id).dispatchEvent(new Event('input', {bubbles: true})); };
addEventListener('securitypolicyviolation', (event) => said('violation', event.violatedDirective));
addEventListener('error', (event) => said('error', event.message));
addEventListener('unhandledrejection', (event) => said('error', String(event.reason)));
"""


class Browser:
    """Opens the console of ADMIN_URL with the STEPS (JavaScript, may await) run in it; the page is done when they are."""

    def __init__(self, admin_url, steps, folder, token=None, window="1500,1100", arguments=()):
        self.host = admin_url.removeprefix("http://")
        self.folder, self.window, self.arguments = folder, window, arguments
        keep = f"sessionStorage.setItem('anteroom.token', {json.dumps(token)});\n" if token else ""
        self.before = HELPERS + keep
        self.steps = f"(async () => {{ {steps} }})().catch((e) => said('error', String(e))).finally(() => said('done', 1));"
        self.told, self.targets = {}, []
        self._done = threading.Event()
        browser = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.0"

            def do_GET(self):
                browser.answer(self)

            do_POST = do_PATCH = do_PUT = do_DELETE = do_GET

            def log_message(self, *args):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def answer(self, request):
        body = request.rfile.read(int(request.headers.get("Content-Length", 0)))
        if request.path == "/test/said":
            name, value = json.loads(body)
            self.told.setdefault(name, []).append(value)
            if name == "done":
                self._done.set()
            self.send(request, b"")
        elif request.path == "/test/before.js":
            self.send(request, self.before.encode())
        elif request.path == "/test/steps.js":
            self.send(request, self.steps.encode())
        elif request.path == "/test/hold.js":  # the page is not loaded before the steps are done
            self._done.wait(120)
            self.send(request, b"")
        else:
            self.targets.append(request.path)
            with contextlib.suppress(OSError):
                self.forward(request, body)

    @staticmethod
    def send(request, body):
        request.send_response(200)
        request.send_header("Content-Type", "text/javascript")
        request.end_headers()
        request.wfile.write(body)

    def forward(self, request, body):
        upstream = http.client.HTTPConnection(self.host, timeout=60)
        skipped = ("host", "connection", "accept-encoding")
        upstream.request(request.command, request.path, body or None,
                         {name: value for name, value in request.headers.items() if name.lower() not in skipped})
        answer = upstream.getresponse()
        request.send_response(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in ("connection", "transfer-encoding", "content-length"):
                request.send_header(name, value)
        request.end_headers()
        if request.path == "/":
            page = answer.read().replace(b'<script src="/console.js" defer></script>',
                                         b'<script src="/test/before.js"></script><script src="/console.js" defer></script>'
                                         b'<script src="/test/steps.js" defer></script><script src="/test/hold.js" defer></script>')
            request.wfile.write(page)
            return
        while data := answer.read1(65536):
            request.wfile.write(data)
            request.wfile.flush()

    def run(self, *output, timeout=90):
        """Until the page is done. Gives what it told; OUTPUT is --dump-dom or --screenshot=PATH."""
        command = [CHROMIUM, "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--hide-scrollbars",
                   "--disable-background-networking", "--no-first-run", f"--user-data-dir={self.folder}/chromium",
                   f"--window-size={self.window}", *self.arguments, *(output or ["--dump-dom"]), self.url]
        result = subprocess.run(command, capture_output=True, timeout=timeout)
        assert self._done.is_set(), f"the page never got there: {self.told}\n{result.stderr.decode()[-2000:]}"
        self.dom = result.stdout.decode()
        return self.told

    def close(self):
        self.server.shutdown()
        self.server.server_close()
