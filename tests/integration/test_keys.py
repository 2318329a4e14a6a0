"""Keys: published, rotated without a token refused, a site's own in a JWKS."""

import json
import os
import signal
import threading

import jwt
import pytest
import requests

import support
import tokens
from test_faults import waiting_streams
from test_refusals import USER_KEY
from test_site import assert_problem, verify
from tokens import claims_of, entry_token, key_id, pem


def jwks(gateway):
    answer = requests.get(gateway.url("public") + "/.well-known/jwks.json", headers={"Origin": "https://anybody.test"}, timeout=10)
    assert answer.status_code == 200 and answer.headers["Content-Type"] == "application/json"
    assert answer.headers["Cache-Control"] == "public, max-age=300" and answer.headers["Access-Control-Allow-Origin"] == "*"
    return answer.json()["keys"]


def make_key(alg):
    return tokens.rsa_key() if alg == "RS256" else tokens.ec_key()


# ---- ours ----


@pytest.mark.parametrize("alg", ["RS256", "ES256"])
def test_others_verify_with_the_published_keys(start_publisher, start_gateway, folder, visit, alg):
    key, following = make_key(alg), make_key(alg)
    publisher = start_publisher(entry_alg=alg, entry_key_file=folder.write("private.pem", pem(key, True)))
    gateway = start_gateway(entry_alg=alg, entry_key_file=folder.write("public.pem", pem(key)), allow_origins="https://anybody.test",
                            entry_key_file_next=folder.write("next.pem", pem(following)))
    admin = support.Admin(publisher.url("admin"))
    admin.create("s")
    published = jwks(gateway)
    assert [one["kid"] for one in published] == [key_id(key), key_id(following)]
    members = {"RS256": {"kty", "use", "alg", "kid", "n", "e"}, "ES256": {"kty", "use", "alg", "kid", "crv", "x", "y"}}[alg]
    assert all(set(one) == members and one["use"] == "sig" and one["alg"] == alg for one in published)
    token = visit(gateway).wait_event("entry")["data"]["token"]
    kid = jwt.get_unverified_header(token)["kid"]
    found = jwt.PyJWK(next(one for one in published if one["kid"] == kid))
    assert jwt.decode(token, found.key, algorithms=[alg], audience="s", issuer="anteroom")
    assert verify(gateway, token).status_code == 204
    admin.close()


def test_numbers_in_a_jwk_have_their_length(start_gateway, folder):
    """A coordinate that begins with a zero keeps it."""
    key = next(key for key in iter(tokens.ec_key, None) if key.public_key().public_numbers().x >> 248 == 0)
    gateway = start_gateway(entry_alg="ES256", entry_key_file=folder.write("public.pem", pem(key)))
    published, = jwks(gateway)
    assert len(published["x"]) == len(published["y"]) == 43
    assert jwt.PyJWK(published).key.public_numbers() == key.public_key().public_numbers()


def test_a_secret_is_never_published(start_gateway, folder):
    assert jwks(start_gateway(entry_key_file_next=folder.write("next.key", "n" * 40))) == []


def rotation(alg):
    return ("k" * 40, "n" * 40) if alg == "HS256" else (make_key(alg), make_key(alg))


def written(key, private=False):
    return key if isinstance(key, str) else pem(key, private)


@pytest.mark.parametrize("alg,count", [("HS256", 1), ("ES256", 1000), ("RS256", 1)])
def test_rotation_refuses_no_token_and_ends_no_stream(start_publisher, start_gateway, folder, visit, alg, count):
    """docs/operations.md, "Rotating the entry key"."""
    old, new = rotation(alg)
    signing, verifying, following = folder.write("signing", written(old, True)), folder.write("verifying", written(old)), folder.path / "next"
    publisher = start_publisher(entry_alg=alg, entry_key_file=signing)
    gateway = start_gateway(entry_alg=alg, entry_key_file=verifying, entry_key_file_next=following)
    admin = support.Admin(publisher.url("admin"))
    admin.create("s", status="paused")
    admin.create("in", batch=1000, intervalMs=100)
    streams = waiting_streams(visit, gateway, count)

    def fresh():
        token = visit(gateway, "in").wait_event("entry")["data"]["token"]
        return jwt.get_unverified_header(token)["kid"], token

    def hangup(daemon, **expected):
        seen = len(daemon.logged("keys-read"))
        daemon.signal(signal.SIGHUP)
        support.wait_until(lambda: len(daemon.logged("keys-read")) > seen, what="the keys to be read")
        assert daemon.logged("keys-read")[-1]["kid"] == expected["kid"]
        assert daemon.logged("keys-read")[-1].get("kid_next") == expected.get("kid_next")

    kid, first = fresh()
    assert kid == key_id(old)
    checked, refused, over = [0], [], threading.Event()

    def watch():
        """Whoever was let in with the old key, all the time."""
        with requests.Session() as http:
            while not over.is_set():
                answer = http.get(gateway.url("public") + "/api/queue/verify?sessionId=in", headers={"X-Entry-Token": first}, timeout=10)
                checked[0] += 1
                if answer.status_code != 204:
                    refused.append(answer.text)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        assert_problem(verify(gateway, entry_token("in", key=new, alg=alg), "in"), 401, "unauthorized")
        folder.write("next", written(new))
        hangup(gateway, kid=key_id(old), kid_next=key_id(new))
        assert verify(gateway, fresh()[1], "in").status_code == 204
        folder.write("signing", written(new, True))
        hangup(publisher, kid=key_id(new))
        kid, second = fresh()
        assert kid == key_id(new) and verify(gateway, second, "in").status_code == 204
        support.wait_until(lambda: checked[0] > 50, what="some checks")
    finally:
        over.set()
        watcher.join()
    assert refused == []
    os.replace(following, verifying)  # once the last token of the old key has expired
    hangup(gateway, kid=key_id(new))
    assert verify(gateway, second, "in").status_code == 204
    assert_problem(verify(gateway, first, "in"), 401, "unauthorized")
    assert not any(stream.ended for stream in streams)
    admin.close()


def test_a_bad_next_key_changes_nothing(start_publisher, start_gateway, folder):
    following = folder.path / "next"
    daemons = [start_publisher(entry_key_file_next=following), start_gateway(entry_key_file_next=following)]
    for text in ("short", support.ENTRY_KEY, "-----BEGIN PUBLIC KEY-----\n" + "A" * 64):
        following.write_text(text)
        for daemon in daemons:
            kept = len(daemon.logged("keys-kept"))
            daemon.signal(signal.SIGHUP)
            support.wait_until(lambda: len(daemon.logged("keys-kept")) > kept, what="the keys to be kept")
            assert support.ENTRY_KEY not in daemon.text()
    assert verify(daemons[1], entry_token()).status_code == 204
    following.write_text("")  # as good as none
    daemons[1].signal(signal.SIGHUP)
    daemons[1].wait_log("keys-read", kid=key_id())


@pytest.mark.parametrize("files", [
    {"entry_key_file_next": support.ENTRY_KEY},
    {"entry_key_file_next": support.TICKET_KEY},
    {"ticket_key_file": support.ENTRY_KEY},
    {"entry_key_file_next": "n" * 40, "user_key_file": "n" * 40},
    {"user_key_file": support.ENTRY_KEY},
    {"user_key_file": support.TICKET_KEY},
    {"user_key_file": json.dumps({"keys": [{"kty": "oct", "k": tokens.b64(b"o" * 40)}, {"kty": "oct", "k": tokens.b64(support.ENTRY_KEY.encode())}]})},
])
def test_equal_keys_are_refused_at_the_start(start_gateway, folder, files):
    paths = {option: folder.write(option, text) for option, text in files.items()}
    gateway = start_gateway(wait=False, user_audience="any", user_auth="jwt" if "user_key_file" in files else "none", **paths)
    assert gateway.exit_code() == 2
    assert "must differ" in gateway.text() or "the same key" in gateway.text()


def test_a_named_key_cannot_be_one_of_two(start_gateway, folder):
    gateway = start_gateway(wait=False, entry_key_id="mine", entry_key_file_next=folder.path / "next")
    assert gateway.exit_code() == 2 and "--entry-key-id" in gateway.text()
    named = start_gateway(entry_key_id="mine")
    assert verify(named, entry_token(headers={"kid": "mine"})).status_code == 204
    assert_problem(verify(named, entry_token()), 401, "unauthorized")


# ---- a site's ----


def public_jwk(key, kid=None, **more):
    algorithm = jwt.algorithms.ECAlgorithm if isinstance(key, tokens.ec.EllipticCurvePrivateKey) else jwt.algorithms.RSAAlgorithm
    if algorithm is jwt.algorithms.RSAAlgorithm:
        jwk = json.loads(algorithm.to_jwk(key.public_key()))
        jwk.pop("key_ops", None)
    else:
        numbers = key.public_key().public_numbers()
        size = (key.curve.key_size + 7) // 8
        jwk = {"kty": "EC", "crv": {256: "P-256", 384: "P-384"}[key.curve.key_size],
               "x": tokens.b64(numbers.x.to_bytes(size, "big")), "y": tokens.b64(numbers.y.to_bytes(size, "big"))}
    return {**jwk, **({"kid": kid} if kid else {}), **more}


def users(start_gateway, folder, alg, keys, **options):
    text = keys if isinstance(keys, str) else json.dumps({"keys": keys})
    return start_gateway(user_auth="jwt", user_alg=alg, user_key_file=folder.write("users.json", text), user_audience="queue", **options)


def let_join(gateway, key, alg, kid=None, session="s"):
    claims = claims_of("queue", jti=None)
    token = jwt.encode(claims, key, algorithm=alg, headers={"kid": kid} if kid else None)
    answer = requests.post(gateway.url("public") + f"/api/queue/join?sessionId={session}", headers={"Authorization": f"Bearer {token}"}, timeout=10)
    assert answer.status_code in (200, 401), answer.text
    return answer.status_code == 200


@pytest.mark.parametrize("alg", ["RS256", "ES256"])
def test_user_keys_of_a_jwks(admin, start_gateway, folder, alg):
    admin.create("s", status="paused", perUser="many")
    first, second, unnamed, retired, private = (make_key(alg) for _ in range(5))
    others = [{"kty": "oct", "k": tokens.b64(b"s" * 40), "kid": "secret"}, {"kty": "OKP", "crv": "Ed25519", "x": tokens.b64(b"x" * 32)},
              public_jwk(retired, "enc", use="enc"), public_jwk(retired, "other", alg="RS512" if alg == "RS256" else "ES384"),
              public_jwk(tokens.ec_key(tokens.ec.SECP384R1()), "wide"), public_jwk(make_key({"RS256": "ES256", "ES256": "RS256"}[alg]), "kind"), {}]
    gateway = users(start_gateway, folder, alg, [*others, public_jwk(first, "one", use="sig", alg=alg), public_jwk(second, "two"), public_jwk(unnamed)])
    for key, kid, good in ((first, "one", True), (second, "two", True), (first, None, True), (second, None, True), (unnamed, None, True),
                           (unnamed, "whatever", True), (first, "two", False), (second, "three", False), (retired, "enc", False),
                           (retired, "other", False), (retired, None, False), (private, "one", False)):
        assert let_join(gateway, key, alg, kid) == good, kid
    assert not let_join(gateway, "s" * 40, "HS256", "secret")
    folder.write("users.json", json.dumps({"keys": [public_jwk(second, "two")]}))
    gateway.signal(signal.SIGHUP)
    gateway.wait_log("keys-read", user_keys=1)
    assert not let_join(gateway, first, alg, "one") and let_join(gateway, second, alg, "two")
    folder.write("users.json", "{")
    gateway.signal(signal.SIGHUP)
    gateway.wait_log("keys-kept")
    assert let_join(gateway, second, alg, "two")


def test_user_secrets_of_a_jwks(admin, start_gateway, folder):
    admin.create("s", status="paused", perUser="many")
    keys = [{"kty": "oct", "k": tokens.b64(letter.encode() * 40), "kid": letter} for letter in "ab"]
    gateway = users(start_gateway, folder, "HS256", [*keys, public_jwk(tokens.rsa_key(), "rsa")])
    for letter, kid, good in (("a", "a", True), ("b", "b", True), ("b", None, True), ("a", "b", False), ("c", None, False)):
        assert let_join(gateway, letter * 40, "HS256", kid) == good, (letter, kid)


def test_a_pem_takes_any_kid(admin, start_gateway, folder):
    admin.create("s", status="paused", perUser="many")
    key = tokens.rsa_key()
    gateway = users(start_gateway, folder, "RS256", pem(key))
    assert let_join(gateway, key, "RS256", "theirs") and let_join(gateway, key, "RS256")
    assert not let_join(gateway, tokens.rsa_key(), "RS256", "theirs")


RSA_KEYS = [tokens.rsa_key() for _ in range(2)]


def padded(size):
    """A JWKS of so many bytes."""
    text = json.dumps({"keys": [public_jwk(RSA_KEYS[0])]})
    return text + " " * (size - len(text))


def test_the_limits_of_a_key_file(admin, start_gateway, folder):
    for good in ([public_jwk(RSA_KEYS[n % 2], f"k{n}") for n in range(16)], padded(65536)):
        users(start_gateway, folder, "RS256", good).stop()


@pytest.mark.parametrize("alg,keys,why", [
    ("RS256", [public_jwk(RSA_KEYS[n % 2], f"k{n}") for n in range(17)], "more than 16"),
    ("RS256", padded(65537), "64 KiB"),
    ("RS256", [], "none of its keys"),
    ("RS256", [{"kty": "oct", "k": tokens.b64(b"s" * 40)}], "none of its keys"),
    ("HS256", [public_jwk(RSA_KEYS[0])], "none of its keys"),
    ("ES256", [public_jwk(RSA_KEYS[0])], "none of its keys"),
    ("RS256", [{**public_jwk(RSA_KEYS[0]), "n": "not base64url!"}], "malformed"),
    ("RS256", [{**public_jwk(RSA_KEYS[0]), "n": None}], "malformed"),
    ("RS256", [{**public_jwk(RSA_KEYS[0]), "e": "AQ"}], "malformed"),
    ("RS256", [{**public_jwk(RSA_KEYS[0]), "e": "Ag"}], "malformed"),
    ("RS256", [{**public_jwk(RSA_KEYS[0]), "kid": 7}], "kid"),
    ("RS256", [{**public_jwk(RSA_KEYS[0]), "kid": "k" * 129}], "kid"),
    ("RS256", [public_jwk(tokens.rsa_key(1024))], "2048"),
    ("ES256", [{"kty": "EC", "crv": "P-256", "x": tokens.b64(b"\1" * 32), "y": tokens.b64(b"\1" * 32)}], "malformed"),
    ("ES256", [{"kty": "EC", "crv": "P-256", "x": tokens.b64(b"\1" * 31), "y": tokens.b64(b"\1" * 33)}], "malformed"),
    ("HS256", [{"kty": "oct", "k": tokens.b64(b"s" * 31)}], "32 bytes"),
    ("HS256", '{"keys": "as they were meant to be"}                    ', "no JSON object"),
    ("HS256", '{ "k": "and this is not even JSON, though long enough ', "no JSON object"),
    ("HS256", pem(RSA_KEYS[0]), "is a PEM"),
    ("RS256", "{}", "no JSON object"),
    ("RS256", '{"keys":[],"keys":[]}', "no JSON object"),
    ("RS256", "", "is empty"),
    ("RS256", USER_KEY, "no PEM public key"),
])
def test_bad_user_keys_stop_the_start(start_gateway, folder, alg, keys, why):
    text = keys if isinstance(keys, str) else json.dumps({"keys": keys})
    gateway = start_gateway(wait=False, user_auth="jwt", user_alg=alg, user_key_file=folder.write("users.json", text), user_audience="queue")
    assert gateway.exit_code() == 2 and why in gateway.text(), gateway.text()
