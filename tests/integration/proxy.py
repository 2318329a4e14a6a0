"""A unix-socket proxy in front of Redis that knows connections by their CLIENT SETNAME and can hold back what Redis answers."""

import collections
import contextlib
import pathlib
import selectors
import socket
import threading

import support


class Proxy:
    """Bytes pass as they are. hold(NAME) keeps answers to that connection back; release(NAME) lets them go, in order."""

    def __init__(self, folder, target):
        self.path = pathlib.Path(folder) / "proxy.sock"
        self.url = f"unix://{self.path}"
        self.target = str(target)
        self._held = set()
        self._asked = collections.Counter()
        self._ends = {}
        self._armed = {}
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
                            self._ends[name] = (client, redis)
                            for word in (b"HMGET", b"EVALSHA"):
                                count = data.count(b"\r\n" + word + b"\r\n")
                                self._asked[name, word.decode()] += count
                                if count and self._armed.get(name) == word.decode():
                                    del self._armed[name]
                                    self._held.add(name)
                        with contextlib.suppress(OSError):
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

    def hold_from(self, name, command):
        """Holds answers back from the next COMMAND on, and waits for it."""
        with self._lock:
            self._armed[name] = command
        support.wait_until(lambda: name in self._held, what=f"{name} to send {command}")

    def release(self, name):
        with self._lock:
            self._held.discard(name)

    def asked(self, name, command):
        """How often that connection has sent COMMAND (HMGET: where is the line; EVALSHA: any script)."""
        with self._lock:
            return self._asked[name, command]

    def cut(self, name):
        """That connection breaks, with whatever answers were held back."""
        with self._lock:
            self._held.discard(name)
            for end in self._ends.pop(name):
                with contextlib.suppress(OSError):  # its owner may have given it up already
                    end.shutdown(socket.SHUT_RDWR)

    def close(self):
        for sock in self._sockets:
            sock.close()
