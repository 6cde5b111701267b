# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The settings that docs/agents shows, in the agents themselves and without any account: a server of this script takes the place of
the model's, notes which tools the agent offers, and refuses the request. With the settings for the caged tools alone these are
offered beside the agent's own shell; with those of "Switch its own tools off" the shell is offered no more."""

import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
import cli  # noqa: E402

HERE = pathlib.Path(__file__).resolve()
ROOT = HERE.parents[3]
MODULES = ROOT / "build-agents" / "node_modules"
SERVER = ROOT / "build-clients/node_modules/@modelcontextprotocol/server-filesystem/dist/index.js"
CAGED = re.compile(r"(^|[_:])list_files$")
offered = []


def names_of(tools):
    for tool in tools:
        for inner in (
            tool.get("functionDeclarations")
            or (tool.get("tools") if tool.get("type") == "namespace" else None)
            or [tool]
        ):
            yield inner.get("name") or inner.get("function", {}).get("name") or inner.get("type", "")


class Model(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        try:
            offered.append(list(names_of(json.loads(body).get("tools") or [])))
        except ValueError:
            pass
        self.answer(400)

    def do_GET(self):
        self.answer(404)

    do_HEAD = do_GET

    def answer(self, code):
        body = b'{"error": {"type": "invalid_request_error", "code": 400, "status": "INVALID_ARGUMENT", "message": "noted"}}'
        self.send_response(code)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


def snippets(page):
    """The code blocks of the page, by the file name that stands in the line before."""
    text = (ROOT / "docs/agents" / f"{page}.md").read_text()
    return [
        (name, body)
        for name, body in re.findall(r"`([^`\n]+)`:\n\n```(?:json|toml)(?: settings)?\n(.*?)```", text, re.S)
    ]


class Desk:
    """A home and a project with the files that the page shows, its paths replaced by those of here."""

    def __init__(self, place, page, base):
        self.page, self.base = page, base
        self.home = pathlib.Path(place.write(f"{page}/home/.keep", "")).parent
        self.project = pathlib.Path(place.write(f"{page}/project/notes.txt", "notes\n")).parent
        policy = place.write(
            f"{page}/tools.toml",
            '[tool.list_files]\ndescription = "List the files of the project."\n'
            'command = ["ls", "-la", "/workspace"]\nfilesystem.readable = ["/workspace"]\n'
            'memory = { max = "512MiB", by = "any" }\n',
        )
        self.words = {
            "/home/me/tools.toml": policy,
            "/home/me/project": str(self.project),
            '"toolcage"': json.dumps(str(cli.TOOLCAGE)),
        }
        self.environ = {
            "HOME": str(self.home),
            "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8",
            "XDG_CONFIG_HOME": str(self.home / ".config"),
            "XDG_DATA_HOME": str(self.home / ".local/share"),
            "XDG_CACHE_HOME": str(self.home / ".cache"),
            "XDG_STATE_HOME": str(self.home / ".local/state"),
        }

    def put(self, name, text):
        for word, here in self.words.items():
            text = text.replace(word, here)
        path = self.home / name[2:] if name.startswith("~/") else self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def take(self, *which):
        """Writes the blocks of the page with these numbers; two for one file of JSON or TOML are joined."""
        files = {}
        for number in which:
            name, body = snippets(self.page)[number]
            old = files.get(name)
            files[name] = (
                body
                if old is None
                else json.dumps(json.loads(old) | json.loads(body))
                if name.endswith("json")
                else old + body
            )
        for name, body in files.items():
            self.put(name, body)

    def run(self, *argv, **more):
        return subprocess.run(
            [str(word) for word in argv],
            cwd=self.project,
            env=self.environ | more,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )

    def offers(self, *argv, **more):
        """The tools of the request with the most of them: some agents send others beside it."""
        offered.clear()
        done = self.run(*argv, **more)
        got = max(offered, key=len, default=[])
        print(f"# {self.page}: {' '.join(sorted(got))}"[:400], flush=True)
        return set(got), done.stdout + done.stderr


def judge(page, before, after, shells, said):
    caged = [any(CAGED.search(name) for name in names) for names in (before, after)]
    cli.check(caged[0], f"{page}: the caged tool is offered", (sorted(before), said[0][-2000:]))
    cli.check(before & shells, f"{page}: so is its own shell, which is not caged", sorted(before))
    cli.check(
        caged[1] and not after & shells,
        f"{page}: switched off, the caged tool alone is left of the two",
        (sorted(after), said[1][-2000:]),
    )


def adopted(desk, name, text, argv, **more):
    """A server in the agent's settings that toolcage adopt puts in a cage: its tools are still offered."""
    if not SERVER.exists():
        cli.skip(f"{desk.page}: a server is adopted", "tools/clients installs it")
        return
    words = ["node", str(SERVER.resolve()), str(desk.project)]
    desk.put(name, text.replace("PROGRAM", json.dumps(words[0])).replace("ARGS", json.dumps(words[1:])[1:-1]))
    done = desk.run(cli.TOOLCAGE, "adopt", "--yes")
    listed = desk.run(cli.TOOLCAGE, "adopt", "--list")
    cli.check("already wrapped" in listed.stdout, f"{desk.page}: a server is adopted", (done, listed))
    tools, said = desk.offers(*argv, **more)
    cli.check(
        any(re.search(r"(^|[_:])read_text_file$", tool) for tool in tools),
        f"{desk.page}: its tools are offered from the cage",
        (sorted(tools), said[-2000:]),
    )


def claude(desk):
    argv = [
        MODULES / "@anthropic-ai/claude-code-linux-x64/claude",
        "-p",
        "list the files",
        "--mcp-config",
        ".mcp.json",
        "--strict-mcp-config",
    ]
    more = {
        "ANTHROPIC_BASE_URL": desk.base,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    desk.take(0)
    before, first = desk.offers(*argv, **more)
    desk.take(0, 1)
    after, second = desk.offers(*argv, **more)
    judge(desk.page, before, after, {"Bash", "Write", "Edit"}, (first, second))
    server = '{\n\t"mcpServers": {"files": {"type": "stdio", "command": PROGRAM, "args": [ARGS]}}\n}\n'
    adopted(
        desk,
        "~/.claude.json",
        server,
        [*argv[:3], "--strict-mcp-config", "--mcp-config", desk.home / ".claude.json"],
        **more,
    )


def codex(desk):
    argv = [
        next(MODULES.glob("@openai/codex-linux-x64/vendor/*/bin/codex")),
        "exec",
        "--skip-git-repo-check",
        "list the files",
    ]
    model = (
        f'model = "noted"\nmodel_provider = "noted"\n[model_providers.noted]\nname = "noted"\nbase_url = "{desk.base}/v1"\n'
        'wire_api = "responses"\nrequest_max_retries = 0\nstream_max_retries = 0\n'
    )
    got, said = [], []
    for which in ((0,), (0, 1)):
        desk.take(*which)
        path = desk.home / ".codex/config.toml"
        path.write_text(model + path.read_text())
        tools, text = desk.offers(*argv)
        got.append(tools)
        said.append(text)
    judge(desk.page, *got, {"exec_command", "shell", "shell_command", "local_shell"}, said)
    server = "[mcp_servers.files] # mine\ncommand = PROGRAM\nargs = [ARGS]\n"
    adopted(desk, "~/.codex/config.toml", model + server, argv)


def gemini(desk):
    argv = [
        "node",
        MODULES / "@google/gemini-cli/bundle/gemini.js",
        "-m",
        "gemini-2.5-flash",
        "--approval-mode",
        "yolo",
        "-p",
        "list the files",
    ]
    more = {
        "GEMINI_API_KEY": "none",
        "GOOGLE_GEMINI_BASE_URL": desk.base,
        "GEMINI_CLI_TRUST_WORKSPACE": "true",
    }
    desk.put("~/.gemini/settings.json", '{"security": {"auth": {"selectedType": "gemini-api-key"}}}')
    desk.take(0)
    before, first = desk.offers(*argv, **more)
    desk.take(0, 1)
    after, second = desk.offers(*argv, **more)
    judge(desk.page, before, after, {"run_shell_command", "write_file", "replace"}, (first, second))
    server = '// mine\n{"security": {"auth": {"selectedType": "gemini-api-key"}}, "mcpServers": {"files": {"command": PROGRAM, "args": [ARGS]}}}'
    adopted(desk, "~/.gemini/settings.json", server, argv, **more)


def opencode(desk):
    argv = [MODULES / "opencode-linux-x64/bin/opencode", "run", "list the files"]
    model = {
        "model": "noted/m",
        "provider": {
            "noted": {
                "npm": "@ai-sdk/openai-compatible",
                "options": {"baseURL": desk.base + "/v1", "apiKey": "none"},
                "models": {"m": {}},
            }
        },
    }
    got, said = [], []
    for which in ((0,), (0, 1)):
        desk.take(*which)
        path = desk.project / "opencode.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | model))
        tools, text = desk.offers(*argv)
        got.append(tools)
        said.append(text)
    judge(desk.page, *got, {"bash", "write", "edit"}, said)
    server = '// mine\n{"mcp": {"files": {"type": "local", "command": [PROGRAM, ARGS]}},'
    adopted(desk, "~/.config/opencode/opencode.jsonc", server + json.dumps(model)[1:], argv)


cli.require_user()
if not MODULES.exists():
    cli.skip_all("the agents are not here: tools/clients agents installs them")
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
threading.Thread(target=server.serve_forever, daemon=True).start()
with cli.Place() as place:
    for page, agent in (
        ("claude-code", claude),
        ("codex", codex),
        ("gemini-cli", gemini),
        ("opencode", opencode),
    ):
        agent(Desk(place, page, f"http://127.0.0.1:{server.server_port}"))
cli.finish()
