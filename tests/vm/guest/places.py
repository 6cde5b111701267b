# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Machines that forbid user namespaces to ordinary users, each way that this kernel knows. Each way is first
shown to work, then an ordinary user's call must be refused by name before the tool runs, doctor must
name the fix, and the fix must work. Changes the whole machine, so it runs in a virtual one, as root.

usage: places.py BUILDDIR"""

import contextlib
import json
import os
import re
import subprocess
import sys
import tempfile

import tap

BUILD = os.path.abspath(sys.argv[1])
USER = 1000
PARSER = "/opt/apparmor"
CONFINED = "vm-no-userns"


def run(command, **how):
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False, **how)


def sysctl(name, value=None):
    path = "/proc/sys/" + name.replace(".", "/")
    if value is None:
        with open(path, encoding="ascii") as file:
            return file.read().strip()
    with open(path, "w", encoding="ascii") as file:
        file.write(value)
    return value


class Person:
    """The ordinary user, perhaps in a session below an AppArmor profile: a program that has one of its own leaves by it."""

    def __init__(self, profile=None, toolcage=os.path.join(BUILD, "toolcage")):
        self.profile, self.toolcage = profile, toolcage

    def become(self):
        os.setgroups([])
        os.setresgid(USER, USER, USER)
        os.setresuid(USER, USER, USER)
        if self.profile:
            with open("/proc/self/attr/apparmor/exec", "w", encoding="ascii") as attribute:
                attribute.write("exec " + self.profile)

    def run(self, *command):
        command = ["/usr/bin/env", *command] if self.profile else command
        return run(
            command,
            preexec_fn=self.become,
            cwd="/var/tmp",
            env={"PATH": os.environ["PATH"], "HOME": "/home/user"},
        )

    def may_make_namespaces(self):
        return self.run("unshare", "--user", "--map-root-user", "true").returncode == 0

    def call(self):
        """The result, and whether the tool ran."""
        done = self.run(self.toolcage, "exec", "--json", "--", "/bin/echo", "alive")
        answer = (
            json.loads(done.stdout) if done.stdout.startswith("{") else {"error": {"message": done.stderr}}
        )
        return answer, done.returncode

    def doctor(self):
        return self.run(self.toolcage, "doctor").stdout


def works(person, name):
    answer, code = person.call()
    tap.point(
        code == 0 and answer.get("status") == "ok" and answer["stdout"]["text"] == "alive\n", name, answer
    )


def refused(person, name, fix):
    tap.point(not person.may_make_namespaces(), f"{name}: user namespaces are forbidden")
    answer, code = person.call()
    error = answer.get("error") or {}
    tap.point(code == 126 or code == 125, f"{name}: the call is refused", (code, answer))
    tap.point(answer.get("stdout", {}).get("text", "") == "", f"{name}: the tool did not run", answer)
    tap.point(fix in str(error).lower(), f"{name}: the refusal names the fix", error)
    doctor = person.doctor()
    tap.point(
        re.search(r"^no ", doctor, re.M) and fix in re.sub(r"\s+", " ", doctor).lower(),
        f"{name}: doctor names the fix",
        doctor,
    )


def by_sysctl(name, off):
    """The fix is taken from the hint: what it says must be what helps."""
    try:
        before = sysctl(name)
    except OSError:
        return tap.skip(f"{name} = {off}", "this kernel does not have it")
    person = Person()
    works(person, f"{name}: before, a call works")
    sysctl(name, off)
    try:
        refused(person, f"{name} = {off}", f"{name}=")
        hint = re.search(re.escape(name) + r"=(\d+)", str(person.call()[0].get("error")))
        if hint:
            sysctl(name, hint.group(1))
            works(person, f"{name}={hint.group(1)}, as the hint says: a call works")
        if os.geteuid() == 0:
            done = run([person.toolcage, "exec", "--", "/bin/true"])
            tap.point(done.returncode == 0, f"{name}: root's call works", done.stderr)
    finally:
        sysctl(name, before)
    return None


def parse(text):
    """Loads a profile by the parser of a later release, which brings its own C library."""
    libraries = next(path for path, _, names in os.walk(PARSER) if "libc.so.6" in names)
    loader = os.path.join(libraries, "ld-linux-x86-64.so.2")
    with tempfile.NamedTemporaryFile("w", suffix=".aa") as profile:
        profile.write(text)
        profile.flush()
        done = run(
            [
                loader,
                "--library-path",
                libraries,
                find(PARSER, "apparmor_parser"),
                "--base",
                PARSER + "/etc/apparmor.d",
                "--skip-cache",
                "--replace",
                profile.name,
            ]
        )
    return done


def find(top, name):
    return next(os.path.join(path, name) for path, _, names in os.walk(top) if name in names)


# Everything but user namespaces; a program with a profile of its own leaves by it.
CONFINEMENT = (
    """abi <abi/4.0>,
profile %s flags=(attach_disconnected) {
  allow capability,
  allow network,
  allow mount,
  allow remount,
  allow umount,
  allow pivot_root,
  allow ptrace,
  allow signal,
  allow unix,
  allow dbus,
  allow mqueue,
  allow io_uring,
  allow change_profile,
  allow /** rwlkm,
  allow /** pix,
  deny userns,
}
"""
    % CONFINED
)


@contextlib.contextmanager
def installed():
    """The profile is for an installed helper, so one is installed."""
    done = run(["meson", "install", "-C", BUILD, "--no-rebuild"], cwd=os.path.dirname(BUILD))
    if done.returncode:
        raise OSError(done.stdout[-500:] + done.stderr[-500:])
    run(["ldconfig"])
    yield "/usr/local/bin/toolcage"


def mediated():
    """By AppArmor: kernels say so in one of two places."""
    features = "/sys/kernel/security/apparmor/features/namespaces/"
    with contextlib.suppress(OSError), open(features + "mask", encoding="ascii") as mask:
        return "userns_create" in mask.read()
    return os.path.exists(features + "userns_create")


def apparmor():
    name = "AppArmor without userns"
    if not os.path.isdir(PARSER):
        return tap.skip(name, "this variant has no parser that knows the rule")
    if not mediated():
        return tap.skip(name, "this kernel's AppArmor does not mediate user namespaces")
    with installed() as toolcage:
        person = Person(CONFINED, toolcage)
        works(Person(None, toolcage), f"{name}: before, a call works")
        done = parse(CONFINEMENT)
        if not tap.point(done.returncode == 0, f"{name}: the confinement loads", done.stderr):
            return None
        refused(person, name, "docs/places.md")
        with open(profile_path(), encoding="utf-8") as profile:
            done = parse(profile.read())
        if not tap.point(done.returncode == 0, f"{name}: the packaged profile loads", done.stderr):
            return None
        tap.point(not person.may_make_namespaces(), f"{name}: with it, others still may not")
        works(person, f"{name}: with it, a call works")
    return None


def profile_path():
    top = os.path.join(os.path.dirname(BUILD), "packaging")
    return next(
        os.path.join(path, name)
        for path, _, names in os.walk(top)
        for name in names
        if "apparmor" in os.path.join(path, name) and "toolcage" in name
    )


def main():
    if os.geteuid():
        print("1..0 # SKIP only root may change the machine")
        return 0
    os.umask(0o022)
    tap.attempt(apparmor)
    for case in (
        ("kernel.unprivileged_userns_clone", "0"),
        ("user.max_user_namespaces", "0"),
        ("kernel.apparmor_restrict_unprivileged_userns", "1"),
    ):
        tap.attempt(by_sysctl, *case)
    return tap.finish()


sys.exit(main())
