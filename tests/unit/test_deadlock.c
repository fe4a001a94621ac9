/* SPDX-License-Identifier: Apache-2.0 */
/* Deadlocks in queues (core/deadlock_search.h): queues of a few owners that a
 * test writes, with the search run on them; and thousands of random ones, each
 * compared with a definition that is plain enough to trust, which simulates
 * what its owners release. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/random.h"
#include "cmocka/runner.h"
#include "core/deadlock_search.h"

#define LOCKS 5
#define OWNERS 7
#define NONE OWNERS

/* What a ticket of an owner in a queue is. */
struct place {
    size_t owner;
    enum hf_ticket_kind kind;
    uint32_t weight;
};

/* A lock, or a semaphore of .limit permits; its holders, then those that wait,
 * in order. */
struct model_lock {
    uint32_t limit; /* 0: no semaphore */
    struct place held[OWNERS];
    size_t held_count;
    struct place waits[OWNERS];
    size_t wait_count;
};

/* Owners and locks.  The lock that a test calls "a" is number 0. */
struct model {
    struct model_lock locks[LOCKS];
    bool foreign[OWNERS];
    bool silent[OWNERS]; /* looks for no deadlock */
    size_t lists;        /* how many lists the search has read */
    size_t hidden;       /* an owner that is not there, by the second reading */
    size_t late;         /* one that says what it holds by the second reading */
    size_t inside;       /* one whose locks are those of runs around it */
    bool ends;           /* whose wait has a limit */
    bool equal;          /* all tokens are equal */
    size_t alike;        /* its tickets that hold begin like those of owner 0 */
    size_t mistaken;     /* what owner 0 held has gone, and the ticket by which
                            this one waits there begins like it; 0: none */
    bool terse;          /* does not say how many permits it wants */
    bool one_directory;  /* the list of a lock has the leases of its semaphore,
                            as in kazoo's layout */
    bool shares_name;    /* the semaphore "e" has the name of the lock "a" */
    size_t flooded;      /* lists after this one have too many tickets; 0: no */
    char texts[2 * LOCKS * OWNERS][HF_PAYLOAD_BYTES];
    size_t text_count;
};

/* The id of the ticket of ${owner} in lock ${lock}: it holds, or waits. */
static struct hf_ticket_id id_of(size_t owner, size_t lock, bool holds)
{
    return (struct hf_ticket_id){
        {(uint8_t)(owner + 1), (uint8_t)(lock + 1), holds, 7}};
}

static char name_of(size_t lock)
{
    return (char)('a' + (int)lock);
}

static void hold_as(struct model *m, size_t owner, char lock,
                    enum hf_ticket_kind kind, uint32_t weight)
{
    struct model_lock *l = &m->locks[lock - 'a'];

    l->held[l->held_count++] = (struct place){owner, kind, weight};
}

static void wait_as(struct model *m, size_t owner, char lock,
                    enum hf_ticket_kind kind, uint32_t weight)
{
    struct model_lock *l = &m->locks[lock - 'a'];

    l->waits[l->wait_count++] = (struct place){owner, kind, weight};
}

static void hold(struct model *m, size_t owner, char lock)
{
    hold_as(m, owner, lock, HF_TICKET_MUTEX, 1);
}

static void wait_for(struct model *m, size_t owner, char lock)
{
    wait_as(m, owner, lock, HF_TICKET_MUTEX, 1);
}

/* Does ${owner} hold something of ${lock}? */
static bool holds(const struct model_lock *lock, size_t owner)
{
    for (size_t i = 0; i < lock->held_count; i++) {
        if (lock->held[i].owner == owner)
            return true;
    }
    return false;
}

/* ----------------------------------------------------- as a server shows -- */

/* The text of the ticket of ${place} in ${lock}.  That of a holder still says
 * what its owner held when it waited; here that is all else it holds. */
static const char *text_of(struct model *m, const struct model_lock *lock,
                           const struct place *place, bool waits)
{
    char *text = m->texts[m->text_count++];
    size_t used, count = 0;

    if (m->foreign[place->owner])
        return strcpy(text, "by another program");
    used = (size_t)sprintf(text, "host=h pid=%zu command=c%s", place->owner + 1,
                           m->silent[place->owner] ? "" : " detect");
    if (lock->limit > 0)
        used += (size_t)sprintf(text + used, " limit=%u", lock->limit);
    if (lock->limit > 0 && !m->terse)
        used += (size_t)sprintf(text + used, " permits=%u", place->weight);
    for (size_t i = 0; i < LOCKS; i++) {
        const uint8_t *id;
        struct hf_ticket_id held = id_of(place->owner, i, true);

        if (!holds(&m->locks[i], place->owner) ||
            (!waits && &m->locks[i] == lock) ||
            (place->owner == m->late && m->lists <= 2))
            continue;
        id = held.bytes;
        used += (size_t)sprintf(text + used, "%s%c:%02x%02x%02x%02x",
                                count++ > 0                 ? ","
                                : m->inside != place->owner ? " holds="
                                : m->ends                   ? " ends outer="
                                                            : " outer=",
                                name_of(m->shares_name && i == 4 ? 0 : i),
                                id[0], id[1], id[2], id[3]);
    }
    return text;
}

/* Add the tickets of ${places} to ${tickets}. */
static size_t show(struct model *m, size_t lock, const struct place *places,
                   size_t place_count, bool held, struct hf_ticket *tickets,
                   size_t count)
{
    for (size_t i = 0; i < place_count; i++) {
        if ((places[i].owner == m->hidden && m->lists > 2) ||
            (places[i].owner == 0 && held && m->mistaken != 0))
            continue;
        tickets[count] = (struct hf_ticket){
            .id = id_of(places[i].owner, lock, held),
            .sequence = count + 1,
            .token = m->equal ? 100 : 100 + places[i].owner,
            .kind = m->locks[lock].limit == 0 ? places[i].kind
                    : held                    ? HF_TICKET_LEASE
                                              : HF_TICKET_MUTEX,
            .weight = places[i].weight,
            .payload = text_of(m, &m->locks[lock], &places[i], !held),
            .session = m->foreign[places[i].owner] ? places[i].owner + 1 : 0,
        };
        if (held && places[i].owner == m->alike)
            tickets[count].id.bytes[0] = 1;
        if (!held && m->mistaken != 0 && places[i].owner == m->mistaken)
            tickets[count].id = id_of(0, lock, true);
        count++;
    }
    return count;
}

/* The queue called ${name}. */
static size_t list(struct model *m, const char *name, struct hf_ticket *tickets)
{
    size_t lock =
        m->shares_name && name[1] != '\0' ? 4 : (size_t)(name[0] - 'a');
    const struct model_lock *l = &m->locks[lock];
    size_t count = 0;
    bool whole = name[1] == '\0' && l->limit == 0;

    m->text_count = 0;
    m->lists++;
    if (whole || (name[1] == '\0' && m->one_directory) ||
        (l->limit > 0 && strcmp(name + 1, HF_QUEUE_LEASES) == 0))
        count = show(m, lock, l->held, l->held_count, true, tickets, count);
    if (whole || (l->limit > 0 && strcmp(name + 1, HF_QUEUE_LOCKS) == 0))
        count = show(m, lock, l->waits, l->wait_count, false, tickets, count);
    return count;
}

/* Read to the end of ${search}. */
static void read_lists(struct model *m, struct hf_deadlock_search *search)
{
    char queue[HF_DEADLOCK_QUEUE_NAME_BYTES];
    struct hf_text_range texts;
    struct hf_ticket tickets[2 * OWNERS];
    struct hf_snapshot snapshot = {.tickets = tickets};

    m->lists = 0;
    while (hf_deadlock_search_next(search, queue, &texts)) {
        /* It decides when the subject is reached, and not at each list. */
        assert_false(search->readings[search->current].closed);
        snapshot.count = m->flooded == 0 || m->lists < m->flooded
                             ? list(m, queue, tickets)
                             : HF_DEADLOCK_TICKETS_MAX + 1;
        hf_deadlock_search_listed(search, &snapshot);
    }
}

/* The text of the ticket by which ${owner} waits for ${lock}. */
static void write_text(struct model *m, size_t owner, size_t lock, char *text)
{
    const struct model_lock *l = &m->locks[lock];

    m->text_count = 0;
    for (size_t i = 0; i < l->wait_count; i++) {
        if (l->waits[i].owner == owner)
            strcpy(text, text_of(m, l, &l->waits[i], true));
    }
}

/* As what ${owner} waits for ${lock}. */
static enum hf_ticket_kind kind_of(const struct model *m, size_t owner,
                                   size_t lock)
{
    const struct model_lock *l = &m->locks[lock];

    for (size_t i = 0; i < l->wait_count; i++) {
        if (l->waits[i].owner == owner)
            return l->limit > 0 ? HF_TICKET_LEASE : l->waits[i].kind;
    }
    return HF_TICKET_MUTEX;
}

/* The search of ${owner}, which waits for ${lock} and whose ticket has the text
 * ${text}. */
static void search_with(struct model *m, size_t owner, size_t lock,
                        const char *text, struct hf_deadlock_search *search)
{
    struct hf_ticket_id id = id_of(owner, lock, false);
    const char name[] = {name_of(lock), '\0'};

    memset(search, 0, sizeof *search);
    assert_int_equal(hf_deadlock_search_begin(
                         search, name, kind_of(m, owner, lock), &id, text),
                     HF_OK);
    read_lists(m, search);
}

/* The same with the text that it has. */
static void search_for(struct model *m, size_t owner, size_t lock,
                       struct hf_deadlock_search *search)
{
    char text[HF_PAYLOAD_BYTES] = "";

    write_text(m, owner, lock, text);
    search_with(m, owner, lock, text, search);
}

/* The length of the cycle that ${owner}, which waits for ${lock}, finds, and
 * the owner that is to fail. */
static size_t cycle_of(struct model *m, size_t owner, char lock, size_t *victim)
{
    const struct hf_deadlock_ticket *chosen;
    struct hf_deadlock_search search;
    size_t count;

    search_for(m, owner, (size_t)(lock - 'a'), &search);
    count = search.cycle.count;
    chosen = hf_deadlock_victim(&search.cycle);
    *victim = chosen != NULL ? chosen->id.bytes[0] - (size_t)1 : NONE;
    hf_deadlock_search_free(&search);
    return count;
}

/* The same length, if it looks at all locks and does not end with the first
 * cycle that it sees. */
static size_t cycle_in_all(struct model *m, size_t owner, size_t lock)
{
    struct hf_deadlock_reading *reading = calloc(1, sizeof *reading);
    struct hf_ticket_id id = id_of(owner, lock, false);
    struct hf_ticket tickets[2 * OWNERS];
    struct hf_snapshot snapshot = {.tickets = tickets};
    char queue[HF_DEADLOCK_QUEUE_NAME_BYTES];
    struct hf_deadlock_cycle cycle = {.count = 0};
    struct hf_deadlock_ticket *ticket;
    struct hf_text_range texts;

    m->lists = 0;
    hf_deadlock_reading_begin(reading, (const char[]){name_of(lock), '\0'},
                              kind_of(m, owner, lock), &id,
                              "host=h holds=a:00000000,b:00000000,c:00000000,"
                              "d:00000000,e:00000000");
    while (hf_deadlock_reading_next(reading, queue, &texts)) {
        snapshot.count = list(m, queue, tickets);
        hf_deadlock_reading_listed(reading, &snapshot);
    }
    assert_int_equal(reading->graph.status, HF_OK);
    hf_deadlock_analyse(&reading->graph, false);
    ticket = hf_deadlock_reading_subject(reading);
    if (ticket->state == HF_DEADLOCK_BLOCKED)
        (void)hf_deadlock_find_cycle(&reading->graph, ticket, &cycle);
    hf_deadlock_reading_free(reading);
    free(reading);
    return cycle.count;
}

#define assert_cycle(m, owner, lock, length)                                   \
    do {                                                                       \
        size_t victim_;                                                        \
        assert_int_equal(cycle_of(m, owner, lock, &victim_), length);          \
    } while (0)

#define MODEL(m)                                                               \
    struct model m##_ = {                                                      \
        .hidden = NONE, .late = NONE, .inside = NONE, .alike = NONE};          \
    struct model *m = &m##_;                                                   \
    (void)state

/* ----------------------------------------------------------------- tests -- */

/* Two owners take two locks in opposite orders. */
static void opposite(struct model *m)
{
    hold(m, 0, 'a');
    hold(m, 1, 'b');
    wait_for(m, 0, 'b');
    wait_for(m, 1, 'a');
}

TEST(opposite_orders_are_a_cycle)
{
    struct hf_deadlock_search search;
    char text[HF_ERROR_TEXT_BYTES];
    size_t victim;

    MODEL(m);
    opposite(m);
    assert_int_equal(cycle_of(m, 0, 'b', &victim), 2);
    assert_int_equal(victim, 1);
    assert_int_equal(cycle_of(m, 1, 'a', &victim), 2);
    assert_int_equal(victim, 1);
    assert_int_equal(m->lists, 4); /* two queues, twice */
    search_for(m, 0, 1, &search);
    hf_deadlock_search_describe(&search, text, sizeof text);
    assert_string_equal(text,
                        "deadlock: this owner waits for \"b\" behind process 2 "
                        "\"c\" on \"h\", which waits for \"a\" behind this "
                        "owner; release what it holds and begin again");
    hf_deadlock_search_free(&search);
}

TEST(only_one_that_looks_fails)
{
    size_t victim;

    MODEL(m);
    opposite(m);
    m->silent[1] = true;
    assert_int_equal(cycle_of(m, 0, 'b', &victim), 2);
    assert_int_equal(victim, 0);
}

TEST(a_wait_without_a_cycle_is_none)
{
    MODEL(m);
    hold(m, 0, 'a');
    hold(m, 1, 'b');
    wait_for(m, 0, 'b');
    wait_for(m, 2, 'a');
    assert_cycle(m, 0, 'b', 0);
    assert_int_equal(m->lists, 1); /* those who wait hold nothing else */
}

/* Nobody waits for what the writer holds, but the reader behind it waits for
 * the writer itself. */
TEST(a_writer_is_in_the_way_of_readers_behind_it)
{
    MODEL(m);
    hold(m, 0, 'c');
    hold_as(m, 1, 'a', HF_TICKET_READ, 1);
    hold(m, 2, 'b');
    wait_as(m, 0, 'a', HF_TICKET_WRITE, 1);
    wait_as(m, 2, 'a', HF_TICKET_READ, 1);
    wait_for(m, 1, 'b');
    assert_cycle(m, 0, 'a', 3);
    assert_cycle(m, 1, 'b', 3);
    assert_cycle(m, 2, 'a', 3);
}

TEST(an_owner_behind_a_deadlock_is_not_in_it)
{
    MODEL(m);
    opposite(m);
    hold(m, 2, 'c');
    wait_for(m, 2, 'a');
    assert_cycle(m, 2, 'a', 0);
    assert_cycle(m, 0, 'b', 2);
}

/* It is ahead of one of the deadlock.  If it went, that one would still
 * wait. */
TEST(an_owner_between_two_of_a_deadlock_is_not_in_it)
{
    MODEL(m);
    hold(m, 0, 'a');
    hold(m, 1, 'b');
    hold(m, 2, 'c');
    wait_for(m, 2, 'a');
    wait_for(m, 1, 'a');
    wait_for(m, 0, 'b');
    assert_cycle(m, 2, 'a', 0);
    assert_cycle(m, 1, 'a', 2);
    assert_cycle(m, 0, 'b', 2);
}

TEST(an_owner_may_wait_for_itself)
{
    MODEL(m);
    hold(m, 0, 'a');
    wait_for(m, 0, 'a');
    assert_cycle(m, 0, 'a', 1);
}

TEST(readers_wait_for_writers_only)
{
    MODEL(m);
    hold_as(m, 0, 'a', HF_TICKET_READ, 1);
    hold_as(m, 1, 'a', HF_TICKET_READ, 1);
    hold(m, 2, 'b');
    wait_for(m, 0, 'b');
    wait_as(m, 2, 'a', HF_TICKET_WRITE, 1);
    assert_cycle(m, 2, 'a', 2);
    m->locks[0].waits[0].kind = HF_TICKET_READ;
    assert_cycle(m, 2, 'a', 0);
}

/* The holder of "a" can go on, but a writer that waits ahead cannot. */
TEST(a_waiter_ahead_counts_too)
{
    MODEL(m);
    hold_as(m, 3, 'a', HF_TICKET_READ, 1);
    hold(m, 0, 'b');
    hold(m, 1, 'c');
    hold_as(m, 0, 'a', HF_TICKET_READ, 1);
    wait_as(m, 1, 'a', HF_TICKET_WRITE, 1);
    wait_for(m, 0, 'c');
    assert_cycle(m, 1, 'a', 2);
    assert_cycle(m, 0, 'c', 2);
}

TEST(one_free_permit_is_enough)
{
    MODEL(m);
    m->locks[0].limit = 2;
    hold(m, 0, 'a');
    hold(m, 2, 'a');
    hold(m, 1, 'b');
    wait_for(m, 0, 'b');
    wait_for(m, 1, 'a');
    assert_cycle(m, 0, 'b', 0); /* owner 2 will give its permit back */
    wait_for(m, 2, 'b');
    assert_cycle(m, 0, 'b', 2); /* it cannot */
}

TEST(as_many_permits_as_it_lacks)
{
    MODEL(m);
    m->locks[0].limit = 3;
    hold(m, 0, 'a');
    hold_as(m, 2, 'a', HF_TICKET_LEASE, 1);
    hold(m, 1, 'b');
    wait_for(m, 0, 'b');
    wait_as(m, 1, 'a', HF_TICKET_LEASE, 2);
    assert_cycle(m, 1, 'a', 0);
    m->locks[0].waits[0].weight = 3;
    assert_cycle(m, 1, 'a', 2);
}

/* Owner 0 has a permit too, and waits for nothing.  It is read, because another
 * reader of "a" waits. */
TEST(what_a_holder_has_said_does_not_count)
{
    MODEL(m);
    m->locks[2].limit = 2;
    hold(m, 0, 'c');
    hold(m, 1, 'c');
    hold_as(m, 1, 'a', HF_TICKET_READ, 1);
    hold_as(m, 0, 'a', HF_TICKET_READ, 1);
    hold(m, 2, 'b');
    wait_for(m, 1, 'b');
    wait_for(m, 2, 'c');
    assert_cycle(m, 1, 'b', 0);
    assert_cycle(m, 2, 'c', 0);
}

/* A ticket that does not say how many permits it wants wants one. */
TEST(a_permit_is_wanted_by_default)
{
    MODEL(m);
    opposite(m);
    m->locks[0].limit = 1;
    m->terse = true;
    assert_cycle(m, 1, 'a', 2);
}

/* The leases that the list of the lock shows are those of the semaphore. */
TEST(leases_beside_locks_are_no_locks)
{
    MODEL(m);
    opposite(m);
    m->locks[0].limit = 1;
    m->one_directory = true;
    assert_cycle(m, 1, 'a', 2);
}

/* Owner 0 waits as a writer, so the queue of "a" is read before owner 2 says
 * that it holds a permit of the semaphore of that name. */
TEST(a_permit_counts_though_the_lock_was_read_before)
{
    MODEL(m);
    m->shares_name = true;
    m->locks[4].limit = 1;
    hold_as(m, 3, 'a', HF_TICKET_WRITE, 1);
    hold(m, 0, 'b');
    hold(m, 1, 'c');
    hold(m, 2, 'e');
    wait_as(m, 0, 'a', HF_TICKET_WRITE, 1);
    wait_for(m, 1, 'b');
    wait_for(m, 2, 'c');
    wait_for(m, 3, 'e');
    assert_cycle(m, 0, 'a', 4);
}

TEST(tickets_of_others_can_go_on)
{
    MODEL(m);
    opposite(m);
    m->foreign[1] = true;
    assert_cycle(m, 0, 'b', 0);
}

/* Another program waits in between; it adds nothing to the cycle and hides
 * nothing of it. */
TEST(tickets_of_others_hide_nothing)
{
    MODEL(m);
    hold(m, 0, 'a');
    hold(m, 1, 'b');
    wait_for(m, 2, 'a');
    m->foreign[2] = true;
    wait_for(m, 0, 'b');
    wait_for(m, 1, 'a');
    assert_cycle(m, 0, 'b', 2);
}

TEST(elections_are_no_waits)
{
    MODEL(m);
    opposite(m);
    m->locks[0].held[0].kind = HF_TICKET_ELECTION;
    m->locks[0].waits[0].kind = HF_TICKET_ELECTION;
    assert_cycle(m, 0, 'b', 0);
}

/* The first reading saw owner 1, the second does not. */
TEST(both_readings_have_to_agree)
{
    MODEL(m);
    opposite(m);
    m->hidden = 1;
    assert_cycle(m, 0, 'b', 0);
    assert_int_equal(m->lists, 3); /* nobody waits for "a" any more */
}

/* Two readers hold "a"; a writer waits for both, who wait for what it has.  By
 * the second reading one has gone, and only then the other one says that it
 * holds anything. */
TEST(what_is_said_counts_if_both_readings_say_it)
{
    MODEL(m);
    hold_as(m, 0, 'a', HF_TICKET_READ, 1);
    hold_as(m, 2, 'a', HF_TICKET_READ, 1);
    hold(m, 1, 'b');
    wait_for(m, 0, 'b');
    wait_for(m, 2, 'b');
    wait_as(m, 1, 'a', HF_TICKET_WRITE, 1);
    assert_cycle(m, 1, 'a', 2);
    m->hidden = 0;
    assert_cycle(m, 1, 'a', 2); /* with owner 2 */
    m->late = 2;
    assert_cycle(m, 1, 'a', 0);
    m->hidden = NONE;
    assert_cycle(m, 1, 'a', 2); /* with owner 0 */
}

/* "a" is held by two tickets with the same first digits, so nobody knows which
 * one owner 0 means. */
TEST(a_text_that_fits_two_tickets_means_none)
{
    MODEL(m);
    hold_as(m, 0, 'a', HF_TICKET_READ, 1);
    hold_as(m, 2, 'a', HF_TICKET_READ, 1);
    hold(m, 1, 'b');
    wait_for(m, 0, 'b');
    wait_as(m, 1, 'a', HF_TICKET_WRITE, 1);
    assert_cycle(m, 1, 'a', 2);
    m->alike = 2;
    assert_cycle(m, 1, 'a', 0);
}

/* Owner 2 holds "a"; owners 1 and 3 wait, and by then owner 0, who waits for 3,
 * has lost it.  What its text says of "a" fits the ticket of owner 1, which
 * waits, so it can hold nothing. */
TEST(a_text_that_fits_a_waiter_means_none)
{
    MODEL(m);
    hold(m, 0, 'a');
    hold(m, 2, 'a');
    hold(m, 3, 'c');
    wait_for(m, 0, 'c');
    wait_for(m, 1, 'a');
    wait_for(m, 3, 'a');
    m->mistaken = 1;
    assert_cycle(m, 3, 'a', 0);
}

/* All of a deadlock choose the same one. */
TEST(one_of_equal_tokens_fails)
{
    size_t one, other;

    MODEL(m);
    opposite(m);
    m->equal = true;
    assert_int_equal(cycle_of(m, 0, 'b', &one), 2);
    assert_int_equal(cycle_of(m, 1, 'a', &other), 2);
    assert_int_equal(one, other);
}

/* The cycle that ${name} is asked about: how long, and whether it is only
 * possible. */
static size_t asked_about(struct model *m, const char *name, bool *possible)
{
    struct hf_deadlock_search search = {.current = 0};
    size_t count;

    assert_int_equal(
        hf_deadlock_search_begin_locks(&search, (const char *const[]){name}, 1),
        HF_OK);
    read_lists(m, &search);
    count = search.cycle.count;
    *possible = search.possible;
    hf_deadlock_search_free(&search);
    return count;
}

/* The lock of an outer run is released when that goes on. */
TEST(what_is_possible_is_no_deadlock)
{
    bool possible;

    MODEL(m);
    opposite(m);
    assert_int_equal(asked_about(m, "a", &possible), 2);
    assert_false(possible);
    m->inside = 0;
    assert_cycle(m, 1, 'a', 0);
    assert_cycle(m, 0, 'b', 0);
    assert_int_equal(asked_about(m, "a", &possible), 2);
    assert_true(possible);
    m->ends = true;
    assert_int_equal(asked_about(m, "a", &possible), 0);
}

/* What the owner of ${session} holds, in ${arg}, a model. */
static size_t held_by(void *arg, uint64_t session, const char *lock,
                      struct hf_session_hold found[HF_DEADLOCK_SESSION_HOLDS])
{
    static const char *const names[LOCKS] = {"a", "b", "c", "d", "e"};
    const struct model *m = arg;
    size_t owner = (size_t)session - 1, count = 0;

    for (size_t i = 0; i < LOCKS; i++) {
        struct hf_ticket_id id = id_of(owner, i, true);

        if (!holds(&m->locks[i], owner))
            continue;
        if (strcmp(names[i], lock) == 0)
            return 0;
        found[count++] =
            (struct hf_session_hold){names[i], hf_ticket_text_hold_id(&id)};
    }
    return count;
}

/* How many are in the cycle that is found for "a", with what sessions hold. */
static size_t asked_with_sessions(struct model *m, bool *possible)
{
    const struct hf_deadlock_sessions sessions = {held_by, m};
    struct hf_deadlock_search search = {.sessions = &sessions};
    size_t count;

    assert_int_equal(
        hf_deadlock_search_begin_locks(&search, (const char *const[]){"a"}, 1),
        HF_OK);
    read_lists(m, &search);
    count = search.cycle.count;
    *possible = search.possible;
    hf_deadlock_search_free(&search);
    return count;
}

/* One of other programs counts only for somebody who asks what is possible. */
TEST(a_session_possibly_holds_what_its_tickets_do)
{
    bool possible;

    MODEL(m);
    opposite(m);
    m->foreign[0] = true;
    assert_int_equal(asked_about(m, "a", &possible), 0);
    assert_int_equal(asked_with_sessions(m, &possible), 2);
    assert_true(possible);
    assert_cycle(m, 1, 'a', 0);
    m->foreign[1] = true;
    assert_int_equal(asked_with_sessions(m, &possible), 2);
    assert_true(possible);
}

/* Owner 1 waits for what nobody of the two holds. */
TEST(a_session_that_can_go_on_is_no_deadlock)
{
    bool possible;

    MODEL(m);
    hold(m, 0, 'a');
    hold(m, 1, 'b');
    hold(m, 2, 'c');
    wait_for(m, 0, 'b');
    wait_for(m, 1, 'c');
    wait_for(m, 3, 'a');
    m->foreign[0] = m->foreign[1] = m->foreign[3] = true;
    assert_int_equal(asked_with_sessions(m, &possible), 0);
}

/* Both permits are held by owners that wait for "b", one of them perhaps not:
 * then its permit may come free. */
TEST(a_permit_that_is_possibly_held_is_no_deadlock)
{
    bool possible;

    MODEL(m);
    opposite(m);
    hold(m, 2, 'a');
    wait_for(m, 2, 'b');
    m->locks[0].limit = 2;
    assert_int_equal(asked_about(m, "a", &possible), 2);
    assert_false(possible);
    m->inside = 0;
    assert_int_equal(asked_about(m, "a", &possible), 2);
    assert_true(possible);
}

TEST(a_lock_can_be_asked_about)
{
    struct hf_deadlock_search search = {.current = 0};

    MODEL(m);
    opposite(m);
    wait_for(m, 2, 'b');
    assert_int_equal(
        hf_deadlock_search_begin_locks(&search, (const char *const[]){"b"}, 1),
        HF_OK);
    read_lists(m, &search);
    assert_int_equal(search.cycle.count, 2);
    hf_deadlock_search_free(&search);
}

/* The processes of the cycle that ${search} has found, each a bit. */
static unsigned found_owners(const struct hf_deadlock_search *search)
{
    unsigned owners = 0;

    for (size_t i = 0; i < search->cycle.count; i++)
        owners |= 1U << (search->cycle.waiters[i]->id.bytes[0] - 1);
    return owners;
}

/* Owners 0 and 1, and owners 2 and 3, and owner 4 waits behind these; 5 and 6
 * are in one that is only possible. */
TEST(each_cycle_of_many_locks_is_found_once)
{
    const char *const names[] = {"e", "b", "c", "b"};
    struct hf_deadlock_search search = {.current = 0};
    unsigned cycles[2] = {0, 0};

    MODEL(m);
    opposite(m);
    hold(m, 2, 'c');
    hold(m, 3, 'd');
    wait_for(m, 2, 'd');
    wait_for(m, 3, 'c');
    wait_for(m, 4, 'c');
    hold(m, 5, 'e');
    wait_for(m, 5, 'e');
    m->inside = 5;
    assert_int_equal(hf_deadlock_search_begin_locks(&search, names, 4), HF_OK);
    read_lists(m, &search);
    for (size_t i = 0; i < 2; i++) {
        cycles[i] = found_owners(&search);
        assert_false(search.possible);
        assert_true(hf_deadlock_search_next_cycle(&search));
    }
    assert_int_equal(cycles[0] | cycles[1], 0xF);
    assert_int_equal(cycles[0] & cycles[1], 0);
    while (found_owners(&search) != 1U << 5) {
        assert_true(search.possible);
        assert_true(hf_deadlock_search_next_cycle(&search));
    }
    while (hf_deadlock_search_next_cycle(&search))
        assert_int_equal(found_owners(&search) & 1U << 4, 0);
    assert_int_equal(search.cycle.count, 0);
    hf_deadlock_search_free(&search);
}

/* ---------------------------------------------------------------- bounds -- */

/* Begin a search for a ticket that holds a:..., and answer its first list with
 * ${count} tickets, each with the text that ${write} makes, or returns. */
static hf_status answer_with(size_t count,
                             const char *(*write)(char *text, size_t i))
{
    static struct hf_ticket tickets[HF_DEADLOCK_TICKETS_MAX + 1];
    static char texts[HF_DEADLOCK_TICKETS_MAX + 1][64];
    struct hf_deadlock_search search = {.current = 0};
    struct hf_ticket_id id = id_of(0, 0, false);
    struct hf_snapshot snapshot = {tickets, count, 0};
    char queue[HF_DEADLOCK_QUEUE_NAME_BYTES];
    struct hf_text_range wanted;
    hf_status status;

    for (size_t i = 0; i < count; i++)
        tickets[i] = (struct hf_ticket){.id = {{(uint8_t)i, (uint8_t)(i >> 8)}},
                                        .kind = HF_TICKET_MUTEX,
                                        .weight = 1,
                                        .payload = write(texts[i], i)};
    assert_int_equal(hf_deadlock_search_begin(&search, "a", HF_TICKET_MUTEX,
                                              &id, "host=h holds=a:00000000"),
                     HF_OK);
    while (hf_deadlock_search_next(&search, queue, &wanted)) {
        snapshot.count = strcmp(queue, "a") == 0 ? count : 0;
        hf_deadlock_search_listed(&search, &snapshot);
    }
    assert_int_equal(search.cycle.count, 0);
    status = hf_deadlock_search_status(&search);
    hf_deadlock_search_free(&search);
    return status;
}

static const char *write_nothing(char *text, size_t i)
{
    (void)text;
    (void)i;
    return "host=h";
}

static const char *write_hold(char *text, size_t i)
{
    sprintf(text, "host=h holds=other%zu:01020304", i);
    return text;
}

static const char *write_four_holds(char *text, size_t i)
{
    (void)text;
    (void)i;
    return "host=h holds=o:01020304,o:01020304,o:01020304,o:01020304";
}

/* As long as a text can be. */
static const char *write_much(char *text, size_t i)
{
    static char longest[HF_PAYLOAD_BYTES];

    (void)text;
    (void)i;
    memset(longest, 'x', sizeof longest - 1);
    memcpy(longest, "host=h holds=o:01020304 ", 24);
    return longest;
}

TEST(too_many_tickets_give_no_verdict)
{
    assert_int_equal(answer_with(HF_DEADLOCK_TICKETS_MAX, write_nothing),
                     HF_OK);
    assert_int_equal(answer_with(HF_DEADLOCK_TICKETS_MAX + 1, write_nothing),
                     HF_EFULL);
}

TEST(too_many_holds_give_no_verdict)
{
    const size_t most = HF_DEADLOCK_TICKETS_MAX / 4;

    assert_int_equal(answer_with(most, write_four_holds), HF_OK);
    assert_int_equal(answer_with(most + 1, write_four_holds), HF_EFULL);
}

/* A reading may take 32 MiB of texts. */
TEST(too_many_bytes_give_no_verdict)
{
    const size_t fit = ((size_t)1 << 25) / (HF_PAYLOAD_BYTES + 256);

    assert_int_equal(answer_with(fit, write_much), HF_OK);
    assert_int_equal(answer_with(2 * fit, write_much), HF_EFULL);
}

/* Both readings have to be whole. */
TEST(a_second_reading_that_is_cut_off_gives_no_verdict)
{
    struct hf_deadlock_search search;

    MODEL(m);
    opposite(m);
    m->flooded = 2;
    search_for(m, 0, 1, &search);
    assert_int_equal(m->lists, 2);
    assert_int_equal(hf_deadlock_search_status(&search), HF_EFULL);
    assert_int_equal(search.cycle.count, 0);
    hf_deadlock_search_free(&search);
}

/* Owner 0 holds "a" and waits for "b", which owner 1 holds, who waits for "a".
 * ${waiters} more tickets wait behind that of owner 0, each with four holds. */
static size_t list_waiters(const char *queue, size_t waiters,
                           struct hf_ticket *tickets)
{
    size_t lock = queue[0] == 'a' ? 0 : 1;
    const struct hf_ticket ticket = {
        .kind = HF_TICKET_MUTEX, .weight = 1, .payload = "host=h pid=1"};

    tickets[0] = tickets[1] = ticket;
    tickets[0].id = id_of(lock, lock, true);
    tickets[1].id = id_of(1 - lock, lock, false);
    tickets[1].payload = lock == 0 ? "host=h pid=2 detect holds=b:02020107"
                                   : "host=h pid=1 detect holds=a:01010107";
    if (lock == 0)
        return 2;
    for (size_t i = 0; i < waiters; i++) {
        tickets[i + 2] = ticket;
        tickets[i + 2].id = (struct hf_ticket_id){
            {(uint8_t)i, (uint8_t)(i >> 8), 0, (uint8_t)(i >> 16), 1}};
        tickets[i + 2].payload = write_four_holds(NULL, i);
    }
    return waiters + 2;
}

/* The length of the cycle of a search whose reading ${cut}, 0 or 1, reaches too
 * much in the very list that closes the cycle; 2: neither does. */
static size_t cycle_if_cut(unsigned cut, hf_status *status)
{
    static struct hf_ticket tickets[HF_DEADLOCK_TICKETS_MAX];
    struct hf_deadlock_search search = {.current = 0};
    struct hf_snapshot snapshot = {.tickets = tickets};
    struct hf_ticket_id id = id_of(0, 1, false);
    char queue[HF_DEADLOCK_QUEUE_NAME_BYTES];
    struct hf_text_range texts;
    size_t count;

    assert_int_equal(
        hf_deadlock_search_begin(&search, "b", HF_TICKET_MUTEX, &id,
                                 "host=h pid=1 detect holds=a:01010107"),
        HF_OK);
    while (hf_deadlock_search_next(&search, queue, &texts)) {
        snapshot.count = list_waiters(
            queue, search.current == cut ? HF_DEADLOCK_TICKETS_MAX / 4 : 1,
            tickets);
        hf_deadlock_search_listed(&search, &snapshot);
    }
    *status = hf_deadlock_search_status(&search);
    count = search.cycle.count;
    hf_deadlock_search_free(&search);
    return count;
}

/* Neither one reading nor half of one is enough. */
TEST(a_reading_that_is_cut_off_as_the_cycle_closes_gives_no_verdict)
{
    hf_status status;

    (void)state;
    assert_int_equal(cycle_if_cut(2, &status), 2);
    assert_int_equal(status, HF_OK);
    assert_int_equal(cycle_if_cut(0, &status), 0);
    assert_int_equal(status, HF_EFULL);
    assert_int_equal(cycle_if_cut(1, &status), 0);
    assert_int_equal(status, HF_EFULL);
}

/* The first ticket holds, so it is not followed; each of the others names a
 * lock, which has three queues because no ticket of it is found. */
TEST(too_many_queues_give_no_verdict)
{
    const size_t most = (HF_DEADLOCK_QUEUES_MAX - 1) / HF_DEADLOCK_ROLES;

    assert_int_equal(answer_with(most + 1, write_hold), HF_OK);
    assert_int_equal(answer_with(most + 2, write_hold), HF_EFULL);
    assert_int_equal(answer_with(20000, write_hold), HF_EFULL);
}

/* ------------------------------------------------------------------ size -- */

/* ${count} owners hold a lock each and wait for the common one; the first of
 * them holds that, if ${cycle}, and waits for the lock of the last. */
struct many {
    size_t count;
    bool cycle;
    size_t lists;
    size_t texts;     /* that the lists have shown */
    bool says_unread; /* which texts it has not read, as ZooKeeper's engine */
    struct hf_ticket *tickets;
    char (*payloads)[64];
};

static struct hf_ticket_id many_id(size_t owner, bool waits)
{
    return (struct hf_ticket_id){
        {(uint8_t)(owner >> 8), (uint8_t)owner, waits, 9}};
}

static const char *many_text(const struct many *many, size_t owner, char *text)
{
    if (many->cycle && owner == 0)
        sprintf(text, "host=h pid=1 detect holds=common:00000009");
    else
        sprintf(text, "host=h pid=%zu detect holds=l%zu:%02zx%02zx0009",
                owner + 1, owner, owner >> 8, owner & 255);
    return text;
}

/* Add a ticket; its text is shown as an engine does that reads them one by
 * one. */
static void many_add(struct many *many, struct hf_snapshot *snapshot,
                     size_t owner, bool waits,
                     const struct hf_text_range *texts, size_t *taken)
{
    struct hf_ticket *ticket = &many->tickets[snapshot->count];
    bool wanted = hf_text_range_wants(texts, snapshot->count + 1, *taken);

    *ticket = (struct hf_ticket){.id = many_id(owner, waits),
                                 .sequence = ++snapshot->count,
                                 .kind = HF_TICKET_MUTEX,
                                 .weight = 1,
                                 .unread = !wanted && many->says_unread,
                                 .payload = ""};
    if (!wanted)
        return;
    ++*taken;
    many->texts++;
    ticket->token = 100 + owner;
    if (waits)
        ticket->payload =
            many_text(many, owner, many->payloads[snapshot->count]);
}

static void many_list(struct many *many, const char *queue,
                      const struct hf_text_range *texts,
                      struct hf_snapshot *snapshot)
{
    size_t lock = strtoul(queue + 1, NULL, 10), taken = 0;

    many->lists++;
    snapshot->count = 0;
    if (strcmp(queue, "common") == 0) {
        for (size_t i = 0; i < many->count; i++)
            many_add(many, snapshot, i, i > 0, texts, &taken);
        return;
    }
    if (queue[0] != 'l' || strchr(queue, '/') != NULL)
        return;
    many_add(many, snapshot, lock, false, texts, &taken);
    if (many->cycle && lock == many->count - 1)
        many_add(many, snapshot, 0, true, texts, &taken);
}

/* How long the cycle is that ${owner} finds. */
static size_t many_cycle(struct many *many, size_t owner)
{
    struct hf_deadlock_search *search = calloc(1, sizeof *search);
    struct hf_ticket_id id = many_id(owner, true);
    char queue[HF_DEADLOCK_QUEUE_NAME_BYTES], text[64];
    struct hf_snapshot snapshot = {.tickets = many->tickets};
    struct hf_text_range texts;
    size_t count;

    many->lists = many->texts = 0;
    assert_int_equal(hf_deadlock_search_begin(
                         search,
                         many->cycle && owner == 0
                             ? (sprintf(queue, "l%zu", many->count - 1), queue)
                             : "common",
                         HF_TICKET_MUTEX, &id, many_text(many, owner, text)),
                     HF_OK);
    while (hf_deadlock_search_next(search, queue, &texts)) {
        many_list(many, queue, &texts, &snapshot);
        hf_deadlock_search_listed(search, &snapshot);
    }
    assert_int_equal(hf_deadlock_search_status(search), HF_OK);
    count = search->cycle.count;
    hf_deadlock_search_free(search);
    free(search);
    return count;
}

TEST(many_that_wait_for_one_cost_little)
{
    static const size_t counts[] = {65, 257, 1000, 4000};

    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        struct many many = {.count = counts[i], .says_unread = i % 2 == 0};

        many.tickets = calloc(counts[i] + 2, sizeof *many.tickets);
        many.payloads = calloc(counts[i] + 2, sizeof *many.payloads);
        /* The queue of its own lock, not the common one. */
        assert_int_equal(many_cycle(&many, counts[i] / 2), 0);
        assert_int_equal(many.lists, 1);
        assert_int_equal(many.texts, 0);
        /* In a cycle they find it with two or more lists, twice. */
        many.cycle = true;
        assert_int_equal(many_cycle(&many, counts[i] - 1), 2);
        assert_in_range(many.lists, 4, 8);
        assert_in_range(many.texts, 2, 4 * HF_DEADLOCK_PAGE);
        /* A search for one that waits behind it ends as soon. */
        assert_int_equal(many_cycle(&many, counts[i] / 2), 0);
        assert_int_equal(many.lists, 1);
        assert_int_equal(many.texts, 0);
        free(many.tickets);
        free(many.payloads);
    }
}

/* The one whom all others wait for reads what each of them holds, and finds the
 * cycle among them. */
TEST(one_whom_a_thousand_wait_for_finds_the_cycle)
{
    struct many many = {.count = 1000, .cycle = true};

    many.tickets = calloc(1002, sizeof *many.tickets);
    many.payloads = calloc(1002, sizeof *many.payloads);
    assert_int_equal(many_cycle(&many, 0), 2);
    assert_in_range(many.lists, 4, 2100);
    assert_in_range(many.texts, 4, 4 * many.count);
    free(many.tickets);
    free(many.payloads);
}

/* ---------------------------------------------------- the definition -- */

/* Take what ${owner} has out of ${m}. */
static void leave(struct model *m, size_t owner)
{
    for (size_t i = 0; i < LOCKS; i++) {
        struct model_lock *l = &m->locks[i];
        size_t held = 0, waits = 0;

        for (size_t k = 0; k < l->held_count; k++) {
            if (l->held[k].owner != owner)
                l->held[held++] = l->held[k];
        }
        for (size_t k = 0; k < l->wait_count; k++) {
            if (l->waits[k].owner != owner)
                l->waits[waits++] = l->waits[k];
        }
        l->held_count = held;
        l->wait_count = waits;
    }
}

/* May the ticket ${place}, with ${before} tickets that wait ahead, enter? */
static bool may_enter(const struct model_lock *l, const struct place *place,
                      size_t before)
{
    uint64_t permits = place->weight;

    if (l->limit > 0) {
        for (size_t i = 0; i < l->held_count; i++)
            permits += l->held[i].weight;
        return before == 0 && permits <= l->limit;
    }
    for (size_t i = 0; i < l->held_count; i++) {
        if (place->kind != HF_TICKET_READ || l->held[i].kind != HF_TICKET_READ)
            return false;
    }
    for (size_t i = 0; i < before; i++) {
        if (place->kind != HF_TICKET_READ || l->waits[i].kind != HF_TICKET_READ)
            return false;
    }
    return true;
}

/* The lock that ${owner} waits for, and its place there; LOCKS: it does not. */
static size_t waits_for(const struct model *m, size_t owner, size_t *index)
{
    for (size_t i = 0; i < LOCKS; i++) {
        for (size_t k = 0; k < m->locks[i].wait_count; k++) {
            if (m->locks[i].waits[k].owner == owner) {
                *index = k;
                return i;
            }
        }
    }
    return LOCKS;
}

/* Can ${owner} finish its work and release everything? */
static bool can_finish(const struct model *m, size_t owner)
{
    size_t index, lock = waits_for(m, owner, &index);

    return m->foreign[owner] || lock == LOCKS ||
           may_enter(&m->locks[lock], &m->locks[lock].waits[index], index);
}

/* Let owners finish until none can; those that remain are in a deadlock, or
 * behind one. */
static void simulate(struct model m, bool *deadlocked)
{
    bool finished[OWNERS] = {false};
    bool changed;

    do {
        changed = false;
        for (size_t owner = 0; owner < OWNERS; owner++) {
            if (finished[owner] || !can_finish(&m, owner))
                continue;
            finished[owner] = changed = true;
            leave(&m, owner);
        }
    } while (changed);
    for (size_t owner = 0; owner < OWNERS; owner++)
        deadlocked[owner] = !finished[owner];
}

/* Is ${ahead} in the way of ${place}, a ticket behind it in the queue of ${l}?
 */
static bool is_in_way(const struct model_lock *l, const struct place *ahead,
                      const struct place *place)
{
    return l->limit > 0 || place->kind != HF_TICKET_READ ||
           ahead->kind != HF_TICKET_READ;
}

/* Do the permits of ${l} that are in a deadlock leave too few for ${own}? */
static bool lacks(const struct model_lock *l, const bool *deadlocked,
                  const struct place *own)
{
    uint64_t permits = own->weight;

    for (size_t i = 0; i < l->held_count; i++) {
        if (deadlocked[l->held[i].owner])
            permits += l->held[i].weight;
    }
    return l->limit > 0 && permits > l->limit;
}

/* Would ${own} wait all the same if the first ${ahead} that wait were alone
 * with it? */
static bool waits_anyway(const struct model_lock *l, const bool *deadlocked,
                         const struct place *own, size_t ahead)
{
    if (lacks(l, deadlocked, own))
        return true;
    for (size_t i = 0; l->limit == 0 && i < l->held_count; i++) {
        if (deadlocked[l->held[i].owner] && is_in_way(l, &l->held[i], own))
            return true;
    }
    for (size_t i = 0; i < ahead; i++) {
        if (deadlocked[l->waits[i].owner] && is_in_way(l, &l->waits[i], own))
            return true;
    }
    return false;
}

/* Does ${owner}, which waits, wait for ${other}?  Both are in a deadlock.
 * ${all}: also for a waiter ahead without which it would wait all the same. */
static bool has_edge(const struct model *m, const bool *deadlocked, bool all,
                     size_t owner, size_t other)
{
    size_t index, lock = waits_for(m, owner, &index);
    const struct model_lock *l = &m->locks[lock];
    const struct place *own = &l->waits[index];

    for (size_t i = 0; i < index; i++) {
        if (l->waits[i].owner == other && is_in_way(l, &l->waits[i], own) &&
            (all || !waits_anyway(l, deadlocked, own, i)))
            return true;
    }
    for (size_t i = 0; i < l->held_count; i++) {
        if (l->held[i].owner == other &&
            (l->limit > 0 ? lacks(l, deadlocked, own)
                          : is_in_way(l, &l->held[i], own)))
            return true;
    }
    return false;
}

/* The length of the shortest cycle through each owner, by Floyd and Warshall;
 * 0: none.  ${all} as in has_edge(). */
static void measure(const struct model *m, bool all, size_t *cycles)
{
    size_t far = 1000, d[OWNERS][OWNERS];
    bool deadlocked[OWNERS];

    simulate(*m, deadlocked);
    for (size_t i = 0; i < OWNERS; i++) {
        for (size_t k = 0; k < OWNERS; k++)
            d[i][k] = deadlocked[i] && deadlocked[k] &&
                              has_edge(m, deadlocked, all, i, k)
                          ? 1
                          : far;
    }
    for (size_t k = 0; k < OWNERS; k++) {
        for (size_t i = 0; i < OWNERS; i++) {
            for (size_t j = 0; j < OWNERS; j++) {
                if (d[i][k] + d[k][j] < d[i][j])
                    d[i][j] = d[i][k] + d[k][j];
            }
        }
    }
    for (size_t i = 0; i < OWNERS; i++)
        cycles[i] = d[i][i] < far ? d[i][i] : 0;
}

/* A kind for a ticket of ${l}. */
static enum hf_ticket_kind random_kind(struct hf_random *random, bool rw)
{
    if (!rw)
        return HF_TICKET_MUTEX;
    return hf_random_below(random, 2) ? HF_TICKET_READ : HF_TICKET_WRITE;
}

/* Make ${owner} ask for the lock ${lock}: it holds it if it may, or waits if
 * it waits for nothing yet. */
static void ask(struct model *m, struct hf_random *random, size_t owner,
                size_t lock, bool rw)
{
    struct model_lock *l = &m->locks[lock];
    uint32_t most = l->limit > 0 ? l->limit : 1;
    struct place place = {owner, random_kind(random, rw),
                          1 + (uint32_t)hf_random_below(random, most)};
    size_t index;

    if (waits_for(m, owner, &index) != LOCKS)
        return;
    if (!holds(l, owner) && may_enter(l, &place, l->wait_count))
        l->held[l->held_count++] = place;
    else if (hf_random_below(random, 3) > 0)
        l->waits[l->wait_count++] = place;
}

/* Random owners ask for random locks, one after the other, as owners do. */
static void fill(struct model *m, struct hf_random *random)
{
    bool rw[LOCKS];

    memset(m, 0, sizeof *m);
    m->hidden = m->late = m->inside = m->alike = NONE;
    for (size_t i = 0; i < LOCKS; i++) {
        uint64_t kind = hf_random_below(random, 4);

        rw[i] = kind == 1;
        m->locks[i].limit =
            kind == 0 ? 1 + (uint32_t)hf_random_below(random, 3) : 0;
    }
    for (size_t i = 0; i < OWNERS; i++)
        m->foreign[i] = hf_random_below(random, 12) == 0;
    for (size_t i = 0; i < 5 * (size_t)OWNERS; i++) {
        size_t lock = hf_random_below(random, LOCKS);

        ask(m, random, hf_random_below(random, OWNERS), lock, rw[lock]);
    }
}

/* Each owner that waits looks for a deadlock.  A search that looks at all locks
 * finds what the definition finds.  The real one, which does not see who else
 * is in the way, finds nothing but waits in a cycle; and if there is a
 * deadlock then one of its waiters finds it, because the owners that wait for
 * no others wait for each other. */
static void check_owners(struct model *m, size_t *lengths)
{
    size_t cycles[OWNERS], all_cycles[OWNERS], victim;
    bool is_deadlock = false, is_found = false;

    measure(m, false, cycles);
    measure(m, true, all_cycles);
    for (size_t owner = 0; owner < OWNERS; owner++) {
        size_t index, lock = waits_for(m, owner, &index), found;

        if (lock == LOCKS || m->foreign[owner])
            continue;
        assert_int_equal(cycle_in_all(m, owner, lock), cycles[owner]);
        found = cycle_of(m, owner, name_of(lock), &victim);
        assert_true(found == 0 || all_cycles[owner] > 0);
        is_deadlock |= cycles[owner] > 0;
        is_found |= found > 0;
        lengths[cycles[owner]]++;
    }
    assert_true(is_deadlock == is_found);
}

TEST(random_queues_agree_with_the_definition)
{
    size_t lengths[OWNERS + 1] = {0};
    struct hf_random random;
    struct model m;

    hf_random_seed(&random, 17);
    for (size_t run = 0; run < 10000; run++) {
        fill(&m, &random);
        check_owners(&m, lengths);
    }
    for (size_t i = 0; i <= 5; i++)
        assert_true(lengths[i] > 20);
}
