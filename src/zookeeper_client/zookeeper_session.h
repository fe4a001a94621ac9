/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The session of a handle: its beginning and end, its states, and the calls of
 * the monitor.
 */
#ifndef HF_ZOOKEEPER_CLIENT_ZOOKEEPER_SESSION_H
#define HF_ZOOKEEPER_CLIENT_ZOOKEEPER_SESSION_H

#include "zookeeper_client/zookeeper_handle.h"

/* Make ${zookeeper} ready to be closed and freed, before another thread knows
 * it. */
void hf_zookeeper_session_init(struct hf_zookeeper *zookeeper);

/* Begin the session as ${opts} say and have it driven.  The I/O is open.
 * HF_ENOMEM.  With the lock. */
hf_status hf_zookeeper_session_begin(struct hf_zookeeper *zookeeper,
                                     const struct hf_zookeeper_opts *opts,
                                     struct hf_error *error);

/* Begin to use the session of ${zookeeper}, which may be under way and was
 * opened as ${config} says.  With the lock. */
void hf_zookeeper_session_use(struct hf_zookeeper *zookeeper,
                              const struct hf_zk_url_config *config,
                              size_t max_request_bytes);

/* Do what is due of ${zookeeper}.  The second one returns when to do so next,
 * or HF_FOREVER.  With the lock. */
void hf_zookeeper_run_due(struct hf_zookeeper *zookeeper);
uint64_t hf_zookeeper_due_at_ms(const struct hf_zookeeper *zookeeper);

/* End the registrations and caches of ${zookeeper}, which are not under way in
 * the queue: the handle, or its session, has been closed.  With the lock. */
void hf_zookeeper_end_parts(struct hf_zookeeper *zookeeper);

/* End what is under way but for operations that were sent, and begin nothing
 * any more: the handle is being closed.  With the lock. */
void hf_zookeeper_stop(struct hf_zookeeper *zookeeper);

/* The program has closed the descriptors: end everything without touching them,
 * or the session.  With the lock. */
void hf_zookeeper_session_abandon(struct hf_zookeeper *zookeeper);

/* --------------- a handle on the session of a client: zookeeper_shared.c -- */

/* Is ${zookeeper} a handle on the session of a client that was closed?  Then
 * its close waits for nothing.  Without the lock. */
bool hf_zookeeper_shared_is_over(struct hf_zookeeper *zookeeper);

/* hf_zookeeper_close() and hf_zookeeper_close_start() of a handle on the
 * session of a client.  The second one is called with the lock, with
 * .close_done set and the client not closing, and releases the lock as
 * hf_monitor_leave() does. */
hf_status hf_zookeeper_shared_close(struct hf_zookeeper *zookeeper);
void hf_zookeeper_shared_close_start(struct hf_zookeeper *zookeeper);

#endif
