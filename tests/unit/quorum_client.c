/* SPDX-License-Identifier: Apache-2.0 */
/* A client of the cluster: it takes and releases one lock for ever, as the core
 * would, but in a hundred lines that are plain to read.  Each grant is checked
 * against those of all other clients. */
#include <assert.h>

#include "base/time_math.h"
#include "core/admission.h"
#include "core/session.h"
#include "quorum_cluster_private.h"

/* ---------------------------------------------------------------- checks -- */

static void broken(struct quorum_cluster *cluster, const char *what)
{
    if (cluster->result.broken != NULL)
        return;
    cluster->result.broken = what;
    cluster->result.at_ms = cluster->now_ms;
}

/* A grant counts until its safe-until, whatever the client knows. */
static bool holds(const struct quorum_client *client)
{
    return client->state == HOLDING &&
           client->cluster->now_ms < client->safe_until_ms;
}

static void check_grant(struct quorum_client *client)
{
    struct quorum_cluster *cluster = client->cluster;
    bool writes = client->kind != HF_TICKET_READ;

    for (size_t i = 0; i < cluster->config.clients; i++) {
        const struct quorum_client *other = &cluster->clients[i];

        if (other != client && holds(other) &&
            (writes || other->kind != HF_TICKET_READ))
            broken(cluster, "two have it");
    }
    if (client->token <= (writes ? cluster->any_token : cluster->writer_token))
        broken(cluster, "a token did not rise");
    cluster->any_token = hf_max_ms(cluster->any_token, client->token);
    if (writes)
        cluster->writer_token = client->token;
}

/* ------------------------------------------------------------ contending -- */

static void ask(struct quorum_client *client, enum hf_request_kind kind)
{
    assert(!client->busy);
    client->busy = true;
    client->request = (struct hf_request){.kind = kind,
                                          .queue = "q",
                                          .ticket = client->id,
                                          .ticket_kind = client->kind,
                                          .weight = 1,
                                          .payload = ""};
    hf_leased_request(client->leased, &client->request,
                      client->cluster->now_ms);
}

static void unwatch(struct quorum_client *client)
{
    if (client->watching)
        hf_leased_forget(client->leased, &client->watch,
                         client->cluster->now_ms);
    client->watching = false;
}

static void give_up(struct quorum_client *client)
{
    client->state = LEAVING;
    client->next_ms = client->cluster->now_ms;
}

static void grant(struct quorum_client *client)
{
    struct quorum_cluster *cluster = client->cluster;

    if (!client->connected || cluster->now_ms >= client->safe_until_ms) {
        client->again = true;
        return;
    }
    client->state = HOLDING;
    check_grant(client);
    cluster->result.grants++;
    if (cluster->now_ms >= cluster->faults_until_ms)
        client->grants++;
    client->next_ms = cluster->now_ms + cluster_random_below(cluster, 120);
}

static void watch(struct quorum_client *client, const struct hf_ticket *ticket)
{
    client->watching = true;
    client->watch = (struct hf_request){.kind = HF_REQUEST_WATCH,
                                        .queue = "q",
                                        .ticket = ticket->id,
                                        .ticket_kind = ticket->kind,
                                        .payload = ""};
    hf_leased_request(client->leased, &client->watch, client->cluster->now_ms);
}

/* Act on a queue that has our ticket: hold, or watch the one to wait for. */
static void decide(struct quorum_client *client,
                   const struct hf_snapshot *snapshot)
{
    struct hf_admission admission =
        hf_admission_decide(snapshot, &client->id, client->kind);

    unwatch(client);
    if (admission.answer == HF_MISSING) {
        give_up(client);
        return;
    }
    client->state = WAITING;
    if (admission.answer == HF_ADMITTED)
        grant(client);
    else
        watch(client, admission.nearest);
}

/* Our ticket has its number now, unless it is not in the queue. */
static void on_enqueued(struct quorum_client *client,
                        const struct hf_snapshot *snapshot)
{
    size_t at = hf_snapshot_find(snapshot, &client->id);

    if (at == snapshot->count) {
        give_up(client);
        return;
    }
    client->token = snapshot->tickets[at].token;
    decide(client, snapshot);
}

static void on_answer(struct quorum_client *client,
                      const struct hf_event *event)
{
    const struct hf_snapshot *snapshot = &event->as.answer.snapshot;

    client->busy = false;
    if (event->kind == HF_EVENT_ENQUEUED && client->state == JOINING) {
        on_enqueued(client, snapshot);
    } else if (event->kind == HF_EVENT_LISTED && client->state == LOOKING) {
        on_enqueued(client, snapshot);
    } else if (event->kind == HF_EVENT_LISTED && client->state == WAITING) {
        decide(client, snapshot);
    } else if (event->kind == HF_EVENT_REMOVED) {
        client->state = IDLE;
        client->next_ms = client->cluster->now_ms +
                          cluster_random_below(client->cluster, 200);
    } else if (event->kind == HF_EVENT_FAILED) {
        client->again = client->state == WAITING || client->state == LOOKING;
        if (client->state == JOINING &&
            event->as.answer.failure == HF_FAILURE_UNSURE) {
            client->state = LOOKING;
            client->again = true;
        } else if (client->state == JOINING) {
            client->state = IDLE;
        }
        client->next_ms = client->cluster->now_ms + 20;
    }
}

/* The session is lost, and with it all tickets and requests. */
static void lose(struct quorum_client *client)
{
    client->connected = false;
    client->safe_until_ms = 0;
    client->watching = false;
    client->busy = client->downgrading = false;
    if (client->state == HOLDING)
        client->cluster->result.losses++;
    client->state = IDLE;
}

static void on_gone(struct quorum_client *client,
                    const struct hf_request *request)
{
    if (request != &client->watch)
        return;
    client->watching = false;
    client->again = client->state == WAITING;
}

void quorum_client_event(void *host, struct hf_event *event)
{
    struct quorum_client *client = host;
    struct hf_request *request = event->as.answer.request;
    uint64_t margin_ms = hf_margin_ms(CLUSTER_TTL_MS, HF_CLOCK_DRIFT);

    switch (event->kind) {
    case HF_EVENT_CONNECTED:
        client->connected = true;
        client->safe_until_ms =
            hf_max_ms(client->safe_until_ms, event->as.connected.anchor_ms +
                                                 CLUSTER_TTL_MS - margin_ms);
        break;
    case HF_EVENT_PROVEN:
        client->safe_until_ms =
            hf_max_ms(client->safe_until_ms,
                      event->as.answer.anchor_ms + CLUSTER_TTL_MS - margin_ms);
        break;
    case HF_EVENT_SUSPENDED:
        client->connected = false;
        break;
    case HF_EVENT_SESSION_LOST:
        lose(client);
        break;
    case HF_EVENT_CONNECTION_ERROR:
    case HF_EVENT_WATCHING:
    case HF_EVENT_REVOKED:
        break;
    case HF_EVENT_GONE:
        on_gone(client, request);
        break;
    case HF_EVENT_DOWNGRADED:
        client->downgrading = false;
        break;
    default:
        if (request == &client->watch)
            on_gone(client, request); /* FAILED */
        else if (request == &client->downgrade)
            client->downgrading = false;
        else
            on_answer(client, event);
    }
}

static void contend(struct quorum_client *client)
{
    struct quorum_cluster *cluster = client->cluster;
    static const enum hf_ticket_kind kinds[] = {HF_TICKET_READ,
                                                HF_TICKET_WRITE};

    client->id = hf_ticket_id_random(&cluster->random);
    client->kind = cluster->config.readers
                       ? kinds[cluster_random_below(cluster, 2)]
                       : HF_TICKET_MUTEX;
    client->state = JOINING;
    client->again = false;
    ask(client, HF_REQUEST_ENQUEUE);
}

/* A writer becomes a reader now and then instead of releasing. */
static bool wants_downgrade(struct quorum_client *client)
{
    return client->kind == HF_TICKET_WRITE && client->connected &&
           !client->downgrading &&
           cluster_random_below(client->cluster, 3) == 0;
}

static void downgrade(struct quorum_client *client)
{
    client->kind = HF_TICKET_READ;
    client->downgrading = true;
    client->downgrade = (struct hf_request){.kind = HF_REQUEST_DOWNGRADE,
                                            .queue = "q",
                                            .ticket = client->id,
                                            .payload = ""};
    client->next_ms =
        client->cluster->now_ms + cluster_random_below(client->cluster, 100);
    hf_leased_request(client->leased, &client->downgrade,
                      client->cluster->now_ms);
}

static void let_go(struct quorum_client *client)
{
    if (wants_downgrade(client)) {
        downgrade(client);
        return;
    }
    client->state = LEAVING;
    client->next_ms = client->cluster->now_ms;
}

void quorum_client_step(struct quorum_client *client)
{
    uint64_t now_ms = client->cluster->now_ms;

    if (client->state == HOLDING && now_ms >= client->safe_until_ms)
        client->state = LEAVING; /* the grant ends by itself */
    if (client->busy || !client->connected)
        return;
    /* Now and then a list that nothing asked for. */
    if (client->state == WAITING &&
        cluster_random_below(client->cluster, 50) == 0)
        client->again = true;
    if (client->state == IDLE && now_ms >= client->next_ms) {
        contend(client);
    } else if (client->state == HOLDING && now_ms >= client->next_ms) {
        let_go(client);
    } else if (client->state == LEAVING && now_ms >= client->next_ms &&
               !client->downgrading) {
        unwatch(client);
        ask(client, HF_REQUEST_REMOVE);
    } else if ((client->state == WAITING || client->state == LOOKING) &&
               client->again && now_ms >= client->next_ms) {
        client->again = false;
        client->next_ms = now_ms;
        ask(client, HF_REQUEST_LIST);
    }
}
