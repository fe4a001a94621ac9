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
#include "zk_honest.h"

/* Tickets "a" to "h", of which the last four are in the second queue. */
#define TICKETS 8

struct play {
    struct stage s; /* first: events lead back to it */
    struct honest server;
    bool honest;
    const uint8_t *bytes;
    size_t left;
    bool ending;          /* END was asked */
    bool removed;         /* a ticket, by somebody else: checks may fail */
    bool lingers;         /* what lost sessions had stays for ever */
    bool unsure[TICKETS]; /* their ENQUEUE was answered so */
    unsigned inside;      /* so many requests are made inside events */
    uint8_t inside_kind, inside_ticket;
};

static uint8_t next(struct play *p)
{
    if (p->left == 0)
        return 0;
    p->left--;
    return *p->bytes++;
}

/* -------------------------------------------------------------- requests -- */

static const char *queue_of(uint8_t which)
{
    return which % TICKETS < TICKETS / 2 ? "q" : "r/s";
}

/* To an honest server some tickets are other clients'. */
static bool is_others(const char *ticket)
{
    return (ticket[0] - 'a') % 4 == 3;
}

/* The name of the ticket that a request was about, with its queue. */
static void name_ticket(const struct stage_request *r, char ticket[32])
{
    char name[16];

    stage_id_name(&r->about, name);
    snprintf(ticket, 32, "%s/%s", r->request.queue, name);
}

static bool is_busy(const struct play *p, const struct hf_ticket_id *id)
{
    for (const struct stage_request *r = p->s.requests; r != NULL;
         r = r->next) {
        if (r->state != STAGE_ENDED && r->request.kind != HF_REQUEST_LOOK &&
            hf_ticket_id_equal(&r->about, id))
            return true;
    }
    return false;
}

/* The core asks one thing at a time of a ticket, and if it does not know
 * whether there is one, looks or takes it out.  Whoever does otherwise cannot
 * know what the answers mean. */
static bool is_sensible(struct play *p, enum hf_request_kind kind,
                        const char *ticket)
{
    struct hf_ticket_id id = stage_id(ticket);
    char path[16];

    if (kind == HF_REQUEST_PROVE || kind == HF_REQUEST_LOOK)
        return true;
    if (is_busy(p, &id))
        return false;
    if (kind != HF_REQUEST_ENQUEUE && kind != HF_REQUEST_WITHDRAW)
        return true;
    snprintf(path, sizeof path, "%s/%s", p->s.queue, ticket);
    if (honest_has(&p->server, path) &&
        !honest_has_own(&p->s, &p->server, path))
        return false; /* of a session before: ids are drawn once */
    return !is_others(ticket) &&
           (kind == HF_REQUEST_WITHDRAW || !p->unsure[ticket[0] - 'a']);
}

/* Two are leases, and each always as large. */
static void choose_kind(struct play *p, uint8_t which)
{
    bool lease = which % 4 == 1;

    p->s.kind = lease ? HF_TICKET_LEASE : HF_TICKET_MUTEX + which / TICKETS % 3;
    p->s.weight = which % TICKETS == 1 ? 3 : 1;
}

static void request(struct play *p, enum hf_request_kind kind, uint8_t which)
{
    char ticket[] = {(char)('a' + which % TICKETS), '\0'};

    if (p->s.closed)
        return;
    p->s.queue = queue_of(which);
    choose_kind(p, which);
    if (kind == HF_REQUEST_END) {
        if (!p->ending) {
            p->ending = true;
            (void)ask(&p->s, HF_REQUEST_END, "");
        }
    } else if (!p->honest || is_sensible(p, kind, ticket)) {
        (void)ask(&p->s, kind, kind == HF_REQUEST_PROVE ? "" : ticket);
    }
}

static const enum hf_request_kind step_kinds[] = {
    HF_REQUEST_ENQUEUE,  HF_REQUEST_LIST,  HF_REQUEST_WATCH,
    HF_REQUEST_WITHDRAW, HF_REQUEST_PROVE, HF_REQUEST_END,
};
#define STEP_KINDS (sizeof step_kinds / sizeof step_kinds[0])

static void forget_one(struct play *p, unsigned nth)
{
    for (struct stage_request *r = p->s.requests; r != NULL; r = r->next) {
        if (r->state == STAGE_ENDED ||
            (r->request.kind != HF_REQUEST_WATCH &&
             r->request.kind != HF_REQUEST_LOOK) ||
            nth-- > 0)
            continue;
        forget(&p->s, &r->request);
        return;
    }
}

/* ---------------------------------------------------------------- events -- */

static bool is_listed(const struct hf_event *event,
                      const struct hf_ticket_id *id)
{
    const struct hf_snapshot *snapshot = &event->as.answer.snapshot;

    for (size_t i = 0; i < snapshot->count; i++) {
        if (hf_ticket_id_equal(&snapshot->tickets[i].id, id))
            return true;
    }
    return false;
}

/* What an honest server's client says of a ticket is so. */
static void check_ticket(struct play *p, const struct hf_event *event,
                         const struct stage_request *r)
{
    size_t which = (size_t)(r->about.bytes[0] - 'a');
    bool there, own;
    char ticket[32];

    if (which >= TICKETS || r->request.kind == HF_REQUEST_LOOK)
        return; /* "z", of a proof */
    name_ticket(r, ticket);
    there = honest_has(&p->server, ticket);
    own = honest_has_own(&p->s, &p->server, ticket);
    switch (event->kind) {
    case HF_EVENT_GONE: /* or it is not what it was asked for as */
        MUST(!there || honest_has_reader(&p->server, ticket) !=
                           (r->request.ticket_kind == HF_TICKET_READ));
        break;
    case HF_EVENT_LISTED:
    case HF_EVENT_ENQUEUED: /* what is not ours stands under another id */
        MUST(own || p->removed || p->ending || !is_listed(event, &r->about));
        p->unsure[which] = false;
        break;
    case HF_EVENT_WITHDRAWN:
        MUST(!own);
        p->unsure[which] = false;
        break;
    case HF_EVENT_FAILED:
        if (r->request.kind != HF_REQUEST_ENQUEUE)
            break;
        p->unsure[which] = event->as.answer.failure == HF_FAILURE_UNSURE;
        MUST(!own || p->unsure[which]);
        break;
    default:
        break;
    }
}

/* The client has given it up, and the server will, sooner or later. */
static void end_session(struct play *p)
{
    if (p->lingers)
        p->s.session++;
    else
        honest_expire(&p->s, &p->server);
}

static void on_event(struct stage *s, const struct hf_event *event)
{
    struct play *p = (struct play *)(void *)s;
    uint8_t kind = p->inside_kind % 9;

    if (event->kind >= HF_EVENT_ENQUEUED && p->honest &&
        event->as.answer.request != NULL)
        check_ticket(p, event,
                     (const struct stage_request *)(const void *)
                         event->as.answer.request);
    if (event->kind == HF_EVENT_SESSION_LOST) {
        memset(p->unsure, 0, sizeof p->unsure);
        end_session(p);
    }
    if (p->inside == 0)
        return;
    p->inside--;
    p->inside_ticket++;
    if (kind < STEP_KINDS)
        request(p, step_kinds[kind], p->inside_ticket);
    else if (kind == 8)
        request(p, HF_REQUEST_LOOK, p->inside_ticket);
    else
        forget_one(p, kind == 6 ? 0 : 1);
}

/* ------------------------------------------------------- link and time -- */

/* Calls about a connection that is no more. */
static void stale(struct play *p)
{
    static const uint8_t pong[] = {0, 0, 0, 16, 0xff, 0xff, 0xff, 0xfe};
    uint64_t number = p->s.number - 1;
    size_t told = p->s.told.used;

    hf_zk_link_up(p->s.zk, number, p->s.now_ms);
    hf_zk_receive(p->s.zk, number, p->s.now_ms, pong, sizeof pong);
    hf_zk_link_down(p->s.zk, number, p->s.now_ms, "stale");
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

/* ------------------------------------------------- what the server says -- */

static void serve(struct play *p, unsigned count)
{
    while (count-- > 0 && p->s.first != NULL)
        honest_answer(&p->s, &p->server);
}

/* Bytes of the program. */
static size_t take(struct play *p, uint8_t *bytes, size_t size)
{
    size_t count = next(p) % size;

    for (size_t i = 0; i < count; i++)
        bytes[i] = next(p);
    return count;
}

static void say_raw(struct play *p, bool framed)
{
    uint8_t bytes[68];
    size_t count = take(p, bytes + 4, 64);

    bytes[0] = bytes[1] = bytes[2] = 0;
    bytes[3] = (uint8_t)count;
    receive(&p->s, framed ? bytes : bytes + 4, framed ? count + 4 : count);
}

static const int32_t errors[] = {
    HF_ZK_NO_NODE,        HF_ZK_NODE_EXISTS,     HF_ZK_NO_AUTH,
    HF_ZK_NOT_EMPTY,      HF_ZK_SESSION_EXPIRED, HF_ZK_SESSION_MOVED,
    HF_ZK_UNIMPLEMENTED,  HF_ZK_THROTTLED,       HF_ZK_CONNECTION_LOSS,
    HF_ZK_QUOTA_EXCEEDED, HF_ZK_SYSTEM_ERROR,    HF_ZK_CUT,
    HF_ZK_NONSENSE,       HF_ZK_NOT_READ_ONLY,   -4711,
};

static int32_t choose_error(struct play *p)
{
    return errors[next(p) % (sizeof errors / sizeof errors[0])];
}

static int32_t choose_sequence(struct play *p)
{
    static const int32_t odd[] = {-1,
                                  INT32_MIN,
                                  INT32_MAX,
                                  1 << 30,
                                  INT32_MAX - (1 << 20),
                                  INT32_MAX - (1 << 20) + 1};
    uint8_t which = next(p);

    return which < 240 ? which % 8 : odd[which % 6];
}

/* Children of the queue: tickets of ours, of others, and what is none. */
static void say_children(struct play *p)
{
    char text[512] = "";
    size_t used = 0;
    uint8_t which = next(p);

    for (int i = 0; i < TICKETS; i++) {
        if (which >> i & 1)
            used += (size_t)snprintf(text + used, sizeof text - used, "%c#%d ",
                                     'a' + i, choose_sequence(p));
    }
    children(&p->s, text);
}

/* A success that fits the oldest request, and is true or is not. */
static void say_success(struct play *p)
{
    int64_t owner = next(p) & 1 ? p->s.session : 7;

    switch (p->s.first->opcode) {
    case HF_ZK_CREATE2:
        created(&p->s, choose_sequence(p), p->s.zxid);
        break;
    case HF_ZK_GET_CHILDREN:
        say_children(p);
        break;
    case HF_ZK_GET_DATA:
        data(&p->s, owner == 7 ? NULL : "me", p->s.zxid, owner);
        break;
    case HF_ZK_EXISTS:
        exists(&p->s, p->s.zxid, owner);
        break;
    case HF_ZK_MULTI:
        if (owner == 7)
            check_failed(&p->s, 0);
        else if (p->s.first->part == HF_ZK_CREATE)
            created_all(&p->s, choose_sequence(p));
        else
            checked(&p->s);
        break;
    default:
        done(&p->s);
    }
}

static void say_record(struct play *p)
{
    uint8_t bytes[64];
    size_t count = take(p, bytes, sizeof bytes);

    answer_with(&p->s, bytes, count);
}

static void say_event(struct play *p)
{
    static const char *const tickets[] = {
        "q/a#0", "q/a#1", "q/b#1", "q/b/l#2", "q/c#3", "q/", "q/d#-1", "x/y",
    };
    uint8_t which = next(p);

    event(&p->s, which >> 3 & 7, tickets[which & 7]);
}

static void grant(struct play *p, uint8_t how)
{
    static const int32_t timeouts[] = {1, 2, 10, 1000, 40000, INT32_MAX};
    int64_t id = p->s.greeted_session;

    if (how < 250)
        accept_session_as(&p->s, STAGE_TIMEOUT_MS,
                          id != 0 ? id : ++p->s.session);
    else
        accept_session_as(&p->s, timeouts[how - 250], id != 0 ? id : 1);
}

/* ----------------------------------------------------------------- steps -- */

/* What a server may do only if it is not honest, and the link is up. */
static void lie(struct play *p, uint8_t step)
{
    bool greeted = p->s.greeting && !p->s.connected;

    if (p->honest || !p->s.up)
        return;
    if (step == 20)
        say_raw(p, false);
    else if (step == 21)
        say_raw(p, true);
    else if (step == 22 && greeted)
        grant(p, next(p));
    else if (step == 23 && greeted)
        refuse_session(&p->s);
    else if (step == 24 && p->s.first != NULL)
        say_success(p);
    else if (step == 25 && p->s.first != NULL)
        refused(&p->s, choose_error(p));
    else if (step == 26 && p->s.first != NULL)
        say_record(p);
    else if (step == 27)
        say_event(p);
    else if (step == 28)
        header(&p->s, (int32_t)next(p) - 8, choose_error(p));
}

/* Somebody else has to do with a ticket. */
static void meddle(struct play *p, uint8_t how)
{
    char ticket[16];

    snprintf(ticket, sizeof ticket, "%s/%c", queue_of(how),
             'a' + how % TICKETS);
    how /= TICKETS;
    if (how % 3 == 0) {
        honest_change(&p->s, &p->server, ticket);
    } else if (how % 3 == 1) {
        p->removed = true;
        honest_remove(&p->s, &p->server, ticket);
    } else if (is_others(strrchr(ticket, '/') + 1) && !p->s.holding) {
        honest_put(&p->s, &p->server, ticket);
    }
}

/* What any server does. */
static void answer(struct play *p, uint8_t step)
{
    if (!p->s.up)
        return;
    if (step == 13)
        serve(p, 1 + next(p) % 4);
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
    uint8_t which = next(p) % 31;

    if (which < STEP_KINDS) {
        request(p, step_kinds[which], next(p));
    } else if (which == 30) {
        request(p, HF_REQUEST_LOOK, next(p));
    } else if (which == 6) {
        forget_one(p, next(p) % 8);
    } else if (which == 7) {
        pass(p, next(p));
    } else if (which == 8) {
        pass(p, next(p) * UINT64_C(100));
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
            meddle(p, next(p));
    } else if (which == 19) {
        p->inside = next(p) % 4;
        p->inside_kind = next(p);
        p->inside_ticket = next(p);
    } else if (which == 29) {
        if (next(p) & 1)
            p->s.chunk = next(p);
        else
            stage_fail_allocation(next(p) % 32);
    } else if (which < 20) {
        answer(p, which);
    } else {
        lie(p, which);
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
        if (r->state != STAGE_WATCHING || r->request.kind == HF_REQUEST_LOOK)
            continue;
        name_ticket(r, ticket);
        MUST(honest_has(&p->server, ticket));
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
    expect(p, HF_REQUEST_ENQUEUE, "ENQUEUED z:");
    expect(p, HF_REQUEST_WATCH, "WATCHING z");
    expect(p, HF_REQUEST_PROVE, p->removed ? "PROVE" : "PROVEN ");
    expect(p, HF_REQUEST_WITHDRAW, "WITHDRAWN z found");
    expect(p, HF_REQUEST_LIST, "LISTED z:");
    expect(p, HF_REQUEST_END, "CLOSED");
}

static void end(struct play *p)
{
    stage_fail_allocation(0);
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
    MUST(hf_zk_wake_at_ms(p->s.zk) == HF_FOREVER);
    MUST(stage_allocations() <= LEFT_MOST);
    stage_close(&p->s);
}

int LLVMFuzzerTestOneInput(const uint8_t *data_, size_t bytes)
{
    static struct play p;

    memset(&p, 0, sizeof p);
    p.bytes = data_;
    p.left = bytes;
    p.honest = next(&p) & 1;
    p.lingers = bytes % 4 >= 2;
    stage_init(&p.s);
    p.s.then = on_event;
    honest_begin(&p.s, &p.server);
    p.server.no_containers = p.honest && bytes % 2 == 1;
    MUST(stage_open(&p.s));
    while (p.left > 0 && !p.s.closed) {
        step(&p);
        MUST(p.s.closed || hf_zk_wake_at_ms(p.s.zk) != HF_FOREVER);
    }
    end(&p);
    return 0;
}
