/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HF_EVENT_FAILED, the answer to a request that failed: what a retry can
 * achieve, and the text for people.
 *
 * The server's error decides both.  An error that does not show whether a
 * write took effect makes the request UNSURE, so the core searches for what
 * may exist.  An error that no retry helps against makes it FATAL, and the
 * text says what to do about it.
 *
 * Each of these functions answers the request, which then belongs to the core
 * again.
 */
#ifndef HF_ENGINES_ZOOKEEPER_ZK_FAILURE_H
#define HF_ENGINES_ZOOKEEPER_ZK_FAILURE_H

#include <stddef.h>

#include "core/engine.h"
#include "zookeeper/protocol.h"

struct hf_zk;

/* Fail with this text. */
void hf_zk_fail(struct hf_zk *zk, struct hf_request *request,
                enum hf_failure failure, hf_status status, const char *format,
                ...) __attribute__((format(printf, 5, 6)));

/* Fail with the server's ${error}.  The text says that we cannot ${what}
 * ${path}, for example "create a ticket in". */
void hf_zk_fail_with_error(struct hf_zk *zk, struct hf_request *request,
                           enum hf_zk_error error, const char *what,
                           const char *path);

/* Fail for lack of memory. */
void hf_zk_fail_memory(struct hf_zk *zk, struct hf_request *request);

/* Fail because layout=kazoo has no lock and no barrier of that name. */
void hf_zk_fail_name(struct hf_zk *zk, struct hf_request *request);

/* What an error of the server means for a request, if no retry helps. */
struct hf_zk_cause {
    const char *name; /* of .error, for docs/engines.md */
    enum hf_zk_error error;
    hf_status status;
};

/* The entry ${index} of the table of these, NULL behind the last one. */
const struct hf_zk_cause *hf_zk_cause(size_t index);

/* True if ${error} does not show whether a write took effect. */
bool hf_zk_is_unsure(enum hf_zk_error error);

#endif
