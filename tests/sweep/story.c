/* SPDX-License-Identifier: Apache-2.0 */
#include "story.h"

#include <poll.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ------------------------------------------------------------- complaints --
 */

_Noreturn void story_complain(struct cast *cast, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    (void)vsnprintf(cast->report->complaint, sizeof(cast->report->complaint),
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

void story_until(struct cast *cast, bool (*condition)(void *arg), void *arg,
                 const char *what)
{
    const struct timespec while_others_work = {0, 200000};
    uint64_t until = now_ms() + STORY_PATIENCE_MS;

    while (!condition(arg)) {
        if (now_ms() >= until)
            story_complain(cast, "never: %s", what);
        (void)nanosleep(&while_others_work, NULL);
    }
}

/* --------------------------------------------------------------- statuses --
 */

void text_of_client(const void *client, struct hf_error *error)
{
    hf_client_error(client, error);
}

void text_of_lock(const void *lock, struct hf_error *error)
{
    hf_lock_error(lock, error);
}

void text_of_mutex(const void *mutex, struct hf_error *error)
{
    hf_mutex_error(mutex, error);
}

void text_of_rwlock(const void *rwlock, struct hf_error *error)
{
    hf_rwlock_error(rwlock, error);
}

void text_of_election(const void *election, struct hf_error *error)
{
    hf_election_error(election, error);
}

void text_of_barrier(const void *barrier, struct hf_error *error)
{
    hf_barrier_error(barrier, error);
}

void text_of_double(const void *barrier, struct hf_error *error)
{
    hf_double_barrier_error(barrier, error);
}

/* What one call of the system that failed may come to.  A wait that runs out
 * is none of it: there was time to try again. */
static bool is_of_the_fault(const struct cast *cast, hf_status status)
{
    if (atomic_load(&cast->report->met) == 0)
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

bool story_ended_well(struct cast *cast, const char *call, hf_status status,
                      const char *text)
{
    if (status == HF_OK)
        return true;
    if (!is_of_the_fault(cast, status))
        story_complain(cast, "%s: %s (%s)", call, hf_status_name(status),
                       text == NULL ? "" : text);
    if (text != NULL && text[0] == '\0')
        story_complain(cast, "%s: %s without a text", call,
                       hf_status_name(status));
    return false;
}

bool story_went_well(struct cast *cast, const char *call, hf_status status,
                     story_text_of text_of, const void *handle)
{
    struct hf_error error = {.status = status};

    if (status == HF_OK)
        return true;
    if (text_of != NULL)
        text_of(handle, &error);
    if (error.status != status)
        story_complain(cast, "%s: %s, but its handle tells of %s (%s)", call,
                       hf_status_name(status), hf_status_name(error.status),
                       error.text);
    return story_ended_well(cast, call, status,
                            text_of == NULL ? NULL : error.text);
}

bool story_is(struct cast *cast, const char *call, hf_status status,
              hf_status expected, story_text_of text_of, const void *handle)
{
    if (status == expected)
        return true;
    if (status == HF_OK)
        story_complain(cast, "%s: HF_OK, expected %s", call,
                       hf_status_name(expected));
    return story_went_well(cast, call, status, text_of, handle);
}

/* ---------------------------------------------------------------- parties --
 */

static void heed_log(void *arg, enum hf_log_level level, const char *line)
{
    struct cast *cast = arg;

    (void)level;
    if (line[0] == '\0')
        story_complain(cast, "an empty line in the log");
}

struct hf_client *story_join(struct cast *cast, enum hf_delivery delivery)
{
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    struct hf_client *client = NULL;
    struct hf_error error;
    hf_status status = HF_EBUG;

    opts.delivery = delivery;
    opts.on_log = (struct hf_on_log){heed_log, cast, HF_LOG_DEBUG};
    for (int i = 0; i < 2; i++) {
        status = hf_client_open(cast->url, &opts, &client, &error);
        if (story_ended_well(cast, "hf_client_open", status, error.text))
            return client;
        CHECK(cast, client == NULL);
    }
    story_complain(cast, "hf_client_open: failed twice: %s", error.text);
}

void story_leave(struct cast *cast, struct hf_client *client)
{
    WELL(cast, hf_client_close(client), NULL, NULL);
}

const char *story_name(struct cast *cast, const char *word,
                       const struct hf_lock_opts *opts)
{
    char name[STORY_NAME_BYTES];
    struct trace *trace;

    (void)snprintf(name, sizeof(name), "%s/%s", cast->prefix, word);
    for (unsigned i = 0; i < cast->trace_count; i++)
        if (strcmp(cast->traces[i].name, name) == 0)
            return cast->traces[i].name;
    CHECK(cast, cast->trace_count < STORY_NAMES_MAX);
    trace = &cast->traces[cast->trace_count++];
    (void)snprintf(trace->name, sizeof(trace->name), "%s", name);
    trace->opts = *opts;
    return trace->name;
}

static struct hf_lock *open_lock(struct cast *cast, struct hf_client *client,
                                 const char *word,
                                 const struct hf_lock_opts *opts)
{
    const char *name = story_name(cast, word, opts);
    struct hf_lock *lock;

    WELL(cast, hf_lock_open(client, name, opts, &lock), text_of_client, client);
    return lock;
}

struct hf_lock *story_lock(struct cast *cast, struct hf_client *client,
                           const char *word, enum hf_kind kind)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;

    opts.kind = kind;
    return open_lock(cast, client, word, &opts);
}

struct hf_lock *story_permits(struct cast *cast, struct hf_client *client,
                              const char *word, uint32_t permits,
                              uint32_t limit)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;

    opts.kind = HF_KIND_SEMAPHORE;
    opts.permits = permits;
    opts.limit = limit;
    return open_lock(cast, client, word, &opts);
}

struct hf_grant *story_acquire(struct cast *cast, struct hf_lock *lock)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_grant *grant;

    opts.wait_ms = STORY_PATIENCE_MS;
    opts.text = "a story";
    WELL(cast, hf_lock_acquire(lock, &opts, &grant), text_of_lock, lock);
    CHECK(cast, hf_grant_token(grant) != 0);
    return grant;
}

void story_released(struct cast *cast, const char *call, hf_status status)
{
    bool met = atomic_load(&cast->report->met) > 0;

    if (status == HF_OK ||
        (met && (status == HF_EDENIED || status == HF_ELOST)))
        return;
    story_complain(cast, "%s: %s", call, hf_status_name(status));
}

void story_release(struct cast *cast, struct hf_grant *grant)
{
    story_released(cast, "hf_grant_release", hf_grant_release(grant));
}

/* ------------------------------------------------------------ later ends -- */

static void on_done(void *arg, const struct hf_result *result)
{
    struct later *later = arg;

    if (result->status != HF_OK && result->text[0] == '\0')
        story_complain(later->cast, "%s is called back without a text",
                       hf_status_name(result->status));
    atomic_store(&later->status, result->status);
    later->grant = result->grant;
    later->tickets = result->tickets;
    atomic_fetch_add(&later->ended, 1);
}

static void on_wait(void *arg, const struct hf_wait *wait)
{
    struct later *later = arg;

    CHECK(later->cast, wait->holder != NULL);
    atomic_fetch_add(&later->begun, 1);
}

static void on_drop(void *arg)
{
    struct later *later = arg;

    atomic_fetch_add(&later->dropped, 1);
}

void later_init(struct later *later, struct cast *cast)
{
    memset(later, 0, sizeof(*later));
    later->cast = cast;
}

struct hf_done later_done(struct later *later)
{
    return (struct hf_done){on_done, later, on_drop};
}

static void run_callbacks(struct later *later)
{
    struct pollfd fd = {.events = POLLIN};

    if (later->dispatched == NULL)
        return;
    fd.fd = hf_client_fd(later->dispatched);
    if (poll(&fd, 1, 1) > 0)
        WELL(later->cast, hf_client_dispatch(later->dispatched), NULL, NULL);
}

static bool has_ended(void *arg)
{
    struct later *later = arg;

    run_callbacks(later);
    return atomic_load(&later->ended) > 0 && atomic_load(&later->dropped) > 0;
}

static bool has_begun(void *arg)
{
    struct later *later = arg;

    run_callbacks(later);
    return atomic_load(&later->begun) > 0 || atomic_load(&later->ended) > 0;
}

hf_status later_end(struct later *later, hf_status started)
{
    hf_status status = started;

    if (started == HF_OK) {
        story_until(later->cast, has_ended, later, "the end of a call");
        CHECK(later->cast, atomic_load(&later->ended) == 1);
        status = atomic_load(&later->status);
    } else {
        CHECK(later->cast, atomic_load(&later->ended) == 0);
    }
    CHECK(later->cast, atomic_load(&later->dropped) >= 1);
    atomic_store(&later->ended, 0);
    atomic_store(&later->begun, 0);
    atomic_store(&later->dropped, 0);
    hf_op_free(later->op);
    later->op = NULL;
    return status;
}

static hf_status begin(struct later *later, struct hf_lock *lock)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;

    opts.wait_ms = STORY_PATIENCE_MS;
    opts.on_wait = (struct hf_on_wait){on_wait, later, NULL};
    return hf_lock_acquire_start(lock, &opts, later_done(later), &later->op);
}

/* It was hit, and said so; then once more. */
static void begin_anew(struct later *later, struct hf_lock *lock,
                       hf_status started)
{
    hf_status status = later_end(later, started);

    if (status == HF_OK)
        story_complain(later->cast, "granted while another has it");
    (void)story_ended_well(later->cast, "hf_lock_acquire_start", status, NULL);
    status = begin(later, lock);
    if (status != HF_OK)
        story_complain(later->cast, "hf_lock_acquire_start: failed twice");
}

void later_acquire(struct later *later, struct hf_lock *lock)
{
    hf_status started = begin(later, lock);

    if (started == HF_OK)
        story_until(later->cast, has_begun, later, "a place in the queue");
    if (started == HF_OK && atomic_load(&later->ended) == 0)
        return;
    begin_anew(later, lock, started);
    story_until(later->cast, has_begun, later, "a place in the queue");
}

struct hf_grant *later_grant(struct later *later, struct hf_lock *lock)
{
    hf_status status = later_end(later, HF_OK);

    if (story_ended_well(later->cast, "hf_lock_acquire_start", status, NULL)) {
        CHECK(later->cast, later->grant != NULL);
        return later->grant;
    }
    return story_acquire(later->cast, lock);
}
