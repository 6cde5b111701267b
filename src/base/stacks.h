/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * Frees the stack of a child that shared this process's memory. The child ended without returning,
 * so AddressSanitizer still guards its frames, and would report whoever gets this memory next. */
#ifndef TC_BASE_STACKS_H
#define TC_BASE_STACKS_H

#include <stddef.h>
#include <sys/mman.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define TC_STACKS_GUARDED 1
#endif
#elif defined(__SANITIZE_ADDRESS__)
#define TC_STACKS_GUARDED 1
#endif

#ifdef TC_STACKS_GUARDED
#include <sanitizer/asan_interface.h>
#endif

static inline void tc_stack_free(void *stack, size_t size)
{
#ifdef TC_STACKS_GUARDED
    __asan_unpoison_memory_region(stack, size);
#endif
    (void)munmap(stack, size);
}

#endif
