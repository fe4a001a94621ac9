/* SPDX-License-Identifier: Apache-2.0 */
/* HF_REQUEST_NAMES: walk the tree below a node.  Each node is asked for its
 * children once.  If some of them are tickets, the node is a queue.  Those that
 * are no tickets are asked for their children next.
 *
 * Queues are listed page by page.  The cursor between two pages is the number
 * of nodes that were asked so far, followed by the paths of the nodes that are
 * still to be asked.  A node has one parent, so it gets into the cursor at most
 * once.  A node that exists during the whole walk is always asked, because its
 * parents exist, too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/container_of.h"
#include "base/memory.h"
#include "core/name_list.h"
#include "engines/zookeeper/zk_queue.h"
#include "engines/zookeeper/zk_request.h"

/* Calls in flight at a time. */
#define WINDOW 64

/* Room for a node's path below the chroot.  A node with a longer path is no
 * lock. */
#define PATH_BYTES (HF_NAME_BYTES + 16)

/* A walk fails when the waiting paths have more bytes than this, even if the
 * user allows any number of nodes.  Each path contains the path of its parent,
 * so an answer with names of one letter becomes fifty times as many bytes of
 * paths. */
#define WAITING_BYTES_MAX (256U << 20)

/* A node that is being asked. */
struct asked_node {
    struct hf_zk_call call;
    char path[PATH_BYTES]; /* below the chroot, without a '/' before it; "": the
                              chroot itself */
    bool busy;
};

/* The state of one page, freed when the request is answered. */
struct walk {
    struct hf_zk_engine *zk;
    struct hf_request *request;
    struct hf_name_list queues;
    size_t asked_before; /* nodes of the pages before */
    size_t asked;        /* nodes of this page */
    size_t unreadable;
    /* The paths of the nodes that are still to be asked, each with its NUL. */
    char *waiting;
    size_t used;
    size_t size;
    size_t waiting_count;
    size_t pending; /* calls in flight */
    enum hf_zk_error error;
    char error_path[HF_ZK_QUEUE_PATH_BYTES];
    struct hf_zk_call sync;
    struct asked_node nodes[WINDOW];
};

static void free_walk(struct walk *walk)
{
    hf_name_list_free(&walk->queues);
    hf_free(walk->waiting);
    hf_free(walk);
}

/* --------------------------------------------------------------- waiting -- */

/* Do more nodes wait to be asked than may? */
static bool is_too_large(const struct walk *walk)
{
    return walk->used > WAITING_BYTES_MAX ||
           (!walk->request->names->all &&
            walk->asked_before + walk->asked + walk->waiting_count >
                HF_NAMES_WALK_MAX);
}

/* Put the node ${name} below ${parent} among those that wait; the walk fails if
 * there are too many.  False for lack of memory. */
static bool push(struct walk *walk, const char *parent, const char *name,
                 size_t bytes)
{
    size_t parent_bytes = strlen(parent);
    size_t needed = parent_bytes + 1 + bytes + 1;
    char *to;

    if (needed > PATH_BYTES || is_too_large(walk))
        return true; /* too long for a lock, or the walk is to fail */
    if (!HF_ARRAY_ROOM(&walk->waiting, &walk->size, walk->used + needed))
        return false;
    to = walk->waiting + walk->used;
    if (parent_bytes > 0) {
        memcpy(to, parent, parent_bytes);
        to[parent_bytes] = '/';
        to += parent_bytes + 1;
    }
    memcpy(to, name, bytes);
    to[bytes] = '\0';
    walk->used = (size_t)(to + bytes + 1 - walk->waiting);
    walk->waiting_count++;
    return true;
}

/* Take out the last node that waits, to ${path}. */
static void pop(struct walk *walk, char path[PATH_BYTES])
{
    size_t at = walk->used - 1;

    while (at > 0 && walk->waiting[at - 1] != '\0')
        at--;
    memcpy(path, walk->waiting + at, walk->used - at);
    walk->used = at;
    walk->waiting_count--;
}

/* Begin with the nodes of the cursor of ${names}, or with ${prefix} on the
 * first page.  False for lack of memory. */
static bool take_cursor(struct walk *walk, const struct hf_names_request *names,
                        const char *prefix)
{
    const char *at = names->cursor;
    size_t bytes;

    if (names->cursor_bytes == 0)
        return push(walk, "", prefix, strlen(prefix));
    walk->asked_before = (size_t)strtoull(at, NULL, 10);
    at += strlen(at) + 1;
    while (at < names->cursor + names->cursor_bytes) {
        bytes = strlen(at);
        if (!push(walk, "", at, bytes))
            return false;
        at += bytes + 1;
    }
    return true;
}

/* ---------------------------------------------------------------- answer -- */

/* Set the cursor of ${names}: the number of nodes asked so far, and the nodes
 * that wait.  Returns its memory, which the caller frees; NULL: no memory. */
static char *make_cursor(const struct walk *walk, struct hf_names_answer *names)
{
    char number[32];
    size_t bytes = (size_t)snprintf(number, sizeof number, "%zu",
                                    walk->asked_before + walk->asked) +
                   1;
    char *cursor = hf_alloc(bytes + walk->used + 1);

    if (cursor == NULL)
        return NULL;
    memcpy(cursor, number, bytes);
    if (walk->used > 0)
        memcpy(cursor + bytes, walk->waiting, walk->used);
    names->cursor = cursor;
    names->cursor_bytes = walk->waiting_count > 0 ? bytes + walk->used : 0;
    return cursor;
}

/* Answer the request with what was found, and free the walk. */
static void answer(struct walk *walk)
{
    struct hf_event event = {.kind = HF_EVENT_NAMED};
    struct hf_names_answer names = {.looked_at = walk->asked,
                                    .unreadable = walk->unreadable};
    char *cursor = make_cursor(walk, &names);

    if (cursor == NULL || walk->queues.failed) {
        hf_zk_engine_fail_memory(walk->zk, walk->request);
    } else {
        hf_name_list_answer(&walk->queues, &names);
        event.as.answer.request = walk->request;
        event.as.answer.names = &names;
        hf_zk_engine_notify(walk->zk, &event);
    }
    hf_free(cursor);
    free_walk(walk);
}

/* The tree is larger than the user has allowed, or than memory should be. */
static void fail_limit(struct walk *walk)
{
    if (walk->used > WAITING_BYTES_MAX)
        hf_zk_engine_fail(
            walk->zk, walk->request, HF_FAILURE_FATAL, HF_ELIMIT,
            "the paths of nodes below \"/%.200s\" that are still to be "
            "asked take more than %u MiB; expected fewer children: name "
            "a prefix that has fewer",
            walk->request->queue, WAITING_BYTES_MAX >> 20);
    else
        hf_zk_engine_fail(
            walk->zk, walk->request, HF_FAILURE_FATAL, HF_ELIMIT,
            "there are more than %d nodes below \"/%.200s\", and each is "
            "asked for its children; expected fewer: name a prefix that "
            "has fewer, or ask for all (--all of holdfast ls or "
            "metrics)",
            HF_NAMES_WALK_MAX, walk->request->queue);
    free_walk(walk);
}

/* Every call is answered: the page is complete, or has failed. */
static void finish(struct walk *walk)
{
    if (walk->error == HF_ZK_OUT_OF_MEMORY) {
        hf_zk_engine_fail_memory(walk->zk, walk->request);
        free_walk(walk);
    } else if (walk->error != HF_ZK_OK) {
        hf_zk_engine_fail_with_error(walk->zk, walk->request, walk->error,
                                     "list the children of", walk->error_path);
        free_walk(walk);
    } else if (is_too_large(walk)) {
        fail_limit(walk);
    } else {
        answer(walk);
    }
}

/* -------------------------------------------------------------- children -- */

/* What kinds of tickets are among the children of a node. */
struct findings {
    bool tickets;
    bool participants;
    bool permits; /* of kazoo's form */
};

/* Is ${name} a ticket of any kind?  Notes the kind in ${found}. */
static bool is_ticket(const struct walk *walk, const char *name, size_t bytes,
                      struct findings *found)
{
    struct hf_zk_engine_node node;

    if (walk->zk->config.layout == HF_ZK_KAZOO &&
        hf_zk_engine_permit_parse(name, bytes, &node))
        return found->permits = true;
    if (hf_zk_engine_participant_parse(name, bytes, &node))
        return found->participants = true;
    if (hf_zk_engine_node_parse(name, bytes, &node))
        return found->tickets = true;
    return false;
}

/* The length of ${path} without ${end}; 0 if ${path} does not end with it. */
static size_t bytes_before(const char *path, const char *end)
{
    size_t bytes = strlen(path), less = strlen(end);

    return bytes > less && strcmp(path + bytes - less, end) == 0 ? bytes - less
                                                                 : 0;
}

/* Add the queue whose name is the first ${bytes} of ${path}, with ${end} behind
 * them. */
static void name_queue(struct walk *walk, const char *path, size_t bytes,
                       const char *end, bool participants)
{
    char name[PATH_BYTES + sizeof HF_QUEUE_LEASES];
    int written = snprintf(name, sizeof name, "%.*s%s", (int)bytes, path, end);

    hf_name_list_add(&walk->queues, name, (size_t)written, participants);
}

/* Add the queue at ${path} by the name that the engine has for it.  With
 * layout=kazoo the two queues of a semaphore are not at the paths that their
 * names say, so a node whose path ends like such a name cannot be listed and is
 * left out. */
static void name_queues(struct walk *walk, const char *path,
                        const struct findings *found)
{
    size_t bytes = strlen(path);
    bool kazoo = walk->zk->config.layout == HF_ZK_KAZOO;
    size_t entry = kazoo ? bytes_before(path, HF_ZK_ENTRY_MUTEX) : 0;

    if (found->permits)
        name_queue(walk, path, bytes, HF_QUEUE_LEASES, false);
    if (kazoo && (bytes_before(path, HF_QUEUE_LEASES) > 0 ||
                  bytes_before(path, HF_QUEUE_LOCKS) > 0))
        return;
    if (found->participants)
        name_queue(walk, path, bytes, "", true);
    if (found->tickets && entry > 0)
        name_queue(walk, path, entry, HF_QUEUE_LOCKS, false);
    else if (found->tickets)
        name_queue(walk, path, bytes, "", false);
}

/* Is ${name} the node /zookeeper, which belongs to the server?  It is not
 * walked. */
static bool is_of_server(const struct walk *walk, const char *parent,
                         struct hf_jute_piece name)
{
    return parent[0] == '\0' && walk->zk->config.url.chroot[0] == '\0' &&
           name.count == strlen("zookeeper") &&
           memcmp(name.bytes, "zookeeper", name.count) == 0;
}

/* Take in the children of the node at ${path}. */
static void take_children(struct walk *walk, const char *path,
                          struct hf_jute_reader *body)
{
    size_t count = hf_jute_get_count(body, sizeof(int32_t));
    struct findings found = {0};

    for (size_t i = 0; i < count; i++) {
        struct hf_jute_piece name = hf_jute_get_buffer(body);

        if (name.bytes == NULL || memchr(name.bytes, '\0', name.count) != NULL)
            continue;
        if (!is_ticket(walk, name.bytes, name.count, &found) &&
            !is_of_server(walk, path, name) &&
            !push(walk, path, name.bytes, name.count))
            walk->error = HF_ZK_OUT_OF_MEMORY;
    }
    if (body->failed)
        walk->error = HF_ZK_MALFORMED;
    if (path[0] != '\0')
        name_queues(walk, path, &found);
}

/* ----------------------------------------------------------------- calls -- */

/* Write the path of ${node} with the chroot. */
static void full_path(const struct walk *walk, const struct asked_node *node,
                      char path[HF_ZK_QUEUE_PATH_BYTES])
{
    const char *chroot = walk->zk->config.url.chroot;
    bool top = node->path[0] == '\0' && chroot[0] != '\0';

    (void)snprintf(path, HF_ZK_QUEUE_PATH_BYTES, "%s%s%s", chroot,
                   top ? "" : "/", node->path);
}

static void ask_more(struct walk *walk);

/* A call was answered; with the last one the page ends. */
static void call_done(struct walk *walk)
{
    walk->pending--;
    ask_more(walk);
    if (walk->pending == 0)
        finish(walk);
}

/* The answer to getChildren.  A node that has gone meanwhile has no children.
 * A node that may not be read, or has more children than an answer can have, is
 * only counted. */
static void children_listed(void *user, struct hf_zk_call *call,
                            const struct hf_zk_reply *reply)
{
    struct walk *walk = call->owner;
    struct asked_node *node = container_of(call, struct asked_node, call);
    struct hf_jute_reader body = reply->body;

    (void)user;
    node->busy = false;
    if (reply->error == HF_ZK_OK)
        take_children(walk, node->path, &body);
    else if (reply->error == HF_ZK_NO_AUTH ||
             reply->error == HF_ZK_ANSWER_TOO_LONG)
        walk->unreadable++;
    else if (reply->error != HF_ZK_NO_NODE)
        walk->error = reply->error;
    if (walk->error != HF_ZK_OK && walk->error_path[0] == '\0')
        full_path(walk, node, walk->error_path);
    call_done(walk);
}

/* The sync was answered.  If it failed, this server may lack nodes that other
 * clients have created, so the walk fails. */
static void synced(void *user, struct hf_zk_call *call,
                   const struct hf_zk_reply *reply)
{
    struct walk *walk = call->owner;

    (void)user;
    if (reply->error != HF_ZK_OK && walk->error == HF_ZK_OK) {
        walk->error = reply->error;
        (void)snprintf(walk->error_path, sizeof walk->error_path, "/");
    }
    call_done(walk);
}

/* Ask the next node that waits for its children, by the call of ${node}. */
static void ask(struct walk *walk, struct asked_node *node)
{
    char path[HF_ZK_QUEUE_PATH_BYTES];

    pop(walk, node->path);
    full_path(walk, node, path);
    node->busy = true;
    node->call.answered = children_listed;
    node->call.user = walk->zk;
    node->call.owner = walk;
    walk->asked++;
    walk->pending++;
    hf_zk_send_get_children(&walk->zk->session, &node->call, path, false);
}

/* Ask as many nodes as there is room for. */
static void ask_more(struct walk *walk)
{
    for (size_t i = 0; i < WINDOW; i++) {
        if (walk->waiting_count == 0 || walk->asked == HF_NAMES_PAGE ||
            walk->error != HF_ZK_OK || is_too_large(walk))
            return;
        if (!hf_zk_session_usable(&walk->zk->session)) {
            walk->error = HF_ZK_DISCONNECTED; /* the session is closing */
            return;
        }
        if (!walk->nodes[i].busy)
            ask(walk, &walk->nodes[i]);
    }
}

/* The page begins with a sync, so it shows what other clients have done
 * before. */
void hf_zk_engine_name_queues(struct hf_zk_engine *zk,
                              struct hf_request *request)
{
    struct walk *walk = hf_alloc(sizeof *walk);

    if (walk == NULL) {
        hf_zk_engine_fail_memory(zk, request);
        return;
    }
    walk->zk = zk;
    walk->request = request;
    if (!take_cursor(walk, request->names, request->queue)) {
        hf_zk_engine_fail_memory(zk, request);
        free_walk(walk);
        return;
    }
    walk->sync.answered = synced;
    walk->sync.user = zk;
    walk->sync.owner = walk;
    walk->pending++;
    hf_zk_send_sync(&zk->session, &walk->sync, "/");
    ask_more(walk);
}
