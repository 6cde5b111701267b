# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Where a case plays: a throw-away tree, listeners, a victim and other canaries outside of the cage."""

import base64
import contextlib
import ctypes
import fcntl
import json
import os
import secrets
import shutil
import signal
import socket
import subprocess
import tempfile
import termios
import threading
import time

import modules
from processes import below, everybody, helpers_of

# A slow machine (an emulator, a sanitizer) says by how much its calls may take longer.
PATIENCE = int(os.environ.get("TOOLCAGE_TEST_PATIENCE", "1"))
GRANT = {
    "network": '"none"',
    "timeout": f'"{20 * PATIENCE}s"',
    "memory": '{ max = "256MiB", by = "any" }',
    "pids": "64",
}

WITHOUT = ["proc.own", "proc.survivors", "tmp.private", "fs.stat", "fs.denied", "fs.steering", "limit.pids"]


class Stage:
    def __init__(self, options, backend):
        self.options, self.backend = options, backend
        self.ends = contextlib.ExitStack()
        self.root = tempfile.mkdtemp(prefix="toolcage-conformance-", dir="/var/tmp")
        os.chmod(self.root, 0o755)
        token = "canary-" + secrets.token_hex(8)
        self.places = {
            "token": token,
            "root": self.root,
            "hosttmp": f"/tmp/toolcage-{token}",
            "hostshm": f"/dev/shm/toolcage-{token}",
            "while": str(0.6 * PATIENCE),
            "rootid": str(os.stat("/proc/sys/kernel").st_uid),
        }
        for name in ("bin", "ws", "data", "secret", "home"):
            self.places[name] = os.path.join(self.root, name)
            os.mkdir(self.places[name], 0o755)
        self.files(token)
        self.listeners(token)
        self.processes(token)
        self.objects(token)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ends.close()
        shutil.rmtree(self.root, ignore_errors=True)

    def write(self, path, text, mode=0o644):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, mode)

    def files(self, token):
        p = self.places
        for name in ("bin", "secret"):
            shutil.copy(self.options.probe, os.path.join(p[name], "probe"))
            os.chmod(os.path.join(p[name], "probe"), 0o755)
        for path in (
            "data/file",
            "data/denied",
            "data/sub/file",
            "ws/file",
            "ws/denied",
            "ws/sub/denied",
            "secret/file",
        ):
            self.write(os.path.join(self.root, path), token + "\n")
        self.write(os.path.join(p["secret"], "group"), token + "\n", 0o640)
        os.symlink("../secret/file", os.path.join(p["data"], "link"))
        self.write(os.path.join(p["ws"], ".git/config"), "[core]\n")
        os.mkdir(os.path.join(p["ws"], ".git/hooks"))
        p["setid"] = os.path.join(p["bin"], "setid")
        shutil.copy(self.options.probe, p["setid"])
        os.chmod(p["setid"], 0o4755)
        for name in ("hosttmp", "hostshm"):
            self.write(p[name], token + "\n")
            self.ends.callback(os.unlink, p[name])
        self.before = {path: look(path) for path in (*self.all_files(), "/dev/null")}

    def all_files(self):
        return [os.path.join(directory, name) for directory, _, names in os.walk(self.root) for name in names]

    def listeners(self, token):
        self.sockets = {}
        self.places["address"] = own_address()
        for name, family, address in (
            ("tcp", socket.AF_INET, ("127.0.0.1", 0)),
            ("any", socket.AF_INET, ("0.0.0.0", 0)),
            ("unix", socket.AF_UNIX, os.path.join(self.places["data"], "socket")),
            ("abstract", socket.AF_UNIX, "\0" + token),
        ):
            sock = socket.socket(family, socket.SOCK_STREAM)
            self.ends.callback(sock.close)
            sock.bind(address)
            sock.listen(4)
            sock.settimeout(0.3)
            self.sockets[name] = sock
        os.chmod(os.path.join(self.places["data"], "socket"), 0o777)
        self.places["port"] = str(self.sockets["tcp"].getsockname()[1])
        self.places["anyport"] = str(self.sockets["any"].getsockname()[1])

    def processes(self, token):
        self.victim = subprocess.Popen(["/bin/sh", "-c", "sleep 60 & wait", token], start_new_session=True)
        self.ends.callback(self.end, self.victim)
        self.places["victim"] = str(self.victim.pid)
        inherited = os.open(os.path.join(self.places["secret"], "file"), os.O_RDONLY)
        self.inherited = os.dup2(inherited, 77, inheritable=True)
        os.close(inherited)
        self.ends.callback(os.close, self.inherited)
        self.places["inherited"] = str(self.inherited)

    @staticmethod
    def end(process):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def objects(self, token):
        """System V memory and a POSIX queue that everybody on the host may open."""
        libc = ctypes.CDLL(None, use_errno=True)
        libc.shmat.restype = ctypes.c_void_p
        libc.mq_open.argtypes = [ctypes.c_char_p, ctypes.c_int, ctypes.c_uint, ctypes.c_void_p]
        key = secrets.randbelow(1 << 30) + 1
        memory = libc.shmget(key, 4096, 0o1000 | 0o666)
        at = libc.shmat(memory, None, 0)
        ctypes.memmove(at, token.encode() + b"\0", len(token) + 1)
        self.ends.callback(libc.shmctl, memory, 0, None)
        self.places["key"] = str(key)
        self.places["queue"] = "/toolcage-" + token
        name = self.places["queue"].encode()
        old = os.umask(0)
        small = (ctypes.c_long * 8)(0, 1, 64)  # every queue counts against the user's limit
        queue = libc.mq_open(name, os.O_RDWR | os.O_CREAT, 0o666, small)
        os.umask(old)
        assert queue >= 0, os.strerror(ctypes.get_errno())
        self.ends.callback(os.close, queue)
        self.ends.callback(libc.mq_unlink, name)

    # ---- one case ----------------------------------------------------------------------------------------

    def fill(self, text):
        for name, value in self.places.items():
            text = text.replace("{" + name + "}", value)
        return text

    def policy(self, grant):
        keys = {**GRANT, **grant}
        denied = [self.fill(path) for path in keys.pop("denied", [])]
        image = "" if self.backend in modules.BACKENDS else 'image = "system"\n'
        route = (
            f'layers = ["process", "{self.backend}"]'
            if getattr(self.options, "layered", False)
            else f'backend = "{self.backend}"'
        )
        text = (
            f"[tool.t]\n{route}\n{image}"
            f"filesystem.readable = {json.dumps([self.places['bin'], self.places['data']])}\n"
            f"filesystem.writable = {json.dumps([self.places['ws']])}\nfilesystem.denied = {json.dumps(denied)}\n"
        )
        if getattr(self.options, "socket", None):
            text = f'[backend.{self.backend}]\nsocket = "{self.options.socket}"\n' + text
        if getattr(self.options, "runtime", None):
            text = f'[backend.oci]\nruntime = "{self.options.runtime}"\n' + text
        if self.options.without:
            text += f"without = {json.dumps(WITHOUT)}\n"
        path = os.path.join(self.root, "policy.toml")
        self.write(
            path, text + "".join(f"{key} = {self.fill(value)}\n" for key, value in keys.items() if value)
        )
        return path

    def terminal(self):
        """Gives the caller, and so whatever a cage lets through, a controlling terminal."""
        master, slave = os.openpty()

        def take():
            os.setsid()
            fcntl.ioctl(slave, termios.TIOCSCTTY, 0)

        self.ends.callback(os.close, master)
        self.ends.callback(os.close, slave)
        return take

    def watch(self, over):
        """Collects the ids of every process that runs this stage's probe, as the host numbers them. In gVisor a process
        of its own stands for the tool, and a module has its worker: one below the helper that this stage's call has."""
        before = set(everybody())  # of a crowded machine
        while not over.wait(0.05):
            stands = self.backend == "gvisor" or self.backend in modules.BACKENDS
            ours = [pid for helper in helpers_of(self.program) for pid in below(helper)] if stands else []
            for pid in set(everybody()) - before:
                with (
                    contextlib.suppress(OSError),
                    open(f"/proc/{pid}/status", encoding="utf-8", errors="replace") as file,
                ):
                    lines = [line.split() for line in file]
                    if pid in ours and self.is_worker(lines) or not stands and self.runs_probe(pid, lines):
                        self.ids |= {
                            number for line in lines if line[0] in ("Uid:", "Gid:") for number in line[1:]
                        }

    def is_worker(self, lines):
        return (
            is_sentry(lines)
            if self.backend == "gvisor"
            else lines[0][1:] == [modules.STARTED_AS[self.backend]]
        )

    def runs_probe(self, pid, lines):
        with (
            contextlib.suppress(OSError),
            open(f"/proc/{pid}/cmdline", encoding="utf-8", errors="replace") as file,
        ):
            return lines[0][1:] == ["probe"] and file.read().startswith(self.places["bin"])
        return False

    def call(self, grant, *args, watched=False):
        """Runs the probe in a cage; its result. Who is watched has its ids in self.ids."""
        if not watched:
            return self.run(grant, *args)
        over, self.ids, self.program = threading.Event(), set(), None
        watcher = threading.Thread(target=self.watch, args=(over,))
        watcher.start()
        try:
            return self.run(grant, *args)
        finally:
            over.set()
            watcher.join()

    def run(self, grant, *args):
        environ = {
            "HOME": self.places["home"],
            "PATH": "/usr/bin:/bin",
            "LC_ALL": "C",
            "CALLERS": self.places["token"],
        }
        for name in ("ASAN_OPTIONS", "UBSAN_OPTIONS"):
            if name in os.environ:
                environ[name] = os.environ[name]
        if self.backend in modules.BACKENDS:
            environ.update(self.options.environ)
            self.choose_module(args[0])
        # writable, where a writable bind and `disk` exclude each other
        narrowed = [] if "disk" not in grant else ["--read", self.places["bin"]]
        command = [
            self.options.toolcage,
            "exec",
            "--policy",
            self.policy(grant),
            "--tool",
            "t",
            *narrowed,
            "--json",
            "--",
            os.path.join(self.places["bin"], "probe"),
            *[self.fill(arg) for arg in args],
        ]
        with subprocess.Popen(
            command,
            env=environ,
            cwd=self.places["home"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            pass_fds=[self.inherited],
            preexec_fn=self.terminal(),
        ) as process:
            self.program = process.pid
            try:
                out, err = process.communicate(timeout=60 * PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()
                raise
        try:
            return json.loads(out)
        except ValueError:
            raise AssertionError(f"no result: {out[:300]!r} {err[:1000]!r}") from None

    def choose_module(self, access):
        """An access that a module has no words for is tried by one that asks for it."""
        if access in modules.IMPORTS:
            with open(os.path.join(self.places["bin"], "probe"), "wb") as file:
                file.write(modules.asking_for(modules.IMPORTS[access]))

    def happened(self, saw, result, seconds=0.6):
        """`seconds`: how long to look for what may come after the call, as what a tool sent last does."""
        kind, what = saw[0], self.fill(saw[1]) if len(saw) > 1 else None
        if kind == "says":
            return what in printed(result["stdout"]) + printed(result["stderr"])
        if kind == "exists":
            return os.path.lexists(what)
        if kind == "gone":
            return not os.path.lexists(what)
        if kind == "lends":
            return os.path.lexists(what) and os.lstat(what).st_mode & 0o6000 != 0
        if kind == "changed":
            return look(what) != self.before[what]
        if kind == "arrived":
            return self.arrived(self.sockets[what], seconds)
        if kind == "grows":
            return self.grows(what)
        if kind == "runs":
            assert self.ids, "the host never saw the tool"
            return what.split()[-1] in self.ids
        if kind == "ended":
            return self.victim.poll() is not None
        assert kind == "completed", kind
        return result["status"] == "ok"

    def arrived(self, sock, seconds):
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with contextlib.suppress(OSError):
                peer, _ = sock.accept()
                with peer:
                    peer.settimeout(max(0.3, seconds / 2))
                    if self.places["token"].encode() in peer.recv(4096):
                        return True
        return False

    @staticmethod
    def grows(path):
        assert os.path.exists(path), "the daemon did not even begin"
        before = os.stat(path).st_size
        time.sleep(0.4)
        return os.stat(path).st_size > before


def look(path):
    """What a case may change of a file; None: it is not there."""
    try:
        with open(path, "rb") as file:
            return os.fstat(file.fileno()).st_mode, file.read()
    except OSError:
        return None


def is_sentry(lines):
    return any(line[0] == "NSpid:" and len(line) > 2 for line in lines) and lines[0][1] in (
        "exe",
        "runsc-sandbox",
    )


def printed(stream):
    return stream["text"] if "text" in stream else base64.b64decode(stream["base64"]).decode(errors="replace")


def own_address():
    """An address of this host that is not loopback's, where there is one."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        try:
            sock.connect(("192.0.2.1", 9))
            return sock.getsockname()[0]
        except OSError:
            return "127.0.0.2"
