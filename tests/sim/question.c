/* SPDX-License-Identifier: Apache-2.0 */
/* Questions: the operations of the users of a world, and what must hold of
 * them. Each is answered once, and by its limit; what fails has a cause and a
 * story; who is not cut off gets an answer, unless he waits at a barrier that
 * is up; and a grant is asked for only if somebody did ask for it.  Who passes
 * a barrier passes it while it is down, or was since he came. */
#include "question.h"

#include <inttypes.h>
#include <stdlib.h>

#include "core/time_math.h"
#include "gate.h"

static const char *const names[] = {
    [HF_REQUEST_LIST] = "look at",     [HF_REQUEST_REMOVE] = "evict",
    [HF_REQUEST_REVOKE] = "ask",       [HF_REQUEST_SET_FLAG] = "raise",
    [HF_REQUEST_CLEAR_FLAG] = "lower", [HF_REQUEST_WATCH_QUEUE] = "wait",
};

static uint64_t client_ms(const struct client *client)
{
    return hf_sim_client_now_ms(client->engine);
}

static struct question *make(struct client *client, const char *queue,
                             enum hf_request_kind kind, uint64_t wait_ms)
{
    struct question *question = calloc(1, sizeof *question);

    if (question == NULL)
        abort();
    question->client = client;
    question->operation.kind = kind;
    question->operation.queue = queue;
    question->operation.deadline_at_ms =
        hf_after_ms(client_ms(client), wait_ms);
    question->asked_us = hf_sim_now_us(client->world->sim);
    question->asked_ms = client_ms(client);
    question->next = client->questions;
    client->questions = question;
    return question;
}

void question_list(struct client *client, struct place *place, uint64_t wait_ms)
{
    struct question *question =
        make(client, place->name, HF_REQUEST_LIST, wait_ms);

    world_line(client->world, client->name, "look at %s", place->name);
    world_inquire(client, &question->operation);
}

/* From now on it may be gone at any time, until it is another one. */
void question_evict(struct client *client, struct attempt *target,
                    uint64_t wait_ms)
{
    struct question *question =
        make(client, target->place->name, HF_REQUEST_REMOVE, wait_ms);

    question->operation.ticket = target->id;
    world_take_away(target);
    world_line(client->world, client->name, "evict %s", target->name);
    world_inquire(client, &question->operation);
}

void question_revoke(struct client *client, struct attempt *target,
                     uint64_t wait_ms)
{
    struct question *question =
        make(client, target->place->name, HF_REQUEST_REVOKE, wait_ms);

    question->operation.ticket = target->id;
    client->world->asked = true;
    if (target->crew != NULL && target->enqueued)
        world_record(client->world, &target->id)->asked = true;
    for (unsigned i = 0; i < target->claim_count; i++) {
        struct claim *claim = &target->claims[i];

        if (!hf_ticket_id_equal(&claim->id, &target->id))
            continue;
        claim->asked = true;
        claim->asked_id = target->id;
    }
    world_line(client->world, client->name, "ask %s to let go", target->name);
    world_inquire(client, &question->operation);
}

void question_mark(struct client *client, struct gate *gate, bool up,
                   uint64_t wait_ms)
{
    struct question *question =
        make(client, gate->name,
             up ? HF_REQUEST_SET_FLAG : HF_REQUEST_CLEAR_FLAG, wait_ms);

    question->gate = gate;
    world_line(client->world, client->name, "%s %s", up ? "raise" : "lower",
               gate->name);
    world_inquire(client, &question->operation);
}

struct question *question_wait(struct client *client, struct gate *gate,
                               uint64_t wait_ms)
{
    struct question *question =
        make(client, gate->name, HF_REQUEST_WATCH_QUEUE, wait_ms);

    question->gate = gate;
    question->operation.only_try = wait_ms == 0;
    if (wait_ms == 0)
        question->operation.deadline_at_ms = HF_FOREVER;
    world_line(client->world, client->name, "wait at %s", gate->name);
    world_inquire(client, &question->operation);
    return question;
}

void question_recall(struct question *question)
{
    if (question->answered || !world_can_call(question->client))
        return;
    question->recalled = true;
    world_line(question->client->world, question->client->name,
               "stop waiting at %s", question->gate->name);
    world_recall(question->client, &question->operation);
}

/* 9: is the failure what happened? */
static bool may_fail(const struct question *question)
{
    const struct client *client = question->client;
    uint64_t now_ms = client_ms(client);

    switch (question->operation.status) {
    case HF_ETIMEDOUT:
        return now_ms >= question->operation.deadline_at_ms;
    case HF_ECLOSED:
        return client->closing;
    case HF_EUNREACHABLE:
        return !client->ever_connected ||
               (client->gave_up &&
                question->operation.started_at_ms <= client->gave_up_ms);
    case HF_EDENIED:
        return client->world->denied;
    case HF_ECANCELLED:
        return question->recalled;
    case HF_EBUSY:
        return question->operation.only_try &&
               gate_was_up(question->gate, question->asked_us);
    default:
        return false;
    }
}

/* 1: a wait ends only where there was nothing to wait for.  What everybody says
 * may be late where a leader is cut off: such a world is told of. */
static void check_passed(const struct question *question)
{
    struct world *world = question->client->world;

    if (question->operation.kind == HF_REQUEST_WATCH_QUEUE &&
        !gate_was_down(question->gate, question->asked_us))
        world_broken(world, 1, "%s passes %s, which is up since %" PRIu64,
                     question->client->name, question->gate->name,
                     question->gate->up_us / 1000);
}

/* From now on its owner has to hear of the request.  What may have found the
 * ticket at a try that got no answer may as well have come before it. */
static void note_found(const struct question *question)
{
    const struct hf_operation *operation = &question->operation;
    struct ticket_record *record =
        world_record(question->client->world, &operation->ticket);

    if (operation->kind == HF_REQUEST_REVOKE && operation->found &&
        !operation->unsure && record != NULL)
        record->found = true;
}

static void told_answered(struct question *question)
{
    struct world *world = question->client->world;
    const struct hf_operation *operation = &question->operation;
    const char *name = names[operation->kind];

    if (question->answered || question->finished)
        world_broken(world, 8, "%s is answered twice", name);
    question->answered = true;
    world->answers++;
    if (operation->status == HF_OK) {
        check_passed(question);
        note_found(question);
        return;
    }
    if (!may_fail(question))
        world_broken(world, 9, "%s failed with %s, which nothing justifies",
                     name, hf_status_name(operation->status));
    if (operation->text[0] == '\0')
        world_broken(world, 10, "%s failed with %s and no story", name,
                     hf_status_name(operation->status));
}

void question_effect(const struct hf_effect *effect)
{
    struct question *question = (struct question *)(void *)effect->operation;
    struct client *client = question->client;
    const struct hf_operation *operation = &question->operation;

    if (effect->kind == HF_EFFECT_OPERATION_ANSWERED) {
        told_answered(question);
        world_line(client->world, client->name, "%s ANSWERED %s%s",
                   names[operation->kind], hf_status_name(operation->status),
                   operation->found ? " found" : "");
        return;
    }
    if (!question->answered || question->finished)
        world_broken(client->world, 8, "%s is finished %s",
                     names[operation->kind],
                     question->finished ? "twice" : "unanswered");
    question->finished = true;
}

/* For any of its tickets: it has all of them or none.  Of a crew's, whoever
 * holds it when it is heard. */
static bool is_asked(const struct attempt *attempt)
{
    struct world *world = attempt->client->world;

    if (attempt->crew != NULL)
        return world_record(world, &attempt->a.ticket_id)->asked;
    for (unsigned i = 0; i < attempt->claim_count; i++) {
        const struct claim *claim = &attempt->claims[i];

        if (claim->asked && hf_ticket_id_equal(&claim->asked_id, &claim->id))
            return true;
    }
    return false;
}

void question_check_revoked(const struct attempt *attempt)
{
    struct world *world = attempt->client->world;

    if (!attempt->granted || attempt->lost || attempt->release_called)
        world_broken(world, 8, "%s is asked to let go of nothing",
                     attempt->name);
    if (!is_asked(attempt))
        world_broken(world, 8, "%s is asked to let go, and nobody asked",
                     attempt->name);
    if (attempt->crew != NULL)
        world_record(world, &attempt->a.ticket_id)->told = true;
}

/* 4, 9. */
static void check_one(const struct question *question)
{
    const struct client *client = question->client;
    struct world *world = client->world;
    uint64_t limit_ms =
        hf_max_ms(question->operation.deadline_at_ms, client->thawed_ms);
    uint64_t calm_us = client->disturbed_us > question->asked_us
                           ? client->disturbed_us
                           : question->asked_us;

    if (client_ms(client) > hf_after_ms(limit_ms, check_lateness_ms(world)) &&
        client->tick_us > hf_sim_now_us(world->sim))
        world_broken(world, 9, "%s should have been answered by %" PRIu64,
                     names[question->operation.kind], limit_ms);
    if (question->operation.kind == HF_REQUEST_WATCH_QUEUE &&
        question->gate->up)
        return; /* nor should it be */
    if (question->operation.kind == HF_REQUEST_WATCH_QUEUE &&
        question->gate->down_us > calm_us)
        calm_us = question->gate->down_us;
    if (client->state == HF_STATE_CONNECTED &&
        hf_sim_connected(client->engine) &&
        hf_sim_now_us(world->sim) > calm_us + world->patience_us)
        world_broken(world, 4, "%s is never answered",
                     names[question->operation.kind]);
}

void question_check(const struct client *client)
{
    if (!client->alive || client->closing || hf_sim_frozen(client->engine))
        return;
    for (struct question *q = client->questions; q != NULL; q = q->next)
        if (!q->answered)
            check_one(q);
}

bool question_open(const struct client *client)
{
    for (struct question *q = client->questions; q != NULL; q = q->next)
        if (!q->finished)
            return true;
    return false;
}

void question_crash(struct client *client)
{
    for (struct question *q = client->questions; q != NULL; q = q->next)
        q->answered = q->finished = true;
}

void question_free(struct client *client)
{
    while (client->questions != NULL) {
        struct question *question = client->questions;

        client->questions = question->next;
        free(question);
    }
}
