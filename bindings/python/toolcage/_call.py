# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What is asked for (Call), and a call at work (Running)."""

from __future__ import annotations

import asyncio
import collections
import ctypes
import io
import json
import os
import select
import threading
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Protocol, TypeVar

from ._error import Error, UsageError
from ._native import OutputFn, ask, ask_json, encode, lib, text
from ._policy import Policy
from ._result import Result, read_result

#: `Call(stdin=PIPE)`: the host writes it while the call runs, into `Running.stdin`
PIPE: Final = -1

Path = str | os.PathLike[str]
_Running = TypeVar("_Running", bound="Running")


class Asked(Protocol):
    """What a Running runs: a Call, or a command of a live session."""

    @property
    def stdin(self) -> bytes | int | None: ...

    def prepare(self, handle: Any) -> None: ...


def duration(said: str | float) -> str:
    return said if isinstance(said, str) else f"{round(said * 1000)}ms"


def variables(env: Mapping[str, str] | None) -> Iterator[tuple[str, str]]:
    for name, value in (env or {}).items():
        if "=" in name:
            raise UsageError("usage", f"the name of a variable holds '=': {name!r}", subject=name)
        yield "env", f"{name}={value}"


def narrow(handle: Any, narrowings: Iterable[tuple[str, Path]]) -> None:
    for key, value in narrowings:
        ask(lib.toolcage_call_set, handle, encode(key, "a key"), encode(value, f"the value of {key}"))


def set_command(handle: Any, command: Sequence[Path]) -> None:
    if isinstance(command, (str, bytes)):
        raise UsageError(
            "usage",
            "a command is a sequence of words, not one text",
            hint='["sh", "-c", text] is a shell',
        )
    words = [encode(word, "a word of the command") for word in command]
    ask(lib.toolcage_call_set_command, handle, len(words), (ctypes.c_char_p * len(words))(*words))


def set_input(handle: Any, stdin: bytes | int | None) -> None:
    if isinstance(stdin, (bytes, bytearray, memoryview)):
        fed = bytes(stdin)
        ask(lib.toolcage_call_set_stdin, handle, fed, len(fed))
    elif stdin is not None and not (isinstance(stdin, int) and stdin == PIPE):
        raise UsageError(
            "usage", f"stdin is bytes or PIPE, not {type(stdin).__name__}", hint="encode text first"
        )


@dataclass(frozen=True)
class Again:
    """The answer of `Call.approve` for an equal call that an earlier yes covers, because the person has said so: this is the
    `count`-th such call, counted from 1. The audit log has the number. Only a request with the same "digest" is equal."""

    count: int


@dataclass(frozen=True)
class Call:
    """One run of one tool: what a host may ask of a policy.

    A tool of the policy by its name, with the model's arguments: an object, or its text as the model wrote it. Or a bare command,
    under what the policy says of those. All that follows can only narrow what the policy grants; a bare command of the default
    policy may be granted `read`, `write` and `network`.
    """

    policy: Policy
    tool: str | None = None
    arguments: Mapping[str, Any] | str | None = None
    command: Sequence[Path] | None = None
    stdin: bytes | int | None = None
    session: str | None = None
    workspace: Path | None = None
    cwd: Path | None = None
    timeout: str | float | None = None  #: "30s", or seconds
    memory: str | None = None
    read: Sequence[Path] = ()
    write: Sequence[Path] = ()
    network: Sequence[str] | str = ()
    env: Mapping[str, str] | None = None
    backend: str | None = None
    options: Sequence[tuple[str, str]] = ()  #: any other key, as the flags of the command line spell it
    #: Asks a person, if the tool's tier needs an approval. It gets the request ("subject" says what will run), in the thread that
    #: starts the call; True is a yes to exactly this call, Again(n) repeats an earlier yes, a text is a no with the reason that
    #: the model reads, all else is a no.
    approve: Callable[[dict[str, Any]], bool | str | Again | None] | None = None

    def narrowings(self) -> Iterator[tuple[str, Path]]:
        """Key and value, in the library's words."""
        for key in ("workspace", "cwd", "memory", "backend"):
            if getattr(self, key) is not None:
                yield key, getattr(self, key)
        if self.timeout is not None:
            yield "timeout", duration(self.timeout)
        for key in ("read", "write", "network"):
            said = getattr(self, key)
            for value in (said,) if isinstance(said, (str, os.PathLike)) else said:
                yield key, value
        yield from variables(self.env)
        yield from self.options

    def prepare(self, handle: Any) -> None:
        """Tells the library."""
        if self.arguments is not None:
            said = self.arguments if isinstance(self.arguments, str) else json.dumps(self.arguments)
            ask(lib.toolcage_call_set_arguments_json, handle, encode(said, "the text of the arguments"))
        if self.command is not None:
            set_command(handle, self.command)
        narrow(handle, self.narrowings())
        if self.session is not None:
            ask(lib.toolcage_call_set_session, handle, encode(self.session, "the name of a session"))
        set_input(handle, self.stdin)


@dataclass(frozen=True)
class Output:
    """A piece of output as it came: `stream` is 1 or 2."""

    stream: int
    data: bytes

    @property
    def text(self) -> str:
        """A piece may end within a character: whoever joins text decodes the joined bytes."""
        return self.data.decode("utf-8", "replace")


class Running:
    """A call that was started: wait for it, await it, read its output as it comes, or cancel it.

    As a context manager it has ended when the block is left. `cancel()` may come from any thread; for everything else a second
    thread is refused while one is at work.
    """

    stdin: io.FileIO | None = None

    def __init__(self, call: Asked, handle: Any, stream: bool) -> None:
        self._handle = handle
        self._busy = threading.Lock()  # one thread at a time
        self._life = threading.RLock()  # who frees waits for who cancels; a signal's handler may be both
        self._output: collections.deque[Output] = collections.deque()
        self._stream = stream
        self._callback: Any = None
        self.result: Result | None = None  #: None until it has ended
        self.call = call
        self.id = text(lib.toolcage_call_id(handle))
        try:
            self._start()
        except BaseException:
            self._free()
            raise
        self._fd: int = lib.toolcage_call_fd(handle)

    def fileno(self) -> int:
        """A descriptor to poll for reading, for a loop of your own: dispatch() when it is ready. Not to be read or closed."""
        return self._fd

    def dispatch(self) -> Result | None:
        """Does what is ready, never blocks. The result once it is there."""
        with self._alone():
            return self._dispatch()

    def pending(self) -> Iterator[Output]:
        """Output that has come and was not read yet, for a loop of your own. Never waits."""
        while self._output:
            yield self._output.popleft()

    def wait(self, timeout: float | None = None) -> Result:
        """Waits for the end. After `timeout` seconds: TimeoutError, and the call goes on."""
        until = None if timeout is None else time.monotonic() + timeout
        with self._alone():
            while not self._dispatch():
                self._sleep(until)
        assert self.result
        return self.result

    def cancel(self) -> None:
        """Asks for its end: TERM, a grace, KILL. From any thread; the result still has to be waited for."""
        with self._life:
            if self._handle:
                lib.toolcage_call_cancel(self._handle)

    def close(self) -> None:
        """Ends it if it still runs, at once, and frees it. What was read of it stays."""
        if not self._busy.acquire(blocking=False):
            raise _in_use()
        try:
            self._free()
        finally:
            self._busy.release()

    def __iter__(self) -> Iterator[Output]:
        """Output as it comes, until the call has ended. Only of a call that was started with stream=True."""
        self._must_stream()
        while True:
            with self._alone():
                ended = self._dispatch()
                if not ended and not self._output:
                    self._sleep(None)
            yield from self.pending()
            if ended:
                return

    async def __aiter__(self) -> AsyncIterator[Output]:
        self._must_stream()
        while True:
            with self._alone():
                ended = self._dispatch()
                if not ended and not self._output:
                    await self._readable()
            for piece in self.pending():
                yield piece
            if ended:
                return

    def __await__(self) -> Generator[Any, None, Result]:
        """The result. Whoever cancels the task ends the call: its cage is gone when CancelledError comes out."""
        return self._end().__await__()

    def __enter__(self: _Running) -> _Running:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self: _Running) -> _Running:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if self.__dict__.get("_handle"):
            self._free()

    # ---- one thread's work

    def _prepare(self) -> None:
        self.call.prepare(self._handle)

    def _start(self) -> None:
        self._prepare()
        if self._stream:
            self._callback = _collect_into(self._output)
            ask(lib.toolcage_call_set_output_callback, self._handle, self._callback, None)
        if isinstance(self.call.stdin, int):
            fd = ctypes.c_int()
            ask(lib.toolcage_call_open_stdin, self._handle, ctypes.byref(fd))
            self.stdin = io.FileIO(fd.value, "wb")
        if isinstance(self.call, Call) and self.call.approve is not None:
            self._ask_person(self.call.approve)
        ask(lib.toolcage_call_start, self._handle)

    def _ask_person(self, approve: Callable[[dict[str, Any]], bool | str | Again | None]) -> None:
        try:
            request = json.loads(ask_json(lib.toolcage_call_approval_json, self._handle))
        except Error:
            return  # start refuses the call for the same reason
        if not request["needed"]:
            return
        answer = approve(request)
        digest = encode(request["digest"], "the digest")
        if answer is True:
            ask(lib.toolcage_call_approve, self._handle, digest)
        elif isinstance(answer, Again):
            ask(lib.toolcage_call_approve_again, self._handle, digest, _counted(answer))
        else:
            reason = encode(answer, "the reason") if isinstance(answer, str) else None
            ask(lib.toolcage_call_deny, self._handle, reason)

    @contextmanager
    def _alone(self) -> Iterator[None]:
        if not self._busy.acquire(blocking=False):
            raise _in_use()
        try:
            if not self._handle and not self.result:
                raise UsageError("usage", "the call was closed before it had a result")
            yield
        finally:
            self._busy.release()

    def _dispatch(self) -> Result | None:
        if not self.result and ask(lib.toolcage_call_dispatch, self._handle):
            self.result = read_result(self.id, lib.toolcage_call_result(self._handle))
        return self.result

    def _sleep(self, until: float | None) -> None:
        """In Python, not in the library: a signal must be able to end it."""
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        left = None if until is None else max(0.0, until - time.monotonic()) * 1000
        if not poll.poll(left) and until is not None and time.monotonic() >= until:
            raise TimeoutError("the call has not ended yet")

    async def _readable(self) -> None:
        loop = asyncio.get_running_loop()
        ready = loop.create_future()
        loop.add_reader(self._fd, _set, ready)
        try:
            await ready
        finally:
            loop.remove_reader(self._fd)

    async def _end(self) -> Result:
        with self._alone():
            try:
                while not self._dispatch():
                    await self._readable()
            except asyncio.CancelledError:
                self._free()
                raise
        assert self.result
        return self.result

    def _must_stream(self) -> None:
        if not self._stream:
            raise UsageError(
                "usage", "the output of this call is kept for its result", hint="start it with stream=True"
            )

    def _free(self) -> None:
        with self._life:
            handle, self._handle = self._handle, None
            lib.toolcage_call_unref(handle)
        if self.stdin:
            self.stdin.close()


def _counted(answer: Again) -> int:
    """ctypes would take the lowest bits of a larger number, and a count of 0 would not be in the log."""
    count: Any = answer.count
    if type(count) is int and 0 < count < 2**63:
        return count
    raise UsageError("usage", f"Again counts calls from 1, not {count!r}", hint="Again(1), Again(2), …")


def _set(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def _in_use() -> UsageError:
    return UsageError(
        "usage",
        "another thread or task is waiting for this call",
        hint="only cancel() may come from elsewhere",
    )


def _collect_into(output: collections.deque[Output]) -> Any:
    """Refers to the queue and not to the call, or neither would ever be freed."""

    def collect(_: Any, stream: int, start: Any, length: int) -> None:
        output.append(Output(stream, ctypes.string_at(start, length)))

    return OutputFn(collect)
