/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * cmocka wants these four before itself. */
#ifndef TC_TESTS_UNIT_VM_TEST_H
#define TC_TESTS_UNIT_VM_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define TEXT(literal) ((char[]){literal}) /* what is told is not const */

#endif
