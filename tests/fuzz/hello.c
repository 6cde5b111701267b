/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Reaches src/egress/read/hello.c and sniff.c. Input: the first bytes of a client. A name that was
 * found must be one, and no prefix may have said otherwise. */
#include "fuzz.h"

#include <string.h>

#include "egress/read/sniff.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct tc_egress_host host, again, part;
    enum tc_egress_hello got = tc_egress_hello_read(data, size, &host);
    enum tc_egress_sniff what = tc_egress_sniff((const char *)data, size);
    for (size_t cut = 0; cut < size; cut += 1 + size / 32) {
        enum tc_egress_sniff before = tc_egress_sniff((const char *)data, cut);
        INVARIANT(before == TC_SNIFF_MORE || before == what);
        enum tc_egress_hello then = tc_egress_hello_read(data, cut, &part);
        INVARIANT(then == TC_HELLO_MORE || then == got || then == TC_HELLO_DONE);
    }
    if (got != TC_HELLO_DONE)
        return 0;
    INVARIANT(what == TC_SNIFF_TLS);
    INVARIANT(!host.name[0] || (tc_egress_host_read(host.name, strlen(host.name), &again) &&
                                strcmp(host.name, again.name) == 0));
    return 0;
}
