# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""policy check with its findings, policy test, and explain: what a person and a pipeline get."""

import json
import os
import re

from cli import Place, check, denied, expect, finish

DANGEROUS = """[tool.deploy]
command = ["deploy"]
filesystem.readable = ["~/.aws", "/data"]
network = ["api.example.com:443"]
output = "2MiB"
"""
TESTED = """[defaults]
filesystem.denied = ["/data/no"]
[tool.count]
tier = "Auto"
command = ["wc", "--", "{file}"]
arguments.file = { read = ["/in"] }
filesystem.readable = ["/data"]
[[test]]
tool = "count"
arguments = { file = "/in/x" }
call = "allowed"
allowed = ["read /data/x", "read /in/x"]
denied = ["write /data/x", "read /in/y"]
"""
MORE = """[[test]]
tool = "count"
arguments = { file = "/in/../etc/passwd" }
call = "denied"
[[test]]
tool = "count"
denied = ["read /data/no/x"]
"""


def lint(place):
    path = place.write("d.toml", DANGEROUS)
    answer = expect(
        place,
        "findings",
        ["policy", "check", path],
        1,
        f"{path}:3:",
        "error: ",
        "[secret-and-network]",
        "^~~~",
        "[large-output]",
        "hint: ",
        "1 error, 1 warning",
        stream="out",
    )
    check(
        answer.out.index("secret-and-network") < answer.out.index("large-output"),
        "in the order of the text",
        answer,
    )
    for fail_on, code in (("error", 1), ("warning", 1), ("never", 0)):
        expect(
            place, f"--fail-on {fail_on}", ["policy", "check", "--fail-on", fail_on, path], code, stream="out"
        )
    answer = expect(
        place,
        "--severity error",
        ["policy", "check", "--severity", "error", path],
        1,
        "[secret-and-network]",
        stream="out",
    )
    check("[large-output]" not in answer.out, "shows no less", answer)
    answer = place.run("policy", "check", "--json", path)
    report = json.loads(answer.out) if answer.out.count("\n") == 1 else {}
    check(
        answer.code == 1
        and not answer.err
        and {f["id"] for f in report["findings"]} >= {"secret-and-network", "large-output"}
        and report["counts"]["error"] == 1,
        "--json is one line",
        answer,
    )
    silenced = DANGEROUS.replace(
        '"/data"]', '"/data"] # toolcage: allow(secret-and-network) a key for this host alone'
    )
    silenced = silenced.replace("2MiB", "1MiB")
    quiet = place.write("s.toml", silenced)
    expect(place, "silenced with a reason", ["policy", "check", quiet], 0, ": ok", "1 silenced", stream="out")
    found = json.loads(place.run("policy", "check", "--json", quiet).out)["findings"]
    check(
        [f["silenced"] for f in found if f["id"] == "secret-and-network"] == ["a key for this host alone"],
        "the reason is told",
        found,
    )
    bare = place.write("b.toml", silenced.replace(" a key for this host alone", ""))
    expect(
        place,
        "without a reason",
        ["policy", "check", bare],
        1,
        "[secret-and-network]",
        "[silence-without-reason]",
        stream="out",
    )
    hostile = place.write(
        "h.toml", b'[tool.x]\nfilesystem.readable = ["/srv/a\xe2\x80\xaeb/.env"] # \xe2\x80\xae\n'
    )
    answer = expect(
        place, "a hostile name", ["policy", "check", hostile], 0, "[secret-readable]", stream="out"
    )
    check("\u202e" not in answer.out, "cannot reorder the terminal", answer)
    expect(place, "no file", ["policy", "check", "--json", "nowhere.toml"], 125, stream="out")
    page = place.write("p.toml", '[tool.x]\nnetwork = ["github.io"]\n')
    if os.path.exists("/usr/share/publicsuffix/public_suffix_list.dat"):
        expect(
            place,
            "a public suffix of the machine's list",
            ["policy", "check", page],
            1,
            "[public-suffix]",
            stream="out",
        )
    else:
        expect(
            place,
            "no list of suffixes",
            ["policy", "check", page],
            0,
            "public suffix list",
            "install the package publicsuffix",
        )


def tests(place):
    path, more = place.write("t.toml", TESTED), place.write("more.toml", MORE)
    answer = expect(
        place,
        "tests",
        ["policy", "test", path],
        0,
        "ok 1 - count: call is allowed",
        "1..5",
        "5 passed, 0 failed; 2 of 3",
        stream="out",
    )
    check("not ok" not in answer.out, "all pass", answer)
    expect(
        place,
        "with another file",
        ["policy", "test", "--policy", path, "--require-coverage", "100", more],
        0,
        "1..7",
        "3 of 3 entries covered (100 %)",
        stream="out",
    )
    expect(place, "both as words", ["policy", "test", path, more], 0, "1..7", stream="out")
    expect(
        place,
        "too little is covered",
        ["policy", "test", "--require-coverage", "90", path],
        1,
        "66 %",
        "--coverage",
    )
    expect(
        place,
        "grants without a test are listed",
        ["policy", "test", "--coverage", path],
        0,
        "# not covered: defaults.filesystem.denied, line 2: /data/no",
        stream="out",
    )
    wrong = place.write("wrong.toml", MORE.replace('call = "denied"', 'call = "allowed"'))
    expect(
        place,
        "a failure",
        ["policy", "test", "--policy", path, wrong],
        1,
        "not ok 6 - count: call is allowed",
        f"#   at {wrong}, line 4",
        "expected allowed, and it is denied",
        "hint: ",
        stream="out",
    )
    report = json.loads(place.run("policy", "test", "--json", "--policy", path, wrong).out)
    check(
        report["counts"] == {"passed": 6, "failed": 1} and report["tests"][1]["file"] == str(wrong),
        "--json",
        report,
    )
    broken = place.write("broken.toml", "[tool.x]\n")
    expect(
        place,
        "a policy in place of tests",
        ["policy", "test", "--policy", path, broken],
        125,
        f"{broken} is a policy, not a test file",
        "--policy",
    )
    expect(
        place,
        "a policy after the first",
        ["policy", "test", path, broken],
        125,
        f"{broken} is a policy, not a test file",
    )
    expect(place, "a policy without tests", ["policy", "test", broken], 0, "1..0 # SKIP", stream="out")
    expect(place, "no such file", ["policy", "test", "--policy", path, "nowhere.toml"], 125, "nowhere.toml")


def tests_name_their_policy(place):
    """FILE is a policy, or tests of the one that is found; a mistake is told of what the file was meant to be."""
    here, away = os.path.join(place.root, "here"), os.path.join(place.root, "away")
    own = place.write("here/toolcage.toml", TESTED)
    other = place.write(
        "away/other.toml", TESTED.replace('"count"', '"sum"').replace("tool.count", "tool.sum")
    )
    more, yaml = (
        place.write("away/more.toml", MORE),
        place.write("away/more.yaml", 'test:\n  - {tool: count, denied: ["read /data/no/x"]}\n'),
    )
    expect(place, "no file: the policy that is found", ["policy", "test"], 0, "1..5", stream="out", cwd=here)
    expect(
        place,
        "a policy: its own tests",
        ["policy", "test", other],
        0,
        "ok 1 - sum: ",
        "1..5",
        stream="out",
        cwd=here,
    )
    as_yaml = place.write(
        "away/policy.yaml", 'tool: {echo: {command: [t]}}\ntest: [{tool: echo, denied: ["read /data"]}]\n'
    )
    expect(
        place,
        "a policy in YAML",
        ["policy", "test", as_yaml],
        0,
        "ok 1 - echo: ",
        "1..1",
        stream="out",
        cwd=here,
    )
    expect(
        place,
        "tests: of the policy that is found",
        ["policy", "test", more],
        0,
        "1..7",
        stream="out",
        cwd=here,
    )
    expect(
        place,
        "tests in YAML, and more of them",
        ["policy", "test", yaml, more],
        0,
        "1..8",
        stream="out",
        cwd=here,
    )
    expect(
        place,
        "tests, and no policy",
        ["policy", "test", more],
        125,
        f"{more}:2:",
        'there is no tool "count"',
        "hint: if it is a test file, name its policy with --policy FILE",
        cwd=away,
    )
    bad = place.write("away/bad.toml", TESTED.replace("tier", "teir"))
    for name, where in (("found", here), ("not found", away)):
        answer = expect(
            place,
            f"a mistaken policy, another is {name}",
            ["policy", "test", bad],
            125,
            f"{bad}:4:1: error: unknown key",
            "did you mean",
            cwd=where,
        )
        check(
            "there is no policy" not in answer.err and "not a test file" not in answer.err,
            "its mistake is what is told",
            answer,
        )
    wrong = place.write("away/wrong.toml", MORE.replace("denied =", "deneid ="))
    expect(
        place, "mistaken tests", ["policy", "test", wrong], 125, f"{wrong}:7:1: error: unknown key", cwd=here
    )
    torn = place.write("away/torn.toml", MORE + "\0" + MORE.replace('call = "denied"', 'call = "allowed"'))
    expect(place, "tests behind a NUL are not forgotten", ["policy", "test", torn], 125, "NUL", cwd=here)
    place.write("here/toolcage.yaml", "tool: {count: {command: [t]}}\n")
    expect(
        place,
        "two policies are found",
        ["policy", "test", more],
        125,
        "there are two policies: ",
        "--policy",
        cwd=here,
    )
    os.unlink(os.path.join(here, "toolcage.yaml"))
    place.write("here/toolcage.toml", TESTED.replace("tier", "teir"))
    expect(
        place,
        "the policy that is found has a mistake",
        ["policy", "test", more],
        125,
        f"{own}:4:1: error: unknown key",
        cwd=here,
    )
    answer = place.run("policy", "test", "--json", more, cwd=away)
    check(
        answer.code == 125 and not answer.err and json.loads(answer.out)["error"]["location"]["file"] == more,
        "--json tells it in one line",
        answer,
    )


def explain(place):
    path = place.write("t.toml", TESTED)
    use = ["explain", "--policy", path, "--tool", "count"]
    expect(
        place,
        "explain: allowed",
        [*use, "--read", "/data/x"],
        0,
        "allowed: read /data/x",
        '    7 | filesystem.readable = ["/data"]',
        "^~~~~",
        "set by the tool itself",
        "process: tier Auto selects it (tool.count.tier, line 4)",
        "held by   fs.read: ",
        stream="out",
    )
    expect(
        place,
        "explain: inherited",
        [*use, "--read", "/data/no"],
        1,
        "denied: ",
        "    2 | ",
        "inherited from [defaults]",
        "fs.denied",
        stream="out",
    )
    expect(
        place,
        "explain: an argument",
        [*use, "--arguments", '{"file": "/in/x"}', "--read", "/in/x"],
        0,
        "arguments.file.read",
        stream="out",
    )
    expect(
        place,
        "explain: a command that is called like a tool",
        [*use[:-2], "count"],
        0,
        "explain --tool count",
    )
    check(
        "--tool count" not in place.run(*use[:-2], "other").err
        and not place.run(*use[:-2], "count", "--json").err,
        "explain: and no other",
    )
    answer = place.run(*use, "--json", "--connect", "a.example")
    verdict = json.loads(answer.out)
    check(
        answer.code == 1 and verdict["verdict"]["clause"] == "net.none" and verdict["chosen_by"]["line"] == 4,
        "explain --json",
        answer,
    )
    check(
        place.run("policy", *use, "--read", "/data/x").out == place.run(*use, "--read", "/data/x").out,
        "explain is policy explain",
        answer,
    )


def explained_end(place):
    """An access that the policy grants and that nothing here enforces is refused: in words, in JSON, by the exit code, and by the call."""
    for name, text, reason in (
        ("a backend that is not there", 'backend = "kubernetes"', "this version has no such backend"),
        (
            "several absent backends",
            'backend = "kubernetes"\nfallback = ["wasmtime"]',
            "kubernetes: this version has no such backend; wasmtime:",
        ),
        ("layers", 'layers = ["oci", "process"]', "no backend of this version supports"),
    ):
        path = place.write(
            "end.toml", f'[tool.t]\ncommand = ["true"]\nfilesystem.readable = ["/srv"]\n{text}\n'
        )
        use = ["explain", "--policy", path, "--tool", "t"]
        answer = expect(
            place,
            f"explain: {name}",
            [*use, "--read", "/srv/x"],
            1,
            "refused here: read /srv/x",
            "held by   fs.read: nothing here: ",
            reason,
            stream="out",
        )
        check(
            "allowed" not in answer.out and "so the call" not in answer.out,
            f"explain: {name}: one answer",
            answer,
        )
        answer = place.run(*use, "--json", "--read", "/srv/x")
        here = json.loads(answer.out)["here"]
        check(
            answer.code == 1 and here["held"] is False and reason in here["reason"],
            f"explain --json: {name}",
            answer,
        )
        check(
            place.run("call", "--policy", path, "t").code in (125, 126), f"{name}: the call is refused, too"
        )
        expect(
            place,
            f"explain: {name}: denied is denied",
            [*use, "--read", "/data"],
            1,
            "denied: ",
            stream="out",
        )
    path = place.write(
        "end.toml",
        '[tool.t]\ncommand = ["true"]\nbackend = "kubernetes"\nfallback = ["process"]\nfilesystem.readable = ["/srv"]\n',
    )
    answer = place.run("explain", "--policy", path, "--tool", "t", "--json", "--read", "/srv/x")
    check(
        answer.code == 0
        and json.loads(answer.out)["here"] == {"held": True, "backend": "process", "reason": ""},
        "explain: the one of several that holds it",
        answer,
    )


HEAD = "    command: [cat, /srv/nowhere/x]\n    memory: {max: 512MiB, by: any}\n"
NEW = '{ path: "/srv/nowhere/x", optional: true }'
# Text of the tool below `tool:`, what is put in front of what; None: a person has to find the place.
YAML = {
    "no filesystem": (
        "  a:  # a\n    # why\n" + HEAD,
        f"    filesystem: {{readable: [{NEW}]}}\n",
        "    # why",
    ),
    "a block": (
        "  a:\n"
        + HEAD
        + "    filesystem:\n      # r\n      readable:\n        - /usr/share  # one\n        - /opt\n    pids: 20\n",
        f"        - {NEW}\n",
        "    pids",
    ),
    "a block with tables": (
        "  a:\n"
        + HEAD
        + "    filesystem:\n      readable:\n      - path: /d\n        from: /usr/share\n    pids: 20\n",
        f"      - {NEW}\n",
        "    pids",
    ),
    "brackets": (
        "  a:\n" + HEAD + '    filesystem: {readable: [/usr/share, "/a]b"]} # z\n',
        f", {NEW}",
        "]} # z",
    ),
    "no entries": ("  a:\n" + HEAD + "    filesystem:\n      readable: []\n", NEW, "]\n"),
    "another list": (
        "  a:\n" + HEAD + "    filesystem:\n      denied: [/opt/x]\n",
        f"      readable: [{NEW}]\n",
        "      denied",
    ),
    "one line": (
        "  {a: {command: [cat, /srv/nowhere/x], memory: {max: 512MiB, by: any}}}\n",
        f"filesystem: {{readable: [{NEW}]}}, ",
        "command",
    ),
    "a comment before the end": (
        "  a:\n" + HEAD + "    filesystem:\n      readable: [\n        /opt # two\n      ]\n",
        None,
        "line 6",
    ),
    "a word in its place": ("  a:\n" + HEAD + "    filesystem: none\n", None, "line 6"),
}


def patched(text, diff):
    """What `patch` makes of it, for one hunk."""
    head = re.search(r"^@@ -(\d+)", diff, re.M)
    if not head:
        return "there is no hunk"
    start = int(head.group(1)) - 1
    hunk = diff.split("\n", 3)[3].splitlines()
    old, new = ([line[1:] for line in hunk if line[0] in kinds] for kinds in (" -", " +"))
    lines = text.splitlines()
    return (
        "\n".join(lines[:start] + new + lines[start + len(old) :]) + "\n"
        if lines[start : start + len(old)] == old
        else "it does not fit"
    )


def allow_in_yaml(place):
    """YAML is edited where its place is sure, and all around it is kept; else it is said what to write, and where."""
    for name, (body, new, where) in YAML.items():
        text = "# kept as it is\ntool:\n" + body
        path = place.write("home/p.yaml", text)
        place.run("call", "--why", "--policy", path, "a", "{}")
        answer = place.run("allow", denied(place))
        with open(path, encoding="utf-8") as file:
            check(file.read() == text, f"allow --last, YAML: {name}: nothing is changed", answer)
        if new is None:
            check(
                answer.code == 1 and not answer.out and f"tool.a.filesystem, {where}: {NEW}" in answer.err,
                f"{name}: a person does it",
                answer,
            )
            continue
        at = text.rindex(where)
        check(
            answer.code == 0 and patched(text, answer.out) == text[:at] + new + text[at:],
            f"{name}: one more entry, and nothing else",
            answer,
        )
        done = place.write("home/done.yaml", patched(text, answer.out))
        expect(
            place,
            f"{name}: it is right",
            ["explain", "--policy", done, "--tool", "a", "--read", "/srv/nowhere/x"],
            0,
            "allowed: ",
            stream="out",
        )
    hostile = '/srv/no"]}, network: ["*"] # \u202e\x1b\t: {'
    path = place.write(
        "home/p.yaml",
        f"tool:\n  a:\n    command: [cat, {json.dumps(hostile)}]\n    memory: {{max: 512MiB, by: any}}\n    filesystem: {{readable: [/opt]}}\n",
    )
    place.run("call", "--why", "--policy", path, "a", "{}")
    answer = place.run("allow", denied(place))
    check(
        "\x1b" not in answer.out + answer.err and "\u202e" not in answer.out + answer.err,
        "a hostile name is no word for a terminal",
        answer,
    )
    if answer.code == 0:
        with open(path, encoding="utf-8") as file:
            done = place.write("home/done.yaml", patched(file.read(), answer.out))
        expect(place, "nor a clause", ["policy", "diff", path, done], 1, "tool.a\n  + ", stream="out")
        check(place.run("policy", "diff", path, done).out.count("\n") == 2, "but one path", answer)


INSTALLS = """[tool.x]
command = ["true"]
filesystem.readable = ["/srv/tool"]
[tool.x.setup]
command = ["pip", "install", "-r", "r.txt"]
into = "/opt/deps"
inputs = ["r.txt"]
filesystem.readable = ["~/.aws"]
network = ["10.0.0.1:80"]
timeout = "2h"
[tool.w]
command = ["true"]
filesystem.writable = ["."]
[server.s]
command = ["s"]
setup = { command = ["npm", "ci"], into = "/opt/node" }
"""


def install_phases(place):
    """What an install may do is another grant than its tool's: found, explained, and asked for by itself."""
    path = place.write("inst/p.toml", INSTALLS)
    place.write("inst/r.txt", "x==1\n")
    report = json.loads(place.run("policy", "check", "--json", path).out)
    found = {(f["id"], f["key"], f["line"]) for f in report["findings"]}
    check(
        found
        >= {
            ("secret-and-network", "tool.x.setup.filesystem.readable", 8),
            ("private-address", "tool.x.setup.network", 9),
            ("long-timeout", "tool.x.setup.timeout", 10),
            ("writable-and-run", "tool.x.setup.inputs", 5),
        },
        "findings of an install phase",
        found,
    )
    use = ["explain", "--policy", path, "--tool", "x", "--setup"]
    expect(
        place,
        "explain --setup: what would be refused is",
        use,
        126,
        "a tool may have written the input r.txt of x.setup",
        "hint: ",
    )
    place.write("inst/p.toml", INSTALLS.replace('["."]', '["out"]'))
    expect(
        place,
        "explain --setup: its own word",
        [*use, "--read", f"{place.home}/.aws/x"],
        0,
        "allowed: ",
        "(tool.x.setup.filesystem.readable, line 8)",
        '    8 | filesystem.readable = ["~/.aws"]',
        stream="out",
    )
    expect(
        place,
        "explain --setup: what it installs into",
        [*use, "--write", "/opt/deps/x"],
        0,
        "tool.x.setup.into",
        stream="out",
    )
    expect(
        place,
        "explain --setup: its inputs",
        [*use, "--read", "/setup/r.txt"],
        0,
        "tool.x.setup.inputs",
        stream="out",
    )
    expect(
        place,
        "explain --setup: they are not writable",
        [*use, "--write", "/setup/r.txt"],
        1,
        "denied: ",
        stream="out",
    )
    expect(
        place,
        "explain --setup: nothing of the tool",
        [*use, "--read", "/srv/tool/x"],
        1,
        "denied: ",
        stream="out",
    )
    expect(
        place,
        "explain --setup: its network",
        [*use, "--connect", "10.0.0.1:80"],
        0,
        "tool.x.setup.network, line 9",
        stream="out",
    )
    expect(
        place,
        "the tool has nothing of it",
        ["explain", "--policy", path, "--tool", "x", "--connect", "10.0.0.1:80"],
        1,
        stream="out",
    )
    grant = json.loads(place.run(*use, "--json").out)
    check(
        grant["tool"] == "x.setup"
        and grant["limits"]["timeout"]["value"] == "2h"
        and grant["setup"]["ready"] is False,
        "explain --setup --json",
        grant,
    )
    expect(
        place,
        "explain --setup: a server's",
        ["explain", "--policy", path, "--server", "s", "--setup", "--write", "/opt/node/x"],
        0,
        "server.s.setup.into",
        stream="out",
    )
    expect(
        place,
        "explain names it",
        ["explain", "--policy", path, "--tool", "x"],
        0,
        "toolcage explain --tool x --setup",
    )
    for name, words in (
        ("no tool", []),
        ("none of its own", ["--tool", "w"]),
        ("a server's tool", ["--server", "s", "--tool", "t"]),
        ("a command", ["--tool", "x", "true"]),
        ("arguments", ["--tool", "x", "--arguments", "{}"]),
    ):
        expect(
            place, f"explain --setup: {name}", ["explain", "--policy", path, "--setup", *words], 125, "hint: "
        )
    state = os.path.join(place.home, ".local/state/toolcage/setup")
    check(not os.path.exists(state) or not os.listdir(state), "nothing was begun")


SHELLS = """[tool.mixed]
command = ["sh", "-c", "echo said {text}"]
arguments.text = {}
memory = { max = "512MiB", by = "any" }
[tool.apart]
command = ["sh", "-c", 'echo said "$1"', "sh", "{text}"]
arguments.text = {}
memory = { max = "512MiB", by = "any" }
[tool.write]
command = ["sh", "-c", "echo 'echo planted' > /tools/run.sh"]
filesystem.writable = [{ path = "/tools", from = "tools" }]
memory = { max = "512MiB", by = "any" }
[tool.run]
command = ["sh", "/tools/run.sh"]
filesystem.readable = [{ path = "/tools", from = "tools" }]
memory = { max = "512MiB", by = "any" }
"""


def told(place, path):
    report = json.loads(place.run("policy", "check", "--json", path).out)
    return {(f["id"], f["key"].split(".")[1]) for f in report["findings"] if f["severity"] == "error"}


def dangers_are_real(place):
    """What the findings say is so: the attack works in a cage, and where nothing is told it does not."""
    place.write("tools/run.sh", "echo mine\n")
    path = place.write("toolcage.toml", SHELLS)
    found = told(place, path)
    check(
        found == {("argument-in-shell", "mixed"), ("writable-and-run", "run")},
        "lint reports both dangers",
        found,
    )
    value = json.dumps({"text": "a; echo injected"})
    out = {tool: place.run("call", "--policy", path, tool, value).out for tool in ("mixed", "apart")}
    check(
        out["mixed"].splitlines() == ["said a", "injected"], "an argument in a shell's text is a program", out
    )
    check(out["apart"] == "said a; echo injected\n", "as a word of its own it is a word", out)
    before = place.run("call", "--policy", path, "run", "{}").out
    place.run("call", "--policy", path, "write", "{}")
    after = place.run("call", "--policy", path, "run", "{}").out
    check(
        (before, after) == ("mine\n", "planted\n"),
        "one tool's program is another's to write",
        (before, after),
    )
    safe = place.write(
        "safe.toml", SHELLS.replace('from = "tools" }]\nmemory', 'from = "drafts" }]\nmemory', 1)
    )
    place.write("drafts/x", "")
    place.write("tools/run.sh", "echo mine\n")
    place.run("call", "--policy", safe, "write", "{}")
    check(
        ("writable-and-run", "run") not in told(place, safe)
        and place.run("call", "--policy", safe, "run", "{}").out == "mine\n",
        "where it is not told, it does not work",
        told(place, safe),
    )


with Place() as place:
    for part in (
        lint,
        tests,
        tests_name_their_policy,
        explain,
        explained_end,
        allow_in_yaml,
        install_phases,
        dangers_are_real,
    ):
        part(place)
finish()
