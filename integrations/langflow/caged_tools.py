# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The tools of a policy as a component of LangFlow: a toolset for an agent, or one call as a step of a flow.

Whoever edits flows is not who grants: the policies are files in the directory that LangFlow's environment names as TOOLCAGE_POLICIES, and
what `/workspace` stands for is TOOLCAGE_WORKSPACE. A flow chooses among the policies by name.
"""

from __future__ import annotations

import os
import pathlib
import re
from typing import Any

import toolcage
from langchain_core.tools import StructuredTool, ToolException
from lfx.custom.custom_component.component import Component
from lfx.field_typing import Tool
from lfx.io import MessageTextInput, MultilineInput, Output
from lfx.schema.message import Message


class CagedTools(Component):
    display_name = "Caged Tools"
    description = "Tools of a toolcage policy, each call in a cage of its own."
    icon = "shield"
    name = "CagedTools"

    inputs = [
        MessageTextInput(
            name="policy",
            display_name="Policy",
            value="tools",
            required=True,
            info="The name of a policy in $TOOLCAGE_POLICIES, without .toml.",
        ),
        MessageTextInput(name="tool", display_name="Tool", info="For the output Result: the tool to call."),
        MultilineInput(
            name="arguments",
            display_name="Arguments",
            value="{}",
            info="For the output Result: a JSON object.",
        ),
    ]
    outputs = [
        Output(name="tools", display_name="Toolset", method="build_tools", types=["Tool"]),
        Output(name="result", display_name="Result", method="call_tool"),
    ]

    def build_tools(self) -> list[Tool]:
        policy, workspace = load(self.policy), place("TOOLCAGE_WORKSPACE")
        return [as_tool(policy, row, workspace) for row in policy.tools("mcp")]

    async def call_tool(self) -> Message:
        """A refusal is the flow's error: the steps after it do not run on what was not done."""
        policy, name = load(self.policy), self.tool
        if name not in [row["name"] for row in policy.tools("mcp")]:
            raise ValueError(f"The policy {self.policy} has no tool {name!r} that a flow may call.")
        result = await call(policy, name, self.arguments, place("TOOLCAGE_WORKSPACE"))
        if not result.ok:
            raise ValueError(result.message)
        return Message(text=result.stdout_text)


def place(variable: str) -> pathlib.Path:
    said = os.environ.get(variable, "")
    if not os.path.isabs(said):
        raise ValueError(
            f"{variable} of LangFlow's environment is no absolute path: {said!r}. Set it where LangFlow is started."
        )
    return pathlib.Path(said)


def load(name: str) -> toolcage.Policy:
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        raise ValueError(f"{name!r} is no name of a policy: letters, digits, _ and - only, and no .toml.")
    return toolcage.Policy.from_file(place("TOOLCAGE_POLICIES") / f"{name}.toml")


async def call(
    policy: toolcage.Policy, name: str, arguments: dict[str, Any] | str, workspace: pathlib.Path
) -> toolcage.Result:
    with (
        toolcage.Engine() as engine
    ):  # a flow is copied, and runs in whatever loop there is: nothing outlives the call
        return await engine.run_async(toolcage.Call(policy, name, arguments, workspace=workspace))


def as_tool(policy: toolcage.Policy, row: dict[str, Any], workspace: pathlib.Path) -> StructuredTool:
    name = row["name"]

    def told(result: toolcage.Result) -> str:
        if not result.ok:
            raise ToolException(result.message)
        return result.message

    def run(**arguments: Any) -> str:
        with toolcage.Engine() as engine:
            return told(engine.run(toolcage.Call(policy, name, arguments, workspace=workspace)))

    async def run_async(**arguments: Any) -> str:
        return told(await call(policy, name, arguments, workspace))

    return StructuredTool(
        name=name,
        description=row["description"] or name,
        args_schema=row["inputSchema"],
        func=run,
        coroutine=run_async,
        handle_tool_error=True,
    )
