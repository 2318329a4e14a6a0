"""A Redis, the breaker in front of it, and daemons that come and go, for one run."""

import asyncio
import pathlib
import random
import subprocess
import sys
import tempfile
import time

import breaker
import crowd
import ledger
import support

SESSION = "s"


class World:
    """async with World(seed, batch=…, intervalMs=…): a session that is paused, no daemon running."""

    def __init__(self, seed, redis=(), **config):
        self.seed, self.chance = seed, random.Random(seed)
        self.config = {"batch": 5, "intervalMs": 100, "graceMs": 120000, **config}
        self.urls, self.daemons, self.numbers = [], [], 0
        self.crowd = crowd.Crowd(SESSION, self.urls, seed + 1)
        self.broken = []
        self.start_redis = lambda folder: support.RedisServer(folder, *redis)

    async def __aenter__(self):
        self.scratch = tempfile.TemporaryDirectory(prefix="anteroom-faults-")
        self.folder = support.Folder(pathlib.Path(self.scratch.name))
        self.redis = self.start_redis(self.scratch.name)
        self.client = self.redis.client
        self.breaker = breaker.Breaker(self.scratch.name, self.redis.socket, random.Random(self.seed + 2))
        await self.breaker.start()
        maker = await self.publisher("maker", through=False)
        admin = support.Admin(maker.url("admin"))
        await asyncio.to_thread(admin.create, SESSION, **self.config)
        admin.close()
        maker.kill()
        return self

    async def __aexit__(self, *_):
        self.crowd.close()
        await self.breaker.close()
        for daemon in self.daemons:
            daemon.kill()
        self.redis.close()
        self.scratch.cleanup()

    async def publisher(self, identity="p-1", through=True, wait=True, **options):
        url = self.breaker.url if through else self.redis.url
        daemon = self.folder.publisher(url, **{"publisher_id": identity, "tick_ms": 50, "lease_ms": 500, **options})
        self.daemons.append(daemon)
        if wait:
            await asyncio.to_thread(daemon.wait_log, "listening", name="metrics")
            await asyncio.to_thread(support.wait_until, lambda: support.is_ready(daemon, "metrics"), what="a ready publisher")
        return daemon

    async def gateway(self, through=True, serve=True, descriptors=None, **options):
        """A new machine: an id of its own, as many DESCRIPTORS as that. It is in the load balancer once it is ready."""
        self.numbers += 1
        daemon = support.Daemon("anteroom-gateway", {
            "redis_url": self.breaker.url if through else self.redis.url, "entry_key_file": self.folder.entry_key,
            "ticket_key_file": self.folder.ticket_key, "listen": "127.0.0.1:0", "metrics_listen": "127.0.0.1:0",
            "server_id": f"gw-{self.numbers}", "join_limit": "off", "drain_notice_s": 0, "drain_s": 0, **options}, descriptors=descriptors)
        self.daemons.append(daemon)
        await asyncio.to_thread(daemon.wait_log, "listening", name="public")
        await asyncio.to_thread(support.wait_until, lambda: support.is_ready(daemon), what="a ready gateway")
        daemon.public = daemon.url("public")
        if serve:
            self.urls.append(daemon.public)
        return daemon

    def naive(self, *options):
        """The stand-in publisher, with what a breaker needs of a daemon."""
        process = subprocess.Popen([sys.executable, str(pathlib.Path(__file__).parent / "naive.py"), self.breaker.url, SESSION,
                                    str(self.config["batch"]), str(self.config["intervalMs"]), support.ENTRY_KEY, *options],
                                   stderr=subprocess.DEVNULL)
        self.daemons.append(Stranger(process))
        return self.daemons[-1]

    def forget(self, daemon):
        """Its end is seen to, and nobody is sent there any more."""
        daemon.kill()
        self.daemons.remove(daemon)
        self.broken.append(daemon)
        if getattr(daemon, "public", None) in self.urls:
            self.urls.remove(daemon.public)

    def state(self, field):
        return self.client.hget("session:{%s}:state" % SESSION, field)

    async def set(self, publisher, **change):
        """As an operator does it, who is told to come back while the publisher finds its way to Redis again."""
        admin, until = support.Admin(publisher.url("admin")), time.monotonic() + 10
        while (answer := await asyncio.to_thread(admin, "PATCH", f"/admin/sessions/{SESSION}", change)).status_code == 503:
            assert time.monotonic() < until, answer.text
            await asyncio.sleep(answer.json()["retryAfterSeconds"])
        assert answer.status_code == 200, answer.text
        admin.close()

    async def exact(self, timeout=20.0):
        """The line stands still: everybody is shown their ZRANK + 1 within TIMEOUT. Gives how many are not."""
        try:
            await self.crowd.until(lambda: not self.crowd.in_state("new", "away") and
                                   not ledger.wrong_positions(self.crowd, self.client), timeout, "exact positions")
        except TimeoutError:
            pass
        return len(ledger.wrong_positions(self.crowd, self.client)) + len(self.crowd.in_state("new", "away"))

    def count(self, wrong=0):
        result = ledger.Ledger(self.crowd, self.client, self.config["batch"], self.config["intervalMs"])
        result.wrong = wrong
        return result


class Stranger:
    """A process that is none of ours."""

    def __init__(self, process):
        self.process = process

    def kill(self):
        self.process.kill()
        self.process.wait()
