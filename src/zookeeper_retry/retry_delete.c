/* SPDX-License-Identifier: Apache-2.0 */
#include "zookeeper_retry/retry_delete.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "zookeeper/op_codec.h"

enum delete_state {
    DELETE_DELETING,
    DELETE_SYNCING, /* before DELETE_READING */
    DELETE_READING,
};

struct hf_zk_retry_delete {
    enum delete_state state;
    int32_t version;
    struct hf_zk_retry_attempts attempts;
    bool was_unsure;    /* the answer to a delete was lost */
    bool unsure;        /* the same, and no read has shown the outcome since */
    int64_t known_zxid; /* the last transaction known at the beginning, or of
                           the node to be deleted; 0: none */
    struct hf_zookeeper_result *result; /* for an end without an answer */
    char path[];
};

struct hf_zk_retry_delete *
hf_zk_retry_delete_new(const char *path, int32_t version,
                       const struct hf_random *random)
{
    size_t bytes = strlen(path) + 1;
    struct hf_zk_retry_delete *del = hf_alloc(sizeof *del + bytes);

    if (del == NULL)
        return NULL;
    if ((del->result = hf_zk_op_reserve()) == NULL) {
        hf_free(del);
        return NULL;
    }
    del->version = version;
    del->attempts.random = *random;
    memcpy(del->path, path, bytes);
    return del;
}

static void free_delete(void *machine)
{
    struct hf_zk_retry_delete *del = machine;

    hf_zookeeper_result_free(del->result);
    hf_free(del);
}

/* ----------------------------------------------------------------- steps -- */

/* Begin the operation of the state; a read begins with its sync. */
static void resume(struct hf_zk_retry_delete *del,
                   struct hf_zk_retry_step *step)
{
    if (del->state != DELETE_DELETING) {
        del->state = DELETE_SYNCING;
        hf_zk_retry_do(step, HF_ZOOKEEPER_SYNC, del->path);
        return;
    }
    hf_zk_retry_do(step, HF_ZOOKEEPER_DELETE, del->path);
    step->op.version = del->version;
}

/* End with .result, which is HF_OK unless fail() has set it. */
static void succeed(struct hf_zk_retry_delete *del,
                    struct hf_zk_retry_step *step)
{
    hf_zk_retry_end(step, del->result);
    del->result = NULL;
}

static void fail(struct hf_zk_retry_delete *del, hf_status status,
                 const char *text, struct hf_zk_retry_step *step)
{
    hf_zk_op_end(del->result, status, "%s", text);
    succeed(del, step);
}

/* The read shows that the node exists, with ${stat}: delete it, or fail. */
static void found(struct hf_zk_retry_delete *del, bool user_waits,
                  const struct hf_zookeeper_stat *stat,
                  struct hf_zk_retry_step *step)
{
    char text[HF_ERROR_TEXT_BYTES];

    /* No delete was carried out before this read, so this node is the one to
     * delete.  If the user's call has ended, it may also be a new node; this
     * can be recognised only if a transaction was known when the call was
     * made. */
    if (!del->was_unsure && (user_waits || del->known_zxid == 0))
        del->known_zxid = stat->czxid;
    if (stat->czxid > del->known_zxid) {
        (void)snprintf(text, sizeof text,
                       "%.200s: the delete had to be repeated, and the node "
                       "that is there now may be another one; read it to know",
                       del->path);
        fail(del, HF_EUNSURE, text, step);
    } else if (del->version >= 0 && stat->version != del->version) {
        (void)snprintf(text, sizeof text,
                       "%.200s: the version is %d; expected version %d",
                       del->path, (int)stat->version, (int)del->version);
        fail(del, HF_EVERSION, text, step);
    } else {
        del->unsure = false;
        del->state = DELETE_DELETING;
        resume(del, step);
    }
}

/* The delete was answered or has failed.  If an earlier answer was lost and the
 * delete finds no node, that is a success: the node is gone. */
static void deleted(struct hf_zk_retry_delete *del,
                    struct hf_zk_retry_event *event,
                    struct hf_zk_retry_step *step)
{
    hf_status status = event->result->status;
    enum hf_zk_retry_answer answer = hf_zk_retry_answer(event->result);
    bool unsent = answer == HF_ZK_RETRY_AGAIN || status == HF_EUNREACHABLE ||
                  status == HF_EREADONLY || status == HF_ETIMEDOUT;

    if (answer == HF_ZK_RETRY_UNSURE)
        del->was_unsure = del->unsure = true;
    if (del->unsure || unsent) {
        del->state = DELETE_SYNCING;
        hf_zk_retry_pause(&del->attempts, step);
    } else if (status == HF_EGONE && del->was_unsure) {
        succeed(del, step);
    } else {
        hf_zk_retry_end(step, event->result);
        event->result = NULL;
    }
}

/* The sync, or the read behind it, was answered or has failed. */
static void looked(struct hf_zk_retry_delete *del,
                   struct hf_zk_retry_event *event,
                   struct hf_zk_retry_step *step)
{
    const struct hf_zookeeper_result *result = event->result;
    bool gone = del->state == DELETE_READING && result->status == HF_EGONE;
    bool refused = result->status == HF_EDENIED ||
                   result->status == HF_ECANCELLED ||
                   result->status == HF_ECLOSED;

    if (gone && del->was_unsure) {
        succeed(del, step);
    } else if (gone) {
        hf_zk_retry_end(step, event->result);
        event->result = NULL;
    } else if (refused) {
        fail(del, del->unsure ? HF_EUNSURE : result->status, result->text,
             step);
    } else if (result->status != HF_OK) {
        hf_zk_retry_pause(&del->attempts, step);
    } else if (del->state == DELETE_SYNCING) {
        del->state = DELETE_READING;
        hf_zk_retry_do(step, HF_ZOOKEEPER_EXISTS, del->path);
    } else {
        found(del, event->user_waits, &result->stat, step);
    }
}

static void next(void *machine, const struct hf_zk_retry_event *given,
                 struct hf_zk_retry_step *step)
{
    struct hf_zk_retry_delete *del = machine;
    struct hf_zk_retry_event event = *given;

    assert(event.kind != HF_ZK_RETRY_REPLIED);
    if (event.kind == HF_ZK_RETRY_STOPPED) {
        fail(del, del->unsure ? HF_EUNSURE : event.status, event.text, step);
        return;
    }
    if (event.kind == HF_ZK_RETRY_BEGIN)
        del->known_zxid = event.zxid;
    if (event.kind != HF_ZK_RETRY_ANSWERED) {
        resume(del, step);
        return;
    }
    if (del->state == DELETE_DELETING)
        deleted(del, &event, step);
    else
        looked(del, &event, step);
    hf_zookeeper_result_free(event.result);
}

const struct hf_zk_retry_ops hf_zk_retry_delete_ops = {next, free_delete};
