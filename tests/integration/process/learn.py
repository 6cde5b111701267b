#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""toolcage learn: a run under the learned policy succeeds, and one that goes beyond what was learned does not."""

import json
import os
import shutil
import subprocess
import time
import tomllib

from scene import PATIENCE, TOOLCAGE, check, in_namespaces, run, skip

CLONE = """
git daemon --base-path=srv --export-all --listen=127.0.0.1 --port=9418 --reuseaddr --detach --pid-file=/tmp/pid
for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do git clone -q git://127.0.0.1/r.git got && break; sleep 0.2; done
kill $(cat /tmp/pid)
test -f got/file
"""


def toolcage(s, *words, cwd=None, extra=None):
    return subprocess.run(
        [TOOLCAGE, *words],
        env={**s.environ, **(extra or {})},
        cwd=cwd or s.ws,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120 * PATIENCE,
        check=False,
    )


def learn(s, *command, flags=("--allow-all",), name="t"):
    return toolcage(s, "learn", *flags, "--name", name, "-t", f"{60 * PATIENCE}s", "--", *command)


def call(s, name="t"):
    return toolcage(s, "call", "--policy", s.path("learned.toml"), name)


def clear(s):
    shutil.rmtree(s.ws)
    s.directory("ws")


def learned(s, title, program, files, *command, beyond, made=()):
    """Learns from files in the workspace, runs again, then with files that ask for more than was seen."""
    if not shutil.which(program, path=s.environ["PATH"]):
        skip(title, f"skipped: {program} is not installed")
        return {}
    clear(s)
    for name, text in files.items():
        s.write(f"ws/{name}", text)
    done = learn(s, *command)
    check(done.returncode == 0, f"{title}: the run that is learned from", done)
    s.write("learned.toml", done.stdout)
    valid = toolcage(s, "policy", "check", "--fail-on", "never", s.path("learned.toml"))
    check(valid.returncode == 0, f"{title}: its policy is one", (valid, done.stdout))
    for name in made:
        shutil.rmtree(s.path("ws", name), ignore_errors=True)
    again = call(s)
    check(again.returncode == 0, f"{title}: the same again", (again, done.stdout))
    for name in made:
        shutil.rmtree(s.path("ws", name), ignore_errors=True)
    for name, text in beyond.items():
        s.write(f"ws/{name}", text)
    more = call(s)
    left = os.path.exists(s.path("outside/left"))
    check(
        more.returncode == 1
        and "outside/canary" in more.stderr
        and "tweet-31" not in more.stdout + more.stderr
        and not left,
        f"{title}: not what goes beyond it",
        (more, done.stdout),
    )
    return tomllib.loads(done.stdout)["tool"]["t"] if valid.returncode == 0 else {}


def programs(s):
    s.write("outside/canary", "tweet-31\n")
    secret = s.path("outside/canary")
    numpy = "import numpy as np\nnp.save('a.npy', np.arange(10.0))\nprint(np.load('a.npy').sum())\n"
    if subprocess.run(
        ["/usr/bin/python3", "-c", "import numpy"], capture_output=True, check=False
    ).returncode:
        skip("numpy", "skipped: numpy is not installed")
    else:
        tool = learned(
            s,
            "numpy",
            "python3",
            {"n.py": numpy},
            "python3",
            "n.py",
            beyond={"n.py": f"print(open('{secret}').read())\n"},
        )
        writable = tool.get("filesystem", {}).get("writable")
        check(writable == [s.ws], "numpy: the directory of the one file that it creates", tool)
    tool = learned(
        s,
        "gcc",
        "gcc",
        {"a.c": '#include "b.h"\nint main(void) { return B; }\n', "b.h": "#define B 0\n"},
        "gcc",
        "-o",
        "prog",
        "a.c",
        beyond={"a.c": f'#include "{secret}"\n'},
    )
    check(
        tool.get("filesystem", {}) == {"writable": [s.ws]},
        "gcc: the directory of the program that it creates",
        tool,
    )
    learned(
        s,
        "sqlite3",
        "sqlite3",
        {"q.sql": "create table if not exists t(a); insert into t values (1); select count(*) from t;\n"},
        "sqlite3",
        "-bail",
        "x.db",
        ".read q.sql",
        beyond={"q.sql": f".read {secret}\nattach '{s.path('outside/left')}' as o; create table o.t(a);\n"},
    )
    learned(
        s,
        "npm",
        "npm",
        {"package.json": APP % "", "pkg/package.json": '{"name":"pkg","version":"1.0.0"}'},
        "npm",
        "install",
        "--no-audit",
        "--no-fund",
        "--offline",
        made=["node_modules"],
        beyond={"package.json": APP % f',"scripts":{{"preinstall":"cat {secret}"}}'},
    )
    clear(s)
    script = f"git init -q w && cd w && echo x > file && git add file && {GIT} commit -q -m x && cd .. && git clone -q --bare w srv/r.git"
    if shutil.which("git", path=s.environ["PATH"]) and os.path.exists("/usr/lib/git-core/git-daemon"):
        subprocess.run(
            ["/bin/sh", "-c", script], cwd=s.directory("seed"), env=s.environ, check=True, capture_output=True
        )
        shutil.copytree(s.path("seed/srv"), s.path("outside/srv"))
        s.write("ws/clone.sh", CLONE)
        shutil.copytree(s.path("seed/srv"), s.path("ws/srv"))
        done = learn(s, "sh", "clone.sh")
        check(done.returncode == 0, "git clone from a server: the run that is learned from", done)
        s.write("learned.toml", done.stdout)
        shutil.rmtree(s.path("ws/got"), ignore_errors=True)
        again = call(s)
        check(again.returncode == 0, "git clone from a server: the same again", (again, done.stdout))
        shutil.rmtree(s.path("ws/got"), ignore_errors=True)
        s.write("ws/clone.sh", CLONE.replace("base-path=srv", f"base-path={s.path('outside/srv')}"))
        more = call(s)
        check(
            more.returncode == 1
            and "Connection refused" in more.stderr
            and not os.path.exists(s.path("ws/got/a")),
            "git clone from a server: not one from elsewhere",
            more,
        )
    else:
        skip("git clone from a server", "skipped: git daemon is not installed")


APP = '{"name":"app","version":"1.0.0","dependencies":{"pkg":"file:./pkg"}%s}'
GIT = "git -c user.name=x -c user.email=x@example.com"


def generalised(s):
    """Many files stand as their directory, installed packages as theirs, temporary names as nothing."""
    clear(s)
    for i in range(5):
        s.write(f"data/part-{i}", "x")
    s.write("data/lone/one", "x")
    s.write("opt/lib/python9/site-packages/p/q/r.py", "x")
    script = (
        f"cat {s.data}/part-* {s.data}/lone/one {s.path('opt')}/lib/python9/site-packages/p/q/r.py > /dev/null; f=$(mktemp); echo x > $f; "
        f"mkdir -p out; echo x > out/a.tmp; mv out/a.tmp out/a; true"
    )
    done = learn(s, "sh", "-c", script)
    tool = tomllib.loads(done.stdout)["tool"]["t"]["filesystem"]
    check(
        tool["readable"] == [s.data, s.path("opt/lib/python9/site-packages")],
        "read paths are learned",
        done.stdout,
    )
    check(tool["writable"] == [s.ws], "written paths are learned", done.stdout)


def caged_at_first(s):
    """Without more said, the run is under the default grant, and what it was refused is a comment."""
    clear(s)
    secret = s.write("outside/canary", "tweet-31\n")
    done = learn(s, "sh", "-c", f"cat {secret}; echo x > new; ls /etc/shadow; true", flags=())
    check(
        "tweet-31" not in done.stderr and not os.path.exists(s.path("ws/new")),
        "the default grant holds",
        done,
    )
    check(
        f"#   read {secret}" in done.stdout
        and f"#   write {s.ws}/new" in done.stdout
        and "writable = " not in done.stdout,
        "refused paths are a comment",
        done.stdout,
    )
    done = learn(s, "sh", "-c", "cat outside.txt; exit 3", flags=())
    check(done.returncode == 3 and "exit code 3" in done.stdout, "a run that fails says so", done)
    done = learn(s, "sh", "-c", "echo out; echo x > f; true", flags=("--write", "."))
    check(
        done.stdout.startswith("# Learned")
        and "out\n" in done.stderr
        and f'filesystem.writable = ["{s.ws}"]' in done.stdout,
        "more can be given",
        done,
    )
    home = s.path("home")
    s.write("home/.ssh/id_ed25519", "tweet-31\n")
    done = learn(s, "sh", "-c", f"cat {home}/.ssh/id_ed25519; true")
    check("tweet-31" not in done.stderr, "credentials stay masked with --allow-all", done)


def created(s):
    """A file that the run created may be gone at the next call, so its directory is granted; one that was there stays a file."""
    clear(s)
    s.write("ws/Makefile", "all:\n\techo hi > out\n")
    s.write("ws/there", "x\n")
    for command, writable, note in (
        ("echo hi > out", s.ws, True),
        ("rm -f there; echo hi > there", s.ws, True),
        ("echo hi > there", f"{s.ws}/there", False),
    ):
        time.sleep(0.05)  # what was written within a tick of the start may count as created
        done = learn(s, "sh", "-c", command, flags=("--write", "."))
        tool = tomllib.loads(done.stdout)["tool"]["t"]
        check(
            tool["filesystem"]["writable"] == [writable]
            and ("because the tool creates files in it" in done.stdout) == note,
            f"{command}: what is writable",
            done,
        )
        s.write("learned.toml", done.stdout)
        if note:
            for name in ("out", "there"):
                if os.path.exists(s.path("ws", name)):
                    os.remove(s.path("ws", name))
            again = call(s)
            check(again.returncode == 0, f"{command}: in a clean directory", again)
            s.write("ws/there", "x\n")


def beside(s):
    """A plain exec in the directory of the learned policy keeps the default grant, and a tool that needs no file gets none."""
    clear(s)
    s.write("ws/file", "text-31\n")
    s.write("ws/toolcage.toml", learn(s, "true", flags=()).stdout)
    check(toolcage(s, "policy", "trust", s.path("ws/toolcage.toml")).returncode == 0, "it is trusted")
    done = toolcage(s, "exec", "--", "sh", "-c", "cat file; echo x > new")
    check(
        done.stdout == "text-31\n" and not os.path.exists(s.path("ws/new")),
        "exec reads the working directory, and writes nothing",
        done,
    )
    done = toolcage(s, "exec", "--tool", "t", "--", "cat", s.path("ws/file"))
    check(done.returncode != 0 and "text-31" not in done.stdout, "the tool reads no file", done)


def mounted(s):
    """Everything of the caller's, while something is mounted below a tree in which names are denied."""
    place = next(
        (path for path in ("/var/local", "/var/opt", "/var/mail", "/var/spool") if os.path.isdir(path)), None
    )
    wrap = in_namespaces(f"mount -t tmpfs none {place}")
    if not place or subprocess.run([*wrap, "/bin/true"], capture_output=True, check=False).returncode:
        skip("learn beside mounts", "skipped: nothing can be mounted here")
        return
    done = subprocess.run(
        [*wrap, TOOLCAGE, "learn", "--allow-all", "--", "/bin/true"],
        env=s.environ,
        cwd=s.ws,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=120 * PATIENCE,
        check=False,
    )
    check(done.returncode == 0, "with --allow-all beside a mount", done)


def dangers(s):
    clear(s)
    s.write("ws/run.sh", "#!/bin/sh\necho ran\n", 0o755)
    s.write("data/api.key", "k")
    done = learn(s, "sh", "-c", f"cat {s.data}/api.key; ./run.sh; cp run.sh run2.sh; echo x > more")
    check("danger: may contain a secret" in done.stdout, "a file that may hold a secret", done.stdout)
    check(
        "danger: it runs programs from a directory that it may write" in done.stdout,
        "a program that it may write",
        done.stdout,
    )
    programs_of_home = os.path.join(s.environ["HOME"], ".local/bin")
    os.makedirs(programs_of_home, exist_ok=True)
    done = learn(s, "sh", "-c", f"echo x > {programs_of_home}/ls", flags=("--write", programs_of_home))
    check(
        "danger: " in done.stderr
        and "host programs load or run" in done.stderr
        and "danger: the host" not in done.stdout,
        "files that the host would run are a danger",
        done,
    )


def above(s):
    """The cage's own directories above what is granted are empty but for that: a look into one asks for nothing of the host's."""
    clear(s)
    s.write("beside/secret", "tweet-31\n")
    up = os.path.dirname(s.ws)
    done = learn(
        s, "sh", "-c", f"ls -a .. {up} {os.path.dirname(up)} /; ls {s.data}; true", flags=("--read", s.data)
    )
    readable = tomllib.loads(done.stdout)["tool"]["t"]["filesystem"].get("readable", [])
    check(
        s.data in readable and not any(s.ws.startswith(path + "/") for path in readable),
        "directories above a grant are not learned",
        done,
    )


def planted(s):
    """A tool that is learned from leaves links to what it may not have: the policy that is learned grants no such thing."""
    for script in ("ln -sfn {secret} out", "mkdir d; echo x > d/private; rm -r d; ln -s {beside} d"):
        clear(s)
        s.write("beside/private", "tweet-31\n")
        done = learn(
            s,
            "/bin/sh",
            "-c",
            "test -e out || test -e d || { "
            + script.format(secret=s.path("beside/private"), beside=s.path("beside"))
            + "; exit; }; cat out d/private; echo tool > out; echo tool > d/private; true",
            flags=("--write", s.ws),
        )
        s.write("learned.toml", done.stdout)
        again = call(s)
        check(
            "tweet-31" not in again.stdout
            and os.path.exists(s.path("beside/private"))
            and s.read("beside/private") == b"tweet-31\n",
            "a link that a tool left leads nowhere",
            (done.stdout, again),
        )


def hostile_names(s):
    """Names that a policy cannot say, or that would be more than a name in it."""
    clear(s)
    for name in (b'a"]\n[tool.evil]\ncommand=["sh"]', b"\xff\xfe", b"x*y", b"esc\x1b[31m", b"del\x7f"):
        os.makedirs(os.path.join(s.data.encode(), b"d-" + name))
        with open(os.path.join(s.data.encode(), b"d-" + name, b"file"), "wb") as file:
            file.write(b"x")
    done = learn(
        s,
        "sh",
        "-c",
        f"cd {s.data}; cat d-*/file; cat > '{s.data}/d-esc\x1b[31m/refused\n[tool.two]'; true",
        flags=("--read", s.data),
    )
    try:
        tools = tomllib.loads(done.stdout)["tool"]
    except ValueError as wrong:
        tools = wrong
    check(
        isinstance(tools, dict) and list(tools) == ["t"] and "\x1b" not in done.stdout,
        "they stay names",
        done.stdout,
    )


def typed(s, *words, name, cwd=None, extra=None):
    """What a person types: learn into a file, check it, call the tool that it names."""
    done = toolcage(s, "learn", *words, cwd=cwd, extra=extra)
    s.write("learned.toml", done.stdout)
    valid = toolcage(s, "policy", "check", s.path("learned.toml"))
    check(valid.returncode == 0, f"{name}: policy check takes what was learned", (valid, done.stdout))
    return done, toolcage(s, "call", "--policy", s.path("learned.toml"), name, cwd=cwd, extra=extra)


def environments(s):
    """A virtual environment's interpreter is a link, and so is that of each of its scripts."""
    clear(s)
    venv = s.path("venv")
    s.write("venv/pyvenv.cfg", "home = /usr/bin\ninclude-system-site-packages = false\nversion = 3\n")
    for path in (s.directory("venv/bin"), s.directory("ws/.venv/bin")):
        os.symlink("/usr/bin/python3", f"{path}/python3")
        os.symlink("python3", f"{path}/python")
    s.write("ws/.venv/pyvenv.cfg", "home = /usr/bin\n")
    s.write("venv/bin/pytest", f"#!{venv}/bin/python\nimport sys\nprint('ran in', sys.prefix)\n", 0o755)
    s.write("ws/plot.py", "import sys\nopen('plot.out', 'w').write('x')\nprint('ran in', sys.prefix)\n")
    for title, command, name, prefix in (
        ("its Python", [f"{venv}/bin/python", "plot.py"], "python", venv),
        ("a script of it", [f"{venv}/bin/pytest"], "pytest", venv),
        ("one where tools write", [".venv/bin/python", "plot.py"], "python", s.path("ws/.venv")),
        ("its Python, run by a shell", ["sh", "-c", f"{venv}/bin/pytest && :"], "sh", venv),
    ):
        done, again = typed(s, "--write", ".", "--read", venv, "--", *command, name=name)
        check(done.returncode == 0 and "ran once more" in done.stderr, f"{title}: learned, and tried", done)
        check(
            again.returncode == 0 and again.stdout == f"ran in {prefix}\n",
            f"{title}: runs under what was learned",
            (done.stdout, again),
        )


def managed(s):
    """An interpreter of a version manager, to which the environment's links lead."""
    clear(s)
    python, venv = s.path("home/.pyenv/versions/9.9.9/bin/python9"), s.path("venv")
    s.write("home/.pyenv/versions/9.9.9/bin/python9", "#!/bin/sh\necho ran by $0 for $1\n", 0o755)
    os.symlink(python, f"{s.directory('venv/bin')}/python")
    s.write("venv/bin/tool", f"#!{venv}/bin/python\n", 0o755)
    done, again = typed(
        s,
        "--read",
        venv,
        "--read",
        s.path("home/.pyenv/versions/9.9.9"),
        "--",
        f"{venv}/bin/python",
        name="python",
    )
    check(
        done.returncode == 0 and again.returncode == 0 and again.stdout.startswith("ran by"),
        "its interpreter is learned",
        (done, again),
    )


RUSTUP = """#!/bin/sh
cat "$RUSTUP_HOME/settings.toml" && mkdir -p "$CARGO_HOME" && echo x > "$CARGO_HOME/lock" && echo x > out
echo x > "$RUSTUP_HOME/planted"
cat {cargo}/credentials.toml {conda}/.condarc {conda}/pip.conf
exit 0
"""


def toolchains(s):
    """A manager's program finds its toolchains in the home, which only it may read; passwords beside them stay closed."""
    clear(s)
    cargo, rustup, conda = s.path("home/.cargo"), s.path("home/.rustup"), s.path("home/miniconda3")
    script = RUSTUP.format(cargo=cargo, conda=conda)
    s.write("home/.cargo/bin/rustup", script, 0o755)
    os.symlink("rustup", f"{cargo}/bin/cargo")
    s.write("home/.rustup/settings.toml", "toolchain-31\n")
    s.write("home/miniconda3/bin/conda", script, 0o755)
    for name in (".cargo/credentials.toml", "miniconda3/.condarc", "miniconda3/pip.conf"):
        s.write(f"home/{name}", "tweet-31\n")
    extra = {"PATH": f"{cargo}/bin:{conda}/bin:{s.environ['PATH']}"}
    done, again = typed(s, "--write", ".", "--", "cargo", "build", name="cargo", extra=extra)
    check(
        done.returncode == 0 and "ran once more" in done.stderr and 'programs = ["cargo"]' in done.stdout,
        "a program of rustup is learned",
        done,
    )
    check(
        again.returncode == 0 and again.stdout == "toolchain-31\n", "and runs under what was learned", again
    )
    check(not os.path.exists(f"{rustup}/planted"), "its toolchains stay as they are", os.listdir(rustup))
    for command in (
        ["exec", "--", "cargo"],
        ["exec", "--preset", "build", "--", "sh", "-c", "cargo"],
        ["exec", "--preset", "build", "--", "conda"],
        ["exec", "--preset", "python", "--", "sh", "-c", "conda"],
    ):
        ran = toolcage(s, *command, extra=extra)
        check(
            ran.returncode == 0
            and ("toolchain-31" in ran.stdout) == ("python" not in command)
            and "tweet-31" not in ran.stdout + ran.stderr,
            f"{' '.join(command)}: no password is read",
            ran,
        )
    for more, shown in (
        ("", True),
        ('image = "/image"\nbackend = "oci"', False),
        ('backend = "qemu"', False),
    ):
        policy = s.write(
            "extends.toml", f'extends = ["profile:build"]\n[tool.x]\ncommand = ["true"]\n{more}\n'
        )
        told = toolcage(s, "policy", "explain", "--policy", policy, "--tool", "x", "--json", extra=extra)
        check((rustup in told.stdout) == shown, f"an image has its own programs: {more!r}", told)
    beside = toolcage(s, "exec", "--preset", "python", "--", "cat", f"{rustup}/settings.toml", extra=extra)
    check(beside.returncode != 0 and not beside.stdout, "other profiles show no toolchain of it", beside)


def linked_tools(s):
    """A tool that uv or pipx installed is a link to a script of a virtual environment in a closed directory of the home."""
    clear(s)
    share = "home/.local/share/uv"
    python, tool = s.path(share, "python/cpython-9/bin/python3"), s.path(share, "tools/t")
    s.write(f"{share}/python/cpython-9/bin/python3", "#!/bin/sh\necho ran $1\n", 0o755)
    s.write(f"{share}/tools/t/pyvenv.cfg", f"home = {os.path.dirname(python)}\n")
    s.write(f"{share}/tools/t/bin/tt", f"#!{tool}/bin/python\n", 0o755)
    os.symlink(python, f"{tool}/bin/python")
    os.symlink(f"{tool}/bin/tt", os.path.join(s.directory("home/.local/bin"), "tt"))
    s.write("home/.local/share/other/bin/oo", "#!/bin/sh\necho ran\n", 0o755)
    s.write(f"{share}/credentials/credentials.toml", "tweet-31\n")
    extra = {
        "PATH": f"{s.path('home/.local/bin')}:{s.path('home/.local/share/other/bin')}:{s.environ['PATH']}"
    }
    done, again = typed(s, "--", "tt", name="tt", extra=extra)
    check(
        done.returncode == 0 and again.returncode == 0 and again.stdout.startswith("ran "),
        "it is learned, and runs",
        (done, again),
    )
    other = toolcage(s, "exec", "--", "oo", extra=extra)
    check(
        other.returncode == 126 and "holds credentials" in other.stderr,
        "other closed directories are not",
        other,
    )


def unstarted(s):
    """A file that is there and does not start says what it lacks; policy check knows before it is called."""
    clear(s)
    python, venv = s.path("home/.pyenv/versions/9.9.9/bin/python9"), s.path("venv2")
    s.write("home/.pyenv/versions/9.9.9/bin/python9", "#!/bin/sh\necho ran\n", 0o755)
    os.symlink(python, f"{s.directory('venv2/bin')}/python")
    s.write("venv2/bin/tool", f"#!{venv}/bin/python\n", 0o755)
    prefix = s.path("home/.pyenv/versions/9.9.9")
    done = toolcage(s, "exec", "--read", venv, "--", f"{venv}/bin/tool")
    check(
        done.returncode == 127
        and f"its interpreter is not: {python} (named by {venv}/bin/python)" in done.stderr
        and f"hint: --read {prefix}\n" in done.stderr,
        "its interpreter is named, and the grant for it",
        done,
    )
    check(
        toolcage(s, "exec", "--read", venv, "--read", prefix, "--", f"{venv}/bin/tool").stdout == "ran\n",
        "granting the learned paths cures it",
    )
    done = toolcage(s, "exec", "--read", venv, "--", f"{venv}/bin/python")
    check(
        done.returncode == 127 and f"leads to {python}, which the cage does not have" in done.stderr,
        "so is what a link leads to",
        done,
    )
    s.write("p.toml", f'[tool.t]\ncommand = ["{venv}/bin/tool"]\nfilesystem.readable = ["{venv}"]\n')
    done = toolcage(s, "call", "--policy", s.path("p.toml"), "t")
    check(
        done.returncode == 127 and f'hint: filesystem.readable = ["{prefix}"]' in done.stderr,
        "in the words of a policy",
        done,
    )
    for readable, grants in (([venv], [prefix]), ([], [venv, prefix]), ([venv, prefix], None)):
        s.write(
            "p.toml",
            f'[tool.t]\ncommand = ["{venv}/bin/tool"]\nfilesystem.readable = {json.dumps(readable)}\n',
        )
        done = toolcage(s, "policy", "check", s.path("p.toml"))
        told = f"hint: grant it: filesystem.readable = {json.dumps(grants)}" if grants else "ok"
        check(
            done.returncode == (1 if grants else 0)
            and told in done.stdout + done.stderr
            and ("[command-outside]" in done.stdout + done.stderr) == bool(grants),
            f"policy check: {len(readable)} granted",
            done,
        )
    # nothing is told of what is not granted: not whether it is there
    s.write("outside/name-31", "x", 0o755)
    told = []
    for name in ("name-31", "none-32"):
        s.write("ws/script", f"#!{s.path('outside', name)}\n", 0o755)
        done = toolcage(s, "exec", "--", "./script")
        told.append((done.returncode, done.stderr.replace(name, "NAME")))
        done = toolcage(s, "exec", "--", s.path("outside", name))
        told[-1] += (done.stderr.replace(name, "NAME"),)
    check(told[0] == told[1] and "NAME" in told[0][1], "not whether something is there", told)


def given(s):
    """-e stands in the policy; a secret's value, and one that is the caller's own, does not."""
    clear(s)
    done, again = typed(
        s,
        "-e",
        'FOO=bar "x"',
        "-e",
        "OWN",
        "--",
        "sh",
        "-c",
        "echo $FOO, $OWN",
        name="sh",
        extra={"OWN": "mine-31"},
    )
    tool = tomllib.loads(done.stdout)["tool"]["sh"]
    check(
        tool["env"] == {"pass": ["OWN"], "set": {"FOO": 'bar "x"'}} and "mine-31" not in done.stdout,
        "the environment is learned",
        done.stdout,
    )
    check(again.returncode == 0 and again.stdout == 'bar "x", mine-31\n', "it is there again", again)
    done = toolcage(
        s,
        "learn",
        "-e",
        "API_TOKEN=tweet-31",
        "-e",
        "LD_BIND_NOW=1",
        "-e",
        "HOLE={x}",
        "--",
        "sh",
        "-c",
        "true",
    )
    tool = tomllib.loads(done.stdout)["tool"]["sh"]
    check(
        "tweet-31" not in done.stdout
        and tool["env"] == {"pass": ["API_TOKEN", "HOLE"], "set": {"LD_BIND_NOW": "1"}},
        "a secret is not written down",
        done.stdout,
    )


def places(s):
    """A word that would be the place of an argument: the command is given at each call."""
    clear(s)
    s.write("ws/in", "text-31\n")
    command = ["awk", "{print}", "in"]
    done = toolcage(s, "learn", "--", *command)
    s.write("learned.toml", done.stdout)
    check(
        done.returncode == 0
        and "ran once more" in done.stderr
        and "command" not in tomllib.loads(done.stdout)["tool"]["awk"],
        "no command",
        done,
    )
    again = toolcage(s, "exec", "--policy", s.path("learned.toml"), "--tool", "awk", "--", *command)
    check(again.returncode == 0 and again.stdout == "text-31\n", "as the policy says", again)


def tried(s):
    """What was learned is run once more, nothing of which reaches the host, and what it lacks is said."""
    clear(s)
    s.write("ws/count", "")
    done = toolcage(s, "learn", "--write", ".", "--", "sh", "-c", "echo x >> count")
    check(
        done.returncode == 0 and "ran once more" in done.stderr and s.read("ws/count") == b"x\n",
        "its changes are discarded",
        (done, s.read("ws/count")),
    )
    # it goes where the first run did not: what an overlay shows of the host after that run
    s.write("outside/canary", "tweet-31\n")
    script = f"test -e second && exec cat {s.path('outside/canary')}; echo > second"
    done = toolcage(s, "learn", "--write", ".", "--read", s.path("outside"), "--", "sh", "-c", script)
    lacks = f"refused: read {s.path('outside/canary')}"
    check(
        done.returncode == 1
        and f"toolcage: {lacks}" in done.stderr
        and f"# {lacks}\n" in done.stdout
        and "tweet-31" not in done.stdout + done.stderr,
        "missing parts are reported and are a comment",
        done,
    )
    check("toml" in done.stderr or "by hand" in done.stderr, "the next step is named", done)
    os.remove(s.path("ws/second"))
    done = toolcage(
        s, "learn", "--no-trial", "--write", ".", "--read", s.path("outside"), "--", "sh", "-c", script
    )
    check(
        done.returncode == 0 and "once more" not in done.stderr + done.stdout, "unless it is not tried", done
    )
    done = toolcage(s, "learn", "--write", ".", "--", "mkdir", "made")
    check(
        done.returncode == 0
        and "cannot be run twice" in done.stderr
        and "refused" not in done.stdout.split("[tool")[0].replace("nothing was refused", ""),
        "a command that cannot run twice is reported",
        done,
    )
    done = toolcage(s, "learn", "--", "/nowhere/at-all")
    check(done.returncode == 127 and not done.stdout, "a command that never began teaches nothing", done)


def searched(s):
    """Refused looks at what is not there are no lesson."""
    clear(s)
    secret = s.write("outside/canary", "tweet-31\n")
    done = toolcage(s, "learn", "--", "sh", "-c", f"cat {secret} {s.path('outside/nothing')}; true")
    check(
        f"read {secret}" in done.stdout
        and "nothing" not in done.stdout.split("[tool")[1].split("command")[1].split("\n", 1)[1],
        "only what is there",
        done.stdout,
    )


def readme(s):
    """The lines of the README, one after the other."""
    clear(s)
    s.write("ws/Makefile", "all: out\nout: in\n\tcp in out\n")
    s.write("ws/in", "x")
    with open(
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../README.md"), encoding="utf-8"
    ) as file:
        lines = [line.split("  #")[0].strip() for line in file if line.startswith("    toolcage ")]
    start = next(i for i, line in enumerate(lines) if line.startswith("toolcage learn "))
    end = next(i for i, line in enumerate(lines) if line.startswith("toolcage shell "))
    check(end - start >= 4, "the README shows it", lines)
    if not shutil.which("make", path=s.environ["PATH"]):
        skip("the README's lines", "skipped: make is not installed")
        return
    for line in lines[start:end]:
        os.utime(s.path("ws/in"))
        done = subprocess.run(
            [
                "/bin/sh",
                "-c",
                line.replace("toolcage ", f"{TOOLCAGE} ", 1).replace("&& toolcage ", f"&& {TOOLCAGE} "),
            ],
            cwd=s.ws,
            env=s.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=60 * PATIENCE,
            check=False,
        )
        # nothing was denied to those before, so there is nothing to allow
        check(
            done.returncode == 0
            or (line == "toolcage allow --last" and "was denied anything" in done.stderr),
            line,
            done,
        )


run(
    environments,
    managed,
    toolchains,
    linked_tools,
    unstarted,
    given,
    places,
    tried,
    searched,
    readme,
    programs,
    generalised,
    caged_at_first,
    created,
    beside,
    mounted,
    dangers,
    above,
    planted,
    hostile_names,
)
