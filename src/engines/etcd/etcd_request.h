/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A request of the core in progress: a sequence of calls, one at a time.
 *
 * Each kind of request has a struct of its own that begins with struct
 * hf_etcd_engine_request.  A request begins with hf_etcd_engine_request_new()
 * and ends with one of
 *
 *     hf_etcd_engine_request_answer()   gives the core its answer
 *     hf_etcd_engine_request_fail()     gives the core HF_EVENT_FAILED
 *     hf_etcd_engine_request_free()     gives no answer, because the core has
 *                                       taken the request back
 *
 * By convention a variable of this type is called req, and ${req}->request is
 * the core's request.
 */
#ifndef HF_ENGINES_ETCD_ETCD_REQUEST_H
#define HF_ENGINES_ETCD_ETCD_REQUEST_H

#include "engines/etcd/etcd_private.h"
#include "etcd/call.h"
#include "etcd/message.h"

/* How often a request begins again because something was changed while it was
 * carried out.  After that it fails, and the core repeats it later. */
#define HF_ETCD_ATTEMPTS_MAX 8

/* The step that follows a call.  ${result} is how the call has ended. */
typedef void hf_etcd_engine_step(struct hf_etcd_engine_request *req,
                                 const struct hf_etcd_result *result);

/* Begins a request, or goes on with it. */
typedef void hf_etcd_engine_begin(struct hf_etcd_engine_request *req);

/* The state of a request in the order of its queue (queue_order.h). */
enum hf_etcd_engine_order {
    HF_ETCD_NOT_ORDERED,
    HF_ETCD_ORDERED,  /* waits for its turn */
    HF_ETCD_ITS_TURN, /* has begun; the next request waits for its end */
    HF_ETCD_JOINED,   /* shares the call of the request whose turn it is */
    HF_ETCD_REMOVAL,  /* a removal that waits for the next flush */
};

/* How much of a queue is read, see queue_reading.h. */
enum hf_etcd_engine_extent {
    HF_ETCD_READ_ALL,
    HF_ETCD_READ_NEAREST,
    HF_ETCD_READ_FIRST,
};

/* How far a queue was read in one direction. */
enum hf_etcd_engine_cursor_state {
    HF_ETCD_CURSOR_UNREAD,
    HF_ETCD_CURSOR_MORE, /* there are more keys in this direction */
    HF_ETCD_CURSOR_END,
};

struct hf_etcd_engine_cursor {
    unsigned state; /* enum hf_etcd_engine_cursor_state */
    int64_t last;   /* create revision of the last key that was read */
    bool same;      /* the page before ended at that revision, too; see
                       take_page() */
};

struct hf_etcd_engine_reading {
    unsigned extent;               /* enum hf_etcd_engine_extent */
    enum hf_etcd_engine_role role; /* role of the keys that are listed */
    struct hf_ticket_id mine;      /* NEAREST: our ticket, and its kind */
    enum hf_ticket_kind kind;
    int64_t revision;                  /* of the first page; 0: not read yet */
    struct hf_etcd_engine_cursor up;   /* of reading in ascending order */
    struct hf_etcd_engine_cursor down; /* of reading in descending order */
    bool reads_up;                     /* the page that is being read belongs
                                          to .up */
    bool first;                        /* the first ticket of the queue was
                                          read */
    size_t keys;                       /* keys that were read */
    size_t total;                      /* keys that the queue has */
    hf_etcd_engine_begin *then;
};

/* The key of another client's ticket that a request has found. */
struct hf_etcd_engine_target {
    char *key; /* with a NUL; NULL: none was found yet */
    size_t bytes;
    int64_t create_revision;
};

struct hf_etcd_engine_request {
    struct hf_etcd_engine *engine;
    struct hf_request *request;         /* the core's request */
    struct hf_etcd_engine_queue *queue; /* in use by this request; NULL: none */
    struct hf_etcd_call call;
    hf_etcd_engine_step *step; /* called when .call has ended */
    unsigned attempts;
    /* Only queue_order.c writes .order, .begin, .next and .previous. */
    unsigned order; /* enum hf_etcd_engine_order */
    hf_etcd_engine_begin *begin;
    hf_etcd_engine_begin *cleanup; /* called when the request is freed; may
                                      be NULL */
    struct hf_etcd_engine_request *next;
    struct hf_etcd_engine_request *previous;
    struct hf_etcd_engine_reading reading;
    struct hf_etcd_engine_list list; /* the tickets that were read */
    struct hf_etcd_engine_target target;
};

/* Make the state of ${request}: ${bytes} in all, zeros behind struct
 * hf_etcd_engine_request.  Returns NULL for lack of memory, or if no lock can
 * have that name; then the request has been failed. */
void *hf_etcd_engine_request_new(struct hf_etcd_engine *engine,
                                 struct hf_request *request, size_t bytes);

/* Make the call ${method} with ${buffer}, which is empty afterwards.  ${step}
 * is called with the end of the call, perhaps from within this function.  So
 * the caller must not touch ${req} afterwards. */
void hf_etcd_engine_request_call(struct hf_etcd_engine_request *req,
                                 enum hf_etcd_method method,
                                 struct hf_etcd_buffer *buffer,
                                 hf_etcd_engine_step *step);

/* Answer the core's request with ${event}, whose .as.answer.request is set
 * here.  Then free ${req}; until then what ${event} points to may belong to
 * ${req}. */
void hf_etcd_engine_request_answer(struct hf_etcd_engine_request *req,
                                   struct hf_event *event);

/* Free ${req}, without answering the core's request. */
void hf_etcd_engine_request_free(struct hf_etcd_engine_request *req);

/* --------------------------------------------------------------- failure -- */

/* HF_EVENT_FAILED has what a retry can achieve (enum hf_failure), and a text
 * for people.  Each of these functions answers the request and frees ${req}. */

/* Fail with this status and text. */
void hf_etcd_engine_request_fail(struct hf_etcd_engine_request *req,
                                 enum hf_failure failure, hf_status status,
                                 const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Fail because a call has ended with ${result}, which is not DONE.  The text
 * begins with "cannot ${what}" and the queue; ${what} is for example "put a
 * ticket into". */
void hf_etcd_engine_request_fail_call(struct hf_etcd_engine_request *req,
                                      const struct hf_etcd_result *result,
                                      const char *what);

/* Fail because the answer to a call makes no sense. */
void hf_etcd_engine_request_fail_answer(struct hf_etcd_engine_request *req);

/* Fail for lack of memory. */
void hf_etcd_engine_request_fail_memory(struct hf_etcd_engine_request *req);

/* Fail because somebody else has changed the ticket at each attempt. */
void hf_etcd_engine_request_fail_busy(struct hf_etcd_engine_request *req);

/* The same as hf_etcd_engine_request_fail(), for a request without a struct
 * hf_etcd_engine_request. */
void hf_etcd_engine_fail(struct hf_etcd_engine *engine,
                         struct hf_request *request, enum hf_failure failure,
                         hf_status status, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* ------------------------------------------------------------ operations -- */

/* Make the key "PREFIX NAME/" and ${suffix}, which was created at
 * ${create_revision}, the target of ${req}.  Returns false for lack of memory.
 */
bool hf_etcd_engine_request_aim(struct hf_etcd_engine_request *req,
                                const char *suffix, int64_t create_revision);

/* Read the key of ${own} in a transaction that goes through the log, so that
 * what is read is not older than the epoch.  ${step} is called with the answer,
 * which hf_etcd_engine_read_pair() reads. */
void hf_etcd_engine_read_own(struct hf_etcd_engine_request *req,
                             const struct hf_etcd_engine_own_ticket *own,
                             hf_etcd_engine_step *step);

/* Append the comparison that the target is still the key that was found, by its
 * create revision. */
void hf_etcd_engine_compare_target(const struct hf_etcd_engine_request *req,
                                   struct hf_etcd_buffer *buffer);

/* Append the comparison that the key, ${bytes} at ${key}, was created at
 * ${create_revision}; 0: that the key is not there. */
void hf_etcd_engine_compare_created(struct hf_etcd_buffer *buffer,
                                    const char *key, size_t bytes,
                                    int64_t create_revision);

/* Append to ${branch} the deletion of a key that never exists.  It changes
 * nothing, and no watch fires, but it makes the transaction go through the log.
 * So what the transaction reads is not old, and its commit can prove the
 * session. */
void hf_etcd_engine_commit_nothing(const struct hf_etcd_engine *engine,
                                   struct hf_etcd_buffer *buffer,
                                   enum hf_etcd_branch branch);

/* --------------------------------------------------------------- answers -- */

/* Read the next response of a transaction, which must be a range of one key.
 * If the key is not there, .create_revision of ${kv} is 0.  Returns false if
 * the response is something else. */
bool hf_etcd_engine_next_pair(struct hf_etcd_list *responses,
                              struct hf_etcd_key_value *kv);

/* The same for the first response in ${answer}, the answer to a transaction. */
bool hf_etcd_engine_read_pair(struct hf_etcd_bytes answer,
                              struct hf_etcd_key_value *kv);

#endif
