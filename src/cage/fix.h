/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What to do where a cage cannot be built: the place itself is asked, so that the words name the
 * one setting that is in the way. */
#ifndef TC_CAGE_FIX_H
#define TC_CAGE_FIX_H

enum tc_process_lack {
    TC_LACK_OTHER,     /* another stage of the cage */
    TC_LACK_USERNS,    /* an ordinary caller may make none */
    TC_LACK_PRIVILEGE, /* root may not mount */
    TC_LACK_PROC,      /* no procfs of the cage's own */
    TC_LACK_FILTER,    /* its network takes no packet filter, where it needs one */
    TC_LACK_PATH,      /* a granted path, which somebody else has replaced */
    TC_LACK_CWD,       /* the call's working directory */
};

/* Static text; errnum is what the kernel said. */
const char *tc_process_fix(enum tc_process_lack lack, int errnum);

#endif
