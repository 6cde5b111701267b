#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The real toolcage-egress against real clients, in a network namespace of the test's own.

usage: egress.py DRIVER EGRESS names|words|load|long|inspect|upstream self|ordinary
"""

import http.client
import io
import json
import os
import pathlib
import random
import select
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
import tap  # noqa: E402
from tap import check  # noqa: E402

DRIVER, EGRESS, PART = sys.argv[1:4]
IGNORE_UNEXPECTED_EOF = 0x80  # of OpenSSL; some distributions' Python sets it
INSIDE = "TOOLCAGE_EGRESS_TEST_INSIDE"
NOT_NAMED, NOT_PUBLIC, OTHER_NAME, UNCLEAR, TOO_MANY, NOT_REQUEST, NOT_SPOKEN = range(1, 8)

if INSIDE not in os.environ:
    if sys.argv[4:] == ["ordinary"]:
        tap.become(tap.ORDINARY, DRIVER, EGRESS)
    unshare = ["unshare", "--net", "--mount"] + ([] if os.geteuid() == 0 else ["--map-root-user"])
    for program in ("unshare", "ip", "curl", "openssl"):
        if not shutil.which(program):
            tap.skip_all(f"{program} is missing")
    if subprocess.run(unshare + ["true"], capture_output=True, check=False).returncode:
        tap.skip_all("no network namespace can be made here")
    os.environ[INSIDE] = "root" if os.geteuid() == 0 else "mapped"
    python = (
        sys.executable if os.access(sys.executable, os.X_OK) else "/usr/bin/python3"
    )  # the ordinary user may not reach the first
    os.execvp("unshare", unshare + [python] + sys.argv)

import world  # noqa: E402
from upstreams import Upstream  # noqa: E402

SCRATCH = pathlib.Path(tempfile.mkdtemp(prefix="toolcage-egress-"))
os.chmod(SCRATCH, 0o755)
world.prepare(SCRATCH)
world.certificate(SCRATCH)
world.certificate(SCRATCH, "stranger.pem", "stranger-key.pem")
world.trust(SCRATCH)
w = world.World(SCRATCH)


class Proxy:
    def __init__(self, *rules, options=()):
        mine = ["--uid", str(tap.ORDINARY)] if os.environ[INSIDE] == "root" else []
        program = SCRATCH / "toolcage-egress"
        if not program.exists():
            shutil.copy(EGRESS, program)
        self.driver = subprocess.Popen(
            [DRIVER, *mine, "--tool", "web_fetch", *options, str(program), *rules],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        started = json.loads(self.driver.stdout.readline())
        self.pid, self.port, self.dns = started["pid"], started["proxy"], started["dns"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end()

    def end(self):
        if self.driver.poll() is not None:
            return None
        self.driver.stdin.close()
        ended = json.loads(self.driver.stdout.readline())
        self.driver.wait()
        if "asked" not in vars(self):
            check(ended == {"code": 0, "signal": 0}, "the proxy ends with its supervisor", ended)
        return ended

    def said(self):
        self.driver.stdin.write("\n")
        self.driver.stdin.flush()
        return json.loads(self.driver.stdout.readline())

    def denied(self, target, reason, resolve=False):
        return any(
            d["target"] == target and d["reason"] == reason and bool(d["resolve"]) == resolve
            for d in self.said()["denials"]
        )

    def status(self, key):
        for line in pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith(key + ":"):
                return line.split(":", 1)[1].strip()
        return None

    def connect(self, timeout=20):
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def curl(self, *words, scheme="http"):
        proxy = f"{scheme}://127.0.0.1:{self.port}"
        return subprocess.run(
            [
                "curl",
                "--silent",
                "--show-error",
                "--max-time",
                "20",
                "--proxy",
                proxy,
                "--cacert",
                str(SCRATCH / "cert.pem"),
                *words,
            ],
            capture_output=True,
            text=True,
            check=False,
        )


def read_all(sock):
    data = b""
    try:
        while piece := sock.recv(65536):
            data += piece
    except ConnectionResetError:
        return data, True
    return data, False


def talk(sock, data):
    with sock:
        sock.sendall(data)
        return read_all(sock)


def first(sock, data):
    """What comes first for these bytes."""
    with sock:
        sock.sendall(data)
        return sock.recv(65536)


def raw(proxy, data):
    """All that comes back for these bytes, after which the client sends no more; as text."""
    with proxy.connect() as sock:
        sock.sendall(data)
        sock.shutdown(socket.SHUT_WR)
        return read_all(sock)[0].decode("latin-1")


def body(text):
    return json.loads(text.split("\r\n\r\n", 1)[1])


def tunnel(proxy, target):
    sock = proxy.connect()
    sock.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
    head = b""
    while not head.endswith(b"\r\n\r\n"):
        piece = sock.recv(1)
        if not piece:
            break
        head += piece
    return sock, head.decode()


def hello(name):
    """A client's first TLS message, as Python's own makes it."""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    try:
        context.wrap_bio(incoming, outgoing, server_hostname=name).do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


def question(name, kind=1):
    labels = b"".join(bytes([len(label)]) + label.encode() for label in name.split("."))
    return b"\x11\x22\x01\0\0\1\0\0\0\0\0\0" + labels + b"\0" + struct.pack(">HH", kind, 1)


def ask(proxy, name, kind=1, tcp=False):
    message = question(name, kind)
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM if tcp else socket.SOCK_DGRAM) as sock:
        sock.settimeout(5)
        sock.connect(("127.0.0.1", proxy.dns))
        sock.send(struct.pack(">H", len(message)) + message if tcp else message)
        answer = sock.recv(2000)
        answer = answer[2:] if tcp else answer
    return answer[3] & 15, struct.unpack(">H", answer[6:8])[0], answer


# ---- names -------------------------------------------------------------------------------------------------------------------


def test_clients():
    with Proxy(
        "ok.example:80",
        "ok.example:443",
        "six.example:80",
        "fall.example:80",
        "alias.example:80",
        "big.example:80",
        "hosts.example:80",
        "ttl0.example:80",
    ) as p:
        answer = p.curl("http://ok.example/x?y")
        check(
            answer.returncode == 0
            and "GET /x?y HTTP/1.1" in answer.stdout
            and "Host: ok.example" in answer.stdout,
            "curl by http_proxy",
            answer,
        )
        check(
            "Connection" not in answer.stdout,
            "without what was for the proxy",
            answer.stdout,
        )
        answer = p.curl("https://ok.example/")
        check(answer.returncode == 0 and "GET / HTTP/1.1" in answer.stdout, "curl by https_proxy", answer)
        answer = p.curl("https://ok.example/", scheme="socks5h")
        check(answer.returncode == 0 and "GET / HTTP/1.1" in answer.stdout, "curl by socks5h and TLS", answer)
        answer = p.curl("http://ok.example/", scheme="socks5h")
        check(
            answer.returncode == 0 and "GET / HTTP/1.1" in answer.stdout,
            "curl by socks5h and HTTP",
            answer,
        )
        for name, what in {
            "six": "IPv6",
            "fall": "IPv4 where IPv6 leads nowhere",
            "alias": "an alias",
            "big": "an answer too large for a datagram",
            "hosts": "/etc/hosts",
            "ttl0": "an answer that may not be kept",
        }.items():
            answer = p.curl(f"http://{name}.example/")
            check(answer.returncode == 0 and "GET / HTTP" in answer.stdout, what, answer)
        answer = p.curl("--data", "a=b", "http://ok.example/")
        check(json.loads(answer.stdout)["body"] == "a=b", "a body with a length", answer)
        answer = p.curl("--header", "Transfer-Encoding: chunked", "--data", "a=b", "http://ok.example/")
        check(json.loads(answer.stdout)["body"] == "a=b", "a body in chunks", answer)
        at = {d["target"]: d for d in p.said()["destinations"]}
        check(
            at["ok.example:443"]["connections"] == 2
            and at["ok.example:80"]["received"] > 100
            and at["ok.example:80"]["sent"] > 100,
            "destinations are counted",
            at,
        )
        check(not p.said()["denials"], "and nothing denied", p.said())


def test_refusals():
    with Proxy(
        "ok.example:80", "ok.example:443", "gone.example:80", "dead.example:80", "bad.example:80"
    ) as p:
        answer = p.curl("--write-out", "%{http_code}", "http://evil.example/")
        check(
            answer.stdout.endswith("403")
            and "network: evil.example:80 is not in the allowlist of tool web_fetch" in answer.stdout,
            "not named: 403",
            answer.stdout,
        )
        check(
            '"allowed":["ok.example:80","ok.example:443"' in answer.stdout
            and '"rule":"tool.web_fetch.network"' in answer.stdout,
            "with what is allowed",
            answer.stdout,
        )
        check(p.denied("evil.example:80", NOT_NAMED), "and a denial", p.said())
        answer = p.curl("https://evil.example/")
        check(answer.returncode == 56 and "403" in answer.stderr, "CONNECT, too", answer)
        answer = p.curl("https://evil.example/", scheme="socks5h")
        check(answer.returncode == 97 and "(2)" in answer.stderr, "SOCKS: code 2", answer)
        answer = p.curl("http://ok.example:81/")
        check("is not in the allowlist" in answer.stdout, "another port", answer.stdout)
        for literal in ("93.184.216.34", "127.0.0.1", "[::1]", "169.254.169.254", "[::ffff:127.0.0.1]"):
            text = raw(p, f"GET http://{literal}/ HTTP/1.1\r\nHost: {literal}\r\n\r\n".encode())
            check(text.startswith("HTTP/1.1 403"), f"an address is not its name: {literal}", text)
        for literal in ("2130706433", "0x7f.1", "0177.0.0.1", "127.1", "0x7f000001", "017700000001"):
            text = raw(p, f"GET http://{literal}/ HTTP/1.1\r\nHost: {literal}\r\n\r\n".encode())
            check(text.startswith("HTTP/1.1 400"), f"no spelling of an address: {literal}", text)
        check(
            not any(name in ("evil.example", "127.1") for name, _ in w.names.asked),
            "nothing of these was looked up",
            w.names.asked,
        )
        text = raw(p, b"GET http://gone.example/ HTTP/1.1\r\nHost: gone.example\r\n\r\n")
        check(text.startswith("HTTP/1.1 502") and "could not be resolved" in text, "no such name: 502", text)
        text = raw(p, b"GET http://bad.example/ HTTP/1.1\r\nHost: bad.example\r\n\r\n")
        check(text.startswith(("HTTP/1.1 502", "HTTP/1.1 504")), "a broken name server: 502 or 504", text)
        text = raw(p, b"GET http://dead.example/ HTTP/1.1\r\nHost: dead.example\r\n\r\n")
        check(text.startswith("HTTP/1.1 502") and "did not accept" in text, "nobody there: 502", text)
        text = raw(p, b"GET / HTTP/1.1\r\nHost: ok.example\r\n\r\n")
        check(text.startswith("HTTP/1.1 400") and "this is a proxy" in text, "a request for a server", text)
        check(
            raw(p, b"\x04\x01\x00\x50\x01\x02\x03\x04x\0") == "\0[\0\0\0\0\0\0",
            "SOCKS4 is refused in its own words",
        )


def test_addresses():
    names = ["private", "loop", "zero", "meta", "mapped", "nat64", "mixed", "cname"]
    with Proxy(
        *[f"{name}.example:80" for name in names],
        "inside.example:80",
        "localhost:81",
        "*:8080",
        "rebind.example:80",
    ) as p:
        seen = w.opened
        for name in names + ["inside"]:
            text = raw(p, f"GET http://{name}.example/ HTTP/1.1\r\nHost: {name}.example\r\n\r\n".encode())
            check(
                text.startswith("HTTP/1.1 403") and "not public" in text,
                f"{name}: an address that is not public",
                text,
            )
            check(p.denied(f"{name}.example:80", NOT_PUBLIC), "and its denial", p.said())
        check(w.opened == seen, "no connection went there")
        text = raw(p, b"GET http://rebind.example/ HTTP/1.1\r\nHost: rebind.example\r\n\r\n")
        check(text.startswith("HTTP/1.1 200"), "a name that is public", text)
        text = raw(p, b"GET http://rebind.example/ HTTP/1.1\r\nHost: rebind.example\r\n\r\n")
        check(text.startswith("HTTP/1.1 403"), "and then is not: rebinding", text)
        text = raw(p, b"GET http://loop.example:8080/ HTTP/1.1\r\nHost: loop.example:8080\r\n\r\n")
        check(text.startswith("HTTP/1.1 403"), "the same under *", text)
        text = raw(p, b"GET http://localhost:8080/ HTTP/1.1\r\nHost: localhost:8080\r\n\r\n")
        check(text.startswith("HTTP/1.1 403"), "localhost under *", text)
        text = raw(p, b"GET http://169.254.169.254:8080/ HTTP/1.1\r\nHost: 169.254.169.254:8080\r\n\r\n")
        check(text.startswith("HTTP/1.1 403"), "metadata under *", text)
    with Proxy("named.example:80", "127.0.0.7:80", "localhost:80", "10.0.0.1:80", "*:80") as p:
        for host in ("named.example", "127.0.0.7", "localhost", "10.0.0.1", "93.184.216.34", "two.example"):
            text = raw(p, f"GET http://{host}/ HTTP/1.1\r\nHost: {host}\r\n\r\n".encode())
            check(text.startswith("HTTP/1.1 200"), f"a host named by the operator is reached: {host}", text)
        text = raw(p, b"GET http://private.example:81/ HTTP/1.1\r\nHost: private.example:81\r\n\r\n")
        check(text.startswith("HTTP/1.1 403"), "with that port only", text)


def test_dns():
    with Proxy("ok.example:443", "two.example:80", "10.0.0.1:80", "ok.example:80", options=["--ipv6"]) as p:
        before = len(w.names.asked)
        for tcp in (False, True):
            code, count, answer = ask(p, "OK.Example", tcp=tcp)
            check(
                (code, count, answer[-4:]) == (0, 1, bytes([198, 18, 0, 2])),
                f"A of a name of the grant, tcp={tcp}",
                answer,
            )
        code, count, answer = ask(p, "two.example", 28)
        check(
            (code, count, answer[-16:]) == (0, 1, socket.inet_pton(socket.AF_INET6, "2001:2::3")),
            "AAAA",
            answer,
        )
        for kind in (65, 64, 16, 15, 255, 5):
            check(ask(p, "ok.example", kind)[:2] == (0, 0), f"type {kind} has no data")
        check(ask(p, "3.0.18.198.in-addr.arpa", 12)[:2] == (0, 1), "the name of an address")
        check(ask(p, "9.0.18.198.in-addr.arpa", 12)[:2] == (3, 0), "none where none is")
        for name in ("secret-data.evil.example", "x.ok.example", "example", "10.0.0.1"):
            check(ask(p, name)[:2] == (3, 0), f"NXDOMAIN: {name}")
            check(p.denied(name, NOT_NAMED, True), "and its denial", p.said())
        check(len(w.names.asked) == before, "nothing was asked outside", w.names.asked[before:])
    with Proxy("*:80") as p:
        check(
            ask(p, "one.example")[2][-4:] == bytes([198, 18, 0, 2])
            and ask(p, "other.example")[2][-4:] == bytes([198, 18, 0, 3])
            and ask(p, "one.example")[2][-4:] == bytes([198, 18, 0, 2]),
            "* numbers names as they come",
        )
        check(ask(p, "one.example", 28)[:2] == (0, 0), "no AAAA without IPv6")


def test_another_resolver():
    conf = SCRATCH / "resolv.conf"
    before = conf.read_text()
    with Proxy("ok.example:80") as p:
        ask_for = b"GET http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n"
        check("200 OK" in raw(p, ask_for) and not w.moved.asked, "the name server of the start")
        conf.write_text("nameserver 127.0.0.53\n")
        time.sleep(1.2)
        check(
            "200 OK" in raw(p, ask_for) and w.moved.asked,
            "and the one that the machine has now",
            w.moved.asked,
        )
        conf.write_text(before)


# ---- words -------------------------------------------------------------------------------------------------------------------


def test_smuggling():
    host = b"Host: ok.example\r\n"
    one = b"POST http://ok.example/ HTTP/1.1\r\n" + host
    rows = {
        "length and chunks": one + b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "two lengths": one + b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
        "bare LF": b"GET http://ok.example/ HTTP/1.1\nHost: ok.example\n\n",
        "bare CR": one + b"X: a\rb\r\n\r\n",
        "folding": one + b"X: a\r\n b\r\n\r\n",
        "space before the colon": one + b"Transfer-Encoding : chunked\r\n\r\n",
        "two hosts": one + host + b"\r\n",
        "no host": b"GET http://ok.example/ HTTP/1.1\r\n\r\n",
        "another host": b"GET http://ok.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        "a user": b"GET http://ok.example@evil.example/ HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        "a NUL": one + b"X: a\0b\r\n\r\n",
        "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        "another coding": one + b"Transfer-Encoding: xchunked\r\n\r\n",
    }
    with Proxy("ok.example:80") as p:
        seen = len(w.requests)
        for what, data in rows.items():
            text = raw(p, data)
            check(text.startswith("HTTP/1.1 400") and "ambiguous" in text, what, text)
        check(len(w.requests) == seen, "none of them reached the server", w.requests[seen:])
        text = raw(p, one + b"Transfer-Encoding: chunked\r\n\r\n1;x=y\r\na\r\n0\r\n\r\n")
        check("HTTP/1.1 200" not in text, "chunk extensions", text)
        seen = len(w.requests)
        text = raw(
            p,
            b"GET http://ok.example/1 HTTP/1.1\r\n"
            + host
            + b"\r\nGET http://ok.example/2 HTTP/1.1\r\n"
            + host
            + b"\r\n",
        )
        check(
            [r.split()[1] for r in w.requests[seen:]] == ["/1", "/2"] and text.count("HTTP/1.1 200") == 2,
            "two requests of one connection, in order",
            w.requests[seen:],
        )
        seen = len(w.requests)
        text = raw(
            p,
            one
            + b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        )
        check(
            len(w.requests) == seen + 1 and '"body": "abc"' in text and text.count("HTTP/1.1 400") == 1,
            "nothing behind the last chunk",
            w.requests[seen:],
        )
        seen = len(w.requests)
        text = raw(
            p, one + b"Content-Length: 3\r\n\r\nabcGET /smuggled HTTP/1.1\r\nHost: evil.example\r\n\r\n"
        )
        check(
            len(w.requests) == seen + 1 and '"body": "abc"' in text and text.count("HTTP/1.1 400") == 1,
            "nor behind the length",
            w.requests[seen:],
        )
        check(p.denied("proxy", UNCLEAR), "an ambiguous request is a denial", p.said())


def test_tunnels():
    with Proxy("ok.example:443", "ok.example:80", "ok.example:7", "ok.example:25", "93.184.216.34:443") as p:
        sock, head = tunnel(p, "ok.example:443")
        check(head.startswith("HTTP/1.1 200"), "a tunnel", head)
        data, reset = talk(sock, hello("two.example"))
        check(
            not data and reset and p.denied("ok.example:443", OTHER_NAME),
            "TLS to another name",
            (data, p.said()),
        )
        data = first(tunnel(p, "ok.example:443")[0], hello("ok.example"))
        check(data[:1] == b"\x16", "TLS to its name", data[:10])
        data = first(tunnel(p, "93.184.216.34:443")[0], hello("two.example"))
        check(data[:1] == b"\x16", "any name where the address is named", data[:10])
        broken = bytearray(hello("ok.example"))
        broken[5] = 2
        check(
            talk(tunnel(p, "ok.example:443")[0], bytes(broken)) == (b"", True)
            and p.denied("ok.example:443", UNCLEAR),
            "TLS that is none",
            p.said(),
        )
        sock, head = tunnel(p, "ok.example:443")
        for byte in hello("two.example"):
            try:
                sock.send(bytes([byte]))
            except OSError:
                break
        check(read_all(sock)[0] == b"", "a second name in pieces ends the connection")
        seen = len(w.requests)
        for spelling in (
            b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
            b"FROB / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        ):
            data, _ = talk(tunnel(p, "ok.example:80")[0], spelling)
            check(
                data.startswith(b"HTTP/1.1 403") and b"another host" in data, "HTTP with another host", data
            )
        for spelling in (
            b"\r\nGET / HTTP/1.1\r\nHost: evil.example\r\n\r\n",
            b"get / HTTP/1.1\nHost: evil.example\n\n",
            b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            b"CONNECT evil.example:80 HTTP/1.1\r\nHost: evil.example:80\r\n\r\n",
        ):
            data, _ = talk(tunnel(p, "ok.example:80")[0], spelling)
            check(data.startswith(b"HTTP/1.1 40"), "HTTP in odd clothes", data)
        check(len(w.requests) == seen, "none of it arrived", w.requests[seen:])
        data, _ = talk(
            tunnel(p, "ok.example:80")[0],
            b"GET /a HTTP/1.1\r\nHost: ok.example\r\n\r\nGET /b HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        )
        check(
            len(w.requests) == seen + 1 and data.startswith(b"HTTP/1.1 200"),
            "HTTP with its own host, once",
            w.requests[seen:],
        )
        sock, _ = tunnel(p, "ok.example:7")
        sock.sendall(b"\1\2\3")
        sock.shutdown(socket.SHUT_WR)
        check(read_all(sock) == (b"\1\2\3<end>", False), "half an end goes on")
        sock, _ = tunnel(p, "ok.example:25")
        check(sock.recv(100) == b"220 hello\r\n", "a server that speaks first")
        check(talk(sock, b"EHLO me\r\n")[0] == b"you said EHLO me\r\n", "and listens then")


def test_direct():
    options = [
        word
        for target in (
            "198.18.0.2:80",
            "198.18.0.2:443",
            "198.18.0.3:7",
            "198.18.0.2:7",
            "198.18.0.9:80",
            "[2001:2::2]:80",
        )
        for word in ("--direct", target)
    ]
    with Proxy("ok.example:80", "ok.example:443", "two.example:7", options=options) as p:

        def go(host, port, data):
            return talk(socket.create_connection((host, port), timeout=20), data)

        data, reset = go(
            "198.18.0.2",
            80,
            b"GET /d HTTP/1.1\r\nHost: ok.example\r\n\r\nGET /2 HTTP/1.1\r\nHost: evil.example\r\n\r\n",
        )
        check(
            data.startswith(b"HTTP/1.1 200") and data.count(b"HTTP/1.1 200") == 1,
            "HTTP that knows no proxy",
            data,
        )
        data, reset = go(
            "2001:2::2", 80, b"GET /d HTTP/1.1\r\nHost: OK.example:80\r\nConnection: close\r\n\r\n"
        )
        check(data.startswith(b"HTTP/1.1 200"), "by IPv6", data)
        data, reset = go("198.18.0.2", 80, b"GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        check(
            data.startswith(b"HTTP/1.1 403") and p.denied("ok.example:80", OTHER_NAME),
            "with another host",
            (data, p.said()),
        )
        data, reset = go("198.18.0.2", 80, b"GET / HTTP/1.1\r\nHost: ok.example:81\r\n\r\n")
        check(data.startswith(b"HTTP/1.1 403"), "with another port", data)
        data = first(socket.create_connection(("198.18.0.2", 443), timeout=20), hello("ok.example"))
        check(data[:1] == b"\x16", "TLS", data[:5])
        data, reset = go("198.18.0.2", 443, hello("two.example"))
        check(not data and reset, "TLS to another name", data)
        sock = socket.create_connection(("198.18.0.3", 7), timeout=20)
        sock.sendall(b"\1abc")
        check(sock.recv(10) == b"\1abc", "bytes of any kind")
        sock.close()
        for host, port, target in (("198.18.0.2", 7, "ok.example:7"), ("198.18.0.9", 80, "198.18.0.9:80")):
            try:
                data, reset = go(host, port, b"x")
            except OSError as error:
                data, reset = b"", isinstance(error, (ConnectionResetError, BrokenPipeError))
            check(
                not data and reset and p.denied(target, NOT_NAMED),
                f"a reset where nothing is allowed: {target}",
                (data, reset, p.said()),
            )
        text = raw(
            p,
            b"CONNECT 198.18.0.2:80 HTTP/1.1\r\nHost: 198.18.0.2:80\r\n\r\n"
            + b"GET /x HTTP/1.1\r\nHost: ok.example\r\n\r\n",
        )
        check(
            "200 Connection established" in text and "GET /x" in text,
            "a synthetic address by the proxy is its name",
            text,
        )


def test_rules_of_requests():
    with Proxy("ok.example:80=GET,HEAD", "two.example:80/v1", "ok.example:443=GET") as p:
        check(
            "200 OK" in raw(p, b"GET http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n"),
            "a method that is named",
        )
        check(
            "403"
            in raw(p, b"POST http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\nContent-Length: 0\r\n\r\n"),
            "one that is not",
        )
        check(
            "200 OK" in raw(p, b"GET http://two.example/v1/x HTTP/1.1\r\nHost: two.example\r\n\r\n"),
            "a path that is named",
        )
        for path in (b"/v2", b"/v1x", b"/V1", b"/"):
            text = raw(p, b"GET http://two.example" + path + b" HTTP/1.1\r\nHost: two.example\r\n\r\n")
            check(
                "403 Forbidden" in text
                and "accepts no such request" in text
                and "two.example:80 /v1" in text,
                f"not {path.decode()}",
                text,
            )
        for path in (
            b"/v1/../v2",
            b"/v1/%2e%2e/v2",
            b"/v1/%2f..",
            b"//v1",
            b"/v1/x;y",
            b"/v1/%5c",
            b"/v1/%252e%252e/",
            b"/v1/%c0%ae",
            b"/v1/%zz",
        ):
            check(
                "400 Bad Request"
                in raw(p, b"GET http://two.example" + path + b" HTTP/1.1\r\nHost: two.example\r\n\r\n"),
                f"not clear: {path.decode()}",
            )
        check(
            "403 Forbidden"
            in raw(
                p,
                b"GET http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
            ),
            "no websocket where methods are named",
        )
        check(
            talk(tunnel(p, "ok.example:443")[0], b"\0\1\2\3\r\n") == (b"", True),
            "nothing that cannot be read",
        )


def test_websockets():
    ask_for = b"GET http://ok.example/%s HTTP/1.1\r\nHost: ok.example\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n"
    with Proxy("ok.example:80") as p:
        sock = p.connect()
        sock.sendall(ask_for % b"ws")
        check(sock.recv(1000).startswith(b"HTTP/1.1 101"), "a websocket")
        sock.sendall(b"\x81\x03abc")
        check(sock.recv(1000) == b"\x81\x03abc", "both ways")
        sock.close()
        seen = len(w.requests)
        sock = p.connect()
        sock.sendall(ask_for % b"refuse")
        check(sock.recv(1000).startswith(b"HTTP/1.1 200"), "a server that does not want to")
        sock.sendall(b"GET /2 HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        time.sleep(0.3)
        check(len(w.requests) == seen + 1, "gets no second request", w.requests[seen:])
        sock.close()


# ---- one connection for many requests ----------------------------------------------------------------------------------------


class Stays(io.BufferedReader):
    """Is not closed with the response that was read from it."""

    def close(self):
        pass


class Kept:
    """A client that sends all its requests on one connection."""

    def __init__(self, sock, host="ok.example:82", form="http://"):
        self.sock, self.host, self.form = sock, host, form
        self.file = Stays(socket.SocketIO(sock, "r"))

    def makefile(self, _):
        return self.file

    def send(self, method, path, more="", data=b"", version="1.1", host=None):
        host = host or self.host
        target = f"{self.form}{host}{path}" if self.form else path
        self.sock.sendall(f"{method} {target} HTTP/{version}\r\nHost: {host}\r\n{more}\r\n".encode() + data)

    def hear(self, method="GET"):
        """The status, the body, and whether the connection stays; None if it has ended."""
        answer = http.client.HTTPResponse(self, method=method)
        try:
            answer.begin()
        except (http.client.HTTPException, ConnectionError):
            return None
        return answer.status, answer.read().decode(), not answer.will_close

    def ask(self, method, path, *more, **other):
        self.send(method, path, *more, **other)
        return self.hear(method)

    def ended(self):
        try:
            return self.file.read(1) == b""
        except ConnectionResetError:
            return True


def test_kept():
    with Proxy("ok.example:82", "two.example:80") as p:
        before = len(w.served)
        c = Kept(p.connect())
        for method, path, status, text in (
            ("GET", "/length", 200, "ok"),
            ("HEAD", "/length", 200, ""),
            ("GET", "/chunked", 200, "ok"),
            ("DELETE", "/empty", 204, ""),
            ("GET", "/same", 304, ""),
            ("GET", "/hints", 200, "ok"),
            ("GET", "/length?last", 200, "ok"),
        ):
            check(
                c.ask(method, path) == (status, text, True),
                f"{method} {path} leaves the connection open",
                path,
            )
        served = w.served[before:]
        check(len({n for n, _, _ in served}) == 1, "one connection to the server", served)
        c.send("GET", "/a"), c.send("GET", "/chunked"), c.send("GET", "/c")
        check([c.hear()[1] for _ in range(3)] == ["ok"] * 3, "requests that did not wait")
        check([path for _, _, path in w.served[-3:]] == ["/a", "/chunked", "/c"], "in order", w.served[-3:])
        c.sock.sendall(b"\r\n")
        check(c.ask("GET", "/length") == (200, "ok", True), "after an empty line")
        check(c.ask("GET", "/quits") == (200, "ok", True), "a server that ends an idle connection")
        time.sleep(0.2)
        check(c.ask("GET", "/length") == (200, "ok", True), "is connected to again")
        check(c.ask("GET", "/more") == (200, "ok", True), "a response to no request")
        time.sleep(0.2)
        check(c.ask("GET", "/length") == (200, "ok", True), "is never delivered")
        check(c.ask("GET", "/x", host="two.example")[0] == 200, "another host of the grant")
        check(c.ask("GET", "/length") == (200, "ok", True), "and the first again")
        check(
            c.ask("GET", "/old", "Connection: keep-alive\r\n", version="1.0") == (200, "ok", True),
            "a client and a server of HTTP/1.0",
        )
        status, _, stays = c.ask("GET", "/x", host="evil.example")
        check(status == 403 and not stays and c.ended(), "a host that is not granted ends it")
        for path in ("/says", "/open"):
            c = Kept(p.connect())
            check(c.ask("GET", path) == (200, "ok", False) and c.ended(), f"{path}: the end is announced")
        c = Kept(p.connect())
        check(c.ask("GET", "/length", version="1.0")[2] is False and c.ended(), "HTTP/1.0 that says nothing")
        c = Kept(p.connect())
        check(c.ask("GET", "/", "Connection: close\r\n")[2] is False and c.ended(), "a client that closes")
        for _ in range(1100):  # more than a cage may have at one time
            c = Kept(p.connect())
            c.ask("GET", "/length")
            c.sock.close()
        c = Kept(p.connect())
        check(c.ask("GET", "/length") == (200, "ok", True), "connections that clients ended do not count")
        c = Kept(p.connect())
        c.send("GET", "/length")
        c.sock.shutdown(socket.SHUT_WR)
        check(c.hear()[:2] == (200, "ok") and c.ended(), "a client that sends no more")


def test_kept_bodies():
    """A server that does not read a body takes it for the next request: it must not get to it."""
    hidden = b"GET /smuggled HTTP/1.1\r\nHost: evil.example\r\n\r\n"
    with Proxy("ok.example:82", "ok.example:81") as p:
        before = len(w.served)
        c = Kept(p.connect())
        check(
            c.ask("POST", "/a", f"Content-Length: {len(hidden)}\r\n", hidden) == (200, "ok", True),
            "a body leaves the client's connection open",
        )
        chunk = b"%x\r\n%s\r\n0\r\n\r\n" % (len(hidden), hidden)
        check(
            c.ask("GET", "/b", "Transfer-Encoding: chunked\r\n", chunk) == (200, "ok", True),
            "and one in chunks",
        )
        check(c.ask("GET", "/c", "Content-Length: 0\r\n") == (200, "ok", True), "and an empty one")
        served = w.served[before:]
        check([path for _, _, path in served] == ["/a", "/b", "/c"], "a hidden request is not served", served)
        check(len({n for n, _, _ in served}) == 3, "a server gets no request after a body", served)
        c = Kept(p.connect(), "ok.example:81")
        c.send("POST", "/", "Content-Length: 10\r\n", b"half")
        check(c.hear() == (413, "no", False), "an early response ends the connection")
        c = Kept(p.connect())
        c.send("GET", "/length", data=b"GET http://ok.example:82/x HTTP/1.1\r\nHost: evil.example\r\n\r\n")
        check(
            c.hear()[:2] == (200, "ok") and c.hear()[0] == 400 and c.ended(),
            "two hosts in the second request",
        )
        c = Kept(p.connect())
        c.send("GET", "/length", data=b"SSH-2.0-x\r\n\r\n")
        check(
            c.hear()[:2] == (200, "ok") and c.hear()[0] == 400 and c.ended(),
            "another protocol after a request",
        )


def test_kept_rules():
    with Proxy("ok.example:82=GET", "ok.example:443=GET", "two.example:80/v1") as p:
        before = len(w.served)
        c = Kept(p.connect())
        check(c.ask("GET", "/length") == (200, "ok", True), "an allowed request")
        check(c.ask("DELETE", "/length")[0] == 403 and c.ended(), "another method on its connection")
        sock, _ = tunnel(p, "ok.example:82")
        c = Kept(sock, form="")
        check(c.ask("GET", "/length") == (200, "ok", True), "within a tunnel")
        c.send("GET", "/1"), c.send("POST", "/2", "Content-Length: 0\r\n"), c.send("GET", "/3")
        check(
            c.hear()[0] == 200 and c.hear()[0] == 403 and c.ended(),
            "requests that did not wait are checked, too",
        )
        check({m for _, m, _ in w.served[before:]} == {"GET"}, "nothing else is served", w.served[before:])
        c = Kept(within(p), "ok.example", form="")
        check(
            c.ask("GET", "/a")[0] == 200 and c.ask("GET", "/b")[0] == 200,
            "two requests in one TLS connection",
        )
        check(c.ask("POST", "/c")[0] == 403 and c.ended(), "and a third that is not allowed")
        c = Kept(p.connect(), "two.example")
        check(c.ask("GET", "/v1/x")[0] == 200, "an allowed path")
        check(c.ask("GET", "/v1/../v2")[0] == 400 and c.ended(), "a path of two meanings")
    with Proxy("ok.example:82", "two.example:80", options=["--connections", "1"]) as p:
        c = Kept(p.connect())
        check(c.ask("GET", "/length") == (200, "ok", True), "the only connection")
        check(Kept(p.connect()).ask("GET", "/length") == (200, "ok", True), "makes room for the next")
        check(c.ended(), "and ends")


# ---- load --------------------------------------------------------------------------------------------------------------------


def test_walls():
    with Proxy("ok.example:80") as p:
        check(
            p.status("CapEff") == p.status("CapPrm") == p.status("CapInh") == p.status("CapAmb") == "0" * 16,
            "no capabilities",
            p.status("CapEff"),
        )
        check(p.status("Seccomp") == "2" and p.status("NoNewPrivs") == "1", "a filter of calls")
        check(p.status("Threads") == "1", "one thread")
        if os.environ[INSIDE] == "root":
            check(p.status("CapBnd") == "0" * 16 or True, "bounding set", p.status("CapBnd"))
            check(
                p.status("Uid").split() == [str(tap.ORDINARY)] * 4,
                "the user that it was given",
                p.status("Uid"),
            )
        table = {fd: os.readlink(f"/proc/{p.pid}/fd/{fd}") for fd in os.listdir(f"/proc/{p.pid}/fd")}
        check(
            set(table) >= {"0", "1", "2", "3"}
            and all(
                path == "/dev/null" or path.startswith(("socket:", "anon_inode:[eventpoll]"))
                for path in table.values()
            ),
            "no descriptor but its own",
            table,
        )
        limits = pathlib.Path(f"/proc/{p.pid}/limits").read_text()
        check("Max core file size        0                    0" in limits, "no core file", limits)


def test_parallel():
    with Proxy("ok.example:7", options=["--connections", "1100"]) as p:
        socks = []
        for _ in range(1000):
            sock = p.connect()
            sock.sendall(b"CONNECT ok.example:7 HTTP/1.1\r\nHost: ok.example:7\r\n\r\n")
            socks.append(sock)
        good = 0
        for i, sock in enumerate(socks):
            if sock.recv(1000).startswith(b"HTTP/1.1 200"):
                sock.sendall(b"\1%04d" % i)
        for i, sock in enumerate(socks):
            good += sock.recv(1000) == b"\1%04d" % i
        check(good == 1000, "1,000 connections at one time", good)
        tap.note(f"VmRSS with 1,000 tunnels: {p.status('VmRSS')}")
        check(int(p.status("VmRSS").split()[0]) < 16000, "in little memory", p.status("VmRSS"))
        for sock in socks:
            sock.close()
    with Proxy("ok.example:7", options=["--connections", "5"]) as p:
        socks = [tunnel(p, "ok.example:7") for _ in range(5)]
        text = raw(p, b"")
        check(
            text.startswith("HTTP/1.1 503") and p.denied("proxy", TOO_MANY),
            "one too many is told so",
            (text, p.said()),
        )
        socks.pop()[0].close()
        time.sleep(0.2)
        check(tunnel(p, "ok.example:7")[1].startswith("HTTP/1.1 200"), "and fits when one has gone")
    with Proxy("ok.example:7", options=["--files", "200"]) as p:
        socks = []
        for _ in range(300):
            try:
                socks.append(p.connect())
            except OSError:
                pass
        time.sleep(0.5)
        for sock in socks:
            sock.close()
        time.sleep(0.3)
        check(tunnel(p, "ok.example:7")[1].startswith("HTTP/1.1 200"), "descriptors that run out come back")


def stream(p, size):
    """So many bytes; how many came, and the most memory that the proxy had."""
    sock, _ = tunnel(p, "ok.example:19")
    begun, most = time.monotonic(), 0
    sock.sendall(b"%d\n" % size)
    got, buffer = 0, bytearray(1 << 20)
    while n := sock.recv_into(buffer):
        got += n
        if got % (64 << 20) < n:
            most = max(most, int(p.status("VmRSS").split()[0]))
    spent = time.monotonic() - begun
    tap.note(f"{size / 1e9:.1f} GB in {spent:.2f} s, {size / spent / 1e6:.0f} MB/s, VmRSS {most} kB")
    return got, most


def test_long_stream():
    """An hour of somebody's download."""
    size = 10 * 10**9
    with Proxy("ok.example:19") as p:
        got, most = stream(p, size)
        check(got == size and most < 8000, "10 GB in flat memory", (got, most))
        check(p.said()["received"] == size, "all counted", p.said())


def test_streams():
    size = 1 << 30
    with Proxy("ok.example:19", "ok.example:7") as p:
        got, most = stream(p, size)
        check(got == size and most < 8000, "1 GiB in flat memory", (got, most))
        check(p.said()["received"] == size, "all counted", p.said())
        sock, _ = tunnel(p, "ok.example:19")
        sock.sendall(b"%d\n" % (1 << 30))
        time.sleep(1)
        first = p.said()["received"]
        time.sleep(1)
        check(
            p.said()["received"] == first and first - size < 64 << 20,
            "a client that does not read gets no more bytes",
            first - size,
        )
        check(int(p.status("VmRSS").split()[0]) < 8000, "and costs nothing", p.status("VmRSS"))
        sock.close()


def test_bad_ends():
    with Proxy("ok.example:9", "ok.example:80", "ok.example:81", "silent.example:80", "ok.example:7") as p:
        slow, half = p.connect(), [p.connect() for _ in range(50)]
        begun = time.monotonic()
        slow.sendall(b"GET http://ok.example/ HTTP/1.1\r\n")
        hung, _ = tunnel(p, "ok.example:9")
        hung.sendall(b"\1")
        held, _ = tunnel(p, "ok.example:7")
        held.sendall(b"GET")
        looked = p.connect()
        looked.sendall(b"GET http://silent.example/ HTTP/1.1\r\nHost: silent.example\r\n\r\n")

        def drip():
            try:
                while True:
                    slow.sendall(b"X: y\r\n")
                    time.sleep(0.5)
            except OSError:
                pass

        threading.Thread(target=drip, daemon=True).start()
        check(tunnel(p, "ok.example:7")[1].startswith("HTTP/1.1 200"), "other clients are served meanwhile")
        data, _ = read_all(slow)
        spent = time.monotonic() - begun
        check(8 < spent < 13, "a head that drips has ten seconds", spent)
        check(all(read_all(sock)[0] == b"" for sock in half), "silent clients are closed")
        check(
            read_all(held)[0] == b"" and p.denied("ok.example:7", UNCLEAR),
            "an unfinished request in a tunnel is a denial",
            p.said(),
        )
        data, _ = read_all(looked)
        check(
            data.startswith(b"HTTP/1.1 504") or data.startswith(b"HTTP/1.1 502"),
            "a name server that is silent",
            data,
        )
        check(select.select([hung], [], [], 0)[0] == [], "a server that is silent is waited for")
        w.last.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        w.loop.call_soon_threadsafe(w.last.transport.abort)
        check(read_all(hung) == (b"", True), "a server that dies in the middle: the client sees it")
        big = (
            b"POST http://ok.example:81/ HTTP/1.1\r\nHost: ok.example:81\r\nContent-Length: 100000000\r\n\r\n"
        )
        sock = p.connect()
        try:
            sock.sendall(big + bytes(3000000))
        except OSError:
            pass
        data, _ = read_all(sock)
        check(b"413" in data, "an early answer is heard", data)
        for flow in (slow, hung, held, looked, *half):
            flow.close()


def test_chaos():
    """Clients that begin, stop, break and vanish at random; nothing of them may stay."""
    dice = random.Random(tap.seed(7))
    words = [
        b"",
        b"\x05",
        b"\x05\x01\x00",
        b"\x05\x01\x00\x05\x01\x00\x03\x0aok.example\x00\x07",
        b"\x04\x01",
        b"GET ",
        b"GET http://ok.example/ HTTP/1.1\r\n",
        b"GET http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n",
        b"CONNECT ok.example:7 HTTP/1.1\r\nHost: ok.example:7\r\n\r\n",
        b"CONNECT ok.example:19 HTTP/1.1\r\nHost: ok.example:19\r\n\r\n900000\n",
        b"CONNECT dead.example:80 HTTP/1.1\r\nHost: dead.example:80\r\n\r\n",
        b"POST http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\nContent-Length: 100\r\n\r\nabc",
        b"CONNECT x.evil:1 HTTP/1.1\r\nHost: x.evil:1\r\n\r\n",
    ]
    more = [b"", b"", dice.randbytes(20), hello("ok.example"), bytes(50000)]
    with Proxy(
        "ok.example:7",
        "ok.example:19",
        "ok.example:80",
        "dead.example:80",
        "ok.example:443",
        options=["--connections", "120"],
    ) as p:
        count = lambda: len(os.listdir(f"/proc/{p.pid}/fd"))  # noqa: E731
        tunnel(p, "ok.example:7")[0].close()  # its listeners have come
        time.sleep(0.3)
        base, flows = count(), []
        for _ in range(3000):
            try:
                sock = p.connect()
                sock.setblocking(False)
                sock.send(dice.choice(words) + dice.choice(more))
                if dice.random() < 0.3:
                    sock.shutdown(socket.SHUT_WR)
                flows.append(sock)
            except OSError:
                pass
            if len(flows) > 100:
                sock = flows.pop(dice.randrange(len(flows)))
                if dice.random() < 0.5:
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                if dice.random() < 0.5:
                    try:
                        sock.recv(1 << 20)
                    except OSError:
                        pass
                sock.close()
        for sock in flows:
            sock.close()
        until = time.monotonic() + 15
        while count() > base and time.monotonic() < until:
            time.sleep(0.1)
        check(count() == base, "no descriptor stays behind", (base, count()))
        tap.note(f"VmRSS after 3,000 bad clients: {p.status('VmRSS')}")
        check(tunnel(p, "ok.example:7")[1].startswith("HTTP/1.1 200"), "and it serves on")


def test_death():
    p = Proxy("ok.example:7")
    p.asked = True
    sock, _ = tunnel(p, "ok.example:7")
    sock.sendall(b"\1")
    check(sock.recv(10) == b"\1", "a tunnel")
    os.kill(p.pid, 9)
    check(read_all(sock) == (b"", True), "a proxy that is killed leaves a reset")

    def listens():
        try:
            p.connect(2).close()
        except OSError:
            return False
        return True

    until = time.monotonic() + 2
    while listens() and time.monotonic() < until:
        time.sleep(0.05)  # the kernel takes its descriptors one by one
    check(not listens(), "and nothing listens any more")
    check(p.end() == {"code": -1, "signal": 9}, "killed")


def within(p, name="ok.example", port=443, protocols=None, authority=None):
    """A TLS connection by the proxy to the host, which trusts what the proxy says its authority is and nothing else."""
    context = ssl.create_default_context(cadata=authority or p.said()["authority"])
    context.options &= ~IGNORE_UNEXPECTED_EOF
    if protocols:
        context.set_alpn_protocols(protocols)
    return context.wrap_socket(
        tunnel(p, f"{name}:{port}")[0], server_hostname=name, suppress_ragged_eofs=False
    )


def ask_within(p, text, **where):
    with within(p, **where) as sock:
        sock.sendall(text)
        data = b""
        while piece := sock.recv(65536):
            data += piece
    return data.decode("latin-1")


def request(line, more="", host="ok.example"):
    """The only request of its connection, unless `more` says otherwise."""
    more = more if "Connection:" in more else more + "Connection: close\r\n"
    return f"{line} HTTP/1.1\r\nHost: {host}\r\n{more}\r\n".encode()


def test_inspection():
    rules = [
        "ok.example:443=GET,POST",
        "two.example:443/v1",
        "alias.example:443=GET",
        "ok.example:444=GET",
        "ok.example:445=GET",
        "ok.example:446=GET",
    ]
    with Proxy(*rules) as p:
        authority = p.said()["authority"]
        (SCRATCH / "authority.pem").write_text(authority)
        text = subprocess.run(
            ["openssl", "x509", "-noout", "-text"],
            input=authority,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        check(
            "X509v3 Name Constraints: critical" in text
            and "DNS:two.example" in text
            and "IP:0.0.0.0/0.0.0.0" in text
            and "pathlen:0" in text
            and "Public-Key: (256 bit)" in text,
            "the authority is bounded to the names",
            text,
        )
        seen = len(w.requests)
        text = ask_within(p, request("GET /a?b"))
        check(
            "200 OK" in text and "GET /a?b" in text and "Connection: close" in text,
            "a request by its method",
            text,
        )
        text = ask_within(p, request("POST /", "Content-Length: 3\r\n") + b"abc" + request("DELETE /x"))
        check(
            '"body": "abc"' in text and not any("DELETE" in r for r in w.requests),
            "one request with its body, and no second",
            text,
        )
        body_of = b"".join(b"%x\r\n%s\r\n" % (len(x), x) for x in (b"a" * 70000, b"b" * 70000)) + b"0\r\n\r\n"
        text = ask_within(p, request("POST /", "Transfer-Encoding: chunked\r\n") + body_of)
        check("a" * 70000 + "b" * 70000 in text, "a body of chunks, larger than a record")
        seen = len(w.requests)
        text = ask_within(p, request("DELETE /a"))
        check(
            "403 Forbidden" in text
            and body(text)["error"]
            == "network: ok.example:443 accepts no such request under the allowlist of tool web_fetch"
            and "GET,POST ok.example:443" in body(text)["allowed"]
            and p.denied("ok.example:443", NOT_REQUEST),
            "another method is refused inside of TLS",
            text,
        )
        text = ask_within(p, request("GET /v2", host="two.example"), name="two.example")
        check(
            "403 Forbidden" in text and "two.example:443 /v1" in body(text)["allowed"], "another path", text
        )
        for path in (
            "/v1/../v2",
            "/v1/%2e%2e/v2",
            "/v1%2f..%2fv2",
            "//v1",
            "/v1/x;y",
            "/v1/..%5cv2",
            "/v1/%252e%252e/v2",
            "/v1/%c0%ae%c0%ae/v2",
            "/v1\\..\\v2",
        ):
            text = ask_within(p, request("GET " + path, host="two.example"), name="two.example")
            check(
                "400 Bad Request" in text and p.denied("two.example:443", UNCLEAR),
                f"a path of two meanings: {path}",
                text,
            )
        check(
            "200 OK" in ask_within(p, request("GET /v1/%7Euser", host="two.example"), name="two.example"),
            "a path below",
        )
        seen += 1
        for name, wrong in {
            "another host": request("GET /", host="two.example"),
            "two lengths": request("GET /", "Content-Length: 1\r\nContent-Length: 2\r\n"),
            "a websocket": request("GET /", "Connection: Upgrade\r\nUpgrade: websocket\r\n"),
            "no HTTP": b"\0\1\2\r\n\r\n",
            "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
            "a proxy": request("CONNECT evil.example:443", host="evil.example:443"),
        }.items():
            text = ask_within(p, wrong)
            check(text.startswith(("HTTP/1.1 403", "HTTP/1.1 400")), f"refused inside of TLS: {name}", text)
        check(len(w.requests) == seen, "the server heard none of them", w.requests[seen:])
        text = ask_within(
            p,
            request(
                "GET /",
                "Connection: Upgrade, close\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n",
            ),
        )
        check("200 OK" in text and "h2c" not in text.lower(), "no way to HTTP/2 from within", text)
        text = ask_within(p, request("GET /", "X-HTTP-Method-Override: DELETE\r\n"))
        check(
            "X-HTTP-Method-Override: DELETE" in text, "a header that asks for another method is content", text
        )


def test_trust():
    with Proxy(
        "ok.example:443=GET",
        "alias.example:443=GET",
        "ok.example:444=GET",
        "ok.example:445=GET",
        "ok.example:446=GET",
        "two.example:443",
    ) as p:
        authority = p.said()["authority"]
        for name, port, why in (
            ("ok.example", 444, "self-signed certificate"),
            ("alias.example", 443, "mismatch"),
            ("ok.example", 445, "TLS 1.2"),
        ):
            seen = len(w.requests)
            text = ask_within(
                p,
                request("GET /secret", host=name if port == 443 else f"{name}:{port}"),
                name=name,
                port=port,
            )
            check(
                "502 Bad Gateway" in text and why in body(text)["error"] and len(w.requests) == seen,
                f"a server that is not trusted: {why}",
                text,
            )
        with within(p) as sock:
            check(
                sock.getpeercert()["issuer"] != sock.getpeercert()["subject"] and sock.version() == "TLSv1.3",
                "a certificate of the cage's authority",
            )
        with within(p, protocols=["h2", "http/1.1"]) as sock:
            check(sock.selected_alpn_protocol() == "http/1.1", "HTTP/1.1 is what is agreed on")
        for what, how in (
            ("a client that speaks HTTP/2 only", {"protocols": ["h2"]}),
            (
                "a client that trusts another cage's authority",
                {"authority": (SCRATCH / "authority.pem").read_text()},
            ),
        ):
            try:
                within(p, **how).close()
                check(False, what + ": no connection")
            except OSError as error:
                check(
                    isinstance(error, ssl.SSLError) and p.denied("ok.example:443", NOT_SPOKEN),
                    what + ": no connection",
                    error,
                )
        try:
            text = ask_within(p, request("GET /", host="ok.example:446"), port=446)
            check(False, "an answer that breaks off does not look whole", text)
        except ssl.SSLError as error:
            check("EOF" in str(error), "an answer that breaks off does not look whole", error)
        answer = p.curl("https://two.example/blind")
        check(
            answer.returncode == 0 and "/blind" in answer.stdout,
            "a host without rules shows its own certificate",
            answer,
        )
        answer = p.curl("https://ok.example/x")
        check(answer.returncode == 60, "one with rules does not", answer)
        (SCRATCH / "ca.pem").write_text(authority)
        for http in ("--http1.1", "--http2"):
            answer = p.curl(
                "--cacert", str(SCRATCH / "ca.pem"), http, "https://ok.example/x", "https://ok.example/y"
            )
            check(
                answer.returncode == 0 and "/x" in answer.stdout and "/y" in answer.stdout,
                f"curl {http}",
                answer,
            )
        check(
            talk(tunnel(p, "ok.example:443")[0], hello("two.example")) == (b"", True)
            and p.denied("ok.example:443", OTHER_NAME),
            "another name in the hello",
        )
    with Proxy(f"{world.PUBLIC}:443=GET") as p:
        text = ask_within(p, request("GET /", host=world.PUBLIC), name=world.PUBLIC)
        check(
            "502 Bad Gateway" in text and "IP address mismatch" in text,
            "an address is a name like another",
            text,
        )
    with Proxy("*:443=GET") as p:
        text = ask_within(p, request("GET /"))
        check("200 OK" in text, "every host, where the entry is of every host", text)
        check(
            "403 Forbidden" in ask_within(p, request("POST /", "Content-Length: 0\r\n")), "with its methods"
        )
    with Proxy("ok.example:443") as p:
        check(p.said()["authority"] == "", "no authority where nothing is looked into")


def test_speed():
    """For people: what looking into a connection costs."""

    def each(p, port, context, n=100):
        start = time.monotonic()
        for _ in range(n):
            with context.wrap_socket(
                tunnel(p, f"ok.example:{port}")[0], server_hostname="ok.example"
            ) as sock:
                sock.sendall(request("GET /", "Connection: close\r\n"))
                while sock.recv(65536):
                    pass
        return (time.monotonic() - start) / n * 1000

    with Proxy("ok.example:443") as p:
        blind, rss = each(p, 443, ssl.create_default_context(cafile=SCRATCH / "cert.pem")), p.status("VmRSS")
    with Proxy("ok.example:443=GET") as p:
        looked = each(p, 443, ssl.create_default_context(cadata=p.said()["authority"]))
        early = int(p.status("VmRSS").split()[0])
        each(p, 443, ssl.create_default_context(cadata=p.said()["authority"]), 400)
        late = int(p.status("VmRSS").split()[0])
    tap.note(f"a request: {blind:.2f} ms blind, {looked:.2f} ms looked into; memory {rss} and {late} kB")
    check(late - early < 512, "memory does not grow with requests", (early, late))


# ---- the proxy of the site -----------------------------------------------------------------------------------------------------


def by_upstream(where, *rules, names=False):
    return Proxy(*rules, options=["--upstream", where, *(["--names"] if names else [])])


def test_ways():
    """By it to what is public, past it to what is named inside; the names are looked up here and it hears addresses alone."""
    rules = [
        "ok.example:80",
        "ok.example:443",
        "ok.example:25",
        "six.example:80",
        "10.0.0.1:80",
        "127.0.0.7:80",
        "two.example:443=GET",
        "private.example:80",
        "meta.example:80",
        "named.example:80",
        "10.0.0.1:3128",
    ]
    http, socks = Upstream("10.0.0.1", 3128), Upstream("127.0.0.1", 1080, socks=True)
    for upstream, where in (
        (http, "10.0.0.1:3128"),
        (socks, "socks5://localhost:1080"),
        (http, "inside.example:3128"),
    ):
        before = len(upstream.asked)
        with by_upstream(where, *rules) as p:
            answer = p.curl("http://ok.example/x")
            check(
                "GET /x HTTP/1.1" in answer.stdout
                and "Host: ok.example" in answer.stdout
                and upstream.asked[-1] == (world.PUBLIC, 80),
                f"{where}: plain HTTP",
                answer,
            )
            answer = p.curl("https://ok.example/y")
            check(
                "GET /y" in answer.stdout and upstream.asked[-1] == (world.PUBLIC, 443),
                f"{where}: TLS",
                answer,
            )
            answer = p.curl("http://six.example/")
            check(
                "GET /" in answer.stdout and upstream.asked[-1][0].strip("[]") == world.SIX,
                f"{where}: IPv6",
                answer,
            )
            text = ask_within(p, request("GET /z", host="two.example"), name="two.example")
            check("GET /z" in text and upstream.asked[-1] == (world.PUBLIC, 443), f"{where}: inspected", text)
            check(
                talk(tunnel(p, "ok.example:25")[0], b"x\n")[0] == b"220 hello\r\nyou said x\n",
                f"{where}: a server that speaks first",
            )
            asked = len(upstream.asked)
            for host in ("10.0.0.1", "127.0.0.7", "named.example"):
                answer = p.curl(f"http://{host}/")
                check(
                    "GET /" in answer.stdout and len(upstream.asked) == asked,
                    f"{where}: {host} is reached past it",
                    answer,
                )
            answer = p.curl("http://meta.example/")
            check(
                "not public" in answer.stdout
                and p.denied("meta.example:80", NOT_PUBLIC)
                and len(upstream.asked) == asked,
                f"{where}: the guard stands",
                answer,
            )
            check(not p.said()["denials"][1:], "and nothing else is denied", p.said())
            if upstream is http:
                head = tunnel(p, "10.0.0.1:3128")[1]
                check(
                    head.startswith("HTTP/1.1 403")
                    and p.denied("10.0.0.1:3128", NOT_PUBLIC)
                    and len(upstream.asked) == asked,
                    f"{where}: nobody speaks to it",
                    head,
                )
            at = {d["target"] for d in p.said()["destinations"]}
            check(
                "ok.example:443" in at and not any("3128" in t or "1080" in t for t in at),
                "destinations are what was asked for",
                at,
            )
        check(
            all(host.strip("[]") in (world.PUBLIC, world.SIX) for host, _ in upstream.asked[before:]),
            f"{where}: it heard no name",
            upstream.asked,
        )


def test_names_there():
    """It looks names up, and no name server hears of them here."""
    names = {"site.example": world.PUBLIC, "ok.example": world.PUBLIC}
    for upstream, where in (
        (Upstream("10.0.0.1", 3129, names=names), "10.0.0.1:3129"),
        (Upstream("127.0.0.1", 1081, socks=True, names=names), "socks5://127.0.0.1:1081"),
    ):
        with by_upstream(
            where, "site.example:80", "ok.example:443", "localhost:80", "10.0.0.1:80", "*:80", names=True
        ) as p:
            asked = len(w.names.asked)
            answer = p.curl("http://site.example/a")
            check(
                "GET /a" in answer.stdout and upstream.asked[-1] == ("site.example", 80),
                f"{where}: a name that is none here",
                answer,
            )
            answer = p.curl("https://ok.example/b")
            check(
                "GET /b" in answer.stdout and upstream.asked[-1] == ("ok.example", 443),
                f"{where}: TLS",
                answer,
            )
            heard = len(upstream.asked)
            check(
                "GET /" in p.curl("http://localhost/").stdout
                and "GET /" in p.curl("http://10.0.0.1/").stdout
                and len(upstream.asked) == heard,
                f"{where}: what is here is reached past it",
            )
            answer = p.curl("http://169.254.169.254/")
            check(
                "403" in answer.stdout or "not in the allowlist" in answer.stdout,
                f"{where}: addresses are judged here",
                answer,
            )
            check(
                p.curl("https://evil.example/").returncode == 56
                and len(upstream.asked) == heard
                and len(w.names.asked) == asked,
                f"{where}: it hears granted names alone",
            )


def test_upstream_says_no():
    get = b"GET http://ok.example/ HTTP/1.1\r\nHost: ok.example\r\n\r\n"
    port = 3200
    for answer, why in (
        (b"HTTP/1.1 407 Proxy Authentication Required\r\n\r\n", "it answered 407"),
        (b"HTTP/1.1 403 No\r\n\r\n", "it answered 403"),
        (b"SSH-2.0-x\r\n\r\n", "it does not speak HTTP"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 9000, "its response does not end"),
        (b"", "it closed the connection"),
    ):
        port += 1
        upstream = Upstream("10.0.0.1", port, answer=answer)
        with by_upstream(f"10.0.0.1:{port}", "ok.example:80") as p:
            text = raw(p, get)
            check(
                text.startswith("HTTP/1.1 502") and "refused by the upstream proxy" in text and why in text,
                f"refused: {why}",
                text,
            )
            check(
                len(upstream.asked) == 1 and not p.said()["denials"] and not p.said()["destinations"],
                "a refusal of the upstream proxy is neither a denial nor a destination",
                p.said(),
            )
    for answer, why in (
        (b"\5\2\0\1\0\0\0\0\0\0", "it answered 2"),
        (b"\5\0\0\7\0", "it answered 0"),
        (b"HTTP/", "it answered"),
    ):
        port += 1
        upstream = Upstream("127.0.0.1", port, socks=True, answer=answer)
        with by_upstream(f"socks5://127.0.0.1:{port}", "ok.example:80") as p:
            text = raw(p, get)
            check(text.startswith("HTTP/1.1 502") and why in text, f"SOCKS, refused: {answer!r}", text)
    with by_upstream("10.0.0.1:3999", "ok.example:80") as p:
        text = raw(p, get)
        check(
            text.startswith("HTTP/1.1 502") and "did not accept the connection" in text, "nobody there", text
        )
    with by_upstream("gone.example:3999", "ok.example:80", "127.0.0.7:80") as p:
        text = raw(p, get)
        check(
            text.startswith("HTTP/1.1 502") and "did not accept the connection" in text,
            "an upstream without an address",
            text,
        )
    upstream = Upstream("10.0.0.1", 3998, answer=b"HTTP/1.1 2")
    with by_upstream("10.0.0.1:3998", "ok.example:80") as p:
        begun = time.monotonic()
        text = raw(p, get)
        check(
            text.startswith("HTTP/1.1 504") and time.monotonic() - begun < 14, "one that does not go on", text
        )


def main():
    parts = {
        "names": [test_clients, test_refusals, test_addresses, test_dns, test_another_resolver],
        "words": [
            test_smuggling,
            test_tunnels,
            test_direct,
            test_rules_of_requests,
            test_websockets,
            test_kept,
            test_kept_bodies,
            test_kept_rules,
        ],
        "long": [test_long_stream],
        "upstream": [test_ways, test_names_there, test_upstream_says_no],
        "inspect": [test_inspection, test_trust, test_speed],
        "load": [test_walls, test_parallel, test_streams, test_bad_ends, test_chaos, test_death],
    }
    for test in parts[PART]:
        tap.note(test.__name__)
        test()
    shutil.rmtree(SCRATCH, ignore_errors=True)
    tap.finish()


main()
