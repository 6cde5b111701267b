# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Attacks of a tool that may reach one service: on the others, through the proxy and around it."""

import contextlib
import os
import signal
import socket
import ssl
import threading

from scene import CAGED, Refused
from certificates import self_signed
from processes import below

PYTHON = "/usr/bin/python3"
# What every script begins with: how to speak to whoever is to carry it out; without a cage that is the service itself.
BEGIN = """
import os, socket, struct, sys
allowed, denied, token = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3].encode()
proxy = os.environ.get("http_proxy", "")
def dial(port=denied, host="127.0.0.1"):
    s = socket.create_connection((host, port), 5); s.settimeout(5); return s
def by_proxy():
    host, port = proxy[len("http://"):].split(":"); return dial(int(port), host)
def say(text):
    s = by_proxy(); s.sendall(text); return s
"""
CONNECT = """
if proxy:
    s = say(b"CONNECT 127.0.0.1:%d HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\n\\r\\n" % (denied, denied)); print(s.recv(4096))
else:
    s = dial()
s.sendall(token)
"""
SOCKS = """
if proxy:
    s = say(b"\\5\\1\\0"); s.recv(2); s.sendall(b"\\5\\1\\0\\1\\x7f\\0\\0\\1" + struct.pack(">H", denied)); print(s.recv(64))
else:
    s = dial()
s.sendall(token)
"""
FORWARD = """
request = b"POST %s HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\nContent-Length: %d\\r\\n\\r\\n" % (b"http://127.0.0.1:%d/" % denied if proxy else b"/", denied, len(token)) + token
s = say(request) if proxy else dial()
if not proxy: s.sendall(request)
print(s.recv(4096))
"""
# Spellings of 127.0.0.1 that one reader takes for a name and another for an address.
SPELLINGS = """
for host in ("127.1", "2130706433", "0x7f000001", "0177.0.0.1", "0x7f.1", "127.0.0.1.", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[::1]", "0", "0.0.0.0", "localhost", "localhost."):
    try:
        if proxy:
            s = say(b"CONNECT %s:%d HTTP/1.1\\r\\nHost: %s:%d\\r\\n\\r\\n" % (host.encode(), denied, host.encode(), denied)); s.recv(4096)
        else:
            s = dial(host=host.strip("[]").rstrip("."))
        s.sendall(token)
    except OSError as error:
        print(host, error)
"""
AFTER = """
def request(port):
    text = token if port == denied else b""
    return b"POST %s HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\nContent-Length: %d\\r\\n\\r\\n" % (b"http://127.0.0.1:%d/" % port if proxy else b"/", port, len(text)) + text
if proxy:
    s = say(request(allowed) + request(denied)); print(s.recv(4096))
else:
    dial().sendall(request(denied))
"""
SPLIT = """
hidden = b"GET /%s HTTP/1.1\\r\\nHost: elsewhere.example\\r\\n\\r\\n" % token
heads = [b"Content-Length: %d\\r\\nTransfer-Encoding: chunked" % len(b"0\\r\\n\\r\\n" + hidden), b"Transfer-Encoding: chunked\\r\\nTransfer-Encoding: identity", b"Transfer-Encoding : chunked",
         b"Transfer-Encoding: xchunked", b"Content-Length: 0\\r\\nContent-Length: 99", b"Content-Length: +0", b"Content-Length: 0\\n", b"X: y\\r\\n Content-Length: 99", b"Content-Length: 0"]
for head in heads:
    request = b"POST %s HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\n%s\\r\\n\\r\\n0\\r\\n\\r\\n" % (b"http://127.0.0.1:%d/" % allowed if proxy else b"/", allowed, head) + hidden
    try:
        s = say(request) if proxy else dial(allowed)
        if not proxy: s.sendall(request)
        s.recv(4096)
    except OSError as error:
        print(head, error)
"""
DATAGRAM = "socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(token, ('127.0.0.1', denied))"
FAST = "s = socket.socket(); s.sendto(token, 0x20000000, ('127.0.0.1', denied))"
MULTIPATH = """
try:
    s = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
except OSError:
    s = socket.socket()
s.connect(("127.0.0.1", denied)); s.sendall(token)
"""
BOUND = "s = socket.socket(); s.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b'lo'); s.connect(('127.0.0.1', denied)); s.sendall(token)"
# One service of UDP is granted: by its own port, from its own port, by addresses that are written in other ways.
DATAGRAMS = """
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
try:
    s.bind(("", allowed))
except OSError as error:
    print("bind", error)
for host in ("127.0.0.1", "0.0.0.0", "127.0.0.2", "198.18.0.1", "255.255.255.255"):
    for port in (denied, allowed):
        try:
            s.sendto(token if port == denied else b"hello", (host, port))
        except OSError as error:
            print(host, port, error)
"""
# Every port of every public address is granted: the loopback's are not among them, however they are asked for.
ANY = """
for family, host in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1"), (socket.AF_INET, "0.0.0.0"), (socket.AF_INET6, "::1"), (socket.AF_INET, "127.3.2.1")):
    try:
        s = socket.socket(family); s.settimeout(5); s.connect((host, denied)); s.sendall(token); s.close()
    except OSError as error:
        print(host, error)
if proxy:
    for host in ("127.0.0.1", "localhost", "[::1]", "2130706433"):
        s = say(b"CONNECT %s:%d HTTP/1.1\\r\\nHost: %s:%d\\r\\n\\r\\n" % (host.encode(), denied, host.encode(), denied)); s.recv(4096); s.sendall(token)
    for port in range(3128, 3140):
        try:
            s = dial(port); s.sendall(b"CONNECT 127.0.0.1:%d HTTP/1.1\\r\\n\\r\\n" % denied); s.sendall(token)
        except OSError as error:
            print(port, error)
"""
# Of a service that is granted for GET below /v1: what says the same to some servers, and more than was granted.
PATHS = """
for path in (b"/v1/../%s", b"/v1/%%2e%%2e/%s", b"/v1/.%%2E/%s", b"/v1%%2f..%%2f%s", b"/v1/..%%5c%s", b"/v1/..\\%s", b"/v1/..;/%s", b"//%s", b"/v1/%%252e%%252e/%s", b"/v1/%%c0%%ae%%c0%%ae/%s",
             b"/v1x/%s", b"/V1/%s", b"/%%00/v1/%s", b"/%s?/v1", b"http://127.0.0.1/%s", b"*/v1/%s", b"v1/%s"):
    request(b"GET " + path % token)
"""
METHODS = """
for method in (b"POST", b"get", b"GET\t", b"GETX", b"PRI", b"CONNECT", b"DELETE"):
    request(method + b" /v1/" + token)
"""
WEBSOCKET = "request(b'GET /v1', b'Connection: Upgrade\\r\\nUpgrade: websocket\\r\\n', token)"
# After a request that is granted, on its connection: others, some of which did not wait.
KEPT = """
end = b" HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\n" % allowed
for then in (b"POST /v1/" + token + end, b"GET /v2/" + token + end, b"GET /v1/../" + token + end, b"GET /v1/x HTTP/1.1\\r\\nHost: elsewhere\\r\\nHost: " + token + b"\\r\\n",
             b"GET http://elsewhere.example/v1/" + token + end, b"\\r\\n\\r\\nDELETE /v1/" + token + end, b"GET /v1" + end + b"\\r\\nPOST /v1/" + token + end, b"SSH-" + token):
    request(b"GET /v1", then=then + b"\\r\\n")
    request(b"GET /v1", b"Connection: keep-alive\\r\\nContent-Length: 0\\r\\n", then + b"\\r\\n")
    request(b"GET /v1", b"\\r\\n" + then)
"""
BODIES = """
hidden = b"GET /v2/%s HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\n\\r\\n" % (token, allowed)
request(b"GET /v1", b"Content-Length: %d\\r\\n" % len(hidden), hidden)
request(b"GET /v1", b"Connection: keep-alive\\r\\nContent-Length: %d\\r\\n\\r\\n" % (len(hidden) - 2) + hidden[:-2])
request(b"GET /v1", b"Transfer-Encoding: chunked\\r\\n", b"%x\\r\\n%s\\r\\n0\\r\\n\\r\\n" % (len(hidden), hidden))
"""
NO_REQUEST = """
for text in (token, b"\\0" + token, b"\\r\\n\\r\\n" + token, b"PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n" + token, b"\\x16\\x03\\x01\\0\\x05" + token):
    try:
        s = dial(allowed); s.sendall(text); s.shutdown(socket.SHUT_WR); s.recv(4096)
    except OSError as error:
        print(text, error)
"""
REQUEST = """
def request(line, more=b"", then=b""):
    for direct in (True, False) if proxy else (True,):
        try:
            s = dial(allowed) if direct else say(b"CONNECT 127.0.0.1:%d HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\n\\r\\n" % (allowed, allowed))
            if not direct: s.recv(4096)
            s.sendall(line + b" HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\n" % allowed + more + b"\\r\\n"); print(s.recv(4096))
            s.sendall(then)
        except OSError as error:
            print(line, error)
"""
IMPOSTOR = """
import ssl
context = ssl.create_default_context(); context.check_hostname = False; context.verify_mode = ssl.CERT_NONE
s = context.wrap_socket(dial(allowed)); s.sendall(b"GET /v1/%s HTTP/1.1\\r\\nHost: 127.0.0.1:%d\\r\\n\\r\\n" % (token, allowed)); print(s.recv(4096))
"""


def recorder(s, context=None):
    """The service that is granted: takes what comes, answers, and remembers."""
    sock = socket.create_server(("127.0.0.1", 0))
    if context:
        sock = context.wrap_socket(sock, server_side=True)
    s.ends.callback(sock.close)
    heard = []

    def serve():
        while True:
            try:
                peer, _ = sock.accept()
            except ssl.SSLError:
                continue
            except OSError:
                return
            with peer:
                peer.settimeout(1)
                try:
                    while text := peer.recv(65536):
                        heard.append(text)
                        peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
                except OSError:
                    pass

    threading.Thread(target=serve, daemon=True).start()
    return sock.getsockname()[1], heard


def stage(s, kind=socket.SOCK_STREAM):
    """Ports of the granted service and of another one, and what was heard at each."""
    allowed, heard = recorder(s)
    sock, arrived = s.listen(socket.AF_INET, kind, ("127.0.0.1", 0))
    s.network = f'["127.0.0.1:{allowed}"]'
    return allowed, sock.getsockname()[1], heard, arrived


def by(script, kind=socket.SOCK_STREAM):
    def run(s):
        allowed, denied, _, arrived = stage(s, kind)
        s.call(PYTHON, "-I", "-c", BEGIN + script, str(allowed), str(denied), s.token)
        return arrived()

    return run


def beside_granted(script, kind, network):
    """What is granted is another service of the same machine, or the rest of the world."""

    def run(s):
        allowed, denied, _, arrived = stage(s, kind)
        s.network = network.format(allowed=allowed)
        s.call(PYTHON, "-I", "-c", BEGIN + script, str(allowed), str(denied), s.token)
        return arrived()

    return run


def beyond(script, make=lambda s: None):
    """The service is granted for some requests, and hears others."""

    def run(s):
        allowed, heard = recorder(s, make(s))
        s.network = f'[{{ host = "127.0.0.1", port = {allowed}, methods = ["GET"], paths = ["/v1"] }}]'
        s.call(PYTHON, "-I", "-c", BEGIN + REQUEST + script, str(allowed), "0", s.token)
        return any(s.token.encode() in text for text in heard)

    return run


def beyond_bodies(s):
    """The service never reads a body: what follows a head is the next request, unless it was told to close."""
    sock = socket.create_server(("127.0.0.1", 0))
    s.ends.callback(sock.close)
    served = []

    def answer(peer):
        file = peer.makefile("rb")
        while line := file.readline():
            served.append(line)
            close = False
            while (field := file.readline()) not in (b"\r\n", b""):
                close |= field.lower().startswith(b"connection: close")
            peer.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
            if close:
                return

    def serve():
        with contextlib.suppress(OSError):
            while True:
                peer, _ = sock.accept()
                with peer, contextlib.suppress(OSError):
                    peer.settimeout(1)
                    answer(peer)

    threading.Thread(target=serve, daemon=True).start()
    allowed = sock.getsockname()[1]
    s.network = f'[{{ host = "127.0.0.1", port = {allowed}, methods = ["GET"], paths = ["/v1"] }}]'
    s.call(PYTHON, "-I", "-c", BEGIN + REQUEST + BODIES, str(allowed), "0", s.token)
    return any(line.startswith(b"GET /v2/" + s.token.encode()) for line in served)


def impostor(s):
    """A certificate that nobody signed but its owner."""
    key, certificate = s.path("data/impostor-key.pem"), s.path("data/impostor.pem")
    self_signed(certificate, key, "127.0.0.1", "IP:127.0.0.1")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context


def hides(s):
    """A request for another host that no reader but the server sees."""
    allowed, denied, heard, _ = stage(s)
    s.call(PYTHON, "-I", "-c", BEGIN + SPLIT, str(allowed), str(denied), s.token)
    return any(f"GET /{s.token}".encode() in text for text in heard)


SAYS = """
try: key = open(sys.argv[3]).read()
except OSError: key = 'nothing'
print(key)
"""
ASKS = """
s = socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5); s.settimeout(5)
s.sendall(b'GET /tell HTTP/1.1\\r\\nHost: 127.0.0.1:%s\\r\\nX-Key: %s\\r\\n\\r\\n' % (sys.argv[1].encode(), key.encode()))
while text := s.recv(4096): sys.stdout.buffer.write(text)
"""


def teller(s):
    """A server that answers with what it was asked."""
    sock = socket.create_server(("127.0.0.1", 0))
    s.ends.callback(sock.close)

    def serve():
        with contextlib.suppress(OSError):
            while True:
                peer, _ = sock.accept()
                with peer, contextlib.suppress(OSError):
                    peer.settimeout(5)
                    text = peer.recv(65536)
                    peer.sendall(b"HTTP/1.0 200 OK\r\n\r\n" + text)

    threading.Thread(target=serve, daemon=True).start()
    return sock.getsockname()[1]


def secretly(script):
    """The tool gets a secret put into its requests to a server of the operator's."""

    def run(s):
        port, key = teller(s), s.write("data/key", s.token)
        s.network = f'["127.0.0.1:{port}"]'
        s.more = f'secrets.KEY = {{ from = "file:{key}", hosts = ["http://127.0.0.1:{port}"], header = "X-Key: {{secret}}" }}\n'
        return s.token in s.call(
            PYTHON, "-I", "-c", "import socket, sys\n" + SAYS + script, str(port), "0", key
        )

    return run


def outlives_the_proxy(s):
    """Whoever holds the door is killed while the tool runs."""
    allowed, denied, _, arrived = stage(s)

    def kill(process):
        for pid in below(s.helper(process)) if s.how == CAGED else []:
            with (
                contextlib.suppress(OSError),
                open(f"/proc/{pid}/cmdline", "rb") as file,
            ):  # one may just have ended
                if file.read().startswith(b"toolcage-egress\0"):
                    os.kill(pid, signal.SIGKILL)

    s.write("data/attack.py", BEGIN + "dial().sendall(token)")
    try:
        s.meanwhile(f"{PYTHON} -I {s.path('data')}/attack.py {allowed} {denied} {s.token}", kill)
    except Refused:
        pass
    return arrived()


CASES = [
    ("another service is requested with CONNECT", by(CONNECT), {}),
    ("another service is requested with SOCKS", by(SOCKS), {}),
    ("another service is requested with a plain request", by(FORWARD), {}),
    ("an address is spelled in another way", by(SPELLINGS), {}),
    ("a second request follows the granted one", by(AFTER), {}),
    ("a request hides in the body of another", hides, {}),
    ("another path of a granted service", beyond(PATHS), {}),
    ("another method of a granted service", beyond(METHODS), {}),
    ("another request on a granted one's connection", beyond(KEPT), {}),
    ("a request hides in a body that the server does not read", beyond_bodies, {}),
    ("a websocket where requests are granted", beyond(WEBSOCKET), {}),
    ("another protocol where requests are granted", beyond(NO_REQUEST), {}),
    ("a server with a self-signed certificate receives a request", beyond(IMPOSTOR, impostor), {}),
    ("with an allowlist: a datagram", by(DATAGRAM, socket.SOCK_DGRAM), {}),
    (
        "with a granted datagram: one to another service",
        beside_granted(DATAGRAMS, socket.SOCK_DGRAM, '["udp:127.0.0.1:{allowed}"]'),
        {},
    ),
    (
        "with every public port: a service on the host's loopback",
        beside_granted(ANY, socket.SOCK_STREAM, '["*:*"]'),
        {},
    ),
    ("with an allowlist: data without a connect", by(FAST), {}),
    ("with an allowlist: a multipath socket", by(MULTIPATH), {}),
    ("with an allowlist: a socket of another interface", by(BOUND), {}),
    ("a secret is read from its file", secretly(""), {}),
    ("a secret is echoed by the server that receives it", secretly(ASKS), {}),
    ("the proxy is killed while the tool runs", outlives_the_proxy, {}),
]
