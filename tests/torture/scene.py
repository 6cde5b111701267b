# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What the torture tests share: a throw-away tree with canaries, a policy whose tools are the program "walls",
and the judgement of what a host printed. As root, "ordinary" gives every privilege away first."""

import contextlib
import glob
import hashlib
import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import tap
from tap import ORDINARY, check, finish, part_of, seed, skip_all  # for the scripts beside this one

SCHEMA = '{"type": "object", "additionalProperties": false, "properties": {"x": {"type": "integer", "maximum": 9, "default": 1}}}\n'
NAMESPACES = ("user", "pid", "mnt", "net", "ipc", "uts", "cgroup")


def overlays_work():
    """An overlay's layer needs a tmpfs with attributes of users."""
    try:
        with tempfile.NamedTemporaryFile(dir="/dev/shm") as file:
            os.setxattr(file.name, "user.toolcage", b"")
    except OSError:
        return False
    return True


# Named by their modes of the workspace; "auto" is the default. The first runs again after the others.
TOOLS = ("bind", "auto", "copy", "overlay") if overlays_work() else ("bind", "auto", "copy")
OURS = {"denied", "base.toml", "schema.json", ".git"}  # in each tree
GROUPS = "/sys/fs/cgroup"


def become(user):
    if user != "self":
        tap.become(ORDINARY)


class Scene:
    """One tree with its policy; what the tools may change is put back by reset()."""

    def __init__(self, walls, memory=None):
        self.root = tempfile.mkdtemp(prefix="toolcage-torture-", dir="/var/tmp")
        os.chmod(self.root, 0o755)
        self.secret = os.path.join(self.root, "secret")
        self.session = os.path.basename(self.root).replace("_", "-")
        self.trees = {tool: os.path.join(self.root, tool) for tool in TOOLS}
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.listener.setblocking(False)
        self.abstract = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.abstract.bind("\0" + os.path.basename(self.root))
        self.abstract.listen()
        self.abstract.setblocking(False)
        self.bin, self.config = os.path.join(self.root, "bin"), os.path.join(self.root, "config")
        os.mkdir(self.bin)
        os.makedirs(os.path.join(self.config, "toolcage"))
        os.mkdir(os.path.join(self.root, "state"), 0o700)
        # what is kept across calls is kept here
        self.environ = {
            "PATH": "/usr/bin:/bin",
            "HOME": self.root,
            "XDG_STATE_HOME": os.path.join(self.root, "state"),
        }
        self.walls = shutil.copy(walls, os.path.join(self.bin, "walls"))
        os.chmod(self.walls, 0o755)
        self.given = {
            ".git/config": "[core]\n",
            "denied": "denied\n",
            "base.toml": "[defaults]\npids = 16\n",
            "schema.json": SCHEMA,
        }
        for tree in self.trees.values():
            os.makedirs(os.path.join(tree, ".git"))
            for name, text in self.given.items():
                self.write(os.path.join(tree, name), text)
        self.write(self.secret, "secret\n")
        self.policy = os.path.join(self.root, "toolcage.toml")
        os.symlink(self.policy, os.path.join(self.config, "toolcage", "toolcage.toml"))
        self.trusted = False
        # memory of the whole cage needs control groups, which an ordinary user may lack
        self.memory = memory or ('"256MiB"' if os.geteuid() == 0 else '{ max = "256MiB", by = "any" }')
        self.write(self.policy, self.policy_text())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.forget_held()
        if self.trusted:
            subprocess.run(
                [self.trusted, "session", "end", self.session],
                env=self.environ,
                capture_output=True,
                check=False,
            )
        self.listener.close()
        self.abstract.close()
        shutil.rmtree(self.root, ignore_errors=True)

    @staticmethod
    def write(path, text):
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)

    def command(self, tool):
        return [
            self.walls,
            tool,
            self.secret,
            str(self.listener.getsockname()[1]),
            os.path.basename(self.root),
            *(os.readlink(f"/proc/self/ns/{name}") for name in NAMESPACES),
        ]

    def policy_text(self):
        """What runs by itself is granted what the tool `auto` is; servers and sessions are binds all the same."""
        limits = f"memory = {self.memory}\n" + ('cpus = 1\ncpu_time = "10s"\n' if os.geteuid() == 0 else "")
        text = f"extends = {json.dumps([os.path.join(self.trees[tool], 'base.toml') for tool in ('auto', 'bind', 'copy')])}\n"
        text += '[defaults]\nbackend = "process"\nnetwork = "none"\ntimeout = "60s"\nopen_files = 64\n'
        text += 'syscalls = { allow = ["kcmp"], deny = ["mincore"] }\n'
        text += limits + self.filesystem("auto")
        for tool in ("auto", "bind"):
            text += f"\n[tool.{tool}]\ncommand = {json.dumps(self.command(tool))}\n"
            text += f"input_schema = {json.dumps(os.path.join(self.trees[tool], 'schema.json'))}\n"
        text += self.filesystem("bind") + 'workspace = { mode = "bind" }\n'
        text += f"\n[server.walls]\ncommand = {json.dumps(self.command('serve'))}\n[server.walls.tool.auto]\n"
        for mode in TOOLS[2:]:
            text += f"\n[tool.{mode}]\ncommand = {json.dumps(self.command(mode))}\n" + self.filesystem(mode)
            text += f"input_schema = '''{SCHEMA}'''\n" if mode == "copy" else ""
            text += (
                'denials = "paths"\nunix_sockets = "own"\nenv.set = { SOCKETS = "own" }\n'
                if mode == "copy"
                else ""
            )
            text += f'workspace = {{ mode = "{mode}" }}\ndisk = "8MiB"\nmemory = {{ max = "256MiB", by = "any" }}\n'
        return text

    def filesystem(self, tool):
        return (
            f"filesystem.readable = {json.dumps([self.bin])}\n"
            f'filesystem.writable = [{{ path = "/workspace", from = "{self.trees[tool]}" }}]\n'
            'filesystem.denied = ["/workspace/denied"]\n'
        )

    def trust(self, cli):
        if not self.trusted:
            subprocess.run(
                [cli, "policy", "trust", self.policy], env=self.environ, capture_output=True, check=True
            )
        self.trusted = cli

    def forget_held(self):
        """What was held of calls whose trees were these; the machine's store is root's, and has room for 256."""
        store = "/run/toolcage" if os.geteuid() == 0 else os.path.join(self.root, "state", "toolcage")
        for name in glob.glob(store + "/held/*/list"):
            with contextlib.suppress(OSError), open(name, "rb") as file:
                if self.root.encode() in file.read():
                    shutil.rmtree(os.path.dirname(name), ignore_errors=True)

    def reset(self):
        self.forget_held()
        for tree in self.trees.values():
            for name in set(os.listdir(tree)) - OURS:
                path = os.path.join(tree, name)
                (shutil.rmtree if os.path.isdir(path) else os.unlink)(path)

    def verdict(self, tool):
        try:
            with open(os.path.join(self.trees[tool], "verdict"), encoding="utf-8") as file:
                return file.read()
        except FileNotFoundError:
            return None

    def canaries(self):
        """What is not as it was, outside of every cage."""
        wrong = []
        for tool, tree in self.trees.items():
            for name, text in self.given.items():
                with open(os.path.join(tree, name), encoding="utf-8") as file:
                    if file.read() != text:
                        wrong.append(f"{tool}: {name} was changed on the host")
            known = OURS | {"verdict"} | ({"made"} if tool != "bind" else set())
            left = set(os.listdir(tree)) - known | set(os.listdir(tree + "/.git")) - {"config"}
            left |= set(os.listdir(tree + "/made")) - {"file"} if os.path.isdir(tree + "/made") else set()
            if left:
                wrong.append(f"{tool}: left in the tree: {sorted(left)}")
        # .local: the usual place of the record of written places
        if {*os.listdir(self.root)} - {".local"} != {
            "bin",
            "config",
            "secret",
            "state",
            "toolcage.toml",
            *TOOLS,
        }:
            wrong.append(f"beside the trees: {os.listdir(self.root)}")
        for sock in (self.listener, self.abstract):
            try:
                sock.accept()[0].close()
                wrong.append("a tool reached a socket of the host")
            except BlockingIOError:
                pass
        return wrong

    def layers(self):
        """What is left of overlays' layers; root's store is that of other programs, too."""
        until = time.monotonic() + 2  # a helper may outlive its host for a moment
        while True:
            left = [] if os.geteuid() == 0 else glob.glob(os.path.join(self.root, "state/toolcage/layers/*"))
            if not left or time.monotonic() > until:
                return left
            time.sleep(0.01)


def proper(error):
    """An error that names itself: code, stage or subject, and a sentence."""
    return bool(error and error.get("code") and error.get("message"))


# What may hold a clause instead, and is then named in the result.
OTHERWISE = {
    "fs.read": "mount namespace",
    "fs.write": "mount namespace",
    "limit.pids": "RLIMIT_NPROC in the cage's user namespace",
    "limit.cpu_time": "CPU time of the cage's processes, sampled every 100 ms",
}
NEAR = "; in a layer on the workspace's disk"
COPIED = "; in a private copy"  # where the tree could not be mounted
FAR = "; in a layer in the state directory, copied when it is applied"  # where the disk is unknown
CHECK = "check the writable directories"  # the hint where a list of changes was lost
# What the policy leaves open: memory by "any" is by a group for a cage that was made ahead in one.
OPEN = {("copy", "limit.memory"), ("overlay", "limit.memory")}


def unreported(scene, tool, result):
    """What a commit did and the result does not say, or the other way round."""
    unknown = CHECK in (result["error"] or {}).get("hint", "")
    if tool == "bind" or unknown or result["omitted"]["changes"]:
        return
    said = {change["path"]: change.get("held") for change in result["changes"] if "path" in change}
    for name in ("verdict", "made/file"):
        there = os.path.lexists(os.path.join(scene.trees[tool], name))
        if there and f"/workspace/{name}" not in said:
            yield f"{name} is on the host, but not listed"
        if not there and said.get(f"/workspace/{name}", "not") is None:
            yield f"{name} is listed as committed, but not on the host"


def judge_call(scene, line, enforcement):
    """What is wrong with one call's line; nothing for a fully caged run and for a proper error."""
    tool, result = line["step"], line["result"]
    verdict = scene.verdict(tool)
    wrong = [f"{tool}: the tool found holes:{verdict}"] if verdict not in (None, "", "caged") else []
    if result is None:
        return wrong if proper(line["error"]) else [*wrong, f"{tool}: neither result nor error: {line}"]
    said = result["stdout"].get("text", "").strip()
    if (result["error"] or {}).get(
        "subject"
    ) == "observer":  # then it could open nothing, and so not look for holes
        return (
            []
            if result["status"] == "error" and verdict in (None, "", "caged")
            else [*wrong, f"{tool}: {result['status']}"]
        )
    if result["enforcement"].get("fs.read") == OTHERWISE["fs.read"]:  # and the result says so
        said, verdict, wrong = (
            said.replace("landlock", "caged"),
            (verdict or "").replace(" landlock", "caged"),
            [],
        )
    lost = result["stdout"]["truncated"]  # no memory for it, and the result says so
    if said not in ("", "caged") and not lost:
        wrong.append(f"{tool}: the tool said {said!r}")
    wrong += [f"{tool}: {problem}" for problem in unreported(scene, tool, result)]
    if result["status"] in ("error", "denied"):
        return (
            wrong
            if proper(result["error"])
            else [*wrong, f"{tool}: an error without a reason: {result['error']}"]
        )
    if result["status"] != "ok":
        return [
            *wrong,
            f"{tool}: status {result['status']}, exit {result['exit_code']}, signal {result['signal']}, "
            f"limit {result['limit']}",
        ]
    if (said != "caged" and not lost) or verdict != "caged":
        wrong.append(f"{tool}: ok, but it printed {said!r} and wrote {verdict!r}")
    if (
        "/workspace/verdict" not in [change["path"] for change in result["changes"]]
        and not result["omitted"]["changes"]
    ):
        wrong.append(f"{tool}: ok, but its change is not listed")
    fell_back = "a bind instead of an overlay" in result["enforcement"].get("fs.steering", "")
    for clause, mechanism in enforcement.get(tool, {}).items():
        here = result["enforcement"].get(clause)
        if fell_back and tool == "auto":  # and the result says why; canaries() tells whether it held
            if clause == "fs.steering":
                continue
            mechanism = mechanism.replace(NEAR, "")
        if tool == "auto" and here in (mechanism.replace(NEAR, COPIED), mechanism.replace(NEAR, FAR)):
            continue
        plain = here and here.split(";")[0]  # what follows is the workspace's
        if here != mechanism and plain != OTHERWISE.get(clause) and not (here and (tool, clause) in OPEN):
            wrong.append(f"{tool}: {clause} is held by {here!r}, not by {mechanism!r}")
    return wrong


def leftover_groups(pids):
    """Control groups that these helpers made and that still are there."""
    marks = tuple(f"toolcage-{pid}-" for pid in pids)
    return [path for path, _, _ in os.walk(GROUPS) if marks and os.path.basename(path).startswith(marks)]


def sample(jobs, count, chance):
    """So many of them (None: all), by the seed. A life that makes a call more or less than the last one leaves the others chosen."""
    return sorted(jobs, key=lambda job: hashlib.sha256(f"{chance} {job}".encode()).digest())[:count]


def mostly(jobs, count, chance):
    """The same, a fifth of them in the helper, which makes the most calls and of the fewest kinds."""
    own = [job for job in jobs if job[0] == "helper"]
    others = [job for job in jobs if job[0] != "helper"]
    return sample(others, count and count - count // 5, chance) + sample(own, count and count // 5, chance)


def each(workers, jobs, work):
    """work(job) for every job on some threads, each with its own state by work's first call."""
    lock, queue = threading.Lock(), list(reversed(jobs))

    def run():
        state = work(None, None)
        with state:
            while True:
                with lock:
                    if not queue:
                        return
                    job = queue.pop()
                work(state, job)

    threads = [threading.Thread(target=run) for _ in range(workers)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
