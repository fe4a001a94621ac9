/* SPDX-License-Identifier: Apache-2.0 */
/* The findings about a quorum as a whole: which of its servers do not count,
 * and whether two of its addresses are one server. */
#ifndef HF_ENGINES_REDIS_QUORUM_EXAMINE_H
#define HF_ENGINES_REDIS_QUORUM_EXAMINE_H

#include "core/finding_list.h"
#include "engines/quorum/quorum.h"
#include "engines/redis/redis_link.h"

/* Add the findings of ${quorum}, whose ${count} servers have ${links}. */
void hf_redis_quorum_examine(const struct hf_quorum *quorum,
                             struct hf_redis_link *const *links, size_t count,
                             struct hf_finding_list *list);

#endif
