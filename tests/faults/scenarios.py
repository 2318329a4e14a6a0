"""The runs by name: how large they are, and what must come out."""

import collections
import contextlib

import clients
import clock
import crash_points
import descriptors
import gateways
import network
import publishers
import redis_harm
import storm
import vanished


class Report:
    def __init__(self):
        self.lines, self.good = [], True

    def say(self, *words):
        self.lines.append(" ".join(str(word) for word in words))

    def must(self, what, right):
        self.good = self.good and bool(right)
        if not right:
            self.say("NOT AS IT MUST BE:", what)

    def broke(self, where):
        calls = collections.defaultdict(dict)
        for (name, when), count in where.items():
            calls[name][when] = count
        self.say(f"{sum(where.values())} kills, before+after:",
                 ", ".join(f"{name} {c.get('before', 0)}+{c.get('after', 0)}" for name, c in sorted(calls.items())))


async def publisher_points(seed, short):
    report = Report()
    ledger, where = await crash_points.publisher(seed, 40 if short else 504)
    report.broke(where)
    report.say(ledger)
    report.must("nobody lost, twice or out of order", not ledger.faults() and ledger.entered > 40)
    ledger, where = await crash_points.publisher(seed, 12 if short else 40, naive=True)
    report.broke(where)
    report.say("control (pop, then publish):", ledger)
    report.must("the control loses people", ledger.lost > 0)
    return report


async def gateway_points(seed, short):
    report = Report()
    for points, kills in ((crash_points.gateway, 20 if short else 240), (crash_points.draining, 4 if short else 40)):
        ledger, where = await points(seed, kills)
        report.broke(where)
        report.say(ledger)
        report.must("nobody lost, twice or out of order", not ledger.faults() and ledger.entered > 40)
    return report


async def several_publishers(seed, short):
    report = Report()
    for count in (3,) if short else (2, 3):
        ledger, where, taken_over, stale = await publishers.frozen(seed, count, 8 if short else 60)
        report.say(f"{count} publishers, {sum(where.values())} freezes, {taken_over} takeovers, {stale} answers found too old")
        report.say(ledger)
        report.must("nobody lost or twice, the rate kept", not ledger.faults() and ledger.entered > 40 and taken_over > 0)
    ledger = await publishers.naive(seed)
    report.say("control (no lease):", ledger)
    report.must("the control admits too many", ledger.too_many > 0)
    return report


async def gateway_harm(seed, short):
    report = Report()
    size = 300 if short else 5000
    for harm in (gateways.kill, gateways.drain) if short else (gateways.kill, gateways.freeze, gateways.partition, gateways.drain):
        ledger, took = await gateways.harmed(seed, size, harm)
        report.say(f"{harm.__name__} under {size} connections, all back {took} s after it:", ledger)
        report.must("everybody keeps their place", not ledger.faults() and ledger.entered == size)
    ledger, _ = await gateways.harmed(seed, 100, gateways.kill, forgetful=True)
    report.say(f"control (no ticket shown): {ledger.moved} of 100 lost their place")
    report.must("the control loses places", ledger.moved > 0)
    return report


async def rolling_restart(seed, short):
    report = Report()
    size, drain_s = (200, 2) if short else (2000, 10)
    ledger, came_back = await gateways.rolling(seed, size, drain_s)
    report.say(f"three gateways replaced under {size} connections, {drain_s} s of drain each: {sum(came_back.values())} reconnects, "
               f"at most {max(came_back.values())} in a tenth of a second")
    report.say(ledger)
    report.must("everybody keeps their place", not ledger.faults() and ledger.entered >= size)
    # Spread: were they all to come at once, it would be a third of them.
    report.must("reconnects are spread", max(came_back.values()) < size / 6)
    return report


async def redis_harmed(seed, short):
    report = Report()
    names = list(redis_harm.SHORT if short else redis_harm.HARMS)
    ledger, recovered, done = await redis_harm.harmed(seed, 1 if short else 3, names, 30 if short else 150)
    report.say(", ".join(f"{name} {count}" for name, count in sorted(done.items())))
    report.say("seconds until people are let in again:", ", ".join(f"{name} {value:.1f}" for name, value in recovered.items()))
    report.say(ledger)
    report.must("nobody lost, twice or out of order", not ledger.faults() and ledger.entered > 100)
    report.must("people are let in again", max(recovered.values()) < 20)
    report.must("Redis was seen loading, messages were refused", short or done["seen loading"] and done["messages refused"] >= 100)
    ledger = await redis_harm.naive(seed, 5 if short else 20)
    report.say("control (pop, then publish):", ledger)
    report.must("the control loses people", ledger.lost > 0)
    return report


async def clock_jumps(seed, short):
    report = Report()
    for under_redis in (True,) if short else (True, False):
        ledger, burst, odd, jumped = await clock.jumps(seed, under_redis)
        report.say(f"one hour forth and back, back and forth {'under Redis' if under_redis else 'under the daemons'}: "
                   f"jumps seen {sum(jumped)} of 4, burst={burst} odd_tokens={odd}", ledger)
        report.must("the clocks and the tokens' dates jumped", all(jumped))
        report.must("nobody lost, no burst, sane tokens", not ledger.faults() and burst <= 0 and not odd and ledger.entered > 60)
    burst = await clock.naive(seed)
    report.say(f"control (a bucket by the wall clock): {burst} too many")
    report.must("the control has a burst", burst > 0)
    return report


def in_private(scenario):
    """In a network namespace of its own where that may be made: what the kernel counts there is the run's alone."""
    async def run(seed, short):
        with network.elsewhere() if network.possible() else contextlib.nullcontext():
            return await scenario(seed, short)
    return run


# What a newcomer may have to wait while others attack (ms). A short run shares its machine with other tests, and its daemons are
# five times as slow.
NEWCOMER_MS, NEWCOMER_SHORT_MS = 50, 500
MIB = 1 << 20
GATEWAY, PUBLISHER = 48 * MIB, 16 * MIB  # with 19,000 streams of one session
SESSION_GATEWAY, SESSION_PUBLISHER = 8192, 24576  # with nearly nobody in it
SLACK = 4 * MIB  # what is no connection's: the heap's top and what the metrics and the limiter hold


def newcomers_must(report, name, newcomers, short):
    report.must(f"newcomers get in under {name}", newcomers.refused == 0 and newcomers.entered >= (20 if short else 500) and
                newcomers.p99 <= (NEWCOMER_SHORT_MS if short else NEWCOMER_MS))


@in_private
async def hostile_clients(seed, short):
    report = Report()
    for row in await clients.attacked(seed, 1000 if short else 10000, short):
        each = f" ({(row.peak - row.before) / row.count:.0f} bytes each)" if row.count else ""
        kernel = f", in the kernel {row.kernel / 1024:.0f} KiB at most" if row.kernel else ""
        report.say(f"{row.count or ''} {row.name}: memory {row.before / MIB:.1f} to {row.peak / MIB:.1f} MiB{each}{kernel}; {row.newcomers}; "
                   + ", ".join(words for words, _ in row.proof))
        newcomers_must(report, row.name, row.newcomers, short)
        for words, right in row.proof:
            report.must(f"{row.name}: {words}", right)
        user, kernel = row.ceilings
        if short:  # ASan's own memory is in it
            report.must(f"memory under {row.name}", row.peak < row.before + 200 * MIB)
        elif user:
            report.must(f"memory under {row.name}", row.peak <= row.before + row.count * user + SLACK)
        report.must(f"kernel memory under {row.name}", kernel is None or row.kernel <= kernel)
    if not short:
        count = 1000
        gateway, publisher = await clients.sessions(seed, count)
        report.say(f"{count} sessions: {gateway:.0f} bytes each in the gateway, {publisher:.0f} in the publisher")
        report.must("memory of sessions", gateway <= SESSION_GATEWAY and publisher <= SESSION_PUBLISHER)
    return report


@in_private
async def vanished_clients(seed, short):
    report = Report()
    if not network.possible():
        report.say("not run: a network namespace needs root")
        return report
    count, heartbeat_s = (20, 1) if short else (500, 15)
    found = await vanished.vanish(seed, count, heartbeat_s)
    report.say(f"{count} streams and {count} half requests cut off: {found.held} descriptors, all free after {found.took} s; "
               f"{found.kept} places kept, {found.same} back with their number")
    report.must("they were connected", found.held == 2 * count)
    report.must("noticed in time", found.took is not None and found.took <= heartbeat_s + vanished.STALL_S + 5)
    report.must("every place kept", found.kept == found.same == count)
    return report


@in_private
async def no_descriptors(seed, short):
    report = Report()
    limit = 128 if short else 256
    *stages, again_ms = await descriptors.run_out(seed, limit)
    for name, full in zip(("its own limit", "no descriptor left"), stages):
        report.say(f"{name}: {full.streams} streams, {dict(full.answers)}, {full.busy * 100:.1f} % of a core, {full.told} heard the notice, "
                   f"Redis {'back' if full.redis else 'away'}")
        report.must(f"{name}: full, at ease, and at work", full.streams == full.most == full.told and full.busy < 0.05 and full.redis)
        report.must(f"{name}: nobody left without an end", set(full.answers) <= {"told to come back", "closed", "a stream"})
    report.must("who is refused is told so", stages[0].answers["told to come back"] >= limit // 16)
    report.must("descriptors really ran out", stages[1].answers["closed"] > 0)
    report.say(f"a newcomer is in {again_ms:.0f} ms after the streams are gone")
    report.must("it recovers as soon as newcomers may come: 3 s after Redis was away", again_ms < 4000)
    return report


@in_private
async def connection_storm(seed, short):
    report = Report()
    streams, extra = (600, 600) if short else (19000, 10500)
    found = await storm.storm(seed, streams, extra)
    report.say(f"{found.streams} streams, one of two gateways dies: all back after {found.took:.1f} s; {found.connects} connects within 2 s; "
               f"{found.refused} refused and back again, {found.strangers} of {extra} strangers refused; {found.waiting} in the line; "
               f"gateway {found.gateway / MIB:.1f} MiB, publisher {found.publisher / MIB:.1f} MiB")
    report.say(f"{found.newcomers}; from an admission to its frame meanwhile p99 at most {found.entry_ms:.0f} ms")
    report.must("everybody is back in their place", found.streams == streams and not found.moved and not found.rises and not found.parked)
    report.must("strangers are refused, not those who were there",
                found.strangers >= extra - 10 and found.waiting == streams + extra - found.strangers)
    report.must("the storm was one", short or found.connects >= 20000)
    report.must("entries are quick meanwhile", found.entry_ms <= (NEWCOMER_SHORT_MS if short else NEWCOMER_MS))
    report.must("memory under its ceiling", short or found.gateway <= GATEWAY and found.publisher <= PUBLISHER)
    return report


ALL = {"publisher-points": publisher_points, "gateway-points": gateway_points, "publishers": several_publishers,
       "gateways": gateway_harm, "rolling-restart": rolling_restart, "redis": redis_harmed, "clock": clock_jumps,
       "clients": hostile_clients, "vanished": vanished_clients, "descriptors": no_descriptors, "storm": connection_storm}
