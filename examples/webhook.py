#!/usr/bin/python3 -I
# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""For `toolcage mcp --queue --notify /usr/local/lib/toolcage-webhook`: posts each request for approval, signed, to an address.

~/.config/toolcage/webhook.json (mode 0600): {"url": "https://…", "secret": "whsec_…"}; the secret is base64 after its prefix. The headers
are those of Standard Webhooks. Arguments stay here, because they can be confidential: the message has the id, with which a person reads the request by
`toolcage approvals show ID`. The response of the receiver is not read.
"""

import base64
import hashlib
import hmac
import http.client
import json
import os
import pathlib
import sys
import time
import urllib.parse

LOOPBACK = ("127.0.0.1", "::1", "localhost")


def connect(url):
    """TLS with verified certificates, except on this machine. Redirects are not followed: http.client has none."""
    if url.scheme == "https":
        return http.client.HTTPSConnection(url.hostname, url.port, timeout=8)
    if url.scheme == "http" and url.hostname in LOOPBACK:
        return http.client.HTTPConnection(url.hostname, url.port, timeout=8)
    sys.exit("webhook: the url must begin with https://, or be one of this machine")


def main():
    file = pathlib.Path(os.environ["HOME"], ".config/toolcage/webhook.json")
    if file.stat().st_mode & 0o077:
        sys.exit(f"webhook: other users can read {file}: chmod 600 it")
    settings = json.loads(file.read_text())
    request = json.load(sys.stdin)
    told = {"id": request["id"], "expires": request["expires"], "tool": request["subject"].get("tool")}
    body = json.dumps(
        {"type": "toolcage.approval.requested", "timestamp": int(time.time()), "data": told}
    ).encode()
    id, now = f"msg_{request['id']}", str(int(time.time()))
    secret = base64.b64decode(settings["secret"].removeprefix("whsec_"), validate=True)
    digest = hmac.new(secret, b".".join((id.encode(), now.encode(), body)), hashlib.sha256).digest()
    headers = {
        "content-type": "application/json",
        "webhook-id": id,
        "webhook-timestamp": now,
        "webhook-signature": "v1," + base64.b64encode(digest).decode(),
    }
    url = urllib.parse.urlsplit(settings["url"])
    path = urllib.parse.urlunsplit(("", "", url.path or "/", url.query, ""))
    try:
        connection = connect(url)
        connection.request("POST", path, body, headers)
        status = connection.getresponse().status
    except OSError as error:
        sys.exit(f"webhook: {url.hostname} cannot be reached: {error}")
    if not 200 <= status < 300:
        sys.exit(f"webhook: {url.hostname} answered with status {status}")


main()
