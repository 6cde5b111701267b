# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""`toolcage mcp --listen` with vLLM's client of tool servers: the file tool_server.py from vLLM's wheel, with the official MCP
client and openai-harmony. vLLM itself is not installed, because its release needs a version of PyTorch that no registry has.
This script replaces the two modules that tool_server.py imports from the rest of vLLM, its logger and its built-in tools. No
model is involved."""

import argparse
import importlib.util
import logging
import sys
import time
import types

import five
import scene
from five import HOSTS, cli
from web import Web

CODE = HOSTS / "vllm/vllm/entrypoints/mcp/tool_server.py"
if not CODE.exists():
    cli.skip_all("vLLM's tool_server.py is not here: tools/hosts vllm installs it")
scene.under_clients_python(CODE)
sys.path.append(str(HOSTS / "vllm"))

import anyio  # noqa: E402


def vllm():
    """Imports tool_server.py, unchanged, with stand-ins for the modules that it imports."""
    stand_ins = {
        "vllm": {},
        "vllm.logger": {"init_logger": logging.getLogger},
        "vllm.entrypoints": {},
        "vllm.entrypoints.mcp": {},
        "vllm.entrypoints.mcp.tool": dict.fromkeys(("HarmonyBrowserTool", "HarmonyPythonTool", "Tool")),
    }
    for name, members in stand_ins.items():
        sys.modules[name] = types.ModuleType(name)
        vars(sys.modules[name]).update(members)
    spec = importlib.util.spec_from_file_location("vllm.entrypoints.mcp.tool_server", CODE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


async def connect(module, *webs):
    return await module.init_tool_server(
        argparse.Namespace(tool_server=",".join(f"127.0.0.1:{web.port}" for web in webs))
    )


async def ask(module, web):
    server = await connect(module, web)
    cli.check(server.has_tool("toolcage"), "vLLM knows the server by its name")
    offered = server.get_tool_description("toolcage")
    tools = {tool.name: tool for tool in offered.tools}
    cli.check(
        set(tools) == {"read_csv", "peek", "connect", "wait"}
        and tools["read_csv"].parameters["additionalProperties"] is False,
        "vLLM offers the policy's tools, with their schema",
        offered,
    )
    allowed = server.get_tool_description("toolcage", ["read_csv"])
    cli.check(
        [tool.name for tool in allowed.tools] == ["read_csv"],
        "a request limits the tools that the model sees",
        allowed,
    )
    answers = {}
    async with server.new_session("toolcage", "session-1") as session:
        for question, (tool, arguments) in five.CALLS.items():
            began = time.monotonic()
            answer = await session.call_tool(tool, arguments)
            answers[question] = (answer.content[0].text, answer.is_error, time.monotonic() - began)
    return answers


async def ask_two(module, first, second):
    """The tools of both servers, as vLLM lists them, and the text that a call of the second server's tool returns."""
    server = await connect(module, first, second)
    names = {
        name: [tool.name for tool in server.get_tool_description(name).tools]
        for name in server.harmony_tool_descriptions
    }
    async with server.new_session(list(names)[-1], "session-2") as session:
        answer = await session.call_tool("hello", {})
    return names, answer.content[0].text


async def refused(module, web):
    try:
        await connect(module, web)
    except BaseException as error:  # an exception group
        return "401" in str(error) + str(getattr(error, "exceptions", ""))
    return False


with five.Scene() as here:
    code = vllm()
    with Web(here.place, here.policy, "--workspace", here.place.project, "--no-token") as open_server:
        here.judge("vLLM's client", anyio.run(ask, code, open_server))
    hello = here.place.write(
        "home/project/hello.toml", '[tool.hello]\ndescription = "Greets."\ncommand = ["echo", "hello"]\n'
    )
    with (
        Web(here.place, here.policy, "--no-token") as one,
        Web(here.place, hello, "--no-token", "--name", "greetings") as two,
        Web(here.place, hello, "--no-token") as same,
    ):
        names, text = anyio.run(ask_two, code, one, two)
        cli.check(
            list(names) == ["toolcage", "greetings"] and names["greetings"] == ["hello"] and "hello" in text,
            "two servers with two names are both there",
            (names, text),
        )
        mixed = anyio.run(connect, code, one, same)
        tools = [tool.name for tool in mixed.get_tool_description("toolcage").tools]
        cli.check(
            tools == ["hello"] and str(one.port) in mixed.urls["toolcage"],
            "with one name vLLM shows the tools of the second and calls the first",
            (tools, mixed.urls),
        )
    with Web(here.place, here.policy) as closed:
        cli.check(
            anyio.run(refused, code, closed),
            "a server that wants a token is not for vLLM, which sends none when it asks for the tools",
        )
cli.finish()
