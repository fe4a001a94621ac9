/* SPDX-License-Identifier: Apache-2.0 */
/* Names to numbers, from 0, in the order in which they were first asked for. */
#ifndef HF_HISTORY_NAMES_H
#define HF_HISTORY_NAMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_names {
    const char **names; /* by number; whoever asked for them keeps the text */
    uint32_t count;
    uint32_t *slots; /* number + 1, by hash; 0: free */
    uint32_t slot_count;
};

/* Set ${number} to that of ${name}, a new one if it has none.  False when there
 * is no memory. */
bool hf_names_number(struct hf_names *names, const char *name,
                     uint32_t *number);
void hf_names_free(struct hf_names *names);

#endif
