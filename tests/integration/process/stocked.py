# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""A server with packages for pip and npm, and a git repository, for scripts about clients."""

import base64
import functools
import gzip  # noqa: F401  tarfile would import it later, when an ordinary user can no longer read it
import hashlib
import http.server
import io
import json
import os
import shutil
import subprocess
import tarfile
import zipfile

from internet import API, Threaded, serve


def wheel(path):
    """Writes a minimal package for pip."""
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("tiny.py", "print('tiny is here')\n")
        file.writestr("tiny-1.0.dist-info/METADATA", "Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n")
        file.writestr(
            "tiny-1.0.dist-info/WHEEL",
            "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        )
        file.writestr("tiny-1.0.dist-info/RECORD", "")


def tarball(path):
    """Writes a minimal package for npm."""
    with tarfile.open(path, "w:gz") as file:
        for name, text in (
            ("package.json", '{"name": "tiny", "version": "1.0.0"}'),
            ("index.js", "console.log('tiny is here')\n"),
        ):
            info = tarfile.TarInfo("package/" + name)
            info.size = len(text)
            file.addfile(info, io.BytesIO(text.encode()))


class Files(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


def stock(root, origin="http://files.example.com:8088"):
    """Starts a plain HTTP server with a package index for pip, a registry for npm, and a git repository. Returns its handler.
    `origin`: how the registry names itself."""
    for name in ("simple/tiny", "npm", "work"):
        os.makedirs(f"{root}/{name}")
    wheel(f"{root}/simple/tiny/tiny-1.0-py3-none-any.whl")
    with open(f"{root}/simple/tiny/index.html", "w", encoding="ascii") as file:
        file.write('<a href="tiny-1.0-py3-none-any.whl">tiny-1.0-py3-none-any.whl</a>\n')
    tarball(f"{root}/npm/tiny.tgz")
    with open(f"{root}/npm/tiny.tgz", "rb") as file:
        digest = base64.b64encode(hashlib.sha512(file.read()).digest()).decode()
    version = {
        "name": "tiny",
        "version": "1.0.0",
        "dist": {"tarball": f"{origin}/npm/tiny.tgz", "integrity": "sha512-" + digest},
    }
    with open(f"{root}/npm/tiny", "w", encoding="ascii") as file:
        json.dump({"name": "tiny", "dist-tags": {"latest": "1.0.0"}, "versions": {"1.0.0": version}}, file)
    if shutil.which("git"):
        with open(f"{root}/work/said", "w", encoding="ascii") as file:
            file.write("cloned\n")
        who = ["-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "safe.directory=*"]
        for words in (
            ["init", "-q"],
            ["add", "said"],
            ["commit", "-qm", "said"],
            ["clone", "-q", "--bare", ".", "../repo.git"],
        ):
            subprocess.run(["git", *who, *words], cwd=f"{root}/work", check=True, capture_output=True)
        subprocess.run(["git", *who, "update-server-info"], cwd=f"{root}/repo.git", check=True)

    files = functools.partial(Files, directory=root)
    serve(Threaded((API, 8088), files))
    return files
