/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What this host and its helper hold right now; a leak is the difference of two of these. */
#ifndef BENCH_FOOTPRINT_H
#define BENCH_FOOTPRINT_H

struct footprint {
    long host_kib, host_fds;
    long helper_kib, helper_fds, helper_processes; /* the helper and all below it */
    long groups;                                   /* control groups with our name in their path */
};

struct footprint footprint_take(void);

/* Of the helper's processes of this name, the mean of each. */
struct footprint_mean {
    long count, resident_kib, shared_out_kib, private_kib; /* the second: each page by its users */
};
struct footprint_mean footprint_of(const char *name);

#endif
