# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What packages for other systems take from a build with -Dportable=true: programs, libraries, licences. No program of its own."""

import gzip
import json
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
# Dynamic all the same: one loads an engine, and the others speak HTTP by the system's libcurl, libmicrohttpd and jansson. Where one
# does not start, the backends that need it are refused.
LOADS = {"toolcage-wasm", "toolcage-engine", "toolcage-http", "toolcage-agent", "toolcage-bridge"}
CLI_ONLY = {"toolcage-attacks", "toolcage-receipt"}  # no library starts it
SYSTEM = re.compile(r"^(libc\.so\.6|libm\.so\.6|ld-linux-.*)$")  # what every machine with a C library has
STATIC = [
    "libacl1",
    "libarchive13",
    "libbz2-1.0",
    "libc-ares2",
    "libjansson4",
    "liblz4-1",
    "liblzma5",
    "libmd0",
    "libnettle8",
    "libpcre2-8-0",
    "libseccomp2",
    "libssl3",
    "libstdc++6",
    "libyaml-0-2",
    "libzstd1",
    "zlib1g",
    "libc6",
]  # whose code may be linked in: their licences go along


def output(*command):
    return subprocess.run([str(word) for word in command], check=True, capture_output=True, text=True).stdout


def build(where):
    """A portable build with all that is installed as a program or a library; {where it is installed: the file}."""
    if not (where / "build.ninja").exists():
        subprocess.run(
            ["meson", "setup", where, "-Dportable=true", "--prefix=/usr", "-Ddefault_library=shared"],
            cwd=ROOT,
            check=True,
            stdout=sys.stderr,
        )
    subprocess.run(
        ["ninja", "-C", where, "--quiet", "build.ninja"], check=True, stdout=sys.stderr
    )  # or the manifest may be an old one
    options = {
        row["name"]: row["value"]
        for row in json.loads(output("meson", "introspect", "--buildoptions", where))
    }
    if not options.get("portable"):
        sys.exit(
            f"tools/portable: {where} is no portable build; hint: meson configure {where} -Dportable=true"
        )
    prefix = pathlib.Path(options["prefix"])
    manifest = {}
    for source, target in json.loads(output("meson", "introspect", "--installed", where)).items():
        place = pathlib.Path(
            *[part for part in pathlib.Path(target).relative_to(prefix).parts if part != "."]
        )
        if place.parts[0] in (options["bindir"], options["libexecdir"]) or re.search(
            r"(libtoolcage\.so\.\d+\.|\.node$)", place.name
        ):
            manifest[place] = pathlib.Path(source)
    subprocess.run(
        ["ninja", "-C", where, "--quiet", *[str(path.relative_to(where)) for path in manifest.values()]],
        check=True,
        stdout=sys.stderr,
    )
    return manifest


def dynamic(path):
    """What it needs, and the newest glibc that its symbols name."""
    if not is_program(path):
        return set(), (0, 0)
    text = output("readelf", "--dynamic", "--version-info", "--wide", path)
    versions = [tuple(map(int, version.split("."))) for version in re.findall(r"\bGLIBC_([\d.]+)", text)]
    return set(re.findall(r"\(NEEDED\).*\[([^\]]+)\]", text)), max(versions, default=(0, 0))


def is_program(path):
    return pathlib.Path(path).read_bytes()[:4] == b"\x7fELF"


def stripped(path, scratch):
    """What is no program (a module of the catalog) as it is."""
    if not is_program(path):
        return path.read_bytes()
    copy = scratch / path.name
    subprocess.run(["strip", "--strip-unneeded", "-o", copy, path], check=True)
    return copy.read_bytes()


def beside(library, scratch):
    """The libraries that no machine must have, to go beside it; and the glibc for all."""
    needed, glibc = dynamic(library)
    found = {}
    for name in sorted(name for name in needed if not SYSTEM.match(name)):
        path = re.search(rf"{re.escape(name)} => (\S+)", output("ldd", library))
        more, newest = dynamic(path.group(1))
        if not all(SYSTEM.match(other) for other in more):
            sys.exit(f"tools/portable: {name} needs {sorted(more)}, which is more than a wheel should bring")
        found[name] = stripped(pathlib.Path(path.group(1)).resolve(), scratch)
        glibc = max(glibc, newest)
    if found and "$ORIGIN" not in output("readelf", "--dynamic", library):
        sys.exit(f"tools/portable: {library} does not look for {sorted(found)} beside itself")
    return found, glibc


def licences():
    """Of what is linked in, as this machine has them."""
    texts = {"LICENSE": (ROOT / "LICENSE").read_bytes()}
    for package in STATIC:
        plain = pathlib.Path("/usr/share/doc") / package / "copyright"
        packed = plain.with_suffix(".gz")
        if plain.exists() or packed.exists():
            texts[f"{package}.txt"] = (
                plain.read_bytes() if plain.exists() else gzip.decompress(packed.read_bytes())
            )
    return texts


def installed(manifest, scratch):
    """The tree of what is installed: there the libraries look for each other beside themselves."""
    where = next(
        source.parent.parent for place, source in manifest.items() if place.name.startswith("libtoolcage.so.")
    )
    output(
        "meson",
        "install",
        "-C",
        where,
        "--no-rebuild",
        "--quiet",
        "--destdir",
        scratch / "tree",
        "--tags",
        "runtime,node",
    )
    return scratch / "tree"
