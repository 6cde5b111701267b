# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Policies: compiled once, immutable, for any number of threads and calls."""

from __future__ import annotations

import json
import os
from typing import Any

from ._native import ask_json, encode, lib, make, text


class Policy:
    """A compiled policy. It stands in a file, where people can read, check and compare it: `Policy.from_file(path)`."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle

    @classmethod
    def from_file(cls, path: str | os.PathLike[str]) -> Policy:
        """Raises PolicyError, whose `report` has every finding, and NotFoundError."""
        return cls(make(lib.toolcage_policy_load_file, encode(path, "the path of a policy")))

    @classmethod
    def from_text(cls, source: str, name: str = "policy.toml") -> Policy:
        """For tests. `name` stands for the file in messages; relative paths start at its directory if it has one."""
        encoded = source.encode()
        return cls(
            make(lib.toolcage_policy_load_buffer, encoded, len(encoded), encode(name, "the name of a policy"))
        )

    @classmethod
    def default(cls) -> Policy:
        """What holds where there is no policy: no tools, and the strictest useful grant for a bare command."""
        return cls(make(lib.toolcage_policy_new_default))

    @classmethod
    def preset(cls, name: str) -> Policy:
        """A policy that toolcage ships (docs/profiles.md), for bare commands, which may be granted more. Raises PolicyError."""
        return cls(make(lib.toolcage_policy_new_preset, encode(name, "the name of a preset")))

    @property
    def digest(self) -> str:
        """The same for the same text on every machine."""
        return text(lib.toolcage_policy_digest(self._handle))

    def tools(self, format: str = "toolcage") -> list[dict[str, Any]]:
        """The tools as a model is told of them: `format` is "openai", "anthropic", "mcp", "toolcage", or "servers" for the MCP servers."""
        tools: list[dict[str, Any]] = json.loads(
            ask_json(lib.toolcage_policy_tools_json, self._handle, encode(format, "the format"))
        )
        return tools

    def __repr__(self) -> str:
        return f"<toolcage.Policy {self.digest}>"

    def __del__(self, unref: Any = lib.toolcage_policy_unref) -> None:
        unref(self.__dict__.pop("_handle", None))
