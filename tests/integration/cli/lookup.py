# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Which policy holds, and what trust is."""

import json
import os
import stat
import subprocess

from cli import FIELDS, TOOLCAGE, Place, check, expect, finish, require_user, running_as, skip

TOOL = '[tool.{name}]\ncommand = ["true"]\nnetwork = "none"\n'


def policy(name):
    return TOOL.format(name=name)


def tools(place, name, wanted, **more):
    """The tools that a lookup finds, by name."""
    answer = place.run("tools", "--format", "openai", **more)
    try:
        found = sorted(tool["function"]["name"] for tool in json.loads(answer.out))
    except (ValueError, KeyError, TypeError) as error:
        found = str(error)
    check(answer.code == 0 and found == wanted, name, f"{found}\n{answer}")


def init():
    with Place() as place:
        answer = expect(place, "init writes and trusts", ["init"], 0, "wrote toolcage.toml", stream="out")
        path = os.path.join(place.project, "toolcage.toml")
        with open(path, encoding="utf-8") as text:
            first = text.read()
        check(not answer.err and stat.S_IMODE(os.stat(path).st_mode) & 0o22 == 0, "its mode", answer)
        expect(place, "the policy of init has no findings", ["policy", "check"], 0, ": ok", stream="out")
        expect(place, "and is used", ["tools"], 0, "list_files()", "search(text)", stream="out")
        expect(place, "init never overwrites", ["init"], 125, "already here")
        with open(path, encoding="utf-8") as text:
            check(text.read() == first, "and did not")
        record = os.path.join(place.home, ".local/state/toolcage/trust")
        modes = [stat.S_IMODE(os.stat(p).st_mode) for p in (record, os.path.dirname(record))]
        check(modes == [0o600, 0o700], "the record is its owner's alone", [oct(mode) for mode in modes])
        place.write("home/project/toolcage.toml", first + "\n# a comment\n")
        expect(place, "a comment changes no meaning", ["tools"], 0, "list_files", stream="out")
        place.write("home/project/toolcage.toml", first.replace("30s", "31s"))
        expect(
            place,
            "a change asks again",
            ["tools"],
            126,
            "has changed since it was trusted",
            f"toolcage policy trust {path}",
        )
        expect(place, "trusting it again", ["policy", "trust"], 0, "trusted: " + path, stream="out")
        expect(place, "it holds again", ["tools"], 0, "list_files", stream="out")
        expect(
            place, "trust is taken back", ["policy", "trust", "--remove", "toolcage.toml"], 0, stream="out"
        )
        expect(place, "and gone", ["tools"], 126, "is not trusted")


def untrusted():
    with Place() as place:
        path = place.write("home/project/toolcage.toml", policy("near"))
        place.write("home/.config/toolcage/toolcage.toml", policy("own"))
        for verb in (["tools"], ["exec", "true"], ["call", "near"]):
            expect(
                place,
                f"untrusted is denied: {verb[0]}",
                verb,
                126,
                f"the policy {path} is not trusted",
                f"toolcage policy trust {path}",
            )
        answer = place.run("exec", "--json", "true")
        result = json.loads(answer.out) if answer.out.count("\n") == 1 else {}
        check(
            answer.code == 126
            and not answer.err
            and list(result) == FIELDS
            and result["status"] == "denied"
            and result["error"]["code"] == "untrusted"
            and result["error"]["subject"] == path,
            "--json says it in one line with every field",
            answer,
        )
        expect(place, "it may be explained", ["policy", "explain", "--tool", "near"], 0, "not trusted")
        expect(place, "--policy is the operator's word", ["tools", "--policy", path], 0, "near", stream="out")
        copy = place.write("other/toolcage.toml", policy("near"))
        expect(place, "trust is of a path", ["policy", "trust", copy], 0, stream="out")
        expect(place, "not of a text", ["tools"], 126, "is not trusted")
        os.unlink(path)
        os.symlink(copy, path)
        expect(
            place,
            "a link borrows no trust",
            ["tools"],
            126,
            f"the policy {path} is a link",
            "hint: put the policy itself there",
        )
        answer = place.run("exec", "--json", "true")
        check(
            answer.code == 126
            and json.loads(answer.out)["error"]["code"] == "untrusted"
            and json.loads(answer.out)["error"]["subject"] == path,
            "nor for a call",
            answer,
        )
        expect(
            place,
            "by --policy it is what the operator says",
            ["tools", "--policy", path],
            0,
            "near",
            stream="out",
        )
        os.unlink(path)
        os.symlink("/nowhere/toolcage.toml", path)
        expect(place, "a dangling link is not skipped", ["tools"], 126, f"the policy {path} is a link")
        os.unlink(path)
        os.mkdir(path)
        expect(place, "a directory is not skipped", ["tools"], 125, path)
        os.rmdir(path)
        tools(place, "without it the user's own holds", ["own"])


def order():
    with Place() as place:
        tools(place, "no policy, no tools", [])
        expect(place, "and that is said", ["tools"], 0, "no policy here")
        own = place.write("home/.config/toolcage/toolcage.toml", policy("own"))
        named = place.write("named.toml", policy("named"))
        tools(place, "the user's own", ["own"])
        tools(place, "XDG_CONFIG_HOME moves it", [], env={"XDG_CONFIG_HOME": place.root})
        tools(place, "$TOOLCAGE_POLICY comes first", ["named"], env={"TOOLCAGE_POLICY": named})
        tools(place, "an empty one is none", ["own"], env={"TOOLCAGE_POLICY": ""})
        answer = place.run("tools", "--policy", own, "--format", "mcp", env={"TOOLCAGE_POLICY": named})
        check('"own"' in answer.out and "named" not in answer.out, "--policy before it", answer)
        expect(
            place,
            "a missing $TOOLCAGE_POLICY",
            ["tools"],
            125,
            "/nowhere.toml",
            env={"TOOLCAGE_POLICY": "/nowhere.toml"},
        )
        if os.geteuid() or running_as() == "ordinary":  # root can read every home
            expect(place, "a HOME of somebody else", ["tools"], 125, "set HOME", env={"HOME": "/root"})
        os.chmod(own, 0o666)
        expect(place, "own, but written by everybody", ["tools"], 126, own, "only you can write")
        os.chmod(own, 0o644)
        place.write("home/project/toolcage.toml", policy("near"))
        os.makedirs(os.path.join(place.project, "a/b"))
        for name in ("a", "a/b"):
            place.own(os.path.join(place.project, name))
        expect(place, "trust", ["policy", "trust", "toolcage.toml"], 0, stream="out")
        tools(place, "the nearest", ["near"])
        tools(place, "found from below", ["near"], cwd=os.path.join(place.project, "a/b"))
        record = os.path.join(place.home, ".local/state/toolcage/trust")
        os.chmod(record, 0o666)
        expect(
            place, "a record that others can write", ["tools"], 125, "record of trusted policies " + record
        )
        os.chmod(record, 0o600)
        expect(place, "no HOME: nothing is trusted", ["tools"], 126, "is not trusted", env={"HOME": ""})


def forms():
    """YAML stands where TOML may; two of them in one place are nobody's word."""
    as_yaml = 'tool:\n  {name}:\n    command: ["true"]\n    network: none\n'
    for name in ("toolcage.yaml", "toolcage.yml"):
        with Place() as place:
            path = place.write("home/project/" + name, as_yaml.format(name="near"))
            digest = place.run("policy", "digest", path).out.split()
            expect(
                place,
                f"{name}: one meaning, one digest",
                ["policy", "digest", place.write("same.toml", policy("near"))],
                0,
                digest[0],
                stream="out",
            )
            expect(place, f"{name} asks for trust", ["tools"], 126, f"the policy {path} is not trusted")
            expect(place, f"{name} can be trusted", ["policy", "trust"], 0, "trusted: " + path, stream="out")
            tools(place, f"{name} is found", ["near"])
            expect(place, f"{name} passes the check", ["policy", "check"], 0, ": ok", stream="out")
            answer = place.run("policy", "explain", "--tool", "near")
            check(answer.code == 0 and path in answer.out, f"{name}: explain names it", answer)
            other = place.write("home/project/toolcage.toml", policy("near"))
            expect(
                place,
                f"{name} that is trusted counts, and not what lies beside it",
                ["tools"],
                0,
                f"{other} was never trusted and is not used",
            )
            tools(place, f"{name} is found beside another", ["near"])
            expect(
                place, "both are trusted", ["policy", "trust", other], 0, "trusted: " + other, stream="out"
            )
            expect(
                place,
                f"{name} beside toolcage.toml",
                ["tools"],
                125,
                f"there are two policies: {other} and {path}",
                "keep one of them",
            )
            for verb in (
                ["exec", "true"],
                ["call", "near"],
                ["policy", "check"],
                ["policy", "trust"],
                ["policy", "digest"],
                ["policy", "test"],
                ["explain", "--read", "/"],
                ["mcp"],
                ["setup", "--list"],
            ):
                expect(
                    place,
                    f"{name} beside toolcage.toml: {verb[0]} {verb[-1]}",
                    verb,
                    125,
                    f"there are two policies: {other} and {path}",
                    "hint: keep one of them, or name it with --policy",
                )
            below = os.path.join(place.project, "below")
            os.mkdir(below)
            place.own(below)
            expect(
                place, "two above are no less an error", ["tools"], 125, "there are two policies: ", cwd=below
            )
            expect(place, "init writes beside none of them", ["init"], 125, "there are two policies: ")
            expect(place, "naming one helps", ["tools", "--policy", path], 0, "near", stream="out")
            os.unlink(other)
            expect(
                place,
                f"init writes no toolcage.toml beside {name}",
                ["init"],
                125,
                f"{name} is already here",
                f"toolcage policy check {name}",
            )
            check(not os.path.exists(other), "and did not")
            place.write("home/project/" + name, as_yaml.format(name="near") + "    pids: 3\n")
            expect(
                place, f"a change of {name} asks again", ["tools"], 126, "has changed since it was trusted"
            )
            os.unlink(path)
            place.write("home/.config/toolcage/" + name, as_yaml.format(name="own"))
            tools(place, f"the user's own {name}", ["own"])
            place.write("home/.config/toolcage/toolcage.toml", policy("own"))
            expect(
                place,
                "two of the user's own",
                ["tools"],
                125,
                "there are two policies: ",
                "hint: keep one of them",
            )
    with Place() as place:
        place.write("home/project/toolcage.yaml", as_yaml.format(name="near"))
        place.write("home/project/toolcage.yml", as_yaml.format(name="near"))
        expect(
            place,
            "both forms of YAML's name",
            ["tools"],
            125,
            "there are two policies: ",
            "toolcage.yaml and ",
            "toolcage.yml",
        )
        answer = place.run("--help")
        check(
            all(
                word in answer.out
                for word in ("toolcage.toml, .yaml or .yml", "~/.config/toolcage", "$TOOLCAGE_POLICY")
            ),
            "the help says where",
            answer,
        )


def borders():
    with Place() as place:
        place.write("toolcage.toml", policy("above"))
        tools(place, "the search ends at HOME", [])
        path = place.write("home/toolcage.toml", policy("home"))
        expect(place, "HOME itself is looked in", ["tools"], 126, path)
        os.unlink(path)
        beside = os.path.join(place.root, "beside")
        os.mkdir(beside)
        place.own(beside)
        expect(
            place,
            "beside HOME the search goes up",
            ["tools"],
            126,
            "toolcage.toml is not trusted",
            cwd=beside,
        )
        os.chmod(place.root, 0o1777)
        tools(place, "the search ends at a directory that everybody can write", [], cwd=beside)
        os.chmod(place.root, 0o755)
        if os.geteuid():
            skip("the search ends where the owner changes", "needs root to change an owner")
            skip("the search ends at a mount", "needs root to mount")
            return
        os.chown(beside, 12345, 12345)
        tools(place, "the search ends where the owner changes", [], cwd=beside)
        os.chown(beside, os.stat(place.root).st_uid, -1)
        if running_as() == "ordinary":
            return
        script = f"mount -t tmpfs none {beside} && cd {beside} && exec {TOOLCAGE} tools --format openai"
        answer = subprocess.run(
            ["unshare", "-m", "sh", "-c", script],
            env=place.environ,
            capture_output=True,
            text=True,
            check=False,
        )
        if "permission denied" in answer.stderr or "not permitted" in answer.stderr:
            skip("the search ends at a mount", answer.stderr.strip())
        else:
            check(
                answer.returncode == 0 and json.loads(answer.stdout) == [],
                "the search ends at a mount",
                answer.stderr,
            )


def findings():
    with Place() as place:
        path = place.write("bad.toml", '[tool.x]\ncomand = ["ls"]\ntimeout = 30\n')
        answer = expect(
            place,
            "findings",
            ["policy", "check", path],
            1,
            f"{path}:2:1: error: ",
            'comand = ["ls"]',
            "^",
            f"{path}:3:",
            "hint: ",
        )
        check(not answer.out, "go to standard error", answer)
        expect(
            place,
            "a broken policy runs nothing",
            ["exec", "--policy", path, "true"],
            125,
            f"{path}:2:1: error: ",
        )
        answer = place.run("exec", "--json", "--policy", path, "true")
        result = json.loads(answer.out) if answer.out.count("\n") == 1 else {}
        check(
            answer.code == 125
            and not answer.err
            and list(result) == FIELDS
            and result["status"] == "error"
            and result["error"]["code"] == "policy"
            and result["error"]["location"]["line"] == 2,
            "--json names the place",
            answer,
        )
        syntax = place.write("syntax.toml", "[tool.x\n")
        expect(place, "a syntax error", ["policy", "check", syntax], 1, f"{syntax}:1:", "error: ")
        expect(place, "no such file", ["policy", "check", "nowhere.toml"], 125, "nowhere.toml")
        expect(place, "a directory", ["policy", "check", place.root], 125, "is a directory")
        large = place.write("large.toml", b"#" * (4 << 20) + b"\n")
        expect(place, "over 4 MiB", ["policy", "check", large], 125, "larger than 4 MiB")
        hostile = place.write("hostile.toml", b'[tool.x]\n"a\xe2\x80\xaeb" = 1\n')
        answer = place.run("policy", "check", hostile)
        check(
            answer.code == 1 and "\u202e" not in answer.err and "\\u{202e}" in answer.err,
            "a quoted line cannot reorder the terminal",
            answer,
        )
        good = place.write("good.toml", policy("x"))
        same = place.write("same.toml", "# the same\n" + policy("x"))
        digests = [place.run("policy", "digest", p).out.split()[:1] for p in (good, same)]
        check(
            digests[0] == digests[1] and digests[0][0].startswith("sha256:"),
            "a digest of the meaning",
            digests,
        )


require_user()
for part in (init, untrusted, order, forms, borders, findings):
    part()
finish()
