"""Real processes for system tests: a Redis of the test's own, the daemons, the scripts, and a stand-in for a gateway.

Nothing here sleeps for a fixed time: every wait is for a condition and has a deadline.
"""

import json
import os
import pathlib
import re
import secrets
import signal
import subprocess
import threading
import time

import redis
import requests

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("ANTEROOM_BUILD", ROOT / "build" / "asan"))
ENTRY_KEY = "entry-key-for-tests-0123456789-abcdefghij"
TICKET_KEY = "ticket-key-for-tests-0123456789-abcdefghij"
ADMIN_TOKEN = "admin-token-for-tests"
READ_TOKEN = "reading-token-for-tests"
NEVER = threading.Event()  # nobody sets it: a pause that polls, not a guess at how long something takes


def wait_until(condition, timeout=10.0, what="the condition"):
    """The first true value of condition(); fails the test when there is none in time."""
    deadline = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        assert time.monotonic() < deadline, f"waited {timeout} s in vain for {what}"
        NEVER.wait(0.01)


class RedisServer:
    """A redis-server on a unix socket in FOLDER, proven to be our own child before anybody writes to it."""

    def __init__(self, folder, *arguments):
        self.folder = pathlib.Path(folder)
        self.socket = self.folder / "redis.sock"
        assert len(str(self.socket)) < 100, "a socket's path is short"
        self.url = f"unix://{self.socket}"
        self.arguments = arguments
        self.process = None
        self.client = redis.Redis(unix_socket_path=str(self.socket), decode_responses=True)
        self.start()

    def start(self):
        """Also after kill(): then with what was persisted, if anything."""
        command = ["redis-server", "--port", "0", "--unixsocket", str(self.socket), "--dir", str(self.folder),
                   "--save", "", "--appendonly", "no", *self.arguments]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_until(self._is_ours, what="redis-server")

    def _is_ours(self):
        assert self.process.poll() is None, "redis-server ended"
        try:
            return self.client.info("server")["process_id"] == self.process.pid and self.client.ping()  # not while it loads
        except (redis.ConnectionError, redis.exceptions.BusyLoadingError):
            return False

    def pause(self):
        self.process.send_signal(signal.SIGSTOP)

    def resume(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()
        self.client.connection_pool.disconnect()

    def close(self):
        self.kill()
        self.client.close()


def parse_line(line):
    """A log line of either form as a dict."""
    try:
        return json.loads(line)
    except ValueError:
        pairs = re.findall(r'(\w+)=("(?:[^"\\]|\\.)*"|\S*)', line)
        event = {name: json.loads(value) if value.startswith('"') else value for name, value in pairs}
        return {"event": None, **event, "raw": line.rstrip("\n")}


class Daemon:
    """One of our programs. ARGUMENTS are flags without "--": {"tick_ms": 50} becomes --tick-ms=50. DESCRIPTORS: its RLIMIT_NOFILE."""

    def __init__(self, name, arguments, environment=None, descriptors=None):
        flags = [f"--{key.replace('_', '-')}={value}" for key, value in {"log_format": "json", **arguments}.items()]
        self.name = name
        self.log = []  # a dict a line; what is no event has only "raw"
        self._more = threading.Condition()
        limits = ["prlimit", f"--nofile={descriptors}"] if descriptors else []
        self.process = subprocess.Popen([*limits, str(BUILD / name), *flags], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL,
                                        env={**os.environ, **(environment or {})}, text=True)
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stderr:
            event = parse_line(line)
            with self._more:
                self.log.append(event)
                self._more.notify_all()
        with self._more:
            self._more.notify_all()

    def logged(self, event, **fields):
        """The log lines of EVENT so far whose fields are as given."""
        with self._more:
            return [line for line in self.log
                    if line["event"] == event and all(line.get(key) == value for key, value in fields.items())]

    def wait_log(self, event, timeout=10.0, **fields):
        """The first such line, waiting for it."""
        deadline = time.monotonic() + timeout
        while True:
            with self._more:
                count = len(self.log)
            found = self.logged(event, **fields)
            if found:
                return found[0]
            left = deadline - time.monotonic()
            assert left > 0 and self._reader.is_alive(), f"{self.name} never logged {event} {fields}:\n{self.text()}"
            with self._more:
                if len(self.log) == count:
                    self._more.wait(min(left, 0.1))

    def text(self):
        with self._more:
            return "\n".join(line.get("raw") or json.dumps(line) for line in self.log)

    def address(self, name):
        """IP:PORT of a listener."""
        return self.wait_log("listening", name=name)["address"]

    def url(self, name):
        return f"http://{self.address(name)}"

    def signal(self, number):
        self.process.send_signal(number)

    def exit_code(self, timeout=20.0):
        code = self.process.wait(timeout)
        self._reader.join(timeout)
        return code

    def stop(self):
        """A daemon ends with 0 on SIGTERM, whatever it was doing: leaks and handles left open show here."""
        self.signal(signal.SIGTERM)
        code = self.exit_code()
        assert code == 0, f"{self.name} ended with {code}:\n{self.text()}"

    def kill(self):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGCONT)
            self.process.kill()
        self.process.wait()
        self._reader.join()


class Folder:
    """A test's folder with the key files the daemons need."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.entry_key = self.write("entry.key", ENTRY_KEY)
        self.ticket_key = self.write("ticket.key", TICKET_KEY)
        self.tokens = self.write("tokens", f"# for tests\nalice {ADMIN_TOKEN}\nbob {READ_TOKEN} read\n")

    def write(self, name, text):
        path = self.path / name
        path.write_text(text)
        return path

    def publisher(self, redis_url, **options):
        arguments = {"redis_url": redis_url, "entry_key_file": self.entry_key, "admin_token_file": self.tokens,
                     "admin_listen": "127.0.0.1:0", "metrics_listen": "127.0.0.1:0", **options}
        return Daemon("anteroom-publisher", arguments)


class Admin:
    """The admin API with a token."""

    def __init__(self, url, token=ADMIN_TOKEN):
        self.url = url
        self.http = requests.Session()
        if token:
            self.http.headers["Authorization"] = f"Bearer {token}"

    def __call__(self, method, path, body=None, headers=None, **options):
        return self.http.request(method, self.url + path, json=body, headers=headers, timeout=10, **options)

    def create(self, session, **config):
        answer = self("PUT", f"/admin/sessions/{session}", config)
        assert answer.status_code == 201, answer.text
        return answer.json()

    def live(self, session):
        answer = self("GET", f"/admin/sessions/{session}")
        assert answer.status_code == 200, answer.text
        return answer.json()["live"]

    def close(self):
        self.http.close()


class Scripts:
    """The scripts of the line, called as the daemons call them: the same bytes, the same keys."""

    def __init__(self, client, prefix=""):
        self.client = client
        self.prefix = prefix
        self.rendered = {}

    def key(self, session, part):
        return f"{self.prefix}session:{{{session}}}:{part}"

    def run(self, name, session, *arguments):
        if name not in self.rendered:
            folder = ROOT / "common" / "line"
            text = (folder / f"{name}.lua").read_text()
            keys = next(line for line in text.splitlines() if line.startswith("-- keys: "))[9:].split()
            command = ["sh", str(folder / "embed.sh"), "--lua", name]
            body = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            self.rendered[name] = (body, keys)
        body, parts = self.rendered[name]
        keys = [self.key(session, part.replace("*", str(arguments[0]) if arguments else "")) for part in parts]
        return self.client.eval(body, len(keys), *keys, *arguments)

    def join_lobby(self, session, server=""):
        return self.join(session, server, outcome="lobby")

    def join(self, session, server="", user="", mode="stream", place=None, outcome="waiting"):
        """Gives the place. SERVER is <id>.<boot>."""
        place = place or secrets.token_urlsafe(17)[:22]
        answer = self.run("join", session, place, user, server, f"boot:{place[:6]}", mode, 0, 0,
                          f"{self.prefix}doorbell", session)
        assert answer[0] == outcome, answer
        return place


class FakeGateway:
    """What a gateway is to a publisher: a registered name that beats, and a stream to be told things in."""

    def __init__(self, client, identity, boot="boot0001", prefix=""):
        self.client = client
        self.identity, self.name = identity, f"{identity}.{boot}"
        self.prefix = prefix
        self.stream = f"{prefix}server:{identity}:stream"
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._beats, daemon=True)
        client.xgroup_create(self.stream, "gateway", "$", mkstream=True)
        self.beat()
        self._thread.start()

    def beat(self):
        seconds, micros = self.client.time()
        self.client.zadd(f"{self.prefix}servers", {self.name: seconds * 1000 + micros // 1000})

    def _beats(self):
        while not self._stop.wait(0.5):
            try:
                self.beat()
            except redis.RedisError:
                pass

    def die(self):
        """The heart stops; nothing is tidied up."""
        self._stop.set()
        self._thread.join()

    def messages(self, kind=None, **fields):
        """The messages so far, of one type and with these fields."""
        found = [message for _, message in self.client.xrange(self.stream)]
        return [message for message in found if (kind is None or message["type"] == kind) and
                all(message.get(key) == value for key, value in fields.items())]

    def wait_message(self, kind, timeout=10.0, **fields):
        return wait_until(lambda: self.messages(kind, **fields), timeout, f"a {kind} message with {fields}")[0]


def is_ready(daemon, listener="public"):
    return requests.get(daemon.url(listener) + "/readyz", timeout=5).status_code == 200


def metric(daemon, name, **labels):
    """The sum of a metric's series that have these labels."""
    total = 0.0
    for line in requests.get(daemon.url("metrics") + "/metrics", timeout=5).text.splitlines():
        if line.split("{")[0].split(" ")[0] == name and all(f'{key}="{value}"' in line for key, value in labels.items()):
            total += float(line.rsplit(" ", 1)[1])
    return total


def dump(client, ignore=("server", "servers")):
    """Everything in Redis but the daemons' own heartbeats and leases: to see that nothing changed."""
    ticking = {"clock", "seen", "owner_until", "refilled", "tokens", "run", "owner", "announced", "rev", "dirty"}
    everything = {}
    for key in sorted(client.keys("*")):
        if key.split(":")[0] in ignore:
            continue
        if key.endswith(":state"):
            everything[key] = {name: value for name, value in client.hgetall(key).items() if name not in ticking}
        else:
            everything[key] = read_any(client, key)
    return everything


def read_any(client, key):
    readers = {"string": lambda: client.execute_command("GETRANGE", key, 0, -1) if not key.endswith("departed") else client.strlen(key),
               "hash": lambda: client.hgetall(key), "set": lambda: sorted(client.smembers(key)),
               "zset": lambda: client.zrange(key, 0, -1, withscores=True), "list": lambda: client.lrange(key, 0, -1),
               "stream": lambda: client.xrange(key)}
    kind = client.type(key)
    return readers[kind]() if kind in readers else None
