"""The runs by name: how large they are, and what must come out."""

import collections

import clients
import clock
import crash_points
import gateways
import publishers
import redis_harm


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


async def hostile_clients(seed, short):
    """The 50 ms of a newcomer are for a machine that has nothing else to do: measured, and ten times that is a failure."""
    report = Report()
    for name, before, after, (p50, p99, worst, entered, refused) in await clients.attacked(seed, 1000 if short else 10000):
        report.say(f"{name}: memory {before:.0f} to {after:.0f} MiB; newcomers let in {entered:.0f}, refused {refused:.0f}, "
                   f"p50 {p50:.1f} ms, p99 {p99:.1f} ms, worst {worst:.1f} ms")
        report.must(f"newcomers get in under {name}", entered >= 20 and refused == 0 and p99 < 500)
        report.must(f"memory under {name}", after < before + 200)
    return report


ALL = {"publisher-points": publisher_points, "gateway-points": gateway_points, "publishers": several_publishers,
       "gateways": gateway_harm, "rolling-restart": rolling_restart, "redis": redis_harmed, "clock": clock_jumps,
       "clients": hostile_clients}
