/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request of the core in progress: a sequence of calls, one at a time.
 *
 * Each kind of request has a struct of its own that begins with this one.  A
 * request begins with hf_etcd_engine_request_new() and ends with one of
 *
 *     hf_etcd_engine_request_answer()   gives the core its answer
 *     hf_etcd_engine_request_fail()     gives it HF_EVENT_FAILED
 *     hf_etcd_engine_request_free()     it was taken back
 *
 * By convention a variable of this type is called req, and ${req}->request is
 * the core's request.
 */
#ifndef HF_ENGINES_ETCD_ETCD_REQUEST_H
#define HF_ENGINES_ETCD_ETCD_REQUEST_H

#include "engines/etcd/etcd_private.h"
#include "etcd/call.h"
#include "etcd/message.h"

/* How often a request begins again because something changes while it is
 * carried out.  Then it fails, and the core retries later. */
#define HF_ETCD_ATTEMPTS_MAX 8

/* The step that follows a call: look at its end. */
typedef void hf_etcd_engine_step(struct hf_etcd_engine_request *req,
                                 const struct hf_etcd_result *result);

/* Begins a request whose turn it is. */
typedef void hf_etcd_engine_begin(struct hf_etcd_engine_request *req);

/* Where a request is in the order of its queue. */
enum hf_etcd_engine_order {
    HF_ETCD_NOT_ORDERED,
    HF_ETCD_ORDERED,  /* waits */
    HF_ETCD_ITS_TURN, /* has begun; the next one waits for its end */
    HF_ETCD_JOINED,   /* shares the call of the one whose turn it is */
    HF_ETCD_REMOVAL,  /* waits for the flush */
};

/* What is read of a queue, see queue_reading.h. */
enum hf_etcd_engine_extent {
    HF_ETCD_READ_ALL,
    HF_ETCD_READ_NEAREST,
    HF_ETCD_READ_FIRST,
};

/* How far a direction was read. */
enum hf_etcd_engine_cursor_state {
    HF_ETCD_CURSOR_UNREAD,
    HF_ETCD_CURSOR_MORE, /* there are more keys in this direction */
    HF_ETCD_CURSOR_END,
};

struct hf_etcd_engine_cursor {
    unsigned state; /* enum hf_etcd_engine_cursor_state */
    int64_t last;   /* create revision of the last key that was read */
    bool same;      /* the page before ended at that revision, too */
};

struct hf_etcd_engine_reading {
    unsigned extent;               /* enum hf_etcd_engine_extent */
    enum hf_etcd_engine_role role; /* of what is listed */
    struct hf_ticket_id mine;      /* NEAREST: our ticket, and its kind */
    enum hf_ticket_kind kind;
    int64_t revision;                  /* of the first page; 0: not read yet */
    struct hf_etcd_engine_cursor up;   /* in ascending order */
    struct hf_etcd_engine_cursor down; /* in descending order */
    bool reads_up;                     /* the page under way is one of .up */
    bool first;                        /* the first ticket was read */
    size_t keys;                       /* how many were read */
    size_t total;                      /* how many the queue has */
    hf_etcd_engine_begin *then;
};

/* A key that a request has found. */
struct hf_etcd_engine_target {
    char *key; /* with a NUL; NULL: none was found yet */
    size_t bytes;
    int64_t create_revision;
};

struct hf_etcd_engine_request {
    struct hf_etcd_engine *engine;
    struct hf_request *request;         /* the core's */
    struct hf_etcd_engine_queue *queue; /* in use by this request; NULL: none */
    struct hf_etcd_call call;
    hf_etcd_engine_step *step; /* behind .call */
    unsigned attempts;
    unsigned order; /* enum hf_etcd_engine_order; queue_order.c writes these */
    hf_etcd_engine_begin *begin;
    hf_etcd_engine_begin *cleanup; /* called when it is freed, or NULL */
    struct hf_etcd_engine_request *next;
    struct hf_etcd_engine_request *previous;
    struct hf_etcd_engine_reading reading;
    struct hf_etcd_engine_list list; /* what was read */
    struct hf_etcd_engine_target target;
};

/* The state of ${request}, of ${bytes} in all: zeros behind this struct.  NULL
 * for lack of memory, or if there can be no queue of that name; the request has
 * been failed then. */
void *hf_etcd_engine_request_new(struct hf_etcd_engine *engine,
                                 struct hf_request *request, size_t bytes);

/* Make the call ${method} with ${buffer}, which is empty afterwards.  ${step}
 * is called with the end, perhaps from within this function, so the caller must
 * not touch ${req} afterwards. */
void hf_etcd_engine_request_call(struct hf_etcd_engine_request *req,
                                 enum hf_etcd_method method,
                                 struct hf_etcd_buffer *buffer,
                                 hf_etcd_engine_step *step);

/* Answer the core's request with ${event}, whose .as.answer.request is set
 * here.  What the event points to is still there during the call.  Then free
 * ${req}. */
void hf_etcd_engine_request_answer(struct hf_etcd_engine_request *req,
                                   struct hf_event *event);

/* Free ${req}; the core's request is not answered. */
void hf_etcd_engine_request_free(struct hf_etcd_engine_request *req);

/* --------------------------------------------------------------- failure -- */

/* HF_EVENT_FAILED: what a retry can achieve, and the text for people.  Each of
 * these answers the request, and frees ${req}. */

/* Fail with this text. */
void hf_etcd_engine_request_fail(struct hf_etcd_engine_request *req,
                                 enum hf_failure failure, hf_status status,
                                 const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Fail because a call has ended with ${result}, which is not DONE.  The text
 * says that we cannot ${what} the queue, for example "put a ticket into". */
void hf_etcd_engine_request_fail_call(struct hf_etcd_engine_request *req,
                                      const struct hf_etcd_result *result,
                                      const char *what);

/* Fail because the answer to a call makes no sense. */
void hf_etcd_engine_request_fail_answer(struct hf_etcd_engine_request *req);

/* Fail for lack of memory. */
void hf_etcd_engine_request_fail_memory(struct hf_etcd_engine_request *req);

/* Fail because others have changed the ticket at each attempt. */
void hf_etcd_engine_request_fail_busy(struct hf_etcd_engine_request *req);

/* hf_etcd_engine_request_fail() for a request that has no state yet. */
void hf_etcd_engine_fail(struct hf_etcd_engine *engine,
                         struct hf_request *request, enum hf_failure failure,
                         hf_status status, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* ------------------------------------------------------------ operations -- */

/* Make the key with ${suffix}, behind the prefix of the queue, the target of
 * ${req}.  False for lack of memory. */
bool hf_etcd_engine_request_aim(struct hf_etcd_engine_request *req,
                                const char *suffix, int64_t create_revision);

/* Read the key of ${own} in a transaction that goes through the log, so that it
 * is not older than the epoch; ${step} follows, whose answer is for
 * hf_etcd_engine_read_pair(). */
void hf_etcd_engine_read_own(struct hf_etcd_engine_request *req,
                             const struct hf_etcd_engine_own_ticket *own,
                             hf_etcd_engine_step *step);

/* Append to a transaction the comparison that the target is still the key that
 * was found, by its create revision. */
void hf_etcd_engine_compare_target(const struct hf_etcd_engine_request *req,
                                   struct hf_etcd_buffer *buffer);

/* Append to a transaction that the key ${bytes} of ${key} was created at
 * ${create_revision}; 0: it is not there. */
void hf_etcd_engine_compare_created(struct hf_etcd_buffer *buffer,
                                    const char *key, size_t bytes,
                                    int64_t create_revision);

/* Append to ${branch} the removal of a key that is never there.  It makes the
 * transaction go through the log, so that what is read is not old and what is
 * found is proven.  It changes nothing, and no watch fires. */
void hf_etcd_engine_commit_nothing(const struct hf_etcd_engine *engine,
                                   struct hf_etcd_buffer *buffer,
                                   enum hf_etcd_branch branch);

/* --------------------------------------------------------------- answers -- */

/* Read the next response of a transaction, a range of one key; false if it is
 * none.  Without that key .create_revision of ${kv} is 0. */
bool hf_etcd_engine_next_pair(struct hf_etcd_list *responses,
                              struct hf_etcd_key_value *kv);

/* The same for the first response of the transaction ${answer}. */
bool hf_etcd_engine_read_pair(struct hf_etcd_bytes answer,
                              struct hf_etcd_key_value *kv);

#endif
