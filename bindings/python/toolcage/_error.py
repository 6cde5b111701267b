# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What the library says when it cannot do what it was asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Location:
    """A place in a policy's text. Lines and columns count from 1, columns in bytes."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}:{self.column}"


class Error(Exception):
    """Misuse, an invalid policy, a lost helper; as `Result.error`, why a call was refused or did not run.

    `code` is one of the closed list of toolcage/error.h ("policy", "denied", "unenforceable"…), `hint` what to do next, `report` the
    whole of it for a person: for a policy every finding with its line and a caret.
    """

    def __init__(
        self,
        code: str,
        message: str,
        *,
        hint: str = "",
        stage: str = "",
        subject: str = "",
        errno: int = 0,
        location: Location | None = None,
        report: str = "",
    ) -> None:
        super().__init__(message)
        self.code, self.message, self.hint = code, message, hint
        self.stage, self.subject, self.errno = stage, subject, errno
        self.location = location
        self.report = report or "".join(f"{line}\n" for line in (message, hint and f"hint: {hint}") if line)

    def __str__(self) -> str:
        place = f"{self.location}: " if self.location else ""
        return f"{place}{self.message}" + (f"; hint: {self.hint}" if self.hint else "")

    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self), dict(self.__dict__))


def _again(kind: type[Error], state: dict[str, Any]) -> Error:
    """For pickle, whose default would call the class with the message alone."""
    error = kind(state["code"], state["message"])
    error.__dict__.update(state)
    return error


class UsageError(Error, ValueError):
    """The library was called in a wrong way."""


class UnsupportedError(UsageError, NotImplementedError):
    """Something that this version of toolcage cannot do."""


class PolicyError(Error, ValueError):
    """The text of a policy is invalid; `location` is its first finding, `report` has all."""


class NotFoundError(Error):
    """No such file, tool or object."""


class DeniedError(Error):
    """The policy does not allow this."""


class CallError(Exception):
    """A call that did not end well, raised by `Result.check()`; `result` tells how it ended."""

    def __init__(self, result: Any) -> None:
        super().__init__(result)
        self.result = result

    def __str__(self) -> str:
        return f"the call ended as {self.result.status.value!r}: {self.result.message}"


_CLASSES: dict[str, type[Error]] = {
    "usage": UsageError,
    "policy": PolicyError,
    "not_found": NotFoundError,
    "denied": DeniedError,
}


def error_class(code: str) -> type[Error]:
    return _CLASSES.get(code, Error)
