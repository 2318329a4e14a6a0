"""The runs by name: how large they are, and what must come out."""

import collections

import crash_points


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
    ledger, where = await crash_points.gateway(seed, 20 if short else 240)
    report.broke(where)
    report.say(ledger)
    report.must("nobody lost, twice or out of order", not ledger.faults() and ledger.entered > 40)
    return report


ALL = {"publisher-points": publisher_points, "gateway-points": gateway_points}
