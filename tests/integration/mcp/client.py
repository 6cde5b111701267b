# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""toolcage mcp under the official Python client, in both eras. Runs itself again under the client's interpreter."""

import json
import os
import pathlib

import scene
from scene import cli

scene.under_clients_python()

import anyio  # noqa: E402
from mcp.client import Client  # noqa: E402
from mcp.client.stdio import StdioServerParameters  # noqa: E402
from mcp.types import ElicitResult  # noqa: E402


async def drive(place, policy, mark, mode):
    argv = place.argv("mcp", "--policy", policy)
    server = StdioServerParameters(command=argv[0], args=argv[1:], cwd=place.project, env=place.environ)
    async with Client(server, mode=mode) as client:
        cli.check(
            (client.protocol_version == "2026-07-28") == (mode == "auto"),
            f"{mode}: speaks {client.protocol_version}",
        )
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        cli.check(
            tools["add"].title == "Adder" and tools["add"].annotations.read_only_hint is True,
            f"{mode}: list_tools",
            tools,
        )
        answer = await client.call_tool("add", {"a": 40, "b": 2})
        cli.check(
            not answer.is_error and answer.content[0].text.endswith("stdout:\n42\n"),
            f"{mode}: call_tool",
            answer,
        )
        answer = await client.call_tool("peek", {})
        cli.check(
            answer.is_error and "the secret" not in str(answer),
            f"{mode}: a refusal is an error for the model",
            answer,
        )
        answer = await client.call_tool("add", {"a": 5000, "b": 2})
        cli.check(
            answer.is_error and "1000" in answer.content[0].text,
            f"{mode}: bad arguments come back with the bound",
            answer,
        )
        answer = await client.call_tool("bytes", {})
        if mode == "auto":
            cli.check(answer.content[1].type == "resource", f"{mode}: a file is in the result", answer)
        else:
            read = await client.read_resource(answer.content[1].uri)
            cli.check(
                answer.content[1].type == "resource_link" and len(read.contents[0].blob) == 12000,
                f"{mode}: read_resource",
                read,
            )
        with anyio.move_on_after(1):
            await client.call_tool("wait", {})
        gone = await anyio.to_thread.run_sync(lambda: scene.until(lambda: scene.sleeping(mark) == 0))
        cli.check(gone, f"{mode}: a cancelled call leaves no process")


async def approve(place, mode):
    """The client's own form of a question; what it is answered decides."""
    policy = place.write(
        "home/project/approval.toml",
        '[tool.say]\ntier = "HumanApprove"\nbackend = "process"\ncommand = ["echo", "said", "{text}"]\narguments.text = { type = "string" }\n',
    )
    argv = place.argv("mcp", "--policy", policy, "--elicit")
    server = StdioServerParameters(command=argv[0], args=argv[1:], cwd=place.project, env=place.environ)
    for answer in ("yes", "no"):
        asked = []

        async def elicit(_, params, answer=answer, asked=asked):
            asked.append(params.message)
            return ElicitResult(action="accept", content={"answer": answer})

        async with Client(server, mode=mode, elicitation_callback=elicit) as client:
            result = await client.call_tool("say", {"text": "hello"})
            cli.check(
                result.is_error == (answer == "no")
                and ("said hello" in str(result)) == (answer == "yes")
                and len(asked) == 1
                and "hello" in asked[0],
                f"{mode}: a call that needs an approval is answered {answer}",
                (asked, result),
            )


async def listen(place, mode):
    """Output and log messages reach the client's callbacks."""
    policy = place.write(
        "listen.toml",
        '[tool.lines]\ncommand = ["sh", "-c", "echo one; sleep 1; echo two; sleep 1"]\n'
        '[tool.connect]\ncommand = ["/usr/bin/python3", "-c", "import socket; socket.create_connection((\'127.0.0.1\', 9), 2)"]\n',
    )
    argv = place.argv("mcp", "--policy", policy, "--stream")
    server = StdioServerParameters(command=argv[0], args=argv[1:], cwd=place.project, env=place.environ)
    told, logged = [], []

    async def progress(done, total, message):
        told.append(message)

    async def log(params):
        logged.append(params)

    async with Client(server, mode=mode, logging_callback=log) as client:
        await client.call_tool("lines", {}, progress_callback=progress)
        cli.check(told == ["one\n", "two\n"], f"{mode}: lines come while the tool runs", told)
        if mode == "legacy":
            await client.set_logging_level("warning")
        meta = {} if mode == "legacy" else {"io.modelcontextprotocol/logLevel": "warning"}
        await client.call_tool("connect", {}, meta=meta)
        cli.check(
            [(entry.level, entry.data["event"]) for entry in logged] == [("warning", "denials")],
            f"{mode}: a denial is logged",
            logged,
        )


async def reload(place, mode):
    """The client hears that the list of tools has changed."""
    text = '[tool.{}]\ncommand = ["true"]\n'
    policy = place.write("reload.toml", text.format("one"))
    argv = place.argv("mcp", "--policy", policy)
    server = StdioServerParameters(command=argv[0], args=argv[1:], cwd=place.project, env=place.environ)
    heard = anyio.Event()

    async def message(received):
        if "list_changed" in str(received):
            heard.set()

    def change():
        place.write("reload.toml", text.format("one") + text.format("two"))
        place.run("policy", "trust", policy)

    async with Client(server, mode=mode, message_handler=message) as client:
        cli.check(len((await client.list_tools()).tools) == 1, f"{mode}: one tool")
        with anyio.fail_after(20 * scene.PATIENCE):
            if mode == "legacy":
                await anyio.to_thread.run_sync(change)
                await heard.wait()
            else:
                async with client.listen(tools_list_changed=True) as events:
                    await anyio.to_thread.run_sync(change)
                    async for _ in events:
                        break
        tools = (await client.list_tools()).tools
        cli.check({tool.name for tool in tools} == {"one", "two"}, f"{mode}: and lists them again", tools)


async def review(place, mode):
    """The client's own form about the changes of a call that has run."""
    edited = os.path.dirname(place.write("edited/kept", ""))
    place.own(edited)
    policy = place.write(
        "review.toml",
        '[tool.edit]\nbackend = "process"\ncommand = ["sh", "-c", "echo run >> PROJECT/runs"]\n'
        'filesystem.writable = ["PROJECT"]\nworkspace = { mode = "copy", commit = "ask" }\n'.replace(
            "PROJECT", edited
        ),
    )
    argv = place.argv("mcp", "--policy", policy, "--elicit")
    server = StdioServerParameters(command=argv[0], args=argv[1:], cwd=place.project, env=place.environ)
    runs = pathlib.Path(edited, "runs")
    for answer in ("no", "yes"):
        asked = []

        async def elicit(_, params, answer=answer, asked=asked):
            asked.append((params.message, runs.exists()))
            return ElicitResult(action="accept", content={"answer": answer})

        async with Client(server, mode=mode, elicitation_callback=elicit) as client:
            result = await client.call_tool("edit", {})
            cli.check(
                not result.is_error
                and len(asked) == 1
                and "+run" in asked[0][0]
                and not asked[0][1]
                and runs.exists() == (answer == "yes")
                and ("1 applied" in str(result)) == (answer == "yes"),
                f"{mode}: changes that need an approval are answered {answer}",
                (asked, result),
            )
    cli.check(runs.read_text() == "run\n", f"{mode}: the tool ran once for each")
    runs.unlink()
    for row in json.loads(place.run("changes", "--json").out)["held"]:
        changes = json.loads(place.run("changes", row["call"], "--json").out).get("changes", [])
        if any(change.get("host", "").startswith(edited) for change in changes):
            place.run("changes", row["call"], "discard")


place, policy, mark = scene.place_with_policy()
with place:
    for mode in ("legacy", "auto"):
        anyio.run(approve, place, mode)
        anyio.run(review, place, mode)
        anyio.run(listen, place, mode)
        anyio.run(reload, place, mode)
    for mode in ("legacy", "auto"):
        anyio.run(drive, place, policy, mark, mode)
cli.finish()
