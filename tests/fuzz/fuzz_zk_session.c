/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The client of an ensemble: the input is a program of steps, what is asked of
 * it, what its server says and when, what becomes of its links and of its
 * memory.
 *
 * The first byte decides whether the server is honest: it then does what it is
 * asked to, late, in pieces, or without our hearing of it, but does it; and
 * what the client says became of its tickets has to be so.  The other server
 * says anything.
 *
 * After every step the stage's own properties hold (see zk_stage.h).  In the
 * end, with an honest server and with memory, the client takes a ticket, gives
 * it back and ends.
 */
#include <string.h>

#include "fuzz.h"
#include "heap/heap.h"
#include "play.h"

/* --------------------------------------------------------- link and time -- */

/* Calls about a connection that is no more. */
static void stale(struct play *p)
{
    static const uint8_t pong[] = {0, 0, 0, 16, 0xff, 0xff, 0xff, 0xfe};
    uint64_t number = p->f.connection_number - 1;
    size_t told = p->f.events.used;

    hf_zk_session_connection_up(hf_zk_session(p->f.zk), number, p->f.now_ms);
    hf_zk_session_receive(hf_zk_session(p->f.zk), number, p->f.now_ms, pong,
                          sizeof pong);
    hf_zk_session_connection_down(hf_zk_session(p->f.zk), number, p->f.now_ms,
                                  HF_EUNREACHABLE, "stale");
    MUST(p->f.events.used == told);
}

static void come_up(struct play *p)
{
    if (p->f.server == NULL || p->f.up)
        return;
    if (p->zk_fake_server)
        zk_fake_connect(&p->f, &p->server);
    else
        link_up(&p->f);
}

static void pass(struct play *p, uint64_t ms)
{
    if (p->f.closed)
        set_time(&p->f, p->f.now_ms + ms);
    else
        advance_to(&p->f, p->f.now_ms + ms);
}

/* ----------------------------------------------------------------- steps -- */

static void serve(struct play *p, unsigned count)
{
    while (count-- > 0 && p->f.first != NULL)
        zk_fake_answer(&p->f, &p->server);
}

/* Somebody else has to do with a ticket. */
static void meddle(struct play *p, uint8_t how)
{
    bool member = play_is_member(how);
    char ticket[16];

    snprintf(ticket, sizeof ticket, "%s/%c", play_queue(how), play_letter(how));
    how /= PLAY_TICKETS;
    if (how % 3 == 0) {
        zk_fake_change(&p->f, &p->server, ticket, how / 3 % 2 == 0);
    } else if (how % 3 == 1) {
        p->removed = true;
        zk_fake_remove(&p->f, &p->server, ticket);
    } else if (play_is_others(strrchr(ticket, '/') + 1) && !p->f.holding) {
        zk_fake_put(&p->f, &p->server, ticket, member);
    }
}

/* What any server does. */
static void answer(struct play *p, uint8_t step)
{
    if (!p->f.up)
        return;
    if (step == 13)
        serve(p, 1 + play_next(p) % 4);
    else if (step == 14)
        serve(p, 64);
    else if (step == 15)
        hold_answers(&p->f);
    else if (step == 16)
        deliver_answers(&p->f);
    else if (step == 17 && p->f.pings > 0)
        pong(&p->f);
}

static void step(struct play *p)
{
    uint8_t which = play_next(p) % 31;

    if (which < PLAY_KINDS) {
        play_request(p, play_kinds[which], play_next(p));
    } else if (which == 30) {
        play_request(p, HF_REQUEST_WATCH_QUEUE, play_next(p));
    } else if (which == 6) {
        play_forget(p, play_next(p) % 8);
    } else if (which == 7) {
        pass(p, play_next(p));
    } else if (which == 8) {
        pass(p, play_next(p) * UINT64_C(100));
    } else if (which == 9) {
        wake(&p->f);
    } else if (which == 10) {
        come_up(p);
    } else if (which == 11) {
        link_down(&p->f, "reset");
    } else if (which == 12) {
        stale(p);
    } else if (which == 18) {
        if (p->zk_fake_server)
            meddle(p, play_next(p));
    } else if (which == 19) {
        p->inside = play_next(p) % 4;
        p->inside_kind = play_next(p);
        p->inside_ticket = play_next(p);
    } else if (which == 29) {
        if (play_next(p) & 1)
            p->f.chunk = play_next(p);
        else
            heap_fail(play_next(p) % 32, false);
    } else if (which < 20) {
        answer(p, which);
    } else {
        liar_speaks(p, which);
    }
}

/* ------------------------------------------------------------------- end -- */

/* Of what the client has once it has no session: itself, the two buffers of
 * its connection and that of snapshots; and the stage its own. */
#define LEFT_MOST 5

static void expect(struct play *p, enum hf_request_kind kind,
                   const char *expected)
{
    const char *told;

    (void)zk_fixture_events(&p->f);
    (void)ask(&p->f, kind, "z");
    zk_fake_serve(&p->f, &p->server);
    told = zk_fixture_events(&p->f);
    if (strstr(told, expected) == NULL)
        fprintf(stderr, "not %s but %s\n", expected, told);
    MUST(strstr(told, expected) != NULL);
}

/* Everything has been served: whoever waits has something to wait for. */
static void check_waits(struct play *p)
{
    char ticket[32];

    if (!p->f.connected)
        return;
    for (const struct zk_fixture_request *r = p->f.requests; r != NULL;
         r = r->next) {
        if (r->state != ZK_FIXTURE_WATCHING ||
            r->request.kind == HF_REQUEST_WATCH_QUEUE)
            continue;
        play_name_ticket(r, ticket);
        MUST(zk_fake_has(&p->server, ticket));
        MUST(!zk_fake_has_unreported(&p->server, ticket));
    }
}

/* Answer all that was asked on this connection, if it can be. */
static void finish(struct play *p)
{
    pass(p, 0);
    if (p->f.up && p->f.holding)
        deliver_answers(&p->f);
    zk_fake_serve(&p->f, &p->server);
    check_waits(p);
}

/* Whatever happened: it works. */
static void work_on(struct play *p)
{
    for (int i = 0; !p->f.connected; i++) {
        MUST(i < 20);
        if (p->f.server == NULL || p->f.up)
            wake(&p->f);
        else
            zk_fake_connect(&p->f, &p->server);
    }
    zk_fake_serve(&p->f, &p->server);
    check_waits(p);
    p->f.queue = "q";
    p->f.kind = HF_TICKET_MUTEX;
    p->f.limit = 0;
    expect(p, HF_REQUEST_ENQUEUE, "ENQUEUED z:");
    expect(p, HF_REQUEST_WATCH, "WATCHING z");
    expect(p, HF_REQUEST_PROVE, p->removed ? "PROVE" : "PROVEN ");
    expect(p, HF_REQUEST_REMOVE, "REMOVED z found");
    expect(p, HF_REQUEST_LIST, "LISTED z:");
    expect(p, HF_REQUEST_END, "CLOSED");
}

static void end(struct play *p)
{
    heap_fail(0, false);
    p->f.chunk = 0;
    p->inside = 0;
    if (p->ending) {
        for (int i = 0; !p->f.closed; i++) {
            MUST(i < 4); /* it does not wait long for a goodbye */
            wake(&p->f);
        }
    } else {
        if (p->zk_fake_server)
            finish(p);
        link_down(&p->f, "the last");
        if (!p->zk_fake_server) {
            /* It knows nothing of what was said in its name. */
            zk_fake_begin(&p->f, &p->server);
            p->f.session++;
        }
        work_on(p);
    }
    MUST(p->f.closed && p->f.under_way == 0);
    MUST(hf_zk_session_wake_at_ms(hf_zk_session(p->f.zk)) == HF_FOREVER);
    MUST(heap_live() <= LEFT_MOST);
    zk_fixture_close(&p->f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data_, size_t bytes)
{
    static struct play p;

    memset(&p, 0, sizeof p);
    p.bytes = data_;
    p.left = bytes;
    p.zk_fake_server = play_next(&p) & 1;
    p.lingers = bytes % 4 >= 2;
    zk_fixture_init(&p.f);
    p.f.config.session.window = bytes / 4 % 4; /* 0: wide */
    p.f.event_hook = play_on_event;
    zk_fake_begin(&p.f, &p.server);
    p.server.no_containers = p.zk_fake_server && bytes % 2 == 1;
    MUST(zk_fixture_open(&p.f));
    while (p.left > 0 && !p.f.closed) {
        step(&p);
        MUST(!p.zk_fake_server || !p.server.unreported);
        MUST(p.f.closed ||
             hf_zk_session_wake_at_ms(hf_zk_session(p.f.zk)) != HF_FOREVER);
    }
    end(&p);
    return 0;
}
