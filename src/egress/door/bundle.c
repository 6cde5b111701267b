/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "egress/door/bundle.h"

#include <stddef.h>

/* Debian, Arch, Alpine; Fedora; openSUSE; older ones. */
const char *const tc_bundle_places[] = {"/etc/ssl/certs/ca-certificates.crt",
                                        "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
                                        "/etc/ssl/ca-bundle.pem",
                                        "/etc/pki/tls/certs/ca-bundle.crt",
                                        "/etc/pki/tls/cert.pem",
                                        "/etc/ssl/cert.pem",
                                        NULL};
