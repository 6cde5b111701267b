# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What the scripts here share: a store of images with a guest and one small image, and a policy for it."""

import glob
import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "images"))

import store  # noqa: E402
from store import BUSYBOX, TOOLCAGE, check, finish, image, skip_all  # noqa: E402,F401

TOOL = """
[tool.t]
backend = "{kind}"
image = "small"
filesystem = "none"
memory = {{ max = "64MiB", by = "any" }}
timeout = "{timeout}"
{more}
"""
QEMU = """
[backend.qemu]
emulation = {emulation}
{backend}
"""
APPLETS = "sh cat echo ls id uname sleep head dd env kill yes true mkdir wc rm mv ln chmod stat readlink mkfifo touch seq truncate".split()


def begin(who, *programs):
    """Further programs, static ones, stand in the image's /bin."""
    kernels = os.environ.get("TOOLCAGE_GUEST_KERNEL", "/")
    if not shutil.which("qemu-system-x86_64") or not shutil.which("mkfs.erofs"):
        skip_all("no machine monitor here, or nothing that makes disks: tools/deps test installs them")
    if not glob.glob(os.path.join(kernels, "boot/vmlinuz-*")):
        skip_all("no kernel for guests is installed here: tools/deps test installs one")
    store.begin(who)
    make_root("root", programs)
    made = image("import", os.path.abspath("root"), "small")
    check(made.code == 0, "an image of one program is imported", made)
    absent = call("true")
    check(
        absent.error.get("subject") == "guest"
        and "toolcage image build guest" in absent.error.get("hint", ""),
        "without a guest a call says how to get one",
        absent,
    )
    guest = image("build", "--kernel", kernels, "guest")
    check(guest.code == 0 and guest.json == {"guest": True}, "a guest is made of a kernel of Debian's", guest)
    listed = image("list").json.get("guest") or {}
    check(
        os.path.exists(f"{kernels}/boot/vmlinuz-{listed.get('kernel')}") and listed.get("bytes", 0) > 1 << 20,
        "the guest's kernel is listed",
        listed,
    )
    absent = call("true")
    check(
        absent.code == 126
        and absent.error.get("code") == "not_found"
        and "build guest" in absent.error.get("hint", ""),
        "without a disk of its image, too",
        absent,
    )
    disk = image("build", "--kernel", kernels, "guest", "small")
    check(disk.code == 0, "and the disk of an image", disk)


def make_root(path, programs):
    for name in ("bin", "etc", "usr/bin"):
        os.makedirs(f"{path}/{name}")
    with open(f"{path}/etc/machine-id", "w", encoding="utf-8") as out:  # which no machine is to have
        out.write(64 * "5" + "\n")
    shutil.copy(BUSYBOX, f"{path}/bin/busybox")
    os.symlink("../../bin/busybox", f"{path}/usr/bin/env")
    with open(os.open(f"{path}/etc/shadow", os.O_WRONLY | os.O_CREAT, 0o600), "w", encoding="utf-8") as out:
        out.write("root:*:1::::::\n")
    for program in programs:
        shutil.copy(program, f"{path}/bin/")
    for name in APPLETS:
        os.symlink("busybox", f"{path}/bin/{name}")


def start_by(policy, script, tool="t", stdin=subprocess.PIPE):
    with open("policy.new", "w", encoding="utf-8") as out:
        out.write(policy)
    os.replace("policy.new", "policy.toml")  # another call may be reading it
    words = ["exec", "--policy", "policy.toml", "--json", "--tool", tool, "--", "/bin/sh", "-c", script]
    return subprocess.Popen(
        [TOOLCAGE, *words],
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )


def start(script, more="", emulation="true", tool="t", timeout="240s", backend="", stdin=subprocess.PIPE):
    """Emulation on a busy machine takes ten times what it takes on an idle one."""
    text = QEMU.format(emulation=emulation, backend=backend) + TOOL.format(
        kind="qemu", timeout=timeout, more=more
    )
    return start_by(text, script, tool, stdin)


def end(process, stdin=None):
    out, err = process.communicate(stdin, timeout=1000)
    return store.Answer(subprocess.CompletedProcess([], process.returncode, out, err))


def call(script, stdin=None, **how):
    given = subprocess.DEVNULL if stdin is None else subprocess.PIPE
    return end(start(script, stdin=given, **how), stdin)


def changes(*words):
    return subprocess.run([TOOLCAGE, "changes", *words], capture_output=True, text=True, check=False)


def state():
    return os.path.join(os.environ["HOME"], ".local/state/toolcage")


def monitors():
    """The pids of machine monitors that run a disk of our store: another script has its own, in a file system of its own."""
    ours = os.stat(store.store()).st_dev
    found = []
    for path in glob.glob("/proc/[0-9]*/cmdline"):
        try:
            with open(path, "rb") as file:
                words = file.read()
            pid = path.split("/")[2]
            if (
                b"qemu-system" in words.split(b"\0")[0]
                and os.stat(f"/proc/{pid}/root/etc/toolcage/disk").st_dev == ours
            ):
                found.append(int(pid))
        except OSError:
            continue
    return found
