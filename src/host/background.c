/* SPDX-License-Identifier: Apache-2.0 */
#include "host/background.h"

#include <assert.h>
#include <errno.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "host/client.h"
#include "host/close.h"
#include "thread/thread.h"

/* How long it leaves polling to callers before it looks whether they still
 * come.  Not a deadline of anything: while it stands by, callers poll. */
#define STANDBY_NS 5000000L

static void drain(int fd)
{
    uint64_t count;

    while (read(fd, &count, sizeof(count)) < 0 && errno == EINTR)
        ;
}

static void stand_by(struct hf_client *client)
{
    struct hf_background *background = &client->background;
    struct timespec until;

    (void)clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += STANDBY_NS;
    if (until.tv_nsec >= 1000000000L) {
        until.tv_sec++;
        until.tv_nsec -= 1000000000L;
    }
    background->place = HF_BACKGROUND_STANDBY;
    (void)pthread_cond_timedwait(&background->wake, &client->lock, &until);
    background->place = HF_BACKGROUND_BUSY;
}

static void park(struct hf_client *client)
{
    client->background.place = HF_BACKGROUND_PARKED;
    (void)pthread_cond_wait(&client->background.wake, &client->lock);
    client->background.place = HF_BACKGROUND_BUSY;
}

static void poll_once(struct hf_client *client)
{
    struct hf_background *background = &client->background;

    background->place = HF_BACKGROUND_POLLS;
    hf_loop_sleep(client, background->wake_fd);
    background->place = HF_BACKGROUND_BUSY;
    drain(background->wake_fd);
}

/* What only this thread does. */
static bool has_work(const struct hf_client *client)
{
    return client->background.stop || client->graveyard != NULL ||
           (client->delivery.place == HF_PLACE_THREAD &&
            !hf_delivery_empty(&client->delivery));
}

/* Leave polling to callers as long as there are any. */
static void let_callers_poll(struct hf_client *client)
{
    uint64_t turns = client->caller_turns;

    stand_by(client);
    if (client->polled_by_caller && client->caller_turns == turns &&
        !has_work(client))
        park(client);
}

static void do_work(struct hf_client *client)
{
    if (client->delivery.place == HF_PLACE_THREAD &&
        !hf_delivery_empty(&client->delivery))
        hf_delivery_run(client);
    if (client->graveyard != NULL && !hf_fork_parted(client))
        hf_client_sweep(client);
}

static void work(struct hf_client *client)
{
    uint64_t turns = client->caller_turns;

    while (!client->background.stop) {
        hf_client_settle(client);
        if (has_work(client)) {
            do_work(client);
            if (hf_fork_parted(client))
                return;
        } else if (client->polled_by_caller || client->caller_turns != turns) {
            turns = client->caller_turns;
            let_callers_poll(client);
        } else {
            poll_once(client);
        }
    }
}

static void *background_main(void *arg)
{
    struct hf_client *client = arg;

    pthread_mutex_lock(&client->lock);
    work(client);
    if (hf_fork_parted(client)) {
        pthread_mutex_unlock(&client->lock);
        return NULL; /* the child's only thread: it ends with exit(0) */
    }
    client->background.gone = true;
    hf_close_wind_up(client);
    hf_log_unlock(client);
    hf_client_release(client);
    return NULL;
}

static hf_status start_thread(struct hf_client *client)
{
    struct hf_background *background = &client->background;
    int failure = hf_thread_start(&background->thread, background_main, client);

    return failure == 0 ? HF_OK : HF_ELIMIT;
}

static void init_condition(pthread_cond_t *condition)
{
    pthread_condattr_t attributes;

    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(condition, &attributes);
    pthread_condattr_destroy(&attributes);
}

hf_status hf_background_start(struct hf_client *client)
{
    struct hf_background *background = &client->background;
    hf_status status;

    if (background->started)
        return HF_OK;
    if (hf_loop_get(client) == NULL)
        return HF_ELIMIT;
    background->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (background->wake_fd < 0)
        return HF_ELIMIT;
    init_condition(&background->wake);
    background->place = HF_BACKGROUND_BUSY;
    background->started = true;
    hf_client_reference(client);
    if ((status = start_thread(client)) != HF_OK)
        goto close_fd;
    return HF_OK;
close_fd:
    hf_client_dereference(client);
    background->started = false;
    pthread_cond_destroy(&background->wake);
    close(background->wake_fd);
    return status;
}

void hf_background_wake(struct hf_client *client)
{
    struct hf_background *background = &client->background;
    uint64_t one = 1;
    ssize_t done;

    if (!background->started || background->place == HF_BACKGROUND_BUSY)
        return;
    if (background->place == HF_BACKGROUND_POLLS) {
        done = write(background->wake_fd, &one, sizeof(one));
        assert(done == sizeof(one) || errno == EAGAIN);
    } else {
        pthread_cond_signal(&background->wake);
    }
}

void hf_background_relieve(struct hf_client *client)
{
    if (client->background.started &&
        client->background.place == HF_BACKGROUND_PARKED)
        pthread_cond_signal(&client->background.wake);
}

void hf_background_stop(struct hf_client *client)
{
    client->background.stop = true;
    hf_background_wake(client);
}

bool hf_background_is_self(const struct hf_client *client)
{
    return client->background.started &&
           pthread_equal(client->background.thread, pthread_self());
}

void hf_background_free(struct hf_background *background)
{
    assert(background->gone);
    pthread_cond_destroy(&background->wake);
    close(background->wake_fd);
}

void hf_background_after_fork(struct hf_background *background)
{
    if (background->started)
        close(background->wake_fd);
}
