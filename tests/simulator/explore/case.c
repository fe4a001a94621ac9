/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The cases, and how a run of one begins and ends.
 */
#include "simulator/explore/case.h"

#include <string.h>

#include "simulator/model/plain_delivery.h"

/* So long that the exploration ends before a heartbeat is due. */
#define LEASE_MS UINT64_C(60000)
#define DELIVERIES_MAX 8
/* of the semaphore */
#define PERMITS 2
/* A ticket that may still appear is removed again for this many leases. */
#define LEASES_TO_END 3

/* clang-format off */
const struct explore_case explore_cases[] = {
    {"two", "wr", 1, false, CASE_FAULT_CRASH, false,
     "a writer and a reader, one may crash"},
    {"two-cut", "wr", 1, false, CASE_FAULT_CUT, false,
     "a writer and a reader, one connection may break"},
    {"two-cancel", "ww", 2, false, CASE_FAULT_CANCEL, false,
     "2 writers twice each, one may give up"},
    {"permits-all", "Ss", 1, false, CASE_FAULT_CRASH, false,
     "a client with both of 2 permits and one with one, one may crash"},
    {"permits-cancel", "Ss", 1, false, CASE_FAULT_CANCEL, false,
     "a client with both of 2 permits and one with one, one may give up"},
    {"other-client", "wwr", 1, false, CASE_FAULT_OTHER_CLIENT, false,
     "2 writers and a reader behind another client's writer that downgrades"},
    {"mutex", "mmmmm", 1, false, CASE_FAULT_CRASH, false,
     "5 clients of a mutex, one may crash"},
    {"mutex-twice", "mmm", 2, false, CASE_FAULT_CRASH, false,
     "3 clients of a mutex, twice each, one may crash"},
    {"mutex-cut", "mmm", 1, false, CASE_FAULT_CUT, false,
     "3 clients of a mutex, one connection may break"},
    {"rw", "wwrr", 1, false, CASE_FAULT_CRASH, false,
     "2 writers and 2 readers, one may crash"},
    {"rw-bare", "wrr", 1, true, CASE_FAULT_CRASH, false,
     "a writer and 2 readers on a bare engine, one may crash"},
    {"rw-cut", "wwr", 1, false, CASE_FAULT_CUT, false,
     "2 writers and a reader, one connection may break"},
    {"rw-cancel", "wwr", 1, false, CASE_FAULT_CANCEL, false,
     "2 writers and a reader, one may give up"},
    {"rw-downgrade", "dwr", 1, false, CASE_FAULT_CRASH, false,
     "2 writers, one of which may downgrade, and a reader, one may crash"},
    {"rw-kill", "wr", 1, false, CASE_FAULT_KILL, false,
     "a writer and a reader, one session is ended"},
    {"permits-cut", "Ss", 1, false, CASE_FAULT_CUT, false,
     "a client with both of 2 permits and one with one, one connection "
     "may break"},
    {"permits", "ssss", 1, false, CASE_FAULT_CRASH, false,
     "4 clients of one of 2 permits each, one may crash"},
    {"rw-downgrade-4", "dwrr", 1, false, CASE_FAULT_CRASH, true,
     "2 writers, one of which may downgrade, and 2 readers, one may "
     "crash"},
    {"rw-bare-4", "wwrr", 1, true, CASE_FAULT_CRASH, true,
     "2 writers and 2 readers on a bare engine, one may crash"},
    {"rw-cut-4", "wwrr", 1, false, CASE_FAULT_CUT, true,
     "2 writers and 2 readers, one connection may break"},
    {"rw-cancel-4", "wwrr", 1, false, CASE_FAULT_CANCEL, true,
     "2 writers and 2 readers, one may give up"},
    {NULL, NULL, 0, false, CASE_FAULT_CRASH, false, NULL},
};
/* clang-format on */

const struct explore_case *explore_case_find(const char *name)
{
    for (const struct explore_case *s = explore_cases; s->name != NULL; s++) {
        if (strcmp(s->name, name) == 0)
            return s;
    }
    return NULL;
}

enum hf_ticket_kind explore_case_kind(const struct explore_case *explore_case,
                                      unsigned i)
{
    switch (explore_case->contenders[i]) {
    case 'r':
        return HF_TICKET_READ;
    case 'w':
    case 'd':
        return HF_TICKET_WRITE;
    case 's':
    case 'S':
        return HF_TICKET_LEASE;
    default:
        return HF_TICKET_MUTEX;
    }
}

uint32_t explore_case_weight(const struct explore_case *explore_case,
                             unsigned i)
{
    return explore_case->contenders[i] == 'S' ? 2 : 1;
}

bool explore_case_downgrades(const struct explore_case *explore_case,
                             unsigned i)
{
    return explore_case->contenders[i] == 'd';
}

/* Deliver the first message that can be; false if there is none. */
static bool deliver(const struct client *client)
{
    struct hf_sim_delivery deliveries[DELIVERIES_MAX];

    if (hf_sim_deliverable(client->engine, deliveries, DELIVERIES_MAX) == 0)
        return false;
    hf_sim_deliver(&deliveries[0]);
    return true;
}

static void connect(struct cluster *cluster, struct client *client)
{
    cluster_open(client, 1000, 0);
    while (!client->ever_connected) {
        if (!deliver(client))
            hf_sim_run_ms(cluster->sim, 0);
    }
}

/* Clients connect before the exploration begins, because their connecting
 * affects no lock. */
void explore_case_start(const struct explore_case *explore_case,
                        struct cluster *cluster)
{
    struct hf_sim_config config = hf_sim_config_plain(1);

    config.manual_delivery = true;
    config.traits = HF_ENGINE_WATCHES_TWO |
                    (explore_case->bare ? 0 : HF_ENGINE_GONE_ADMITS);
    config.separate_notices = explore_case->bare;
    config.timeout_ms = config.least_timeout_ms = LEASE_MS;
    cluster_init(cluster, &config);
    cluster->no_faults = explore_case->fault == CASE_FAULT_CANCEL;
    cluster->client_count = (unsigned)strlen(explore_case->contenders);
    if (explore_case_kind(explore_case, 0) == HF_TICKET_LEASE)
        cluster_semaphore(cluster, "one", PERMITS);
    else
        cluster_lock(cluster, "one", explore_case->contenders[0] != 'm');
    for (unsigned i = 0; i < cluster->client_count; i++)
        connect(cluster, &cluster->clients[i]);
    if (explore_case->fault == CASE_FAULT_OTHER_CLIENT)
        explore_case_other_client(cluster, 0);
}

/* Its two tickets have fixed ids, so that a state does not depend on them. */
unsigned explore_case_other_client(struct cluster *cluster, unsigned steps)
{
    static const struct hf_ticket_id writer = {"another writer"};
    static const struct hf_ticket_id reader = {"another reader"};
    const char *queue = cluster->locks[0].name;

    switch (steps) {
    case 0:
        cluster_add_ticket_record(cluster, &writer, NULL, NULL);
        cluster_add_ticket_record(cluster, &reader, NULL, NULL);
        hf_sim_other_client_enqueue(cluster->sim, queue, HF_TICKET_WRITE,
                                    &writer, NULL);
        break;
    case 1:
        hf_sim_other_client_enqueue(cluster->sim, queue, HF_TICKET_READ,
                                    &reader, &writer);
        break;
    case 2:
        hf_sim_evict(cluster->sim, queue, &writer);
        break;
    default:
        hf_sim_evict(cluster->sim, queue, &reader);
    }
    cluster_trace(cluster, "other", "step %u of %u", steps + 1,
                  OTHER_CLIENT_STEPS);
    return steps + 1;
}

/* Deliver a message, release a late grant, or let time pass. */
static void continue_run(struct cluster *cluster)
{
    for (unsigned i = 0; i < cluster->client_count; i++) {
        struct client *client = &cluster->clients[i];
        struct attempt *attempt = client->attempts;

        if (deliver(client))
            return;
        if (client->alive && attempt->granted && !attempt->release_called) {
            cluster_release(attempt);
            return;
        }
    }
    hf_sim_run_next(cluster->sim);
}

void explore_case_finish(struct cluster *cluster)
{
    uint64_t until_us =
        hf_sim_now_us(cluster->sim) + LEASE_MS * 1000 * LEASES_TO_END;

    while (cluster->broken == 0 && !check_quiet(cluster) &&
           hf_sim_now_us(cluster->sim) < until_us)
        continue_run(cluster);
    check_end(cluster);
}
