/* SPDX-License-Identifier: Apache-2.0 */
#include "zookeeper_retry/retry_update.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "zookeeper/op_codec.h"

enum update_state {
    UPDATE_READING,
    UPDATE_WRITING, /* writes .new_data if the node has the version in .now */
    UPDATE_SYNCING, /* before UPDATE_LOOKING */
    UPDATE_LOOKING, /* reads the node to see whether the write was carried
                       out */
};

struct hf_zk_retry_update {
    enum update_state state;
    struct hf_zk_retry_attempts attempts;
    struct hf_zookeeper_result *now; /* the result of the read; NULL while the
                                        user has it */
    struct hf_zookeeper_new_data new_data;
    bool was_unsure; /* a write of .new_data was not answered */
    struct hf_zookeeper_result *failed; /* for an end without an answer */
    char path[];
};

struct hf_zk_retry_update *
hf_zk_retry_update_new(const char *path, const struct hf_random *random)
{
    size_t bytes = strlen(path) + 1;
    struct hf_zk_retry_update *update = hf_alloc(sizeof *update + bytes);

    if (update == NULL)
        return NULL;
    if ((update->failed = hf_zk_op_reserve()) == NULL) {
        hf_free(update);
        return NULL;
    }
    update->attempts.random = *random;
    memcpy(update->path, path, bytes);
    return update;
}

static void free_update(void *machine)
{
    struct hf_zk_retry_update *update = machine;

    hf_zookeeper_result_free(update->now);
    hf_zookeeper_result_free(update->failed);
    hf_free(update);
}

struct hf_zookeeper_result *
hf_zk_retry_update_take(struct hf_zk_retry_update *update)
{
    struct hf_zookeeper_result *now = update->now;

    update->now = NULL;
    return now;
}

void hf_zk_retry_update_set(struct hf_zk_retry_update *update,
                            struct hf_zookeeper_result *now,
                            const struct hf_zookeeper_new_data *new_data)
{
    update->now = now;
    update->new_data = *new_data;
}

/* ----------------------------------------------------------------- steps -- */

/* End with ${status}, or HF_EUNSURE if a write may have been carried out, or
 * will be. */
static void fail(struct hf_zk_retry_update *update, hf_status status,
                 const char *text, struct hf_zk_retry_step *step)
{
    hf_zk_op_end(update->failed, update->was_unsure ? HF_EUNSURE : status,
                 "%.300s%s", text,
                 update->was_unsure
                     ? "; the update may have been carried out, or will be"
                     : "");
    hf_zk_retry_end(step, update->failed);
    update->failed = NULL;
}

/* Begin the operation of the state; UPDATE_LOOKING begins with its sync. */
static void resume(struct hf_zk_retry_update *update,
                   struct hf_zk_retry_step *step)
{
    switch (update->state) {
    case UPDATE_READING:
        hf_zk_retry_do(step, HF_ZOOKEEPER_GET, update->path);
        break;
    case UPDATE_WRITING:
        hf_zk_retry_do(step, HF_ZOOKEEPER_SET, update->path);
        step->op.data = update->new_data.data;
        step->op.bytes = update->new_data.bytes;
        step->op.version = update->now->stat.version;
        break;
    default:
        update->state = UPDATE_SYNCING;
        hf_zk_retry_do(step, HF_ZOOKEEPER_SYNC, update->path);
    }
}

/* Go to ${state} after a pause.  After too many attempts end as ${result}
 * says. */
static void repeat(struct hf_zk_retry_update *update, enum update_state state,
                   const struct hf_zookeeper_result *result,
                   struct hf_zk_retry_step *step)
{
    bool read = result->status == HF_OK; /* ${result} is a read after a lost
                                            answer */

    update->state = state;
    if (update->attempts.count >= HF_ZK_RETRY_ATTEMPTS_MAX)
        fail(update, read ? HF_EUNSURE : result->status,
             read ? "the answers were lost" : result->text, step);
    else
        hf_zk_retry_pause(&update->attempts, step);
}

/* Store .result of ${event}, a read, in .now, and ask the user what to
 * write. */
static void ask(struct hf_zk_retry_update *update,
                struct hf_zk_retry_event *event, struct hf_zk_retry_step *step)
{
    hf_zookeeper_result_free(update->now);
    update->now = event->result;
    event->result = NULL;
    update->was_unsure = false;
    update->state = UPDATE_WRITING;
    step->kind = HF_ZK_RETRY_ASK;
}

/* End with .result of ${event}. */
static void end(struct hf_zk_retry_event *event, struct hf_zk_retry_step *step)
{
    hf_zk_retry_end(step, event->result);
    event->result = NULL;
}

/* --------------------------------------------------------------- answers -- */

/* The read was answered or has failed. */
static void read_answered(struct hf_zk_retry_update *update,
                          struct hf_zk_retry_event *event,
                          struct hf_zk_retry_step *step)
{
    if (event->result->status == HF_OK)
        ask(update, event, step);
    else if (hf_zk_retry_answer(event->result) == HF_ZK_RETRY_AGAIN)
        repeat(update, UPDATE_READING, event->result, step);
    else
        end(event, step);
}

/* The write was answered or has failed.  If an earlier answer was lost, a wrong
 * version may come from our own earlier write. */
static void written(struct hf_zk_retry_update *update,
                    struct hf_zk_retry_event *event,
                    struct hf_zk_retry_step *step)
{
    const struct hf_zookeeper_result *result = event->result;
    enum hf_zk_retry_answer answer = hf_zk_retry_answer(result);
    bool other_version = result->status == HF_EVERSION;

    if (answer == HF_ZK_RETRY_UNSURE || (other_version && update->was_unsure)) {
        update->was_unsure = true;
        update->state = UPDATE_SYNCING;
        resume(update, step);
    } else if (answer == HF_ZK_RETRY_AGAIN) {
        repeat(update, UPDATE_WRITING, result, step);
    } else if (other_version) {
        repeat(update, UPDATE_READING, result, step);
    } else if (result->status == HF_OK) {
        end(event, step);
    } else {
        fail(update, result->status, result->text, step);
    }
}

/* The node was read after a write whose answer was lost: compare the node with
 * what was there before the write, and with what was to be written. */
static void compare(struct hf_zk_retry_update *update,
                    struct hf_zk_retry_event *event,
                    struct hf_zk_retry_step *step)
{
    const struct hf_zookeeper_result *read = event->result;
    const struct hf_zookeeper_new_data *ours = &update->new_data;
    const struct hf_zookeeper_stat *then = &update->now->stat;
    bool same_node = read->stat.czxid == then->czxid;
    bool next = same_node && read->stat.version == then->version + 1;
    bool same = hf_zk_retry_same_data(read, ours->data, ours->bytes);

    if (same_node && read->stat.version == then->version)
        repeat(update, UPDATE_WRITING, read, step);
    else if (next && !same)
        ask(update, event, step);
    else if (next && ours->unique)
        end(event, step);
    else
        fail(update, HF_EUNSURE,
             "the answer was lost, and the node does not show whose write it "
             "has",
             step);
}

/* The sync after a write whose answer was lost, or the read after the sync, was
 * answered or has failed. */
static void looked(struct hf_zk_retry_update *update,
                   struct hf_zk_retry_event *event,
                   struct hf_zk_retry_step *step)
{
    const struct hf_zookeeper_result *result = event->result;

    if (hf_zk_retry_answer(result) == HF_ZK_RETRY_AGAIN ||
        result->status == HF_EREADONLY) {
        repeat(update, UPDATE_SYNCING, result, step);
    } else if (result->status != HF_OK) {
        fail(update, result->status, result->text, step);
    } else if (update->state == UPDATE_SYNCING) {
        update->state = UPDATE_LOOKING;
        hf_zk_retry_do(step, HF_ZOOKEEPER_GET, update->path);
    } else {
        compare(update, event, step);
    }
}

static void answered(struct hf_zk_retry_update *update,
                     struct hf_zk_retry_event *event,
                     struct hf_zk_retry_step *step)
{
    if (update->state == UPDATE_READING)
        read_answered(update, event, step);
    else if (update->state == UPDATE_WRITING)
        written(update, event, step);
    else
        looked(update, event, step);
    hf_zookeeper_result_free(event->result);
}

/* The user's function has returned ${status}: write its data, or end. */
static void replied(struct hf_zk_retry_update *update, hf_status status,
                    struct hf_zk_retry_step *step)
{
    char text[HF_ERROR_TEXT_BYTES];

    if (status == HF_OK) {
        resume(update, step);
        return;
    }
    (void)snprintf(text, sizeof text,
                   "%.200s: the function of the update returned %s",
                   update->path, hf_status_name(status));
    fail(update, status, text, step);
}

static void next(void *machine, const struct hf_zk_retry_event *given,
                 struct hf_zk_retry_step *step)
{
    struct hf_zk_retry_update *update = machine;
    struct hf_zk_retry_event event = *given;

    if (event.kind == HF_ZK_RETRY_ANSWERED)
        answered(update, &event, step);
    else if (event.kind == HF_ZK_RETRY_STOPPED)
        fail(update, event.status, event.text, step);
    else if (event.kind == HF_ZK_RETRY_REPLIED)
        replied(update, event.status, step);
    else
        resume(update, step);
}

const struct hf_zk_retry_ops hf_zk_retry_update_ops = {next, free_update};
