/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The runtime's seccomp list as a BPF program, for crun: libseccomp needs a quarter of crun's time
 * to compile the same list. */
#include "backend/oci/config.h"

#include <string.h>

#include "base/jsontext.h"
#include "linux/seccomp_filter.h"
#include "linux/seccomp_profile.h"

enum { NUMBERS = 1024 }; /* larger than each system call number of the profile */

#define ANNOTATION "run.oci.seccomp_bpf_data"

static uint32_t filter_action(int nr, const struct tc_strv *allowed)
{
    const struct tc_seccomp_row *row = tc_seccomp_row(nr);
    int errnum = row ? tc_oci_seccomp_answer(row, allowed) : TC_SECCOMP_UNNAMED;
    return errnum ? SECCOMP_RET_ERRNO | (uint32_t)errnum : SECCOMP_RET_ALLOW;
}

/* Most neighbouring numbers have the same verdict. Each run of numbers with one verdict takes two
 * instructions: a comparison with the number after it, and the verdict. */
void tc_oci_filter(struct tc_bpf *ret, const struct tc_strv *allowed)
{
    uint32_t said = filter_action(0, allowed);
    ret->len = 0;
    tc_bpf_begin(ret);
    for (int nr = 1; nr < NUMBERS; nr++) {
        uint32_t next = filter_action(nr, allowed);
        if (next == said)
            continue;
        tc_bpf_add(ret, BPF_JMP | BPF_JGE | BPF_K, 1, 0, (uint32_t)nr);
        tc_bpf_return(ret, said);
        said = next;
    }
    tc_bpf_return(ret, said);
}

char *tc_oci_with_filter(const char *config, const struct tc_strv *allowed)
{
    _autobuf_ struct tc_buf out = TC_BUF_INIT;
    struct tc_bpf program;
    size_t length = strlen(config);
    tc_oci_filter(&program, allowed);
    if (program.len >= TC_BPF_MAX || !length) /* too long for BPF */
        return strdup(config);
    tc_buf_add(&out, config, length - 1);
    tc_buf_adds(&out, ",\"annotations\":{\"" ANNOTATION "\":\"");
    tc_json_base64(&out, program.code, program.len * sizeof(program.code[0]));
    tc_buf_adds(&out, "\"}}");
    return tc_buf_steal(&out);
}
