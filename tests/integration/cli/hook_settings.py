# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The agents' settings: no command changes them, `hook install` edits them in place, and `doctor --agents` never calls an agent caged
that is not."""

import json
import os

from cli import TOOLCAGE, check, finish, require_user
from hook_scene import Agent, reason


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


def names_that_agents_obey_are_held():
    """Claude Code starts the servers in .mcp.json without a question if it has no terminal."""
    with Agent() as a:
        os.mkdir(f"{a.place.home}/.codex")
        a.place.own(f"{a.place.home}/.codex")
        for name in (".mcp.json", ".codex/config.toml"):
            a.run(
                f"rm -rf {name}; mv .codex x; mkdir .codex; echo '{{\"x\": 1}}' > {name}; mv notes.txt {name}"
            )
        check(
            open(f"{a.project}/.mcp.json").read() == '{"mcpServers": {}}\n',
            "a command cannot name MCP servers",
        )
        check(not os.listdir(f"{a.project}/.codex"), "a command cannot write settings of another agent")
        check(not os.path.exists(f"{a.project}/.gemini"), "nothing is created for an agent that is not used")
        a.place.write("home/project/.mcp.json", '{"mcpServers": {"x": {}}}\n')
        a.tool("TodoWrite", todos=[])
        check('"x"' in open(f"{a.project}/.mcp.json").read(), "servers of the project stay")


def links_to_settings_are_refused():
    for link in (".claude", ".mcp.json", ".claude/settings.json", ".claude/agents"):
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
        os.remove(os.path.join(a.project, ".claude/settings.local.json"))
        for options, what in ((("--preset", "agent"), "another policy"), ((), "the same policy")):
            a.place.run("hook", "install", "claude", "--yes", "--scope", "project", *options, cwd=a.project)
            code = a.place.run("doctor", "--agents", cwd=a.project).code
            check(code == bool(options), f"{code}: a second hook of toolcage has {what}")
        a.place.environ["CLAUDE_CODE_SIMPLE"] = "1"
        check(a.place.run("doctor", "--agents").code == 1, "not caged: a variable switches hooks off")
        del a.place.environ["CLAUDE_CODE_SIMPLE"]
        os.remove(path)
        os.mkfifo(path)
        check(a.place.run("doctor", "--agents").code == 1, "not caged: the settings are a FIFO")
    with Agent("gemini") as a:
        a.place.run("hook", "install", "gemini", "--yes")
        path = os.path.join(a.place.home, ".gemini/settings.json")
        good = json.load(open(path))
        check(good["advanced"] == {"ignoreLocalEnv": True}, "gemini: a project's .env is ignored", good)
        check(a.place.run("doctor", "--agents").code == 0, "gemini: caged as it was written")
        for advanced in ({}, {"ignoreLocalEnv": False}):
            a.place.write("home/.gemini/settings.json", json.dumps(good | {"advanced": advanced}))
            check(a.place.run("doctor", "--agents").code == 1, f"gemini: not caged: {advanced}")
        a.place.write("home/.gemini/settings.json", json.dumps(good))
        a.place.write("home/project/.gemini/settings.json", '{"advanced": {"ignoreLocalEnv": false}}')
        code = a.place.run("doctor", "--agents", cwd=a.project).code
        check(code == 1, "gemini: not caged: the project's settings read its .env")
    with Agent() as a:
        a.place.run("hook", "install", "codex", "--yes")
        other = a.place.run("doctor", "--agents", "--json")
        check(other.code == 125, "doctor --agents takes no other option", other)
        doctor = a.place.run("doctor", "--agents")
        check(doctor.code == 1 and "/hooks" in doctor.out, "not caged: Codex's trust is not known", doctor)


require_user()
for scenario in (
    settings_are_out_of_reach,
    names_that_agents_obey_are_held,
    links_to_settings_are_refused,
    settings_are_edited_in_place,
    doctor_is_never_wrong_in_the_unsafe_direction,
):
    scenario()
finish()
