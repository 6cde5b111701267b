# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
#
# What this kernel gives to this user: the facts on which the cage's clauses stand, tried and not
# guessed from version numbers. One "fact: value" a line.
import ctypes
import errno
import os
import platform
import struct
import subprocess
import sys
import tempfile

libc = ctypes.CDLL(None, use_errno=True)
SYS_MOUNT_SETATTR, SYS_LANDLOCK_CREATE, SYS_OPEN_TREE, SYS_CLONE3 = 442, 444, 428, 435
AT_FDCWD, AT_EMPTY_PATH, OPEN_TREE_CLONE, MOUNT_ATTR_IDMAP = -100, 0x1000, 1, 0x00100000


def syscall(number, *arguments):
    result = libc.syscall(number, *arguments)
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def outcome(function, *arguments):
    try:
        return function(*arguments)
    except OSError as error:
        return "no (%s)" % errno.errorcode.get(error.errno, error.errno)


def own_group():
    with open("/proc/self/cgroup") as f:
        return next(line[3:].strip() for line in f if line.startswith("0::"))


def controllers():
    base = "/sys/fs/cgroup" + os.path.dirname(own_group())
    with open(base + "/cgroup.subtree_control") as f:
        enabled = f.read().split()
    return "%s below %s, %s" % (
        " ".join(enabled) or "none",
        base,
        "writable" if os.access(base, os.W_OK) else "not writable",
    )


def group_child():
    base = "/sys/fs/cgroup" + os.path.dirname(own_group())
    path = os.path.join(base, "probe")
    os.mkdir(path)
    try:
        with open(path + "/memory.max", "w") as f:
            f.write("16777216")
        return "yes, kill switch: %s" % ("yes" if os.path.exists(path + "/cgroup.kill") else "no")
    finally:
        os.rmdir(path)


def user_namespace(*inside):
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "--mount", "--pid", "--fork", "--net", *inside],
        capture_output=True,
        text=True,
        timeout=60,
    )
    return "yes" if done.returncode == 0 else "no (%s)" % done.stderr.strip().replace("\n", " ")


def overlay_in_namespace():
    with tempfile.TemporaryDirectory() as d:
        for name in ("l", "u", "w", "m"):
            os.mkdir(os.path.join(d, name))
        script = "mount -t overlay -o lowerdir=$0/l,upperdir=$0/u,workdir=$0/w overlay $0/m && touch $0/m/x && umount $0/m && rm -rf $0/w/work"
        return user_namespace("sh", "-c", script, d)


def idmapped(path):
    holder = subprocess.Popen(["unshare", "--user", "sleep", "30"])
    try:
        for _ in range(200):
            if os.readlink("/proc/%d/ns/user" % holder.pid) != os.readlink("/proc/self/ns/user"):
                break
            subprocess.run(["sleep", "0.02"], check=True)
        for name in ("uid_map", "gid_map"):
            with open("/proc/%d/%s" % (holder.pid, name), "w") as f:
                f.write("0 2000000000 1")
        namespace = os.open("/proc/%d/ns/user" % holder.pid, os.O_RDONLY | os.O_CLOEXEC)
        tree = syscall(SYS_OPEN_TREE, AT_FDCWD, path.encode(), OPEN_TREE_CLONE)
        attributes = struct.pack("QQQQ", MOUNT_ATTR_IDMAP, 0, 0, namespace)
        syscall(SYS_MOUNT_SETATTR, tree, b"", AT_EMPTY_PATH, attributes, len(attributes))
        return "yes"
    finally:
        holder.kill()
        holder.wait()


def file_system(path):
    return subprocess.run(
        ["stat", "-f", "-c", "%T", path], capture_output=True, text=True, check=True
    ).stdout.strip()


def text(path):
    with open(path) as f:
        return f.read().strip()


def main():
    facts = [
        ("kernel", lambda: platform.release()),
        ("init", lambda: text("/proc/1/comm")),
        ("user", lambda: "%d:%d" % (os.getuid(), os.getgid())),
        ("cgroup", own_group),
        ("cgroup controllers", controllers),
        ("cgroup child with memory.max", group_child),
        ("lsm", lambda: text("/sys/kernel/security/lsm")),
        ("landlock abi", lambda: syscall(SYS_LANDLOCK_CREATE, None, 0, 1)),
        (
            "apparmor mediates namespaces",
            lambda: text("/sys/kernel/security/apparmor/features/namespaces/mask"),
        ),
        (
            "apparmor_restrict_unprivileged_userns",
            lambda: text("/proc/sys/kernel/apparmor_restrict_unprivileged_userns"),
        ),
        ("unprivileged_userns_clone", lambda: text("/proc/sys/kernel/unprivileged_userns_clone")),
        ("seccomp actions", lambda: text("/proc/sys/kernel/seccomp/actions_avail")),
        ("user namespace", lambda: user_namespace("true")),
        ("proc in it", lambda: user_namespace("mount", "-t", "proc", "proc", "/proc")),
        ("overlayfs in it", overlay_in_namespace),
        ("id-mapped mount of / (%s)" % file_system("/"), lambda: idmapped("/usr")),
        ("id-mapped mount of /dev/shm (%s)" % file_system("/dev/shm"), lambda: idmapped("/dev/shm")),
        ("swap", lambda: "%d" % (len(text("/proc/swaps").splitlines()) - 1)),
    ]
    for name, function in facts:
        print("%s: %s" % (name, outcome(function)))
        sys.stdout.flush()


main()
