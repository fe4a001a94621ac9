/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every pair of disturbances in every state, then an honest engine to the end.
 * Whatever happened, the owner was told once, nothing of it stays in the queue,
 * and the core forgets it.  The stage itself checks that nothing is told twice
 * and nobody loses what he does not hold.
 */
#include "stage.h"

#include <assert.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* An engine with one queue, and a stranger x at its head who leaves in the
 * end. */
struct engine {
    struct stage stage;
    struct hf_ticket tickets[STAGE_TICKETS * 2];
    size_t count;
    uint64_t sequence;
    struct hf_ticket late; /* an enqueue that takes effect in a while */
    uint64_t late_at_ms;
    bool over; /* END was answered */
};

/* ------------------------------------------------------------ the engine -- */

static void push(struct engine *e, const struct hf_ticket_id *id)
{
    assert_true(e->count < COUNT(e->tickets));
    e->sequence++;
    e->tickets[e->count++] = (struct hf_ticket){.id = *id,
                                                .sequence = e->sequence,
                                                .token = e->sequence,
                                                .kind = HF_TICKET_MUTEX,
                                                .payload = "somebody"};
}

static struct hf_ticket_id stranger(void)
{
    struct hf_ticket_id id;

    memset(id.bytes, 'x', sizeof id.bytes);
    return id;
}

static bool take_out(struct engine *e, const struct hf_ticket_id *id)
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

static bool is_there(const struct engine *e, const struct hf_ticket_id *id)
{
    struct hf_snapshot snapshot = {e->tickets, e->count, 0};

    return hf_snapshot_find(&snapshot, id) != e->count;
}

static void send(struct engine *e, struct stage_pending *slot,
                 struct hf_event event)
{
    event.now_ms = e->stage.now_ms;
    event.as.answer.request = slot->request;
    if (event.kind != HF_EVENT_WATCHING)
        slot->text[0] = '\0';
    hf_core_step(&e->stage.core, &event);
    hf_core_check(&e->stage.core);
}

static void answer(struct engine *e, struct stage_pending *slot)
{
    const struct hf_request *request = slot->request;
    struct hf_snapshot snapshot = {e->tickets, 0, 0};
    bool there = is_there(e, &request->ticket);

    switch (request->kind) {
    case HF_REQUEST_ENQUEUE:
        if (!there)
            push(e, &request->ticket);
        snapshot.count = e->count;
        send(e, slot,
             (struct hf_event){.kind = HF_EVENT_ENQUEUED,
                               .as.answer.snapshot = snapshot});
        break;
    case HF_REQUEST_LIST:
        snapshot.count = e->count;
        send(e, slot,
             (struct hf_event){.kind = HF_EVENT_LISTED,
                               .as.answer.snapshot = snapshot});
        break;
    case HF_REQUEST_WATCH_QUEUE:
        assert(false && "nobody wants permits here");
        break;
    case HF_REQUEST_WATCH:
        send(e, slot,
             (struct hf_event){.kind =
                                   there ? HF_EVENT_WATCHING : HF_EVENT_GONE});
        break;
    case HF_REQUEST_REMOVE:
        take_out(e, &request->ticket);
        send(e, slot,
             (struct hf_event){.kind = HF_EVENT_REMOVED,
                               .as.answer.found = there});
        break;
    case HF_REQUEST_DESCRIBE:
        send(e, slot,
             (struct hf_event){.kind = HF_EVENT_DESCRIBED,
                               .as.answer.found = there});
        break;
    case HF_REQUEST_REVOKE:
        send(e, slot,
             (struct hf_event){.kind = HF_EVENT_REVOKE_SENT,
                               .as.answer.found = there});
        break;
    case HF_REQUEST_SET_FLAG:
    case HF_REQUEST_CLEAR_FLAG:
    case HF_REQUEST_NEW_GENERATION:
        assert(false && "nobody has a barrier here");
        break;
    case HF_REQUEST_PROVE:
        send(e, slot,
             (struct hf_event){.kind = HF_EVENT_PROVEN,
                               .as.answer.anchor_ms = e->stage.now_ms});
        break;
    case HF_REQUEST_DOWNGRADE: /* nobody's here */
        fail();
        break;
    case HF_REQUEST_END:
        e->count = 0;
        e->late_at_ms = 0;
        e->over = true;
        closed(&e->stage);
    }
}

static struct stage_pending *next_pending(struct engine *e)
{
    for (size_t i = 0; i < STAGE_PENDING; i++) {
        struct stage_pending *slot = &e->stage.pending[i];

        if (slot->text[0] == '\0')
            continue;
        if (slot->request->busy ||
            !is_there(e, &slot->request->ticket)) /* a GONE is due */
            return slot;
    }
    return NULL;
}

static void answer_all(struct engine *e)
{
    unsigned answers = 0;

    for (;;) {
        struct stage_pending *slot;

        stage_drain(&e->stage);
        slot = next_pending(e);
        if (slot == NULL)
            return;
        assert_true(answers++ < 1000);
        answer(e, slot);
    }
}

/* Everything under way fails; what had been asked to be enqueued may be there
 * all the same, or come later. */
enum ghost { GHOST_NONE, GHOST_THERE, GHOST_LATE };

static void fail_all(struct engine *e, enum hf_failure failure,
                     enum ghost ghost)
{
    stage_drain(&e->stage);
    for (size_t i = 0; i < STAGE_PENDING; i++) {
        struct stage_pending *slot = &e->stage.pending[i];

        if (slot->text[0] == '\0' || !slot->request->busy ||
            slot->request->kind == HF_REQUEST_END)
            continue;
        if (slot->request->kind == HF_REQUEST_ENQUEUE && ghost == GHOST_THERE)
            push(e, &slot->request->ticket);
        if (slot->request->kind == HF_REQUEST_ENQUEUE && ghost == GHOST_LATE) {
            e->late.id = slot->request->ticket;
            e->late_at_ms = e->stage.now_ms + 5000;
        }
        send(e, slot,
             (struct hf_event){.kind = HF_EVENT_FAILED,
                               .as.answer = {.failure = failure,
                                             .status = HF_EUNREACHABLE,
                                             .text = "cut"}});
    }
}

/* ---------------------------------------------------------------- states -- */

static void not_connected(struct engine *e)
{
    stage_init(&e->stage, 3);
    want(&e->stage, &e->stage.a);
}

static void enqueuing(struct engine *e)
{
    stage_connected(&e->stage, 3);
    want(&e->stage, &e->stage.a);
    stage_drain(&e->stage);
}

static void asked_by_nobody_yet(struct engine *e)
{
    stage_connected(&e->stage, 3);
    want(&e->stage, &e->stage.a);
}

static void backing_off(struct engine *e)
{
    enqueuing(e);
    fail_all(e, HF_FAILURE_RETRY, GHOST_NONE);
}

static void unsure(struct engine *e)
{
    enqueuing(e);
    fail_all(e, HF_FAILURE_UNSURE, GHOST_THERE);
}

static void unsure_in_vain(struct engine *e)
{
    enqueuing(e);
    fail_all(e, HF_FAILURE_UNSURE, GHOST_LATE);
}

static void queued(struct engine *e)
{
    struct hf_ticket_id x = stranger();

    enqueuing(e);
    push(e, &x);
    answer_all(e);
}

static void listing(struct engine *e)
{
    struct hf_ticket_id x = stranger();

    queued(e);
    take_out(e, &x);
    push(e, &x); /* the stranger came again, behind */
    e->stage.a.tickets.current->list_wanted = true;
    hf_schedule_touch(&e->stage.core, &e->stage.a.entry);
    hf_core_step(&e->stage.core, &(struct hf_event){.kind = HF_EVENT_TICK,
                                                    .now_ms = e->stage.now_ms});
}

static void unproven(struct engine *e)
{
    stage_connected(&e->stage, 3);
    at(&e->stage, 90000);
    want(&e->stage, &e->stage.a);
    stage_drain(&e->stage);
    answer(e, next_pending(e)); /* PROVE, */
    answer(e, next_pending(e)); /* and the place, ... */
    suspended(&e->stage);
}

static void held(struct engine *e)
{
    enqueuing(e);
    answer_all(e);
    assert_true(e->stage.held[0]);
}

static void held_and_watched(struct engine *e)
{
    held(e);
    at(&e->stage, e->stage.now_ms + HF_OWN_WATCH_AFTER_MS);
}

static void lost(struct engine *e)
{
    held(e);
    at(&e->stage, STAGE_SAFE_MS);
}

static void releasing(struct engine *e)
{
    held_and_watched(e);
    release(&e->stage, &e->stage.a);
}

static void withdrawing(struct engine *e)
{
    queued(e);
    cancel(&e->stage, &e->stage.a);
}

static void cancelled_while_enqueuing(struct engine *e)
{
    enqueuing(e);
    cancel(&e->stage, &e->stage.a);
}

/* ---------------------------------------------------------- disturbances -- */

static void nothing(struct engine *e)
{
    stage_drain(&e->stage);
}

static void answers(struct engine *e)
{
    if (e->stage.core.session.state == HF_STATE_CONNECTED)
        answer_all(e);
}

static void owner_cancels(struct engine *e)
{
    if (e->stage.forgotten[0] == 0)
        cancel(&e->stage, &e->stage.a);
}

static bool may_release(const struct engine *e)
{
    return e->stage.a.state == HF_ACQUISITION_HELD ||
           e->stage.a.state == HF_ACQUISITION_LOST;
}

static void owner_releases(struct engine *e)
{
    stage_drain(&e->stage);
    if (may_release(e))
        release(&e->stage, &e->stage.a);
}

static void requests_fail(struct engine *e)
{
    fail_all(e, HF_FAILURE_RETRY, GHOST_NONE);
}

static void requests_get_no_answer(struct engine *e)
{
    fail_all(e, HF_FAILURE_UNSURE, GHOST_NONE);
}

static void requests_take_effect_unseen(struct engine *e)
{
    fail_all(e, HF_FAILURE_UNSURE, GHOST_THERE);
}

static void requests_take_effect_late(struct engine *e)
{
    fail_all(e, HF_FAILURE_UNSURE, GHOST_LATE);
}

static void requests_are_refused(struct engine *e)
{
    fail_all(e, HF_FAILURE_FATAL, GHOST_NONE);
}

static void the_link_drops(struct engine *e)
{
    suspended(&e->stage);
    fail_all(e, HF_FAILURE_UNSURE, GHOST_THERE);
}

static void the_link_flaps(struct engine *e)
{
    the_link_drops(e);
    resuming(&e->stage, e->stage.now_ms, STAGE_TIMEOUT_MS / 2);
    connected(&e->stage, e->stage.now_ms,
              hf_session_alive(&e->stage.core.session));
}

static void the_session_is_lost(struct engine *e)
{
    struct hf_ticket_id x = stranger();
    bool had_x = is_there(e, &x);

    fail_all(e, HF_FAILURE_RETRY, GHOST_NONE);
    stage_drain(&e->stage);
    fail_all(e, HF_FAILURE_RETRY, GHOST_NONE);
    e->count = 0;
    e->late_at_ms = 0;
    if (had_x)
        push(e, &x);
    session_lost(&e->stage, HF_ELOST);
}

static void time_flies(struct engine *e)
{
    at(&e->stage, e->stage.now_ms + 3600000);
}

static void a_moment_passes(struct engine *e)
{
    at(&e->stage, e->stage.now_ms + 50);
}

static void all_tickets_are_removed(struct engine *e)
{
    stage_drain(&e->stage);
    e->count = 0;
}

static void the_client_closes(struct engine *e)
{
    close_core(&e->stage);
}

struct part {
    const char *name;
    void (*play)(struct engine *e);
};
#define PART(name)                                                             \
    {                                                                          \
#name, name                                                            \
    }

static const struct part beginnings[] = {
    PART(not_connected),
    PART(asked_by_nobody_yet),
    PART(enqueuing),
    PART(backing_off),
    PART(unsure),
    PART(unsure_in_vain),
    PART(queued),
    PART(listing),
    PART(unproven),
    PART(held),
    PART(held_and_watched),
    PART(lost),
    PART(releasing),
    PART(withdrawing),
    PART(cancelled_while_enqueuing),
};

static const struct part disturbances[] = {
    PART(nothing),
    PART(answers),
    PART(owner_cancels),
    PART(owner_releases),
    PART(requests_fail),
    PART(requests_get_no_answer),
    PART(requests_take_effect_unseen),
    PART(requests_take_effect_late),
    PART(requests_are_refused),
    PART(the_link_drops),
    PART(the_link_flaps),
    PART(the_session_is_lost),
    PART(time_flies),
    PART(a_moment_passes),
    PART(all_tickets_are_removed),
    PART(the_client_closes),
};

/* --------------------------------------------------------------- the end -- */

static void late_ticket_comes(struct engine *e)
{
    if (e->late_at_ms == 0 || e->stage.now_ms < e->late_at_ms)
        return;
    e->late_at_ms = 0;
    push(e, &e->late.id);
}

static void come_back(struct engine *e)
{
    stage_drain(&e->stage);
    if (e->over || e->stage.core.session.state == HF_STATE_CONNECTED)
        return;
    fail_all(e, HF_FAILURE_RETRY, GHOST_NONE);
    connected(&e->stage, e->stage.now_ms,
              e->stage.core.session.state == HF_STATE_SUSPENDED);
}

/* From here on the engine is well, x leaves, and the owner releases. */
static void play_to_the_end(struct engine *e)
{
    struct hf_ticket_id x = stranger();

    come_back(e);
    take_out(e, &x);
    for (int turn = 0; turn < 200 && e->stage.forgotten[0] == 0; turn++) {
        late_ticket_comes(e);
        answer_all(e);
        if (may_release(e))
            release(&e->stage, &e->stage.a);
        else if (hf_core_wake_at_ms(&e->stage.core) != HF_FOREVER)
            ring(&e->stage);
        if (e->late_at_ms != 0 && e->stage.now_ms < e->late_at_ms &&
            e->stage.answers[0] > 0)
            at(&e->stage, e->late_at_ms);
    }
}

static void play(const struct part *beginning, const struct part *first,
                 const struct part *second)
{
    static struct engine engine;
    struct engine *e = &engine;

    memset(e, 0, sizeof *e);
    beginning->play(e);
    first->play(e);
    second->play(e);
    play_to_the_end(e);
    if (e->stage.forgotten[0] != 1 || e->stage.answers[0] != 1 ||
        e->count != 0 || e->late_at_ms != 0 || e->stage.core.first != NULL)
        fail_msg("%s, %s, %s: answers %u, forgotten %u, tickets %zu",
                 beginning->name, first->name, second->name,
                 e->stage.answers[0], e->stage.forgotten[0], e->count);
}

static void fn29_every_story_ends_well(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT(beginnings); i++) {
        for (size_t j = 0; j < COUNT(disturbances); j++) {
            for (size_t k = 0; k < COUNT(disturbances); k++)
                play(&beginnings[i], &disturbances[j], &disturbances[k]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fn29_every_story_ends_well),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
