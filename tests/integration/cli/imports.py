# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""policy import: settings as the other sandboxes document them come over or are listed, and hostile ones do no harm."""

import json
import os
import re
import time
import tomllib

from cli import Place, check, expect, finish, require_user

# The example of sandbox-runtime's README.
SRT = {
    "network": {
        "allowedDomains": [
            "github.com",
            "*.github.com",
            "lfs.github.com",
            "api.github.com",
            "npmjs.org",
            "*.npmjs.org",
        ],
        "deniedDomains": ["malicious.com"],
        "allowUnixSockets": ["/var/run/docker.sock"],
        "allowLocalBinding": False,
    },
    "filesystem": {
        "denyRead": ["~/.ssh"],
        "allowRead": [],
        "allowWrite": [".", "src/", "test/", "/tmp"],
        "denyWrite": [".env", "config/production.json"],
    },
    "ignoreViolations": {"*": ["/usr/bin", "/System"], "git push": ["/usr/bin/nc"], "npm": ["/private/tmp"]},
    "enableWeakerNestedSandbox": False,
    "enableWeakerNetworkIsolation": False,
    "allowAppleEvents": False,
}
# What is not granted needs no word of its own to be denied.
DENIED_ANYWAY = {"~/.ssh", "malicious.com"}
# All that the reference of mcp.json names, with comments and commas as the editor takes them.
MCP = """{
  // where a person is asked for it
  "inputs": [{"type": "promptString", "id": "api-key", "description": "API key", "password": true}],
  "servers": {
    "github": {"type": "http", "url": "https://mcp.example.com/mcp"},
    "memory": {"type": "stdio", "command": "npx", "args": ["-y", "@modelcontextprotocol/server-memory"],
               "env": {"API_KEY": "${input:api-key}"}, "envFile": "${workspaceFolder}/.env", "dev": {"watch": "*.js"},},
    "notes": {"type": "stdio", "command": "node", "args": ["${workspaceFolder}/server.js", "--quiet"], "sandboxEnabled": true,
              "sandbox": {"filesystem": {"allowWrite": ["${workspaceFolder}/notes"], "denyRead": ["${userHome}/.ssh", "${workspaceFolder}/notes/keys"],
                                         "denyWrite": ["${workspaceFolder}/notes/old"]},
                          "network": {"allowedDomains": ["api.example.com:8443"], "allowAllUnixSockets": true}, "allowPty": true}},
    "shared": {"type": "stdio", "command": "python3", "args": ["server.py"], "sandboxEnabled": true},
    "asked": {"command": "node", "args": ["--key", "${input:api-key}"]},
    "odd": {"command": "node", "args": "--all"},
  },
  "sandbox": {"filesystem": {"allowWrite": ["${workspaceFolder}"]}, "network": {"allowedDomains": ["files.example.com"]},
              "enableWeakerNestedSandbox": true}, /* the end */
}
"""
SETTINGS = """{
  "editor.tabSize": 4,
  "chat.tools.terminal.sandbox.enabled": true,
  "chat.tools.terminal.sandbox.linuxFileSystem": {"allowWrite": ["out"], "denyRead": ["out/private"], "denyWrite": ["out/fixed"]},
  "chat.tools.terminal.sandbox.macFileSystem": {"allowWrite": ["."]},
  "chat.tools.terminal.sandbox.network": {"allowedDomains": ["a.example:443"], "allowTrustedDomains": true},
}
"""


def left_of(answer):
    return re.findall(r"^toolcage: left out: (.*)$", answer.err, re.M)


def leaves(value, path=""):
    """(key path, text) of every string, number and true."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for inner in value:
            yield from leaves(inner, path)
    elif value is not False:
        yield path, str(value)


def imported(place, name, form, path, code=1):
    answer = expect(place, f"{name}: comes over", ["policy", "import", form, path], code, "[", stream="out")
    left = left_of(answer)
    check(
        re.findall(r"^#   (.*)$", answer.out, re.M) == left,
        f"{name}: what is left out stands in the policy, too",
        answer,
    )
    check(code == (1 if left else 0), f"{name}: the exit code says whether all was said", answer)
    check(
        all(byte == 10 or 32 <= byte < 127 for byte in answer.bytes),
        f"{name}: plain text",
        answer.bytes[:2000],
    )
    piped = place.run("policy", "check", "--severity", "error", "--fail-on", "never", "-", stdin=answer.bytes)
    check(piped.code == 0 and "standard input: " in piped.out, f"{name}: parses, through a pipe", piped)
    return answer, left


def nothing_dropped(name, settings, answer, left, anyway=()):
    """Each setting is in the policy, or its key or text is listed."""
    body = answer.out[answer.out.index("\n[") :]
    lost = [
        (path, text)
        for path, text in leaves(settings)
        if text not in anyway
        and json.dumps(text) not in body
        and not any(text in line or path.split(".")[0] + ":" in line for line in left)
    ]
    check(not lost, f"{name}: nothing is dropped", f"{lost}\n{answer}")


def says(place, policy, kind, target, allowed, *more):
    answer = place.run("explain", "--policy", policy, *more, f"--{kind}", target)
    check(
        answer.code == (0 if allowed else 1) and answer.out.startswith("allowed" if allowed else "denied"),
        f"{' '.join(more)} {kind} {target} is {'allowed' if allowed else 'denied'}".strip(),
        answer,
    )


def runtime(place):
    path = place.write("home/.srt-settings.json", json.dumps(SRT, indent=2))
    answer, left = imported(place, "srt", "srt", path)
    nothing_dropped("srt", SRT, answer, left, DENIED_ANYWAY)
    for part in (
        "*.github.com",
        "*.npmjs.org",
        "docker.sock",
        "ignoreViolations",
        "filesystem.allowWrite /tmp",
        "allow reading everything",
    ):
        check(any(part in line for line in left), f"srt: {part} is listed", left)
    policy = place.write("home/project/srt.toml", answer.bytes)
    project = place.project
    for kind, target, allowed in (
        ("write", f"{project}/src/x", True),
        ("write", f"{project}/.env", False),
        ("read", f"{project}/.env", True),
        ("write", f"{project}/config/production.json", False),
        ("read", f"{place.home}/.ssh/id_rsa", False),
        ("read", "/srv/other", False),
        ("connect", "api.github.com:443", True),
        ("connect", "api.github.com:22", False),
        ("connect", "x.github.com:443", False),
        ("connect", "malicious.com:443", False),
        ("connect", "unix:/var/run/docker.sock", False),
    ):
        says(place, policy, kind, target, allowed)
    all_said = place.write(
        "said.json", json.dumps({"filesystem": {"allowWrite": []}, "network": {"allowedDomains": []}})
    )
    check(
        len(left_of(place.run("policy", "import", "srt", all_said))) == 1,
        "srt: reading is always listed: there it is allowed everywhere",
    )
    expect(
        place,
        "srt: through standard input",
        ["policy", "import", "srt", "-"],
        1,
        "[defaults]",
        stream="out",
        stdin=json.dumps(SRT).encode(),
    )


def editor(place):
    path = place.write("home/project/.vscode/mcp.json", MCP)
    answer, left = imported(place, "vscode", "vscode", path)
    for part in (
        "inputs: ",
        "servers.github: does not run a command",
        "servers.memory.env.API_KEY",
        "servers.memory.envFile",
        "servers.memory.dev",
        "servers.memory: it runs without a sandbox",
        "servers.notes.sandbox.allowPty",
        "servers.notes.sandbox.network.allowAllUnixSockets",
        "servers.asked: its command",
        "servers.odd: its command",
        "sandbox.enableWeakerNestedSandbox",
    ):
        check(any(line.startswith(part) for line in left), f"vscode: {part} is listed", left)
    whole = tomllib.loads(answer.out)
    check(
        {name: server["command"] for name, server in whole["server"].items()}
        == {
            "memory": ["npx", "-y", "@modelcontextprotocol/server-memory"],
            "notes": ["node", "/workspace/server.js", "--quiet"],
            "shared": ["python3", "server.py"],
        },
        "vscode: commands come over whole or not at all",
        answer,
    )
    policy = place.write("home/project/mcp.toml", answer.bytes)
    for server, kind, target, allowed in (
        ("notes", "write", "/workspace/notes/x", True),
        ("notes", "write", "/workspace/notes/old/x", False),
        ("notes", "read", "/workspace/notes/keys", False),
        ("notes", "read", "/workspace/x", False),
        ("notes", "connect", "api.example.com:8443", True),
        ("notes", "connect", "files.example.com:443", False),
        ("shared", "write", "/workspace/x", True),
        ("shared", "connect", "files.example.com:443", True),
        ("memory", "read", "/workspace/x", False),
        ("memory", "connect", "files.example.com:443", False),
    ):
        says(place, policy, kind, target, allowed, "--server", server)
    alone = place.write(
        "alone.json", '{"sandbox": {"network": {"allowedDomains": ["a.example"]}}, "servers": {}}'
    )
    expect(
        place,
        "vscode: a sandbox that no server uses is listed",
        ["policy", "import", "vscode", alone],
        1,
        "left out: sandbox: ",
    )
    answer, left = imported(
        place, "settings.json", "vscode", place.write("home/project/.vscode/settings.json", SETTINGS)
    )
    for part in (
        "editor.tabSize",
        "chat.tools.terminal.sandbox.macFileSystem",
        "chat.tools.terminal.sandbox.network.allowTrustedDomains",
    ):
        check(any(line.startswith(part) for line in left), f"settings.json: {part} is listed", left)
    policy = place.write("home/project/settings.toml", answer.bytes)
    for kind, target, allowed in (
        ("write", "out/x", True),
        ("write", "out/fixed", False),
        ("read", "out/private", False),
        ("write", "/srv/x", False),
    ):
        says(place, policy, kind, os.path.join(place.project, target), allowed)
    expect(
        place,
        "settings.json: what it allows without a word is listed",
        [
            "policy",
            "import",
            "vscode",
            place.write("on.json", '{"chat.tools.terminal.sandbox.enabled": true}'),
        ],
        1,
        "left out: chat.tools.terminal.sandbox.enabled",
    )


ESCAPES = "\x1b]0;t\x07\x1b[2J\u202e\u200b\x85\r"


def hostile_words(place):
    """Names and texts are data: they add no clause, and no terminal obeys them."""
    line = 'x"\n]\n[tool.evil]\ncommand = ["sh"]\n#'
    srt = place.write(
        "words.json",
        json.dumps(
            {
                ESCAPES: 1,
                line: 2,
                "filesystem": {"allowWrite": [f"a{ESCAPES}", line, "b/\u202ec"], ESCAPES: True},
                "network": {
                    "allowedDomains": [f"a{ESCAPES}.example", line],
                    "allowUnixSockets": [line, ESCAPES],
                },
            }
        ),
    )
    answer, left = imported(place, "hostile srt", "srt", srt)
    check(
        all(" " <= c <= "~" or c == "\n" for c in answer.err),
        "hostile srt: nothing for a terminal on standard error",
        answer.err.encode(),
    )
    check(
        set(tomllib.loads(answer.out)) == {"defaults"} and len(left) >= 8,
        "hostile srt: no clause is made of a text",
        answer,
    )
    code = f'say "{ESCAPES}" \\ {line} é \U0001f600'
    servers = {
        line: {"command": "c"},
        ESCAPES: {"command": "c"},
        "fine": {"command": code, "args": [code, ""], "env": {line: "x", ESCAPES: "y"}, line: 1},
        "path": {"command": "c", "sandboxEnabled": True, "sandbox": {"filesystem": {"allowWrite": [line]}}},
    }
    answer, left = imported(
        place, "hostile vscode", "vscode", place.write("servers.json", json.dumps({"servers": servers}))
    )
    check(
        all(" " <= c <= "~" or c == "\n" for c in answer.err),
        "hostile vscode: nothing for a terminal on standard error",
        answer.err.encode(),
    )
    whole = tomllib.loads(answer.out)
    check(
        set(whole) == {"server"}
        and set(whole["server"]) == {"fine", "path"}
        and whole["server"]["fine"]["command"] == [code, code, ""],
        "hostile vscode: a command is its words",
        answer,
    )
    for key in ("denyRead", "denyWrite"):
        denied = place.write(
            "denied.json", json.dumps({"filesystem": {"allowWrite": ["."], key: ["keys\x1bc\n\u202ex"]}})
        )
        answer = expect(
            place,
            f"what {key} names and cannot be said is refused, not forgotten",
            ["policy", "import", "srt", denied],
            125,
            key,
        )
        check(
            not answer.out and all(" " <= c <= "~" or c == "\n" for c in answer.err),
            "without a policy, in plain text",
            answer,
        )


def refused(place, name, form, text, *words):
    path = place.write("refused.json", text)
    start = time.monotonic()
    answer = place.run("policy", "import", form, path)
    missing = [word for word in ("hint: ", *words) if word not in answer.err]
    check(
        answer.code == 125
        and not answer.out
        and not missing
        and len(answer.err) < 2000
        and time.monotonic() - start < 20,
        f"{form}: {name} is refused, soon and with a hint",
        f"{missing} {answer}",
    )


def hostile_shapes(place):
    huge = b'{"a": "' + b"x" * (10 << 20) + b'"}'
    for form in ("srt", "vscode"):
        for name, text, *words in (
            ("10 MiB", huge),
            ("deep arrays", b"[" * 500000, "nested too deeply"),
            ("deep objects", b'{"a":' * 100000, "nested too deeply"),
            (
                "a deep string of brackets that ends",
                b'{"a":' + b"[" * 40 + b"]" * 40 + b"}",
                "nested too deeply",
            ),
            ("nothing", b""),
            ("no JSON", b"[defaults]\n"),
            ("an array", b"[]", "is not a JSON object"),
            ("a key twice", b'{"a": 1, "a": 2}', "duplicate"),
            ("a NUL", b'{"a": "\0"}'),
            ("a NUL by its number", b'{"a": "\\u0000"}'),
            ("no UTF-8", b'{"a": "\xff"}'),
            ("half a character", b'{"a": "\\ud800"}'),
            ("a huge number", b'{"a": 1' + b"0" * 400 + b"}"),
            ("a byte order mark", b'\xef\xbb\xbf{"a": 1}'),
            ("an end in a comment", b'{"a": 1 /*'),
            ("escapes for a terminal", b'\x1b[2J{"a": 1}'),
        ):
            refused(place, name, form, text, *words)
    many = {"filesystem": {"allowWrite": [f"/d{i}" for i in range(2000)]}}
    refused(
        place,
        "more paths than a policy takes",
        "srt",
        json.dumps(many),
        "allowWrite has more than 1024 entries",
    )
    full = {
        "filesystem": {
            "allowWrite": [f"/d{i}" for i in range(400)],
            "denyRead": ["/"] * 1000,
            "allowRead": [f"/e{i}" for i in range(400)],
        }
    }
    start = time.monotonic()
    answer = place.run("policy", "import", "srt", place.write("full.json", json.dumps(full)))
    check(
        answer.code == 1 and time.monotonic() - start < 20,
        "srt: each path among many denied ones, in good time",
        (time.monotonic() - start, answer),
    )
    shared = {
        "servers": {f"s{i}": {"command": "c", "sandboxEnabled": True} for i in range(4000)},
        "sandbox": {"filesystem": {"allowWrite": [f"/d{i}" for i in range(1000)]}},
    }
    refused(
        place,
        "one sandbox for thousands of servers",
        "vscode",
        json.dumps(shared),
        "has more than 8192 paths and hosts",
    )
    for name, text in (
        ("servers", '{"servers": []}'),
        ("sandbox", '{"sandbox": 1}'),
        ("sandbox", '{"servers": {"s": {"command": "c", "sandboxEnabled": true, "sandbox": []}}}'),
        ("sandboxEnabled", '{"servers": {"s": {"command": "c", "sandboxEnabled": "yes"}}}'),
        (
            "filesystem",
            '{"servers": {"s": {"command": "c", "sandboxEnabled": true, "sandbox": {"filesystem": []}}}}',
        ),
    ):
        refused(place, f"a {name} of another kind", "vscode", text, f"{name} must be ")
    many_left = place.write("left.json", json.dumps({f"k{i}": True for i in range(3000)}))
    answer = place.run("policy", "import", "srt", many_left)
    check(
        answer.code == 1 and "(and more, which is not listed)" in answer.err and answer.err.count("\n") < 600,
        "srt: a list of thousands says that it was cut",
        answer,
    )


def no_file(place):
    missing = os.path.join(place.root, "nowhere.json")
    expect(place, "no such file", ["policy", "import", "srt", missing], 125, missing, "hint: ")
    expect(place, "a directory", ["policy", "import", "vscode", place.root], 125, "Is a directory", "hint: ")
    expect(
        place,
        "another format",
        ["policy", "import", "cursor", place.write("x.json", "{}")],
        125,
        "the formats are srt and vscode",
    )
    expect(place, "no file named", ["policy", "import", "srt"], 125, "hint: ")
    expect(place, "nothing on standard input", ["policy", "import", "srt", "-"], 125, "hint: ")
    answer = place.run("policy", "check", "-", stdin=b"[tool.x]\nteir = 1\n")
    check(
        answer.code == 1 and "standard input:2:1: error: unknown key" in answer.err,
        "policy check -: a mistake has its line",
        answer,
    )
    answer = place.run("policy", "check", "--json", "-", stdin=b'[tool.x]\nfilesystem.readable = ["sub"]\n')
    check(
        answer.code == 0 and json.loads(answer.out)["counts"]["error"] == 0, "policy check -: --json", answer
    )
    check(
        place.run("policy", "check", "-", stdin=b"#" * (5 << 20)).code == 125,
        "policy check -: no more than a file may hold",
    )


require_user()
with Place() as place:
    for part in (runtime, editor, hostile_words, hostile_shapes, no_file):
        part(place)
finish()
