# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What the scripts beside this one share: a throw-away tree, calls under a policy made for each, and TAP.

usage of each: SCRIPT TOOLCAGE [self | ordinary]. As root, "ordinary" gives every privilege away first."""

import base64
import contextlib
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from processes import below, helper_of, helpers_of, name_of, runs, start_time  # noqa: F401  for the scripts beside this one
from tap import ORDINARY, become, check, plan, seed, skip, skip_all  # noqa: F401

PYTHON = "/usr/bin/python3"
# A slow machine (an emulator, a sanitizer) says by how much its calls may take longer.
PATIENCE = int(os.environ.get("TOOLCAGE_TEST_PATIENCE", "1"))
# In the script of a call that is begun: here it waits until the call is finished.
PAUSE = "sh -c 'read _' $0"
TOOLCAGE = os.path.abspath(sys.argv[1])
ANY = '{ max = "256MiB", by = "any" }'
numbers = itertools.count(1)


class Skip(Exception):
    """This machine lacks what the case needs."""


def is_root():
    return os.geteuid() == 0


def in_namespaces(script):
    """A wrapper: a shell script in namespaces of its own, then the program."""
    unshare = ["/usr/bin/unshare", "--mount", "--propagation", "private"]
    if not is_root():
        unshare.insert(1, "--user")
        unshare.insert(2, "--map-current-user")
        unshare.append("--keep-caps")
    return [*unshare, "/bin/sh", "-c", script + ' && exec "$@"', "sh"]


def begin():
    """Becomes who was asked for; ends the script where that cannot be or no cage can be built."""
    if len(sys.argv) > 2 and sys.argv[2] == "ordinary":
        become(ORDINARY, TOOLCAGE)
    os.umask(0o022)
    with Scene() as scene:
        answer = scene.call("/bin/true")
        if answer.status != "ok" and (answer.error or {}).get("code") == "unenforceable":
            skip_all(f"no cage on this machine: {answer.error['message']}")
        if answer.status != "ok":
            check(False, "the simplest call", answer)


def run(*parts, brief=()):
    """Each part is one function of a scene; a failure in one does not hide the others. With the word "brief" those of
    brief alone: what differs with who runs it."""
    begin()
    for part in brief if brief and "brief" in sys.argv[3:] else parts:
        with Scene() as scene:
            try:
                part(scene)
            except Skip as reason:
                skip(part.__name__, reason)
            except Exception:  # pylint: disable=broad-except
                check(False, part.__name__, traceback.format_exc())
    for call in kept:  # a state directory that is the scene's own went with it
        subprocess.run([TOOLCAGE, "changes", call, "discard"], capture_output=True, check=False)
    sys.exit(plan())


def in_modes(part, modes=("bind", "auto")):
    """The part once in each mode of the workspace."""

    def in_mode(mode):
        def of_mode(s):
            s.mode = mode
            part(s)

        of_mode.__name__ = f"{part.__name__} in mode {mode}"
        return of_mode

    return [in_mode(mode) for mode in modes]


kept = []  # calls of which changes are held


class Answer:
    """One call's end: the exit code of the program and the result it printed."""

    def __init__(self, code, out, err):
        self.code, self.err = code, err.decode(errors="replace")
        try:
            self.json = json.loads(out) if out.count(b"\n") == 1 else None
        except ValueError:
            self.json = None
        self.raw = out
        if any(
            change.get("held") in ("conflict", "pending approval", "steers the host")
            for change in self.changes or []
        ):
            kept.append(self.call)

    def __getattr__(self, name):
        return (self.json or {}).get(name)

    @property
    def out(self):
        return (self.stdout or {}).get("text", "")

    @property
    def bytes(self):
        return (
            base64.b64decode(self.stdout["base64"])
            if "base64" in self.stdout
            else self.stdout["text"].encode()
        )

    @property
    def kinds(self):
        """What became of each path: why the host did not see the change, else what it was."""
        return {
            change["path"]: change.get("held") or change["kind"]
            for change in self.changes
            if "path" in change
        }

    def denied(self, operation):
        return {denial["target"]: denial for denial in self.denials or [] if denial["operation"] == operation}

    def __str__(self):
        return f"exit code {self.code}\n{self.raw[:3000].decode(errors='replace')}\n{self.err[:1500]}"


TICK = 0.02  # the clock of a file system moves in steps: what is written in the step before a call counts as the call's


class Scene:
    written = 0
    mode = None  # of the workspace, where a call's policy has no other

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
        self.written = time.monotonic()
        return full

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    # ---- calls -------------------------------------------------------------------------------------------

    def policy(self, writable=None, readable=(), denied=(), memory=ANY, network='"none"', more=""):
        def listed(paths):
            return ", ".join(item if item.startswith("{") else json.dumps(item) for item in paths)

        if self.mode and not re.search(r"^workspace\b", more, re.MULTILINE):
            more = f'workspace = {{ mode = "{self.mode}" }}\n{more}'
        more = re.sub(r'(?<=\btimeout = ")\d+', lambda number: str(int(number[0]) * PATIENCE), more)
        self.policies += 1
        return self.write(
            f"policy-{self.policies}.toml",
            f"""
[tool.t]
network = {network}
filesystem.readable = [{listed(readable)}]
filesystem.writable = [{listed([self.ws] if writable is None else writable)}]
filesystem.denied = [{listed(denied)}]
{f"memory = {memory}" if memory else ""}
{more}
""",
        )

    def toolcage(self, *words):
        """Runs another verb of the program, as the caller of calls does; its output is text."""
        return subprocess.run(
            [TOOLCAGE, *words],
            env=self.environ,
            cwd=self.ws,
            capture_output=True,
            text=True,
            timeout=60 * PATIENCE,
            check=False,
        )

    def own_copy(self):
        """A copy of the program that belongs to the caller, for namespaces in which root's files are nobody's."""
        build = os.path.dirname(os.path.realpath(TOOLCAGE))
        if os.path.exists(self.path("own")):
            return self.path("own/src/toolcage")
        self.directory("own/src")
        for name in [
            "toolcage",
            "toolcage-helper",
            "toolcage-egress",
            *(each for each in os.listdir(build) if each.startswith("libtoolcage.so")),
        ]:
            if os.path.isfile(os.path.join(build, name)):
                shutil.copy(os.path.join(build, name), self.path("own/src", name))
        return self.path("own/src/toolcage")

    def argv(self, *command, flags=(), program=TOOLCAGE, **grant):
        return [
            program,
            "exec",
            "--policy",
            self.policy(**grant),
            "--tool",
            "t",
            "--json",
            *flags,
            "--",
            *command,
        ]

    def popen(self, *command, stdin=subprocess.DEVNULL, wrap=(), cwd=None, **grant):
        time.sleep(max(0, self.written + TICK - time.monotonic()))
        return subprocess.Popen(
            [*wrap, *self.argv(*command, **grant)],
            env=self.environ,
            cwd=cwd or self.ws,
            stdin=stdin,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def call(self, *command, stdin=None, wait=60 * PATIENCE, **grant):
        process = self.popen(
            *command, stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE, **grant
        )
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

    def begin(self, script, **grant):
        """A call whose script has come to its PAUSE."""
        name = f"{os.path.basename(self.root)}-{next(numbers)}"
        process = self.popen("/bin/sh", "-c", script, name, stdin=subprocess.PIPE, **grant)
        until(lambda: runs("sh", "-c", "read _", name) or process.poll() is not None, 20)
        return process

    # ---- watching ----------------------------------------------------------------------------------------

    def works(self, clause):
        """Does this machine hold a clause for this user? Raises Skip with its reason where not."""
        done = subprocess.run(
            [TOOLCAGE, "doctor", "--json"],
            env=self.environ,
            cwd=self.ws,
            capture_output=True,
            timeout=30 * PATIENCE,
            check=False,
        )
        rows = {row["clause"]: row for row in json.loads(done.stdout)["clauses"]}
        if not rows[clause]["works"]:
            raise Skip(f"skipped: {clause.rsplit('.', 1)[-1]}: {rows[clause]['reason']}")
        return rows[clause]["mechanism"]


def finish(process):
    """The answer of a call; one that was begun goes on from its PAUSE."""
    out, err = process.communicate(b"" if process.stdin else None, 60 * PATIENCE)
    return Answer(process.returncode, out, err)


def until(condition, seconds=10):
    """What it came to by the look that found it; another look might find something else."""
    deadline = time.monotonic() + seconds * PATIENCE
    while time.monotonic() < deadline:
        found = condition()
        if found:
            return found
        time.sleep(0.02)
    return condition()


def end(process, number=signal.SIGKILL):
    with contextlib.suppress(ProcessLookupError):
        os.kill(process if isinstance(process, int) else process.pid, number)
