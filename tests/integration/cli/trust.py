# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Trust binds the text that was written or read, and nothing that takes its place meanwhile."""

import os
import pty
import re
import select
import shlex
import subprocess
import threading

from cli import Place, check, expect, finish, require_user

ROUNDS = 40
OLD = '[tool.x]\ncommand = ["true"]\nnetwork = "none"\nfilesystem.readable = ["/workspace"]\n'
NEW = OLD.replace("readable", "writable")


def digest_of(place, path):
    return place.run("policy", "digest", path).out.split()[0]


def trusted(place):
    """The lines of the record."""
    record = os.path.join(place.home, ".local/state/toolcage/trust")
    if not os.path.exists(record):
        return []
    with open(record, encoding="utf-8") as file:
        return file.read().splitlines()


def swap(path, other, done):
    """Puts another file at the name as soon as there is one, once for each time that there is none."""
    count = 0
    while not done.is_set():
        ready = f"{other}.{count}"
        os.link(other, ready)
        while not os.path.exists(path) and not done.is_set():
            pass
        os.rename(ready, path)
        count += 1
        while os.path.exists(path) and not done.is_set():
            pass


def init_trusts_no_replacement():
    with Place() as place:
        path, other = os.path.join(place.project, "toolcage.toml"), place.write("home/project/other", OLD)
        digest, done = digest_of(place, other), threading.Event()
        racer = threading.Thread(target=swap, args=(path, other, done))
        racer.start()
        seen, answers = [], []
        for _ in range(ROUNDS):
            answers.append(place.run("init"))
            seen += trusted(place)
            if os.path.exists(path):
                os.unlink(path)
        done.set()
        racer.join()
        said = [a for a in answers if a.code == 126]
        check(
            not [line for line in seen if line.startswith(digest)],
            "init trusts no file that took the place of its own",
            set(seen),
        )
        check(
            # a slow racer puts its file there before the next init begins
            all(a.code in (0, 126) or (a.code == 125 and "is already here" in a.err) for a in answers)
            and all("was replaced while init wrote it" in a.err for a in said),
            f"a replacement that init sees is reported ({len(said)} of {ROUNDS})",
            [str(a) for a in answers if a.code not in (0, 126)][:2],
        )


def digest_binds_trust():
    with Place() as place:
        path = place.write("home/project/toolcage.toml", OLD)
        digest = digest_of(place, path)
        place.write("home/project/toolcage.toml", NEW)
        now = digest_of(place, path)
        expect(
            place,
            "another version is refused, both digests are named",
            ["policy", "trust", path, "--digest", digest],
            126,
            digest,
            now,
            "nothing was trusted",
        )
        check(not trusted(place), "and nothing was recorded", trusted(place))
        for word in (
            "",
            "sha256:",
            now[: 7 + 31],
            now.upper(),
            now + "0",
            now[: 7 + 40] + "x",
            "md5:" + now[7:],
        ):
            expect(
                place,
                f"not a digest: {word[:20]!r} of {len(word)}",
                ["policy", "trust", path, f"--digest={word}"],
                125,
                "is not the digest of a policy",
            )
        expect(
            place,
            "--remove takes no digest",
            ["policy", "trust", "--remove", path, "--digest", now],
            125,
            "leave --digest out",
        )
        for word in (now, now[7:], now[: 7 + 32], now[7 : 7 + 32]):
            expect(
                place,
                f"this digest is accepted: {word[:12]} of {len(word)}",
                ["policy", "trust", "--digest", word],
                0,
                now,
                stream="out",
            )
            check(trusted(place) == [f"{now} {path}"], "the whole digest is recorded", trusted(place))
            expect(place, "and forgotten", ["policy", "trust", "--remove"], 0, stream="out")


def digest_covers_extends():
    with Place() as place:
        path = place.write("home/project/toolcage.toml", 'extends = "base.toml"\n')
        place.write("home/project/base.toml", OLD)
        digest = digest_of(place, path)
        place.write("home/project/base.toml", NEW)
        expect(
            place,
            "a change of what it extends is refused",
            ["policy", "trust", "--digest", digest],
            126,
            "nothing was trusted",
        )
        place.write("home/project/base.toml", OLD)
        expect(
            place,
            "the text that was read is trusted",
            ["policy", "trust", "--digest", digest],
            0,
            digest,
            stream="out",
        )
        place.write("home/project/base.toml", NEW)
        answer = expect(
            place,
            "the version before is not kept whole",
            ["policy", "trust"],
            0,
            "is not kept; all that it grants:",
            "tool.x\n",
        )
        check("since it was trusted" not in answer.err, "and not compared by halves", answer)


def hints_hold_the_digest():
    with Place() as place:
        odd = place.write("home/project/a b;$(x)'/toolcage.toml", OLD)
        path = place.write("home/project/toolcage.toml", OLD)
        for verb, code in (
            (["tools"], 126),
            (["policy", "check"], 0),
            (["policy", "explain", "--tool", "x"], 0),
            (["policy", "check", "toolcage.toml"], 0),
        ):
            for file in (path, odd):
                answer = place.run(*verb, cwd=os.path.dirname(file))
                found = re.search(r"^hint: .*: (toolcage policy trust .*)$", answer.err, re.M)
                words = shlex.split(found[1]) if found else []
                check(
                    answer.code == code and words[3:] == [file, "--digest", digest_of(place, file)],
                    f"{' '.join(verb)} prints the command for a shell",
                    answer,
                )
        answer = place.run(*words[1:])
        check(
            answer.code == 0 and f"trusted: {odd}" in answer.out,
            "the printed command trusts the policy",
            answer,
        )
        answer = place.run("policy", "check", cwd=os.path.dirname(odd))
        check("trust" not in answer.err, "a trusted policy needs no command", answer)
        named = place.write("named.toml", OLD)
        check("trust" not in place.run("policy", "check", named).err, "nor what no lookup finds")


def changes_are_shown():
    with Place() as place:
        path = place.write("home/project/toolcage.toml", OLD)
        expect(
            place,
            "a new policy: all that it grants",
            ["policy", "trust"],
            0,
            f"{path} was never trusted; all that it grants:",
            "tool.x\n  + is new",
        )
        answer = expect(
            place, "nothing new", ["policy", "trust"], 0, f"trusted already: {path}\n", stream="out"
        )
        check("trusted" not in answer.err, "said once", answer)
        place.write(
            "home/project/toolcage.toml",
            NEW.replace("filesystem", "# toolcage: allow(unbounded-writes) no reason\nfilesystem")
            + 'description = "other"\n',
        )
        answer = expect(
            place,
            "another one: what has changed, and what is dangerous, silenced or not",
            ["policy", "trust"],
            0,
            "has changed since it was trusted as sha256:",
            "tool.x\n  + /workspace is writable",
            "neither more nor less: 1\n",
            "danger: nothing limits",
        )
        check(
            "is new" not in answer.err and "another description" not in answer.err, "and nothing else", answer
        )
        texts = os.listdir(os.path.join(place.home, ".local/state/toolcage/trusted"))
        check(texts == [digest_of(place, path)[7:]], "one text is kept for a file", texts)
        expect(place, "forget it", ["policy", "trust", "--remove"], 0, stream="out")
        check(not os.listdir(os.path.join(place.home, ".local/state/toolcage/trusted")), "and its text")
        expect(
            place,
            "--remove of a file that was never trusted",
            ["policy", "trust", "--remove"],
            0,
            f"was not trusted: {path}\n",
            stream="out",
        )


def files_share_a_text():
    with Place() as place:
        paths = [place.write(f"home/{name}/toolcage.toml", OLD) for name in ("project", "other")]
        for path in paths:
            expect(place, f"trust {path}", ["policy", "trust", path], 0, stream="out")
        expect(
            place,
            "forget one",
            ["policy", "trust", "--remove", paths[1]],
            0,
            "no longer trusted",
            stream="out",
        )
        place.write("home/project/toolcage.toml", NEW)
        expect(
            place,
            "the text of the other is kept",
            ["policy", "trust"],
            0,
            "has changed since it was trusted as sha256:",
        )


def unasked(place):
    """At a terminal that is not the controlling one: the exit code and what is shown."""
    ours, theirs = os.openpty()
    process = place.popen(
        "policy", "trust", stdin=theirs, stdout=subprocess.PIPE, stderr=theirs, start_new_session=True
    )
    os.close(theirs)
    out = process.communicate(timeout=60)[0]
    shown = b""
    try:  # the kernel hands it on in pieces; behind the last one is an error, as nobody has the other end
        while piece := os.read(ours, 1 << 16):
            shown += piece
    except OSError:
        pass
    os.close(ours)
    return process.returncode, out, shown.decode().replace("\r\n", "\n")


def terminal_without_tty_refuses():
    with Place() as place:
        path = place.write("home/project/toolcage.toml", OLD)
        code, out, shown = unasked(place)
        words = "".join(line.strip() + " " for line in shown.splitlines())
        check(
            code == 126 and not out and not trusted(place),
            "nothing is trusted without a question",
            (code, out, shown),
        )
        check(
            "there is no terminal to ask at" in words and f"--digest {digest_of(place, path)}" in words,
            "and the command that needs none is named",
            shown,
        )


def at_terminal(place, said, meanwhile=lambda: None):
    """What a person is shown, who says this to the question."""
    argv = place.argv("policy", "trust")
    pid, terminal = pty.fork()
    if not pid:
        os.chdir(place.project)
        os.execvpe(argv[0], argv, place.environ)
    seen = b""
    while b"[y/N]" not in seen and select.select([terminal], [], [], 30)[0]:
        seen += os.read(terminal, 4096)
    meanwhile()
    os.write(terminal, said)
    while select.select([terminal], [], [], 30)[0]:
        try:
            piece = os.read(terminal, 4096)
        except OSError:
            break
        seen += piece
    os.close(terminal)
    return seen.decode(), os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def terminal_asks():
    with Place() as place:
        path = place.write("home/project/toolcage.toml", OLD)
        digest = digest_of(place, path)
        for said in (b"n\n", b"\n", b"\x04"):
            shown, code = at_terminal(place, said)
            check(
                code == 126 and not trusted(place) and digest in shown and "is new" in shown,
                f"{said!r} trusts nothing",
                (code, shown),
            )
        shown, code = at_terminal(place, b"y\n", lambda: place.write("home/project/toolcage.toml", NEW))
        check(
            code == 0 and trusted(place) == [f"{digest} {path}"],
            "yes trusts what was shown, whatever the file is by then",
            (code, shown, trusted(place)),
        )
        expect(place, "and not that", ["tools"], 126, "has changed since it was trusted")


def allow_binds_its_change():
    with Place() as place:
        path = place.write("home/project/toolcage.toml", OLD)
        place.write(
            "home/.local/state/toolcage/last-denials",
            '{"policy": "%s", "tool": "x", "call": "c", "time": 1, "denials": '
            '[{"operation": "read", "target": "/opt/data"}]}\n' % path,
            0o600,
        )
        for name, text, bound in (
            ("never trusted", OLD, False),
            ("trusted", OLD, True),
            ("changed since", OLD + '[tool.late]\ncommand = ["evil"]\n', False),
        ):
            place.write("home/project/toolcage.toml", text)
            if bound:
                expect(place, "trust", ["policy", "trust"], 0, stream="out")
            answer = expect(place, f"{name}: allow prints a change", ["allow", "c"], 0, "+++ ", stream="out")
            words = shlex.split(answer.err.split(", then ")[-1])
            subprocess.run(["patch", "-s", path], input=answer.bytes, check=False)
            check(
                words
                == ["toolcage", "policy", "trust", path]
                + (["--digest", digest_of(place, path)] if bound else []),
                f"{name}: its hint {'holds the digest of the changed policy' if bound else 'shows what else is in the file'}",
                answer,
            )


def learn_binds_its_policy():
    with Place() as place:
        answer = place.run("learn", "--", "true")
        path = place.write("home/project/toolcage.toml", answer.bytes)
        found = re.search(r"^hint: .*: (toolcage policy trust .*)$", answer.err, re.M)
        words = shlex.split(found[1]) if found else []
        check(
            answer.code == 0 and words[3:] == ["FILE", "--digest", digest_of(place, path)],
            "the hint of learn holds the digest of the learned policy",
            answer,
        )


require_user()
for part in (
    init_trusts_no_replacement,
    digest_binds_trust,
    digest_covers_extends,
    hints_hold_the_digest,
    changes_are_shown,
    files_share_a_text,
    terminal_asks,
    terminal_without_tty_refuses,
    allow_binds_its_change,
    learn_binds_its_policy,
):
    part()
finish()
