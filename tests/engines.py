# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""dockerd, podman's service and containerd, each in a directory of its own, for as long as a test lasts."""

import contextlib
import http.client
import json
import os
import pathlib
import resource
import shutil
import signal
import socket
import subprocess
import tempfile
import time

NAMES = ("podman", "docker", "containerd")
LIFETIME = 1800  # s: an engine that a test left behind ends by itself


class Absent(Exception):
    """This machine cannot run the engine; the text says why."""


def runtime():
    """crun refuses machines whose control groups are of both versions; runc does not."""
    return shutil.which("runc") or shutil.which("runc", path="/usr/sbin:/sbin")


# What an engine mounts is nobody else's: neighbours' cages would be built otherwise where they see it.
APART = ("unshare", "--mount", "--propagation", "private")


def containerd(place, user):
    """Its shims and fifos are below /run/containerd, wherever it is told to be. Another user is root in a user namespace, which is all that
    rootlesskit would add here."""
    program, client = shutil.which("containerd", path=os.environ["PATH"] + ":/usr/sbin"), shutil.which("ctr")
    if not program or not client:
        raise Absent(f"there is no {'ctr' if program else 'containerd'} here")
    pathlib.Path(place, "config.toml").write_text(
        f'version = 2\nroot = "{place}/data"\nstate = "{place}/state"\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n'
        f'[grpc]\naddress = "{place}/socket"\n',
        encoding="utf-8",
    )
    serve = f"exec {program} --config {place}/config.toml"
    if user is None and os.geteuid() == 0:
        return [
            *APART,
            "sh",
            "-c",
            f"mkdir -p /run/containerd && mount -t tmpfs none /run/containerd && {serve}",
        ]
    return [
        *APART,
        "--user",
        "--map-root-user",
        "sh",
        "-c",
        f"mount -t tmpfs none /run && mkdir /run/containerd && {serve}",
    ]


def is_containerd(path):
    return os.path.basename(os.path.dirname(path)).startswith("toolcage-containerd-")


def ctr(path, *words, check=True):
    """What containerd's client prints."""
    return subprocess.run(
        ["ctr", "--address", path, "--namespace", "toolcage", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        timeout=60,
        check=check,
    ).stdout


def holds_overlay(place):
    """Can an overlay's upper directory be here, and this user mount it?"""
    parts = [pathlib.Path(place, "tried", name) for name in ("lower", "upper", "work", "all")]
    for part in parts:
        part.mkdir(parents=True)
    script = 'mount -t overlay none -o "lowerdir=$1,upperdir=$2,workdir=$3" "$4"'
    done = subprocess.run(
        ["unshare", "--mount", "sh", "-c", script, "sh", *map(str, parts)], capture_output=True, check=False
    )
    shutil.rmtree(pathlib.Path(place, "tried"))
    return done.returncode == 0


def command(name, place, overlay, runtimes, user):
    """Without overlay the whole image is copied for each container."""
    if name == "containerd":
        return containerd(place, user)
    if name == "docker":
        program = shutil.which("dockerd", path=os.environ["PATH"] + ":/usr/sbin")
        options = [
            "--data-root",
            f"{place}/data",
            "--exec-root",
            f"{place}/exec",
            "--pidfile",
            f"{place}/pid",
            "-H",
            f"unix://{place}/socket",
            "--storage-driver",
            "overlay2" if overlay else "vfs",
            "--iptables=false",
            "--ip6tables=false",
            "--bridge=none",
            *(f"--add-runtime={one}={path}" for one, path in runtimes.items()),
        ]
    else:
        program = shutil.which("podman")
        options = [
            "--root",
            f"{place}/data",
            "--runroot",
            f"{place}/run",
            "--tmpdir",
            f"{place}/tmp",
            "--cgroup-manager=cgroupfs",
            "--events-backend=file",
            "--storage-driver",
            "overlay" if overlay else "vfs",
            *(["--runtime", runtime()] if runtime() else []),
            "system",
            "service",
            "--time=0",
            f"unix://{place}/socket",
        ]
    if not program:
        raise Absent(f"there is no {name} here")
    return [*(APART if os.geteuid() == 0 else ()), program, *options]


def ask(path, method, target, body=None):
    """One request to an engine: status and what its answer says."""
    connection = http.client.HTTPConnection("localhost", timeout=60)
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.settimeout(60)
    connection.sock.connect(path)
    try:
        connection.request(method, target, body, {"Content-Type": "application/json"} if body else {})
        answer = connection.getresponse()
        text = answer.read()
    finally:
        connection.close()
    return answer.status, json.loads(text) if text.strip()[:1] in (b"{", b"[") else text


def containers(path):
    """All that the engine has, running or not. Podman fails to list while one of them goes."""
    if is_containerd(path):
        tasks = {
            line.split()[0]: line.split()[2].lower() for line in ctr(path, "tasks", "list").splitlines()[1:]
        }
        return [
            {"Id": name, "State": tasks.get(name, "created")}
            for name in ctr(path, "containers", "list", "-q").split()
        ]
    for _ in range(20):
        status, listed = ask(path, "GET", "/v1.40/containers/json?all=1")
        if status == 200:
            return listed
        time.sleep(0.1)
    raise RuntimeError(f"containers cannot be listed: {listed}")


def left(path, limit=20):
    """What is there when it should be gone: an engine removes in its own time, which the result does not wait for."""
    deadline = time.monotonic() + limit
    while containers(path) and time.monotonic() < deadline:
        time.sleep(0.1)
    return containers(path)


def kill(path, one):
    """A container's processes, by the engine itself."""
    if is_containerd(path):
        ctr(path, "tasks", "kill", "--signal", "SIGKILL", one, check=False)
    else:
        ask(path, "POST", f"/v1.40/containers/{one}/kill")


def remove(path, one):
    if is_containerd(path):
        ctr(path, "tasks", "delete", "--force", one, check=False)
        ctr(path, "containers", "delete", one, check=False)
    else:
        ask(path, "DELETE", f"/v1.40/containers/{one}?force=1")


def limits():
    """Podman sets limits of its own, above the caller's, unless it is told."""
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    if hard == resource.RLIM_INFINITY or hard > 65536:
        resource.setrlimit(resource.RLIMIT_NPROC, (65536, 65536))


def answers(path):
    if is_containerd(path):
        return os.path.exists(path) and "Server" in ctr(path, "version", check=False)
    with contextlib.suppress(OSError, http.client.HTTPException):
        return ask(path, "GET", "/v1.40/version")[0] == 200
    return False


def finish(process, place):
    """The engine ends in its own time, and its directory goes once nothing is mounted there."""
    process.send_signal(signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(20)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    with contextlib.suppress(
        OSError, ValueError
    ):  # rootless podman's, in a session of its own: it keeps the user namespace
        os.kill(int(pathlib.Path(place, "tmp", "pause.pid").read_text(encoding="utf-8")), signal.SIGKILL)
    end = time.monotonic() + 10
    while (
        os.path.exists(place) and time.monotonic() < end
    ):  # what an engine left to clear up a container may still be at work
        with open("/proc/self/mountinfo", encoding="utf-8") as file:
            mounted = [line.split()[4] for line in file if line.split()[4].startswith(place + "/")]
        for path in reversed(mounted):
            subprocess.run(["umount", "-l", path], check=False, capture_output=True)
        shutil.rmtree(place, ignore_errors=True)
        time.sleep(0.1)


@contextlib.contextmanager
def started(name, user=None, runtimes=None, path=""):
    """The path of its socket. With a user: rootless, as that one. Runtimes beside its own: by name, docker's; others find theirs on the path."""
    place = tempfile.mkdtemp(prefix=f"toolcage-{name}-", dir="/var/tmp")
    environment = {
        "PATH": path + os.environ["PATH"] + ":/usr/sbin:/sbin",
        "HOME": place,
        "XDG_RUNTIME_DIR": place,
    }
    os.chmod(place, 0o700)
    if user is not None:
        os.chown(place, user, user)
    try:
        words = [
            "timeout",
            "--kill-after=10",
            str(LIFETIME),
            *command(
                name, place, user is None and os.geteuid() == 0 and holds_overlay(place), runtimes or {}, user
            ),
        ]
    except Absent:
        shutil.rmtree(place)
        raise
    log = open(f"{place}/log", "wb")  # pylint: disable=consider-using-with
    process = subprocess.Popen(
        words,
        env=environment,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        start_new_session=True,
        preexec_fn=limits,
        **({} if user is None else {"user": user, "group": user, "extra_groups": []}),
    )
    log.close()
    try:
        deadline = time.monotonic() + 60 * int(os.environ.get("TOOLCAGE_TEST_PATIENCE", "1"))
        while not answers(f"{place}/socket"):
            if process.poll() is not None or time.monotonic() > deadline:
                said = (
                    pathlib.Path(place, "log")
                    .read_text(encoding="utf-8", errors="replace")
                    .strip()
                    .splitlines()
                )
                raise Absent(f"{name} does not run here: {said[-1] if said else 'it does not answer'}")
            time.sleep(0.05)
        yield f"{place}/socket"
    finally:
        finish(process, place)
