/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the possible actions of a state, takes them, and decides which are
 * independent of all others.
 */
#include "simulator/explore/action.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "simulator/model/plain_encoder.h"

#define DELIVERIES_MAX 8

static const char *const names[] = {
    [ACTION_WANT] = "want",
    [ACTION_DELIVER_TO_SERVER] = "out",
    [ACTION_DELIVER_TO_CLIENT] = "in",
    [ACTION_DELIVER_NOTICE] = "notice",
    [ACTION_DELIVER_LATE] = "late",
    [ACTION_DROP_LATE] = "lose",
    [ACTION_RELEASE] = "release",
    [ACTION_CANCEL] = "cancel",
    [ACTION_CRASH] = "crash",
    [ACTION_CUT] = "cut",
    [ACTION_KILL_SESSION] = "kill",
    [ACTION_DOWNGRADE] = "downgrade",
    [ACTION_EXPIRE] = "expire",
    [ACTION_OTHER_CLIENT] = "other",
    [ACTION_TIME] = "time",
};

static const enum action_kind kinds_of_direction[] = {
    [HF_SIM_TO_SERVER] = ACTION_DELIVER_TO_SERVER,
    [HF_SIM_TO_CLIENT] = ACTION_DELIVER_TO_CLIENT,
    [HF_SIM_NOTICE] = ACTION_DELIVER_NOTICE,
    [HF_SIM_LATE_TO_SERVER] = ACTION_DELIVER_LATE,
};

bool action_is_fault(enum action_kind kind)
{
    return kind == ACTION_CRASH || kind == ACTION_CUT ||
           kind == ACTION_CANCEL || kind == ACTION_KILL_SESSION;
}

struct action_label action_label(const struct action *action)
{
    return (struct action_label){
        .kind = (uint8_t)action->kind,
        .client =
            (char)(action->client == NULL ? '\0' : action->client->name[0])};
}

void action_name(struct action_label label, char text[ACTION_NAME_BYTES])
{
    snprintf(text, ACTION_NAME_BYTES, "%.1s%s%s", &label.client,
             label.client == '\0' ? "" : ".", names[label.kind]);
}

/* ------------------------------------------------------- finding actions -- */

struct found {
    struct action *actions;
    size_t count;
};

/* One more possible action of ${client}. */
static struct action *add(struct found *found, enum action_kind kind,
                          struct client *client)
{
    struct action *action;

    assert(found->count < ACTIONS_MAX);
    action = &found->actions[found->count++];
    action->kind = kind;
    action->client = client;
    return action;
}

static void find_deliveries(struct found *found, struct client *client)
{
    struct hf_sim_delivery deliveries[DELIVERIES_MAX];
    size_t count =
        hf_sim_deliverable(client->engine, deliveries, DELIVERIES_MAX);

    for (size_t i = 0; i < count; i++)
        add(found, kinds_of_direction[deliveries[i].direction], client)
            ->delivery = deliveries[i];
}

/* Is a ticket of its last attempt in a queue, owned by its session? */
static bool has_ticket(const struct client *client)
{
    const struct attempt *attempt = client->attempts;

    for (unsigned i = 0; attempt != NULL && i < attempt->item_count; i++) {
        if (attempt->items[i].enqueued &&
            hf_sim_ticket_current(client->engine, &attempt->items[i].id))
            return true;
    }
    return false;
}

/* Messages on connections that have ended may be lost.  The session of a client
 * that has crashed may end at any time. */
static void find_late(struct found *found, struct client *client)
{
    struct hf_sim_delivery deliveries[DELIVERIES_MAX];
    size_t count =
        hf_sim_deliverable(client->engine, deliveries, DELIVERIES_MAX);

    for (size_t i = 0; client->alive && i < count; i++) {
        if (deliveries[i].direction == HF_SIM_LATE_TO_SERVER)
            add(found, ACTION_DROP_LATE, client)->delivery = deliveries[i];
    }
    if (!client->alive && hf_sim_session_alive(client->engine) &&
        (count > 0 || has_ticket(client)))
        add(found, ACTION_EXPIRE, client);
}

static bool may_release(const struct client *client)
{
    const struct attempt *attempt = client->attempts;

    return client->alive && attempt != NULL && attempt->granted &&
           !attempt->release_called;
}

/* Is it a holder of a kind that downgrades, and has not done so? */
static bool may_downgrade(const struct case_run *case_run,
                          const struct client *client)
{
    const struct attempt *attempt = client->attempts;

    return may_release(client) && !attempt->lost &&
           !attempt->downgrade_called &&
           explore_case_downgrades(
               case_run->explore_case,
               (unsigned)(client - case_run->cluster->clients));
}

static bool may_want(const struct case_run *case_run,
                     const struct client *client)
{
    unsigned repeats = 0;

    for (struct attempt *a = client->attempts; a != NULL; a = a->next)
        repeats++;
    return client->alive && repeats < case_run->explore_case->repeats &&
           cluster_is_idle(client);
}

static void find_user_actions(struct found *found,
                              const struct case_run *case_run,
                              struct client *client)
{
    if (may_want(case_run, client))
        add(found, ACTION_WANT, client);
    if (may_release(client))
        add(found, ACTION_RELEASE, client);
    if (may_downgrade(case_run, client))
        add(found, ACTION_DOWNGRADE, client);
}

/* A fault of a client that has not begun or has finished affects nothing. */
static bool may_go_wrong(const struct case_run *case_run,
                         const struct client *client)
{
    return !case_run->fault_done && client->alive && client->attempts != NULL &&
           !cluster_is_idle(client);
}

/* The fault of the case, if it has not happened and this client is at work. */
static void find_fault(struct found *found, const struct case_run *case_run,
                       struct client *client)
{
    static const enum action_kind kinds[] = {
        [CASE_FAULT_CRASH] = ACTION_CRASH,
        [CASE_FAULT_CUT] = ACTION_CUT,
        [CASE_FAULT_CANCEL] = ACTION_CANCEL,
        [CASE_FAULT_KILL] = ACTION_KILL_SESSION,
    };

    if (case_run->explore_case->fault == CASE_FAULT_OTHER_CLIENT ||
        !may_go_wrong(case_run, client))
        return;
    if (case_run->explore_case->fault == CASE_FAULT_CANCEL &&
        client->attempts->release_called)
        return;
    add(found, kinds[case_run->explore_case->fault], client);
}

/* The true time of the next timer, UINT64_MAX if that is not due soon. */
static uint64_t soon_us(const struct cluster *cluster)
{
    uint64_t limit_us = hf_sim_now_us(cluster->sim) + 1000 * HF_STATE_SOON_MS;
    uint64_t at_us = UINT64_MAX;

    for (unsigned i = 0; i < cluster->client_count; i++) {
        const struct client *client = &cluster->clients[i];
        uint64_t wake_us;

        if (!client->alive)
            continue;
        wake_us = hf_sim_wake_at_us(client->engine);
        at_us = wake_us < at_us ? wake_us : at_us;
        /* Not .tick_us, because the core may have nothing to do then any
         * more. */
        wake_us = hf_sim_client_at_us(client->engine,
                                      hf_core_wake_at_ms(&client->core));
        at_us = wake_us < at_us ? wake_us : at_us;
    }
    return at_us <= limit_us ? at_us : UINT64_MAX;
}

/* Deliveries and user actions come before time, losses and faults. */
size_t actions_find(const struct case_run *case_run, struct action *actions)
{
    struct cluster *cluster = case_run->cluster;
    struct found found = {actions, 0};

    for (unsigned i = 0; i < cluster->client_count; i++)
        find_deliveries(&found, &cluster->clients[i]);
    for (unsigned i = 0; i < cluster->client_count; i++)
        find_user_actions(&found, case_run, &cluster->clients[i]);
    if (case_run->other_steps > 0 && case_run->other_steps < OTHER_CLIENT_STEPS)
        add(&found, ACTION_OTHER_CLIENT, NULL);
    if (soon_us(cluster) != UINT64_MAX)
        add(&found, ACTION_TIME, NULL);
    for (unsigned i = 0; i < cluster->client_count; i++)
        find_late(&found, &cluster->clients[i]);
    for (unsigned i = 0; i < cluster->client_count; i++)
        find_fault(&found, case_run, &cluster->clients[i]);
    return found.count;
}

/* ------------------------------------------------------ taking an action -- */

static void pass_time(struct cluster *cluster)
{
    uint64_t at_us = soon_us(cluster);
    uint64_t now_us = hf_sim_now_us(cluster->sim);

    hf_sim_run_ms(cluster->sim,
                  at_us <= now_us ? 0 : (at_us - now_us + 999) / 1000);
}

/* The client acquires what the case says, without a limit of time. */
static void want(struct case_run *case_run, struct client *client)
{
    unsigned i = (unsigned)(client - case_run->cluster->clients);
    struct lock_spec lock_spec = {
        .lock = &case_run->cluster->locks[0],
        .kind = explore_case_kind(case_run->explore_case, i),
        .weight = explore_case_weight(case_run->explore_case, i)};

    cluster_want_all(client, &lock_spec, 1, false, HF_FOREVER, 0, 0, false);
}

/* Seed each client's random numbers from the number of tickets that it has had,
 * so that what it draws does not depend on the path to this state. */
static void reseed_clients(struct cluster *cluster)
{
    uint64_t drawn[CLUSTER_CLIENTS_MAX] = {0};

    for (unsigned i = 0; i < cluster->ticket_count; i++)
        if (cluster->tickets[i].attempt != NULL)
            drawn[cluster->tickets[i].attempt->client - cluster->clients]++;
    for (unsigned i = 0; i < cluster->client_count; i++)
        hf_random_seed(&cluster->clients[i].core.config.random,
                       drawn[i] * CLUSTER_CLIENTS_MAX + i);
}

/* Before each action the random numbers of the clients are seeded anew. */
void action_take(struct case_run *case_run, const struct action *action)
{
    struct client *client = action->client;

    reseed_clients(case_run->cluster);
    case_run->fault_done |= action_is_fault(action->kind);
    switch (action->kind) {
    case ACTION_WANT:
        want(case_run, client);
        break;
    case ACTION_DELIVER_TO_SERVER:
    case ACTION_DELIVER_TO_CLIENT:
    case ACTION_DELIVER_NOTICE:
    case ACTION_DELIVER_LATE:
        hf_sim_deliver(&action->delivery);
        break;
    case ACTION_DROP_LATE:
        hf_sim_drop_late_messages(&action->delivery);
        break;
    case ACTION_RELEASE:
        cluster_release(client->attempts);
        break;
    case ACTION_CANCEL:
        cluster_cancel(client->attempts);
        break;
    case ACTION_CRASH:
        cluster_crash(client);
        break;
    case ACTION_CUT:
        cluster_trace(case_run->cluster, client->name, "connection breaks");
        hf_sim_reset_connection(client->engine);
        break;
    case ACTION_KILL_SESSION:
        cluster_kill_session(client);
        break;
    case ACTION_DOWNGRADE:
        cluster_downgrade(client->attempts);
        break;
    case ACTION_EXPIRE:
        cluster_trace(case_run->cluster, client->name, "session expires");
        hf_sim_kill_session(client->engine);
        break;
    case ACTION_OTHER_CLIENT:
        case_run->other_steps =
            explore_case_other_client(case_run->cluster, case_run->other_steps);
        break;
    case ACTION_TIME:
        pass_time(case_run->cluster);
        break;
    }
}

/* ---------------------------------------------------------- independence -- */

static bool writes(const struct hf_sim_delivery *delivery)
{
    return delivery->request == HF_REQUEST_ENQUEUE ||
           delivery->request == HF_REQUEST_REMOVE ||
           delivery->request == HF_REQUEST_DOWNGRADE ||
           delivery->request == HF_REQUEST_END;
}

/* May a client lose its tickets by the fault of the case? */
static bool may_lose_session(const struct case_run *case_run)
{
    return !case_run->fault_done &&
           case_run->explore_case->fault == CASE_FAULT_KILL;
}

/* A request is independent at the server unless other clients can change its
 * answer.  A ticket that is gone does not come back, and a client's own ticket
 * goes only by its own doing. */
static bool is_independent_at_server(const struct case_run *case_run,
                                     const struct action *action)
{
    const struct hf_sim_delivery *delivery = &action->delivery;
    const struct ticket_record *record;

    if (!delivery->is_request)
        return false;
    if (action->kind == ACTION_DELIVER_LATE)
        return !writes(delivery); /* no client reads the answer */
    if (may_lose_session(case_run))
        return false;
    if (delivery->request == HF_REQUEST_PROVE)
        return true;
    if (delivery->request != HF_REQUEST_WATCH &&
        delivery->request != HF_REQUEST_REMOVE)
        return false;
    if (!hf_sim_ticket_exists(case_run->cluster->sim, &delivery->ticket))
        return delivery->request == HF_REQUEST_WATCH;
    record = cluster_ticket_record(case_run->cluster, &delivery->ticket);
    return delivery->request == HF_REQUEST_WATCH && record != NULL &&
           record->attempt != NULL && record->attempt->client == action->client;
}

/* A message that arrives at a client changes that client alone, and what the
 * client sends waits in a pipe.  Not independent are actions of its user, a
 * cut, and notices that overtake.  A crash is the same as a crash afterwards in
 * which the client's messages are lost. */
static bool is_independent_at_client(const struct case_run *case_run,
                                     const struct action *action)
{
    return !case_run->explore_case->bare && !may_release(action->client) &&
           !may_want(case_run, action->client) &&
           (case_run->explore_case->fault == CASE_FAULT_CRASH ||
            case_run->explore_case->fault == CASE_FAULT_OTHER_CLIENT ||
            !may_go_wrong(case_run, action->client));
}

enum action_independence action_independence(const struct case_run *case_run,
                                             const struct action *action)
{
    switch (action->kind) {
    case ACTION_WANT: /* nothing can arrive for it yet */
        return action->client->attempts == NULL ? ACTION_INDEPENDENT
                                                : ACTION_DEPENDENT;
    case ACTION_DELIVER_TO_SERVER:
    case ACTION_DELIVER_LATE:
        return is_independent_at_server(case_run, action) ? ACTION_INDEPENDENT
                                                          : ACTION_DEPENDENT;
    case ACTION_DELIVER_TO_CLIENT:
    case ACTION_DELIVER_NOTICE:
        return is_independent_at_client(case_run, action)
                   ? ACTION_INDEPENDENT_UNLESS_NOTIFIED
                   : ACTION_DEPENDENT;
    default:
        return ACTION_DEPENDENT;
    }
}
