/* SPDX-License-Identifier: Apache-2.0 */
/* What those who stand in for a function of libc have in common. */
#ifndef HF_TESTS_WRAP_H
#define HF_TESTS_WRAP_H

#include <errno.h>

#include "fault.h"

/* Within the function that stands in for ${name}: declares real, which is that
 * of libc, and error, which is what this call is to fail with, or 0. */
#define WRAP_OPENING(row, name)                                                \
    static __typeof__(&name) real;                                             \
    int error;                                                                 \
    if (real == NULL)                                                          \
        *(void **)&real = fault_real(#name);                                   \
    error = fault_meets(row, __builtin_return_address(0))

/* All of a function that answers -1 when it fails. */
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

/* What a descriptor is, as far as it decides how its calls may fail. */
/* A count is an eventfd, a timer or an inotify: they do not block. */
enum wrap_kind { WRAP_PLAIN, WRAP_COUNT, WRAP_PIPE, WRAP_SOCKET };

void wrap_remember(int fd, enum wrap_kind sort);
enum wrap_kind wrap_kind_of(int fd);

/* Before anything is allocated: have the library and libuv take their memory
 * where it is counted in ${report} and can fail. */
bool wrap_take_memory(struct fault_report *report);

#endif
