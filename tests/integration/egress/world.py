# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The outside world of a proxy, all on one loopback: a name server that lies on demand, and servers at addresses that look public."""

import asyncio
import json
import os
import pathlib
import socket
import ssl
import struct
import subprocess
import threading

from certificates import self_signed

PUBLIC, OTHER, SIX = "93.184.216.34", "93.184.216.35", "2606:2800:220:1::34"
UNREACHABLE6 = "2606:2800:220:1::dead"

NAMES = {
    "ok.example": [PUBLIC],
    "two.example": [PUBLIC],
    "ttl0.example": [PUBLIC],
    "six.example": [SIX],
    "fall.example": [UNREACHABLE6, PUBLIC],
    "dead.example": [OTHER],
    "private.example": ["10.0.0.1"],
    "loop.example": ["127.0.0.1"],
    "zero.example": ["0.0.0.0"],
    "meta.example": ["169.254.169.254"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "nat64.example": ["64:ff9b::7f00:1"],
    "mixed.example": [PUBLIC, "127.0.0.1"],
    "named.example": ["127.0.0.7"],
    "big.example": [f"93.184.216.{34 if i == 0 else 100 + i}" for i in range(60)],
}
CNAMES = {"cname.example": "meta.example", "alias.example": "ok.example"}


def prepare(scratch):
    """In a namespace of one's own: addresses, and a resolver configuration that is the test's."""
    for command in (
        f"ip link set lo up; ip addr add {PUBLIC}/32 dev lo; ip addr add {OTHER}/32 dev lo; ip -6 addr add {SIX}/128 dev lo nodad;"
        "ip addr add 10.0.0.1/32 dev lo; ip addr add 169.254.169.254/32 dev lo; ip route add local 198.18.0.0/15 dev lo;"
        "ip -6 route add local 2001:2::/48 dev lo"
    ).split(";"):
        subprocess.run(command.split(), check=True)
    for name, text in {
        "resolv.conf": "nameserver 127.0.0.1\nsearch ok.example\n",
        "hosts": f"127.0.0.1 localhost\n{PUBLIC} hosts.example\n10.0.0.1 inside.example\n",
        "nsswitch.conf": "hosts: files dns\n",
    }.items():
        (scratch / name).write_text(text)
        if pathlib.Path("/etc", name).exists():
            subprocess.run(
                ["mount", "--bind", scratch / name, pathlib.Path("/etc", name).resolve()], check=True
            )


def certificate(scratch, name="cert.pem", key="key.pem"):
    self_signed(scratch / name, scratch / key, "ok.example", "DNS:ok.example,DNS:two.example")


def trust(scratch):
    """The machine trusts the servers' certificate, and one authority of somebody else."""
    places = [
        "/etc/ssl/certs/ca-certificates.crt",
        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
        "/etc/ssl/ca-bundle.pem",
    ]
    place = next(pathlib.Path(p).resolve() for p in places if pathlib.Path(p).exists())
    (scratch / "bundle.pem").write_text(place.read_text() + (scratch / "cert.pem").read_text())
    subprocess.run(["mount", "--bind", scratch / "bundle.pem", place], check=True)


class Names(asyncio.DatagramProtocol):
    """Answers by the table, counts what it was asked."""

    def __init__(self):
        self.asked = []
        self.rebound = 0

    def connection_made(self, transport):
        self.transport = transport

    @staticmethod
    def name(message):
        labels, at = [], 12
        while message[at]:
            labels.append(message[at + 1 : at + 1 + message[at]].decode("latin-1"))
            at += 1 + message[at]
        return ".".join(labels).lower(), at + 1

    def addresses(self, name):
        if name == "rebind.example":
            self.rebound += 1
            return [PUBLIC if self.rebound <= 2 else "127.0.0.1"]
        return NAMES.get(name, [])

    def answer(self, message, tcp):
        import ipaddress

        name, end = self.name(message)
        (kind,) = struct.unpack(">H", message[end : end + 2])
        self.asked.append((name, kind))
        if name == "silent.example":
            return None
        if name == "bad.example":
            return message[:2] + b"\x81\x80\0\1\0\1\0\0\0\0\xc0\x0c\xff\xff" + os.urandom(40)
        records, owner = [], b"\xc0\x0c"
        if name in CNAMES:
            inner = (
                b"".join(bytes([len(label)]) + label.encode() for label in CNAMES[name].split(".")) + b"\0"
            )
            records.append(owner + struct.pack(">HHIH", 5, 1, 0, len(inner)) + inner)
            name, owner = CNAMES[name], inner
        for text in self.addresses(name):
            address = ipaddress.ip_address(text)
            if kind == (1 if address.version == 4 else 28):
                records.append(owner + struct.pack(">HHIH", kind, 1, 0, len(address.packed)) + address.packed)
        known = records or name in NAMES or name == "rebind.example"
        flags = 0x8180 | (0 if known else 3)
        cut = not tcp and len(records) > 20
        shown = [] if cut else records
        return (
            message[:2]
            + struct.pack(">HHHHH", flags | (0x200 if cut else 0), 1, len(shown), 0, 0)
            + message[12 : end + 4]
            + b"".join(shown)
        )

    def datagram_received(self, message, sender):
        reply = self.answer(message, False)
        if reply:
            self.transport.sendto(reply, sender)

    async def stream(self, reader, writer):
        (size,) = struct.unpack(">H", await reader.readexactly(2))
        reply = self.answer(await reader.readexactly(size), True)
        writer.write(struct.pack(">H", len(reply)) + reply)
        await writer.drain()
        writer.close()


class World:
    """The servers, in a thread of their own; what they saw is in `requests`."""

    def __init__(self, scratch):
        self.served = []  # of kept(): connection, method, path
        self.requests, self.opened, self.names, self.moved = [], 0, Names(), Names()
        self.scratch = scratch
        self.loop = asyncio.new_event_loop()
        started = threading.Event()
        threading.Thread(target=self.run, args=[started], daemon=True).start()
        assert started.wait(20)

    def run(self, started):
        asyncio.set_event_loop(self.loop)
        self.loop.set_exception_handler(lambda *_: None)  # clients break off here
        self.loop.run_until_complete(self.open())
        started.set()
        self.loop.run_forever()

    async def open(self):
        await self.loop.create_datagram_endpoint(lambda: self.names, local_addr=("127.0.0.1", 53))
        await asyncio.start_server(self.names.stream, "127.0.0.1", 53)
        await self.loop.create_datagram_endpoint(lambda: self.moved, local_addr=("127.0.0.53", 53))
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(self.scratch / "cert.pem", self.scratch / "key.pem")
        for host in (PUBLIC, SIX, "127.0.0.7", "10.0.0.1", "127.0.0.1", "169.254.169.254"):
            await asyncio.start_server(self.web, host, 80, backlog=4096)
        await asyncio.start_server(self.web, PUBLIC, 443, ssl=tls, backlog=4096)
        stranger = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        stranger.load_cert_chain(self.scratch / "stranger.pem", self.scratch / "stranger-key.pem")
        await asyncio.start_server(self.web, PUBLIC, 444, ssl=stranger)
        await asyncio.start_server(self.banner, PUBLIC, 445)
        old = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        old.load_cert_chain(self.scratch / "cert.pem", self.scratch / "key.pem")
        await asyncio.start_server(self.cut, PUBLIC, 446, ssl=old)
        await asyncio.start_server(self.echo, PUBLIC, 7, backlog=4096)
        await asyncio.start_server(self.banner, PUBLIC, 25)
        await asyncio.start_server(self.silent, PUBLIC, 9)
        await asyncio.start_server(self.flood, PUBLIC, 19)
        await asyncio.start_server(self.early, PUBLIC, 81)
        await asyncio.start_server(self.kept, PUBLIC, 82)

    async def web(self, reader, writer):
        """Keeps on reading requests as a sloppy server would, so that a second one would be seen."""
        self.opened += 1
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                text = head.decode("latin-1")
                self.requests.append(text)
                fields = {
                    line.split(":", 1)[0].lower(): line.split(":", 1)[1].strip()
                    for line in text.split("\r\n")[1:]
                    if ":" in line
                }
                if fields.get("upgrade") == "websocket" and "/refuse" not in text:
                    writer.write(
                        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n"
                    )
                    await self.echo(reader, writer)
                    return
                size = int(fields.get("content-length", 0))
                body = await reader.readexactly(size)
                if fields.get("transfer-encoding"):
                    body = await self.chunks(reader)
                reply = json.dumps({"head": text, "body": body.decode("latin-1")}).encode()
                writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(reply) + reply)
                await writer.drain()
                if fields.get("connection") == "close":
                    break
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        writer.close()

    @staticmethod
    async def chunks(reader):
        body = b""
        while True:
            size = int(await reader.readuntil(b"\r\n"), 16)
            body += await reader.readexactly(size)
            await reader.readexactly(2)
            if not size:
                return body

    async def echo(self, reader, writer):
        self.opened += 1
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
            writer.write(b"<end>")
            await writer.drain()
            writer.close()
        except ConnectionError:
            pass

    async def banner(self, reader, writer):
        writer.write(b"220 hello\r\n")
        writer.write(b"you said " + await reader.readline())
        await writer.drain()
        writer.close()

    async def cut(self, reader, writer):
        """Breaks off without a word of TLS, in an answer whose end nothing else tells."""
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\nhalf of it")
        await writer.drain()
        raw = writer.get_extra_info("socket")
        socket.socket(fileno=os.dup(raw.fileno())).shutdown(socket.SHUT_RDWR)

    async def silent(self, reader, writer):
        self.opened += 1
        self.last = writer
        try:
            await reader.read(1 << 30)
        except ConnectionError:
            pass

    async def flood(self, reader, writer):
        """As much as is asked for on the first line."""
        left, piece = int(await reader.readline()), bytes(1 << 20)
        try:
            while left > 0:
                writer.write(piece[:left])
                left -= len(piece)
                await writer.drain()
        except ConnectionError:
            pass
        writer.close()

    ANSWERS = {
        "/length": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "/chunked": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2;x=y\r\nok\r\n0\r\nX-Sum: 1\r\n\r\n",
        "/empty": b"HTTP/1.1 204 No Content\r\n\r\n",
        "/same": b"HTTP/1.1 304 Not Modified\r\nContent-Length: 9\r\n\r\n",
        "/hints": b"HTTP/1.1 100 Continue\r\nLink: </a>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",
        "/quits": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok",  # and closes, which nothing says
        "/says": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok",
        "/open": b"HTTP/1.0 200 OK\r\n\r\nok",
        "/old": b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok",
        "/more": b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil",
    }

    async def kept(self, reader, writer):
        """Answers by the path, one request after the other. It never reads a body, so it takes one for the next request."""
        self.opened += 1
        number = self.opened
        try:
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                method, path, _ = head.split(" ", 2)
                self.served.append((number, method, path))
                answer = self.ANSWERS.get(path, self.ANSWERS["/length"])
                writer.write(answer.split(b"\r\n\r\n")[0] + b"\r\n\r\n" if method == "HEAD" else answer)
                await writer.drain()
                if path in ("/quits", "/says", "/open") or "connection: close" in head.lower():
                    break
        except (asyncio.IncompleteReadError, ConnectionError, ValueError):
            pass
        writer.close()

    async def early(self, reader, writer):
        """Answers before the body has come, and goes."""
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 2\r\nConnection: close\r\n\r\nno")
        await writer.drain()
        writer.close()
