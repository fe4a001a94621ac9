/* SPDX-License-Identifier: Apache-2.0 */
/* Exchanges by SASL whose steps run on threads, with a mechanism of the test:
 * it may wait for ever, fail, and have no memory. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "cmocka/runner.h"
#include "heap/heap.h"
#include "transport/sasl_exchange.h"

#define TIMEOUT_MS 20000

/* ------------------------------------------------------------- mechanism -- */

/* The state of the mechanism, under its lock. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool hangs;      /* each step waits */
    hf_status fails; /* each step fails; HF_OK: none does */
    unsigned inside; /* steps under way */
    unsigned opened;
    unsigned closed;
} mechanism = {.lock = PTHREAD_MUTEX_INITIALIZER,
               .changed = PTHREAD_COND_INITIALIZER};

/* A client of it: what it has got so far is what it sends. */
struct hf_sasl {
    struct hf_sasl_memory memory;
    char text[128];
};

static struct hf_sasl *open_fake(const struct hf_sasl_memory *memory,
                                 const struct hf_sasl_settings *settings)
{
    struct hf_sasl *sasl = memory->alloc(sizeof *sasl);

    if (sasl == NULL)
        return NULL;
    sasl->memory = *memory;
    (void)snprintf(sasl->text, sizeof sasl->text, "%s %s %s %s %s",
                   settings->mechanism, settings->service, settings->host,
                   settings->user, settings->password);
    pthread_mutex_lock(&mechanism.lock);
    mechanism.opened++;
    pthread_mutex_unlock(&mechanism.lock);
    return sasl;
}

static void close_fake(struct hf_sasl *sasl)
{
    void (*release)(void *memory) = sasl->memory.free;

    explicit_bzero(sasl, sizeof *sasl);
    release(sasl);
    pthread_mutex_lock(&mechanism.lock);
    mechanism.closed++;
    (void)pthread_cond_broadcast(&mechanism.changed);
    pthread_mutex_unlock(&mechanism.lock);
}

static hf_status step_fake(struct hf_sasl *sasl, const void *bytes,
                           size_t count, struct hf_sasl_token *token,
                           struct hf_error *error)
{
    size_t used = strlen(sasl->text);
    hf_status fails;

    pthread_mutex_lock(&mechanism.lock);
    mechanism.inside++;
    (void)pthread_cond_broadcast(&mechanism.changed);
    while (mechanism.hangs)
        (void)pthread_cond_wait(&mechanism.changed, &mechanism.lock);
    mechanism.inside--;
    fails = mechanism.fails;
    pthread_mutex_unlock(&mechanism.lock);
    (void)snprintf(sasl->text + used, sizeof sasl->text - used, " %.*s",
                   (int)count, count > 0 ? (const char *)bytes : "");
    *token = (struct hf_sasl_token){sasl->text, strlen(sasl->text), count > 0};
    return fails == HF_OK ? HF_OK : hf_error_set(error, fails, "no ticket");
}

static hf_status check_fake(const char *name, struct hf_error *error)
{
    (void)name;
    (void)error;
    return HF_OK;
}

static const struct hf_sasl_ops fake = {HF_SASL_ABI, check_fake, open_fake,
                                        close_fake, step_fake};

static void set_mechanism(bool hangs, hf_status fails)
{
    pthread_mutex_lock(&mechanism.lock);
    mechanism.hangs = hangs;
    mechanism.fails = fails;
    (void)pthread_cond_broadcast(&mechanism.changed);
    pthread_mutex_unlock(&mechanism.lock);
}

/* Wait until ${count} steps are under way. */
static void await_steps(unsigned count)
{
    pthread_mutex_lock(&mechanism.lock);
    while (mechanism.inside < count)
        (void)pthread_cond_wait(&mechanism.changed, &mechanism.lock);
    pthread_mutex_unlock(&mechanism.lock);
}

/* Wait until every client is closed. */
static void await_closed(void)
{
    pthread_mutex_lock(&mechanism.lock);
    while (mechanism.closed < mechanism.opened)
        (void)pthread_cond_wait(&mechanism.changed, &mechanism.lock);
    pthread_mutex_unlock(&mechanism.lock);
}

/* --------------------------------------------------------------- fixture -- */

struct exchange_fixture {
    uv_loop_t loop;
    struct hf_sasl_exchanges *exchanges;
    unsigned reported;
    hf_status status; /* of the last step that was reported */
    bool done;
    char text[256];
};

static const struct hf_sasl_settings settings = {"M", "service", "host", "user",
                                                 "password"};

static void on_stepped(void *arg, const struct hf_sasl_outcome *outcome)
{
    struct exchange_fixture *f = arg;

    f->reported++;
    f->status = outcome->status;
    f->done = outcome->done;
    (void)snprintf(f->text, sizeof f->text, "%.*s", (int)outcome->count,
                   outcome->status == HF_OK ? (const char *)outcome->bytes
                                            : "");
    if (outcome->status != HF_OK)
        (void)snprintf(f->text, sizeof f->text, "%s", outcome->why);
}

/* False for lack of memory. */
static bool begin(struct exchange_fixture *f)
{
    *f = (struct exchange_fixture){.reported = 0};
    set_mechanism(false, HF_OK);
    assert_int_equal(uv_loop_init(&f->loop), 0);
    f->exchanges = hf_sasl_exchanges_new(&f->loop, &fake, on_stepped, f);
    return f->exchanges != NULL;
}

/* Run the loop until ${count} steps have been reported. */
static void await_reports(struct exchange_fixture *f, unsigned count)
{
    uint64_t until_ms = uv_hrtime() / 1000000 + TIMEOUT_MS;

    while (f->reported < count) {
        assert_true(uv_hrtime() / 1000000 < until_ms);
        (void)uv_run(&f->loop, UV_RUN_ONCE);
    }
}

/* Free everything, while threads may still wait. */
static void end(struct exchange_fixture *f)
{
    if (f->exchanges != NULL)
        hf_sasl_exchanges_free(f->exchanges);
    assert_int_equal(uv_run(&f->loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&f->loop), 0);
}

/* Threads free what they own when they end. */
static void await_memory(void)
{
    const struct timespec while_others_work = {0, 1000000};

    for (int ms = 0; heap_live() > 0; ms++) {
        assert_true(ms < TIMEOUT_MS);
        (void)nanosleep(&while_others_work, NULL);
    }
}

/* ----------------------------------------------------------------- tests -- */

TEST(each_step_is_reported)
{
    struct exchange_fixture f;

    assert_true(begin(&f));
    assert_true(hf_sasl_exchange_begin(f.exchanges, &settings));
    assert_int_equal(hf_sasl_exchange_step(f.exchanges, NULL, 0), HF_OK);
    await_reports(&f, 1);
    assert_int_equal(f.status, HF_OK);
    assert_string_equal(f.text, "M service host user password ");
    assert_false(f.done);
    assert_int_equal(hf_sasl_exchange_step(f.exchanges, "token", 5), HF_OK);
    await_reports(&f, 2);
    assert_string_equal(f.text, "M service host user password  token");
    assert_true(f.done);
    set_mechanism(false, HF_EDENIED);
    assert_int_equal(hf_sasl_exchange_step(f.exchanges, "more", 4), HF_OK);
    await_reports(&f, 3);
    assert_int_equal(f.status, HF_EDENIED);
    assert_string_equal(f.text, "no ticket");
    end(&f);
    await_closed();
    await_memory();
}

TEST(no_memory_is_freed_with_the_password)
{
    struct exchange_fixture f;

    heap_look_for(settings.password);
    assert_true(begin(&f));
    assert_true(hf_sasl_exchange_begin(f.exchanges, &settings));
    assert_int_equal(hf_sasl_exchange_step(f.exchanges, NULL, 0), HF_OK);
    await_reports(&f, 1);
    end(&f);
    await_closed();
    await_memory();
    assert_int_equal(heap_found(), 0);
    heap_look_for(NULL);
}

/* The thread frees the exchange, and the next one gets its own reports. */
TEST(an_exchange_may_be_ended_during_a_step)
{
    struct exchange_fixture f;

    assert_true(begin(&f));
    assert_true(hf_sasl_exchange_begin(f.exchanges, &settings));
    set_mechanism(true, HF_OK);
    assert_int_equal(hf_sasl_exchange_step(f.exchanges, NULL, 0), HF_OK);
    await_steps(1);
    hf_sasl_exchange_end(f.exchanges);
    hf_sasl_exchange_end(f.exchanges); /* there is none */
    assert_true(hf_sasl_exchange_begin(f.exchanges, &settings));
    assert_int_equal(hf_sasl_exchange_step(f.exchanges, "a", 1), HF_OK);
    await_steps(2);
    set_mechanism(false, HF_OK);
    await_reports(&f, 1);
    assert_string_equal(f.text, "M service host user password a");
    end(&f);
    assert_int_equal(f.reported, 1);
    await_closed();
    await_memory();
}

TEST(all_may_be_freed_during_a_step)
{
    struct exchange_fixture f;

    assert_true(begin(&f));
    assert_true(hf_sasl_exchange_begin(f.exchanges, &settings));
    set_mechanism(true, HF_OK);
    assert_int_equal(hf_sasl_exchange_step(f.exchanges, "a", 1), HF_OK);
    await_steps(1);
    end(&f); /* does not wait for it */
    set_mechanism(false, HF_OK);
    await_closed();
    await_memory();
    assert_int_equal(f.reported, 0);
}

TEST(few_steps_may_wait)
{
    struct exchange_fixture f;

    assert_true(begin(&f));
    set_mechanism(true, HF_OK);
    for (unsigned i = 0; i < HF_SASL_THREADS_MAX; i++) {
        assert_true(hf_sasl_exchange_begin(f.exchanges, &settings));
        assert_int_equal(hf_sasl_exchange_step(f.exchanges, "a", 1), HF_OK);
    }
    await_steps(HF_SASL_THREADS_MAX);
    assert_true(hf_sasl_exchange_begin(f.exchanges, &settings));
    assert_int_equal(hf_sasl_exchange_step(f.exchanges, "a", 1), HF_ELIMIT);
    assert_int_equal(hf_sasl_exchange_step(f.exchanges, "a", 1), HF_ELIMIT);
    set_mechanism(false, HF_OK);
    for (hf_status status = HF_ELIMIT; status != HF_OK;) {
        assert_true(hf_sasl_exchange_begin(f.exchanges, &settings));
        status = hf_sasl_exchange_step(f.exchanges, "a", 1);
    }
    await_reports(&f, 1);
    end(&f);
    await_closed();
    await_memory();
}

/* Carry out two steps, if there is memory for all that they need. */
static void try_two_steps(void)
{
    struct exchange_fixture f;
    bool well = begin(&f) && hf_sasl_exchange_begin(f.exchanges, &settings);

    for (unsigned i = 0; i < 2 && well; i++) {
        hf_status status = hf_sasl_exchange_step(f.exchanges, "token", 5);

        well = status == HF_OK;
        assert_true(well || status == HF_ENOMEM);
        if (!well)
            break;
        await_reports(&f, i + 1);
        assert_true(f.status == HF_OK || f.status == HF_ENOMEM);
        well = f.status == HF_OK;
    }
    assert_int_equal(well, !heap_failed());
    end(&f);
    await_closed();
    await_memory();
}

TEST(each_allocation_may_fail)
{
    unsigned long nth = 0;
    bool failed;

    do {
        heap_fail(++nth, false);
        try_two_steps();
        failed = heap_failed();
        heap_fail(0, false);
    } while (failed);
    assert_int_equal(nth, 7); /* six may fail */
}

TEST_FILE(sasl_exchange)
{
    heap_install();
    return RUN_TESTS(NULL, NULL);
}
