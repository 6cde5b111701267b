/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The settings of other sandboxes as the text of a policy, which never grants more than they do.
 * Text in, text out; what is read is not trusted. */
#ifndef TC_IMPORT_H
#define TC_IMPORT_H

#include <stddef.h>

struct tc_import_facts {
    const char *cwd;  /* clean, absolute */
    const char *home; /* absolute; NULL: there is none */
};

struct tc_import_fault {
    const char *hint;
    char text[256]; /* "": no memory */
};

/* "srt": the settings of Anthropic's sandbox-runtime. "vscode": mcp.json or settings.json of Visual
 * Studio Code. Both results are owned; *ret_left is a JSON array of what the policy does not say.
 * 0, TOOLCAGE_EPOLICY where the text is not such settings, TOOLCAGE_EUSAGE for another format,
 * TOOLCAGE_EMEMORY. Whether the text is a policy, the compiler is to be asked. */
int tc_import_settings(const char *format, const char *text, size_t length,
                       const struct tc_import_facts *facts, char **ret_text, char **ret_left,
                       struct tc_import_fault *fault);

#endif
