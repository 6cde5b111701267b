# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""One attack's stage: a throw-away tree with a canary outside of what is granted, a policy with one tool in
a cage and one outside of any, and listeners, victims and the like that watch from outside."""

import base64
import contextlib
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import time

from processes import below, helpers_of, runs

# A slow machine (an emulator, a sanitizer) says by how much its calls may take longer.
PATIENCE = int(os.environ.get("TOOLCAGE_TEST_PATIENCE", "1"))
MINUTE = 60 * PATIENCE
CAGED, FREE, DIRECT = "caged", "free", "direct"
POLICY = """
[tool.{name}]
backend = "{backend}"
network = {network}
filesystem = {{ readable = [{readable}], writable = [{writable}], denied = [{denied}] }}
memory = {memory}
pids = 64
timeout = "{patience}s"
{more}
"""
# Where no namespaces can be made: a policy that gives up what Landlock and seccomp alone do not hold.
WITHOUT = '\nwithout = ["proc.own", "proc.survivors", "tmp.private", "fs.stat", "fs.denied", "fs.steering", "limit.pids"]\n'


class Refused(Exception):
    """The call never ran: toolcage refused it."""


class Missing(Exception):
    """What the attack needs is not there."""


class Scene:
    apart = 'workspace = { mode = "copy" }'  # what the tool changes stays with it until the end
    in_place = 'workspace = { mode = "bind" }\n'  # what the tool changes is seen outside at once
    mode = ""  # of the workspace, where the attack chooses no other: the default, or in_place

    def __init__(self, options, how):
        self.options, self.how = options, how
        self.sentry = (
            how == CAGED and options.backend == "gvisor"
        )  # a kernel of its own, whose processes no other sees
        self.token = "canary-" + secrets.token_hex(8)
        self.root = tempfile.mkdtemp(prefix="toolcage-escape-")
        os.chmod(self.root, 0o755)
        for name in ("bin", "ws", "data", "secret", "home"):
            os.mkdir(self.path(name), 0o755)
        for name in ("files", "kernel", "machinery", "processes", "sockets"):
            shutil.copy(options.attacks, self.program(name))
        self.secret = self.write("secret/canary", self.token)
        self.readable, self.writable, self.denied, self.more = (
            [self.path("bin"), self.path("data")],
            [self.path("ws")],
            [],
            "",
        )
        self.network = '"none"'
        self.memory = '{ max = "256MiB", by = "any" }'
        self.environ = {"HOME": self.path("home"), "PATH": "/usr/bin:/bin", "LC_ALL": "C"}
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
            if name in os.environ:
                self.environ[name] = os.environ[name]
        self.seconds = 20  # that a call may take; a case with much to do says more
        self.answer = None
        self.flags, self.around = [], []
        self.ends = contextlib.ExitStack()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.end_leftovers()
        self.ends.close()
        for _ in range(5):  # a helper that is just ending may still put its state there, or remove a layer
            subprocess.run(["rm", "-rf", self.root], capture_output=True, check=False)
            if not os.path.exists(self.root):
                break
            time.sleep(0.2)

    def path(self, *names):
        return os.path.join(self.root, *names)

    def write(self, name, text, mode=0o644):
        full = self.path(name)
        os.makedirs(os.path.dirname(full), exist_ok=True)
        with open(full, "wb") as out:
            out.write(text if isinstance(text, bytes) else text.encode())
        os.chmod(full, mode)
        return full

    def read(self, name):
        with open(self.path(name), encoding="utf-8", errors="replace") as file:
            return file.read()

    def program(self, name):
        return self.path("bin", "attack-" + name)

    # ---- calling -----------------------------------------------------------------------------------------

    def policy(self):
        def listed(paths):
            return ", ".join(item if item.startswith("{") else json.dumps(item) for item in paths)

        more = self.more + (WITHOUT if self.options.without else "") + self.workspace(self.more)
        if "\nimage =" not in "\n" + more:
            more += '\nimage = "system"\n'
        text = "".join(
            POLICY.format(
                name=name,
                patience=self.seconds * PATIENCE,
                backend=backend,
                readable=listed(self.readable),
                more=more,
                memory=self.memory,
                network=self.network,
                writable=listed(self.writable),
                denied=listed(self.denied),
            )
            for name, backend in ((CAGED, self.options.backend), (FREE, "not-a-security-boundary"))
        )
        return self.write("policy.toml", self.runtime() + text)

    def workspace(self, more):
        """What a policy's tool says of its workspace, unless the attack has said something."""
        return "\n" + self.mode if self.mode and "workspace = " not in more else ""

    def runtime(self):
        """The beginning of a policy: which runtime makes the containers, where somebody has chosen, or where their engine listens."""
        if getattr(self.options, "socket", None):
            return f'[backend.{self.options.backend}]\nsocket = "{self.options.socket}"\n'
        return f'[backend.oci]\nruntime = "{self.options.runtime}"\n' if self.options.runtime else ""

    def argv(self, *command):
        if self.how == DIRECT:
            return list(command)
        return [
            *self.around,
            self.options.toolcage,
            "exec",
            "--policy",
            self.policy(),
            "--tool",
            self.how,
            "--json",
            *self.flags,
            "--",
            *command,
        ]

    def begin_session(self):
        """The calls from here on are those of one session, which goes with the scene."""
        self.flags = ["--session", self.token]
        self.ends.callback(
            subprocess.run,
            [self.options.toolcage, "session", "end", self.token],
            env=self.environ,
            capture_output=True,
            check=False,
        )

    def mount_below(self, name):
        """The caller lives where something is mounted there that none of its cages may take away."""
        os.makedirs(self.path(name), exist_ok=True)
        kind = (
            ["--mount", "--propagation", "private"]
            if os.geteuid() == 0
            else ["--user", "--map-root-user", "--mount"]
        )
        if subprocess.run(["unshare", *kind, "true"], capture_output=True, check=False).returncode:
            raise Missing("no mount namespace can be made here")
        script = f'mount -t tmpfs none {self.path(name)} && echo {self.token} > {self.path(name)}/.env && exec "$@"'
        self.around = ["unshare", *kind, "sh", "-c", script, "sh"]

    def popen(self, *command, **more):
        more.setdefault("stdin", subprocess.DEVNULL)
        more.setdefault("cwd", self.path("ws"))
        return subprocess.Popen(
            self.argv(*command), env=self.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more
        )

    def call(self, *command, timeout=MINUTE, **more):
        """Runs the command; what it wrote. Raises Refused when it never ran."""
        process = self.popen(*command, **more)
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise AssertionError("the call did not end") from None
        return self.result(out, err)

    def result(self, out, err):
        if self.how == DIRECT:
            return out.decode(errors="replace")
        try:
            self.answer = json.loads(out)
        except ValueError:
            raise AssertionError(f"no result: {out[:500]!r} {err[:2000]!r}") from None
        self.forget(self.answer)
        if self.answer["status"] in ("denied", "error", "cancelled"):
            error = self.answer["error"]
            lacks = error["stage"] == "overlay" or error["subject"] == "workspace"
            assert not lacks or "workspace = " in self.more, (
                f"no attack asked for what the default lacks: {error}"
            )
            raise Refused(json.dumps(error))
        stdout = self.answer["stdout"]
        return (
            stdout["text"]
            if "text" in stdout
            else base64.b64decode(stdout["base64"]).decode(errors="replace")
        )

    def forget(self, answer):
        """What a call's changes left staged goes with the scene: root's are not below its home."""
        if any(change.get("held") for change in answer["changes"]):
            self.ends.callback(
                subprocess.run,
                [self.options.toolcage, "changes", answer["call"], "discard"],
                env=self.environ,
                capture_output=True,
                check=False,
            )

    def meanwhile(self, script, accomplice, **more):
        """The script runs as the tool; once it is up the accomplice acts, and when he is done the script goes on. What it says."""
        meeting = self.path("meeting")
        os.mkdir(meeting)
        os.chmod(meeting, 0o777)
        script = f"until [ -e {meeting}/go ]; do sleep 0.05; done; {script}"
        if self.sentry:  # nobody outside sees it run, so it says that it does
            self.mode, script = self.in_place, f"echo > {meeting}/up; {script}"
        (self.writable if self.sentry else self.readable).append(meeting)
        process, up = self.popen("/bin/sh", "-c", script, **more), False
        deadline = time.monotonic() + MINUTE
        while not up and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.02)
            up = os.path.exists(f"{meeting}/up") if self.sentry else runs("/bin/sh", "-c", script)
        if up:
            accomplice(process)
        self.write("meeting/go", "")
        out = self.result(*process.communicate(timeout=MINUTE))
        assert up, "the tool never came up"
        return out

    def attack(self, program, *args, **more):
        return self.call(self.program(program), *[str(arg) for arg in args], **more)

    def outside(self, program, *args):
        """The same program, run by an accomplice outside."""
        done = subprocess.run(
            [self.program(program), *[str(arg) for arg in args]],
            capture_output=True,
            text=True,
            check=False,
            timeout=MINUTE,
        )
        return done.stdout

    def ask(self, command, argument, value, files=""):
        """Calls a tool with a value for its argument {a}, as a model does. What comes back, which may be a refusal."""
        backend = self.options.backend if self.how == CAGED else "not-a-security-boundary"
        policy = self.write(
            "policy.toml",
            f'{self.runtime()}[tool.t]\nbackend = "{backend}"\nimage = "system"\nmemory = {self.memory}\nnetwork = "none"\n'
            f"command = {json.dumps(command)}\narguments.a = {argument}\n{files}{self.workspace(files)}",
        )
        done = subprocess.run(
            [self.options.toolcage, "call", "--policy", policy, "--json", "t", json.dumps({"a": value})],
            env=self.environ,
            cwd=self.path("ws"),
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=MINUTE,
        )
        assert '"status"' in done.stdout, done.stderr
        answer = json.loads(done.stdout)
        self.forget(answer)
        return answer

    # ---- watching ----------------------------------------------------------------------------------------

    def victim(self):
        """A process outside with the token in its memory: its pid and where."""
        code = (
            "import ctypes,sys,time; b=ctypes.create_string_buffer(sys.argv[1].encode(),128);"
            "print(hex(ctypes.addressof(b)),flush=True); time.sleep(60)"
        )
        process = subprocess.Popen(
            ["/usr/bin/python3", "-c", code, self.token],
            stdout=subprocess.PIPE,
            text=True,
            cwd=self.path("secret"),
        )
        self.ends.callback(self.end, process)
        return process, process.stdout.readline().strip()

    @staticmethod
    def end(process):
        process.kill()
        process.wait()

    def listen(self, family, kind, address):
        """A listener outside: a function that tells whether the token has come."""
        sock = socket.socket(family, kind)
        self.ends.callback(sock.close)
        sock.bind(address)
        if kind == socket.SOCK_STREAM:
            sock.listen(8)
        if family == socket.AF_UNIX and not address.startswith("\0"):
            os.chmod(address, 0o777)
        sock.settimeout(1.0)
        return sock, lambda: self.arrived(sock, kind)

    def arrived(self, sock, kind):
        deadline = time.monotonic() + 1
        while time.monotonic() < deadline:
            try:
                if kind == socket.SOCK_STREAM:
                    peer, _ = sock.accept()
                    peer.settimeout(1.0)
                    with peer:
                        text = peer.recv(4096)
                else:
                    text = sock.recv(4096)
            except OSError:
                continue
            if self.token.encode() in text:
                return True
        return False

    @staticmethod
    def helper(process):
        """The pid of the helper that watches this process, its host."""
        found = helpers_of(process.pid)
        assert len(found) == 1, f"the host has not one helper: {found}"
        return found[0]

    def crowd(self, process):
        """Pids outside of whoever works for this call: the tool uncaged, else the helper and all that it has started."""
        first = self.helper(process) if self.how == CAGED else process.pid
        return [first, *below(first)]

    def attackers(self):
        """Pids of whoever runs a program of this tree, as seen outside."""
        for entry in os.listdir("/proc"):
            with contextlib.suppress(OSError):
                if entry.isdigit() and os.readlink(f"/proc/{entry}/exe").startswith(self.path("bin")):
                    yield int(entry)

    def grows(self, name, seconds=0.5):
        """Does a file grow: is somebody still writing it?"""
        try:
            before = os.stat(self.path(name)).st_size
        except OSError:
            return False
        time.sleep(seconds)
        return os.stat(self.path(name)).st_size > before

    def lives_on(self, name):
        """Does whoever writes a file go on? What ends with somebody else may take a moment, on a busy machine."""
        end = time.monotonic() + (min(5 * PATIENCE, 10) if self.how == CAGED else 0)
        while self.grows(name):
            if time.monotonic() > end:
                return True
        return False

    def end_leftovers(self):
        """Ends what an uncaged run left behind: whoever runs a program of this tree."""
        for pid in list(self.attackers()):
            with contextlib.suppress(OSError):
                os.kill(pid, signal.SIGKILL)
