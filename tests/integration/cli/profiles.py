# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The shipped profiles, by the examples of docs/profiles.md: a call under each does what the profile says, or is refused by name."""

import glob
import json
import os
import pathlib
import re
import tempfile

from cli import Place, check, expect, finish

ROOT = pathlib.Path(__file__).parents[3]
PAGE = (ROOT / "docs/profiles.md").read_text(encoding="utf-8")
EXAMPLES = {
    name: text
    for text, name in re.findall(r'^```toml\n(extends = "profile:([a-z-]+)".*?)^```', PAGE, re.S | re.M)
}
WORK, SECRET = "home/project/notes", "home/project/.env"


class Project:
    """A project with some work and a secret, under one example."""

    def __init__(self, place, name):
        at = "home/project/coding.toml" if name == "coding" else f"{name}.toml"
        self.place, self.policy = place, place.write(at, EXAMPLES[name])
        for path, text in (
            (WORK, "old needle\n"),
            (SECRET, "KEY=s3cret\n"),
            ("home/project/.npmrc", "s3cret\n"),
            ("home/project/.pypirc", "s3cret\n"),
        ):
            place.write(path, text)

    def read(self, name):
        path = os.path.join(self.place.project, name)
        return pathlib.Path(path).read_text(encoding="utf-8") if os.path.exists(path) else None

    def call(self, tool, **arguments):
        return self.told("call", "--json", "--policy", self.policy, tool, json.dumps(arguments))

    def exec(self, script):
        """Under the profile alone."""
        return self.told("exec", "--json", "--policy", self.policy, "--", "sh", "-c", script)

    def told(self, *args):
        answer = self.place.run(*args)
        try:
            answer.json = json.loads(answer.out)
        except ValueError:
            answer.json = {}
        answer.status, answer.text = (
            answer.json.get("status"),
            (answer.json.get("stdout") or {}).get("text", ""),
        )
        answer.message = (answer.json.get("error") or {}).get("message", "")
        return answer

    def overlays(self):
        """Does this machine have what keeps changes back? If not, the call says so, and nothing is changed."""
        answer = self.exec("true")
        missing = (answer.json.get("error") or {}).get("stage") == "overlay"
        if missing:
            check("overlay" in answer.out, "the refusal names the overlay", answer)
        return not missing


def holds_back(project, tool, answer, name, text):
    """What was written waits, and comes with a yes."""
    waits = [change.get("held") for change in answer.json.get("changes", [])]
    check(
        answer.status == "ok" and waits == ["pending approval"] and text not in (project.read(name) or ""),
        f"{tool}: what is written waits",
        answer,
    )
    project.place.run("changes", answer.json.get("call", ""), "commit")
    check(text in (project.read(name) or ""), f"{tool}: and comes with a yes", project.read(name))


def hides(project, tool, *names):
    for name in names:
        answer = project.exec(f"cat /workspace/{name}")
        check(
            "s3cret" not in answer.out and answer.status == "failed", f"{tool}: {name} is not there", answer
        )


def comes_after_success(project, tool):
    answer = project.exec("echo half > /workspace/made; exit 1")
    check(
        answer.status == "failed" and project.read("made") is None,
        f"{tool}: nothing comes back of a failure",
        answer,
    )
    answer = project.exec("echo whole > /workspace/made")
    check(
        answer.status == "ok" and project.read("made") == "whole\n", f"{tool}: success brings it back", answer
    )


def stays_alone(project, tool):
    """No network, and nothing of the home beside the project."""
    project.place.write("home/diary", "s3cret\n")
    answer = project.exec("cat ../diary; cat /proc/net/dev")
    check(
        "s3cret" not in answer.out and "lo:" in answer.text and "eth" not in answer.text,
        f"{tool}: the home and the network stay out",
        answer,
    )


def read_only(project):
    answer = project.call("search", text="needle")
    check(
        answer.status == "ok" and "notes:1:old needle" in answer.text,
        "read-only: the project is read",
        answer,
    )
    answer = project.exec("echo new > /workspace/notes; echo new > /workspace/more")
    check(
        answer.status == "failed"
        and project.read("notes") == "old needle\n"
        and project.read("more") is None,
        "and not written",
        answer,
    )
    stays_alone(project, "search")


def workspace(project):
    if project.overlays():
        holds_back(project, "edit", project.call("edit", file="notes", text="new\n"), "notes", "new")
        stays_alone(project, "edit")


def offline_build(project):
    project.place.write("home/project/build.sh", "cat /workspace/notes > /workspace/built\n")
    if project.overlays():
        answer = project.call("build")
        check(
            answer.status == "ok" and project.read("built") == "old needle\n",
            "build: what was built comes back",
            answer,
        )
        comes_after_success(project, "build")
        stays_alone(project, "build")


def web_get(project):
    answer = project.call("fetch", page="")
    check(
        answer.status in ("ok", "failed") and "per-cage CA" in answer.out,
        "web-get: the call runs, whatever this machine's network reaches",
        answer,
    )


def personal(project):
    answer = project.call("shell", script="echo new > notes")
    check(
        answer.status == "ok" and project.read("notes") == "new\n",
        "personal: the project is written at once",
        answer,
    )
    hides(project, "shell", ".env")
    stays_alone(project, "shell")


def team(project):
    if project.overlays():
        holds_back(project, "shell", project.call("shell", script="echo new > more"), "more", "new")
        hides(project, "shell", ".env", ".npmrc", ".pypirc")
        stays_alone(project, "shell")


def agent(project):
    if project.overlays():
        comes_after_success(project, "shell")
        hides(project, "shell", ".env")
        stays_alone(project, "shell")


def python(project):
    project.place.write(
        "home/project/test.py", "import helper\nprint(helper.SUM)\nopen('made', 'w').write('x')\n"
    )
    project.place.write("home/project/helper.py", "SUM = 6 * 7\n")
    answer = project.call("test")
    left = os.path.exists(os.path.join(project.place.project, "__pycache__"))
    check(
        answer.status == "ok" and answer.text == "42\n" and not left,
        "python: it runs, and leaves no byte code",
        answer,
    )
    answer = project.exec("echo new > /workspace/notes")
    check(project.read("notes") == "new\n", "python: the project is written at once", answer)
    hides(project, "python", ".env")
    stays_alone(project, "python")


def node(project):
    answer = project.call("shell", script="echo $npm_config_update_notifier; echo new > notes")
    check(
        answer.status == "ok" and answer.text == "false\n" and project.read("notes") == "new\n",
        "node: npm is quiet, the project is written at once",
        answer,
    )
    hides(project, "node", ".env", ".npmrc")
    stays_alone(project, "node")


def git(project):
    made = project.exec("git init -q -b main . && git add notes")
    answer = project.call("commit", message="first")
    log = project.exec("git log --format='%an <%ae>: %s'")
    check(
        made.status == "ok" and log.text == "Agent <agent@localhost>: first\n",
        "git: it commits, as nobody's person",
        f"{made}\n{answer}\n{log}",
    )
    answer = project.exec("echo x > .git/hooks/pre-commit")
    check(
        answer.status == "failed" and project.read(".git/hooks/pre-commit") is None,
        "git: and leaves no hook",
        answer,
    )
    hides(project, "git", ".env")
    stays_alone(project, "git")


def presets():
    """The same profiles by the option, for one command."""
    with Place() as place:
        place.write("home/project/.env", "s3cret\n")
        for name in ("python", "node", "git"):
            answer = place.run("exec", "--preset", name, "--", "sh", "-c", "pwd; cat .env; echo new > made")
            check(
                "s3cret" not in answer.out and os.path.exists(os.path.join(place.project, "made")),
                f"--preset {name}: its files, and no more",
                answer,
            )
            os.unlink(os.path.join(place.project, "made"))
        digests = {
            json.loads(place.run("exec", "--json", *words, "--", "true").out)["policy"]
            for words in (
                ["--preset", "python"],
                ["--policy", place.write("p.toml", 'extends = "profile:python"\n')],
            )
        }
        check(len(digests) == 1, "a preset is the profile and nothing else", digests)
        expect(
            place,
            "explain tells what it grants",
            ["explain", "--preset", "git"],
            0,
            "GIT_AUTHOR_NAME",
            "2m",
            stream="out",
        )
        expect(
            place,
            "and where an access is decided",
            ["explain", "--preset", "python", "--write", "/workspace/x"],
            0,
            "allowed",
            "profile:python",
            stream="out",
        )
        expect(
            place,
            "and the list of caches of an overlay",
            ["explain", "--preset", "build"],
            0,
            "__pycache__",
            stream="out",
        )
        expect(
            place,
            "an unknown one",
            ["exec", "--preset", "pyton", "true"],
            125,
            'there is no preset "pyton"',
            "did you mean python?",
            "read-only",
            "build",
        )
        expect(
            place,
            "a preset name with a policy in it is refused",
            ["exec", "--preset", 'python"\n[defaults]\nnetwork = ["*"]\n#', "true"],
            125,
            "there is no preset",
        )
        expect(
            place,
            "beside a policy",
            ["exec", "--preset", "git", "--policy", "x.toml", "true"],
            125,
            "cannot be combined with --policy",
        )
        expect(
            place,
            "beside a tool",
            ["explain", "--preset", "git", "--tool", "x"],
            125,
            "cannot be combined with --tool",
        )
        place.write("venv/lib", "text-31\n")
        place.write("home/project/in", "text-32\n")
        place.write("home/project/.env", "KEY=1\n")
        venv, preset = os.path.join(place.root, "venv"), ["exec", "--preset", "python"]
        expect(
            place,
            "options widen it",
            [
                *preset,
                "--read",
                venv,
                "-e",
                "X=y",
                "-m",
                "3GiB",
                "sh",
                "-c",
                f"cat {venv}/lib in; echo $X > out",
            ],
            0,
            "text-31\ntext-32\n",
            stream="out",
        )
        expect(
            place,
            "paths that it grants narrow it",
            [*preset, "--read", "/workspace/in", "sh", "-c", "cd /workspace; cat in; echo x > in; ls"],
            0,
            "text-32\nin\n",
            stream="out",
        )
        expect(
            place,
            "what it denies stays denied",
            [*preset, "--read", "/workspace/.env", "cat", ".env"],
            126,
            "it is denied",
        )
        place.write("extends.toml", 'extends = ["profile:python"]\n[tool.x]\n')
        expect(
            place,
            "a policy that extends it is not widened by a call",
            [
                "exec",
                "--policy",
                os.path.join(place.root, "extends.toml"),
                "--tool",
                "x",
                "-e",
                "X=y",
                "true",
            ],
            126,
            "set env in the policy file, which replaces the profile's",
        )
        place.write("home/project/toolcage.toml", "[tool.x]\ncommand = ['true']\n")
        expect(place, "the directory's policy is not asked", ["exec", "--preset", "git", "true"], 0)
        expect(
            place,
            "completion offers them",
            ["completion", "--words", "--", "exec", "--preset", ""],
            0,
            "python\nnode\ngit\nbuild\n",
            stream="out",
        )


def multi_tenant(project):
    """It runs on gVisor with every limit held by a control group, or not at all."""
    answer = project.call("sum", numbers=[1, 2, 39])
    if answer.status == "ok":
        held = set(answer.json["enforcement"])
        check(
            answer.text == "42\n"
            and answer.json["backend"] == "gvisor"
            and {"limit.memory", "limit.cpus", "limit.pids"} <= held,
            "multi-tenant: it runs",
            answer,
        )
    else:
        missing = re.search(r"gvisor|runsc|limit\.\w+|control group|cgroup", answer.message)
        check(
            answer.status in ("denied", "error") and missing and answer.json["backend"] != "process",
            "multi-tenant: the refusal names what is missing",
            answer,
        )


def coding(project):
    """The directory at its own path, without credentials; its session lasts."""
    place = project.place
    answer = project.exec("echo x > made; pwd; cat ~/.ssh/id_ed25519 .env; echo $HOME")
    check(
        answer.text.split() == [place.project, "/tmp"] and os.path.exists(f"{place.project}/made"),
        "coding: the directory is written at its own path",
        answer,
    )
    for access, verdict in (
        (("--write", f"{place.project}/src/a.c"), 0),
        (("--read", f"{place.project}/.env"), 1),
        (("--write", f"{place.home}/x"), 1),
        (("--connect", "registry.npmjs.org:443"), 0),
        (("--connect", "example.com:443"), 1),
    ):
        expect(
            place,
            f"coding: {' '.join(access)[-40:]} is {'denied' if verdict else 'allowed'}",
            ["explain", "--policy", project.policy, *access],
            verdict,
            stream="out",
        )
    started = place.run("session", "start", "work", "--policy", project.policy)
    answer = place.run("session", "exec", "work", "pwd")
    check(answer.out == place.project + "\n", "coding: it has live sessions", (started, answer))
    place.run("session", "end", "work")


PARTS = {
    "coding": coding,
    "read-only": read_only,
    "workspace": workspace,
    "offline-build": offline_build,
    "web-get": web_get,
    "personal": personal,
    "team": team,
    "agent": agent,
    "multi-tenant": multi_tenant,
    "python": python,
    "node": node,
    "git": git,
    "build": offline_build,
}
SHIPPED = {pathlib.Path(path).stem for path in glob.glob(str(ROOT / "profiles/*.toml"))}
check(
    SHIPPED == set(PARTS) == set(EXAMPLES) == set(re.findall(r"^\| `([a-z-]+)` \|", PAGE, re.M)),
    "every profile has a row, an example and a test",
    (sorted(SHIPPED), sorted(EXAMPLES)),
)
for each, part in PARTS.items():
    # a directory below /tmp is below the cages' private one
    tempfile.tempdir = "/var/tmp" if each == "coding" else None
    with Place() as its_place:
        its = Project(its_place, each)
        judged = json.loads(its_place.run("policy", "check", "--json", its.policy).out)
        loud = [found["id"] for found in judged["findings"] if not found.get("silenced")]
        check(not loud, f"{each}: its lint is clean", judged)
        expect(
            its_place,
            f"{each}: its text is a policy",
            ["policy", "check", str(ROOT / f"profiles/{each}.toml")],
            0,
            stream="out",
        )
        part(its)
tempfile.tempdir = None
presets()
finish()
