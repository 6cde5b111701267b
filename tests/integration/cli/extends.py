# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""`extends`: whatever tells of a policy names the file that a word stands in, and judges all files as one."""

import json
import os
import resource
import statistics

from cli import Place, check, denied, expect, finish

BASE = """[defaults]
filesystem.denied = ["/data/no"]
[tool.count]
tier = "Auto"
command = ["wc", "--", "{file}"]
arguments.file = { read = ["/in"] }
filesystem.readable = ["/data", "~/.aws"]
output = "2MiB"
"""
FIRST = """extends = "base/base.toml"
[tool.count]
network = ["api.example.com:443"]
[[test]]
tool = "count"
allowed = ["read /data/x"]
denied = ["read /data/no/x"]
"""


def places_name_the_file(place):
    base, first = place.write("base/base.toml", BASE), place.write("first.toml", FIRST)
    answer = expect(
        place,
        "findings",
        ["policy", "check", first],
        1,
        f"{base}:7:",
        "[secret-and-network]",
        "    7 | filesystem.readable",
        f"{base}:8:",
        "[large-output]",
        stream="out",
    )
    report = json.loads(place.run("policy", "check", "--json", first).out)
    check(
        {(f["id"], f["line"], f.get("file")) for f in report["findings"]}
        >= {("secret-and-network", 7, base), ("large-output", 8, base)},
        "--json has the file",
        report,
    )
    silenced = BASE.replace('"~/.aws"]', '"~/.aws"] # toolcage: allow(secret-and-network) of no worth')
    place.write(
        "base/base.toml",
        silenced.replace('2MiB"', '1MiB" # toolcage: allow(large-output) for another that extends this'),
    )
    answer = expect(
        place,
        "a comment in the file that is extended",
        ["policy", "check", first],
        0,
        "1 silenced",
        stream="out",
    )
    check("silence-unused" not in answer.out, "one that another needs is not told", answer)
    place.write("base/base.toml", BASE.replace("tier", "teir"))
    expect(
        place,
        "an error",
        ["policy", "check", first],
        1,
        f"{base}:4:1: error: unknown key",
        f"extended by {first}:1",
    )
    place.write("base/base.toml", BASE)
    use = ["explain", "--policy", first, "--tool", "count"]
    expect(
        place,
        "explain",
        [*use, "--read", "/data/x"],
        0,
        f"(tool.count.filesystem.readable, line 7 of {base})",
        '    7 | filesystem.readable = ["/data"',
        "process: tier Auto selects it (tool.count.tier, line 4 of",
        stream="out",
    )
    verdict = json.loads(place.run(*use, "--json", "--read", "/data/x").out)
    top = place.write("top.toml", 'extends = "first.toml"\n')
    expect(
        place,
        "the chain",
        ["explain", "--policy", top, "--tool", "count", "--read", "/data/x"],
        0,
        f"extended  by {first}, line 1\nextended  by {top}, line 1\n",
        stream="out",
    )
    place.write("home/project/profile:read-only", "a lie\n" * 20)
    read = place.write("read.toml", 'extends = "profile:read-only"\n')
    answer = expect(
        place,
        "a profile's line",
        ["explain", "--policy", read, "--read", "/workspace/x"],
        0,
        "of profile:read-only",
        stream="out",
    )
    check("a lie" not in answer.out, "is no file's of that name", answer)
    check(
        (verdict["verdict"]["line"], verdict["verdict"]["file"], verdict["chosen_by"]["file"])
        == (7, base, base),
        "explain --json",
        verdict,
    )
    expect(
        place,
        "tests and their coverage",
        ["policy", "test", "--coverage", first],
        0,
        "1..2",
        f"# not covered: tool.count.arguments.file, line 6 of {base}: /in",
        "# not covered: tool.count.network, line 3: ",
        stream="out",
    )
    place.write("base/base.toml", BASE + '[[test]]\ntool = "count"\ndenied = ["read /data/x"]\n')
    expect(
        place,
        "a test of the file that is extended",
        ["policy", "test", first],
        1,
        f"#   at {base}, line 11",
        f"#   by tool.count.filesystem.readable, line 7 of {base}",
        stream="out",
    )


def digest(place, path):
    return place.run("policy", "digest", path).out.split(" ")[0]


def all_files_are_one(place):
    place.write("base/base.toml", BASE)
    first = place.write("first.toml", FIRST)
    whole = place.write(
        "whole.toml", BASE + 'network = ["api.example.com:443"]\n' + FIRST[FIRST.index("[[test]]") :]
    )
    expect(place, "diff", ["policy", "diff", first, whole], 0)
    digests = {digest(place, path) for path in (first, whole)}
    check(len(digests) == 1, "one meaning, one digest", digests)
    place.write("base/base.toml", BASE.replace('"~/.aws"', '"~/.aws", "/srv/more"'))
    expect(
        place,
        "a wider extended policy grants more",
        ["policy", "diff", whole, first],
        1,
        "/srv/more",
        stream="out",
    )
    place.write(
        "base/base.toml",
        BASE
        + 'secrets.KEY = { from = "env:KEY", hosts = ["api.example.com:443"], header = "A: {secret}" }\n',
    )
    expect(
        place,
        "a secret's host stands in the other file",
        ["policy", "check", "--severity", "error", "--fail-on", "never", first],
        0,
    )
    place.write("first.toml", FIRST.replace("api.example.com", "other.example.com"))
    expect(
        place,
        "and is not reached",
        ["policy", "check", first],
        1,
        f"{os.path.join(place.root, 'base/base.toml')}:9:",
    )


def forms_are_mixed(place):
    place.write("first.toml", FIRST)
    place.write("base/base.toml", BASE)
    one = digest(place, os.path.join(place.root, "first.toml"))
    yaml = place.write(
        "base/base.yaml",
        "defaults: {filesystem: {denied: [/data/no]}}\ntool:\n  count:\n    tier: Auto\n"
        "    command: [wc, --, '{file}']\n    arguments: {file: {read: [/in]}}\n"
        "    filesystem: {readable: [/data, ~/.aws]}\n    output: 2MiB\n",
    )
    place.write("mixed.toml", FIRST.replace("base.toml", "base.yaml"))
    mixed = os.path.join(place.root, "mixed.toml")
    check(digest(place, mixed) == one, "TOML extends YAML", place.run("policy", "check", mixed))
    expect(
        place,
        "places in YAML",
        ["policy", "check", mixed],
        1,
        f"{yaml}:7:",
        "[secret-and-network]",
        stream="out",
    )
    first = place.write(
        "mixed.yml",
        "extends: base/base.toml\ntool: {count: {network: ['api.example.com:443']}}\n"
        "test: [{tool: count, allowed: [read /data/x], denied: [read /data/no/x]}]\n",
    )
    check(digest(place, first) == one, "YAML extends TOML", place.run("policy", "check", first))


def one_more_path(place):
    """`allow` edits the file itself, and knows what it may not replace."""
    data = "/srv/nowhere/x"
    tool = f'command = ["cat", "{data}"]\nmemory = {{ max = "512MiB", by = "any" }}\n'
    base = place.write("base.toml", f'[tool.a]\n{tool}[tool.b]\n{tool}filesystem.readable = ["base.toml"]\n')
    first = place.write("edited.toml", 'extends = "base.toml"\n[tool.a]\npids = 20\n')
    place.run("call", "--why", "--policy", first, "a", "{}")
    expect(
        place,
        "allow: the clause stands in the file itself",
        ["allow", denied(place)],
        0,
        f'+filesystem.readable = [{{ path = "{data}", optional = true }}]',
        stream="out",
    )
    done = place.run("allow", denied(place))
    check(
        "could not be checked for dangers" not in done.err,
        "allow: the dangers of a policy that extends others are looked for",
        done.err,
    )
    place.run("call", "--why", "--policy", first, "b", "{}")
    expect(
        place,
        "allow: the other file says it",
        ["allow", denied(place)],
        1,
        f"is set in {base}, line 7",
        "hint: add the path there",
    )


def the_policy_stays(place):
    """Any name, the workspace as its place: the policy in use and its ceiling are read-only to its tools."""
    place.write(
        "home/project/top.toml",
        '[tool.w]\nfilesystem.writable = ["/workspace"]\nmemory = { max = "512MiB", by = "any" }\n',
    )
    policy = place.write(
        "home/project/own.toml",
        'within = "top.toml"\n[tool.w]\nfilesystem.writable = ["/workspace"]\nmemory = { max = "512MiB", by = "any" }\n'
        'command = ["sh", "-c", "echo >> own.toml; rm -f own.toml; mv own.toml was; mv top.toml was; echo fine > new"]\n',
    )
    answer = place.run("call", "--policy", policy, "w", "{}")
    with (
        open(policy, encoding="utf-8") as file,
        open(os.path.join(place.project, "top.toml"), encoding="utf-8") as top,
    ):
        check(
            file.read().startswith("within")
            and top.read().startswith("[tool.w]")
            and "new" in os.listdir(place.project),
            "a tool cannot change the policy in use",
            answer,
        )


def trust_covers_all(place):
    """A change of what is extended, or of the ceiling, asks again, wherever it lies."""
    files = ["home/more/base.toml", "home/more/top.toml"]
    for name in files:
        place.write(name, "[defaults]\npids = 128\n")
    path = place.write(
        "home/project/toolcage.toml",
        'extends = "../more/base.toml"\nwithin = "../more/top.toml"\n[tool.a]\ncommand = ["true"]\n',
    )
    for name in files:
        expect(place, "it is trusted", ["policy", "trust"], 0, "trusted: ", stream="out")
        expect(place, "and used", ["tools"], 0, stream="out")
        place.write(name, "[defaults]\npids = 100\n")
        expect(
            place,
            f"a change of {os.path.basename(name)} asks again",
            ["tools"],
            126,
            f"{path} has changed since it was trusted",
        )
    os.unlink(path)


def a_ceiling_holds(place):
    place.write("top.toml", '[defaults]\nfilesystem.readable = ["/usr/share"]\n[tool.a]\npids = 10\n')
    path = place.write(
        "in.toml",
        'within = "top.toml"\n[tool.a]\ncommand = ["true"]\npids = 20\n[tool.b]\ncommand = ["true"]\n'
        'filesystem.readable = ["/usr/share/doc"]\nmemory = { max = "512MiB", by = "any" }\n',
    )
    top = os.path.join(place.root, "top.toml")
    expect(
        place,
        "more than the ceiling",
        ["call", "--policy", path, "a", "{}"],
        126,
        f"({path}:4)",
        "tool.a.pids, line 4",
        f"tool.a.pids, line 4 of {top}",
        "pids is 20, before 10",
    )
    expect(place, "no more", ["call", "--policy", path, "b", "{}"], 0)
    expect(
        place,
        "explain names it",
        ["explain", "--policy", path, "--tool", "b", "--json", "--read", "/usr/share/doc"],
        0,
        f'"within":"{top}"',
        stream="out",
    )
    expect(
        place,
        "and says what it means",
        ["explain", "--policy", path, "--tool", "b", "--read", "/usr/share/doc"],
        0,
        f"within    {top}: it gives all of this grant, too",
        stream="out",
    )
    without = place.write("out.toml", 'within = "top.toml"\n[tool.b]\ncommand = ["true"]\n')
    free = place.write("free.toml", '[tool.b]\ncommand = ["true"]\n')
    expect(
        place,
        "diff: a ceiling that goes",
        ["policy", "diff", without, free],
        1,
        "no longer within a ceiling",
        stream="out",
    )


def many_tools_cost_no_more_each(place):
    """Seven times the tools may take 20 times the time; comparing each with each would take 49. What else runs on the machine costs
    both alike where they take turns, and a calm round of a few is enough: a square has none."""
    few, many, limit, rounds = 512, 3584, 20, 5

    def policy(tools):
        names = [f"wide/{tools}-{i}.toml" for i in range(16)]
        for name in names:
            place.write(name, "".join(f"[tool.{'x' * 50}{i}]\npids = 9\n" for i in range(tools)))
        return place.write(f"wide-{tools}.toml", f"extends = {json.dumps(names)}\n")

    def cost(path):
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        answer = place.run("policy", "digest", path)
        if answer.code:
            check(False, "16 files of many tools", answer)
        return resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before

    paths, told = [policy(tools) for tools in (few, many)], []
    for _ in range(rounds):
        spent = [[cost(path) for path in paths] for _ in range(3)]
        medians = [statistics.median(column) for column in zip(*spent)]
        told.append(medians)
        if medians[1] < limit * max(medians[0], 0.01):
            break
    check(
        told[-1][1] < limit * max(told[-1][0], 0.01),
        f"{many // few} times the tools take no {limit} times the time",
        told,
    )


with Place() as place:
    for part in (
        places_name_the_file,
        all_files_are_one,
        forms_are_mixed,
        one_more_path,
        the_policy_stays,
        trust_covers_all,
        a_ceiling_holds,
        many_tools_cost_no_more_each,
    ):
        part(place)
finish()
