/* SPDX-License-Identifier: Apache-2.0 */
/* A mutex: clients with one acquisition each. */
#ifndef CLIENTS
#define CLIENTS 3
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif
#define PER 1
#define QUEUE(a) 0
#define WRITES(a) (true)
#define HAS_READERS (false)
#ifndef ORDER_AS_TEXT
#define ALIKE(a) (a > 0)
#endif

#include "names.pml"
#include "plain.pml"
