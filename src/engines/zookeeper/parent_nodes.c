/* SPDX-License-Identifier: Apache-2.0 */
/* A path is walked by its components; positions are offsets in .path of the
 * queue.  Levels count from 1 for the first node below the chroot. */
#include "engines/zookeeper/parent_nodes.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "engines/zookeeper/zk_request.h"

/* A number of 32 bits and a NUL. */
#define DATA_BYTES 11

/* Containers are deleted by the server when they are empty.  Programs that use
 * the other layouts make persistent parents and rely on them: kazoo checks for
 * the parent only once. */
static bool makes_containers(const struct hf_zk_engine *zk)
{
    return !zk->containers_unsupported && zk->config.layout == HF_ZK_CURATOR;
}

/* The data of the parent at the first ${bytes} of the queue's path.  For the
 * node of a kazoo semaphore that is the number of permits.  kazoo itself writes
 * it a moment after the create, so a client that comes in between does not see
 * it. */
static const char *parent_data(const struct hf_zk_engine_request *req,
                               size_t bytes, char text[DATA_BYTES])
{
    uint32_t permits = req->request->limit;

    if (!req->queue->permits || req->queue->path[bytes] != '\0' || permits == 0)
        return "";
    snprintf(text, DATA_BYTES, "%" PRIu32, permits);
    return text;
}

/* The end of the component after the first ${bytes} of ${path}. */
static size_t next_component_end(const char *path, size_t bytes)
{
    return bytes + 1 + strcspn(path + bytes + 1, "/");
}

/* How many parents there are below the chroot.  The chroot itself is never
 * created. */
static size_t count_parents(const struct hf_zk_engine *zk,
                            struct hf_zk_engine_request *req)
{
    const struct hf_zk_engine_creation *creation =
        hf_zk_engine_request_creation(req);
    size_t count = 0;

    for (size_t at = strlen(zk->config.url.chroot);
         at < creation->parents_bytes; count++)
        at = next_component_end(req->queue->path, at);
    return count;
}

/* The answer to the create of a parent.  What counts is the error of the
 * deepest level that did not answer NoNode, because NoNode only says that the
 * level above is missing. */
static void parent_answered(void *user, struct hf_zk_call *call,
                            const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    struct hf_zk_engine_request *req = call->owner;
    struct hf_zk_engine_creation *creation = hf_zk_engine_request_creation(req);
    size_t level = (size_t)(call - creation->parent_calls) + 1;

    if (reply->error != HF_ZK_NO_NODE && level > creation->parent_level) {
        creation->parent_level = level;
        creation->parent_error = reply->error;
    }
    /* A server that knows no containers, and may close the connection now. */
    if (reply->error == HF_ZK_UNIMPLEMENTED &&
        creation->parents == HF_ZK_PARENTS_CONTAINERS)
        zk->containers_unsupported = true;
    hf_zk_engine_request_answered(zk, req);
}

/* Send the create of the parent at the first ${bytes} of the path. */
static void send_parent(struct hf_zk_engine *zk,
                        struct hf_zk_engine_request *req,
                        struct hf_zk_call *call, size_t bytes)
{
    char text[DATA_BYTES];
    bool container =
        hf_zk_engine_request_creation(req)->parents == HF_ZK_PARENTS_CONTAINERS;

    call->answered = parent_answered;
    call->user = zk;
    call->owner = req;
    req->pending++;
    snprintf(zk->path, sizeof zk->path, "%.*s", (int)bytes, req->queue->path);
    hf_zk_send_create(&zk->session, call,
                      container ? HF_ZK_CREATE_CONTAINER : HF_ZK_CREATE,
                      zk->path, parent_data(req, bytes, text),
                      container ? HF_ZK_CONTAINER : HF_ZK_PERSISTENT);
}

/* Nothing is sent unless the first create has failed for a missing parent. */
bool hf_zk_engine_create_parents(struct hf_zk_engine *zk,
                                 struct hf_zk_engine_request *req, size_t bytes)
{
    struct hf_zk_engine_creation *creation = hf_zk_engine_request_creation(req);
    size_t at = strlen(zk->config.url.chroot);
    size_t count;

    creation->parents_bytes = bytes;
    creation->parent_level = 0;
    if (creation->parents == HF_ZK_PARENTS_ASSUMED)
        return true;
    count = count_parents(zk, req);
    if (creation->parent_calls == NULL)
        creation->parent_calls = hf_alloc(count * sizeof(struct hf_zk_call));
    if (creation->parent_calls == NULL) {
        hf_zk_engine_fail_memory(zk, hf_zk_engine_request_end(zk, req));
        return false;
    }
    for (size_t nth = 0; nth < count; nth++) {
        at = next_component_end(req->queue->path, at);
        send_parent(zk, req, &creation->parent_calls[nth], at);
    }
    return true;
}

/* Do all parents exist, as far as the answers show? */
static bool parents_exist(const struct hf_zk_engine_creation *creation)
{
    return creation->parent_level > 0 &&
           (creation->parent_error == HF_ZK_OK ||
            creation->parent_error == HF_ZK_NODE_EXISTS);
}

/* Repeat the step once, to send the parents.  Repeat it again if the parents
 * exist but the node still lacks one, because a container may have been deleted
 * in between; or if the server knows no containers. */
bool hf_zk_engine_retry_with_parents(struct hf_zk_engine *zk,
                                     struct hf_zk_engine_request *req)
{
    struct hf_zk_engine_creation *creation = hf_zk_engine_request_creation(req);
    bool retry = creation->parents == HF_ZK_PARENTS_ASSUMED ||
                 parents_exist(creation) ||
                 (creation->parent_error == HF_ZK_UNIMPLEMENTED &&
                  creation->parents == HF_ZK_PARENTS_CONTAINERS);

    if (req->error != HF_ZK_NO_NODE || req->attempts >= HF_ZK_ATTEMPTS_MAX ||
        !hf_zk_session_usable(&zk->session) || count_parents(zk, req) == 0)
        return false;
    creation->parents = makes_containers(zk) ? HF_ZK_PARENTS_CONTAINERS
                                             : HF_ZK_PARENTS_PERSISTENT;
    return retry;
}

/* Fail because the chroot of the URL does not exist. */
static void fail_no_chroot(struct hf_zk_engine *zk,
                           struct hf_zk_engine_request *req)
{
    hf_zk_engine_fail(
        zk, hf_zk_engine_request_end(zk, req), HF_FAILURE_FATAL, HF_EDIR,
        "the node %s, which the URL has for a root, does not exist; "
        "create it (holdfast zk create), or correct the URL",
        zk->config.url.chroot);
}

/* Fail with what kept a parent from being created. */
static void fail_parent(struct hf_zk_engine *zk,
                        struct hf_zk_engine_request *req)
{
    const struct hf_zk_engine_creation *creation =
        hf_zk_engine_request_creation(req);
    size_t bytes = strlen(zk->config.url.chroot);

    for (size_t level = 0; level < creation->parent_level; level++)
        bytes = next_component_end(req->queue->path, bytes);
    snprintf(zk->path, sizeof zk->path, "%.*s", (int)bytes, req->queue->path);
    hf_zk_engine_request_fail(zk, req, creation->parent_error, "create",
                              zk->path);
}

/* If a parent could not be created, its error says more than the node's. */
void hf_zk_engine_fail_create(struct hf_zk_engine *zk,
                              struct hf_zk_engine_request *req,
                              const char *what, const char *path)
{
    const struct hf_zk_engine_creation *creation =
        hf_zk_engine_request_creation(req);
    bool tried = creation->parents != HF_ZK_PARENTS_ASSUMED ||
                 count_parents(zk, req) == 0;

    if (req->error != HF_ZK_NO_NODE || !tried || parents_exist(creation))
        hf_zk_engine_request_fail(zk, req, req->error, what, path);
    else if (creation->parent_level == 0)
        fail_no_chroot(zk, req);
    else
        fail_parent(zk, req);
}

/* ------------------------------------------------ the end of its counter -- */

/* From this number on the node of an empty queue is deleted with its last
 * ticket, so that the counter starts again long before it ends.  Containers go
 * by themselves, but only after a minute without tickets. */
#define COUNTER_HIGH (INT32_C(1) << 30)

/* The answer to the delete of the queue's node is ignored, because the server
 * refuses it while there are children. */
static void parent_deleted(void *user, struct hf_zk_call *call,
                           const struct hf_zk_reply *reply)
{
    struct hf_zk_engine *zk = user;
    (void)reply;
    hf_zk_engine_request_answered(zk, call->owner);
}

void hf_zk_engine_delete_parent(struct hf_zk_engine *zk,
                                struct hf_zk_engine_request *req,
                                int32_t sequence)
{
    if (req->request->kind == HF_REQUEST_REMOVE &&
        (sequence < 0 || sequence >= COUNTER_HIGH))
        hf_zk_send_delete(&zk->session,
                          hf_zk_engine_request_call(req, parent_deleted),
                          req->queue->path);
}

/* ---------------------------------------------------- right to delete -- */

/* The name of the node of the trial begins with this, which begins no ticket's
 * name in any dialect (node_name.h). */
#define TRIAL_PREFIX "holdfast-rights-"

/* The digest of ${path}, by which the table is indexed.  An entry of the table
 * keeps the last digest that belongs there.
 *
 * The digest is never 0, which means an empty entry.  If two paths have the
 * same digest, the right is not tried for one of them; nothing else is wrong
 * then. */
static uint64_t digest_of(const char *path)
{
    uint64_t digest = hf_hash64(path, strlen(path));

    return digest != 0 ? digest : 1;
}

bool hf_zk_engine_delete_right_known(const struct hf_zk_engine *zk,
                                     const char *parent)
{
    uint64_t digest = digest_of(parent);

    return zk->delete_rights.digests[digest % HF_ZK_DELETE_RIGHTS] == digest;
}

void hf_zk_engine_delete_right_note(struct hf_zk_engine *zk, const char *parent)
{
    uint64_t digest = digest_of(parent);

    zk->delete_rights.digests[digest % HF_ZK_DELETE_RIGHTS] = digest;
}

void hf_zk_engine_delete_right_forget(struct hf_zk_engine *zk,
                                      const char *parent)
{
    if (hf_zk_engine_delete_right_known(zk, parent))
        zk->delete_rights.digests[digest_of(parent) % HF_ZK_DELETE_RIGHTS] = 0;
}

void hf_zk_engine_delete_rights_clear(struct hf_zk_engine *zk)
{
    zk->delete_rights = (struct hf_zk_engine_delete_rights){0};
}

/* The node is ephemeral, as tickets are, so the server applies the same rules
 * to it (quotas, local sessions). */
void hf_zk_engine_multi_try_delete(struct hf_zk_engine *zk,
                                   const struct hf_zk_engine_queue *queue,
                                   const struct hf_ticket_id *ticket)
{
    char name[sizeof TRIAL_PREFIX + HF_TICKET_ID_TEXT_BYTES];
    const char *path;

    (void)snprintf(name, sizeof name, "%s", TRIAL_PREFIX);
    hf_ticket_id_format(ticket, name + sizeof TRIAL_PREFIX - 1);
    path = hf_zk_engine_child_path(zk, queue, name);
    hf_zk_multi_create(&zk->session, path, "", HF_ZK_EPHEMERAL);
    hf_zk_multi_delete(&zk->session, path, HF_ZK_ANY_VERSION);
}
