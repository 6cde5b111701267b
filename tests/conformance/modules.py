# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The conformance cases for WebAssembly modules. Where a module's interface has words for an access, the probe tries it
as everywhere. Where it has none, a module that asks for the function it would need must be refused, naming that."""

import glob
import os
import subprocess
import tempfile

# What probe_module.c knows.
ACCESSES = {
    "read",
    "size",
    "write",
    "may-write",
    "unlink",
    "rename",
    "link",
    "read-moved",
    "read-link",
    "device",
    "processes",
    "environment",
    "descriptors",
    "memory",
    "fill",
    "files",
    "open",
    "spin",
    "sleep",
    "print",
    "nothing",
}
# What a module would have to import for the others: by the names of WASIX, of WASI's drafts, or else of the call itself.
IMPORTS = {
    "capabilities": "env::capget",
    "ids": "wasix_32v1::proc_id",
    "exec": "wasix_32v1::proc_exec",
    "signal": "wasix_32v1::proc_signal",
    "trace": "env::ptrace",
    "child": "wasix_32v1::proc_fork",
    "daemon": "wasix_32v1::proc_fork",
    "own-memory": "env::shmget",
    "uptime": "env::sysinfo",
    "shared-memory": "env::shmat",
    "queue": "env::mq_open",
    "node": "env::mknod",
    "terminal": "env::ioctl",
    "namespace": "env::unshare",
    "closed": "env::syscall",
    "io-uring": "env::io_uring_setup",
    "foreign": "env::syscall",
    "chmod": "env::__wasilibc_chmod",
    "setid-files": "env::__wasilibc_chmod",
    "own-loopback": "wasix_32v1::sock_open",
    "connect": "wasix_32v1::sock_connect",
    "request": "wasix_32v1::sock_connect",
    "pair": "wasix_32v1::sock_pair",
    "datagram-pair": "wasix_32v1::sock_pair",
    "unix": "wasix_32v1::sock_connect",
    "own-unix": "wasix_32v1::sock_bind",
    "fork-on": "wasix_32v1::proc_fork",
    "memory-many": "wasix_32v1::proc_fork",
    "fork": "wasix_32v1::proc_fork",
    "threads": "wasi::thread-spawn",
    "spin-many": "wasi::thread-spawn",
    "raise": "env::setrlimit",
}
# What it is refused beyond its clauses: system directories and devices are no files of a module's.
STRICTER = {
    ("dev.minimal", "the null device"),
    ("dev.minimal", "random bytes"),
    ("fds.clean", "no input, by its name"),
    ("fs.read", "a system file"),
}
UNPROVIDED = ["net.allow", "net.inspect", "net.secret"]
UNTRIED = "not provided yet by this backend"
REFUSED = 126  # the exit code of a module that cannot be run


def asking_for(name):
    """(module (import MODULE NAME (func)) (memory (export "memory") 1) (func (export "_start")))"""

    def text(word):
        return bytes([len(word)]) + word.encode()

    def section(number, body):
        return bytes([number, len(body)]) + body

    module, function = name.split("::")
    return (
        b"\0asm\1\0\0\0"
        + section(1, bytes.fromhex("01600000"))
        + section(2, b"\1" + text(module) + text(function) + b"\0\0")
        + section(3, b"\1\0")
        + section(5, b"\1\0\1")
        + section(7, b"\2" + text("memory") + b"\2\0" + text("_start") + b"\0\1")
        + section(10, bytes.fromhex("0102000b"))
    )


def install(toolcage, wheels, probe, ends):
    """What sets a state directory with the engine and the compiled probe; None: the engine is not here."""
    wheel = glob.glob(os.path.join(wheels, "wasmtime-*.whl"))
    if not wheel:
        return None
    place = tempfile.TemporaryDirectory(prefix="toolcage-conformance-", dir="/var/tmp")
    ends.enter_context(place)
    state = os.path.join(place.name, "state")
    environ = {"HOME": place.name, "PATH": "/usr/bin:/bin", "LC_ALL": "C", "XDG_STATE_HOME": state}
    for words in (("install", wheel[0]), ("compile", probe)):
        subprocess.run(
            [toolcage, "wasm", *words], env=environ, check=True, stdout=subprocess.DEVNULL, timeout=300
        )
    return {"XDG_STATE_HOME": state}


def install_edge(toolcage, root, _, ends):
    """What sets a data directory whose store of images has the second engine; None: it is not here."""
    if not os.path.isdir(root):
        return None
    place = tempfile.TemporaryDirectory(prefix="toolcage-conformance-", dir="/var/tmp")
    ends.enter_context(place)
    environ = {"HOME": place.name, "PATH": "/usr/bin:/bin", "LC_ALL": "C", "XDG_DATA_HOME": place.name}
    subprocess.run(
        [toolcage, "image", "import", root, "wasmedge"],
        env=environ,
        check=True,
        stdout=subprocess.DEVNULL,
        timeout=300,
    )
    return {"XDG_DATA_HOME": place.name}


BACKENDS = ["wasm", "wasmedge"]
PREPARED = {"wasm": install, "wasmedge": install_edge}
STARTED_AS = {
    "wasm": "toolcage-wasm",
    "wasmedge": "ld-linux-x86-64",
}  # the second by the loader of another C library
FETCHED = {"wasm": "tools/clients fetches it", "wasmedge": "tools/clients wasmedge fetches it"}


def refused_by_name(case, result):
    """Was the module refused, for what it asked?"""
    wanted = IMPORTS[case["run"][0]]
    return (
        result["status"] == "failed"
        and result["exit_code"] == REFUSED
        and f"`{wanted}`" in result["stderr"]["text"]
    )
