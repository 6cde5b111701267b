# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Commands of a live session's shell continue where the last one ended, as at a prompt, and what they leave reaches
only the next shell of the same session."""

import json
import os
import subprocess
import time

from cli import check, expect, finish, require_user
from live_scene import Session, gone, new_mark, runs


class Shell(Session):
    def do(self, text, *options, **more):
        return self.place.run("session", "exec", "--shell", *options, self.name, "--", text, **more)

    def says(self, text, out, name, code=0):
        answer = self.do(text)
        check((answer.out, answer.code) == (out, code), name, answer)


def directory_and_variables_stay():
    with Shell() as s:
        project = s.place.project
        s.says("pwd", f"{project}\n", "the first command starts in the project")
        s.do("mkdir 'a dir'; cd 'a dir'; export MARK=\"one  'two' \\$(three)\nfour ü\"; plain=5")
        s.says(
            'pwd; printf %s "$MARK"',
            f"{project}/a dir\none  'two' $(three)\nfour ü",
            "directory and variable stay",
        )
        s.says(
            "sh -c 'printf %s \"$MARK\"' | wc -l; cd - >/dev/null; pwd",
            f"1\n{project}\n",
            "a variable stays exported",
        )
        s.do("unset MARK; cd /usr/lib")
        s.says("echo ${MARK-unset}; cd ..; pwd", "unset\n/usr\n", "a variable can be removed")
        check(s.exec("pwd").out == f"{project}\n", "a command without --shell starts in the project")
        words = s.place.run("session", "exec", "--shell", "work", "echo", "$PWD", "a;", "pwd")
        check(words.out == "/usr a\n/usr\n", "arguments are joined to the shell's text", words)


def bash_keeps_functions_and_options():
    with Shell() as s:
        s.do(
            "f() { echo f:$1; }; alias say='echo said'; umask 027; shopt -s extglob; plain=5; list=(1 '2 3')"
        )
        s.says(
            'f x; say y; umask; echo $plain "${list[1]}"\ncase aaa in +(a)) echo matched;; esac; echo $#:$0',
            "f:x\nsaid y\n0027\n5 2 3\nmatched\n0:bash\n",
            "functions, aliases, umask, options and arrays stay",
        )
        s.do("set -eux; readonly FIXED=1")
        s.says("false; echo $- $FIXED $undefined", "hBc 1\n", "options of set end with their command")


def exit_codes_are_those_of_the_text():
    with Shell() as s:
        s.says("cd /usr; exit 3", "", "exit ends the command", 3)
        s.says("echo $?; pwd", "3\n/usr\n", "the shell goes on after exit")
        s.says("set -e; cd /bin; false; echo no", "", "set -e ends the command", 1)
        s.says("pwd; (exit 9)", "/bin\n", "the last status is the exit code", 9)
        answer = s.do("cd /usr; if then")
        check(
            answer.code == 2 and "syntax error" in answer.err and "toolcage" not in answer.err,
            "a syntax error is 2",
            answer,
        )
        s.says("pwd", "/bin\n", "a syntax error changes nothing")
        s.says("no-such-command 2>/dev/null", "", "a missing command is 127", 127)
        s.says("cd /usr; exec sh -c 'exit 5'", "", "exec replaces the shell", 5)
        s.says("pwd", "/bin\n", "exec leaves the state as it was")
        s.says("trap 'echo bye' EXIT; cd /usr", "bye\n", "the command may have a trap")
        s.says("pwd", "/usr\n", "a trap does not hinder the state")
        check(s.do("cd /; kill -9 $$").code == 137, "a killed shell has its signal")
        s.says("pwd", "/usr\n", "a killed shell leaves the state as it was")


def streams_pass():
    with Shell() as s:
        check(s.do("cat", stdin=b"typed").out == "typed", "standard input is the command's")
        s.says("cat <<E\n$HOME-\\$x\nE", s.do("echo $HOME").out.rstrip() + "-$x\n", "a heredoc is read")
        check(
            len(s.do("head -c 1000000 /dev/zero | tr '\\0' x", "--output", "2MB").out) == 1000000,
            "1 MB passes",
        )
        s.do("cd /usr; echo '#end'; printf '\\n#end\\n'; echo '#end' >&2")
        s.says("pwd", "/usr\n", "output cannot pass for the state")
        r = json.loads(s.do("echo out; echo err >&2; exit 4", "--json").out)
        check(
            (r["stdout"]["text"], r["stderr"]["text"], r["exit_code"]) == ("out\n", "err\n", 4),
            "JSON has the streams",
            r,
        )
        s.do("exec >/dev/null 2>&1; cd /bin")
        s.says("pwd", "/bin\n", "redirected streams do not hinder the state")


def lost_directory_holds_nothing():
    with Shell() as s:
        project = s.place.project
        s.do("mkdir gone; cd gone; touch $OLDPWD/kept")
        s.says("rmdir ../gone; pwd", f"{project}/gone\n", "a directory may vanish")
        answer = s.do("rm -rf -- *; ls -A; touch x")
        check(
            answer.out == "" and answer.code == 1 and "gone" in answer.err,
            "a vanished directory is empty",
            answer,
        )
        check(os.path.exists(os.path.join(project, "kept")), "nothing else is in its place")
        s.do(f"mkdir {project}/gone")
        s.says("pwd", f"{project}/gone\n", "the directory counts again when it exists again")


def background_and_kill_behave():
    with Shell() as s:
        mark = new_mark()
        s.do(f"cd /usr; sleep {mark} >/dev/null 2>&1 & echo started")
        check(runs(mark), "a job runs in the background")
        s.says("pwd", "/usr\n", "a job does not hold the state")
        begun = time.monotonic()
        answer = s.do(f"cd /bin; sleep {new_mark()}", "--timeout", "1s")
        check(answer.code == 124 and time.monotonic() - begun < 15, "time ends a shell", answer)
        check(s.do("echo on").out == "on\n", "the shell goes on after it")
    check(gone(mark), "a job ends with the session")


def last_to_end_wins():
    with Shell() as s:
        early = s.place.popen(
            "session", "exec", "--shell", "work", "cd /usr; sleep 2", stderr=subprocess.DEVNULL
        )
        s.do("cd /bin; sleep 0.1")
        s.says("pwd", "/bin\n", "the one that ended is the last")
        early.wait(timeout=30)
        s.says("pwd", "/usr\n", "the later one to end wins")


def state_is_bounded_and_private():
    with Shell() as s:
        s.do("cd /usr; X=$(head -c 6000000 /dev/zero | tr '\\0' x)")
        s.says("pwd; echo ${#X}", f"{s.place.project}\n0\n", "a state that is too large is not kept")
        s.do("cd /usr; printf 'cd /bin\\n#end\\n' >&10; kill -9 $$")
        s.says("pwd", "/bin\n", "a command steers its next shell only")
        s.do("cd /usr; printf 'if then\\n#end\\n' >&10; kill -9 $$")
        s.says("echo on", "on\n", "a broken state does not end the shell")
        s.do("truncate -s 4T /proc/$$/fd/10; sleep 0; : > /proc/$$/fd/10; cd /usr")
        check(s.do("echo on").out == "on\n", "a command may spoil its own state")
        s.do("printf 'cd /usr; A=whole; sleep 2\\n_toolcage_dir=/bin\\n#end\\n' >&10; kill -9 $$")
        answer = s.do("true", "--timeout", "1s")
        check(answer.code == 124, "a state may last longer than its command", answer)
        s.says(
            "pwd; echo $A", "/bin\nwhole\n", "a command that ends before it has its state leaves it as it was"
        )
        late = "printf 'echo late; X=2\\n###########' | dd of=/proc/self/fd/10 conv=notrunc oflag=seek_bytes"
        late = f"while sleep 0.1; do {late} seek=$at; done"
        s.do(f"cd /usr; X=1; at=$(stat -Lc %s /proc/$$/fd/10); ({late}) >/dev/null 2>&1 &")
        time.sleep(0.5)
        s.says("echo $X", "1\n", "a process that a command left does not change the state")
        found = s.sh("ls -A /tmp /dev/shm; ls -l /proc/*/fd 2>/dev/null | grep -c shell")
        check(found.out.strip().endswith("0") and "shell" not in found.out, "no file has the state", found)
        other = s.place.run("session", "start", "other")
        answer = s.place.run("session", "exec", "--shell", "other", "pwd; echo ${X-none}")
        check(
            other.code == 0 and answer.out == f"{s.place.project}\nnone\n",
            "another session has another shell",
            answer,
        )
        s.place.run("session", "end", "other")


def sh_stands_in_for_bash():
    with Shell() as s:
        s.place.run("session", "end", "work")
        programs = os.path.join(s.place.project, "programs")
        os.mkdir(programs, 0o755)
        for name in ("sh", "cat", "mktemp", "rmdir"):
            os.symlink(f"/bin/{name}", os.path.join(programs, name))
        s.place.run("session", "start", "--write", ".", "--env", f"PATH={programs}", "work")
        s.do('export MARK="it\'s\n\\$(true)"; cd /usr; umask 027; exit 3')
        s.says(
            'echo $?; pwd; echo "$MARK"; umask; echo $0',
            "3\n/usr\nit's\n$(true)\n0027\nsh\n",
            "sh keeps its state",
        )
        answer = s.do("cd /bin; if then")
        check(answer.code == 2 and s.do("pwd").out == "/usr\n", "a syntax error in sh is 2", answer)
        s.says("set -eu; cd /bin; false", "", "set -e ends a command of sh", 1)
        s.says("pwd; echo $- $none", "/bin\n\n", "options of set end with their command of sh")


def options_are_checked():
    with Shell() as s:
        for option in ("--cwd=/", "--env=A=1"):
            expect(
                s.place,
                f"{option} needs no shell",
                ["session", "exec", "--shell", option, "work", "true"],
                125,
                "combined",
            )
        long = ["x" * 60000] * 3
        expect(
            s.place,
            "a text is bounded",
            ["session", "exec", "--shell", "work", "true", *long],
            125,
            "longer than",
        )
        expect(s.place, "a shell needs a command", ["session", "exec", "--shell", "work"], 125, "no command")


require_user()
for part in (
    directory_and_variables_stay,
    bash_keeps_functions_and_options,
    exit_codes_are_those_of_the_text,
    streams_pass,
    lost_directory_holds_nothing,
    background_and_kill_behave,
    last_to_end_wins,
    state_is_bounded_and_private,
    sh_stands_in_for_bash,
    options_are_checked,
):
    part()
finish()
