# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The places: each starts a command in surroundings that lack something, and again with the fix applied that doctor
names there."""

import json
import os
import shutil
import subprocess
import tempfile

import docker

USER = 65533
PATIENCE = int(
    os.environ.get("TOOLCAGE_TEST_PATIENCE", "1")
)  # times as long on a slow machine; what runs there hears of it
ENVIRON = {
    "PATH": "/usr/sbin:/usr/bin:/sbin:/bin",
    "HOME": "/nonexistent",
    "LC_ALL": "C",
    "TOOLCAGE_TEST_PATIENCE": str(PATIENCE),
}
AS_USER = ["setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"]
MOUNTS = ["unshare", "--mount", "--propagation", "private", "sh", "-ec"]


class Absent(Exception):
    """This machine has not what the place is made of."""


class Place:
    """A command line in front of another. `lacks`: the clause that breaks there (None: everything holds), `told`: words
    that doctor's fix must hold, `fixed`: the place where it is applied, `form`: Landlock and seccomp alone work there, which
    is tried by these suites."""

    def __init__(self, name, prefix, lacks=None, told=(), fixed=None, form=()):
        self.name, self.prefix, self.lacks, self.told, self.fixed, self.form = (
            name,
            prefix,
            lacks,
            told,
            fixed,
            form,
        )

    def run(self, argv, timeout):
        for program in {"bwrap", "unshare", "setpriv"} & set(self.prefix):
            if not shutil.which(program):
                raise Absent(f"{program} is not installed")
        return subprocess.run(
            [*self.prefix, *argv],
            env=ENVIRON,
            cwd="/",
            capture_output=True,
            text=True,
            timeout=timeout * PATIENCE,
            stdin=subprocess.DEVNULL,
            check=False,
        )


class Container(Place):
    """A container of runc as docker would configure it. The flags are docker's."""

    def __init__(self, name, uid, flags=(), **more):
        super().__init__(name, ["runc"], **more)
        self.uid, self.flags = uid, flags

    def run(self, argv, timeout):
        if not shutil.which("runc"):
            raise Absent("runc is not installed")
        bundle = tempfile.mkdtemp(prefix="toolcage-places-", dir="/var/tmp")
        os.mkdir(os.path.join(bundle, "rootfs"))
        try:
            subprocess.run(["runc", "spec", "-b", bundle], check=True, timeout=20)
            with open(os.path.join(bundle, "config.json"), encoding="utf-8") as file:
                spec = json.load(file)
            with open(os.path.join(bundle, "config.json"), "w", encoding="utf-8") as file:
                json.dump(docker.config(spec, argv, ENVIRON, self.uid, self.flags), file)
            # the machine's own tree is the image; the mount lives in a namespace that ends with the container
            script = 'mount --bind / "$0/rootfs"; exec runc run -b "$0" "$1"'
            return subprocess.run(
                [*MOUNTS, script, bundle, os.path.basename(bundle)],
                capture_output=True,
                text=True,
                check=False,
                timeout=timeout * PATIENCE,
                stdin=subprocess.DEVNULL,
                env={**os.environ, **ENVIRON},
                cwd="/",
            )
        finally:
            subprocess.run(
                ["runc", "delete", "-f", os.path.basename(bundle)],
                capture_output=True,
                check=False,
                timeout=20,
            )
            shutil.rmtree(bundle, ignore_errors=True)


def changed(script, *prefix):
    """A mount namespace of its own, changed by a script."""
    return [*MOUNTS, script + '; exec "$@"', "sh", *prefix]


def own_group(prefix):
    """Starts a command in a control group that is handed to the user: what doctor asks root for."""
    return [
        "python3",
        os.path.join(os.path.dirname(os.path.abspath(__file__)), "delegate.py"),
        str(USER),
        *prefix,
    ]


# Parts of /proc are covered, and no other procfs is left that the kernel would take as whole.
COVER = 'for p in $(findmnt -rno TARGET -t proc); do [ "$p" = /proc ] || umount -l "$p"; done; mount -t tmpfs none /proc/sys/kernel'
# A directory with everything of this machine, which is no mount point itself.
ROOT = (
    "mount -t tmpfs none /mnt && mkdir /mnt/root && cd / && for n in *; do "
    '[ -L "$n" ] && cp -P "$n" /mnt/root; [ -d "$n" ] && [ ! -L "$n" ] && [ "$n" != mnt ] && '
    'mkdir "/mnt/root/$n" && mount --rbind "$n" "/mnt/root/$n"; done; true'
)
OPEN = ("--security-opt=seccomp=unconfined", "--security-opt=systempaths=unconfined")
BWRAP = ["bwrap", "--bind", "/", "/", "--dev", "/dev", "--proc", "/proc"]

PLACES = [
    Place("a user namespace of a user", [*AS_USER, "unshare", "--user", "--map-root-user"]),
    Place(
        "a user namespace of root",
        ["unshare", "--user", "--map-root-user"],
        lacks="ids.unprivileged",
        told=["4,096 ids"],
        fixed=Place(
            "the same, begun by an ordinary user", [*AS_USER, "unshare", "--user", "--map-root-user"]
        ),
    ),
    Place("bubblewrap", [*AS_USER, *BWRAP]),
    Place(
        "bubblewrap without further user namespaces",
        [*AS_USER, *BWRAP, "--unshare-user", "--disable-userns"],
        lacks="priv.none",
        told=["max_user_namespaces", "--disable-userns"],
        fixed=Place("bubblewrap without --disable-userns", [*AS_USER, *BWRAP, "--unshare-user"]),
    ),
    Container(
        "docker's container, root in it",
        0,
        lacks="ids.unprivileged",
        told=["--user", "seccomp=unconfined", "--cap-add SYS_ADMIN"],
        fixed=Container("the same with the three flags", 0, (*OPEN, "--cap-add=CAP_SYS_ADMIN")),
    ),
    Container(
        "docker's container, a user in it",
        USER,
        lacks="priv.none",
        told=["seccomp=unconfined", "systempaths=unconfined"],
        form=("escape",),
        fixed=Container("the same with the two flags", USER, OPEN),
    ),
    Container(
        "docker's container without seccomp",
        USER,
        OPEN[:1],
        lacks="proc.own",
        told=["systempaths=unconfined"],
        form=("conformance",),
        fixed=Container("the same with its /proc unmasked", USER, OPEN),
    ),
    Place(
        "a chroot",
        changed(ROOT, "chroot", f"--userspec={USER}:{USER}", "/mnt/root"),
        lacks="priv.none",
        told=["chroot", "pivot_root"],
        fixed=Place("a pivoted root", [*AS_USER, *BWRAP]),
    ),
    Place(
        "parts of /proc covered",
        changed(COVER, *AS_USER),
        lacks="proc.own",
        told=["unmount"],
        fixed=Place("uncovered", changed(COVER + "; umount /proc/sys/kernel", *AS_USER)),
    ),
    Place(
        "no rights to control groups",
        AS_USER,
        lacks="limit.memory",
        told=["group"],
        fixed=Place("in a group of the user's", own_group(AS_USER)),
    ),
    Place(
        "no control groups",
        changed("umount -R /sys/fs/cgroup; mount -t tmpfs none /sys/fs/cgroup"),
        lacks="limit.memory",
        told=["mount"],
    ),
    Place(
        "control groups read-only",
        changed('for m in $(findmnt -rno TARGET -t cgroup,cgroup2); do mount -o remount,bind,ro "$m"; done'),
        lacks="limit.memory",
        told=["mount the groups writable"],
    ),
]
