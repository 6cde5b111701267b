# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Attacks by way of the workspace: links that copying, committing, collecting or an argument would follow,
files that a host program runs unasked, and what lies beside the work in somebody's home."""
import ctypes
import hashlib
import json
import os
import subprocess
import threading
import time

from scene import CAGED, DIRECT, Refused

SHELL = "/bin/sh"


def swap(s, stop):
    """A directory and a file of the workspace change places with links to the secret, all the time."""
    os.mkdir(s.path("ws/real"))
    while not stop.is_set():
        for name, real in (("dir", "real"), ("out.csv", "real/canary")):
            for target in (real, "../secret" if name == "dir" else "../secret/canary"):
                os.symlink(target, s.path("ws/next"))
                os.rename(s.path("ws/next"), s.path("ws", name))
        s.write("ws/real/canary", "harmless")
        s.write("ws/next", "harmless")
        os.rename(s.path("ws/next"), s.path("ws/out.csv"))


def collection_is_raced(s):
    """Digests of changed files must never be those of what a link leads to, whenever it is put there."""
    s.more = 'collect = ["*.csv", "canary"]'
    digest = hashlib.sha256(s.token.encode()).hexdigest()
    if s.how != CAGED:
        s.call(SHELL, "-c", f"cat {s.secret}")
        return s.token in s.answer["stdout"]["text"]
    stop = threading.Event()
    thread = threading.Thread(target=swap, args=(s, stop))
    thread.start()
    found = False
    try:
        for _ in range(15):
            try:
                s.call(SHELL, "-c", f"touch {s.path('ws')}/f")
            except Refused:
                continue
            found = found or digest in json.dumps(s.answer)
    finally:
        stop.set()
        thread.join()
    return found


def a_copy_follows_a_link(s):
    """The workspace is copied for the call: what a link leads to is no part of it."""
    s.more = 'workspace = { mode = "copy" }'
    os.symlink("../secret/canary", s.path("ws/file"))
    os.symlink("../secret", s.path("ws/dir"))
    return s.token in s.call(SHELL, "-c", f"cd {s.path('ws')}; cat file; cat dir/canary; ls -lR .")


def a_commit_follows_a_link(s):
    """While the call works on its copy, somebody puts a link in the place of a directory."""
    s.more = 'workspace = { mode = "copy" }'
    s.write("ws/sub/canary", "original")
    process = s.popen(SHELL, "-c", f"sleep 1.5; echo changed > {s.path('ws/sub/canary')}; echo new > {s.path('ws/sub/new')}")
    time.sleep(0.8)
    os.rename(s.path("ws/sub"), s.path("ws/was"))
    os.symlink("../secret", s.path("ws/sub"))
    out, err = process.communicate(timeout=60)
    try:
        s.result(out, err)
    except Refused:
        pass  # a conflict may be an error: what counts is the file
    return s.read("secret/canary") != s.token or os.path.exists(s.path("secret/new"))


def a_commit_makes_a_link_that_is_followed(s):
    """The tool itself replaces a directory by a link, then a second call writes through it."""
    s.more = 'workspace = { mode = "copy" }'
    s.write("ws/sub/canary", "original")
    s.call(SHELL, "-c", f"cd {s.path('ws')}; rm -r sub; ln -s ../secret sub")
    try:
        s.call(SHELL, "-c", f"cd {s.path('ws')}; echo changed > sub/canary; mkdir -p sub; echo changed > sub/new")
    except Refused:
        pass
    return s.read("secret/canary") != s.token or os.path.exists(s.path("secret/new"))


def a_set_id_file_is_committed(s):
    s.more = 'workspace = { mode = "copy" }'
    s.attack("files", "set-id", s.path("ws/tool"))
    return any(os.lstat(s.path("ws", name)).st_mode & 0o6000 for name in os.listdir(s.path("ws")))


def an_argument_goes_through_a_link(s):
    """A path argument is bounded by a directory in which somebody has put a link."""
    os.symlink("../secret", s.path("ws/dir"))
    os.symlink("../secret/canary", s.path("ws/file"))
    backend = "process" if s.how == CAGED else "not-a-security-boundary"
    policy = s.write("policy.toml", f'[tool.show]\nbackend = "{backend}"\ncommand = ["/bin/cat", "{{file}}"]\n'
                     f'arguments.file = {{ type = "string", read = [{json.dumps(s.path("ws"))}] }}\nnetwork = "none"\n')
    found = False
    for name in ("dir/canary", "file", "../secret/canary", "./dir/../dir/canary"):
        done = subprocess.run([s.options.toolcage, "call", "--policy", policy, "--json", "show",
                               json.dumps({"file": s.path("ws") + "/" + name})], env=s.environ, cwd=s.path("ws"), check=False,
                              stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert '"status"' in done.stdout, done.stderr
        found = found or s.token in json.loads(done.stdout)["stdout"]["text"]
    return found


STEERING = [".git/hooks/pre-commit", ".git/config", "sub/.git/config", "sub/.git/hooks/post-merge", ".envrc", ".bashrc",
            ".vscode/tasks.json", ".vscode/settings.json"]


def steering_files_are_changed(s):
    """Existing files that a program of the host runs unasked: in place, by rename, with their parents."""
    for name in STEERING:
        s.write("ws/" + name, "original")
    for place in (".git", "sub/.git"):
        s.write(f"ws/{place}/HEAD", "ref: refs/heads/main\n")
        os.makedirs(s.path("ws", place, "objects"))
        os.makedirs(s.path("ws", place, "refs"))
    lines = [f"echo changed > {name}; rm -f {name}; echo changed > {name}; echo changed > n; mv -f n {name}" for name in STEERING]
    lines += [f"mv {name} {name}.was; mkdir -p {name}; cp n {name}/" for name in ("sub", ".git", ".vscode", "sub/.git")]
    lines += [f"mkdir -p $(dirname {name}); echo changed > {name}" for name in STEERING]
    s.call(SHELL, "-c", f"cd {s.path('ws')}; exec 2>/dev/null; " + "; ".join(lines))
    wrong = [name for name in STEERING if not os.path.exists(s.path("ws", name)) or s.read("ws/" + name) != "original"]
    s.note = wrong
    return bool(wrong)


def repository(s, place):
    subprocess.run(["git", "init", "-q", s.path(place)], check=True, env=s.environ)


def git_runs(s, place):
    """Does git, as a person runs it on the host, start what the tool has planted?"""
    s.environ["WITNESS"] = s.path("witness")
    subprocess.run(["git", "status", "--short"], cwd=s.path(place), env=s.environ, check=False, capture_output=True, timeout=30)
    return os.path.exists(s.path("witness"))


MONITOR = "[core]\nfsmonitor = touch $WITNESS; false\n"


def a_deep_repository_is_changed(s):
    """Deep below the workspace, where a search for repositories may have given up."""
    place = "ws/a/b/c/d/e/f/g/repository"
    repository(s, place)
    s.write("data/monitor", MONITOR)
    s.call(SHELL, "-c", f"cat {s.path('data/monitor')} >> {s.path(place)}/.git/config")
    return git_runs(s, place)


def protection_is_outrun(s):
    """A first call makes so many directories that the second call's search may not get to the repository."""
    s.call(SHELL, "-c", f"cd {s.path('ws')}; seq 3000 | xargs mkdir")
    repository(s, "ws/repository")
    s.write("data/monitor", MONITOR)
    try:
        s.call(SHELL, "-c", f"cat {s.path('data/monitor')} >> {s.path('ws/repository')}/.git/config")
    except Refused:
        return False
    return git_runs(s, "ws/repository")


def a_common_directory_is_planted(s):
    """A repository whose config is protected can be told to read another one. It need not be prevented in a
    bound workspace, as the file is new, but it has to be reported."""
    repository(s, "ws")
    s.write("data/monitor", MONITOR)
    s.call(SHELL, "-c", f"cd {s.path('ws')}; mkdir -p evil/objects evil/refs; cat {s.path('data/monitor')} > evil/config;"
           "echo ../evil > .git/commondir")
    reported = any(change["path"].endswith("/.git/commondir") and change.get("steers_host") for change in s.answer["changes"])
    return not reported and git_runs(s, "ws")


def a_bare_repository_is_planted(s):
    """The workspace itself becomes a repository; again it has to be reported at least."""
    s.write("data/monitor", MONITOR + f"bare = false\nworktree = {s.path('ws')}\n[core]\nrepositoryformatversion = 0\n")
    s.call(SHELL, "-c", f"cd {s.path('ws')}; mkdir -p objects refs/heads; echo 'ref: refs/heads/main' > HEAD;"
           f"cat {s.path('data/monitor')} > config")
    reported = any(change["path"] == s.path("ws/config") and change.get("steers_host") for change in s.answer["changes"])
    return not reported and git_runs(s, "ws")


class Exchange(threading.Thread):
    """Two names change places all the time, in one step: what an accomplice in another cage can do."""

    def __init__(self, one, other):
        super().__init__(daemon=True)
        self.names, self.stopped = (os.fsencode(one), os.fsencode(other)), threading.Event()
        self.renameat2 = ctypes.CDLL(None, use_errno=True).renameat2

    def run(self):
        while not self.stopped.is_set():
            self.renameat2(-100, self.names[0], -100, self.names[1], 2)
            time.sleep(0.0001)

    def __enter__(self):
        self.start()

    def __exit__(self, *_):
        self.stopped.set()
        self.join()


def a_mask_is_misled(s):
    """While the mask of a denied name is mounted, an accomplice has a link in the place of its directory, so
    that the mask goes to another file; then the directory is back."""
    s.write("ws/sub/.env", s.token)
    s.write("ws/other/.env", "harmless")
    os.symlink("other", s.path("ws/link"))
    s.denied.append(s.path("ws/sub/.env"))
    found = False
    with Exchange(s.path("ws/sub"), s.path("ws/link")):
        for _ in range(1 if s.how != CAGED else 60):
            try:
                found = found or s.token in s.call(SHELL, "-c", f"for i in 1 2 3 4 5 6 7 8; do cat {s.path('ws/sub/.env')}; done")
            except Refused:
                continue
    return found


def a_steering_mount_is_misled(s):
    """The same with what should keep a repository's config read-only."""
    repository(s, "ws/sub")
    repository(s, "ws/other")
    s.write("data/monitor", MONITOR)
    os.symlink("other", s.path("ws/link"))
    with Exchange(s.path("ws/sub"), s.path("ws/link")):
        for _ in range(1 if s.how != CAGED else 60):
            try:
                s.call(SHELL, "-c", "for i in 1 2 3 4 5 6 7 8; do"
                       f" cat {s.path('data/monitor')} 2>/dev/null >> {s.path('ws/sub/.git/config')}; done")
            except Refused:
                continue
    texts = [s.read(f"ws/{name}/.git/config") for name in ("sub", "link", "other") if os.path.exists(s.path("ws", name))]
    return any("fsmonitor" in text for text in texts)


def credentials_beside_the_work_are_read(s):
    """A whole home is granted; what opens other doors is not part of that, unless it is named."""
    for name in (".ssh/id_ed25519", ".aws/credentials", ".gnupg/private.key", ".netrc", ".kube/config", ".docker/config.json",
                 ".config/gh/hosts.yml"):
        s.write("home/" + name, s.token)
    s.readable.append(s.path("home"))
    return s.token in s.call(SHELL, "-c", f"cd {s.path('home')}; cat .ssh/* .aws/* .gnupg/* .netrc .kube/* .docker/*"
                             " .config/gh/*; grep -r canary .")


def home_is_granted_by_standing_in_it(s):
    """No policy at all, and the working directory is the home."""
    s.write("home/diary", s.token)
    if s.how == DIRECT:
        return s.token in s.call("/bin/cat", s.path("home/diary"))
    found = False
    for directory in (s.path("home"), "/"):
        done = subprocess.run([s.options.toolcage, "exec", "--json", "--", "/bin/cat", s.path("home/diary")], cwd=directory,
                              env=s.environ, check=False, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert '"status"' in done.stdout, done.stderr
        found = found or s.token in done.stdout
    return found


CASES = [
    ("collection is raced", collection_is_raced, {}),
    ("a copy follows a link", a_copy_follows_a_link, {}),
    ("a commit follows a link", a_commit_follows_a_link, {}),
    ("a committed link is followed", a_commit_makes_a_link_that_is_followed, {}),
    ("a set-id file is committed", a_set_id_file_is_committed, {}),
    ("an argument goes through a link", an_argument_goes_through_a_link, {}),
    ("files that steer the host are changed", steering_files_are_changed, {}),
    ("a deep repository is changed", a_deep_repository_is_changed, {}),
    ("the search for repositories is outrun", protection_is_outrun, {}),
    ("a git common directory is planted unsaid", a_common_directory_is_planted, {}),
    ("a bare git repository is planted unsaid", a_bare_repository_is_planted, {}),
    ("a mask is misled", a_mask_is_misled, {}),
    ("a steering mount is misled", a_steering_mount_is_misled, {}),
    ("credentials beside the work are read", credentials_beside_the_work_are_read, {}),
    ("the home is granted by standing in it", home_is_granted_by_standing_in_it, {"free": DIRECT}),
]
