/* SPDX-License-Identifier: Apache-2.0 */
/* What the parts of a client share: the session (src/zookeeper), of which zk.c
 * is the listener; queue.c has the tickets, watches.c the watches, and each
 * request a file of its own. */
#ifndef HF_ENGINES_ZOOKEEPER_PRIVATE_H
#define HF_ENGINES_ZOOKEEPER_PRIVATE_H

#include "engines/zookeeper/queue.h"
#include "engines/zookeeper/stranger.h"
#include "engines/zookeeper/watches.h"
#include "engines/zookeeper/zk.h"
#include "zookeeper/requests.h"

#define HF_ZK_PATH_BYTES 4096

struct hf_zk {
    struct hf_zk_config config;
    struct hf_engine_host host;
    struct hf_zk_session session;
    struct hf_zk_listener listener; /* of the session */
    struct hf_zk_worker worker;     /* of its window */
    struct hf_request *end;         /* NULL: not asked for */
    struct hf_zk_queues queues;
    struct hf_zk_strangers strangers;
    struct hf_zk_op *looks;      /* that a FORGET may take back */
    bool containers_unknown;     /* to the server: parents are persistent */
    char path[HF_ZK_PATH_BYTES]; /* the one that was put together last */
};

/* --------------------------------------------------------------- answers -- */

void hf_zk_tell(struct hf_zk *zk, struct hf_event *event);

/* FAILED, ${text} being the whole story. */
void hf_zk_fail(struct hf_zk *zk, struct hf_request *request,
                enum hf_failure failure, hf_status status, const char *format,
                ...) __attribute__((format(printf, 5, 6)));

/* FAILED, as the server's ${error} to what we wanted to do (${what}: "create a
 * ticket in") at ${path} has it. */
void hf_zk_fail_as(struct hf_zk *zk, struct hf_request *request,
                   enum hf_zk_error error, const char *what, const char *path);

/* Does ${error} say nothing of whether a write took effect? */
bool hf_zk_leaves_open(enum hf_zk_error error);

/* For lack of memory. */
void hf_zk_fail_memory(struct hf_zk *zk, struct hf_request *request);

/* -------------------------------------------------------------- requests -- */

/* Carry out ${request}, which does not wait any more; the session is usable. */
void hf_zk_begin(struct hf_zk *zk, struct hf_request *request);

void hf_zk_enqueue(struct hf_zk *zk, struct hf_request *request);
void hf_zk_list(struct hf_zk *zk, struct hf_request *request);
void hf_zk_look_out(struct hf_zk *zk, struct hf_request *request);
void hf_zk_withdraw(struct hf_zk *zk, struct hf_request *request);
void hf_zk_prove(struct hf_zk *zk, struct hf_request *request);
void hf_zk_watch(struct hf_zk *zk, struct hf_request *request);
void hf_zk_downgrade(struct hf_zk *zk, struct hf_request *request);
void hf_zk_describe(struct hf_zk *zk, struct hf_request *request);
void hf_zk_revoke(struct hf_zk *zk, struct hf_request *request);
void hf_zk_raise(struct hf_zk *zk, struct hf_request *request);
void hf_zk_lower(struct hf_zk *zk, struct hf_request *request);
void hf_zk_stamp(struct hf_zk *zk, struct hf_request *request);
void hf_zk_clear_stamp(struct hf_zk *zk, struct hf_request *request);
void hf_zk_look_at_mark(struct hf_zk *zk, struct hf_request *request);
void hf_zk_list_whole(struct hf_zk *zk, struct hf_request *request);

#endif
