# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The engine: one helper process, for any number of calls."""
from __future__ import annotations

import json
import threading
import weakref
from types import TracebackType
from typing import Any

from ._call import Call, Running
from ._error import UsageError
from ._native import ask, ask_json, encode, lib, make
from ._result import Result


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
        with self._lock:
            if not self._handle:
                running.close()
            self._open()
            self._running.add(running)
        return running

    def explain(self, call: Call, access: str | None = None) -> dict[str, Any]:
        """What the call would be granted, without running it. `access` asks about one thing: "read P", "write P", "connect H:P"."""
        handle = self._new(call)
        try:
            call.prepare(handle)
            return _object(ask_json(lib.toolcage_call_explain_json, handle, encode(access, "the access") if access else None))
        finally:
            lib.toolcage_call_unref(handle)

    def doctor(self) -> dict[str, Any]:
        """What this machine can enforce, clause by clause."""
        with self._lock:
            return _object(ask_json(lib.toolcage_engine_doctor_json, self._open()))

    def changes(self, call: str | None = None, action: str | None = None) -> dict[str, Any]:
        """Changes that were held for a person: of which calls, or of one; "show", "commit", "overwrite" or "discard" them."""
        return self._ask(lib.toolcage_engine_changes_json, call, action)

    def sessions(self, name: str | None = None, action: str | None = None) -> dict[str, Any]:
        """Sessions that calls have left: the list, or with "end" what is thrown away."""
        return self._ask(lib.toolcage_engine_sessions_json, name, action)

    def close(self) -> None:
        """Ends every call of this engine, and its helper."""
        with self._lock:
            for running in list(self._running):
                running.cancel()
            handle, self._handle = self._handle, None
            lib.toolcage_engine_unref(handle)

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def __del__(self, unref: Any = lib.toolcage_engine_unref) -> None:
        unref(self.__dict__.get("_handle"))

    def _open(self) -> Any:
        if not self._handle:
            raise UsageError("usage", "the engine is closed", hint="make one engine and keep it as long as there are calls")
        return self._handle

    def _new(self, call: Call) -> Any:
        tool = None if call.tool is None else encode(call.tool, "the name of a tool")
        with self._lock:  # of what it refers to, the call has a share of its own
            return make(lib.toolcage_call_new, self._open(), call.policy._handle, tool)

    def _ask(self, function: Any, name: str | None, action: str | None) -> dict[str, Any]:
        words = [None if word is None else encode(word, "a name") for word in (name, action)]
        with self._lock:
            return _object(ask_json(function, self._open(), *words))


def _object(said: bytes) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(said)
    return parsed
