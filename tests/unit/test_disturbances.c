/* SPDX-License-Identifier: Apache-2.0 */
/* Every pair of disturbances in every state of an acquisition, and then an
 * engine that answers everything until nothing is pending.  At the end the
 * owner has had one answer, no ticket is left in the queue, and the core has
 * dropped the acquisition.  The fixture checks that nothing is reported twice
 * and that only a holder loses. */
#include "core_fixture.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "cmocka/runner.h"

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* An engine with one queue.  A ticket x of another client is at its head and
 * leaves in the end. */
struct simulated_engine {
    struct core_fixture core_fixture;
    struct hf_ticket tickets[CORE_TICKETS * 2];
    size_t count;
    uint64_t sequence;
    struct hf_ticket late; /* an enqueue that takes effect in a while */
    uint64_t late_at_ms;
    bool over; /* END was answered */
};

/* ------------------------------------------------------------ the engine -- */

static void push(struct simulated_engine *e, const struct hf_ticket_id *id)
{
    assert_true(e->count < COUNT(e->tickets));
    e->sequence++;
    e->tickets[e->count++] = (struct hf_ticket){.id = *id,
                                                .sequence = e->sequence,
                                                .token = e->sequence,
                                                .kind = HF_TICKET_MUTEX,
                                                .payload = "somebody"};
}

static struct hf_ticket_id other_ticket(void)
{
    struct hf_ticket_id id;

    memset(id.bytes, 'x', sizeof id.bytes);
    return id;
}

static bool take_out(struct simulated_engine *e, const struct hf_ticket_id *id)
{
    struct hf_snapshot snapshot = {e->tickets, e->count, 0};
    size_t place = hf_snapshot_find(&snapshot, id);

    if (place == e->count)
        return false;
    e->count--;
    memmove(&e->tickets[place], &e->tickets[place + 1],
            (e->count - place) * sizeof e->tickets[0]);
    return true;
}

static bool is_there(const struct simulated_engine *e,
                     const struct hf_ticket_id *id)
{
    struct hf_snapshot snapshot = {e->tickets, e->count, 0};

    return hf_snapshot_find(&snapshot, id) != e->count;
}

static void send(struct simulated_engine *e, struct pending_request *pending,
                 struct hf_event event)
{
    event.now_ms = e->core_fixture.now_ms;
    event.as.answer.request = pending->request;
    if (event.kind != HF_EVENT_WATCHING)
        pending->text[0] = '\0';
    hf_core_step(&e->core_fixture.core, &event);
    hf_core_check(&e->core_fixture.core);
}

static void answer(struct simulated_engine *e, struct pending_request *pending)
{
    const struct hf_request *request = pending->request;
    struct hf_snapshot snapshot = {e->tickets, 0, 0};
    bool there = is_there(e, &request->ticket);

    switch (request->kind) {
    case HF_REQUEST_ENQUEUE:
        if (!there)
            push(e, &request->ticket);
        snapshot.count = e->count;
        send(e, pending,
             (struct hf_event){.kind = HF_EVENT_ENQUEUED,
                               .as.answer.snapshot = snapshot});
        break;
    case HF_REQUEST_LIST:
        snapshot.count = e->count;
        send(e, pending,
             (struct hf_event){.kind = HF_EVENT_LISTED,
                               .as.answer.snapshot = snapshot});
        break;
    case HF_REQUEST_WATCH_QUEUE:
        assert(false && "nobody wants permits here");
        break;
    case HF_REQUEST_WATCH:
        send(e, pending,
             (struct hf_event){.kind =
                                   there ? HF_EVENT_WATCHING : HF_EVENT_GONE});
        break;
    case HF_REQUEST_REMOVE:
        take_out(e, &request->ticket);
        send(e, pending,
             (struct hf_event){.kind = HF_EVENT_REMOVED,
                               .as.answer.found = there});
        break;
    case HF_REQUEST_DESCRIBE:
        send(e, pending,
             (struct hf_event){.kind = HF_EVENT_DESCRIBED,
                               .as.answer.found = there});
        break;
    case HF_REQUEST_REVOKE:
        send(e, pending,
             (struct hf_event){.kind = HF_EVENT_REVOKE_SENT,
                               .as.answer.found = there});
        break;
    case HF_REQUEST_SET_FLAG:
    case HF_REQUEST_CLEAR_FLAG:
    case HF_REQUEST_NEW_GENERATION:
        assert(false && "nobody has a barrier here");
        break;
    case HF_REQUEST_NAMES:
    case HF_REQUEST_EXAMINE:
    case HF_REQUEST_READ_SUCCESS:
    case HF_REQUEST_WRITE_SUCCESS:
        assert(false && "nobody asks for more than tickets here");
        break;
    case HF_REQUEST_PROVE:
        send(e, pending,
             (struct hf_event){.kind = HF_EVENT_PROVEN,
                               .as.answer.anchor_ms = e->core_fixture.now_ms});
        break;
    case HF_REQUEST_DOWNGRADE: /* a ticket of nobody here */
        fail();
        break;
    case HF_REQUEST_END:
        e->count = 0;
        e->late_at_ms = 0;
        e->over = true;
        closed(&e->core_fixture);
    }
}

static struct pending_request *next_pending(struct simulated_engine *e)
{
    for (size_t i = 0; i < CORE_PENDING; i++) {
        struct pending_request *pending = &e->core_fixture.pending[i];

        if (pending->text[0] == '\0')
            continue;
        if (pending->request->busy ||
            !is_there(e, &pending->request->ticket)) /* a GONE is due */
            return pending;
    }
    return NULL;
}

static void answer_all(struct simulated_engine *e)
{
    unsigned answers = 0;

    for (;;) {
        struct pending_request *pending;

        core_fixture_drain(&e->core_fixture);
        pending = next_pending(e);
        if (pending == NULL)
            return;
        assert_true(answers++ < 1000);
        answer(e, pending);
    }
}

/* Every pending request fails.  A ticket whose enqueue fails may be there all
 * the same, or appear later. */
enum late_ticket { GHOST_NONE, GHOST_THERE, GHOST_LATE };

static void fail_all(struct simulated_engine *e, enum hf_failure failure,
                     enum late_ticket late_ticket)
{
    core_fixture_drain(&e->core_fixture);
    for (size_t i = 0; i < CORE_PENDING; i++) {
        struct pending_request *pending = &e->core_fixture.pending[i];

        if (pending->text[0] == '\0' || !pending->request->busy ||
            pending->request->kind == HF_REQUEST_END)
            continue;
        if (pending->request->kind == HF_REQUEST_ENQUEUE &&
            late_ticket == GHOST_THERE)
            push(e, &pending->request->ticket);
        if (pending->request->kind == HF_REQUEST_ENQUEUE &&
            late_ticket == GHOST_LATE) {
            e->late.id = pending->request->ticket;
            e->late_at_ms = e->core_fixture.now_ms + 5000;
        }
        send(e, pending,
             (struct hf_event){.kind = HF_EVENT_FAILED,
                               .as.answer = {.failure = failure,
                                             .status = HF_EUNREACHABLE,
                                             .text = "cut"}});
    }
}

/* ---------------------------------------------------------------- states -- */

static void not_connected(struct simulated_engine *e)
{
    core_fixture_init(&e->core_fixture, 3);
    want(&e->core_fixture, &e->core_fixture.a);
}

static void enqueuing(struct simulated_engine *e)
{
    core_fixture_connected(&e->core_fixture, 3);
    want(&e->core_fixture, &e->core_fixture.a);
    core_fixture_drain(&e->core_fixture);
}

static void not_asked_for_yet(struct simulated_engine *e)
{
    core_fixture_connected(&e->core_fixture, 3);
    want(&e->core_fixture, &e->core_fixture.a);
}

static void backing_off(struct simulated_engine *e)
{
    enqueuing(e);
    fail_all(e, HF_FAILURE_RETRY, GHOST_NONE);
}

static void unsure(struct simulated_engine *e)
{
    enqueuing(e);
    fail_all(e, HF_FAILURE_UNSURE, GHOST_THERE);
}

static void unsure_in_vain(struct simulated_engine *e)
{
    enqueuing(e);
    fail_all(e, HF_FAILURE_UNSURE, GHOST_LATE);
}

static void queued(struct simulated_engine *e)
{
    struct hf_ticket_id x = other_ticket();

    enqueuing(e);
    push(e, &x);
    answer_all(e);
}

static void listing(struct simulated_engine *e)
{
    struct hf_ticket_id x = other_ticket();

    queued(e);
    take_out(e, &x);
    push(e, &x); /* x has enqueued again, behind ours */
    e->core_fixture.a.tickets.current->list_wanted = true;
    hf_schedule_touch(&e->core_fixture.core, &e->core_fixture.a.entry);
    hf_core_step(&e->core_fixture.core,
                 &(struct hf_event){.kind = HF_EVENT_TICK,
                                    .now_ms = e->core_fixture.now_ms});
}

static void unproven(struct simulated_engine *e)
{
    core_fixture_connected(&e->core_fixture, 3);
    advance_to(&e->core_fixture, 90000);
    want(&e->core_fixture, &e->core_fixture.a);
    core_fixture_drain(&e->core_fixture);
    answer(e, next_pending(e)); /* PROVE, */
    answer(e, next_pending(e)); /* and the place, ... */
    suspended(&e->core_fixture);
}

static void held(struct simulated_engine *e)
{
    enqueuing(e);
    answer_all(e);
    assert_true(e->core_fixture.held[0]);
}

static void held_and_watched(struct simulated_engine *e)
{
    held(e);
    advance_to(&e->core_fixture,
               e->core_fixture.now_ms + HF_OWN_WATCH_AFTER_MS);
}

static void lost(struct simulated_engine *e)
{
    held(e);
    advance_to(&e->core_fixture, CORE_SAFE_MS);
}

static void releasing(struct simulated_engine *e)
{
    held_and_watched(e);
    release(&e->core_fixture, &e->core_fixture.a);
}

static void removing(struct simulated_engine *e)
{
    queued(e);
    cancel(&e->core_fixture, &e->core_fixture.a);
}

static void cancelled_while_enqueuing(struct simulated_engine *e)
{
    enqueuing(e);
    cancel(&e->core_fixture, &e->core_fixture.a);
}

/* ---------------------------------------------------------- disturbances -- */

static void nothing(struct simulated_engine *e)
{
    core_fixture_drain(&e->core_fixture);
}

static void answers(struct simulated_engine *e)
{
    if (e->core_fixture.core.session.state == HF_STATE_CONNECTED)
        answer_all(e);
}

static void owner_cancels(struct simulated_engine *e)
{
    if (e->core_fixture.forgotten[0] == 0)
        cancel(&e->core_fixture, &e->core_fixture.a);
}

static bool may_release(const struct simulated_engine *e)
{
    return e->core_fixture.a.state == HF_ACQUISITION_HELD ||
           e->core_fixture.a.state == HF_ACQUISITION_LOST;
}

static void owner_releases(struct simulated_engine *e)
{
    core_fixture_drain(&e->core_fixture);
    if (may_release(e))
        release(&e->core_fixture, &e->core_fixture.a);
}

static void requests_fail(struct simulated_engine *e)
{
    fail_all(e, HF_FAILURE_RETRY, GHOST_NONE);
}

static void requests_get_no_answer(struct simulated_engine *e)
{
    fail_all(e, HF_FAILURE_UNSURE, GHOST_NONE);
}

static void requests_take_effect_unseen(struct simulated_engine *e)
{
    fail_all(e, HF_FAILURE_UNSURE, GHOST_THERE);
}

static void requests_take_effect_late(struct simulated_engine *e)
{
    fail_all(e, HF_FAILURE_UNSURE, GHOST_LATE);
}

static void requests_are_refused(struct simulated_engine *e)
{
    fail_all(e, HF_FAILURE_FATAL, GHOST_NONE);
}

static void the_link_drops(struct simulated_engine *e)
{
    suspended(&e->core_fixture);
    fail_all(e, HF_FAILURE_UNSURE, GHOST_THERE);
}

static void the_link_flaps(struct simulated_engine *e)
{
    the_link_drops(e);
    resuming(&e->core_fixture, e->core_fixture.now_ms, CORE_TIMEOUT_MS / 2);
    connected(&e->core_fixture, e->core_fixture.now_ms,
              hf_session_alive(&e->core_fixture.core.session));
}

static void the_session_is_lost(struct simulated_engine *e)
{
    struct hf_ticket_id x = other_ticket();
    bool had_x = is_there(e, &x);

    fail_all(e, HF_FAILURE_RETRY, GHOST_NONE);
    core_fixture_drain(&e->core_fixture);
    fail_all(e, HF_FAILURE_RETRY, GHOST_NONE);
    e->count = 0;
    e->late_at_ms = 0;
    if (had_x)
        push(e, &x);
    session_lost(&e->core_fixture, HF_ELOST);
}

static void time_flies(struct simulated_engine *e)
{
    advance_to(&e->core_fixture, e->core_fixture.now_ms + 3600000);
}

static void a_moment_passes(struct simulated_engine *e)
{
    advance_to(&e->core_fixture, e->core_fixture.now_ms + 50);
}

static void all_tickets_are_removed(struct simulated_engine *e)
{
    core_fixture_drain(&e->core_fixture);
    e->count = 0;
}

static void the_client_closes(struct simulated_engine *e)
{
    close_core(&e->core_fixture);
}

struct outcome_part {
    const char *name;
    void (*play)(struct simulated_engine *e);
};
#define CASE(name)                                                             \
    {                                                                          \
#name, name                                                            \
    }

static const struct outcome_part beginnings[] = {
    CASE(not_connected),
    CASE(not_asked_for_yet),
    CASE(enqueuing),
    CASE(backing_off),
    CASE(unsure),
    CASE(unsure_in_vain),
    CASE(queued),
    CASE(listing),
    CASE(unproven),
    CASE(held),
    CASE(held_and_watched),
    CASE(lost),
    CASE(releasing),
    CASE(removing),
    CASE(cancelled_while_enqueuing),
};

static const struct outcome_part disturbances[] = {
    CASE(nothing),
    CASE(answers),
    CASE(owner_cancels),
    CASE(owner_releases),
    CASE(requests_fail),
    CASE(requests_get_no_answer),
    CASE(requests_take_effect_unseen),
    CASE(requests_take_effect_late),
    CASE(requests_are_refused),
    CASE(the_link_drops),
    CASE(the_link_flaps),
    CASE(the_session_is_lost),
    CASE(time_flies),
    CASE(a_moment_passes),
    CASE(all_tickets_are_removed),
    CASE(the_client_closes),
};

/* --------------------------------------------------------------- the end -- */

static void late_ticket_comes(struct simulated_engine *e)
{
    if (e->late_at_ms == 0 || e->core_fixture.now_ms < e->late_at_ms)
        return;
    e->late_at_ms = 0;
    push(e, &e->late.id);
}

static void reconnect(struct simulated_engine *e)
{
    core_fixture_drain(&e->core_fixture);
    if (e->over || e->core_fixture.core.session.state == HF_STATE_CONNECTED)
        return;
    fail_all(e, HF_FAILURE_RETRY, GHOST_NONE);
    connected(&e->core_fixture, e->core_fixture.now_ms,
              e->core_fixture.core.session.state == HF_STATE_SUSPENDED);
}

/* The engine works from here on, x leaves, and the owner releases. */
static void play_to_the_end(struct simulated_engine *e)
{
    struct hf_ticket_id x = other_ticket();

    reconnect(e);
    take_out(e, &x);
    for (int turn = 0; turn < 200 && e->core_fixture.forgotten[0] == 0;
         turn++) {
        late_ticket_comes(e);
        answer_all(e);
        if (may_release(e))
            release(&e->core_fixture, &e->core_fixture.a);
        else if (hf_core_wake_at_ms(&e->core_fixture.core) != HF_FOREVER)
            wake(&e->core_fixture);
        if (e->late_at_ms != 0 && e->core_fixture.now_ms < e->late_at_ms &&
            e->core_fixture.answers[0] > 0)
            advance_to(&e->core_fixture, e->late_at_ms);
    }
}

static void play(const struct outcome_part *beginning,
                 const struct outcome_part *first,
                 const struct outcome_part *second)
{
    static struct simulated_engine engine;
    struct simulated_engine *e = &engine;

    memset(e, 0, sizeof *e);
    beginning->play(e);
    first->play(e);
    second->play(e);
    play_to_the_end(e);
    if (e->core_fixture.forgotten[0] != 1 || e->core_fixture.answers[0] != 1 ||
        e->count != 0 || e->late_at_ms != 0 ||
        e->core_fixture.core.acquisitions.first != NULL)
        fail_msg("%s, %s, %s: answers %u, forgotten %u, tickets %zu",
                 beginning->name, first->name, second->name,
                 e->core_fixture.answers[0], e->core_fixture.forgotten[0],
                 e->count);
}

TEST(fn29_every_case_ends_well)
{
    for (size_t i = 0; i < COUNT(beginnings); i++) {
        for (size_t j = 0; j < COUNT(disturbances); j++) {
            for (size_t k = 0; k < COUNT(disturbances); k++)
                play(&beginnings[i], &disturbances[j], &disturbances[k]);
        }
    }
}
