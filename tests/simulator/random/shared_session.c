/* SPDX-License-Identifier: Apache-2.0 */
/* See shared_session.h.  A process of zookeeper_private.h is a client of locks
 * from its opening to its end. */
#include "simulator/random/shared_session.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "simulator/random/fault_injector.h"
#include "simulator/random/zookeeper_private.h"

#define INVARIANT_BASE 20

/* Of the current run. */
static struct zookeeper_result result;

/* The sentence names the check, as a format does in cluster_broken(). */
static void on_broken(int invariant, const char *check, const char *detail)
{
    struct cluster *cluster = plan.cluster;

    if (cluster->broken != 0)
        return;
    cluster_broken(cluster, INVARIANT_BASE + invariant, "%s: %s", check,
                   detail);
    cluster->check = check;
}

/* Users of handles do about as much as those of locks. */
void shared_sessions_begin(void)
{
    struct cluster *cluster = plan.cluster;

    result = (struct zookeeper_result){0};
    memset(&zookeeper, 0, sizeof zookeeper);
    zookeeper.sim = cluster->sim;
    zookeeper.random = &cluster->random;
    zookeeper.user_decision = DECISION_HANDLE;
    zookeeper.step_every_us = plan.want_every_us / 2;
    zookeeper.with_locks = true;
    zookeeper.two_handles = cluster->config.seed % 3 == 0;
    zookeeper.broken = on_broken;
    zookeeper.timeout_ms = cluster->config.timeout_ms;
    zookeeper.path_count = 1 + (unsigned)below(ZOOKEEPER_PATHS_MAX);
    zookeeper.end = &result;
    zookeeper.line = cluster->line;
    cluster->node_changed = zookeeper_observer().node_changed;
    zookeeper.count = cluster->client_count < ZOOKEEPER_CLIENTS_MAX
                          ? cluster->client_count
                          : ZOOKEEPER_CLIENTS_MAX;
    for (unsigned i = 0; i < zookeeper.count; i++)
        zookeeper_user_start(i);
}

static unsigned number_of(const struct client *client)
{
    return (unsigned)(client - plan.cluster->clients);
}

/* The process of ${client}; NULL: it has no handle. */
static struct zookeeper_process *process_of(const struct client *client)
{
    unsigned number = number_of(client);

    return number < zookeeper.count ? zookeeper.clients[number] : NULL;
}

/* Three clients of four have a handle. */
void shared_session_open(struct client *client)
{
    struct zookeeper_process *process;
    unsigned number = number_of(client);

    if (number >= zookeeper.count)
        return;
    zookeeper.clients[number] = NULL;
    if (one_in(4))
        return;
    process = zookeeper_alloc(sizeof *process);
    process->number = ++zookeeper.process_count;
    process->client = number;
    process->next = zookeeper.processes;
    process->engine = client->engine;
    zookeeper_take_handle(process, zk_handle_share(client->engine));
    zookeeper.processes = process;
    zookeeper.clients[number] = process;
    zookeeper_trace(process, "has a handle");
}

void shared_session_close(const struct client *client)
{
    struct zookeeper_process *process = process_of(client);

    if (process == NULL)
        return;
    process->closing = true;
    zk_handle_stop(process->handles[0]);
}

void shared_session_crash(const struct client *client)
{
    struct zookeeper_process *process = process_of(client);

    if (process != NULL)
        process->gone = true;
}

void shared_sessions_end_faults(void)
{
    zookeeper.faults_over = true;
}

void shared_sessions_stop(void)
{
    zookeeper.stopping = true;
}

bool shared_sessions_busy(void)
{
    return zookeeper_is_busy();
}

void shared_sessions_check_end(void)
{
    zookeeper_check_processes();
}

/* What happens while the cluster is freed is not checked. */
void shared_sessions_end(void)
{
    for (struct zookeeper_process *p = zookeeper.processes; p != NULL;
         p = p->next)
        p->gone = true;
    plan.cluster->node_changed = NULL;
    plan.cluster->operations_of_handles = result.operations;
    plan.cluster->events_of_handles = result.events;
    free(zookeeper.history);
    zookeeper.history = NULL;
    zookeeper.change_count = zookeeper.change_room = 0;
}
