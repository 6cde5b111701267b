/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A program run without any cage, as a shell would: with our environment and our descriptors. It
 * has a session of its own on a terminal that nobody reads, so that it cannot reach the user's. */
#ifndef TC_CLI_CALL_BARE_H
#define TC_CLI_CALL_BARE_H

#include <sys/types.h>

#include "cli/cli.h"

struct tc_bare {
    pid_t pid; /* 0: none */
    char *output;
    size_t length;
};

/* Runs it until its output ends or the time is over, then asks it to end (TERM). What it wrote, up
 * to a bound, is in ret. 0, or -1 with errno. */
int tc_bare_run(const char *const argv[], int timeout_ms, struct tc_bare *ret);
/* Kills what is left of it and frees. */
void tc_bare_end(struct tc_bare *bare);

#endif
