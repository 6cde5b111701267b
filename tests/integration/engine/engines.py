# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Calls in containers of podman, docker and containerd: engines that are absent, hostile or busy, tools that are, and whoever is killed meanwhile.

usage: engines.py TOOLCAGE podman|docker|containerd|none [USER]"""

import json
import os
import pathlib
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
import engines
import tap
from fake import Engine, answer, good

TOOLCAGE, KIND = os.path.abspath(sys.argv[1]), sys.argv[2]
USER = int(sys.argv[3]) if len(sys.argv) > 3 else None
PLACE = tempfile.mkdtemp(prefix="toolcage-engines-", dir="/var/tmp")
os.chmod(PLACE, 0o755)
AS = {} if USER is None else {"user": USER, "group": USER, "extra_groups": []}
CALLS = set()  # by their ids
ENVIRONMENT = {"PATH": "/usr/bin:/bin", "HOME": PLACE, "XDG_STATE_HOME": f"{PLACE}/state"}


def policy(kind, path, tool="", name="t"):
    file = pathlib.Path(PLACE, "policy.toml")
    file.write_text(
        f'[backend.{kind}]\nsocket = {json.dumps(path)}\n[tool.{json.dumps(name)}]\nbackend = "{kind}"\nimage = "system"\n'
        f'memory = {{ max = "256MiB", by = "any" }}\n{tool}\n',
        encoding="utf-8",
    )
    return str(file)


def start(file, *words, name="t", **more):
    return subprocess.Popen(
        [TOOLCAGE, "exec", "--policy", file, "--tool", name, "--json", "--", *(words or ("true",))],
        env=ENVIRONMENT,
        cwd=PLACE,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        **AS,
        **more,
    )


def call(file, *words, limit=60, **more):
    begun = time.monotonic()
    with start(file, *words, **more) as process:
        try:
            out, err = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            process.kill()
            out, err = process.communicate()
    try:
        result = json.loads(out)
    except ValueError:
        result = {"status": None, "error": {}, "noise": (out[:200], err[:500])}
    result["seconds"] = time.monotonic() - begun
    CALLS.add(result.get("call"))
    return result


def absent():
    """No engine: which socket was looked at, what starts one, and nothing else instead."""
    stale = socket.socket(socket.AF_UNIX)
    stale.bind(f"{PLACE}/stale")
    pathlib.Path(PLACE, "file").touch()
    for kind, start_words in (
        ("podman", "podman system service"),
        ("docker", "dockerd -H unix://"),
        ("containerd", "systemctl start containerd"),
    ):
        for path, what in (
            (f"{PLACE}/nothing", "no engine listens on"),
            (f"{PLACE}/file", "there is no socket at"),
            (f"{PLACE}/stale", ""),
        ):
            if path.endswith("stale"):
                stale.close()
                what = "no engine accepts connections on"
            result = call(policy(kind, path))
            error = result["error"] or {}
            tap.check(
                result["status"] == "error"
                and error["code"] == "backend"
                and error["stage"] == "runtime"
                and error["subject"] == path
                and f"{kind}: {what} {path}" in error["message"]
                and start_words in error["hint"],
                f"{kind}: {what}: an error that names it",
                result,
            )
        result = call(policy(kind, f"{PLACE}/nothing", 'fallback = ["process"]'))
        tap.check(
            result["status"] == "ok" and result["backend"] == "process",
            f"{kind}: another backend by the policy's own word",
            result,
        )
    file = pathlib.Path(policy("docker", "/x"))
    file.write_text('[tool.t]\nbackend = "podman"\nimage = "system"\n', encoding="utf-8")
    usual = (
        "/run/podman/podman.sock"
        if os.geteuid() == 0 and USER is None
        else f"/run/user/{USER or os.geteuid()}/podman/podman.sock"
    )
    if os.path.exists(usual):
        tap.skip("the usual place of podman's socket", "an engine listens there")
    else:
        result = call(str(file))
        tap.check(
            (result["error"] or {}).get("subject") == usual and "systemctl" in result["error"]["hint"],
            "podman's usual place is looked at",
            result,
        )


def hostile():
    """An engine that is none. The call's own time holds, and nothing is left."""

    def never(self, method, path):
        return None if "/create" in path else good(self, method, path)

    def refuses(self, method, path):
        return (
            answer(500, '{"message":"no space left"}')
            if path.endswith("/start")
            else good(self, method, path)
        )

    def intruder(self, method, path):
        """Comes itself, with an id that no cage has."""
        if path.endswith("/start"):
            where = json.loads(self.bodies[0])["HostConfig"]["Binds"][0].split(":")[0]
            guest = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            guest.connect(f"{where}/report")
            guest.settimeout(5)
            self.got = guest.recvmsg(1, 4096)
        return good(self, method, path)

    result = None
    for name, script, limit, wanted in (
        ("never makes a container", never, "1s", ("timeout", None, "")),
        ("refuses to start it", refuses, "20s", ("error", "engine", "no space left")),
        ("only says that it runs", good, "20s", ("error", "engine", "did not connect")),
    ):
        engine = Engine(script)
        os.chmod(engine.place, 0o755)
        os.chmod(f"{engine.place}/socket", 0o777)
        result = call(policy("docker", f"{engine.place}/socket", f'timeout = "{limit}"'))
        error = result["error"] or {}
        tap.check(
            result["status"] == wanted[0]
            and error.get("stage") == wanted[1]
            and wanted[2] in error.get("message", "")
            and result["seconds"] < 10,
            f"an engine that {name}",
            result,
        )
        deadline = time.monotonic() + 10
        while (engine.containers or not engine.count("DELETE", "toolcage-")) and time.monotonic() < deadline:
            time.sleep(0.1)
        tap.check(
            not engine.containers and engine.count("DELETE", "toolcage-") >= 1,
            f"an engine that {name}: the container is removed",
            engine.asked,
        )
        made = json.loads(engine.bodies[0])
        engine.gone()
    host = made["HostConfig"]
    tap.check(
        host["NetworkMode"] == "none"
        and host["CapDrop"] == ["ALL"]
        and not host["Privileged"]
        and host["ReadonlyRootfs"]
        and len(host["Binds"]) == 1
        and made["User"] not in ("", "0", "0:0")
        and host["LogConfig"] == {"Type": "none"}
        and "no-new-privileges" in host["SecurityOpt"],
        "the container is requested without network, capabilities or log",
        made,
    )
    tap.check(
        "true" not in json.dumps(made["Entrypoint"] + made["Cmd"]) and made["Env"] == [],
        "the engine hears nothing of the command",
        made,
    )
    if USER is None:
        engine = Engine(intruder)
        result = call(policy("docker", f"{engine.place}/socket", 'timeout = "20s"'))
        tap.check(
            result["status"] == "error" and engine.got[0] == b"" and not engine.got[1],
            "a process with another id gets nothing",
            (result, engine.got),
        )
        engine.gone()


def state():
    base = "/run/toolcage" if USER is None else f"{PLACE}/state/toolcage"
    try:
        return set(os.listdir(f"{base}/engine"))
    except FileNotFoundError:
        return set()


def state_left(patience=60):
    """What stays of the calls of this test: other tests have theirs in the same place, and kill some."""
    end = time.monotonic() + patience
    while state() & CALLS and time.monotonic() < end:
        time.sleep(0.2)
    return sorted(state() & CALLS)


def life(path):
    """What tools may do is what they may do in every cage."""
    os.mkdir(f"{PLACE}/ws", 0o777)
    os.chmod(f"{PLACE}/ws", 0o777)
    result = call(
        policy(KIND, path),
        "sh",
        "-c",
        "id -u; cat /proc/1/comm; ls -d /.toolcage 2>&1; echo $0",
        b"\xff".decode(errors="surrogateescape"),
    )
    text = result.get("stdout", {}).get("text") or str(result.get("stdout"))
    tap.check(result["status"] == "ok" and result["backend"] == KIND, f"{KIND}: a tool runs", result)
    tap.check(
        "/.toolcage" not in text or "No such file" in text,
        "the container's own files are not the tool's to see",
        result,
    )
    result = call(
        policy(
            KIND,
            path,
            f'filesystem.writable = ["{PLACE}/ws"]\nworkspace = {{ mode = "overlay", commit = "ok" }}',
        ),
        "sh",
        "-c",
        f"echo new > {PLACE}/ws/file; ln -s /etc/shadow {PLACE}/ws/link",
    )
    if result["status"] != "ok" and "commit" in str(result):
        result = call(
            policy(KIND, path, f'filesystem.writable = ["{PLACE}/ws"]'),
            "sh",
            "-c",
            f"echo new > {PLACE}/ws/file",
        )
    tap.check(
        result["status"] == "ok"
        and pathlib.Path(PLACE, "ws/file").read_text(encoding="utf-8") == "new\n"
        and any(one["path"].endswith("ws/file") for one in result["changes"]),
        "a file that the tool writes comes back and is listed",
        result,
    )
    begun = time.monotonic()
    result = call(
        policy(KIND, path, 'output = { limit = "64KiB" }\ntimeout = "60s"'),
        "sh",
        "-c",
        "head -c 200000000 /dev/zero; yes flood | head -c 50000000 >&2",
    )
    tap.check(
        result["status"] == "ok"
        and result["stdout"]["bytes"] == 200000000
        and result["stdout"]["truncated"]
        and time.monotonic() - begun < 60,
        "a flood of output passes the engine by",
        {k: v for k, v in result.items() if k not in ("stdout", "stderr", "message")},
    )
    result = call(
        policy(KIND, path, 'timeout = "1s"'),
        "sh",
        "-c",
        "trap '' TERM; setsid sleep 300 & setsid sleep 300 & sleep 300",
    )
    tap.check(
        result["status"] == "timeout" and result["seconds"] < 8,
        "a tool that does not want to end ends",
        result,
    )
    tap.check(
        engines.left(path) == [] and state_left() == [],
        "nothing of it all is left",
        (engines.containers(path), state_left()),
    )


def image(path):
    root = pathlib.Path(PLACE, "root")
    for directory in ("bin", "proc", "dev", "tmp", "etc", "opt"):
        (root / directory).mkdir(parents=True)
    shutil.copy("/bin/busybox", root / "bin/busybox")
    (root / "opt/file").write_text("of the image\n", encoding="utf-8")
    file = pathlib.Path(policy(KIND, path))
    file.write_text(
        file.read_text(encoding="utf-8").replace('image = "system"', f'image = "{root}"'), encoding="utf-8"
    )
    result = call(
        str(file),
        "/bin/busybox",
        "sh",
        "-c",
        "/bin/busybox cat /opt/file; echo x > /opt/new || echo refused; echo y > /tmp/y && echo private; echo z > /dev/null && echo device",
    )
    tap.check(
        result["status"] == "ok" and result["stdout"]["text"] == "of the image\nrefused\nprivate\ndevice\n",
        "the root of an image is read-only, and all of it readable",
        result,
    )


def old_containers_of_containerd_go(path):
    """Of those with our label and one of our names an old one goes that does not run, and no other."""
    root = f"{PLACE}/root"
    age = {"old": "01H0000000", "new": "7ZZZZZZZZZ"}
    names = [f"toolcage-{age[old]}{'A' * 16}" for old in ("old", "new")] + ["toolcage-mine", "mine"]
    for name in (*names, f"toolcage-{age['old']}{'B' * 16}"):
        label = [] if name.endswith("B") else ["--label", "toolcage.call=x"]
        engines.ctr(path, "containers", "create", "--rootfs", *label, root, name, "/nothing")
    call(policy(KIND, path), "true")
    deadline = time.monotonic() + 20
    while len(engines.containers(path)) > 4 and time.monotonic() < deadline:
        time.sleep(0.1)
    there = {one["Id"] for one in engines.containers(path)}
    tap.check(
        names[0] not in there and there == {*names[1:], f"toolcage-{age['old']}{'B' * 16}"},
        "leftover containers of ours go, others stay",
        there,
    )
    for one in there:
        engines.remove(path, one)


def others(path):
    """Containers that are not ours stay, whatever they are called."""
    if KIND == "containerd":
        old_containers_of_containerd_go(path)
        return
    made = engines.left(path)
    images = [
        one
        for one in engines.ask(path, "GET", "/v1.40/images/json")[1]
        if any("toolcage-init" in tag for tag in one["RepoTags"] or [])
    ]
    kept = []
    for name, labels in (("toolcage-mine", {}), ("mine", {"toolcage.tool": "x"})):
        status, said = engines.ask(
            path,
            "POST",
            f"/v1.40/containers/create?name={name}",
            json.dumps(
                {
                    "Image": images[0]["Id"],
                    "Entrypoint": ["/nothing"],
                    "Labels": labels,
                    "HostConfig": {"NetworkMode": "none"},
                }
            ),
        )
        kept.append(said.get("Id") if status == 201 else None)
    call(policy(KIND, path), "true")
    deadline = time.monotonic() + 10
    while len(engines.containers(path)) > 2 and time.monotonic() < deadline:
        time.sleep(0.1)
    there = sorted(one["Id"] for one in engines.containers(path))
    tap.check(
        not made and None not in kept and there == sorted(kept),
        "containers of others are not touched",
        (kept, there),
    )
    tap.check(len(images) == 1, "there is one image of ours", images)
    for one in kept:
        engines.ask(path, "DELETE", f"/v1.40/containers/{one}?force=1")


def ours(pid):
    """The command line, the helper that it is or has, and toolcage-engine, by the names of its processes."""
    found = {"toolcage": pid}
    for one in os.listdir("/proc"):
        try:
            if (
                one.isdigit()
                and int(one) != pid
                and pathlib.Path("/proc", one, "stat")
                .read_text(encoding="utf-8")
                .rsplit(")", 1)[1]
                .split()[1]
                in map(str, found.values())
            ):
                found.setdefault(
                    pathlib.Path("/proc", one, "comm").read_text(encoding="utf-8").strip(), int(one)
                )
        except OSError:
            continue
    return found


def running(token):
    found = []
    for one in os.listdir("/proc"):
        try:
            if one.isdigit() and token.encode() in pathlib.Path("/proc", one, "cmdline").read_bytes():
                found.append(int(one))
        except OSError:
            continue
    return [pid for pid in found if pid != os.getpid()]


def kill_containers(path):
    for one in engines.containers(path):
        if one["State"] == "running":
            engines.kill(path, one["Id"])


def kills(path, rounds):
    """Whoever is killed, at whatever moment: the tool ends, the container goes, the next call works."""
    abandoned = set()
    for number in range(rounds):
        for victim in (
            "toolcage",
            "toolcage-helper",
            "toolcage-engine",
            "container",
            *(["ctr"] if KIND == "containerd" else []),
        ):
            token = f"3{number}{len(victim)}4.{time.monotonic_ns() % 1000000}"
            process = start(policy(KIND, path, 'timeout = "60s"'), "sleep", token)
            wait = 0.08 * number if number < rounds - 1 else 3
            time.sleep(wait)
            if victim == "container":
                kill_containers(path)
                if not engines.containers(path):
                    process.kill()
            else:
                family = ours(process.pid)
                os.kill(family.get(victim, process.pid), signal.SIGKILL)
            deadline = (
                time.monotonic() + 60
            )  # seen on a machine with much else to do: an engine removes for half a minute

            def there():
                """Nothing but a container that was never started may be left, where the engine took longer to make it than anybody waited:
                the next call finds it. One that the engine is removing goes; what stays is seen at the end."""
                going = ("created", "removing")
                return [
                    one
                    for one in engines.containers(path)
                    if one["State"] not in going and one["Id"] not in abandoned
                ]

            def left():
                """By one look, and by another where a container that had been made only then began."""
                while True:
                    found = running(token) + there()
                    if not found or time.monotonic() > deadline:
                        return found
                    if victim == "container":
                        kill_containers(path)
                    time.sleep(0.1)

            left()
            process.kill()
            said = process.communicate()
            rest = left()
            tap.check(
                not rest,
                f"{victim} killed after {wait:.2f} s: no process and no container is left",
                (said, rest),
            )
            abandoned |= {one["Id"] for one in engines.containers(path)}
    result = call(policy(KIND, path), "true")
    tap.check(result["status"] == "ok", "and the next call works", result)
    for one in abandoned:
        engines.remove(path, one)


def late(path):
    """A PID 1 that takes long to come, or of whose end the engine tells late, is not one whose processor time cannot be read."""
    process = start(
        policy(KIND, path, f'filesystem.writable = ["{PLACE}/ws"]\ntimeout = "60s"\ncpu_time = "50s"'),
        "sh",
        "-c",
        f"echo > {PLACE}/ws/begun; sleep 59",
    )
    deadline = time.monotonic() + 50
    while not os.path.exists(f"{PLACE}/ws/begun") and time.monotonic() < deadline:
        time.sleep(0.1)
    family = ours(process.pid)
    while (
        not any(one["State"] == "running" for one in engines.containers(path)) and time.monotonic() < deadline
    ):
        time.sleep(0.1)  # an engine tells of a start after the tool has begun
    os.kill(family["toolcage-engine"], signal.SIGSTOP)
    kill_containers(path)
    time.sleep(3)  # thirty samples
    os.kill(family["toolcage-engine"], signal.SIGCONT)
    result = json.loads(process.communicate(timeout=60)[0])
    tap.check(
        result["status"] == "error"
        and [result["error"][key] for key in ("code", "stage", "subject")]
        == ["backend", "supervise", "PID 1"],
        "a container that somebody killed is not taken for a limit that cannot be seen",
        result,
    )


def doctor(path):
    """Where an engine stands in its usual place, it is tried, and named with its rights and its runtime."""
    if USER is not None:
        return
    place = {
        "docker": "/run/docker.sock",
        "podman": "/run/podman/podman.sock",
        "containerd": "/run/containerd/containerd.sock",
    }[KIND]
    script = (
        f"mkdir -p /run/toolcage {PLACE}/run && mount --bind /run/toolcage {PLACE}/run && mount -t tmpfs none /run && "
        f"mkdir -p /run/toolcage {os.path.dirname(place)} && mount --bind {PLACE}/run /run/toolcage && ln -s {path} {place} && "
        f"exec {TOOLCAGE} doctor --json"
    )
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "sh", "-c", script],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        env=ENVIRONMENT,
    )
    rows = {row["backend"]: row for row in json.loads(done.stdout)["backends"]} if done.stdout else {}
    said = rows.get(KIND, {}).get("mechanism", "")
    if KIND == "containerd":  # its client does not say which runtime it uses
        version = subprocess.run(
            ["containerd", "--version"], capture_output=True, text=True, check=False
        ).stdout.split()[2]
        tap.check(
            rows.get(KIND, {}).get("works")
            and place in said
            and "with root's rights: access to it is equivalent to root" in said
            and f"containerd {version}" in said,
            "the doctor tries the engine, and says whose rights it has",
            (rows.get(KIND), done.stderr, version),
        )
        return
    version = subprocess.run(
        [engines.runtime() or "runc", "--version"], capture_output=True, text=True, check=False
    ).stdout.split()[2]
    tap.check(
        rows.get(KIND, {}).get("works")
        and place in said
        and "with root's rights: access to it is equivalent to root" in said
        and f"runc {version}" in said,
        "the doctor tries the engine, and says whose rights it has",
        (rows, done.stderr),
    )
    number = [int(part) for part in re.findall(r"\d+", version)[:3]]
    tap.check(
        ("CVE-2024-21626" in said) == (number < [1, 1, 12]),
        "it names the known ways out of that runtime",
        said,
    )


def many(path):
    results = []
    file = policy(KIND, path)
    threads = [
        threading.Thread(
            target=lambda: results.append(call(file, "sh", "-c", "sleep 0.2; cat /proc/self/uid_map"))
        )
        for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tap.check(
        all(one["status"] == "ok" for one in results)
        and (USER is not None or len({one["stdout"]["text"] for one in results}) == 6),
        "calls at one time have containers and ids of their own",
        results,
    )


def main():
    if KIND == "none":
        absent()
        hostile()
        return
    try:
        with engines.started(KIND, USER) as path:
            for part in (life, image, others, many, late, doctor):
                part(path)
            kills(path, {"docker": 4, "podman": 3, "containerd": 4}[KIND])
            tap.check(engines.left(path) == [], "no container is left", engines.containers(path))
    except engines.Absent as why:
        tap.skip_all(why)


os.makedirs(f"{PLACE}/state", 0o700)
if USER is not None:
    os.chown(f"{PLACE}/state", USER, USER)
try:
    main()
finally:
    shutil.rmtree(PLACE, ignore_errors=True)
tap.finish()
