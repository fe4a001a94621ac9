/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bid for a reentrant mutex.  Its calls wait, so a thread makes them, one
 * after another as it is told.  The owner locks what it has again and again:
 * who may do that had it when it asked, so up to then the lock was held.
 */
#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/clock.h"
#include "core/error.h"
#include "core/memory.h"
#include "torture/workload.h"

/* The longest wait: a contender that is to end waits it out. */
#define WAIT_LIMIT_MS 10000

/* What the owner is told, and answers. */
struct call_request {
    hf_status (*call)(struct hf_mutex *mutex, uint64_t wait_ms);
    uint64_t wait_ms;
};

struct call_reply {
    hf_status status;
    uint64_t token;
};

struct reentrant_workload {
    struct hf_workload workload; /* .fd: where the owner answers */
    struct hf_mutex *mutex;
    pthread_t owner;
    int owner_fd;          /* where it is told; -1: there is none */
    uint64_t call_sent_us; /* 0: it has answered */
    uint64_t relock_at_ms; /* not before, unless there is something to do */
    unsigned count;        /* how often it has locked */
    bool lost;             /* and noted so */
};

static struct reentrant_workload *reentrant_of(struct hf_workload *workload)
{
    return (struct reentrant_workload *)workload;
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

/* Until nobody is left to tell it. */
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

static void send_call(struct reentrant_workload *self,
                      hf_status (*call)(struct hf_mutex *, uint64_t),
                      uint64_t wait_ms)
{
    struct call_request request = {call, wait_ms};

    self->call_sent_us = hf_workload_now_us();
    send(self->workload.fd, &request, sizeof request, MSG_NOSIGNAL);
}

/* ------------------------------------------------------------------ open -- */

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

static hf_status open_workload(struct hf_workload *workload,
                               struct hf_error *error)
{
    struct reentrant_workload *self = reentrant_of(workload);
    struct hf_mutex_opts opts = HF_MUTEX_OPTS_INIT;
    hf_status status = hf_mutex_open(
        workload->worker->client, workload->locks[0].name, &opts, &self->mutex);

    workload->locks[0].wanted = true;
    if (status == HF_OK)
        return start_owner(self, error);
    hf_client_error(workload->worker->client, error);
    return status;
}

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

/* --------------------------------------------------------------- answers -- */

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

/* It unlocks as often as it locked, lost or not. */
static void on_unlock_reply(struct reentrant_workload *self)
{
    if (--self->count > 0)
        send_call(self, unlock, 0);
    else
        hf_workload_idle(&self->workload);
}

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

/* ------------------------------------------------------------------ does -- */

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

static void begin_release(struct reentrant_workload *self)
{
    struct hf_workload *workload = &self->workload;

    hf_workload_end_hold(workload);
    /* Before, so that it does not claim what may be another's already. */
    if (!self->lost)
        hf_workload_record(workload, HF_HISTORY_RELEASE);
    send_call(self, unlock, 0);
}

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

struct hf_workload *hf_workload_new_reentrant(void)
{
    static const struct hf_workload_ops ops = {open_workload, advance,
                                               close_workload};
    struct reentrant_workload *self = hf_alloc(sizeof *self);

    if (self == NULL)
        return NULL;
    *self = (struct reentrant_workload){
        .workload.ops = &ops, .workload.fd = -1, .owner_fd = -1};
    return &self->workload;
}
