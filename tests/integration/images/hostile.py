#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Archives that want out of the root they are unpacked into: each gets out of `tar -x` as people type it, and not out of an import.

usage: hostile.py TOOLCAGE self | ordinary"""

import gzip
import io
import os
import shutil
import stat
import subprocess
import sys
import tarfile

from store import (
    begin,
    check,
    docker_archive,
    entry,
    finish,
    image,
    layout,
    leftovers,
    names,
    root_entries,
    sha,
    store,
    tar,
)

LINK, HARD, DIR, CHAR, FIFO = (
    tarfile.SYMTYPE,
    tarfile.LNKTYPE,
    tarfile.DIRTYPE,
    tarfile.CHRTYPE,
    tarfile.FIFOTYPE,
)


class Place:
    """What an archive wants to reach: OUT/victim holds "mine"; the archive is unpacked in OUT/in."""

    def __init__(self, base):
        self.out, self.inside = base, f"{base}/in"
        shutil.rmtree(base, ignore_errors=True)
        os.makedirs(self.inside)
        with open(f"{base}/victim", "w", encoding="utf-8") as file:
            file.write("mine\n")
        os.chmod(f"{base}/victim", 0o600)

    def harmed(self):
        """What is not as it was made."""
        found = sorted(set(os.listdir(self.out)) - {"in", "victim"})
        with open(f"{self.out}/victim", encoding="utf-8") as file:
            found += ["victim changed"] if file.read() != "mine\n" else []
        st = os.stat(f"{self.out}/victim")
        return (
            found
            + (["victim's mode"] if st.st_mode & 0o777 != 0o600 else [])
            + (["a link to victim"] if st.st_nlink > 1 else [])
        )


def special(root):
    found = []
    for at, dirs, files in os.walk(root):
        for name in dirs + files:
            st = os.lstat(os.path.join(at, name))
            if stat.S_ISREG(st.st_mode) and st.st_mode & 0o6000:
                found.append(f"set-id {name}")
            if not (stat.S_ISREG(st.st_mode) or stat.S_ISDIR(st.st_mode) or stat.S_ISLNK(st.st_mode)):
                found.append(f"special {name}")
    return found


def cases(out):
    """Name -> entries; the error's stage and subject, or None where the import goes well without the harm."""
    return {
        "a name with two dots": ([entry("../planted", content=b"evil")], "../planted"),
        "two dots in the middle": (
            [entry("a", DIR), entry("a/../../planted", content=b"evil")],
            "a/../../planted",
        ),
        "an absolute name": ([entry(f"{out}/planted", content=b"evil")], f"{out}/planted"),
        "through a link to a directory": (
            [entry("d", LINK, link=out), entry("d/planted", content=b"evil")],
            "d",
        ),
        "through a link with two dots": (
            [entry("d", LINK, link=".."), entry("d/planted", content=b"evil")],
            None,
        ),
        "through two links": (
            [entry("a", LINK, link="."), entry("b", LINK, link="a/.."), entry("b/planted", content=b"evil")],
            None,
        ),
        "a hard link to outside": ([entry("h", HARD, link=f"{out}/victim")], "h"),
        "a hard link with two dots": ([entry("h", HARD, link="../victim")], "h"),
        "a hard link through a link": ([entry("d", LINK, link=out), entry("h", HARD, link="d/victim")], "h"),
        "a directory's mode through a link": (
            [
                entry("d", LINK, link=f"{out}/victim"),
                entry("d/", DIR, mode=0o777),
                entry("d/planted", content=b"x"),
            ],
            None,
        ),
        "a set-id bit": ([entry("s", content=b"#!", mode=0o6755)], None),
        "a pipe": ([entry("p", FIFO)], None),
        "a device": ([entry("c", CHAR, device=(1, 5))], None),
    }


def naive(place, archive):
    """tar as root's hand types it: names as they are, modes as they are."""
    subprocess.run(
        ["tar", "-xPpf", archive, "--overwrite", "-C", place.inside], check=False, capture_output=True
    )
    return place.harmed() + special(place.inside)


def written(path, data):
    with open(path, "wb") as out:
        out.write(data)
    return path


def hostile_archives_are_refused(base):
    for name, (entries, subject) in cases(f"{base}/out").items():
        if name == "a device" and os.geteuid():
            continue
        archive = written("hostile.tar", tar(entries))
        place = Place(f"{base}/out")
        harm = naive(place, archive)
        if not harm and name == "a directory's mode through a link":
            continue  # this tar is careful there
        check(harm, f"{name}: gets out of tar", os.listdir(place.inside))
        for form in ("a root", "a layer"):
            place = Place(f"{base}/out")
            source = archive if form == "a root" else docker_archive("layer.tar", [tar(entries)])
            made = image("import", source, "hostile")
            fine = (
                made.error.get("stage") == "unpack" and made.error["subject"] == subject
                if subject
                else made.code == 0
            )
            inside = special(f"{store()}/roots")
            check(
                fine and not place.harmed() and not inside and not leftovers(),
                f"{name}: not out of an import as {form}",
                (made, place.harmed(), inside),
            )
            check(
                bool(names()) == (subject is None),
                f"{name}: as {form}, there is an image only where nothing was refused",
                names(),
            )
            if names():
                image("remove", "hostile")


def whiteouts(base):
    for name, lower, upper, bad in (
        ("of a parent", [], [entry("a/.wh...", content=b"")], True),
        ("of nothing", [], [entry("a/.wh.")], True),
        ("of the directory itself", [], [entry("a/.wh..")], True),
        ("through a link", [entry("d", LINK, link=f"{base}/out")], [entry("d/.wh.victim")], False),
        ("of all, through a link", [entry("d", LINK, link=f"{base}/out")], [entry("d/.wh..wh..opq")], False),
    ):
        place = Place(f"{base}/out")
        made = image("import", docker_archive("w.tar", [tar(root_entries() + lower), tar(upper)]), "w")
        check(
            (made.error.get("stage") == "unpack" if bad else made.code == 0) and not place.harmed(),
            f"a whiteout {name}",
            (made, place.harmed()),
        )
        image("remove", "w")


def limits():
    written("large.tar.gz", gzip.compress(tar([entry("zeros", content=bytes(40 << 20))])))
    made = image("import", "large.tar.gz", "large", "--max-size", "20MiB")
    check("--max-size" in made.error.get("hint", ""), "40 MiB of zeros in 40 kB", made)
    written(
        "bomb.tar.gz",
        gzip.compress(gzip.compress(tar([entry(f"z{i}", content=bytes(1 << 20)) for i in range(64)]))),
    )
    made = image("import", "bomb.tar.gz", "large", "--max-size", "20MiB")
    check(made.code and not leftovers(), "packed twice", made)
    written("many.tar", tar([entry(f"d{i}", DIR) for i in range(3000)]))
    made = image("import", "many.tar", "many", "--max-files", "1000")
    check("--max-files" in made.error.get("hint", ""), "3,000 directories", made)
    sparse = tarfile.TarInfo("sparse")
    sparse.pax_headers = {
        "GNU.sparse.major": "1",
        "GNU.sparse.minor": "0",
        "GNU.sparse.name": "sparse",
        "GNU.sparse.realsize": str(1 << 60),
    }
    table = b"1\n0\n1\n".ljust(512, b"\0") + b"x"
    sparse.size = len(table)
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        archive.addfile(sparse, io.BytesIO(table))
    made = image("import", written("sparse.tar", out.getvalue()), "sparse")
    check("--max-size" in made.error.get("hint", ""), "a file that says it has an exabyte", made)
    deep = [entry("/".join(["d"] * 100), DIR)]
    for i in range(8):
        deep += [
            entry(f"l{i}", LINK, link="/".join([f"l{i - 1}" if i else "d"] + ["d"] * 99)),
            entry(f"l{i}/" + "/".join(["d"] * 100), DIR),
        ]
    made = image("import", written("deep.tar", tar(deep)), "deep")
    check(
        made.error.get("stage") == "unpack" and not leftovers(),
        "links that make a tree deeper than its names",
        made,
    )
    made = image("import", written("junk.tar", os.urandom(1 << 16)), "junk")
    check(made.error.get("stage") == "unpack", "no archive at all", made)
    whole = tar(root_entries())
    made = image("import", written("cut.tar", whole[: len(whole) // 2]), "cut")
    check(made.error.get("stage") == "unpack" and not names(), "half an archive", made)


def digests():
    base, other = tar(root_entries()), tar([entry("evil", content=b"x")])
    packed = gzip.compress(other, mtime=0)

    def put(which):
        return lambda blobs, config, layer: {
            d: packed if d == (layer if which == "layer" else config) else data for d, data in blobs.items()
        }

    for which in ("layer", "configuration"):
        made = image("import", layout("spoiled", [base], spoil=put(which)), "x")
        check(
            made.error.get("stage") == "digest" and sha(packed) in made.error["message"],
            f"another {which} than the digest says",
            made,
        )
    made = image("import", layout("spoiled", [base], diff_ids=[sha(other)]), "x")
    check(
        "uncompressed digest" in made.error.get("message", ""), "a layer that unpacks to another digest", made
    )
    made = image("import", docker_archive("d.tar", [base], diff_ids=[sha(other)]), "x")
    check(
        "uncompressed digest" in made.error.get("message", "") and not names() and not leftovers(),
        "the same in an archive of docker",
        made,
    )


def documents(base):
    place = Place(f"{base}/out")
    secret = written("secret", b'{"os":"linux","rootfs":{"diff_ids":[]}}')
    made = image("import", docker_archive("d.tar", [tar(root_entries())], name=os.path.abspath(secret)), "x")
    check(made.error.get("stage") == "import" and not names(), "a configuration outside", made)
    layout("linked", [tar(root_entries())])
    os.remove("linked/index.json")
    os.symlink(os.path.abspath(secret), "linked/index.json")
    made = image("import", "oci:linked", "x")
    check(made.error.get("stage") == "import" and not names(), "an index that is a link to outside", made)
    os.remove("linked/index.json")
    os.mkfifo("linked/index.json")
    made = image("import", "oci:linked", "x")
    check(made.error.get("stage") == "import", "an index that is a pipe", made)
    for text in (
        b"[" * 100000,
        b'{"manifests":[' + b"{}," * 9 + b"{}]}",
        b"\xff\xfe",
        b"{}",
        b"null",
        b'{"manifests":[{"digest":"sha256:../../x","size":1}]}',
    ):
        os.remove("linked/index.json")
        written("linked/index.json", text)
        made = image("import", "oci:linked", "x")
        check(made.error.get("stage") == "import", f"an index of {text[:20]!r}", made)
    for name in ("../x", "a/../../b", "/abs", "x\n", "X", "system", "-x", "a@sha256:1", "", "\x1b[31m"):
        check(image("import", "d.tar", "--", name).code == 125 and not names(), f"{name!r} is no name")
    made = image("import", docker_archive("d.tar", [tar(root_entries())], tag="../../../evil:1"))
    check(
        made.error.get("code") == "usage" and not place.harmed(), "nor one that an archive brings along", made
    )


def words(base):
    """They become arguments of programs."""
    marker = f"{base}/ran"
    for given in (
        ["--package", "a,--setup-hook=touch " + marker],
        ["--package", "--setup-hook"],
        ["--suite", "--x"],
        ["--mirror", "copy:/x"],
        ["--mirror", "http://example.com/a b"],
        ["--keyring", "x"],
        ["--apt-option", f'DPkg::Pre-Invoke={{"touch {marker}"}}'],
    ):
        made = image("build", "x", *given)
        check(
            made.error.get("code") == "usage" and not os.path.exists(marker),
            f"{given} is no word for a build",
            made,
        )


home = begin(sys.argv[2])
try:
    hostile_archives_are_refused(home)
    whiteouts(home)
    limits()
    digests()
    documents(home)
    words(home)
finally:
    os.chdir("/")
    shutil.rmtree(home, ignore_errors=True)
finish()
