# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The hook of `toolcage hook install` in the agents themselves, without any account: a scripted server takes the model's place, and
what it receives is what a model would see of its commands. With the hook every command of the agent's own shell runs in one cage;
without toolcage none runs."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "cli"))
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import cli  # noqa: E402
import scripted  # noqa: E402

tempfile.tempdir = "/var/tmp"  # a project below /tmp is below the cages' private one
MODULES = pathlib.Path(__file__).resolve().parents[3] / "build-agents" / "node_modules"


class Desk:
    """A home with one agent's hook, and a project."""

    def __init__(self, place, name):
        self.place, self.name = place, name
        self.project = os.path.join(place.home, "project")
        self.secret = place.write("home/.ssh/id_ed25519", "secret key\n")
        place.write("home/project/notes.txt", "notes\n")
        self.program = os.path.join(place.root, "bin", "toolcage")
        self.environ = place.environ | {"LANG": "C.UTF-8"}

    def hook(self, *options):
        done = self.place.run("hook", "install", self.name, "--yes", *options)
        cli.check(done.code == 0, f"{self.name}: the hook is installed", done)

    def edit(self, path, change):
        full = os.path.join(self.place.home, path)
        with open(full) as file:
            text = file.read()
        self.place.write(f"home/{path}", change(text))

    def run(self, calls):
        """The results that the model gets."""
        script = scripted.Script(
            calls, main=lambda tools: set(tools) & {"Bash", "run_shell_command", "exec_command"}
        )
        argv, more = AGENTS[self.name](self, scripted.serve(script))
        begun = time.monotonic()
        done = subprocess.run(
            [str(word) for word in argv],
            cwd=self.project,
            env=self.environ | more,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=200,
            check=False,
        )
        self.seconds = time.monotonic() - begun
        self.said = done.stdout[-1500:] + done.stderr[-1500:]
        return script.results

    def shell(self, text):
        return {
            "claude": ("Bash", {"command": text, "description": "a command"}),
            "codex": ("exec_command", {"cmd": text}),
            "gemini": ("run_shell_command", {"command": text}),
        }[self.name]


def claude(desk, base):
    argv = [
        MODULES / "@anthropic-ai/claude-code-linux-x64/claude",
        "-p",
        "go",
        "--permission-mode",
        "acceptEdits",
    ]
    argv += ["--allowedTools", "Skill", "Bash"]
    more = {
        "ANTHROPIC_BASE_URL": base,
        "ANTHROPIC_API_KEY": "none",
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    }
    return argv, more


def codex(desk, base):
    desk.place.write(
        "home/.codex/config.toml",
        f'model = "noted"\nmodel_provider = "noted"\nsandbox_mode = "danger-full-access"\n[model_providers.noted]\nname = "noted"\n'
        f'base_url = "{base}/v1"\nwire_api = "responses"\nrequest_max_retries = 0\nstream_max_retries = 0\n',
    )
    trust = ["--dangerously-bypass-hook-trust"] if desk.trusted else []
    program = next(MODULES.glob("@openai/codex-linux-x64/vendor/*/bin/codex"))
    return [program, "exec", "--skip-git-repo-check", *trust, "go"], {}


def gemini(desk, base):
    argv = ["node", MODULES / "@google/gemini-cli/bundle/gemini.js", "-m", "gemini-2.5-flash"]
    argv += ["--approval-mode", "yolo", "-p", "go"]
    more = {"GEMINI_API_KEY": "none", "GOOGLE_GEMINI_BASE_URL": base, "GEMINI_CLI_TRUST_WORKSPACE": "true"}
    return argv, more


AGENTS = {"claude": claude, "codex": codex, "gemini": gemini}


def commands_run_in_one_cage(desk):
    name, secret = desk.name, desk.secret
    outside = os.path.join(desk.place.home, "pwned")
    calls = [
        desk.shell("id -un; pwd; echo kept > /tmp/kept; echo made > made.txt"),
        desk.shell(f"cat /tmp/kept; cat {secret}; ls /proc | grep -c '^[0-9]'"),
        desk.shell(
            f"echo \"it's\" 'a \"b\"' | cat < /dev/stdin; : '; touch {outside}; ' $(touch {outside}) `touch {outside}`\n"
        ),
        desk.shell("cat <<'END'\n$HOME `x` \\ ünï 漢\nEND\nexit 3"),
        desk.shell(
            "mkdir -p .claude .codex .gemini; echo '{\"disableAllHooks\": true}' > ."
            f"{name}/settings.local.json; ls -A .{name}"
        ),
        desk.shell("id -un"),
    ]
    got = desk.run(calls)
    cli.check(len(got) == len(calls), f"{name}: every command has a result", (desk.said, got))
    got += [""] * len(calls)
    cli.check(
        "tool" in got[0] and desk.project in got[0],
        f"{name}: a command runs in the cage, in the project",
        got[0],
    )
    cli.check(os.path.exists(f"{desk.project}/made.txt"), f"{name}: what it writes in the project is there")
    cli.check(
        "kept" in got[1] and "secret key" not in got[1],
        f"{name}: the next command is in the same cage",
        got[1],
    )
    cli.check(
        "it's" in got[2] and not os.path.exists(outside),
        f"{name}: a hostile text does not leave the cage",
        got[2],
    )
    cli.check(
        "$HOME `x`" in got[3] and "3" in got[3], f"{name}: a here-document and an exit code arrive", got[3]
    )
    cli.check(
        not os.path.exists(f"{desk.project}/.{name}/settings.local.json"),
        f"{name}: a command cannot write the agent's settings",
        got[4],
    )
    cli.check("tool" in got[5], f"{name}: the next command is caged, too", got[5])
    cli.check(
        f"{name}-" in desk.place.run("session", "list").out, f"{name}: the session has the agent's name"
    )


def shell_continues(desk):
    """Claude Code tells its model that `cd` stays; the others start each command in their own directory."""
    got = desk.run([desk.shell("mkdir -p sub; cd sub; export MODE=debug"), desk.shell("pwd; echo =$MODE")])
    wanted = desk.project + ("/sub" if desk.name == "claude" else "")
    cli.check(
        len(got) == 2 and f"{wanted}\\n=debug" in got[1].replace("\n", "\\n"),
        f"{desk.name}: the directory and variables are what the agent expects",
        (got, desk.said),
    )


def planted_files_run_nothing(desk):
    """What Claude Code and Gemini CLI obey at their next start, outside of the cage."""
    mark = os.path.join(desk.place.home, "planted")
    servers = json.dumps({"mcpServers": {"x": {"command": "touch", "args": [mark]}}})
    text = f"echo '{servers}' > .mcp.json; echo 'touch {mark}' > x.sh; echo BASH_ENV=$PWD/x.sh > .env; ls -a"
    got = desk.run([desk.shell(text)])
    cli.check(got and "x.sh" in got[0], f"{desk.name}: a command plants files", (got, desk.said))
    desk.run([desk.shell("true")])
    cli.check(not os.path.exists(mark), f"{desk.name}: the agent runs nothing that is in them", desk.said)


def nothing_runs_without_toolcage(desk):
    """The settings name a copy of the program, which is removed, or fails."""
    for what, text in (
        ("is gone", None),
        ("fails", "#!/bin/sh\nexit 1\n"),
        ("prints nonsense", "#!/bin/sh\necho '{\"x\"'; exit 3\n"),
    ):
        mark = os.path.join(desk.project, "ran.txt")
        path = {
            "claude": ".claude/settings.json",
            "codex": ".codex/hooks.json",
            "gemini": ".gemini/settings.json",
        }[desk.name]
        before = pathlib.Path(desk.place.home, path).read_text()
        desk.edit(path, lambda text: text.replace(cli.TOOLCAGE, desk.program))
        if text:
            desk.place.write("bin/toolcage", text, 0o755)
        got = desk.run([desk.shell(f"echo ran > {mark}")])
        cli.check(
            not os.path.exists(mark), f"{desk.name}: nothing runs when toolcage {what}", (got, desk.said)
        )
        cli.check(
            got and ("toolcage" in got[0] or "blocked" in got[0]),
            f"{desk.name}: the model gets the reason",
            (got, desk.said),
        )
        desk.place.write(f"home/{path}", before)


def refusals_reach_the_model(desk):
    if desk.name == "claude":
        calls = [
            ("Read", {"file_path": desk.secret}),
            ("Read", {"file_path": "~/.ssh/id_ed25519"}),
            ("Write", {"file_path": f"{desk.place.home}/out.txt", "content": "x"}),
            ("Write", {"file_path": f"{desk.project}/CLAUDE.md", "content": "x"}),
            ("Write", {"file_path": f"{desk.project}/src/in.txt", "content": "x"}),
        ]
        got = desk.run(calls)
        cli.check(
            len(got) == len(calls) and all("toolcage" in said for said in got[:4]),
            "claude: paths outside the grant are refused",
            (got, desk.said),
        )
        cli.check("secret key" not in "".join(got), "claude: the secret stays where it is", got)
        cli.check(
            "line" in got[0] and "filesystem.readable" in got[0],
            "claude: the model gets key, line and option",
            got,
        )
        cli.check(
            os.path.exists(f"{desk.project}/src/in.txt"), "claude: the project is written as before", got
        )
    if desk.name == "gemini":
        desk.place.write("home/project/.gemini/settings.json", "{}\n")
        edit = {"file_path": "settings.json", "old_string": "{}", "new_string": "{1}", "instruction": "x"}
        got = desk.run([("replace", edit)])
        now = pathlib.Path(desk.project, ".gemini/settings.json").read_text()
        cli.check(now == "{}\n", "gemini: it edits no other file of that name", (got, desk.said))
    if desk.name == "gemini":
        got = desk.run([("write_file", {"file_path": f"{desk.project}/.envrc", "content": "x"})])
        cli.check(got and "steers the host" in got[0], "gemini: a steering file is refused", (got, desk.said))


def skills_are_refused(desk):
    """Claude Code runs hooks that a skill brings, and commands in it, outside of cages; a caged command can write a skill."""
    mark = os.path.join(desk.project, "skill.txt")
    hook = f'hooks:\n  PreToolUse:\n    - matcher: "*"\n      hooks: [{{type: command, command: "touch {mark}"}}]\n'
    skill = f"---\nname: x\ndescription: x\nallowed-tools: Bash(touch:*)\n{hook}---\nhello !`touch {mark}`\n"
    write = f"mkdir -p sub/.claude/skills/x; cat > sub/.claude/skills/x/SKILL.md <<'END'\n{skill}END\n"
    calls = [
        desk.shell(write),
        ("Read", {"file_path": f"{desk.project}/sub/.claude/skills/x/SKILL.md"}),
        ("Skill", {"skill": "x"}),
        desk.shell("id -un"),
    ]
    got = desk.run(calls)
    cli.check(
        len(got) == len(calls) and "toolcage" in got[2] and not os.path.exists(mark),
        "claude: a skill that a command wrote runs nothing",
        (got, desk.said),
    )


def subagents_are_caged(desk):
    call = ("Agent", {"description": "x", "prompt": "run it", "subagent_type": "general-purpose"})
    got = desk.run([call, desk.shell("id -un > who.txt"), desk.shell("true")])
    who = pathlib.Path(desk.project, "who.txt")
    cli.check(
        who.exists() and who.read_text() == "tool\n",
        "claude: the commands of a sub-agent are caged",
        (got, desk.said),
    )


def untrusted_hooks_are_skipped_by_codex(desk):
    """What docs/agents/codex.md and doctor warn of."""
    desk.trusted = False
    got = desk.run([desk.shell("id -un")])
    cli.check(
        got and "tool" not in got[0].split("Output:")[-1],
        "codex: it skips a hook that nobody trusted",
        (got, desk.said),
    )
    doctor = desk.place.run("doctor", "--agents", cwd=desk.project)
    cli.check(doctor.code == 1 and "not caged" in doctor.out, "codex: doctor says so", doctor)


def cost(desk):
    """Milliseconds of a command, with and without the hook: the time of 12 commands less that of 2."""
    times = []
    path = {
        "claude": ".claude/settings.json",
        "codex": ".codex/hooks.json",
        "gemini": ".gemini/settings.json",
    }[desk.name]
    for hooked in (True, False):
        if not hooked:
            desk.edit(path, lambda text: json.dumps(json.loads(text) | {"hooks": {}}))
        runs = []
        for count in (2, 12):
            desk.run([desk.shell("true")] * count)
            runs.append(desk.seconds)
        times.append((runs[1] - runs[0]) * 100)
    print(
        f"# {desk.name}: a command takes {times[0]:.0f} ms with the hook, and {times[1]:.0f} ms without",
        flush=True,
    )


cli.require_user()
if not MODULES.exists():
    cli.skip_all("the agents are not here: tools/clients agents installs them")
for name in AGENTS:
    if os.environ.get("ONLY", name) != name:
        continue
    with cli.Place() as place:
        desk = Desk(place, name)
        desk.trusted = True
        if name == "gemini":
            place.write(
                "home/.gemini/settings.json", '{"security": {"auth": {"selectedType": "gemini-api-key"}}}\n'
            )
        desk.hook()
        commands_run_in_one_cage(desk)
        shell_continues(desk)
        planted_files_run_nothing(desk)
        refusals_reach_the_model(desk)
        if name == "claude":
            skills_are_refused(desk)
            subagents_are_caged(desk)
        nothing_runs_without_toolcage(desk)
        if name == "codex":
            untrusted_hooks_are_skipped_by_codex(desk)
            desk.trusted = True
        cost(desk)
        for line in place.run("session", "list", "--json").out.splitlines():
            for session in json.loads(line)["live"]:
                place.run("session", "end", session["name"])
cli.finish()
