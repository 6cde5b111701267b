# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A yes to staged changes applies nothing that the person did not see, and nothing after a no."""

import os
import shutil

from ask_scene import Asker, alone, arrange, discard_all, held, read, rows, waiting
from cli import check, finish, require_user


def planted_files_are_not_applied():
    """Something that writes the store adds files to those of the call, which its list does not have."""
    with arrange() as place:
        plants = (
            ("a file", lambda at: place_file(os.path.join(at, "run.sh"))),
            ("a link", lambda at: os.symlink("/etc/passwd", os.path.join(at, "run.sh"))),
            (
                "a hook",
                lambda at: (
                    os.makedirs(os.path.join(at, ".git/hooks")),
                    place_file(os.path.join(at, ".git/hooks/run.sh")),
                ),
            ),
            ("a directory", lambda at: os.mkdir(os.path.join(at, "run.sh"))),
        )
        for name, plant in plants:
            asker = Asker(place, "echo x > b")
            plant(os.path.join(held(place), asker.changes["call"], "0"))
            for args in (["--only", "b"], []):
                done = place.run("approvals", "approve", asker.id, "--digest", asker.digest, *args)
                check(
                    done.code in (125, 126)
                    and "no longer those of request" in done.err
                    and read(place, "b") is None,
                    f"{name} that was planted after the call voids the request {args}",
                    done,
                )
            done = place.run("changes", asker.changes["call"], "commit")
            check(
                read(place, "b") == "x\n"
                and not os.path.lexists(os.path.join(place.project, "run.sh"))
                and not os.path.lexists(os.path.join(place.project, ".git")),
                f"and {name} is not applied with the others",
                done,
            )
            place.run("approvals", "deny", asker.id)
            asker.end()
            discard_all(place)
            os.unlink(os.path.join(place.project, "b"))


def place_file(path):
    with open(path, "w", encoding="utf-8") as file:
        file.write("evil\n")
    os.chmod(path, 0o755)


def removed_directory_removes_nothing():
    """The directory above a change is taken from the store: no removal that was not listed is applied."""
    with arrange() as place:
        place.write("home/project/d/kept", "kept\n")
        asker = Asker(place, "echo x > d/b; echo y > c")
        shutil.rmtree(os.path.join(held(place), asker.changes["call"], "0/d"))
        done = place.run("approvals", "approve", asker.id, "--digest", asker.digest)
        check(
            done.code in (125, 126) and read(place, "d/kept") == "kept\n" and read(place, "c") is None,
            "a directory that was taken from the store",
            done,
        )
        place.run("approvals", "deny", asker.id)
        asker.end()
        discard_all(place)


alone()
require_user()
for part in (
    planted_files_are_not_applied,
    removed_directory_removes_nothing,
):
    part()
finish()
