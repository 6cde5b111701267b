# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The engine: one helper process, for any number of calls."""

from __future__ import annotations

import ctypes
import json
import os
import threading
import weakref
from collections.abc import Sequence
from types import TracebackType
from typing import Any

from ._call import Call, Path, Running
from ._error import UsageError
from ._native import ask, ask_json, encode, lib, make
from ._result import Result
from ._session import Session

#: By number, as engine.h has them.
SETTLE = ("commit", "overwrite", "discard", "steering")


class Engine:
    """Makes cages for this process, by a helper that ends with it. Threads may share one; make it once, not for each call.

    As a context manager, or by `close()`, it ends every call that still runs.
    """

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._running: weakref.WeakSet[Running] = weakref.WeakSet()
        self._handle = make(lib.toolcage_engine_new)

    def run(self, call: Call) -> Result:
        """Runs the call and waits for its end. A refusal is a result, too. An exception, also ^C, ends the call."""
        with self.start(call) as running:
            return running.wait()

    async def run_async(self, call: Call) -> Result:
        """The same for asyncio: no thread, the loop watches the call's descriptor. Whoever cancels the task ends the call."""
        with self.start(call) as running:
            return await running

    def start(self, call: Call, *, stream: bool = False) -> Running:
        """Starts the call and returns at once. With `stream`, what it writes can be read as it comes; the result has it, too."""
        running = Running(call, self._new(call), stream)
        self._watch(running)
        return running

    def open(self, call: Call, *, idle: float = 1800, lifetime: float | None = None) -> Session:
        """Opens a live session (docs/sessions.md) with the grant of the call, which has no command, and waits until it accepts
        commands. It ends `idle` seconds after its last command, or `lifetime` seconds from now (None: what the policy allows).
        A refusal is a CallError."""
        session = Session(self, call, idle, lifetime)
        self._watch(session)
        session._wait_ready()
        return session

    async def open_async(self, call: Call, *, idle: float = 1800, lifetime: float | None = None) -> Session:
        session = Session(self, call, idle, lifetime)
        self._watch(session)
        await session._wait_ready_async()
        return session

    def explain(self, call: Call, access: str | None = None) -> dict[str, Any]:
        """What the call would be granted, without running it. `access` asks about one thing: "read P", "write P", "connect H:P"."""
        handle = self._new(call)
        try:
            call.prepare(handle)
            return _object(
                ask_json(
                    lib.toolcage_call_explain_json, handle, encode(access, "the access") if access else None
                )
            )
        finally:
            lib.toolcage_call_unref(handle)

    def doctor(self) -> dict[str, Any]:
        """What this machine can enforce, clause by clause."""
        with self._lock:
            return _object(ask_json(lib.toolcage_engine_doctor_json, self._open()))

    def changes(
        self,
        call: str | None = None,
        action: str | None = None,
        *,
        paths: Sequence[Path] = (),
        seen: str | None = None,
    ) -> dict[str, Any]:
        """Changes that were staged for a person: of which calls, or of one; "show", "commit", "discard" them, or "overwrite" newer files
        of the host, or commit also files that host programs load or run automatically ("steering").

        `paths` selects changes at or below these paths of the cage. `seen` is the "digest" of the list that a person has seen:
        the action raises a DeniedError, and does nothing, if the staged changes are others by now.
        """
        selected = _paths(paths)
        if action in (None, "show"):
            if seen is not None:
                raise UsageError("usage", "a list needs no digest", hint="leave out `seen`")
            return self._ask(lib.toolcage_engine_changes_json, _name(call), *selected)
        if call is None:
            raise UsageError(
                "usage", f"{action} needs the call whose changes are meant", hint="changes() lists the calls"
            )
        if action not in SETTLE:
            raise UsageError(
                "usage",
                f"changes have no action {action!r}",
                hint="the actions are show, commit, overwrite, steering and discard",
            )
        number = SETTLE.index(action)
        if seen is None:
            return self._ask(lib.toolcage_engine_settle_json, _name(call), number, *selected)
        digest = encode(seen, "the digest")
        return self._ask(lib.toolcage_engine_settle_seen_json, _name(call), number, digest, *selected)

    def sessions(self, name: str | None = None, action: str | None = None) -> dict[str, Any]:
        """Sessions that calls have left: the list, or with "end" what is thrown away."""
        if action not in (None, "list", "end"):
            raise UsageError(
                "usage", f"sessions have no action {action!r}", hint="the actions are list and end"
            )
        if name is not None and action != "end":
            raise UsageError(
                "usage", "the list is of all sessions", hint='leave out the name, or write action="end"'
            )
        return (
            self._ask(lib.toolcage_engine_end_sessions_json, _name(name))
            if action == "end"
            else self._ask(lib.toolcage_engine_sessions_json)
        )

    def close(self) -> None:
        """Ends every call of this engine, and its helper."""
        with self._lock:
            for running in list(self._running):
                running.cancel()
            handle, self._handle = self._handle, None
            lib.toolcage_engine_unref(handle)

    def __enter__(self) -> Engine:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self, unref: Any = lib.toolcage_engine_unref) -> None:
        unref(self.__dict__.get("_handle"))

    def _watch(self, running: Running) -> None:
        """The end of the engine ends it."""
        with self._lock:
            if not self._handle:
                running.close()
            self._open()
            self._running.add(running)

    def _open(self) -> Any:
        if not self._handle:
            raise UsageError(
                "usage", "the engine is closed", hint="make one engine and keep it as long as there are calls"
            )
        return self._handle

    def _new(self, call: Call) -> Any:
        tool = None if call.tool is None else encode(call.tool, "the name of a tool")
        with self._lock:  # of what it refers to, the call has a share of its own
            return make(lib.toolcage_call_new, self._open(), call.policy._handle, tool)

    def _ask(self, function: Any, *arguments: Any) -> dict[str, Any]:
        with self._lock:
            return _object(ask_json(function, self._open(), *arguments))


def _name(word: str | None) -> bytes | None:
    return None if word is None else encode(word, "a name")


def _paths(paths: Sequence[Path]) -> tuple[int, Any]:
    if isinstance(paths, (str, bytes, os.PathLike)):
        raise UsageError("usage", "paths is a sequence, not one path", hint='paths=["/workspace/a"]')
    words = [encode(path, "a path") for path in paths]
    return len(words), (ctypes.c_char_p * len(words))(*words)


def _object(said: bytes) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(said)
    return parsed
