"""What a run counts when it is over: from what visitors were told and from Redis' own record of admissions."""

import collections

import crowd as people


class Ledger:
    """Nothing here may be above nought but joined, admitted, entered and left."""

    FAULTS = ("lost", "duplicated", "disordered", "rises", "wrong", "too_many", "forged")

    def __init__(self, crowd, client, batch, interval_ms):
        self.session = "session:{%s}:" % crowd.session
        visitors, admissions = crowd.visitors, client.xrange(self.session + "admissions")
        held = [visitor for visitor in visitors if visitor.place]
        self.joined, self.admitted = len(held), len(admissions)
        self.entered, self.left = len(crowd.in_state("entered")), len(crowd.in_state("left"))
        # Somebody who left may have been let in the moment before; everybody else with a ticket has their entry.
        self.moved = sum(visitor.moved for visitor in visitors)  # came back and was given another place
        self.lost = sum(v.state not in ("entered", "left") for v in held) + self.moved
        self.duplicated = self._duplicated(visitors, admissions)
        tickets = [int(fields["ticket"]) for _, fields in admissions]
        self.disordered = sum(later < earlier for earlier, later in zip(tickets, tickets[1:]))
        self.rises = sum(visitor.rises for visitor in visitors)
        self.forged = sum(people.claims_of(token)["jti"] != v.place for v in visitors for token in v.tokens)
        self.too_many = self._too_many(admissions, batch, interval_ms)
        self.wrong = 0
        self.ends = collections.Counter(v.state for v in visitors if v.state not in ("entered", "left"))

    @staticmethod
    def _duplicated(visitors, admissions):
        places = collections.Counter(fields["place"] for _, fields in admissions)
        tokens = collections.Counter(people.claims_of(token)["jti"] for v in visitors for token in v.tokens)
        return sum(count - 1 for count in places.values()) + sum(count - 1 for count in tokens.values())

    @staticmethod
    def _too_many(admissions, batch, interval_ms):
        """By how many the worst stretch of time exceeds what the bucket gives: a batch an interval begun, and one to begin with."""
        worst, least = 0.0, None
        for count, (identity, _) in enumerate(admissions):
            level = count - batch * int(identity.split("-")[0]) / interval_ms
            least = level if least is None else min(least, level)
            worst = max(worst, level - least + 1 - 2 * batch)
        return round(worst, 1)

    def faults(self):
        return {name: getattr(self, name) for name in self.FAULTS if getattr(self, name)}

    def __str__(self):
        names = ("joined", "admitted", "entered", "left", *self.FAULTS)
        return " ".join(f"{name}={getattr(self, name)}" for name in names) + (f" ends={dict(self.ends)}" if self.ends else "")


def wrong_positions(crowd, client):
    """Who is shown something else than ZRANK + 1."""
    ranks = {place: rank for rank, place in enumerate(client.zrange("session:{%s}:waiting" % crowd.session, 0, -1), 1)}
    return [v for v in crowd.visitors if v.state == "waiting" and v.position != ranks.get(v.place)]
