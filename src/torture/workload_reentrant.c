/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The workload for a reentrant mutex.
 *
 * Calls of a reentrant mutex block.  So a thread makes them, the owner, which
 * gets requests and sends replies through a socket pair.  While the mutex is
 * held, the owner locks it again and again.  If a mutex could be locked again,
 * it was held when that call was made, and this is recorded.
 *
 * If the mutex keeps its ticket, it keeps it for a short or a long time.  The
 * short time is less than most rests of the owner, so the ticket goes when that
 * time is over.  The long time is so long that the ticket goes only because
 * another client comes.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include <holdfast/mutex.h>

#include "base/container_of.h"
#include "base/error.h"
#include "base/memory.h"
#include "command/clock.h"
#include "torture/workload.h"

/* The longest wait.  A worker that is asked to end has to wait for the call to
 * return. */
#define WAIT_LIMIT_MS 10000

/* .keep_ms of a mutex that keeps its ticket: up to the first, or the second. */
#define KEEP_SHORT_MS 1000
#define KEEP_LONG_MS 60000

/* A call that the owner shall make, and what it returned. */
struct call_request {
    hf_status (*call)(struct hf_mutex *mutex, uint64_t wait_ms);
    uint64_t wait_ms;
};

struct call_reply {
    hf_status status;
    uint64_t token;
};

struct reentrant_workload {
    struct hf_workload workload; /* .fd is our end of the socket pair */
    struct hf_mutex *mutex;
    pthread_t owner;
    int owner_fd;          /* the owner's end; -1: there is no owner */
    uint64_t call_sent_us; /* when the current call was requested; 0: no call
                              is under way */
    uint64_t relock_at_ms; /* when to lock the mutex again */
    unsigned count;        /* how often the mutex is locked */
    bool lost;             /* LOST was recorded */
    bool keeps;            /* the mutex keeps its ticket */
};

/* Return the struct that begins with ${workload}. */
static struct reentrant_workload *reentrant_of(struct hf_workload *workload)
{
    return container_of(workload, struct reentrant_workload, workload);
}

/* ----------------------------------------------------------------- owner -- */

static hf_status relock(struct hf_mutex *mutex, uint64_t wait_ms)
{
    (void)wait_ms;
    return hf_mutex_trylock(mutex);
}

static hf_status unlock(struct hf_mutex *mutex, uint64_t wait_ms)
{
    (void)wait_ms;
    return hf_mutex_unlock(mutex);
}

/* The owner: make the requested calls until the socket is shut down. */
static void *serve_calls(void *arg)
{
    const struct reentrant_workload *self = arg;
    struct call_request request;

    while (recv(self->owner_fd, &request, sizeof request, 0) ==
           sizeof request) {
        struct call_reply reply = {0};

        reply.status = request.call(self->mutex, request.wait_ms);
        reply.token = hf_mutex_token(self->mutex);
        send(self->owner_fd, &reply, sizeof reply, MSG_NOSIGNAL);
    }
    return NULL;
}

/* Ask the owner to make a call. */
static void send_call(struct reentrant_workload *self,
                      hf_status (*call)(struct hf_mutex *, uint64_t),
                      uint64_t wait_ms)
{
    struct call_request request = {call, wait_ms};

    self->call_sent_us = hf_workload_now_us();
    send(self->workload.fd, &request, sizeof request, MSG_NOSIGNAL);
}

/* ------------------------------------------------------------------ open -- */

/* Start the owner's thread. */
static hf_status start_owner(struct reentrant_workload *self,
                             struct hf_error *error)
{
    int ends[2];
    int failure;

    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return hf_error_set(error, HF_ELIMIT,
                            "no descriptors for an owner of a mutex: %s; raise "
                            "the limits (ulimit -a)",
                            strerror(errno));
    self->workload.fd = ends[0];
    self->owner_fd = ends[1];
    failure = pthread_create(&self->owner, NULL, serve_calls, self);
    if (failure == 0)
        return HF_OK;
    close(self->owner_fd);
    self->owner_fd = -1;
    return hf_error_set(error, HF_ELIMIT,
                        "no thread for an owner of a mutex: %s; raise the "
                        "limits (ulimit -a)",
                        strerror(failure));
}

/* Choose for how long the mutex keeps its ticket. */
static uint64_t choose_keep_ms(struct reentrant_workload *self)
{
    struct hf_workload *workload = &self->workload;

    if (!self->keeps)
        return 0;
    return hf_workload_one_in(workload, 2)
               ? KEEP_LONG_MS
               : 1 + hf_random_below(&workload->random, KEEP_SHORT_MS);
}

/* See struct hf_workload_ops. */
static hf_status open_workload(struct hf_workload *workload,
                               struct hf_error *error)
{
    struct reentrant_workload *self = reentrant_of(workload);
    struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;
    hf_status status;

    opts.keep_ms = choose_keep_ms(self);
    status = hf_mutex_open(workload->worker->client, workload->locks[0].name,
                           &opts, &self->mutex);
    workload->locks[0].wanted = true;
    if (status == HF_OK)
        return start_owner(self, error);
    *error = *hf_last_error();
    return status;
}

/* Stop the owner, then free the mutex. */
static void close_workload(struct hf_workload *workload)
{
    struct reentrant_workload *self = reentrant_of(workload);

    if (self->owner_fd >= 0) {
        shutdown(workload->fd, SHUT_RDWR);
        pthread_join(self->owner, NULL);
        close(self->owner_fd);
    }
    if (workload->fd >= 0)
        close(workload->fd);
    hf_mutex_free(self->mutex);
}

/* --------------------------------------------------------------- replies -- */

/* The first lock call has returned: the mutex was obtained or not. */
static void on_lock_reply(struct reentrant_workload *self,
                          const struct call_reply *reply)
{
    struct hf_workload *workload = &self->workload;

    if (reply->status != HF_OK) {
        hf_workload_give_up(workload, reply->status,
                            hf_status_text(reply->status));
        return;
    }
    self->count = 1;
    self->lost = false;
    workload->locks[0].token = reply->token;
    hf_workload_begin_hold(workload);
    hf_workload_record(workload, HF_HISTORY_GRANT);
}

/* The call that locks again has returned.  If it succeeded, the mutex was held
 * when the call was requested; if it failed, the mutex is lost. */
static void on_relock_reply(struct reentrant_workload *self,
                            const struct call_reply *reply,
                            uint64_t call_sent_us)
{
    if (reply->status == HF_OK) {
        self->count++;
        hf_workload_record_seen(&self->workload, call_sent_us);
        return;
    }
    self->lost = true;
    hf_workload_record(&self->workload, HF_HISTORY_LOST);
}

/* An unlock call has returned.  Unlock as often as the mutex was locked, even
 * if it was lost. */
static void on_unlock_reply(struct reentrant_workload *self)
{
    if (--self->count > 0)
        send_call(self, unlock, 0);
    else
        hf_workload_idle(&self->workload);
}

/* Handle the owner's reply, if there is one. */
static void receive_reply(struct reentrant_workload *self)
{
    struct call_reply reply;
    uint64_t call_sent_us = self->call_sent_us;

    if (recv(self->workload.fd, &reply, sizeof reply, MSG_DONTWAIT) !=
        sizeof reply)
        return;
    self->call_sent_us = 0;
    if (self->workload.state == HF_WORKLOAD_WAITING)
        on_lock_reply(self, &reply);
    else if (self->workload.state == HF_WORKLOAD_HOLDING)
        on_relock_reply(self, &reply, call_sent_us);
    else
        on_unlock_reply(self);
}

/* ------------------------------------------------------------ operations -- */

/* Begin to lock. */
static void want(struct reentrant_workload *self)
{
    struct hf_workload *workload = &self->workload;

    hf_workload_begin_wait(workload);
    hf_workload_record_want(workload, HF_KIND_MUTEX, 1, 1);
    send_call(self, hf_mutex_timedlock,
              hf_workload_one_in(workload, 10)
                  ? hf_workload_wait_limit_ms(workload)
                  : WAIT_LIMIT_MS);
}

/* Begin to unlock. */
static void begin_release(struct reentrant_workload *self)
{
    struct hf_workload *workload = &self->workload;

    hf_workload_end_hold(workload);
    /* Recorded before, because somebody else may hold the lock as soon as it is
     * unlocked. */
    if (!self->lost)
        hf_workload_record(workload, HF_HISTORY_RELEASE);
    send_call(self, unlock, 0);
}

/* HOLDING without a call under way: write and release when it is time,
 * otherwise lock again. */
static void hold(struct reentrant_workload *self)
{
    struct hf_workload *workload = &self->workload;
    bool due = hf_clock_now_ms() >= workload->until_ms || workload->ending;

    if (self->lost) {
        begin_release(self);
    } else if (due) {
        hf_workload_write_fenced(workload);
        begin_release(self);
    } else if (hf_clock_now_ms() >= self->relock_at_ms) {
        self->relock_at_ms = hf_clock_now_ms() + HF_WORKLOAD_POLL_MS / 4;
        send_call(self, relock, 0);
    }
}

/* See struct hf_workload_ops. */
static void advance(struct hf_workload *workload)
{
    struct reentrant_workload *self = reentrant_of(workload);

    if (self->call_sent_us != 0)
        receive_reply(self);
    if (self->call_sent_us != 0)
        return;
    if (workload->state == HF_WORKLOAD_HOLDING)
        hold(self);
    else if (workload->state == HF_WORKLOAD_IDLE && !workload->ending &&
             hf_clock_now_ms() >= workload->until_ms)
        want(self);
}

struct hf_workload *hf_workload_new_reentrant(bool keeps)
{
    static const struct hf_workload_ops ops = {open_workload, advance,
                                               close_workload};
    struct reentrant_workload *self = hf_alloc(sizeof *self);

    if (self == NULL)
        return NULL;
    *self = (struct reentrant_workload){.workload.ops = &ops,
                                        .workload.fd = -1,
                                        .owner_fd = -1,
                                        .keeps = keeps};
    return &self->workload;
}
