/* SPDX-License-Identifier: Apache-2.0 */
/* A request of the core in progress.  It takes one or more steps; each step
 * sends some calls and ends when all of them are answered.  By convention a
 * variable of this type is called req, and ${req}->request is the core's
 * request. */
#ifndef HF_ENGINES_ZOOKEEPER_ZK_REQUEST_H
#define HF_ENGINES_ZOOKEEPER_ZK_REQUEST_H

#include "engines/zookeeper/zk_private.h"

/* --------------------------------------------------------------- failure -- */

/*
 * These functions answer a request with HF_EVENT_FAILED, which says what a
 * retry can achieve (enum hf_failure) and has a text for people.
 *
 * Both follow from the server's error.  If the error does not show whether a
 * write took effect, the request is UNSURE, and the core searches for what may
 * exist.  If no retry helps against the error, the request is FATAL, and the
 * text says what to do about the error.
 *
 * After any of these functions the request belongs to the core again.
 */

/* Fail with this text. */
void hf_zk_engine_fail(struct hf_zk_engine *zk, struct hf_request *request,
                       enum hf_failure failure, hf_status status,
                       const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Fail with the server's ${error}.  The text says that we cannot ${what}
 * ${path}, for example "create a ticket in". */
void hf_zk_engine_fail_with_error(struct hf_zk_engine *zk,
                                  struct hf_request *request,
                                  enum hf_zk_error error, const char *what,
                                  const char *path);

/* Fail for lack of memory. */
void hf_zk_engine_fail_memory(struct hf_zk_engine *zk,
                              struct hf_request *request);

/* Fail because layout=kazoo has no lock and no barrier of that name. */
void hf_zk_engine_fail_name(struct hf_zk_engine *zk,
                            struct hf_request *request);

/* An error of the server against which no retry helps, and the status with
 * which the request fails. */
struct hf_zk_engine_cause {
    const char *name; /* of .error, for docs/engines.md */
    enum hf_zk_error error;
    hf_status status;
};

/* The entry ${index} of the table of such errors; NULL if there are fewer. */
const struct hf_zk_engine_cause *hf_zk_engine_cause(size_t index);

/* True if ${error} does not show whether a write took effect. */
bool hf_zk_engine_is_unsure(enum hf_zk_error error);

/* --------------------------------------------------------------- request -- */

/* The most calls of one step: reads of our own node, of the first ticket, and
 * of HF_ZK_TIES_MAX nodes with the same number as ours. */
#define HF_ZK_TIES_MAX 4
#define HF_ZK_REQUEST_CALLS (2 + HF_ZK_TIES_MAX)

/* How often a step is repeated because a node vanishes in between, for example
 * a parent after we created it, or a ticket after we listed it.  A container is
 * deleted when it is empty, by a timer of a minute, so even one repetition is
 * rare. */
#define HF_ZK_ATTEMPTS_MAX 8

/* What a request is doing.  The phase decides which member of .as is valid.
 * Most requests need none of them.  The legal changes of phase are in the table
 * moves[] in zk_request.c. */
enum hf_zk_engine_request_phase {
    HF_ZK_PLAIN,       /* no member of .as is valid */
    HF_ZK_CREATING,    /* creates a node: a ticket, or a barrier's */
    HF_ZK_LISTING,     /* reads a queue, or a barrier's node, to show it */
    HF_ZK_REMOVING,    /* deletes the nodes of a ticket */
    HF_ZK_DOWNGRADING, /* turns a write ticket into a read ticket */
    HF_ZK_DETAILED,    /* makes a list for people */
    HF_ZK_SUCCESS,     /* reads or writes the success of a queue */
};

/* What a request that creates a node does about the nodes above it. */
enum hf_zk_engine_parents {
    HF_ZK_PARENTS_ASSUMED,    /* assumes that they exist */
    HF_ZK_PARENTS_PERSISTENT, /* creates them as persistent nodes, because one
                                 was missing */
    HF_ZK_PARENTS_CONTAINERS, /* creates them as containers, because one was
                                 missing */
};

/* Which operation of a multi that creates a ticket the server refused. */
enum hf_zk_engine_refused {
    HF_ZK_REFUSED_CREATE,
    HF_ZK_REFUSED_DELETE,      /* see parent_nodes.h */
    HF_ZK_REFUSED_ENTRY_MUTEX, /* the check of our ticket in the entry mutex,
                                  see node_name.h */
};

/* The state of a request in the phase HF_ZK_CREATING. */
struct hf_zk_engine_creation {
    enum hf_zk_engine_parents parents;
    struct hf_zk_call *parent_calls; /* one for each parent, from the top;
                                        NULL: none was necessary */
    size_t parents_bytes; /* the parents are the nodes in this many bytes of the
                             queue's path */
    size_t parent_level;  /* the level, from 1, that .parent_error is about;
                             0: every create failed because the level above is
                             missing */
    enum hf_zk_error parent_error;
    /* For HF_REQUEST_ENQUEUE only.  .name is the name of the node to create,
     * see format_name() in enqueue.c.  .trial is the number of operations in
     * the multi before those that create the ticket's nodes.  If .error is set,
     * .refused says which operation was refused. */
    char name[HF_ZK_PREFIX_BYTES];
    uint32_t trial;
    enum hf_zk_engine_refused refused;
};

/* .ready of a request that has not read the barrier node yet. */
#define HF_ZK_READY_UNREAD (-1)

/* The state of a request in the phase HF_ZK_LISTING. */
struct hf_zk_engine_listing {
    /* The watch that a read of the current step sets; NULL: none. */
    struct hf_zk_engine_watch *watch;
    int64_t ready;    /* czxid of the barrier node; 0: it does not exist, or
                         HF_ZK_READY_UNREAD */
    uint32_t permits; /* the number of permits of kazoo's semaphore, from the
                         data of its node; 0: unknown */
};

/* The nodes that are being deleted. */
enum hf_zk_engine_removed {
    HF_ZK_REMOVED_NOTHING,        /* no node was found */
    HF_ZK_REMOVED_OWN,            /* the node of our ticket, whose name we
                                     know */
    HF_ZK_REMOVED_OWN_SEVERAL,    /* several nodes of our ticket, in one
                                     multi */
    HF_ZK_REMOVED_LISTED,         /* a node that a list has shown */
    HF_ZK_REMOVED_LISTED_SEVERAL, /* several nodes that a list has shown, in one
                                     multi */
};

/* Does a removal write who evicts the ticket (zk_own_ticket.h)? */
enum hf_zk_engine_eviction {
    HF_ZK_EVICTION_UNREAD,  /* not known, before the parent's data are read */
    HF_ZK_EVICTION_WRITTEN, /* yes, in one transaction with the deletes */
    HF_ZK_EVICTION_NONE,    /* no; or the server has refused that transaction */
};

/* The state of a request in the phase HF_ZK_REMOVING. */
struct hf_zk_engine_removal {
    /* See hf_zk_engine_delete_ticket(). */
    void (*then)(struct hf_zk_engine *zk, struct hf_zk_engine_request *req);
    enum hf_zk_engine_removed nodes;
    enum hf_zk_engine_eviction
        eviction;    /* is .evicted_by of the request written to the parent? */
    int32_t version; /* of the parent's data when they were read */
    bool partly;     /* somebody else had deleted some of the nodes */
};

/* The state of a request in the phase HF_ZK_DOWNGRADING. */
struct hf_zk_engine_downgrading {
    bool earlier_unsure; /* an earlier transaction got no answer */
    bool revoked;    /* the data of the write node ask its owner to release */
    int32_t version; /* of these data */
};

/* The state of a request in the phase HF_ZK_SUCCESS. */
struct hf_zk_engine_success {
    struct hf_success success; /* as it was read; .age_ms is not set */
    int32_t version;           /* of its node; -1: there is none */
    int64_t now_utc_ms;        /* what the clock of the servers shows */
    bool ticket_gone;          /* the transaction has found our ticket gone */
};

struct detailed_list;

/* The state of one request.  It is freed when the request is answered. */
struct hf_zk_engine_request {
    struct hf_request *request;       /* the core's; NULL if it was cancelled */
    struct hf_zk_engine_queue *queue; /* in use by this request; NULL for
                                  HF_REQUEST_PROVE */
    struct hf_zk_call calls[HF_ZK_REQUEST_CALLS]; /* of the current step */
    /* The ticket that each of .calls is about. */
    struct hf_ticket_id ids[HF_ZK_REQUEST_CALLS];
    size_t call_count; /* calls made in this step */
    size_t pending;    /* calls not answered yet */
    /* Called when the last call of the step is answered. */
    void (*next_step)(struct hf_zk_engine *zk,
                      struct hf_zk_engine_request *req);
    enum hf_zk_error error;      /* the error of the step's main call, or
                                    HF_ZK_OK */
    enum hf_zk_error list_error; /* the error of the list of the queue */
    enum hf_zk_error sync_error; /* the error of the sync, or of the
                                    transaction, that is sent before a read so
                                    that the read is up to date */
    unsigned attempts; /* how often the create, the delete or the read was
                          repeated; for HF_REQUEST_DESCRIBE the nodes written so
                          far */
    struct hf_zk_engine_request *next_in_list; /* in the list of requests that
                                           wait for the same answer */
    struct hf_zk_engine_request *next_cancellable; /* in the client's list of
                                               requests that can be cancelled */
    enum hf_zk_engine_request_phase phase;
    union {
        struct hf_zk_engine_creation creation;
        struct hf_zk_engine_listing listing;
        struct hf_zk_engine_removal removal;
        struct hf_zk_engine_downgrading downgrading;
        struct detailed_list *detailed;
        struct hf_zk_engine_success success;
    } as; /* .phase says which one is valid; read it by the functions below */
};

/* Make the state of ${request}.  NULL for lack of memory; the request has then
 * been failed. */
struct hf_zk_engine_request *
hf_zk_engine_request_new(struct hf_zk_engine *zk, struct hf_request *request);

/* Change the phase of the request, between two steps.  The state of the earlier
 * phase is lost. */
void hf_zk_engine_request_enter(struct hf_zk_engine_request *req,
                                enum hf_zk_engine_request_phase phase);

/* Return the member of .as after which the function is named.  The request must
 * be in its phase. */
struct hf_zk_engine_creation *
hf_zk_engine_request_creation(struct hf_zk_engine_request *req);
struct hf_zk_engine_listing *
hf_zk_engine_request_listing(struct hf_zk_engine_request *req);
struct hf_zk_engine_removal *
hf_zk_engine_request_removal(struct hf_zk_engine_request *req);
struct hf_zk_engine_downgrading *
hf_zk_engine_request_downgrading(struct hf_zk_engine_request *req);
struct detailed_list *
hf_zk_engine_request_detailed(struct hf_zk_engine_request *req);
struct hf_zk_engine_success *
hf_zk_engine_request_success(struct hf_zk_engine_request *req);

/* Add a call to the current step and return it; the caller sends it.  Its
 * answer goes to ${answered}, which must end with
 * hf_zk_engine_request_answered(). */
struct hf_zk_call *hf_zk_engine_request_call(struct hf_zk_engine_request *req,
                                             hf_zk_answered *answered);

/* Begin a step.  ${then} is called when all of its calls are answered. */
void hf_zk_engine_request_step(struct hf_zk_engine_request *req,
                               void (*then)(struct hf_zk_engine *zk,
                                            struct hf_zk_engine_request *req));

/* hf_zk_engine_request_allow_cancel() puts ${req} on the list of requests that
 * hf_zk_engine_forget() may cancel.  hf_zk_engine_request_end_cancel() takes it
 * off that list. */
void hf_zk_engine_request_allow_cancel(struct hf_zk_engine *zk,
                                       struct hf_zk_engine_request *req);
void hf_zk_engine_request_end_cancel(struct hf_zk_engine *zk,
                                     struct hf_zk_engine_request *req);

/* If ${req} was cancelled, take it off the list, free it and return true. */
bool hf_zk_engine_request_was_cancelled(struct hf_zk_engine *zk,
                                        struct hf_zk_engine_request *req);

/* Cancel ${request} if it is on that list: its state gets .request NULL and
 * ends without an answer. */
void hf_zk_engine_request_cancel(struct hf_zk_engine *zk,
                                 const struct hf_request *request);

/* One call of the step has been answered.  Continues with the next step after
 * the last one. */
void hf_zk_engine_request_answered(struct hf_zk_engine *zk,
                                   struct hf_zk_engine_request *req);

/* Handlers for answers of which only the error counts.  The first stores
 * .error, the second .sync_error.  If a sync failed, what was read behind it
 * may be too old to show the ticket searched for. */
void hf_zk_engine_request_error_answered(void *user, struct hf_zk_call *call,
                                         const struct hf_zk_reply *reply);
void hf_zk_engine_request_sync_answered(void *user, struct hf_zk_call *call,
                                        const struct hf_zk_reply *reply);

/* Add ${req} to ${list}: its current step then waits for the same answer as the
 * other requests of the list. */
void hf_zk_engine_request_list_add(struct hf_zk_engine_request_list *list,
                                   struct hf_zk_engine_request *req);

/* The answer has come: call hf_zk_engine_request_answered() for each of
 * ${list}.  Any of these calls may free the queue that ${list} was copied
 * from. */
void hf_zk_engine_request_list_answered(struct hf_zk_engine *zk,
                                        struct hf_zk_engine_request_list *list);

/* Free the state of a request that has been answered. */
void hf_zk_engine_request_free(struct hf_zk_engine *zk,
                               struct hf_zk_engine_request *req);

/* Fail the request as hf_zk_engine_fail_with_error() does, and free its state.
 */
void hf_zk_engine_request_fail(struct hf_zk_engine *zk,
                               struct hf_zk_engine_request *req,
                               enum hf_zk_error error, const char *what,
                               const char *path);

/* Free the state and return the core's request, which the caller answers next.
 */
struct hf_request *hf_zk_engine_request_end(struct hf_zk_engine *zk,
                                            struct hf_zk_engine_request *req);
/* Answer that the flag of a barrier, or the generation of a double barrier, is
 * set or cleared, and free the state.  ${found}: it was set before. */
void hf_zk_engine_request_flag_updated(struct hf_zk_engine *zk,
                                       struct hf_zk_engine_request *req,
                                       bool found);

#endif
