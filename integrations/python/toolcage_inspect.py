# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A sandbox for Inspect, on this host and without Docker: import this module, then

    Task(dataset, solver=[use_tools(bash(timeout=60)), generate()], scorer=..., sandbox="toolcage")

or sandbox=("toolcage", "tools.toml"): a policy file whose tool "sandbox" has session_lifetime. Each sample has its own sandbox,
whose working directory is private and empty.
"""

from __future__ import annotations

import contextlib
import errno
from typing import Any, Literal, overload

import toolcage
from inspect_ai.util import (
    ExecResult,
    OutputLimitExceededError,
    SandboxEnvironment,
    SandboxEnvironmentLimits,
    sandboxenv,
)
from inspect_ai.util import SandboxUserUnsupportedError as UserUnsupported

HOME = "/tmp/sample"


@sandboxenv(name="toolcage")
class ToolcageSandboxEnvironment(SandboxEnvironment):
    def __init__(self, sandbox: toolcage.Sandbox) -> None:
        super().__init__()
        self.sandbox = sandbox

    @classmethod
    async def open(cls, policy: str | None = None, **grants: Any) -> ToolcageSandboxEnvironment:
        """`grants` are those of `toolcage.Sandbox.create`."""
        tool = "sandbox" if policy and "tool" not in grants else grants.pop("tool", None)
        sandbox = await toolcage.Sandbox.create_async(policy, tool, **grants)
        try:
            (await sandbox.exec_async(["mkdir", "-p", HOME])).check()
        except BaseException:
            sandbox.close()
            raise
        return cls(sandbox)

    @classmethod
    async def sample_init(
        cls, task_name: str, config: Any, metadata: dict[str, str]
    ) -> dict[str, SandboxEnvironment]:
        return {"default": await cls.open(config)}

    @classmethod
    async def sample_cleanup(
        cls, task_name: str, config: Any, environments: dict[str, SandboxEnvironment], interrupted: bool
    ) -> None:
        for environment in environments.values():
            sandbox = environment.as_type(ToolcageSandboxEnvironment).sandbox
            with contextlib.closing(sandbox):
                if not interrupted:
                    await sandbox.end_async()

    async def exec(
        self,
        cmd: list[str],
        input: str | bytes | None = None,
        cwd: str | None = None,
        env: dict[str, str] | None = None,
        user: str | None = None,
        timeout: int | None = None,
        timeout_retry: bool = True,
        concurrency: bool = True,
    ) -> ExecResult[str]:
        if user is not None:
            raise UserUnsupported(f"a toolcage sandbox has one user and cannot execute as {user!r}")
        result = await self.sandbox.exec_async(
            cmd,
            stdin=input.encode() if isinstance(input, str) else input,
            cwd=_absolute(cwd or HOME),
            env=env,
            timeout=timeout,
        )
        if result.status is toolcage.Status.TIMEOUT:
            raise TimeoutError(result.message.partition("\n")[0])
        if result.shell_code == 126 and "ermission denied" in result.message:
            raise PermissionError(errno.EACCES, result.message, cmd[0])
        stderr = result.stderr_text
        if result.status not in (toolcage.Status.OK, toolcage.Status.FAILED):
            stderr = "\n".join(part for part in (stderr, result.message.partition("\n")[0]) if part)
        return ExecResult(result.ok, result.shell_code, result.stdout_text, stderr)

    async def write_file(self, file: str, contents: str | bytes) -> None:
        content = contents.encode() if isinstance(contents, str) else contents
        await self.sandbox.write_async(_absolute(file), content)

    @overload
    async def read_file(self, file: str, text: Literal[True] = True) -> str: ...

    @overload
    async def read_file(self, file: str, text: Literal[False]) -> bytes: ...

    async def read_file(self, file: str, text: bool = True) -> str | bytes:
        limits = SandboxEnvironmentLimits
        try:
            content = await self.sandbox.read_async(_absolute(file), limits.MAX_READ_FILE_SIZE)
        except OSError as error:
            if error.errno == errno.EFBIG:
                raise OutputLimitExceededError(limits.MAX_READ_FILE_SIZE_STR, None) from error
            raise
        return content.decode("utf-8") if text else content


def _absolute(path: str) -> str:
    return path if path.startswith("/") else f"{HOME}/{path}"
