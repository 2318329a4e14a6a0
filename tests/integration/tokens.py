"""Entry tokens made by somebody else than the publisher: right ones, and every way to get one wrong."""

import base64
import hashlib
import hmac
import json
import secrets
import time

import jwt
from cryptography.hazmat.primitives import hashes, serialization  # noqa: F401
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.asymmetric.utils import decode_dss_signature  # noqa: F401

import support

PUBLIC = (serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
PRIVATE = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())


def b64(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def key_id(key=support.ENTRY_KEY):
    """The kid of a key that has no name: from the hash of the hash of what is public, or of the secret."""
    if not isinstance(key, str):
        key = key.public_key().public_bytes(serialization.Encoding.DER, PUBLIC[1])
    inner = hashlib.sha256(key if isinstance(key, bytes) else key.encode()).digest()
    return hashlib.sha256(inner).hexdigest()[:16]


def new_place():
    return secrets.token_urlsafe(17)[:22]


def claims_of(session="s", **more):
    now = int(time.time())
    claims = {"iss": "anteroom", "aud": session, "sub": "u", "jti": new_place(), "iat": now, "exp": now + 600, "ticket": 1, **more}
    return {name: value for name, value in claims.items() if value is not None}


def entry_token(session="s", key=support.ENTRY_KEY, alg="HS256", headers=None, **more):
    """A valid one; claims given as None are left out, and so are headers."""
    head = {"kid": key_id(key), "typ": "JWT", **(headers or {})}
    return jwt.encode(claims_of(session, **more), key, algorithm=alg, headers=head)


def raw_token(header, claims, key=support.ENTRY_KEY):
    """Of texts, as they are, signed with HMAC-SHA256."""
    signed = f"{b64(header.encode())}.{b64(claims.encode())}"
    secret = key if isinstance(key, bytes) else key.encode()
    return f"{signed}.{b64(hmac.new(secret, signed.encode(), hashlib.sha256).digest())}"


HEADER = json.dumps({"alg": "HS256", "typ": "JWT", "kid": key_id()})


def raw_claims(**more):
    """The claims as text without the last brace, to go on with."""
    return json.dumps(claims_of(**more))[:-1]


def rsa_key(bits=2048):
    return rsa.generate_private_key(65537, bits)


def ec_key(curve=None):
    return ec.generate_private_key(curve or ec.SECP256R1())


def pem(key, private=False):
    return (key.private_bytes(*PRIVATE) if private else key.public_key().public_bytes(*PUBLIC)).decode()
