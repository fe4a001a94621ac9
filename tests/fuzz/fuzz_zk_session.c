/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ZooKeeper client: the input is a program of steps, which says what is
 * requested, what the server answers and when, and what happens to connections
 * and memory.
 *
 * The first byte chooses the server.  An honest server does what it is asked
 * to, perhaps late, in pieces, or with its reply lost; then everything the
 * client reports about its tickets must be true.  A dishonest server sends
 * anything.
 *
 * After each step the checks of the fixture hold (see zk_fixture.h).  At the
 * end, with an honest server and enough memory, the client takes a ticket,
 * removes it and ends.
 */
#include <string.h>

#include "fuzz.h"
#include "heap/heap.h"
#include "zk_program.h"

/* --------------------------------------------------------- link and time -- */

/* Calls about a connection that has ended. */
static void send_stale(struct zk_program *p)
{
    static const uint8_t pong[] = {0, 0, 0, 16, 0xff, 0xff, 0xff, 0xfe};
    uint64_t number = p->f.connection_number - 1;
    size_t received = p->f.events.used;

    hf_zk_session_connection_up(hf_zk_engine_session(p->f.zk), number,
                                p->f.now_ms);
    hf_zk_session_receive(hf_zk_engine_session(p->f.zk), number, p->f.now_ms,
                          pong, sizeof pong);
    hf_zk_session_connection_down(hf_zk_engine_session(p->f.zk), number,
                                  p->f.now_ms, HF_EUNREACHABLE, "stale");
    MUST(p->f.events.used == received);
}

static void connect_up(struct zk_program *p)
{
    if (p->f.server == NULL || p->f.up)
        return;
    if (p->honest)
        zk_fake_connect(&p->f, &p->server);
    else
        link_up(&p->f);
}

static void pass_time(struct zk_program *p, uint64_t ms)
{
    if (p->f.closed)
        set_time(&p->f, p->f.now_ms + ms);
    else
        advance_to(&p->f, p->f.now_ms + ms);
}

/* ----------------------------------------------------------------- steps -- */

static void serve(struct zk_program *p, unsigned count)
{
    while (count-- > 0 && p->f.first != NULL)
        zk_fake_answer(&p->f, &p->server);
}

/* Another client changes a ticket. */
static void disturb(struct zk_program *p, uint8_t choice)
{
    bool participant = program_is_participant(choice);
    char ticket[16];

    snprintf(ticket, sizeof ticket, "%s/%c", program_queue(choice),
             program_letter(choice));
    choice /= PROGRAM_TICKETS;
    if (choice % 3 == 0) {
        zk_fake_change(&p->f, &p->server, ticket, choice / 3 % 2 == 0);
    } else if (choice % 3 == 1) {
        p->removed = true;
        zk_fake_remove(&p->f, &p->server, ticket);
    } else if (program_is_others(strrchr(ticket, '/') + 1) && !p->f.holding) {
        zk_fake_put(&p->f, &p->server, ticket, participant);
    }
}

/* What any server does. */
static void answer(struct zk_program *p, uint8_t step)
{
    if (!p->f.up)
        return;
    if (step == 13)
        serve(p, 1 + zk_program_next(p) % 4);
    else if (step == 14)
        serve(p, 64);
    else if (step == 15)
        hold_answers(&p->f);
    else if (step == 16)
        deliver_answers(&p->f);
    else if (step == 17 && p->f.pings > 0)
        pong(&p->f);
}

static void step(struct zk_program *p)
{
    uint8_t which = zk_program_next(p) % 31;

    if (which < PROGRAM_KINDS) {
        program_request(p, program_kinds[which], zk_program_next(p));
    } else if (which == 30) {
        program_request(p, HF_REQUEST_WATCH_QUEUE, zk_program_next(p));
    } else if (which == 6) {
        program_unwatch(p, zk_program_next(p) % 8);
    } else if (which == 7) {
        pass_time(p, zk_program_next(p));
    } else if (which == 8) {
        pass_time(p, zk_program_next(p) * UINT64_C(100));
    } else if (which == 9) {
        wake(&p->f);
    } else if (which == 10) {
        connect_up(p);
    } else if (which == 11) {
        link_down(&p->f, "reset");
    } else if (which == 12) {
        send_stale(p);
    } else if (which == 18) {
        if (p->honest)
            disturb(p, zk_program_next(p));
    } else if (which == 19) {
        p->inside = zk_program_next(p) % 4;
        p->inside_kind = zk_program_next(p);
        p->inside_ticket = zk_program_next(p);
    } else if (which == 29) {
        if (zk_program_next(p) & 1)
            p->f.chunk = zk_program_next(p);
        else
            heap_fail(zk_program_next(p) % 32, false);
    } else if (which < 20) {
        answer(p, which);
    } else {
        dishonest_answer(p, which);
    }
}

/* ------------------------------------------------------------------- end -- */

/* The client without a session keeps itself, two buffers of its connection
 * and one of snapshots; the fixture has one allocation. */
#define LEFT_MOST 5

static void expect(struct zk_program *p, enum hf_request_kind kind,
                   const char *expected)
{
    const char *received;

    (void)zk_fixture_events(&p->f);
    (void)ask(&p->f, kind, "z");
    zk_fake_serve(&p->f, &p->server);
    received = zk_fixture_events(&p->f);
    if (strstr(received, expected) == NULL)
        fprintf(stderr, "not %s but %s\n", expected, received);
    MUST(strstr(received, expected) != NULL);
}

/* Everything has been answered, so each watch must be for a node that
 * exists. */
static void check_waits(struct zk_program *p)
{
    char ticket[32];

    if (!p->f.connected)
        return;
    for (const struct zk_fixture_request *r = p->f.requests; r != NULL;
         r = r->next) {
        if (r->state != ZK_FIXTURE_WATCHING ||
            r->request.kind == HF_REQUEST_WATCH_QUEUE)
            continue;
        program_name_ticket(r, ticket);
        MUST(zk_fake_has(&p->server, ticket));
        MUST(!zk_fake_has_unreported(&p->server, ticket));
    }
}

/* Answer all requests of this connection, if it is up. */
static void finish(struct zk_program *p)
{
    pass_time(p, 0);
    if (p->f.up && p->f.holding)
        deliver_answers(&p->f);
    zk_fake_serve(&p->f, &p->server);
    check_waits(p);
}

/* Whatever happened before, the client works. */
static void check_it_works(struct zk_program *p)
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

static void end(struct zk_program *p)
{
    heap_fail(0, false);
    p->f.chunk = 0;
    p->inside = 0;
    if (p->ending) {
        for (int i = 0; !p->f.closed; i++) {
            MUST(i <
                 4); /* it does not wait long for the close of its session */
            wake(&p->f);
        }
    } else {
        if (p->honest)
            finish(p);
        link_down(&p->f, "the last");
        if (!p->honest) {
            /* The client knows nothing of what the dishonest server
             * invented. */
            zk_fake_begin(&p->f, &p->server);
            p->f.session++;
        }
        check_it_works(p);
    }
    MUST(p->f.closed && p->f.under_way == 0);
    MUST(hf_zk_session_wake_at_ms(hf_zk_engine_session(p->f.zk)) == HF_FOREVER);
    MUST(heap_live() <= LEFT_MOST);
    zk_fixture_close(&p->f);
}

int LLVMFuzzerTestOneInput(const uint8_t *data_, size_t bytes)
{
    static struct zk_program p;

    memset(&p, 0, sizeof p);
    p.bytes = data_;
    p.left = bytes;
    p.honest = zk_program_next(&p) & 1;
    p.lingers = bytes % 4 >= 2;
    zk_fixture_init(&p.f);
    p.f.config.url.session.window = bytes / 4 % 4; /* 0: no limit */
    p.f.event_hook = program_on_event;
    zk_fake_begin(&p.f, &p.server);
    p.server.no_containers = p.honest && bytes % 2 == 1;
    MUST(zk_fixture_open(&p.f));
    while (p.left > 0 && !p.f.closed) {
        step(&p);
        MUST(!p.honest || !p.server.unreported);
        MUST(p.f.closed || hf_zk_session_wake_at_ms(
                               hf_zk_engine_session(p.f.zk)) != HF_FOREVER);
    }
    end(&p);
    return 0;
}
