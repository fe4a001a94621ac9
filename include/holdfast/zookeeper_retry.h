/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes to ZooKeeper that are repeated where the servers show what happened.
 *
 *     struct hf_zookeeper_op op = {.kind = HF_ZOOKEEPER_CREATE,
 *                                  .path = "/app/queue/job-",
 *                                  .data = job, .bytes = job_bytes,
 *                                  .mode = HF_ZOOKEEPER_SEQUENTIAL};
 *
 *     status = hf_zookeeper_create_protected(zookeeper, &op,
 *                                            HF_ZOOKEEPER_PARENTS, 10000,
 *                                            &result);
 *
 * A plain write of <holdfast/zookeeper.h> is never repeated: if its answer is
 * lost it ends with HF_EUNSURE.  These calls look then, behind a sync, and go
 * on: they repeat the write where it was not carried out, and end well where it
 * was.  They end with HF_EUNSURE only where the servers cannot show which.
 *
 * What <holdfast/zookeeper.h> says of waiting, ownership, callbacks and results
 * holds here, too.  Besides that:
 *
 * Waiting    ${wait_ms} is for all steps together.  0: nothing is repeated that
 *            would have to wait for a connection, or for a pause; a guaranteed
 *            delete goes on in the background.
 * Sessions   If the session ends meanwhile, a call goes on in the next one,
 *            where nothing else is said.
 * Unsure     If an answer is lost, and the time or the handle ends before
 *            a call has looked, it ends with HF_EUNSURE, where nothing else
 *            is said.
 * Cancel     hf_op_cancel() ends a call with HF_ECANCELLED, or HF_EUNSURE.
 * Bounds     A write is tried 30 times, with pauses from 10 ms to 1 s, if
 *            nothing shows its outcome, or if servers refuse it for the
 *            moment.  A handle keeps 1024 guaranteed deletes, and creates of
 *            sequential nodes and what has to be removed after them; another
 *            one fails with HF_ELIMIT, before it sends anything.
 * Close      hf_zookeeper_close() ends what goes on in the background.
 */
#ifndef HOLDFAST_ZOOKEEPER_RETRY_H
#define HOLDFAST_ZOOKEEPER_RETRY_H

#include <holdfast/zookeeper.h>

#ifdef __cplusplus
extern "C" {
#endif

/* --------------------------------------------------------------- create -- */

/* How a node is created; a sum of them. */
enum hf_zookeeper_create_flag {
    /* Create the nodes above it that are missing, with the access list of acl=
     * of the URL. */
    HF_ZOOKEEPER_PARENTS = 1,
    /* The same, as containers, which servers delete some time after their last
     * child; as persistent nodes, where the server does not know containers.
     * The node of the chroot is always a persistent one. */
    HF_ZOOKEEPER_CONTAINER_PARENTS = 2,
    /* No other call creates a node with these data: they prove who has created
     * it.  For a node that is neither sequential nor ephemeral. */
    HF_ZOOKEEPER_UNIQUE_DATA = 4
};

/**
 * hf_zookeeper_create_protected(zookeeper, op, flags, wait_ms, result),
 * hf_zookeeper_create_protected_start(zookeeper, op, flags, wait_ms, done,
 *                                     handle):
 * Create a node once, as ${op} says, a HF_ZOOKEEPER_CREATE of any mode.
 *
 * Sequential: "_c_", a random UUID and "-" are put in front of the name, as
 * Curator's protected mode does: /q/job- becomes
 * /q/_c_6ba7b810-9dad-41d1-80b4-00c04fd430c8-job-0000000007.  After a lost
 * answer the parent is searched for that name.  If it is not there, the create
 * is repeated with another UUID.  What the first one may still make is
 * remembered, and deleted in the background when it comes, which it can for one
 * session timeout.  An ephemeral node that was created by a session that has
 * ended since is deleted, too.  So any failure means that nothing stays, with
 * two exceptions, where a lost answer is HF_EUNSURE: the handle is closed, or
 * the parent cannot be listed.
 *
 * Ephemeral: a node of this session that is newer than the call is the one that
 * was created.  One of the session that ${zookeeper} had before is waited for,
 * because servers delete it within about one session timeout.  Deleting it here
 * could delete another program's node.
 *
 * Any other: after a lost answer, a node that is older than the call, or
 * ephemeral, or that was created with other data, is another program's:
 * HF_EEXISTS.  Otherwise it is the one that was created if
 * HF_ZOOKEEPER_UNIQUE_DATA says so, and else HF_EUNSURE.  HF_EUNSURE too if the
 * session ended and no node is there, because it may come yet.
 *
 *   Ownership ${op} is not needed after the call.
 *   Callback  ${done}, once.
 *   Result    .path and .stat of the node.
 *   Fails     as hf_zookeeper_create(); HF_EINVAL if ${op} is no CREATE, or has
 *             a watch, or ${flags} do not go with its mode; HF_EUNSURE.
 */
HF_API hf_status hf_zookeeper_create_protected(
    struct hf_zookeeper *zookeeper, const struct hf_zookeeper_op *op,
    unsigned flags, uint64_t wait_ms, struct hf_zookeeper_result **result)
    HF_NONNULL(1, 2);
HF_API hf_status hf_zookeeper_create_protected_start(
    struct hf_zookeeper *zookeeper, const struct hf_zookeeper_op *op,
    unsigned flags, uint64_t wait_ms, struct hf_zookeeper_done done,
    struct hf_op **handle) HF_NONNULL(1, 2) HF_MUST_CHECK;

/* --------------------------------------------------------------- delete -- */

/**
 * hf_zookeeper_delete_guaranteed(zookeeper, path, version, wait_ms),
 * hf_zookeeper_delete_guaranteed_start(zookeeper, path, version, wait_ms, done,
 *                                      handle):
 * Delete the node ${path}, if the version of its data is ${version}, until it
 * is known to be gone.  After a lost answer a node that is gone is HF_OK, even
 * if another program has deleted it.
 *
 * When ${wait_ms} is over, the call ends with HF_ETIMEDOUT and the delete goes
 * on in the background: until the node is gone or of another version, the
 * servers refuse to delete it, ${zookeeper} is closed, or the call is
 * cancelled.  So HF_ETIMEDOUT means: it will be gone, if the process lives.
 *
 * A delete is sent behind a read if it has to be repeated, or goes on in the
 * background.  If the node was created after the last transaction that
 * ${zookeeper} knew of when the call was made, it may be a new one with that
 * path: it is left alone, and the call ends with HF_EUNSURE.  As long as no
 * answer was lost and the caller waits, the node that is there is the one that
 * is deleted.
 *
 *   Fails     HF_EGONE if it was not there before; HF_EVERSION;
 *             HF_ENOTEMPTY if it has children; HF_EDENIED; HF_ETIMEDOUT;
 *             HF_EUNSURE.
 */
HF_API hf_status hf_zookeeper_delete_guaranteed(struct hf_zookeeper *zookeeper,
                                                const char *path,
                                                int32_t version,
                                                uint64_t wait_ms)
    HF_NONNULL(1, 2);
HF_API hf_status hf_zookeeper_delete_guaranteed_start(
    struct hf_zookeeper *zookeeper, const char *path, int32_t version,
    uint64_t wait_ms, struct hf_zookeeper_done done, struct hf_op **handle)
    HF_NONNULL(1, 2) HF_MUST_CHECK;

/* --------------------------------------------------------------- update -- */

/* What the function of an update sets: the new data. */
struct hf_zookeeper_new_data {
    const void *data; /* NULL: null */
    size_t bytes;
    /* No other call writes these data, ever: they prove who has written. */
    bool unique;
};

/* A function that makes new data of old ones. */
struct hf_zookeeper_change {
    /* Set ${new_data} to what shall replace .data of ${now}, which is valid
     * until it returns.  The new data must stay valid until it is called again,
     * or .drop is.  HF_OK, or the status with which the update is to end
     * without a write. */
    hf_status (*fn)(void *arg, const struct hf_zookeeper_result *now,
                    struct hf_zookeeper_new_data *new_data);
    void *arg;
    void (*drop)(void *arg);
};

/**
 * hf_zookeeper_update(zookeeper, path, change, wait_ms, result),
 * hf_zookeeper_update_start(zookeeper, path, change, wait_ms, done, handle):
 * Read the node ${path}, have ${change} make new data of the old ones, and
 * write these if the node still has the version that was read.  If it has not,
 * all of that again.
 *
 * After a lost answer the node is read.  If it still has the version that was
 * read before, the write is repeated.  If it has the next one with other data,
 * the write was not carried out and cannot be any more, and ${change} is called
 * again.  If it has the next one with the data that were to be written, it was
 * this call or another program that wrote the same: the call ends with HF_OK if
 * the data are .unique, and else with HF_EUNSURE.  With any later version, and
 * if the node was deleted, HF_EUNSURE.
 *
 * So of many programs that count a number up with this call, none counts twice
 * and none is forgotten, as long as none ends with HF_EUNSURE.
 *
 *   Callback  ${change}->fn, any number of times, with no lock held: on this
 *             thread if the call waits, where it may make calls that wait; else
 *             where callbacks run.  .drop once, when the call has ended, or has
 *             failed.  Then ${done}.
 *   Result    .stat after the write.
 *   Fails     HF_EGONE if there is no node; HF_EVERSION if other programs were
 *             faster 30 times in a row; what ${change}->fn returned;
 *             HF_EUNSURE; HF_EDENIED.
 */
HF_API hf_status hf_zookeeper_update(struct hf_zookeeper *zookeeper,
                                     const char *path,
                                     struct hf_zookeeper_change change,
                                     uint64_t wait_ms,
                                     struct hf_zookeeper_result **result)
    HF_NONNULL(1, 2);
HF_API hf_status hf_zookeeper_update_start(struct hf_zookeeper *zookeeper,
                                           const char *path,
                                           struct hf_zookeeper_change change,
                                           uint64_t wait_ms,
                                           struct hf_zookeeper_done done,
                                           struct hf_op **handle)
    HF_NONNULL(1, 2) HF_MUST_CHECK;

#ifdef __cplusplus
}
#endif

#endif
