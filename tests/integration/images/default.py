#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""The default image of this user, if one is built: its programs, its size, and git and curl through the egress proxy, which inspects
their TLS, as in a process cage. No suite builds one, because that needs a mirror.

usage: default.py TOOLCAGE"""

import functools
import http.server
import json
import os
import ssl
import subprocess
import sys
import tempfile

sys.path[:0] = [
    os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "process"),
    os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
]
from internet import API, Threaded, network, serve
from tap import check, finish, skip_all

TOOLCAGE = os.path.abspath(sys.argv[1])
MOST = 500_000_000
PROGRAMS = ("git", "curl", "python3", "pip3", "node", "npm")
POLICY = """
[tool.t]
backend = "{}"
command = ["/bin/sh", "-c", "{{script}}"]
arguments.script = {{ type = "string" }}
filesystem = "none"
network = [{{ host = "files.example.com", port = 8443, methods = ["GET"] }}]
memory = {{ max = "1GiB", by = "any" }}
timeout = "60s"
"""
FROM = "https://files.example.com:8443"
CLONE = f"git clone -q {FROM}/repo.git /tmp/a && cat /tmp/a/said; curl -fsS {FROM}/plain"
REFUSED = f"curl -sS -o /dev/null -w '%{{http_code}}' -X POST -d x {FROM}/plain"
BUNDLE = 'grep -c BEGIN "$SSL_CERT_FILE"'


def stock(root):
    """A server with a git repository and a file, over TLS."""
    os.makedirs(f"{root}/work")
    for name, text in (("work/said", "cloned\n"), ("plain", "fetched\n")):
        with open(f"{root}/{name}", "w", encoding="ascii") as file:
            file.write(text)
    who = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "safe.directory=*"]
    for words in (
        ["init", "-q"],
        ["add", "said"],
        ["commit", "-qm", "said"],
        ["clone", "-q", "--bare", ".", "../repo.git"],
    ):
        subprocess.run([*who, *words], cwd=f"{root}/work", check=True, capture_output=True)
    subprocess.run([*who, "update-server-info"], cwd=f"{root}/repo.git", check=True)

    class Files(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    server = Threaded((API, 8443), functools.partial(Files, directory=root))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(f"{network}/cert.pem", f"{network}/key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    serve(server)


def sh(backend, script):
    with open(f"{place}/policy.toml", "w", encoding="utf-8") as file:
        file.write(POLICY.format(backend))
    done = subprocess.run(
        [TOOLCAGE, "call", "--policy", f"{place}/policy.toml", "--json", "t", json.dumps({"script": script})],
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )
    answer = json.loads(done.stdout)
    return answer, answer.get("stdout", {}).get("text", "")


def versions(size):
    for program in PROGRAMS:
        answer, out = sh("oci", f"{program} --version")
        check(
            answer["status"] == "ok" and any(c.isdigit() for c in out), f"{program} runs in the image", answer
        )
    answer, out = sh("oci", "perl -e 'print 1+1'; test -s /etc/ssl/certs/ca-certificates.crt")
    check(
        answer["status"] == "ok" and out == "2",
        "the image has CA certificates, and the Perl of perl-base",
        answer,
    )
    check(size < MOST, "the image takes less than 500 MB", size)


def through_the_proxy():
    bundles = []
    for backend in ("oci", "process"):
        answer, out = sh(backend, CLONE)
        check(out == "cloned\nfetched\n", f"{backend}: git and curl trust the CA of the egress proxy", answer)
        answer, out = sh(backend, REFUSED)
        check(out == "403", f"{backend}: the proxy inspects their requests", answer)
        bundles.append(sh(backend, BUNDLE)[1])
    check(
        bundles[0] == bundles[1] and int(bundles[0]) > 1, "both kinds of cage see the same CA bundle", bundles
    )


listed = subprocess.run([TOOLCAGE, "image", "list", "--json"], capture_output=True, text=True, check=False)
images = json.loads(listed.stdout)["images"] if listed.returncode == 0 else []
built = next((row for row in images if row["name"] == "default" and not row["older"]), None)
if not built:
    skip_all("the default image is not built here: toolcage image build default")
with tempfile.TemporaryDirectory() as place:
    stock(f"{place}/www")
    versions(built["bytes"])
    through_the_proxy()
finish()
