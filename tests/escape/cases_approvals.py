# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Attacks on what a person approves: something else takes the place of what was read or written, or is not shown."""
import os
import subprocess
import time

from scene import DIRECT, MINUTE

PYTHON = "/usr/bin/python3"
OURS = '[tool.ours]\ncommand = ["true"]\n'
# Puts a policy of its own at the name as soon as there is one, again and again.
SWAP = """
import os, sys, time
os.chdir(sys.argv[1])
open('planted', 'w').write('[tool.planted]\\ncommand = ["true"]\\n')
end, n = time.monotonic() + 15, 0
open('up', 'w').close()
while time.monotonic() < end and not os.path.exists('stop'):
    os.link('planted', f'ready{n}')
    while not os.path.exists('toolcage.toml') and time.monotonic() < end:
        pass
    os.rename(f'ready{n}', 'toolcage.toml')
    n += 1
    while os.path.exists('toolcage.toml') and not os.path.exists('stop'):
        pass
"""


def toolcage(s, *args):
    done = subprocess.run([s.options.toolcage, *args], env=s.environ, cwd=s.path("ws"), capture_output=True, text=True, check=False,
                          stdin=subprocess.DEVNULL, timeout=MINUTE)
    return done.stdout


def a_policy_is_swapped_before_its_trust(s):
    """Between the end of its writing and the trust in it. Without toolcage init: somebody writes one and trusts the name."""
    if s.how == DIRECT:
        s.write("ws/toolcage.toml", OURS)
        s.write("ws/other", OURS.replace("ours", "planted"))
        os.rename(s.path("ws/other"), s.path("ws/toolcage.toml"))
        toolcage(s, "policy", "trust", "toolcage.toml")
        return "planted" in toolcage(s, "tools")
    process, through = s.popen(PYTHON, "-c", SWAP, s.path("ws")), False
    deadline = time.monotonic() + MINUTE
    while not os.path.exists(s.path("ws/up")) and process.poll() is None and time.monotonic() < deadline:
        time.sleep(0.02)
    assert os.path.exists(s.path("ws/up")), process.communicate()
    for _ in range(60):
        toolcage(s, "init")
        through = through or "planted" in toolcage(s, "tools")
        if os.path.exists(s.path("ws/toolcage.toml")):
            os.unlink(s.path("ws/toolcage.toml"))
    s.write("ws/stop", "")
    s.write("ws/toolcage.toml", "")
    s.result(*process.communicate(timeout=MINUTE))
    return through


CASES = [
    ("a policy is swapped before its trust", a_policy_is_swapped_before_its_trust, {"free": DIRECT, "alike": True}),
]
