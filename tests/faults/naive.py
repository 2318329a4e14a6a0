"""The stand-in that must lose people: pop, then publish, acknowledge and forget. A publisher as one would write it first."""

import sys
import time

import jwt
import redis


def batches_due(interval_ms, wall):
    """One each INTERVAL_MS; with WALL as many as have passed by the wall clock."""
    since, done = time.time(), 0
    while True:
        time.sleep(interval_ms / 1000)
        due = int((time.time() - since) * 1000 / interval_ms) if wall else done + 1
        yield max(0, due - done)
        done = max(due, done)


def main(url, session, batch, interval_ms, key, wall=""):
    client = redis.Redis.from_url(url, decode_responses=True, client_name="naive")
    key_of = ("session:{%s}:" % session).__add__
    epoch = client.hget(key_of("state"), "epoch")
    for count in batches_due(interval_ms, wall):
        for place, ticket in client.zpopmin(key_of("waiting"), batch * count):
            client.hset(key_of("state"), "head", int(ticket))
            now = int(time.time())
            token = jwt.encode({"iss": "anteroom", "aud": session, "sub": place, "jti": place, "iat": now, "exp": now + 600,
                                "ticket": int(ticket)}, key)
            client.xadd(key_of("admissions"), {"place": place, "ticket": int(ticket)})
            for name in client.hkeys(key_of("servers")):
                client.xadd(f"server:{name.rsplit('.', 1)[0]}:stream",
                            {"type": "entry", "session": session, "epoch": epoch, "place": place, "ticket": int(ticket),
                             "token": token, "expires": now + 600, "admitted": now * 1000}, nomkstream=True)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4]), *sys.argv[5:])
