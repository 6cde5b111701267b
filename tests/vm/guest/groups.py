# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""cgroup v2 with all its controllers, in a VM, because CI hosts may have only cgroup v1. A cgroup enforces the limits of a call, the
result names a limit that was reached, the cage is created in its cgroup, and no cgroup is left.

usage: groups.py BUILDDIR"""

import json
import os
import re
import subprocess
import sys
import tempfile
import time

import tap

TOOLCAGE = os.path.abspath(os.path.join(sys.argv[1], "toolcage"))
POLICY = """[defaults]
memory = "40MiB"
disk = "8MiB"
pids = 24
cpus = 0.5
timeout = "280s"
"""


def call(code, *options, wrap=()):
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as policy:
        policy.write(POLICY)
        policy.flush()
        done = subprocess.run(
            [
                *wrap,
                TOOLCAGE,
                "exec",
                "--json",
                "--policy",
                policy.name,
                *options,
                "--",
                "/usr/bin/python3",
                "-c",
                code,
            ],
            capture_output=True,
            text=True,
            timeout=600,
            check=False,
        )
    return json.loads(done.stdout) if done.stdout.startswith("{") else {"error": done.stderr}


def groups_left():
    return [path for path, _, _ in os.walk("/sys/fs/cgroup") if "toolcage" in os.path.basename(path)]


def memory():
    answer = call("x = bytearray(120 << 20); print(len(x))")
    tap.point(answer.get("limit") == "memory", "memory beyond the limit is named", answer)
    tap.point(
        "cgroup v2" in answer.get("enforcement", {}).get("limit.memory", ""),
        "memory is held by a group of version 2",
        answer,
    )
    answer = call("x = bytearray(120 << 20)\nprint('alive')", "--memory", "24MiB")
    tap.point(answer.get("limit") == "memory", "a smaller one from the call, too", answer)
    # The kernel ends the whole cage, not only the process that exceeded the limit.
    answer = call(
        "import os, time\nif os.fork() == 0:\n x = bytearray(120 << 20)\ntime.sleep(240)\nprint('alive')"
    )
    tap.point(
        answer.get("limit") == "memory"
        and "alive" not in answer["stdout"]["text"]
        and answer["usage"]["wall_ms"] < 200000,
        "the whole cage ends when a child of the tool runs out",
        answer,
    )


def memory_in_many():
    """Eight processes that exceed the limit only together: a limit for each process would not stop them."""
    answer = call(
        "import os, time\nfor i in range(8):\n if os.fork() == 0:\n  x = bytearray(15 << 20); time.sleep(240)\n"
        "time.sleep(240); print('alive')"
    )
    tap.point(answer.get("limit") == "memory", "eight processes share one limit", answer)


def pids():
    answer = call(
        "import os, time\nn = 0\ntry:\n for i in range(200):\n  if os.fork() == 0:\n   time.sleep(240)\n  n += 1\n"
        "except OSError as e:\n print(e.errno, n)"
    )
    tap.point(
        "cgroup v2" in answer.get("enforcement", {}).get("limit.pids", ""),
        "pids are held by a group of version 2",
        answer,
    )
    made = int(answer["stdout"]["text"].split()[1]) if answer.get("stdout", {}).get("text") else -1
    tap.point(0 < made < 24, "a fork bomb ends at the limit", answer)


def cpus():
    answer = call("import time\nend = time.monotonic() + 4\nwhile time.monotonic() < end: pass")
    tap.point(
        "cgroup v2" in answer.get("enforcement", {}).get("limit.cpus", ""),
        "cpus are held by a group of version 2",
        answer,
    )
    usage = answer["usage"]
    tap.point(0 < usage["cpu_ms"] < usage["wall_ms"] * 0.75, "half a processor is not exceeded", usage)
    tap.point(usage["memory_peak_bytes"] > 0, "the peak is told", usage)


def birth():
    with tempfile.NamedTemporaryFile() as trace:
        answer = call(
            "pass", wrap=("strace", "-f", "-qq", "-e", "trace=clone3,openat,write", "-o", trace.name)
        )
        with open(trace.name, errors="replace") as lines:
            text = lines.read()
    if "clone3" not in text:
        return tap.skip("the cage is born in its group", "strace saw no clone3 here")
    tap.point(
        answer.get("exit_code") == 0 and "CLONE_INTO_CGROUP" in text, "the cage is born in its group", answer
    )
    return tap.point(
        not re.search(r'openat\([^)]*"cgroup\.procs", O_(WRONLY|RDWR)', text),
        "no process is moved between groups",
    )


def nothing_left():
    for _ in range(20):  # the helper of the killed host may still be cleaning up
        subprocess.run([TOOLCAGE, "doctor", "--clean"], capture_output=True, timeout=120, check=False)
        left = groups_left()
        if not left:
            break
        time.sleep(0.5)
    tap.point(not left, "no control group stays", "\n".join(left))


def killed_host():
    """The helper ends the cage when its host process is killed. The cgroup is removed then, or at the next start."""
    with tempfile.NamedTemporaryFile("w", suffix=".toml") as policy:
        policy.write(POLICY)
        policy.flush()
        host = subprocess.Popen(
            [TOOLCAGE, "exec", "--policy", policy.name, "--", "/bin/sh", "-c", "echo up; sleep 3600"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        started = time.monotonic()
        line = host.stdout.readline()
        waited = time.monotonic() - started
        had = groups_left()
        host.kill()
        host.wait()
    tap.point(line == "up\n" and had, "a running call has its group", (line, waited, had))


def main():
    print("# own group: %s" % open("/proc/self/cgroup", encoding="ascii").read().strip().replace("\n", " "))
    with open("/sys/fs/cgroup/cgroup.controllers", encoding="ascii") as controllers:
        print("# controllers: " + controllers.read().strip())
    for case in (memory, memory_in_many, pids, cpus, birth, killed_host, nothing_left):
        tap.attempt(case)
    return tap.finish()


sys.exit(main())
