/* SPDX-License-Identifier: Apache-2.0 */
/* Which requests a step may make, and what must be true of each event. */
#include "zk_program.h"

#include <string.h>

#include "fuzz.h"

uint8_t zk_program_next(struct zk_program *p)
{
    if (p->left == 0)
        return 0;
    p->left--;
    return *p->bytes++;
}

/* -------------------------------------------------------------- requests -- */

bool program_is_participant(uint8_t which)
{
    return which >= PROGRAM_PARTICIPANTS_FROM;
}

static bool is_barrier(uint8_t which)
{
    return which >= PROGRAM_BARRIERS_FROM && !program_is_participant(which);
}

char program_letter(uint8_t which)
{
    if (program_is_participant(which))
        return (char)('a' + PROGRAM_TICKETS +
                      which % (PROGRAM_NAMES - PROGRAM_TICKETS));
    return (char)('a' + which % PROGRAM_TICKETS);
}

const char *program_queue(uint8_t which)
{
    if (is_barrier(which))
        return "gate";
    if (program_is_participant(which))
        return which % 4 < 2 ? "q" : "r/s";
    return which % PROGRAM_TICKETS < PROGRAM_TICKETS / 2 ? "q" : "r/s";
}

/* To an honest server some tickets belong to other clients. */
bool program_is_others(const char *ticket)
{
    return (ticket[0] - 'a') % 4 == 3;
}

/* The name of the ticket that a request was about, with its queue. */
void program_name_ticket(const struct zk_fixture_request *r, char ticket[32])
{
    char name[16];

    zk_fixture_id_name(&r->about, name);
    snprintf(ticket, 32, "%s/%s", r->request.queue, name);
}

/* A ticket that is watched may be described. */
static bool is_busy(const struct zk_program *p, const struct hf_ticket_id *id,
                    bool watched)
{
    for (const struct zk_fixture_request *r = p->f.requests; r != NULL;
         r = r->next) {
        if (r->state != ZK_FIXTURE_ENDED &&
            r->request.kind != HF_REQUEST_WATCH_QUEUE &&
            r->request.kind != HF_REQUEST_REVOKE &&
            !(watched && r->request.kind == HF_REQUEST_WATCH) &&
            hf_ticket_id_equal(&r->about, id))
            return true;
    }
    return false;
}

/* The core makes one request at a time for a ticket, and if it is unsure
 * whether the ticket exists, it lists or removes it.  Other requests would
 * make the answers ambiguous. */
static bool is_sensible(struct zk_program *p, enum hf_request_kind kind,
                        const char *ticket)
{
    struct hf_ticket_id id = zk_fixture_id(ticket);
    char path[16];

    if (kind == HF_REQUEST_PROVE || kind == HF_REQUEST_WATCH_QUEUE ||
        kind == HF_REQUEST_SET_FLAG || kind == HF_REQUEST_CLEAR_FLAG ||
        kind == HF_REQUEST_REVOKE)
        return true;
    if (is_busy(p, &id, kind == HF_REQUEST_DESCRIBE))
        return false;
    snprintf(path, sizeof path, "%s/%s", p->f.queue, ticket);
    if (kind == HF_REQUEST_DOWNGRADE &&
        !(zk_fake_has_writer(&p->server, path) ||
          zk_fake_has_reader(&p->server, path)))
        return false; /* only a ticket that was admitted as a writer's is
                         downgraded */
    if (kind != HF_REQUEST_ENQUEUE && kind != HF_REQUEST_REMOVE)
        return true;
    if (zk_fake_has(&p->server, path) &&
        !zk_fake_has_own(&p->f, &p->server, path))
        return false; /* of an earlier session: ids are drawn once */
    return !program_is_others(ticket) &&
           (kind == HF_REQUEST_REMOVE || !p->unsure[ticket[0] - 'a']);
}

/* Two tickets are leases, always of the same weight. */
static void choose_kind(struct zk_program *p, uint8_t which)
{
    bool lease = which % 4 == 1 && !program_is_participant(which);

    p->f.limit = 0;
    p->f.weight = 1;
    if (program_is_participant(which)) {
        p->f.kind = HF_TICKET_PARTICIPANT;
        return;
    }
    if (is_barrier(which)) {
        p->f.kind = HF_TICKET_BARRIER;
        return;
    }
    p->f.kind =
        lease ? HF_TICKET_LEASE : HF_TICKET_MUTEX + which / PROGRAM_TICKETS % 3;
    p->f.weight = which % PROGRAM_TICKETS == 1 ? 3 : 1;
}

/* Participants and barriers have requests of their own.  A proof is about no
 * ticket, so its operand chooses one of the rarer requests instead. */
static enum hf_request_kind translate(struct zk_program *p,
                                      enum hf_request_kind kind, uint8_t which)
{
    static const enum hf_request_kind others[] = {
        HF_REQUEST_PROVE, HF_REQUEST_DESCRIBE, HF_REQUEST_REVOKE,
        HF_REQUEST_DOWNGRADE};

    if (kind == HF_REQUEST_PROVE && !is_barrier(which) &&
        !program_is_participant(which))
        return others[which / PROGRAM_TICKETS % 4];
    if (program_is_participant(which) && kind == HF_REQUEST_PROVE) {
        p->f.limit = 1 + which / 4 % 3;
        return HF_REQUEST_NEW_GENERATION;
    }
    if (program_is_participant(which) && kind == HF_REQUEST_END) {
        p->f.kind = HF_TICKET_READY;
        return HF_REQUEST_CLEAR_FLAG;
    }
    if (!is_barrier(which) || kind == HF_REQUEST_WATCH_QUEUE)
        return kind;
    return which % 2 == 0 ? HF_REQUEST_SET_FLAG : HF_REQUEST_CLEAR_FLAG;
}

void program_request(struct zk_program *p, enum hf_request_kind kind,
                     uint8_t which)
{
    char ticket[] = {program_letter(which), '\0'};

    if (p->f.closed)
        return;
    p->f.queue = program_queue(which);
    choose_kind(p, which);
    kind = translate(p, kind, which);
    if (kind == HF_REQUEST_END) {
        if (!p->ending) {
            p->ending = true;
            (void)ask(&p->f, HF_REQUEST_END, "");
        }
    } else if (!p->honest || is_sensible(p, kind, ticket)) {
        (void)ask(&p->f, kind, kind == HF_REQUEST_PROVE ? "" : ticket);
    }
}

const enum hf_request_kind program_kinds[PROGRAM_KINDS] = {
    HF_REQUEST_ENQUEUE, HF_REQUEST_LIST,  HF_REQUEST_WATCH,
    HF_REQUEST_REMOVE,  HF_REQUEST_PROVE, HF_REQUEST_END,
};

void program_unwatch(struct zk_program *p, unsigned nth)
{
    for (struct zk_fixture_request *r = p->f.requests; r != NULL; r = r->next) {
        if (r->state == ZK_FIXTURE_ENDED ||
            (r->request.kind != HF_REQUEST_WATCH &&
             r->request.kind != HF_REQUEST_WATCH_QUEUE) ||
            nth-- > 0)
            continue;
        forget(&p->f, &r->request);
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

/* What the client of an honest server reports about a ticket must be true. */
static void check_ticket(struct zk_program *p, const struct hf_event *event,
                         const struct zk_fixture_request *r)
{
    size_t which = (size_t)(r->about.bytes[0] - 'a');
    bool there, own;
    char ticket[32];

    if (which >= PROGRAM_NAMES || r->request.kind == HF_REQUEST_WATCH_QUEUE ||
        event->kind == HF_EVENT_FLAG_UPDATED)
        return; /* "z", of a proof */
    program_name_ticket(r, ticket);
    there = zk_fake_has(&p->server, ticket);
    own = zk_fake_has_own(&p->f, &p->server, ticket);
    switch (event->kind) {
    case HF_EVENT_GONE: /* or it is not of the kind that was asked for */
        MUST(!there || zk_fake_has_reader(&p->server, ticket) !=
                           (r->request.ticket_kind == HF_TICKET_READ));
        break;
    case HF_EVENT_LISTED:
    case HF_EVENT_ENQUEUED: /* a ticket that is not ours has another id */
        MUST(own || p->removed || p->ending || !is_listed(event, &r->about));
        p->unsure[which] = false;
        break;
    case HF_EVENT_REVOKED:
        zk_fake_set_reported(&p->server, ticket);
        break;
    case HF_EVENT_DOWNGRADED:
        MUST(!own || zk_fake_has_reader(&p->server, ticket));
        break;
    case HF_EVENT_REMOVED:
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

/* The client has given the session up, and the server does so sooner or
 * later. */
static void end_session(struct zk_program *p)
{
    if (p->lingers)
        p->f.session++;
    else
        zk_fake_expire(&p->f, &p->server);
}

void program_on_event(struct zk_fixture *f, const struct hf_event *event)
{
    struct zk_program *p = (struct zk_program *)(void *)f;
    uint8_t kind = p->inside_kind % 9;

    if (event->kind >= HF_EVENT_ENQUEUED && p->honest &&
        event->as.answer.request != NULL)
        check_ticket(p, event,
                     (const struct zk_fixture_request *)(const void *)
                         event->as.answer.request);
    if (event->kind == HF_EVENT_SESSION_LOST) {
        memset(p->unsure, 0, sizeof p->unsure);
        end_session(p);
    }
    if (p->inside == 0)
        return;
    p->inside--;
    p->inside_ticket++;
    if (kind < PROGRAM_KINDS)
        program_request(p, program_kinds[kind], p->inside_ticket);
    else if (kind == 8)
        program_request(p, HF_REQUEST_WATCH_QUEUE, p->inside_ticket);
    else
        program_unwatch(p, kind == 6 ? 0 : 1);
}
