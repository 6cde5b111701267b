# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Live sessions: a cage that stays, in which many commands run."""

from __future__ import annotations

import asyncio
import ctypes
import errno
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ._call import Call, Path, Running, duration, narrow, set_command, set_input, variables
from ._error import CallError, Error, UsageError
from ._native import ask, ask_json, encode, lib, make
from ._result import Result, _name
from ._transfer import Pump, Transfer, content_of, in_memory, parent_of, receive, send, source_of, target_of

if TYPE_CHECKING:
    from ._engine import Engine

TREE = 1  #: of toolcage/session.h
MOST = 64 << 20  #: of bytes that get() keeps in memory


@dataclass(frozen=True)
class Command:
    """A command of a live session: words, or text for the session's shell, which continues where the last such text ended."""

    command: Sequence[Path] | None = None
    shell: str | None = None
    stdin: bytes | int | None = None  #: or PIPE
    cwd: Path | None = None
    timeout: str | float | None = None  #: "30s", or seconds
    output: str | None = None  #: the output limit
    env: Mapping[str, str] | None = None
    terminal: tuple[int, int] | None = (
        None  #: rows and columns; stdin is None or PIPE, all output is of stream 1
    )

    def narrowings(self) -> Iterator[tuple[str, Path]]:
        if self.cwd is not None:
            yield "cwd", self.cwd
        if self.timeout is not None:
            yield "timeout", duration(self.timeout)
        if self.output is not None:
            yield "output", self.output
        yield from variables(self.env)

    def prepare(self, handle: Any) -> None:
        """Tells the library."""
        if (self.command is None) == (self.shell is None):
            raise UsageError("usage", "a command is either words or text for the session's shell")
        if self.command is not None:
            set_command(handle, self.command)
        if self.shell is not None:
            ask(lib.toolcage_session_shell, handle, encode(self.shell, "the text for the shell"))
        narrow(handle, self.narrowings())
        set_input(handle, self.stdin)
        if self.terminal is not None:
            ask(lib.toolcage_call_set_terminal, handle, *self.terminal)


class Process(Running):
    """A command of a live session that was started. `signal`, `resize` and `cancel` may come from any thread or task."""

    def signal(self, number: int) -> None:
        """Sends a signal to the command's processes; nothing happens if it has ended."""
        self._tell(lib.toolcage_session_signal, number)

    def resize(self, rows: int, columns: int) -> None:
        """The new size of its terminal."""
        self._tell(lib.toolcage_call_resize, rows, columns)

    def _tell(self, function: Any, *arguments: Any) -> None:
        with self._life:
            if self._handle and not self.result:
                ask(function, self._handle, *arguments)

    def _dispatch(self) -> Result | None:
        with self._life:
            return super()._dispatch()


@dataclass(frozen=True)
class _Action:
    """A file action in the words of the library."""

    function: Any
    path: str
    arguments: tuple[int, ...] = ()
    pump: Pump | None = None
    stdin: None = None

    def prepare(self, handle: Any) -> None:
        pass  # needs the stream that it makes: Working does it


class _Working(Process):
    _transfer: Transfer | None = None
    _stream_fd = -1

    def __init__(self, action: _Action, handle: Any) -> None:
        self._action = action
        super().__init__(action, handle, False)

    def _prepare(self) -> None:
        action, path = self._action, encode(self._action.path, "a path")
        if action.pump is None:
            ask(action.function, self._handle, path, *action.arguments)
            return
        stream = ctypes.c_int()
        ask(action.function, self._handle, path, *action.arguments, ctypes.byref(stream))
        self._stream_fd = stream.value

    def _start(self) -> None:
        try:
            super()._start()
        except BaseException:
            if self._stream_fd >= 0:
                os.close(self._stream_fd)
            raise
        if self._action.pump is not None:
            self._transfer = Transfer(self._stream_fd, self._action.pump)

    def settle(self) -> dict[str, Any]:
        """After the result: what both sides say of it."""
        assert self.result
        transfer, result = self._transfer, self.result
        if transfer:
            if not result.ok:
                transfer.stop()
            transfer.join()
            if isinstance(transfer.error, Exception) and (
                result.ok or getattr(transfer.error, "code", "") != "backend"
            ):
                raise transfer.error
        if not result.ok:
            raise file_error(result, self._action.path)
        with _from_session(self._action.path):
            said: dict[str, Any] = json.loads(result.stdout or b"{}")
            return said

    def _free(self) -> None:
        if self._transfer:
            self._transfer.stop()
            self._transfer.join()
        super()._free()


#: How the reason of a file action ends, in the words of src/live/files, and what Python calls that.
REASONS = {
    "No such file or directory": errno.ENOENT,
    "Permission denied": errno.EACCES,
    "Read-only file system": errno.EROFS,
    "Not a directory": errno.ENOTDIR,
    "Directory not empty": errno.ENOTEMPTY,
    "No space left on device": errno.ENOSPC,
    "Disk quota exceeded": errno.EDQUOT,
    "(a directory needs --recursive)": errno.EISDIR,
    "(it needs --recursive)": errno.EISDIR,
    "has more bytes than the limit allows (--max-size)": errno.EFBIG,
    "exists; remove it, or choose another path": errno.EEXIST,
}


def file_error(result: Result, path: str) -> Exception:
    """An OSError as the same operation raises it on the host, or a CallError."""
    said = result.stderr_text.strip()
    for reason, number in REASONS.items():
        if said.endswith(reason) and result.exit_code is not None:
            return OSError(number, f"{os.strerror(number)} (in the session)", path)
    return CallError(result)


@contextmanager
def _from_session(path: str) -> Iterator[None]:
    """Where the kernel has no Landlock, other commands of the session can write what is read here."""
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise Error(
            "backend", f"the session's answer for {path!r} is invalid", hint="end the session"
        ) from error


@dataclass(frozen=True)
class Entry:
    """A name in a directory of the session, as it was."""

    name: str
    name_bytes: bytes
    type: str  #: "file", "directory", "link", "fifo", "socket", "device"
    mode: int
    size: int
    modified: float  #: seconds since 1970
    target: str | None = None  #: of a link


@dataclass(frozen=True)
class Listing:
    entries: tuple[Entry, ...]
    complete: bool  #: False: the directory has more names

    def __iter__(self) -> Iterator[Entry]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)


@dataclass(frozen=True)
class Port:
    """A published port: programs of this host connect to `address`, "127.0.0.1:40961" or "unix:PATH"."""

    port: int
    address: str
    connections: int
    sent: int
    received: int


def _entry(row: dict[str, Any]) -> Entry:
    has_target = "target" in row or "target_base64" in row
    mode = int(row["mode"], 8) if isinstance(row["mode"], str) else int(row["mode"])
    target = _name(row, "target")[0] if has_target else None
    size, modified = int(row["bytes"]), float(row["modified"])
    return Entry(*_name(row, "name"), str(row["type"]), mode, size, modified, target)


class Session(Running):
    """A live session: it is a call, whose result has the changes of all its commands. `Engine.open` makes one.

    As a context manager it ends with the block: with `end()`, which applies changes as the policy says, or after an exception with
    `close()`, which does not wait. Threads and tasks may share it.
    """

    def __init__(self, engine: Engine, call: Call, idle: float, lifetime: float | None) -> None:
        self._engine = engine
        self._times = (round(idle * 1000), round((lifetime or 0) * 1000))
        super().__init__(call, engine._new(call), False)

    # ---- commands

    def start(self, command: Command, *, stream: bool = False) -> Process:
        """Starts the command and returns at once, as `Engine.start`."""
        process = Process(command, self._new(), stream or command.terminal is not None)
        self._engine._watch(process)
        return process

    def run(self, command: Command) -> Result:
        """Runs the command and waits for its end. In a session that has ended the result has the error "not_found"."""
        with self.start(command) as process:
            return process.wait()

    async def run_async(self, command: Command) -> Result:
        """The same for asyncio. Whoever cancels the task ends the command, not the session."""
        with self.start(command) as process:
            return await process

    # ---- files

    def put(self, path: str, source: bytes | Path, mode: int | None = None) -> None:
        """Writes a file, or replaces one: bytes, or a file of the host by its path, or a directory, for which `path` must not
        exist. A file appears when it is complete. A failure is an OSError as on the host, or CallError."""
        with _source(path, source, mode) as action:
            self._do(action)

    async def put_async(self, path: str, source: bytes | Path, mode: int | None = None) -> None:
        with _source(path, source, mode) as action:
            await self._do_async(action)

    def get(self, path: str, most: int = MOST) -> bytes:
        """Reads a regular file of at most `most` bytes."""
        with in_memory() as fd:
            self._do(_reading(path, fd, most))
            return content_of(fd)

    async def get_async(self, path: str, most: int = MOST) -> bytes:
        with in_memory() as fd:
            await self._do_async(_reading(path, fd, most))
            return content_of(fd)

    def get_to(
        self,
        path: str,
        local: Path,
        *,
        most: int = 16 << 30,
        tree: bool = False,
        mode: int = 0o644,
        replace: bool = False,
    ) -> None:
        """Reads a file of any size into a new one of the host, or with `tree` a directory. `replace` replaces a file. What arrives
        is the tool's: look into it before a program of the host runs there."""
        with _target(path, local, most, tree, mode, replace) as action:
            self._do(action)

    async def get_to_async(
        self,
        path: str,
        local: Path,
        *,
        most: int = 16 << 30,
        tree: bool = False,
        mode: int = 0o644,
        replace: bool = False,
    ) -> None:
        with _target(path, local, most, tree, mode, replace) as action:
            await self._do_async(action)

    def list(self, path: str = ".") -> Listing:
        """The first 10,000 names of a directory."""
        with in_memory() as fd:
            return _listing(
                path, self._do(_Action(lib.toolcage_session_list, path, (), receive(fd, MOST))), fd
            )

    async def list_async(self, path: str = ".") -> Listing:
        with in_memory() as fd:
            action = _Action(lib.toolcage_session_list, path, (), receive(fd, MOST))
            return _listing(path, await self._do_async(action), fd)

    def stat(self, path: str) -> Entry:
        """What the path is; a link is not followed."""
        return _entry_of(path, self._do(_Action(lib.toolcage_session_stat, path)))

    async def stat_async(self, path: str) -> Entry:
        return _entry_of(path, await self._do_async(_Action(lib.toolcage_session_stat, path)))

    def remove(self, path: str, *, tree: bool = False) -> None:
        """Removes a file, or with `tree` also a directory and everything below it."""
        self._do(_Action(lib.toolcage_session_remove, path, (TREE if tree else 0,)))

    async def remove_async(self, path: str, *, tree: bool = False) -> None:
        await self._do_async(_Action(lib.toolcage_session_remove, path, (TREE if tree else 0,)))

    # ---- ports and the end

    def ports(self) -> tuple[Port, ...]:
        """The published ports, which the policy's `publish` lists."""
        with self._life:
            rows = json.loads(ask_json(lib.toolcage_session_ports_json, self._open()))["ports"]
        return tuple(Port(**{name: row[name] for name in Port.__dataclass_fields__}) for row in rows)

    def end(self) -> Result:
        """Ends every process of the session, and waits: the result has the changes of all commands."""
        self._end_it()
        return self.wait()

    async def end_async(self) -> Result:
        self._end_it()
        return await self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and self._handle and not self.result:
            self.end()
        self.close()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None and self._handle and not self.result:
                await self.end_async()
        finally:
            self.close()

    # ---- the library's side

    def _prepare(self) -> None:
        super()._prepare()
        ask(lib.toolcage_session_open, self._handle, *self._times)

    def _dispatch(self) -> Result | None:
        with self._life:
            return super()._dispatch()

    def _accepts(self) -> bool:
        """Does it accept commands? A session that was refused raises CallError."""
        with self._life:
            ready = ask(lib.toolcage_session_wait, self._open(), 0)
            if ready and lib.toolcage_call_result(self._handle):
                result = self._dispatch()
                assert result
                raise CallError(result)
        return bool(ready)

    def _wait_ready(self) -> None:
        try:
            with self._alone():
                while not self._accepts():
                    self._sleep(None)
        except BaseException:
            self.close()
            raise

    async def _wait_ready_async(self) -> None:
        try:
            with self._alone():
                while not self._accepts():
                    await self._readable()
        except BaseException:
            self.close()
            raise

    def _open(self) -> Any:
        if not self._handle:
            raise UsageError("usage", "the session is closed", hint="open a new one")
        return self._handle

    def _new(self) -> Any:
        with self._life:
            return make(lib.toolcage_session_call, self._open())

    def _end_it(self) -> None:
        with self._life:
            ask(lib.toolcage_session_end, self._open())

    def _do(self, action: _Action) -> dict[str, Any]:
        with _Working(action, self._new()) as working:
            self._engine._watch(working)
            working.wait()
            return working.settle()

    async def _do_async(self, action: _Action) -> dict[str, Any]:
        with _Working(action, self._new()) as working:
            self._engine._watch(working)
            await working
            return await asyncio.to_thread(working.settle)


def _reading(path: str, fd: int, most: int) -> _Action:
    return _Action(lib.toolcage_session_get, path, (most, 0), receive(fd, most))


@contextmanager
def _source(path: str, source: bytes | Path, mode: int | None) -> Iterator[_Action]:
    if isinstance(source, (bytes, bytearray, memoryview)):
        with in_memory(bytes(source)) as fd:
            yield _Action(lib.toolcage_session_put, path, (0o644 if mode is None else mode, 0), send(fd))
        return
    with source_of(source) as (fd, name, found):
        arguments = (found & 0o777 if mode is None else mode, 0 if name is None else TREE)
        yield _Action(lib.toolcage_session_put, path, arguments, send(fd, name))


@contextmanager
def _target(path: str, local: Path, most: int, tree: bool, mode: int, replace: bool) -> Iterator[_Action]:
    if tree:
        with parent_of(local) as (directory, name):
            yield _Action(lib.toolcage_session_get, path, (most, TREE), receive(directory, most, name))
        return
    with target_of(local, mode, replace) as fd:
        yield _reading(path, fd, most)


def _entry_of(path: str, row: dict[str, Any]) -> Entry:
    with _from_session(path):
        return _entry(row)


def _listing(path: str, said: dict[str, Any], fd: int) -> Listing:
    with _from_session(path):
        rows = [json.loads(line) for line in content_of(fd).splitlines()]
        return Listing(tuple(_entry(row) for row in rows), bool(said["complete"]))
