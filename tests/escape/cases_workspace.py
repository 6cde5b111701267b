# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Attacks by way of the workspace: links that copying, committing, collecting or an argument would follow,
files that a host program runs unasked, and what lies beside the work in somebody's home."""

import ctypes
import hashlib
import json
import os
import pwd
import subprocess
import tempfile
import threading
import time

from cases_files import has_set_id_files
from scene import CAGED, DIRECT, MINUTE, PATIENCE, WITHOUT, Refused

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
    """Digests and contents of changed files must never be those of what a link leads to, whenever it is put there."""
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
            found = found or digest in json.dumps(s.answer) or s.token in json.dumps(s.answer["files"])
    finally:
        stop.set()
        thread.join()
    return found


def a_copy_follows_a_link(s):
    """The workspace is copied for the call: what a link leads to is no part of it."""
    s.more = s.apart
    os.symlink("../secret/canary", s.path("ws/file"))
    os.symlink("../secret", s.path("ws/dir"))
    return s.token in s.call(SHELL, "-c", f"cd {s.path('ws')}; cat file; cat dir/canary; ls -lR .")


def a_commit_follows_a_link(s):
    """While the call works on its copy, somebody puts a link in the place of a directory."""
    s.more = s.apart
    s.write("ws/sub/canary", "original")
    process = s.popen(
        SHELL,
        "-c",
        f"sleep {1.5 * PATIENCE}; echo changed > {s.path('ws/sub/canary')}; echo new > {s.path('ws/sub/new')}",
    )
    time.sleep(0.8 * PATIENCE)
    os.rename(s.path("ws/sub"), s.path("ws/was"))
    os.symlink("../secret", s.path("ws/sub"))
    out, err = process.communicate(timeout=MINUTE)
    try:
        s.result(out, err)
    except Refused:
        pass  # a conflict may be an error: what counts is the file
    return s.read("secret/canary") != s.token or os.path.exists(s.path("secret/new"))


def a_commit_makes_a_link_that_is_followed(s):
    """The tool itself replaces a directory by a link, then a second call writes through it."""
    s.more = s.apart
    s.write("ws/sub/canary", "original")
    s.call(SHELL, "-c", f"cd {s.path('ws')}; rm -r sub; ln -s ../secret sub")
    try:
        s.call(
            SHELL, "-c", f"cd {s.path('ws')}; echo changed > sub/canary; mkdir -p sub; echo changed > sub/new"
        )
    except Refused:
        pass
    return s.read("secret/canary") != s.token or os.path.exists(s.path("secret/new"))


def a_set_id_file_is_committed(s):
    s.more = s.apart
    s.attack("files", "set-id", s.path("ws/tool"))
    return has_set_id_files(s.path("ws"))


def an_argument_goes_through_a_link(s):
    """A path argument is bounded by a directory in which somebody has put a link."""
    os.symlink("../secret", s.path("ws/dir"))
    os.symlink("../secret/canary", s.path("ws/file"))
    found = False
    for name in ("dir/canary", "file", "../secret/canary", "./dir/../dir/canary"):
        answer = s.ask(["/bin/cat", "{a}"], bound(s, "read"), s.path("ws") + "/" + name)
        found = found or s.token in answer["stdout"]["text"]
    return found


def bound(s, access):
    """The declaration of an argument that is a path below the workspace."""
    return f'{{ type = "string", {access} = [{json.dumps(s.path("ws"))}] }}'


STEERING = [
    ".git/hooks/pre-commit",
    ".git/config",
    "sub/.git/config",
    "sub/.git/hooks/post-merge",
    ".envrc",
    ".bashrc",
    ".vscode/tasks.json",
    ".vscode/settings.json",
    ".of-no-list/run",
    ".github/workflows/ci.yml",
    "CLAUDE.md",
]


def steering_files_are_changed(s):
    """Existing files that a program of the host runs unasked: in place, by rename, with their parents."""
    for name in STEERING:
        s.write("ws/" + name, "original")
    for place in (".git", "sub/.git"):
        s.write(f"ws/{place}/HEAD", "ref: refs/heads/main\n")
        os.makedirs(s.path("ws", place, "objects"))
        os.makedirs(s.path("ws", place, "refs"))
    lines = [
        f"echo changed > {name}; rm -f {name}; echo changed > {name}; echo changed > n; mv -f n {name}"
        for name in STEERING
    ]
    lines += [
        f"mv {name} {name}.was; mkdir -p {name}; cp n {name}/"
        for name in ("sub", ".git", ".vscode", "sub/.git")
    ]
    lines += [f"mkdir -p $(dirname {name}); echo changed > {name}" for name in STEERING]
    s.call(SHELL, "-c", f"cd {s.path('ws')}; exec 2>/dev/null; " + "; ".join(lines))
    wrong = [
        name
        for name in STEERING
        if not os.path.exists(s.path("ws", name)) or s.read("ws/" + name) != "original"
    ]
    s.note = wrong
    return bool(wrong)


def repository(s, place):
    subprocess.run(["git", "init", "-q", s.path(place)], check=True, env=s.environ)


def git_runs(s, place):
    """Does git, as a person runs it on the host, start what the tool has planted?"""
    s.environ["WITNESS"] = s.path("witness")
    subprocess.run(
        ["git", "status", "--short"],
        cwd=s.path(place),
        env=s.environ,
        check=False,
        capture_output=True,
        timeout=MINUTE,
    )
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


def protection_is_locked_out(s):
    """A first call closes a directory to its own caller, whose search then may not look in; the second one opens it again."""
    repository(s, "ws/repository")
    s.write("data/monitor", MONITOR)
    team = next((group for group in os.getgroups() if group != os.getgid()), os.getgid())
    os.chown(
        s.path("ws/repository"), -1, team
    )  # by its first group a caller has rights in its tool's namespace
    try:
        s.call(SHELL, "-c", f"chmod 000 {s.path('ws/repository')}")
        s.call(
            SHELL,
            "-c",
            f"cd /; chmod 700 {s.path('ws/repository')}; cat {s.path('data/monitor')} >> {s.path('ws/repository')}/.git/config",
        )
    except Refused:
        return False
    finally:
        os.chmod(s.path("ws/repository"), 0o700)
    return git_runs(s, "ws/repository")


def protection_is_laid_over(s):
    """What is protected as a whole holds something that is protected, too."""
    for name in (
        "ws/.config/nvim/init.lua",
        "ws/.config/nvim/.git/config",
        "ws/.git/modules/sub/config",
        "ws/.git/config",
    ):
        s.write(name, "original")
    for name in ("ws/.config/nvim/lua", "ws/.git/modules/sub/hooks", "ws/.git/info", "ws/.git/hooks"):
        os.makedirs(s.path(name))
    s.call(
        SHELL,
        "-c",
        f"cd {s.path('ws')}; exec 2>/dev/null; echo evil > .config/nvim/init.lua; echo evil > .config/nvim/lua/x.lua;"
        "echo evil > .git/modules/sub/commondir; echo evil > .git/modules/sub/hooks/x; mkdir .git/modules/new; mv .config/nvim/lua .config/nvim/l",
    )
    s.note = [
        name
        for name in (
            ".config/nvim/lua/x.lua",
            ".config/nvim/l",
            ".git/modules/sub/commondir",
            ".git/modules/sub/hooks/x",
        )
        if os.path.lexists(s.path("ws", name))
    ]
    return bool(s.note) or s.read("ws/.config/nvim/init.lua") != "original"


def a_mask_is_moved_away_from(s):
    """Two calls: the first moves a directory above the denied name, the second reads it where it went."""
    s.write("ws/a/d/key", s.token)
    s.denied.append(s.path("ws/a/d/key"))
    s.call(SHELL, "-c", f"cd {s.path('ws')}; mv a b; true")
    return s.token in s.call(SHELL, "-c", f"cd {s.path('ws')}; cat a/d/key b/d/key; mv b a; true")


def a_repository_is_unmade(s):
    """Two calls: without its HEAD a bare repository is none; the second one changes it and makes it one again."""
    subprocess.run(["git", "init", "-q", "--bare", s.path("ws/r.git")], check=True, env=s.environ)
    s.write("data/monitor", MONITOR)
    s.call(SHELL, "-c", f"cd {s.path('ws/r.git')}; mv HEAD H2; mv objects o2; mv refs r2; true")
    s.call(
        SHELL,
        "-c",
        f"cd {s.path('ws/r.git')}; cat {s.path('data/monitor')} >> config; cp config config.worktree; mv H2 HEAD; mv o2 objects; mv r2 refs; true",
    )
    return (
        "fsmonitor" in s.read("ws/r.git/config")
        or os.path.exists(s.path("ws/r.git/config.worktree"))
        and not any(
            change["path"].endswith("/config.worktree") and change.get("steers_host")
            for change in s.answer["changes"]
        )
    )


def the_rest_of_a_name_is_written(s):
    """The granted directory is itself the first part of a name that steers the host."""
    for name in ("ws/.config/git/config", "ws/.hg/hgrc"):
        s.write(name, "original")
    s.writable = [s.path("ws/.config"), s.path("ws/.hg")]
    s.call(
        SHELL,
        "-c",
        f"exec 2>/dev/null; echo evil > {s.path('ws/.config')}/git/config; echo evil > {s.path('ws/.hg')}/hgrc; true",
        cwd="/",
    )
    return any(s.read(name) != "original" for name in ("ws/.config/git/config", "ws/.hg/hgrc"))


def a_hook_of_another_name_is_changed(s):
    """The repository's configuration says where its hooks are; a person commits."""
    repository(s, "ws")
    s.write("ws/tools/hooks/pre-commit", "#!/bin/sh\nexit 0\n", mode=0o755)
    subprocess.run(
        ["git", "config", "core.hooksPath", "tools/hooks"], cwd=s.path("ws"), check=True, env=s.environ
    )
    s.call(
        SHELL,
        "-c",
        f"cd {s.path('ws')}; echo 'touch $WITNESS' > tools/hooks/pre-commit; rm -f tools/hooks/pre-commit;"
        "mv tools t2; mkdir -p tools/hooks; printf '#!/bin/sh\\ntouch $WITNESS\\n' > tools/hooks/pre-commit; chmod 755 tools/hooks/pre-commit; true",
    )
    return git_runs_after(s, ["commit", "-q", "--allow-empty", "-m", "x"])


def git_runs_after(s, words):
    s.environ["WITNESS"] = s.path("witness")
    subprocess.run(
        ["git", "-c", "user.name=a", "-c", "user.email=b", *words],
        cwd=s.path("ws"),
        env=s.environ,
        check=False,
        capture_output=True,
        timeout=MINUTE,
    )
    return os.path.exists(s.path("witness"))


def a_rebase_goes_on_with_commands(s):
    """A rebase has stopped at a conflict, which the tool shall resolve; a person goes on with it."""
    repository(s, "ws")
    git = "git -c user.name=a -c user.email=b"
    subprocess.run(
        [
            SHELL,
            "-c",
            f"echo 1 > a; git add a; {git} commit -qm one; git checkout -qb side; echo 2 > a; {git} commit -qam two; git checkout -q -;"
            f"echo 3 > a; {git} commit -qam three; {git} rebase -q side",
        ],
        cwd=s.path("ws"),
        env=s.environ,
        check=False,
        capture_output=True,
        timeout=MINUTE,
    )
    s.call(
        SHELL,
        "-c",
        f"cd {s.path('ws')}; echo 4 > a; echo 'exec touch $WITNESS' >> .git/rebase-merge/git-rebase-todo; true",
    )
    subprocess.run(
        ["git", "add", "a"], cwd=s.path("ws"), env=s.environ, check=False, capture_output=True, timeout=MINUTE
    )
    return git_runs_after(s, ["-c", "core.editor=true", "rebase", "--continue"])


def a_common_directory_is_planted(s):
    """A repository whose config is protected can be told to read another one. It need not be prevented in a
    bound workspace, as the file is new, but it has to be reported."""
    repository(s, "ws")
    s.write("data/monitor", MONITOR)
    s.call(
        SHELL,
        "-c",
        f"cd {s.path('ws')}; mkdir -p evil/objects evil/refs; cat {s.path('data/monitor')} > evil/config;"
        "echo ../evil > .git/commondir",
    )
    reported = any(
        change["path"].endswith("/.git/commondir") and change.get("steers_host")
        for change in s.answer["changes"]
    )
    return not reported and git_runs(s, "ws")


def a_bare_repository_is_planted(s):
    """The workspace itself becomes a repository; again it has to be reported at least."""
    s.write(
        "data/monitor",
        MONITOR + f"bare = false\nworktree = {s.path('ws')}\n[core]\nrepositoryformatversion = 0\n",
    )
    s.call(
        SHELL,
        "-c",
        f"cd {s.path('ws')}; mkdir -p objects refs/heads; echo 'ref: refs/heads/main' > HEAD;"
        f"cat {s.path('data/monitor')} > config",
    )
    reported = any(
        change["path"] == s.path("ws/config") and change.get("steers_host") for change in s.answer["changes"]
    )
    return not reported and git_runs(s, "ws")


def a_directory_becomes_one_that_steers(s):
    """What was made in an earlier call, under a harmless name, is moved to where an editor obeys it: no file of it is new."""
    s.call(
        SHELL,
        "-c",
        f"cd {s.path('ws')}; mkdir -p out/zsh other; echo task > out/tasks.json; echo rc > out/zsh/.zshrc",
    )
    s.call(SHELL, "-c", f"cd {s.path('ws')}; mv out .vscode; mv other .idea; true")
    rows = {change["path"] for change in s.answer["changes"] if change.get("steers_host")}
    planted = [
        s.path("ws", name) for name in (".vscode", ".vscode/tasks.json", ".vscode/zsh/.zshrc", ".idea")
    ]
    return all(map(os.path.exists, planted)) and not rows >= set(planted)


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
                found = found or s.token in s.call(
                    SHELL, "-c", f"for i in 1 2 3 4 5 6 7 8; do cat {s.path('ws/sub/.env')}; done"
                )
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
                s.call(
                    SHELL,
                    "-c",
                    "for i in 1 2 3 4 5 6 7 8; do"
                    f" cat {s.path('data/monitor')} 2>/dev/null >> {s.path('ws/sub/.git/config')}; done",
                )
            except Refused:
                continue
    texts = [
        s.read(f"ws/{name}/.git/config")
        for name in ("sub", "link", "other")
        if os.path.exists(s.path("ws", name))
    ]
    return any("fsmonitor" in text for text in texts)


def a_link_of_another_policys_tool(s):
    """A tool of one policy puts a link where another policy grants a directory for reading."""
    os.makedirs(s.path("ws/data"))
    s.call(SHELL, "-c", f"cd {s.path('ws')}; rmdir data; ln -s ../secret data")
    s.writable, s.readable = [], [s.path("ws/data")]
    try:
        return s.token in s.call("/bin/cat", s.path("ws/data/canary"), cwd="/")
    except Refused:
        return False


def credentials_beside_the_work_are_read(s):
    """A whole home is granted; what opens other doors is not part of that, unless it is named."""
    for name in (
        ".ssh/id_ed25519",
        ".aws/credentials",
        ".gnupg/private.key",
        ".netrc",
        ".kube/config",
        ".docker/config.json",
        ".config/gh/hosts.yml",
        ".pgpass",
        ".bash_history",
        ".claude/.credentials.json",
        ".of-no-list/key",
    ):
        s.write("home/" + name, s.token)
    s.readable.append(s.path("home"))
    return s.token in s.call(
        SHELL,
        "-c",
        f"cd {s.path('home')}; cat .ssh/* .aws/* .gnupg/* .netrc .kube/* .docker/*"
        " .config/gh/* .pgpass .bash_history .claude/.cred* .of-no-list/*; grep -r canary .",
    )


def a_home_that_home_does_not_name(s):
    """The caller's own home by /etc/passwd, and HOME says another."""
    own = pwd.getpwuid(os.geteuid()).pw_dir
    with tempfile.TemporaryDirectory(prefix=".toolcage-test-", dir=own) as place:
        with open(os.path.join(place, "key"), "w", encoding="ascii") as file:
            file.write(s.token)
        s.readable.append(own)
        return s.token in s.call("/bin/cat", os.path.join(place, "key"))


def home_is_granted_by_standing_in_it(s):
    """No policy at all, and the working directory is the home."""
    s.write("home/diary", s.token)
    if s.how == DIRECT:
        return s.token in s.call("/bin/cat", s.path("home/diary"))
    found = False
    for directory in (s.path("home"), "/"):
        done = subprocess.run(
            [s.options.toolcage, "exec", "--json", "--", "/bin/cat", s.path("home/diary")],
            cwd=directory,
            env=s.environ,
            check=False,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=MINUTE,
        )
        assert '"status"' in done.stdout, done.stderr
        found = found or s.token in done.stdout
    return found


def toolcages_own_state_is_reached(s):
    """Leases and journals below /run, where all of /run, or the place itself, is granted."""
    os.makedirs("/run/toolcage", exist_ok=True)
    journal, found = "/run/toolcage/commits/" + s.token.removeprefix("canary-"), False
    for grant in ("/run", "/var/run", "/run/toolcage", "/run/toolcage/commits"):
        for writable in (False, True):
            s.readable[2:], s.writable[1:] = ([], [grant]) if writable else ([grant], [])
            try:
                found = (
                    "ids.lock"
                    in s.call(
                        SHELL, "-c", f"ls -a /run/toolcage {grant} {grant}/toolcage; echo x > {journal}"
                    )
                    or found
                )
            except Refused:
                continue
            found = found or os.path.exists(journal)
    if os.path.exists(journal):
        os.unlink(journal)
    return found


def beside_a_file_is_read(s):
    """One file of a directory is granted; the others are not."""
    s.writable[:] = [s.path("ws/notes")]
    s.write("ws/notes", "notes")
    s.write("ws/diary", s.token)
    s.write("ws/sub/diary", s.token)
    return s.token in s.call(
        SHELL,
        "-c",
        f"cd {s.path('ws')}; cat diary; mv diary d; cat d; ls -lR; rm -rf diary; cat diary sub/*; grep -r canary .",
    )


def a_file_is_swapped_for_a_link(s):
    """While the call works on the one file that it was granted, an accomplice puts a link in its place."""
    s.write("ws/sub/canary", "original")
    s.writable[:] = [s.path("ws/sub/canary")]

    def accomplice(_):
        os.rename(s.path("ws/sub/canary"), s.path("ws/sub/was"))
        os.symlink("../../secret/canary", s.path("ws/sub/canary"))

    s.meanwhile(f"echo changed > {s.path('ws/sub/canary')}", accomplice)
    return s.read("secret/canary") != s.token


def the_parent_of_a_file_is_swapped(s):
    """The same with the directory that holds it."""
    file = s.write("ws/sub/canary", "original")
    s.writable[:] = [file]

    def accomplice(_):
        os.rename(s.path("ws/sub"), s.path("ws/was"))
        os.symlink("../secret", s.path("ws/sub"))

    s.meanwhile(f"echo changed > {file}; rm -f {file}; echo changed > {file}", accomplice)
    return not os.path.exists(s.path("secret/canary")) or s.read("secret/canary") != s.token


def a_new_file_is_raced(s):
    """The argument names a new file below its bound; an accomplice swaps directories and links all the time."""
    for name in ("real", "other"):
        os.mkdir(s.path("ws", name))
    os.symlink("../secret", s.path("ws/link"))
    script = "for i in 1 2 3 4 5 6 7 8; do echo changed > $0.$i; echo changed > $0; done"
    with Exchange(s.path("ws/real"), s.path("ws/link")):
        for _ in range(60):
            s.ask([SHELL, "-c", script, "{a}"], bound(s, "write"), s.path("ws/real/new"))
            if os.listdir(s.path("secret")) != ["canary"]:
                return True
    return False


def model_chooses_steering_file(s):
    """A value that the model chose is a repository's config, or a hook that is not there yet."""
    repository(s, "ws")
    os.makedirs(s.path("ws/.git/hooks"), exist_ok=True)
    s.write("data/monitor", MONITOR)
    for name in (".git/config", ".git/hooks/post-checkout", ".envrc"):
        s.ask(
            [SHELL, "-c", f"cat {s.path('data/monitor')} >> $0", "{a}"],
            bound(s, "write"),
            s.path("ws", name),
            f"filesystem.readable = [{json.dumps(s.path('data'))}]",
        )
    return (
        git_runs(s, "ws")
        or os.path.exists(s.path("ws/.git/hooks/post-checkout"))
        or os.path.exists(s.path("ws/.envrc"))
    )


EXTENDED = ["base.toml", "sub/deep/base.toml", "toolcage.toml"]
ALIASES = ["hard", "sub/hard"]


def extending(s, files):
    """The scene's policy extends these; its workspace is granted by way of a link."""
    for name in EXTENDED:
        s.write("ws/" + name, "[defaults]\npids = 64\n")
    for name in ALIASES:
        os.link(s.path("ws/base.toml"), s.path("ws", name))
    os.symlink("ws", s.path("again"))
    s.writable = [f"{{ path = {json.dumps(s.path('ws'))}, from = {json.dumps(s.path('again'))} }}"]
    runtime = s.runtime()
    s.runtime = lambda: f"extends = {json.dumps(files)}\n{runtime}"


def changed(s):
    s.note = [
        name
        for name in EXTENDED
        if not os.path.exists(s.path("ws", name))
        or "pids = 64" not in s.read("ws/" + name)
        or "9999" in s.read("ws/" + name)
    ]
    return bool(s.note)


def the_base_of_the_policy_is_changed(s):
    """What the policy extends lies in the workspace: it is written in place, by its other names, by rename, with its parents."""
    extending(s, ["ws/" + name for name in EXTENDED])
    text = "[defaults]\\npids = 9999\\n"
    lines = [
        f"printf '{text}' > {name}; rm -f {name}; printf '{text}' > {name}; printf '{text}' > n; mv -f n {name}"
        for name in ALIASES + EXTENDED
    ]
    lines += [
        "mv sub was; mkdir -p sub/deep; printf '" + text + "' > sub/deep/base.toml",
        "mv sub/deep was; ln -s ../was sub/deep",
    ]
    s.call(SHELL, "-c", f"cd {s.path('ws')}; exec 2>/dev/null; " + "; ".join(lines))
    return changed(s)


def the_next_call_is_widened(s):
    """A tool writes itself a grant of the canary into what the policy extends; the next call reads it."""

    def base(directory):
        return (
            f'[tool.next]\nbackend = "{s.options.backend}"\nimage = "system"\nmemory = {s.memory}\nnetwork = "none"\n'
            f"filesystem.readable = [{json.dumps(s.path(directory))}]\n"
            + (WITHOUT if s.options.without else "")
        )

    s.write("ws/base.toml", base("data"))
    wider, runtime = s.write("data/wider.toml", base("secret")), s.runtime()
    s.runtime = lambda: f'extends = "ws/base.toml"\n{runtime}'
    s.call(SHELL, "-c", f"cd {s.path('ws')}; cat {wider} > base.toml; cp {wider} n; mv -f n base.toml")
    s.how = "next"
    subprocess.run(
        [s.options.toolcage, "policy", "trust", s.policy()], env=s.environ, capture_output=True, check=False
    )
    return s.token in s.call("/bin/cat", s.secret)


def the_input_schema_is_changed(s):
    """The file that bounds a tool's arguments lies in the workspace: it is written in place, by another name, by rename."""
    closed = '{"type": "object", "additionalProperties": false}'
    s.write("ws/schema.json", closed)
    os.link(s.path("ws/schema.json"), s.path("ws/hard"))
    s.more += f"input_schema = {json.dumps(s.path('ws/schema.json'))}\n"
    text = '{"type": "object", "additionalProperties": false, "properties": {"any": {"type": "string"}}}'
    s.call(
        SHELL,
        "-c",
        f"cd {s.path('ws')}; printf '{text}' > n; cat n > schema.json; cat n > hard; mv -f n schema.json",
    )
    return s.read("ws/schema.json") != closed


def a_model_chooses_the_base(s):
    """A value that the model chose is what the policy extends, by its name or by another one."""
    s.write("ws/base.toml", "[defaults]\npids = 64\n")
    os.link(s.path("ws/base.toml"), s.path("ws/other.toml"))
    runtime = s.runtime()
    s.runtime = lambda: f'extends = "ws/base.toml"\n{runtime}'
    for name in ("base.toml", "other.toml"):
        s.ask([SHELL, "-c", "echo 'pids = 9999' > $0", "{a}"], bound(s, "write"), s.path("ws", name))
        if "9999" in s.read("ws/base.toml"):
            return True
    return False


def the_base_is_committed(s):
    """The same in a workspace of the call's own, whose changes come back at the end."""
    s.more = 'workspace = { mode = "overlay", commit = "always" }'
    return the_base_of_the_policy_is_changed(s)


def refused_or_done(s, script):
    """What cannot be protected refuses the call, for this reason alone."""
    try:
        s.call(SHELL, "-c", script)
    except Refused as refused:
        assert "the policy is made from" in str(refused), refused


def the_base_is_named(s):
    """The policy's own word makes writable what it extends."""
    extending(s, ["ws/base.toml"])
    s.writable = [s.path("ws/base.toml"), s.path("ws")]
    refused_or_done(s, f"cd {s.path('ws')}; printf '[defaults]\\npids = 9999\\n' > base.toml")
    return changed(s)


def the_link_to_the_base_is_swapped(s):
    """The policy extends a link in the workspace, and the tool lets it lead elsewhere."""
    extending(s, ["ws/link.toml"])
    os.symlink(s.write("data/base.toml", "[defaults]\npids = 64\n"), s.path("ws/link.toml"))
    refused_or_done(s, f"cd {s.path('ws')}; printf '[defaults]\\npids = 9999\\n' > new; ln -sf new link.toml")
    return os.readlink(s.path("ws/link.toml")) == "new"


HIDDEN = (
    "__pycache__/run",
    "__pycache__/.envrc",
    ".pytest_cache/CLAUDE.md",
    "node_modules/.cache/keys.pyc",
    "gone.pyc",
    "swapped.pyc",
    f".git/objects/ab/{'0' * 38}",
    ".git/objects/ab/evil",
    ".git/objects/info/alternates",
)


def a_review_is_misled(s):
    """What does something once it is here has the name of a cache or of an object of git, of which a review tells the sum alone."""
    s.more = "" if s.how != CAGED else 'workspace = { mode = "copy", commit = "ask" }'
    s.write("ws/gone.pyc", "mine")
    os.makedirs(s.path("ws/swapped.pyc"))
    s.write("ws/swapped.pyc/kept", "mine")
    s.call(
        SHELL,
        "-c",
        f"""cd {s.path("ws")}; mkdir -p __pycache__ .pytest_cache node_modules/.cache .git/objects/ab .git/objects/info
for name in __pycache__/run .git/objects/ab/{"0" * 38}; do echo evil > $name; chmod 755 $name; done
for name in __pycache__/.envrc .pytest_cache/CLAUDE.md .git/objects/ab/evil .git/objects/info/alternates; do echo evil > $name; done
ln -s ../../../secret/canary node_modules/.cache/keys.pyc; rm -r gone.pyc swapped.pyc; echo evil > swapped.pyc; echo quiet > __pycache__/quiet.pyc""",
    )
    if s.how != CAGED:
        return all(os.path.lexists(s.path("ws", name)) != (name == "gone.pyc") for name in HIDDEN)
    changes = [s.options.toolcage, "changes", s.answer["call"]]
    told = subprocess.run(
        changes, env=s.environ, cwd=s.path("ws"), capture_output=True, text=True, check=True
    ).stdout
    s.note = [name for name in HIDDEN if f" {name}" not in told]
    assert "caches: 1 file in 1 directory, not applied" in told, told
    subprocess.run([*changes, "commit"], env=s.environ, cwd=s.path("ws"), capture_output=True, check=False)
    came = [
        name
        for name in ("__pycache__/.envrc", ".pytest_cache/CLAUDE.md", "__pycache__/quiet.pyc")
        if os.path.exists(s.path("ws", name))
    ]
    return bool(s.note or came)


CASES = [
    ("collection is raced", collection_is_raced, {"alike": True, "in_place": "too"}),
    ("a copy follows a link", a_copy_follows_a_link, {"alike": True}),
    ("a commit follows a link", a_commit_follows_a_link, {"alike": True}),
    ("a committed link is followed", a_commit_makes_a_link_that_is_followed, {"alike": True}),
    ("a set-id file is committed", a_set_id_file_is_committed, {}),
    ("a review is misled", a_review_is_misled, {"alike": True}),
    ("an argument goes through a link", an_argument_goes_through_a_link, {"alike": True}),
    ("steering files are changed", steering_files_are_changed, {"in_place": "too"}),
    ("a deep repository is changed", a_deep_repository_is_changed, {"in_place": "too"}),
    ("the search for repositories is outrun", protection_is_outrun, {"alike": True, "in_place": "too"}),
    (
        "the search for repositories is locked out",
        protection_is_locked_out,
        {"alike": True, "in_place": "too"},
    ),
    ("protection is laid over", protection_is_laid_over, {"in_place": "too"}),
    ("a mask is moved away from", a_mask_is_moved_away_from, {"in_place": "too"}),
    ("a bare repository is unmade", a_repository_is_unmade, {"in_place": "too"}),
    ("the rest of a steering name is written", the_rest_of_a_name_is_written, {"in_place": "too"}),
    ("a hook of another name is changed", a_hook_of_another_name_is_changed, {"in_place": "too"}),
    ("a rebase continues with the tool's commands", a_rebase_goes_on_with_commands, {"in_place": "too"}),
    (
        "a git common directory is planted unreported",
        a_common_directory_is_planted,
        {"alike": True, "in_place": "too"},
    ),
    (
        "a bare git repository is planted unreported",
        a_bare_repository_is_planted,
        {"alike": True, "in_place": "too"},
    ),
    (
        "a directory becomes a steering directory unreported",
        a_directory_becomes_one_that_steers,
        {"alike": True, "in_place": "too"},
    ),
    ("a mask is misled", a_mask_is_misled, {"alike": True, "in_place": "too"}),
    ("a steering mount is misled", a_steering_mount_is_misled, {"alike": True, "in_place": "too"}),
    (
        "toolcage's own state below /run is reached",
        toolcages_own_state_is_reached,
        {"root": True, "in_place": "too"},
    ),
    ("the neighbours of a granted file are read", beside_a_file_is_read, {"in_place": "too"}),
    (
        "a granted file is swapped for a link",
        a_file_is_swapped_for_a_link,
        {"alike": True, "in_place": "too"},
    ),
    (
        "the directory of a granted file is swapped",
        the_parent_of_a_file_is_swapped,
        {"alike": True, "in_place": "too"},
    ),
    ("the directory of a new file is raced", a_new_file_is_raced, {"alike": True}),
    ("a model chooses a steering file", model_chooses_steering_file, {"alike": True, "in_place": "too"}),
    ("a policy's base file is changed", the_base_of_the_policy_is_changed, {"in_place": "too"}),
    ("the next call is widened through a policy's base file", the_next_call_is_widened, {"in_place": "too"}),
    ("the schema of the arguments is changed", the_input_schema_is_changed, {"in_place": "too"}),
    ("a model chooses a policy's base file", a_model_chooses_the_base, {"alike": True, "in_place": "too"}),
    ("a policy's base file is changed by a commit", the_base_is_committed, {}),
    ("a policy's base file is granted for writing", the_base_is_named, {"in_place": "too"}),
    ("the link to a policy's base file is swapped", the_link_to_the_base_is_swapped, {"in_place": "too"}),
    (
        "a link of another policy's tool is followed",
        a_link_of_another_policys_tool,
        {"alike": True, "in_place": "too"},
    ),
    ("credentials near the workspace are read", credentials_beside_the_work_are_read, {}),
    ("a home is granted that HOME does not name", a_home_that_home_does_not_name, {"root": True}),
    (
        "the home is granted as the working directory",
        home_is_granted_by_standing_in_it,
        {"free": DIRECT, "apart": "without a policy nobody can ask for another than the process cage"},
    ),
]
