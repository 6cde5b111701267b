#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The key `unix_sockets`: programs that use unix sockets to communicate with their children work, a tool can connect to a granted
socket of the host, and a connect that the broker makes for the tool behaves like one of the tool's own: blocking, non-blocking,
interrupted, many at once."""

import contextlib
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import threading
import time
from concurrent.futures.thread import ThreadPoolExecutor  # later an ordinary user may not read it

from scene import PYTHON, TOOLCAGE, Skip, check, finish, helpers_of, in_namespaces, run, until

OWN = 'unix_sockets = "own"'

SERVER = """
import socket, socketserver, threading, os
class Handler(socketserver.StreamRequestHandler):
    def handle(self): self.wfile.write(self.rfile.readline().upper())
server = socketserver.ThreadingUnixStreamServer("/tmp/server", Handler)
threading.Thread(target=server.serve_forever, daemon=True).start()
def ask(path):
    with socket.socket(socket.AF_UNIX) as s:
        s.connect(path); s.sendall(b"hello\\n"); print(s.getpeername(), s.recv(9).decode().strip())
ask("/tmp/server"); os.chdir("/tmp"); ask("server"); os.symlink("/tmp/server", "/tmp/link"); ask("link"); ask("/dev/shm/server")
"""

MANAGER = """
import multiprocessing, multiprocessing.managers, sys
class Manager(multiprocessing.managers.BaseManager): pass
values = {"a": 1}
Manager.register("values", lambda: values)
if __name__ == "__main__":
    context = multiprocessing.get_context("fork")
    with context.Manager() as plain:
        shared = plain.dict(); shared["x"] = [1, 2]; print(dict(shared))
    manager = Manager(address=sys.argv[1] if len(sys.argv) > 1 else None, ctx=context); manager.start()
    print(type(manager.address).__name__, manager.values().get("a")); manager.shutdown()
"""

ASYNCIO = """
import asyncio
async def main():
    async def serve(reader, writer): writer.write(await reader.readline()); writer.close()
    server = await asyncio.start_unix_server(serve, "/tmp/async")
    async def ask(n):
        reader, writer = await asyncio.open_unix_connection("/tmp/async")
        writer.write(b"%d\\n" % n); return int(await reader.readline())
    print(sum(await asyncio.gather(*(ask(n) for n in range(20)))))
asyncio.run(main())
"""

NODE = """
const net = require("net"), server = net.createServer(s => s.end("from node")).listen("/tmp/node", () =>
  net.connect("/tmp/node").on("data", d => { console.log(String(d)); server.close(); }));
"""

# The results of blocking and non-blocking connects, with a full and with a free queue of the server; and of invalid arguments.
MODES = """
import errno, select, signal, socket, threading, time
def code(s, to):
    try: s.connect(to); return "0"
    except OSError as e: return errno.errorcode[e.errno]
full = socket.socket(socket.AF_UNIX); full.bind("\\0full"); full.listen(0)
fill = socket.socket(socket.AF_UNIX); fill.connect("\\0full")
s = socket.socket(socket.AF_UNIX); s.setblocking(False); print(code(s, "\\0full"), code(s, "\\0none"), code(s, "/tmp/none"))
blocked = socket.socket(socket.AF_UNIX); said = []
waits = threading.Thread(target=lambda: said.append(code(blocked, "\\0full"))); waits.start()
time.sleep(0.3); print(len(said)); t = time.monotonic()
tcp = socket.socket(); tcp.bind(("127.0.0.1", 0)); tcp.listen(); other = socket.socket(); print(code(other, tcp.getsockname()), time.monotonic() - t < 2)
full.accept(); waits.join(); print(said[0])
limited = socket.socket(socket.AF_UNIX); limited.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, b"\\x00" * 8 + (200000).to_bytes(8, "little"))
print(code(limited, "\\0full"), code(other, tcp.getsockname()), code(socket.socket(), ("127.0.0.1", 1)), code(socket.socket(), ("192.0.2.1", 80)))
slow = socket.socket(); slow.setblocking(False); first = code(slow, tcp.getsockname()); select.select([], [slow], [], 5)
print(first in ("0", "EINPROGRESS"), slow.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))
udp = socket.socket(type=socket.SOCK_DGRAM); print(code(udp, ("127.0.0.1", 9)))
try: socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
except OSError as e: print(errno.errorcode[e.errno])
kind = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); kind.bind("/tmp/seq"); kind.listen()
one = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET); print(code(one, "/tmp/seq"), code(one, "/tmp/seq"), code(socket.socket(socket.AF_UNIX), "/tmp/seq"))
import ctypes, os
c = ctypes.CDLL(None, use_errno=True); r, w = os.pipe()
def raw(fd, at, n): return "0" if c.connect(fd, at, n) == 0 else errno.errorcode[ctypes.get_errno()]
print(raw(999, b"\\1\\0/", 3), raw(r, b"\\1\\0/", 3), raw(s.fileno(), ctypes.c_void_p(8), 9), raw(s.fileno(), b"\\1\\0/", -1), raw(s.fileno(), b"\\1\\0", 2))
os.mkdir("/tmp/shut"); inner = socket.socket(socket.AF_UNIX); inner.bind("/tmp/shut/s"); inner.listen(); os.chmod("/tmp/shut", 0)
print(code(socket.socket(socket.AF_UNIX), "/tmp/shut/s")); os.chmod("/tmp/shut", 0o700); os.chmod("/tmp/shut/s", 0)
print(code(socket.socket(socket.AF_UNIX), "/tmp/shut/s"))
route = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0); print(code(route, (0, 0)), code(route, (0, 1)), code(route, (1, 0)))
"""

MANY = """
import socket, threading
server = socket.socket(socket.AF_UNIX); server.bind("/tmp/many"); server.listen(200)
done = []
def ask(n):
    for _ in range(5):
        s = socket.socket(socket.AF_UNIX)
        while True:
            try: s.connect("/tmp/many"); break
            except BlockingIOError: pass
        s.close()
    done.append(n)
threading.stack_size(262144); threads = [threading.Thread(target=ask, args=(n,)) for n in range(100)]
def accept():
    while True: server.accept()[0].close()
threading.Thread(target=accept, daemon=True).start()
for t in threads: t.start()
for t in threads: t.join()
print(len(done))
"""

# A thread with its own fd table (unshare(CLONE_FILES)): in the other threads the fd number is another file, or none.
UNSHARED = """
import ctypes, os, socket, threading
c = ctypes.CDLL(None, use_errno=True)
server = socket.socket(socket.AF_UNIX); server.bind("\\0un"); server.listen()
def alone():
    assert c.unshare(0x400) == 0
    fd = c.socket(1, 1, 0); said.append(c.connect(fd, b"\\1\\0\\0un", 5) == 0 or os.strerror(ctypes.get_errno()))
    said.append(c.send(fd, b"mine", 4, 0))
said = []; t = threading.Thread(target=alone); t.start(); t.join(); print(said, server.accept()[0].recv(9))
"""


def own(s):
    answer = s.python(SERVER, more=OWN)
    check(
        answer.out.splitlines() == ["/tmp/server HELLO"] * 4,
        "a server of Python, by path, relative path and link",
        answer,
    )
    check(
        "a process with the cage's ids connects" in answer.enforcement["net.unix"],
        "the result says who connects",
        answer.enforcement,
    )
    script = s.write("data/manager.py", MANAGER)
    answer = s.call(PYTHON, script, readable=[s.data], more=OWN)
    check(answer.out.splitlines() == ["{'x': [1, 2]}", "str 1"], "multiprocessing.Manager", answer)
    answer = s.call(PYTHON, script, "/tmp/manager", readable=[s.data], more=OWN)
    check(answer.out.splitlines()[1:] == ["str 1"], "with an address of its own", answer)
    answer = s.python(ASYNCIO, more=OWN)
    check(answer.out.strip() == "190", "asyncio", answer)
    code = f"import os; os.chdir({s.ws!r})\n" + SERVER.replace("/tmp/", "").replace(
        'ask("/dev/shm/server")', ""
    ).replace('os.chdir("/tmp"); ', "")
    for mode in ("copy", "overlay", "auto"):
        answer = s.python(code, more=f'{OWN}\nworkspace = {{ mode = "{mode}", commit = "never" }}')
        if mode == "copy" or (answer.error or {}).get("code") != "unenforceable":
            check(
                answer.out.splitlines() == ["server HELLO"] * 3 and not os.path.lexists(s.path("ws/server")),
                f"in a workspace of mode {mode}",
                answer,
            )
    answer = s.python(
        "import socket\ntry: socket.socket(socket.AF_UNIX).bind('x')\nexcept OSError as e: print(e.errno)",
        more=OWN + '\nworkspace = { mode = "bind" }',
    )
    check(
        answer.out.strip() == "13" and not os.path.exists(s.path("ws/x")),
        "none in one that is the host's",
        answer,
    )
    answer = s.python(
        "import socket\ntry: socket.socket(socket.AF_UNIX)\nexcept OSError as e: print(e.errno)"
    )
    check(answer.out.strip() == "13", "without the grant there is no unix socket", answer)
    for denials in ("off", "paths"):
        answer = s.python(
            SERVER + "\nfor p in ('/run/x', '\\0y'):\n try: ask(p)\n except OSError as e: print(e.errno)",
            more=f'{OWN}\ndenials = "{denials}"',
        )
        check(answer.out.splitlines()[4:] == ["2", "111"], f"with denials = {denials}", answer)


def programs(s):
    if shutil.which("node"):
        answer = s.call(shutil.which("node"), "-e", NODE, memory='{ max = "2GiB", by = "any" }', more=OWN)
        check(answer.out.strip() == "from node", "node", answer)
    if shutil.which("gpg-agent") and shutil.which("gpg"):
        answer = s.shell(
            "export GNUPGHOME=/tmp/g; mkdir -m 700 /tmp/g; gpg --batch --quiet --passphrase '' --quick-gen-key a@b ed25519 default never "
            "2>&1; echo text | gpg --batch --quiet --armor --sign | gpg --quiet --decrypt 2>&1 | head -1; gpgconf --kill all",
            more=OWN,
        )
        check("text" in answer.out, "gpg with an agent", answer)
    if os.path.exists("/usr/lib/postgresql"):
        version = sorted(os.listdir("/usr/lib/postgresql"))[-1]
        answer = s.shell(
            f"PATH=/usr/lib/postgresql/{version}/bin:$PATH; initdb -D /tmp/db -U t >/dev/null && "
            "pg_ctl -D /tmp/db -w -l /tmp/log -o \"-c listen_addresses='' -k /tmp\" start >/dev/null && "
            "psql -h /tmp -U t -At -c 'select 6*7' postgres; pg_ctl -D /tmp/db -m fast stop >/dev/null",
            more=OWN + '\ndisk = "512MiB"',
            writable=[],
            memory='{ max = "2GiB", by = "any" }',
        )
        check(answer.out.strip() == "42", "a database server and its client", answer)


def modes(s):
    answer = s.python(MODES, more=OWN)
    wanted = [
        "EAGAIN ECONNREFUSED ENOENT",
        "0",
        "0 True",
        "0",
        "EAGAIN EISCONN ECONNREFUSED ENETUNREACH",
        "True 0",
        "0",
        "EACCES",
        "0 EISCONN EPROTOTYPE",
        "EBADF ENOTSOCK EFAULT EINVAL EINVAL",
        "EACCES",
        "EACCES",
        "0 EPERM EPERM",
    ]
    check(answer.out.splitlines() == wanted, "connect returns the errors of a host", answer)
    check(
        set(answer.denied("connect")) == {"127.0.0.1:1", "192.0.2.1:80"},
        "refused addresses are denials",
        answer.denials,
    )
    # Several tools at once keep the CPUs busy: a thread then does not run as soon as its connect returns.
    with ThreadPoolExecutor() as pool:
        for answer in pool.map(lambda _: s.python(MANY, more=OWN + "\npids = 256"), range(4)):
            check(answer.out.strip() == "100", "a hundred threads connect", answer)
    answer = s.python(UNSHARED, more=OWN)
    check(answer.out.strip() == "[True, 4] b'mine'", "a thread with descriptors of its own", answer)


def killed(s):
    code = (
        "import socket,subprocess,sys,time\nf=socket.socket(socket.AF_UNIX);f.bind('\\0full');f.listen(0)\nsocket.socket(socket.AF_UNIX).connect('\\0full')\n"
        "c='import socket;socket.socket(socket.AF_UNIX).connect(chr(0)+\"full\")'\n"
        "for _ in range(3):\n p=[subprocess.Popen([sys.executable,'-c',c]) for _ in range(20)]; time.sleep(1)\n"
        " print([q.poll() for q in p].count(None)); [q.kill() for q in p]; [q.wait() for q in p]\n"
        f"open({s.path('ws', 'killed')!r},'w').close()\nprint('now',flush=True); sys.stdin.read()"
    )
    process = s.popen(PYTHON, "-I", "-c", code, stdin=subprocess.PIPE, more=OWN)

    def connecting():
        return [pid for pid in helpers_of(process.pid)[:1] for pid in workers(pid)]

    seen = until(lambda: len(connecting()) > 10, 20)
    until(lambda: os.path.exists(s.path("ws", "killed")) or process.poll() is not None, 60)
    until(lambda: len(connecting()) <= 1, 5)
    left = len(connecting())
    answer = finish(process)
    check(
        seen and answer.out.splitlines() == ["20", "20", "20", "now"],
        "tools are killed in the middle of connects",
        answer,
    )
    check(left <= 1, "and nobody goes on connecting for them", left)
    check(until(lambda: not connecting()), "nothing is left of the call", connecting())


def workers(helper):
    """The pids of processes that connect for tools: grandchildren of the helper that run the helper's program."""
    found = []
    for entry in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, IndexError):
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                parent = int(file.read().rsplit(")", 1)[1].split()[1])
            with open(f"/proc/{parent}/stat", encoding="utf-8", errors="replace") as file:
                if int(file.read().rsplit(")", 1)[1].split()[1]) == helper and name(entry) == name(
                    parent
                ) == name(helper):
                    found.append(int(entry))
    return found


def name(pid):
    with open(f"/proc/{pid}/comm", encoding="utf-8") as file:
        return file.read()


@contextlib.contextmanager
def serving(path, seen):
    """Runs a server on the host at this path. Appends the credentials (pid, uid, gid) of each client to `seen`."""
    server = socket.socket(socket.AF_UNIX)
    server.bind(path)
    server.listen(8)
    os.chmod(path, 0o777)

    def serve():
        with contextlib.suppress(OSError):
            while True:
                peer, _ = server.accept()
                with peer:
                    seen.append(
                        struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))
                    )
                    peer.sendall(b"of the host")

    threading.Thread(target=serve, daemon=True).start()
    try:
        yield server
    finally:
        with contextlib.suppress(OSError):
            server.shutdown(socket.SHUT_RDWR)
        server.close()


ASK = (
    "import socket,sys\nfor p in sys.argv[1:]:\n s=socket.socket(socket.AF_UNIX)\n try: s.connect(p); print(s.recv(99).decode())\n"
    " except OSError as e: print(e.errno)"
)


def granted(s):
    seen = []
    one, other = s.path("data/one.sock"), s.path("data/other.sock")
    with serving(one, seen), serving(other, seen):
        answer = s.python(ASK, one, other, readable=[s.data], more=f'unix_sockets = ["{one}"]')
        check(answer.out.splitlines() == ["of the host", "13"], "a granted socket and no other", answer)
        check(
            seen and 0 not in seen[0][1:] and (os.geteuid() == 0 or seen[0][1] == os.geteuid()),
            "the server sees the cage's ids",
            seen,
        )
        denial = answer.denied("connect").get("unix:" + other, {})
        check(
            denial.get("key") == "tool.t.unix_sockets" and denial.get("line"),
            "the refused socket is listed, with the key",
            answer.denials,
        )
        answer = s.python(ASK + "\nsys.exit(1)", other, readable=[s.data], more=f'unix_sockets = ["{one}"]')
        check(
            f"denied: unix:{other} is not among the unix sockets" in answer.message,
            "and the model is told",
            answer.message,
        )
        answer = s.python(
            ASK, "/run/db/s", one, more=f'unix_sockets = [{{ path = "/run/db/s", from = "{one}" }}]'
        )
        check(
            answer.out.splitlines() == ["of the host", "2"],
            "at another path, and nothing else of its directory",
            answer,
        )
        answer = s.python(
            ASK + "\nimport os\nprint(os.listdir('/run/db'))",
            "/tmp/s",
            "/run/db/s",
            more=f'unix_sockets = [{{ path = "/tmp/s", from = "{one}" }}, {{ path = "/run/db/s", from = "{one}" }}]',
        )
        check(
            answer.out.splitlines() == ["of the host", "of the host", "['s']"],
            "below /tmp, and twice",
            answer,
        )
        for flags, wanted in ((["none"], "refused"), (["own"], ["13"]), ([one], ["of the host"])):
            answer = s.python(
                ASK,
                one,
                readable=[s.data],
                more=f'unix_sockets = ["{one}", "{other}"]',
                flags=sum((["--unix-sockets", f] for f in flags), []),
            )
            check(
                (answer.out.splitlines() == wanted)
                if wanted != "refused"
                else "PermissionError" in answer.stderr["text"],
                f"narrowed to {flags[0]}",
                answer,
            )
        answer = s.python(
            ASK, other, readable=[s.data], more=f'unix_sockets = ["{one}"]', flags=["--unix-sockets", other]
        )
        check(
            answer.status == "denied" and "more than the policy grants" in answer.error["message"],
            "never widened",
            answer,
        )
        answer = s.python(ASK, one, more=f'unix_sockets = ["{one}"]\nbackend = "oci"\nimage = "system"')
        check(
            answer.status == "denied" and answer.error["code"] == "unenforceable", "containers refuse", answer
        )
    answer = s.python(ASK, one, more=f'unix_sockets = ["{s.data}"]')
    check(
        answer.status == "denied" and "is not a socket" in answer.error["message"],
        "a directory is no socket",
        answer,
    )
    answer = s.python(ASK, one, more=f'unix_sockets = ["{s.path("data/none")}"]')
    check(answer.status == "denied" and answer.error["code"] == "path", "nor is what is missing", answer)
    answer = s.python(
        ASK, one, more=f'unix_sockets = [{{ path = "{s.path("data/none")}", optional = true }}]'
    )
    check(answer.out.strip() == "2", "an absent socket may be optional", answer)
    answer = s.python(ASK, one, more=f'unix_sockets = ["{s.path("ws/sock")}"]')
    check(
        answer.status == "denied" and "a tool can write" in answer.error["message"],
        "nor one where a tool can write",
        answer,
    )
    below = [f'{{ path = "/tmp/ws", from = "{s.ws}" }}']
    answer = s.python(ASK, one, writable=below, more=OWN + '\nworkspace = { mode = "bind" }')
    check(
        answer.status == "denied" and answer.error["code"] == "unenforceable",
        "nor can the host's be listened in below /tmp",
        answer,
    )
    answer = s.python(
        "import socket; socket.socket(socket.AF_UNIX).bind('/tmp/ws/made'); print('made')",
        writable=below,
        more=OWN,
    )
    check(
        answer.out == "made\n" and not os.path.lexists(s.path("ws/made")),
        "a layer there is the cage's own, and no socket of it comes back",
        answer,
    )
    os.makedirs(s.path("ws/mounted"))
    wrap = in_namespaces(f"mount -t tmpfs none {s.path('ws/mounted')}")
    if subprocess.run([*wrap, "/bin/true"], capture_output=True, check=False).returncode:
        raise Skip("nothing can be mounted here")
    answer = s.python(ASK, one, writable=below, more=OWN, wrap=wrap)
    check(
        answer.status == "denied" and answer.error["code"] == "unenforceable",
        "where no layer can be, it is refused as in a bind",
        answer,
    )


def explained(s):
    policy = s.policy(more='unix_sockets = ["/run/docker.sock", "/run/db"]')

    def explain(*more):
        done = subprocess.run(
            [TOOLCAGE, "policy", "explain", "--policy", policy, "--tool", "t", "--json", *more],
            env=s.environ,
            capture_output=True,
            check=False,
            cwd=s.ws,
        )
        return json.loads(done.stdout)

    rows = {row["path"]: row for row in explain()["unix_sockets"]}
    check(
        "root" in rows["/run/docker.sock"]["risk"] and rows["/run/db"]["risk"] is None,
        "explain says what a socket gives away",
        rows,
    )
    verdicts = {
        name: explain("--connect", f"unix:{name}")["verdict"]
        for name in ("/run/db", "/run/db2", "/tmp/x", "@x")
    }
    check(
        [verdicts[name]["allowed"] for name in verdicts] == [True, False, True, True],
        "and answers for one",
        verdicts,
    )
    check(
        'unix_sockets = ["/run/db2"]' == verdicts["/run/db2"]["hint"],
        "with the clause that would allow it",
        verdicts,
    )


def watcher_dies(s):
    """If the broker is killed, a connect of the tool fails: no other process makes it."""
    code = (
        "import socket,sys\ns=socket.socket(socket.AF_UNIX);s.bind('\\0a');s.listen()\nsocket.socket(socket.AF_UNIX).connect('\\0a');print('up',flush=True);sys.stdin.read()\n"
        "try: socket.socket(socket.AF_UNIX).connect('\\0a');print('connected')\nexcept OSError as e: print(e.errno)"
    )
    process = s.popen(PYTHON, "-I", "-c", code, stdin=subprocess.PIPE, more=OWN)
    until(lambda: watchers(process), 20)
    time.sleep(1)
    found = watchers(process)
    if not found:
        process.kill()
        raise Skip("the process was not found")
    for pid in found:
        os.kill(pid, signal.SIGKILL)
    answer = finish(process)
    check(answer.out.splitlines() == ["up", "38"], "nothing is connected without the supervisor", answer)
    check("no connection could be made" in answer.message, "and the message says so", answer.message)


def watchers(process):
    """Children of the helper that run its program with its own PID namespace."""
    found = []
    for helper in helpers_of(process.pid):
        for entry in filter(str.isdigit, os.listdir("/proc")):
            with contextlib.suppress(OSError, IndexError):
                with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as file:
                    fields = file.read().rsplit(")", 1)[1].split()
                with open(f"/proc/{entry}/status", encoding="utf-8") as file:
                    outer = [line for line in file if line.startswith("NSpid:")][0].split()
                if int(fields[1]) == helper and len(outer) == 2 and fields[16] != "0":
                    found.append(int(entry))
    return found


run(own, programs, modes, killed, granted, explained, watcher_dies)
