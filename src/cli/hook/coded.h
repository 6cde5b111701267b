/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * A model's text as one argument of a command, in letters that no shell and no parser of commands
 * interprets: others become %XX, and a blank becomes +. An agent may split, quote and join the
 * command before a shell reads it, so quotes are not enough. A long text is in a file of the user's
 * state directory, which no cage shows, and the argument is its name. */
#ifndef TC_CLI_HOOK_CODED_H
#define TC_CLI_HOOK_CODED_H

/* Owned; NULL with errno. */
char *tc_hook_encode(const char *text);
/* The text of such an argument, owned. A file is removed. NULL with errno: EINVAL for one that
 * tc_hook_encode() does not return. */
char *tc_hook_decode(const char *word);

#endif
