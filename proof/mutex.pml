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
/* Names of tickets matter with the one fault, when they came with the other. */
#if !defined(ORDER_AS_TEXT) && !defined(OLD_SNAPSHOT)
#define ALIKE(a) (a > 0)
#endif

#include "names.pml"
#include "plain.pml"
