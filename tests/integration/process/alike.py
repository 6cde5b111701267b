# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The daily work of git, package managers and compilers in a writable directory ends as it does without a cage: the exit
code and the tree, byte for byte and mode for mode. Only what steers the host may be missing, and then it is listed.

With "disk" the directory is on another disk than the state directory.

usage: alike.py TOOLCAGE USER [disk]"""

import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile

import scene  # noqa: F401  first: it says where the next ones are
import disks
from scene import check, run, skip
from tap import skip_all

ON_DISK = "disk" in sys.argv[3:]
GIT = """export LC_ALL=C GIT_CONFIG_GLOBAL=$HOME/.gitconfig GIT_CONFIG_NOSYSTEM=1 GIT_PAGER=cat
export GIT_AUTHOR_DATE='2020-01-01T00:00:00Z' GIT_COMMITTER_DATE='2020-01-01T00:00:00Z'
export GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@example.org GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@example.org
git() { command git -c protocol.file.allow=always -c maintenance.auto=0 -c pack.threads=1 "$@"; }
"""
# A repository with dot files that differ between its two branches.
REPOSITORY = """git init -q -b main
for i in 1 2 3; do mkdir -p d; echo $i > d/f; echo $i > .envrc; echo $i > .npmrc; git add -A; git commit -qm $i; done
git checkout -qb side HEAD~1; mkdir -p .vscode; echo '{}' > .vscode/tasks.json; echo side > .envrc; echo s > side; git add -A
git commit -qm side; git checkout -q main
"""
SUBMODULE = "mkdir inner; (cd inner; git init -q -b main; echo i > i; git add i; git commit -qm i)\n"
PACKAGES = """mkdir -p node_modules/a/.vscode node_modules/b/.github/workflows .venv/bin lib
echo '{}' > node_modules/a/.vscode/settings.json; echo x > node_modules/a/.npmrc; echo x > node_modules/b/.envrc
echo x > node_modules/b/.github/workflows/ci.yml; echo x > .venv/bin/activate; echo x > lib/.editorrc; echo x > lib/code
"""
# Where the compilers are that no package of the system installs.
TOOLCHAINS = [
    path
    for path in (os.path.expanduser("~/.cargo"), os.path.expanduser("~/.rustup"))
    if "self" in sys.argv and os.path.isdir(path)
]
BINARIES = ":".join(f"{path}/bin" for path in TOOLCHAINS) or "/usr/bin"
GIT += f"export PATH=$PATH:{BINARIES} RUSTUP_HOME={os.path.expanduser('~/.rustup')}\n"
# name, the program that it needs besides git, what is there before, what is done
WORKS = [
    ("git init", None, "", "git init -q -b main . && echo a > a && git add a && git commit -qm a"),
    (
        "git init --shared",
        None,
        "",
        "git init -q --shared -b main . && umask 022 && echo a > a && git add a && git commit -qm a",
    ),
    (
        "git commit in a shared repository",
        None,
        f"{REPOSITORY}git config core.sharedRepository group; chmod -R g+w .git; chmod 2775 .git/objects .git/refs/heads\n",
        "umask 022; echo new > d/f; git commit -qam new; git branch a/b",
    ),
    (
        "set-group-id directories",
        None,
        "mkdir d e; chmod 2775 d\n",
        "mkdir d/new; echo x > d/new/f; chmod g-s d; chmod 2750 e; mkdir -p e/a/b; chmod g-s e/a; mkdir n; chmod g+s n; mv n e",
    ),
    ("git clone", None, f"mkdir source; cd source; {REPOSITORY}", "git clone -q --no-hardlinks source copy"),
    (
        "git commit",
        None,
        REPOSITORY,
        "echo new > d/f; echo new > e; git add -A; git commit -qm new; git log --oneline",
    ),
    (
        "git switch over dot files",
        None,
        REPOSITORY,
        "git switch -q side && git switch -q main && git switch -q side",
    ),
    (
        "git stash over dot files",
        None,
        REPOSITORY,
        "echo more >> .envrc; echo more >> d/f; git stash -q && git stash pop -q",
    ),
    ("git rebase over dot files", None, REPOSITORY, "git switch -q side; git rebase -q -X theirs main"),
    ("git rebase with a conflict", None, REPOSITORY, "git switch -q side; git rebase -q main"),
    ("git merge over dot files", None, REPOSITORY, "git merge -q -X theirs -m merged side"),
    (
        "git bisect",
        None,
        REPOSITORY,
        "git bisect start -q HEAD HEAD~2 && git bisect good -q && git bisect reset -q",
    ),
    ("git gc", None, REPOSITORY, "git gc -q --prune=now"),
    ("git reset --hard", None, REPOSITORY, "rm -rf d .envrc; git reset -q --hard HEAD~1"),
    ("git clean", None, REPOSITORY + PACKAGES, "git clean -qfdx"),
    (
        "git with hooks",
        None,
        REPOSITORY
        + "printf '#!/bin/sh\\necho hooked > hooked\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit\n",
        "echo x > x; git add x; git commit -qm x; git status --short",
    ),
    (
        "git submodule add",
        None,
        REPOSITORY + SUBMODULE,
        "git submodule --quiet add file://$PWD/inner sub && git commit -qm sub",
    ),
    (
        "git commit in a submodule",
        None,
        REPOSITORY + SUBMODULE + "git submodule --quiet add file://$PWD/inner sub; git commit -qm sub\n",
        "cd sub; echo new > i; git commit -qam new; cd ..; git add sub; git commit -qm sub2",
    ),
    (
        "git submodule update",
        None,
        REPOSITORY
        + SUBMODULE
        + "git submodule --quiet add file://$PWD/inner sub; git commit -qm sub; rm -rf sub/i\n",
        "git submodule --quiet update --force",
    ),
    (
        "git worktree add",
        None,
        REPOSITORY,
        "git worktree add -q tree side && cd tree && echo x > x && git add x && git commit -qm x",
    ),
    (
        "git worktree remove",
        None,
        REPOSITORY + "git worktree add -q tree side\n",
        "git worktree remove --force tree",
    ),
    (
        "a commit in a linked work tree",
        None,
        REPOSITORY + "git worktree add -q tree side\n",
        "cd tree; echo n > n; git add n; git commit -qm n",
    ),
    (
        "rm -rf of a file's two names",
        None,
        "mkdir d e; echo x > d/a; ln d/a d/b; ln d/a e/c\n",
        "rm -rf d; echo y > n; mv n e/c",
    ),
    ("rm -rf of packages", None, PACKAGES, "rm -rf node_modules .venv lib"),
    (
        "mv of directories with dot files",
        None,
        PACKAGES,
        "mv node_modules n && mv lib l && mv .venv v && mv v w",
    ),
    ("cp -a of directories with dot files", None, PACKAGES, "cp -a node_modules n; cp -a lib/. ."),
    (
        "modes and links",
        None,
        "",
        "echo a > a; chmod 640 a; ln -s a b; mkdir -m 750 c; echo d > c/d; chmod 755 c/d; ln -s ../a c/e",
    ),
    ("a failing sed", None, "echo old > a\n", "sed -i s/old/new/ a; grep -q nothing a"),
    (
        "python -m venv",
        "python3",
        "",
        "python3 -I -m venv --without-pip .venv && rm -rf .venv/bin/__pycache__",
    ),
    (
        "npm install",
        "npm",
        'mkdir -p p/.vscode; echo \'{"name":"p","version":"1.0.0"}\' > p/package.json; echo x > p/.npmrc; echo \'{}\' > p/.vscode/a.json; echo \'{"name":"r","version":"1.0.0"}\' > package.json\n',
        "export npm_config_cache=$(mktemp -d) npm_config_update_notifier=false; npm install --silent --offline --install-links ./p && npm uninstall --silent --offline p",
    ),
    (
        "pip install -e",
        "python3",
        'printf \'[build-system]\nrequires = ["setuptools"]\nbuild-backend = "setuptools.build_meta"\n[project]\nname = "a"\nversion = "1"\n\' > pyproject.toml; mkdir a; echo > a/__init__.py; python3 -I -m venv --system-site-packages .venv\n',
        ".venv/bin/python -I -m pip install --quiet --no-build-isolation --no-deps --no-compile --disable-pip-version-check -e . && .venv/bin/python -c 'import a'; find . -name __pycache__ -o -name RECORD | xargs rm -rf",
    ),
    (
        "cmake and make",
        "cmake",
        "echo 'cmake_minimum_required(VERSION 3.13)\nproject(a C)\nadd_custom_target(b ALL COMMAND ${CMAKE_COMMAND} -E touch made)' > CMakeLists.txt\n",
        "cmake -S . -B out > /dev/null && cmake --build out > /dev/null; rm -rf out/CMakeFiles out/*.cmake out/Makefile out/CMakeCache.txt",
    ),
]
# Root has a compiler here that no package of the system installs.
if shutil.which("cargo", path=BINARIES):
    WORKS.append(
        (
            "cargo build",
            "cargo",
            "mkdir src; printf '[package]\nname = \"a\"\nversion = \"0.1.0\"\n' > Cargo.toml; echo 'fn main() {}' > src/main.rs\n",
            "CARGO_INCREMENTAL=0 cargo build -q --offline && target/debug/a; rm -rf target/debug/.fingerprint target/debug/a target/debug/deps target/.rustc_info.json",
        )
    )


def content_of(path, s):
    """What a file holds. An index also holds times and inodes of the files, which differ between two runs."""
    if os.path.basename(path) == "index":
        listed = subprocess.run(
            ["git", "ls-files", "--stage", "-v"],
            env={**s.environ, "GIT_INDEX_FILE": path, "GIT_DIR": path[: path.index("/.git") + 5]},
            cwd=s.ws,
            capture_output=True,
            check=False,
        )
        return listed.stdout or listed.stderr
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def tree(s):
    """Each path with its type, mode and content."""
    found = {}
    for directory, names, files in os.walk(s.ws):
        for name in names + files:
            path = os.path.join(directory, name)
            mode = os.lstat(path).st_mode
            what = (
                os.readlink(path)
                if stat.S_ISLNK(mode)
                else content_of(path, s)
                if stat.S_ISREG(mode)
                else None
            )
            found[os.path.relpath(path, s.ws)] = (oct(mode), what)
    return found


def prepare(s, script):
    shutil.rmtree(s.ws, ignore_errors=True)
    os.mkdir(s.ws)
    done = subprocess.run(
        ["/bin/sh", "-ec", GIT + script], cwd=s.ws, env=s.environ, capture_output=True, check=False
    )
    assert done.returncode == 0, done


def within(path, above):
    return path == above or path.startswith(above + "/")


def differences(outside, inside, answer, s):
    """The paths that differ and that the result does not list as held."""
    held = [os.path.relpath(change["path"], s.ws) for change in answer.changes or [] if change.get("held")]
    differ = {path for path in outside.keys() | inside.keys() if outside.get(path) != inside.get(path)}
    # the directory of nothing but what is held is not made either
    empty = {path for path in differ if path not in inside and outside[path][1] is None}
    left = {path for path in differ if not any(within(path, name) for name in held)}
    return sorted(
        path for path in left if path not in empty or any(within(p, path) for p in left - empty)
    ), held


def alike(s):
    if ON_DISK:
        s.ws = tempfile.mkdtemp(dir="/mnt")
    s.write("home/.gitconfig", "[safe]\n\tdirectory = *\n")
    for name, program, before, work in WORKS:
        if program and not shutil.which(program, path=f"{s.environ['PATH']}:{BINARIES}"):
            skip(f"{name} ends as without a cage", f"no {program}")
            continue
        script = f"{GIT}cd {s.ws}\n{work}\n"
        prepare(s, before)
        outside = subprocess.run(
            ["/bin/sh", "-c", script], cwd=s.ws, env=s.environ, capture_output=True, text=True, check=False
        )
        expected = tree(s)
        prepare(s, before)
        answer = s.shell(f"export HOME={s.path('home')}\n{script}", readable=[s.path("home"), *TOOLCHAINS])
        differ, held = differences(expected, tree(s), answer, s)
        check(
            answer.code == outside.returncode and answer.out == outside.stdout and not differ,
            f"{name} ends as without a cage",
            f"differ: {differ[:20]}\nheld: {held[:20]}\noutside: {outside}\ninside: {answer}",
        )


if ON_DISK and not disks.another(256):
    skip_all("no disk can be mounted here")
run(alike)
