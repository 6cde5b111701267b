/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Which package owns a path of /etc, from the databases of dpkg, rpm, apk and pacman. */
#ifndef TC_SYSTEM_OWNERS_H
#define TC_SYSTEM_OWNERS_H

#include "system/system.h"

struct tc_owners {
    bool known;              /* some package manager has a database here */
    struct tc_strv files;    /* paths of /etc, sorted */
    struct tc_strv services; /* those owned by a package that runs a service, sorted */
    struct tc_strv daemons;  /* names of dpkg's packages that run a service */
};

enum tc_owner { TC_OWNER_NONE, TC_OWNER_PACKAGE, TC_OWNER_SERVICE };

/* False: out of memory. The caller frees *ret also on failure. */
bool tc_owners_read(struct tc_owners *ret, tc_system_rpm *rpm);
enum tc_owner tc_owners_find(const struct tc_owners *owners, const char *path);
void tc_owners_done(struct tc_owners *owners);
#define _autoowners_ _auto_(tc_owners_done)

/* The databases, for noticing a change. Ends with NULL. */
extern const char *const tc_owner_databases[];

#endif
