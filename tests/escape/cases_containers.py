# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Attacks on what makes a container: the runtime's state, the program that stands before the tool, the image; and on what
a container shows of the machine. Where these are the runtime's own doing, they get through in a container that it makes
by itself, with the configuration that it writes."""

import argparse
import hashlib
import json
import os
import re
import shutil
import stat
import subprocess

from scene import DIRECT, MINUTE, Missing

SHELL, PYTHON = "/bin/sh", "/usr/bin/python3"
BARE = "bare"
WORDS = {
    "crun": ["--cgroup-manager=disabled"],
    "runc": [],
    "runsc": ["--network=none", "--ignore-cgroups", "--platform=ptrace"],
}
# crun does not live with control groups of both versions.
WITHOUT_GROUPS = 'mount -t tmpfs none /sys/fs/cgroup && exec "$0" "$@"'


def runtime_of(s):
    names = ["runsc"] if s.options.backend == "gvisor" else [s.options.runtime or "crun", "runc"]
    path = os.pathsep.join(["/usr/bin", "/usr/sbin", "/usr/local/bin", "/usr/local/sbin"])
    return next((name, found) for name in names for found in [shutil.which(name, path=path)] if found)


def configure(path, command, binds, root):
    with open(path, encoding="utf-8") as file:
        config = json.load(file)
    config["root"]["path"] = root
    config["process"].update(terminal=False, args=list(command))
    config["mounts"] += [
        {"destination": to, "type": "bind", "source": source, "options": ["rbind"]} for source, to in binds
    ]
    with open(path, "w", encoding="utf-8") as file:
        json.dump(config, file)


def bare(s, *command, binds=(), image=None):
    """A container of the runtime's own, with system directories where there is no image; what the command wrote."""
    name, program = runtime_of(s)
    bundle, ordinary = s.path("bundle"), os.geteuid() != 0
    os.makedirs(s.path("bundle/rootfs"))
    binds = [
        *binds,
        *(
            []
            if image
            else [
                (place, place)
                for place in ("/usr", "/bin", "/sbin", "/lib", "/lib64")
                if os.path.isdir(place)
            ]
        ),
    ]
    spec = ["spec"] + (["--rootless"] if ordinary and name != "runsc" else [])
    subprocess.run([program, *spec], cwd=bundle, check=True, capture_output=True, timeout=MINUTE)
    configure(s.path("bundle/config.json"), command, binds, image or s.path("bundle/rootfs"))
    argv = [
        program,
        *WORDS[name],
        *(["--rootless"] if ordinary and name == "runsc" else []),
        f"--root={s.path('run/state')}",
        "run",
        f"bare-{os.getpid()}-{os.path.basename(s.root)}",
    ]
    if name == "crun":
        argv = ["unshare", "-rm" if ordinary else "-m", SHELL, "-c", WITHOUT_GROUPS, *argv]
    done = subprocess.run(
        argv,
        cwd=bundle,
        env=s.environ,
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        timeout=MINUTE,
    )
    if not done.stdout:
        raise Missing(f"{name} by itself runs no container here: {done.stderr[-200:]}")
    return done.stdout


# ---- the runtime -------------------------------------------------------------------------------------------

# Looks for what a runtime has written down of a container, also by way of every process that somebody outside has named.
STATE = """
import os, sys
pids = open(sys.argv[1]).read().split() if os.path.exists(sys.argv[1]) else []
ways = [f"/proc/{pid}/{link}" for pid in [*range(1, 30), *pids] for link in ("root", "cwd")] + ["", "/..", "/tmp/.."]
for top in [way + place for way in ways for place in ("/tmp/state", "/run", "/state", "/tmp")] + sys.argv[2:]:
    for directory, _, names in os.walk(top):
        for name in names:
            try:
                text = open(os.path.join(directory, name), "r+b").read(1 << 16)
            except OSError:
                continue
            if b"ociVersion" in text or b"init_process" in text:
                print("GOT", directory, name)
print("looked")
"""


def state_is_reached(s):
    """Who changes it chooses what is killed, and what is run on the host."""
    os.mkdir(s.path("run"))
    if s.how == BARE:
        return "GOT" in bare(s, PYTHON, "-I", "-c", STATE, "", "/host", binds=[(s.path("run"), "/host")])
    s.write("data/look.py", STATE)
    s.writable += ['{ path = "/host", from = %s }' % json.dumps(s.path("run"))]

    def look(process):
        pids = s.crowd(process)
        s.write("meeting/pids", " ".join(map(str, pids)))
        assert any(
            os.path.isdir(f"/proc/{pid}/root/tmp/state/") and os.listdir(f"/proc/{pid}/root/tmp/state")
            for pid in pids
        ), "the runtime's state is not where it is looked for"

    out = s.meanwhile(f"{PYTHON} -I {s.path('data/look.py')} {s.path('meeting/pids')} /host", look)
    assert "looked" in out, out
    return "GOT" in out


def own_copy(s):
    """toolcage and its programs once more, so that nobody else's are at stake. The helper's path."""
    source = os.path.dirname(os.path.realpath(s.options.toolcage))
    os.mkdir(s.path("own"))
    for name in ("toolcage", "toolcage-helper", "toolcage-engine"):
        shutil.copy(os.path.join(source, name), s.path("own", name))
    s.options = argparse.Namespace(**{**vars(s.options), "toolcage": s.path("own/toolcage")})
    return s.path("own/toolcage-helper")


def seal(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest(), os.stat(path).st_mode, os.stat(path).st_ino


def pid_1_is_rewritten(s):
    """Our program is bound into the container. Its file is wrecked: by its name, by PID 1's, and by a descriptor that it
    has left open when it became another program, as runtimes did that stepped into a container."""
    places = ["/proc/self/fd/9", "/proc/1/exe", "/.toolcage/init", "/.toolcage/engine-init"]
    if s.how == BARE:
        init = s.program("machinery")
        before = seal(init)
        out = bare(
            s,
            "/.toolcage/init",
            "hand-on",
            "/mnt/attack-files",
            "wreck",
            *places,
            binds=[(init, "/.toolcage/init"), (s.path("bin"), "/mnt")],
        )
        assert "missed" in out or "GOT" in out, out
        return seal(init) != before
    init = own_copy(s)
    before = seal(init)
    s.call(s.program("machinery"), "hand-on", s.program("files"), "wreck", *places)
    wreck = f"{s.program('files')} wreck /proc/self/fd/9 $p; chmod 777 $p"  # while the tool runs it itself, and then
    out = s.call(
        SHELL,
        "-c",
        f"for p in /proc/1/exe /.toolcage/init; do $p x & command exec 9<$p; {wreck}; wait; {wreck}; done; echo tried",
    )
    assert "tried" in out, out
    return not os.path.exists(init) or seal(init) != before


# ---- images ------------------------------------------------------------------------------------------------

POINTS = ["proc", "dev", "tmp", "etc", "sys", "workspace", ".toolcage", "var"]


def make_image(s):
    """A directory with one program; the policy names it, and the workspace is elsewhere in it."""
    s.write("image/bin/attack", "", 0o755)
    shutil.copy(s.options.attacks, s.path("image/bin/attack"))
    s.writable[:] = ['{ path = "/workspace", from = %s }' % json.dumps(s.path("ws"))]
    s.readable[:] = []
    s.more = f'image = "{s.path("image")}"'


def put_points(s, what):
    """In the place of each directory that something is mounted on: a link, or a file."""
    for name in POINTS:
        at = s.path("image", name)
        if os.path.lexists(at):
            os.unlink(at)
        if what == "file":
            s.write(f"image/{name}", "x")
        else:
            os.symlink({"absolute": s.path("secret"), "relative": "../secret", "loop": name}[what], at)


def mount_points_lead_outside(s):
    """Who prepares an image by name follows its links: makes directories, writes hosts and resolv.conf, mounts."""
    make_image(s)
    put_points(s, "relative")
    if s.how == DIRECT:
        for name in POINTS:
            os.makedirs(s.path("image", name, "made"), exist_ok=True)
            s.write(f"image/{name}/hosts", "127.0.0.1 localhost\n")
        return set(os.listdir(s.path("secret"))) != {"canary"} and s.token in s.read("image/etc/canary")
    found = False
    for what in ("relative", "absolute", "loop", "file"):
        put_points(s, what)
        before = sorted((name, os.lstat(name).st_mtime_ns) for name in files_of(s.path("image")))
        out = s.call(
            "/bin/attack", "read", *[f"/{name}/canary" for name in POINTS], "/proc/self/cwd/../secret/canary"
        )
        assert out.count("missed") == len(POINTS) + 1 or "GOT" in out, out
        s.call("/bin/attack", "plant", *[f"/{name}/planted" for name in POINTS])
        assert os.path.exists(s.path("ws/planted")), "the workspace is not where it was granted"
        os.unlink(s.path("ws/planted"))
        after = sorted((name, os.lstat(name).st_mtime_ns) for name in files_of(s.path("image")))
        found = found or s.token in out or os.listdir(s.path("secret")) != ["canary"] or before != after
    return found


def files_of(root):
    return [
        os.path.join(directory, name)
        for directory, names, files in os.walk(root)
        for name in [".", *names, *files]
    ]


def an_image_brings_pid_1(s):
    """In the place of our program stands one that the image's maker wrote: it would run before any of our walls."""
    make_image(s)
    s.write("image/.toolcage/init", "#!/bin/attack plant\n", 0o755)
    for name in ("etc/ld.so.preload", "etc/ld.so.cache"):
        s.write(f"image/{name}", "/bin/attack\n")
    command = ["/bin/attack", "read", "/workspace/planted"]
    if s.how == BARE:
        bare(s, "/.toolcage/init", *command, binds=[(s.path("ws"), "/workspace")], image=s.path("image"))
    else:
        assert "missed" in s.call(*command), s.answer
    return os.path.exists(s.path("ws/planted"))


def an_image_brings_rights(s):
    """Nodes of devices, set-id programs of root's."""
    make_image(s)
    os.mknod(s.path("image/bin/zero"), stat.S_IFCHR | 0o666, os.makedev(1, 5))
    os.chmod(s.path("image/bin/zero"), 0o666)
    os.chmod(s.path("image/bin/attack"), 0o6755)
    if s.how == BARE:
        return "GOT" in bare(s, "/bin/attack", "read", "/bin/zero", image=s.path("image"))
    return "GOT" in s.call("/bin/attack", "read", "/bin/zero") + s.call("/bin/attack", "rights")


# ---- what is seen of the machine ---------------------------------------------------------------------------


def groups_are_seen(s):
    """Names of other people's services, and the way to their limits."""
    look = ["find", "/sys/fs/cgroup", "-mindepth", "1", "-maxdepth", "2"]
    outside = set(subprocess.run(look, capture_output=True, text=True, check=False).stdout.split())
    if not outside:
        raise Missing("no control groups")
    out = s.call(SHELL, "-c", f"cat /proc/self/cgroup /proc/1/cgroup; {' '.join(look)}; echo looked")
    assert "looked" in out, out
    return bool(outside & set(out.split())) or bool(re.search(r"^\d+:[^:]*:/.*\w", out, re.M))


def the_machine_is_seen(s):
    """What runtimes mask, and what of it belongs to root alone."""
    names = [
        "kcore",
        "keys",
        "key-users",
        "interrupts",
        "timer_list",
        "timer_stats",
        "latency_stats",
        "sched_debug",
        "acpi/*",
        "asound/*",
        "scsi/*",
        "slabinfo",
        "vmallocinfo",
        "kpagecount",
    ]
    files = " ".join(f"/proc/{name}" for name in names) + " /sys/firmware/* /sys/firmware/*/*"
    out = s.call(
        SHELL,
        "-c",
        f"for f in {files}; do t=$(head -c 99 $f | tr -d '\\0'); [ -z \"$t\" ] || echo GOT $f; done; echo looked",
    )
    assert "looked" in out, out
    return "GOT" in out


RUNTIME = {"only": "no runtime makes it, and it takes no image"}
CASES = [
    (
        "a runtime's state is reached",
        state_is_reached,
        {"free": BARE, **RUNTIME, "engines": "its runtime's state is the engine's, in no cage"},
    ),
    ("the program of PID 1 is rewritten", pid_1_is_rewritten, {"free": BARE, **RUNTIME}),
    ("an image leads its mount points outside", mount_points_lead_outside, {"free": DIRECT, **RUNTIME}),
    ("an image contains another PID 1", an_image_brings_pid_1, {"free": BARE, **RUNTIME}),
    (
        "an image contains devices and set-id programs",
        an_image_brings_rights,
        {"free": BARE, "root": True, **RUNTIME},
    ),
    ("the host's cgroups are seen", groups_are_seen, {}),
    ("host data in /proc is read", the_machine_is_seen, {}),
]
