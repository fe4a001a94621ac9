/* SPDX-License-Identifier: Apache-2.0 */
/* The watches of an acquisition: which ones it wants, and which are being
 * taken back. */
#include <stdint.h>
#include <string.h>

#include "cmocka/runner.h"
#include "core/own_ticket.h"

struct watch_fixture {
    struct hf_own_ticket ticket;
    struct hf_effect_queue effects;
};

static void begin(struct watch_fixture *s)
{
    *s = (struct watch_fixture){.ticket = {.request = {.queue = "q"}}};
    hf_effect_queue_init(&s->effects);
}

static struct hf_watched_ticket watched(char name)
{
    struct hf_watched_ticket ticket = {.kind = HF_TICKET_MUTEX};

    memset(ticket.id.bytes, name, sizeof ticket.id.bytes);
    return ticket;
}

/* The acquisition wants watches of the tickets ${names}. */
static void follow(struct watch_fixture *s, const char *names)
{
    struct hf_watched_ticket wanted[HF_WATCHED_MAX];
    size_t count = strlen(names);

    assert_true(count <= HF_WATCHED_MAX);
    for (size_t i = 0; i < count; i++)
        wanted[i] = watched(names[i]);
    assert_true(
        hf_ticket_watches_update(&s->ticket, &s->effects, wanted, count, true));
}

/* The next effect must be of ${kind} and about the ticket ${name}. */
static struct hf_request *take(struct watch_fixture *s,
                               enum hf_effect_kind kind, char name)
{
    struct hf_effect *effect = hf_effect_take(&s->effects);

    assert_non_null(effect);
    assert_int_equal(effect->kind, kind);
    assert_int_equal(effect->request->ticket.bytes[0], name);
    return effect->request;
}

static void take_all(struct watch_fixture *s, enum hf_effect_kind kind,
                     const char *names)
{
    for (; *names != '\0'; names++)
        (void)take(s, kind, *names);
    assert_null(s->effects.first);
}

TEST(a_new_watch_waits_for_one_to_be_taken_back)
{
    struct hf_request *forgotten;
    struct watch_fixture s;

    begin(&s);
    follow(&s, "abc");
    take_all(&s, HF_EFFECT_REQUEST, "abc");
    follow(&s, "dbe"); /* all slots are in use */
    forgotten = take(&s, HF_EFFECT_UNWATCH, 'a');
    take_all(&s, HF_EFFECT_UNWATCH, "c");
    hf_ticket_watches_unwatched(&s.ticket.watches, forgotten);
    follow(&s, "dbe");
    take_all(&s, HF_EFFECT_REQUEST, "d");
    hf_ticket_watches_free(&s.ticket.watches);
}

TEST(they_are_idle_when_none_is_with_the_engine)
{
    struct hf_request *asked;
    struct watch_fixture s;

    begin(&s);
    assert_true(hf_ticket_watches_idle(&s.ticket.watches));
    follow(&s, "a");
    asked = take(&s, HF_EFFECT_REQUEST, 'a');
    assert_true(hf_ticket_watches_any(&s.ticket.watches));
    assert_true(hf_ticket_watches_is_wanted(&s.ticket.watches, asked));
    follow(&s, "");
    assert_false(hf_ticket_watches_any(&s.ticket.watches));
    assert_false(hf_ticket_watches_is_wanted(&s.ticket.watches, asked));
    assert_false(hf_ticket_watches_idle(&s.ticket.watches));
    (void)take(&s, HF_EFFECT_UNWATCH, 'a');
    hf_ticket_watches_unwatched(&s.ticket.watches, asked);
    assert_true(hf_ticket_watches_idle(&s.ticket.watches));
}
