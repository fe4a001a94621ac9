/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session can see of its cluster: the members, alarms, how much history
 * there is, the lease that was granted, and what the user may do below the
 * prefix.  Nothing is changed, except that a session without a lease is granted
 * one, which is revoked at once.  Some of the calls go through the log of the
 * cluster. examine_members.h has what each member says of itself.
 */
#ifndef HF_ENGINES_ETCD_EXAMINE_H
#define HF_ENGINES_ETCD_EXAMINE_H

#include "core/finding_list.h"
#include "engines/etcd/etcd_engine.h"

/* Answer ${request}, an EXAMINE, with the findings of ${list}, and with those
 * of the session of ${engine} if the session is usable.  The findings are moved
 * out of ${list}, which is empty afterwards. */
void hf_etcd_engine_examine(struct hf_etcd_engine *engine,
                            struct hf_request *request,
                            struct hf_finding_list *list, uint64_t now_ms);

#endif
