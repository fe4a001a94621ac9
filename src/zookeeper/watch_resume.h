/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of watches when a connection or the session has ended.
 *
 * A new connection that resumes the session sets the watches again with
 * SetWatches.  The server then reports what one-shot watches have missed.  It
 * does not report what other watches have missed, so each of these watchers is
 * notified once of HF_ZK_RESYNC.
 *
 * A new session has no watches.  One-shot watchers that were armed are notified
 * of HF_ZK_RESYNC and are not armed any more.  The others are lost, and their
 * owner sends AddWatch for them again.
 */
#ifndef HF_ZOOKEEPER_WATCH_RESUME_H
#define HF_ZOOKEEPER_WATCH_RESUME_H

#include "zookeeper/jute.h"
#include "zookeeper/watch_set.h"

/* A new connection resumes the session, which has seen all events up to the
 * transaction ${zxid}.  Write to ${out} the SetWatches packets for all armed
 * watchers, and set .answers_due to their number.  Watchers with .not_set_again
 * are disarmed instead. */
void hf_zk_watch_set_resume(struct hf_zk_watch_set *set,
                            struct hf_jute_writer *out, int64_t zxid);

/* To be called when the server has answered one SetWatches packet without an
 * error.  After the last of them the watchers to which HF_ZK_RESYNC is still
 * due are notified of it. */
void hf_zk_watch_set_resume_answered(struct hf_zk_watch_set *set);

/* The session has ended.  Armed one-shot watchers are not armed any more and
 * are notified of HF_ZK_RESYNC.  Other armed watchers are lost.  To be called
 * from .lost of a listener, or later.  Watchers that must not be notified have
 * to be removed before, by a listener that was added earlier. */
void hf_zk_watch_set_session_lost(struct hf_zk_watch_set *set);

/* The first watcher that is lost, if ${previous} is NULL; otherwise the next
 * lost watcher behind ${previous}, which must be in the set.  NULL if there is
 * none.  Each lost watcher needs an AddWatch on the new session. */
struct hf_zk_watcher *
hf_zk_watch_set_next_lost(const struct hf_zk_watch_set *set,
                          const struct hf_zk_watcher *previous);

#endif
