/* SPDX-License-Identifier: Apache-2.0 */
/* The finding about the clock of a server.  Leases do not depend on the
 * difference between that clock and the clock of this machine; but people
 * compare their times. */
#ifndef HF_ENGINES_LEASED_CLOCK_FINDING_H
#define HF_ENGINES_LEASED_CLOCK_FINDING_H

#include <stdint.h>

#include "core/finding_list.h"

/* Add the finding "clock": how far the clock of the server ${subject}, which
 * has just shown ${server_ms}, is from the clock of this machine. */
void hf_finding_add_clock(struct hf_finding_list *list, const char *subject,
                          uint64_t server_ms);

#endif
