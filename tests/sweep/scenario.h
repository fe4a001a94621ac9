/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What scenarios of the sweep are made of.  A scenario uses only the public
 * interface of the library, and goes on to its end whatever fails.  A call that
 * was hit by the fault must say so by a status and a text; it is then made once
 * more and must succeed.  The first check that fails ends the process with a
 * message.
 */
#ifndef HF_TESTS_STORY_H
#define HF_TESTS_STORY_H

#include <holdfast/holdfast.h>

#include "fault.h"

/* No wait after one fault may take longer. */
#define SCENARIO_TIMEOUT_MS 20000

#define SCENARIO_NAMES_MAX 4
#define SCENARIO_NAME_BYTES 96

/* What a scenario gets, and which locks it has used. */
struct sweep_fixture {
    const char *url;
    const char *prefix; /* of the name of each lock */
    bool has_leases; /* a ticket of a dead client stays until its session ends,
                      */
    bool lists_late; /* and is listed for a moment after it was removed */
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

/* All scenarios; each table ends with one without a name. */
extern const struct scenario scenarios_of_locks[];
extern const struct scenario scenarios_of_barriers[];
extern const struct scenario scenarios_of_queues[];
extern const struct scenario scenarios_of_ends[];
extern const struct scenario scenarios_of_zookeeper[]; /* of that engine */

/* ---------------------------------------------------------------- checks -- */

/* Report ${format} as the failure of the scenario, and end the process. */
_Noreturn void scenario_fail(struct sweep_fixture *fixture, const char *format,
                             ...) __attribute__((format(printf, 2, 3)));

#define CHECK(fixture, condition)                                              \
    do {                                                                       \
        if (!(condition))                                                      \
            scenario_fail(fixture, "%s:%d: not so: %s", __func__, __LINE__,    \
                          #condition);                                         \
    } while (0)

/* Wait until ${condition} is true, at most SCENARIO_TIMEOUT_MS; ${what} is
 * named in the failure. */
void scenario_until(struct sweep_fixture *fixture, bool (*condition)(void *arg),
                    void *arg, const char *what);

/* -------------------------------------------------------------- statuses -- */

/* True if ${status}, which a call on this thread has just returned, is HF_OK.
 * If not, it must be a status that the fault can lead to, and hf_last_error()
 * must have it and a text. */
bool scenario_is_ok(struct sweep_fixture *fixture, const char *call,
                    hf_status status);

/* The same for a status that came with ${text}; NULL: it has none. */
bool scenario_ended_ok(struct sweep_fixture *fixture, const char *call,
                       hf_status status, const char *text);

/* True if ${status} is ${expected}.  If not, as scenario_is_ok(). */
bool scenario_is(struct sweep_fixture *fixture, const char *call,
                 hf_status status, hf_status expected);

/* Make a call that must succeed, once more if the fault hit it. */
#define EXPECT_OK(fixture, call)                                               \
    do {                                                                       \
        if (!scenario_is_ok(fixture, #call, call) &&                           \
            !scenario_is_ok(fixture, #call, call))                             \
            scenario_fail(fixture, "%s: failed twice", #call);                 \
    } while (0)

/* The same for a call that must end with ${expected}. */
#define EXPECT_STATUS(fixture, call, expected)                                 \
    do {                                                                       \
        if (!scenario_is(fixture, #call, call, expected) &&                    \
            !scenario_is(fixture, #call, call, expected))                      \
            scenario_fail(fixture, "%s: failed twice", #call);                 \
    } while (0)

/* ----------------------------------------------------- clients and locks -- */

/* Open a client, and close it. */
struct hf_client *scenario_open_client(struct sweep_fixture *fixture,
                                       enum hf_delivery delivery);
void scenario_close_client(struct sweep_fixture *fixture,
                           struct hf_client *client);

/* The full name of the lock ${word}, which leftovers_check() looks at. */
const char *scenario_name(struct sweep_fixture *fixture, const char *word,
                          const struct hf_lock_opts *opts);

/* A lock, and a semaphore, of that name.  The scenario frees it. */
struct hf_lock *scenario_lock(struct sweep_fixture *fixture,
                              struct hf_client *client, const char *word,
                              enum hf_kind kind);
struct hf_lock *scenario_permits(struct sweep_fixture *fixture,
                                 struct hf_client *client, const char *word,
                                 uint32_t permits, uint32_t limit);

struct hf_grant *scenario_acquire(struct sweep_fixture *fixture,
                                  struct hf_lock *lock);

/* Check the status of the release of a valid grant.  After the fault a release
 * may be refused, and its ticket ends with the client; or the connection ended
 * and it is not confirmed. */
void scenario_released(struct sweep_fixture *fixture, const char *call,
                       hf_status status);

/* Release a grant that is valid. */
void scenario_release(struct sweep_fixture *fixture, struct hf_grant *grant);

/* ---------------------------------------------------- pending operations -- */

/* An operation that was started, and how it ended. */
struct pending_op {
    struct sweep_fixture *fixture;
    struct hf_client *dispatched; /* callbacks are run by the waiting
                                     thread; NULL: by the client */
    struct hf_op *op;
    _Atomic unsigned begun; /* on_wait was called */
    _Atomic unsigned ended;
    _Atomic unsigned dropped;
    _Atomic hf_status status;
    struct hf_grant *grant;
    struct hf_tickets *tickets;
};

void pending_op_init(struct pending_op *pending_op,
                     struct sweep_fixture *fixture);
struct hf_done pending_op_done(struct pending_op *pending_op);

/* Wait for the end of what a start call with the status ${started} has begun;
 * its status.  If the start failed, that is ${started} and no callback may
 * come.
 * ${pending_op} may be used again then. */
hf_status pending_op_end(struct pending_op *pending_op, hf_status started);

/* Start an acquire, and return when its ticket is in the queue. */
void pending_op_acquire(struct pending_op *pending_op, struct hf_lock *lock);

/* The grant of that acquire; acquired once more if the fault was the reason. */
struct hf_grant *pending_op_grant(struct pending_op *pending_op,
                                  struct hf_lock *lock);

#endif
