/* SPDX-License-Identifier: Apache-2.0 */
/* A read/write lock: clients with one acquisition each, of which the first
 * WRITERS write. */
#ifndef CLIENTS
#define CLIENTS 4
#endif
#ifndef WRITERS
#define WRITERS 2
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif
#define PER 1
#define QUEUE(a) 0
#define WRITES(a) ((a) < WRITERS)
#define HAS_READERS (true)
#define ALIKE(a) (a > 0 && a != WRITERS)

#include "names.pml"
#include "plain.pml"
