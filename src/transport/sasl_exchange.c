/* SPDX-License-Identifier: Apache-2.0 */
/* Between its steps an exchange belongs to the loop, and during a step to a
 * thread.  If it is ended during a step, the thread frees it.  A thread that
 * waits for another server cannot be cancelled and may end after the client is
 * gone, so struct shared counts the threads that use it. */
#include "transport/sasl_exchange.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>

#include "base/memory.h"
#include "base/state_machine.h"
#include "thread/descriptor_guard.h"
#include "thread/thread.h"

/* Used by the loop and the threads, with .lock held. */
struct shared {
    pthread_mutex_t lock;
    unsigned threads;  /* how many run */
    uv_async_t *async; /* woken when a step has ended; NULL: closed */
};

enum exchange_state {
    IDLE,      /* the loop owns it; no step is under way */
    RUNNING,   /* the thread that carries out a step owns it */
    STEPPED,   /* the loop owns it; a step has ended and is to be reported */
    ABANDONED, /* ended during a step: the thread frees it */
};

#define TO(state) (1u << (state))

static const struct hf_state_machine_state states[] = {
    [IDLE] = {"IDLE", TO(RUNNING)},
    [RUNNING] = {"RUNNING", TO(STEPPED) | TO(ABANDONED)},
    [STEPPED] = {"STEPPED", TO(IDLE)},
    [ABANDONED] = {"ABANDONED", 0},
};

static const struct hf_state_machine table = {"exchange", states,
                                              sizeof states / sizeof states[0]};

/* One exchange. */
struct exchange {
    struct shared *shared;
    const struct hf_sasl_ops *ops;
    struct hf_sasl_settings settings; /* the texts are copies in .texts */
    struct hf_sasl *client;           /* NULL before the first step */
    /* The step.  While the thread runs, only the thread uses these fields. */
    void *token; /* the server's token; NULL: none */
    size_t count;
    struct hf_sasl_token out;
    struct hf_error error; /* .status HF_OK: the step went well */
    unsigned state;        /* enum exchange_state; used with .lock of .shared
                              held */
    size_t texts_bytes;
    char texts[]; /* has the password */
};

struct hf_sasl_exchanges {
    uv_async_t async;
    struct shared *shared;
    const struct hf_sasl_ops *ops;
    hf_sasl_stepped *stepped;
    void *arg;
    struct exchange *current; /* NULL: none */
};

/* -------------------------------------------------------------- exchange -- */

static void free_token(struct exchange *exchange)
{
    hf_free(exchange->token);
    exchange->token = NULL;
    exchange->count = 0;
}

static void free_exchange(struct exchange *exchange)
{
    if (exchange->client != NULL)
        exchange->ops->close(exchange->client);
    free_token(exchange);
    explicit_bzero(exchange->texts, exchange->texts_bytes);
    hf_free(exchange);
}

/* Copy ${text} to ${*end}, and move ${*end} behind the copy. */
static const char *copy(char **end, const char *text)
{
    size_t bytes = strlen(text) + 1;
    char *copied = memcpy(*end, text, bytes);

    *end += bytes;
    return copied;
}

static struct exchange *new_exchange(const struct hf_sasl_exchanges *exchanges,
                                     const struct hf_sasl_settings *settings)
{
    size_t bytes = strlen(settings->mechanism) + strlen(settings->service) +
                   strlen(settings->host) + strlen(settings->user) +
                   strlen(settings->password) + 5;
    struct exchange *exchange = hf_alloc(sizeof *exchange + bytes);
    char *end;

    if (exchange == NULL)
        return NULL;
    exchange->shared = exchanges->shared;
    exchange->ops = exchanges->ops;
    exchange->texts_bytes = bytes;
    end = exchange->texts;
    exchange->settings.mechanism = copy(&end, settings->mechanism);
    exchange->settings.service = copy(&end, settings->service);
    exchange->settings.host = copy(&end, settings->host);
    exchange->settings.user = copy(&end, settings->user);
    exchange->settings.password = copy(&end, settings->password);
    return exchange;
}

static void move(struct exchange *exchange, enum exchange_state state)
{
    hf_state_machine_move(&table, &exchange->state, state);
}

/* ---------------------------------------------------------------- thread -- */

/* Release the lock of ${shared}.  Free ${shared} if nothing uses it any more.
 */
static void unlock(struct shared *shared)
{
    bool last = shared->threads == 0 && shared->async == NULL;

    pthread_mutex_unlock(&shared->lock);
    if (!last)
        return;
    pthread_mutex_destroy(&shared->lock);
    hf_free(shared);
}

/* Carry out the step, which may take long. */
static void carry_out(struct exchange *exchange)
{
    static const struct hf_sasl_memory memory = {hf_alloc, hf_free};

    if (exchange->client == NULL)
        exchange->client = exchange->ops->open(&memory, &exchange->settings);
    if (exchange->client == NULL)
        exchange->error = (struct hf_error){HF_ENOMEM, "out of memory"};
    else
        (void)exchange->ops->step(exchange->client, exchange->token,
                                  exchange->count, &exchange->out,
                                  &exchange->error);
    free_token(exchange);
}

static void *thread_main(void *arg)
{
    struct exchange *exchange = arg;
    struct shared *shared = exchange->shared;
    bool abandoned;

    carry_out(exchange);
    pthread_mutex_lock(&shared->lock);
    abandoned = exchange->state == ABANDONED;
    if (!abandoned) {
        move(exchange, STEPPED);
        hf_descriptor_guard_send(shared->async);
    }
    pthread_mutex_unlock(&shared->lock);
    if (abandoned)
        free_exchange(exchange);
    pthread_mutex_lock(&shared->lock);
    shared->threads--;
    unlock(shared);
    return NULL;
}

/* ------------------------------------------------------------------ loop -- */

/* The loop was woken because a step has ended: report it.  Nothing is reported
 * if it was the step of an exchange that has ended. */
static void on_wake(uv_async_t *async)
{
    struct hf_sasl_exchanges *exchanges = async->data;
    struct exchange *exchange = exchanges->current;
    struct hf_sasl_outcome outcome;
    bool stepped;

    if (exchange == NULL)
        return;
    pthread_mutex_lock(&exchanges->shared->lock);
    stepped = exchange->state == STEPPED;
    if (stepped)
        move(exchange, IDLE);
    pthread_mutex_unlock(&exchanges->shared->lock);
    if (!stepped)
        return;
    outcome = (struct hf_sasl_outcome){
        exchange->error.status, exchange->error.text, exchange->out.bytes,
        exchange->out.count, exchange->out.done};
    exchanges->stepped(exchanges->arg, &outcome);
}

static void on_closed(uv_handle_t *handle)
{
    hf_free(handle->data);
}

struct hf_sasl_exchanges *hf_sasl_exchanges_new(uv_loop_t *loop,
                                                const struct hf_sasl_ops *ops,
                                                hf_sasl_stepped *stepped,
                                                void *arg)
{
    struct hf_sasl_exchanges *exchanges = hf_alloc(sizeof *exchanges);
    struct shared *shared = hf_alloc(sizeof *shared);

    if (exchanges == NULL || shared == NULL ||
        uv_async_init(loop, &exchanges->async, on_wake) != 0) {
        hf_free(exchanges);
        hf_free(shared);
        return NULL;
    }
    pthread_mutex_init(&shared->lock, NULL);
    shared->async = &exchanges->async;
    exchanges->async.data = exchanges;
    exchanges->shared = shared;
    exchanges->ops = ops;
    exchanges->stepped = stepped;
    exchanges->arg = arg;
    return exchanges;
}

void hf_sasl_exchanges_free(struct hf_sasl_exchanges *exchanges)
{
    hf_sasl_exchange_end(exchanges);
    pthread_mutex_lock(&exchanges->shared->lock);
    exchanges->shared->async = NULL;
    unlock(exchanges->shared);
    uv_close((uv_handle_t *)&exchanges->async, on_closed);
}

bool hf_sasl_exchange_begin(struct hf_sasl_exchanges *exchanges,
                            const struct hf_sasl_settings *settings)
{
    hf_sasl_exchange_end(exchanges);
    exchanges->current = new_exchange(exchanges, settings);
    return exchanges->current != NULL;
}

/* Copy the ${count} ${bytes} of the server's token.  Returns false for lack of
 * memory. */
static bool take_token(struct exchange *exchange, const void *bytes,
                       size_t count)
{
    if (count == 0)
        return true;
    if ((exchange->token = hf_alloc(count)) == NULL)
        return false;
    memcpy(exchange->token, bytes, count);
    exchange->count = count;
    return true;
}

/* Start a thread for the step.  The lock is held until the thread is counted,
 * so that the thread cannot end before that. */
static bool start_thread(struct exchange *exchange)
{
    struct shared *shared = exchange->shared;
    bool started;

    pthread_mutex_lock(&shared->lock);
    started = shared->threads < HF_SASL_THREADS_MAX &&
              hf_thread_start(NULL, thread_main, exchange) == 0;
    if (started) {
        shared->threads++;
        move(exchange, RUNNING);
    }
    pthread_mutex_unlock(&shared->lock);
    return started;
}

hf_status hf_sasl_exchange_step(struct hf_sasl_exchanges *exchanges,
                                const void *bytes, size_t count)
{
    struct exchange *exchange = exchanges->current;

    /* Only the loop moves an exchange out of IDLE, so no lock is needed. */
    assert(exchange != NULL && exchange->state == IDLE);
    exchange->error = (struct hf_error){HF_OK, ""};
    if (!take_token(exchange, bytes, count))
        return HF_ENOMEM;
    if (start_thread(exchange))
        return HF_OK;
    free_token(exchange);
    return HF_ELIMIT;
}

void hf_sasl_exchange_end(struct hf_sasl_exchanges *exchanges)
{
    struct exchange *exchange = exchanges->current;
    bool running;

    if (exchange == NULL)
        return;
    pthread_mutex_lock(&exchanges->shared->lock);
    running = exchange->state == RUNNING;
    if (running)
        move(exchange, ABANDONED);
    pthread_mutex_unlock(&exchanges->shared->lock);
    if (!running)
        free_exchange(exchange);
    exchanges->current = NULL;
}
