# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A small internet for scripts about networks: whoever imports this stands in a network of its own, where addresses of the public
kind are this machine's. Servers listen there, and a name server of the test's own answers as it is told.

Import it before scene, which may become another user: what only root can do is done here."""

import http.server
import json
import os
import socket
import socketserver
import ssl
import subprocess
import sys
import threading
import time

INSIDE = "TOOLCAGE_TEST_NETWORK"
if not os.environ.get(INSIDE):
    os.environ[INSIDE] = "1"
    own = [] if os.geteuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
    os.execvp(
        "unshare",
        ["unshare", *own, "--net", "--mount", "--propagation", "private", sys.executable, *sys.argv],
    )

API, EVIL, PRIVATE, API6 = "93.184.216.34", "93.184.216.99", "10.1.2.3", "2606:2800:21f:cb07::34"
NAMES = {
    "api.example.com": [API],
    "files.example.com": [API],
    "evil.example": [EVIL],
    "db.example.com": [PRIVATE],
    "mixed.example.com": [API, PRIVATE],
    "loop.example.com": ["127.0.0.1"],
    "meta.example.com": ["169.254.169.254"],
    "six.example.com": [API6],
}
spoken = []  # requests that came to the servers, with their headers
asked = []  # names that came to the name server outside


def lines(*commands):
    for command in commands:
        subprocess.run(command.split(), check=True)


def make_network():
    lines(
        "ip link set lo up",
        *(f"ip addr add {a}/32 dev lo" for a in (API, EVIL, PRIVATE)),
        f"ip addr add {API6}/128 dev lo nodad",
    )
    where = "/media"  # of this mount namespace alone, so that nothing has to be removed
    lines(f"mount -t tmpfs tmpfs {where}")
    for name, text in (
        ("resolv.conf", "nameserver 127.0.0.1\n"),
        ("hosts", f"127.0.0.1 localhost\n{API} hosted.example.com\n"),
    ):
        with open(f"{where}/{name}", "w", encoding="ascii") as file:
            file.write(text)
        lines(f"mount --bind {where}/{name} {os.path.realpath('/etc/' + name)}")
    return where


class Resolver(socketserver.BaseRequestHandler):
    """A and AAAA of NAMES; anything else does not exist."""

    def handle(self):
        query, sock = self.request
        at, labels = 12, []
        while query[at]:
            labels.append(query[at + 1 : at + 1 + query[at]].decode("latin-1"))
            at += 1 + query[at]
        kind, question = query[at + 1 : at + 3], query[12 : at + 5]
        name = ".".join(labels).lower()
        asked.append(name)
        family = {b"\0\1": socket.AF_INET, b"\0\x1c": socket.AF_INET6}.get(kind)
        answers = [
            socket.inet_pton(family, a)
            for a in NAMES.get(name, [])
            if family and (":" in a) == (family == socket.AF_INET6)
        ]
        code = 0 if name in NAMES else 3
        records = b"".join(
            b"\xc0\x0c" + kind + b"\0\1\0\0\0\0" + len(a).to_bytes(2, "big") + a for a in answers
        )
        head = (
            query[:2] + bytes([0x81, 0x80 | code]) + b"\0\1" + len(answers).to_bytes(2, "big") + b"\0\0\0\0"
        )
        sock.sendto(head + question + records, self.client_address)


class Web(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        spoken.append((self.headers.get("Host"), self.path, dict(self.headers.items())))
        if self.path == "/echo":
            body = json.dumps(dict(self.headers.items())).encode()
        if self.path == "/pieces":  # what was sent, a byte at a time
            text = self.headers.get("Authorization", "").encode() + b" and more\n"
            self.send_response(200)
            self.send_header("Content-Length", str(len(text)))
            self.send_header("X-Seen", self.headers.get("Authorization", ""))
            self.end_headers()
            for byte in text:
                self.wfile.write(bytes([byte]))
                self.wfile.flush()
                time.sleep(0.002)
            return
        text = (
            json.dumps(
                {
                    "host": self.headers.get("Host"),
                    "path": self.path,
                    "method": self.command,
                    "body": len(body),
                    **({"echo": body.decode()} if self.path == "/echo" else {}),
                }
            ).encode()
            + b"\n"
        )
        if self.path.startswith("/bytes/"):
            text = bytes(int(self.path[7:]))
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    do_GET = do_POST = do_PUT = answer

    def log_message(self, *_):
        pass


class Threaded(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    address_family = socket.AF_INET

    def handle_error(self, *_):
        """As above."""


class Threaded6(Threaded):
    address_family = socket.AF_INET6


class Greeter(socketserver.BaseRequestHandler):
    """Speaks first, as ssh and smtp do."""

    def handle(self):
        self.request.sendall(b"hello, who are you?\n")
        self.request.sendall(self.request.recv(100).upper())


heard = []


class Listener(socketserver.BaseRequestHandler):
    """Hears it to the end."""

    def handle(self):
        text = b""
        try:
            while more := self.request.recv(65536):
                text += more
            heard.append(text + b" in order")
        except OSError:
            heard.append(text + b" broken off")


class Streams(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True

    def handle_error(self, *_):
        """Clients are broken off here all the time."""


def serve(server):
    threading.Thread(target=server.serve_forever, daemon=True).start()


BUNDLES = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/ca-bundle.pem",
]
BUNDLE = os.path.realpath(next(path for path in BUNDLES if os.path.exists(path)))


def trust(where):
    """The machine trusts the servers' certificate beside the usual ones."""
    with (
        open(BUNDLE, encoding="utf-8") as usual,
        open(f"{where}/cert.pem", encoding="ascii") as ours,
        open(f"{where}/bundle.pem", "w", encoding="utf-8") as file,
    ):
        file.write(usual.read() + ours.read())
    os.chmod(f"{where}/bundle.pem", 0o644)
    lines(f"mount --bind {where}/bundle.pem {BUNDLE}")


def make_stranger(where):
    lines(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=stranger "
        f"-addext subjectAltName=DNS:api.example.com -keyout {where}/stranger-key.pem -out {where}/stranger.pem"
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{where}/stranger.pem", f"{where}/stranger-key.pem")
    return context


def make_certificate(where):
    lines(
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=toolcage-test "
        f"-addext subjectAltName=DNS:api.example.com,DNS:evil.example,DNS:six.example.com,DNS:files.example.com -keyout {where}/key.pem -out {where}/cert.pem"
    )
    os.chmod(f"{where}/cert.pem", 0o644)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{where}/cert.pem", f"{where}/key.pem")
    return context


def serve_all(where):
    for address in ("127.0.0.1", EVIL):  # this machine's, and one that whoever can send datagrams asks
        serve(socketserver.ThreadingUDPServer((address, 53), Resolver))
    context = make_certificate(where)
    for address in (API, EVIL, PRIVATE, API6, "127.0.0.1"):
        kind = Threaded6 if ":" in address else Threaded
        serve(kind((address, 80), Web))
        tls = kind((address, 443), Web)
        tls.socket = context.wrap_socket(tls.socket, server_side=True)
        serve(tls)
    trust(where)
    stranger = Threaded((API, 444), Web)
    stranger.socket = make_stranger(where).wrap_socket(stranger.socket, server_side=True)
    serve(stranger)
    serve(Streams((API, 2222), Greeter))
    serve(Streams((API, 2223), Listener))
    serve(Threaded(("127.0.0.1", 8080), Web))


network = make_network()
with open(os.devnull, "wb") as nothing:
    saved = os.dup(2)
    os.dup2(nothing.fileno(), 2)
    serve_all(network)
    os.dup2(saved, 2)
    os.close(saved)

CA = "--cacert /ca/cert.pem"  # for curl


def shell_with(usual):
    """How a scene runs a shell with these entries, where a case names no others; it finds this network's directory as /ca."""

    def shell(s, script, entries=usual, more="", **rest):
        return s.shell(
            script,
            network=entries,
            readable=[f'{{ path = "/ca", from = "{network}" }}'],
            writable=(),
            more=more,
            **rest,
        )

    return shell


def target(answer):
    return set(answer.denied("connect"))
