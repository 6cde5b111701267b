#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Completion: what the program answers, and what real shells make of it at a terminal.

usage: completion.py TOOLCAGE"""

import os
import pty
import select
import shutil
import subprocess
import time

from cli import TOOLCAGE, Place, check, expect, finish, skip

PATIENCE = int(os.environ.get("TOOLCAGE_TEST_PATIENCE", "1"))
POLICY = """[tool.summarise]
command = ["true"]
[tool.search-web]
command = ["true"]
[server.files]
command = ["true"]
[server.files.tool.read]
"""
ASKED = [  # what stands there, what may follow (at least), and what the shell adds
    ([""], ["exec", "call", "policy", "completion", "help"], "nothing"),
    (["po"], ["policy"], "nothing"),
    (["policy", ""], ["check", "explain", "test", "trust", "digest"], "nothing"),
    (["policy", "check", ""], [], "files"),
    (["policy", "nonsense", ""], [], "nothing"),
    (["receipt", ""], ["verify", "key"], "nothing"),
    (["nonsense", ""], [], "nothing"),
    (["help", ""], ["exec"], "nothing"),
    (["completion", ""], ["bash", "zsh", "fish"], "nothing"),
    (["exec", "-"], ["--policy", "--timeout", "--help"], "nothing"),
    (["exec", "--policy", ""], [], "files"),
    (["exec", "--policy", "=", ""], [], "files"),
    (["exec", "--policy", "="], [], "files"),
    (["exec", "--cwd", ""], [], "directories"),
    (["exec", "--denials", ""], ["calls", "paths", "accesses", "off"], "nothing"),
    (["exec", "--network", ""], ["none"], "nothing"),
    (["exec", "-t", ""], [], "nothing"),
    (["exec", ""], [], "commands"),
    (["exec", "--", ""], [], "commands"),
    (["run", "ls", "-"], [], "files"),
    (["exec", "--tool", ""], ["summarise", "search-web"], "nothing"),
    (["call", ""], ["summarise", "search-web"], "nothing"),
    (["call", "--policy", "POLICY", ""], ["summarise", "search-web"], "nothing"),
    (["call", "--policy=POLICY", ""], ["summarise", "search-web"], "nothing"),
    (["call", "summarise", ""], [], "nothing"),
    (["wrap", "--server", ""], ["files"], "nothing"),
    (["-"], ["--color"], "nothing"),
    (["--color", ""], ["auto", "always", "never"], "nothing"),
    (["--color", "=", "a"], ["auto", "always", "never"], "nothing"),
    (["--color", "=", "never", "doc"], ["doctor"], "nothing"),
    (["--color=never", "policy", ""], ["check"], "nothing"),
    (["doctor", "-"], ["--color"], "nothing"),
    (["doctor", "--color", ""], ["auto", "always", "never"], "nothing"),
]


def answers(place):
    for words, wanted, kind in ASKED:
        words = [word.replace("POLICY", place.root + "/home/project/toolcage.toml") for word in words]
        cwd = "/" if any("toolcage.toml" in word for word in words) else None
        answer = place.run("completion", "--words", "--", *words, cwd=cwd)
        lines = answer.out.splitlines()
        found = [line.split("\t")[0] for line in lines[:-1]]
        good = (
            answer.code == 0
            and not answer.err
            and lines[-1] == ":" + kind
            and set(wanted) <= set(found)
            and bool(wanted) == bool(found)
        )
        check(good, f"after {' '.join(words) or 'nothing'}: {kind}", answer)
    answer = place.run("completion", "--words", "--", "call", "", cwd="/")
    check(answer.out == ":nothing\n", "no policy, no tools", answer)
    place.write("home/broken/toolcage.toml", "[tool.\x1b[31m]\n")
    answer = place.run("completion", "--words", "--", "call", "", cwd=place.root + "/home/broken")
    check(
        answer.code == 0 and answer.out == ":nothing\n" and "\x1b" not in answer.err,
        "a broken policy, no tools",
        answer,
    )
    expect(place, "which shell?", ["completion"], 125, "for which shell?", "bash, zsh or fish")
    expect(place, "a shell that is unknown", ["completion", "tcsh"], 125, "tcsh", "bash, zsh or fish")


class Terminal:
    """A shell at a terminal of its own."""

    def __init__(self, place, argv, environ):
        self.pid, self.fd = pty.fork()
        if not self.pid:
            try:
                os.chdir(place.project)
                os.execvpe(argv[0], argv, {**place.environ, **environ, "TERM": "xterm", "COLUMNS": "200"})
            finally:
                os._exit(127)
        self.seen = ""

    def wait_for(self, text, seconds=20):
        until = time.monotonic() + seconds * PATIENCE
        while text not in self.seen and time.monotonic() < until:
            if not select.select([self.fd], [], [], 0.2)[0]:
                continue
            try:
                self.seen += os.read(self.fd, 65536).decode(errors="replace")
            except OSError:
                break
        return text in self.seen

    def send(self, text):
        os.write(self.fd, text.encode())

    def line(self, typed, shows):
        """What the line is after the key was pressed: the shell itself says it."""
        self.seen = ""
        self.send(typed + "\t")
        self.wait_for(shows, 3 if shows == "\a" else 20)
        self.send("\x01echo 'it is'; echo \r")  # at the beginning of the line
        self.wait_for("it is\r\n")
        self.seen = self.seen.rsplit("it is\r\n", 1)[-1]
        self.wait_for("\n")
        return self.seen.split("\n")[0].strip()

    def end(self):
        self.send("\x03\rexit\r")
        until = time.monotonic() + 5 * PATIENCE
        while time.monotonic() < until:
            if os.waitpid(self.pid, os.WNOHANG)[0]:
                break
            self.wait_for("\0", 0.1)
        else:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
        os.close(self.fd)


def shells(place):
    yield (
        "bash",
        [
            "bash",
            "--noprofile",
            "--rcfile",
            place.write("home/bashrc", "PS1='READY> '\nsource <(toolcage completion bash)\n"),
            "-i",
        ],
        {},
    )
    place.write(
        "home/.zshrc",
        "PS1='READY> '\nautoload -Uz compinit && compinit -u\nsource <(toolcage completion zsh)\n",
    )
    yield "zsh", ["zsh", "-i"], {"ZDOTDIR": place.home}
    place.write(
        "home/.config/fish/config.fish",
        "function fish_prompt\n    echo 'READY> '\nend\nset -U fish_greeting\ntoolcage completion fish | source\n",
    )
    yield "fish", ["fish", "--private", "-i"], {"XDG_CONFIG_HOME": place.home + "/.config"}


PRESSED = [
    ("toolcage policy che", "check", "toolcage policy check"),
    ("toolcage exec --timeo", "--timeout", "toolcage exec --timeout"),
    ("toolcage call summ", "summarise", "toolcage call summarise"),
    ("toolcage policy check some-f", "some-file", "toolcage policy check some-file.toml"),
    ("toolcage exec --cwd some-d", "some-directory", "toolcage exec --cwd some-directory"),
]


def at_a_terminal(place):
    place.write("home/project/some-file.toml", "")
    os.mkdir(place.project + "/some-directory")
    path = os.path.join(place.root, "bin")
    os.mkdir(path)
    os.symlink(TOOLCAGE, os.path.join(path, "toolcage"))
    for name, argv, environ in shells(place):
        if not shutil.which(name):
            skip(f"{name}: at a terminal", f"{name} is not installed")
            continue
        terminal = Terminal(place, argv, {"PATH": f"{path}:/usr/bin:/bin", **environ})
        check(terminal.wait_for("READY> "), f"{name}: a prompt", terminal.seen)
        for typed, shows, line in PRESSED:
            said = terminal.line(typed, shows)
            check(
                said.rstrip("/") == line,
                f"{name}: {typed}",
                f"{said!r}, not {line!r}; seen: {terminal.seen[-500:]!r}",
            )
        named(place, name, terminal, path)
        terminal.end()


def named(place, shell, terminal, path):
    """A file of that name where the person works, as a tool may have left it: the key runs none that the line names."""
    for where in (place.project, place.project + "/ws"):
        os.makedirs(where, exist_ok=True)
        place.write(
            os.path.relpath(where, place.root) + "/toolcage",
            f'#!/bin/sh\ntouch {place.project}/ran\nexec {TOOLCAGE} "$@"\n',
            0o755,
        )
    for word in (
        "./toolcage",
        "ws/toolcage",
        "../project/toolcage",
        place.project + "/toolcage",
        "~/project/toolcage",
    ):
        said = terminal.line(f"{word} policy che", "\a")
        check(
            said.endswith("policy che") and not os.path.exists(place.project + "/ran"),
            f"{shell}: {word} is not run",
            said,
        )
    said = terminal.line(f"{path}/toolcage policy che", "check")
    check(said.endswith("policy check"), f"{shell}: the one of PATH, by its whole name", said)
    terminal.send("\x03set -gx PATH . $PATH\r" if shell == "fish" else "\x03PATH=.:$PATH\r")
    terminal.line("true", "\a")
    said = terminal.line("toolcage policy che", "\a")
    check(
        said.startswith("toolcage policy che") and not os.path.exists(place.project + "/ran"),
        f"{shell}: nor one of the current directory, where PATH has that",
        said,
    )


def syntax(place):
    for name in ("bash", "zsh", "fish"):
        script = place.write(f"home/script.{name}", place.run("completion", name).out)
        if shutil.which(name):
            done = subprocess.run(
                [name, "-n", script], capture_output=True, timeout=30 * PATIENCE, check=False
            )
            check(
                done.returncode == 0 and not done.stderr and os.path.getsize(script) > 100,
                f"{name}: a script",
                done,
            )


with Place() as here:
    here.write("home/project/toolcage.toml", POLICY)
    answers(here)
    syntax(here)
    at_a_terminal(here)
finish()
