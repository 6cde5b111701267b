# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The result of a call. What nearly every caller reads comes by the library's own accessors; the rest is parsed when it is asked for."""

from __future__ import annotations

import base64
import ctypes
import enum
import json
import os
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from ._error import CallError, Error
from ._native import error_of, lib, text


class Status(str, enum.Enum):
    """How a call ended; the order is that of toolcage/result.h."""

    OK = "ok"  #: the tool ran and exited 0
    FAILED = "failed"  #: the tool's own exit code or signal
    TIMEOUT = "timeout"  #: ended at its deadline
    LIMIT = "limit"  #: a limit ended it
    DENIED = "denied"  #: refused: it never ran
    CANCELLED = "cancelled"  #: the host ended it
    ERROR = "error"  #: toolcage or the backend failed


STATUSES = tuple(Status)


@dataclass(frozen=True)
class Change:
    """A file that the call made, changed or removed. More than this is in `Result.details["changes"]`."""

    path: str
    path_bytes: bytes
    kind: str  #: "added", "modified", "deleted"…
    size: int
    sha256: str | None
    held: str | None  #: why it waits for a person
    steers_host: bool  #: it is of those that a program of the host obeys unasked


@dataclass(frozen=True)
class File:
    """A file that the policy's `collect` brings back."""

    path: str
    path_bytes: bytes
    mime: str
    size: int
    sha256: str | None
    content: bytes | None  #: None: too large to come along
    steers_host: bool


@dataclass(frozen=True)
class Denial:
    """Something that the tool was refused."""

    operation: str
    target: str
    target_bytes: bytes
    count: int
    key: str | None  #: the key of the policy that refuses it
    line: int | None
    hint: str | None
    endpoint: str | None = None  #: of a connect: the network entry that would allow it


@dataclass(frozen=True)
class Usage:
    """None: it was not measured, or cannot be here."""

    wall_ms: int
    cpu_ms: int | None
    memory_peak_bytes: int | None
    pids_peak: int | None
    egress_bytes: int
    ingress_bytes: int


def _bytes(row: dict[str, Any], key: str, base64_key: str) -> bytes | None:
    if base64_key in row:
        return base64.b64decode(row[base64_key])
    return None if row.get(key) is None else str(row[key]).encode()


def _name(row: dict[str, Any], key: str) -> tuple[str, bytes]:
    """A name as Python has them (what is no UTF-8 is escaped by surrogates), and its bytes."""
    name = _bytes(row, key, f"{key}_base64") or b""
    return os.fsdecode(name), name


@dataclass(frozen=True)
class Result:
    """What was asked for, enforced and observed. Output is bytes; `stdout_text` and `stderr_text` are for people and models."""

    call: str  #: the call's id
    status: Status
    exit_code: int | None  #: None: it did not exit
    signal: int | None  #: None: none ended it
    limit: str | None  #: the limit that ended it
    shell_code: int  #: what a shell would be told
    stdout: bytes = field(repr=False)  #: what the output limit keeps of it
    stderr: bytes = field(repr=False)
    message: str  #: one text, ready for the model
    error: Error | None  #: why it was refused or did not run
    json: bytes = field(repr=False)  #: the whole result as one line

    @property
    def ok(self) -> bool:
        return self.status is Status.OK

    def check(self) -> Result:
        """This result, or CallError when the call did not end well."""
        if self.status is not Status.OK:
            raise CallError(self)
        return self

    @property
    def stdout_text(self) -> str:
        return self.stdout.decode("utf-8", "replace")

    @property
    def stderr_text(self) -> str:
        return self.stderr.decode("utf-8", "replace")

    @cached_property
    def details(self) -> dict[str, Any]:
        """All that the JSON says, as Python has it."""
        details: dict[str, Any] = json.loads(self.json)
        return details

    @property
    def truncated(self) -> bool:
        """Did the output limit cut one of the streams?"""
        return bool(self.details["stdout"]["truncated"] or self.details["stderr"]["truncated"])

    @cached_property
    def changes(self) -> tuple[Change, ...]:
        return tuple(
            Change(
                *_name(row, "path"),
                row["kind"],
                row["bytes"],
                row["sha256"],
                row.get("held"),
                row.get("steers_host", False),
            )
            for row in self.details["changes"]
        )

    @cached_property
    def files(self) -> tuple[File, ...]:
        return tuple(
            File(
                *_name(row, "path"),
                row["mime"],
                row["bytes"],
                row["sha256"],
                _bytes(row, "text", "base64"),
                row.get("steers_host", False),
            )
            for row in self.details["files"]
        )

    @cached_property
    def denials(self) -> tuple[Denial, ...]:
        return tuple(
            Denial(
                row["operation"],
                *_name(row, "target"),
                row["count"],
                row["key"],
                row["line"],
                row["hint"],
                row.get("endpoint"),
            )
            for row in self.details["denials"]
        )

    @cached_property
    def usage(self) -> Usage:
        return Usage(**{name: self.details["usage"][name] for name in Usage.__dataclass_fields__})

    @property
    def enforcement(self) -> dict[str, str]:
        """Each clause of the grant, and the mechanism that held it."""
        enforcement: dict[str, str] = self.details["enforcement"]
        return enforcement


def _output(handle: int, stream: int) -> bytes:
    length = ctypes.c_size_t()
    start = lib.toolcage_result_output(handle, stream, ctypes.byref(length))
    return ctypes.string_at(start, length.value) if length.value else b""


def read_result(call: str, handle: int) -> Result:
    """A copy of the library's result, which goes with its call."""
    status = lib.toolcage_result_status(handle)
    exit_code, error = lib.toolcage_result_exit_code(handle), lib.toolcage_result_error(handle)
    return Result(
        call,
        STATUSES[status],
        exit_code if exit_code >= 0 else None,
        lib.toolcage_result_signal(handle) or None,
        text(lib.toolcage_result_limit(handle)) or None,
        lib.toolcage_result_shell_code(handle),
        _output(handle, 1),
        _output(handle, 2),
        text(lib.toolcage_result_message(handle)),
        error_of(error) if error else None,
        lib.toolcage_result_json(handle),
    )
