/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FAILED, the answer to a request that came to nothing: what a retry can be
 * expected to do, and the text for people.
 *
 * The server's error decides both.  An error that says nothing of whether a
 * write took effect makes the request UNSURE, so that the core looks for what
 * may be there.  One that no retry helps against makes it FATAL, and the text
 * then says what to do about it.
 */
#ifndef HF_ENGINES_ZOOKEEPER_ZK_FAILURE_H
#define HF_ENGINES_ZOOKEEPER_ZK_FAILURE_H

#include "core/engine.h"
#include "zookeeper/protocol.h"

struct hf_zk;

/* FAILED with that text, which says all there is to say. */
void hf_zk_fail(struct hf_zk *zk, struct hf_request *request,
                enum hf_failure failure, hf_status status, const char *format,
                ...) __attribute__((format(printf, 5, 6)));

/* FAILED, as the server's ${error} to what we wanted to do (${what}: "create a
 * ticket in") at ${path} has it. */
void hf_zk_fail_with_error(struct hf_zk *zk, struct hf_request *request,
                           enum hf_zk_error error, const char *what,
                           const char *path);

/* FAILED for lack of memory. */
void hf_zk_fail_memory(struct hf_zk *zk, struct hf_request *request);

/* FAILED: with layout=kazoo no lock and no barrier has that name. */
void hf_zk_fail_name(struct hf_zk *zk, struct hf_request *request);

/* Does ${error} say nothing of whether a write took effect? */
bool hf_zk_is_unsure(enum hf_zk_error error);

#endif
