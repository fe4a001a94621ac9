/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/contender.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <time.h>
#include <unistd.h>

#include "cli/clock.h"
#include "cli/exit_status.h"
#include "cli/say.h"
#include "core/random.h"
#include "history/note.h"

/* A holder looks so often whether its promise has moved. */
#define LOOK_MS 20

/* The longest hold, and how long one is willing to wait who is not patient. */
#define HOLD_MAX_MS 30
#define IMPATIENT_MAX_MS 500

/* Of a semaphore: some contenders take one permit, others two. */
#define PERMITS_MAX 2
#define LIMIT 3

enum state {
    IDLE,
    WAITING,
    HOLDING,
    SHARING, /* has asked to become a reader */
    RELEASING,
};

struct contending {
    const struct hf_contender *self;
    struct hf_random random;
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_lock *readers; /* of a read/write lock, else NULL */
    enum state state;
    struct hf_lock *wanted; /* the one of the two that it is after */
    struct hf_op *op;
    struct hf_grant *grant;
    bool queued; /* noted so */
    bool reads;  /* it may not write */
    bool lost;   /* and noted so */
    bool ending; /* SIGTERM has come */
    uint64_t token;
    uint64_t safe_until_ms; /* as noted last */
    uint64_t until_ms;      /* it holds until then */
    int exit_code;
};

/* ----------------------------------------------------------------- notes -- */

static uint64_t now_us(void)
{
    struct timespec now;
    int failed = clock_gettime(CLOCK_BOOTTIME, &now);

    assert(!failed);
    (void)failed;
    return (uint64_t)now.tv_sec * 1000000 + (uint64_t)now.tv_nsec / 1000;
}

static void put(const struct contending *contending, struct hf_note *note)
{
    char line[HF_NOTE_BYTES];
    size_t bytes;

    note->at_us = now_us();
    note->client = contending->self->name;
    note->lock = contending->self->lock;
    note->token = contending->token;
    bytes = hf_note_format(note, line);
    while (write(contending->self->history, line, bytes) < 0)
        if (errno != EINTR)
            _exit(HF_EXIT_DIRECTORY); /* whoever reads it has gone */
}

static void note(const struct contending *contending, enum hf_note_word word)
{
    struct hf_note note = {.word = word};

    put(contending, &note);
}

static void note_promise(struct contending *contending, enum hf_note_word word)
{
    struct hf_note note = {.word = word};

    contending->safe_until_ms = hf_grant_safe_until_ms(contending->grant);
    note.safe_until_us = contending->safe_until_ms == HF_FOREVER
                             ? HF_FOREVER
                             : contending->safe_until_ms * 1000;
    put(contending, &note);
}

/* A loss is no promise. */
static void note_new_promise(struct contending *contending)
{
    uint64_t safe_until_ms = hf_grant_safe_until_ms(contending->grant);

    if (safe_until_ms != 0 && safe_until_ms != contending->safe_until_ms)
        note_promise(contending, HF_NOTE_HELD);
}

/* ------------------------------------------------------------------ want -- */

static bool one_in(struct contending *contending, uint64_t count)
{
    return hf_random_below(&contending->random, count) == 0;
}

static void on_wait(void *arg, const struct hf_wait *wait)
{
    struct contending *contending = arg;

    (void)wait;
    if (contending->queued)
        return;
    contending->queued = true;
    note(contending, HF_NOTE_QUEUED);
}

static void on_state(void *arg, enum hf_state state)
{
    struct contending *contending = arg;

    if (state != HF_STATE_LOST || contending->state != WAITING)
        return;
    contending->queued = false;
    note(contending, HF_NOTE_UNQUEUED);
}

static void on_loss(void *arg, struct hf_grant *grant)
{
    struct contending *contending = arg;

    (void)grant;
    contending->lost = true;
    note(contending, HF_NOTE_LOST);
}

/* Some failures are part of the game: an engine that cannot be reached. */
static void give_up(struct contending *contending,
                    const struct hf_result *result)
{
    note(contending, HF_NOTE_GAVEUP);
    contending->state = IDLE;
    contending->until_ms = hf_clock_now_ms() + LOOK_MS;
    if (contending->ending || hf_status_retry(result->status) == HF_RETRY_LATER)
        return;
    hf_say("%s", result->text);
    contending->exit_code = hf_exit_status(result->status);
    contending->ending = true;
}

static void on_done(void *arg, const struct hf_result *result)
{
    struct contending *contending = arg;

    hf_op_free(contending->op);
    contending->op = NULL;
    if (result->status != HF_OK) {
        give_up(contending, result);
        return;
    }
    contending->grant = result->grant;
    contending->token = hf_grant_token_of(result->grant, contending->wanted);
    contending->state = HOLDING;
    contending->until_ms =
        hf_clock_now_ms() + hf_random_below(&contending->random, HOLD_MAX_MS);
    note_promise(contending, HF_NOTE_GRANT);
    atomic_store(&contending->self->resource->holder, contending->self->number);
}

static uint32_t permits_of(const struct contending *contending)
{
    return 1 + (uint32_t)(contending->self->seed % PERMITS_MAX);
}

static void note_want(const struct contending *contending)
{
    struct hf_note note = {.word = HF_NOTE_WANT,
                           .kind = contending->self->kind,
                           .permits = 1,
                           .limit = 1};

    if (contending->reads)
        note.kind = HF_KIND_READ;
    if (note.kind == HF_KIND_SEMAPHORE) {
        note.permits = permits_of(contending);
        note.limit = LIMIT;
    }
    put(contending, &note);
}

static void want(struct contending *contending)
{
    struct hf_acquire_opts opts = HF_ACQUIRE_OPTS_INIT;
    struct hf_done done = {on_done, contending, NULL};
    hf_status status;

    contending->queued = false;
    contending->lost = false;
    contending->token = 0;
    contending->reads = contending->readers != NULL && !one_in(contending, 3);
    contending->wanted =
        contending->reads ? contending->readers : contending->lock;
    opts.on_wait.fn = on_wait;
    opts.on_wait.arg = contending;
    opts.on_loss.fn = on_loss;
    opts.on_loss.arg = contending;
    if (one_in(contending, 10))
        opts.wait_ms =
            1 + hf_random_below(&contending->random, IMPATIENT_MAX_MS);
    contending->state = WAITING;
    note_want(contending);
    status = hf_acquire_start(contending->wanted, &opts, done, &contending->op);
    if (status != HF_OK) {
        struct hf_result result = {.status = status,
                                   .text = hf_status_text(status)};

        give_up(contending, &result);
    }
}

/* ------------------------------------------------------------------ hold -- */

static void write_fenced(struct contending *contending)
{
    struct hf_note note = {.word = HF_NOTE_WRITE};
    uint64_t seen = atomic_load(&contending->self->resource->token);

    do
        note.accepted = contending->token >= seen;
    while (note.accepted &&
           !atomic_compare_exchange_weak(&contending->self->resource->token,
                                         &seen, contending->token));
    put(contending, &note);
}

static void on_released(void *arg, const struct hf_result *result)
{
    struct contending *contending = arg;

    (void)result;
    contending->state = IDLE;
    contending->until_ms =
        hf_clock_now_ms() + hf_random_below(&contending->random, HOLD_MAX_MS);
}

static void release(struct contending *contending)
{
    struct hf_done done = {on_released, contending, NULL};
    unsigned number = contending->self->number;

    atomic_compare_exchange_strong(&contending->self->resource->holder, &number,
                                   0);
    /* Before, so that it does not claim what may be another's already. */
    if (!contending->lost)
        note(contending, HF_NOTE_RELEASE);
    contending->state = RELEASING;
    if (hf_grant_release_start(contending->grant, done) != HF_OK)
        contending->ending = true; /* the client has closed: it takes it all */
    contending->grant = NULL;
}

static void on_shared(void *arg, const struct hf_result *result)
{
    struct contending *contending = arg;

    (void)result; /* then it is a writer as before, and does not write */
    if (contending->state == SHARING)
        contending->state = HOLDING;
}

/* A writer becomes a reader.  Noted before, as a release is. */
static void share(struct contending *contending)
{
    struct hf_done done = {on_shared, contending, NULL};

    note(contending, HF_NOTE_SHARED);
    contending->reads = true;
    if (hf_grant_downgrade_start(contending->grant, done) == HF_OK)
        contending->state = SHARING;
}

/* At the end of a hold: what it was all for, then let go. */
static void finish(struct contending *contending)
{
    note_new_promise(contending);
    if (contending->self->kind != HF_KIND_SEMAPHORE && !contending->reads)
        write_fenced(contending);
    if (contending->readers != NULL && !contending->reads &&
        !contending->ending && one_in(contending, 3)) {
        share(contending);
        contending->until_ms =
            hf_clock_now_ms() +
            hf_random_below(&contending->random, HOLD_MAX_MS);
        return;
    }
    release(contending);
}

static void advance(struct contending *contending)
{
    uint64_t now_ms = hf_clock_now_ms();
    bool due = now_ms >= contending->until_ms || contending->ending;

    switch (contending->state) {
    case IDLE:
        if (due && !contending->ending)
            want(contending);
        break;
    case WAITING:
        if (contending->ending)
            hf_op_cancel(contending->op);
        break;
    case HOLDING:
        if (contending->lost)
            release(contending);
        else if (due)
            finish(contending);
        else
            note_new_promise(contending);
        break;
    case SHARING:
    case RELEASING:
        break;
    }
}

/* ------------------------------------------------------------------ loop -- */

static hf_status open_lock(struct contending *contending, enum hf_kind kind,
                           struct hf_lock **lock)
{
    struct hf_lock_opts opts = HF_LOCK_OPTS_INIT;

    opts.kind = kind;
    if (kind == HF_KIND_SEMAPHORE) {
        opts.permits = permits_of(contending);
        opts.limit = LIMIT;
    }
    return hf_lock_open(contending->client, contending->self->lock, &opts,
                        lock);
}

static hf_status open_all(struct contending *contending, struct hf_error *error)
{
    const struct hf_contender *self = contending->self;
    struct hf_client_opts opts = HF_CLIENT_OPTS_INIT;
    hf_status status;

    opts.delivery = HF_DELIVER_DISPATCH;
    opts.on_state.fn = on_state;
    opts.on_state.arg = contending;
    status = hf_client_open(self->url, &opts, &contending->client, error);
    if (status != HF_OK)
        return status;
    status = open_lock(contending, self->kind, &contending->lock);
    if (status == HF_OK && self->kind == HF_KIND_WRITE)
        status = open_lock(contending, HF_KIND_READ, &contending->readers);
    if (status != HF_OK)
        hf_client_error(contending->client, error);
    return status;
}

static void turn(struct contending *contending, int signals)
{
    struct pollfd polled[] = {{hf_client_fd(contending->client), POLLIN, 0},
                              {signals, POLLIN, 0}};
    struct signalfd_siginfo info;

    poll(polled, 2, LOOK_MS);
    if (polled[1].revents && read(signals, &info, sizeof info) > 0)
        contending->ending = true;
    if (polled[0].revents)
        hf_client_dispatch(contending->client);
    advance(contending);
}

/* Who started us ends this if it takes too long. */
static void contend(struct contending *contending, int signals)
{
    while (!contending->ending || contending->state != IDLE)
        turn(contending, signals);
}

int hf_contender_main(const struct hf_contender *self)
{
    struct contending contending = {.self = self};
    struct hf_error error;
    sigset_t mask;
    int signals;

    sigemptyset(&mask);
    sigaddset(&mask, SIGTERM);
    sigprocmask(SIG_BLOCK, &mask, NULL);
    signals = signalfd(-1, &mask, SFD_CLOEXEC);
    hf_random_seed(&contending.random, self->seed);
    if (signals < 0) {
        hf_say("no descriptor for signals: %s", strerror(errno));
        contending.exit_code = HF_EXIT_LIMIT;
    } else if (open_all(&contending, &error) != HF_OK) {
        hf_say("%s", error.text);
        contending.exit_code = hf_exit_status(error.status);
    } else {
        contend(&contending, signals);
    }
    hf_lock_free(contending.lock);
    hf_lock_free(contending.readers);
    if (contending.client != NULL)
        (void)hf_client_close(contending.client);
    return contending.exit_code;
}
