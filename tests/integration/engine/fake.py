# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""An engine that does what a test says: on a unix socket of its own, with an answer for each request."""

import re
import shutil
import socket
import tempfile
import threading
import time

NAME = "toolcage-01HOSTILE"


def answer(status, body="", more="", length=None):
    body = body if isinstance(body, bytes) else body.encode()
    length = len(body) if length is None else length
    return (
        f"HTTP/1.1 {status} X\r\nServer: {{server}}\r\nContent-Length: {length}\r\n{more}\r\n".encode() + body
    )


class Engine(threading.Thread):
    """Answers by a function of (method, path): bytes; None: never; "close": hangs up; a list: with pauses between."""

    def __init__(self, script, server="Docker/20.10 (linux)"):
        super().__init__(daemon=True)
        self.script, self.server, self.asked, self.bodies = script, server, [], []
        self.containers = set()
        self.place = tempfile.mkdtemp(prefix="toolcage-engine-")
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(f"{self.place}/socket")
        self.listener.listen(8)
        self.start()

    def run(self):
        try:
            while True:
                threading.Thread(target=self.serve, args=(self.listener.accept()[0],), daemon=True).start()
        except OSError:
            return

    def deaf(self):
        try:
            self.listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            return
        self.listener.close()

    def gone(self):
        self.deaf()
        shutil.rmtree(self.place)

    def serve(self, sock):
        rest = b""
        try:
            while True:
                while b"\r\n\r\n" not in rest:
                    more = sock.recv(65536)
                    if not more:
                        return
                    rest += more
                head, rest = rest.split(b"\r\n\r\n", 1)
                length = int((re.search(rb"(?i)content-length: *(\d+)", head) or [0, 0])[1])
                while len(rest) < length:
                    rest += sock.recv(1 << 20)
                body, rest = rest[:length], rest[length:]
                method, path = head.split(b"\r\n")[0].decode().split(" ")[:2]
                self.asked.append((method, path))
                self.bodies.append(body)
                what = self.script(self, method, path)
                for part in what if isinstance(what, list) else [what]:
                    if part is None:
                        time.sleep(3600)
                    elif part == "close":
                        sock.close()
                        return
                    elif isinstance(part, float):
                        time.sleep(part)
                    else:
                        sock.sendall(part.replace(b"{server}", self.server.encode()))
        except OSError:
            return

    def count(self, method, text):
        return sum(1 for m, p in self.asked if m == method and text in p)


def good(self, method, path):
    """An engine that does what it should; its containers end at once."""
    if "/create?name=" in path:
        self.containers.add(path.split("=")[1])
        return answer(201, '{"Id":"00ff"}')
    if path.endswith("/start"):
        return answer(204)
    if path.endswith("/wait"):
        return answer(200, '{"StatusCode":0}')
    if method == "DELETE":
        self.containers.discard(path.split("/")[3].split("?")[0])
        return answer(204)
    if "/containers/json" in path:
        return answer(200, "[]")
    if path.endswith("/json"):
        return answer(200 if path.split("/")[3] in self.containers else 404, "{}")
    return answer(404, '{"message":"no such page"}')
