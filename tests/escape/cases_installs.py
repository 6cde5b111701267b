# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Attacks by what is installed for a tool: on the tree, from the tree, and by half of one."""

import json
import os
import subprocess

from cases_files import has_set_id_files
from scene import DIRECT, MINUTE, Refused

PLACE = "/opt/deps"


class Installed:
    """What a script, with $D for its place, leaves: in a cage by its install phase, else by hand."""

    def __init__(self, s, script):
        self.s = s
        if s.how == DIRECT:
            self.tree = self.place = s.path("deps")
            os.mkdir(self.tree)
            subprocess.run(
                ["/bin/sh", "-c", script],
                env={**s.environ, "D": self.tree},
                capture_output=True,
                check=False,
                timeout=MINUTE,
            )
            return
        self.place = PLACE
        s.more += (
            f'\nsetup = {{ command = ["/bin/sh", "-c", {json.dumps(script)}], into = "{PLACE}", env = {{ set = {{ D = "{PLACE}", OF = "{s.token}" }} }}, '
            f'backend = "{s.options.backend}", image = "system", memory = {s.memory} }}\n'
        )
        s.ends.callback(self.setup, "--remove")
        s.answer = json.loads(self.setup().stdout.splitlines()[0])
        if s.answer["status"] in ("denied", "error", "cancelled"):
            raise Refused(json.dumps(s.answer["error"]))
        base = s.path("home/.local/state/toolcage") if os.geteuid() else "/var/lib/toolcage"
        row = json.loads(self.setup("--list").stdout)["setups"][0]
        self.tree = os.path.join(base, "setup", row["digest"].split(":")[1], "tree")

    def setup(self, *flags):
        return subprocess.run(
            [
                self.s.options.toolcage,
                "setup",
                "--policy",
                self.s.policy(),
                "--tool",
                self.s.how,
                "--json",
                *flags,
            ],
            env=self.s.environ,
            cwd=self.s.path("ws"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=MINUTE,
        )


def installed_file_is_changed(s):
    """Everything in the tree may be written by anybody; the tool does, by every name that it has for it."""
    deps = Installed(s, "echo good > $D/f; mkdir $D/d; chmod 777 $D $D/d $D/f")
    for place in (deps.place, deps.tree, "/proc/self/root" + deps.place):
        s.call(
            "/bin/sh",
            "-c",
            f"echo {s.token} > {place}/f; echo {s.token} > {place}/d/new; mv {place}/f {place}/g",
        )
    return (
        os.listdir(deps.tree + "/d") != []
        or not os.path.exists(deps.tree + "/f")
        or s.token in s.read(deps.tree + "/f")
    )


def an_installed_link_leads_out(s):
    up = "../" * 30
    deps = Installed(
        s,
        f"cd $D; ln -s {s.secret} absolute; ln -s {up}{s.secret[1:]} upwards; ln -s /proc/1/root{s.secret} root",
    )
    return s.token in s.call("/bin/sh", "-c", f"cd {deps.place}; cat absolute upwards root; true")


def a_setid_file_is_installed(s):
    deps = Installed(s, "for f in 6755 4755 2755; do cp /bin/sh $D/$f; chmod $f $D/$f; done; true")
    return has_set_id_files(deps.tree)


def half_an_install_is_used(s):
    deps = Installed(s, f"echo {s.token} > $D/f; kill -9 $$")
    try:
        return s.token in s.call("/bin/cat", f"{deps.place}/f")
    except Refused as refused:
        assert '"setup"' in str(refused), refused
        return False


CASES = [
    ("an installed tree is changed", installed_file_is_changed, {"free": DIRECT}),
    ("an installed link leads out", an_installed_link_leads_out, {"free": DIRECT}),
    ("a set-id file is installed", a_setid_file_is_installed, {"free": DIRECT}),
    ("half an install is used", half_an_install_is_used, {"free": DIRECT}),
]
