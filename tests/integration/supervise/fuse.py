# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A file system that hangs when it is told to: the kernel's FUSE protocol spoken by hand, read-only but for what the
tests need. `/slow` holds one directory `d` with a file `f`; while it is held nothing below it answers, and whoever asks
waits in the kernel, where no signal reaches it."""

import ctypes
import errno
import multiprocessing
import os
import select
import stat
import struct

ROOT, SLOW, DIRECTORY, FILE = 1, 2, 3, 4
NODES = {ROOT: {"slow": SLOW}, SLOW: {"d": DIRECTORY}, DIRECTORY: {"f": FILE}}
CONTENT = b"data\n"
LOOKUP, GETATTR, OPEN, READ, STATFS, RELEASE, INIT, OPENDIR, READDIR, RELEASEDIR, ACCESS = (
    1,
    3,
    14,
    15,
    17,
    18,
    26,
    27,
    28,
    29,
    34,
)
FORGET, INTERRUPT, DESTROY, BATCH_FORGET = 2, 36, 38, 42
HEADER = struct.Struct("=IIQQIIII")  # length, operation, unique, node, uid, gid, pid, padding


class Held:
    """The server and what tells it to hang. Needs root, and a mount namespace of one's own."""

    def __init__(self, where, owner):
        self.where, self.owner = where, owner
        self.device = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.device},rootmode=40000,user_id=0,group_id=0,allow_other"
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.mount(b"held", where.encode(), b"fuse", ctypes.c_ulong(6), options.encode()) < 0:
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
        self.held, self.asked, self.stop = (
            multiprocessing.Event(),
            multiprocessing.Event(),
            multiprocessing.Event(),
        )
        self.server = multiprocessing.Process(target=self.serve, daemon=True)
        self.server.start()
        os.close(self.device)

    def hold(self):
        self.asked.clear()
        self.held.set()

    def go_on(self):
        self.held.clear()

    def end(self):
        self.go_on()
        self.stop.set()
        self.server.join(5)

    # ---- the server's process

    def serve(self):
        waiting = []
        while not self.stop.is_set():
            if select.select([self.device], [], [], 0.01)[0]:
                waiting.append(os.read(self.device, 1 << 17))
            keep = []
            for request in waiting:
                operation, _, node = HEADER.unpack_from(request)[1:4]
                if (
                    self.held.is_set()
                    and (node != ROOT or operation == LOOKUP)
                    and operation not in (FORGET, INTERRUPT, BATCH_FORGET)
                ):
                    keep.append(request)
                    self.asked.set()
                else:
                    self.answer(request)
            waiting = keep

    def answer(self, request):
        _, operation, unique, node = HEADER.unpack_from(request)[:4]
        if operation in (FORGET, INTERRUPT, BATCH_FORGET):
            return
        body = self.reply(operation, node, request[HEADER.size :])
        failed = -body if isinstance(body, int) else 0
        body = b"" if isinstance(body, int) else body
        try:
            os.write(self.device, struct.pack("=IiQ", 16 + len(body), failed, unique) + body)
        except OSError as error:
            if error.errno != errno.ENOENT:  # whoever asked has gone
                raise

    def attributes(self, node):
        mode, size = (stat.S_IFREG | 0o644, len(CONTENT)) if node == FILE else (stat.S_IFDIR | 0o755, 0)
        return struct.pack(
            "=6Q10I", node, size, 1, 0, 0, 0, 0, 0, 0, mode, 1, self.owner, self.owner, 0, 4096, 0
        )

    def reply(self, operation, node, body):
        if operation == INIT:
            return struct.pack("=IIIIHHIIHHI", 7, 31, 65536, 0, 12, 12, 65536, 1, 0, 0, 0) + bytes(28)
        if operation == LOOKUP:
            child = NODES.get(node, {}).get(body.rstrip(b"\0").decode(errors="replace"))
            return (
                struct.pack("=QQQQII", child, 0, 0, 0, 0, 0) + self.attributes(child)
                if child
                else errno.ENOENT
            )
        if operation == GETATTR:
            return struct.pack("=QII", 0, 0, 0) + self.attributes(node)
        if operation in (OPEN, OPENDIR):
            return struct.pack("=QII", 0, 0, 0)
        if operation == READ:
            offset, size = struct.unpack_from("=8xQI", body)
            return CONTENT[offset : offset + size]
        if operation == READDIR:
            return self.entries(node, *struct.unpack_from("=8xQI", body))
        if operation == STATFS:
            return struct.pack("=5Q4I", 0, 0, 0, 0, 0, 4096, 255, 4096, 0) + bytes(24)
        if operation in (RELEASE, RELEASEDIR, ACCESS, DESTROY):
            return b""
        return errno.ENOSYS

    @staticmethod
    def entries(node, offset, size):
        text = b""
        for i, (name, child) in enumerate(NODES.get(node, {}).items()):
            entry = (
                struct.pack(
                    "=QQII",
                    child,
                    i + 1,
                    len(name),
                    stat.S_IFREG >> 12 if child == FILE else stat.S_IFDIR >> 12,
                )
                + name.encode()
            )
            entry += bytes(-len(entry) % 8)
            if i >= offset and len(text) + len(entry) <= size:
                text += entry
        return text
