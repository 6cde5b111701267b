# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Real servers from npm and PyPI in their cages, driven by the official Python client (this script, which runs itself
again under the client's interpreter) and by the official TypeScript clients (servers.mjs)."""

import json
import os
import pathlib
import shutil
import subprocess
import time

import scene
from scene import CLIENTS, cli

MODULES = CLIENTS / "node_modules"
scene.under_clients_python(MODULES / "@modelcontextprotocol/server-filesystem", what="clients and servers")
if not all(shutil.which(program) for program in ("node", "npx", "git")):
    cli.skip_all("there is no node, npx or git here")

import anyio  # noqa: E402
from mcp.client import Client  # noqa: E402
from mcp.client.stdio import StdioServerParameters  # noqa: E402

POLICY = """
[defaults]
memory = { max = "512MiB", by = "any" }

[server.files]
command = ["node", "/srv/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js", "/workspace"]
filesystem = { writable = [{ path = "/workspace", from = "notes" }], readable = [{ path = "/srv/node_modules", from = "MODULES" }] }
tool.read_text_file = { arguments.path = { read = ["/workspace"] }, description = "Reads a note." }
tool.list_directory = {}
tool.write_file = { arguments.path = { write = ["/workspace/inbox"] }, arguments.content = { maxLength = 100 } }
tool.create_directory = { tier = "HumanApprove", arguments.path = { write = ["/workspace/inbox"] } }

[server.everything]
command = ["node", "/srv/node_modules/@modelcontextprotocol/server-everything/dist/index.js"]
filesystem = { readable = [{ path = "/srv/node_modules", from = "MODULES" }] }
pass = ["resources", "prompts", "sampling"]
tool.echo = { arguments.message = { maxLength = 20 } }
tool.get-sum = {}
tool.get-env = {}
tool.trigger-long-running-operation = {}
tool.trigger-sampling-request = {}

[server.quiet]
command = ["node", "/srv/node_modules/@modelcontextprotocol/server-everything/dist/index.js"]
filesystem = { readable = [{ path = "/srv/node_modules", from = "MODULES" }] }
pin = true
tool.get-sum = {}

[server.git]
command = ["mcp-server-git", "--repository", "/workspace"]
programs = ["mcp-server-git"]
filesystem = { readable = [{ path = "/workspace", from = "repository" }] }
tool.git_log = { arguments.repo_path = { read = ["/workspace"] }, arguments.max_count = { type = "integer", maximum = 5, optional = true } }
tool.git_status = { arguments.repo_path = { read = ["/workspace"] } }

[server.time]
command = ["mcp-server-time"]
programs = ["mcp-server-time"]
tool.get_current_time = { arguments.timezone = { enum = ["Etc/UTC", "Europe/Madrid"] } }
"""
# As the design of the policy language has it, to the letter; the server is installed where it starts.
NPX = """[server.files]
command = ["npx", "-y", "@modelcontextprotocol/server-filesystem", "/workspace"]
filesystem = { writable = [{ path = "/workspace", from = "~/notes" }] }
network = "none"
tool.read_text_file = { arguments.path = { read = ["/workspace"] } }
tool.list_directory = {}
tool.write_file = { tier = "HumanApprove", arguments.path = { write = ["/workspace/inbox"] } }
"""


def parameters(place, policy, server):
    argv = place.argv("wrap", "--policy", policy, "--server", server)
    return StdioServerParameters(command=argv[0], args=argv[1:], cwd=place.project, env=place.environ)


async def failing(awaitable):
    try:
        await awaitable
    except Exception as error:  # pylint: disable=broad-exception-caught
        return str(error)
    return ""


async def files(client, mode):
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    cli.check(
        sorted(tools) == ["list_directory", "read_text_file", "write_file"],
        f"{mode} files: the policy's tools",
        sorted(tools),
    )
    cli.check(
        tools["read_text_file"].description == "Reads a note."
        and "path" in tools["list_directory"].input_schema["properties"],
        f"{mode} files: the operator's words, the server's schema",
        tools["read_text_file"],
    )
    answer = await client.call_tool("read_text_file", {"path": "/workspace/todo.txt"})
    cli.check(not answer.is_error and answer.content[0].text == "a note\n", f"{mode} files: a read", answer)
    answer = await client.call_tool("write_file", {"path": "/workspace/inbox/new.txt", "content": mode})
    cli.check(
        not answer.is_error and pathlib.Path(NOTES, "inbox/new.txt").read_text(encoding="utf-8") == mode,
        f"{mode} files: a write within the bound",
        answer,
    )
    for tool, arguments, words in (
        ("read_text_file", {"path": "/etc/passwd"}, "allowed: /workspace"),
        ("read_text_file", {"path": "todo.txt"}, "absolute"),
        ("write_file", {"path": "/workspace/todo.txt", "content": "x"}, "allowed: /workspace/inbox"),
        ("write_file", {"path": "/workspace/inbox/x", "content": "y" * 101}, "100"),
        ("create_directory", {"path": "/workspace/inbox/d"}, "approval"),
    ):
        answer = await client.call_tool(tool, arguments)
        cli.check(
            answer.is_error and words in answer.content[0].text,
            f"{mode} files: {tool} {arguments} is refused with words",
            answer,
        )
    error = await failing(
        client.call_tool("move_file", {"source": "/workspace/todo.txt", "destination": "/workspace/x"})
    )
    cli.check(
        "no tool of this name" in error and os.path.exists(NOTES + "/todo.txt"),
        f"{mode} files: a tool that the policy does not name",
        error,
    )
    answer = await client.call_tool("list_directory", {"path": os.path.dirname(NOTES)})
    cli.check(
        answer.is_error and "secret" not in str(answer),
        f"{mode} files: what is not granted is not there",
        answer,
    )


async def everything(client, mode):
    answer = await client.call_tool("get-sum", {"a": 40, "b": 2})
    cli.check("42" in answer.content[0].text, f"{mode} everything: a call", answer)
    answer = await client.call_tool("get-env", {})
    cli.check(
        "/tmp" in answer.content[0].text
        and NOTES not in answer.content[0].text
        and "hidden" not in answer.content[0].text,
        f"{mode} everything: its environment is the cage's",
        answer,
    )
    answer = await client.call_tool("echo", {"message": "x" * 21})
    cli.check(answer.is_error and "20" in answer.content[0].text, f"{mode} everything: a bound", answer)
    resources = (await client.list_resources()).resources
    read = await client.read_resource(resources[0].uri)
    cli.check(bool(read.contents), f"{mode} everything: resources pass", resources[:2])
    prompts = (await client.list_prompts()).prompts
    cli.check(bool(prompts), f"{mode} everything: prompts pass", prompts)
    seen = []

    async def progress(done, total, message):
        seen.append((done, total, message))

    answer = await client.call_tool(
        "trigger-long-running-operation", {"duration": 1, "steps": 3}, progress_callback=progress
    )
    cli.check(not answer.is_error and len(seen) >= 2, f"{mode} everything: progress passes", (answer, seen))
    began = time.monotonic()
    with anyio.move_on_after(1):
        await client.call_tool("trigger-long-running-operation", {"duration": 30, "steps": 3})
    answer = await client.call_tool("get-sum", {"a": 1, "b": 2})
    cli.check(
        "3" in answer.content[0].text and time.monotonic() - began < 20,
        f"{mode} everything: a cancelled call holds nothing up",
        answer,
    )


async def quiet(client, mode):
    """A pinned server of which nothing but tools passes."""
    tools = (await client.list_tools()).tools
    cli.check(not tools, f"{mode} quiet: unapproved tools are not listed", tools)
    answer = await client.call_tool("get-sum", {"a": 40, "b": 2})
    cli.check(
        answer.is_error and "no person has approved" in answer.content[0].text,
        f"{mode} quiet: an unapproved tool is refused",
        answer,
    )
    shown = place.run("pins", "show", "quiet").out.rsplit("digest | ", 1)[-1].strip()
    accepted = place.run("pins", "accept", "quiet", "--digest", shown)
    tools = [tool.name for tool in (await client.list_tools()).tools]
    answer = await client.call_tool("get-sum", {"a": 40, "b": 2})
    cli.check(
        tools == ["get-sum"] and "42" in answer.content[0].text,
        f"{mode} quiet: an approved tool is listed and called",
        (accepted, tools, answer),
    )
    for ask in (client.list_resources, client.list_prompts):
        error = await failing(ask())
        cli.check(bool(error), f"{mode} quiet: {ask.__name__} does not pass", error)


async def git(client, mode):
    tools = [tool.name for tool in (await client.list_tools()).tools]
    cli.check(sorted(tools) == ["git_log", "git_status"], f"{mode} git: the policy's tools", tools)
    answer = await client.call_tool("git_log", {"repo_path": "/workspace", "max_count": 2})
    cli.check(
        not answer.is_error and "the first commit" in answer.content[0].text, f"{mode} git: a call", answer
    )
    answer = await client.call_tool("git_log", {"repo_path": "/workspace", "max_count": 6})
    cli.check(answer.is_error and "more than 5" in answer.content[0].text, f"{mode} git: a bound", answer)
    error = await failing(client.call_tool("git_commit", {"repo_path": "/workspace", "message": "x"}))
    cli.check("no tool of this name" in error, f"{mode} git: a tool that the policy does not name", error)


async def clock(client, mode):
    answer = await client.call_tool("get_current_time", {"timezone": "Europe/Madrid"})
    cli.check(not answer.is_error and "datetime" in answer.content[0].text, f"{mode} time: a call", answer)
    answer = await client.call_tool("get_current_time", {"timezone": "America/Lima"})
    cli.check(
        answer.is_error and "Europe/Madrid" in answer.content[0].text,
        f"{mode} time: a refusal names the values",
        answer,
    )


async def drive(place, policy, server, part, mode):
    with anyio.fail_after(90):
        async with Client(parameters(place, policy, server), mode=mode) as client:
            await part(client, f"{mode} ({client.protocol_version})")


async def npx(place, policy):
    async with Client(parameters(place, policy, "files"), mode="legacy") as client:
        answer = await client.call_tool("read_text_file", {"path": "/workspace/todo.txt"})
        cli.check(
            not answer.is_error and answer.content[0].text == "a note\n",
            "npx: a server that is installed starts without a network",
            answer,
        )
        answer = await client.call_tool("write_file", {"path": "/workspace/inbox/x", "content": "y"})
        cli.check(
            answer.is_error and "approval" in answer.content[0].text,
            "npx: a tool that a person must approve",
            answer,
        )


def typescript(place, policy):
    argv = place.argv("wrap", "--policy", policy, "--server")
    server = {"command": argv[0], "args": argv[1:], "cwd": place.project, "env": place.environ}
    done = subprocess.run(
        ["node", pathlib.Path(__file__).with_name("servers.mjs"), CLIENTS, json.dumps(server)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    seen = [json.loads(line) for line in done.stdout.splitlines()]
    cli.check(
        [s["name"] for s in seen] == ["sdk", "client"],
        "both TypeScript clients went through",
        done.stdout + done.stderr,
    )
    for s in seen:
        name = s["name"]
        cli.check(
            sorted(s["tools"]) == ["list_directory", "read_text_file", "write_file"],
            f"{name} files: listTools",
            s["tools"],
        )
        cli.check(s["read"]["content"][0]["text"] == "a note\n", f"{name} files: callTool", s["read"])
        cli.check(
            s["denied"]["isError"] is True and "allowed: /workspace" in s["denied"]["content"][0]["text"],
            f"{name} files: a refusal",
            s["denied"],
        )
        cli.check(
            "no tool of this name" in s["unknown"],
            f"{name} files: a tool that the policy does not name",
            s["unknown"],
        )
        cli.check(
            "from the client" in json.dumps(s["sampled"]),
            f"{name} everything: what the server asks of the client passes",
            s["sampled"],
        )


place = cli.Place()
NOTES = os.path.join(place.project, "notes")
place.environ["PATH"] = f"{CLIENTS}/python/bin:{place.environ['PATH']}"
place.environ["HIDDEN"] = "hidden"
with place:
    place.write("home/project/notes/todo.txt", "a note\n")
    place.write("home/project/notes/inbox/old.txt", "old\n")
    place.write("home/project/secret.txt", "secret\n")
    repository = os.path.join(place.project, "repository")
    place.write("home/project/repository/file.txt", "text\n")
    for words in (
        ["init", "-q"],
        ["add", "."],
        ["-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-qm", "the first commit"],
    ):
        subprocess.run(["git", *words], cwd=repository, check=True, env=place.environ)
    main_policy = place.write("home/project/servers.toml", POLICY.replace("MODULES", str(MODULES)))
    for its_server, its_part, its_modes in (
        ("files", files, ["legacy"]),
        ("everything", everything, ["auto"]),
        ("quiet", quiet, ["legacy"]),
        ("git", git, ["legacy", "auto"]),
        ("time", clock, ["auto"]),
    ):
        for its_mode in its_modes:
            anyio.run(drive, place, main_policy, its_server, its_part, its_mode)
    typescript(place, main_policy)
    place.write("home/notes/todo.txt", "a note\n")
    shutil.copytree(MODULES, place.home + "/notes/node_modules", symlinks=True)
    anyio.run(npx, place, place.write("home/project/npx.toml", NPX))
cli.finish()
