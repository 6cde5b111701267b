/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors */
#include "base/complaint.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/strv.h"

void tc_complain(struct tc_complaint *c, const char *hint, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    (void)vsnprintf(c->what, sizeof(c->what), fmt, ap);
    va_end(ap);
    tc_strcopy(c->hint, sizeof(c->hint), hint ? hint : "");
}
