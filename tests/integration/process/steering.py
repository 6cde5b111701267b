# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Names that steer the host: what a tool may not leave where a program of the user obeys it unasked, and what programs
leave behind in a day's work, which must come back.

usage: steering.py TOOLCAGE USER [long]     long: the day's work of LONG alone"""

import os
import shutil
import subprocess
import sys

from scene import PYTHON, TOOLCAGE, check, run, skip

OVERLAY = 'workspace = { mode = "overlay" }'
# Made in both modes by one script: of no list, of the list, and what nothing obeys.
STEER = [
    ".of-no-list/deep/run",
    ".claude.json",
    ".local/share/dbus-1/services/a.service",
    "CLAUDE.md",
    "sub/AGENTS.md",
    ".github/workflows/ci.yml",
    ".git/rebase-merge/git-rebase-todo",
    ".git/of-next-year",
    ".hg/sharedpath",
    "node_modules/a/.vscode/tasks.json",
    ".gradle/init.d/a.gradle",
    ".nx/installation/run",
    ".terraform/providers/a",
    ".bsp/a.json",
]
FREE = [
    "README.md",
    ".gitignore",
    "sub/.editorconfig",
    ".pytest_cache/v/x",
    ".venv/bin/activate",
    ".git/objects/ab/c",
    ".git/COMMIT_EDITMSG",
    "node_modules/a/.eslintrc",
    "lib/site-packages/p/.hidden",
    ".coverage.host.1",
    ".astro/types.d.ts",
    ".vite/deps/a.js",
    ".angular/cache/a",
    ".next/cache/a",
    ".nx/cache/a",
    ".gradle/8.5/a",
    ".kotlin/a",
    "sub/.git/BISECT_LOG",
]


def make(names, text="new"):
    return "; ".join(f"mkdir -p $(dirname {name}); echo {text} > {name}" for name in names)


def steered(answer):
    return {change["path"] for change in answer.changes if change.get("steers_host")}


def held(s, answer):
    """The files that did not come back."""
    return {os.path.relpath(change["path"], s.ws) for change in answer.changes if change.get("held")}


def bound(s):
    """In a bind new ones are listed, told to the model and to the terminal; existing ones stay as they are."""
    s.mode = "bind"
    answer = s.shell(f"cd {s.ws}; {make(STEER + FREE)}")
    told = {os.path.relpath(path, s.ws) for path in steered(answer)}
    check(
        told >= set(STEER) and not told & set(FREE),
        "steering files are listed, and no others",
        (set(STEER) - told, told & set(FREE)),
    )
    lines = [line for line in answer.message.split("\n") if line.startswith("steers the host: added ")]
    check(
        f"steers the host: added {s.ws}/.claude.json (programs of the user load or run such files automatically)"
        in lines
        and not any("rebase-merge/" in line for line in lines),
        "a model reads which, of a directory its name",
        answer.message,
    )
    plain = [word for word in s.argv("/bin/sh", "-c", f"cd {s.ws}; echo x > .envrc") if word != "--json"]
    spoken = subprocess.run(plain, env=s.environ, cwd=s.ws, capture_output=True, check=False, timeout=60)
    check(
        f"steers the host: added {s.ws}/.envrc (review it" in spoken.stderr.decode(),
        "and so does a person",
        spoken,
    )
    answer = s.shell(
        f"cd {s.ws}; exec 2>/dev/null; {make(STEER + ['.envrc'] + FREE, 'changed')}; rm -rf .of-no-list; mv .of-no-list x; mv node_modules n; true"
    )
    check(
        not [name for name in STEER + [".envrc"] if s.read("ws/" + name) not in (b"new\n", b"x\n")],
        "an existing one stays as it is",
        answer,
    )
    check(
        not [name for name in FREE if s.read("ws/" + name) != b"changed\n"] and not steered(answer),
        "files that nothing obeys are committed",
        answer,
    )


def laid_over(s):
    """By default, in an overlay and in a copy nothing of the list comes back."""
    for mode in ("auto", "overlay", "copy"):
        answer = s.shell(
            f"cd {s.ws}; {make(STEER + FREE)}; ln -s elsewhere .profile; ln -s config .git/info",
            more=f'workspace = {{ mode = "{mode}" }}',
        )
        back = held(s, answer)
        check(
            back >= set(STEER) | {".profile", ".git/info"} and not back & set(FREE),
            f"steering files are held back: {mode}",
            back,
        )
        check(
            not [name for name in STEER if os.path.lexists(s.path("ws", name))]
            and not [name for name in FREE if s.read("ws/" + name) != b"new\n"],
            f"and the rest is there: {mode}",
            os.listdir(s.ws),
        )
        lines = [line for line in answer.message.split("\n") if line.startswith("not applied: ")]
        check(
            len(lines) > 5
            and all(line.endswith(("(steers the host)", " more")) for line in lines)
            and "a person decides about files that steer the host" in answer.message,
            f"a model reads which: {mode}",
            answer.message,
        )
        shutil.rmtree(s.ws)
        s.directory("ws")
    plain = [word for word in s.argv("/bin/sh", "-c", f"cd {s.ws}; echo x > .envrc") if word != "--json"]
    spoken = subprocess.run(plain, env=s.environ, cwd=s.ws, capture_output=True, check=False, timeout=60)
    told = spoken.stderr.decode()
    check(
        "not applied: added .envrc (steers the host)" in told and "commit --steering" in told,
        "and so does a person, with how to apply it",
        spoken,
    )
    call = told.partition("toolcage changes ")[2].partition(" ")[0]
    done = s.toolcage("changes", call, "discard")
    check(
        done.returncode == 0 and not os.path.exists(s.path("ws/.envrc")),
        "the person can discard it",
        done,
    )


def moved_there(s):
    """What a tool moves to a name that steers the host stays where it was, until a person has said yes."""
    for name in ("notes.md", "plain/a", "plain/deep/b", "node_modules/p/.envrc", "node_modules/p/code"):
        s.write(f"ws/{name}", f"{name}\n")
    answer = s.shell(f"cd {s.ws}; mv notes.md CLAUDE.md; mv plain .idea; rm -rf node_modules")
    left = {os.path.relpath(os.path.join(at, name), s.ws) for at, _, names in os.walk(s.ws) for name in names}
    check(
        left == {"notes.md", "plain/a", "plain/deep/b"}
        and held(s, answer) >= left | {"plain", "plain/deep", "CLAUDE.md", ".idea/a", ".idea/deep/b"},
        "a file that was moved to such a name stays, and one of a package goes",
        (left, answer),
    )
    s.toolcage("changes", answer.call, "commit", "--steering")
    left = sorted(os.listdir(s.ws))
    check(
        left == [".idea", "CLAUDE.md"] and s.read("ws/.idea/deep/b") == b"plain/deep/b\n",
        "a yes moves it",
        left,
    )
    shutil.rmtree(s.ws)
    s.directory("ws")


def links(s):
    """A link is protected as what it is."""
    links = {".envrc": "dotfiles/envrc", ".zshrc": "nowhere", ".config": "dotfiles"}
    for name, target in links.items():
        os.symlink(target, s.path("ws", name))
    for s.mode in ("bind", "auto"):
        s.write("ws/dotfiles/envrc", "old\n")
        answer = s.shell(
            f"cd {s.ws}; cat .envrc; exec 2>/dev/null; for l in .envrc .zshrc .config; do rm -f $l; mv $l x; ln -sfn evil $l; done; echo more >> dotfiles/envrc; true"
        )
        left = {name: os.readlink(s.path("ws", name)) for name in links}
        check(
            answer.status == "ok" and answer.out == "old\n" and left == links,
            f"nothing takes the place of a link: {s.mode}",
            (left, answer),
        )
        check(
            s.read("ws/dotfiles/envrc") == b"old\nmore\n"
            and steered(answer) == (set() if s.mode == "bind" else {s.path("ws", name) for name in links}),
            f"the target of the link is content: {s.mode}",
            answer,
        )


def repository(s):
    """A repository with two branches that differ, and a commit in each."""
    shutil.rmtree(s.ws)
    os.mkdir(s.ws)
    script = f"git init -q -b main; for i in 1 2 3 4; do echo $i > f; git add f; {GIT} commit -qm $i; done; git checkout -qb side HEAD~1; echo s > g; git add g; {GIT} commit -qm s; git checkout -q main"
    subprocess.run(["/bin/sh", "-ec", script], cwd=s.ws, env=s.environ, check=True)


WORKS = [
    "checkout side",
    "switch -c new main",
    "commit --allow-empty -qm new",
    "rebase side",
    "merge --no-ff -m merged main",
    "bisect start HEAD HEAD~2",
    "bisect good",
    "bisect reset",
    "cherry-pick --allow-empty HEAD~1",
    "reset --hard HEAD~1",
    "stash",
    "stash pop",
    "gc -q",
    "config user.name x",  # refused
]


def works(s):
    """In a bind git's daily work steers nothing, nor does a refused change of its settings; alike.py has it in an overlay."""
    s.mode = "bind"
    repository(s)
    for work in WORKS:
        answer = s.shell(f"cd {s.ws}; {HOME}; echo more >> f; {GIT if work[:2] != 'co' else 'git'} {work}")
        # an older git gives BISECT_NAMES to a shell
        more = steered(answer) - {
            f"{s.ws}/.git/{name}" for name in ("objects/info/commit-graph", "BISECT_NAMES")
        }
        check(not more, f"git {work} steers nothing", answer)
    check(
        "more" in s.read("ws/f").decode()
        and subprocess.run(
            ["git", "fsck"], cwd=s.ws, env=s.environ, check=False, capture_output=True
        ).returncode
        == 0,
        "and the repository is whole",
        answer,
    )
    answer = s.shell(
        f"cd {s.ws}; {HOME}; git worktree add -q tree -b tree",
        more='filesystem.steering = { remove = [".git/worktrees"] }',
    )
    check(
        answer.code == 0 and steered(answer) == {f"{s.ws}/tree/.git"},
        "a work tree is not listed where the policy removed that name, except for its link",
        answer,
    )
    os.rename(s.path("ws/.git"), s.path("data/git"))
    s.write("ws/other/index", "")
    answer = s.shell(f"cd {s.ws}; mv other .git")
    check(f"{s.ws}/.git" in steered(answer), "a directory that is moved there is listed", answer)
    shutil.rmtree(s.ws)
    os.mkdir(s.ws)


def said(s):
    """A write that a bind's read-only file refused is told to the model and to the terminal, with --why as a denial."""
    s.mode = "bind"
    s.write("ws/.envrc", "old\n")
    script = f"cd {s.ws}; echo new > .envrc; exit 1"
    answer = s.shell(script)
    note = f"host programs load files like {s.ws}/.envrc, so "
    check(
        answer.message.startswith(f"failed: the tool exited with code 1; {note}")
        and "--dry-run" in answer.message
        and note in answer.err
        and not answer.denials,
        "the message says why a file is read-only, and what to do",
        answer,
    )
    answer = s.shell(f"cd {s.ws}; cat .envrc; echo Read-only file system")
    check(answer.code == 0 and "host programs" not in answer.message, "but not without such a file", answer)
    denial = s.shell(script, more='denials = "paths"').denied("write").get(f"{s.ws}/.envrc", {})
    check(
        denial.get("key") == "tool.t.filesystem.steering" and "--dry-run" in (denial.get("hint") or ""),
        "a watched call lists the write with its key and a hint",
        denial,
    )


def words(s):
    """The operator's: more names, and fewer."""
    more = 'filesystem.steering = { add = ["deploy.sh", "ci/*.yml"], remove = [".github", "AGENTS.md"] }'
    names = ["sub/deploy.sh", "ci/a.yml", ".envrc", ".github/b", "AGENTS.md", "ci/a.yaml"]
    for s.mode in ("bind", "auto"):
        shutil.rmtree(s.ws)
        s.write("ws/deploy.sh", "old\n")
        s.write("ws/.github/a", "old\n")
        answer = s.shell(f"cd {s.ws}; {make(names)}; echo new > .github/a; echo new > deploy.sh", more=more)
        told = {os.path.relpath(path, s.ws) for path in steered(answer)}
        existing = {"deploy.sh"} if s.mode == "auto" else set()
        check(
            told == {"sub/deploy.sh", "ci/a.yml", ".envrc"} | existing,
            f"the policy names them: {s.mode}",
            told,
        )
        check(
            s.read("ws/deploy.sh") == b"old\n"
            and s.read("ws/.github/a") == b"new\n"
            and s.read("ws/AGENTS.md") == b"new\n"
            and os.path.exists(s.path("ws/.envrc")) == (s.mode == "bind"),
            f"and frees others: {s.mode}",
            answer,
        )
    explained = subprocess.run(
        [TOOLCAGE, "policy", "explain", "--policy", s.policy(more=more), "--tool", "t", "--json"],
        env=s.environ,
        capture_output=True,
        check=False,
    )
    check(
        b'"steering":{"add":["ci/*.yml","deploy.sh"],"remove":[".github","AGENTS.md"]}' in explained.stdout,
        "explain shows them",
        explained,
    )
    wrong = s.policy(
        more='filesystem.steering = { add = ["/a", ".x"], remove = ["toolcage.toml", "a/../b", ".x"] }'
    )
    said = subprocess.run(
        [TOOLCAGE, "policy", "check", wrong], env=s.environ, capture_output=True, check=False
    )
    text = (said.stdout + said.stderr).decode()
    check(
        said.returncode
        and text.count("this is neither a name") == 2
        and "controls later calls" in text
        and ".x is added and removed" in text,
        "names that are not file names are refused",
        text,
    )


def configured(s):
    """Directories of hooks and files of configuration that git's own configuration names, whatever they are called."""
    config = '[core] hooksPath = "tools/ho\\\noks" ; x\n[include]\n\tpath = ../conf/a.inc # y\n[includeIf "gitdir:~/x]"] path=../conf/b.inc\n'
    names = ["tools/hooks/pre-commit", "conf/a.inc", "conf/b.inc", "more/hooks/post-merge", "sub/h/pre-push"]
    for s.mode in ("bind", "auto"):
        shutil.rmtree(s.ws)
        for place in ("ws", "ws/sub"):
            subprocess.run(["git", "init", "-q", s.path(place)], check=True, env=s.environ)
        with open(s.path("ws/.git/config"), "a", encoding="utf-8") as file:
            file.write(config)
        s.write("ws/conf/a.inc", "[core]\nhookspath = more/hooks\n")
        s.write("ws/tools/hooks/pre-commit", "old\n")
        with open(s.path("ws/sub/.git/config"), "a", encoding="utf-8") as file:
            file.write("[core]\nhooksPath = ../sub/h\n")
        s.write("ws/sub/h/pre-push", "old\n")
        answer = s.shell(f"cd {s.ws}; exec 2>/dev/null; {make(names + ['tools/x', 'conf/c', 'sub/x'])}")
        new = {os.path.relpath(path, s.ws) for path in steered(answer)}
        was = [s.read("ws/" + name) for name in ("tools/hooks/pre-commit", "sub/h/pre-push")] == [
            b"old\n"
        ] * 2 and s.read("ws/conf/a.inc") != b"new\n"
        check(
            was
            and new >= {"conf/b.inc", "more/hooks/post-merge"}
            and not new & {"tools/x", "conf/c", "sub/x"},
            f"paths that the configuration names are protected: {s.mode}",
            (new, answer),
        )
        check(
            os.path.exists(s.path("ws/more/hooks/post-merge")) == (s.mode == "bind")
            and s.read("ws/tools/x") == b"new\n",
            f"and the rest is written: {s.mode}",
            answer,
        )


DIG = "import os, sys\nos.chdir(sys.argv[1])\nfor _ in range(int(sys.argv[2])):\n    os.mkdir(sys.argv[3])\n    os.chdir(sys.argv[3])\nopen('f', 'w').close()"


def dug(place, name):
    """How deep it goes; it is taken away again."""
    depth = 0
    while os.path.isdir(name if depth else os.path.join(place, name)):
        os.chdir(name if depth else os.path.join(place, name))
        depth += 1
    for _ in range(depth):
        for left in os.listdir("."):
            (os.rmdir if os.path.isdir(left) else os.unlink)(left)
        os.chdir("..")
    os.chdir("/")
    return depth


def depths(s):
    """A tree that is too deep is told in the call that made it, and hinders no later one."""
    s.mode = "bind"
    for more in ("", OVERLAY, 'workspace = { mode = "copy" }'):
        for name, depth in (
            ("d", 150),
            ("d", 450),
            ("d", 3000),
            ("n" * 250, 13),
            ("n" * 250, 17),
            ("n" * 250, 100),
        ):
            shutil.rmtree(s.ws, ignore_errors=True)
            s.directory("ws")
            whole = depth < 200 and depth * len(name) < 4000
            answer = s.python(DIG, s.ws, str(depth), name, more=more)
            told = answer.status == "ok" and not any(answer.omitted.values())
            if more:
                told = (
                    told
                    or (answer.error or {}).get("stage") == "collect"
                    and answer.error["subject"].startswith(f"{s.ws}/{name}")
                )
            else:
                told = told or answer.status == "ok" and answer.omitted["changes"] > 0
            check(
                told and (not whole or answer.status == "ok"),
                f"{depth} times {name[:1]}, {more or 'bind'}",
                answer,
            )
            after = s.shell(
                f"cd {s.ws}; echo x > after; exec 2>/dev/null; for i in $(seq 210); do cd d || exit 0; done; echo x > new; mkdir .git; echo x > .git/config; true",
                more=more,
            )
            check(
                after.status == "ok" and os.path.exists(s.path("ws/after")),
                "and the next call goes on",
                after,
            )
            check(
                not any(path.endswith("config") for path in after.kinds) or steered(after) or more,
                "with nothing hidden in the depths",
                after,
            )
            came = dug(s.ws, name)
            check(
                came == depth if not more or whole else came < depth,
                "changes up to the depth limit come back",
                (came, depth),
            )


# ---- a day's work ---------------------------------------------------------------------------------------------------

HOME = "export HOME=/tmp/home; mkdir -p $HOME"
GIT = "git -c user.name=a -c user.email=b -c commit.gpgsign=false -c init.defaultBranch=main"


def rustup():
    """The toolchain of this caller, when it may be shown to a cage."""
    cargo = shutil.which("cargo", path=os.environ.get("PATH"))
    if not cargo or not os.path.realpath(cargo).startswith(os.path.expanduser("~")):
        return []
    found = subprocess.run([cargo, "--version", "--verbose"], capture_output=True, text=True, check=False)
    sysroot = subprocess.run(
        [os.path.join(os.path.dirname(cargo), "rustc"), "--print", "sysroot"],
        capture_output=True,
        text=True,
        check=False,
    ).stdout.strip()
    return [sysroot] if found.returncode == 0 and sysroot else []


def jupyter():
    """An installation of it that is named in the environment."""
    place = os.environ.get("TOOLCAGE_TEST_JUPYTER")
    return [place] if place else []


LONG = ("go", "cargo", "jupyter", "pip")  # ten seconds of a processor each
# The program; what else of the machine it needs (None: what the system has); its work; what of it is held, and rightly.
WORK = [
    (
        "git",
        None,
        f"{GIT} commit -qam two; {GIT} checkout -qb side; echo x >> a; {GIT} commit -qam three; {GIT} checkout -q main; echo y > b; {GIT} add b;"
        f"{GIT} commit -qm four; {GIT} merge -q --no-edit side; {GIT} rebase -q HEAD~1; {GIT} stash list; {GIT} tag v1; echo z >> a; {GIT} stash -q; {GIT} stash pop -q;"
        f"{GIT} cherry-pick --no-commit side || true; {GIT} reset -q --hard; {GIT} gc -q; {GIT} status; {GIT} log --oneline",
        {".git/objects/info/commit-graph"},
    ),  # git makes them again
    (
        "npm",
        None,
        "npm init -y >/dev/null; mkdir -p dep/lib; cd dep; npm init -y >/dev/null; echo x > .eslintrc; mkdir .github; echo y > .github/x; npm pack --silent; cd ..;"
        "mv dep/*.tgz dep.tgz; rm -r dep; npm install --offline --no-audit --no-fund ./dep.tgz; ls -A node_modules/dep",
        set(),
    ),
    (
        "pip",
        None,
        f'{PYTHON} -m venv .venv; mkdir p; echo \'import setuptools; setuptools.setup(name="p", version="1", py_modules=["p"])\' > p/setup.py; echo > p/p.py;'
        ".venv/bin/pip install -q --no-index --no-build-isolation ./p; .venv/bin/python -c 'import p'",
        set(),
    ),
    ("pytest", None, f"echo 'def test_a(): pass' > test_a.py; {PYTHON} -m pytest -q test_a.py", set()),
    (
        "gcc",
        None,
        "printf '#include <stdio.h>\\nint main(void) { puts(\"x\"); }\\n' > m.c; gcc --coverage -g -o m m.c; ./m; gcov m.c >/dev/null; gcc -shared -fPIC -o .libs.so m.c;"
        "mv .libs.so libm.so",
        set(),
    ),
    (
        "make",
        None,
        "printf 'all: m.o\\nm.o: m.c\\n\\tmkdir -p .deps; gcc -MD -MF .deps/m.Po -c m.c\\n' > Makefile; echo 'int x;' > m.c; make",
        set(),
    ),
    (
        "go",
        None,
        "export PATH=$PATH:/usr/local/go/bin GOFLAGS=-mod=mod GOPROXY=off GOCACHE=/tmp/cache; go mod init example.com/m 2>&1; printf 'package main\\nfunc main() {}\\n' > main.go; go build ./...; go vet ./...",
        set(),
    ),
    (
        "cargo",
        rustup,
        "export PATH=$1/bin:$PATH; cargo init -q --vcs none --name m .; cargo build -q --offline; cargo test -q --offline",
        set(),
    ),
    (
        "jupyter",
        jupyter,
        'export PATH=$1/bin:$PATH; echo \'{"cells": [{"cell_type": "code", "execution_count": null, "id": "a", "metadata": {}, "outputs": [],'
        '"source": ["1 + 1"]}], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}\' > n.ipynb; mkdir -p .ipynb_checkpoints; cp n.ipynb .ipynb_checkpoints/n-checkpoint.ipynb;'
        "jupyter nbconvert --to notebook --execute --inplace n.ipynb && jupyter nbconvert --to script n.ipynb",
        set(),
    ),
]


def day(s, name, more, script, want):
    s.directory("ws")
    if name == "git":
        subprocess.run(
            [
                "/bin/sh",
                "-ec",
                f"git init -q -b main; echo 1 > a; git add a; {GIT} commit -qm one; echo 2 >> a",
            ],
            cwd=s.ws,
            env=s.environ,
            check=True,
        )
    answer = s.call(
        "/bin/sh",
        "-ec",
        f"cd {s.ws}; {HOME}; {script}",
        "sh",
        *more,
        more=OVERLAY + '\ntimeout = "120s"\npids = 256\ndisk = "1GiB"\nunix_sockets = "own"',
        memory='{ max = "2GiB", by = "any" }',
        readable=more,
        wait=200,
    )
    check(answer.status == "ok", f"{name} does its work", answer)
    check(held(s, answer) == want, f"{name}: what is held back is what should be", held(s, answer))
    came = sum(len(names) for _, _, names in os.walk(s.ws))
    check(came > 1, f"{name}: and there was something to bring back", came)
    shutil.rmtree(s.ws)


def survey(s):
    for name, needs, script, want in WORK:
        if (name in LONG) != (sys.argv[3:] == ["long"]):
            continue
        more = needs() if needs else []
        there = (
            more
            if needs
            else name in ("pip", "pytest") or shutil.which(name, path="/usr/bin:/bin:/usr/local/go/bin")
        )
        if not there:
            skip(f"{name} does its work", f"this machine has no {name} that a cage may see")
            continue
        day(s, name, more, script, want)


run(
    *(
        []
        if sys.argv[3:] == ["long"]
        else [bound, laid_over, moved_there, links, works, said, words, configured, depths]
    ),
    survey,
)
