# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""usage: bench/works.py TOOLCAGE DIR ROUNDS [WORD]       WORD: only works whose name has it

Real work in a writable directory below DIR: the same command without a cage, in a cage as `exec --write .` makes it, and in place, in
turns, each in a tree prepared anew. Packages come from the package managers' registries once, before anything is measured. A work
whose program is not here is named."""

import os
import shutil
import statistics
import subprocess
import sys
import time

toolcage, place, rounds = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), int(sys.argv[3])
tree, store = os.path.join(place, "tree"), os.path.join(place, "store")
PACKAGES = (
    '{"name":"a","version":"1.0.0","dependencies":{"jest":"29.7.0","webpack":"5.97.1","eslint":"9.17.0"}}'
)
CRATE = '[package]\nname = "a"\nversion = "0.1.0"\nedition = "2021"\n[dependencies]\nregex = "=1.11.1"\nserde_json = "=1.0.134"\n'
SETTINGS = {
    "npm_config_cache": f"{store}/npm",
    "npm_config_update_notifier": "false",
    "npm_config_audit": "false",
    "npm_config_fund": "false",
    "CARGO_HOME": f"{store}/cargo",
    "RUSTUP_HOME": os.environ.get("RUSTUP_HOME", os.path.expanduser("~/.rustup")),
    "GIT_CONFIG_NOSYSTEM": "1",
}
REPOSITORY = (
    "git init -q -b main; git config user.name a; git config user.email a@example.org; git config gc.auto 0\n"
    "make() { for d in $(seq 200); do mkdir -p d$d; for f in $(seq 100); do echo $1 $d $f > d$d/f$f; done; done; git add -A; git commit -qm $1; }\n"
    "make 1; git checkout -qb side; make 2; git checkout -q main"
)
# name, program, made once in the tree, done before each round, measured
WORKS = [
    ("git checkout of 20,000 files", "git", REPOSITORY, "git checkout -q main", "git checkout -q side"),
    (
        "npm ci of 500 packages",
        "npm",
        f"echo '{PACKAGES}' > package.json; npm install --silent; rm -rf node_modules; npm ci --silent",
        "rm -rf node_modules",
        "npm ci --offline",
    ),
    (
        "rm -rf node_modules",
        "npm",
        f"echo '{PACKAGES}' > package.json; npm install --silent; mv node_modules ../kept",
        "rm -rf node_modules; cp -a ../kept node_modules",
        "rm -rf node_modules",
    ),
    (
        "pnpm install of 500 packages",
        "pnpm",
        f"echo '{PACKAGES}' > package.json; pnpm install --silent --store-dir $npm_config_cache/../pnpm",
        "rm -rf node_modules",
        "pnpm install --silent --store-dir $npm_config_cache/../pnpm --offline --frozen-lockfile",
    ),
    (
        "cargo build",
        "cargo",
        f"mkdir src; echo 'fn main() {{}}' > src/main.rs; echo '{CRATE}' > Cargo.toml; cargo fetch -q",
        "rm -rf target",
        "cargo build -q --offline",
    ),
]


def shell(script, *cage):
    environ = {**os.environ, **SETTINGS}
    done = subprocess.run(
        [*cage, "/bin/sh", "-ec", script], cwd=tree, env=environ, capture_output=True, text=True, check=False
    )
    if done.returncode:
        sys.exit(f"bench: {script}: {done.stdout}{done.stderr}")


def cage(*options):
    given = [word for name, value in SETTINGS.items() for word in ("--env", f"{name}={value}")]
    pnpm = os.path.realpath(shutil.which("pnpm") or "/usr/bin/env")
    homes = [
        os.path.expanduser("~/.cargo"),
        os.path.expanduser("~/.rustup"),
        os.path.dirname(os.path.dirname(pnpm)),
    ]
    read = [word for home in homes if os.path.isdir(home) for word in ("--read", home)]
    return [
        toolcage,
        "exec",
        "--env",
        "PATH",
        "--write",
        ".",
        "--write",
        store,
        "--timeout",
        "10m",
        *read,
        *given,
        *options,
        "--",
    ]


WAYS = [("no cage", []), ("by default", cage()), ("in place", cage("--in-place"))]


def measure(before, script):
    times = {name: [] for name, _ in WAYS}
    for attempt in range(rounds + 1):
        for name, words in WAYS:
            shell(before)
            start = time.monotonic()
            shell(script, *words)
            if attempt:
                times[name].append(time.monotonic() - start)
    return {name: statistics.median(values) for name, values in times.items()}


print(
    f"{'work':<34}{'no cage':>10}" + "".join(f"{name:>20}" for name, _ in WAYS[1:]) + "   (median s, ratio)"
)
for work, program, once, before, script in WORKS:
    if len(sys.argv) > 4 and sys.argv[4] not in work:
        continue
    if not shutil.which(program):
        print(f"{work:<34}not measured: no {program}")
        continue
    for directory in (tree, store, os.path.join(place, "kept")):
        shutil.rmtree(directory, ignore_errors=True)
    os.makedirs(tree)
    os.makedirs(store)
    shell(once)
    found = measure(before, script)
    bare = found["no cage"]
    row = "".join(f"{found[name]:>12.2f}{found[name] / bare:>8.2f}" for name, _ in WAYS[1:])
    print(f"{work:<34}{bare:>10.2f}{row}", flush=True)
