#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What was refused is listed, once each, with a count; what is allowed lists nothing."""

import os
import shutil
import socket
import subprocess

from scene import PYTHON, TOOLCAGE, check, run, skip

CONNECT = """
import socket, sys
for family, host, port in eval(sys.argv[1]):
    s = socket.socket(socket.AF_INET6 if family == 6 else socket.AF_INET)
    s.settimeout(2)
    try:
        s.connect((host, port))
        print("connected", host)
    except OSError:
        pass
"""


def connects(s):
    answer = s.python(
        CONNECT,
        "[(4, '192.0.2.1', 443), (4, '192.0.2.1', 443), (6, '2001:db8::1', 80), (4, '127.0.0.1', 5432), (6, '::1', 22)]",
    )
    got = answer.denied("connect")
    check(
        "connected" not in answer.out
        and set(got) == {"192.0.2.1:443", "[2001:db8::1]:80", "127.0.0.1:5432", "[::1]:22"},
        "refused connects, IPv4, IPv6 and loopback",
        answer,
    )
    check(got.get("192.0.2.1:443", {}).get("count") == 2, "counted", got)
    check(got.get("192.0.2.1:443", {}).get("key") == "tool.t.network", "with the key that decides", got)
    check("loopback" in (got.get("127.0.0.1:5432", {}).get("hint") or ""), "loopback has its own hint", got)
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen(4)
        listener.settimeout(0.5)
        answer = s.python(CONNECT, f"[(4, '127.0.0.1', {listener.getsockname()[1]})]")
        try:
            listener.accept()[0].close()
            reached = True
        except OSError:
            reached = False
    check(
        not reached and len(answer.denied("connect")) == 1,
        "a listener on the host's loopback is not reached",
        answer,
    )
    own = (
        "import socket\nl=socket.create_server(('127.0.0.1',0))\nc=socket.create_connection(l.getsockname())\nl.accept()[0].sendall(b'x')\n"
        "print(c.recv(1))"
    )
    answer = s.python(own)
    check(
        answer.status == "ok" and "b'x'" in answer.out and not answer.denials,
        "the cage's own loopback works and lists nothing",
        answer,
    )
    many = (
        "import socket\nl=socket.create_server(('127.0.0.1',0),backlog=9)\n"
        "for _ in range(300): socket.create_connection(l.getsockname()).close(); l.accept()[0].close()\n"
        "for _ in range(150): socket.socket().connect_ex(('127.0.0.1',1))\nprint('done')"
    )
    answer = s.python(many)
    got = {target: denial["count"] for target, denial in answer.denied("connect").items()}
    check(
        "done" in answer.out and got == {"127.0.0.1:1": 99},
        "and is asked about a hundred times, not for each connection",
        answer,
    )


def execs(s):
    outside = s.write("outside/program", "#!/bin/sh\necho ran\n", 0o755)
    answer = s.shell(f"{outside}; {outside}; true")
    got = answer.denied("exec")
    check(
        "ran" not in answer.out and outside in got and got[outside]["count"] >= 2, "a program outside", answer
    )
    answer = s.shell("/usr/bin/no-such-program; no-such-program; true")
    check(not answer.denied("exec"), "a program that is merely missing is no denial", answer)


def syscalls(s):
    code = (
        "import ctypes,socket\nlibc=ctypes.CDLL(None)\nlibc.unshare(0x10000000)\nlibc.unshare(0x10000000)\nlibc.mount(0,0,0,0,0)\n"
        "libc.ptrace(0,0,0,0)\nlibc.mq_open(b'/q',66,384,None)\nlibc.syscall(425,1,0)\nlibc.syscall(321,0,0,0)\n"
        "try: socket.socket(socket.AF_UNIX)\nexcept PermissionError: print('refused')"
    )
    answer = s.python(code)
    got = answer.denied("syscall")
    check(answer.out == "refused\n", "the calls are refused", answer)
    check(
        {"unshare", "mount", "ptrace", "mq_open", "io_uring_setup", "bpf", "socket(AF_UNIX)"} <= set(got),
        "and listed",
        set(got),
    )
    check(got.get("unshare", {}).get("count") == 2, "with counts", got)
    answer = s.python(code, more='denials = "off"')
    check(answer.out == "refused\n" and not answer.denials, "denials = off: refused all the same", answer)
    flood = (
        "import ctypes\nlibc=ctypes.CDLL(None)\nfor i in range(3000): libc.mount(0,0,0,0,0)\nprint('through')"
    )
    answer = s.python(flood, more='timeout = "20s"')
    check(
        answer.status == "ok"
        and answer.out == "through\n"
        and answer.denied("syscall")["mount"]["count"] >= 900,
        "a flood is bounded",
        answer,
    )


def set_group_id_directories(s):
    """A filter cannot tell a directory from a file, which another user could run in a bind."""
    script = f"cd {s.ws}; mkdir -p d; chmod g+s d || chmod 2775 d"
    answer = s.shell(script, more='workspace = { mode = "bind" }\n')
    got = answer.denied("syscall")
    check(
        answer.status == "failed"
        and "git init --shared" in got.get("fchmodat", {}).get("hint", "")
        and not os.stat(s.path("ws/d")).st_mode & 0o6000,
        "chmod g+s is refused with a hint in a bind",
        answer,
    )
    shutil.rmtree(s.path("ws/d"))
    for mode in ("auto", "copy"):
        answer = s.shell(
            f"{script}; echo x > d/file; chmod 2755 d/file; chmod u+s d; chmod 4755 d/file; true",
            more=f'workspace = {{ mode = "{mode}" }}\ndisk = "64MiB"\n',
        )
        modes = [os.stat(s.path(f"ws/{name}")).st_mode & 0o7777 for name in ("d", "d/file")]
        check(
            modes[0] & 0o6000 == 0o2000 and modes[1] == 0o755 and "fchmodat" in answer.denied("syscall"),
            f"a commit gives the set-group-id bit to directories only: {mode}",
            ([oct(mode) for mode in modes], answer),
        )
        shutil.rmtree(s.path("ws/d"))


def many_targets(s):
    answer = s.python(
        CONNECT, "[(4, '192.0.2.%d' % (i % 250 + 1), 1000 + i) for i in range(300)]", more='timeout = "20s"'
    )
    count = len(answer.denials or [])
    check(
        answer.status == "ok" and 0 < count <= 100 and answer.omitted["denials"] >= 300 - 100,
        "the list is capped and says so",
        (answer.status, count, answer.omitted),
    )


def allowed_work(s):
    for name, script in (
        (
            "python3",
            'python3 -c \'import json,subprocess,os; print(os.listdir(".")); subprocess.run(["true"])\'',
        ),
        ("a pipeline", "ls -l /usr | sort | head -3 | wc -l"),
        ("git", "git init -q r && git -C r status"),
        ("temporary files", "f=$(mktemp); echo x > $f; rm $f"),
        ("perl", "perl -e 'print 1'"),
    ):
        answer = s.shell(f"cd {s.ws}; {script}", more='env.set = { HOME = "/tmp" }')
        told = answer.json and "denied" in answer.message
        check(
            answer.status == "ok" and not told, f"allowed work of {name} tells the model of no denial", answer
        )


def nothing_leaks(s):
    """The list says the same of what exists outside and of what does not."""
    s.write("outside/there", "x", 0o755)
    there, absent = s.path("outside/there"), s.path("outside/absent")
    answer = s.shell(f"{there}; {absent}; true")
    got = answer.denied("exec")
    hints = [got.get(name, {}).get("hint", "").replace(name, "") for name in (there, absent)]
    check(
        bool(got) and (there in got) == (absent in got) and hints[0] == hints[1],
        "no oracle of existence",
        answer,
    )
    check(os.path.exists(there), "the canary is there")


SEARCH = """
import os, sys
for place in sys.argv[2:]:
    try:
        if sys.argv[1] == "read":
            open(place).close()
        elif not os.fork():
            os.execv(place, ["x", "-c", ":"])
        else:
            os.wait()
    except OSError:
        if sys.argv[1] != "read":
            os._exit(1)
"""
RESOLVE = "import socket\ntry: socket.create_connection(('name.example', 80), 2)\nexcept OSError: pass\nraise SystemExit(%d)\n"


def told(answer, operation):
    """Target: is it a probe? Without what the C library looks for in /etc."""
    return {
        target: bool(denial.get("probe"))
        for target, denial in answer.denied(operation).items()
        if not target.startswith("/etc/")
    }


def searches(s):
    """What a search was refused on its way to what it found is a probe; what was found nowhere, or by its own doing, is not."""
    places = [s.path("app/node_modules/.bin"), s.path("node_modules/.bin"), "/usr/bin", "/bin"]
    path = f"PATH={':'.join(places)}"
    for denials in ("calls", "paths"):
        more = f'denials = "{denials}"'
        answer = s.call("/usr/bin/env", "-S", path, "sh", "-c", ":", more=more)
        check(
            told(answer, "exec") == {f"{place}/sh": True for place in places[:2]}
            and not any(denial["hint"] for denial in answer.denials),
            f"{denials}: a program found on a PATH",
            answer,
        )
        answer = s.call("/usr/bin/env", "-S", path, "no-such-program", more=more)
        check(
            told(answer, "exec") == {f"{place}/no-such-program": False for place in places[:2]},
            f"{denials}: one found nowhere",
            answer,
        )
        answer = s.shell(f"{places[0]}/sh; sh -c :", more=more)
        check(
            told(answer, "exec") == {f"{places[0]}/sh": False}, f"{denials}: one named by its place", answer
        )
        answer = s.python(
            "import os\nopen('/tmp/mine', 'w').write('#!/bin/sh\\n'); os.chmod('/tmp/mine', 0o755)\n"
            f"for p in ('{s.path('outside/mine')}', '/tmp/mine'):\n    try: os.execv(p, ['x'])\n    except OSError: pass\n",
            more=more,
        )
        check(
            told(answer, "exec") == {s.path("outside/mine"): False},
            f"{denials}: one that the tool put there",
            answer,
        )
    # files, where they are watched: what was read in a place of the system ends a search, what the tool wrote does not
    more = 'denials = "paths"'
    system = (
        "/usr/share/common-licenses/BSD"
        if os.path.exists("/usr/share/common-licenses/BSD")
        else "/usr/bin/env"
    )
    wanted = s.path("outside", os.path.basename(system))
    answer = s.python(SEARCH, "read", wanted, system, more=more)
    check(told(answer, "read") == {wanted: True}, "a file that was found elsewhere", answer)
    s.write("outside/id_key", "tweet-31\n")
    s.write("ws/id_key", "own")
    answer = s.python(SEARCH, "read", s.path("outside/id_key"), f"{s.ws}/id_key", more=more)
    check(
        told(answer, "read") == {s.path("outside/id_key"): False},
        "not by one that the tool could write",
        answer,
    )
    answer = s.python(SEARCH, "read", s.path("outside/id_key"), s.path("outside/none"), more=more)
    check(
        told(answer, "read") == {s.path("outside/id_key"): False, s.path("outside/none"): False},
        "existing and absent paths are reported alike",
        answer,
    )


def names(s):
    """A tool without network asks for names; where it ends well, it did not need them."""
    answer = s.python(RESOLVE % 0)
    got = told(answer, "connect")
    if not got:
        skip("names of a tool without network", "skipped: nothing here asks a name server")
        return
    check(answer.status == "ok" and set(got.values()) == {True}, "a call that ended well", answer)
    answer = s.python(RESOLVE % 3)
    check(
        answer.status == "failed"
        and set(told(answer, "connect").values()) == {False}
        and "no host name can be resolved" in answer.message,
        "one that did not",
        answer,
    )
    done = subprocess.run(
        [TOOLCAGE, "exec", "--", PYTHON, "-I", "-c", RESOLVE % 0],
        env=s.environ,
        cwd=s.ws,
        capture_output=True,
        text=True,
        check=False,
    )
    check(done.returncode == 0 and not done.stderr, "and the command line is silent", done)


run(
    searches,
    names,
    connects,
    execs,
    syscalls,
    set_group_id_directories,
    many_targets,
    allowed_work,
    nothing_leaks,
)
