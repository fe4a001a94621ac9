/* SPDX-License-Identifier: Apache-2.0 */
#include "scene.h"

#include <string.h>

#include "engines/sim/arrival.h"

/* Long, so that what is explored is over before a heartbeat is due. */
#define LEASE_MS UINT64_C(60000)
#define ARRIVALS_MAX 8
/* Of the semaphore. */
#define PERMITS 2
/* A ticket that may still appear is looked for that long once more. */
#define LEASES_TO_END 3

/* clang-format off */
const struct scene scenes[] = {
    {"two", "wr", 1, false, MISHAP_CRASH, false,
     "a writer and a reader, one may crash"},
    {"two-cut", "wr", 1, false, MISHAP_CUT, false,
     "a writer and a reader, one connection may break"},
    {"two-cancel", "ww", 2, false, MISHAP_CANCEL, false,
     "2 writers twice each, one may give up"},
    {"permits-all", "Ss", 1, false, MISHAP_CRASH, false,
     "one who wants both of 2 permits and one who wants one, one may crash"},
    {"permits-cancel", "Ss", 1, false, MISHAP_CANCEL, false,
     "one who wants both of 2 permits and one who wants one, one may give up"},
    {"foreign", "wwr", 1, false, MISHAP_FOREIGN, false,
     "2 writers and a reader behind a foreign writer that downgrades"},
    {"mutex", "mmmmm", 1, false, MISHAP_CRASH, false,
     "5 who want a mutex, one may crash"},
    {"mutex-twice", "mmm", 2, false, MISHAP_CRASH, false,
     "3 who want a mutex twice each, one may crash"},
    {"mutex-cut", "mmm", 1, false, MISHAP_CUT, false,
     "3 who want a mutex, one connection may break"},
    {"rw", "wwrr", 1, false, MISHAP_CRASH, false,
     "2 writers and 2 readers, one may crash"},
    {"rw-bare", "wrr", 1, true, MISHAP_CRASH, false,
     "a writer and 2 readers on a bare engine, one may crash"},
    {"rw-cut", "wwr", 1, false, MISHAP_CUT, false,
     "2 writers and a reader, one connection may break"},
    {"rw-cancel", "wwr", 1, false, MISHAP_CANCEL, false,
     "2 writers and a reader, one may give up"},
    {"rw-downgrade", "dwr", 1, false, MISHAP_CRASH, false,
     "2 writers, of whom one may become a reader, and a reader, one may crash"},
    {"rw-kill", "wr", 1, false, MISHAP_KILL, false,
     "a writer and a reader, one session is ended"},
    {"permits-cut", "Ss", 1, false, MISHAP_CUT, false,
     "one who wants both of 2 permits and one who wants one, one connection "
     "may break"},
    {"permits", "ssss", 1, false, MISHAP_CRASH, false,
     "4 who want one of 2 permits, one may crash"},
    {"rw-downgrade-4", "dwrr", 1, false, MISHAP_CRASH, true,
     "2 writers, of whom one may become a reader, and 2 readers, one may "
     "crash"},
    {"rw-bare-4", "wwrr", 1, true, MISHAP_CRASH, true,
     "2 writers and 2 readers on a bare engine, one may crash"},
    {"rw-cut-4", "wwrr", 1, false, MISHAP_CUT, true,
     "2 writers and 2 readers, one connection may break"},
    {"rw-cancel-4", "wwrr", 1, false, MISHAP_CANCEL, true,
     "2 writers and 2 readers, one may give up"},
    {NULL, NULL, 0, false, MISHAP_CRASH, false, NULL},
};
/* clang-format on */

const struct scene *scene_find(const char *name)
{
    for (const struct scene *s = scenes; s->name != NULL; s++) {
        if (strcmp(s->name, name) == 0)
            return s;
    }
    return NULL;
}

enum hf_ticket_kind scene_kind(const struct scene *scene, unsigned i)
{
    switch (scene->contenders[i]) {
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

uint32_t scene_weight(const struct scene *scene, unsigned i)
{
    return scene->contenders[i] == 'S' ? 2 : 1;
}

bool scene_downgrades(const struct scene *scene, unsigned i)
{
    return scene->contenders[i] == 'd';
}

/* Let the first message arrive that can, if there is one. */
static bool arrive(const struct client *client)
{
    struct hf_sim_arrival arrivals[ARRIVALS_MAX];

    if (hf_sim_arrivals(client->engine, arrivals, ARRIVALS_MAX) == 0)
        return false;
    hf_sim_arrive(&arrivals[0]);
    return true;
}

static void connect(struct world *world, struct client *client)
{
    world_open(client, 1000, 0);
    while (!client->ever_connected) {
        if (!arrive(client))
            hf_sim_run_ms(world->sim, 0);
    }
}

void scene_begin(const struct scene *scene, struct world *world)
{
    struct hf_sim_config config = hf_sim_config_calm(1);

    config.by_hand = true;
    config.traits =
        HF_ENGINE_WATCHES_TWO | (scene->bare ? 0 : HF_ENGINE_GONE_ADMITS);
    config.notices_apart = scene->bare;
    config.timeout_ms = config.least_timeout_ms = LEASE_MS;
    world_init(world, &config);
    world->calm = scene->mishap == MISHAP_CANCEL;
    world->client_count = (unsigned)strlen(scene->contenders);
    if (scene_kind(scene, 0) == HF_TICKET_LEASE)
        world_semaphore(world, "one", PERMITS);
    else
        world_place(world, "one", scene->contenders[0] != 'm');
    for (unsigned i = 0; i < world->client_count; i++)
        connect(world, &world->clients[i]);
    if (scene->mishap == MISHAP_FOREIGN)
        scene_foreign(world, 0);
}

unsigned scene_foreign(struct world *world, unsigned deeds)
{
    static const struct hf_ticket_id writer = {"foreign writer"};
    static const struct hf_ticket_id reader = {"foreign reader"};
    const char *queue = world->places[0].name;

    switch (deeds) {
    case 0:
        world_remember(world, &writer, NULL, NULL);
        world_remember(world, &reader, NULL, NULL);
        hf_sim_foreign_enqueue(world->sim, queue, HF_TICKET_WRITE, &writer,
                               NULL);
        break;
    case 1:
        hf_sim_foreign_enqueue(world->sim, queue, HF_TICKET_READ, &reader,
                               &writer);
        break;
    case 2:
        hf_sim_evict(world->sim, queue, &writer);
        break;
    default:
        hf_sim_evict(world->sim, queue, &reader);
    }
    world_line(world, "foreign", "deed %u of %u", deeds + 1, FOREIGN_DEEDS);
    return deeds + 1;
}

/* A message arrives, a grant that came so late is released, or time passes. */
static void go_on(struct world *world)
{
    for (unsigned i = 0; i < world->client_count; i++) {
        struct client *client = &world->clients[i];
        struct attempt *attempt = client->attempts;

        if (arrive(client))
            return;
        if (client->alive && attempt->granted && !attempt->release_called) {
            world_release(attempt);
            return;
        }
    }
    hf_sim_next(world->sim);
}

void scene_end(struct world *world)
{
    uint64_t until_us =
        hf_sim_now_us(world->sim) + LEASE_MS * 1000 * LEASES_TO_END;

    while (world->broken == 0 && !check_quiet(world) &&
           hf_sim_now_us(world->sim) < until_us)
        go_on(world);
    check_end(world);
}
