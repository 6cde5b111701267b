#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Images from their import in every form to a call in them, and to their end.

usage: life.py TOOLCAGE self | ordinary"""

import os
import random
import shutil
import signal
import subprocess
import sys
import tarfile
import time

from store import (
    TOOLCAGE,
    begin,
    call,
    check,
    docker_archive,
    entry,
    finish,
    image,
    layout,
    leftovers,
    names,
    root_entries,
    skip,
    store,
    tar,
)
from tap import seed


def policy(image_name, runtime):
    where = (
        'backend = "gvisor"'
        if runtime == "runsc"
        else f'backend = "oci"\n[backend.oci]\nruntime = "{runtime}"'
    )
    return f'[tool.t]\nimage = "{image_name}"\ntimeout = "60s"\nmemory = {{ max = "512MiB", by = "any" }}\n{where}\n'


def every_form():
    base, upper = (
        tar(root_entries() + [entry("etc/who", content=b"base\n")]),
        tar([entry("etc/who", content=b"upper\n")]),
    )
    docker_archive("docker.tar", [base, upper])
    made = image("import", "docker.tar")
    check(
        made.code == 0 and names() == [("made/here:1", False)],
        "an archive of docker, by the name it brings",
        made,
    )
    layout("layout", [base, upper])
    made = image("import", "layout")
    check(made.code == 0 and ("from-layout", False) in names(), "an OCI layout", made)
    subprocess.run(["tar", "-C", "layout", "-cf", "oci.tar", "."], check=True)
    again = image("import", "oci-archive:oci.tar", "named")
    check(again.digest == made.digest, "the same as an archive has the same digest", again)
    with open("root.tar", "wb") as out:
        out.write(base)
    made = image("import", "root.tar", "plain")
    check(made.code == 0 and ("plain", False) in names(), "an archive of a root", made)
    check(image("import", "root.tar").error.get("code") == "usage", "import needs a name")
    os.makedirs("tree/bin")
    os.makedirs("tree/tmp")
    shutil.copy(f"{store()}/roots/{made.digest[7:]}/rootfs/bin/busybox", "tree/bin/busybox")
    for name in ("sh", "cat", "ls", "sleep", "id"):
        os.symlink("busybox", f"tree/bin/{name}")
    made = image("import", "directory:tree", "tree")
    check(made.code == 0 and ("tree", False) in names(), "a directory", made)
    if not shutil.which("skopeo"):
        skip("an image of a store of podman", "skopeo is not installed here")
        return
    gone = image("import", "containers-storage:nothing-like-that", "x")
    check(
        gone.error.get("subject") == "skopeo" and not leftovers(),
        "skopeo is asked, and its failure passed on",
        gone,
    )
    gone = image("import", "docker-daemon:x:1", "x", env={"DOCKER_HOST": f"unix://{home}/nobody"})
    check(
        gone.error.get("subject") == "skopeo" and f"{home}/nobody" in gone.err,
        "of the daemon that DOCKER_HOST names",
        gone,
    )


def without_skopeo():
    """This script has a mount namespace of its own, in which the program can be covered."""
    path = shutil.which("skopeo")
    if path:
        subprocess.run(["mount", "--bind", "/dev/null", path], check=True)
    gone = image("import", "docker-daemon:x:1", "x")
    if path:
        subprocess.run(["umount", path], check=True)
    check(
        gone.error.get("subject") == "skopeo" and "apt-get install skopeo" in gone.error["hint"],
        "a program that is not there is named, and how to get it",
        gone,
    )


def layers():
    lower = tar(
        root_entries()
        + [
            entry("d/lower", content=b"l"),
            entry("d/gone", content=b"g"),
            entry("keep/x", content=b"x"),
            entry("f", content=b"f"),
            entry("link", tarfile.SYMTYPE, link="keep"),
            entry("h", content=b"h"),
            entry("hard", tarfile.LNKTYPE, link="h"),
        ]
    )
    upper = tar(
        [
            entry("new/.wh..wh..opq"),
            entry("d/upper", content=b"u"),
            entry("d/.wh..wh..opq"),
            entry(".wh.f"),
            entry(".wh..wh.plnk/1", content=b""),
            entry("link/through", content=b"t"),
            entry("absent/.wh.nothing"),
        ]
    )
    made = image("import", docker_archive("layers.tar", [lower, upper]), "layers")
    root = f"{store()}/roots/{(made.digest or '')[7:]}/rootfs"
    check(
        made.code == 0 and os.listdir(f"{root}/d") == ["upper"] and not os.path.lexists(f"{root}/f"),
        "whiteouts take away what lies below, and nothing of their own layer",
        made,
    )
    check(
        os.path.exists(f"{root}/keep/through") and os.path.exists(f"{root}/keep/x"),
        "a link on the way leads to where it does in the image",
    )
    check(os.stat(f"{root}/h").st_ino == os.stat(f"{root}/hard").st_ino, "hard links stay links")
    check(
        not [n for _, d, f in os.walk(root) for n in d + f if n.startswith(".wh.")],
        "no whiteout is left as a file",
    )


def same_twice():
    first = image("import", "tree", "once")
    subprocess.run(["cp", "-r", "--preserve=mode,links,timestamps", "tree", "copy"], check=True)
    os.utime("copy/bin", (1, 1))
    second = image("import", "copy", "twice")
    check(
        first.digest and first.digest == second.digest,
        "a directory and its copy have one digest",
        (str(first), str(second)),
    )
    os.chmod("copy/bin/busybox", 0o700)
    check(image("import", "copy", "third").digest != first.digest, "another mode makes another one")
    os.chmod("copy/bin/busybox", os.stat("tree/bin/busybox").st_mode & 0o777)
    os.utime("copy/bin/busybox", (2000000000, 2000000000))
    check(image("import", "copy", "later").digest != first.digest, "and so does another time")
    dated = [
        image("import", d, "dated", env={"SOURCE_DATE_EPOCH": "1000000000"}).digest for d in ("tree", "copy")
    ]
    check(len(set(dated)) == 1, "but for times after SOURCE_DATE_EPOCH")


def calls(runtime):
    if not shutil.which(runtime, path="/usr/sbin:/usr/bin:/sbin:/bin:/usr/local/bin"):
        return skip(f"{runtime}: a call", f"{runtime} is not installed here")
    digest = image("inspect", "tree").digest
    done = call(policy("tree", runtime), "/bin/sh", "-c", "ls /; id -u; echo x > /bin/y")
    out = done.json.get("stdout", {}).get("text", "").split()
    check(
        "bin" in out and "usr" not in out and "etc" in out and "0" != out[-1],
        f"{runtime}: the tool sees the image, not this machine, and is no root",
        done,
    )
    check(
        done.json.get("status") == "failed"
        and ("Read-only" in done.json["stderr"]["text"] or runtime == "runsc"),
        f"{runtime}: and cannot write there",
        done,
    )
    done = call(policy(f"tree@{digest}", runtime), "/bin/sh", "-c", "ls /; /bin/id; exit 7")
    check(
        done.json.get("exit_code") == 7 and done.json["denials"] == [],
        f"{runtime}: by its digest, and its own programs are no denials",
        done,
    )
    done = call(policy("tree@sha256:" + "0" * 64, runtime), "/bin/sh", "-c", "exit 7")
    check(
        done.json.get("status") == "denied"
        and done.error.get("code") == "not_found"
        and digest in done.error["message"],
        f"{runtime}: another digest is refused, and both are named",
        done,
    )
    done = call(policy("nothing", runtime), "/bin/sh", "-c", "exit 7")
    check(
        done.json.get("status") == "denied"
        and done.error.get("subject") == "nothing"
        and "import" in done.error["hint"],
        f"{runtime}: no such image",
        done,
    )
    return None


def the_default():
    """What a policy means that names a container and no image."""
    bare = '[tool.t]\nbackend = "oci"\ntimeout = "60s"\nmemory = { max = "512MiB", by = "any" }\n'
    done = call(bare, "/bin/ls", "/")
    check(
        done.json.get("status") == "denied"
        and done.error["code"] == "not_found"
        and "toolcage image build default" in done.error["message"]
        and done.error["location"]["line"] == 2,
        "without the default image a call says in one line how to build it",
        done,
    )
    done = call(bare + 'image = "system"\n', "/bin/ls", "/usr")
    check(
        done.json.get("status") == "ok" and "bin" in done.json["stdout"]["text"],
        "system stands for this machine's own directories",
        done,
    )
    done = call(bare.replace("oci", "process") + 'image = "system"\n', "/bin/ls", "/usr")
    check(
        done.json.get("status") == "ok" and done.json["backend"] == "process",
        "a process cage shows the image, too",
        done,
    )
    done = call(bare + 'fallback = ["process"]\nunix_sockets = "own"\n', "/bin/ls", "/usr")
    check(done.json.get("backend") == "process", "a fallback without a container needs no image", done)
    made = image("import", "tree", "default")
    done = call(bare, "/bin/ls", "/")
    check(
        "usr" not in done.json.get("stdout", {}).get("text", "usr") and done.json.get("status") == "ok",
        "with it the call runs there",
        done,
    )
    explained = subprocess.run(
        [TOOLCAGE, "policy", "explain", "--policy", "policy.toml", "--tool", "t", "--json", "/bin/ls"],
        capture_output=True,
        text=True,
        check=False,
    )
    check(made.digest[7:] in explained.stdout, "and the grant names it by its digest", explained)
    image("remove", "default")


def build_installs_its_packages():
    """The words for mmdebstrap, by the script that the program embeds."""
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../../src/image/build.sh")

    def words(packages, minimal=""):
        env = dict.fromkeys(("SUITE", "MIRROR", "KEYRING", "OWN"), "x") | {"MMDEBSTRAP": "/bin/echo"}
        done = subprocess.run(
            ["/bin/sh", script, "bootstrap"],
            env=env | {"PACKAGES": packages, "MINIMAL": minimal},
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.split()

    usual = "--include=python3,python3-pip,nodejs,npm,node-typescript,git,curl,ca-certificates"
    perl = "--dpkgopt=path-exclude=/usr/share/perl/*"
    check(
        usual in words("") and perl in words(""),
        "the default image has git and curl, and no Perl modules",
        words(""),
    )
    more = words("perl")
    check(f"{usual},perl" in more and perl not in more, "with an added package Perl is whole", more)
    check(
        "--include=jq" in words("jq", "yes"),
        "a minimal image has the named packages alone",
        words("jq", "yes"),
    )


def closed_directories():
    """An image's /root is its owner's: a tool of root's is somebody else."""
    entries = root_entries() + [entry("root", tarfile.DIRTYPE, mode=0o700)]
    with open("closed.tar", "wb") as out:
        out.write(tar(entries))
    image("import", "closed.tar", "closed")
    os.makedirs("given", exist_ok=True)
    grant = '[tool.t]\nimage = "closed"\ntimeout = "60s"\nmemory = { max = "512MiB", by = "any" }\nfilesystem.readable = '
    done = call(grant + f'[{{ path = "/root/x", from = "{os.getcwd()}/given" }}]\n', "/bin/ls", "/root/x")
    wanted = (
        done.error.get("code") == "path"
        and done.error["stage"] == "trees"
        and done.error["subject"] == "/root/x"
        and "may not enter a parent directory" in done.error["message"]
        and "from =" in done.error["hint"]
    )
    check(
        wanted if os.geteuid() == 0 else done.json.get("status") == "ok",
        "below a directory that is closed to the tool nothing is shown, and it says why",
        done,
    )
    done = call(grant + f'[{{ path = "/data", from = "{os.getcwd()}/given" }}]\n', "/bin/ls", "/data")
    check(done.json.get("status") == "ok", "elsewhere it is", done)
    image("remove", "closed")


def a_newer_one():
    before = image("inspect", "tree").digest
    with open("tree/bin/more", "w", encoding="utf-8") as out:
        out.write("more\n")
    made = image("import", "tree", "tree")
    check(
        ("tree", True) in names() and ("tree", False) in names() and made.digest != before,
        "the newer one has the name",
        str(image("list")),
    )
    done = call(policy(f"tree@{before}", "crun"), "/bin/ls", "/bin")
    check(
        "more" not in done.json.get("stdout", {}).get("text", "more"),
        "a pinned policy still has the older one",
        done,
    )
    check(
        image("remove", f"tree@{before}").code == 0
        and ("tree", True) not in names()
        and ("tree", False) in names(),
        "an old version is removed by its digest",
    )


def removal():
    with open("policy.toml", "w", encoding="utf-8") as out:
        out.write(policy("tree", "crun"))
    running = subprocess.Popen(
        [
            TOOLCAGE,
            "exec",
            "--policy",
            "policy.toml",
            "--tool",
            "t",
            "--",
            "/bin/sh",
            "-c",
            "echo up; cat; cat /bin/more",
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    running.stdout.readline()
    refused = image("remove", "tree")
    out = running.communicate(b"", timeout=60)[0]
    check(
        "a call is using" in refused.error.get("message", "") and out == b"more\n",
        "an image that a call uses is not removed",
        (str(refused), out),
    )
    for name in {n for n, _ in names()}:
        image("remove", name)
    left = [os.listdir(f"{store()}/{d}") for d in ("blobs/sha256", "roots")]
    check(names() == [] and left == [[], []] and not leftovers(), "the last one takes all with it", left)
    check(image("remove", "tree").error.get("code") == "not_found", "removing an absent image is an error")


def guests():
    check(image("list").json.get("guest", 0) is None, "without a guest the list says so")
    check(image("remove", "guest").error.get("code") == "not_found", "and none can be removed")
    os.mkdir(f"{store()}/guest", 0o755)
    for name, content in (("kernel", "k" * 5000), ("initrd", "i" * 5000), ("version", "6.1.0-1-cloud")):
        with open(f"{store()}/guest/{name}", "w", encoding="utf-8") as out:
            out.write(content)
    said = image("list").json["guest"]
    shown = subprocess.run([TOOLCAGE, "image", "list"], capture_output=True, text=True, check=False).stdout
    check(
        said["kernel"] == "6.1.0-1-cloud" and said["bytes"] >= 10000 and "kernel 6.1.0-1-cloud" in shown,
        "a guest is listed with its kernel",
        (said, shown),
    )
    with open(f"{store()}/guest/version", "w", encoding="utf-8") as out:
        out.write("6.1\x1b[2J")
    check(image("list").json["guest"]["kernel"] == "", "but not what is no version")
    refused = image("import", "tree", "guest")
    check(
        refused.error.get("code") == "usage" and "virtual machines" in refused.error.get("message", ""),
        "no image has its name",
        refused,
    )
    check("and not an image" in image("inspect", "guest").error.get("hint", ""), "nor is it one")
    check(
        image("remove", "guest").json == {"removed": 1} and not os.path.exists(f"{store()}/guest"),
        "it is removed by its name",
    )
    check(image("list").json["guest"] is None and not leftovers(), "and nothing is left of it", leftovers())


def together():
    runs = [
        subprocess.Popen(
            [TOOLCAGE, "image", "import", "tree", f"name{i % 3}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for i in range(6)
    ]
    runs.append(
        subprocess.Popen(
            [TOOLCAGE, "image", "import", "layout", "other"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
    )
    said = [(r.communicate(timeout=120), r.returncode) for r in runs]
    check(all(code == 0 for _, code in said), "imports at the same time all end well", said)
    check(
        sorted(names()) == [("name0", False), ("name1", False), ("name2", False), ("other", False)],
        "and every name is there",
        names(),
    )


def killed():
    chosen = random.Random(seed(11))
    base = tar(root_entries() + [entry(f"many/{i}", content=b"x" * 3000) for i in range(1500)])
    docker_archive("many.tar", [base], tag="many:1")
    cut = 0
    for _ in range(12):
        run = subprocess.Popen(
            [TOOLCAGE, "image", "import", "many.tar"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        time.sleep(chosen.uniform(0.005, 0.25))
        run.send_signal(signal.SIGKILL)
        cut += run.wait() == -signal.SIGKILL
        for name, older in names():
            if name != "many:1" or older:
                continue
            root = image("inspect", name).json["root"]
            if len(os.listdir(f"{root}/many")) != 1500:
                check(False, "an image that is listed is whole", root)
                return
    check(cut > 0, "imports were killed on their way", cut)
    made = image("import", "many.tar")
    check(
        made.code == 0
        and not leftovers()
        and len(os.listdir(f"{image('inspect', 'many:1').json['root']}/many")) == 1500,
        "leftovers are cleared away, and the next import is complete",
        (made, leftovers()),
    )
    os.mkdir(f"{store()}/new-left")
    told, quiet = image("list"), image("list")
    check(
        "removing what" in told.err and "removing" not in quiet.err and not leftovers(),
        "and said, since it may take long",
        (told.err, quiet.err),
    )


# Stands in for a program of others: has children that are deaf and whose parent is gone, and cleans up when it is told to end.
SLEEP = f"281.{os.getpid()}"
STANDS_IN = """#!/bin/sh
made=$(mktemp -d "${{TMPDIR:-/tmp}}/made.XXXXXX")
mkdir $made/proc; mount -t tmpfs none $made/proc 2> $made/why
trap 'umount $made/proc; {}' TERM
(trap '' TERM HUP INT; setsid sleep SLEEP & sleep SLEEP & wait) &
echo $made >> {}
while :; do sleep 0.1; done
""".replace("SLEEP", SLEEP)


def until(condition, seconds=60):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.02)
    return condition()


def sleepers():
    return subprocess.run(
        ["pgrep", "-f", "-x", f"sleep {SLEEP}"], capture_output=True, text=True, check=False
    ).stdout.split()


def in_its_place(program, text):
    """This script has a mount namespace of its own."""
    path = shutil.which(program)
    if not path:
        return False
    with open(f"instead-of-{program}", "w", encoding="utf-8") as out:
        out.write(text)
    os.chmod(f"instead-of-{program}", 0o755)
    subprocess.run(["mount", "--bind", f"instead-of-{program}", path], check=True)
    return True


def ended_with_it():
    """A fetch and a build end with who wants them, however that is ended; and the next one clears away what nobody could."""
    log = os.path.abspath("begun")

    def begun(*words):
        open(log, "w", encoding="utf-8").close()
        run = subprocess.Popen(
            [TOOLCAGE, "image", *words],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        until(lambda: open(log, encoding="utf-8").read() or run.poll() is not None)
        made = open(log, encoding="utf-8").read().strip()
        return run, made

    if in_its_place("skopeo", STANDS_IN.format("rm -r $made; exit 1", log)):
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGKILL):
            run, made = begun("import", "docker-daemon:x:1", "x")
            alive = until(lambda: len(sleepers()) == 2)
            run.send_signal(number)
            run.wait(timeout=60)
            check(
                until(lambda: not sleepers()) and alive and made and not os.path.exists(made),
                f"{number.name}: a program ends with it, in order, and its children",
                (alive, made, sleepers()),
            )
        subprocess.run(["umount", shutil.which("skopeo")], check=True)
    if not in_its_place("mmdebstrap", STANDS_IN.format("", log)):
        return skip("a build that is killed", "mmdebstrap is not installed here")
    in_its_place("apt-get", "#!/bin/sh\n")
    in_its_place(
        "apt-cache",
        '#!/bin/sh\nfor p in python3 nodejs; do echo " $p | 24.1.0 | http://deb.example.org/debian stable/main amd64 Packages"; done\n',
    )
    run, made = begun("build", "--mirror", "http://deb.example.org/debian", "--keyring", "/dev/null", "x")
    if os.geteuid() == 0:
        check(
            os.path.exists(f"{made}/why")
            and not os.path.getsize(f"{made}/why")
            and not os.path.ismount(f"{made}/proc"),
            "mounts of a build are not seen on the host",
            made,
        )
    os.killpg(run.pid, signal.SIGKILL)
    run.wait(timeout=60)
    for pid in sleepers():
        os.kill(int(pid), signal.SIGKILL)
    until(lambda: not sleepers())
    image("list")
    check(
        made.startswith(store()) and not os.path.exists(made) and not leftovers(),
        "the next build removes the leftovers of a killed one",
        (made, leftovers()),
    )
    for program in ("apt-cache", "apt-get", "mmdebstrap"):
        subprocess.run(["umount", shutil.which(program)], check=True)
    return None


def odd_stores():
    os.makedirs("elsewhere", exist_ok=True)
    if os.geteuid():
        os.environ["XDG_DATA_HOME"] = os.path.abspath("elsewhere")
        os.makedirs("elsewhere/toolcage/images")
        os.chmod("elsewhere/toolcage/images", 0o777)
    else:
        os.chmod(store(), 0o777)
    check(image("list").error.get("code") == "path", "a store that others may write is not used")
    os.chmod(store(), 0o700)
    with open(f"{store()}/index.json", "w", encoding="utf-8") as out:
        out.write("{")
    check("cannot be parsed" in image("list").error.get("message", ""), "a damaged index is said to be one")
    done = call(policy("tree", "crun"), "/bin/sh", "-c", "exit 7")
    check(
        done.code in (125, 126) and done.error.get("stage") == "image", "and no call goes on without it", done
    )


home = begin(sys.argv[2])
try:
    every_form()
    if os.geteuid() == 0:
        without_skopeo()
    layers()
    same_twice()
    for runtime in ("crun", "runc", "runsc"):
        calls(runtime)
    the_default()
    build_installs_its_packages()
    closed_directories()
    a_newer_one()
    removal()
    guests()
    together()
    killed()
    if os.geteuid() == 0:
        ended_with_it()
    odd_stores()
finally:
    os.chdir("/")
    shutil.rmtree(home, ignore_errors=True)
finish()
