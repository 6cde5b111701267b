# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The Debian packages: lintian is quiet; installed in a clean root they have every file where it belongs and make cages; removed they
leave nothing."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import tap

root = pathlib.Path(sys.argv[1])
CALL = 'cd /tmp && toolcage exec --json -- sh -c "echo caged; cat /etc/shadow; rm -rf /decoy"'
for program in ("dpkg-buildpackage", "dh", "lintian", "mmdebstrap", "unshare"):
    if not shutil.which(program):
        tap.skip_all(f"there is no {program} here; tools/deps test installs it")
if os.geteuid():
    tap.skip_all("making a clean root to install into needs root")


def run(*command, **more):
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, timeout=1500, **more
    )


MOUNTS = """
mount --rbind "$1" "$1"; mount --rbind /dev "$1/dev"; mount -t proc proc "$1/proc"; mount -t sysfs sys "$1/sys"; mount -t tmpfs run "$1/run"
cd "$1" && mkdir -p outside && pivot_root . outside && umount -l /outside && rmdir /outside && exec sh -c "$2"
"""


def inside(tree, line):
    """In the clean root, which is the root of a mount namespace: below chroot() nobody may make a user namespace."""
    return run(
        "unshare",
        "--mount",
        "--pid",
        "--fork",
        "sh",
        "-c",
        MOUNTS,
        "sh",
        tree,
        line,
        env={"PATH": "/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root", "DEBIAN_FRONTEND": "noninteractive"},
    )


def files_of(tree):
    return {
        path.relative_to(tree).as_posix()
        for top in ("usr", "etc")
        for path in (tree / top).rglob("*toolcage*")
    }


def others(packages):
    """What they depend on besides each other."""
    said = ", ".join(run("dpkg", "-f", package, "Depends").stdout.strip() for package in packages)
    return {name for name in re.findall(r"(?:^|, )([a-z0-9.+-]+)", said) if "toolcage" not in name}


def check_installed(tree, packages):
    for package in packages:
        shutil.copy(package, tree / "tmp")
    done = inside(tree, "dpkg --install /tmp/*.deb")
    if not tap.check(
        done.returncode == 0, "installed in a clean root", done.stdout[-2000:] + done.stderr[-2000:]
    ):
        return
    there = files_of(tree)
    tap.check(
        "usr/libexec/toolcage/toolcage-helper" in there and not any("lib/libexec" in name for name in there),
        "programs are in libexec",
        sorted(there),
    )
    (tree / "decoy").write_text("decoy")
    done = inside(tree, CALL)
    if '"unenforceable"' in done.stdout:
        tap.skip("a call in the clean root", "this machine cannot make the cage in it")
    else:
        tap.check(
            '"caged\\n"' in done.stdout and "No such file" in done.stdout and (tree / "decoy").exists(),
            "a call in the clean root",
            done.stdout + done.stderr,
        )
    done = inside(tree, "dpkg --purge toolcage libtoolcage-dev libtoolcage0")
    left = files_of(tree)
    tap.check(
        done.returncode == 0 and not left, "removed, they leave nothing", done.stderr + str(sorted(left))
    )


with tempfile.TemporaryDirectory(prefix="toolcage-deb-") as directory:
    os.chmod(directory, 0o755)
    scratch = pathlib.Path(directory)
    done = run(root / "tools/deb", scratch / "debs")
    packages = sorted((scratch / "debs").glob("*.deb"))
    names = [re.sub(r"_.*", "", package.name) for package in packages]
    if tap.check(
        names == ["libtoolcage-dev", "libtoolcage0", "toolcage"],
        "three packages are built",
        done.stdout + done.stderr,
    ):
        done = run("lintian", "--fail-on", "error,warning", *packages)
        tap.check(
            done.returncode == 0 and not re.search(r"^[EW]: ", done.stdout, re.M),
            "lintian is quiet",
            done.stdout + done.stderr,
        )
        made = run(
            "mmdebstrap",
            "--variant=essential",
            "--mode=root",
            f"--include={','.join(sorted(others(packages) | {'mount'}))}",
            "bookworm",
            scratch / "root",
        )
        if made.returncode:
            tap.skip(
                "a clean root", "mmdebstrap cannot make one here: " + made.stderr.strip().splitlines()[-1]
            )
        else:
            check_installed(scratch / "root", packages)
tap.finish()
