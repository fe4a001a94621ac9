/* SPDX-License-Identifier: Apache-2.0 */
/* A read/write lock: each client has one acquisition, and the first WRITERS of
 * them write. */
#ifndef CLIENTS
#define CLIENTS 4
#endif
#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif
#define PER_CLIENT 1
#define QUEUE(a) 0
#define WRITES(a) ((a) < WRITERS)
#define HAS_READERS (true)
#define ALIKE(a) (a > 0 && a != WRITERS)

#include "names.pml"
#include "plain.pml"
