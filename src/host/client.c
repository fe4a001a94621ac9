/* SPDX-License-Identifier: Apache-2.0 */
#include "host/client.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

#include "core/error.h"
#include "core/instant.h"
#include "core/memory.h"
#include "host/close.h"
#include "host/election.h"
#include "host/election_wait.h"
#include "host/errand.h"
#include "host/grant_check.h"

uint64_t hf_now_ms(void)
{
    struct timespec now;
    int rest = clock_gettime(CLOCK_BOOTTIME, &now);

    assert(rest == 0);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* -------------------------------------------------------------- effects -- */

static void tell_state(struct hf_client *client, enum hf_state state)
{
    client->state = state;
    atomic_store(&client->published, (unsigned)client->state);
    hf_log_write(client, HF_LOG_INFO, "the session is %s",
                 hf_state_name(client->state));
    hf_listeners_tell(client);
    if (client->state == HF_STATE_CLOSED)
        hf_close_reached(client);
}

static struct hf_grant *grant_of(const struct hf_effect *effect)
{
    return (struct hf_grant *)((char *)effect->acquisition -
                               offsetof(struct hf_grant, acquisition));
}

static void carry_out(struct hf_client *client, const struct hf_effect *effect)
{
    switch (effect->kind) {
    case HF_EFFECT_REQUEST:
        if (effect->request->kind == HF_REQUEST_ENQUEUE)
            hf_grant_describe_ticket(effect->request->acquisition);
        else if (effect->request->kind == HF_REQUEST_DESCRIBE)
            hf_grant_describe_asked(effect->request->acquisition);
        client->ops->request(client->engine, effect->request);
        break;
    case HF_EFFECT_FORGET:
        client->ops->forget(client->engine, effect->request);
        break;
    case HF_EFFECT_CONNECT:
        client->ops->connect(client->engine);
        break;
    case HF_EFFECT_PROVEN:
        hf_grant_checks_answer(client, NULL);
        break;
    case HF_EFFECT_STATE:
        tell_state(client, effect->state);
        break;
    case HF_EFFECT_LOST:
    case HF_EFFECT_GRANTED:
    case HF_EFFECT_ENDED:
    case HF_EFFECT_WAITING:
    case HF_EFFECT_RELEASED:
    case HF_EFFECT_DOWNGRADED:
    case HF_EFFECT_FORGOTTEN:
    case HF_EFFECT_REVOKED:
        hf_grant_effect(grant_of(effect), effect);
        break;
    case HF_EFFECT_ANSWERED:
    case HF_EFFECT_FINISHED:
        hf_errand_effect(effect);
        break;
    }
}

/* An engine may answer from inside its request: that steps the core again and
 * leaves the new effects to the pump that is already running. */
static void pump(struct hf_client *client)
{
    struct hf_effect *effect;

    if (client->pumping)
        return;
    client->pumping = true;
    while ((effect = hf_core_next_effect(&client->core)) != NULL)
        carry_out(client, effect);
    client->pumping = false;
}

void hf_client_step(struct hf_client *client, struct hf_event *event)
{
    event->now_ms = hf_now_ms();
    client->steps++;
    hf_core_step(&client->core, event);
    pump(client);
}

static uint64_t wake_at_ms(const struct hf_client *client)
{
    return hf_earlier_ms(hf_core_wake_at_ms(&client->core),
                         hf_election_waits_wake_at_ms(client));
}

/* Whether it was. */
static bool tick_if_due(struct hf_client *client)
{
    struct hf_event tick = {.kind = HF_EVENT_TICK};
    bool due = wake_at_ms(client) <= hf_now_ms();

    if (due) {
        hf_client_step(client, &tick);
        hf_election_waits_expire(client);
    }
    return due;
}

void hf_client_settle(struct hf_client *client)
{
    if (client->wound_up)
        return;
    hf_loop_turn(client);
    if (tick_if_due(client))
        hf_loop_turn(client); /* what was asked for leaves */
    hf_loop_arm(client, wake_at_ms(client));
}

/* ---------------------------------------------------------------- entry -- */

static _Thread_local unsigned shields;
static _Thread_local int state_before;

void hf_client_shield(void)
{
    int state;

    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
    if (shields++ == 0)
        state_before = state;
}

void hf_client_unshield(void)
{
    assert(shields > 0);
    if (--shields == 0)
        pthread_setcancelstate(state_before, NULL);
}

hf_status hf_client_enter(struct hf_client *client)
{
    if (hf_fork_parted(client))
        return HF_EFORKED;
    hf_client_shield();
    pthread_mutex_lock(&client->lock);
    /* Without a loop all that the clock can ask for is the watch of a grant's
     * own ticket: in vain before a release, and dear. */
    if (client->loop.made)
        (void)tick_if_due(client);
    return HF_OK;
}

bool hf_client_must_be_driven(const struct hf_client *client)
{
    const struct hf_session *session = &client->core.session;

    if (client->ended || client->slots != NULL)
        return false;
    return client->unsettled > 0 ||
           (client->delivery.first != NULL &&
            client->delivery.place != HF_PLACE_DISPATCH) ||
           (session->state != HF_STATE_CLOSED &&
            (session->state != HF_STATE_CONNECTED ||
             session->timeout_ms != HF_FOREVER));
}

hf_status hf_client_need_driver(struct hf_client *client,
                                struct hf_error *error)
{
    hf_status status;

    if (client->borrowed.loop != NULL || client->ended)
        return HF_OK;
    if ((status = hf_background_start(client)) != HF_OK)
        hf_error_set(error, status,
                     "no thread for callbacks could be started; raise the "
                     "limits on open files and processes");
    return status;
}

void hf_client_bury(struct hf_client *client, struct hf_grave *grave)
{
    grave->next = client->graveyard;
    client->graveyard = grave;
}

static void sweep(struct hf_grave *dead)
{
    struct hf_grave *next;

    hf_delivery_begin();
    for (; dead != NULL; dead = next) {
        next = dead->next;
        dead->destroy(dead);
    }
    hf_delivery_end();
}

void hf_client_sweep(struct hf_client *client)
{
    struct hf_grave *dead = client->graveyard;

    client->graveyard = NULL;
    hf_log_unlock(client);
    sweep(dead);
    pthread_mutex_lock(&client->lock);
}

static void leave(struct hf_client *client)
{
    struct hf_error unstarted;
    struct hf_grave *dead;

    if (hf_fork_parted(client)) {
        pthread_mutex_unlock(&client->lock);
        return;
    }
    hf_client_settle(client);
    if (hf_client_must_be_driven(client) &&
        hf_client_need_driver(client, &unstarted) != HF_OK)
        hf_log_write(client, HF_LOG_ERROR,
                     "no thread could be started; what is under way goes on "
                     "when the client is next used");
    hf_close_wind_up(client);
    dead = client->graveyard;
    client->graveyard = NULL;
    hf_log_unlock(client);
    sweep(
        dead); /* each holds a reference; the last may take the client along */
}

void hf_client_leave(struct hf_client *client)
{
    leave(client);
    hf_client_unshield();
}

hf_status hf_client_may_block(const struct hf_client *client,
                              struct hf_error *error)
{
    hf_status status = hf_fork_check(client, error);

    if (status == HF_OK && hf_delivery_inside())
        status = hf_error_set(error, HF_EREENTRANT,
                              "it waits, and was called in a callback, where "
                              "it could only wait for itself; call it on "
                              "another thread, or begin it with the call that "
                              "ends in _start");
    else if (status == HF_OK && hf_borrowed_is_self(client))
        status = hf_error_set(error, HF_EREENTRANT,
                              "it waits, and was called on the thread of the "
                              "borrowed loop, where it could only wait for "
                              "itself; call it on another thread, or begin it "
                              "with the call that ends in _start");
    return status;
}

hf_status hf_client_fail(struct hf_client *client, const char *call,
                         struct hf_error *error)
{
    hf_error_prefix(error, call);
    client->error = *error;
    return error->status;
}

/* -------------------------------------------------------------- waiting -- */

void hf_slot_answer(struct hf_client *client, struct hf_slot *slot,
                    hf_status status)
{
    uint64_t one = 1;
    ssize_t rest;

    assert(!slot->done);
    slot->done = true;
    slot->status = status;
    if (slot->polls) {
        rest = write(client->interrupt_fd, &one, sizeof(one));
        assert(rest == sizeof(one) || errno == EAGAIN);
    } else if (slot->waits) {
        pthread_cond_signal(&slot->wake);
    }
}

static void enlist(struct hf_client *client, struct hf_slot *slot)
{
    pthread_cond_init(&slot->wake, NULL);
    slot->waits = true;
    slot->link = &client->slots;
    slot->next = client->slots;
    if (slot->next != NULL)
        slot->next->link = &slot->next;
    client->slots = slot;
}

/* The next caller that waits polls now, else the background thread. */
static void delist(struct hf_client *client, struct hf_slot *slot)
{
    *slot->link = slot->next;
    if (slot->next != NULL)
        slot->next->link = slot->link;
    pthread_cond_destroy(&slot->wake);
    if (client->polled_by_caller)
        return;
    if (client->slots != NULL)
        pthread_cond_signal(&client->slots->wake);
    else
        hf_background_relieve(client);
}

static bool can_poll(struct hf_client *client)
{
    bool had_loop = client->loop.made;

    if (client->interrupt_fd < 0)
        client->interrupt_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (client->interrupt_fd < 0 || hf_loop_get(client) == NULL)
        return false;
    if (!had_loop)
        hf_client_settle(client); /* it is neither run nor armed yet */
    return true;
}

/* Out of descriptors a caller leaves it to those who have theirs. */
static bool others_poll(const struct hf_client *client)
{
    return client->background.started || client->borrowed.handles > 0;
}

static void poll_once(struct hf_client *client, struct hf_slot *slot)
{
    uint64_t interrupts;

    client->polled_by_caller = true;
    slot->polls = true;
    hf_loop_sleep(client, client->interrupt_fd);
    slot->polls = false;
    if (slot->done)
        (void)!read(client->interrupt_fd, &interrupts, sizeof(interrupts));
    client->polled_by_caller = false;
    client->caller_turns++;
}

hf_status hf_client_wait(struct hf_client *client, struct hf_slot *slot)
{
    hf_status status = HF_OK;

    if (slot->done)
        return slot->status;
    enlist(client, slot);
    for (hf_client_settle(client); !slot->done; hf_client_settle(client)) {
        if (client->polled_by_caller) {
            pthread_cond_wait(&slot->wake, &client->lock);
        } else if (can_poll(client)) {
            if (!slot->done)
                poll_once(client, slot);
        } else if (others_poll(client)) {
            pthread_cond_wait(&slot->wake, &client->lock);
        } else {
            status = HF_ELIMIT;
            break;
        }
    }
    delist(client, slot);
    return slot->done ? slot->status : status;
}

void hf_client_await_callback(struct hf_client *client, struct hf_slot **slot)
{
    struct hf_slot own = {.done = false};
    struct hf_error unwanted;

    if (hf_client_may_block(client, &unwanted) != HF_OK)
        return;
    *slot = &own;
    (void)hf_client_wait(client, &own);
    if (!own.done)
        hf_delivery_await(client); /* no descriptors to wait with */
    *slot = NULL;
}

/* ------------------------------------------------------------- lifetime -- */

void hf_client_reference(struct hf_client *client)
{
    client->references++;
}

void hf_client_dereference(struct hf_client *client)
{
    assert(client->references > 1);
    client->references--;
}

static void destroy(struct hf_client *client)
{
    assert(client->wound_up);
    hf_fork_remove(client);
    hf_delivery_free(&client->delivery);
    if (client->interrupt_fd >= 0)
        close(client->interrupt_fd);
    if (client->background.started)
        hf_background_free(&client->background);
    pthread_mutex_destroy(&client->lock);
    hf_free(client->log.lines);
    hf_free(client);
}

void hf_client_release(struct hf_client *client)
{
    bool last;

    if (hf_fork_parted(client))
        return;
    pthread_mutex_lock(&client->lock);
    assert(client->references > 0);
    last = --client->references == 0;
    pthread_mutex_unlock(&client->lock);
    if (last)
        destroy(client);
}

/* -------------------------------------------------------------- queries -- */

enum hf_state hf_client_state(const struct hf_client *client)
{
    return (enum hf_state)atomic_load(&client->published);
}

void hf_client_describe(const struct hf_client *client, char *buffer,
                        size_t bytes)
{
    if (bytes > 0)
        (void)snprintf(buffer, bytes, "%s", client->description);
}

void hf_client_error(const struct hf_client *client, struct hf_error *error)
{
    struct hf_client *locked = (struct hf_client *)client;

    if (hf_fork_check(client, error) != HF_OK)
        return;
    pthread_mutex_lock(&locked->lock);
    *error = client->error;
    pthread_mutex_unlock(&locked->lock);
}

int hf_client_fd(const struct hf_client *client)
{
    return hf_fork_parted(client) ? -1 : client->delivery.fd;
}

hf_status hf_client_dispatch(struct hf_client *client)
{
    static const char call[] = "hf_client_dispatch";
    struct hf_error error;
    hf_status status;

    if ((status = hf_client_enter(client)) != HF_OK)
        return status;
    if (client->delivery.place != HF_PLACE_DISPATCH)
        status = hf_error_set(&error, HF_ESTATE,
                              "the callbacks of this client run elsewhere; "
                              "open it with HF_DELIVER_DISPATCH");
    else if (hf_delivery_inside())
        status = hf_error_set(&error, HF_EREENTRANT,
                              "it was called in a callback; those that wait "
                              "run when that has returned");
    if (status != HF_OK) {
        hf_client_fail(client, call, &error);
        hf_client_leave(client);
        return status;
    }
    hf_client_reference(client); /* a callback may close it */
    hf_delivery_run(client);
    hf_client_leave(client);
    hf_client_release(client);
    return HF_OK;
}
