#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Install phases: what the operator installs is what the tool's calls see, whole or not at all, and nobody else changes it."""

import contextlib
import fcntl
import json
import os
import signal
import subprocess
import zipfile

from scene import PATIENCE, PYTHON, TOOLCAGE, Answer, Skip, check, helper_of, run, until


def toolcage(s, *args, stdin=None):
    done = subprocess.run(
        [TOOLCAGE, *args],
        env=s.environ,
        cwd=s.ws,
        capture_output=True,
        input=stdin,
        timeout=120 * PATIENCE,
        check=False,
    )
    return Answer(done.returncode, done.stdout, done.stderr)


def store(s):
    base = "/var/lib/toolcage" if os.geteuid() == 0 else s.path("home/.local/state/toolcage")
    return os.path.join(base, "setup")


def begun(s, running):
    """Installs that were begun: those that run, or what is left of those that were cut. Root's store is that of other tests, too."""
    names = set()
    for name in os.listdir(store(s)) if os.path.isdir(store(s)) else []:
        with contextlib.suppress(OSError):
            fd = os.open(os.path.join(store(s), name), os.O_RDONLY) if name.startswith("new-") else -1
            try:
                fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
                names |= set() if running else {name}
            except BlockingIOError:
                names |= {name} if running else set()
            finally:
                os.close(fd)
    return names


def cleared(s):
    return until(lambda: not begun(s, False), 3)


class Tool:
    """A tool x with an install phase, in a policy of its own; its calls run any shell script."""

    def __init__(
        self, s, script="echo one > /opt/deps/f", more="", install="", into="/opt/deps", name="x", where="p"
    ):
        self.s, self.name = s, name
        s.directory(where)
        self.file = s.write(
            f"{where}/toolcage.toml",
            f"""
[tool.{name}]
{more}
[tool.{name}.setup]
command = ["/bin/sh", "-c", {json.dumps(f"{script}{chr(10)}# {os.getpid()}")}]
into = "{into}"
{install}
""",
        )
        s.ends.callback(self.setup, "--remove")

    def setup(self, *flags):
        return toolcage(self.s, "setup", "--policy", self.file, *flags)

    def sh(self, script, *flags):
        return toolcage(
            self.s,
            "exec",
            "--policy",
            self.file,
            "--tool",
            self.name,
            "--json",
            *flags,
            "--",
            "/bin/sh",
            "-c",
            script,
        )

    def row(self):
        return self.setup("--list", "--json").json["setups"][0]

    def tree(self):
        return os.path.join(store(self.s), self.row()["digest"].split(":")[1], "tree")


def wheel(s):
    path = s.path("wheels", "toolcagepkg-1.0-py3-none-any.whl")
    s.directory("wheels")
    info = "toolcagepkg-1.0.dist-info"
    with zipfile.ZipFile(path, "w") as out:
        out.writestr("toolcagepkg/__init__.py", "word = 'installed'\n")
        out.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: toolcagepkg\nVersion: 1.0\n")
        out.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        out.writestr(
            f"{info}/RECORD",
            f"toolcagepkg/__init__.py,,\n{info}/METADATA,,\n{info}/WHEEL,,\n{info}/RECORD,,\n",
        )
    os.chmod(path, 0o644)


def real_packages(s):
    if subprocess.run([PYTHON, "-m", "pip", "--version"], capture_output=True, check=False).returncode:
        raise Skip("skipped: python3 has no pip")
    wheel(s)
    s.write("requirements.txt", "toolcagepkg==1.0\n")
    policy = s.write(
        "toolcage.toml",
        f"""
[tool.python]
command = ["{PYTHON}", "-c", "{{code}}"]
arguments.code = {{ type = "string" }}
env.set = {{ PYTHONPATH = "/opt/deps" }}

[tool.python.setup]
command = ["{PYTHON}", "-m", "pip", "install", "--no-index", "--find-links", "/wheels", "--target", "/opt/deps", "-r", "requirements.txt"]
into = "/opt/deps"
inputs = ["requirements.txt"]
filesystem.readable = [{{ path = "/wheels", from = "wheels" }}]
timeout = "{100 * PATIENCE}s"
""",
    )
    s.ends.callback(toolcage, s, "setup", "--policy", policy, "--remove")
    code = json.dumps({"code": "import toolcagepkg; print(toolcagepkg.word, toolcagepkg.__file__)"})
    before = toolcage(s, "call", "--policy", policy, "--json", "python", code)
    check(
        before.code == 126
        and before.status == "denied"
        and "toolcage setup --tool python" in before.error["hint"],
        "without its packages the tool is refused, and who can help is told",
        before,
    )
    done = toolcage(s, "setup", "--policy", policy)
    check(done.code == 0 and "python is ready" in done.err, "pip installs from a local wheel", done)
    after = toolcage(s, "call", "--policy", policy, "--json", "python", code)
    check(after.out == "installed /opt/deps/toolcagepkg/__init__.py\n", "and the tool imports it", after)


def readiness(s):
    s.write("p/in.txt", "a")
    x = Tool(s, "cat in.txt > /opt/deps/f; pwd; ls -A", install='inputs = ["in.txt"]')
    check(x.sh("true").code == 126 and not os.path.exists(x.tree()), "a call never installs", "")
    check(
        x.row()["ready"] is False and x.row()["into"] == "/opt/deps" and x.row()["tool"] == "x",
        "the list says that nothing is there",
        x.row(),
    )
    first = x.setup("--json")
    check(
        first.code == 0
        and first.tool == "x.setup"
        and first.out == "/setup\nin.txt\n"
        and first.status == "ok",
        "it starts where its inputs are, and sees no more",
        first,
    )
    check(x.sh("cat /opt/deps/f").out == "a" and x.row()["ready"], "the tool sees what was installed", "")
    again = x.setup()
    check(
        again.code == 0 and "installing" not in again.err and "x is ready" in again.err,
        "a finished install is not repeated",
        again,
    )
    inode = os.stat(x.tree()).st_ino
    check(
        x.setup("--force").code == 0
        and os.stat(x.tree()).st_ino != inode
        and x.sh("cat /opt/deps/f").out == "a",
        "but with --force",
        "",
    )
    s.write("p/in.txt", "b")
    changed = x.sh("true")
    check(
        changed.code == 126 and "changed since" in changed.error["message"] and not x.row()["ready"],
        "another input is another install",
        changed,
    )
    s.write("p/in.txt", "a")
    check(x.sh("cat /opt/deps/f").out == "a", "and the same one the same", "")
    s.write("q/in.txt", "a")
    there = Tool(s, "cat in.txt > /opt/deps/f; pwd; ls -A", install='inputs = ["in.txt"]', where="q")
    check(there.row()["digest"] == x.row()["digest"], "wherever the policy lies", there.row())
    other = Tool(
        s,
        "cat in.txt > /opt/deps/f; pwd; ls -A",
        install='inputs = ["in.txt"]\nenv.set = { A = "1" }',
        where="q",
    )
    check(other.row()["digest"] != x.row()["digest"], "another clause is another install", other.row())
    explained = json.loads(toolcage(s, "policy", "explain", "--policy", x.file, "--tool", "x", "--json").raw)
    check(
        explained["setup"]
        == {
            "key": "tool.x.setup",
            "line": explained["setup"]["line"],
            "into": "/opt/deps",
            "digest": x.row()["digest"],
            "ready": True,
        },
        "explain shows it",
        explained["setup"],
    )
    check(
        x.setup("--remove").code == 0 and x.sh("true").code == 126 and x.row()["ready"] is False,
        "a removed install is gone",
        "",
    )


def inputs(s):
    s.write("secret", "secret")
    x = Tool(s, install='inputs = ["in.txt"]')
    check(
        x.sh("true").code == 126 and "in.txt" in (x.setup().err or "") and "problem" in x.row(),
        "a missing input is named",
        x.row(),
    )
    os.symlink(s.path("secret"), s.path("p/in.txt"))
    check(x.setup().code == 126 and "problem" in x.row(), "an input is never a link", x.setup())
    os.unlink(s.path("p/in.txt"))
    os.mkfifo(s.path("p/in.txt"))
    check(x.setup().code == 126, "nor a fifo, and nobody waits for one", "")
    os.unlink(s.path("p/in.txt"))
    s.write("p/in.txt", "")
    os.truncate(s.path("p/in.txt"), (64 << 20) + 1)
    check(x.setup().code == 126, "nor larger than 64 MiB", "")
    s.write("p/in.txt", "x")
    written = Tool(s, install='inputs = ["in.txt"]', more=f'filesystem.writable = ["{s.path("p")}"]')
    refused = written.setup()
    check(
        refused.code == 126 and "a tool may have written the input" in refused.err,
        "an input that a tool can write is refused",
        refused,
    )
    for place in (s.path("p"), s.path("p/deep/er")):
        s.directory("p/deep/er")
        for reads in (f'["{s.path("p/deep")}"]', f'[{{ path = "/wheels", from = "{s.path("p/deep")}" }}]'):
            reader = Tool(
                s, install=f"filesystem.readable = {reads}", more=f'filesystem.writable = ["{place}"]'
            )
            refused = reader.setup()
            check(
                refused.code == 126
                and "which the install phase of x reads, may have been written by a tool" in refused.err
                and "hint: " in refused.err,
                f"nor does it by another file that the install reads: {place}, {reads}",
                refused,
            )
    s.directory("apart")
    reader = Tool(
        s,
        "true",
        install=f'filesystem.readable = ["{s.path("apart")}"]',
        more=f'filesystem.writable = ["{s.path("p/deep")}"]',
    )
    check(reader.setup().code == 0, "an input that no tool writes is read", reader.setup())
    inherits = s.write(
        "p/defaults.toml",
        f'[defaults]\nfilesystem.writable = ["{s.path("p/deep")}"]\n'
        + open(reader.file, encoding="utf-8").read(),
    )
    check(
        toolcage(s, "setup", "--policy", inherits).code == 0,
        "grants of the defaults stop no install",
        "",
    )
    reader.setup("--remove")
    for name in ("../secret", "/etc/passwd", "a//b", "./a", "~/x"):
        bad = Tool(s, install=f'inputs = ["{name}"]', where="bad")
        check(
            bad.setup("--list").code == 125
            and "below the policy file's directory" in bad.setup("--list").err,
            f"no input is {name}",
            bad.setup("--list"),
        )


def extended(s):
    """An install phase that another file says starts where that file's inputs are, and tells of that file."""
    s.write("p/in.txt", "a")
    base = Tool(s, "cat in.txt > /opt/deps/f", install='inputs = ["in.txt"]')
    base.setup("--remove")
    s.directory("q")
    policy = s.write("q/own.toml", f'extends = "{base.file}"\n[tool.x]\npids = 40\n')
    listed = toolcage(s, "setup", "--list", "--json", "--policy", policy).json["setups"][0]
    check(
        listed["file"] == base.file and listed["line"] == 4 and "problem" not in listed,
        "the list names the file that says it",
        listed,
    )
    missing = toolcage(s, "exec", "--policy", policy, "--tool", "x", "--json", "--", "true")
    check(
        missing.code == 126
        and missing.error["location"]["file"] == base.file
        and missing.error["location"]["line"] == 4,
        "so does a call without it",
        missing.error,
    )
    check(toolcage(s, "setup", "--policy", policy).code == 0, "it is installed from that file's inputs", "")
    check(
        toolcage(s, "exec", "--policy", policy, "--tool", "x", "--json", "--", "cat", "/opt/deps/f").out
        == "a",
        "and the tool has it",
        "",
    )
    toolcage(s, "setup", "--policy", policy, "--remove")


def places(s):
    for into in (
        "/tmp/x",
        "/workspace/x",
        "/proc/x",
        "/dev/shm/x",
        "/usr/x",
        "/",
        "/etc/x",
        "/setup/x",
        "deps",
    ):
        bad = Tool(s, into=into, where="bad")
        check(bad.setup("--list").code == 125, f"nothing is installed into {into}", bad.setup("--list"))
    for line, word in (
        ('filesystem.writable = ["/data"]', "writes only to `into`"),
        ('stdin = "x"', "unknown key"),
        ('setup = { into = "/x" }', "unknown key"),
        ('secrets.A = { from = "env:A", hosts = ["a.example"], header = "B: {secret}" }', "unknown key"),
        ('arguments.a = { type = "string" }', "unknown key"),
    ):
        bad = Tool(s, install=line, where="bad")
        check(
            bad.setup("--list").code == 125 and word in bad.setup("--list").err,
            f"not in an install phase: {line}",
            bad.setup("--list"),
        )
    s.write("data/f", "host's")
    x = Tool(s)
    check(x.setup().code == 0, "x is installed", "")
    meets = x.sh("cat /opt/deps/f", "--read", f"/opt/deps={s.data}")
    check(
        meets.code == 126
        and (meets.error["code"], meets.error["stage"], meets.error["subject"])
        == ("denied", "policy", "tool.x.filesystem"),
        "nothing else stands where it stands",
        meets,
    )
    granted = Tool(s, more=f'filesystem.readable = [{{ path = "/opt", from = "{s.data}" }}]')
    check(granted.sh("cat /opt/deps/f").code == 126, "nor around it", granted.sh("true"))


def nobody_writes(s):
    x = Tool(s, "mkdir /opt/deps/d; echo one > /opt/deps/d/f; chmod 777 /opt/deps/d /opt/deps/d/f")
    check(x.setup().code == 0, "a tree of which everything may be written", "")
    tried = x.sh(
        "cd /opt/deps; echo two > d/f; echo two > new; rm -f d/f; mv d e; chmod 600 d/f; touch d/f; mount -o remount,rw /opt/deps; ln d/f g; "
        "for p in /proc/self/root /proc/1/root; do echo two > $p/opt/deps/d/f; done; cat d/f; ls /opt/deps; true"
    )
    check(tried.out == "one\nd\n", "the tool cannot change it", tried)
    check(
        s.read(os.path.join(x.tree(), "d/f")) == b"one\n" and os.listdir(x.tree()) == ["d"],
        "and on the host it is as it was",
        "",
    )
    with open(os.path.join(x.tree(), "d/f"), "ab") as file:  # the same by hand
        file.write(b"two\n")
    check(x.sh("cat /opt/deps/d/f").out == "one\ntwo\n", "(without the cage the same user writes there)", "")
    above = os.path.dirname(os.path.dirname(store(s)))
    y = Tool(
        s,
        "echo y > /opt/deps/f",
        name="y",
        where="y",
        more=f'filesystem.readable = ["{above}"]\n'
        if os.geteuid()
        else 'filesystem.readable = ["/var/lib"]\n',
    )
    check(y.setup().code == 0, "another tool, which reads all around", "")
    seen = y.sh(f"ls -d {x.tree()} {store(s)}; cat {x.tree()}/d/f; cat /opt/deps/f; true")
    check(seen.out == "y\n", "sees its own and no other's", seen)
    named = Tool(s, name="z", where="z", more=f'filesystem.readable = ["{x.tree()}"]')
    check(
        named.setup().code == 126 or named.sh("true").code == 126,
        "nor can a policy name it",
        named.sh("true"),
    )


def hostile(s):
    secret = s.write("secret", "secret of the host\n")
    s.write("home/.secret", "x")
    up = "../" * 20
    x = Tool(
        s,
        f"""cd /opt/deps
ln -s {secret} absolute; ln -s {up}{secret[1:]} upwards; ln -s /etc/shadow shadow; ln -s /proc/1/root proc; ln -s . self; ln -s /opt/deps/self/self loop
cp /bin/sh sh; chmod 6755 sh; cp sh g; chmod 2755 g; mkdir d; chmod 2777 d; mkfifo fifo; mknod null c 1 3; mknod disk b 8 0
python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("/opt/deps/socket")'
ln sh hard; echo x > .crates.toml; mkdir .git; echo x > .git/config; echo kept > f; exit 0""",
    )
    done = x.setup()
    check(done.code == 0, "an install of all that is bad", done)
    tree = x.tree()
    modes = {name: os.lstat(os.path.join(tree, name)).st_mode for name in os.listdir(tree)}
    kinds = {mode & 0o170000 for mode in modes.values()}
    check(kinds <= {0o100000, 0o040000, 0o120000}, "no device, fifo or socket is kept", modes)
    files = [mode for mode in modes.values() if mode & 0o170000 == 0o100000]
    check(
        not any(mode & 0o7000 for mode in files) and {"sh", "g"} <= modes.keys(), "and no set-id file", modes
    )
    check(
        ".crates.toml" in modes and not os.path.exists(os.path.join(tree, ".git/config")),
        "names with a dot are an installer's own, and git's configuration is not kept",
        modes,
    )
    check(
        s.read(os.path.join(tree, "absolute")) == b"secret of the host\n",
        "(on the host its links lead to the host's files)",
        "",
    )
    seen = x.sh(
        "cd /opt/deps; cat absolute upwards shadow proc/etc/shadow loop/absolute f; ./sh -p -c 'id -u; exit'; id -u; true"
    )
    check("secret" not in seen.out and seen.out.startswith("kept\n"), "in the cage they lead nowhere", seen)
    ids = seen.out.split()[1:]
    check(len(ids) == 2 and ids[0] == ids[1], "installed set-id programs run as their caller", seen.out)


def failures(s):
    for word, script, install, code in (
        ("fails", "echo half > /opt/deps/f; exit 3", "", 3),
        (
            "takes too long",
            "echo half > /opt/deps/f; sleep 60",
            f'timeout = "{PATIENCE}s"\ngrace = "0ms"',
            124,
        ),
        ("fills its disk", "dd if=/dev/zero of=/opt/deps/f bs=64k", 'disk = "1MiB"', 1),
        ("dies", "echo half > /opt/deps/f; kill -9 $$", "", 137),
    ):
        x = Tool(s, script, install=install, where="bad")
        done = x.setup()
        check(
            done.code == code and "nothing was stored" in done.err and "has an install phase" not in done.err,
            f"an install that {word} says so",
            done,
        )
        check(
            x.sh("true").code == 126 and not os.path.exists(x.tree()) and cleared(s),
            f"and of one that {word} nothing is kept",
            begun(s, False),
        )
    x = Tool(s, "echo half > /opt/deps/f; sleep 300", install='timeout = "400s"')
    process = subprocess.Popen(
        [TOOLCAGE, "setup", "--policy", x.file],
        env=s.environ,
        cwd=s.ws,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    check(until(lambda: begun(s, True) and helper_of(process.pid), 20), "an install runs", "")
    process.send_signal(signal.SIGKILL)
    process.wait()
    check(x.sh("true").code == 126, "of one whose host is killed nothing is seen", "")
    check(
        Tool(s, where="next").setup().code == 0 and cleared(s),
        "and the next install clears it away",
        begun(s, False),
    )


def sizes(s):
    x = Tool(
        s,
        "head -c 3000000 /dev/zero | tr '\\0' x > /opt/deps/f; mkdir /opt/deps/d; ln -s /etc /opt/deps/d/etc",
        where="large",
    )
    check(x.row()["bytes"] is None, "an absent install has no size", x.row())
    x.setup()
    row = x.row()
    check(
        3000000 <= row["bytes"] < 3300000,
        "an install has the size of its own files, without link targets",
        row,
    )
    listed = x.setup("--list")
    check(b" 3 MiB " in listed.raw, "--list shows it", listed.raw)
    Tool(s, "echo small > /opt/deps/f", where="small").setup()
    listed, kept = x.setup("--list"), x.setup("--list", "--json").json["kept"]
    check(
        "more of other policies, or from before a change: " in listed.err and "--remove --all" in listed.err,
        "and that there is more of others",
        listed.err,
    )
    check(kept["count"] >= 2 and kept["bytes"] > row["bytes"], "--json sums up all", kept)


def leftovers(s):
    """doctor --clean takes what was cut, and nothing that is kept or runs."""
    kept, cut = (
        Tool(s, where="kept"),
        Tool(s, "echo half > /opt/deps/f; sleep 300", install='timeout = "400s"', where="cut"),
    )
    slow = Tool(s, "echo half > /opt/deps/f; sleep 9; echo whole > /opt/deps/f", where="slow")
    kept.setup()

    def start(tool):
        return subprocess.Popen(
            [TOOLCAGE, "setup", "--policy", tool.file],
            env=s.environ,
            cwd=s.ws,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    others = begun(s, True)
    slow_one = start(slow)
    check(until(lambda: begun(s, True) - others, 20), "an install runs", "")
    runs = begun(s, True) - others
    process = start(cut)
    check(
        until(lambda: begun(s, True) - others - runs and helper_of(process.pid), 20), "another one, too", ""
    )
    half = begun(s, True) - others - runs
    process.send_signal(signal.SIGKILL)
    process.wait()
    check(until(lambda: half & begun(s, False), 20), "killed, it leaves its half", (half, begun(s, False)))
    cleaned = toolcage(s, "doctor", "--clean")
    check(
        cleaned.code == 0 and cleaned.raw.startswith(b"removed ") and not half & set(os.listdir(store(s))),
        "doctor --clean takes the half",
        cleaned,
    )
    check(runs <= begun(s, True), "and leaves the one that runs", os.listdir(store(s)))
    check(
        slow_one.wait(60 * PATIENCE) == 0 and slow.sh("cat /opt/deps/f").out == "whole\n",
        "the slow install finishes",
        "",
    )
    check(
        kept.row()["ready"] and kept.sh("cat /opt/deps/f").out == "one\n",
        "a kept install stays",
        kept.row(),
    )
    check(not cut.row()["ready"], "the one that was cut is not there", cut.row())


def together(s):
    x = Tool(s, "echo $$ > /opt/deps/f; sleep 1; echo end >> /opt/deps/f")
    argv = [TOOLCAGE, "setup", "--policy", x.file]
    both = [
        subprocess.Popen(argv, env=s.environ, cwd=s.ws, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for _ in range(3)
    ]
    codes = [process.wait(60 * PATIENCE) for process in both]
    check(codes == [0, 0, 0], "of installs at once none fails", codes)
    check(
        x.sh("grep -c end /opt/deps/f").out == "1\n" and cleared(s),
        "one is kept whole, and nothing of the others",
        begun(s, False),
    )


def not_for_models(s):
    x = Tool(s, "echo ran > /opt/deps/f", more='command = ["true"]')
    listed = subprocess.run(
        [TOOLCAGE, "tools", "--policy", x.file, "--format", "openai"],
        env=s.environ,
        capture_output=True,
        timeout=60 * PATIENCE,
        check=False,
    )
    check(
        [tool["function"]["name"] for tool in json.loads(listed.stdout)] == ["x"],
        "it is in no list of tools",
        listed,
    )
    for name in ("x.setup", "tool.x.setup", "x/setup", "x..setup"):
        refused = toolcage(s, "call", "--policy", x.file, name, "{}")
        check(
            refused.code in (125, 126, 127) and "no tool" in refused.err, f"no call is named {name}", refused
        )
    refused = toolcage(s, "exec", "--policy", x.file, "--tool", "x.setup", "true")
    check(
        refused.code == 125 and "has no tool x.setup" in refused.err,
        "and no command runs under its grant",
        refused,
    )
    lines = [
        {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "initialize",
            "params": {
                "protocolVersion": "2025-06-18",
                "capabilities": {},
                "clientInfo": {"name": "t", "version": "1"},
            },
        },
        {"jsonrpc": "2.0", "method": "notifications/initialized"},
        {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "x.setup", "arguments": {}}},
    ]
    spoken = toolcage(
        s, "mcp", "--policy", x.file, stdin="".join(json.dumps(line) + "\n" for line in lines).encode()
    )
    answers = {each.get("id"): each for each in map(json.loads, spoken.raw.decode().splitlines())}
    check("error" in answers.get(2, {}), "nor through the MCP server", spoken)
    check(not x.row()["ready"], "and nothing was installed", x.row())


def asks(s):
    x = Tool(s)
    for flags in (
        ("--list", "--remove"),
        ("--all",),
        ("--remove", "--all", "--tool", "x"),
        ("--remove", "--force"),
        ("--tool", "nobody"),
        ("--tool", "x.setup"),
    ):
        refused = x.setup(*flags)
        check(refused.code in (125, 127) and "hint:" in refused.err, f"not so: {' '.join(flags)}", refused)
    plain = s.write("plain/toolcage.toml", "[tool.x]\n")
    check(
        "no tool of the policy has an install phase" in toolcage(s, "setup", "--policy", plain).err,
        "a policy without any says so",
        "",
    )
    if os.geteuid():  # root's store is that of other tests, too
        x.setup()
        removed = toolcage(s, "setup", "--remove", "--all")
        check(
            removed.code == 0 and "removed: " in removed.err and not x.row()["ready"],
            "--remove --all needs no policy",
            removed,
        )


run(
    real_packages,
    readiness,
    inputs,
    extended,
    places,
    nobody_writes,
    hostile,
    failures,
    sizes,
    leftovers,
    together,
    not_for_models,
    asks,
)
