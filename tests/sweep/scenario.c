/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the public interface, each with the checks that a fault allows. */
#include "scenario.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ------------------------------------------------------------ complaints -- */

_Noreturn void scenario_fail(struct sweep_fixture *fixture, const char *format,
                             ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(fixture->report->failure, sizeof(fixture->report->failure),
                    format, args);
    va_end(args);
    _Exit(1);
}

static uint64_t now_ms(void)
{
    struct timespec now;

    (void)clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

void scenario_until(struct sweep_fixture *fixture, bool (*condition)(void *arg),
                    void *arg, const char *what)
{
    const struct timespec while_others_work = {0, 200000};
    uint64_t until = now_ms() + SCENARIO_TIMEOUT_MS;

    while (!condition(arg)) {
        if (now_ms() >= until)
            scenario_fail(fixture, "never: %s", what);
        (void)nanosleep(&while_others_work, NULL);
    }
}

/* -------------------------------------------------------------- statuses -- */

/* True if a system call that failed may lead to that status.  A timeout is
 * none of them, because there was time to try again. */
static bool is_of_the_fault(const struct sweep_fixture *fixture,
                            hf_status status)
{
    if (atomic_load(&fixture->report->met) == 0)
        return false;
    switch (hf_status_class(status)) {
    case HF_CLASS_RESOURCE:
    case HF_CLASS_STORAGE:
    case HF_CLASS_UNAVAILABLE:
    case HF_CLASS_UNSUPPORTED: /* a module that could not be loaded */
    case HF_CLASS_DENIED:
        return true;
    default:
        return false;
    }
}

bool scenario_ended_ok(struct sweep_fixture *fixture, const char *call,
                       hf_status status, const char *text)
{
    if (status == HF_OK)
        return true;
    if (!is_of_the_fault(fixture, status))
        scenario_fail(fixture, "%s: %s (%s)", call, hf_status_name(status),
                      text == NULL ? "" : text);
    if (text != NULL && text[0] == '\0')
        scenario_fail(fixture, "%s: %s without a text", call,
                      hf_status_name(status));
    return false;
}

bool scenario_is_ok(struct sweep_fixture *fixture, const char *call,
                    hf_status status)
{
    const struct hf_error *last = hf_last_error();

    if (status != HF_OK && last->status != status)
        scenario_fail(fixture, "%s: %s, but the last error is %s (%s)", call,
                      hf_status_name(status), hf_status_name(last->status),
                      last->text);
    return scenario_ended_ok(fixture, call, status, last->text);
}

bool scenario_is(struct sweep_fixture *fixture, const char *call,
                 hf_status status, hf_status expected)
{
    if (status == expected)
        return true;
    if (status == HF_OK)
        scenario_fail(fixture, "%s: HF_OK, expected %s", call,
                      hf_status_name(expected));
    return scenario_is_ok(fixture, call, status);
}

/* --------------------------------------------------------------- parties -- */

static void note_log_line(void *arg, enum hf_log_level level, const char *line)
{
    struct sweep_fixture *fixture = arg;

    (void)level;
    if (line[0] == '\0')
        scenario_fail(fixture, "an empty line in the log");
}

struct hf_client *scenario_open_client(struct sweep_fixture *fixture,
                                       enum hf_delivery delivery)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct hf_client *client = NULL;
    hf_status status = HF_EBUG;

    opts.delivery = delivery;
    opts.on_log = (struct hf_on_log){note_log_line, fixture, HF_LOG_DEBUG};
    for (int i = 0; i < 2; i++) {
        status = hf_client_open(fixture->url, &opts, &client);
        if (scenario_ended_ok(fixture, "hf_client_open", status,
                              hf_last_error()->text))
            return client;
        CHECK(fixture, client == NULL);
    }
    scenario_fail(fixture, "hf_client_open: failed twice: %s",
                  hf_last_error()->text);
}

void scenario_close_client(struct sweep_fixture *fixture,
                           struct hf_client *client)
{
    EXPECT_OK(fixture, hf_client_close(client));
}

const char *scenario_name(struct sweep_fixture *fixture, const char *word,
                          const struct hf_lock_opts *opts)
{
    char name[SCENARIO_NAME_BYTES];
    struct used_lock *used_lock;

    (void)snprintf(name, sizeof(name), "%s/%s", fixture->prefix, word);
    for (unsigned i = 0; i < fixture->used_lock_count; i++)
        if (strcmp(fixture->used_locks[i].name, name) == 0)
            return fixture->used_locks[i].name;
    CHECK(fixture, fixture->used_lock_count < SCENARIO_NAMES_MAX);
    used_lock = &fixture->used_locks[fixture->used_lock_count++];
    (void)snprintf(used_lock->name, sizeof(used_lock->name), "%s", name);
    used_lock->opts = *opts;
    return used_lock->name;
}

static struct hf_lock *open_lock(struct sweep_fixture *fixture,
                                 struct hf_client *client, const char *word,
                                 const struct hf_lock_opts *opts)
{
    const char *name = scenario_name(fixture, word, opts);
    struct hf_lock *lock;

    EXPECT_OK(fixture, hf_lock_open(client, name, opts, &lock));
    return lock;
}

struct hf_lock *scenario_lock(struct sweep_fixture *fixture,
                              struct hf_client *client, const char *word,
                              enum hf_kind kind)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;

    opts.kind = kind;
    return open_lock(fixture, client, word, &opts);
}

struct hf_lock *scenario_permits(struct sweep_fixture *fixture,
                                 struct hf_client *client, const char *word,
                                 uint32_t permits, uint32_t limit)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;

    opts.kind = HF_KIND_SEMAPHORE;
    opts.permits = permits;
    opts.limit = limit;
    return open_lock(fixture, client, word, &opts);
}

struct hf_grant *scenario_acquire(struct sweep_fixture *fixture,
                                  struct hf_lock *lock)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_grant *grant;

    opts.wait_ms = SCENARIO_TIMEOUT_MS;
    opts.text = "a scenario";
    EXPECT_OK(fixture, hf_lock_acquire(lock, &opts, &grant));
    CHECK(fixture, hf_grant_token(grant) != 0);
    return grant;
}

void scenario_released(struct sweep_fixture *fixture, const char *call,
                       hf_status status)
{
    bool met = atomic_load(&fixture->report->met) > 0;

    if (status == HF_OK ||
        (met && (status == HF_EDENIED || status == HF_ELOST)))
        return;
    scenario_fail(fixture, "%s: %s", call, hf_status_name(status));
}

void scenario_release(struct sweep_fixture *fixture, struct hf_grant *grant)
{
    scenario_released(fixture, "hf_grant_release", hf_grant_release(grant));
}

/* ------------------------------------------------------------ later ends -- */

static void on_done(void *arg, const struct hf_result *result)
{
    struct pending_op *pending_op = arg;

    if (result->status != HF_OK && result->text[0] == '\0')
        scenario_fail(pending_op->fixture, "%s is called back without a text",
                      hf_status_name(result->status));
    atomic_store(&pending_op->status, result->status);
    pending_op->grant = result->grant;
    pending_op->tickets = result->tickets;
    atomic_fetch_add(&pending_op->ended, 1);
}

static void on_wait(void *arg, const struct hf_wait *wait)
{
    struct pending_op *pending_op = arg;

    CHECK(pending_op->fixture, wait->holder != NULL);
    atomic_fetch_add(&pending_op->begun, 1);
}

static void on_drop(void *arg)
{
    struct pending_op *pending_op = arg;

    atomic_fetch_add(&pending_op->dropped, 1);
}

void pending_op_init(struct pending_op *pending_op,
                     struct sweep_fixture *fixture)
{
    memset(pending_op, 0, sizeof(*pending_op));
    pending_op->fixture = fixture;
}

struct hf_done pending_op_done(struct pending_op *pending_op)
{
    return (struct hf_done){on_done, pending_op, on_drop};
}

static void run_callbacks(struct pending_op *pending_op)
{
    struct pollfd fd = {.events = POLLIN};

    if (pending_op->dispatched == NULL)
        return;
    fd.fd = hf_client_fd(pending_op->dispatched);
    if (poll(&fd, 1, 1) > 0)
        EXPECT_OK(pending_op->fixture,
                  hf_client_dispatch(pending_op->dispatched));
}

static bool has_ended(void *arg)
{
    struct pending_op *pending_op = arg;

    run_callbacks(pending_op);
    return atomic_load(&pending_op->ended) > 0 &&
           atomic_load(&pending_op->dropped) > 0;
}

static bool has_begun(void *arg)
{
    struct pending_op *pending_op = arg;

    run_callbacks(pending_op);
    return atomic_load(&pending_op->begun) > 0 ||
           atomic_load(&pending_op->ended) > 0;
}

hf_status pending_op_end(struct pending_op *pending_op, hf_status started)
{
    hf_status status = started;

    if (started == HF_OK) {
        scenario_until(pending_op->fixture, has_ended, pending_op,
                       "the end of a call");
        CHECK(pending_op->fixture, atomic_load(&pending_op->ended) == 1);
        status = atomic_load(&pending_op->status);
    } else {
        CHECK(pending_op->fixture, atomic_load(&pending_op->ended) == 0);
    }
    CHECK(pending_op->fixture, atomic_load(&pending_op->dropped) >= 1);
    atomic_store(&pending_op->ended, 0);
    atomic_store(&pending_op->begun, 0);
    atomic_store(&pending_op->dropped, 0);
    hf_op_free(pending_op->op);
    pending_op->op = NULL;
    return status;
}

static hf_status begin(struct pending_op *pending_op, struct hf_lock *lock)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.wait_ms = SCENARIO_TIMEOUT_MS;
    opts.on_wait = (struct hf_on_wait){on_wait, pending_op, NULL};
    return hf_lock_acquire_start(lock, &opts, pending_op_done(pending_op),
                                 &pending_op->op);
}

/* The start was hit by the fault and said so: start once more. */
static void begin_anew(struct pending_op *pending_op, struct hf_lock *lock,
                       hf_status started)
{
    hf_status status = pending_op_end(pending_op, started);

    if (status == HF_OK)
        scenario_fail(pending_op->fixture, "granted while another has it");
    (void)scenario_ended_ok(pending_op->fixture, "hf_lock_acquire_start",
                            status, NULL);
    status = begin(pending_op, lock);
    if (status != HF_OK)
        scenario_fail(pending_op->fixture,
                      "hf_lock_acquire_start: failed twice");
}

void pending_op_acquire(struct pending_op *pending_op, struct hf_lock *lock)
{
    hf_status started = begin(pending_op, lock);

    if (started == HF_OK)
        scenario_until(pending_op->fixture, has_begun, pending_op,
                       "a place in the queue");
    if (started == HF_OK && atomic_load(&pending_op->ended) == 0)
        return;
    begin_anew(pending_op, lock, started);
    scenario_until(pending_op->fixture, has_begun, pending_op,
                   "a place in the queue");
}

struct hf_grant *pending_op_grant(struct pending_op *pending_op,
                                  struct hf_lock *lock)
{
    hf_status status = pending_op_end(pending_op, HF_OK);

    if (scenario_ended_ok(pending_op->fixture, "hf_lock_acquire_start", status,
                          NULL)) {
        CHECK(pending_op->fixture, pending_op->grant != NULL);
        return pending_op->grant;
    }
    return scenario_acquire(pending_op->fixture, lock);
}
