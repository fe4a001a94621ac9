/* SPDX-License-Identifier: Apache-2.0 */
#include "chaos.h"

#include "core/instant.h"
#include "gate.h"
#include "question.h"

struct plan plan;

uint64_t below(uint64_t bound)
{
    return hf_random_below(&plan.world->random, bound);
}

bool one_in(uint64_t n)
{
    return below(n) == 0;
}

uint64_t now_us(void)
{
    return hf_sim_now_us(plan.world->sim);
}

void later(uint64_t us, void (*fn)(void *arg), void *arg)
{
    hf_sim_call_at(plan.world->sim, now_us() + us, false, fn, arg);
}

static struct client *any_client(void)
{
    return &plan.world->clients[below(plan.world->client_count)];
}

/* ----------------------------------------------------------------- users -- */

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

static void on_granted(struct attempt *attempt)
{
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
#define CROWD_MAX (2 * HF_COHORT_HANDOFFS)

static void use(void *arg)
{
    struct client *client = arg;

    if (plan.over)
        return;
    if (world_can_call(client) && !client->closing &&
        busy(client) < (plan.crowded ? CROWD_MAX : 4))
        want_one(client);
    if (plan.bundles && world_can_call(client) && !client->closing && one_in(8))
        resize(client);
    later(1 + below(2 * plan.want_every_us), use, client);
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
static void meddle(void *arg)
{
    struct client *client = any_client();
    struct attempt *target = any_attempt();
    uint64_t wait_ms = one_in(3) ? below(2000) : HF_FOREVER;

    (void)arg;
    if (plan.over)
        return;
    if (world_can_call(client) && !client->closing) {
        if (target == NULL || one_in(3))
            question_list(client,
                          &plan.world->places[below(plan.world->place_count)],
                          wait_ms);
        else if (plan.faults >> FAULT_EVICT & 1 && one_in(3))
            question_evict(client, target, wait_ms);
        else
            question_revoke(client, target, wait_ms);
    }
    later(1 + below(4 * plan.want_every_us), meddle, NULL);
}

/* -------------------------------------------------------------- barriers -- */

static void recall(void *arg)
{
    question_recall(arg);
}

/* Somebody raises a barrier, lowers it, or waits there; rather more often the
 * last. */
static void use_gate(void *arg)
{
    struct gate *gate = arg;
    struct client *client = any_client();
    uint64_t wait_ms = one_in(3) ? below(3000) : HF_FOREVER;
    struct question *question;

    if (plan.over)
        return;
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
    later(1 + below(2 * plan.want_every_us), use_gate, gate);
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

void chaos_gate(struct gate *gate)
{
    later(below(4 * plan.want_every_us), use_gate, gate);
}

/* --------------------------------------------------------------- foreign -- */

/* Another program that writes, then reads from the same place, as Curator's
 * read-write lock lets a writer do. */
static void foreign(void *arg)
{
    struct place *place = arg;
    struct world *world = plan.world;
    struct hf_ticket_id next = hf_random_ticket_id(&world->random);
    struct hf_snapshot queue = hf_sim_queue(world->sim, place->name);

    if (!plan.foreign_there) {
        if (plan.over)
            return;
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
    later((10 + below(plan.foreign_there ? 40 : 400)) * MS_US, foreign, place);
}

/* ---------------------------------------------------------------- faults -- */

static uint64_t fault_us(void)
{
    uint64_t lease_us = 1000 * plan.scale_ms;

    /* Some are over before anybody notices, some outlast a session. */
    return one_in(3) ? below(2 * lease_us) : below(lease_us / 2);
}

/* What a plain proof assumes, see proof.h: that a question of the leader's that
 * was held up is not followed by an answer that is, though in between a write
 * and its answer got through.  So one link at a time is cut where proofs are
 * plain, and the next when the answers to what was held up have arrived. */
static bool may_cut(void)
{
    const struct hf_sim_ensemble *ensemble = &plan.world->config.ensemble;

    return ensemble->servers == 0 || ensemble->strict_proof ||
           (plan.cuts == 0 &&
            now_us() >= plan.cut_end_us + 8 * (uint64_t)ensemble->lag_most_us);
}

static void cut_ends(void)
{
    plan.cuts--;
    plan.cut_end_us = now_us();
}

static void mend_link(void *arg)
{
    struct client *client = arg;

    if (client->alive && !(client->closed && world_idle(client)))
        hf_sim_set_link(client->engine, true, true);
}

static void end_stall(void *arg)
{
    struct client *client = arg;

    cut_ends();
    if (client->alive)
        hf_sim_set_stalled(client->engine, true, true);
}

static void thaw(void *arg)
{
    struct client *client = arg;

    if (client->alive && hf_sim_frozen(client->engine) && !client->paused)
        world_freeze(client, false);
}

static void unpause(void *arg)
{
    struct client *client = arg;

    if (client->alive && client->paused)
        world_pause(client, false);
}

static void open_again(void *arg)
{
    struct client *client = arg;
    int32_t ppm = (int32_t)below(9001) - 4500;

    if (!client->alive)
        world_open(client, 1000 + below(1000000), plan.world->calm ? 0 : ppm);
}

/* Give back the memory of a closed client, once all its grants are. */
static void discard(void *arg)
{
    struct client *client = arg;

    if (!client->alive)
        return;
    if (!client->closed || !world_idle(client)) {
        later(20 * MS_US, discard, client);
        return;
    }
    world_discard(client);
    if (!plan.over)
        later(below(500) * MS_US, open_again, client);
}

static void evict_one(struct client *client)
{
    for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (!a->forgotten && a->enqueued && one_in(2)) {
            world_line(plan.world, client->name, "%s evicted", a->name);
            world_evict(a);
            return;
        }
    }
}

static void link_fault(struct client *client, bool out, bool in)
{
    world_line(plan.world, client->name, "link cut%s%s", out ? "" : " out",
               in ? "" : " in");
    client->disturbed_us = now_us();
    hf_sim_set_link(client->engine, out, in);
    later(fault_us(), mend_link, client);
}

/* ------------------------------------------------------------- ensembles -- */

static void thaw_server(void *arg)
{
    hf_sim_server_thaw(plan.world->sim, (int)(uintptr_t)arg);
}

static void mend_server(void *arg)
{
    cut_ends();
    hf_sim_server_link(plan.world->sim, (int)(uintptr_t)arg, true, true);
}

static void start_server(void *arg)
{
    hf_sim_server_start(plan.world->sim, (int)(uintptr_t)arg);
}

static void freeze_server(int server, uint64_t us)
{
    bool machine = one_in(2);

    if (server < 0 || us == 0)
        return;
    world_line(plan.world, "-", "s%d %s", server + 1,
               machine ? "pauses" : "freezes");
    hf_sim_server_freeze(plan.world->sim, server, machine);
    later(us, thaw_server, (void *)(uintptr_t)server);
}

static void depose(int leader)
{
    bool out = one_in(3), in = !out && one_in(2);

    if (leader < 0 || !may_cut())
        return;
    plan.cuts++;
    world_line(plan.world, "-", "s%d is cut off%s", leader + 1,
               out  ? " from what others send"
               : in ? " from telling others"
                    : "");
    hf_sim_server_link(plan.world->sim, leader, out, in);
    later(below(one_in(2) ? 20 : 5) * 1000 *
              plan.world->config.ensemble.tick_ms,
          mend_server, (void *)(uintptr_t)leader);
}

static void restart_server(int server)
{
    world_line(plan.world, "-", "s%d is killed", server + 1);
    hf_sim_server_stop(plan.world->sim, server);
    later(fault_us(), start_server, (void *)(uintptr_t)server);
}

/* As one asks for a revocation: watches of the ticket fire. */
static void rewrite_one(const struct client *client)
{
    for (struct attempt *a = client->attempts; a != NULL; a = a->next) {
        if (a->forgotten || !a->enqueued || one_in(2))
            continue;
        world_line(plan.world, client->name, "%s is written to", a->name);
        hf_sim_foreign_write(plan.world->sim, &a->id);
        return;
    }
}

static void server_fault(enum fault fault)
{
    struct hf_sim *sim = plan.world->sim;
    int any = (int)below(hf_sim_servers(sim));

    switch (fault) {
    case FAULT_LEADER_FREEZE:
        freeze_server(hf_sim_leader(sim), below(plan.leader_freeze_most_us));
        break;
    case FAULT_SERVER_FREEZE:
        if (any != hf_sim_leader(sim))
            freeze_server(any, fault_us());
        break;
    case FAULT_DEPOSE:
        depose(hf_sim_leader(sim));
        break;
    case FAULT_REWRITE:
        rewrite_one(any_client());
        break;
    default:
        restart_server(any);
    }
}

/* What was held up arrives, the leader's questions and then its commits, and
 * what the follower says to the questions is held up in turn: more than any but
 * a strict proof is made for, see proof.h. */
static void turn_stall(void *arg)
{
    struct client *client = arg;

    later(fault_us(), end_stall, client);
    if (!client->alive)
        return;
    world_line(plan.world, client->name, "follower cut off the other way");
    hf_sim_set_stalled(client->engine, true, true);
    hf_sim_set_stalled(client->engine, false, true);
}

/* The follower of ${client} hears nothing of its leader, or the leader nothing
 * of it. */
static void stall(struct client *client)
{
    bool out = one_in(3), in = !out && one_in(2);
    bool turns;

    if (!may_cut())
        return;
    if (hf_sim_servers(plan.world->sim) == 0)
        out = in = false;
    turns = out && plan.world->config.ensemble.strict_proof && one_in(2);
    world_line(plan.world, client->name, "follower cut off%s",
               out  ? " from what its leader sends"
               : in ? " from telling its leader"
                    : "");
    client->disturbed_us = now_us();
    hf_sim_set_stalled(client->engine, out, in);
    plan.cuts++;
    later(fault_us(), turns ? turn_stall : end_stall, client);
}

static void one_fault(enum fault fault, struct client *client)
{
    struct world *world = plan.world;

    if (!client->alive || hf_sim_frozen(client->engine))
        return;
    switch (fault) {
    case FAULT_BREAK:
        world_line(world, client->name, "link breaks");
        hf_sim_break(client->engine);
        break;
    case FAULT_CUT:
        link_fault(client, false, false);
        break;
    case FAULT_DEAF:
        link_fault(client, true, false);
        break;
    case FAULT_MUTE:
        link_fault(client, false, true);
        break;
    case FAULT_STALL:
        stall(client);
        break;
    case FAULT_FREEZE:
        world_freeze(client, true);
        later(fault_us(), thaw, client);
        break;
    case FAULT_PAUSE:
        world_pause(client, true);
        later(fault_us(), unpause, client);
        break;
    case FAULT_KILL:
        world_kill_session(client);
        break;
    case FAULT_EVICT:
        evict_one(client);
        break;
    case FAULT_RESTART:
        world_line(world, "-", "servers restart");
        hf_sim_restart(world->sim);
        break;
    case FAULT_CRASH:
        world_crash(client);
        later(below(1000) * MS_US, open_again, client);
        break;
    case FAULT_CLOSE:
        if (client->closing)
            break;
        world_close(client);
        discard(client);
        break;
    default:
        break;
    }
}

static void chaos(void *arg)
{
    enum fault fault = (enum fault)below(plan.fault_count);
    /* Processes come and go more rarely than links. */
    bool rare = fault == FAULT_CRASH || fault == FAULT_CLOSE ||
                fault == FAULT_RESTART || fault == FAULT_KILL ||
                fault == FAULT_SERVER_RESTART;

    (void)arg;
    if (plan.over)
        return;
    if (plan.faults >> fault & 1 && (!rare || one_in(4))) {
        if (fault >= FAULT_COUNT)
            server_fault(fault);
        else
            one_fault(fault, any_client());
    }
    later(1 + below(2 * plan.fault_every_us), chaos, NULL);
}

void chaos_end(void)
{
    struct world *world = plan.world;

    world_line(world, "-", "all faults are over");
    plan.over = true;
    hf_sim_calm(world->sim);
    for (unsigned i = 0; i < world->client_count; i++) {
        struct client *client = &world->clients[i];

        if (!client->alive)
            continue;
        client->disturbed_us = now_us();
        thaw(client);
        unpause(client);
        hf_sim_set_link(client->engine, true, true);
    }
    if (plan.foreign_there) {
        hf_sim_evict(world->sim, world->places[0].name, &plan.foreign);
        plan.foreign_there = false;
    }
    for (unsigned i = 0; i < world->gate_count; i++)
        lower_for_good(&world->gates[i]);
}

void chaos_foreign(struct place *place)
{
    later(0, foreign, place);
}

void chaos_begin(void)
{
    struct world *world = plan.world;

    world->on_granted = on_granted;
    world->on_lost = on_lost;
    later(below(4 * plan.want_every_us), meddle, NULL);
    for (unsigned i = 0; i < world->client_count; i++) {
        open_again(&world->clients[i]);
        later(below(2 * plan.want_every_us), use, &world->clients[i]);
    }
    later(plan.fault_every_us, chaos, NULL);
}
