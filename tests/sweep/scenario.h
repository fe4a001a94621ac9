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
#define SCENARIO_TIMEOUT_MS 20000

#define SCENARIO_NAMES_MAX 4
#define SCENARIO_NAME_BYTES 96

/* Where a story is told, and what it left its traces on. */
struct sweep_fixture {
    const char *url;
    const char *prefix; /* of each name */
    bool has_leases;    /* a dead ticket may stay till its session has ended */
    bool lists_late;    /* and be listed for a while after it was taken out */
    struct fault_report *report;
    struct used_lock {
        char name[SCENARIO_NAME_BYTES];
        struct hf_lock_opts opts;
    } used_locks[SCENARIO_NAMES_MAX];
    unsigned used_lock_count;
};

struct scenario {
    const char *name;
    void (*steps)(struct sweep_fixture *fixture);
};

/* All of them; the last one has no name. */
extern const struct scenario scenarios_of_locks[];
extern const struct scenario scenarios_of_barriers[];
extern const struct scenario scenarios_of_queues[];
extern const struct scenario scenarios_of_ends[];

/* ------------------------------------------------------------- complaints --
 */

/* End the process with ${format} as its complaint. */
_Noreturn void scenario_fail(struct sweep_fixture *fixture, const char *format,
                             ...) __attribute__((format(printf, 2, 3)));

#define CHECK(fixture, condition)                                              \
    do {                                                                       \
        if (!(condition))                                                      \
            scenario_fail(fixture, "%s:%d: not so: %s", __func__, __LINE__,    \
                          #condition);                                         \
    } while (0)

/* Wait until ${condition}, which must come to be so within the patience. */
void scenario_until(struct sweep_fixture *fixture, bool (*condition)(void *arg),
                    void *arg, const char *what);

/* --------------------------------------------------------------- statuses --
 */

/* Copies the last failure on ${handle}; NULL where a handle has none. */
typedef void (*scenario_text_of)(const void *handle, struct hf_error *error);

void text_of_client(const void *client, struct hf_error *error);
void text_of_lock(const void *lock, struct hf_error *error);
void text_of_election(const void *election, struct hf_error *error);
void text_of_barrier(const void *barrier, struct hf_error *error);
void text_of_mutex(const void *mutex, struct hf_error *error);
void text_of_rwlock(const void *rwlock, struct hf_error *error);
void text_of_double(const void *barrier, struct hf_error *error);

/* Whether ${call} went well; if not, it must be what the fault can lead to, and
 * be told on ${handle}. */
bool scenario_is_ok(struct sweep_fixture *fixture, const char *call,
                    hf_status status, scenario_text_of text_of,
                    const void *handle);

/* The same of a status that came with its ${text}; NULL: it has none. */
bool scenario_ended_ok(struct sweep_fixture *fixture, const char *call,
                       hf_status status, const char *text);

/* It must be ${status}, unless the fault is why not, and then with a text.
 * True if it is. */
bool scenario_is(struct sweep_fixture *fixture, const char *call,
                 hf_status status, hf_status expected, scenario_text_of text_of,
                 const void *handle);

/* Make a call; if the fault hit it, once more; then it must have gone well. */
#define EXPECT_OK(fixture, call, text_of, handle)                              \
    do {                                                                       \
        if (!scenario_is_ok(fixture, #call, call, text_of, handle) &&          \
            !scenario_is_ok(fixture, #call, call, text_of, handle))            \
            scenario_fail(fixture, "%s: failed twice", #call);                 \
    } while (0)

/* The same with ${expected} for its status. */
#define EXPECT_STATUS(fixture, call, expected, text_of, handle)                \
    do {                                                                       \
        if (!scenario_is(fixture, #call, call, expected, text_of, handle) &&   \
            !scenario_is(fixture, #call, call, expected, text_of, handle))     \
            scenario_fail(fixture, "%s: failed twice", #call);                 \
    } while (0)

/* ---------------------------------------------------------------- parties --
 */

/* A client of ${cast}; it goes by story_leave(). */
struct hf_client *scenario_open_client(struct sweep_fixture *fixture,
                                       enum hf_delivery delivery);
void scenario_close_client(struct sweep_fixture *fixture,
                           struct hf_client *client);

/* The name of one lock of this story, which is looked at after it. */
const char *scenario_name(struct sweep_fixture *fixture, const char *word,
                          const struct hf_lock_opts *opts);

/* A lock of that name; frees itself never. */
struct hf_lock *scenario_lock(struct sweep_fixture *fixture,
                              struct hf_client *client, const char *word,
                              enum hf_kind kind);
struct hf_lock *scenario_permits(struct sweep_fixture *fixture,
                                 struct hf_client *client, const char *word,
                                 uint32_t permits, uint32_t limit);

struct hf_grant *scenario_acquire(struct sweep_fixture *fixture,
                                  struct hf_lock *lock);

/* The release of a grant that is valid has ended with ${status}.  After the
 * fault it may be refused, and the ticket goes with its client; or a connection
 * that ended may leave it unconfirmed. */
void scenario_released(struct sweep_fixture *fixture, const char *call,
                       hf_status status);

/* Release a grant that is valid. */
void scenario_release(struct sweep_fixture *fixture, struct hf_grant *grant);

/* ------------------------------------------------------------ later ends -- */

/* One operation that was begun, and how it ended. */
struct pending_op {
    struct sweep_fixture *fixture;
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

void pending_op_init(struct pending_op *pending_op,
                     struct sweep_fixture *fixture);
struct hf_done pending_op_done(struct pending_op *pending_op);

/* What ${started} began has ended, with its status; else it is what it says,
 * and nothing was called back.  Either way ${later} may be used again. */
hf_status pending_op_end(struct pending_op *pending_op, hf_status started);

/* Begin to wait for ${lock}, and return when its ticket is in the queue. */
void pending_op_acquire(struct pending_op *pending_op, struct hf_lock *lock);

/* The grant that was waited for; asked for once more if the fault kept it. */
struct hf_grant *pending_op_grant(struct pending_op *pending_op,
                                  struct hf_lock *lock);

#endif
