/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session of a handle: how it begins and ends, its states, and the
 * functions that the monitor calls.
 */
#ifndef HF_ZOOKEEPER_CLIENT_ZOOKEEPER_SESSION_H
#define HF_ZOOKEEPER_CLIENT_ZOOKEEPER_SESSION_H

#include "zookeeper_client/zookeeper_handle.h"

/* Initialise the I/O of ${zookeeper}, so that it can be closed and freed.  To
 * be called before other threads know ${zookeeper}. */
void hf_zookeeper_session_init(struct hf_zookeeper *zookeeper);

/* Begin the session as ${opts} say, and have the I/O, which must be open, drive
 * it.  HF_ENOMEM if there is no memory.  Called with the lock. */
hf_status hf_zookeeper_session_begin(struct hf_zookeeper *zookeeper,
                                     const struct hf_zookeeper_opts *opts,
                                     struct hf_error *error);

/* Begin to use .session of ${zookeeper}, which was opened as ${config} says and
 * may be connected already.  Called with the lock. */
void hf_zookeeper_session_use(struct hf_zookeeper *zookeeper,
                              const struct hf_zk_url_config *config,
                              size_t max_request_bytes);

/* hf_zookeeper_run_due() runs the deadlines and timers of ${zookeeper} that are
 * due.  hf_zookeeper_due_at_ms() returns when to call it next, or HF_FOREVER.
 * Called with the lock. */
void hf_zookeeper_run_due(struct hf_zookeeper *zookeeper);
uint64_t hf_zookeeper_due_at_ms(const struct hf_zookeeper *zookeeper);

/* End the registrations and caches of ${zookeeper}, because the handle or its
 * session was closed.  Called with the lock. */
void hf_zookeeper_end_parts(struct hf_zookeeper *zookeeper);

/* To be called when the handle is being closed: end all operations that were
 * not sent and all retries, and start no others.  Operations that were sent may
 * still be answered.  Called with the lock. */
void hf_zookeeper_stop(struct hf_zookeeper *zookeeper);

/* To be called when the program has closed the library's descriptors: end
 * everything without using them or the session.  Called with the lock. */
void hf_zookeeper_session_abandon(struct hf_zookeeper *zookeeper);

/* --------------- a handle on the session of a client: zookeeper_shared.c -- */

/* Is ${zookeeper} a handle on the session of a client that was closed?  Then
 * its close does not wait.  Called without the lock. */
bool hf_zookeeper_shared_is_over(struct hf_zookeeper *zookeeper);

/* hf_zookeeper_close() and hf_zookeeper_close_start() for a handle on the
 * session of a client of locks.  hf_zookeeper_shared_close_start() is called
 * with the lock, and releases it as hf_monitor_leave() does.  Before that
 * .close_done must be set, and the client must not be closing. */
hf_status hf_zookeeper_shared_close(struct hf_zookeeper *zookeeper);
void hf_zookeeper_shared_close_start(struct hf_zookeeper *zookeeper);

#endif
