# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""toolcage adopt on homes with the settings of each agent: what is changed is exact, everything else stays byte for byte,
and --undo restores it. Hostile settings run nothing and get no grant outside their project."""

import json
import os
import pathlib
import re
import shutil
import stat
import struct
import subprocess
import threading
import time

from cli import ORDINARY, TOOLCAGE, Person, Place, check, expect, finish, require_user, running_as, skip

PROGRAM = os.path.realpath(TOOLCAGE)
MODULES = pathlib.Path(__file__).resolve().parents[3] / "build-clients" / "node_modules"
TOKEN = "ghp_0123456789abcdefABCDEF0123456789abcd"
SECRETS = "home/.config/toolcage/secrets/"


def wrap(place, policy, server):
    """The words that adopt puts before a command, after the program."""
    return f'"wrap", "--policy", "{place.home}/.config/toolcage/servers/{policy}.toml", "--server", "{server}", "--"'


# The path, its text, and the text after adopt: @P the program, @W(POLICY, SERVER) the words.
AGENTS = {
    "Claude Code": (
        "home/.claude.json",
        '{\n  "numStartups": 3,\n  "mcpServers": {\n    "files": {\n      "type": "stdio",\n      "command": "my-files",\n'
        '      "args": [\n        "--root",\n        "x"\n      ],\n      "env": {}\n    }\n  },\n  "projects": {\n    "/p": {\n'
        '      "mcpServers": {"inner": {"command": "other"}},\n      "history": []\n    }\n  }\n}\n',
        '{\n  "numStartups": 3,\n  "mcpServers": {\n    "files": {\n      "type": "stdio",\n      "command": "@P",\n'
        '      "args": [\n        @W(claude-code-files, files), "my-files",\n        "--root",\n        "x"\n      ],\n'
        '      "env": {}\n    }\n  },\n  "projects": {\n    "/p": {\n'
        '      "mcpServers": {"inner": {"command": "@P", "args": [@W(claude-code-inner, inner), "other"]}},\n'
        '      "history": []\n    }\n  }\n}\n',
    ),
    "Claude Desktop": (
        "home/.config/Claude/claude_desktop_config.json",
        '{"mcpServers":{"a":{"command":"a","args":[]}}}',
        '{"mcpServers":{"a":{"command":"@P","args":[@W(claude-desktop-a, a), "a"]}}}',
    ),
    "Codex": (
        "home/.codex/config.toml",
        'model = "x" # mine\n\n[mcp_servers.one]\ncommand = "one" # why\nstartup_timeout_sec = 5\n\n'
        '[mcp_servers.one.env]\nMODE = "fast"\n\n[mcp_servers.two]\ncommand = \'two\'\nargs = [\n  "-v", # loud\n  "x",\n]\n'
        'env = { A = "1", B = "2" }\n\n[mcp_servers.web]\nurl = "https://example.com/mcp"\n',
        'model = "x" # mine\n\n[mcp_servers.one]\ncommand = "@P" # why\nargs = [@W(codex-one, one), "one"]\n'
        "startup_timeout_sec = 5\n\n[mcp_servers.one.env]\n\n"
        '[mcp_servers.two]\ncommand = "@P"\nargs = [\n  @W(codex-two, two), "two",\n  "-v", # loud\n  "x",\n]\n'
        'env = { }\n\n[mcp_servers.web]\nurl = "https://example.com/mcp"\n',
    ),
    "Copilot CLI": (
        "home/.copilot/mcp-config.json",
        '{\n  "mcpServers": {\n    "c": {\n      "type": "local",\n      "command": "c",\n      "tools": ["*"],\n'
        '      "args": ["1"]\n    }\n  }\n}\n',
        '{\n  "mcpServers": {\n    "c": {\n      "type": "local",\n      "command": "@P",\n      "tools": ["*"],\n'
        '      "args": [@W(copilot-cli-c, c), "c", "1"]\n    }\n  }\n}\n',
    ),
    "Cursor": (
        "home/.cursor/mcp.json",
        '{\n\t// mine\n\t"mcpServers": {\n\t\t"k": {\n\t\t\t"command": "k",\n\t\t\t"args": ["a", /* b */ "c",],\n'
        '\t\t\t"env": {\n\t\t\t\t"KEEP": "${env:KEEP}", // kept\n\t\t\t\t"MODE": "x"\n\t\t\t},\n\t\t},\n'
        '\t\t"web": {"url": "https://example.com"},\n\t},\n}\n',
        '{\n\t// mine\n\t"mcpServers": {\n\t\t"k": {\n\t\t\t"command": "@P",\n\t\t\t"args": [@W(cursor-k, k), "k", "a", /* b */ "c",],\n'
        '\t\t\t"env": {\n\t\t\t\t"KEEP": "${env:KEEP}" // kept\n\t\t\t},\n\t\t},\n'
        '\t\t"web": {"command": "@P", "args": [@U(cursor-web, web)]},\n\t},\n}\n',
    ),
    "Gemini CLI": (
        "home/.gemini/settings.json",
        '{"security": {"auth": {}}, "mcpServers": {"g": {"command": "g", "trust": true}, "h": {"httpUrl": "https://x.example"}}}',
        '{"security": {"auth": {}}, "mcpServers": {"g": {"command": "@P", "args": [@W(gemini-cli-g, g), "g"], "trust": true},'
        ' "h": {"command": "@P", "args": [@U(gemini-cli-h, h)]}}}',
    ),
    "OpenClaw": (
        "home/.openclaw/openclaw.json",
        '{"mcp": {"servers": {"w": {"command": "w"}}}}\n',
        '{"mcp": {"servers": {"w": {"command": "@P", "args": [@W(openclaw-w, w), "w"]}}}}\n',
    ),
    "OpenCode": (
        "home/.config/opencode/opencode.jsonc",
        '{\n  "mcp": {\n    "o": {\n      "type": "local",\n      "command": [\n        "o", // the program\n        "x"\n      ],\n'
        '      "environment": {"A": "1"}\n    },\n    "r": {"type": "remote", "url": "https://x.example"}\n  }\n}\n',
        '{\n  "mcp": {\n    "o": {\n      "type": "local",\n      "command": [\n        "@P", @W(opencode-o, o),\n'
        '        "o", // the program\n        "x"\n      ],\n      "environment": {}\n    },\n'
        '    "r": {"type": "local", "command": ["@P", @U(opencode-r, r)]}\n  }\n}\n',
    ),
    "VS Code": (
        "home/.config/Code/User/mcp.json",
        '{"servers": {"v": {"type": "stdio", "command": "v", "args": ["1"]}}, "inputs": [{"id": "x"}]}',
        '{"servers": {"v": {"type": "stdio", "command": "@P", "args": [@W(vs-code-v, v), "v", "1"]}}, "inputs": [{"id": "x"}]}',
    ),
    "Windsurf": (
        "home/.codeium/windsurf/mcp_config.json",
        '{"mcpServers": {"s": {"command": "s", "args": [ "1" ]}, "t": {"serverUrl": "https://x.example"}}}',
        '{"mcpServers": {"s": {"command": "@P", "args": [ @W(windsurf-s, s), "s", "1" ]}, "t": {"command": "@P", "args": [@U(windsurf-t, t)]}}}',
    ),
    "Zed": (
        "home/.config/zed/settings.json",
        '// Zed\r\n{\r\n\t"context_servers": {\r\n\t\t"z": {\r\n\t\t\t"command": {\r\n\t\t\t\t"path": "z",\r\n'
        '\t\t\t\t"args": ["1"],\r\n\t\t\t\t"env": null\r\n\t\t\t}\r\n\t\t},\r\n'
        '\t\t"y": {\r\n\t\t\t"source": "custom",\r\n\t\t\t"command": "y",\r\n\t\t},\r\n\t},\r\n}\r\n',
        '// Zed\r\n{\r\n\t"context_servers": {\r\n\t\t"z": {\r\n\t\t\t"command": {\r\n\t\t\t\t"path": "@P",\r\n'
        '\t\t\t\t"args": [@W(zed-z, z), "z", "1"],\r\n\t\t\t\t"env": null\r\n\t\t\t}\r\n\t\t},\r\n'
        '\t\t"y": {\r\n\t\t\t"source": "custom",\r\n\t\t\t"command": "@P",\r\n\t\t\t"args": [@W(zed-y, y), "y"],\r\n\t\t},\r\n\t},\r\n}\r\n',
    ),
}
PROJECTS = {
    ".mcp.json": ('{"mcpServers": {"p": {"command": "p"}}}', "claude-code-project-p"),
    ".cursor/mcp.json": ('{"mcpServers": {"p": {"command": "p"}}}', "cursor-project-p"),
    ".codex/config.toml": ('[mcp_servers.p]\ncommand = "p"\n', "codex-project-p"),
    ".gemini/settings.json": ('{"mcpServers": {"p": {"command": "p"}}}', "gemini-cli-project-p"),
    ".vscode/mcp.json": ('{"servers": {"p": {"command": "p"}}}', "vs-code-project-p"),
    ".zed/settings.json": ('{"context_servers": {"p": {"command": "p"}}}', "zed-project-p"),
    "opencode.json": ('{"mcp": {"p": {"type": "local", "command": ["p"]}}}', "opencode-project-p"),
}


def filled(place, text):
    """@U is @W for a server at a URL, which has no command behind the words."""
    head, *parts = re.split(r"@([WU])\((.*?)\)", text.replace("@P", PROGRAM))
    for kind, names, rest in zip(parts[0::3], parts[1::3], parts[2::3], strict=True):
        words = wrap(place, *names.split(", "))
        head += (words.removesuffix(', "--"') if kind == "U" else words) + rest
    return head


def read(path):
    return pathlib.Path(path).read_bytes().decode(errors="surrogateescape")


def tree(place):
    """Every file of the home with its content, except toolcage's own."""
    return {
        str(path): path.read_bytes()
        for path in pathlib.Path(place.home).rglob("*")
        if path.is_file() and "toolcage" not in path.parts
    }


def own_files(place):
    return sorted(
        str(p.relative_to(place.home))
        for base in (".config/toolcage", ".local/state/toolcage/adopt")
        for p in (pathlib.Path(place.home) / base).rglob("*")
        if p.is_file()
    )


def adopt(place, *args, code=0, name="adopt succeeds", texts=(), stream="out", **more):
    return expect(place, name, ["adopt", *args], code, *texts, stream=stream, **more)


def every_agent():
    with Place() as place:
        paths = {agent: place.write(path, text, 0o640) for agent, (path, text, _) in AGENTS.items()}
        for path, (text, _) in PROJECTS.items():
            place.write("home/project/" + path, text)
        before = tree(place)
        listed = adopt(place, "--list", name="--list shows every agent", texts=list(AGENTS))
        check(tree(place) == before and not own_files(place), "--list writes nothing", own_files(place))
        check("not covered: remote" in listed.out, "remote servers are listed as not covered", listed)
        shown = adopt(
            place, "--dry-run", name="--dry-run shows the changes", texts=["@@", "+++", "no network"]
        )
        check(tree(place) == before and not own_files(place), "--dry-run writes nothing", own_files(place))
        refused = place.run("adopt")
        check(
            refused.code == 125 and tree(place) == before and "--yes" in refused.err,
            "without a terminal nothing is written",
            refused,
        )
        done = adopt(place, "--yes", name="--yes writes")
        check(shown.out in done.out, "the same changes are shown before they are written", done)
        for agent, (path, _, after) in AGENTS.items():
            now = read(paths[agent])
            check(now == filled(place, after), f"{agent}: exactly the servers changed", now)
            check(stat.S_IMODE(os.stat(paths[agent]).st_mode) == 0o640, f"{agent}: the mode is kept")
        for path, (_, policy) in PROJECTS.items():
            now = read(f"{place.project}/{path}")
            check(wrap(place, policy, "p") in now, f"{path}: the project's server is wrapped", now)
        for name in own_files(place):
            mode = stat.S_IMODE(os.stat(os.path.join(place.home, name)).st_mode)
            if mode != 0o600:
                check(False, f"{name} is for its owner only", oct(mode))
        adopted = tree(place)
        again = adopt(place, "--yes", name="a second run succeeds", texts=["already wrapped"])
        check(tree(place) == adopted and "@@" not in again.out, "a second run changes nothing", again)
        for policy in pathlib.Path(place.home, ".config/toolcage/servers").iterdir():
            result = place.run("policy", "check", "--fail-on", "error", str(policy))
            if result.code:
                check(False, f"{policy.name} is a valid policy", result)
        undone = adopt(place, "--undo", "--yes", name="--undo succeeds")
        check(tree(place) == before, "--undo restores every file byte for byte", undone)
        check(not own_files(place), "and leaves no policy, secret or backup", own_files(place))
        nothing = place.run("adopt", "--undo", "--yes")
        check(
            nothing.code == 0 and "nothing was adopted" in nothing.err,
            "a second --undo finds nothing",
            nothing,
        )


def secrets():
    with Place() as place:
        text = (
            '{"mcpServers": {"github": {"command": "npx", "args": ["-y", "@modelcontextprotocol/server-github"],\n'
            f'  "env": {{\n    "GITHUB_PERSONAL_ACCESS_TOKEN": "{TOKEN}",\n    "MODE": "plain"\n  }}\n}},\n'
            f'"other": {{"command": "x", "args": ["--api-key", "abc-def-0123"], "env": {{"OTHER_SECRET": "s3cr3t-value", "DB": "postgres://me:pa55@db/x"}}}},\n'
            '"web": {"url": "https://x.example", "headers": {"Authorization": "Basic bWU6cGFzc3dvcmQxMjM="}}}}\n'
        )
        path = place.write("home/.cursor/mcp.json", text)
        done = adopt(place, "--yes", name="settings with secrets are adopted")
        shown = done.out + done.err
        hidden = [TOKEN, "s3cr3t-value", "pa55", "bWU6cGFzc3dvcmQxMjM", "abc-def-0123"]
        check(not [word for word in hidden if word in shown], "no secret is printed", shown)
        check("…" in shown and "plain" in shown, "they are shown as …, other values as they are", shown)
        now = read(path)
        check(
            not [word for word in (TOKEN, "s3cr3t-value", "pa55", "plain") if word in now],
            "the settings have no variable of the servers any longer",
            now,
        )
        stored = {
            p.name: (p.read_text(), stat.S_IMODE(p.stat().st_mode))
            for p in pathlib.Path(place.root, SECRETS).iterdir()
        }
        check(
            stored
            == {
                "cursor-github.GITHUB_PERSONAL_ACCESS_TOKEN": (TOKEN, 0o600),
                "cursor-other.OTHER_SECRET": ("s3cr3t-value", 0o600),
                "cursor-other.DB": ("postgres://me:pa55@db/x", 0o600),
                "cursor-web.Authorization": ("bWU6cGFzc3dvcmQxMjM=", 0o600),
            },
            "the values are in files of mode 0600",
            stored,
        )
        mode = stat.S_IMODE(os.stat(os.path.join(place.root, SECRETS)).st_mode)
        check(mode == 0o700, "in a directory of mode 0700", oct(mode))
        policies = [read(p) for p in pathlib.Path(place.home, ".config/toolcage/servers").iterdir()]
        check(
            not [word for word in (TOKEN, "s3cr3t-value", "pa55") if word in "".join(policies)],
            "no policy has a value",
            policies,
        )
        grant = place.run(
            "explain",
            "--policy",
            f"{place.home}/.config/toolcage/servers/cursor-github.toml",
            "--server",
            "github",
        )
        check(
            "api.github.com" in grant.out and "GITHUB_PERSONAL_ACCESS_TOKEN" in grant.out,
            "a known server may use its token at its host",
            grant,
        )
        check(
            "is not given to it" in done.out, "another server does not get its secret, and this is said", done
        )
        result = place.run(
            "exec",
            "--read",
            f"{place.home}/.config/toolcage",
            "cat",
            f"{place.root}/{SECRETS}cursor-other.DB",
        )
        check("pa55" not in result.out, "a grant of the directory above does not show the secrets", result)
        adopt(place, "--undo", "--yes", name="--undo with secrets succeeds")
        check(
            read(path) == text and not os.listdir(os.path.join(place.root, SECRETS)),
            "it moves them back",
            read(path),
        )


def remote_servers():
    with Place() as place:
        text = (
            '{\n  "mcpServers": {\n    "web": {\n      "type": "http",\n      "url": "https://mcp.example.com:8443/mcp", // here\n'
            f'      "headers": {{\n        "Authorization": "Bearer {TOKEN}",\n        "X-Api-\\u004bey": "abc defgh"\n      }},\n'
            '      "disabled": false\n    },\n'
            '    "sse": {"type": "sse", "url": "https://x.example"},\n'
            '    "login": {"url": "https://x.example", "oauth": {}},\n'
            '    "var": {"url": "https://x.example", "headers": {"A": "${X}"}},\n'
            '    "key": {"url": "https://x.example/?api_key=0123456789abcdef0123"},\n'
            '    "plain": {"url": "http://127.0.0.1:1/", "headers": {"X-Key": "abc"}},\n'
            '    "team": {"url": "https://x.example", "headers": {"X-Team": "blue"}},\n'
            '    "two": {"url": "https://x.example", "httpUrl": "https://y.example"},\n'
            '    "path": {"url": "https://x.example/s/ZDU0ZGE3NmItMmY5/mcp"},\n'
            '    "uuid": {"url": "https://x.example/5f0c2b1e-0000-4000-8000-aaaaaaaaaaaa"},\n'
            '    "short": {"url": "https://x.example", "headers": {"Authorization": "Bearer abc"}},\n'
            '    "lines": {"url": "https://x.example", "headers": {"Authorization": "Bearer abcdefgh\\r\\nX: 1"}},\n'
            '    "helper": {"url": "https://x.example", "headersHelper": "/bin/x"},\n'
            '    "odd": {"url": "https://x.example/\\" }\\n[server.y]\\n", "headers": {"Host: y\\r\\nX-Key": "vvvvvvvv"}}\n  }\n}\n'
        )
        path = place.write("home/.cursor/mcp.json", text)
        policy = f"{place.home}/.config/toolcage/servers/cursor-web.toml"
        done = adopt(place, "--yes", name="servers at a URL are adopted")
        now = json.loads(re.sub("// here", "", read(path)))["mcpServers"]
        before = json.loads(re.sub("// here", "", text))["mcpServers"]
        check(
            now["web"]
            == {
                "type": "stdio",
                "command": PROGRAM,
                "args": ["wrap", "--policy", policy, "--server", "web"],
                "disabled": False,
            }
            and "// here" in read(path),
            "a URL becomes a command, its headers go, everything else stays",
            read(path),
        )
        check(
            {name for name in before if before[name] == now[name]}
            == {*"sse login var key plain team two path uuid short lines helper odd".split()},
            "servers that cannot be wrapped stay as they are",
            read(path),
        )
        for words in (
            "not Streamable HTTP",
            "logs in to it",
            "a header has a variable",
            "its URL contains a secret",
            "its URL may contain a key",
            "not one line of 8 to 16384 bytes",
            "sends it other headers",
            "without TLS",
            "a header is not a secret",
            "two URLs",
            "cannot become a policy",
        ):
            check(words in done.out, f"with the reason: {words}", done)
        check(
            TOKEN not in done.out + done.err + read(path) + read(policy)
            and "abc defgh" not in done.out + read(path)
            and (pathlib.Path(place.root, SECRETS) / "cursor-web.Authorization").read_text() == TOKEN
            and 'header = "Authorization: Bearer {secret}"' in read(policy),
            "the token is moved into a file, and not shown",
            done,
        )
        grant = place.run("policy", "explain", "--policy", policy, "--server", "web")
        check(
            "mcp.example.com:8443" in grant.out and "secret" in grant.out and TOKEN not in grant.out,
            "the policy allows the URL's host, with the headers as secrets",
            grant,
        )
        listed = adopt(place, "--list", name="a second run succeeds", texts=["already wrapped"])
        check(listed.out.count("already wrapped") == 1, "and leaves it wrapped", listed)
        more = ('"sse": {"type"', '"added": {"command": "x"},\n    "sse": {"type"')
        place.write("home/.cursor/mcp.json", read(path).replace(*more))
        adopt(place, "--undo", "--yes", name="--undo in settings that changed succeeds")
        check(read(path) == text.replace(*more), "it restores the server's object", read(path))
        place.write("home/.cursor/mcp.json", text)
        adopt(place, "--yes", name="adopted again")
        place.write("home/.cursor/mcp.json", read(path).replace('"disabled": false', '"disabled": true'))
        refused = place.run("adopt", "--undo", "--yes")
        check(
            refused.code == 125 and "no longer as it was written" in refused.err and "stdio" in read(path),
            "a server that was edited since is not taken back",
            refused,
        )


def terminal():
    with Place() as place:
        text = '{"mcpServers": {"a": {"command": "a"}}}\n'
        path = place.write("home/.cursor/mcp.json", text)
        person = Person(place, "adopt")
        person.answer("write this?", "n")
        check(person.end() == 1 and read(path) == text, "no at the terminal writes nothing", person.seen)
        person = Person(place, "adopt")
        person.wait_for("write this?")
        newer = '{"mcpServers": {"a": {"command": "b"}}}\n'
        place.write("home/.cursor/mcp.json", newer)
        person.answer("write this?", "y")
        code = person.end()
        check(
            code == 125 and read(path) == newer and "changed by another program" in person.seen,
            "settings that changed after the question are refused",
            (code, person.seen),
        )
        check(not own_files(place), "and nothing is left of the attempt", own_files(place))
        person = Person(place, "adopt")
        person.answer("write this?", "y")
        check(person.end() == 0 and "wrap" in read(path), "yes at the terminal writes", person.seen)
        person = Person(place, "adopt", "--undo")
        person.answer("take this back?", "n")
        check(person.end() == 1 and "wrap" in read(path), "no keeps what was adopted", person.seen)
        person = Person(place, "adopt", "--undo")
        person.answer("take this back?", "y")
        check(person.end() == 0 and read(path) == newer, "yes takes it back", person.seen)


def bytes_kept():
    with Place() as place:
        path = place.write("home/.cursor/mcp.json", "")
        for name, text in {
            "a byte order mark": "\ufeff" + '{"mcpServers": {"a": {"command": "a"}}}',
            "CRLF": '{\r\n\t"mcpServers": {\r\n\t\t"a": {\r\n\t\t\t"command": "a"\r\n\t\t}\r\n\t}\r\n}',
            "other characters": '{"é\u202e": "\\ud83d\\ude00 😀", "mcpServers": {"ä b": {"command": "a", "args": ["ü"]}}}',
            "numbers as they are": '{"n": 1.0e+05, "mcpServers": {"a": {"command": "a"}}}',
            "a comment at the end": '{"mcpServers": {"a": {"command": "a" /* x */ , "args": [ // none\n ] }}} // end',
            "keys of other cases": '{"mcpservers": 1, "mcpServers": {"A": {"command": "a"}, "a": {"command": "b"}}}',
        }.items():
            data = text.encode()
            place.write("home/.cursor/mcp.json", data)
            adopt(place, "--yes", name=f"{name}: adopted")
            now = pathlib.Path(path).read_bytes()
            check(
                b'"wrap"' in now
                and now.count(b"\r\n") >= data.count(b"\r\n")
                and (b"\r\n" in data) == (b"\r" in now),
                f"{name}: line ends stay",
                now,
            )
            check(now[:3] == data[:3] and now[-3:] == data[-3:], f"{name}: its ends stay", now)
            adopt(place, "--undo", "--yes", name=f"{name}: undone")
            check(
                pathlib.Path(path).read_bytes() == data,
                f"{name}: byte for byte",
                pathlib.Path(path).read_bytes(),
            )


def refused_texts():
    server = '"a": {"command": "a"}'
    deep = "[" * 100 + "]" * 100
    with Place() as place:
        path = place.write("home/.cursor/mcp.json", "")
        for name, text, words in (
            (
                "a repeated server",
                f'{{"mcpServers": {{\n{server},\n{server}}}}}',
                ':3: it has the key "a" twice',
            ),
            (
                "a repeated key of a server",
                '{"mcpServers": {"a": {"command": "a",\n"command": "b"}}}',
                ":2: it has the key",
            ),
            ("a repeated key of the file", '{"mcpServers": {},\n\n"mcpServers": {}}', ":3: it has the key"),
            ("an escaped repetition", '{"mcpServers": {"a": {}, "\\u0061": {}}}', "twice"),
            (
                "a repeated variable",
                '{"mcpServers": {"a": {"command": "a", "env": {"X": "1",\n"X": "2"}}}}',
                ":2: it has",
            ),
            ("bytes that are not UTF-8", b'{"mcpServers": {"a": {"command": "\xff"}}}', "not JSON in UTF-8"),
            ("UTF-16", '{"mcpServers": {}}'.encode("utf-16"), "not JSON in UTF-8"),
            ("a NUL", '{"mcpServers": {"a\\u0000": {"command": "a"}}}', "NUL"),
            ("JSON that is cut", '{"mcpServers": {"a": {"command": "a"', "not JSON"),
            ("another language", "command: a\n", "not JSON"),
            ("deep nesting", '{"x": ' + deep + ', "mcpServers": {}}', "levels deep"),
            ("an array", "[]", "not a JSON object"),
            (
                "many servers",
                json.dumps({"mcpServers": {f"s{i}": {"command": "a"} for i in range(300)}}),
                "servers",
            ),
            (
                "many arguments",
                json.dumps({"mcpServers": {"a": {"command": "a", "args": ["x"] * 2000}}}),
                "arguments",
            ),
        ):
            place.write("home/.cursor/mcp.json", text)
            before = pathlib.Path(path).read_bytes()
            answer = place.run("adopt", "--yes")
            check(
                answer.code == 125 and words in answer.out and pathlib.Path(path).read_bytes() == before,
                f"{name} is refused",
                answer,
            )
        place.write("home/.cursor/mcp.json", b'{"mcpServers": {}}' + b" " * (33 << 20))
        answer = place.run("adopt", "--yes")
        check(answer.code == 125 and "too large" in answer.out, "a huge file is refused", answer.out[:300])
        os.unlink(path)
        for name, text, words in (
            ("TOML with a repeated key", '[mcp_servers.a]\ncommand = "a"\ncommand = "b"\n', "config.toml:3"),
            ("TOML that is cut", "[mcp_servers.a\n", "config.toml:1"),
        ):
            place.write("home/.codex/config.toml", text)
            answer = place.run("adopt", "--yes")
            check(answer.code == 125 and words in answer.out, f"{name} is refused with its line", answer)
        place.write(
            "home/.codex/config.toml",
            '[mcp_servers.a]\ncommand = """a"""\n\n[mcp_servers]\nb.command = "b"\n',
        )
        answer = place.run("adopt", "--yes")
        check(
            answer.code == 0 and answer.out.count("left alone") == 2,
            "forms that cannot be edited are left alone",
            answer,
        )
        place.write("home/.config/goose/config.yaml", "extensions: {}\n")
        answer = place.run("adopt", "--list")
        check("is YAML" in answer.out, "YAML is named as not edited", answer)


def left_alone():
    with Place() as place:
        place.write(
            "home/.cursor/mcp.json",
            json.dumps(
                {
                    "mcpServers": {
                        "docker": {"command": "docker", "args": ["run", "x"]},
                        "root": {"command": "/usr/bin/sudo", "args": ["x"]},
                        "bridge": {"command": "npx", "args": ["mcp-remote@0.1", "https://x.example"]},
                        "input": {"command": "a", "args": ["${input:token}"]},
                        "preload": {"command": "a", "env": {"LD_PRELOAD": "${env:X}"}},
                        "envfile": {"command": "a", "envFile": "./.env"},
                        "number": {"command": "a", "args": [1]},
                        "nothing": {},
                        "place": {"command": "a", "args": ["{code}"]},
                        "caged": {"command": "toolcage", "args": ["mcp"]},
                    }
                }
            ),
        )
        before = tree(place)
        answer = adopt(place, "--yes", name="servers that cannot be wrapped are left alone")
        lines = dict(line.split(None, 1) for line in answer.out.splitlines()[1:])
        for name, words in {
            "docker": "a container",
            "root": "another user",
            "bridge": "remote",
            "input": "variable",
            "preload": "affect toolcage itself",
            "envfile": "in a file",
            "number": "not a string",
            "nothing": "neither a command nor a URL",
            "place": "cannot become a policy",
            "caged": "its tools are caged",
        }.items():
            check(words in lines.get(name, ""), f"{name}: the reason is given", answer)
        check(tree(place) == before, "and nothing is written", answer)


def files():
    with Place() as place:
        text = '{"mcpServers": {"a": {"command": "a"}}}\n'
        target = place.write("home/dotfiles/mcp.json", text)
        place.write("home/.cursor/keep", "")
        link = os.path.join(place.home, ".cursor/mcp.json")
        os.symlink("../dotfiles/mcp.json", link)
        adopt(place, "--yes", name="a link in the user's settings is followed")
        check(
            os.path.islink(link) and "wrap" in read(target),
            "the link stays, and its target is changed",
            read(target),
        )
        adopt(place, "--undo", "--yes", "--file", link, name="--undo --file follows it, too")
        check(os.path.islink(link) and read(target) == text, "and restores the target", read(target))
        os.unlink(link)
        for name, make, words in (
            ("a read-only file", lambda p: os.chmod(p, 0o444), "read-only"),
            ("a file with two names", lambda p: os.link(p, p + ".other"), "second name"),
            ("a directory", lambda p: (os.unlink(p), os.mkdir(p)), "not a regular file"),
            ("a pipe", lambda p: (os.rmdir(p), os.mkfifo(p)), "not a regular file"),
        ):
            if not os.path.isdir(link):
                place.write("home/.cursor/mcp.json", text)
            make(link)
            answer = place.run("adopt", "--yes")
            check(answer.code == 125 and words in answer.out, f"{name} is refused", answer)
            if os.path.exists(link + ".other"):
                os.unlink(link + ".other")
        os.unlink(link)
        if os.geteuid() == 0:
            place.write("home/.cursor/mcp.json", text)
            os.chown(link, 12345, 12345)
            answer = place.run("adopt", "--yes")
            check(
                answer.code == 125 and ("another user" in answer.out),
                "a file of another user is refused",
                answer,
            )
            os.unlink(link)
        # what a project names is not followed: it could be any file of the user
        place.write("home/.other.json", text)
        os.symlink("../.other.json", os.path.join(place.project, ".mcp.json"))
        place.write("home/elsewhere/mcp.json", text)
        os.symlink("../elsewhere", os.path.join(place.project, ".cursor"))
        answer = place.run("adopt", "--yes")
        check(
            answer.code == 125
            and "links of a project are not followed" in answer.out
            and read(place.home + "/.other.json") == text
            and read(place.home + "/elsewhere/mcp.json") == text,
            "links of a project are refused",
            answer,
        )
        os.unlink(os.path.join(place.project, ".mcp.json"))
        os.unlink(os.path.join(place.project, ".cursor"))
        path = place.write("home/.cursor/mcp.json", text)
        ran = place.run("exec", "--write", place.home + "/.cursor", "true")
        answer = place.run("adopt", "--yes")
        check(
            ran.code == 0 and answer.code == 125 and "may have been written by a tool" in answer.out,
            "settings that a tool may have written are refused",
            (ran, answer),
        )
        adopt(place, "--yes", "--file", path, name="until the user names them")
        adopt(place, "--undo", "--yes", name="and undone")
        named = place.write("home/anywhere.json", text)
        adopt(place, "--yes", "--file", named, name="--file edits any file", texts=["agent-home-a.toml"])
        check("wrap" in read(named), "and only this one", read(named))
        adopt(
            place, "--file", place.home + "/none", code=125, name="a missing --file is an error", stream="err"
        )


def hostile_project():
    with Place() as place:
        canary = os.path.join(place.root, "home/canary")
        secret = place.write("home/.ssh/id_ed25519", "private\n")
        text = (
            json.dumps(
                {
                    "mcpServers": {
                        "run": {"command": "touch", "args": [canary]},
                        "wide": {
                            "command": "npx",
                            "args": ["@modelcontextprotocol/server-filesystem", "/", place.home, "../.."],
                        },
                        "script": {"command": "node", "args": [secret]},
                        "token": {
                            "command": "node",
                            "args": ["x.js", "@modelcontextprotocol/server-github"],
                            "env": {"GITHUB_PERSONAL_ACCESS_TOKEN": "${env:GITHUB_TOKEN}"},
                        },
                        "own": {"command": place.home + "/.ssh/run"},
                        "\u001b[31mred\n+ looks like a line\u202e": {
                            "command": "a\u001b]0;x\u0007",
                            "args": ["\r\u001b[2J"],
                        },
                        "../../../up": {"command": "a"},
                        "a" * 5000: {"command": "a"},
                        "mine": {
                            "command": "toolcage",
                            "args": ["wrap", "--policy", "./evil.toml", "--server", "x"],
                        },
                        "fake": {"command": "./toolcage", "args": ["wrap", "--policy", "x"]},
                        "env": {
                            "command": "a",
                            "env": {"LD_PRELOAD": "./evil.so", "PATH": "/evil", "TOOLCAGE_POLICY": "/evil"},
                        },
                    }
                },
                ensure_ascii=False,
            )
            .replace("\u001b", "\\u001b")
            .replace("\u0007", "\\u0007")
        )
        path = place.write("home/project/.mcp.json", text)
        shown = place.shown("adopt", "--dry-run")
        check(
            b"\x1b]" not in shown and b"\x1b[31m" not in shown and b"\x1b[2J" not in shown,
            "no escape sequence of the project reaches the terminal",
            shown[:3000],
        )
        check("\u202e".encode() not in shown, "nor does a character that reorders text", shown[:3000])
        answer = adopt(place, "--yes", name="a hostile project is adopted")
        check(not os.path.exists(canary), "no command of it was run")
        servers = pathlib.Path(place.home, ".config/toolcage/servers")
        policies = {p.name: p.read_text() for p in servers.iterdir()}
        check(
            all(p.parent == servers for p in servers.rglob("*"))
            and len(policies) == 9
            and "up" in str(sorted(policies)),
            "names of the project stay in the directory of policies",
            sorted(policies),
        )
        for name, policy in policies.items():
            granted = [line for line in policy.splitlines() if line.startswith("filesystem")]
            check(
                granted == ['filesystem = "none"']
                or granted == [f'filesystem.readable = ["{place.project}"]'],
                f"{name[:40]}: no path outside the project is granted",
                granted,
            )
        check(
            not [name for name, policy in policies.items() if "api.github.com" in policy],
            "a program that only names a known server gets no host and no token",
            policies,
        )
        check(
            "outside the project: not granted" in answer.out,
            "paths outside the project are listed as not granted",
            answer,
        )
        check("the project chose the policy" in answer.out, "a policy of the project is pointed out", answer)
        check("NOT CAGED by this toolcage" in answer.out, "another program of the name is, too", answer)
        env = json.loads(read(path))["mcpServers"]["env"]["env"]
        check(env == {}, "no variable of the project reaches toolcage itself", env)
        changed = json.loads(read(path))
        changed["mcpServers"]["run"]["args"][-1] = secret
        place.write("home/project/.mcp.json", json.dumps(changed))
        run = changed["mcpServers"]["run"]
        result = place.run(*run["args"])
        check(
            result.code == 126 and "given one is different" in result.err,
            "a later change of the command is refused",
            result,
        )
        adopt(
            place,
            "--undo",
            "--yes",
            code=125,
            name="--undo refuses the changed server",
            stream="err",
            texts=["no longer as it was written", "/before"],
        )
        backup = read(place.home + "/.local/state/toolcage/adopt/0001/before")
        check(backup == text, "the backup that it names has the settings before")


def concurrent():
    with Place() as place:
        path = place.write("home/.cursor/mcp.json", '{"n": 0, "mcpServers": {"a": {"command": "a"}}}')
        stop, last = threading.Event(), [0]

        def rewrite():
            while not stop.is_set():
                last[0] += 1
                place.write(
                    "home/.cursor/new", json.dumps({"n": last[0], "mcpServers": {"a": {"command": "a"}}})
                )
                os.replace(place.home + "/.cursor/new", path)
                time.sleep(0.0005)

        agent = threading.Thread(target=rewrite)
        agent.start()
        codes = [place.run("adopt", "--yes").code for _ in range(15)]
        stop.set()
        agent.join()
        now = json.loads(read(path))
        check(
            set(codes) <= {0, 125},
            "with an agent that rewrites its settings it succeeds or is refused",
            codes,
        )
        check(now["n"] == last[0], "and the agent's last version is never lost", (now, last))
        names = os.listdir(place.home + "/.cursor")
        check(names == ["mcp.json"], "no temporary file stays", names)
        both = [
            place.popen("adopt", "--yes", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            for _ in range(4)
        ]
        for process in both:
            process.wait(60)
        check(read(path).count('"wrap"') == 1, "runs at the same time adopt a server once", read(path))


def changed_since():
    with Place() as place:
        text = (
            "// top\n"
            '{\n  "mcpServers": {\n    "a": {\n      "command": "a",\n      "args": ["1"],\n      "env": {"X": "1", "Y": "2"}\n    },\n'
            '    "b": {"command": "b"}\n  }\n}\n'
        )
        path = place.write("home/.cursor/mcp.json", text)
        policy = place.home + "/.config/toolcage/servers/cursor-a.toml"
        adopt(place, "--yes", name="two servers are adopted")
        edited = (
            read(path)
            .replace("// top", "// new top")
            .replace('"b": {', '"c": {"url": "https://x.example"},\n    "b": {')
        )
        place.write("home/.cursor/mcp.json", edited)
        place.write("home/.config/toolcage/servers/cursor-a.toml", read(policy) + "# mine\n", 0o600)
        answer = adopt(place, "--undo", "--yes", name="--undo takes its edits out of changed settings")
        wanted = text.replace("// top", "// new top").replace(
            '"b": {', '"c": {"url": "https://x.example"},\n    "b": {'
        )
        check(
            read(path) == wanted.replace('{"X": "1", "Y": "2"}', '{"X": "1", "Y": "2"}'),
            "everything else stays",
            read(path),
        )
        check(
            os.path.exists(policy) and "stays" in answer.err,
            "a policy that was edited stays, and this is said",
            answer,
        )

        place.write("home/.cursor/mcp.json", text)
        adopt(place, "--yes", name="a new policy gets a new name", texts=["cursor-a-2.toml"])
        data = json.loads(read(path).split("\n", 1)[1])
        del data["mcpServers"]["a"]
        place.write("home/.cursor/mcp.json", json.dumps(data))
        adopt(place, "--undo", "--yes", name="a removed server is no obstacle")
        check(
            json.loads(read(path)) == {"mcpServers": {"b": {"command": "b"}}},
            "the others are restored",
            read(path),
        )

        place.write("home/.cursor/mcp.json", text)
        adopt(place, "--yes", name="adopted once more")
        os.unlink(path)
        answer = adopt(place, "--undo", "--yes", name="settings that are gone are no obstacle")
        check(
            "does not exist any longer" in answer.err and len(own_files(place)) == 1,
            "their policies are removed",
            own_files(place),
        )
        codex = place.write(
            "home/.codex/config.toml",
            '[mcp_servers.a]\ncommand = "a"\nenv = { X = "1", Y = "2" }\n[mcp_servers.b]\ncommand = "b"\n[mcp_servers.b.env]\nX = "1"\n',
        )
        before = read(codex)
        adopt(place, "--yes", name="TOML is adopted")
        place.write("home/.codex/config.toml", "x = 1\n" + read(codex))
        adopt(place, "--undo", "--yes", name="changed TOML is undone")
        check(
            read(codex).replace(" }", "}").replace("{ ", "{").replace("{ ", "{")
            == ("x = 1\n" + before).replace(" }", "}").replace("{ ", "{"),
            "as it was",
            read(codex),
        )


def adopted_twice():
    with Place() as place:
        text = '{"mcpServers": {\n  "a": {"command": "a"}\n}}\n'
        path = place.write("home/.cursor/mcp.json", text)
        adopt(place, "--yes", name="a first server is adopted")
        more = ',\n  "b": {"command": "b", "env": {"API_KEY": "0123456789"}}\n}}'
        place.write("home/.cursor/mcp.json", read(path).replace("\n}}", more))
        answer = adopt(place, "--yes", name="a second one is adopted later", texts=["already wrapped"])
        check(answer.out.count("@@ ") == 1 and read(path).count('"wrap"') == 2, "it alone is changed", answer)
        adopt(place, "--undo", "--yes", name="--undo takes both back")
        check(read(path) == text.replace("\n}}", more), "a server added in between stays", read(path))
        check(not own_files(place), "no backup is left", own_files(place))


def long_lines():
    with Place() as place:
        data = {
            "history": "h" * 200000,
            "apiKey": TOKEN,
            "mcpServers": {"a": {"command": "a"}},
            "more": ["m" * 1000] * 500,
        }
        text = json.dumps(data)
        path = place.write("home/.claude.json", text)
        answer = adopt(place, "--yes", name="settings in one line are adopted")
        check(
            len(answer.out) < 5000 and TOKEN not in answer.out,
            "only the surroundings of the change are shown",
            answer.out[:3000],
        )
        check(json.loads(read(path))["history"] == data["history"], "all the rest stays")
        adopt(place, "--undo", "--yes", name="and undone")
        check(read(path) == text, "byte for byte")


def real_server():
    server = MODULES / "@modelcontextprotocol/server-filesystem/dist/index.js"
    if not server.exists() or not shutil.which("node"):
        skip("a real server is started by the adopted settings", "tools/clients installs it")
        return
    with Place() as place:
        notes = os.path.dirname(place.write("home/notes/todo.txt", "a note\n"))
        modules = os.path.join(place.home, "servers/node_modules")
        shutil.copytree(
            MODULES,
            modules,
            symlinks=True,
            ignore=shutil.ignore_patterns("@openai", "node-linux-*", "ai", "@ai-sdk", "@taplo"),
        )
        if running_as() == "ordinary":
            subprocess.run(["chown", "-R", f"{ORDINARY}:{ORDINARY}", place.home], check=True)
            os.chmod(place.root, 0o755)
        script = f"{modules}/@modelcontextprotocol/server-filesystem/dist/index.js"
        path = place.write(
            "home/.cursor/mcp.json",
            json.dumps({"mcpServers": {"files": {"command": shutil.which("node"), "args": [script, notes]}}}),
        )
        answer = adopt(
            place, "--yes", name="a real server is adopted", texts=[f"write {notes}", f"read {modules}"]
        )
        entry = json.loads(read(path))["mcpServers"]["files"]
        check(entry["command"] == PROGRAM, "the settings start toolcage", entry)
        argv = place.argv(*entry["args"])
        process = subprocess.Popen(
            argv,
            cwd=place.project,
            env=place.environ,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

        def ask(number, method, params):
            process.stdin.write(
                json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode()
                + b"\n"
            )
            process.stdin.flush()
            return json.loads(process.stdout.readline() or b"{}")

        client = {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        }
        first = ask(1, "initialize", client)
        check("filesystem" in str(first), "the server behind the settings answers", (first, answer))
        process.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        listed = ask(2, "tools/list", {})
        check("read_text_file" in str(listed), "its tools are listed", listed)
        got = ask(3, "tools/call", {"name": "read_text_file", "arguments": {"path": notes + "/todo.txt"}})
        check("a note" in str(got), "a granted file is read", got)
        got = ask(4, "tools/call", {"name": "read_text_file", "arguments": {"path": path}})
        check("mcpServers" not in str(got), "another is not", got)
        process.stdin.close()
        check(process.wait(30) == 0, "and it ends with its client", process.stderr.read().decode()[-500:])


def access_lists():
    with Place() as place:
        path = place.write("home/.cursor/mcp.json", '{"mcpServers": {"a": {"command": "a"}}}\n', 0o600)
        users = [(0x01, 6, -1), (0x02, 4, 12345), (0x04, 0, -1), (0x10, 4, -1), (0x20, 0, -1)]
        entries = b"".join(struct.pack("<HHI", tag, bits, who & 0xFFFFFFFF) for tag, bits, who in users)
        try:
            os.setxattr(path, "system.posix_acl_access", struct.pack("<I", 2) + entries)
        except OSError as error:
            skip("settings with an access control list are left alone", error.strerror)
            return
        before = read(path)
        answer = place.run("adopt", "--yes")
        check(
            answer.code == 125 and "access control list" in answer.out and read(path) == before,
            "settings with an access control list are left alone",
            answer,
        )


def foreign_home():
    if os.geteuid() or running_as() != "self":
        return
    with Place() as place:
        place.write("home/.cursor/mcp.json", '{"mcpServers": {"a": {"command": "a"}}}\n')
        adopt(place, "--yes", name="a home of the same user is changed")
        os.chown(place.home, 12345, 12345)
        before = tree(place)
        for args in (("--yes",), ("--undo", "--yes")):
            answer = place.run("adopt", *args)
            check(
                answer.code == 125 and "belongs to another user" in answer.err and tree(place) == before,
                f"adopt {args[0]} as root refuses another user's home",
                answer,
            )
        shutil.rmtree(place.home + "/.local")
        shutil.rmtree(place.home + "/.config")
        place.run("adopt", "--yes")
        check(
            not own_files(place) and not os.path.exists(place.home + "/.local"),
            "and makes no directory there",
        )


def json_servers(**servers):
    return json.dumps({"mcpServers": servers})


def states(answer):
    return dict(
        line.split(None, 1)
        for line in answer.out.splitlines()
        if line.startswith("  ") and " " in line.strip()
    )


def named_caged():
    """Servers that look like toolcage are only called caged or wrapped if they are."""
    own = {"command": PROGRAM, "args": ["mcp"]}
    with Place() as place:
        made = f"{place.home}/.config/toolcage/servers/claude-code-project-x.toml"
        exact = ["wrap", "--policy", made, "--server", "x", "--", "y"]
        cases = {
            "script": {"command": "./toolcage", "args": ["mcp"]},
            "found": {"command": "toolcage", "args": ["mcp"]},
            "evil": {"command": "toolcage", "args": ["mcp", "--policy", "./evil.toml"]},
            "program": own,
            "twice": {
                "command": PROGRAM,
                "args": ["wrap", "--policy", made, "--policy", "/e.toml", "--", "y"],
            },
            "bare": {"command": "toolcage", "args": exact},
            "path": {"command": PROGRAM, "args": exact, "env": {"PATH": "/evil"}},
            "user's": {
                "command": PROGRAM,
                "args": [word.replace("code-project-x", "code-x") for word in exact],
            },
            "load": {"command": PROGRAM, "args": exact, "env": {"LD_PRELOAD": "${X}"}},
            "up": {
                "command": PROGRAM,
                "args": [*exact[:2], f"{place.home}/.config/toolcage/servers/../x", *exact[3:]],
            },
        }
        place.write(
            "home/project/.mcp.json", json_servers(**cases, exact={"command": PROGRAM, "args": exact})
        )
        answer = adopt(place, "--list", name="a project's servers of the name are listed")
        got = states(answer)
        for name in cases:
            state = got.get(name, "")
            check(
                ("NOT CAGED" in state or "read it" in state)
                and "are caged" not in state
                and "already" not in state,
                f"a project's server ({name}) is not called caged",
                answer,
            )
        check("already wrapped" in got.get("exact", ""), "the form that adopt writes is", answer)
        place.write(
            "home/.cursor/mcp.json",
            json_servers(
                own=own,
                two={
                    "command": "toolcage",
                    "args": ["wrap", "--policy", "/a.toml", "--policy=/b.toml", "--", "y"],
                },
                path={"command": "toolcage", "args": ["mcp"], "env": {"PATH": "/evil"}},
                both={"command": "a", "url": "https://x.example"},
                http={"type": "http", "command": "a"},
                cwd={"command": "a", "cwd": "/x"},
            ),
        )
        place.write(
            "home/.codex/config.toml", '[mcp_servers.url]\ncommand = "a"\nurl = "https://x.example"\n'
        )
        answer = adopt(place, "--list", name="the user's servers of the name are listed")
        got = states(answer)
        for name, words in {
            "own": "its tools are caged",
            "two": "several policies",
            "path": "NOT CAGED",
            "both": "left alone: it has both",
            "http": "left alone: it has both",
            "cwd": "left alone: it names the directory",
            "url": "left alone: it has both",
        }.items():
            if name != "path":  # the project has one of the name
                check(words in got.get(name, ""), f"the user's server ({name}): {words}", answer)


def policy_of(place, name):
    path = pathlib.Path(place.home, ".config/toolcage/servers", name + ".toml")
    return path.read_text() if path.exists() else ""


def project_links():
    with Place() as place:
        place.write("home/docs/private.txt", "private\n")
        place.write("home/project/data/x.js", "")
        os.symlink("../docs", place.project + "/link")
        files = ["-y", "@modelcontextprotocol/server-filesystem"]
        place.write(
            "home/project/.mcp.json",
            json_servers(
                linked={"command": "npx", "args": [*files, "${workspaceFolder}/link"]},
                script={"command": "node", "args": ["link/x.js"]},
                inner={"command": "npx", "args": [*files, place.project + "/data"]},
                all={"command": "npx", "args": [*files, place.project]},
            ),
        )
        answer = adopt(place, "--yes", name="a project with a link is adopted", texts=["has a link in it"])
        granted = {
            name: [
                line
                for line in policy_of(place, f"claude-code-project-{name}").splitlines()
                if line.startswith("filesystem")
            ]
            for name in ("linked", "script", "inner", "all")
        }
        check(
            granted["linked"] == granted["script"] == ['filesystem = "none"'],
            "a link of a project is not granted",
            (granted, answer),
        )
        check(
            granted["inner"] == [f'filesystem.readable = ["{place.project}"]']
            and granted["all"] == [f'filesystem.writable = ["{place.project}"]'],
            "a part that could become a link is not granted by itself",
            (granted, answer),
        )


def projects_by_path():
    """A file is the user's only at its place in the home directory."""
    secret = ".ssh/id_ed25519"
    with Place() as place:
        place.write("home/" + secret, "private\n")
        server = json_servers(s={"command": "node", "args": [f"{place.home}/{secret}"]})
        other = place.write("home/repository/.vscode/mcp.json", server.replace("mcpServers", "servers"))
        place.write("home/repository/config/claude/.claude.json", server)
        place.write(
            "home/repository/.codex/config.toml",
            f'[mcp_servers.s]\ncommand = "node"\nargs = ["{place.home}/{secret}"]\n',
        )
        for name, args, env in (
            ("--file", ["--file", other], {}),
            ("CLAUDE_CONFIG_DIR", [], {"CLAUDE_CONFIG_DIR": place.home + "/repository/config/claude"}),
            ("CODEX_HOME", [], {"CODEX_HOME": place.home + "/repository/.codex/"}),
        ):
            answer = adopt(place, "--dry-run", *args, env=env, name=f"{name} names a repository's settings")
            check(
                "outside the project" in answer.out and f"read {place.home}" not in answer.out,
                f"{name}: they are a project's",
                answer,
            )
        place.write("home/top/.mcp.json", json_servers(top={"command": "a"}))
        place.write("home/top/.git/HEAD", "")
        place.write("home/top/a/b/keep", "")
        answer = adopt(
            place,
            "--list",
            cwd=place.home + "/top/a/b",
            name="settings above are listed",
            texts=["top/.mcp.json"],
        )
        part = place.write("home/top/a/.mcp.json", json_servers(part={"command": "node", "args": ["x.js"]}))
        answer = adopt(
            place, "--dry-run", "--file", part, name="settings in a part of a repository are shown"
        )
        check(
            "could become a link" in answer.out and "    read " not in answer.out,
            "they do not grant the part",
            answer,
        )
        place.write("home/.mcp.json", json_servers(h={"command": "node", "args": ["x.js"]}))
        answer = adopt(place, "--dry-run", cwd=place.home, name="settings in the home directory are listed")
        check(
            "your home directory" in answer.out and f"read {place.home}" not in answer.out,
            "they do not grant it",
            answer,
        )


def project_variables():
    package = "@modelcontextprotocol/server-github"
    name = "GITHUB_PERSONAL_ACCESS_TOKEN"
    token = {name: "${GITHUB_TOKEN}"}
    with Place() as place:
        place.write(
            "home/project/.mcp.json",
            json_servers(
                fine={"command": "npx", "args": ["-y", package + "@1.0.0"], "env": token},
                node={
                    "command": "npx",
                    "args": ["-y", package],
                    "env": {**token, "NODE_OPTIONS": "--require=./e.js"},
                },
                alias={"command": "npx", "args": ["-y", package + "@npm:evil@1.0.0"], "env": token},
                ref={"command": "a", "env": {"X": "${AWS_SECRET_ACCESS_KEY}", "Y": "$USER"}},
            ),
        )
        answer = adopt(place, "--yes", name="a project with variables is adopted")
        hosts = {
            n: "api.github.com" in policy_of(place, "claude-code-project-" + n)
            for n in ("fine", "node", "alias")
        }
        check(
            hosts == {"fine": True, "node": False, "alias": False},
            "only the sure package gets a host",
            (hosts, answer),
        )
        check(
            f"{name} (= ${{GITHUB_TOKEN}})" in answer.out, "the variable that is referenced is shown", answer
        )
        policy = policy_of(place, "claude-code-project-ref")
        check(
            "pass" not in policy and "X (= ${AWS_SECRET_ACCESS_KEY}) is not passed" in answer.out,
            "a project gets no variable of the user",
            (policy, answer),
        )
        env = json.loads(read(place.project + "/.mcp.json"))["mcpServers"]["ref"]["env"]
        check(env == {}, "and toolcage does not, either", env)
    with Place() as place:
        place.write(
            "home/.gemini/settings.json",
            json_servers(
                g={
                    "command": "a",
                    "env": {"API_KEY": "$MY_API_TOKEN", "MODE": "$MODE", "X": "${AWS_SECRET_ACCESS_KEY}"},
                }
            ),
        )
        answer = adopt(place, "--yes", name="variables of the user are adopted")
        secrets = pathlib.Path(place.root, SECRETS)
        check(not list(secrets.glob("*")), "$NAME is not stored as a secret", list(secrets.glob("*")))
        policy = policy_of(place, "gemini-cli-g")
        check('env.pass = ["MODE"]' in policy, "a referenced secret is not passed", policy)
        check("see the variable MODE (= $MODE)" in answer.out, "a variable that is passed is shown", answer)


def hidden():
    """No secret near a change is printed, whatever its form."""
    args = [
        "--api-key=w11x",
        "--password=w12x",
        "-e",
        "API_TOKEN=w13x",
        "--header",
        "Authorization: Bearer w14x",
    ]
    args += [
        "postgres://me:p/w15x@db/x",
        "https://x.example/?key=w16x&a=b",
        "https://hooks.x.example/services/w17x",
    ]
    args += ["xapp-1-w18x56789abcdef", "lin_api_w19x56789abcdef", "X-Api-Key: w20x"]
    names = ("accessKey", "COOKIE", "PRIVATEKEY", "PASSKEY", "SLACK_WEBHOOK", "OPTIONS")
    values = ("w21x", "w22x", "w23x", "w24x", "https://x.example/api/webhooks/w25x", "a=b password=w26x")
    with Place() as place:
        text = (
            '{"mcpServers": {"a": {\n/* 5" */ "apiKey": "w30x", /* it\'s */ "token": "w31x",\n// "apiKey": "w32x"\n// API_KEY=w33x\n'
            f'"command": "a", "env": {json.dumps(dict(zip(names, values)))},\n"args": {json.dumps(args)}}}}}}}\n'
        )
        path = place.write("home/.cursor/mcp.json", text)
        answer = adopt(place, "--yes", name="settings with many forms of secrets are adopted")
        seen = [f"w{i}x" for i in range(11, 40) if f"w{i}x" in answer.out + answer.err]
        check(not seen, "no form of a secret is printed", (seen, answer.out))
        check(
            "Authorization: …" in answer.out and "--password=…" in answer.out, "their names are", answer.out
        )
        left = [f"w{i}x" for i in range(21, 27) if f"w{i}x" in read(path)]
        check(not left, "and no variable with one stays in the settings", left)
        stored = "".join(p.read_text() for p in pathlib.Path(place.root, SECRETS).iterdir())
        moved = [f"w{i}x" for i in range(21, 27) if f"w{i}x" not in stored]
        check(not moved, "but in a file of its own", moved)
        answer = adopt(place, "--undo", "--yes", name="their adoption is undone")
        seen = [f"w{i}x" for i in range(11, 40) if f"w{i}x" in answer.out + answer.err]
        check(not seen and read(path) == text, "the undo prints none", (seen, answer.out))
        os.unlink(path)
        place.write(
            "home/.codex/config.toml",
            '[mcp_servers.a] # 5" API_KEY=w10x\ntoken = "w11x" # it\'s "w12x" \n# secret: "w14x"\ncommand = "a"\n',
        )
        answer = adopt(place, "--dry-run", name="TOML with secrets is shown")
        seen = [f"w{i}x" for i in range(10, 20) if f"w{i}x" in answer.out]
        check(not seen, "no secret of TOML is printed", (seen, answer.out))


def linked_home():
    with Place() as place:
        place.write(
            "home/.cursor/mcp.json", json_servers(a={"command": "node", "args": ["${userHome}/srv/x.js"]})
        )
        home = place.root + "/link"
        os.symlink("home", home)
        adopt(place, "--yes", env={"HOME": home}, name="a home that is a link is adopted")
        policy = policy_of(place, "cursor-a")
        check(f'"{home}/srv/x.js"' in policy, "the command has the home that the agent passes", policy)


def kept_secrets():
    """--undo never removes the only copy of a secret."""
    server = {"command": "a", "env": {"API_TOKEN": TOKEN}}
    renamed = lambda data: data["mcpServers"].update(z=data["mcpServers"].pop("a"))
    edited = lambda data: data["mcpServers"]["a"]["args"].append("more")
    removed = lambda data: data["mcpServers"].pop("a")
    other = lambda data: data["mcpServers"]["a"]["env"].update(API_TOKEN="another")
    for name, change in (
        ("renamed", renamed),
        ("edited", edited),
        ("removed", removed),
        ("given another secret", other),
        ("gone", None),
    ):
        with Place() as place:
            path = place.write("home/.cursor/mcp.json", json_servers(a=server))
            adopt(place, "--yes", name=f"a server is adopted, and then {name}")
            data = json.loads(read(path))
            if change:
                change(data)
                place.write("home/.cursor/mcp.json", json.dumps(data))
            else:
                os.unlink(path)
            before = own_files(place)
            answer = place.run("adopt", "--undo", "--yes")
            check(
                answer.code == 125 and "0001/before" in answer.err and own_files(place) == before,
                f"--undo keeps the secret of a server that was {name}",
                (answer, own_files(place)),
            )
            check(
                TOKEN in read(place.root + "/" + SECRETS + "cursor-a.API_TOKEN"), "the secret is still there"
            )
    with Place() as place:
        path = place.write("home/.cursor/mcp.json", json_servers(a={"command": "a"}))
        adopt(place, "--yes", name="a server without secrets is adopted")
        data = json.loads(read(path))
        renamed(data)
        place.write("home/.cursor/mcp.json", json.dumps(data))
        before = own_files(place)
        answer = place.run("adopt", "--undo", "--yes")
        check(
            answer.code == 125 and own_files(place) == before, "--undo keeps a policy that is in use", answer
        )
        place.write("home/.cursor/mcp.json", json_servers(a=server))
        adopt(place, "--undo", "--yes", name="a server that was unwrapped by hand is no obstacle")
        check(not own_files(place), "its policy and backup are removed", own_files(place))


def after_crashes():
    """What a killed run has left is removed later."""
    with Place() as place:
        text = json_servers(a={"command": "a", "env": {"API_TOKEN": TOKEN}})
        path = place.write("home/.cursor/mcp.json", text)
        adopt(place, "--yes", name="a server is adopted before a crash")
        records = place.home + "/.local/state/toolcage/adopt/"
        name = ".toolcage-0123456789abcdef"
        left = place.write("home/.cursor/" + name, text, 0o600)
        own = place.write(SECRETS + name, TOKEN, 0o600)
        foreign = place.write("home/.cursor/.toolcage-fedcba9876543210", "mine\n")
        check(os.path.exists(records + "0001/temporary"), "the record names its temporary file")
        place.write("home/.local/state/toolcage/adopt/0001/temporary", name, 0o600)
        for file in ("file", "before", name):  # killed while it wrote the backup
            place.write(
                "home/.local/state/toolcage/adopt/0002/" + file, path if file == "file" else text, 0o600
            )
        for file in ("file", "before", "made", "made-1"):  # killed while it removed one
            place.write("home/.local/state/toolcage/adopt/0003/" + file, text, 0o600)
        answer = adopt(place, "--undo", "--yes", name="--undo succeeds after crashes")
        check(read(path) == text, "the settings are restored", read(path))
        check(
            not os.path.exists(left) and not os.path.exists(own),
            "temporary files are removed",
            os.listdir(place.home + "/.cursor"),
        )
        check(os.path.exists(foreign), "a file that is not in a record stays")
        check(
            not own_files(place) and not os.listdir(records),
            "unfinished records are removed",
            own_files(place),
        )
        os.unlink(foreign)
        adopt(place, "--yes", name="the server is adopted once more")
        place.write("home/.local/state/toolcage/adopt/0001/temporary", name, 0o600)
        place.write("home/.cursor/" + name, "newer version of an agent\n", 0o600)
        answer = adopt(place, "--undo", "--yes", name="--undo finds a file that it did not write")
        check(os.path.exists(left) and "stays" in answer.err, "an agent's version is not removed", answer)


def unusual_forms():
    """What cannot be done is said for the one server."""
    with Place() as place:
        script = place.write("home/servers/x/server.ts", "")
        place.write(
            "home/.codex/config.toml",
            '[mcp_servers]\nh = { command = "x", env.A = "1" }\n[mcp_servers.i]\ncommand = "i"\n'
            '[mcp_servers.vars]\ncommand = "i"\nenv_vars = ["X"]\n',
        )
        answer = adopt(place, "--yes", name="an inline table in TOML is no obstacle")
        got = states(answer)
        check(
            "left alone" in got.get("h", "") and "will start" in got.get("i", ""),
            "it alone is left alone",
            answer,
        )
        check("env_vars" in got.get("vars", ""), "a server with the agent's variables is left alone", answer)
        place.write(
            "home/.cursor/mcp.json",
            json_servers(
                loader={"command": "node", "args": ["--import", "tsx", script]},
                dot={"command": "npx", "args": ["@modelcontextprotocol/server-filesystem", "."]},
                inner={"command": "sh", "args": ["-c", "exec sudo docker run x"]},
                env={"command": "env", "args": ["docker", "run", "x"]},
                slugs={"command": "a", "env": {"API.TOKEN": "0123456789", "API-TOKEN": "0123456788"}},
            ),
        )
        answer = adopt(place, "--dry-run", name="unusual commands are shown")
        got = states(answer)
        check(
            f"{script} is in its arguments: not granted" in answer.out,
            "an argument that is not granted is listed",
            answer,
        )
        check(
            ". is not granted: the server starts in" in answer.out,
            "a relative path after an install is listed",
            answer,
        )
        for name in ("inner", "env"):
            check(
                "may start a container" in got.get(name, ""),
                f"a container behind another program ({name}) is left alone",
                answer,
            )
        check(
            "only in special characters" in got.get("slugs", ""),
            "names that become equal are refused",
            answer,
        )
        place.write(
            "home/.config/opencode/config.json", '{"mcp": {"o": {"type": "local", "command": ["o"]}}}'
        )
        place.write(
            "home/project/.opencode/opencode.json", '{"mcp": {"p": {"type": "local", "command": ["p"]}}}'
        )
        adopt(
            place,
            "--list",
            name="OpenCode's other files are listed",
            texts=["opencode/config.json", ".opencode/opencode.json"],
        )
        place.write("home/project/.mcp.json", json_servers(a={"command": "a"}) + " " * (1 << 20))
        answer = place.run("adopt", "--list")
        check(
            answer.code == 125 and "larger than 1 MiB" in answer.out,
            "a large file of a project is left alone",
            answer,
        )


def killed():
    """At whatever system call a run is killed, --undo leaves the settings as they were, and nothing else."""
    if not shutil.which("strace"):
        skip("a killed run leaves nothing after --undo", "strace is missing")
        return
    text = json_servers(a={"command": "a", "env": {"API_TOKEN": TOKEN}})
    wrong = []
    with Place() as place:
        path = place.write("home/.cursor/mcp.json", text)

        def run_killed(call, n, *args):
            inject = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", f"inject={call}:signal=KILL:when={n}"]
            argv = [*inject, *place.argv("adopt", *args, "--yes")]
            done = subprocess.run(
                argv, cwd=place.project, env=place.environ, capture_output=True, timeout=60, check=False
            )
            return done.returncode == -9 or done.returncode == 137

        count = 0
        for undo in (False, True):
            for call, last in (
                ("renameat", 12),
                ("renameat2", 1),
                ("unlinkat", 1),
                ("fsync", 11),
                ("unlink", 8),
            ):
                for n in range(1, last + 1):
                    if undo:
                        place.run("adopt", "--yes")
                    count += run_killed(call, n, *(["--undo"] if undo else []))
                    answer = place.run("adopt", "--undo", "--yes")
                    files = own_files(place) + os.listdir(place.home + "/.cursor")
                    if answer.code or read(path) != text or files != ["mcp.json"]:
                        wrong.append((call, n, undo, files, str(answer)))
                        place.write("home/.cursor/mcp.json", text)
                        shutil.rmtree(place.home + "/.local")
        check(count > 30 and not wrong, "a killed run leaves nothing after --undo", (count, wrong[:5]))


require_user()
for part in (
    every_agent,
    secrets,
    remote_servers,
    terminal,
    bytes_kept,
    refused_texts,
    left_alone,
    files,
    hostile_project,
    concurrent,
    changed_since,
    adopted_twice,
    long_lines,
    access_lists,
    named_caged,
    project_links,
    projects_by_path,
    project_variables,
    hidden,
    linked_home,
    kept_secrets,
    after_crashes,
    killed,
    unusual_forms,
    foreign_home,
    real_server,
):
    part()
finish()
