/* SPDX-License-Identifier: Apache-2.0 */
/* Memory for the library in a world that is gone back in: what it allocates is
 * part of a moment, and everything stays at its address. */
#ifndef HF_TESTS_SIM_POOL_H
#define HF_TESTS_SIM_POOL_H

#include <stddef.h>

/* Have the library allocate in the pool; before it has allocated anything. */
void pool_own(void);

/* How many bytes keep all that is allocated; write them to ${to}. */
size_t pool_bytes(void);
void pool_keep(void *to);

/* Have all as it was when ${from} was kept. */
void pool_return(const void *from);

#endif
