# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A stand-in for Kata Containers as a runtime of dockerd's and of containerd's, for what can be seen without it: it records what it is asked for and then has runc do it,
on the host's own kernel. Toolcage refuses a container that runs on that, so the stand-in covers the name of the kernel's boot, as no runtime of an
engine does by itself: what follows is a guest that believes to be one."""

import json
import os
import pathlib
import shutil
import uuid

import engines

SCRIPT = """#!/usr/bin/env python3
import json, os, sys
here, runc = {here!r}, {runc!r}
words = sys.argv[1:]
with open(f"{{here}}/asked", "a") as log:
    log.write(json.dumps(words) + "\\n")
if os.path.exists(f"{{here}}/breaks"):
    sys.exit("the stand-in breaks")
if "create" in words:
    bundle = words[words.index("--bundle") + 1]
    with open(f"{{bundle}}/config.json") as file:
        config = json.load(file)
    with open(f"{{here}}/config", "w") as log:
        json.dump(config, log)
    if not os.path.exists(f"{{here}}/honest"):
        cover = 'mount --bind /.standin/boot /proc/sys/kernel/random/boot_id; exec "$0" "$@"'
        if os.path.exists(f"{{here}}/hangs"):
            cover = "sleep 1000"
        config["process"]["args"] = ["/.standin/busybox", "sh", "-c", cover, *config["process"]["args"]]
        config["mounts"].append({{"destination": "/.standin", "type": "bind", "source": f"{{here}}/shown", "options": ["bind", "ro"]}})
        with open(f"{{bundle}}/config.json", "w") as file:
            json.dump(config, file)
os.execv(runc, [runc, *words])
"""


class Standin:
    """Its files: `honest` there, the host's kernel is seen; `breaks`, it makes no container; `hangs`, the container's program never speaks."""

    def __init__(self, place, busybox):
        self.place = pathlib.Path(place, "standin")
        (self.place / "shown").mkdir(parents=True)
        shutil.copy(busybox, self.place / "shown/busybox")
        (self.place / "shown/boot").write_text(f"{uuid.uuid4()}\n", encoding="utf-8")
        self.program = self.place / "runtime"
        self.program.write_text(SCRIPT.format(here=str(self.place), runc=engines.runtime()), encoding="utf-8")
        self.program.chmod(0o755)
        os.chmod(place, 0o755)

    def runtimes(self):
        """For dockerd."""
        return {"kata": str(self.program)}

    def path(self):
        """For containerd, which looks for a shim by that name; and that shim for runc."""
        where = self.place / "path"
        where.mkdir()
        (where / "runc").symlink_to(self.program)
        shim = where / "containerd-shim-kata-v2"
        shim.write_text(
            f'#!/bin/sh\necho "[\\"$*\\"]" >> {self.place}/asked\nexec containerd-shim-runc-v2 "$@"\n',
            encoding="utf-8",
        )
        shim.chmod(0o755)
        return f"{where}:"

    def turn(self, how, there=True):
        (self.place / how).unlink(missing_ok=True)
        if there:
            (self.place / how).touch()

    def asked(self):
        file = self.place / "asked"
        return (
            [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
            if file.exists()
            else []
        )

    def config(self):
        return json.loads((self.place / "config").read_text(encoding="utf-8"))
