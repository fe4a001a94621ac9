/* SPDX-License-Identifier: Apache-2.0 */
/* An honest server of leases, whose answers and notices are changed as the
 * input says. */
#include "lease_fake_server.h"

#include <string.h>

#include "fuzz.h"

#define CLOCK_MS UINT64_C(1700000000000)
#define START_MS UINT64_C(1000000000000000)

/* ------------------------------------------- answers of an honest server -- */

static void on_notice(void *arg, const struct lease_notice *notice)
{
    struct lease_fake_server *leases = arg;

    leases->notice(leases, notice);
}

void lease_fake_begin(struct lease_fake_server *leases,
                      struct leased_client *client, size_t number)
{
    const struct lease_observer watcher = {.notice = on_notice, .arg = leases};

    leases->client = client;
    leases->number = number;
    leases->lie = (struct lie){0};
    leases->server = lease_server_new(&watcher);
}

void lease_fake_end(struct lease_fake_server *leases)
{
    lease_server_free(leases->server);
    leases->server = NULL;
}

uint64_t lease_fake_clock_ms(const struct lease_fake_server *leases)
{
    return CLOCK_MS + leases->number + (leases->client->now_ms - START_MS);
}

/* --------------------------------------------------------- wrong answers -- */

static uint64_t odd_number(uint8_t how)
{
    static const uint64_t numbers[] = {0,
                                       1,
                                       2,
                                       UINT32_MAX,
                                       UINT64_C(1) << 32,
                                       (UINT64_C(1) << 53) - 1,
                                       UINT64_C(1) << 53,
                                       INT64_MAX,
                                       UINT64_C(1) << 63,
                                       UINT64_MAX - 4,
                                       UINT64_MAX};

    return numbers[how % (sizeof numbers / sizeof numbers[0])];
}

static const char *text(uint8_t how)
{
    static char longest[2 * HF_PAYLOAD_BYTES];
    static const char *const texts[] = {"",      "\xff\xfe",     "a b\nc",
                                        longest, "\xe2\x80\xae", "1 2 3"};

    memset(longest, 'x', sizeof longest - 1);
    return texts[how % (sizeof texts / sizeof texts[0])];
}

static void set_payload(struct hf_ticket *ticket, const char *payload)
{
    free((void *)(uintptr_t)ticket->payload);
    ticket->payload = lease_require_memory(strdup(payload));
}

static void remove_row(struct lease_answer *answer, size_t row)
{
    size_t behind = --answer->answer.count - row;

    free((void *)(uintptr_t)answer->tickets[row].payload);
    memmove(answer->tickets + row, answer->tickets + row + 1,
            behind * sizeof *answer->tickets);
    memmove(answer->leases + row, answer->leases + row + 1,
            behind * sizeof *answer->leases);
}

static void add_rows(struct lease_fake_server *leases,
                     struct lease_answer *answer,
                     const struct hf_ticket *ticket, uint8_t how)
{
    struct hf_store_lease lease = {.expires_in_ms = how, .missing = how & 1};
    struct hf_ticket copy = *ticket;

    for (unsigned i = 0; i <= how % 8u; i++) {
        if (how & 16)
            copy.id = client_ticket(leases->client, (uint8_t)(how + i));
        if (how & 32)
            copy.id.bytes[15] = (uint8_t)i;
        copy.sequence += how & 64 ? 1 : 0;
        copy.token = copy.sequence;
        lease_answer_add(answer, &copy, &lease);
    }
}

void lease_fake_swap(struct lease_answer *answer, size_t a, size_t b)
{
    struct hf_ticket ticket = answer->tickets[a];
    struct hf_store_lease lease = answer->leases[a];

    answer->tickets[a] = answer->tickets[b];
    answer->leases[a] = answer->leases[b];
    answer->tickets[b] = ticket;
    answer->leases[b] = lease;
}

/* Change one row; there is at least one. */
static void change_row(struct lease_fake_server *leases,
                       struct lease_answer *answer, const struct lie *lie)
{
    size_t row = lie->row % answer->answer.count;
    struct hf_ticket *ticket = &answer->tickets[row];
    struct hf_store_lease *lease = &answer->leases[row];

    switch (lie->kind) {
    case 1:
        lease_fake_swap(answer, row, lie->how % answer->answer.count);
        break;
    case 2:
        remove_row(answer, row);
        break;
    case 3:
        ticket->kind = lie->how % 12;
        break;
    case 4:
        ticket->sequence = ticket->token = odd_number(lie->how);
        break;
    case 5:
        ticket->weight = (uint32_t)odd_number(lie->how);
        break;
    case 6:
        lease->expires_in_ms = odd_number(lie->how);
        break;
    case 7:
        lease->revoked = (uint32_t)odd_number(lie->how);
        lease->missing = lie->how >= 128;
        break;
    case 8:
        set_payload(ticket, text(lie->how));
        break;
    case 9:
        ticket->id = client_ticket(leases->client, lie->how);
        break;
    case 10:
        ticket->created_utc_ms = odd_number(lie->how);
        break;
    default:
        add_rows(leases, answer, ticket, lie->how);
    }
}

static void change_answer(struct lease_fake_server *leases,
                          struct lease_answer *answer, const struct lie *lie)
{
    static const struct hf_ticket nobody = {
        .sequence = 7, .token = 7, .kind = 1, .weight = 1, .payload = "x"};

    if (lie->kind == 12)
        answer->answer.server_ms = odd_number(lie->how);
    else if (lie->kind == 13)
        answer->answer.found = !answer->answer.found;
    else if (lie->kind == 14)
        answer->answer.ok = false;
    else if (answer->answer.count > 0)
        change_row(leases, answer, lie);
    else
        add_rows(leases, answer, &nobody, lie->how);
}

/* Most changes are of a list, and wait for the next call that returns one. */
static struct lie take_lie(struct lease_fake_server *leases,
                           const struct hf_store_call *call)
{
    struct lie lie = leases->lie;

    if (lie.row >= 32 && call->kind != HF_STORE_ENQUEUE &&
        call->kind != HF_STORE_LIST && call->kind != HF_STORE_NAMES)
        return (struct lie){0};
    leases->lie = (struct lie){0};
    return lie;
}

/* Make rows of the names, which can be changed as those of tickets: .kind says
 * that there are tickets, .weight that there are participants. */
static void list_names(struct lease_answer *answer)
{
    const struct hf_names_answer *names = answer->answer.names;
    const struct hf_store_lease lease = {0};

    for (size_t i = 0; i < names->count; i++) {
        const struct hf_ticket row = {
            .kind = names->queues[i].participants ? 0 : HF_TICKET_MUTEX,
            .weight = names->queues[i].participants,
            .payload = names->queues[i].queue};

        lease_answer_add(answer, &row, &lease);
    }
    answer->answer.found = names->cursor_bytes > 0;
}

void lease_fake_answer(struct lease_fake_server *leases,
                       const struct hf_store_call *call,
                       struct lease_answer *answer)
{
    struct lie lie = take_lie(leases, call);
    struct lease_call copy = {.memory = {NULL}};

    memset(answer, 0, sizeof *answer);
    lease_call_copy(&copy, call);
    lease_server_execute(leases->server, lease_fake_clock_ms(leases), &copy,
                         answer);
    lease_call_free(&copy);
    if (call->kind == HF_STORE_NAMES)
        list_names(answer);
    if (lie.kind != 0)
        change_answer(leases, answer, &lie);
}

void lease_fake_lie(struct lease_fake_server *leases)
{
    leases->lie.kind = client_next(leases->client) % 15;
    leases->lie.row = client_next(leases->client);
    leases->lie.how = client_next(leases->client);
}

/* --------------------------------------------------------------- notices -- */

static void send_false_notice(struct lease_fake_server *leases, uint8_t how,
                              const char *queue, const struct hf_ticket_id *id)
{
    static const enum hf_store_notice_kind kinds[] = {
        HF_STORE_GONE, HF_STORE_CHANGED, HF_STORE_REVOKED};
    const struct lease_notice notice = {
        .session = NULL,
        .notice = {.kind = kinds[how % 3],
                   .queue = queue,
                   .ticket = *id,
                   .ticket_kind = how & 4 ? HF_TICKET_WRITE : 0,
                   .revoked = how / 8}};

    leases->notice(leases, &notice);
}

void lease_fake_disturb(struct lease_fake_server *leases)
{
    uint8_t how = client_next(leases->client);
    uint8_t which = client_next(leases->client);
    const char *queue = client_queue(which / 64);
    struct hf_ticket_id id = client_ticket(leases->client, which);

    if (how >= 128) {
        send_false_notice(leases, how, queue, &id);
    } else if (how % 4 == 0) {
        (void)lease_server_remove(leases->server, queue, &id);
    } else if (how % 4 == 1) {
        (void)lease_server_evict(leases->server, queue, &id);
    } else if (how % 4 == 2) {
        lease_server_wipe(leases->server);
    } else {
        memset(id.bytes, which % 8, sizeof id.bytes);
        lease_server_add(leases->server, lease_fake_clock_ms(leases), queue,
                         1 + how / 4 % 9, &id);
    }
}
