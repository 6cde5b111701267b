# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Attacks by way of an overlaid workspace, in which the tool's changes lie above the host's tree until the end: those
of a copied one, and what only a layer makes possible."""

import os
import time

from cases_inside import own_files
from cases_words import a_commit_is_raced
from cases_workspace import (
    MONITOR,
    SHELL,
    a_commit_follows_a_link,
    a_commit_makes_a_link_that_is_followed,
    a_copy_follows_a_link,
    a_set_id_file_is_committed,
    git_runs,
    repository,
)
from scene import CAGED, MINUTE, PATIENCE, Refused

OVERLAY = 'workspace = { mode = "overlay" }'


def overlaid(attack):
    def run(s):
        s.apart = s.more = OVERLAY
        if s.how == CAGED:
            s.call("/bin/true")  # whether there are overlays here
        return attack(s)

    return run


def half_a_repository(s):
    """The host has a repository without a work tree; the layer has nothing but its new configuration and hook."""
    repository(s, "ws/there")
    for name in ("objects", "refs"):
        os.makedirs(s.path("ws/bare", name))
    s.write("ws/bare/HEAD", "ref: refs/heads/main\n")
    s.write(
        "data/monitor",
        MONITOR + f"bare = false\nworktree = {s.path('ws')}\n[core]\nrepositoryformatversion = 0\n",
    )
    s.call(
        SHELL,
        "-c",
        f"cat {s.path('data/monitor')} >> {s.path('ws')}/bare/config; cat {s.path('data/monitor')} >> {s.path('ws')}/there/.git/config",
    )
    return git_runs(s, "ws/bare") or git_runs(s, "ws/there")


def in_time(attempt):
    """Nobody outside sees when a tool begins whose workspace is its own: what it saw tells whether its user came first, and
    then both try again, slower."""

    def run(s):
        for seconds in (1, 4, 12):
            through, early = attempt(s, f"ws/{seconds}", seconds * PATIENCE)
            if not early:
                return through
        raise AssertionError("the tool never began before its user was done")

    return run


def slowly(s, seconds, begin, go_on, act):
    """The tool begins, its user acts, the tool goes on. What it said."""
    process = s.popen(SHELL, "-c", f"{begin}; sleep {1.5 * seconds}; {go_on}")
    time.sleep(0.8 * seconds)
    act()
    try:
        return s.result(*process.communicate(timeout=MINUTE))
    except Refused:
        return ""


@in_time
def newer_work_is_overwritten(s, place, seconds):
    """A tool waits until its user has put a directory with newer files in the place of the one that it saw: their times are
    older than the call."""
    notes = s.write(f"{place}/sub/notes", "older")
    s.write("next/notes", s.token)
    time.sleep(0.05)

    def act():
        os.rename(s.path(place, "sub"), s.path(place, "was"))
        os.rename(s.path("next"), s.path(place, "sub"))

    early = s.token in slowly(s, seconds, f"cat {notes}", f"echo tool > {notes}", act)
    return s.read(f"{place}/sub/notes") != s.token, early


@in_time
def a_removal_takes_newer_work_along(s, place, seconds):
    """A directory is removed in the layer; what its user saves there meanwhile must not go with it."""
    sub = os.path.dirname(s.write(f"{place}/sub/old", "old"))
    time.sleep(0.05)
    early = s.token in slowly(
        s,
        seconds,
        f"cat {sub}/*; rm -r {sub}",
        f"rm -rf {sub}",
        lambda: s.write(f"{place}/sub/saved", s.token),
    )
    return not os.path.exists(s.path(place, "sub/saved")), early


def a_layer_speaks_of_itself(s):
    """The attributes by which an overlay marks what it removed or replaced, set by the tool: the host must not see them, nor
    be made to remove what the tool could not."""
    s.write("ws/sub/kept", s.token, 0o444)
    s.denied = [s.path("ws/sub/kept")]
    s.call(
        "/usr/bin/python3",
        "-I",
        "-c",
        """
import os, sys
for name in ("user.overlay.opaque", "user.overlay.whiteout", "user.overlay.redirect", "user.overlay.metacopy"):
    for path in (sys.argv[1], sys.argv[1] + "/sub"):
        try:
            os.setxattr(path, name, b"y")
        except OSError:
            pass
try:
    os.remove(sys.argv[1] + "/sub/kept")
except OSError:
    pass
try:
    os.rmdir(sys.argv[1] + "/sub")
except OSError:
    pass
""",
        s.path("ws"),
    )
    return not os.path.exists(s.path("ws/sub/kept")) or any(
        name.startswith("user.overlay") for name in os.listxattr(s.path("ws/sub"))
    )


def in_session(attack):
    """The attack's calls are those of one session, which goes with it."""

    def run(s):
        if s.how == CAGED:
            s.begin_session()
        return attack(s)

    return run


def a_session_leads_out(s):
    """What one call leaves where the next one's storage is filled: links to what is not granted, and in place of a mount
    point."""
    s.write("outside/kept", s.token)
    tmp = "/tmp" if s.how == CAGED else s.path("ws")
    os.makedirs(s.path("ws/a/b"))
    s.writable.append(f'{{ path = "/tmp/a/b", from = "{s.path("data")}" }}')
    s.readable.remove(s.path("data"))
    s.call(
        SHELL,
        "-c",
        f"cd {tmp}; mv a z; ln -s {s.path('outside')} a; ln -s {s.path('outside/kept')} link; ln -s / root; test -L link",
    )
    s.call(
        SHELL,
        "-c",
        f"cd {tmp}; test -L link || exit; echo evil > link; echo evil > a/evil; echo evil > root{s.path('outside')}/more; true",
    )
    return s.read("outside/kept") != s.token or sorted(os.listdir(s.path("outside"))) != ["kept"]


def a_session_overwrites_newer_work(s):
    """A call that fails leaves its change to the session; its user works on the same file; the next call commits."""
    s.write("ws/notes", "older")
    try:
        s.call(
            SHELL,
            "-c",
            f"echo tool > {s.path('ws/notes')}; cp {s.path('ws/notes')} {s.path('data')}/left; exit 3",
        )
    except Refused:
        pass
    time.sleep(0.05)
    s.write("ws/notes", s.token)
    time.sleep(0.05)
    s.call(SHELL, "-c", f"cat {s.path('ws/notes')}; cp {s.path('data')}/left {s.path('ws/notes')}; true")
    return s.read("ws/notes") != s.token


CASES = [
    ("a session leads out of its storage", overlaid(in_session(a_session_leads_out)), {}),
    ("a session overwrites newer work", overlaid(in_session(a_session_overwrites_newer_work)), {}),
    ("an overlay follows a link", overlaid(a_copy_follows_a_link), {"alike": True}),
    ("a commit of an overlay follows a link", overlaid(a_commit_follows_a_link), {"alike": True}),
    (
        "a committed link of an overlay is followed",
        overlaid(a_commit_makes_a_link_that_is_followed),
        {"alike": True},
    ),
    ("a commit of an overlay is raced", overlaid(a_commit_is_raced), {"alike": True}),
    ("a set-id file in an overlay is committed", overlaid(a_set_id_file_is_committed), {}),
    ("half a repository is committed", overlaid(half_a_repository), {"alike": True}),
    ("newer work is overwritten by a commit", overlaid(newer_work_is_overwritten), {"alike": True}),
    ("a removal takes newer work along", overlaid(a_removal_takes_newer_work_along), {"alike": True}),
    ("an overlay's own attributes are forged", overlaid(a_layer_speaks_of_itself), {}),
    (
        "the user's trust record or policy is committed from an overlay",
        own_files(lambda s: None, OVERLAY),
        {},
    ),
]
