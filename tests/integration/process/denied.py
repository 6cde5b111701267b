#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Denied names in readable and writable directories: files that exist before the call, files created during the call, and files
renamed over others."""

import collections
import os
import pwd
import subprocess
import tempfile
import threading

from scene import PAUSE, TOOLCAGE, Skip, check, finish, in_modes, in_namespaces, is_root, run


def below_readable(s):
    s.write("data/open", "open\n")
    s.write("data/.env", "KEY=1\n")
    s.write("data/deep/er/secret", "KEY=2\n")
    s.write("data/locked/file", "KEY=3\n")
    grant = {
        "readable": [s.data],
        "writable": (),
        "denied": [
            s.path("data", name) for name in (".env", "deep/er/secret", "locked", "later", "no/such/way")
        ],
    }
    answer = s.shell(
        f"cd {s.data}; cat open; cat .env deep/er/secret locked/file; ls -A . deep/er; echo x > .env; mkdir later; true",
        **grant,
    )
    check(
        "open\n" in answer.out and "KEY" not in answer.out and "KEY" not in answer.stderr["text"],
        "nothing of them is read",
        answer,
    )
    listed = answer.out.split()
    check(
        ".env" not in listed and "secret" not in listed and "locked" not in listed,
        "nor are they listed",
        answer.out,
    )
    answer = s.shell(
        f"cd {s.data}; ln -s .env l 2>/dev/null; cat ./deep/../.env deep/er/../../locked/file /proc/self/cwd/.env",
        **grant,
    )
    check("KEY" not in answer.out, "nor by another way", answer)
    process = s.begin(
        f"cd {s.data}; cat later .env no/such/way; {PAUSE}; cat later .env no/such/way; ls -A", **grant
    )
    s.write("data/later", "KEY=4\n")
    s.write("data/.env.tmp", "KEY=5\n")
    os.rename(s.path("data/.env.tmp"), s.path("data/.env"))
    s.write("data/no/such/way", "KEY=6\n")
    answer = finish(process)
    check(answer.out.split() == ["deep", "open"], "nor when they come later, or are replaced", answer)
    check("KEY=5" in s.read("data/.env").decode(), "the host keeps its own", s.read("data/.env"))


def saved_all_the_time(s):
    """A host program replaces the denied file all the time. Each call either hides the file, or reports at its end that it could
    not, or is refused with an error that names the file. No call shows its content."""
    s.write("ws/.env", "KEY=1\n")
    stop, ends = threading.Event(), collections.Counter()

    def save():
        while not stop.is_set():
            s.write("ws/.env.tmp", "KEY=2\n")
            os.rename(s.path("ws/.env.tmp"), s.path("ws/.env"))

    saver = threading.Thread(target=save)
    saver.start()
    wrong = []
    for _ in range(40):
        answer = s.shell(f"cat {s.ws}/.env; true", denied=[s.path("ws/.env")])
        error = answer.error or {}
        ends[error.get("stage", answer.status)] += 1
        good = (
            answer.status == "ok"
            and "KEY" not in answer.out
            or error
            and error["subject"].startswith(s.ws)
            and error["hint"]
        )
        wrong += [] if good else [str(answer)]
    stop.set()
    saver.join()
    check(not wrong, f"a denied name that is saved all the time: {dict(ends)}", wrong[:2])


def below_writable(s):
    s.write("ws/.env", "KEY=1\n")
    s.write("ws/locked/file", "KEY=2\n")
    grant = {"denied": [s.path("ws/.env"), s.path("ws/locked")]}
    answer = s.shell(
        f"cd {s.ws}; cat .env locked/file; echo evil > .env; mv .env x; rm -f .env; rm -rf locked; mv locked y; ln .env z; cat x y/* z; "
        "echo ok > fine",
        **grant,
    )
    check(answer.status == "ok" and "KEY" not in answer.out, "a mask hides what is there", answer)
    check(
        s.read("ws/.env") == b"KEY=1\n"
        and s.read("ws/locked/file") == b"KEY=2\n"
        and s.read("ws/fine") == b"ok\n",
        "and keeps it as it was",
        os.listdir(s.ws),
    )
    s.write("ws/sub/.env", "KEY=3\n")
    answer = s.shell(f"cd {s.ws}; mv sub s2; cat s2/.env sub/.env", denied=[s.path("ws/sub/.env")])
    check("KEY" not in answer.out, "a renamed parent takes no mask away", answer)
    check(
        s.read("ws/sub/.env" if os.path.exists(s.path("ws/sub/.env")) else "ws/s2/.env") == b"KEY=3\n",
        "and the file stays",
        os.listdir(s.ws),
    )


def moved_for_the_next_call(s):
    """A tool cannot move a denied file to another name by renaming the directories above it, not even for a later call."""
    s.write("ws/a/b/c/key", "KEY=1\n")
    s.write("ws/r/d/file", "kept\n")
    grant = {"denied": [s.path("ws/a/b/c/key")], "readable": [s.path("ws/r/d")]}
    for there, back in (
        ("mv a x", "mv x a"),
        ("mv a/b a/x", "mv a/x a/b"),
        ("mv a/b/c a/b/x", "mv a/b/x a/b/c"),
        ("mv a x; mkdir -p a/b/c", "true"),
    ):
        first = s.shell(f"cd {s.ws}; {there}", **grant)
        answer = s.shell(f"cd {s.ws}; find . -name key -exec cat {{}} +; {back}; true", **grant)
        check(
            "KEY" not in answer.out and s.read("ws/a/b/c/key") == b"KEY=1\n",
            f"a denied name below: {there}",
            (first, answer),
        )
    s.shell(f"cd {s.ws}; mv r x; mkdir -p r/d", **grant)
    answer = s.shell(f"cd {s.ws}; echo changed > x/d/file; mv r r2; mv x r; true", **grant)
    check(s.read("ws/r/d/file") == b"kept\n", "nor is a readable path in a writable one written", answer)


def a_mask_that_vanished(s):
    s.mode = "bind"
    s.write("ws/.env", "KEY=1\n")
    process = s.begin(f"cd {s.ws}; {PAUSE}", denied=[s.path("ws/.env")])
    s.write("ws/.env.tmp", "KEY=2\n")
    os.rename(s.path("ws/.env.tmp"), s.path("ws/.env"))
    answer = finish(process)
    check(
        answer.status == "error"
        and answer.code == 125
        and answer.error["code"] == "unenforceable"
        and answer.error["subject"] == s.path("ws/.env")
        and answer.error["hint"],
        "a replaced mask is an error, and says so",
        answer,
    )
    process = s.begin(PAUSE, denied=[s.path("ws/.env")])
    os.unlink(s.path("ws/.env"))
    answer = finish(process)
    check(
        answer.status == "error" and answer.error["subject"] == s.path("ws/.env"),
        "so is a removed one",
        answer,
    )


def replaced_below_a_layer(s):
    """No mask is needed where the name does not exist: what the host does with it is the host's."""
    s.write("ws/.env", "KEY=1\n")
    script = f"cd {s.ws}; cat .env; {PAUSE}; cat .env; ls -A; echo evil > .env; true"
    process = s.begin(script, denied=[s.path("ws/.env")])
    s.write("ws/.env.tmp", "KEY=2\n")
    os.rename(s.path("ws/.env.tmp"), s.path("ws/.env"))
    answer = finish(process)
    check(
        answer.status == "ok" and "KEY" not in answer.out and s.read("ws/.env") == b"KEY=2\n",
        "a replaced name stays hidden in a layer, and as it is",
        answer,
    )
    process = s.begin(script, denied=[s.path("ws/.env")])
    os.unlink(s.path("ws/.env"))
    answer = finish(process)
    check(
        answer.status == "ok"
        and not os.path.exists(s.path("ws/.env"))
        and answer.kinds == {s.path("ws/.env"): "denied"},
        "and a removed one stays removed",
        answer,
    )


def created(s):
    """A name that is not there cannot be masked in a bind: a call that makes it is an error; an overlay never has it."""
    s.mode = "bind"
    beside = s.directory("ws/beside")
    for script, name in (
        ("mkdir -p keys && echo planted > keys/prod", "keys/prod"),
        ("mkdir -p keys/prod/deep", "keys/prod"),
        ("ln -s /nowhere keys", "keys/prod"),
        (f"ln -s {beside} keys; echo planted > keys/prod", "keys/prod"),
        ("echo x > t && mv t .env", ".env"),
        ("mkdir n && echo x > n/prod && mv n keys", "keys/prod"),
    ):
        denied = [s.path("ws/keys/prod"), s.path("ws/.env")]
        answer = s.shell(f"cd {s.ws}; {script}", denied=denied)
        check(
            answer.status == "error"
            and answer.error["code"] == "unenforceable"
            and answer.error["subject"] == s.path("ws", name)
            and "is denied and was created" in answer.error["message"]
            and "overlay" in answer.error["hint"],
            f"a denied name that the tool creates: {script}",
            answer,
        )
        subprocess.run(["rm", "-rf", s.path("ws/keys"), s.path("ws/.env")], check=True)
        answer = s.shell(f"cd {s.ws}; {script}", denied=denied, more='workspace = { mode = "auto" }')
        check(
            answer.status != "error"
            and not os.path.exists(s.path("ws", name))
            and ("denied" in answer.kinds.values() or script.startswith("ln")),
            f"it does not come out of an overlay: {script}",
            answer,
        )
        subprocess.run(["rm", "-rf", s.path("ws/keys"), s.path("ws/.env")], check=True)
    answer = s.shell(
        f"cd {s.ws}; mkdir keys; echo x > .env; rm .env; echo y > f",
        denied=[s.path("ws/keys/prod"), s.path("ws/.env")],
    )
    check(answer.status == "ok", "names removed before the end are ignored", answer)


def links(s):
    s.write("secret", "KEY=1\n")
    os.symlink("../secret", s.path("ws/.env"))
    answer = s.shell("true", denied=[s.path("ws/.env")], more='workspace = { mode = "bind" }')
    check(
        answer.code == 126
        and answer.error
        and answer.error["subject"] == s.path("ws/.env")
        and answer.error["hint"],
        "a denied name that is a link in a bind is refused",
        answer,
    )
    answer = s.shell(
        f"cd {s.ws}; readlink .env; cat .env; echo evil > .env; true", denied=[s.path("ws/.env")]
    )
    check(
        answer.out == ""
        and os.readlink(s.path("ws/.env")) == "../secret"
        and s.read("secret") == b"KEY=1\n"
        and answer.kinds == {s.path("ws/.env"): "denied"},
        "in an overlay there is no such link, and the host's stays",
        answer,
    )


def the_whole_grant(s):
    s.write("data/x", "KEY=1\n")
    answer = s.shell(f"cat {s.data}/x; ls -A {s.root}", readable=[s.data], denied=[s.data])
    check("KEY" not in answer.out and "data" not in answer.out.split(), "denied wins over readable", answer)
    answer = s.shell(f"echo x > {s.ws}/new", denied=[s.ws])
    check(answer.status == "failed" and not os.path.exists(s.path("ws/new")), "and over writable", answer)


def one_below_another(s):
    s.write("data/a/b/c", "KEY=1\n")
    s.write("data/a/x", "KEY=2\n")
    s.write("data/fine", "fine\n")
    for order in (
        ["data/a", "data/a/b/c", "data/none/x", "data/none/y"],
        ["data/a/b/c", "data/a/b", "data/a", "data/none"],
    ):
        answer = s.shell(
            f"cd {s.data}; cat fine; cat a/b/c a/x; ls -A",
            readable=[s.data],
            writable=(),
            denied=[s.path(name) for name in order],
        )
        check(answer.out == "fine\nfine\n", "denied names one below another", answer)


def one_below_another_writable(s):
    s.write("ws/a/b/c", "KEY=1\n")
    answer = s.shell(
        f"cd {s.ws}; cat a/b/c; echo x > a/b/c; true",
        denied=[s.path("ws/a/b/c"), s.path("ws/a/b"), s.path("ws/a/b")],
    )
    check(
        answer.status == "ok" and answer.out == "" and s.read("ws/a/b/c") == b"KEY=1\n",
        "also in a writable directory",
        answer,
    )


def system_names(s):
    answer = s.shell(
        "ls /usr/bin/perl /bin/perl; /usr/bin/perl -e 'print 1'; test -x /usr/bin/env && echo env",
        denied=["/usr/bin/perl"],
        writable=(),
    )
    check("perl" not in answer.out and answer.out.endswith("env\n"), "a name in a system directory", answer)


def readable_in_writable(s):
    """A readable path in a writable one contains a denied name and a protected file. toolcage mounts the path on itself for the
    protected file; the grant's own mount, without the denied name, must still apply."""
    s.write("ws/a/secret", "KEY=1\n")
    s.write("ws/a/b/.git/config", "kept\n")
    answer = s.shell(
        f"cd {s.ws}; ls a; cat a/secret; echo evil >> a/b/.git/config; echo new > fine",
        readable=[s.path("ws/a")],
        denied=[s.path("ws/a/secret")],
    )
    check(
        answer.status == "ok"
        and answer.out == "b\n"
        and s.read("ws/a/b/.git/config") == b"kept\n"
        and s.read("ws/fine") == b"new\n",
        "a denied name below a readable path in a writable one",
        answer,
    )


def homes(s):
    """In a home that is granted as a whole, credentials are hidden: in every user's home, whatever $HOME names."""
    secrets = [
        ".of-no-list/key",
        ".pgpass",
        ".config/rclone/rclone.conf",
        ".bash_history",
        ".local/share/keyrings/login.keyring",
        ".cargo/credentials",
    ]
    opened = [".bashrc", ".cargo/env", ".local/bin/tool", ".git/config", "work/.of-no-list/x", "work/.env"]
    for name in secrets + opened:
        s.write("home/" + name, f"KEY {name}\n")
    s.write("home/keys/id", "KEY keys\n")
    os.symlink("keys", s.path("home/.aws"))
    read = "cd {}; for f in {}; do cat $f; done; cat keys/id .aws/id; ls -A; true".format(
        s.path("home"), " ".join(secrets + opened)
    )
    for grant in ({"readable": [s.path("home")], "writable": ()}, {"readable": [s.root], "writable": ()}):
        answer = s.shell(read, **grant)
        seen = [line[4:] for line in answer.out.split("\n") if line.startswith("KEY ")]
        check(seen == opened, "only what is known to hold none", (seen, answer))
    answer = s.shell(read, readable=[s.path("home"), s.path("home/.of-no-list")], writable=())
    check(
        "KEY .of-no-list/key" in answer.out and "KEY .pgpass" not in answer.out,
        "but for what is named",
        answer,
    )
    own = pwd.getpwuid(os.geteuid()).pw_dir if is_root() else None
    if own and own != "/":
        with tempfile.TemporaryDirectory(prefix=".toolcage-test-", dir=own) as place:
            with open(os.path.join(place, "key"), "w", encoding="ascii") as file:
                file.write("KEY\n")
            answer = s.shell(
                f"cat {place}/key; ls {own} >/dev/null && echo listed", readable=[own], writable=()
            )
            check(answer.out == "listed\n", "HOME does not say whose it is", answer)
    elsewhere = s.directory("work")
    nobody = subprocess.run(
        [TOOLCAGE, "exec", "--read", elsewhere, "--", "/bin/true"],
        cwd=elsewhere,
        capture_output=True,
        text=True,
        check=False,
        env={key: value for key, value in s.environ.items() if key != "HOME"},
    )
    known = any(line.split(":")[2] == str(os.geteuid()) for line in open("/etc/passwd", encoding="utf-8"))
    check(
        nobody.returncode == 0 if known else nobody.returncode == 126 and "set HOME" in nobody.stderr,
        "without HOME that of /etc/passwd is known, or none",
        nobody,
    )


def mounted_below(s):
    """A granted directory has a mount below it, which an ordinary user's cage cannot remove. So no overlay can cover the whole
    directory; overlays over directories without mounts, and masks, hide the denied names."""
    place = s.path("data/some/place")
    for name in (".env", "keys/id", "sub/.env", "some/other/.env"):
        s.write(f"data/{name}", "KEY=1\n")
    s.write("data/sub/open", "open\n")
    os.makedirs(place)
    wrap = in_namespaces(
        f"mount -t tmpfs none {place} && echo KEY=2 > {place}/.env && echo here > {place}/open"
    )
    if subprocess.run([*wrap, "/bin/true"], capture_output=True, check=False).returncode:
        raise Skip("nothing can be mounted here")
    denied = [
        s.path("data", name)
        for name in (
            ".env",
            "keys",
            "sub/.env",
            "sub/later",
            "none/such",
            "some/other/.env",
            "some/place/.env",
        )
    ]
    grant = {"wrap": wrap, "readable": [s.data], "writable": (), "denied": denied}
    answer = s.shell(
        f"cd {s.data}; ls -A sub some/other some/place; cat .env keys/id sub/.env some/*/.env; cat sub/open some/place/open; true",
        **grant,
    )
    check(
        answer.status == "ok"
        and "KEY" not in answer.out
        and ".env" not in answer.out
        and "open\nopen\n" in answer.out,
        "nothing of it is read",
        answer,
    )
    how = answer.enforcement["fs.denied"]
    check(
        is_root() or "here\n" in answer.out and "also masks in" in how,
        "a mounted file is there, and the mechanism that hides others is named",
        answer,
    )
    process = s.begin(f"cat {s.data}/sub/later; {PAUSE}; cat {s.data}/sub/later; true", **grant)
    s.write("data/sub/later", "KEY=3\n")
    answer = finish(process)
    check(
        answer.status == "ok" and "KEY" not in answer.out,
        "nor when it comes later, in a directory without mounts below",
        answer,
    )
    process = s.begin(f"{PAUSE}; true", **grant)
    s.write("data/none/such", "KEY=4\n")
    error = finish(process).error
    check(
        is_root() or error and error["subject"] == denied[4] and "was created" in error["message"],
        "and in another the call says so",
        error,
    )
    os.symlink("sub", s.path("data/link"))
    s.write("elsewhere/key", "KEY=5\n")
    os.symlink(s.path("elsewhere"), s.path("data/away"))
    answer = s.shell(
        f"cat {s.data}/link/.env {s.data}/sub/.env {s.data}/away/key; true",
        **{**grant, "denied": [s.path("data/link/.env"), s.path("data/away/key")]},
    )
    check(
        answer.status == "ok" and (is_root() or "KEY" not in answer.out),
        "the target of a link there is hidden",
        answer,
    )
    error = s.shell(
        "true", **{**grant, "readable": [s.data, s.path("elsewhere")], "denied": [s.path("data/away")]}
    ).error
    check(
        is_root()
        or error
        and error["subject"] == s.path("data/away")
        and "link cannot be masked" in error["message"],
        "but one to what is granted is refused",
        error,
    )


run(
    homes,
    mounted_below,
    below_readable,
    *in_modes(below_writable),
    *in_modes(saved_all_the_time),
    *in_modes(moved_for_the_next_call),
    a_mask_that_vanished,
    replaced_below_a_layer,
    created,
    links,
    the_whole_grant,
    one_below_another,
    *in_modes(one_below_another_writable),
    *in_modes(readable_in_writable),
    system_names,
)
