# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""LangFlow's own runner (lfx) with our tools, by its component "MCP Tools" over HTTP and by integrations/langflow, whose source is
loaded and built as that of any custom component. A component's tools are called as LangFlow's agents call them; there is no
model and no web application. Runs itself again under LangFlow's interpreter."""

import asyncio
import os
import pathlib
import sys
import time

import five
from five import HOSTS, cli
from web import Web

ROOT = pathlib.Path(__file__).resolve().parents[3]
PYTHON = HOSTS / "langflow/python/bin/python"
if not PYTHON.exists():
    cli.skip_all("LangFlow's runner is not here: tools/hosts langflow installs it")
if sys.prefix != str(HOSTS / "langflow/python"):
    os.environ.update(LANGFLOW_CONFIG_DIR=str(HOSTS / "langflow"), DO_NOT_TRACK="true")
    os.execv(PYTHON, [str(PYTHON), *sys.argv])
sys.path.append(str(ROOT / "bindings/python"))

from lfx.components.input_output import ChatOutput  # noqa: E402
from lfx.components.models_and_agents.mcp_component import MCPToolsComponent  # noqa: E402
from lfx.custom.eval import eval_custom_component_code  # noqa: E402
from lfx.graph import Graph  # noqa: E402

SOURCE = (ROOT / "integrations/langflow/caged_tools.py").read_text()


async def ask(tools):
    """The five calls, as an agent makes them: what it gets is a message with a status."""
    answers = {}
    for question, (name, arguments) in five.CALLS.items():
        began = time.monotonic()
        try:
            answer = await tools[name].ainvoke(
                {"type": "tool_call", "id": "c1", "name": name, "args": arguments}
            )
            said, error = str(answer.content), answer.status == "error"
        except Exception as failure:  # an agent would be told its words
            said, error = str(failure), True
        answers[question] = (said, error, time.monotonic() - began)
    return answers


def named(tools):
    return {tool.name: tool for tool in tools}


async def by_mcp(web, heads):
    component = MCPToolsComponent(_user_id=None)
    component.set(
        mcp_server={"name": "caged", "config": {"url": web.url(), "headers": heads}},
        tool_execution_timeout=60.0,
    )
    tools, _ = await component.update_tool_list()
    return named(tools)


def check_mcp(here, web):
    async def whole():
        tools = await by_mcp(web, {"Authorization": f"Bearer {web.token}"})
        cli.check(
            set(tools) == {"read_csv", "peek", "connect", "wait"},
            "MCP Tools: the policy's tools are there",
            tools,
        )
        return await ask(tools)

    here.judge("MCP Tools", asyncio.run(whole()))
    for what, server, word in (
        ("without the token", {"url": web.url()}, "401"),
        ("by a command", {"command": "toolcage", "args": ["mcp", "--policy", here.policy]}, "is not allowed"),
    ):
        component = MCPToolsComponent(_user_id=None)
        component.set(mcp_server={"name": "caged", "config": server})
        try:
            tools, _ = asyncio.run(component.update_tool_list())
            cli.check(False, f"MCP Tools: {what} there are no tools", tools)
        except Exception as error:
            cli.check(word in str(error), f"MCP Tools: {what} there are no tools", error)


def made(**values):
    return eval_custom_component_code(SOURCE)(**values)


def refusal(work):
    try:
        return f"no refusal: {work()}"
    except Exception as error:
        return str(error)


def check_component(here):
    tools = named(made(policy="tools").build_tools())
    cli.check(
        tools["read_csv"].args_schema["additionalProperties"] is False,
        "component: tools have the policy's schema",
        tools["read_csv"].args_schema,
    )
    here.judge("component", asyncio.run(ask(tools)))
    said = asyncio.run(
        tools["read_csv"].ainvoke(
            {
                "type": "tool_call",
                "id": "c",
                "name": "read_csv",
                "args": {"path": "/workspace/a.csv", "more": 1},
            }
        )
    )
    cli.check(
        said.status == "error" and "more" in said.content,
        "component: an argument that is not declared is refused",
        said,
    )
    for name in ("../tools", "/etc/passwd", "tools.toml", ""):
        said = refusal(lambda name=name: made(policy=name).build_tools())
        cli.check("is no name of a policy" in said, f"component: a flow names no file ({name!r})", said)
    said = refusal(lambda: made(policy="absent").build_tools())
    cli.check("absent.toml" in said, "component: a policy that is not there is an error", said)
    kept = os.environ.pop("TOOLCAGE_POLICIES")
    said = refusal(lambda: made(policy="tools").build_tools())
    cli.check(
        "TOOLCAGE_POLICIES" in said, "component: without the operator's directory there are no tools", said
    )
    os.environ["TOOLCAGE_POLICIES"] = kept


def flow(**values):
    """A flow of two components, run by LangFlow's graph; what the second one says."""
    caged, out = made(policy="tools", _id="caged", **values), ChatOutput(_id="out")
    out.set(input_value=caged.call_tool)
    rows = [row for row in Graph(caged, out).start() if getattr(row, "vertex", None)]
    return [row.result_dict.results["message"].text for row in rows if row.vertex.id == "out"]


def check_flow():
    said = flow(tool="read_csv", arguments='{"path": "/workspace/a.csv"}')
    cli.check(said == ["name,rows\nx,1\n"], "flow: a step calls a tool", said)
    said = refusal(lambda: flow(tool="read_csv", arguments='{"path": "/etc/shadow"}'))
    cli.check("outside the bounds of the argument" in said, "flow: a refusal is the flow's error", said)
    said = refusal(lambda: flow(tool="rm", arguments="{}"))
    cli.check("has no tool 'rm'" in said, "flow: what the policy does not name is no tool", said)


with five.Scene() as here:
    os.environ.update(TOOLCAGE_POLICIES=here.place.project, TOOLCAGE_WORKSPACE=here.place.project)
    with Web(here.place, here.policy, "--workspace", here.place.project) as web:
        check_mcp(here, web)
    check_component(here)
    check_flow()
cli.finish()
