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
    uint64_t number = p->s.connection_number - 1;
    size_t told = p->s.told.used;

    hf_zk_session_connection_up(hf_zk_session(p->s.zk), number, p->s.now_ms);
    hf_zk_session_receive(hf_zk_session(p->s.zk), number, p->s.now_ms, pong,
                          sizeof pong);
    hf_zk_session_connection_down(hf_zk_session(p->s.zk), number, p->s.now_ms,
                                  HF_EUNREACHABLE, "stale");
    MUST(p->s.told.used == told);
}

static void come_up(struct play *p)
{
    if (p->s.server == NULL || p->s.up)
        return;
    if (p->honest)
        honest_connect(&p->s, &p->server);
    else
        link_up(&p->s);
}

static void pass(struct play *p, uint64_t ms)
{
    if (p->s.closed)
        at(&p->s, p->s.now_ms + ms);
    else
        later(&p->s, p->s.now_ms + ms);
}

/* ----------------------------------------------------------------- steps -- */

static void serve(struct play *p, unsigned count)
{
    while (count-- > 0 && p->s.first != NULL)
        honest_answer(&p->s, &p->server);
}

/* Somebody else has to do with a ticket. */
static void meddle(struct play *p, uint8_t how)
{
    bool member = play_is_member(how);
    char ticket[16];

    snprintf(ticket, sizeof ticket, "%s/%c", play_queue(how), play_letter(how));
    how /= PLAY_TICKETS;
    if (how % 3 == 0) {
        honest_change(&p->s, &p->server, ticket, how / 3 % 2 == 0);
    } else if (how % 3 == 1) {
        p->removed = true;
        honest_remove(&p->s, &p->server, ticket);
    } else if (play_is_others(strrchr(ticket, '/') + 1) && !p->s.holding) {
        honest_put(&p->s, &p->server, ticket, member);
    }
}

/* What any server does. */
static void answer(struct play *p, uint8_t step)
{
    if (!p->s.up)
        return;
    if (step == 13)
        serve(p, 1 + play_next(p) % 4);
    else if (step == 14)
        serve(p, 64);
    else if (step == 15)
        hold(&p->s);
    else if (step == 16)
        deliver(&p->s);
    else if (step == 17 && p->s.pings > 0)
        pong(&p->s);
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
        ring(&p->s);
    } else if (which == 10) {
        come_up(p);
    } else if (which == 11) {
        link_down(&p->s, "reset");
    } else if (which == 12) {
        stale(p);
    } else if (which == 18) {
        if (p->honest)
            meddle(p, play_next(p));
    } else if (which == 19) {
        p->inside = play_next(p) % 4;
        p->inside_kind = play_next(p);
        p->inside_ticket = play_next(p);
    } else if (which == 29) {
        if (play_next(p) & 1)
            p->s.chunk = play_next(p);
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

    (void)stage_told(&p->s);
    (void)ask(&p->s, kind, "z");
    honest_serve(&p->s, &p->server);
    told = stage_told(&p->s);
    if (strstr(told, expected) == NULL)
        fprintf(stderr, "not %s but %s\n", expected, told);
    MUST(strstr(told, expected) != NULL);
}

/* Everything has been served: whoever waits has something to wait for. */
static void check_waits(struct play *p)
{
    char ticket[32];

    if (!p->s.connected)
        return;
    for (const struct stage_request *r = p->s.requests; r != NULL;
         r = r->next) {
        if (r->state != STAGE_WATCHING ||
            r->request.kind == HF_REQUEST_WATCH_QUEUE)
            continue;
        play_name_ticket(r, ticket);
        MUST(honest_has(&p->server, ticket));
        MUST(!honest_has_untold(&p->server, ticket));
    }
}

/* Answer all that was asked on this connection, if it can be. */
static void finish(struct play *p)
{
    pass(p, 0);
    if (p->s.up && p->s.holding)
        deliver(&p->s);
    honest_serve(&p->s, &p->server);
    check_waits(p);
}

/* Whatever happened: it works. */
static void work_on(struct play *p)
{
    for (int i = 0; !p->s.connected; i++) {
        MUST(i < 20);
        if (p->s.server == NULL || p->s.up)
            ring(&p->s);
        else
            honest_connect(&p->s, &p->server);
    }
    honest_serve(&p->s, &p->server);
    check_waits(p);
    p->s.queue = "q";
    p->s.kind = HF_TICKET_MUTEX;
    p->s.limit = 0;
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
    p->s.chunk = 0;
    p->inside = 0;
    if (p->ending) {
        for (int i = 0; !p->s.closed; i++) {
            MUST(i < 4); /* it does not wait long for a goodbye */
            ring(&p->s);
        }
    } else {
        if (p->honest)
            finish(p);
        link_down(&p->s, "the last");
        if (!p->honest) {
            /* It knows nothing of what was said in its name. */
            honest_begin(&p->s, &p->server);
            p->s.session++;
        }
        work_on(p);
    }
    MUST(p->s.closed && p->s.under_way == 0);
    MUST(hf_zk_session_wake_at_ms(hf_zk_session(p->s.zk)) == HF_FOREVER);
    MUST(heap_live() <= LEFT_MOST);
    stage_close(&p->s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data_, size_t bytes)
{
    static struct play p;

    memset(&p, 0, sizeof p);
    p.bytes = data_;
    p.left = bytes;
    p.honest = play_next(&p) & 1;
    p.lingers = bytes % 4 >= 2;
    stage_init(&p.s);
    p.s.config.session.window = bytes / 4 % 4; /* 0: wide */
    p.s.then = play_on_event;
    honest_begin(&p.s, &p.server);
    p.server.no_containers = p.honest && bytes % 2 == 1;
    MUST(stage_open(&p.s));
    while (p.left > 0 && !p.s.closed) {
        step(&p);
        MUST(!p.honest || !p.server.untold);
        MUST(p.s.closed ||
             hf_zk_session_wake_at_ms(hf_zk_session(p.s.zk)) != HF_FOREVER);
    }
    end(&p);
    return 0;
}
