"""The join limit: by the client's address as trusted proxies tell it, at the limit and one past it, and who is not counted."""

import pytest
import requests

import support
import visitors  # noqa: F401


def join(gateway, forwarded=(), session="s", events=False, **headers):
    """A POST join, or with EVENTS a stream; X-Forwarded-For as often as FORWARDED says."""
    request = requests.Request("GET" if events else "POST", f"{gateway.url('public')}/api/queue/{'stream' if events else 'join'}",
                               params={"sessionId": session}, headers=headers).prepare()
    with requests.Session() as http:
        for value in forwarded:
            request.headers[Field("X-Forwarded-For")] = value
        return http.send(request, timeout=10, stream=events)


class Field(str):
    """A header's name that may be there more than once."""

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self is other

    def lower(self):
        return self


@pytest.fixture
def session(admin):
    admin.create("s", status="paused")
    return admin


def test_five_in_ten_seconds_and_not_six(session, start_gateway):
    gateway = start_gateway(join_limit="5/10")
    answers = [join(gateway) for _ in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [429]
    assert answers[5].json()["code"] == "rate-limited" and 1 <= int(answers[5].headers["Retry-After"]) <= 3


def test_the_limit_is_each_gateways_own(session, start_gateway):
    two = [start_gateway(name, join_limit="1/3600") for name in ("gw-1", "gw-2")]
    assert [join(gateway).status_code for gateway in (*two, *two)] == [200, 200, 429, 429]


def test_an_event_stream_is_told_when_to_come_back(session, start_gateway, visit, client):
    gateway = start_gateway(join_limit="1/100")
    assert join(gateway).status_code == 200
    support.wait_until(lambda: client.hget("session:{s}:state", "dirty") == "0", what="a settled line")
    before = support.dump(client)
    for _ in range(8):
        stream = visit(gateway)
        problem = stream.wait_event("unavailable")
        stream.wait_end()
        assert stream.status == 200 and problem["data"]["code"] == "rate-limited" and "id" not in problem
        assert 80 <= problem["data"]["retryAfterSeconds"] <= 101 and stream.retry >= problem["data"]["retryAfterSeconds"] * 1000
    assert support.dump(client) == before


# Two requests: what each says of its client, and whether they count as one.
SAME = {
    "no header": ([], [], True),
    "one address": (["203.0.113.7"], ["203.0.113.7"], True),
    "two addresses": (["203.0.113.7"], ["203.0.113.8"], False),
    "a forged one before it": (["1.1.1.1, 203.0.113.7"], ["2.2.2.2, 203.0.113.7"], True),
    "many forged ones before it": (["1.1.1.1, " * 200 + "203.0.113.7"], ["2.2.2.2, " * 300 + "203.0.113.7"], True),
    "a forged header before it": (["1.1.1.1", "203.0.113.7"], ["2.2.2.2", "203.0.113.7"], True),
    "the last of several headers": (["203.0.113.7", "203.0.113.8"], ["203.0.113.7", "203.0.113.9"], False),
    "a long forged header before it": (["x" * 3000, "203.0.113.7"], ["y" * 2000, "203.0.113.7"], True),
    "a trusted proxy behind it": (["203.0.113.7, 127.0.0.9"], ["203.0.113.7"], True),
    "a trusted proxy in a header of its own": (["203.0.113.7", "127.0.0.9"], ["203.0.113.7"], True),
    "blanks and tabs": ([" \t203.0.113.7 \t"], ["203.0.113.7"], True),
    "a port": (["203.0.113.7:4711"], ["203.0.113.7:4712"], True),
    "garbage is not skipped": (["203.0.113.7, garbage"], ["203.0.113.8, garbage"], True),
    "an empty entry is not skipped": (["203.0.113.7,"], ["203.0.113.8,"], True),
    "one /64": (["2001:db8:1:2::1"], ["2001:db8:1:2:ffff:ffff:ffff:ffff"], True),
    "two /64s": (["2001:db8:1:2::1"], ["2001:db8:1:3::1"], False),
    "brackets and a port": (["[2001:db8:1:2::1]:443"], ["2001:db8:1:2::7"], True),
    "brackets": (["[2001:db8:1:2::1]"], ["2001:db8:1:2::7"], True),
    "IPv4 as IPv6": (["::ffff:203.0.113.7"], ["203.0.113.7"], True),
    "IPv4s as IPv6": (["::ffff:203.0.113.7"], ["::ffff:203.0.113.8"], False),
    "a name": (["host.example"], ["other.example"], True),
    "another header": ([], [], True),
}


@pytest.mark.parametrize("trusted", (True, False), ids=("trusted", "untrusted"))
def test_whose_bucket(session, start_gateway, trusted):
    gateway = start_gateway(join_limit="1/3600", trusted_proxies="127.0.0.0/8" if trusted else "10.0.0.0/8")
    if not trusted:
        assert join(gateway).status_code == 200
        for first, second, _ in SAME.values():
            assert {join(gateway, first).status_code, join(gateway, second).status_code} == {429}
        return
    for number, (name, (first, second, same)) in enumerate(SAME.items()):
        # Addresses of its own for each row; what counts as the proxy's own is counted once for all of them.
        own = [[value.replace("203.0.113.", f"203.0.{number}.").replace("db8:1", f"db8:{number}") for value in values]
               for values in (first, second)]
        answers = [join(gateway, values, Forwarded="for=9.9.9.9").status_code for values in own]
        proxys = name in ("no header", "garbage is not skipped", "an empty entry is not skipped", "a name", "another header")
        assert answers[0] == (429 if proxys and number else 200), name
        assert answers[1] == (429 if same else 200), name


def test_exempt_addresses(session, start_gateway):
    gateway = start_gateway(join_limit="1/3600", trusted_proxies="127.0.0.0/8", join_limit_exempt="198.51.100.0/24, 2001:db8::/32")
    for address in ("198.51.100.255", "2001:db8:ffff::1"):
        assert {join(gateway, [address]).status_code for _ in range(5)} == {200}
    for address in ("198.51.101.0", "2001:db9::1"):
        assert [join(gateway, [address]).status_code for _ in range(2)] == [200, 429]
    # Not for whoever merely says so.
    untrusting = start_gateway("gw-2", join_limit="1/3600", join_limit_exempt="198.51.100.0/24")
    assert [join(untrusting, ["198.51.100.1"]).status_code for _ in range(2)] == [200, 429]


def test_a_valid_ticket_is_never_limited_and_any_other_is(session, start_gateway, visit):
    gateway = start_gateway(join_limit="1/3600")
    ticket = join(gateway).json()["ticket"]
    for way in ({"X-Anteroom-Ticket": ticket}, {"Cookie": f"anteroom_ticket_s={ticket}"}, {"Last-Event-ID": ticket}) * 3:
        answer = join(gateway, **way)
        assert answer.status_code == 200 and answer.json()["position"] == 1
        ticket = answer.json()["ticket"]
    stream = visit(gateway, ticket=ticket)
    stream.wait_event("waiting-state")
    # A cookie that is no ticket is none; a ticket whose place is gone makes a new place, which counts.
    assert join(gateway, Cookie="anteroom_ticket_s=x.y.z").status_code == 429
    requests.post(gateway.url("public") + "/api/queue/leave", params={"ticket": stream.last_id}, timeout=5)
    stream.wait_event("closed")
    support.wait_until(lambda: join(gateway, **{"X-Anteroom-Ticket": stream.last_id.removesuffix(".e")}).status_code == 429, what="a limit")


def test_a_cookie_is_no_way_around_it_where_each_tab_has_its_own_place(session, start_gateway):
    session.create("m", status="paused", perUser="many")
    gateway = start_gateway(join_limit="1/3600")
    cookie = {"Cookie": f"anteroom_ticket_m={join(gateway, session='m').json()['ticket']}"}
    assert [join(gateway, session="m", **cookie).status_code for _ in range(2)] == [429, 429]


def test_what_is_refused_before_costs_nothing(session, start_gateway):
    gateway = start_gateway(join_limit="1/3600")
    for headers, code in (({"Origin": "https://evil.example"}, 403), ({"X-Anteroom-Ticket": "nonsense"}, 400)):
        assert {join(gateway, **headers).status_code for _ in range(3)} == {code}
    assert join(gateway, session="a b").status_code == 400
    assert [join(gateway).status_code for _ in range(2)] == [200, 429]
