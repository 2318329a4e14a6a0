"""A unix-socket proxy in front of Redis that knows connections by their CLIENT SETNAME and can hold back what Redis answers."""

import collections
import pathlib
import selectors
import socket
import threading


class Proxy:
    """Bytes pass as they are. hold(NAME) keeps answers to that connection back; release(NAME) lets them go, in order."""

    def __init__(self, folder, target):
        self.path = pathlib.Path(folder) / "proxy.sock"
        self.url = f"unix://{self.path}"
        self.target = str(target)
        self._held = set()
        self._asked = collections.Counter()
        self._lock = threading.Condition()
        self._server = socket.socket(socket.AF_UNIX)
        self._server.bind(str(self.path))
        self._server.listen(64)
        self._sockets = [self._server]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            redis = socket.socket(socket.AF_UNIX)
            redis.connect(self.target)
            self._sockets += [client, redis]
            threading.Thread(target=self._pump, args=(client, redis), daemon=True).start()

    def _pump(self, client, redis):
        name, kept, seen = None, b"", b""
        with selectors.DefaultSelector() as ready:
            ready.register(client, selectors.EVENT_READ)
            ready.register(redis, selectors.EVENT_READ)
            while True:
                for key, _ in ready.select(0.02):
                    try:
                        data = key.fileobj.recv(1 << 20)
                    except OSError:
                        data = b""
                    if not data:
                        client.close()
                        redis.close()
                        return
                    if key.fileobj is client:
                        if name is None:
                            seen += data
                            if b"SETNAME" in seen:
                                name = seen.split(b"SETNAME", 1)[1].split(b"\r\n")[2].decode()
                        with self._lock:
                            self._asked[name] += data.count(b"\r\nHMGET\r\n")
                        redis.sendall(data)
                    else:
                        kept += data
                with self._lock:
                    held = name in self._held
                if kept and not held:
                    try:
                        client.sendall(kept)
                    except OSError:
                        redis.close()
                        return
                    kept = b""

    def hold(self, name):
        with self._lock:
            self._held.add(name)

    def release(self, name):
        with self._lock:
            self._held.discard(name)

    def questions(self, name):
        """How often that connection has asked for (epoch, rev) of a session: its only HMGET, as scripts are EVALSHA."""
        with self._lock:
            return self._asked[name]

    def close(self):
        for sock in self._sockets:
            sock.close()
