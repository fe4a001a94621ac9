/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session can see of its cluster: the members, alarms, how much history
 * there is, the lease that was granted, and what the user may do below the
 * prefix.  Changes nothing; only a session without a lease is granted one,
 * which is revoked at once.  Some of the calls go through the log of the
 * cluster.  What each member says of itself, on connections of their own, is in
 * examine_members.h.
 */
#ifndef HF_ENGINES_ETCD_EXAMINE_H
#define HF_ENGINES_ETCD_EXAMINE_H

#include "core/finding_list.h"
#include "engines/etcd/etcd_engine.h"

/* Answer ${request}, an EXAMINE, with the findings of ${list} and those that
 * the session of ${engine} adds, if it is usable.  What ${list} has is taken;
 * it is empty afterwards. */
void hf_etcd_engine_examine(struct hf_etcd_engine *engine,
                            struct hf_request *request,
                            struct hf_finding_list *list, uint64_t now_ms);

#endif
