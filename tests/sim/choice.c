/* SPDX-License-Identifier: Apache-2.0 */
#include "choice.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "engines/sim/imprint.h"

#define ARRIVALS_MAX 8

static const char *const names[] = {
    [CHOICE_WANT] = "want",       [CHOICE_OUT] = "out",
    [CHOICE_IN] = "in",           [CHOICE_ASIDE] = "aside",
    [CHOICE_LATE] = "late",       [CHOICE_LOSE] = "lose",
    [CHOICE_RELEASE] = "release", [CHOICE_CANCEL] = "cancel",
    [CHOICE_CRASH] = "crash",     [CHOICE_CUT] = "cut",
    [CHOICE_KILL] = "kill",       [CHOICE_DOWNGRADE] = "downgrade",
    [CHOICE_EXPIRE] = "expire",   [CHOICE_FOREIGN] = "foreign",
    [CHOICE_TIME] = "time",
};

static const enum choice_kind ways[] = {
    [HF_SIM_OUT] = CHOICE_OUT,
    [HF_SIM_IN] = CHOICE_IN,
    [HF_SIM_ASIDE] = CHOICE_ASIDE,
    [HF_SIM_LATE] = CHOICE_LATE,
};

bool choice_is_mishap(enum choice_kind kind)
{
    return kind == CHOICE_CRASH || kind == CHOICE_CUT ||
           kind == CHOICE_CANCEL || kind == CHOICE_KILL;
}

struct choice_mark choice_mark(const struct choice *choice)
{
    return (struct choice_mark){
        .kind = (uint8_t)choice->kind,
        .client =
            (char)(choice->client == NULL ? '\0' : choice->client->name[0])};
}

void choice_name(struct choice_mark mark, char text[CHOICE_NAME_BYTES])
{
    snprintf(text, CHOICE_NAME_BYTES, "%.1s%s%s", &mark.client,
             mark.client == '\0' ? "" : ".", names[mark.kind]);
}

/* ------------------------------------------------------------------ find -- */

struct found {
    struct choice *choices;
    size_t count;
};

static struct choice *add(struct found *found, enum choice_kind kind,
                          struct client *client)
{
    struct choice *choice;

    assert(found->count < CHOICES_MAX);
    choice = &found->choices[found->count++];
    choice->kind = kind;
    choice->client = client;
    return choice;
}

static void find_arrivals(struct found *found, struct client *client)
{
    struct hf_sim_arrival arrivals[ARRIVALS_MAX];
    size_t count = hf_sim_arrivals(client->engine, arrivals, ARRIVALS_MAX);

    for (size_t i = 0; i < count; i++)
        add(found, ways[arrivals[i].way], client)->arrival = arrivals[i];
}

/* Is one of its tickets there, in its session? */
static bool has_ticket(const struct client *client)
{
    const struct attempt *attempt = client->attempts;

    for (unsigned i = 0; attempt != NULL && i < attempt->claim_count; i++) {
        if (attempt->claims[i].enqueued &&
            hf_sim_ticket_current(client->engine, &attempt->claims[i].id))
            return true;
    }
    return false;
}

/* One that crashed: its session ends at any time, and with it what is still
 * on its way. */
static void find_rest(struct found *found, struct client *client)
{
    struct hf_sim_arrival arrivals[ARRIVALS_MAX];
    size_t count = hf_sim_arrivals(client->engine, arrivals, ARRIVALS_MAX);

    for (size_t i = 0; client->alive && i < count; i++) {
        if (arrivals[i].way == HF_SIM_LATE)
            add(found, CHOICE_LOSE, client)->arrival = arrivals[i];
    }
    if (!client->alive && hf_sim_session_alive(client->engine) &&
        (count > 0 || has_ticket(client)))
        add(found, CHOICE_EXPIRE, client);
}

static bool may_release(const struct client *client)
{
    const struct attempt *attempt = client->attempts;

    return client->alive && attempt != NULL && attempt->granted &&
           !attempt->release_called;
}

static bool may_downgrade(const struct stage *stage,
                          const struct client *client)
{
    const struct attempt *attempt = client->attempts;

    return may_release(client) && !attempt->lost &&
           !attempt->downgrade_called &&
           scene_downgrades(stage->scene,
                            (unsigned)(client - stage->world->clients));
}

static bool may_want(const struct stage *stage, const struct client *client)
{
    unsigned rounds = 0;

    for (struct attempt *a = client->attempts; a != NULL; a = a->next)
        rounds++;
    return client->alive && rounds < stage->scene->rounds && world_idle(client);
}

static void find_deeds(struct found *found, const struct stage *stage,
                       struct client *client)
{
    if (may_want(stage, client))
        add(found, CHOICE_WANT, client);
    if (may_release(client))
        add(found, CHOICE_RELEASE, client);
    if (may_downgrade(stage, client))
        add(found, CHOICE_DOWNGRADE, client);
}

/* What happens to one that has not begun or is done touches nobody. */
static bool may_go_wrong(const struct stage *stage, const struct client *client)
{
    return !stage->mishap_over && client->alive && client->attempts != NULL &&
           !world_idle(client);
}

static void find_mishap(struct found *found, const struct stage *stage,
                        struct client *client)
{
    static const enum choice_kind kinds[] = {
        [MISHAP_CRASH] = CHOICE_CRASH,
        [MISHAP_CUT] = CHOICE_CUT,
        [MISHAP_CANCEL] = CHOICE_CANCEL,
        [MISHAP_KILL] = CHOICE_KILL,
    };

    if (stage->scene->mishap == MISHAP_FOREIGN || !may_go_wrong(stage, client))
        return;
    if (stage->scene->mishap == MISHAP_CANCEL &&
        client->attempts->release_called)
        return;
    add(found, kinds[stage->scene->mishap], client);
}

/* When something is due next; UINT64_MAX if that is far off. */
static uint64_t soon_us(const struct world *world)
{
    uint64_t limit_us = hf_sim_now_us(world->sim) + 1000 * HF_IMPRINT_SOON_MS;
    uint64_t at_us = UINT64_MAX;

    for (unsigned i = 0; i < world->client_count; i++) {
        const struct client *client = &world->clients[i];
        uint64_t wake_us;

        if (!client->alive)
            continue;
        wake_us = hf_sim_wake_at_us(client->engine);
        at_us = wake_us < at_us ? wake_us : at_us;
        /* Not .tick_us, at which it may have nothing to do any more. */
        wake_us = hf_sim_client_at_us(client->engine,
                                      hf_core_wake_at_ms(&client->core));
        at_us = wake_us < at_us ? wake_us : at_us;
    }
    return at_us <= limit_us ? at_us : UINT64_MAX;
}

size_t choices_find(const struct stage *stage, struct choice *choices)
{
    struct world *world = stage->world;
    struct found found = {choices, 0};

    for (unsigned i = 0; i < world->client_count; i++)
        find_arrivals(&found, &world->clients[i]);
    for (unsigned i = 0; i < world->client_count; i++)
        find_deeds(&found, stage, &world->clients[i]);
    if (stage->foreign > 0 && stage->foreign < FOREIGN_DEEDS)
        add(&found, CHOICE_FOREIGN, NULL);
    if (soon_us(world) != UINT64_MAX)
        add(&found, CHOICE_TIME, NULL);
    for (unsigned i = 0; i < world->client_count; i++)
        find_rest(&found, &world->clients[i]);
    for (unsigned i = 0; i < world->client_count; i++)
        find_mishap(&found, stage, &world->clients[i]);
    return found.count;
}

/* -------------------------------------------------------------------- do -- */

static void let_time_pass(struct world *world)
{
    uint64_t at_us = soon_us(world);
    uint64_t now_us = hf_sim_now_us(world->sim);

    hf_sim_run_ms(world->sim,
                  at_us <= now_us ? 0 : (at_us - now_us + 999) / 1000);
}

static void want(struct stage *stage, struct client *client)
{
    unsigned i = (unsigned)(client - stage->world->clients);
    struct wish wish = {.place = &stage->world->places[0],
                        .kind = scene_kind(stage->scene, i),
                        .weight = scene_weight(stage->scene, i)};

    world_want_all(client, &wish, 1, false, HF_FOREVER, 0, 0, false);
}

/* What a client draws next, a ticket's id or the jitter of a retry, shall
 * depend on nothing but how many tickets it had: so paths that lead to the same
 * place go on alike. */
static void settle_chance(struct world *world)
{
    uint64_t drawn[WORLD_CLIENTS] = {0};

    for (unsigned i = 0; i < world->ticket_count; i++)
        if (world->tickets[i].attempt != NULL)
            drawn[world->tickets[i].attempt->client - world->clients]++;
    for (unsigned i = 0; i < world->client_count; i++)
        hf_random_seed(&world->clients[i].core.config.random,
                       drawn[i] * WORLD_CLIENTS + i);
}

void choice_do(struct stage *stage, const struct choice *choice)
{
    struct client *client = choice->client;

    settle_chance(stage->world);
    stage->mishap_over |= choice_is_mishap(choice->kind);
    switch (choice->kind) {
    case CHOICE_WANT:
        want(stage, client);
        break;
    case CHOICE_OUT:
    case CHOICE_IN:
    case CHOICE_ASIDE:
    case CHOICE_LATE:
        hf_sim_arrive(&choice->arrival);
        break;
    case CHOICE_LOSE:
        hf_sim_lose(&choice->arrival);
        break;
    case CHOICE_RELEASE:
        world_release(client->attempts);
        break;
    case CHOICE_CANCEL:
        world_cancel(client->attempts);
        break;
    case CHOICE_CRASH:
        world_crash(client);
        break;
    case CHOICE_CUT:
        world_line(stage->world, client->name, "connection breaks");
        hf_sim_break(client->engine);
        break;
    case CHOICE_KILL:
        world_kill_session(client);
        break;
    case CHOICE_DOWNGRADE:
        world_downgrade(client->attempts);
        break;
    case CHOICE_EXPIRE:
        world_line(stage->world, client->name, "session expires");
        hf_sim_kill_session(client->engine);
        break;
    case CHOICE_FOREIGN:
        stage->foreign = scene_foreign(stage->world, stage->foreign);
        break;
    case CHOICE_TIME:
        let_time_pass(stage->world);
        break;
    }
}

/* --------------------------------------------------------------- freedom -- */

static bool writes(const struct hf_sim_arrival *arrival)
{
    return arrival->request == HF_REQUEST_ENQUEUE ||
           arrival->request == HF_REQUEST_REMOVE ||
           arrival->request == HF_REQUEST_DOWNGRADE ||
           arrival->request == HF_REQUEST_END;
}

/* Can its tickets go by no doing of its own? */
static bool may_be_robbed(const struct stage *stage)
{
    return !stage->mishap_over && stage->scene->mishap == MISHAP_KILL;
}

/* Requests go to one server, whose answers wait in line; so only what others
 * may change makes a difference.  A ticket that is gone does not come back, and
 * one's own goes by one's own doing. */
static bool is_free_at_server(const struct stage *stage,
                              const struct choice *choice)
{
    const struct hf_sim_arrival *arrival = &choice->arrival;
    const struct ticket_record *record;

    if (!arrival->asks)
        return false;
    if (choice->kind == CHOICE_LATE)
        return !writes(arrival); /* nobody hears the answer */
    if (may_be_robbed(stage))
        return false;
    if (arrival->request == HF_REQUEST_PROVE)
        return true;
    if (arrival->request != HF_REQUEST_WATCH &&
        arrival->request != HF_REQUEST_REMOVE)
        return false;
    if (!hf_sim_ticket_exists(stage->world->sim, &arrival->ticket))
        return arrival->request == HF_REQUEST_WATCH;
    record = world_record(stage->world, &arrival->ticket);
    return arrival->request == HF_REQUEST_WATCH && record != NULL &&
           record->attempt != NULL && record->attempt->client == choice->client;
}

/* What arrives at a client changes that client only, and what it sends waits in
 * line too.  Its user's deeds and a cut could come before, and so could a
 * notice that overtakes.  A crash could, too, but that is as if it came after
 * and what the client had sent was lost. */
static bool is_free_at_client(const struct stage *stage,
                              const struct choice *choice)
{
    return !stage->scene->bare && !may_release(choice->client) &&
           !may_want(stage, choice->client) &&
           (stage->scene->mishap == MISHAP_CRASH ||
            stage->scene->mishap == MISHAP_FOREIGN ||
            !may_go_wrong(stage, choice->client));
}

enum choice_freedom choice_freedom(const struct stage *stage,
                                   const struct choice *choice)
{
    switch (choice->kind) {
    case CHOICE_WANT: /* there is nothing yet that could arrive */
        return choice->client->attempts == NULL ? CHOICE_FREE : CHOICE_BOUND;
    case CHOICE_OUT:
    case CHOICE_LATE:
        return is_free_at_server(stage, choice) ? CHOICE_FREE : CHOICE_BOUND;
    case CHOICE_IN:
    case CHOICE_ASIDE:
        return is_free_at_client(stage, choice) ? CHOICE_FREE_UNLESS_SEEN
                                                : CHOICE_BOUND;
    default:
        return CHOICE_BOUND;
    }
}
