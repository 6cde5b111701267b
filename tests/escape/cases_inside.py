# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Attacks on what holds a call together (PID 1, its reports, its deadline), on neighbours in other cages of the same
engine, on toolcage's own files, and by what a host passes on: limits, priorities, environment."""

import contextlib
import ctypes
import json
import os
import pty
import resource
import signal
import subprocess
import termios
import time

from processes import below
from scene import CAGED, DIRECT, MINUTE, PATIENCE, Missing, Refused

SHELL, PYTHON = "/bin/sh", "/usr/bin/python3"


# ---- what holds a call together ----------------------------------------------------------------------------


def a_descriptor_is_taken(s):
    """Out of a process outside, or out of PID 1, which holds the report socket."""
    victim = subprocess.Popen(
        [PYTHON, "-c", "import time; f = open('canary'); time.sleep(60)"], cwd=s.path("secret")
    )
    s.ends.callback(s.end, victim)
    time.sleep(0.5)
    out = s.attack("machinery", "foreign-descriptors", victim.pid, *([1] if s.how == CAGED else []))
    return "GOT" in out if s.how == CAGED else s.token in out


def the_parent_is_ended(s):
    """Whoever waits for the tool and reports its end is stopped and killed."""
    command = f"{s.program('machinery')} parent"
    if s.how == DIRECT:
        return "reported" not in s.call(SHELL, "-c", f"{SHELL} -c '{command}; echo reported'; :")
    try:
        s.call(s.program("machinery"), "parent")
    except (AssertionError, Refused):
        # gVisor lets PID 1 be killed; then the cage ends, and an error is what the caller hears
        return not s.sentry or s.answer is None
    return s.answer["status"] != "ok" or s.answer["exit_code"] != 0


def an_end_is_forged(s):
    """A tool that fails writes what a report of success looks like to every descriptor it can think of."""
    code = (
        "import os,struct\nr=struct.pack('<iiiiq',5,0,0,0,0)\n"
        "for fd in range(3,64):\n try: os.write(fd,r)\n except OSError: pass\n"
        "for p in ('/proc/1/fd/3','/proc/self/fd/3'):\n try: open(p,'wb').write(r)\n except OSError: pass\nos._exit(7)"
    )
    if s.how == CAGED:
        s.call(PYTHON, "-c", code)
        return s.answer["exit_code"] != 7
    ours, theirs = os.pipe()
    with os.fdopen(ours, "rb") as reports:
        s.call(PYTHON, "-c", code, pass_fds=(theirs,))
        os.close(theirs)
        return reports.read(4) == b"\5\0\0\0"


def refused_calls_outlast_the_deadline(s):
    """Refused calls keep the supervisor busy; requests to end are ignored."""
    if s.how == DIRECT:
        process = s.popen(s.program("machinery"), "refusals", "4")
        time.sleep(0.5)
        process.terminate()
        return b"GOT" in process.communicate(timeout=MINUTE)[0]
    s.more = 'grace = "200ms"'
    argv = s.argv(s.program("machinery"), "refusals", "15")
    argv.insert(argv.index("--json"), "--timeout=1s")
    done = subprocess.run(
        argv, env=s.environ, capture_output=True, cwd=s.path("ws"), check=False, timeout=MINUTE
    )
    return "GOT" in s.result(done.stdout, done.stderr) or s.answer["status"] != "timeout"


def a_program_from_memory(s):
    return s.token in s.attack("machinery", "from-memory", "read", s.secret)


def rights_come_back(s):
    """By a set-id program of root's that lies in what is granted."""
    program = s.path("data/rights")
    with open(s.program("machinery"), "rb") as file:
        s.write("data/rights", file.read(), 0o755)
    os.chmod(program, 0o6755)
    return "GOT" in s.call(program, "rights")


def a_terminal_changes_its_modes(s):
    master, slave = pty.openpty()
    try:
        process = subprocess.Popen(
            s.argv(s.program("machinery"), "terminal-modes"),
            env=s.environ,
            cwd=s.path("ws"),
            stdin=slave,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        s.result(*process.communicate(timeout=MINUTE))
        return not termios.tcgetattr(slave)[3] & termios.ECHO
    finally:
        os.close(master)
        os.close(slave)


def the_hosts_terminals_are_used_up(s):
    """Their number is limited for the whole host."""
    code = (
        "import os\nmade = []\ntry:\n while len(made) < 100: made.append(os.open('/dev/ptmx', os.O_RDWR | os.O_NOCTTY))\n"
        "except OSError: pass\nprint('made', len(made))"
    )
    return "made 100" in s.call(PYTHON, "-c", code)


def system_v_objects(s):
    made = s.outside("machinery", "make-ipc", s.token).split()
    if len(made) != 2 or not made[0].isdigit():
        raise Missing("no System V objects")
    try:
        return "GOT" in s.attack("machinery", "take-ipc", *made)
    finally:
        s.outside("machinery", "drop-ipc", *made)


# ---- what the host passes on -------------------------------------------------------------------------------


def risen(s, prepare):
    """By what the tool finds, and by what is seen outside: in gVisor a priority is a number of its own kernel."""
    above = []

    def look(process):
        for pid in s.crowd(process):
            with contextlib.suppress(OSError):
                if os.sched_getscheduler(pid) == os.SCHED_FIFO or os.getpriority(os.PRIO_PROCESS, pid) < 0:
                    above.append(pid)

    out = s.meanwhile(f"{s.program('machinery')} realtime", look, preexec_fn=prepare)
    return bool(above) or "GOT" in out and not s.sentry


def a_host_may_rise(s):
    """As on a machine for sound: the host may use realtime policies, and so may what it starts."""

    def prepare():
        resource.setrlimit(resource.RLIMIT_RTPRIO, (50, 50))
        resource.setrlimit(resource.RLIMIT_NICE, (40, 40))
        os.setresgid(65533, 65533, 65533)
        os.setgroups([])
        os.setresuid(65533, 65533, 65533)

    os.chmod(s.path("ws"), 0o777)
    try:
        return risen(s, prepare)
    except subprocess.SubprocessError:
        raise Missing("this root may not raise limits (CAP_SYS_RESOURCE)") from None


def a_host_is_realtime(s):
    return risen(s, lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))


def a_host_is_before_others(s):
    return risen(s, lambda: os.nice(-5))


def a_hosts_limits_change_a_tool(s):
    """The caller's own soft limits make a tool fail that was granted what it needs."""

    def prepare():
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 20, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))
        resource.setrlimit(resource.RLIMIT_CPU, (300, resource.getrlimit(resource.RLIMIT_CPU)[1]))

    process = s.popen(
        PYTHON,
        "-c",
        f"open({s.path('ws/big')!r}, 'w').write('x' * (2 << 20)); print('written')",
        preexec_fn=prepare,
    )
    out = s.result(*process.communicate(timeout=MINUTE))
    return "written" not in out or os.stat(s.path("ws/big")).st_size != 2 << 20


def a_host_has_no_random_addresses(s):
    """As under a debugger: then every address of the tool is known beforehand to whoever attacks it."""

    def prepare():
        ctypes.CDLL(None).personality(0x0040000)

    seen = set()
    for _ in range(3):
        process = s.popen("/bin/grep", "stack", "/proc/self/maps", preexec_fn=prepare)
        seen.add(s.result(*process.communicate(timeout=MINUTE)))
    assert all("[stack]" in line for line in seen)
    return len(seen) == 1


def signals_are_passed_on(s):
    """Ignored and blocked ones: a tool that never ends by SIGPIPE, one that never hears of its children."""

    def prepare():
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGUSR1})

    process = s.popen(s.program("machinery"), "signals", preexec_fn=prepare)
    return "GOT" in s.result(*process.communicate(timeout=MINUTE))


def a_planted_helper_runs(s):
    """A file with the helper's name in the working directory, on PATH, named by the environment."""
    marker = s.path("witness")
    for place in ("ws", "data"):
        s.write(f"{place}/toolcage-helper", f"#!/bin/sh\ntouch {marker}\n", 0o755)
    s.environ.update(
        PATH=f"{s.path('data')}:{s.path('ws')}:/usr/bin:/bin",
        TOOLCAGE_HELPER=s.path("data/toolcage-helper"),
        LIBEXECDIR=s.path("data"),
    )
    if s.how == DIRECT:
        s.call(SHELL, "-c", "toolcage-helper")
    else:
        s.call("/bin/true")
    return os.path.exists(marker)


def memory(pid):
    """What a process may write to and does not share; None: it cannot be read."""
    found = bytearray()
    try:
        with open(f"/proc/{pid}/maps", encoding="utf-8") as maps, open(f"/proc/{pid}/mem", "rb", 0) as file:
            for line in maps:
                words = line.split()
                start, end = (int(number, 16) for number in words[0].split("-"))
                if words[1].startswith("rw-p"):
                    with contextlib.suppress(OSError):
                        file.seek(start)
                        found += file.read(end - start)
    except OSError:
        return None
    return bytes(found)


def the_environment_lies_in_memory(s):
    """The helper was begun by who has the keys, and every cage's first process is a copy of the helper."""
    s.environ["TOKEN_OF_THE_CALLER"] = s.token
    process = s.popen(SHELL, "-c", f": > {s.path('ws/up')}; exec /bin/sleep 60")
    s.ends.callback(s.end, process)
    deadline = time.monotonic() + 20 * PATIENCE
    while not os.path.exists(s.path("ws/up")):
        assert process.poll() is None and time.monotonic() < deadline, process.communicate()
        time.sleep(0.05)
    found = {pid: memory(pid) for pid in s.crowd(process)}
    assert found[next(iter(found))], "the helper's memory cannot be read"
    return any(text and s.token.encode() in text for text in found.values())


# ---- toolcage's own files ----------------------------------------------------------------------------------

PLANT = """cd {home}
plant() {{ mkdir -p .local/state/toolcage .config/toolcage; cp {data}/trust .local/state/toolcage/trust; chmod 600 .local/state/toolcage/trust
cp {data}/policy .config/toolcage/toolcage.toml; chmod 600 .config/toolcage/toolcage.toml; }}
plant; mv .local/state/toolcage .local/state/was; mv .config/toolcage .config/was; plant
mv .local/state .local/was; mv .config .wasconfig; plant; mv .local .waslocal; plant"""


def own_files(prepare, mode=""):
    """A whole home is granted for writing. A tool trusts a policy there, or writes the user's own: what does the
    next call obey?"""

    def run(s):
        s.writable = [s.path("home")]
        s.more = mode
        s.environ["HOME"] = s.path("home")
        s.write("data/policy", f'[defaults]\nfilesystem = {{ readable = ["{s.path("secret")}"] }}\n')
        found = s.write("ws/toolcage.toml", s.read("data/policy"))
        digest = subprocess.run(
            [s.options.toolcage, "policy", "digest", found],
            env=s.environ,
            capture_output=True,
            text=True,
            check=False,
        ).stdout.split()
        s.write("data/trust", f"{digest[0] if digest else ''} {found}\n")
        os.chmod(s.path("home"), 0o777)
        prepare(s)
        with contextlib.suppress(Refused):
            s.call(SHELL, "-c", PLANT.format(home=s.path("home"), data=s.path("data")))
        out = ""
        for place in (s.path("ws"), s.path("data")):
            out += subprocess.run(
                [s.options.toolcage, "exec", "/bin/cat", s.secret],
                cwd=place,
                env=s.environ,
                capture_output=True,
                text=True,
                check=False,
                stdin=subprocess.DEVNULL,
                timeout=MINUTE,
            ).stdout
        return s.token in out

    return run


def there_already(s):
    for name in (".local/state/toolcage", ".config/toolcage"):
        os.makedirs(s.path("home", name), 0o755, exist_ok=True)


KEPT = ("audit/01JD8XKQ7PZ3T5V9WYB2C4D6E8.jsonl", "approvals/01JD8XKQ7PZ3T5V9WYB2C4D6E9.json")
CHANGE = """
cd {state} && echo forged >> {log}
echo '{{"answer":"yes"}}' > {answer}
mv {state} {state}.away && mkdir -p {state}/audit && echo forged > {state}/{log}
"""


def log_or_queue_is_changed(s):
    """A whole home is granted for writing: with it the records of earlier calls, and the requests that wait for a yes."""
    s.writable = [s.path("home")]
    s.environ["HOME"] = s.path("home")
    there_already(s)
    state = "home/.local/state/toolcage"
    paths = [s.write(f"{state}/{name}", "kept\n", 0o666) for name in KEPT]
    for directory in (s.path("home"), s.path(state), *map(os.path.dirname, paths)):
        os.chmod(directory, 0o777)
    log, request = KEPT
    script = CHANGE.format(state=s.path(state), log=log, answer=request.replace(".json", ".answer"))
    with contextlib.suppress(Refused):
        s.call(SHELL, "-c", script)
    found = [open(path, encoding="utf-8").read() if os.path.exists(path) else "" for path in paths]
    return found != ["kept\n"] * 2 or os.path.exists(paths[1].replace(".json", ".answer"))


def id_leases_are_taken(s):
    """The lock file of leased ids: whoever holds it chooses which cages share an id."""
    if not os.path.exists("/run/toolcage"):
        subprocess.run(
            [s.options.toolcage, "exec", "/bin/true"],
            env=s.environ,
            cwd=s.path("ws"),
            check=False,
            capture_output=True,
        )
    return "GOT" in s.attack("files", "open-for-writing", "/run/toolcage/ids.lock")


# ---- neighbours: two cages of one engine -------------------------------------------------------------------


class Engine:
    def __init__(self, s):
        library = os.path.join(os.path.dirname(os.path.realpath(s.options.toolcage)), "libtoolcage.so")
        if not os.path.exists(library):
            raise Missing("libtoolcage.so is not beside the command line of this build")
        self.tool, self.calls = s.how, 0
        self.process = subprocess.Popen(
            [PYTHON, os.path.join(os.path.dirname(__file__), "engine.py"), library, s.policy()],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=s.environ,
            cwd=s.path("ws"),
        )
        s.ends.callback(s.end, self.process)

    def step(self, **what):
        print(json.dumps(what), file=self.process.stdin, flush=True)
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError("the engine has ended")
        return json.loads(line)

    def start(self, *command):
        self.step(start=[self.tool, *[str(word) for word in command]])
        self.calls += 1
        return self.calls - 1

    def end(self, call, cancel=False):
        result = self.step(end=call, cancel=cancel)
        if result["status"] in ("denied", "error"):
            raise Refused(json.dumps(result["error"]))
        return result["stdout"].get("text", "")


def beating(s, engine):
    """The neighbour, once it beats: its number, and the pids of its cage as seen outside."""
    call = engine.start(s.program("processes"), "stay", s.path("ws/beats"))
    deadline = time.monotonic() + 20 * PATIENCE
    while not s.grows("ws/beats", 0.2):
        assert time.monotonic() < deadline, "the neighbour never ran"
    return call, below(s.helper(engine.process)) if s.how == CAGED else list(s.attackers())


def a_neighbour_is_killed(s):
    engine = Engine(s)
    call, pids = beating(s, engine)
    engine.end(
        engine.start(s.program("processes"), "signal", *pids, *(range(2, 12) if s.how == CAGED else []))
    )
    grows = s.grows("ws/beats")
    if grows:
        engine.end(call, cancel=True) if s.how == CAGED else s.end_leftovers()
    return not grows


def a_neighbour_is_looked_into(s):
    engine = Engine(s)
    code = f"import sys,time; f=open({s.secret!r}) if {s.how != CAGED} else open({s.path('data/mine')!r}); print('up'); time.sleep(20)"
    s.write("data/mine", s.token)
    engine.start(PYTHON, "-c", f"open({s.path('ws/up')!r},'w').close(); {code}")
    deadline = time.monotonic() + 20 * PATIENCE
    while not os.path.exists(s.path("ws/up")) and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(0.3)
    pids = below(s.helper(engine.process))
    assert pids, "the neighbour is not to be seen from outside"
    out = engine.end(
        engine.start(
            s.program("machinery"), "foreign-descriptors", *pids, *(range(1, 9) if s.how == CAGED else [])
        )
    )
    return s.token in out


# ---- one call after another: what is made ready for the second is made while the first is there ------------


def made_ready():
    """The next call's cage is begun some milliseconds after the call before, and a runtime takes its time."""
    time.sleep(0.5 * PATIENCE)


LEFT = """
import os, sys
token, places = sys.argv[1], ["/tmp", "/dev/shm", "/var/tmp", "/mnt", "/etc", "/run", "/.toolcage", "/"]
for place in places:
    try:
        if sys.argv[2] == "leave":
            open(os.path.join(place, token), "w").write(token)
        elif token in os.listdir(place):
            print("GOT", place)
    except OSError:
        pass
print("looked")
"""


def a_later_call_finds_something(s):
    engine = Engine(s)
    for place in ("/tmp", "/dev/shm", "/var/tmp", "/mnt", "/etc", "/run", "/"):
        s.ends.callback(lambda path: os.path.exists(path) and os.unlink(path), os.path.join(place, s.token))
    outs = []
    for what in ("leave", "look", "leave", "look"):
        outs.append(engine.end(engine.start(PYTHON, "-I", "-c", LEFT, s.token, what)))
        made_ready()
    assert all("looked" in out for out in outs), outs
    return any("GOT" in out for out in outs)


def a_narrowed_policy_is_outlived(s):
    """The secret is granted, and then no more: by what was made ready before, the next call still has it."""
    kept = list(s.readable)
    s.readable.append(s.path("secret"))
    engine = Engine(s)
    read = (s.program("files"), "read", s.secret)
    first = engine.end(engine.start(*read))
    assert s.token in first, first
    made_ready()
    s.readable[:] = kept
    engine.step(policy=s.policy())
    out = engine.end(engine.start(*read))
    assert "missed" in out or "GOT" in out, out
    return s.token in out


def a_neighbours_memory_is_shared(s):
    """System V objects of one cage, looked for in another: ids are small numbers."""
    engine = Engine(s)
    code = (
        "import ctypes,time; c=ctypes.CDLL(None); i=c.shmget(0x7c0a,4096,0o1666); c.shmat.restype=ctypes.c_void_p\n"
        f"ctypes.memmove(c.shmat(i,None,0),{s.token!r}.encode(),{len(s.token)}); open({s.path('ws/up')!r},'w').write(str(i)); time.sleep(8)"
    )
    engine.start(PYTHON, "-c", code)
    deadline = time.monotonic() + 20
    while not (os.path.exists(s.path("ws/up")) and s.read("ws/up")) and time.monotonic() < deadline:
        time.sleep(0.1)
    number = s.read("ws/up")
    try:
        return s.token in engine.end(engine.start(s.program("kernel"), "shared-memory", number))
    finally:
        s.outside("kernel", "drop-shared-memory", number) if s.how != CAGED else None


CASES = [
    ("a descriptor is taken from another process", a_descriptor_is_taken, {}),
    ("the parent is stopped and killed", the_parent_is_ended, {"free": DIRECT}),
    ("a report of the end is forged", an_end_is_forged, {"free": DIRECT}),
    ("refused calls outlast the deadline", refused_calls_outlast_the_deadline, {"free": DIRECT}),
    ("a program from memory reads a secret", a_program_from_memory, {}),
    ("privileges are gained through a set-id program", rights_come_back, {"root": True}),
    ("the terminal's modes are changed", a_terminal_changes_its_modes, {"free": DIRECT}),
    ("the host's terminals are used up", the_hosts_terminals_are_used_up, {}),
    ("System V semaphores and queues are reached", system_v_objects, {}),
    ("a tool raises its priority where its host may", a_host_may_rise, {"root": True, "free": DIRECT}),
    ("a realtime host makes a realtime tool", a_host_is_realtime, {"root": True, "free": DIRECT}),
    (
        "a host with raised priority raises its tool's",
        a_host_is_before_others,
        {"root": True, "free": DIRECT},
    ),
    ("limits of the host change a tool", a_hosts_limits_change_a_tool, {"free": DIRECT, "in_place": "too"}),
    ("a host without address randomisation passes that on", a_host_has_no_random_addresses, {"free": DIRECT}),
    ("signals ignored by the host are passed on", signals_are_passed_on, {"free": DIRECT}),
    (
        "the caller's environment lies in memory",
        the_environment_lies_in_memory,
        {"free": DIRECT, "in_place": "alone"},
    ),
    ("a planted helper runs", a_planted_helper_runs, {"free": DIRECT}),
    ("the user's trust record or policy is planted", own_files(lambda s: None), {}),
    ("the user's trust record or policy is replaced", own_files(there_already), {}),
    (
        "the user's trust record or policy is committed",
        own_files(lambda s: None, 'workspace = { mode = "copy" }'),
        {},
    ),
    ("the audit log or the queue of approvals is changed", log_or_queue_is_changed, {}),
    ("id leases are taken", id_leases_are_taken, {"root": True}),
    ("a neighbour is killed", a_neighbour_is_killed, {"in_place": "alone"}),
    ("a neighbour's descriptors are taken", a_neighbour_is_looked_into, {"in_place": "alone"}),
    ("a neighbour's shared memory is read", a_neighbours_memory_is_shared, {"in_place": "alone"}),
    ("a later call finds leftovers of an earlier one", a_later_call_finds_something, {}),
    ("a prestarted cage outlives a narrowed policy", a_narrowed_policy_is_outlived, {}),
]
