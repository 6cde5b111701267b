/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * What comes on a machine's console: words of its monitor and of its guest, of which the end is
 * kept. */
#ifndef TC_VM_CONSOLE_H
#define TC_VM_CONSOLE_H

#include <stdbool.h>
#include <stddef.h>

enum { TC_CONSOLE_BYTES = 4096 };

struct tc_console {
    char bytes[TC_CONSOLE_BYTES];
    size_t len;
    bool ended;
};

void tc_console_read(struct tc_console *console, int fd);
bool tc_console_has(const struct tc_console *console, const char *text);
/* The monitor has stopped the processor: by emulation that cannot be. A guest can print the same
 * words, and ends its own call by that. */
bool tc_console_stuck(const struct tc_console *console);
/* What the guest's first program said last, or the last line that means something; cut to what can
 * be shown. Owned; NULL: out of memory. */
char *tc_console_last_words(const struct tc_console *console);

#endif
