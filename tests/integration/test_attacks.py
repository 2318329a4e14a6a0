"""Tokens that are none: forged, altered, of another kind, of another time. Nobody is let in, and nothing is written."""

import json
import time

import jwt
import pytest

import support
import tokens
from test_refusals import USER_KEY, ticket_for, user_token
from test_site import assert_problem, call, redeem, release, verify
from tokens import HEADER, entry_token, key_id, raw_claims, raw_token

NOW = int(time.time())


def with_header(**more):
    header = {**json.loads(HEADER), **more}
    return raw_token(json.dumps({name: value for name, value in header.items() if value is not None}), raw_claims() + "}")


def changed(token, part, at):
    """The token with one character of a part exchanged."""
    parts = token.split(".")
    parts[part] = parts[part][:at] + ("A" if parts[part][at] != "A" else "B") + parts[part][at + 1:]
    return ".".join(parts)


def unsigned(alg):
    return raw_token(json.dumps({"alg": alg, "typ": "JWT", "kid": key_id()}), raw_claims() + "}").rsplit(".", 1)[0] + "."


def loose_end():
    """Bits of the last character that no byte of the signature has: another text for the same bytes."""
    alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_"
    token = entry_token()
    return token[:-1] + alphabet[alphabet.index(token[-1]) ^ 1]


def of_length(length):
    """A token with nothing wrong but its length."""
    claims = raw_claims() + ',"pad":"'
    for blanks in range(4):  # base64url has no length of 1 modulo 4
        for pad in range(1000, 1400):
            token = raw_token(HEADER + " " * blanks, claims + "x" * pad + '"}')
            if len(token) == length:
                return token
    raise AssertionError(length)


BAD = {
    "alg none": lambda: unsigned("none"),
    "alg None": lambda: unsigned("None"),
    "alg none with a signature": lambda: with_header(alg="none"),
    "alg none, two parts": lambda: unsigned("none")[:-1],
    "no alg": lambda: with_header(alg=None),
    "alg is a number": lambda: with_header(alg=256),
    "alg in lower case": lambda: with_header(alg="hs256"),
    "another alg of the family": lambda: entry_token(alg="HS512"),
    "another secret": lambda: entry_token(key="another-secret-0123456789-0123456789-0123", headers={"kid": key_id()}),
    "an empty secret": lambda: raw_token(HEADER, raw_claims() + "}", key=b""),
    "unknown kid": lambda: with_header(kid="0123456789abcdef"),
    "no kid": lambda: with_header(kid=None),
    "kid is a number": lambda: with_header(kid=7),
    "kid is a path": lambda: with_header(kid="../../dev/null"),
    "typ of a ticket": lambda: with_header(typ="anteroom-ticket+jwt"),
    "typ in lower case": lambda: with_header(typ="jwt"),
    "no typ": lambda: with_header(typ=None),
    "a key in the header": lambda: raw_token(json.dumps({"alg": "HS256", "typ": "JWT", "kid": "x", "jwk": {
        "kty": "oct", "k": tokens.b64(b"k" * 32)}}), raw_claims() + "}", key=b"k" * 32),
    "crit": lambda: with_header(crit=["exp"]),
    "crit and b64": lambda: with_header(crit=["b64"], b64=False),
    "duplicate alg": lambda: raw_token(HEADER[:-1] + ',"alg":"HS256"}', raw_claims() + "}"),
    "duplicate claim": lambda: raw_token(HEADER, raw_claims() + ',"exp":9999999999}'),
    "duplicate claim, escaped": lambda: raw_token(HEADER, raw_claims() + ',"\\u0065xp":9999999999}'),
    "header is an array": lambda: raw_token("[]", raw_claims() + "}"),
    "header is deep": lambda: raw_token("[" * 1500, raw_claims() + "}"),
    "claims are an array": lambda: raw_token(HEADER, "[]"),
    "claims are deep": lambda: raw_token(HEADER, '{"a":' + "[" * 1200),
    "claims and more": lambda: raw_token(HEADER, raw_claims() + "}{}"),
    "half a surrogate in the claims": lambda: raw_token(HEADER, raw_claims() + ',"a":"\\ud800"}'),
    "expired": lambda: entry_token(iat=NOW - 700, exp=NOW - 60),
    "no exp": lambda: entry_token(exp=None),
    "exp is text": lambda: entry_token(exp=str(NOW + 600)),
    "exp is a fraction": lambda: raw_token(HEADER, raw_claims(exp=None) + f',"exp":{NOW + 600}.0}}'),
    "exp with an exponent": lambda: raw_token(HEADER, raw_claims(exp=None) + ',"exp":9e9}'),
    "exp beyond all time": lambda: entry_token(exp=2 ** 62),
    "exp beyond 64 bits": lambda: raw_token(HEADER, raw_claims(exp=None) + ',"exp":99999999999999999999}'),
    "exp is negative": lambda: entry_token(exp=-1),
    "exp is true": lambda: entry_token(exp=True),
    "exp is null": lambda: raw_token(HEADER, raw_claims(exp=None) + ',"exp":null}'),
    "exp is a list": lambda: entry_token(exp=[NOW + 600]),
    "iat in the future": lambda: entry_token(iat=NOW + 3600, exp=NOW + 7200),
    "iat is text": lambda: entry_token(iat=str(NOW)),
    "nbf in the future": lambda: entry_token(nbf=NOW + 3600),
    "nbf is text": lambda: entry_token(nbf="0"),
    "another session": lambda: entry_token("other"),
    "a session that begins like it": lambda: entry_token("s2"),
    "no aud": lambda: entry_token(aud=None),
    "a list of audiences": lambda: entry_token(aud=["s", "other"]),
    "aud is a number": lambda: entry_token(aud=1),
    "another issuer": lambda: entry_token(iss="Anteroom"),
    "no issuer": lambda: entry_token(iss=None),
    "issuer is a list": lambda: entry_token(iss=["anteroom"]),
    "no jti": lambda: entry_token(jti=None),
    "jti is short": lambda: entry_token(jti="a" * 21),
    "jti is long": lambda: entry_token(jti="a" * 23),
    "jti with a brace": lambda: entry_token(jti="}" + "a" * 21),
    "jti with a NUL": lambda: entry_token(jti="a" * 21 + "\x00"),
    "jti is a number": lambda: entry_token(jti=10 ** 15),
    "a resume ticket": lambda: ticket_for(),
    "a resume ticket signed with the entry key": lambda: ticket_for(key=support.ENTRY_KEY),
    "a user token": lambda: user_token(aud="s", iss="anteroom", jti="a" * 22),
    "a user token with our kid": lambda: jwt.encode(tokens.claims_of(), USER_KEY, algorithm="HS256", headers={"kid": key_id()}),
    "no signature": lambda: entry_token().rsplit(".", 1)[0] + ".",
    "half a signature": lambda: entry_token()[:-20],
    "a longer signature": lambda: entry_token() + "AAAA",
    "padding": lambda: entry_token() + "=",
    "four parts": lambda: entry_token() + ".AAAA",
    "two parts": lambda: entry_token().rsplit(".", 1)[0],
    "a changed header": lambda: changed(entry_token(), 0, 10),
    "a changed claim": lambda: changed(entry_token(), 1, 30),
    "a changed signature": lambda: changed(entry_token(), 2, 0),
    "unused bits of the signature": loose_end,
    "in another alphabet": lambda: entry_token().replace(".", "+", 1),
    "a blank inside": lambda: entry_token().replace(".", ". ", 1),
    "just dots": lambda: "..",
    "one dot": lambda: ".",
    "a word": lambda: "token",
    "huge": lambda: entry_token(sub="x" * 9000),
    "one byte too long": lambda: of_length(2048),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_entry_tokens(gateway, client, name):
    token = BAD[name]()
    before = support.dump(client)
    for headers in ({"X-Entry-Token": token}, {"Authorization": f"Bearer {token}"}, {"Cookie": f"anteroom_entry_s={token}"}):
        assert_problem(verify(gateway, headers=headers), 401, "unauthorized")
    assert_problem(redeem(gateway, token, by="x"), 401, "unauthorized")
    assert_problem(release(gateway, token, "?sessionId=s"), 401, "unauthorized")
    assert support.dump(client) == before


def test_the_longest_token(gateway):
    assert verify(gateway, of_length(2047)).status_code == 204


def test_clocks_may_differ_by_half_a_minute(gateway):
    now = int(time.time())
    for claims in ({"iat": now - 600, "exp": now - 15}, {"iat": now + 15, "exp": now + 600}, {"nbf": now + 15}, {"iat": None},
                   {"ticket": None}):
        assert verify(gateway, entry_token(**claims)).status_code == 204, claims


def test_an_entry_token_is_no_ticket_and_no_user(admin, start_gateway, folder, visit):
    gateway = start_gateway(user_auth="jwt", user_key_file=folder.write("user.key", USER_KEY), user_audience="s")
    admin.create("s", status="paused")
    mine = {"Authorization": f"Bearer {user_token('me', aud='s')}"}
    token = entry_token()
    assert_problem(call(gateway, f"status?ticket={token}", headers=mine), 400, "bad-ticket")
    assert_problem(call(gateway, f"leave?ticket={token}", method="POST", headers=mine), 400, "bad-ticket")
    assert_problem(call(gateway, "join?sessionId=s", method="POST", headers={"Authorization": f"Bearer {token}"}), 401, "unauthorized")
    assert_problem(verify(gateway, headers=mine), 401, "unauthorized")
    assert verify(gateway, token, headers=mine).status_code == 204


@pytest.mark.parametrize("alg", ["RS256", "ES256"])
def test_algorithm_confusion(start_gateway, folder, alg):
    """What everybody may know, the public key, as the secret of an HMAC."""
    key = tokens.rsa_key() if alg == "RS256" else tokens.ec_key()
    public = tokens.pem(key)
    gateway = start_gateway(entry_alg=alg, entry_key_file=folder.write("public.pem", public))
    assert verify(gateway, entry_token(key=key, alg=alg)).status_code == 204
    kid = key_id(key)
    for secret in (public, public.rstrip(), key.public_key().public_bytes(tokens.serialization.Encoding.DER, tokens.PUBLIC[1])):
        for name in ("HS256", alg):
            header = json.dumps({"alg": name, "typ": "JWT", "kid": kid})
            assert_problem(verify(gateway, raw_token(header, raw_claims() + "}", key=secret)), 401, "unauthorized")
    assert_problem(verify(gateway, unsigned("none").replace(key_id(), kid)), 401, "unauthorized")
    assert_problem(verify(gateway, entry_token()), 401, "unauthorized")
    other = tokens.rsa_key() if alg == "RS256" else tokens.ec_key()
    assert_problem(verify(gateway, entry_token(key=other, alg=alg, headers={"kid": kid})), 401, "unauthorized")
    good = entry_token(key=key, alg=alg)
    for part, at in ((0, 5), (1, 5), (2, 0), (2, 40), (2, 80)):
        assert_problem(verify(gateway, changed(good, part, at)), 401, "unauthorized")
    assert_problem(verify(gateway, good[:-4]), 401, "unauthorized")


def test_es256_signatures_are_two_numbers_and_nothing_else(start_gateway, folder):
    key = tokens.ec_key()
    gateway = start_gateway(entry_alg="ES256", entry_key_file=folder.write("public.pem", tokens.pem(key)))
    signed = entry_token(key=key, alg="ES256").rsplit(".", 1)[0]
    der = key.sign(signed.encode(), tokens.ec.ECDSA(tokens.hashes.SHA256()))
    order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551
    r, s = tokens.decode_dss_signature(der)
    raw = [number.to_bytes(32, "big") for number in (r, s, order, 0, 1)]
    for bad in (der, raw[0] + raw[3], raw[3] + raw[3], raw[3] + raw[1], raw[2] + raw[2], raw[4] + raw[4], raw[0] + raw[1] + b"\0", raw[0]):
        assert_problem(verify(gateway, f"{signed}.{tokens.b64(bad)}"), 401, "unauthorized")
    assert verify(gateway, f"{signed}.{tokens.b64(raw[0] + raw[1])}").status_code == 204
