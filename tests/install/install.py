# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""An installed toolcage is whole: files, modes, pkg-config, headers, and a helper that is found."""

import json
import os
import pathlib
import stat
import subprocess
import sys
import tempfile

import tap

root, build = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
CC, CXX = os.environ["CC"].split(), os.environ["CXX"].split()
PROGRAM = """
#include <stdio.h>
#include <toolcage/toolcage.h>
int main(void)
{
    struct toolcage_engine *engine = 0;
    struct toolcage_error *err = 0;
    if (toolcage_engine_new(&engine, &err) < 0) {
        fputs(toolcage_error_report(err), stderr);
        return 1;
    }
    toolcage_engine_unref(engine);
    puts(toolcage_version());
    return 0;
}
"""


def run(command, **kwargs):
    return subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, timeout=60, **kwargs
    )


def find(tree, name):
    return sorted(path for path in tree.rglob(name) if not path.is_dir())


def check_files(tree):
    for name in (
        "toolcage",
        "toolcage-helper",
        "toolcage-egress",
        "toolcage-engine",
        "toolcage-image",
        "toolcage-receipt",
        "toolcage-agent",
        "toolcage-bridge",
        "toolcage-attacks",
        "libtoolcage.so.0",
        "libtoolcage.so",
        "libtoolcage.pc",
        "toolcage.h",
        "call.h",
        *(["toolcage-http"] if (build / "src/toolcage-http").exists() else []),
    ):
        tap.check(len(find(tree, name)) == 1, f"installs one {name}", find(tree, name))
    built, installed = [
        sorted(path.name for path in find(place, "*.wasm")) for place in (build / "catalog", tree)
    ]
    tap.check(built == installed, "installs the catalog, where it was built", f"{built} {installed}")
    helper = find(tree, "toolcage-helper")
    mode = stat.S_IMODE(helper[0].stat().st_mode) if helper else 0
    tap.check(mode == 0o755, "the helper's mode is 0755, whatever the umask", oct(mode))
    loose = [
        path
        for path in tree.rglob("*")
        if not path.is_symlink() and path.stat().st_mode & (stat.S_ISUID | stat.S_ISGID) and path.is_file()
    ]
    tap.check(not loose, "nothing is set-id", loose)


def check_pages(tree):
    for name in ("toolcage.1", "toolcage-policy.5", "libtoolcage.3"):
        pages = find(tree, name)
        tap.check(
            len(pages) == 1 and "man" + name[-1] == pages[0].parent.name, f"installs the page {name}", pages
        )


def check_headers(tree, scratch):
    """Each header alone, as strict C99 and as C++17."""
    include = find(tree, "toolcage.h")[0].parent.parent
    for header in sorted((include / "toolcage").glob("*.h")):
        for compiler, standard, suffix in ((CC, "c99", "c"), (CXX, "c++17", "cc")):
            source = scratch / f"alone.{suffix}"
            source.write_text(f"#include <toolcage/{header.name}>\nint alone;\n")
            done = run(
                [
                    *compiler,
                    f"-std={standard}",
                    "-pedantic-errors",
                    "-Wall",
                    "-Wextra",
                    "-Werror",
                    f"-I{include}",
                    "-fsyntax-only",
                    source,
                ]
            )
            tap.check(done.returncode == 0, f"{header.name} alone as {standard}", done.stderr)


def check_program(tree, scratch, library):
    """A program that knows only pkg-config: builds, runs, and its engine finds the installed helper."""
    env = {
        **os.environ,
        "PKG_CONFIG_LIBDIR": str(find(tree, "libtoolcage.pc")[0].parent),
        "PKG_CONFIG_SYSROOT_DIR": str(tree),
    }
    flags = run(["pkg-config", "--cflags", "--libs", "libtoolcage"], env=env)
    tap.check(flags.returncode == 0, "pkg-config knows libtoolcage", flags.stderr)
    source, program = scratch / "program.c", scratch / "program"
    source.write_text(PROGRAM)
    done = run([*CC, "-std=c99", source, "-o", program, *flags.stdout.split()])
    tap.check(done.returncode == 0, "a program builds with pkg-config's flags", done.stderr)
    done = run([program], env={**os.environ, "LD_LIBRARY_PATH": str(library)})
    tap.check(
        done.returncode == 0 and done.stdout.strip() == "0.1.0",
        "and its engine starts the installed helper",
        done.stdout + done.stderr,
    )


def check_cli(tree, library):
    done = run(
        [find(tree, "toolcage")[0], "doctor", "--json"], env={**os.environ, "LD_LIBRARY_PATH": str(library)}
    )
    try:
        good = bool(json.loads(done.stdout))
    except json.JSONDecodeError:
        good = False
    tap.check(good, "the installed command line answers doctor --json", done.stdout + done.stderr)


with tempfile.TemporaryDirectory() as temporary:
    scratch = pathlib.Path(temporary)
    tree = scratch / "tree"
    os.umask(0o002)  # a user's umask must not make the helper writable by a group
    installed = run(["meson", "install", "-C", build, "--no-rebuild", "--destdir", tree])
    tap.check(installed.returncode == 0, "meson install", installed.stdout[-2000:] + installed.stderr)
    check_files(tree)
    check_pages(tree)
    libraries = find(tree, "libtoolcage.so.0")
    if libraries:
        check_headers(tree, scratch)
        check_program(tree, scratch, libraries[0].parent)
        check_cli(tree, libraries[0].parent)
tap.finish()
