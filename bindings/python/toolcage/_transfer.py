# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Files that go into a live session and out of it: the host's side of a transfer."""

from __future__ import annotations

import contextlib
import os
import secrets
import socket
import stat
import threading
from collections.abc import Callable, Iterator

from ._call import Path
from ._error import UsageError
from ._native import ask, encode, lib

#: Sends to, or receives from, the stream with this descriptor. Blocks.
Pump = Callable[[int], None]


class Transfer(threading.Thread):
    """Pumps in a thread, because the library blocks until the other side has answered. The thread owns the stream."""

    def __init__(self, stream: int, pump: Pump) -> None:
        super().__init__(name="toolcage-transfer", daemon=True)
        self._socket, self._pump = socket.socket(fileno=stream), pump
        self._lock = threading.Lock()  # a closed descriptor's number may be another's at once
        self.error: BaseException | None = None
        self.start()

    def run(self) -> None:
        try:
            self._pump(self._socket.fileno())
        except BaseException as error:
            self.error = error
        finally:
            with self._lock:
                self._socket.close()

    def stop(self) -> None:
        """Ends it early, from any thread; then join it."""
        with self._lock, contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)


def send(fd: int, name: str | None = None) -> Pump:
    """A file, or with a name the directory of this name in the directory."""
    encoded = None if name is None else encode(name, "a path")

    def pump(stream: int) -> None:
        ask(lib.toolcage_stream_send, stream, fd, encoded)

    return pump


def receive(fd: int, most: int, name: str | None = None) -> Pump:
    encoded = None if name is None else encode(name, "a path")

    def pump(stream: int) -> None:
        ask(lib.toolcage_stream_receive, stream, fd, encoded, most, None)

    return pump


@contextlib.contextmanager
def in_memory(content: bytes = b"") -> Iterator[int]:
    """A descriptor of a file without a name."""
    fd = os.memfd_create("toolcage", os.MFD_CLOEXEC)
    try:
        with open(fd, "wb", closefd=False) as file:
            file.write(content)
        os.lseek(fd, 0, os.SEEK_SET)
        yield fd
    finally:
        os.close(fd)


def content_of(fd: int) -> bytes:
    os.lseek(fd, 0, os.SEEK_SET)
    with open(fd, "rb", closefd=False) as file:
        return file.read()


@contextlib.contextmanager
def parent_of(path: Path) -> Iterator[tuple[int, str]]:
    """The directory of a path, entered without following links, which a tool may have made; and the last name."""
    words = os.path.abspath(os.fsdecode(path)).strip("/").split("/")
    fd = os.open("/", os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for word in words[:-1]:
            below = os.open(word, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
            os.close(fd)
            fd = below
        yield fd, words[-1]
    except NotADirectoryError as error:
        raise UsageError(
            "usage",
            f"{os.fsdecode(path)} cannot be used: {word!r} in it is a link or not a directory",
            hint="give the path without links",
        ) from error
    finally:
        os.close(fd)


@contextlib.contextmanager
def source_of(path: Path) -> Iterator[tuple[int, str | None, int]]:
    """Descriptor, name (of a directory) and mode."""
    with parent_of(path) as (directory, name):
        mode = os.stat(name, dir_fd=directory, follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            yield directory, name, mode
            return
        if not stat.S_ISREG(mode):
            raise UsageError("usage", f"{os.fsdecode(path)} is not a regular file or directory")
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=directory)
        try:
            yield fd, None, mode
        finally:
            os.close(fd)


@contextlib.contextmanager
def target_of(path: Path, mode: int, replace: bool) -> Iterator[int]:
    """A descriptor to write; the file appears under its name when the block ends without an exception."""
    with parent_of(path) as (directory, name):
        temporary = f".toolcage-{secrets.token_hex(8)}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fd = os.open(temporary, flags, 0o600, dir_fd=directory)
        try:
            yield fd
            os.fchmod(fd, mode)
            if replace:
                os.rename(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
            else:
                os.link(temporary, name, src_dir_fd=directory, dst_dir_fd=directory)
        finally:
            os.close(fd)
            with contextlib.suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=directory)
