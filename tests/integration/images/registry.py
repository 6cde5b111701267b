#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Images from a registry: a real one, on this machine's loopback, over TLS with an authority of this script's own.

usage: registry.py TOOLCAGE self | ordinary"""
import glob
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

from store import begin, call, check, entry, finish, image, layout, leftovers, names, root_entries, skip_all, store, tar

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
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj",
                    "/CN=registry", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "ca.pem"], check=True, capture_output=True)


def start_registry():
    """Its port and process. Another program may take the port in between: then the next one."""
    for _ in range(5):
        port = free_port()
        about = {"version": 0.1, "log": {"level": "error"}, "storage": {"filesystem": {"rootdirectory": f"{home}/registry"}},
                 "http": {"addr": f"127.0.0.1:{port}", "tls": {"certificate": f"{home}/ca.pem", "key": f"{home}/key.pem"}}}
        with open("registry.yml", "w", encoding="utf-8") as out:
            json.dump(about, out)
        with open("registry.log", "ab") as log:
            run = subprocess.Popen([shutil.which("docker-registry", path=SEARCH), "serve", "registry.yml"], stdout=log, stderr=log)
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
    done = subprocess.run(["skopeo", "copy", "--quiet", "--dest-cert-dir", "trusted", "--digestfile", "digest", f"oci:{what}:from-layout", where],
                          check=False, capture_output=True, text=True)
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
    check(stranger.error.get("subject") == "skopeo" and names() == [("own", False)] and not leftovers(), "a registry that cannot prove its name gives nothing", stranger)
    trust = f"{home}/.config/containers/certs.d/{site.removeprefix('docker://')}"
    os.makedirs(trust)
    shutil.copy("ca.pem", f"{trust}/ca.crt")
    made = image("import", f"{site}/tools/box:1", "box")
    check(made.code == 0 and ("box", False) in names() and not leftovers(), "an image of a registry, by its tag", made)
    check(made.digest and made.digest == own.digest, "is the one that was pushed, by our digest", (str(made), str(own)))
    pinned = image("import", f"{site}/tools/box@{pushed}", "pinned")
    check(pinned.digest == made.digest, "and so it is by the registry's digest", pinned)
    done = call(f'[tool.t]\nbackend = "oci"\nimage = "box@{made.digest}"\ntimeout = "60s"\nmemory = {{ max = "512MiB", by = "any" }}\n', "/bin/cat", "/etc/who")
    check(done.json.get("stdout", {}).get("text") == "from a registry\n", "a tool runs in it", done)


def give_away():
    """As docs/images.md says, to programs that know no zstd."""
    for words in (["--dest-decompress", f"oci:{store()}:box", "dir:expanded"], ["dir:expanded", "docker-archive:given.tar:box:1"]):
        done = subprocess.run(["skopeo", "copy", "--quiet", *words], check=False, capture_output=True, text=True)
        check(done.returncode == 0, f"the store's image goes out to {words[-1]}", done.stderr)
    back = image("import", "given.tar", "back")
    with open(image("inspect", "back").json["root"] + "/etc/who", encoding="utf-8") as file:
        check(back.code == 0 and file.read() == "from a registry\n", "and comes back", back)


def refuse():
    before = names()
    gone = image("import", f"{site}/tools/nothing:1", "nothing")
    check(gone.code != 0 and gone.error.get("subject") == "skopeo" and names() == before and not leftovers(), "what the registry does not have is an error", gone)
    other = image("import", f"{site}/tools/box@sha256:{'0' * 64}", "other")
    check(other.code != 0 and other.error.get("subject") == "skopeo" and names() == before, "a digest that it does not have, too", other)


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
    check(spoiled.code != 0 and names() == before and not leftovers(), "bytes that are not those of the manifest are no image", spoiled)


def absent():
    registry.send_signal(signal.SIGTERM)
    registry.wait(60)
    before = names()
    gone = image("import", f"{site}/tools/box:1", "late")
    check(gone.code != 0 and gone.error.get("subject") == "skopeo" and names() == before and not leftovers(), "a registry that is not there is an error", gone)


home = begin(sys.argv[2])
os.environ["XDG_RUNTIME_DIR"] = home  # where skopeo looks for logins; without it in a directory of /run, which may be another's
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
    absent()
finally:
    if registry and registry.poll() is None:
        registry.kill()
        registry.wait()
    os.chdir("/")
    shutil.rmtree(home, ignore_errors=True)
finish()
