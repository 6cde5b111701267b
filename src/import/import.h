/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Converts other sandboxes' settings into a policy that never grants more than they do. Text in,
 * text out; the input is untrusted. */
#ifndef TC_IMPORT_H
#define TC_IMPORT_H

#include <stddef.h>

struct tc_import_facts {
    const char *cwd;  /* normalized, absolute */
    const char *home; /* absolute; NULL: none */
};

struct tc_import_fault {
    const char *hint;
    char text[256]; /* "": out of memory */
};

/* "srt": the settings of Anthropic's sandbox-runtime. "vscode": mcp.json or settings.json of Visual
 * Studio Code. Both results are owned; *ret_left is a JSON array of the settings that were left
 * out. 0, TOOLCAGE_EPOLICY for invalid settings, TOOLCAGE_EUSAGE for an unknown format,
 * TOOLCAGE_EMEMORY. The result is not compiled: the caller must check that it is a valid policy. */
int tc_import_settings(const char *format, const char *text, size_t length,
                       const struct tc_import_facts *facts, char **ret_text, char **ret_left,
                       struct tc_import_fault *fault);

#endif
