"""Memory runs out in the real daemons, at each allocation while a request is handled: once, or for a tenth of a second.

Whoever asks gets the right answer, a polite refusal or a closed connection, and the right answer when they ask again; nobody loses
a place or is let in twice; the process lives and ends with 0. A share of the allocations by default, all with
ANTEROOM_NOMEM=whole; ANTEROOM_NOMEM_SEED picks the share."""

import base64
import contextlib
import json
import os
import random
import signal
import time

import jwt
import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec

import nomem
import support
import visitors

USER_KEY = "user-key-for-tests-0123456789-abcdefghijkl"
WHOLE = os.environ.get("ANTEROOM_NOMEM") == "whole"
SEED = int(os.environ.get("ANTEROOM_NOMEM_SEED") or random.SystemRandom().randrange(1000))
SWEEP_MAX = 20000
PATIENT_MS = 300000


def place_of(ticket):
    return jwt.decode(ticket.removesuffix(".e"), options={"verify_signature": False})


class World:
    """A Redis, a publisher and a gateway, one of them with memory that runs out."""

    def __init__(self, start, redis_server, folder, client, victim, many):
        self.folder, self.client, self.many, self.count = folder, client, many, 0
        self.people, self.tokens, self.taken = {}, {}, set()
        self.memory = nomem.Memory(folder.path, victim)
        pair = ec.generate_private_key(ec.SECP256R1())
        self.entry_key = pair.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
        public = pair.public_key().public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
        keys = {"entry_alg": "ES256", "redis_url": redis_server.url, "metrics_listen": "127.0.0.1:0"}
        short = {victim: self.memory.environment()}
        self.publisher = start(support.Daemon("anteroom-publisher", {
            **keys, "entry_key_file": folder.write("entry.pem", self.entry_key.decode()), "admin_token_file": folder.tokens,
            "admin_listen": "127.0.0.1:0", "tick_ms": 50}, short.get("publisher")))
        self.gateway = start(support.Daemon("anteroom-gateway", {
            **keys, "entry_key_file": folder.write("entry.pub", public.decode()), "ticket_key_file": folder.ticket_key,
            "listen": "127.0.0.1:0", "server_id": "gw-1", "join_limit": "1000/1", "drain_notice_s": 0, "drain_s": 0,
            "user_auth": "jwt", "user_key_file": folder.write("user.key", USER_KEY), "user_audience": "shop",
            "allow_origins": "https://shop.example"}, short.get("gateway")))
        self.victim = {"publisher": self.publisher, "gateway": self.gateway}[victim]
        self.public = {"publisher": "admin", "gateway": "public"}[victim]
        support.wait_until(lambda: support.is_ready(self.publisher, "metrics"), what="a ready publisher")
        support.wait_until(lambda: support.is_ready(self.gateway), what="a ready gateway")
        self.publisher.wait_log("redis-up", connection="doorbell")
        self.admin = support.Admin(self.publisher.url("admin"))
        self.address = self.victim.address(self.public)
        self.kid = json.loads(nomem.exchange(self.gateway.address("public"), nomem.request("GET", "/.well-known/jwks.json")).body)["keys"][0]["kid"]
        self.modules = nomem.Modules(self.victim.process.pid)

    def close(self):
        self.admin.close()
        self.memory.close()

    # ---- one request ----

    def ask(self, n, method, path, headers=None, body=b"", good=(200,), enough=nomem.is_whole, listener=None, raw=None):
        """Without memory from the N-th allocation on. Gives "right", "refused" or "cut", the answer, and how many failed."""
        begun = time.monotonic()

        def give_back():
            if self.many > 1 and time.monotonic() - begun > nomem.DRY_S:
                self.memory.release()

        address = self.victim.address(listener) if listener else self.address
        self.memory.arm(n, self.many)
        answer = nomem.exchange(address, nomem.request(method, path, headers, body, raw), give_back, enough)
        failed = self.memory_back()
        return self.judge(answer, good, failed), answer, failed

    def memory_back(self):
        """How many allocations failed. Who is told so may go on asking."""
        self.memory.settle()
        failed = self.memory.disarm()
        self.alive()
        return failed

    def judge(self, answer, good, failed):
        if answer.status in good and answer.complete and b"event: unavailable" not in answer.body:
            return "right"
        said = f"{answer.status} {answer.body[:500]!r}"
        assert failed, f"with all memory: {said}"
        if answer.status is None or (answer.status in good and not answer.complete):
            return "cut"
        if answer.status == 503 and answer.body:
            assert json.loads(answer.body)["type"] == "/problems/unavailable" and "retry-after" in answer.headers, said
        polite = answer.status == 503 or (answer.status == 200 and b"event: unavailable" in answer.body and b"retry: " in answer.body)
        assert polite, said
        return "refused"

    def plain(self, method, path, headers=None, body=b"", good=(200,), listener=None, raw=None):
        """A scene: one request, whose answer needs no further look."""
        return lambda n: self.ask(n, method, path, headers, body, good, listener=listener, raw=raw)[2]

    def sweep(self, name, scene):
        """SCENE(n) for n = 0, 1, 2 … until nothing fails any more."""
        step = 1 if WHOLE else self.step
        n = SEED % step
        while True:
            try:
                failed = scene(n)
            except AssertionError as error:
                raise AssertionError(f"{name}, allocation {n}, seed {SEED}: {error}\n{self.modules.text(self.memory.last_stack())}\n"
                                     f"{self.victim.text()[-1500:]}") from error
            if not failed:
                break
            n += step if WHOLE or n < 100 else 20 * step  # reading a key file asks for memory thousands of times
            assert n < SWEEP_MAX, f"{name}: allocation {n}, and still one fails\n{self.modules.text(self.memory.last_stack())}"
        return n

    def alive(self):
        """It lives, serves the next one, and talks to Redis."""
        assert self.victim.process.poll() is None, f"{self.victim.name} ended with {self.victim.process.poll()}"
        support.wait_until(self.is_ready, 10, "it to be ready again")

    def is_ready(self):
        answer = nomem.exchange(self.victim.address("metrics"), nomem.request("GET", "/readyz"))
        assert self.victim.process.poll() is None
        return answer.status == 200 and b'"redis":"down"' not in answer.body

    # ---- visitors ----

    def new_user(self):
        self.count += 1
        token = jwt.encode({"sub": f"u{self.count}", "aud": "shop", "exp": int(time.time()) + 3600}, USER_KEY, algorithm="HS256")
        return {"Authorization": f"Bearer {token}"}

    def get(self, method, path, headers=None, body=b"", enough=nomem.is_whole):
        """With all memory, from the gateway."""
        return nomem.exchange(self.gateway.address("public"), nomem.request(method, path, headers, body), enough=enough)

    def joined(self, user, answer):
        """ANSWER gave USER a place in "line"."""
        said = json.loads(answer.body)
        assert said["status"] == "WAITING" and said["position"] >= 1, said
        ticket = place_of(said["ticket"])
        number, place = ticket["ticket"], ticket["place"]
        assert self.taken.isdisjoint({number, place}), f"{ticket} was given before"
        self.taken |= {number, place}
        self.people[place] = (user, said["ticket"], number)
        return place

    def join(self, user=None):
        user = user or self.new_user()
        answer = self.get("POST", "/api/queue/join?sessionId=line", user)
        assert answer.status == 200, answer.body
        return self.joined(user, answer)

    def still_waits(self, place):
        """PLACE has its number, whatever happened."""
        user, ticket, number = self.people[place]
        answer = self.get("GET", f"/api/queue/status?ticket={ticket}", user)
        said = json.loads(answer.body)
        assert answer.status == 200 and said["status"] == "WAITING", said
        assert int(self.client.zscore("session:{line}:waiting", place)) == number

    def let_in(self, token):
        """The verified claims of an entry token, which is its place's only one."""
        claims = jwt.decode(token, self.public_key(), algorithms=["ES256"], options={"verify_aud": False}, issuer="anteroom")
        assert self.tokens.setdefault(claims["jti"], token) == token, f"two tokens for {claims['jti']}"
        return claims

    def public_key(self):
        return serialization.load_pem_private_key(self.entry_key, None).public_key()

    def entry_token(self, session="line"):
        """One as the publisher makes them."""
        place = base64.urlsafe_b64encode(os.urandom(16)).decode()[:22]
        now = int(time.time())
        claims = {"iss": "anteroom", "aud": session, "sub": "somebody", "jti": place, "iat": now, "exp": now + 600, "ticket": 1}
        return {"Authorization": "Bearer " + jwt.encode(claims, self.entry_key, algorithm="ES256", headers={"kid": self.kid})}

    @contextlib.contextmanager
    def stream(self, session, user, ticket=None):
        stream = visitors.Stream(self.gateway.url("public"), session, ticket=ticket, headers=user)
        try:
            yield stream
        finally:
            stream.close()

    def wait_short(self, condition):
        """Until CONDITION, or, where memory does not come back by itself, for as long as it is away."""
        deadline = time.monotonic() + (nomem.DRY_S if self.many > 1 else 10)
        while not (value := condition()) and time.monotonic() < deadline:
            if self.many == 1 and self.memory.state()[4] and not self.patient:
                break
            support.NEVER.wait(0.002)
        return value

    patient = False


# ---- the gateway ----


def gateway_scenes(world):
    def join(n):
        user = world.new_user()
        how, answer, failed = world.ask(n, "POST", "/api/queue/join?sessionId=line", user)
        if how == "right":
            world.still_waits(world.joined(user, answer))
        else:
            world.join(user)
        return failed

    def status(n):
        place = random.choice(list(world.people))
        user, ticket, _ = world.people[place]
        how, answer, failed = world.ask(n, "GET", f"/api/queue/status?ticket={ticket}", user)
        assert how != "right" or json.loads(answer.body)["status"] == "WAITING", answer.body
        world.still_waits(place)
        return failed

    def leave(n):
        place = world.join()
        user, ticket, _ = world.people.pop(place)
        how, _, failed = world.ask(n, "POST", f"/api/queue/leave?ticket={ticket}", user, good=(204,))
        if how != "right":
            assert world.get("POST", f"/api/queue/leave?ticket={ticket}", user).status in (204, 400)
        support.wait_until(lambda: not world.client.hexists("session:{line}:places", place), what="the place to be gone")
        return failed

    def stream_new(n):
        user = world.new_user()
        how, answer, failed = world.ask(n, "GET", "/api/queue/stream?sessionId=line", {**user, "Accept": "text/event-stream"},
                                        enough=nomem.has_frame)
        if how == "right":
            ticket = answer.body.split(b"\nid: ")[1].split(b"\n")[0].decode()
            place = place_of(ticket)
            world.people[place["place"]] = (user, ticket, place["ticket"])
            world.still_waits(place["place"])
        return failed

    def stream_resume(n):
        place = random.choice(list(world.people))
        user, ticket, _ = world.people[place]
        how, answer, failed = world.ask(n, "GET", "/api/queue/stream?sessionId=line",
                                        {**user, "Accept": "text/event-stream", "Last-Event-ID": ticket}, enough=nomem.has_frame)
        assert how != "right" or b"event: waiting-state" in answer.body, answer.body
        world.still_waits(place)
        return failed

    def stream_superseded(n):
        place = random.choice(list(world.people))
        user, ticket, _ = world.people[place]
        with world.stream("line", user, ticket) as older:
            older.wait_event("waiting-state")
            how, _, failed = world.ask(n, "GET", "/api/queue/stream?sessionId=line",
                                       {**user, "Accept": "text/event-stream", "Last-Event-ID": ticket}, enough=nomem.has_frame)
            if how == "right":
                older.wait_end()
        world.still_waits(place)
        return failed

    def stream_lost(n):
        user = world.new_user()
        with world.stream("line", user) as stream:
            stream.wait_event("waiting-state")
            place = stream.ticket["place"]
            world.people[place] = (user, stream.last_id, stream.ticket["ticket"])
            world.memory.arm(n, world.many)
        parked = lambda: world.client.zscore("session:{line}:parked", place)  # noqa: E731
        world.wait_short(parked)
        failed = world.memory_back()
        support.wait_until(parked, 10, "the place to be parked")
        world.still_waits(place)
        return failed

    def entry(n):
        """Whoever is let in gets the token, on this stream or when they come back."""
        user = world.new_user()
        with world.stream("gate", user) as stream:
            stream.wait_event("waiting-state")
            place = stream.ticket["place"]
            world.memory.arm(n, world.many)
            assert world.admin("POST", "/admin/sessions/gate/resume").status_code == 200
            world.wait_short(lambda: stream.named("entry") or stream.ended)
            failed = world.memory_back()
            stream.wait(lambda: stream.named("entry") or stream.ended, 10, "an entry")
            token = stream.named("entry")[0]["data"]["token"] if stream.named("entry") else None
        assert world.admin("POST", "/admin/sessions/gate/pause").status_code == 200
        while not token:
            with world.stream("gate", user, stream.last_id.removesuffix(".e")) as again:
                token = again.wait_event("entry")["data"]["token"]
        assert world.let_in(token)["jti"] == place
        return failed

    def notice(n):
        """What the operator says comes, on this stream or the next."""
        world.count += 1
        user, text = world.new_user(), f"notice {world.count}"
        seen = lambda stream: any(event["data"]["message"] == text for event in stream.named("notice"))  # noqa: E731
        with world.stream("line", user) as stream:
            stream.wait_event("waiting-state")
            place = stream.ticket["place"]
            world.people[place] = (user, stream.last_id, stream.ticket["ticket"])
            world.memory.arm(n, world.many)
            assert world.admin("POST", "/admin/sessions/line/announce", {"message": text}).status_code == 200
            world.wait_short(lambda: seen(stream) or stream.ended)
            failed = world.memory_back()
            support.wait_until(lambda: seen(stream) or stream.ended, 15, "the notice")
        world.still_waits(place)
        return failed

    def lobby(n):
        """In a lobby, and drawn from it."""
        world.count += 1
        session, user = f"lobby{world.count}", world.new_user()
        world.admin.create(session, startsAt=int(time.time() + 3600) * 1000, lobby="lottery", status="open", graceMs=PATIENT_MS)
        first = world.new_user()
        how, answer, failed = world.ask(n, "GET", f"/api/queue/stream?sessionId={session}", {**user, "Accept": "text/event-stream"},
                                        enough=nomem.has_frame)
        assert how != "right" or b"event: lobby" in answer.body, answer.body
        with world.stream(session, first) as stream:
            stream.wait_event("lobby")
        assert world.admin("DELETE", f"/admin/sessions/{session}?force=true").status_code == 204
        return failed

    def draw(n):
        world.count += 1
        session, user = f"draw{world.count}", world.new_user()
        world.admin.create(session, startsAt=int(time.time() + 3600) * 1000, lobby="arrival", status="paused", graceMs=PATIENT_MS)
        with world.stream(session, user) as stream:
            stream.wait_event("lobby")
            place = stream.ticket["place"]
            world.memory.arm(n, world.many)
            assert world.admin("PATCH", f"/admin/sessions/{session}", {"startsAt": int(time.time() * 1000) - 1000}).status_code == 200
            world.wait_short(lambda: stream.position or stream.ended)
            failed = world.memory_back()
            stream.wait(lambda: stream.position or stream.ended, 15, "a position")
            last = stream.last_id
        with world.stream(session, user, last) as again:
            again.wait_position(1)
            assert again.ticket["place"] == place and again.ticket["ticket"] == 1
        assert world.admin("DELETE", f"/admin/sessions/{session}?force=true").status_code == 204
        return failed

    def verify(n):
        token = world.entry_token()
        how, answer, failed = world.ask(n, "GET", "/api/queue/verify?sessionId=line", token, good=(204,))
        assert how != "right" or answer.headers["x-anteroom-user"] == "somebody"
        assert world.get("GET", "/api/queue/verify?sessionId=line", token).status == 204
        return failed

    def redeem(n):
        """Burnt once, by one caller."""
        token = world.entry_token()
        how, _, failed = world.ask(n, "POST", "/api/queue/redeem?sessionId=line&by=one", token, good=(204,))
        if how != "right":
            assert world.get("POST", "/api/queue/redeem?sessionId=line&by=one", token).status == 204
        assert world.get("POST", "/api/queue/redeem?sessionId=line&by=two", token).status == 401
        return failed

    def release(n):
        token = world.entry_token()
        how, _, failed = world.ask(n, "POST", "/api/queue/release?sessionId=line", token, good=(204,))
        if how != "right":
            assert world.get("POST", "/api/queue/release?sessionId=line", token).status in (204, 401)
        return failed

    def reload(n):
        before = len(world.victim.logged("keys-read")) + len(world.victim.logged("keys-kept"))
        done = lambda: len(world.victim.logged("keys-read")) + len(world.victim.logged("keys-kept")) > before  # noqa: E731
        world.memory.arm(n, world.many)
        world.victim.signal(signal.SIGHUP)
        world.wait_short(done)
        failed = world.memory_back()
        support.wait_until(done, what="the keys")
        assert world.get("GET", "/api/queue/verify?sessionId=line", world.entry_token()).status == 204
        world.still_waits(random.choice(list(world.people)))
        return failed

    forged = jwt.encode({"aud": "anteroom-gateway", "session": "line"}, "x" * 40, algorithm="HS256", headers={"typ": "anteroom-ticket+jwt"})
    user = world.new_user()
    events = {**user, "Accept": "text/event-stream"}
    return {
        "join": join, "status": status, "leave": leave, "stream": stream_new, "resume": stream_resume, "superseded": stream_superseded,
        "connection lost": stream_lost, "entry": entry, "notice": notice, "lobby": lobby, "draw": draw, "verify": verify, "redeem": redeem,
        "release": release, "keys read again": reload,
        "info": world.plain("GET", "/api/queue/info?sessionId=line"),
        "jwks": world.plain("GET", "/.well-known/jwks.json"),
        "page": world.plain("GET", "/room/line"), "script": world.plain("GET", "/waitroom.js"), "style": world.plain("GET", "/room.css"),
        "problem type": world.plain("GET", "/problems/unavailable"), "health": world.plain("GET", "/healthz"),
        "ready": world.plain("GET", "/readyz"), "metrics": world.plain("GET", "/metrics", listener="metrics"),
        "preflight": world.plain("OPTIONS", "/api/queue/join", {"Origin": "https://shop.example"}, good=(204,)),
        "foreign origin": world.plain("POST", "/api/queue/join?sessionId=line", {**user, "Origin": "https://evil.example"}, good=(403,)),
        "navigation": world.plain("GET", "/api/queue/stream?sessionId=line", {"Sec-Fetch-Mode": "navigate"}, good=(303,)),
        "ended before": world.plain("GET", "/api/queue/stream?sessionId=line", {**events, "Last-Event-ID": "x.e"}, good=(204,)),
        "no user": world.plain("POST", "/api/queue/join?sessionId=line", good=(401,)),
        "bad session": world.plain("POST", "/api/queue/join?sessionId=%7B", user, good=(400,)),
        "unknown session": world.plain("POST", "/api/queue/join?sessionId=nobody", user, good=(404,)),
        "unknown session, as a stream": world.plain("GET", "/api/queue/stream?sessionId=nobody", events),
        "forged ticket": world.plain("GET", f"/api/queue/status?ticket={forged}", user, good=(400,)),
        "forged entry token": world.plain("GET", "/api/queue/verify?sessionId=line", {"X-Entry-Token": forged}, good=(401,)),
        "bad body": world.plain("POST", "/api/queue/join?sessionId=line", user, b"x" * 70000, good=(413,)),
        "body in chunks": world.plain("POST", "", raw=b"POST /api/queue/leave HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n"
                                      b"5\r\nhello\r\n0\r\n\r\n", good=(401,)),
        "no HTTP": world.plain("GET", "", raw=b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n", good=(400,)),
        "long head": world.plain("GET", "/healthz", {f"X-{i}": "y" * 100 for i in range(99)} | {"Cookie": "z" * 4000}, good=(200, 431)),
        "no such path": world.plain("GET", "/nothing", good=(404,)), "method": world.plain("DELETE", "/healthz", good=(405,)),
    }


def everybody_gets_in(world):
    """All that have a ticket are let in, once, in the order of their numbers."""
    assert world.admin("PATCH", "/admin/sessions/line", {"batch": 100000}).status_code == 200
    assert world.admin("POST", "/admin/sessions/line/resume").status_code == 200
    waiting = dict(world.people)
    deadline = time.monotonic() + 30
    while waiting:
        assert time.monotonic() < deadline, f"{len(waiting)} of {len(world.people)} are not in"
        for place, (user, ticket, _) in list(waiting.items()):
            answer = world.get("GET", f"/api/queue/status?ticket={ticket}", user)
            assert answer.status == 200, answer.body
            said = json.loads(answer.body)
            if said["status"] == "ENTERED":
                assert world.let_in(said["token"])["jti"] == place
                del waiting[place]
            else:
                assert said["status"] == "WAITING", said
    admitted = [fields["place"] for _, fields in world.client.xrange("session:{line}:admissions")]
    numbers = [int(fields["ticket"]) for _, fields in world.client.xrange("session:{line}:admissions")]
    assert len(set(admitted)) == len(admitted) and set(world.people) <= set(admitted) and numbers == sorted(numbers)


@pytest.fixture
def world(daemons, redis_server, folder, client):
    worlds = []

    def make(victim, many, step):
        worlds.append(World(daemons, redis_server, folder, client, victim, many))
        worlds[-1].step = step
        return worlds[-1]

    yield make
    for one in worlds:
        one.close()


def report(world, swept, name):
    owners = {}
    for stack in world.memory.stacks:
        owner = world.modules.owner(stack)
        owners[owner] = owners.get(owner, 0) + 1
    print(f"\n{name}, {'once' if world.many == 1 else 'for a while'}: {len(swept)} scenes, {sum(swept.values())} allocations, "
          f"{world.memory.failures} failures at {len(world.memory.stacks)} places: {owners}")
    if os.environ.get("ANTEROOM_NOMEM_TABLE"):
        print(", ".join(f"{scene} {n}" for scene, n in swept.items()))


MODES = pytest.mark.parametrize("many", [1, nomem.FOR_EVER], ids=["once", "dry"])


@MODES
def test_the_gateway(world, many):
    here = world("gateway", many, 7 if many == 1 else 11)
    here.admin.create("line", status="paused", batch=1, graceMs=PATIENT_MS, entryUrl="https://shop.example/in")
    here.admin.create("gate", status="paused", batch=1, intervalMs=50, graceMs=PATIENT_MS)
    for _ in range(5):
        here.join()
    only = os.environ.get("ANTEROOM_NOMEM_SCENE")
    swept = {name: here.sweep(name, scene) for name, scene in gateway_scenes(here).items() if not only or name in only.split(",")}
    report(here, swept, "gateway")
    everybody_gets_in(here)


def test_a_first_time_without_memory_is_not_the_last(world):
    """OpenSSL makes what it needs at the first use of an algorithm, and never tries again."""
    here = world("gateway", nomem.FOR_EVER, 1)
    for n in range(30, 130, 25):
        token = here.entry_token()
        how, _, _ = here.ask(n, "GET", "/api/queue/verify?sessionId=line", token, good=(204,))
        assert how != "right"
        assert here.get("GET", "/api/queue/verify?sessionId=line", token).status == 204
