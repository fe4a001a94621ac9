/* SPDX-License-Identifier: Apache-2.0 */
/* What the replacements of libc functions share. */
#ifndef HF_TESTS_WRAP_H
#define HF_TESTS_WRAP_H

#include <errno.h>

#include "fault.h"

/* At the start of the replacement of ${name}: declares real, the function of
 * libc, and error, the errno that this call must fail with, or 0. */
#define WRAP_OPENING(row, name)                                                \
    static __typeof__(&name) real;                                             \
    int error;                                                                 \
    if (real == NULL)                                                          \
        *(void **)&real = fault_real(#name);                                   \
    error = fault_meets(row, __builtin_return_address(0))

/* The replacement of a function that returns -1 when it fails. */
#define WRAP(row, type, name, parameters, arguments)                           \
    type name parameters                                                       \
    {                                                                          \
        WRAP_OPENING(row, name);                                               \
        if (error != 0) {                                                      \
            errno = error;                                                     \
            return -1;                                                         \
        }                                                                      \
        return real arguments;                                                 \
    }

/* Kinds of descriptors, as far as their calls fail in different ways.  COUNT is
 * an eventfd, a timerfd or an inotify descriptor: those do not block. */
enum wrap_kind { WRAP_PLAIN, WRAP_COUNT, WRAP_PIPE, WRAP_SOCKET };

void wrap_remember(int fd, enum wrap_kind sort);
enum wrap_kind wrap_kind_of(int fd);

/* Give the library and libuv allocators that count in ${report} and can fail;
 * before they allocate anything. */
bool wrap_take_memory(struct fault_report *report);

#endif
