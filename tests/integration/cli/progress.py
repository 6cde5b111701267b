#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Long jobs show a line on a terminal that is erased at the end, and nothing anywhere else.

Nothing here depends on the speed of the machine: an index that pip asks answers late, a setup sleeps, and the
process that applies changes is stopped for a while.

usage: progress.py TOOLCAGE [ordinary]"""

import concurrent.futures
import contextlib
import http.server
import os
import re
import signal
import subprocess
import threading
import time

from cli import Place, check, finish, require_user, skip
from processes import helpers_of

XTERM = {"TERM": "xterm"}
LATE = 2.5  # seconds: a line appears after one
ERASED = b"\r\x1b[K"
LINE = re.compile(rb"\r\x1b\[1mtoolcage:\x1b\[0m ([^\r\n\x1b]*)\x1b\[K\r")


class LateIndex(http.server.BaseHTTPRequestHandler):
    """A package index without packages."""

    def do_GET(self):
        time.sleep(LATE)
        self.send_error(404)

    def log_message(self, *_):
        pass


@contextlib.contextmanager
def late_index():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), LateIndex)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/simple"
    server.shutdown()


def lines(seen):
    return [text.decode() for text in LINE.findall(seen)]


def left(seen):
    """What stays on the terminal: the text after the last line that was drawn, if that one was erased."""
    return seen[seen.rindex(ERASED) + len(ERASED) :] if ERASED in seen else b"the line was not erased"


def children(pid):
    with contextlib.suppress(OSError), open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as file:
        return [int(word) for word in file.read().split()]
    return []


def in_namespace(pid):
    """Is it a process of a cage? Or has it ended?"""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as file:
            ids = re.search(r"^NSpid:(.*)$", file.read(), re.MULTILINE)
    except OSError:
        return True
    return not ids or len(ids[1].split()) > 1


def hold_collector(process, ready, held):
    """Stops the process that applies the changes for a while: the child of the helper that is in no cage."""
    ready.wait(60)
    while process.poll() is None and not held:
        for helper in [*children(process.pid), *helpers_of(process.pid)]:
            for pid in children(helper):
                if in_namespace(pid):
                    continue
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGSTOP)
                    held.append(pid)
                    time.sleep(LATE)
                    os.kill(pid, signal.SIGCONT)
                    return


def commit(place, terminal, **more):
    """A call whose changes take long to apply: the output on the terminal or the pipe, the exit code and the stops."""
    ours, theirs = os.openpty() if terminal else os.pipe()
    held, ready = [], threading.Event()
    script = "i=0; while [ $i -lt 2000 ]; do : >f$i; i=$((i+1)); done; echo made"
    words = ["exec", "--write", ".", "--commit", "on_success", "--", "sh", "-c", script]
    with place.popen(*words, stdin=subprocess.DEVNULL, stdout=theirs, stderr=theirs, **more) as process:
        os.close(theirs)
        holder = threading.Thread(target=hold_collector, args=(process, ready, held))
        holder.start()
        seen = b""
        with contextlib.suppress(OSError):
            while piece := os.read(ours, 4096):
                seen += piece
                if b"made" in seen:
                    ready.set()
        ready.set()
        holder.join()
    os.close(ours)
    return seen, process.returncode, held


require_user()
with Place() as place, late_index() as index:
    pip = {"PIP_INDEX_URL": index}
    install = ["wasm", "install"]
    if subprocess.run(
        ["/usr/bin/python3", "-I", "-m", "pip", "--version"], capture_output=True, check=False
    ).returncode:
        skip("wasm install shows that it fetches", "there is no pip (Debian: python3-pip)")
    else:
        seen = place.shown(*install, env=XTERM | pip)
        shown = lines(seen)
        check(
            shown and all(re.fullmatch(r"fetching wasmtime==[0-9.]+: [1-9][0-9]* s", line) for line in shown),
            "wasm install shows that it fetches",
            seen,
        )
        check(len(set(shown)) == len(shown) > 1, "the line is drawn again when it changes", shown)
        check(b"pip failed" in left(seen), "and erased before the error", seen)
        without = (
            ("a dumb terminal", {"TERM": "dumb"}, install),
            ("NO_COLOR", XTERM | {"NO_COLOR": "1"}, install),
            ("--color=never", XTERM, ["--color=never", *install]),
            ("--json", XTERM, [*install, "--json"]),
        )
        with concurrent.futures.ThreadPoolExecutor() as pool:
            outputs = pool.map(lambda row: place.shown(*row[2], env=row[1] | pip), without)
        for (name, _, _), seen in zip(without, outputs, strict=True):
            check(b"pip failed" in seen and b"fetching" not in seen, f"{name}: no line", seen)
        answer = place.run(*install, env=XTERM | pip)
        check(
            "pip failed" in answer.err and "fetching" not in answer.err and "\x1b" not in answer.err,
            "a pipe gets none",
            answer,
        )
    seen, code, held = commit(place, terminal=True, env=XTERM)
    shown = lines(seen)
    check(
        code == 0
        and len(held) == 1
        and shown
        and all(re.fullmatch(r"collecting changes: ([0-9]+ so far, )?[1-9][0-9]* s", line) for line in shown),
        "a long commit shows how many changes there are so far",
        (code, held, seen[:2000]),
    )
    check(seen.startswith(b"made\r\n") and not left(seen), "below the tool's output, and erased", seen[:2000])
    check(os.path.exists(os.path.join(place.project, "f1999")), "and the changes are applied", place.project)
    seen, code, held = commit(place, terminal=False, env=XTERM)
    check(
        code == 0 and len(held) == 1 and b"collecting" not in seen and b"\x1b" not in seen,
        "in a pipe there is no line",
        (code, held, seen[:2000]),
    )
    policy = place.write(
        "home/policies/setup.toml",
        '[tool.slow]\ncommand = ["true"]\n[tool.slow.setup]\n'
        f'command = ["sh", "-c", "echo begun; sleep {LATE}; echo ended >/opt/deps/file"]\ninto = "/opt/deps"\n',
    )
    seen = place.shown("setup", "--force", "--policy", policy, env=XTERM)
    check(
        any(re.fullmatch(r"installing for slow: [1-9] s", line) for line in lines(seen))
        and b"begun" in seen
        and b"is ready" in left(seen),
        "a silent install has a line, too",
        seen,
    )
    place.run("setup", "--remove", "--policy", policy)
finish()
