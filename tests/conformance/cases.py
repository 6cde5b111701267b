# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The conformance cases: what a clause lets through and what it stops. Data only, the same for every backend.

Each case is one run of the probe in a cage. `saw` says what must be looked at, from outside where that is
possible, to know whether the access took place; it must have taken place exactly when `allowed` says so.

    says TEXT       the probe printed it (TEXT is mostly the canary's own text, which nobody could guess)
    exists PATH     the path is there on the host
    gone PATH       the path is no more on the host
    changed PATH    the file on the host has other bytes, or another mode, than before
    lends PATH      the file on the host has a set-id bit
    arrived NAME    the listener of that name got the token
    grows PATH      the file on the host still grows after the call
    runs as ID      while it ran, one of its ids was this one, as the host numbers them
    ended           the victim outside has ended
    completed       the call's status is ok
({rootid}: the number that the machine's root has where the case plays.)
In all texts {name} is a place of the stage (see stage.py)."""

from stage import PATIENCE


def case(clause, name, run, saw, allowed, **grant):
    return {
        "clause": clause,
        "name": name,
        "run": run.split() if isinstance(run, str) else run,
        "saw": saw.split(" ", 1),
        "allowed": allowed,
        "grant": grant,
    }


def yes(clause, name, run, saw, **grant):
    return case(clause, name, run, saw, True, **grant)


def no(clause, name, run, saw, **grant):
    return case(clause, name, run, saw, False, **grant)


# a file in what the tool may read; without TLS, because the listener speaks none
SECRET = {
    "network": '["127.0.0.1:{port}"]',
    "secrets.KEY": '{ from = "file:{data}/file", hosts = ["http://127.0.0.1:{port}"], header = "X-Key: \\u007bsecret}" }',
}
SMALL = {"disk": '"1MiB"'}

CASES = [
    yes(
        "priv.none",
        "it knows that it has none",
        "capabilities",
        "says effective 0000000000000000\npermitted 0000000000000000",
    ),
    yes("priv.none", "none can come back", "capabilities", "says no_new_privs 1"),
    no("priv.none", "the host name is set", "capabilities", "says yes sethostname"),
    no("priv.none", "it becomes root", "capabilities", "says yes setuid"),
    no("priv.none", "a set-id program lends its owner", "exec {setid} ids", "says ids 0"),
    yes("ids.unprivileged", "it has an id", "ids", "says ids "),
    no("ids.unprivileged", "some id of it is the host's 0", "sleep {while}", "runs as {rootid}"),
    no(
        "ids.unprivileged",
        "a set-id program is left behind",
        "chmod {ws}/left 4755",
        "says yes chmod",
    ),
    yes("ids.groups", "a granted file that all may read", "read {data}/file", "says {token}"),
    no("ids.groups", "a file outside that a group may read", "read {secret}/group", "says {token}"),
    yes("proc.own", "it sees itself", "processes", "says processes "),
    no("proc.own", "it sees the victim outside", "read /proc/{victim}/cmdline", "says {token}"),
    no("proc.own", "it ends the victim outside", "signal {victim}", "ended"),
    no("proc.own", "it traces the victim outside", "trace {victim}", "says yes trace"),
    no(
        "proc.own",
        "the kernel's settings are written",
        "may-write /proc/sys/kernel/core_pattern",
        "says yes may-write",
    ),
    yes("proc.survivors", "it has children", "child", "says yes child"),
    no("proc.survivors", "a daemon outlives it", "daemon {ws}/alive", "grows {ws}/alive"),
    yes("ipc.none", "shared memory of its own", "own-memory", "says yes shared memory"),
    no("ipc.none", "shared memory of the host", "shared-memory {key}", "says {token}"),
    no("ipc.none", "a queue of the host", "queue {queue}", "says yes queue"),
    yes("tmp.private", "a file in /tmp", "write /tmp/own", "says yes write"),
    no("tmp.private", "a file of /tmp shows on the host", "write /tmp/{token}", "exists /tmp/{token}"),
    no("tmp.private", "a file of the host's /tmp", "read {hosttmp}", "says {token}"),
    no("tmp.private", "a file of the host's /dev/shm", "read {hostshm}", "says {token}"),
    yes("dev.minimal", "the null device", "device /dev/null", "says yes device"),
    yes("dev.minimal", "random bytes", "read /dev/urandom", "says yes read"),
    no("dev.minimal", "the kernel's messages", "device /dev/kmsg", "says yes device"),
    no("dev.minimal", "a terminal of the host", "device /dev/tty0", "says yes device"),
    no("dev.minimal", "a new device", "node {ws}/node", "exists {ws}/node"),
    yes(
        "env.clean",
        "a variable that the policy names",
        "environment",
        "says GIVEN={token}",
        env='{ set = { GIVEN = "{token}" } }',
    ),
    no("env.clean", "a variable of the caller", "environment", "says {token}"),
    yes("fds.clean", "without input", "descriptors", "says 0 null\n1 pipe\n2 pipe\n"),
    yes("fds.clean", "three pipes", "descriptors", "says 0 pipe\n1 pipe\n2 pipe\n", stdin='"{token}"'),
    yes("fds.clean", "an empty text is an input", "descriptors", "says 0 pipe\n", stdin='""'),
    no("fds.clean", "the host's null device", "chmod /proc/self/fd/0 1666", "changed /dev/null"),
    yes("fds.clean", "no input, by its name", "read /dev/stdin", "says yes read"),
    no("fds.clean", "any descriptor more", "descriptors", "says other"),
    no("fds.clean", "a descriptor of the caller", "read /proc/self/fd/{inherited}", "says {token}"),
    yes("tty.none", "a session", "terminal", "says session 1"),
    no("tty.none", "a controlling terminal", "terminal", "says yes terminal"),
    no("tty.none", "input is pushed into it", "terminal", "says yes push"),
    yes("syscalls", "processes", "child", "says yes child"),
    no("syscalls", "a new user namespace", "namespace", "says yes namespace"),
    no("syscalls", "one of each closed group", "closed", "says yes "),
    no("syscalls", "io_uring", "io-uring", "says yes io_uring"),
    no("syscalls", "a call by the 32-bit ABI", "foreign", "says yes foreign"),
    yes("syscalls", "before a call is denied", "uptime", "says yes uptime"),
    no(
        "syscalls",
        "a call that the policy denies",
        "uptime",
        "says yes uptime",
        syscalls='{ deny = ["sysinfo"] }',
    ),
    yes("syscalls", "other system calls", "child", "says yes child", syscalls='{ deny = ["sysinfo"] }'),
    yes("setid.none", "an ordinary mode", "chmod {ws}/mode 0700", "exists {ws}/mode"),
    no("setid.none", "a set-id file", "chmod {ws}/setid 4755", "says yes chmod"),
    no("setid.none", "a set-id file by any call", "setid-files {ws}", "says yes set-id"),
    no("setid.none", "a set-group file", "chmod {ws}/setid 2755", "lends {ws}/setid"),
    yes("fs.read", "a readable file", "read {data}/file", "says {token}"),
    yes("fs.read", "a writable one", "read {ws}/file", "says {token}"),
    yes("fs.read", "a system file", "read /usr/bin/env", "says yes read"),
    yes("fs.read", "a program in a readable directory is run", "exec {bin}/probe nothing", "says yes exec"),
    no("fs.read", "a file beside", "read {secret}/file", "says {token}"),
    no("fs.read", "a file above", "read {data}/../secret/file", "says {token}"),
    no("fs.read", "a file behind a link", "read {data}/link", "says {token}"),
    no("fs.read", "a program outside is run", "exec {secret}/probe nothing", "says yes exec"),
    no("fs.read", "accounts of the host", "read /etc/shadow", "says root:"),
    yes("fs.stat", "the size of a readable file", "size {data}/file", "says yes size"),
    no("fs.stat", "the size of a file beside", "size {secret}/file", "says yes size"),
    yes("fs.write", "a new file", "write {ws}/new", "exists {ws}/new"),
    yes("fs.write", "an old one", "write {ws}/file", "changed {ws}/file"),
    yes("fs.write", "a file is removed", "unlink {ws}/file", "gone {ws}/file"),
    yes("fs.write", "a file is renamed", "rename {ws}/file {ws}/other", "exists {ws}/other"),
    no("fs.write", "a readable file", "write {data}/file", "changed {data}/file"),
    no("fs.write", "a new name in a readable directory", "write {data}/new", "exists {data}/new"),
    no("fs.write", "a readable file is removed", "unlink {data}/file", "gone {data}/file"),
    no("fs.write", "a readable file's mode", "chmod {data}/file 0777", "changed {data}/file"),
    no("fs.write", "a file outside", "write {secret}/file", "changed {secret}/file"),
    no("fs.write", "a readable file is moved out", "rename {data}/file {ws}/moved", "gone {data}/file"),
    yes("fs.write", "a second name", "link {ws}/file {ws}/name", "exists {ws}/name"),
    no("fs.write", "a second name for a readable file", "link {data}/file {ws}/name", "exists {ws}/name"),
    no(
        "fs.write",
        "a second name in a readable directory",
        "link {ws}/file {data}/name",
        "exists {data}/name",
    ),
    no(
        "fs.write",
        "a system directory",
        "write /usr/toolcage-conformance",
        "exists /usr/toolcage-conformance",
    ),
    yes("fs.denied", "the name beside", "read {data}/file", "says {token}", denied=["{data}/denied"]),
    no(
        "fs.denied",
        "a denied name in a readable directory",
        "read {data}/denied",
        "says {token}",
        denied=["{data}/denied"],
    ),
    no(
        "fs.denied",
        "a denied name in a writable directory",
        "read {ws}/denied",
        "says {token}",
        denied=["{ws}/denied"],
    ),
    no(
        "fs.denied",
        "by a link to it",
        "read-link {data}/denied {ws}/to-denied",
        "says {token}",
        denied=["{data}/denied"],
    ),
    no(
        "fs.denied",
        "by a second name",
        "link {ws}/denied {ws}/second",
        "exists {ws}/second",
        denied=["{ws}/denied"],
    ),
    no(
        "fs.denied",
        "after its directory was renamed",
        "read-moved {ws}/sub {ws}/moved denied",
        "says {token}",
        denied=["{ws}/sub/denied"],
    ),
    no("fs.denied", "it is written", "write {ws}/denied", "changed {ws}/denied", denied=["{ws}/denied"]),
    no(
        "fs.denied", "below a denied directory", "read {data}/sub/file", "says {token}", denied=["{data}/sub"]
    ),
    yes(
        "fs.steering", "a file of a repository", "write {ws}/.git/description", "exists {ws}/.git/description"
    ),
    no("fs.steering", "its configuration", "write {ws}/.git/config", "changed {ws}/.git/config"),
    no("fs.steering", "a hook", "write {ws}/.git/hooks/pre-commit", "exists {ws}/.git/hooks/pre-commit"),
    no("fs.steering", "the repository is moved away", "rename {ws}/.git {ws}/old", "gone {ws}/.git/config"),
    yes("net.none", "its own loopback", "own-loopback", "says yes own loopback"),
    no("net.none", "a listener on the host's loopback", "connect 127.0.0.1 {port} {token}", "arrived tcp"),
    no("net.none", "an address of the host", "connect {address} {anyport} {token}", "arrived any"),
    no(
        "net.allow",
        "a host that is not named",
        "connect 127.0.0.1 {port} {token}",
        "arrived tcp",
        network='["example.com:443"]',
    ),
    no(
        "net.allow",
        "another address of the host",
        "connect {address} {anyport} {token}",
        "arrived any",
        network='["127.0.0.1:{port}"]',
    ),
    yes(
        "net.allow",
        "a host that is named",
        "connect 127.0.0.1 {port} {token}",
        "arrived tcp",
        network='["127.0.0.1:{port}"]',
    ),
    yes(
        "net.inspect",
        "a request that is named",
        "request 127.0.0.1 {port} GET /v1/{token}",
        "arrived tcp",
        network='[{ host = "127.0.0.1", port = {port}, methods = ["GET"], paths = ["/v1"] }]',
    ),
    no(
        "net.inspect",
        "another method",
        "request 127.0.0.1 {port} POST /v1/{token}",
        "arrived tcp",
        network='[{ host = "127.0.0.1", port = {port}, methods = ["GET"], paths = ["/v1"] }]',
    ),
    no(
        "net.inspect",
        "another path",
        "request 127.0.0.1 {port} GET /v1/../{token}",
        "arrived tcp",
        network='[{ host = "127.0.0.1", port = {port}, methods = ["GET"], paths = ["/v1"] }]',
    ),
    no(
        "net.inspect",
        "bytes that are not a request",
        "connect 127.0.0.1 {port} {token}",
        "arrived tcp",
        network='[{ host = "127.0.0.1", port = {port}, methods = ["GET"] }]',
    ),
    yes(
        "net.secret",
        "a request to its host has it",
        "request 127.0.0.1 {port} GET /v1",
        "arrived tcp",
        **SECRET,
    ),
    no(
        "net.secret",
        "a request to another host",
        "request 127.0.0.1 {port} GET /v1",
        "arrived tcp",
        **{
            **SECRET,
            "network": '["127.0.0.1:{port}", "example.com:80"]',
            "secrets.KEY": SECRET["secrets.KEY"].replace("127.0.0.1:{port}", "example.com:80"),
        },
    ),
    no("net.secret", "the tool reads it where it is kept", "read {data}/file", "says {token}", **SECRET),
    no("net.secret", "the tool has it in a variable", "environment", "says {token}", **SECRET),
    yes("net.unix", "a pair of its own", "pair", "says yes pair"),
    no("net.unix", "a pair that names its peer", "datagram-pair", "says yes datagram pair"),
    no("net.unix", "a socket in a readable directory", "unix {data}/socket {token}", "arrived unix"),
    no("net.unix", "an abstract socket", "unix @{token} {token}", "arrived abstract"),
    no("net.unix", "a server of its own", "own-unix /tmp/own", "says yes own unix"),
    yes(
        "net.unix",
        "a server of its own, granted",
        "own-unix /tmp/own",
        "says yes own unix",
        unix_sockets='"own"',
    ),
    yes(
        "net.unix",
        "an abstract one of its own, granted",
        "own-unix @own",
        "says yes own unix",
        unix_sockets='"own"',
    ),
    no(
        "net.unix",
        "with its own: a socket in a readable directory",
        "unix {data}/socket {token}",
        "arrived unix",
        unix_sockets='"own"',
    ),
    no(
        "net.unix",
        "with its own: an abstract socket",
        "unix @{token} {token}",
        "arrived abstract",
        unix_sockets='"own"',
    ),
    no(
        "net.unix",
        "with its own: one in the workspace",
        "own-unix {ws}/own",
        "exists {ws}/own",
        unix_sockets='"own"',
    ),
    yes(
        "net.unix",
        "a socket that is granted",
        "unix {data}/socket {token}",
        "arrived unix",
        unix_sockets='["{data}/socket"]',
    ),
    no(
        "net.unix",
        "beside it: an abstract socket",
        "unix @{token} {token}",
        "arrived abstract",
        unix_sockets='["{data}/socket"]',
    ),
    yes("limit.timeout", "before the deadline", "sleep 0.1", "completed", timeout='"10s"'),
    no("limit.timeout", "after it", "sleep 20", "says yes sleep", timeout='"300ms"', grace='"100ms"'),
    no(
        "limit.timeout",
        "by whoever is forked while it ends",
        f"fork-on {5 * PATIENCE} {{ws}}/late",
        "grows {ws}/late",
        timeout=f'"{1500 * PATIENCE}ms"',
        grace='"100ms"',
    ),
    yes("limit.memory", "below the limit", "memory 20", "says yes memory", memory='"64MiB"'),
    no("limit.memory", "beyond it", "memory 300", "says yes memory", memory='"64MiB"'),
    no(
        "limit.memory",
        "beyond it in many processes",
        "memory-many 8 30",
        "says yes memory of many",
        memory='"64MiB"',
    ),
    yes("limit.pids", "as many as that", "fork 8", "says yes processes", pids="16"),
    no("limit.pids", "more", "fork 40", "says yes processes", pids="16"),
    yes("limit.pids", "as many threads", "threads 8", "says yes threads", pids="16"),
    no("limit.pids", "more threads", "threads 40", "says yes threads", pids="16"),
    yes("limit.cpu_time", "below the limit", "spin 0.05", "completed", cpu_time='"5s"'),
    no("limit.cpu_time", "beyond it", "spin 20", "says yes spin", cpu_time='"200ms"', timeout='"30s"'),
    no(
        "limit.cpu_time",
        "beyond it in many processes",
        "spin-many 4 20",
        "says yes spin",
        cpu_time='"300ms"',
        timeout='"30s"',
    ),
    yes("limit.cpus", "a share", "spin 0.05", "completed", cpus="0.5"),
    no(
        "limit.cpus",
        "more than the share",
        "spin 1",
        "says yes spin",
        cpus="0.1",
        timeout='"2s"',
        grace='"100ms"',
    ),
    yes("limit.disk", "below the limit", "fill /tmp/f 100000", "says yes fill", **SMALL),
    no("limit.disk", "bytes beyond it", "fill /tmp/f 9000000", "says yes fill", **SMALL),
    no("limit.disk", "files beyond it", "files 2000", "says yes files", **SMALL),
    yes("limit.open_files", "below the limit", "open 20", "says yes open", open_files="32"),
    no("limit.open_files", "beyond it", "open 40", "says yes open", open_files="32"),
    no("limit.open_files", "the limit is raised", "raise 64", "says yes raise", open_files="32"),
    yes(
        "limit.output",
        "below the limit",
        "print 2048",
        "says yes print",
        output='{ limit = "64KiB", over = "kill" }',
    ),
    no(
        "limit.output",
        "beyond it",
        "print 2000000000",
        "says yes print",
        output='{ limit = "64KiB", over = "kill" }',
    ),
]

# What a tool without namespaces is refused beyond its clauses, because Landlock and seccomp cannot tell it from what
# they have to stop.
STRICTER = {
    ("net.none", "its own loopback"),
    ("limit.disk", "below the limit"),
    ("ipc.none", "shared memory of its own"),
}
