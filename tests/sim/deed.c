/* SPDX-License-Identifier: Apache-2.0 */
/* What servers do in a story, and programs of another make. */
#include <stdlib.h>
#include <string.h>

#include "engines/sim/ensemble.h"
#include "gate.h"
#include "story.h"

static void server_cut(struct story *story, int server, const char *way)
{
    world_line(story->world, "-", "s%d cut off%s%s", server + 1,
               way == NULL ? "" : " ", way == NULL ? "" : way);
    hf_sim_server_link(story->world->sim, server,
                       way != NULL && strcmp(way, "in") == 0,
                       way != NULL && strcmp(way, "out") == 0);
}

void deed_of_server(struct story *story, int server, char **words)
{
    struct hf_sim *sim = story->world->sim;
    const char *verb = words[0];

    if (server < 0 || (unsigned)server >= hf_sim_servers(sim)) {
        story_complain(story, "no such server", verb);
        return;
    }
    if (strcmp(verb, "cut") == 0) {
        server_cut(story, server, words[1]);
        return;
    }
    world_line(story->world, "-", "s%d %s", server + 1, verb);
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
        hf_sim_server_limit(sim, server, strtoull(words[1], NULL, 10));
    else
        story_complain(story, "no such verb of a server", verb);
}

/* What somebody else does: node and delete PLACE NAME (a number is put behind a
 * name that ends with '-' or '_'), delete PLACE, counter PLACE NUMBER, deny
 * PLACE, allow, restart, wipe; raise, lower and touch GATE. */
bool deed_of_others(struct story *story, char **words)
{
    struct hf_sim *sim = story->world->sim;
    const char *place = words[1], *what = words[2];
    bool both = place != NULL && what != NULL;

    story->world->denied |= strcmp(words[0], "deny") == 0;
    story->world->exhausted |= strcmp(words[0], "counter") == 0;

    if (strcmp(words[0], "restart") == 0)
        hf_sim_restart(sim);
    else if (strcmp(words[0], "wipe") == 0)
        world_wipe(story->world);
    else if (strcmp(words[0], "allow") == 0)
        hf_sim_deny(sim, NULL);
    else if (strcmp(words[0], "deny") == 0 && place != NULL)
        hf_sim_deny(sim, place);
    else if (strcmp(words[0], "node") == 0 && both)
        hf_sim_foreign_node(sim, place, what,
                            strchr("-_", what[strlen(what) - 1]) != NULL);
    else if (strcmp(words[0], "delete") == 0 && place != NULL)
        hf_sim_foreign_delete(sim, place, what == NULL ? "" : what);
    else if (strcmp(words[0], "raise") == 0 && place != NULL)
        hf_sim_foreign_mark(sim, gate_called(story->world, place)->name, true);
    else if (strcmp(words[0], "touch") == 0 && place != NULL)
        hf_sim_foreign_touch(sim, gate_called(story->world, place)->name);
    else if (strcmp(words[0], "lower") == 0 && place != NULL)
        hf_sim_foreign_mark(sim, gate_called(story->world, place)->name, false);
    else if (strcmp(words[0], "counter") == 0 && both)
        hf_sim_set_counter(sim, place, (int32_t)strtol(what, NULL, 10));
    else
        return false;
    world_line(story->world, "other", "%s%s%s%s%s", words[0],
               place == NULL ? "" : " ", place == NULL ? "" : place,
               what == NULL ? "" : " ", what == NULL ? "" : what);
    return true;
}
