/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The files of the operator's web page (console/), which is a client of the API. */
#ifndef TC_SERVE_CONSOLE_H
#define TC_SERVE_CONSOLE_H

struct tc_console_file {
    const char *path, *type;
    const char *text;
};

/* NULL: the page has no file of this path. */
const struct tc_console_file *tc_console_find(const char *path);

#endif
