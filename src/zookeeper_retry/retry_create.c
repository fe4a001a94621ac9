/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a create says which operation is under way, or follows the pause
 * that is under way. */
#include "zookeeper_retry/retry_create.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "base/uuid.h"
#include "zookeeper/op_codec.h"
#include "zookeeper_retry/retry_parents.h"
#include "zookeeper_retry/retry_removal.h"

/* The length of "_c_", a UUID and "-". */
#define PROTECTION_BYTES (3 + HF_UUID_TEXT_BYTES - 1 + 1)

/* The pause between two reads of a node of an earlier session, while waiting
 * until it is gone. */
#define LEFT_NODE_PAUSE_MS 200

#define KNOWN_FLAGS                                                            \
    (HF_ZOOKEEPER_PARENTS | HF_ZOOKEEPER_CONTAINER_PARENTS |                   \
     HF_ZOOKEEPER_UNIQUE_DATA)

enum create_state {
    CREATE_CREATING,
    CREATE_MAKING_PARENTS,
    CREATE_SYNCING, /* before CREATE_LISTING or CREATE_READING */
    CREATE_LISTING, /* lists the children of the parent, to find a sequential
                       node */
    CREATE_READING, /* reads the node: its Stat, or its data, too */
};

struct hf_zk_retry_create {
    enum create_state state;
    struct hf_zookeeper_op op; /* .path is that of the user */
    unsigned flags;
    struct hf_zk_retry_attempts attempts;
    struct hf_zk_retry_parents parents;
    size_t parent_bytes; /* the parent is this many bytes of .op.path; 0: "/" */
    char *path;          /* the path as it is sent; with an id if the node is
                            sequential */
    char *parent;        /* the path of the parent */
    char *node;          /* the path of the sequential node that was found */
    size_t node_bytes;   /* the size of .node */
    /* The answer to a create was lost.  Stays set, unlike .unsure. */
    bool was_unsure;
    bool unsure;            /* the answer was lost, and no read has shown the
                               outcome since */
    int64_t unsure_session; /* the session in which that create was sent */
    int64_t known_zxid; /* the last transaction that was known before the first
                           create whose answer was lost */
    uint64_t left_until_ms; /* how long to wait until a node of an earlier
                               session is gone; 0: no such node was seen */
    struct hf_zookeeper_result *failed; /* allocated in advance, for an end
                                           without an answer */
    struct hf_zookeeper_result *found;  /* allocated in advance, for a node that
                                           was found */
};

/* --------------------------------------------------------------- memory -- */

static bool is_ephemeral(const struct hf_zk_retry_create *create)
{
    return create->op.mode == HF_ZOOKEEPER_EPHEMERAL ||
           create->op.mode == HF_ZOOKEEPER_EPHEMERAL_SEQUENTIAL;
}

static bool is_sequential(const struct hf_zk_retry_create *create)
{
    return hf_zk_op_is_sequential(&create->op);
}

/* The bytes of the access list, with its texts. */
static size_t acl_bytes(const struct hf_zookeeper_op *op)
{
    size_t bytes = op->acl_count * sizeof *op->acls;

    for (size_t i = 0; i < op->acl_count; i++)
        bytes += strlen(op->acls[i].scheme) + strlen(op->acls[i].id) + 2;
    return bytes;
}

/* Copy ${text} to ${*end}, and move ${*end} behind the copy.  Returns the
 * copy. */
static char *put_text(char **end, const char *text)
{
    char *copy = *end;

    *end = stpcpy(copy, text) + 1;
    return copy;
}

/* Copy the access list of ${op} to ${acls}, and its texts to ${end}. */
static void copy_acls(struct hf_zookeeper_op *op, struct hf_zookeeper_acl *acls,
                      char **end)
{
    for (size_t i = 0; i < op->acl_count; i++) {
        acls[i].permissions = op->acls[i].permissions;
        acls[i].scheme = put_text(end, op->acls[i].scheme);
        acls[i].id = put_text(end, op->acls[i].id);
    }
    if (op->acls != NULL)
        op->acls = acls;
}

/* Return ${*end}, and move it by ${bytes}. */
static char *take(char **end, size_t bytes)
{
    char *taken = *end;

    *end += bytes;
    return taken;
}

/* Copy ${op} into the memory behind ${create}. */
static void copy_op(struct hf_zk_retry_create *create,
                    const struct hf_zookeeper_op *op, size_t path_bytes)
{
    struct hf_zookeeper_acl *acls = (struct hf_zookeeper_acl *)(create + 1);
    char *end = (char *)(acls + op->acl_count);

    create->op = *op;
    copy_acls(&create->op, acls, &end);
    create->op.path = put_text(&end, op->path);
    create->parent_bytes = (size_t)(strrchr(op->path, '/') - op->path);
    create->path = take(&end, path_bytes);
    create->parent = take(&end, create->parent_bytes + 2);
    create->parents.path = take(&end, create->parent_bytes + 2);
    create->node_bytes = path_bytes + HF_ZK_RETRY_DIGITS_BYTES;
    create->node = take(&end, create->node_bytes);
    if (op->bytes > 0)
        create->op.data = memcpy(end, op->data, op->bytes);
    else if (op->data != NULL)
        create->op.data = create; /* 0 bytes, but not null */
    strcpy(create->path, op->path);
    memcpy(create->parent, op->path,
           create->parent_bytes > 0 ? create->parent_bytes : 1);
}

static void free_create(void *machine)
{
    struct hf_zk_retry_create *create = machine;

    hf_zookeeper_result_free(create->failed);
    hf_zookeeper_result_free(create->found);
    hf_free(create);
}

/* Allocate the results with which the create may end, so that they cannot be
 * missing later.  False: no memory. */
static bool reserve_results(struct hf_zk_retry_create *create)
{
    create->failed = hf_zk_op_reserve();
    create->found = hf_alloc(sizeof *create->found + create->node_bytes);
    return create->failed != NULL && create->found != NULL;
}

struct hf_zk_retry_create *
hf_zk_retry_create_new(const struct hf_zookeeper_op *op, unsigned flags,
                       const struct hf_random *random)
{
    size_t given_bytes = strlen(op->path) + 1;
    size_t path_bytes = given_bytes + PROTECTION_BYTES;
    struct hf_zk_retry_create *create =
        hf_alloc(sizeof *create + acl_bytes(op) + op->bytes + 3 * given_bytes +
                 4 + 2 * path_bytes + HF_ZK_RETRY_DIGITS_BYTES);

    if (create == NULL)
        return NULL;
    copy_op(create, op, path_bytes);
    create->flags = flags;
    create->attempts.random = *random;
    create->parents.below = create->op.path;
    create->parents.bytes = create->parent_bytes;
    create->parents.containers = (flags & HF_ZOOKEEPER_CONTAINER_PARENTS) != 0;
    if (reserve_results(create))
        return create;
    free_create(create);
    return NULL;
}

hf_status hf_zk_retry_create_check(const struct hf_zookeeper_op *op,
                                   unsigned flags, struct hf_error *error)
{
    bool named =
        hf_zk_op_is_sequential(op) || op->mode == HF_ZOOKEEPER_EPHEMERAL;

    if (op->kind != HF_ZOOKEEPER_CREATE)
        return hf_error_set(error, HF_EINVAL,
                            "the kind of the operation is %d; expected %d, "
                            "which is HF_ZOOKEEPER_CREATE",
                            (int)op->kind, HF_ZOOKEEPER_CREATE);
    if ((flags & ~(unsigned)KNOWN_FLAGS) != 0)
        return hf_error_set(error, HF_EINVAL,
                            "the flags are %u; expected a sum of those of enum "
                            "hf_zookeeper_create_flag",
                            flags);
    if ((flags & HF_ZOOKEEPER_UNIQUE_DATA) != 0 && (named || op->bytes == 0))
        return hf_error_set(error, HF_EINVAL,
                            "HF_ZOOKEEPER_UNIQUE_DATA is set for a node %s; "
                            "expected it only where data show who has created "
                            "the node",
                            named ? "that is sequential or ephemeral"
                                  : "without data");
    return HF_OK;
}

/* ----------------------------------------------------------- what to do -- */

/* Send the create.  A sequential node gets a new id each time. */
static void send(struct hf_zk_retry_create *create,
                 const struct hf_zk_retry_event *event,
                 struct hf_zk_retry_step *step)
{
    char text[HF_UUID_TEXT_BYTES];
    uint8_t uuid[HF_UUID_BYTES];

    create->state = CREATE_CREATING;
    if (!create->was_unsure)
        create->known_zxid = event->zxid;
    step->kind = HF_ZK_RETRY_DO;
    step->op = create->op;
    step->op.path = create->path;
    if (!is_sequential(create))
        return;
    hf_uuid_random(uuid, &create->attempts.random);
    hf_uuid_format(uuid, text);
    (void)sprintf(create->path, "%.*s/_c_%s-%s", (int)create->parent_bytes,
                  create->op.path, text,
                  create->op.path + create->parent_bytes + 1);
    step->reserve_bytes = strlen(create->path);
}

static void look(struct hf_zk_retry_create *create,
                 struct hf_zk_retry_step *step)
{
    create->state = CREATE_SYNCING;
    hf_zk_retry_do(step, HF_ZOOKEEPER_SYNC, create->parent);
}

/* Have the driver delete the node that the last create has made, or may still
 * make.  ${looked}: a search has just shown that it does not exist. */
static void leave(struct hf_zk_retry_create *create,
                  const struct hf_zk_retry_event *event, bool looked,
                  struct hf_zk_retry_step *step)
{
    create->unsure = false;
    step->remains = (struct hf_zk_retry_remains){
        .path = create->path,
        .parent_bytes = create->parent_bytes,
        .looked = looked,
        .until_ms = hf_after_ms(event->now_ms, event->timeout_ms)};
}

/* End with ${status} and ${text}.  If the outcome of a create is not known: a
 * sequential node is left to a removal, which deletes it; otherwise the status
 * is HF_EUNSURE.  Nothing is removed after a close, nor if the parent cannot be
 * listed.  After the close of a handle that shares its session, even an
 * ephemeral node may stay. */
static void give_up(struct hf_zk_retry_create *create,
                    const struct hf_zk_retry_event *event, hf_status status,
                    const char *text, struct hf_zk_retry_step *step)
{
    const char *then = "";
    bool listed = status != HF_EDENIED && status != HF_ELIMIT;
    bool removes = is_sequential(create) && status != HF_ECLOSED && listed;

    if (create->unsure && removes) {
        leave(create, event, false, step);
        then = "; what it may have created is deleted in the background";
        if (status == HF_EUNSURE)
            status = HF_EUNREACHABLE;
    } else if (create->unsure) {
        then = "; it may have been created, or will be: read the node to know";
        status = HF_EUNSURE;
    }
    hf_zk_op_end(create->failed, status, "%.300s%s", text, then);
    hf_zk_retry_end(step, create->failed);
    create->failed = NULL;
}

/* Begin the operation of the state again after a pause.  After too many
 * attempts give up, with the status of ${result}. */
static void repeat(struct hf_zk_retry_create *create,
                   const struct hf_zk_retry_event *event,
                   const struct hf_zookeeper_result *result,
                   struct hf_zk_retry_step *step)
{
    if (create->attempts.count >= HF_ZK_RETRY_ATTEMPTS_MAX)
        give_up(create, event, result->status, result->text, step);
    else
        hf_zk_retry_pause(&create->attempts, step);
}

/* --------------------------------------------------------- a node or no -- */

/* End with success: the create has made the node ${path}, whose Stat is in
 * ${read}. */
static void succeed(struct hf_zk_retry_create *create, const char *path,
                    const struct hf_zookeeper_result *read,
                    struct hf_zk_retry_step *step)
{
    char *copy = (char *)(create->found + 1);

    *create->found = (struct hf_zookeeper_result){.text = "",
                                                  .zxid = read->zxid,
                                                  .path = strcpy(copy, path),
                                                  .has_stat = true,
                                                  .stat = read->stat};
    hf_zk_retry_end(step, create->found);
    create->found = NULL;
}

/* The search shows no node: create it again.  But a create that was sent in an
 * earlier session may still be carried out.  If its node would be persistent
 * and has no id in its name, end with HF_EUNSURE. */
static void absent(struct hf_zk_retry_create *create,
                   const struct hf_zk_retry_event *event,
                   struct hf_zk_retry_step *step)
{
    bool moved = create->unsure && create->unsure_session != event->session;

    if (moved && !is_sequential(create) && !is_ephemeral(create)) {
        give_up(create, event, HF_EUNSURE,
                "the session ended before the answer came", step);
        return;
    }
    if (create->unsure && is_sequential(create))
        leave(create, event, true, step);
    create->unsure = false;
    create->state = CREATE_CREATING;
    hf_zk_retry_pause(&create->attempts, step);
}

/* The node with our id exists: succeed.  But if it belongs to a session that
 * has ended, leave it to a removal and create another one. */
static void found_sequential(struct hf_zk_retry_create *create,
                             const struct hf_zk_retry_event *event,
                             struct hf_zk_retry_step *step)
{
    const struct hf_zookeeper_stat *stat = &event->result->stat;

    if (!is_ephemeral(create) || stat->ephemeral_owner == event->session) {
        succeed(create, create->node, event->result, step);
        return;
    }
    leave(create, event, false, step);
    create->state = CREATE_CREATING;
    hf_zk_retry_pause(&create->attempts, step);
}

/* End with HF_EEXISTS: the node is another program's, or an earlier one. */
static void exists(struct hf_zk_retry_create *create,
                   const struct hf_zk_retry_event *event,
                   struct hf_zk_retry_step *step)
{
    char text[HF_ERROR_TEXT_BYTES];

    create->unsure = false;
    (void)snprintf(text, sizeof text, "%.200s: the node is there already",
                   create->op.path);
    give_up(create, event, HF_EEXISTS, text, step);
}

/* Wait until servers delete the node of a session that has ended: for two
 * timeouts, then it counts as another program's. */
static void await_left(struct hf_zk_retry_create *create,
                       const struct hf_zk_retry_event *event,
                       struct hf_zk_retry_step *step)
{
    if (create->left_until_ms == 0)
        create->left_until_ms =
            hf_after_ms(event->now_ms, 2 * event->timeout_ms);
    if (event->now_ms >= create->left_until_ms) {
        exists(create, event, step);
        return;
    }
    create->state = CREATE_SYNCING;
    step->kind = HF_ZK_RETRY_PAUSE;
    step->pause_ms = LEFT_NODE_PAUSE_MS;
}

/* There is a node at the path of our ephemeral node: decide by its Stat whose
 * it is. */
static void found_ephemeral(struct hf_zk_retry_create *create,
                            const struct hf_zk_retry_event *event,
                            struct hf_zk_retry_step *step)
{
    const struct hf_zookeeper_stat *stat = &event->result->stat;
    int64_t owner = stat->ephemeral_owner;
    bool left =
        owner != 0 && (owner == event->previous ||
                       (create->was_unsure && owner == create->unsure_session));

    if (owner != event->session && left)
        await_left(create, event, step);
    else if (owner == event->session && create->was_unsure &&
             stat->czxid > create->known_zxid)
        succeed(create, create->path, event->result, step);
    else
        exists(create, event, step);
}

/* There is a node at the path of our persistent node: decide by its Stat and
 * data whose it is. */
static void found_persistent(struct hf_zk_retry_create *create,
                             const struct hf_zk_retry_event *event,
                             struct hf_zk_retry_step *step)
{
    const struct hf_zookeeper_result *read = event->result;
    bool first = read->stat.version == 0;
    bool same = hf_zk_retry_same_data(read, create->op.data, create->op.bytes);

    create->unsure = true;
    if (read->stat.czxid <= create->known_zxid ||
        hf_zk_is_session(read->stat.ephemeral_owner) || (first && !same))
        exists(create, event, step);
    else if (first && (create->flags & HF_ZOOKEEPER_UNIQUE_DATA) != 0)
        succeed(create, create->path, read, step);
    else
        give_up(create, event, HF_EUNSURE,
                "the answer was lost, and the node that is there now may be "
                "another program's",
                step);
}

/* --------------------------------------------------------------- answers -- */

/* The server has refused the create. */
static void refused(struct hf_zk_retry_create *create,
                    const struct hf_zk_retry_event *event,
                    struct hf_zk_retry_step *step)
{
    hf_status status = event->result->status;
    unsigned parents = HF_ZOOKEEPER_PARENTS | HF_ZOOKEEPER_CONTAINER_PARENTS;
    bool may_be_ours =
        create->was_unsure || (is_ephemeral(create) && event->previous != 0);

    if (status == HF_EGONE && (create->flags & parents) != 0 &&
        create->attempts.count < HF_ZK_RETRY_ATTEMPTS_MAX) {
        create->attempts.count++;
        create->state = CREATE_MAKING_PARENTS;
        hf_zk_retry_parents_begin(&create->parents, step);
    } else if (status == HF_EEXISTS && !is_sequential(create) && may_be_ours) {
        look(create, step);
    } else {
        give_up(create, event, status, event->result->text, step);
    }
}

/* The create was answered or has failed. */
static void created(struct hf_zk_retry_create *create,
                    struct hf_zk_retry_event *event,
                    struct hf_zk_retry_step *step)
{
    switch (hf_zk_retry_answer(event->result)) {
    case HF_ZK_RETRY_UNSURE:
        create->was_unsure = create->unsure = true;
        create->unsure_session = event->session;
        if (create->attempts.count < HF_ZK_RETRY_ATTEMPTS_MAX)
            look(create, step);
        else
            give_up(create, event, HF_EUNSURE, event->result->text, step);
        break;
    case HF_ZK_RETRY_AGAIN:
        repeat(create, event, event->result, step);
        break;
    default:
        if (event->result->status != HF_OK) {
            refused(create, event, step);
            break;
        }
        hf_zk_retry_end(step, event->result);
        event->result = NULL;
    }
}

/* The create of a parent was answered or has failed. */
static void parent_created(struct hf_zk_retry_create *create,
                           const struct hf_zk_retry_event *event,
                           struct hf_zk_retry_step *step)
{
    const struct hf_zookeeper_result *result = event->result;

    if (hf_zk_retry_answer(result) != HF_ZK_RETRY_KNOWN) {
        repeat(create, event, result, step);
        return;
    }
    switch (hf_zk_retry_parents_answered(&create->parents, result, step)) {
    case HF_ZK_RETRY_PARENTS_THERE:
        send(create, event, step);
        break;
    case HF_ZK_RETRY_PARENTS_FAILED:
        give_up(create, event, result->status, result->text, step);
        break;
    case HF_ZK_RETRY_PARENTS_VANISH:
        give_up(create, event, HF_EGONE,
                "the nodes above it are deleted as often as they are created",
                step);
        break;
    default:
        break;
    }
}

/* Begin the read after the sync. */
static void read_after_sync(struct hf_zk_retry_create *create,
                            struct hf_zk_retry_step *step)
{
    create->state = is_sequential(create) ? CREATE_LISTING : CREATE_READING;
    if (is_sequential(create))
        hf_zk_retry_do(step, HF_ZOOKEEPER_CHILDREN, create->parent);
    else
        hf_zk_retry_do(
            step, is_ephemeral(create) ? HF_ZOOKEEPER_EXISTS : HF_ZOOKEEPER_GET,
            create->path);
}

/* The children of the parent are in .result. */
static void listed(struct hf_zk_retry_create *create,
                   const struct hf_zk_retry_event *event,
                   struct hf_zk_retry_step *step)
{
    const char *child = hf_zk_retry_find_child(
        event->result, create->path + create->parent_bytes + 1);

    if (child == NULL) {
        absent(create, event, step);
        return;
    }
    (void)snprintf(create->node, create->node_bytes, "%.*s/%s",
                   (int)create->parent_bytes, create->path, child);
    create->state = CREATE_READING;
    hf_zk_retry_do(step, HF_ZOOKEEPER_EXISTS, create->node);
}

/* The node exists. */
static void found(struct hf_zk_retry_create *create,
                  const struct hf_zk_retry_event *event,
                  struct hf_zk_retry_step *step)
{
    if (is_sequential(create))
        found_sequential(create, event, step);
    else if (is_ephemeral(create))
        found_ephemeral(create, event, step);
    else
        found_persistent(create, event, step);
}

/* A sync or a read that searches for the created node was answered or has
 * failed.  If the server is read-only the search is repeated, because the next
 * attempt may reach another server. */
static void looked(struct hf_zk_retry_create *create,
                   const struct hf_zk_retry_event *event,
                   struct hf_zk_retry_step *step)
{
    const struct hf_zookeeper_result *result = event->result;

    if (hf_zk_retry_answer(result) == HF_ZK_RETRY_AGAIN ||
        result->status == HF_EREADONLY)
        repeat(create, event, result, step);
    else if (result->status == HF_EGONE && create->state != CREATE_SYNCING)
        absent(create, event, step);
    else if (result->status != HF_OK)
        give_up(create, event, result->status, result->text, step);
    else if (create->state == CREATE_SYNCING)
        read_after_sync(create, step);
    else if (create->state == CREATE_LISTING)
        listed(create, event, step);
    else
        found(create, event, step);
}

/* Begin the operation of the state; a search begins with its sync. */
static void resume(struct hf_zk_retry_create *create,
                   const struct hf_zk_retry_event *event,
                   struct hf_zk_retry_step *step)
{
    if (create->state == CREATE_CREATING)
        send(create, event, step);
    else if (create->state == CREATE_MAKING_PARENTS)
        hf_zk_retry_parents_resume(&create->parents, step);
    else
        look(create, step);
}

static void answered(struct hf_zk_retry_create *create,
                     struct hf_zk_retry_event *event,
                     struct hf_zk_retry_step *step)
{
    if (create->state == CREATE_CREATING)
        created(create, event, step);
    else if (create->state == CREATE_MAKING_PARENTS)
        parent_created(create, event, step);
    else
        looked(create, event, step);
    hf_zookeeper_result_free(event->result);
}

static void next(void *machine, const struct hf_zk_retry_event *given,
                 struct hf_zk_retry_step *step)
{
    struct hf_zk_retry_create *create = machine;
    struct hf_zk_retry_event event = *given;

    assert(event.kind != HF_ZK_RETRY_REPLIED);
    if (event.kind == HF_ZK_RETRY_ANSWERED)
        answered(create, &event, step);
    else if (event.kind == HF_ZK_RETRY_STOPPED)
        give_up(create, &event, event.status, event.text, step);
    else
        resume(create, &event, step);
}

const struct hf_zk_retry_ops hf_zk_retry_create_ops = {next, free_create};
