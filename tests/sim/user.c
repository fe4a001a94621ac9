/* SPDX-License-Identifier: Apache-2.0 */
/* What the users of a random world do. */
#include "user.h"

#include "chaos.h"
#include "gate.h"
#include "question.h"
#include "turn.h"

/* ---------------------------------------------------------------- locks -- */

static void release(void *arg)
{
    struct attempt *attempt = arg;

    if (attempt->forgotten || attempt->release_called ||
        !attempt->client->alive)
        return;
    if (!world_can_call(attempt->client)) {
        later(10 * MS_US, release, attempt);
        return;
    }
    world_release(attempt);
}

static void downgrade(void *arg)
{
    struct attempt *attempt = arg;

    if (!attempt->forgotten && !attempt->release_called && !attempt->lost &&
        world_can_call(attempt->client) && !attempt->client->closing)
        world_downgrade(attempt);
}

/* Those who hold in a lazy session ask once in a while. */
static void check(void *arg)
{
    struct attempt *attempt = arg;

    if (attempt->forgotten || attempt->release_called || attempt->lost ||
        attempt->client->closing)
        return;
    if (world_can_call(attempt->client))
        world_check(attempt);
    later(1 + below(attempt->hold_us + 1), check, attempt);
}

static void on_granted(struct attempt *attempt)
{
    if (plan.world->config.ensemble.lazy_proof && one_in(2))
        later(below(attempt->hold_us + 1), check, attempt);
    if (attempt->a.kind == HF_TICKET_WRITE && one_in(2))
        later(below(attempt->hold_us + 1), downgrade, attempt);
    later(attempt->hold_us, release, attempt);
}

static void on_lost(struct attempt *attempt)
{
    if (attempt->release_on_loss)
        later(below(5) * MS_US, release, attempt);
}

static void cancel(void *arg)
{
    struct attempt *attempt = arg;

    if (!attempt->forgotten)
        world_cancel(attempt);
}

static enum hf_ticket_kind any_kind(const struct place *place)
{
    if (plan.world->shared_kinds && one_in(20))
        return HF_TICKET_MUTEX;
    if (!place->read_write)
        return place->election ? HF_TICKET_ELECTION : HF_TICKET_MUTEX;
    return one_in(2) ? HF_TICKET_READ : HF_TICKET_WRITE;
}

#define WISHES_MAX 3

/* The next of them is wanted too, or is it? */
static unsigned add_wish(struct wish *wishes, unsigned count,
                         struct place *place)
{
    if (place->limit > 0) /* it is wanted at its first queue */
        return count;
    wishes[count] = (struct wish){.place = place, .weight = 1};
    if (place->leases != NULL) {
        wishes[count].kind = HF_TICKET_LEASE;
        wishes[count].weight = 1 + (uint32_t)below(place->leases->limit);
    } else {
        wishes[count].kind = any_kind(place);
    }
    return count + 1;
}

/* Places in the order in which the world has them, which is everybody's. */
static unsigned choose_wishes(struct wish wishes[WISHES_MAX])
{
    unsigned places = plan.world->place_count;
    bool many = plan.bundles && one_in(4);
    unsigned count = 0;

    do {
        unsigned first = (unsigned)below(places);

        for (unsigned i = first; i < places && count < WISHES_MAX; i++) {
            if (i == first || (many && one_in(2)))
                count = add_wish(wishes, count, &plan.world->places[i]);
        }
    } while (count == 0);
    return count;
}

static void want_one(struct client *client)
{
    struct wish wishes[WISHES_MAX];
    unsigned count = choose_wishes(wishes);
    bool only_try = one_in(6);
    uint64_t wait_ms = one_in(3) ? below(3000) : HF_FOREVER;
    uint64_t report_ms = one_in(8) ? 20 + below(200) : 0;
    uint64_t hold_us = below(4) == 0 ? below(20) : below(plan.hold_most_us);
    bool cancels = one_in(6);
    uint64_t cancel_us = below(one_in(2) ? 10 : 500) * MS_US;
    bool release_on_loss = one_in(2);
    struct attempt *attempt;

    wishes[0].shares = plan.cohorts && count == 1 &&
                       wishes[0].kind == HF_TICKET_MUTEX && !one_in(4);
    if (wishes[0].shares && plan.crowded)
        hold_us = below(MS_US);
    /* The grant may come in the call, so the plan for it comes first. */
    attempt = world_want_all(client, wishes, count, only_try, wait_ms,
                             report_ms, hold_us, release_on_loss);
    if (cancels)
        later(cancel_us, cancel, attempt);
}

/* One who waits for a semaphore hears of another size. */
static void resize(struct client *client)
{
    for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
        uint32_t limit = HF_WEIGHT_MAX;

        for (unsigned i = 0; i < a->claim_count; i++) {
            if (a->claims[i].place->limit > 0)
                limit = a->claims[i].place->limit;
        }
        if (a->forgotten || limit == HF_WEIGHT_MAX || a->limited)
            continue;
        a->limited = true;
        world_limit(a, limit + (uint32_t)below(2));
        return;
    }
}

static unsigned busy(const struct client *client)
{
    unsigned count = 0;

    for (struct attempt *a = client->attempts; a != NULL; a = a->next)
        count += !a->forgotten;
    return count;
}

/* More than a ticket is handed on to. */
#define CROWD_MAX (2 * HF_MUTEX_HANDOFFS)

static void use_once(struct client *client)
{
    if (world_can_call(client) && !client->closing &&
        busy(client) < (plan.crowded ? CROWD_MAX : 4))
        want_one(client);
    if (plan.bundles && world_can_call(client) && !client->closing && one_in(8))
        resize(client);
}

static void use(void *arg)
{
    struct client *client = arg;
    unsigned i = (unsigned)(client - plan.world->clients);

    if (plan.over)
        return;
    if (turn_taken(TURN_USER, i))
        use_once(client);
    later(turn_in_us(TURN_USER, i, 1 + below(2 * plan.want_every_us)), use,
          client);
}

/* Any ticket, also one that is long gone, of any process. */
static struct attempt *any_attempt(void)
{
    struct attempt *found = NULL;
    uint64_t count = 0;

    for (struct attempt *a = any_client()->attempts; a != NULL && count < 8;
         a = a->next) {
        if (a->enqueued && one_in(++count))
            found = a;
    }
    return found;
}

/* Somebody looks at a queue or meddles with those in it. */
static void meddle_once(void)
{
    struct client *client = any_client();
    struct attempt *target = any_attempt();
    uint64_t wait_ms = one_in(3) ? below(2000) : HF_FOREVER;

    if (!world_can_call(client) || client->closing)
        return;
    if (target == NULL || one_in(3))
        question_list(client,
                      &plan.world->places[below(plan.world->place_count)],
                      wait_ms);
    else if (plan.faults >> FAULT_EVICT & 1 && one_in(3))
        question_evict(client, target, wait_ms);
    else
        question_revoke(client, target, wait_ms);
}

static void meddle(void *arg)
{
    (void)arg;
    if (plan.over)
        return;
    if (turn_taken(TURN_MEDDLER, 0))
        meddle_once();
    later(turn_in_us(TURN_MEDDLER, 0, 1 + below(4 * plan.want_every_us)),
          meddle, NULL);
}

/* -------------------------------------------------------------- barriers -- */

static void recall(void *arg)
{
    question_recall(arg);
}

/* Somebody raises a barrier, lowers it, or waits there; rather more often the
 * last. */
static void use_gate_once(struct gate *gate)
{
    struct client *client = any_client();
    uint64_t wait_ms = one_in(3) ? below(3000) : HF_FOREVER;
    struct question *question;

    if (one_in(6)) {
        hf_sim_foreign_touch(plan.world->sim, gate->name);
    } else if (one_in(6)) {
        hf_sim_foreign_mark(plan.world->sim, gate->name, one_in(2));
    } else if (world_can_call(client) && !client->closing) {
        if (one_in(2)) {
            question_mark(client, gate, one_in(2), wait_ms);
        } else {
            question = question_wait(client, gate, one_in(6) ? 0 : wait_ms);
            if (one_in(4))
                later(below(500) * MS_US, recall, question);
        }
    }
}

static void use_gate(void *arg)
{
    struct gate *gate = arg;
    unsigned i = (unsigned)(gate - plan.world->gates);

    if (plan.over)
        return;
    if (turn_taken(TURN_GATE, i))
        use_gate_once(gate);
    later(turn_in_us(TURN_GATE, i, 1 + below(2 * plan.want_every_us)), use_gate,
          gate);
}

/* At the end it is down for good, whoever has yet to raise it. */
static void lower_for_good(void *arg)
{
    struct gate *gate = arg;

    if (gate->up)
        hf_sim_foreign_mark(plan.world->sim, gate->name, false);
    hf_sim_call_at(plan.world->sim, now_us() + 100 * MS_US, true,
                   lower_for_good, gate);
}

void users_gate(struct gate *gate)
{
    later(below(4 * plan.want_every_us), use_gate, gate);
}

/* --------------------------------------------------------------- foreign -- */

/* Another program that writes, then reads from the same place, as Curator's
 * read-write lock lets a writer do. */
static void foreign_once(struct place *place)
{
    struct world *world = plan.world;
    struct hf_ticket_id next = hf_ticket_id_random(&world->random);
    struct hf_snapshot queue = hf_sim_queue(world->sim, place->name);

    if (!plan.foreign_there) {
        world_remember(world, &next, NULL, NULL);
        plan.foreign_there = hf_sim_foreign_enqueue(
            world->sim, place->name, HF_TICKET_WRITE, &next, NULL);
        plan.foreign = next;
        plan.foreign_reads = false;
        world_line(world, "other", "wants to write %s", place->name);
    } else if (!plan.foreign_reads &&
               hf_snapshot_find(&queue, &plan.foreign) == 0 && one_in(4)) {
        world_remember(world, &next, NULL, NULL);
        hf_sim_foreign_enqueue(world->sim, place->name, HF_TICKET_READ, &next,
                               &plan.foreign);
        hf_sim_evict(world->sim, place->name, &plan.foreign);
        plan.foreign = next;
        plan.foreign_reads = true;
        world_line(world, "other", "reads %s now", place->name);
    } else if (plan.foreign_reads && one_in(4)) {
        hf_sim_evict(world->sim, place->name, &plan.foreign);
        plan.foreign_there = false;
        world_line(world, "other", "leaves %s", place->name);
    }
}

static void foreign(void *arg)
{
    struct place *place = arg;

    if (plan.over && !plan.foreign_there)
        return;
    if (turn_taken(TURN_FOREIGN, 0))
        foreign_once(place);
    later(turn_in_us(TURN_FOREIGN, 0,
                     (10 + below(plan.foreign_there ? 40 : 400)) * MS_US),
          foreign, place);
}

void users_foreign(struct place *place)
{
    later(0, foreign, place);
}

/* ---------------------------------------------------------------- whole -- */

void users_begin(void)
{
    plan.world->on_granted = on_granted;
    plan.world->on_lost = on_lost;
    later(below(4 * plan.want_every_us), meddle, NULL);
}

void user_begin(struct client *client)
{
    later(below(2 * plan.want_every_us), use, client);
}

void users_end(void)
{
    struct world *world = plan.world;

    if (plan.foreign_there) {
        hf_sim_evict(world->sim, world->places[0].name, &plan.foreign);
        plan.foreign_there = false;
    }
    for (unsigned i = 0; i < world->gate_count; i++)
        lower_for_good(&world->gates[i]);
}
