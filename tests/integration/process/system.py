#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What every cage shows of /etc and /var/lib: open what the rule opens, closed all the rest. In a mount namespace with an
/etc and package databases of the test's own, as root, and from there as an ordinary user."""

import os
import shutil
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

import mounts
from tap import ORDINARY, TEAM, check, finish, skip_all

TOOLCAGE = os.path.abspath(sys.argv[1])
MINUTE = 60
KEPT = ("ld.so.cache", "ld.so.conf", "alternatives", "ssl/certs", "passwd", "group", "nsswitch.conf")
OPEN = (
    "probe.conf",
    "probe.d/a.conf",
    "whole.d/x",
    "whole.d/deep/y",
    "fonts/f.conf",
    "ImageMagick-6/policy.xml",
)
JOB = ("job.conf",)
SERVICE = ("daemon.conf", "probe.d/daemon.conf")
# owned by the package "probe", and everybody may read them
NAMED = (
    *("wireguard/wg0.conf", "exim4/passwd.client", "mysql/debian.cnf", "krb5.keytab", "ssl/private/key"),
    *("sudoers.d/x", "cron.d/x", "NetworkManager/system-connections/x", "ssh/ssh_host_key", "samba/smb.conf"),
    *(
        "ppp/chap-secrets",
        "ipsec.secrets",
        "apt/auth.conf.d/x",
        "apt/sources.list.d/x",
        "fstab",
        "machine-id",
    ),
    *("hostname", "mailname", "networks", "postfix/main.cf", "wpa_supplicant/x.conf", "netrc", "hosts.equiv"),
    *(
        "probe.d/api.token",
        "probe.d/server.key",
        "ldap/ldap.conf",
        "environment",
        "default/probe",
        "odbc.ini",
    ),
)
STRAY = ("stray.conf", "probe.d/stray.conf", "whole2.d/stray.conf")
# owned by the package "probe", but not everybody's to read, or not root's alone to write
MODES = {
    "probe.d/private.conf": 0o640,
    "probe.d/loose.conf": 0o666,
    "locked.d/x": 0o644,
    "probe.d/theirs.conf": 0o644,
    "probe.d/team.conf": 0o664,
}
DATA = ("/var/lib/texmf/ls-R",)


def put(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    os.chmod(path, mode)


def empty(directory):
    subprocess.run(["mount", "-t", "tmpfs", "-o", "mode=0755", "none", directory], check=True)


def make_etc(scratch):
    for name in KEPT:
        if os.path.lexists(f"/etc/{name}"):
            os.makedirs(os.path.dirname(f"{scratch}/{name}"), exist_ok=True)
            subprocess.run(["cp", "-a", f"/etc/{name}", f"{scratch}/{name}"], check=True)
    empty("/etc")
    subprocess.run(["cp", "-a", f"{scratch}/.", "/etc"], check=True)
    os.chmod("/etc", 0o755)
    for name in (*OPEN, *JOB, "whole2.d/z"):
        put(f"/etc/{name}", f"SHOWN {name}\n")
    for name in (*NAMED, *SERVICE, *STRAY):
        put(f"/etc/{name}", f"CLOSED {name}\n")
    for name, mode in MODES.items():
        put(f"/etc/{name}", f"CLOSED {name}\n", mode)
    os.utime("/etc/probe.conf", (1e9, 1e9))
    os.chmod("/etc/locked.d", 0o700)
    os.chown("/etc/probe.d/theirs.conf", ORDINARY, 0)
    os.chown("/etc/probe.d/team.conf", 0, TEAM)
    put("/etc/whole3.d/over", "CLOSED over\n")
    put(f"{scratch}/over", "CLOSED mounted over\n")
    subprocess.run(["mount", "--bind", f"{scratch}/over", "/etc/whole3.d/over"], check=True)
    os.symlink("a.conf", "/etc/probe.d/chosen")
    os.symlink("/root/diary", "/etc/probe.d/elsewhere")
    os.symlink("/usr/share/zoneinfo/Europe/Paris", "/etc/localtime")


def owned():
    return [
        f"/etc/{name}"
        for name in (*OPEN, *NAMED, *MODES, "whole2.d/z", "whole3.d/over", "probe.d", "whole.d")
    ]


def dpkg():
    units = "/lib/systemd/system"
    lists = {
        "probe": owned(),
        "daemon": [f"{units}/daemon.service", *(f"/etc/{n}" for n in SERVICE)],
        "job:amd64": [f"{units}/job.service", f"{units}/job.timer", *(f"/etc/{n}" for n in JOB)],
    }
    put("/var/lib/dpkg/status", "")
    for package, paths in lists.items():
        put(f"/var/lib/dpkg/info/{package}.list", "\n".join(["/.", *paths]) + "\n")


def pacman():
    text = (
        "%FILES%\n"
        + "".join(f"{path[1:]}\n" for path in [*owned(), "/etc/job.conf"])
        + "\n%BACKUP%\netc/stray.conf\tx\n"
    )
    put("/var/lib/pacman/local/probe-1.0-1/files", text)


def apk():
    text = "P:probe\n"
    for path in [*owned(), "/etc/job.conf"]:
        text += f"F:{os.path.dirname(path)[1:]}\nR:{os.path.basename(path)}\n"
    put("/usr/lib/apk/db/installed", text + "\n")


def rpm():
    put("/var/lib/rpm/rpmdb.sqlite", "")
    lines = "".join(f"probe {path}\n" for path in [*owned(), "/etc/job.conf"])
    put("/usr/bin/rpm", f"#!/bin/sh\ncat <<'E'\n{lines}E\n", 0o755)


def overlay(directory, scratch):
    empty(scratch)
    os.makedirs(f"{scratch}/upper")
    os.makedirs(f"{scratch}/work")
    layers = f"lowerdir={directory},upperdir={scratch}/upper,workdir={scratch}/work"
    return (
        subprocess.run(["mount", "-t", "overlay", "-o", layers, "none", directory], check=False).returncode
        == 0
    )


class Caller:
    def __init__(self, uid):
        self.uid = uid
        self.home = tempfile.mkdtemp(prefix="toolcage-system.")
        os.chown(self.home, uid, uid)

    def become(self):
        if self.uid:
            os.setgroups([TEAM])
            os.setresgid(self.uid, self.uid, self.uid)
            os.setresuid(self.uid, self.uid, self.uid)

    def run(self, *words):
        ws = os.path.join(self.home, "ws")
        os.makedirs(ws, exist_ok=True)
        return subprocess.run(
            [TOOLCAGE, *words],
            env={"PATH": "/usr/bin:/bin", "HOME": self.home},
            cwd=ws,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=MINUTE,
            check=False,
            preexec_fn=self.become,
        ).stdout

    def shell(self, script):
        return self.run("exec", "--", "/bin/sh", "-c", script)

    def all(self):
        return self.shell("grep -rhsE '^(SHOWN|CLOSED|generated)' /etc /var; find /etc /var; true")


def look(caller, who, open_names):
    text = caller.all()
    lacking = [name for name in open_names if f"SHOWN {name}\n" not in text]
    check(not lacking, f"{who}: what packages own is open", (lacking, text))
    check("CLOSED" not in text, f"{who}: no closed file can be read", text)
    names = set(text.split("\n"))
    told = [n for n in (*NAMED, *SERVICE, *STRAY, *MODES, "probe.d/elsewhere") if f"/etc/{n}" in names]
    check(not told, f"{who}: nor is its name listed", told)


def by_dpkg(caller, who):
    look(caller, who, (*OPEN, *JOB, "whole2.d/z"))
    text = caller.all()
    check(
        all(path in text for path in DATA), f"{who}: generated data that programs start with is there", text
    )
    text = caller.shell(
        "readlink /etc/probe.d/chosen /etc/localtime; echo x >/etc/probe.conf; rm /etc/whole.d/x; echo $?"
    )
    check(
        "a.conf\n/usr/share/zoneinfo/Europe/Paris\n" in text,
        f"{who}: links are links, the time zone's, too",
        text,
    )
    check(
        "Read-only file system" in text and os.path.exists("/etc/whole.d/x"),
        f"{who}: nothing can be written",
        text,
    )
    text = caller.shell("stat -c %Y /etc/probe.conf")
    check(text == f"{int(os.stat('/etc/probe.conf').st_mtime)}\n", f"{who}: a copy has the file's time", text)
    text = caller.run("exec", "--json", "--", "/bin/true")
    check('"ok"' in text, f"{who}: the call is as any other", text)
    for path, said in (("/etc/probe.conf", "owns"), ("/etc/stray.conf", "nothing grants")):
        text = caller.run("explain", "--read", path)
        check(said in text, f"{who}: explain agrees about {path}", text)


def with_a_policy(caller, who):
    """Grants and denied names of a policy meet the paths that every cage shows."""
    ws = os.path.join(caller.home, "ws")
    policy = os.path.join(caller.home, "p.toml")
    put(f"{ws}/data/f", "granted\n")
    tools = {
        "denies": 'denied = ["/etc/whole.d/x", "/etc/probe.conf"]',
        "grants": f'readable = ["/etc/hostname", {{ path = "/etc/new", from = "{ws}/data" }}]',
        "inside": f'readable = [{{ path = "/etc/whole.d/new", from = "{ws}/data" }}]',
        "over": f'readable = [{{ path = "/etc/whole.d/deep", from = "{ws}/data" }}]',
    }
    put(policy, "".join(f"[tool.{name}]\nfilesystem = {{ {text} }}\n" for name, text in tools.items()))
    subprocess.run(["chown", "-R", f"{caller.uid}", caller.home], check=True)

    def call(tool, script):
        return caller.run("exec", "--policy", policy, "--tool", tool, "--", "/bin/sh", "-c", script)

    text = call("denies", "cd /etc; cat whole.d/x probe.conf whole.d/deep/y")
    check(
        "SHOWN whole.d/deep/y" in text and text.count("SHOWN") == 1, f"{who}: denied names are hidden", text
    )
    text = call("grants", "cd /etc; cat hostname new/f whole.d/x")
    check(
        "CLOSED hostname" in text and "granted" in text and "SHOWN whole.d/x" in text,
        f"{who}: a grant opens a closed path",
        text,
    )
    text = call("inside", "true")
    check("no such directory to mount it on" in text, f"{who}: a mount point cannot be made in /etc", text)
    text = call("over", "cd /etc/whole.d; cat deep/f x")
    check("granted\nSHOWN whole.d/x" in text, f"{who}: a grant covers a shown path", text)


LFS = '[filter "lfs"]\n\tclean = git-lfs clean -- %f\n\trequired = true\n'
GIT_OPEN = (
    LFS,
    "[user]\n\tname = A\n\temail = a@example.org\n",
    "# comment\n[safe]\ndirectory = /srv/code\n",
    '[color "diff"]\n\tmeta = blue\n[core]\n\tautocrlf = input ; note\n',
)
GIT_CLOSED = (
    f'{LFS}[credential "https://example.org"]\n\thelper = store\n',
    '[url "https://example.org/a/"]\n\tinsteadOf = https://example.org/\n',
    "[http]\n\tproxy = a.example.org\n",
    "[include]\n\tpath = /root/more\n",
    f"{LFS}  [core] [credential]\n\thelper = store\n",
    '[core "\\"] [credential"]\n\thelper = store\n',
    "[core]\n\tsshCommand = ssh -o Password=x\n",
    "[core]\n\tx = a:b@example.org\n",
    "[credential.https]\nhelper = store\n",
    f"{LFS}{'#' * 70000}\n",
    "\ufeff[sendemail]\n\tsmtpPass = hunter2\n",
    "smtpPass = hunter2\n",
    '[filter "enc"]\n\tclean = openssl enc -aes-256-cbc -k MYKEY\n',
    '[filter "enc"]\n\tclean = git-lfs clean | openssl enc -k MYKEY\n',
    '[merge "enc"]\n\tdriver = run -k MYKEY\n',
    "[diff]\n\texternal = run -k MYKEY\n",
    "[core]\n\tsshCommand = sshpass -p hunter2 ssh\n",
    "[user]\n\tkey = MYKEY\n",
    "[user]\n\tname = A\\\n[http]\n",
)


def git_configuration(caller, who):
    """git's settings are shown if no section or value can hold a credential."""
    for texts, is_open in ((GIT_OPEN, True), (GIT_CLOSED, False)):
        for text in texts:
            put("/etc/gitconfig", text)
            found = caller.shell("cat /etc/gitconfig 2>/dev/null; true")
            check(
                found == (text if is_open else ""),
                f"{who}: a gitconfig is {'shown' if is_open else 'hidden'}: {text.splitlines()[-2:][0].strip()[:40]}",
                found,
            )
    put("/etc/gitconfig", LFS)
    late = subprocess.Popen(  # a running cage keeps what was checked
        ["/bin/sh", "-c", "sleep 2; printf '[sendemail]\n\tsmtpPass = hunter2\n' >> /etc/gitconfig"]
    )
    found = caller.shell("for i in 1 2 3 4 5; do cat /etc/gitconfig; sleep 1; done 2>/dev/null; true")
    late.wait()
    check(
        found.count(LFS) in (0, 5) and "hunter2" not in found,
        f"{who}: what is written into a gitconfig later is not shown",
        found,
    )
    put("/etc/gitconfig", LFS, 0o666)
    check(
        not caller.shell("cat /etc/gitconfig 2>/dev/null; true"),
        f"{who}: a gitconfig that all may write is hidden",
    )
    os.unlink("/etc/gitconfig")
    os.symlink("/root/diary", "/etc/gitconfig")
    check(not caller.shell("readlink /etc/gitconfig; true"), f"{who}: a gitconfig that is a link is hidden")
    os.unlink("/etc/gitconfig")


def changes(caller, who):
    put("/etc/whole.d/stray", "CLOSED later\n")
    text = caller.all()
    check(
        "CLOSED" not in text and "SHOWN whole.d/x" in text, f"{who}: a file that comes later is closed", text
    )
    os.unlink("/etc/whole.d/stray")
    os.chmod("/etc/probe.conf", 0o600)
    text = caller.all()
    check("SHOWN probe.conf" not in text, f"{who}: so is one that is made private", text)
    os.chmod("/etc/probe.conf", 0o644)
    put("/var/lib/dpkg/info/more.list", "/etc/stray.conf\n")
    text = caller.all()
    check("CLOSED stray.conf" in text, f"{who}: a package that is installed later is seen", text)
    os.unlink("/var/lib/dpkg/info/more.list")
    check("CLOSED" not in caller.all(), f"{who}: and one that is removed", "")


def by_others(caller, scratch):
    for manager in (pacman, apk, rpm):
        empty("/var/lib/dpkg")
        empty("/var/lib/pacman")
        manager()
        look(caller, manager.__name__, (*OPEN, *JOB, "whole2.d/z"))
        for directory in ("/var/lib/pacman", "/var/lib/dpkg"):
            subprocess.run(["umount", directory], check=True)
        shutil.rmtree("/usr/lib/apk", ignore_errors=True)
    os.unlink("/var/lib/rpm/rpmdb.sqlite")
    empty("/var/lib/dpkg")
    text = caller.all()
    wrong = [name for name in (*NAMED, *MODES) if f"CLOSED {name}\n" in text]
    check(
        not wrong and "CLOSED stray.conf" in text, "no package manager: modes and names decide", (wrong, text)
    )


def main():
    if os.geteuid() != 0:
        skip_all("a private /etc needs root")
    mounts.own_state()
    base = tempfile.mkdtemp(prefix="toolcage-system.")
    empty(base)
    for name in ("lib", "bin", "etc"):
        os.makedirs(f"{base}/{name}")
    if not overlay("/usr/lib", f"{base}/lib") or not overlay("/usr/bin", f"{base}/bin"):
        skip_all("this kernel mounts no overlay over /usr/lib")
    make_etc(f"{base}/etc")
    empty("/var/lib")
    for name in ("dpkg", "pacman", "rpm"):
        os.makedirs(f"/var/lib/{name}")
    put(DATA[0], "generated\n")
    dpkg()
    callers = [("root", Caller(0)), ("an ordinary user", Caller(ORDINARY))]
    for who, caller in callers:
        by_dpkg(caller, who)
        with_a_policy(caller, who)
        git_configuration(caller, who)
    changes(callers[1][1], "an ordinary user")
    by_others(callers[0][1], base)
    for _, caller in callers:
        shutil.rmtree(caller.home, ignore_errors=True)
    finish()


main()
