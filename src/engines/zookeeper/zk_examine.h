/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session can see of the ensemble and of the nodes below the chroot: the
 * configuration, access lists, tickets that no session owns, and counters near
 * their end.  It only reads.  examine_servers.h asks each server for more, on
 * connections of its own.
 */
#ifndef HF_ENGINES_ZOOKEEPER_ZK_EXAMINE_H
#define HF_ENGINES_ZOOKEEPER_ZK_EXAMINE_H

#include "core/finding_list.h"
#include "engines/zookeeper/zk_engine.h"

struct hf_zk_engine_examination;

/* Examine, and add what is found to ${list}, which must stay valid until
 * ${done} is called with ${arg}.  The examination begins in
 * hf_zk_engine_examinations_begin(), which may call ${done} before it returns.
 * NULL for lack of memory; ${done} is then not called. */
struct hf_zk_engine_examination *
hf_zk_engine_examine(struct hf_zk_engine *zk, struct hf_finding_list *list,
                     void (*done)(void *arg), void *arg);

/* Do not wait for a session any longer: if the examination has not begun,
 * ${done} is called from within, else nothing happens. */
void hf_zk_engine_examination_give_up(
    struct hf_zk_engine_examination *examination);

/* To be called when the session is usable: begin the examinations that wait for
 * it. */
void hf_zk_engine_examinations_begin(struct hf_zk_engine *zk);

#endif
