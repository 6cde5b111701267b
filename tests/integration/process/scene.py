# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What the scripts beside this one share: a throw-away tree, calls under a policy made for each, and TAP.

usage of each: SCRIPT TOOLCAGE [self | ordinary]. As root, "ordinary" gives every privilege away first."""
import base64
import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True
ORDINARY = 65533  # a uid that owns nothing here
PYTHON = "/usr/bin/python3"
TOOLCAGE = os.path.abspath(sys.argv[1])
ANY = '{ max = "256MiB", by = "any" }'
seen, bad = 0, 0


class Skip(Exception):
    """This machine lacks what the case needs."""


def check(good, name, detail=""):
    global seen, bad
    seen += 1
    bad += not good
    if not good:
        for line in str(detail)[:4000].splitlines():
            print(f"# {line}", flush=True)
    print(f"{'ok' if good else 'not ok'} {seen} - {name}", flush=True)
    return good


def skip(name, reason):
    global seen
    seen += 1
    print(f"ok {seen} - {name} # SKIP {' '.join(str(reason).split())}", flush=True)


def skip_all(reason):
    print(f"1..0 # SKIP {reason}")
    sys.exit(0)


def is_root():
    return os.geteuid() == 0


def begin():
    """Becomes who was asked for; ends the script where that cannot be or no cage can be built."""
    if len(sys.argv) > 2 and sys.argv[2] == "ordinary":
        if not is_root():
            skip_all("running as an ordinary user already: …-self is that test")
        os.setgroups([])
        os.setresgid(ORDINARY, ORDINARY, ORDINARY)
        os.setresuid(ORDINARY, ORDINARY, ORDINARY)
        if not os.access(TOOLCAGE, os.X_OK):
            skip_all("an ordinary user cannot reach the build directory")
    os.umask(0o022)
    with Scene() as scene:
        answer = scene.call("/bin/true")
        if answer.status != "ok" and (answer.error or {}).get("code") == "unenforceable":
            skip_all(f"no cage on this machine: {answer.error['message']}")
        if answer.status != "ok":
            check(False, "the simplest call", answer)


def run(*parts):
    """Each part is one function of a scene; a failure in one does not hide the others."""
    begin()
    for part in parts:
        with Scene() as scene:
            try:
                part(scene)
            except Skip as reason:
                skip(part.__name__, reason)
            except Exception:  # pylint: disable=broad-except
                check(False, part.__name__, traceback.format_exc())
    print(f"1..{seen}")
    sys.exit(1 if bad or not seen else 0)


class Answer:
    """One call's end: the exit code of the program and the result it printed."""

    def __init__(self, code, out, err):
        self.code, self.err = code, err.decode(errors="replace")
        try:
            self.json = json.loads(out) if out.count(b"\n") == 1 else None
        except ValueError:
            self.json = None
        self.raw = out

    def __getattr__(self, name):
        return (self.json or {}).get(name)

    @property
    def out(self):
        return (self.stdout or {}).get("text", "")

    @property
    def bytes(self):
        return base64.b64decode(self.stdout["base64"]) if "base64" in self.stdout else self.stdout["text"].encode()

    @property
    def kinds(self):
        return {change["path"]: change["kind"] for change in self.changes if "path" in change}

    def denied(self, operation):
        return {denial["target"]: denial for denial in self.denials or [] if denial["operation"] == operation}

    def __str__(self):
        return f"exit code {self.code}\n{self.raw[:3000].decode(errors='replace')}\n{self.err[:1500]}"


class Scene:
    def __init__(self):
        # not in /tmp, which is the cage's own
        self.root = tempfile.mkdtemp(prefix="toolcage-process-", dir="/var/tmp")
        os.chmod(self.root, 0o755)
        self.ws, self.data = self.directory("ws"), self.directory("data")
        self.directory("home")
        self.environ = {"HOME": self.path("home"), "PATH": "/usr/bin:/bin", "LC_ALL": "C"}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
            if name in os.environ:
                self.environ[name] = os.environ[name]
        self.ends = contextlib.ExitStack()
        self.policies = 0

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ends.close()
        shutil.rmtree(self.root, ignore_errors=True)

    def path(self, *names):
        return os.path.join(self.root, *names)

    def directory(self, *names):
        os.makedirs(self.path(*names), 0o755, exist_ok=True)
        return self.path(*names)

    def write(self, name, text, mode=0o644):
        full = self.path(name)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as out:
            out.write(text if isinstance(text, bytes) else text.encode())
        os.chmod(full, mode)
        return full

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    # ---- calls -------------------------------------------------------------------------------------------

    def policy(self, writable=None, readable=(), denied=(), memory=ANY, more=""):
        def listed(paths):
            return ", ".join(item if item.startswith("{") else json.dumps(item) for item in paths)

        self.policies += 1
        return self.write(f"policy-{self.policies}.toml", f"""
[tool.t]
network = "none"
filesystem.readable = [{listed(readable)}]
filesystem.writable = [{listed([self.ws] if writable is None else writable)}]
filesystem.denied = [{listed(denied)}]
{f"memory = {memory}" if memory else ""}
{more}
""")

    def own_copy(self):
        """A copy of the program that belongs to the caller, for namespaces in which root's files are nobody's."""
        build = os.path.dirname(os.path.dirname(os.path.realpath(TOOLCAGE)))
        if os.path.exists(self.path("own")):
            return self.path("own/src/cli/toolcage")
        self.directory("own/src/cli")
        for name in ["cli/toolcage", "toolcage-helper", *(each for each in os.listdir(build) if each.startswith("libtoolcage.so"))]:
            if os.path.isfile(os.path.join(build, name)):
                shutil.copy(os.path.join(build, name), self.path("own/src", name))
        return self.path("own/src/cli/toolcage")

    def argv(self, *command, flags=(), program=TOOLCAGE, **grant):
        return [program, "exec", "--policy", self.policy(**grant), "--tool", "t", "--json", *flags, "--", *command]

    def popen(self, *command, stdin=subprocess.DEVNULL, wrap=(), cwd=None, **grant):
        return subprocess.Popen([*wrap, *self.argv(*command, **grant)], env=self.environ, cwd=cwd or self.ws, stdin=stdin,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def call(self, *command, stdin=None, wait=60, **grant):
        process = self.popen(*command, stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE, **grant)
        try:
            out, err = process.communicate(stdin, wait)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
            err += b"\n(killed by the test: no end)"
        return Answer(process.returncode, out, err)

    def shell(self, script, **grant):
        return self.call("/bin/sh", "-c", script, **grant)

    def python(self, code, *args, **grant):
        return self.call(PYTHON, "-I", "-c", code, *args, **grant)

    # ---- watching ----------------------------------------------------------------------------------------

    def works(self, clause):
        """Does this machine hold a clause for this user? Raises Skip with its reason where not."""
        done = subprocess.run([TOOLCAGE, "doctor", "--json"], env=self.environ, cwd=self.ws, capture_output=True,
                              timeout=30, check=False)
        rows = {row["clause"]: row for row in json.loads(done.stdout)["clauses"]}
        if not rows[clause]["works"]:
            raise Skip(f"skipped: {clause.rsplit('.', 1)[-1]}: {rows[clause]['reason']}")
        return rows[clause]["mechanism"]


def below(pid):
    """Pids of a process's descendants, as seen now."""
    children = {}
    for entry in os.listdir("/proc"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            with open(f"/proc/{int(entry)}/stat", encoding="utf-8", errors="replace") as file:
                children.setdefault(int(file.read().rsplit(")", 1)[1].split()[1]), []).append(int(entry))
    found, todo = [], [pid]
    while todo:
        new = children.get(todo.pop(), [])
        found += new
        todo += new
    return found


def start_time(pid):
    """What tells a process from a later one of the same pid; None: gone, or dead and not yet reaped."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            fields = file.read().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return None if fields[0] in "ZX" else fields[19]


def until(condition, seconds=10):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return bool(condition())


def end(process, number=signal.SIGKILL):
    with contextlib.suppress(ProcessLookupError):
        os.kill(process if isinstance(process, int) else process.pid, number)
