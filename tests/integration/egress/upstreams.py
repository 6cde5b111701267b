# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Proxies of a site, HTTP and SOCKS5: they remember what they were asked for, and answer as they are told to."""

import asyncio
import ipaddress
import struct
import threading

OK = b"HTTP/1.1 200 Connection established\r\nVia: 1.1 site\r\n\r\n"


class Upstream:
    def __init__(self, host, port, socks=False, names=(), answer=None, credentials=None):
        self.asked, self.heads, self.socks, self.names, self.answer, self.credentials = (
            [],
            [],
            socks,
            dict(names),
            answer,
            credentials,
        )
        self.loop = asyncio.new_event_loop()
        started = threading.Event()
        threading.Thread(target=self.run, args=[host, port, started], daemon=True).start()
        assert started.wait(20)

    def run(self, host, port, started):
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(asyncio.start_server(self.serve, host, port))
        started.set()
        self.loop.run_forever()

    async def serve(self, reader, writer):
        try:
            await (self.serve_socks if self.socks else self.serve_http)(reader, writer)
        except (OSError, asyncio.IncompleteReadError):
            writer.close()

    async def serve_http(self, reader, writer):
        head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        self.heads.append(head)
        host, port = head.split(" ")[1].rsplit(":", 1)
        self.asked.append((host, int(port)))
        if self.answer is not None:
            writer.write(self.answer)
            await writer.drain()
            if not self.answer.startswith(b"HTTP/1.1 2"):
                writer.close()
            return
        await self.join(reader, writer, host.strip("[]"), int(port), OK)

    async def serve_socks(self, reader, writer):
        methods = await reader.readexactly((await reader.readexactly(2))[1])
        if self.credentials and 2 in methods:
            writer.write(b"\5\2")
            size = (await reader.readexactly(2))[1]
            user = await reader.readexactly(size)
            password = await reader.readexactly((await reader.readexactly(1))[0])
            self.heads.append((user + b":" + password).decode())
            good = self.heads[-1] == self.credentials
            writer.write(b"\1\0" if good else b"\1\1")
            if not good:
                writer.close()
                return
        else:
            writer.write(b"\5\xff" if self.credentials else b"\5\0")
        kind = (await reader.readexactly(4))[3]
        if kind == 3:
            host = (await reader.readexactly((await reader.readexactly(1))[0])).decode()
        else:
            host = str(ipaddress.ip_address(await reader.readexactly(4 if kind == 1 else 16)))
        (port,) = struct.unpack(">H", await reader.readexactly(2))
        self.asked.append((host, port))
        if self.answer is not None:
            writer.write(self.answer)
            return
        await self.join(reader, writer, host, port, b"\5\0\0\1\0\0\0\0\0\0")

    async def join(self, reader, writer, host, port, answer):
        try:
            inner, outer = await asyncio.open_connection(self.names.get(host, host), port)
        except OSError:
            writer.write(b"\5\4\0\1\0\0\0\0\0\0" if self.socks else b"HTTP/1.1 503 Unavailable\r\n\r\n")
            writer.close()
            return
        writer.write(answer)
        await asyncio.gather(self.copy(reader, outer), self.copy(inner, writer))

    @staticmethod
    async def copy(reader, writer):
        try:
            while data := await reader.read(65536):
                writer.write(data)
                await writer.drain()
        except OSError:
            pass
        writer.close()
