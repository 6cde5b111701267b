# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The shell of the OpenAI Agents SDK, each command in a cage of its own:

    ShellTool(executor=CagedShell(engine, policy, "shell"))

The policy's tool has no command of its own: the model's stands in its place, under the tool's grant.
"""

from __future__ import annotations

import asyncio
from typing import Any

import toolcage
from agents import ShellCallOutcome, ShellCommandOutput, ShellCommandRequest, ShellResult
from toolcage import Status


class CagedShell:
    """`more` narrows each call, as `toolcage.Call` has it: workspace, session, env…"""

    def __init__(
        self, engine: toolcage.Engine, policy: toolcage.Policy, tool: str | None = None, **more: Any
    ) -> None:
        self.engine, self.policy, self.tool, self.more = engine, policy, tool, more

    async def __call__(self, request: ShellCommandRequest) -> ShellResult:
        action, output = request.data.action, []
        for line in action.commands:
            output.append(await self._run(line, action.timeout_ms))
            if output[-1].status == "timeout":
                break
        return ShellResult(output, max_output_length=action.max_output_length)

    async def _run(self, line: str, timeout_ms: int | None) -> ShellCommandOutput:
        """The model's timeout can end a call sooner than the policy's, which holds whatever the model says."""
        call = toolcage.Call(self.policy, self.tool, command=["sh", "-c", line], **self.more)
        with self.engine.start(call) as running:
            sooner = (
                None
                if timeout_ms is None
                else asyncio.get_running_loop().call_later(timeout_ms / 1000, running.cancel)
            )
            result = await running
            if sooner:
                sooner.cancel()
        ended = "timeout" if result.status in (Status.TIMEOUT, Status.CANCELLED) else "exit"
        return ShellCommandOutput(
            result.stdout_text,
            _said(result),
            command=line,
            outcome=ShellCallOutcome(ended, None if ended == "timeout" else result.shell_code),
        )


def _said(result: toolcage.Result) -> str:
    """The tool's own words; what ended it or refused it follows, for the model to act on."""
    if result.status in (Status.OK, Status.FAILED):
        return result.stderr_text
    reason = result.message if result.error else result.message.splitlines()[0]
    return "\n".join(part for part in (result.stderr_text, reason) if part)
