/* SPDX-License-Identifier: Apache-2.0 */
/* A mutex: each client has one acquisition, which writes. */
#ifndef CLIENTS
#define CLIENTS 3
#endif
#ifndef ATTEMPTS
#define ATTEMPTS 2
#endif
#define PER_CLIENT 1
#define QUEUE(a) 0
#define WRITES(a) (true)
#define HAS_READERS (false)
/* These two mutations depend on the numbers of tickets or on when they came,
 * so contenders are not alike. */
#if !defined(ORDER_AS_TEXT) && !defined(OLD_SNAPSHOT)
#define ALIKE(a) (a > 0)
#endif

#include "names.pml"
#include "plain.pml"
