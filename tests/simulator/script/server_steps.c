/* SPDX-License-Identifier: Apache-2.0 */
/* Steps of servers in a script, and of programs of another make. */
#include <stdlib.h>
#include <string.h>

#include "simulator/cluster/barrier.h"
#include "simulator/model/etcd_faults.h"
#include "simulator/model/zk_faults.h"
#include "simulator/script/script.h"

static void server_cut(struct script *script, int server, const char *direction)
{
    cluster_trace(script->cluster, "-", "s%d cut off%s%s", server + 1,
                  direction == NULL ? "" : " ",
                  direction == NULL ? "" : direction);
    hf_sim_server_link(script->cluster->sim, server,
                       direction != NULL && strcmp(direction, "in") == 0,
                       direction != NULL && strcmp(direction, "out") == 0);
}

/* cut [in|out], mend, freeze, pause (the machine), thaw, stop, start, limit MS
 * (the longest timeout that it grants). */
void server_step(struct script *script, int server, char **words)
{
    struct hf_sim *sim = script->cluster->sim;
    const char *verb = words[0];

    if (server < 0 || (unsigned)server >= hf_sim_server_count(sim)) {
        script_error(script, "no such server", verb);
        return;
    }
    if (strcmp(verb, "cut") == 0) {
        server_cut(script, server, words[1]);
        return;
    }
    cluster_trace(script->cluster, "-", "s%d %s", server + 1, verb);
    if (strcmp(verb, "mend") == 0)
        hf_sim_server_link(sim, server, true, true);
    else if (strcmp(verb, "freeze") == 0)
        hf_sim_server_freeze(sim, server, false);
    else if (strcmp(verb, "pause") == 0)
        hf_sim_server_freeze(sim, server, true);
    else if (strcmp(verb, "thaw") == 0)
        hf_sim_server_thaw(sim, server);
    else if (strcmp(verb, "stop") == 0)
        hf_sim_server_stop(sim, server);
    else if (strcmp(verb, "start") == 0)
        hf_sim_server_start(sim, server);
    else if (strcmp(verb, "limit") == 0 && words[1] != NULL)
        hf_sim_server_set_max_timeout(sim, server,
                                      strtoull(words[1], NULL, 10));
    else
        script_error(script, "no such step of a server", verb);
}

/* cut [in|out] (and what members ask each other by HTTP, but for raft-cut),
 * mend, freeze, pause (the machine), thaw, stick and unstick (its disk), stop,
 * start. */
void member_step(struct script *script, int member, char **words)
{
    struct hf_sim *sim = script->cluster->sim;
    const char *verb = words[0], *way = words[1] == NULL ? "" : words[1];

    if (member < 0 || (unsigned)member >= hf_sim_etcd_members(sim)) {
        script_error(script, "no such member", verb);
        return;
    }
    cluster_trace(script->cluster, "-", "m%d %s%s%s", member + 1, verb,
                  *way == '\0' ? "" : " ", way);
    if (strcmp(verb, "cut") == 0 || strcmp(verb, "raft-cut") == 0)
        hf_sim_etcd_link(sim, member, strcmp(way, "in") == 0,
                         strcmp(way, "out") == 0, *verb == 'c');
    else if (strcmp(verb, "mend") == 0)
        hf_sim_etcd_link(sim, member, true, true, false);
    else if (strcmp(verb, "freeze") == 0)
        hf_sim_etcd_freeze(sim, member, false);
    else if (strcmp(verb, "pause") == 0)
        hf_sim_etcd_freeze(sim, member, true);
    else if (strcmp(verb, "thaw") == 0)
        hf_sim_etcd_thaw(sim, member);
    else if (strcmp(verb, "stick") == 0 || strcmp(verb, "unstick") == 0)
        hf_sim_etcd_stick_disk(sim, member, *verb == 's');
    else if (strcmp(verb, "stop") == 0)
        hf_sim_etcd_stop(sim, member, false);
    else if (strcmp(verb, "start") == 0)
        hf_sim_etcd_start(sim, member);
    else
        script_error(script, "no such step of a member", verb);
}

/* Steps of others: create and delete LOCK NAME (a name that ends with '-' or
 * '_' gets a number), delete LOCK, counter LOCK NUMBER, deny LOCK, allow,
 * restart, wipe; set, clear and touch BARRIER. */
bool other_client_step(struct script *script, char **words)
{
    struct hf_sim *sim = script->cluster->sim;
    const char *lock = words[1], *what = words[2];
    bool both = lock != NULL && what != NULL;

    script->cluster->denied |= strcmp(words[0], "deny") == 0;
    script->cluster->exhausted |= strcmp(words[0], "counter") == 0;

    if (strcmp(words[0], "restart") == 0)
        hf_sim_restart_servers(sim);
    else if (strcmp(words[0], "wipe") == 0)
        cluster_wipe(script->cluster);
    else if (strcmp(words[0], "allow") == 0)
        hf_sim_deny_creates(sim, NULL);
    else if (strcmp(words[0], "deny") == 0 && lock != NULL)
        hf_sim_deny_creates(sim, lock);
    else if (strcmp(words[0], "create") == 0 && both)
        hf_sim_other_client_create(
            sim, lock, what, strchr("-_", what[strlen(what) - 1]) != NULL);
    else if (strcmp(words[0], "delete") == 0 && lock != NULL)
        hf_sim_other_client_delete(sim, lock, what == NULL ? "" : what);
    else if (strcmp(words[0], "set") == 0 && lock != NULL)
        hf_sim_other_client_set_barrier(
            sim, barrier_named(script->cluster, lock)->name, true);
    else if (strcmp(words[0], "touch") == 0 && lock != NULL)
        hf_sim_other_client_touch_barrier(
            sim, barrier_named(script->cluster, lock)->name);
    else if (strcmp(words[0], "clear") == 0 && lock != NULL)
        hf_sim_other_client_set_barrier(
            sim, barrier_named(script->cluster, lock)->name, false);
    else if (strcmp(words[0], "counter") == 0 && both)
        hf_sim_set_counter(sim, lock, (int32_t)strtol(what, NULL, 10));
    else
        return false;
    cluster_trace(script->cluster, "other", "%s%s%s%s%s", words[0],
                  lock == NULL ? "" : " ", lock == NULL ? "" : lock,
                  what == NULL ? "" : " ", what == NULL ? "" : what);
    return true;
}
