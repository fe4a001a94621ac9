/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What stories are told with.  A story uses only the public interface and goes
 * on to its end whatever fails: a call that was hit by the fault must say so by
 * a status and a text, and is then made once more, which must go well.  The
 * first thing that is not as it should be ends the process with a complaint.
 */
#ifndef HF_TESTS_STORY_H
#define HF_TESTS_STORY_H

#include <holdfast/holdfast.h>

#include "fault.h"

/* Longer than anything may take after one fault. */
#define STORY_PATIENCE_MS 20000

#define STORY_NAMES_MAX 4
#define STORY_NAME_BYTES 96

/* Where a story is told, and what it left its traces on. */
struct cast {
    const char *url;
    const char *prefix; /* of each name */
    bool has_leases;    /* a dead ticket may stay till its session has ended */
    bool lists_late;    /* and be listed for a while after it was taken out */
    struct fault_report *report;
    struct trace {
        char name[STORY_NAME_BYTES];
        struct hf_lock_opts opts;
    } traces[STORY_NAMES_MAX];
    unsigned trace_count;
};

struct story {
    const char *name;
    void (*tell)(struct cast *cast);
};

/* All of them; the last one has no name. */
extern const struct story stories_of_locks[];
extern const struct story stories_of_barriers[];
extern const struct story stories_of_queues[];
extern const struct story stories_of_ends[];

/* ------------------------------------------------------------- complaints --
 */

/* End the process with ${format} as its complaint. */
_Noreturn void story_complain(struct cast *cast, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#define CHECK(cast, condition)                                                 \
    do {                                                                       \
        if (!(condition))                                                      \
            story_complain(cast, "%s:%d: not so: %s", __func__, __LINE__,      \
                           #condition);                                        \
    } while (0)

/* Wait until ${condition}, which must come to be so within the patience. */
void story_until(struct cast *cast, bool (*condition)(void *arg), void *arg,
                 const char *what);

/* --------------------------------------------------------------- statuses --
 */

/* Copies the last failure on ${handle}; NULL where a handle has none. */
typedef void (*story_text_of)(const void *handle, struct hf_error *error);

void text_of_client(const void *client, struct hf_error *error);
void text_of_lock(const void *lock, struct hf_error *error);
void text_of_election(const void *election, struct hf_error *error);
void text_of_barrier(const void *barrier, struct hf_error *error);
void text_of_mutex(const void *mutex, struct hf_error *error);
void text_of_rwlock(const void *rwlock, struct hf_error *error);
void text_of_double(const void *barrier, struct hf_error *error);

/* Whether ${call} went well; if not, it must be what the fault can lead to, and
 * be told on ${handle}. */
bool story_went_well(struct cast *cast, const char *call, hf_status status,
                     story_text_of text_of, const void *handle);

/* The same of a status that came with its ${text}; NULL: it has none. */
bool story_ended_well(struct cast *cast, const char *call, hf_status status,
                      const char *text);

/* It must be ${status}, unless the fault is why not, and then with a text.
 * True if it is. */
bool story_is(struct cast *cast, const char *call, hf_status status,
              hf_status expected, story_text_of text_of, const void *handle);

/* Make a call; if the fault hit it, once more; then it must have gone well. */
#define WELL(cast, call, text_of, handle)                                      \
    do {                                                                       \
        if (!story_went_well(cast, #call, call, text_of, handle) &&            \
            !story_went_well(cast, #call, call, text_of, handle))              \
            story_complain(cast, "%s: failed twice", #call);                   \
    } while (0)

/* The same with ${expected} for its status. */
#define GIVES(cast, call, expected, text_of, handle)                           \
    do {                                                                       \
        if (!story_is(cast, #call, call, expected, text_of, handle) &&         \
            !story_is(cast, #call, call, expected, text_of, handle))           \
            story_complain(cast, "%s: failed twice", #call);                   \
    } while (0)

/* ---------------------------------------------------------------- parties --
 */

/* A client of ${cast}; it goes by story_leave(). */
struct hf_client *story_join(struct cast *cast, enum hf_delivery delivery);
void story_leave(struct cast *cast, struct hf_client *client);

/* The name of one lock of this story, which is looked at after it. */
const char *story_name(struct cast *cast, const char *word,
                       const struct hf_lock_opts *opts);

/* A lock of that name; frees itself never. */
struct hf_lock *story_lock(struct cast *cast, struct hf_client *client,
                           const char *word, enum hf_kind kind);
struct hf_lock *story_permits(struct cast *cast, struct hf_client *client,
                              const char *word, uint32_t permits,
                              uint32_t limit);

struct hf_grant *story_acquire(struct cast *cast, struct hf_lock *lock);

/* The release of a grant that is valid has ended with ${status}.  After the
 * fault it may be refused, and the ticket goes with its client; or a connection
 * that ended may leave it unconfirmed. */
void story_released(struct cast *cast, const char *call, hf_status status);

/* Release a grant that is valid. */
void story_release(struct cast *cast, struct hf_grant *grant);

/* ------------------------------------------------------------ later ends -- */

/* One operation that was begun, and how it ended. */
struct later {
    struct cast *cast;
    struct hf_client *dispatched; /* its callbacks are run by who waits; or
                                     NULL */
    struct hf_op *op;
    _Atomic unsigned begun; /* told of its waiting */
    _Atomic unsigned ended;
    _Atomic unsigned dropped;
    _Atomic hf_status status;
    struct hf_grant *grant;
    struct hf_tickets *tickets;
};

void later_init(struct later *later, struct cast *cast);
struct hf_done later_done(struct later *later);

/* What ${started} began has ended, with its status; else it is what it says,
 * and nothing was called back.  Either way ${later} may be used again. */
hf_status later_end(struct later *later, hf_status started);

/* Begin to wait for ${lock}, and return when its ticket is in the queue. */
void later_acquire(struct later *later, struct hf_lock *lock);

/* The grant that was waited for; asked for once more if the fault kept it. */
struct hf_grant *later_grant(struct later *later, struct hf_lock *lock);

#endif
