# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""What the scripts here share: a store of their own, archives with any entries, and an image in any form."""

import gzip
import hashlib
import io
import json
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))

from mounts import cover
from tap import ORDINARY, become, check, finish, skip, skip_all

TOOLCAGE = os.path.abspath(sys.argv[1])
ARCHITECTURE = {"x86_64": "amd64", "aarch64": "arm64", "riscv64": "riscv64"}.get(
    platform.machine(), "unknown"
)
BUSYBOX = next((p for p in ("/bin/busybox", "/usr/bin/busybox") if os.path.exists(p)), None)


def begin(who):
    """An ordinary user with a home of his own; or root, for whom the place of the store is covered in a mount namespace of this script."""
    if who == "ordinary":
        become(ORDINARY, TOOLCAGE)
    elif os.geteuid() == 0 and not cover("/var/lib/toolcage"):
        skip_all("needs root to make a mount namespace")
    if not BUSYBOX:
        skip_all("there is no static busybox to make an image of")
    home = tempfile.mkdtemp(prefix="toolcage-images-")
    os.environ.update(HOME=home, XDG_DATA_HOME=f"{home}/data")
    for name in ("XDG_STATE_HOME", "XDG_CONFIG_HOME", "SOURCE_DATE_EPOCH"):
        os.environ.pop(name, None)
    os.chdir(home)
    return home


def store():
    return (
        "/var/lib/toolcage/images" if os.geteuid() == 0 else os.environ["XDG_DATA_HOME"] + "/toolcage/images"
    )


def leftovers():
    return [name for name in os.listdir(store()) if name.startswith("new-")]


class Answer:
    def __init__(self, done):
        self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        try:
            self.json = json.loads(done.stdout)
        except ValueError:
            self.json = {}
        self.error = self.json.get("error") or {}
        self.digest = self.json.get("digest")

    def __repr__(self):
        return f"exit {self.code}\n{self.out}\n{self.err}"


def image(*words, env=None):
    return Answer(
        subprocess.run(
            [TOOLCAGE, "image", words[0], "--json", *words[1:]],
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
            timeout=300,
            env={**os.environ, **(env or {})},
        )
    )


def names():
    return [(i["name"], i["older"]) for i in image("list").json["images"]]


def call(policy, *command):
    with open("policy.toml", "w", encoding="utf-8") as out:
        out.write(policy)
    return Answer(
        subprocess.run(
            [TOOLCAGE, "exec", "--policy", "policy.toml", "--tool", "t", "--json", "--", *command],
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
    )


def entry(name, kind=tarfile.REGTYPE, content=b"", mode=0o644, link="", device=(0, 0)):
    info = tarfile.TarInfo(name)
    info.type, info.size, info.mode, info.linkname = kind, len(content), mode, link
    info.devmajor, info.devminor = device
    return info, content


def tar(entries):
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for info, content in entries:
            archive.addfile(info, io.BytesIO(content) if info.isreg() else None)
    return out.getvalue()


def root_entries():
    with open(BUSYBOX, "rb") as file:
        program = file.read()
    return [
        entry("bin", tarfile.DIRTYPE, mode=0o755),
        entry("bin/busybox", content=program, mode=0o755),
        entry("tmp", tarfile.DIRTYPE, mode=0o755),
    ] + [entry(f"bin/{name}", tarfile.SYMTYPE, link="busybox") for name in ("sh", "cat", "ls", "sleep", "id")]


def sha(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def config(layers, diff_ids=None):
    return json.dumps(
        {
            "architecture": ARCHITECTURE,
            "os": "linux",
            "config": {"User": "root"},
            "rootfs": {"type": "layers", "diff_ids": diff_ids or [sha(layer) for layer in layers]},
        }
    ).encode()


def docker_archive(path, layers, tag="made/here:1", **more):
    """As docker save writes it; each layer is a tar."""
    parts = [entry(f"{i}/layer.tar", content=layer) for i, layer in enumerate(layers)]
    about = [
        {
            "Config": more.get("name", "config.json"),
            "RepoTags": [tag],
            "Layers": [f"{i}/layer.tar" for i in range(len(layers))],
        }
    ]
    parts += [
        entry("config.json", content=config(layers, more.get("diff_ids"))),
        entry("manifest.json", content=json.dumps(about).encode()),
    ]
    with open(path, "wb") as out:
        out.write(tar(parts + more.get("parts", [])))
    return path


def layout(path, layers, spoil=None, **more):
    """An OCI layout; its layers are compressed. `spoil` changes the blobs before they are written: digest -> bytes."""
    packed = [gzip.compress(layer, mtime=0) for layer in layers]
    blobs = {sha(p): p for p in packed}
    about = config(layers, more.get("diff_ids"))
    blobs[sha(about)] = about
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "config": {
                "digest": sha(about),
                "size": len(about),
                "mediaType": "application/vnd.oci.image.config.v1+json",
            },
            "layers": [
                {"digest": sha(p), "size": len(p), "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip"}
                for p in packed
            ],
        }
    ).encode()
    blobs[sha(manifest)] = manifest
    shutil.rmtree(path, ignore_errors=True)
    os.makedirs(f"{path}/blobs/sha256")
    index = {
        "schemaVersion": 2,
        "manifests": [
            {
                "digest": sha(manifest),
                "size": len(manifest),
                "mediaType": "application/vnd.oci.image.manifest.v1+json",
                "annotations": {"org.opencontainers.image.ref.name": "from-layout"},
            }
        ],
    }
    files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "index.json": json.dumps(index).encode()}
    files.update(
        {
            f"blobs/sha256/{d[7:]}": data
            for d, data in (spoil(blobs, sha(about), sha(packed[0])) if spoil else blobs).items()
        }
    )
    for name, data in files.items():
        with open(f"{path}/{name}", "wb") as out:
            out.write(data)
    return path
