# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""toolcage hook, without an agent: what it answers, what becomes of hostile commands in the shells that agents use, and that nothing
runs when the hook is gone, does not understand its input, or has no policy that allows a session."""

import contextlib
import json
import os
import shutil
import subprocess

from cli import ORDINARY, TOOLCAGE, check, finish, require_user, running_as
from hook_scene import EVENTS, SHELL, Agent, reason


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


def directory_and_variables_stay():
    with Agent() as a:
        a.run("mkdir -p src/deep")
        show = "pwd; echo $MODE"
        a.run("cd src; export MODE=debug")
        got = a.run(show).stdout.decode()
        check(got == f"{a.project}/src\ndebug\n", "claude: the directory and variables stay", got)
        for arguments, more in (({}, {"agent_id": "a1"}), ({"run_in_background": True}, {})):
            text = "cd deep; cd src; export MODE=other; touch beside"
            a.shell(a.replaced(a.ask(a.input("Bash", {"command": text} | arguments, **more))))
        check(
            os.path.exists(f"{a.project}/src/beside") and os.path.exists(f"{a.project}/src/deep/beside"),
            "claude: a sub-agent starts in the agent's directory, and a command in the background where the last one ended",
        )
        got = a.run(show).stdout.decode()
        check(got == f"{a.project}/src\ndebug\n", "claude: commands beside others change neither", got)
        got = a.run(show, cwd=f"{a.project}/src/deep").stdout.decode()
        check(
            got == f"{a.project}/src/deep\ndebug\n",
            "claude: the agent's own directory wins when it changes",
            got,
        )
        check(a.run("pwd", cwd=a.outside).returncode != 0, "claude: a directory outside the grant refuses")
        odd = f"{a.project}/it's $(touch x) \n`a`"
        os.mkdir(odd)
        got = a.run("pwd", cwd=odd).stdout.decode()
        check(got == odd + "\n", "a directory's name is not interpreted", got)
    with Agent("gemini") as a:
        a.run("mkdir src")
        a.run("cd src; export MODE=debug")
        got = a.run("pwd; echo $MODE").stdout.decode()
        check(
            got == f"{a.project}\ndebug\n",
            "gemini: variables stay, and each command starts in its directory",
            got,
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
        for pattern in (
            "{/root,x}/*",
            "{,x}/etc/*",
            "{.,x}{.,y}/.ssh/*",
            "{a,/etc}/*",
            "x{/.,y}./*",
            ".{.,x}/*",
        ):
            check(reason(a.tool("Glob", pattern=pattern)), f"Glob may not look for {pattern}")
        for pattern in ("**/*.c", "{src,test}/**/*.{ts,d.ts}", "*{.c,.h}"):
            check(reason(a.tool("Glob", pattern=pattern)) is None, f"Glob may look for {pattern}")
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


def other_spellings_of_a_path_are_refused():
    """Codex strips blanks around paths and headers; Gemini CLI edits another file of that name if there is none here."""
    with Agent("codex") as a:
        a.place.write("home/transcript.jsonl", json.dumps({"payload": {"cwd": a.project}}) + "\n")
        os.symlink(f"{a.outside}/file.txt", f"{a.project}/link")
        good = "*** Begin Patch\n*** Add File: a.txt\n+x\n"
        for blank in (" ", "\t", "\r", "\v", "\u00a0", "\u0085", "\u2003", "\u3000"):
            for header in (f"*** Update File: link{blank}", f"{blank}*** Delete File: {a.outside}/file.txt"):
                answer = a.tool("apply_patch", command=f"{good}{header}\n*** End Patch\n")
                check(reason(answer), f"codex: another spelling is refused: {header[:24]!r}", answer)
        answer = a.tool(
            "apply_patch", command=f"{good}+*** Delete File: {a.outside}/file.txt\n*** End Patch\n"
        )
        check(answer.code == 0 and reason(answer) is None, "codex: an added line names no file", answer)
    with Agent("gemini") as a:
        a.place.write("home/project/.gemini/settings.json", "{}\n")
        for tool, key, path in (
            ("replace", "file_path", "settings.json"),
            ("list_directory", "dir_path", "."),
        ):
            answer = a.tool(tool, **{key: path})
            used = json.loads(answer.out)["hookSpecificOutput"]["tool_input"][key]
            wanted = os.path.normpath(f"{a.project}/{path}")
            check(used == wanted, f"gemini: {tool} gets the path that was checked", answer)


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
    with Agent("gemini") as inside, Agent(project="project") as outside:
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
    directory_and_variables_stay,
    no_text_runs_outside,
    long_texts_run,
    paths_are_checked_against_the_grant,
    other_spellings_of_a_path_are_refused,
    files_of_the_agent_can_be_read,
    unknown_input_is_refused,
    a_broken_hook_refuses,
    the_policy_decides,
    usual_commands_give_the_same,
):
    scenario()
finish()
