/* SPDX-License-Identifier: Apache-2.0 */
/*
 * See zk_examine.h.  The questions that are still to be asked wait in one block
 * of memory.  Each entry is a byte for the kind of question, and a path.  Up to
 * WINDOW calls are in flight.  A node that is no ticket is asked for its
 * children; a ticket is asked for its owner.  Both are bounded.
 */
#include "engines/zookeeper/zk_examine.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/container_of.h"
#include "base/memory.h"
#include "engines/zookeeper/access_list.h"
#include "engines/zookeeper/zk_private.h"
#include "engines/zookeeper/zk_queue.h"

#define WINDOW 32
#define PATH_BYTES HF_ZK_QUEUE_PATH_BYTES

/* How much is asked: nodes for their children and for their access list, and
 * tickets for their owner. */
#define NODES_MAX 2000
#define TICKETS_MAX 1000

/* At most this many nodes in which rights are missing are named.  The others
 * are only counted. */
#define REFUSING_MAX 20

/* From COUNTER_HIGH (parent_nodes.c) on clients try to delete a queue's node,
 * so that its counter begins anew.  A counter half way between there and its
 * end shows that this does not succeed. */
#define SEQUENCE_LATE (INT32_C(3) << 29)

/* What an entry asks for.  The values are not 0, because pop() finds the
 * beginning of an entry by the NUL that ends the entry before it. */
enum question {
    ASK_CONFIG = 1,
    ASK_ACL,
    ASK_CHILDREN,
    ASK_OWNER,
    ASK_RIGHTS,       /* what its access list lets us do in a node without
                         tickets */
    ASK_QUEUE_RIGHTS, /* the same in a node that has tickets */
    QUESTIONS,
};

struct asked {
    struct hf_zk_call call;
    enum question question;
    char path[PATH_BYTES]; /* with the chroot */
    bool busy;
};

struct hf_zk_engine_examination {
    struct hf_zk_engine *zk;
    struct hf_finding_list *list;
    void (*done)(void *arg);
    void *arg;
    struct hf_zk_engine_examination *next; /* the next examination that waits
                                              for a session */
    bool begun;
    char *waiting;
    size_t used;
    size_t size;
    size_t pending; /* calls in flight */
    size_t nodes;
    size_t tickets;
    size_t unreadable;
    size_t persistent; /* tickets that no session owns */
    size_t late;       /* counters near their end */
    size_t refusing;   /* nodes in which tickets cannot be created and deleted
                        */
    bool more;         /* some nodes were not asked */
    bool failed;       /* memory has run out, or the connection has ended */
    struct asked asked[WINDOW];
};

/* --------------------------------------------------------------- waiting -- */

/* Have ${path} be asked for what ${question} says.  Without memory the
 * examination fails. */
static void push(struct hf_zk_engine_examination *examination,
                 enum question question, const char *path)
{
    size_t needed = strlen(path) + 2;
    char *to;

    if (!HF_ARRAY_ROOM(&examination->waiting, &examination->size,
                       examination->used + needed)) {
        examination->failed = true;
        return;
    }
    to = examination->waiting + examination->used;
    to[0] = (char)question;
    memcpy(to + 1, path, needed - 1);
    examination->used += needed;
}

/* Take the entry that was put in last, to ${asked}. */
static void pop(struct hf_zk_engine_examination *examination,
                struct asked *asked)
{
    size_t at = examination->used - 1;

    while (at > 0 && examination->waiting[at - 1] != '\0')
        at--;
    asked->question = (enum question)examination->waiting[at];
    memcpy(asked->path, examination->waiting + at + 1,
           examination->used - at - 1);
    examination->used = at;
}

/* --------------------------------------------------------- what it finds -- */

/* The first lines of the configuration are "server.N=...:participant;...". */
static void take_config(struct hf_zk_engine_examination *examination,
                        const struct asked *asked, struct hf_jute_reader *body)
{
    struct hf_jute_piece data = hf_jute_get_buffer(body);
    struct hf_finding_head head = {HF_SEVERITY_OK, "zookeeper-members",
                                   asked->path, NULL};
    const char *at = data.bytes, *end = at + data.count;
    unsigned participants = 0, observers = 0;

    while (at != NULL && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        size_t bytes = (size_t)((newline != NULL ? newline : end) - at);

        if (bytes > 7 && memcmp(at, "server.", 7) == 0) {
            if (memmem(at, bytes, ":observer", 9) != NULL)
                observers++;
            else
                participants++;
        }
        at = newline != NULL ? newline + 1 : end;
    }
    if (participants > 0 && participants % 2 == 0) {
        head.severity = HF_SEVERITY_NOTICE;
        head.advice = "have an odd number of them: one more server can then "
                      "fail";
    }
    if (participants == 0)
        hf_finding_add(examination->list, &head,
                       "no member is named: the server is alone");
    else
        hf_finding_add(examination->list, &head,
                       "the ensemble has %u members that vote and %u observers",
                       participants, observers);
}

static struct hf_zk_engine_access
access_of(const struct hf_zk_engine_examination *examination,
          struct hf_jute_reader *body)
{
    return hf_zk_engine_access_read(body,
                                    examination->zk->config.url.session.auth);
}

/* Is ${path} the node in which the nodes of locks are made? */
static bool is_root_of_locks(const struct hf_zk_engine_examination *examination,
                             const char *path)
{
    return strcmp(path, hf_zk_engine_root(examination->zk)) == 0;
}

/* Warn if this user may not create the nodes of locks, so that others must. */
static void check_root(struct hf_zk_engine_examination *examination,
                       const char *path,
                       const struct hf_zk_engine_access *access)
{
    struct hf_finding_head head = {
        HF_SEVERITY_WARNING, "zookeeper-rights", path,
        "give this user the permission c there (holdfast zk acl set), or make "
        "the nodes of its locks (holdfast zk create)"};

    if (hf_zk_engine_access_lacks(access, HF_ZK_PERM_CREATE))
        hf_finding_add(examination->list, &head,
                       "this user may make no node in it, so a lock whose node "
                       "is not there cannot be taken");
}

/* Add a finding (REFUSING_MAX at most) if this user cannot create or cannot
 * delete tickets in the node.  A node without tickets may not be meant for a
 * lock, so there it is added only if the user can create and cannot delete
 * them. */
static void take_rights(struct hf_zk_engine_examination *examination,
                        const struct asked *asked, struct hf_jute_reader *body)
{
    struct hf_finding_head head = {
        HF_SEVERITY_WARNING, "zookeeper-rights", asked->path,
        "if locks of this name are to be taken: give this user the permissions "
        "c, d and r there (holdfast zk acl set)"};
    struct hf_zk_engine_access access = access_of(examination, body);
    bool creates = !hf_zk_engine_access_lacks(&access, HF_ZK_PERM_CREATE);

    if (body->failed ||
        (creates ? !hf_zk_engine_access_lacks(&access, HF_ZK_PERM_DELETE)
                 : asked->question == ASK_RIGHTS) ||
        examination->refusing++ >= REFUSING_MAX)
        return;
    if (!creates)
        head.severity = HF_SEVERITY_NOTICE;
    hf_finding_add(
        examination->list, &head,
        creates ? "this user may create tickets in it and may not delete "
                  "them, so it is granted no lock of this name"
                : "this user may put no ticket in it, so it is granted "
                  "no lock of this name");
}

/* The answer to getACL. */
static void take_acl(struct hf_zk_engine_examination *examination,
                     const struct asked *asked, struct hf_jute_reader *body)
{
    const char *path = asked->path;
    struct hf_finding_head head = {HF_SEVERITY_OK, "zookeeper-acl", path, NULL};
    struct hf_zk_engine_access access = access_of(examination, body);
    bool open = (access.anyone & ~HF_ZK_PERM_READ) != 0;

    if (is_root_of_locks(examination, path))
        check_root(examination, path, &access);
    if (open) {
        head.severity = HF_SEVERITY_NOTICE;
        head.advice = "if not everybody who reaches the servers may take and "
                      "remove locks: give clients credentials and acl=creator, "
                      "and the node an access list (holdfast zk acl set)";
    }
    hf_finding_add(examination->list, &head,
                   open
                       ? "everybody (world:anyone) may change it or make nodes "
                         "in it"
                       : "its access list lets only some change it");
}

/* The Stat of a ticket, which must belong to a session. */
static void take_owner(struct hf_zk_engine_examination *examination,
                       const struct asked *asked, struct hf_jute_reader *body)
{
    const char *path = asked->path;
    struct hf_zk_stat stat = hf_zk_get_stat(body);
    char advice[HF_FINDING_TEXT_BYTES];
    struct hf_finding_head head = {HF_SEVERITY_ERROR,
                                   "zookeeper-persistent-ticket", path, advice};

    if (body->failed || stat.owner != 0)
        return;
    examination->persistent++;
    (void)snprintf(advice, sizeof advice,
                   "see that no program works behind it, and remove it: "
                   "holdfast zk rm %.400s",
                   path);
    hf_finding_add(examination->list, &head,
                   "a node that looks like a ticket belongs to no session: it "
                   "waits or holds for ever");
}

/* Warn if the counter of the queue at ${path}, which has tickets, is near its
 * end. */
static void check_counter(struct hf_zk_engine_examination *examination,
                          const char *path, const struct hf_zk_stat *stat)
{
    struct hf_finding_head head = {
        HF_SEVERITY_WARNING, "zookeeper-counter", path,
        "let its tickets end, and remove the node while it is empty: the next "
        "one counts from 0"};

    if (stat->cversion < SEQUENCE_LATE && stat->cversion >= 0)
        return;
    examination->late++;
    hf_finding_add(examination->list, &head,
                   "its child counter is at %" PRId32
                   "; from 2146435072 on no ticket can be taken",
                   stat->cversion);
}

/* Is ${name} the node of a ticket? */
static bool is_ticket(const struct hf_zk_engine *zk, struct hf_jute_piece name)
{
    struct hf_zk_engine_node node;

    return hf_zk_engine_node_parse(name.bytes, name.count, &node) ||
           hf_zk_engine_participant_parse(name.bytes, name.count, &node) ||
           (zk->config.layout == HF_ZK_KAZOO &&
            hf_zk_engine_permit_parse(name.bytes, name.count, &node));
}

/* The server's own nodes, below "/", are not looked at. */
static bool is_of_server(const char *parent, struct hf_jute_piece name)
{
    return strcmp(parent, "/") == 0 && name.count == 9 &&
           memcmp(name.bytes, "zookeeper", 9) == 0;
}

/* Have the child ${name} of ${parent} be asked. */
static void push_child(struct hf_zk_engine_examination *examination,
                       enum question question, const char *parent,
                       struct hf_jute_piece name)
{
    char path[PATH_BYTES];
    int bytes = snprintf(path, sizeof path, "%s/%.*s",
                         strcmp(parent, "/") == 0 ? "" : parent,
                         (int)name.count, name.bytes);

    if (bytes < (int)sizeof path)
        push(examination, question, path);
    else
        examination->more = true;
}

/* The answer to getChildren2: the children and the Stat of the node. */
static void take_children(struct hf_zk_engine_examination *examination,
                          const struct asked *asked,
                          struct hf_jute_reader *body)
{
    const char *path = asked->path;
    size_t count = hf_jute_get_count(body, sizeof(int32_t));
    struct hf_zk_stat stat;
    bool tickets = false;

    for (size_t i = 0; i < count; i++) {
        struct hf_jute_piece name = hf_jute_get_buffer(body);

        if (name.bytes == NULL || memchr(name.bytes, '\0', name.count) != NULL)
            continue;
        if (is_ticket(examination->zk, name)) {
            tickets = true;
            if (examination->tickets++ < TICKETS_MAX)
                push_child(examination, ASK_OWNER, path, name);
        } else if (!is_of_server(path, name)) {
            if (examination->nodes++ < NODES_MAX)
                push_child(examination, ASK_CHILDREN, path, name);
        }
    }
    stat = hf_zk_get_stat(body);
    if (tickets && !body->failed)
        check_counter(examination, path, &stat);
    /* The access list of the root is read in any case, see begin(). */
    if (!is_root_of_locks(examination, path))
        push(examination, tickets ? ASK_QUEUE_RIGHTS : ASK_RIGHTS, path);
}

/* ---------------------------------------------------------------- answer -- */

static void add_totals(const struct hf_zk_engine_examination *examination)
{
    static const struct hf_finding_head refusing = {HF_SEVERITY_WARNING,
                                                    "zookeeper-rights", "",
                                                    "see those that are named"};
    struct hf_finding_head head = {HF_SEVERITY_OK, "zookeeper-nodes", "", NULL};

    if (examination->persistent == 0 && examination->late == 0)
        hf_finding_add(
            examination->list, &head,
            "all %zu tickets that were looked at belong to sessions, "
            "and no counter is near its end",
            examination->tickets < TICKETS_MAX ? examination->tickets
                                               : TICKETS_MAX);
    head.severity = HF_SEVERITY_UNKNOWN;
    if (examination->more || examination->nodes > NODES_MAX ||
        examination->tickets > TICKETS_MAX)
        hf_finding_add(examination->list, &head,
                       "there are more nodes than the %d and the %d tickets "
                       "that were looked at",
                       NODES_MAX, TICKETS_MAX);
    if (examination->refusing > REFUSING_MAX)
        hf_finding_add(examination->list, &refusing,
                       "there are %zu more nodes in which this user may not "
                       "create and delete tickets",
                       examination->refusing - REFUSING_MAX);
    if (examination->unreadable > 0)
        hf_finding_add(examination->list, &head,
                       "%zu nodes may not be read by this user",
                       examination->unreadable);
}

/* All calls are answered, or there is no session: add the totals, call .done
 * and free the examination. */
static void finish(struct hf_zk_engine_examination *examination)
{
    struct hf_finding_head head = {HF_SEVERITY_UNKNOWN, "zookeeper-nodes", "",
                                   examination->begun ? "examine it again"
                                                      : NULL};
    void (*done)(void *arg) = examination->done;
    void *arg = examination->arg;

    if (!examination->begun)
        hf_finding_add(examination->list, &head,
                       "the nodes cannot be looked at: there is no session");
    else if (examination->failed)
        hf_finding_add(examination->list, &head,
                       "the connection ended while the nodes were looked at");
    else
        add_totals(examination);
    hf_free(examination->waiting);
    hf_free(examination);
    done(arg);
}

/* The server refused to read ${asked}->path, or it is not there. */
static void take_error(struct hf_zk_engine_examination *examination,
                       const struct asked *asked, enum hf_zk_error error)
{
    struct hf_finding_head head = {HF_SEVERITY_UNKNOWN, "zookeeper-acl",
                                   asked->path, NULL};

    if (error == HF_ZK_DISCONNECTED || error == HF_ZK_OUT_OF_MEMORY) {
        examination->failed = true;
    } else if (asked->question == ASK_CONFIG) {
        head.id = "zookeeper-members";
        head.advice = "if it is to be seen: let this user read it";
        hf_finding_add(examination->list, &head,
                       "the members of the ensemble cannot be seen: %s",
                       hf_zk_error_text(error));
    } else if (asked->question == ASK_ACL && error == HF_ZK_NO_NODE) {
        head.severity = HF_SEVERITY_ERROR;
        head.id = "zookeeper-chroot";
        head.advice = "make it (holdfast zk create -p), or correct the URL";
        hf_finding_add(examination->list, &head,
                       "the node that the URL has for a root is not there, so "
                       "no lock can be taken");
    } else if (asked->question == ASK_ACL) {
        hf_finding_add(examination->list, &head,
                       "its access list cannot be seen: %s",
                       hf_zk_error_text(error));
    } else if (error != HF_ZK_NO_NODE) {
        examination->unreadable++;
    }
}

/* For each question: how it is asked, and the function that takes the
 * answer. */
static const struct {
    enum hf_zk_opcode opcode;
    bool has_flag; /* the record ends with a watch flag, which is false */
    void (*take)(struct hf_zk_engine_examination *examination,
                 const struct asked *asked, struct hf_jute_reader *body);
} questions[QUESTIONS] = {
    [ASK_CONFIG] = {HF_ZK_GET_DATA, true, take_config},
    [ASK_ACL] = {HF_ZK_GET_ACL, false, take_acl},
    [ASK_CHILDREN] = {HF_ZK_GET_CHILDREN2, true, take_children},
    [ASK_OWNER] = {HF_ZK_EXISTS, true, take_owner},
    [ASK_RIGHTS] = {HF_ZK_GET_ACL, false, take_rights},
    [ASK_QUEUE_RIGHTS] = {HF_ZK_GET_ACL, false, take_rights},
};

static void ask_more(struct hf_zk_engine_examination *examination);

/* The answer to any call. */
static void answered(void *user, struct hf_zk_call *call,
                     const struct hf_zk_reply *reply)
{
    struct hf_zk_engine_examination *examination = call->owner;
    struct asked *asked = container_of(call, struct asked, call);
    struct hf_jute_reader body = reply->body;

    (void)user;
    assert(asked->busy && examination->pending > 0);
    asked->busy = false;
    examination->pending--;
    if (reply->error != HF_ZK_OK)
        take_error(examination, asked, reply->error);
    else
        questions[asked->question].take(examination, asked, &body);
    ask_more(examination);
    if (examination->pending == 0)
        finish(examination);
}

/* Send the request of ${asked}. */
static void send(struct hf_zk_session *session, struct asked *asked)
{
    size_t begin = hf_zk_call_begin(session, &asked->call,
                                    questions[asked->question].opcode);

    hf_jute_put_string(&session->wire.out, asked->path);
    if (questions[asked->question].has_flag)
        hf_jute_put_bool(&session->wire.out, false);
    hf_zk_call_end(session, begin);
}

/* Ask as much as there is room for. */
static void ask_more(struct hf_zk_engine_examination *examination)
{
    struct hf_zk_session *session = &examination->zk->session;

    for (size_t i = 0; i < WINDOW && examination->used > 0; i++) {
        struct asked *asked = &examination->asked[i];

        if (!hf_zk_session_usable(session))
            examination->failed = true;
        if (examination->failed)
            return;
        if (asked->busy)
            continue;
        pop(examination, asked);
        asked->busy = true;
        asked->call.answered = answered;
        asked->call.user = examination->zk;
        asked->call.owner = examination;
        examination->pending++;
        send(session, asked);
    }
}

/* Begin with what is known by name: the root, its access list, that of "/", and
 * the configuration. */
static void begin(struct hf_zk_engine_examination *examination)
{
    const char *root = hf_zk_engine_root(examination->zk);

    examination->begun = true;
    push(examination, ASK_CHILDREN, root);
    if (strcmp(root, "/") != 0)
        push(examination, ASK_ACL, root);
    push(examination, ASK_ACL, "/");
    push(examination, ASK_CONFIG, HF_ZK_CONFIG_PATH);
    ask_more(examination);
    if (examination->pending == 0)
        finish(examination);
}

void hf_zk_engine_examinations_begin(struct hf_zk_engine *zk)
{
    struct hf_zk_engine_examination *examination;

    while ((examination = zk->examinations) != NULL &&
           hf_zk_session_usable(&zk->session)) {
        zk->examinations = examination->next;
        begin(examination);
    }
}

struct hf_zk_engine_examination *
hf_zk_engine_examine(struct hf_zk_engine *zk, struct hf_finding_list *list,
                     void (*done)(void *arg), void *arg)
{
    struct hf_zk_engine_examination *examination =
        hf_alloc(sizeof *examination);

    if (examination == NULL)
        return NULL;
    examination->zk = zk;
    examination->list = list;
    examination->done = done;
    examination->arg = arg;
    examination->next = zk->examinations;
    zk->examinations = examination;
    return examination;
}

void hf_zk_engine_examination_give_up(
    struct hf_zk_engine_examination *examination)
{
    struct hf_zk_engine_examination **link = &examination->zk->examinations;

    if (examination->begun)
        return;
    while (*link != examination)
        link = &(*link)->next;
    *link = examination->next;
    finish(examination);
}
