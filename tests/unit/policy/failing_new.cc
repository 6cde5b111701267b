/* SPDX-License-Identifier: Apache-2.0
 * Copyright The toolcage authors
 *
 * The C++ half of the failing allocator. */
#include <cstdlib>
#include <new>

extern "C" bool allocation_fails();

void *operator new(std::size_t size)
{
    void *memory = allocation_fails() ? nullptr : std::malloc(size);
    if (!memory)
        throw std::bad_alloc();
    return memory;
}

void operator delete(void *memory) noexcept
{
    std::free(memory);
}

void operator delete(void *memory, std::size_t) noexcept
{
    std::free(memory);
}
