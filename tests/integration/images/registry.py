#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Images from a registry: a real one, on this machine's loopback, over TLS with an authority of this script's own.

usage: registry.py TOOLCAGE self | ordinary"""

import encodings.idna  # noqa: F401  pylint: disable=unused-import  # another user may not find it later
import glob
import http.server
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import threading
import time

from store import (
    TOOLCAGE,
    Answer,
    begin,
    call,
    check,
    config,
    entry,
    finish,
    image,
    layout,
    leftovers,
    names,
    root_entries,
    sha,
    skip_all,
    store,
    tar,
)
from certificates import self_signed

PROGRAMS = ("docker-registry", "skopeo", "openssl", "crun")
SEARCH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def answers(port):
    with socket.socket() as s:
        s.settimeout(5)
        return s.connect_ex(("127.0.0.1", port)) == 0


def make_authority():
    """For one address, and known to no program of this machine."""
    self_signed("ca.pem", "key.pem", "registry", "IP:127.0.0.1")


def start_registry():
    """Its port and process. Another program may take the port in between: then the next one."""
    for _ in range(5):
        port = free_port()
        about = {
            "version": 0.1,
            "log": {"level": "error"},
            "storage": {"filesystem": {"rootdirectory": f"{home}/registry"}},
            "http": {
                "addr": f"127.0.0.1:{port}",
                "tls": {"certificate": f"{home}/ca.pem", "key": f"{home}/key.pem"},
            },
        }
        with open("registry.yml", "w", encoding="utf-8") as out:
            json.dump(about, out)
        with open("registry.log", "ab") as log:
            run = subprocess.Popen(
                [shutil.which("docker-registry", path=SEARCH), "serve", "registry.yml"],
                stdout=log,
                stderr=log,
            )
        end = time.monotonic() + 60
        while run.poll() is None and time.monotonic() < end:
            if answers(port):
                return port, run
            time.sleep(0.1)
        run.kill()
        run.wait()
    with open("registry.log", encoding="utf-8", errors="replace") as log:
        skip_all("the registry does not start here: " + log.read()[-300:].replace("\n", " "))
    return None


def push(what, where):
    os.makedirs("trusted", exist_ok=True)
    shutil.copy("ca.pem", "trusted/ca.crt")
    done = subprocess.run(
        [
            "skopeo",
            "copy",
            "--quiet",
            "--dest-cert-dir",
            "trusted",
            "--digestfile",
            "digest",
            f"oci:{what}:from-layout",
            where,
        ],
        check=False,
        capture_output=True,
        text=True,
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    with open("digest", encoding="utf-8") as file:
        return file.read().strip()


def fetch():
    content = tar(root_entries() + [entry("etc/who", content=b"from a registry\n")])
    layout("box", [content])
    pushed = push("box", f"{site}/tools/box:1")
    own = image("import", "box", "own")
    stranger = image("import", f"{site}/tools/box:1", "box")
    check(
        stranger.error.get("subject") == "skopeo" and names() == [("own", False)] and not leftovers(),
        "a registry that cannot prove its name gives nothing",
        stranger,
    )
    trust = f"{home}/.config/containers/certs.d/{site.removeprefix('docker://')}"
    os.makedirs(trust)
    shutil.copy("ca.pem", f"{trust}/ca.crt")
    made = image("import", f"{site}/tools/box:1", "box")
    check(
        made.code == 0 and ("box", False) in names() and not leftovers(),
        "an image of a registry, by its tag",
        made,
    )
    check(
        made.digest and made.digest == own.digest,
        "is the one that was pushed, by our digest",
        (str(made), str(own)),
    )
    pinned = image("import", f"{site}/tools/box@{pushed}", "pinned")
    check(pinned.digest == made.digest, "and so it is by the registry's digest", pinned)
    done = call(
        f'[tool.t]\nbackend = "oci"\nimage = "box@{made.digest}"\ntimeout = "60s"\nmemory = {{ max = "512MiB", by = "any" }}\n',
        "/bin/cat",
        "/etc/who",
    )
    check(done.json.get("stdout", {}).get("text") == "from a registry\n", "a tool runs in it", done)


def give_away():
    """As docs/images.md says, to programs that know no zstd."""
    for words in (
        ["--dest-decompress", f"oci:{store()}:box", "dir:expanded"],
        ["dir:expanded", "docker-archive:given.tar:box:1"],
    ):
        done = subprocess.run(
            ["skopeo", "copy", "--quiet", *words], check=False, capture_output=True, text=True
        )
        check(done.returncode == 0, f"the store's image goes out to {words[-1]}", done.stderr)
    back = image("import", "given.tar", "back")
    with open(image("inspect", "back").json["root"] + "/etc/who", encoding="utf-8") as file:
        check(back.code == 0 and file.read() == "from a registry\n", "and comes back", back)


def refuse():
    before = names()
    gone = image("import", f"{site}/tools/nothing:1", "nothing")
    check(
        gone.code != 0 and gone.error.get("subject") == "skopeo" and names() == before and not leftovers(),
        "an image that the registry lacks is an error",
        gone,
    )
    other = image("import", f"{site}/tools/box@sha256:{'0' * 64}", "other")
    check(
        other.code != 0 and other.error.get("subject") == "skopeo" and names() == before,
        "a digest that it does not have, too",
        other,
    )


def lie():
    """A registry that gives other bytes than its manifest says: the layer's last byte is another one."""
    layout("evil", [tar(root_entries() + [entry("etc/who", content=b"the true one\n")])])
    push("evil", f"{site}/tools/evil:1")
    check(image("import", f"{site}/tools/evil:1", "evil").code == 0, "an image before anybody touched it")
    image("remove", "evil")
    before = names()
    with open("evil/index.json", encoding="utf-8") as file:
        manifest = json.load(file)["manifests"][0]["digest"][7:]
    with open(f"evil/blobs/sha256/{manifest}", encoding="utf-8") as file:
        layer = json.load(file)["layers"][0]["digest"][7:]
    found = glob.glob(f"registry/docker/registry/v2/blobs/sha256/*/{layer}/data")
    with open(found[0], "r+b") as blob:
        blob.seek(-1, os.SEEK_END)
        last = blob.read(1)
        blob.seek(-1, os.SEEK_END)
        blob.write(bytes([last[0] ^ 1]))
    spoiled = image("import", f"{site}/tools/evil:1", "evil")
    check(
        spoiled.code != 0 and names() == before and not leftovers(),
        "bytes that are not those of the manifest are no image",
        spoiled,
    )


def too_large():
    """What --max-size allows is not fetched first, and then looked at."""
    layout("large", [tar(root_entries()), tar([entry("etc/noise", content=os.urandom(40 << 20))])])
    push("large", f"{site}/tools/large:1")
    before = names()
    big = image("import", "--max-size", "8MiB", f"{site}/tools/large:1", "large")
    check(
        big.code != 0
        and "was not fetched: its compressed layers exceed the limit of 8 MiB" in big.error.get("message", "")
        and "--max-size" in big.error.get("hint", "")
        and names() == before
        and not leftovers(),
        "the manifest says that it is too large",
        big,
    )
    made = image("import", "--max-size", "64MiB", f"{site}/tools/large:1", "large")
    check(made.code == 0, "one that fits is fetched", made)
    image("remove", "large")


def watched(*words):
    """An import, and how large what it kept became meanwhile."""
    most = 0
    with subprocess.Popen(
        [TOOLCAGE, "image", "import", "--json", *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while process.poll() is None:
            done = subprocess.run(
                ["du", "-sk", "--apparent-size", store()], capture_output=True, text=True, check=False
            )
            most = max(most, int((done.stdout or "0").split()[0]) << 10)
            time.sleep(0.05)
        out, err = process.communicate(timeout=60)
    return Answer(subprocess.CompletedProcess([], process.returncode, out, err)), most


class Liar(http.server.BaseHTTPRequestHandler):
    """A small image by its manifest, and layers that end only when nobody reads them."""

    protocol_version = "HTTP/1.1"
    about = config([b"x"])
    noise = os.urandom(1 << 20)  # skopeo packs what is not packed
    manifest = json.dumps(
        {
            "schemaVersion": 2,
            "mediaType": "application/vnd.oci.image.manifest.v1+json",
            "config": {
                "mediaType": "application/vnd.oci.image.config.v1+json",
                "digest": sha(about),
                "size": len(about),
            },
            "layers": [
                {
                    "mediaType": "application/vnd.oci.image.layer.v1.tar+gzip",
                    "digest": sha(b"%d" % i),
                    "size": 1000,
                }
                for i in range(3)
            ],
        }
    ).encode()

    def answer(self, kind, body):
        self.send_response(200)
        for name, value in (
            ("Content-Type", kind),
            ("Content-Length", str(len(body))),
            ("Docker-Content-Digest", sha(body)),
        ):
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def do_GET(self):  # pylint: disable=invalid-name
        if "/manifests/" in self.path:
            return self.answer("application/vnd.oci.image.manifest.v1+json", self.manifest)
        if "/blobs/" not in self.path or sha(self.about) in self.path:
            return self.answer("application/octet-stream", self.about)
        self.send_response(200)
        self.send_header("Content-Length", str(1 << 40))
        self.end_headers()
        try:
            for _ in range(512):
                self.wfile.write(self.noise)
                self.server.sent += 1 << 20
        except OSError:
            self.close_connection = True
        return None

    do_HEAD = do_GET

    def log_message(self, *_):  # pylint: disable=arguments-differ
        pass


def lie_about_sizes():
    """A registry whose manifest says three layers of 1,000 bytes, and that goes on sending."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Liar)
    server.daemon_threads, server.sent = True, 0
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("ca.pem", "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    trust = f"{home}/.config/containers/certs.d/127.0.0.1:{server.server_port}"
    os.makedirs(trust)
    shutil.copy("ca.pem", f"{trust}/ca.crt")
    before = names()
    answer, most = watched(
        "--max-size", "8MiB", f"docker://127.0.0.1:{server.server_port}/tools/liar:1", "liar"
    )
    check(
        answer.code != 0
        and answer.error.get("subject") == "skopeo"
        and "it had created more than these MiB: 24" in answer.error.get("message", "")
        and "--max-size" in answer.error.get("hint", "")
        and names() == before
        and not leftovers(),
        "a registry that lies about sizes is stopped",
        answer,
    )
    check(most < 512 << 20 and server.sent < 1 << 30, "before it has filled the disk", (most, server.sent))
    server.shutdown()
    server.server_close()


def absent():
    registry.send_signal(signal.SIGTERM)
    registry.wait(60)
    before = names()
    gone = image("import", f"{site}/tools/box:1", "late")
    check(
        gone.code != 0 and gone.error.get("subject") == "skopeo" and names() == before and not leftovers(),
        "a registry that is not there is an error",
        gone,
    )


home = begin(sys.argv[2])
os.environ["XDG_RUNTIME_DIR"] = (
    home  # where skopeo looks for logins; without it in a directory of /run, which may be another's
)
registry = None
try:
    for program in PROGRAMS:
        if not shutil.which(program, path=SEARCH):
            skip_all(f"{program} is not installed here")
    make_authority()
    number, registry = start_registry()
    site = f"docker://127.0.0.1:{number}"
    fetch()
    give_away()
    refuse()
    lie()
    too_large()
    lie_about_sizes()
    absent()
finally:
    if registry and registry.poll() is None:
        registry.kill()
        registry.wait()
    os.chdir("/")
    shutil.rmtree(home, ignore_errors=True)
finish()
