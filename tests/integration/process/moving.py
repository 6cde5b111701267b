# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Calls that start while other processes change the workspace, and workspaces with more steering files than a cage can
mount: every call runs, and no steering file that existed is written."""

import contextlib
import os
import subprocess
import threading

from scene import PATIENCE, PYTHON, check, end, in_modes, run

CALLS = 20
# What git, editors, package managers and other tools do to a workspace, as fast as they can.
MOVES = {
    "a file is saved by renaming": 'put(".new"); os.rename(".new", ".envrc")',
    "a file is saved after its old version is moved away": """
if os.path.exists(".envrc"): os.rename(".envrc", ".envrc~")
put(".envrc"); os.path.exists(".envrc~") and os.unlink(".envrc~")""",
    "a directory comes and goes": """
os.makedirs("p/.vscode"); put("p/.vscode/tasks.json"); os.unlink("p/.vscode/tasks.json"); os.removedirs("p/.vscode")""",
    "a directory with steering files moves": """
if not os.path.exists("q"): os.makedirs("q/.idea")
os.rename("q", "r"); os.rename("r", "q")""",
}
LOOP = """
import os
def put(name):
    with open(name, "w") as out: out.write("host")
while True:
    %s
"""


@contextlib.contextmanager
def moving(s, code):
    body = code.strip().replace("\n", "\n    ")
    process = subprocess.Popen([PYTHON, "-I", "-c", LOOP % body], cwd=s.ws, stderr=subprocess.PIPE)
    try:
        yield process
    finally:
        end(process)
        process.wait()


def beside(s):
    for name, code in MOVES.items():
        with moving(s, code) as process:
            answers = [s.shell("cat; echo tool > made", stdin=b"input") for _ in range(CALLS)]
            alive = process.poll() is None
        bad = [answer for answer in answers if answer.code or answer.out != "input"]
        check(alive and not bad, f"every call runs while {name}", bad[0] if bad else process.stderr.read())


def two_engines(s):
    """Calls of two programs at once, each with steering files that come and go."""
    script = "mkdir -p n/.vscode; echo x > n/.vscode/a; rm -rf n; exit 0"
    bad = []

    def calls():
        for _ in range(CALLS):
            answer = s.shell(script)
            if answer.code:
                bad.append(answer)

    threads = [threading.Thread(target=calls) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120 * PATIENCE)
    check(not bad, "calls of two programs in one workspace start", bad[0] if bad else "")


def many(s, name, paths):
    why = "too many read-only mounts" if s.mode == "bind" else "left out when changes are committed"
    for path in paths:
        s.write("ws/" + path, "old\n")
    # below node_modules a steering file may be removed
    other = f"echo evil > {paths[1]}" if paths[1].startswith("node_modules/") else f"rm -f {paths[1]}"
    answer = s.shell(
        f"cat; echo new > made; echo evil > {paths[0]}; echo evil > .envrc; {other}; exit 3",
        stdin=b"input",
    )
    check(
        answer.code == 3 and answer.out == "input" and s.read("ws/made") == b"new\n",
        f"{name}: the tool runs, and its changes are applied although it failed",
        answer,
    )
    check(
        s.read("ws/" + paths[0]) == s.read("ws/" + paths[1]) == b"old\n"
        and not os.path.lexists(s.path("ws/.envrc"))
        and {answer.kinds.get(f"{s.ws}/{path}") for path in (paths[0], paths[1], ".envrc")}
        == {"steers the host"},
        f"{name}: steering files stay as they were, and the result lists them",
        answer,
    )
    check(
        why in (answer.enforcement or {}).get("fs.steering", ""),
        f"{name}: the result says that it is an overlay, and why if it was to be a bind",
        answer.enforcement,
    )


def more_than_mounts(s):
    many(s, "a directory with 1,100 dot-files", [f".rc{i}" for i in range(1100)])


def in_packages(s):
    many(s, "600 packages with settings", [f"node_modules/p{i}/.vscode/tasks.json" for i in range(600)])


def in_a_session(s):
    """A later call of the session is an overlay, too, because the changes that it left are in one."""
    s.mode = "bind"
    for i in range(1100):
        s.write(f"ws/.rc{i}", "old\n")
    flags = ["--session", os.path.basename(s.root)]
    first = s.shell("echo 1 > .envrc; echo 1 > a; echo t > /tmp/t", flags=flags)
    for i in range(1, 1100):
        os.unlink(s.path(f"ws/.rc{i}"))
    second = s.shell("cat .envrc a /tmp/t", flags=flags)
    s.toolcage("session", "end", flags[1])
    check(
        first.code == 0 and second.code == 0 and second.out == "1\n1\nt\n" and s.read("ws/a") == b"1\n",
        "a session goes on when its directory no longer needs the overlay",
        (first, second),
    )


run(
    *(each for part in (beside, two_engines, more_than_mounts, in_packages) for each in in_modes(part)),
    in_a_session,
)
