# SPDX-License-Identifier: Apache-2.0
# Copyright The toolcage authors
"""Certificates for the servers of tests."""

import subprocess


def self_signed(certificate, key, name, alternatives=None):
    """Writes a certificate for two days and its key; `alternatives`: as subjectAltName has them."""
    more = ["-addext", f"subjectAltName={alternatives}"] if alternatives else []
    curve = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"]
    files = ["-keyout", key, "-out", certificate]
    subprocess.run(
        ["openssl", "req", "-x509", *curve, "-days", "2", "-subj", f"/CN={name}", *more, *files],
        check=True,
        capture_output=True,
    )
