# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""toolcage hook, without an agent: what it answers, what becomes of hostile commands in the shells that agents use, and that nothing
runs when the hook is gone, does not understand its input, or has no policy that allows a session."""

import contextlib
import json
import os
import shutil
import subprocess
import tempfile

from cli import ORDINARY, TOOLCAGE, Place, check, finish, require_user, running_as

tempfile.tempdir = "/var/tmp"  # a project below /tmp is below the cages' private one
EVENTS = {"claude": "PreToolUse", "codex": "PreToolUse", "gemini": "BeforeTool"}
SHELL = {"claude": "Bash", "codex": "Bash", "gemini": "run_shell_command"}


class Agent:
    """An agent's calls of its hook in one project, and the shell in which it runs what comes back."""

    def __init__(self, name="claude", project="project"):
        self.name, self.place = name, Place()
        self.project = os.path.dirname(self.place.write(f"home/{project}/notes.txt", "notes\n"))
        self.secret = self.place.write("home/.ssh/id_ed25519", "secret key\n")
        self.outside = os.path.dirname(self.place.write("home/other/file.txt", "other\n"))
        self.session = "0a1b2c3d"
        self.place.environ |= {"CLAUDE_PROJECT_DIR": self.project, "GEMINI_PROJECT_DIR": self.project}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.place.run("session", "end", f"{self.name}-{self.session}")
        self.place.__exit__()

    def input(self, tool, arguments, **more):
        line = {"session_id": self.session, "cwd": self.project, "hook_event_name": EVENTS[self.name]}
        transcript = os.path.join(self.place.home, "transcript.jsonl")
        return line | {"tool_name": tool, "tool_input": arguments, "transcript_path": transcript} | more

    def ask(self, given, *options):
        text = given if isinstance(given, (str, bytes)) else json.dumps(given)
        data = text if isinstance(text, bytes) else text.encode()
        return self.place.run("hook", *options, self.name, stdin=data, cwd=self.project)

    def tool(self, tool, **arguments):
        return self.ask(self.input(tool, arguments))

    def command(self, text, *options, **more):
        """What the agent runs instead of the text; None if it may not run."""
        answer = self.ask(self.input(SHELL[self.name], {"command": text, "timeout": 5} | more), *options)
        if answer.code != 0:
            return None
        out = json.loads(answer.out).get("hookSpecificOutput", {})
        return (out.get("updatedInput") or out.get("tool_input") or {}).get("command")

    def shell(self, line, shell="bash", cwd=None, env=None):
        drop = ["setpriv", f"--reuid={ORDINARY}", f"--regid={ORDINARY}", "--clear-groups"]
        return subprocess.run(
            [*(drop if running_as() == "ordinary" else []), shell, "-c", line],
            cwd=cwd or self.project,
            env=env or self.place.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=60,
            check=False,
        )

    def run(self, text, shell="bash", cwd=None):
        line = self.command(text)
        return self.shell(line, shell, cwd) if line else None


def reason(answer):
    """The text of a refusal; None if the tool may run."""
    if answer.code == 2:
        return answer.err
    if answer.code != 0 or not answer.out.strip():
        return None
    out = json.loads(answer.out)
    if out.get("decision") == "deny":
        return out["reason"]
    out = out.get("hookSpecificOutput", {})
    return out.get("permissionDecisionReason") if out.get("permissionDecision") == "deny" else None


def commands_run_in_the_cage():
    for name in EVENTS:
        with Agent(name) as a:
            transcript = os.path.join(a.place.home, "transcript.jsonl")
            a.place.write("home/transcript.jsonl", json.dumps({"payload": {"cwd": a.project}}) + "\n")
            line = a.command("echo hi; pwd")
            check(
                line and line.startswith(TOOLCAGE + " hook run "),
                f"{name}: a command is replaced",
                a.tool(SHELL[name], command="true"),
            )
            if not line:
                continue
            done = a.shell(line)
            check(
                (done.returncode, done.stdout.decode()) == (0, f"hi\n{a.project}\n"),
                f"{name}: it runs in the project",
                done,
            )
            check(os.path.exists(transcript), f"{name}: its transcript is there")
            done = a.run(f"cat {a.secret} {transcript} {a.outside}/file.txt")
            check(
                done.returncode == 1 and not done.stdout, f"{name}: it reads nothing outside the grant", done
            )
            check(
                a.run("echo x > made; exit 7").returncode == 7 and os.path.exists(f"{a.project}/made"),
                f"{name}: its exit code and files are those of the cage",
            )
            check(
                f"{name}-{a.session}" in a.place.run("session", "list").out,
                f"{name}: the session has the agent's name",
            )


HOSTILE = [
    "echo '; touch PWN; echo '",
    "echo \"'; touch PWN; '\"",
    "echo '$(touch PWN)' $(touch PWN) `touch PWN` ${x:-$(touch PWN)}",
    "echo a\ntouch PWN\n",
    "echo \\\ntouch PWN",
    "cat <<'EOF'\n'; touch PWN; cat <<EOF2\nEOF\ntouch PWN",
    "echo 'a' & touch PWN & wait",
    "echo $'\\x27; touch PWN; \\x27'",
    "' ; touch PWN ; '",
    '" ; touch PWN ; "',
    "-- touch PWN",
    "--help; touch PWN",
    "#\ntouch PWN",
    "echo %24(touch PWN); touch%20PWN; touch PWN",
    "@t0123; touch PWN",
    "!touch PWN; touch PWN",
    "\\'; touch PWN; \\'",
    "echo \x01\x1b[31m; touch PWN",
    "echo ünïcödé 漢字 🙂; touch PWN",
    "exit 0; } ; touch PWN; {",
    "true || { echo failed; exit 2; }; touch PWN",
]


def no_text_runs_outside():
    with Agent() as a:
        pwned = os.path.join(a.place.home, "pwned")
        shells = [shell for shell in ("sh", "bash", "dash", "zsh", "fish") if shutil.which(shell)]
        for text in HOSTILE:
            line = a.command(text.replace("PWN", pwned))
            check(
                line
                and not set(line)
                - set(
                    TOOLCAGE + " hook run claude-%+@,._/0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                    "abcdefghijklmnopqrstuvwxyz"
                ),
                f"the command line has no character that shells interpret: {text[:20]!r}",
                line,
            )
            for shell in shells:
                a.shell(line, shell)
            a.shell("eval " + json.dumps(line))
            check(not os.path.exists(pwned), f"nothing of the text runs outside: {text[:20]!r}", line)
        check(len(shells) > 1, "more than one shell was tried", shells)
        for text in (
            "echo 'it'\\''s' \"$HOME\" `echo b` $((1+2)) ünï 漢 %41+@ ~",
            "printf 'a\\tb\\n%s' x | cat -A",
        ):
            inside = a.run(text)
            outside = a.shell(text, env=a.place.environ | {"HOME": "/tmp"})
            check(
                inside.stdout == outside.stdout, f"a text arrives unchanged: {text[:20]!r}", (inside, outside)
            )
        every = "".join(map(chr, range(1, 128))).replace("'", "")
        done = a.run(f"printf %s '{every}'")
        check(done.stdout.decode() == every, "every character arrives unchanged", done)


def long_texts_run():
    with Agent() as a:
        body = "x" * 70 + " '\"$(touch /nowhere)`\n"
        text = "cat <<'END' | wc -c\n" + body * 1100 + "END\n"
        check(len(text) > 100_000, "the text has more than 100 kB", len(text))
        line = a.command(text)
        check(line and len(line) < 4096, "a long text is not in the command line", line and len(line))
        done = a.shell(line)
        check(done.stdout.strip() == str(len(body) * 1100).encode(), "a long text runs", done)
        check(a.shell(line).returncode != 0, "it runs once")
        left = os.listdir(os.path.join(a.place.home, ".local/state/toolcage/hook"))
        check(not left, "no text is left", left)
        answer = a.ask(a.input("Bash", {"command": "x" * (2 << 20)}))
        check(reason(answer) and "write it to a file" in reason(answer), "a huge text is refused", answer)


def paths_are_checked_against_the_grant():
    with Agent() as a:
        os.symlink(a.secret, os.path.join(a.project, "link"))
        os.symlink("/nowhere/x", os.path.join(a.project, "dangling"))
        p = a.project
        allowed = [
            ("Read", "file_path", f"{p}/notes.txt"),
            ("Read", "file_path", "notes.txt"),
            ("Read", "file_path", "/usr/bin/env"),
            ("Write", "file_path", f"{p}/src/deep/new.c"),
            ("Edit", "file_path", f"{p}/notes.txt"),
            ("Edit", "file_path", f"{p}/.gitignore"),
            ("NotebookEdit", "notebook_path", f"{p}/a.ipynb"),
            ("Grep", "path", p),
        ]
        denied = [
            ("Read", "file_path", a.secret),
            ("Read", "file_path", f"{p}/link"),
            ("Read", "file_path", f"{p}/../.ssh/id_ed25519"),
            ("Read", "file_path", "~/.ssh/id_ed25519"),
            ("Read", "file_path", f" {a.secret}"),
            ("Read", "file_path", f"{a.secret} "),
            ("Read", "file_path", f"@{a.secret}"),
            ("Read", "file_path", f"file://{a.secret}"),
            ("Read", "file_path", f"{p}\\..\\x"),
            ("Read", "other_path", a.secret),
            ("Read", "file_path", "/etc/shadow"),
            ("Read", "file_path", "/tmp/x"),
            ("Read", "file_path", "/proc/self/environ"),
            ("Read", "file_path", f"{p}/.env"),
            ("Grep", "path", a.place.home),
            ("Write", "file_path", f"{a.outside}/file.txt"),
            ("Write", "file_path", f"{p}/dangling"),
            ("Write", "file_path", f"{p}/new/../../../other/x"),
            ("Write", "file_path", f"{p}/.git/hooks/pre-commit"),
            ("Write", "file_path", f"{p}/.claude/settings.json"),
            ("Write", "file_path", f"{p}/CLAUDE.md"),
            ("Write", "file_path", f"{p}/.envrc"),
            ("Write", "file_path", "/usr/bin/env"),
            ("Edit", "file_path", f"{p}/link"),
            ("Write", "file_path", ""),
        ]
        for tool, key, path in allowed:
            answer = a.tool(tool, **{key: path})
            check(answer.code == 0 and reason(answer) is None, f"{tool} may use {path[-20:]}", answer)
        for tool, key, path in denied:
            answer = a.tool(tool, **{key: path})
            check(reason(answer), f"{tool} may not use {path[-24:]!r}", answer)
        for pattern in ("/root/**", "../../*", "~/.ssh/*", "a/../../x"):
            check(reason(a.tool("Glob", pattern=pattern)), f"Glob may not look for {pattern}")
        check(reason(a.tool("Glob", pattern="**/*.c")) is None, "Glob may look in the project")
        said = reason(a.tool("Read", file_path=a.secret))
        check(
            "defaults.filesystem, line" in said and "filesystem.readable" in said,
            "a refusal names key, line and what would allow it",
            said,
        )
        check(a.tool("TodoWrite", todos=[]).out == "", "another tool is not decided")
        check(reason(a.tool("Skill", skill="x")), "a skill is refused, because it can bring hooks")
        check(reason(a.tool("NewTool", path="x")), "a tool that is not known is refused")
        check(a.tool("mcp__server__run", command="x").out == "", "a tool of an MCP server is not decided")


def files_of_the_agent_can_be_read():
    """Claude Code writes the output of background commands, and long output, to files that its model reads."""
    with Agent() as a:
        uid = ORDINARY if running_as() == "ordinary" else os.geteuid()
        base = f"/tmp/claude-{uid}"
        mine = not os.path.exists(base)
        tasks, other = (f"{base}/-test-{os.getpid()}/{session}/tasks" for session in (a.session, "ffff"))
        for directory in (tasks, other):
            os.makedirs(directory)
            with open(f"{directory}/x.output", "w") as file:
                file.write("out\n")
        os.symlink(a.secret, f"{tasks}/link.output")
        a.place.write("home/transcript/tool-results/x.txt", "long\n")
        a.place.write("home/transcript.jsonl", "{}\n")
        for path, allowed in (
            (f"{tasks}/x.output", True),
            (f"{a.place.home}/transcript/tool-results/x.txt", True),
            (f"{a.place.home}/transcript.jsonl", False),
            (f"{other}/x.output", False),
            (f"{tasks}/link.output", False),
            (f"{tasks}/../x", False),
        ):
            answer = a.tool("Read", file_path=path)
            check(
                (reason(answer) is None) == allowed,
                f"{'may' if allowed else 'may not'} read {path[-24:]}",
                answer,
            )
        answer = a.tool("Write", file_path=f"{tasks}/x.output")
        check(reason(answer), "may not write them", answer)
        shutil.rmtree(f"{base}/-test-{os.getpid()}")
        if mine:
            os.rmdir(base)


def unknown_input_is_refused():
    with Agent() as a:
        good = a.input("Bash", {"command": "true"})
        bad = {
            "nothing": b"",
            "no JSON": b"{",
            "a list": b"[]",
            "another event": good | {"hook_event_name": "PostToolUse"},
            "no event": {k: v for k, v in good.items() if k != "hook_event_name"},
            "no tool": {k: v for k, v in good.items() if k != "tool_name"},
            "no arguments": {k: v for k, v in good.items() if k != "tool_input"},
            "arguments that are a text": good | {"tool_input": "true"},
            "a command that is a list": good | {"tool_input": {"command": ["true"]}},
            "no command": good | {"tool_input": {}},
            "a command with NUL": good | {"tool_input": {"command": "true\0; id"}},
            "a session with a path": good | {"session_id": "../../x"},
            "a long session": good | {"session_id": "x" * 60},
            "no session": good | {"session_id": None},
            "a relative directory": good | {"cwd": "project"},
            "a repeated command": json.dumps(good).replace('"command"', '"command": "id", "command"', 1),
            "invalid UTF-8": json.dumps(good).encode().replace(b"true", b"\xff"),
        }
        for what, given in bad.items():
            answer = a.ask(given)
            check(reason(answer), f"{what} is refused", answer)
        check(a.place.run("hook", "nobody", stdin=b"{}").code == 2, "an unknown agent is refused")
        check("claude" not in a.place.run("session", "list").out, "no session was started")


def a_broken_hook_refuses():
    with Agent() as a:
        a.place.run("hook", "install", "claude", "--yes")
        settings = json.load(open(os.path.join(a.place.home, ".claude/settings.json")))
        line = settings["hooks"]["PreToolUse"][0]["hooks"][0]["command"]
        given = json.dumps(a.input("Bash", {"command": "true"}))

        def answers(line, env=None):
            return subprocess.run(
                ["sh", "-c", line],
                input=given,
                env=env or a.place.environ,
                capture_output=True,
                text=True,
                check=False,
            )

        gone = answers(line.replace(TOOLCAGE, "/nowhere/toolcage"))
        check(gone.returncode == 2 and gone.stderr and not gone.stdout, "a missing program refuses", gone)
        for what, text in (
            ("a program that fails", "#!/bin/sh\nexit 1\n"),
            ("a program that is killed", "#!/bin/sh\nkill -9 $$\n"),
            ("a program that crashes", "#!/bin/sh\nkill -SEGV $$\n"),
            ("a program that does not start", "#!/nowhere/sh\n"),
        ):
            other = a.place.write("home/bin/toolcage", text, 0o755)
            done = answers(line.replace(TOOLCAGE, other))
            check(done.returncode == 2 and done.stderr, f"{what} refuses", done)
        a.place.write("home/bin/toolcage", "#!/bin/sh\necho '{}'\n", 0o755)
        env = a.place.environ | {"PATH": os.path.join(a.place.home, "bin") + ":" + a.place.environ["PATH"]}
        if running_as() != "ordinary":
            done = answers(line, env)
            check("hook run claude-" in done.stdout, "a program in PATH does not take the hook's place", done)


def the_policy_decides():
    with Agent() as a:
        policy = a.place.write("home/project/toolcage.toml", '[defaults]\nfilesystem.readable = ["."]\n')
        answer = a.tool("Bash", command="true")
        check(
            "is not trusted" in (reason(answer) or ""), "an untrusted policy of the project refuses", answer
        )
        digest = reason(answer).split("--digest ")[1].split()[0]
        a.place.run("policy", "trust", policy, "--digest", digest)
        answer = a.tool("Bash", command="true")
        check(
            "session_lifetime" in (reason(answer) or ""),
            "a policy without sessions refuses, with the key",
            answer,
        )
    with Agent() as a:
        policy = a.place.write(
            "agent.toml",
            f'[defaults]\nfilesystem.readable = ["{a.project}"]\nsession_lifetime = "1h"\n'
            'memory = { max = "512MiB", by = "any" }\n',
        )
        line = a.command("cat notes.txt; echo x > made", "--policy", policy)
        done = a.shell(line) if line else None
        check(
            done and done.stdout == b"notes\n" and b"Read-only" in done.stderr, "a named policy is used", done
        )
        answer = a.ask(a.input("Write", {"file_path": f"{a.project}/x"}), "--policy", policy)
        check(reason(answer), "it holds for the agent's own tools, too", answer)
    with Agent() as a:
        data = os.path.dirname(a.place.write("home/data/.env", "x\n"))
        a.place.write("home/.config/app/x", "x\n")
        policy = a.place.write(
            "agent.toml",
            f'[defaults]\nfilesystem.readable = ["{a.place.home}", {{ path = "/data", from = "{data}" }}]\n'
            f'filesystem.writable = ["{a.project}/src"]\nfilesystem.denied = ["/data/.env"]\nsession_lifetime = "1h"\n',
        )
        a.place.write("home/project/src/a.c", "x\n")
        for tool, path, allowed in (
            ("Read", f"{a.project}/notes.txt", True),
            ("Write", f"{a.project}/notes.txt", False),
            ("Write", f"{a.project}/src/a.c", True),
            ("Read", f"{data}/.env", False),
            ("Read", f"{a.place.home}/.config/app/x", False),
            ("Read", a.secret, False),
        ):
            answer = a.ask(a.input(tool, {"file_path": path}), "--policy", policy)
            check(
                (reason(answer) is None) == allowed, f"{tool} {path[-20:]}: {allowed} by the policy", answer
            )
    with Agent() as a:
        a.place.environ["CLAUDE_PROJECT_DIR"] = a.place.home
        answer = a.tool("Bash", command="true")
        check("home directory" in (reason(answer) or ""), "a home is not granted as a project", answer)
    with Agent("codex") as a:
        a.place.write("home/transcript.jsonl", json.dumps({"payload": {"cwd": a.project}}) + "\n")
        given = a.input("Bash", {"command": "touch made"}, cwd=a.outside)
        line = json.loads(a.ask(given).out)["hookSpecificOutput"]["updatedInput"]["command"]
        done = a.shell(line, cwd=a.outside)
        check(
            done.returncode != 0 and not os.path.exists(f"{a.outside}/made"),
            "codex: a model cannot choose the project",
            done,
        )
        check(
            reason(a.ask(a.input("Bash", {"command": "true"}, transcript_path=None))),
            "codex: without a transcript nothing runs",
        )
        patch = "*** Begin Patch\n*** Add File: a.txt\n+x\n*** Update File: {}\n@@\n-a\n+b\n*** End Patch\n"
        inside = a.tool("apply_patch", command=patch.format("notes.txt"))
        check(reason(inside) is None and inside.code == 0, "codex: a patch in the project is allowed", inside)
        outside = a.tool("apply_patch", command=patch.format(f"{a.outside}/file.txt"))
        check(reason(outside), "codex: a patch of another file is refused", outside)
        check(reason(a.tool("apply_patch", command="nothing")), "codex: a patch without files is refused")


def settings_are_out_of_reach():
    with Agent() as a:
        a.place.run("hook", "install", "claude", "--yes")
        before = open(os.path.join(a.place.home, ".claude/settings.json")).read()
        tries = (
            "mkdir -p .claude; echo '{\"disableAllHooks\": true}' > .claude/settings.local.json",
            "mv .claude x; mkdir .claude; echo '{}' > .claude/settings.json",
            "rm -rf .claude; ln -s /tmp .claude; echo '{}' > .claude/settings.json",
            f"echo '{{}}' > {a.place.home}/.claude/settings.json",
            "env -i bash -c \"env -i sh -c 'echo {} > .claude/settings.json'\"",
            "unset -f command_not_found_handle; unset CLAUDECODE; exec -c bash -c 'echo {} > .claude/settings.json'",
            "nohup setsid bash -c 'sleep 0.2; echo {} > .claude/settings.json' >/dev/null 2>&1 &",
        )
        for text in tries:
            a.run(text)
            left = os.listdir(os.path.join(a.project, ".claude"))
            check(
                not left and not os.path.islink(os.path.join(a.project, ".claude")),
                f"the project's settings stay as they were: {text[:32]}",
                left,
            )
        a.run("sleep 0.5")
        check(not os.listdir(os.path.join(a.project, ".claude")), "also for a process in the background")
        now = open(os.path.join(a.place.home, ".claude/settings.json")).read()
        check(now == before, "the user's settings stay as they were")
        done = a.run(
            "env -i /bin/bash -c 'env -i sh -c \"id -u; cat /etc/shadow\"'; sudo -n id; su -c id; ls ~"
        )
        check(
            b"root:" not in done.stdout and b"uid=0" not in done.stdout,
            "nested shells stay in the cage",
            done,
        )
        done = a.run(
            f"{TOOLCAGE} session list; {TOOLCAGE} session end claude-{a.session}; ls {a.place.home}/.local"
        )
        check(
            f"claude-{a.session}" in a.place.run("session", "list").out,
            "a command cannot reach the session's owner",
            done,
        )


def links_to_settings_are_refused():
    for link in (".claude", ".claude/settings.json", ".claude/agents"):
        with Agent() as a:
            a.place.write("home/project/sub/x", "{}")
            full = os.path.join(a.project, link)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            os.symlink(os.path.join(a.project, "sub"), full)
            answer = a.tool("Bash", command="true")
            check("link" in (reason(answer) or ""), f"a link {link} to a writable place refuses", answer)


def settings_are_edited_in_place():
    with Agent() as a:
        path = a.place.write(
            "home/.claude/settings.json", '{\n  "model": "x",\n  "hooks": {"Stop": []}\n}\n', 0o600
        )
        before = open(path).read()
        shown = a.place.run("hook", "install", "claude", "--dry-run")
        check("+" in shown.out and open(path).read() == before, "--dry-run writes nothing", shown)
        asked = a.place.run("hook", "install", "claude")
        check(
            asked.code == 125 and open(path).read() == before, "without a terminal nothing is written", asked
        )
        check(a.place.run("doctor", "--agents").code == 1, "doctor says that nothing is caged yet")
        done = a.place.run("hook", "install", "claude", "--yes")
        now = json.load(open(path))
        check(
            done.code == 0
            and now["model"] == "x"
            and now["hooks"]["Stop"] == []
            and now["hooks"]["PreToolUse"],
            "the hook is added to the settings",
            now,
        )
        backup = done.err.split("backup is ")[-1].split("\n")[0]
        check(open(backup).read() == before, "the backup has the settings from before", done)
        doctor = a.place.run("doctor", "--agents")
        check(
            doctor.code == 0 and "caged      shell commands" in doctor.out,
            "doctor says what is caged",
            doctor,
        )
        with_hook = open(path).read()
        a.place.run("hook", "install", "claude", "--yes")
        check(open(path).read() == with_hook, "a second install changes nothing")
        a.place.run("hook", "install", "claude", "--remove", "--yes")
        now = json.load(open(path))
        check(now["hooks"] == {"Stop": [], "PreToolUse": []}, "the hook is removed", now)
        a.place.write("home/.claude/settings.json", "not JSON")
        check(a.place.run("hook", "install", "claude", "--yes").code == 125, "broken settings are refused")
        check(open(path).read() == "not JSON", "and stay as they are")
        doctor = a.place.run("doctor", "--agents")
        check(doctor.code == 1 and "not caged" in doctor.out, "doctor counts them as not caged", doctor)


def doctor_is_never_wrong_in_the_unsafe_direction():
    with Agent() as a:
        a.place.run("hook", "install", "claude", "--yes")
        path = os.path.join(a.place.home, ".claude/settings.json")
        good = json.load(open(path))
        hook = good["hooks"]["PreToolUse"][0]["hooks"][0]
        group = good["hooks"]["PreToolUse"][0]

        def with_hook(**more):
            return good | {"hooks": {"PreToolUse": [group | {"hooks": [hook | more]}]}}

        tail = hook["command"].split(" || ")[1]
        cases = {
            "hooks are switched off": good | {"disableAllHooks": True},
            "the matcher is narrower": good | {"hooks": {"PreToolUse": [group | {"matcher": "Read"}]}},
            "the event is another": good | {"hooks": {"PostToolUse": [group]}},
            "the command does not refuse": with_hook(command=hook["command"].split(" || ")[0]),
            "the command refuses by another code": with_hook(
                command=hook["command"].replace("exit 2", "exit 1")
            ),
            "the program is another": with_hook(command="/bin/true hook claude || " + tail),
            "the program is missing": with_hook(command="/nowhere/toolcage hook claude || " + tail),
            "the program is in PATH": with_hook(command="toolcage hook claude || " + tail),
            "more follows": with_hook(command=hook["command"] + "; true"),
            "more comes before": with_hook(command="true || " + hook["command"]),
            "another command is substituted": with_hook(
                command=hook["command"].replace(" hook claude", " hook $(x) claude")
            ),
            "the hook is of another agent": with_hook(
                command=hook["command"].replace("hook claude", "hook gemini")
            ),
            "it runs in the background": with_hook(**{"async": True}),
            "it has a condition": with_hook(**{"if": "Bash(git:*)"}),
            "its time is short": with_hook(timeout=5),
            "its failure is ignored": with_hook(onFailure="continue"),
            "another hook runs, too": good
            | {"hooks": {"PreToolUse": [group, {"hooks": [{"type": "command", "command": "/x"}]}]}},
            "an answer to a question may change it": good
            | {"hooks": good["hooks"] | {"PermissionRequest": [{"hooks": []}]}},
        }
        for what, settings in cases.items():
            a.place.write("home/.claude/settings.json", json.dumps(settings))
            doctor = a.place.run("doctor", "--agents", cwd=a.project)
            check(
                doctor.code == 1 and "caged      shell" not in doctor.out,
                f"not caged: {what}",
                (settings, doctor),
            )
        a.place.write("home/.claude/settings.json", json.dumps(good))
        check(a.place.run("doctor", "--agents", cwd=a.project).code == 0, "caged: as it was written")
        a.place.write("home/project/.claude/settings.local.json", '{"disableAllHooks": true}')
        check(
            a.place.run("doctor", "--agents", cwd=a.project).code == 1,
            "not caged: the project switches hooks off",
        )
        a.place.write("home/project/.claude/settings.local.json", '{"hooks": {}, "hooks": {}}')
        check(
            a.place.run("doctor", "--agents", cwd=a.project).code == 1,
            "not caged: the project's settings are unclear",
        )
    with Agent() as a:
        a.place.run("hook", "install", "codex", "--yes")
        other = a.place.run("doctor", "--agents", "--json")
        check(other.code == 125, "doctor --agents takes no other option", other)
        doctor = a.place.run("doctor", "--agents")
        check(doctor.code == 1 and "/hooks" in doctor.out, "not caged: Codex's trust is not known", doctor)


USUAL = [
    "echo hello",
    "basename $PWD",
    "ls -l --time-style=+ | awk '{print $NF}' | sort",
    "cat notes.txt",
    "echo one two | tr a-z A-Z | rev",
    "cat <<'EOF'\n$HOME `id` \\n 'q' \"d\"\nEOF",
    "cat <<EOF > here.txt\nline $((1+1))\nEOF\ncat here.txt; rm here.txt",
    "mkdir -p sub/dir && cd sub/dir && pwd | sed 's/.*project/project/'",
    'cd sub; for i in 1 2 3; do echo "$i" > f$i; done; cat f1 f2 f3',
    "find . -name 'f?' -type f | sort",
    "grep -rn 2 sub | sort",
    "sed -i 's/2/two/' sub/f2 && cat sub/f2",
    "echo ünïcödé 漢字 🙂 | wc -m",
    "printf '%s\\n' 'a b' \"c'd\" | cat -A",
    "head -c 1000000 /dev/zero | tr '\\0' y",
    "seq 1 20000 | sha256sum",
    "false",
    "exit 3",
    "no-such-command 2>/dev/null; echo $?",
    "echo err >&2; echo out",
    "set -e; false; echo not reached",
    "(sleep 0.1; echo late) & wait; echo done",
    "x=1; export y=2; bash -c 'echo $x-$y'",
    "f() { echo \"f:$1\"; }; f 'a b'",
    "echo {1..3} $((2**10)) ${#PWD} >/dev/null; echo ok",
    "[[ abc =~ ^a.c$ ]] && echo match; arr=(a b c); echo ${arr[1]}",
    "diff <(echo a) <(echo b); echo $?",
    "set -o pipefail; false | true; echo $?",
    "trap 'echo bye' EXIT; echo hi",
    "timeout 0.1 sleep 5; echo $?",
    "git init -q . 2>/dev/null || true; git status --short | sort | head -3",
    "git -c user.name=a -c user.email=a@b add notes.txt && git -c user.name=a -c user.email=a@b commit -qm first && git log --oneline | wc -l",
    "echo more >> notes.txt; git diff --stat | cat",
    "git checkout -q notes.txt && git branch -q topic && git switch -q topic && git branch --show-current",
    "python3 -c 'import sys, json; print(json.dumps({\"a\": [1, 2]}))'",
    "python3 - <<'EOF'\nprint(sum(range(10)))\nEOF",
    "python3 -m venv --without-pip env && env/bin/python -c 'print(6*7)'",
    "node -e 'console.log([1,2].map(x => x * 2))' 2>/dev/null",
    "npm init -y >/dev/null 2>&1; npm pkg get name 2>/dev/null",
    "printf 'int main(void){return 4;}' > a.c && cc a.c -o a.out && ./a.out; echo $?",
    "tar czf t.tgz sub && tar tzf t.tgz | sort && rm t.tgz",
    "ls /nowhere 2>&1; echo $?",
    "xargs -n1 echo < notes.txt",
    "test -t 0 || echo no terminal",
]
REFUSED = {
    "sudo -n true": "sudo",
    "cat ~/.ssh/id_ed25519": "credentials",
    "curl -sS -m 5 https://example.com": "another host",
    "echo x > /usr/bin/x": "system directories",
    "kill -9 $(pgrep -o .) ; mount -t tmpfs x /mnt": "a mount",
}


def usual_commands_give_the_same():
    with Agent() as inside, Agent(project="project") as outside:
        same = 0
        for text in USUAL:
            with contextlib.suppress(subprocess.TimeoutExpired):
                got, wanted = (
                    inside.run(text),
                    outside.shell(text, env=outside.place.environ | {"LC_ALL": "C.UTF-8"}),
                )
                fine = got is not None and (got.returncode, got.stdout) == (wanted.returncode, wanted.stdout)
                same += fine
                check(fine, f"the same inside: {text[:40]!r}", (str(got)[:600], str(wanted)[:600]))
        print(f"# {same} of {len(USUAL)} usual commands give the same output and exit code", flush=True)
        for text, what in REFUSED.items():
            got = inside.run(text)
            check(got.returncode != 0, f"refused inside: {what}", got)


require_user()
if os.environ.get("ONLY"):
    globals()[os.environ["ONLY"]]()
    finish()
for scenario in (
    commands_run_in_the_cage,
    no_text_runs_outside,
    long_texts_run,
    paths_are_checked_against_the_grant,
    files_of_the_agent_can_be_read,
    unknown_input_is_refused,
    a_broken_hook_refuses,
    the_policy_decides,
    settings_are_out_of_reach,
    links_to_settings_are_refused,
    settings_are_edited_in_place,
    doctor_is_never_wrong_in_the_unsafe_direction,
    usual_commands_give_the_same,
):
    scenario()
finish()
