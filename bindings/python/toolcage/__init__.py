# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""toolcage: run one tool call of a language model in a cage built for it.

policy = toolcage.Policy.from_file("tools.toml")
with toolcage.Engine() as engine:
    result = engine.run(toolcage.Call(policy, "summarise", {"path": "/data/a.csv"}))
    print(result.status.value, result.message)
"""

from ._call import PIPE, Again, Call, Output, Running
from ._engine import Engine
from ._error import (
    CallError,
    DeniedError,
    Error,
    Location,
    NotFoundError,
    PolicyError,
    UnsupportedError,
    UsageError,
)
from ._native import lib as _lib
from ._native import text as _text
from ._policy import Policy
from ._result import Change, Denial, File, Result, Status, Usage
from ._sandbox import Sandbox
from ._session import Command, Entry, Listing, Port, Process, Session

__version__ = _text(_lib.toolcage_version())

__all__ = [
    "PIPE",
    "Again",
    "Call",
    "CallError",
    "Command",
    "Change",
    "Denial",
    "DeniedError",
    "Engine",
    "Entry",
    "Error",
    "File",
    "Listing",
    "Location",
    "NotFoundError",
    "Output",
    "Policy",
    "PolicyError",
    "Port",
    "Process",
    "Result",
    "Running",
    "Sandbox",
    "Session",
    "Status",
    "UnsupportedError",
    "Usage",
    "UsageError",
]
