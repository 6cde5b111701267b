# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The sandbox that agent frameworks want: one object with commands, files, terminals and ports."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping, Sequence
from typing import Any

from ._call import PIPE, Call, Path
from ._engine import Engine
from ._error import NotFoundError, UnsupportedError, UsageError
from ._policy import Policy
from ._result import Result
from ._session import MOST, Command, Port, Process, Session, file_error

#: What a sandbox can do. It has no "snapshot", "fork" or "users".
CAPABILITIES = frozenset({"exec", "shell", "stream", "signal", "pty", "put", "get", "list", "port"})


# The commands print the path without links.
TO_READ = 'readlink -f -- "$1"'
TO_WRITE = """
case $1 in */*) [ -d "${1%/*}/" ] || mkdir -p -- "${1%/*}" || exit ;; esac
[ ! -e "$1" ] || [ -d "$1" ] || [ -w "$1" ] || { echo "$1: Permission denied" >&2; exit 1; }
readlink -f -- "$1"
"""


class Sandbox(Session):
    """A live session with an engine of its own, made with `create` or `create_async`:

    async with await Sandbox.create_async(preset="python", workspace=".") as sandbox:
        print((await sandbox.exec_async(["python3", "-m", "pytest"])).message)
    """

    #: Narrow it down for a subclass that takes something away.
    capabilities: frozenset[str] = CAPABILITIES
    _owned: Engine | None = None

    def __init__(
        self, call: Call, *, engine: Engine | None = None, idle: float = 1800, lifetime: float | None = None
    ) -> None:
        self._owned = None if engine else Engine()
        try:
            super().__init__(engine or self._owned, call, idle, lifetime)  # type: ignore[arg-type]
            self._engine._watch(self)
        except BaseException:
            self._close_engine()
            raise

    @classmethod
    def create(
        cls,
        policy: Policy | Path | None = None,
        tool: str | None = None,
        *,
        preset: str | None = None,
        publish: Sequence[int | str] = (),
        options: Sequence[tuple[str, str]] = (),
        engine: Engine | None = None,
        idle: float = 1800,
        lifetime: float | None = None,
        **grants: Any,
    ) -> Sandbox:
        """Makes a sandbox and waits until it accepts commands; a refusal is a CallError.

        What it may do is a policy (its file, or one that was loaded) and a tool of it with session_lifetime, or a preset, or
        neither: the strictest useful grant. `grants` are `Call`'s: workspace, cwd, env, read, write, network, memory. They narrow
        a policy, and also widen a preset and the default. `publish` has ports, "5173" or "5173:127.0.0.1:8080"; under a policy
        the policy publishes. Without `engine` the sandbox has its own.
        """
        call = _grant(policy, tool, preset, publish, options, grants)
        sandbox = cls(call, engine=engine, idle=idle, lifetime=lifetime)
        sandbox._wait_ready()
        return sandbox

    @classmethod
    async def create_async(
        cls,
        policy: Policy | Path | None = None,
        tool: str | None = None,
        *,
        preset: str | None = None,
        publish: Sequence[int | str] = (),
        options: Sequence[tuple[str, str]] = (),
        engine: Engine | None = None,
        idle: float = 1800,
        lifetime: float | None = None,
        **grants: Any,
    ) -> Sandbox:
        call = _grant(policy, tool, preset, publish, options, grants)
        sandbox = cls(call, engine=engine, idle=idle, lifetime=lifetime)
        await sandbox._wait_ready_async()
        return sandbox

    # ---- commands

    def exec(
        self,
        command: Sequence[Path] | str,
        *,
        stdin: bytes | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        timeout: str | float | None = None,
        output: str | None = None,
    ) -> Result:
        """Runs words as a command, or a text in the sandbox's shell, which keeps its directory and variables."""
        return self.run(_command(command, stdin=stdin, cwd=cwd, env=env, timeout=timeout, output=output))

    async def exec_async(
        self,
        command: Sequence[Path] | str,
        *,
        stdin: bytes | None = None,
        cwd: Path | None = None,
        env: Mapping[str, str] | None = None,
        timeout: str | float | None = None,
        output: str | None = None,
    ) -> Result:
        return await self.run_async(
            _command(command, stdin=stdin, cwd=cwd, env=env, timeout=timeout, output=output)
        )

    def stream(
        self, command: Sequence[Path] | str, *, stdin: bytes | int | None = None, **more: Any
    ) -> Process:
        """Starts a command whose output is read as it comes, with `for` or `async for`. stdin=PIPE: write `Process.stdin`."""
        return self.start(_command(command, stdin=stdin, **more), stream=True)

    def pty(self, command: Sequence[Path] | str, rows: int = 24, columns: int = 80, **more: Any) -> Process:
        """Starts a command in a terminal: write keys to `Process.stdin`, read its output as from `stream`, `resize` it. The output
        has control sequences of the tool's: filter them before a terminal of the host shows them."""
        return self.start(_command(command, stdin=PIPE, terminal=(rows, columns), **more), stream=True)

    # ---- files as a program of the sandbox has them: links are followed

    def write(self, path: str, content: bytes | Path) -> None:
        """Writes a file, as `put`; makes the directories above it."""
        self.put(_resolved(path, self.exec(["sh", "-c", TO_WRITE, "sh", path])), content)

    async def write_async(self, path: str, content: bytes | Path) -> None:
        found = await self.exec_async(["sh", "-c", TO_WRITE, "sh", path])
        await self.put_async(_resolved(path, found), content)

    def read(self, path: str, most: int = MOST) -> bytes:
        return self.get(_resolved(path, self.exec(["sh", "-c", TO_READ, "sh", path])), most)

    async def read_async(self, path: str, most: int = MOST) -> bytes:
        found = await self.exec_async(["sh", "-c", TO_READ, "sh", path])
        return await self.get_async(_resolved(path, found), most)

    # ---- ports, and what is not there

    def port(self, number: int) -> Port:
        """Where programs of the host reach this port."""
        for port in self.ports():
            if port.port == number:
                return port
        raise NotFoundError(
            "not_found",
            f"port {number} is not published",
            hint="name it in the policy's `publish`, or in `publish` of create() without a policy",
        )

    def snapshot(self) -> Any:
        """Not yet."""
        raise _unsupported("snapshot")

    def fork(self) -> Any:
        """Not yet."""
        raise _unsupported("fork")

    # ---- its engine

    def _close_engine(self) -> None:
        owned, self._owned = self._owned, None
        if owned:
            owned.close()

    def _free(self) -> None:
        super()._free()
        self._close_engine()


def _unsupported(what: str) -> UnsupportedError:
    return UnsupportedError(
        "usage", f"a sandbox cannot {what} yet", hint="look at Sandbox.capabilities before you call"
    )


def _resolved(path: str, found: Result) -> str:
    name = os.fsdecode(found.stdout.removesuffix(b"\n"))
    if found.ok and name:
        return name
    if found.exit_code == 1 and not found.stderr:
        raise FileNotFoundError(errno.ENOENT, "No such file or directory (in the session)", path)
    raise file_error(found, path)


def _command(command: Sequence[Path] | str, **more: Any) -> Command:
    return Command(shell=command, **more) if isinstance(command, str) else Command(command, **more)


def _grant(
    policy: Policy | Path | None,
    tool: str | None,
    preset: str | None,
    publish: Sequence[int | str],
    options: Sequence[tuple[str, str]],
    grants: dict[str, Any],
) -> Call:
    if policy is not None and preset is not None:
        raise UsageError("usage", "a preset is a complete policy", hint="leave out one of policy and preset")
    if preset is not None:
        policy = Policy.preset(preset)
    elif policy is None:
        policy = Policy.default()
    elif not isinstance(policy, Policy):
        policy = Policy.from_file(policy)
    unknown = set(grants) - {"workspace", "cwd", "env", "read", "write", "network", "memory", "backend"}
    if unknown:
        raise UsageError("usage", f"a sandbox has no {sorted(unknown)[0]!r}", hint="see Sandbox.create")
    ports = tuple(("publish", str(port)) for port in publish)
    return Call(policy, tool, options=(*options, *ports), **grants)
