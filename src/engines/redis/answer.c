/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/redis/answer.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/memory.h"

/* ---------------------------------------------------------------- faults -- */

#define RIGHTS                                                                 \
    "; the user needs ~holdfast:* &holdfast:* and the commands that "          \
    "docs/engine-redis.md has"

/* By a word of the server's text.  In front of it may stand what the script was
 * doing (6.x), so that it is looked for anywhere.
 *
 * Redis looks for memory, a disk, replicas and its role before the first write
 * of a script only, and kills no script that has written: these errors are not
 * partial, also where a script got them. */
static const struct {
    const char *word;
    struct hf_redis_fault fault;
} faults[] = {
    {"NOSCRIPT", {HF_FAILURE_RETRY, HF_EUNREACHABLE, "", false, true, false}},
    {"OOM ",
     {HF_FAILURE_FATAL, HF_EFULL, "; see maxmemory, and what fills the server",
      false, false, false}},
    {"NOPERM", {HF_FAILURE_FATAL, HF_EDENIED, RIGHTS, false, false, true}},
    {"user executing the script",
     {HF_FAILURE_FATAL, HF_EDENIED, RIGHTS, false, false, true}},
    {"NOAUTH",
     {HF_FAILURE_FATAL, HF_EDENIED,
      "; expected USER:PASSWORD@ or :PASSWORD@ in the URL, auth_file= or "
      "a line for it in HOLDFAST_AUTH_FILE",
      true, false, false}},
    {"ERR AUTH",
     {HF_FAILURE_FATAL, HF_EDENIED,
      "; it has no password: expected a URL without one", true, false, false}},
    {"WRONGPASS",
     {HF_FAILURE_FATAL, HF_EDENIED, "; see the credentials of the URL", true,
      false, false}},
    {"READONLY",
     {HF_FAILURE_RETRY, HF_EUNREACHABLE,
      "; expected the address of the primary", true, false, false}},
    {"with replica instances",
     {HF_FAILURE_RETRY, HF_EUNREACHABLE,
      "; expected the address of the primary", true, false, false}},
    {"UNBLOCKED", {HF_FAILURE_RETRY, HF_EUNREACHABLE, "", true, false, false}},
    {"MISCONF", {HF_FAILURE_RETRY, HF_EFULL, "", false, false, false}},
    {"LOADING", {HF_FAILURE_RETRY, HF_EUNREACHABLE, "", true, false, false}},
    {"MASTERDOWN", {HF_FAILURE_RETRY, HF_EUNREACHABLE, "", true, false, false}},
    {"CLUSTERDOWN",
     {HF_FAILURE_RETRY, HF_EUNREACHABLE,
      "; the cluster lacks a node, see CLUSTER INFO", false, false, false}},
    {"TRYAGAIN",
     {HF_FAILURE_RETRY, HF_EUNREACHABLE,
      "; the lock is being moved to another node", false, false, false}},
    {"CROSSSLOT",
     {HF_FAILURE_FATAL, HF_EUNSUPPORTED,
      "; with layout=redis-py on a Redis Cluster a name must not have '%', '{' "
      "or '}'",
      false, false, false}},
    {"NOREPLICAS",
     {HF_FAILURE_RETRY, HF_EUNREACHABLE, "", false, false, false}},
    {"killed by user",
     {HF_FAILURE_RETRY, HF_EUNREACHABLE, "", false, false, false}},
    {"BUSY", {HF_FAILURE_RETRY, HF_EUNREACHABLE, "", false, false, false}},
    {"MOVED",
     {HF_FAILURE_FATAL, HF_EUNSUPPORTED,
      ": this lock is another node's of a Redis Cluster; expected a user who "
      "may +info and +cluster|slots",
      false, false, false}},
    {"ASK ",
     {HF_FAILURE_RETRY, HF_EUNREACHABLE,
      "; the lock is being moved to another node", false, false, false}},
    {"WRONGTYPE",
     {HF_FAILURE_FATAL, HF_EKIND,
      "; something else keeps its data under the keys of this lock", false,
      false, true}},
    {"unknown command",
     {HF_FAILURE_FATAL, HF_EPROTOCOL, "", false, false, false}},
};

/* Was it given by a script that ran, and not in the place of one? */
static bool is_inside(const char *error)
{
    return strstr(error, "@user_script") != NULL;
}

struct hf_redis_fault hf_redis_fault_of(const char *error)
{
    struct hf_redis_fault fault = {
        HF_FAILURE_FATAL, HF_EPROTOCOL, "", false, false, true};

    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        if (strstr(error, faults[i].word) == NULL)
            continue;
        fault = faults[i].fault;
        fault.partial = fault.partial && is_inside(error);
        break;
    }
    return fault;
}

hf_status hf_redis_refusal_of(const char *error)
{
    hf_status status = hf_redis_fault_of(error).status;

    return status == HF_EPROTOCOL ? HF_EUNREACHABLE : status;
}

/* --------------------------------------------------------------- failing -- */

static void fail(struct hf_redis_answer *answer, enum hf_failure failure,
                 hf_status status, const char *text, const char *advice)
{
    struct hf_store_answer *to = &answer->answer;

    if (to->status != HF_OK)
        return;
    to->ok = false;
    to->failure = failure;
    to->status = status;
    (void)snprintf(answer->text, sizeof answer->text, "%.300s%s", text, advice);
    to->text = answer->text;
}

static void fail_memory(struct hf_redis_answer *answer)
{
    /* It was carried out, and what came of it is not known. */
    fail(answer, HF_FAILURE_UNSURE, HF_ENOMEM, "out of memory", "");
}

static void fail_nonsense(struct hf_redis_answer *answer)
{
    fail(answer, HF_FAILURE_UNSURE, HF_EPROTOCOL,
         "the answer of the server makes no sense; expected that of our script",
         "");
}

/* ---------------------------------------------------------------- pieces -- */

static bool is_text(const struct redisReply *reply)
{
    return reply->type == REDIS_REPLY_STRING ||
           reply->type == REDIS_REPLY_STATUS;
}

static bool is_array(const struct redisReply *reply, size_t least)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements >= least;
}

/* A number that ends at ${end} (a character), and move behind it. */
static bool take_number(const char **at, char end, uint64_t *number)
{
    char *stopped;

    if (**at < '0' || **at > '9')
        return false;
    errno = 0;
    *number = strtoull(*at, &stopped, 10);
    if (errno != 0 || *stopped != end)
        return false;
    *at = stopped + (end != '\0' ? 1 : 0);
    return true;
}

static bool get_number(const struct redisReply *reply, uint64_t *number)
{
    const char *at = reply->str;

    return is_text(reply) && take_number(&at, '\0', number);
}

static bool get_id(const struct redisReply *reply, struct hf_ticket_id *id)
{
    return is_text(reply) &&
           hf_ticket_id_parse(id, reply->str, (size_t)reply->len);
}

/* One ticket more, zeroed; NULL for lack of memory. */
static struct hf_ticket *add(struct hf_redis_answer *answer)
{
    struct hf_store_answer *to = &answer->answer;
    size_t room = answer->room > 0 ? 2 * answer->room : 16;
    void *memory;

    if (to->count == answer->room) {
        memory = hf_realloc(answer->tickets, room * sizeof *answer->tickets);
        if (memory == NULL)
            return NULL;
        answer->tickets = memory;
        memory = hf_realloc(answer->leases, room * sizeof *answer->leases);
        if (memory == NULL)
            return NULL;
        answer->leases = memory;
        answer->room = room;
    }
    to->tickets = answer->tickets;
    to->leases = answer->leases;
    answer->tickets[to->count] =
        (struct hf_ticket){.weight = 1, .payload = "", .dialect = "redis"};
    answer->leases[to->count] = (struct hf_store_lease){0};
    return &answer->tickets[to->count++];
}

/* ------------------------------------------------------------------ rows -- */

/* "kind weight revoked created session payload" */
static bool take_data(struct hf_ticket *ticket, struct hf_store_lease *lease,
                      const struct redisReply *reply)
{
    uint64_t kind, weight, revoked;
    const char *at = reply->str;
    const char *space;

    if (!is_text(reply) || !take_number(&at, ' ', &kind) ||
        !take_number(&at, ' ', &weight) || !take_number(&at, ' ', &revoked) ||
        !take_number(&at, ' ', &ticket->created_utc_ms) ||
        (space = strchr(at, ' ')) == NULL)
        return false;
    if (!hf_store_keeps(kind) || weight < 1 || weight > HF_WEIGHT_MAX ||
        revoked > UINT32_MAX)
        return false;
    ticket->kind = (enum hf_ticket_kind)kind;
    ticket->weight = (uint32_t)weight;
    lease->revoked = (uint32_t)revoked;
    ticket->payload = hf_store_payload(
        space + 1, (size_t)(reply->str + reply->len - space - 1));
    return true;
}

/* {id, sequence, expires_in, data, proposed}, the last of one of several
 * servers only; false if it is no ticket. */
static bool take_ticket(struct hf_ticket *ticket, struct hf_store_lease *lease,
                        const struct redisReply *row)
{
    if (!is_array(row, 4) || !get_id(row->element[0], &ticket->id) ||
        !get_number(row->element[1], &ticket->sequence) ||
        !get_number(row->element[2], &lease->expires_in_ms) ||
        (row->elements > 4 && !is_text(row->element[4])))
        return false;
    ticket->token = ticket->sequence;
    lease->proposed =
        row->elements > 4 && strcmp(row->element[4]->str, "1") == 0;
    if (ticket->sequence == 0) /* a stranger, with layout=redis-py */
        ticket->dialect = "redis-py";
    return take_data(ticket, lease, row->element[3]);
}

/* {id, expires_in, kind, revoked}; the last of one of several servers only */
static bool take_probed(struct hf_ticket *ticket, struct hf_store_lease *lease,
                        const struct redisReply *row)
{
    uint64_t kind, revoked = 0;

    if (!is_array(row, 3) || !get_id(row->element[0], &ticket->id) ||
        !get_number(row->element[1], &lease->expires_in_ms) ||
        !get_number(row->element[2], &kind) || !hf_store_keeps(kind))
        return false;
    if (row->elements > 3 &&
        (!get_number(row->element[3], &revoked) || revoked > UINT32_MAX))
        return false;
    lease->revoked = (uint32_t)revoked;
    ticket->kind = (enum hf_ticket_kind)kind;
    return true;
}

/* {id, revoked}, -1 if it is missing */
static bool take_renewed(struct hf_ticket *ticket, struct hf_store_lease *lease,
                         const struct redisReply *row)
{
    uint64_t revoked = 0;

    if (!is_array(row, 2) || !get_id(row->element[0], &ticket->id) ||
        !is_text(row->element[1]))
        return false;
    lease->missing = strcmp(row->element[1]->str, "-1") == 0;
    if (!lease->missing &&
        (!get_number(row->element[1], &revoked) || revoked > UINT32_MAX))
        return false;
    lease->revoked = (uint32_t)revoked;
    return true;
}

typedef bool take_row(struct hf_ticket *ticket, struct hf_store_lease *lease,
                      const struct redisReply *row);

/* A row that is no ticket: somebody else has put it there. */
static void take_foreign(struct hf_redis_answer *answer,
                         const struct redisReply *row, size_t rows)
{
    if (answer->foreign == NULL)
        answer->foreign = hf_alloc(rows * sizeof *answer->foreign);
    if (answer->foreign == NULL || !is_array(row, 1) ||
        !is_text(row->element[0]))
        return;
    answer->foreign[answer->answer.foreign_count++] = row->element[0]->str;
    answer->answer.foreign = answer->foreign;
}

/* False if it is no row of that kind, or for lack of memory. */
static bool take_row_of(struct hf_redis_answer *answer,
                        const struct redisReply *row, take_row *take)
{
    struct hf_ticket *ticket = add(answer);

    if (ticket == NULL) {
        fail_memory(answer);
        return false;
    }
    if (take(ticket, &answer->leases[answer->answer.count - 1], row))
        return true;
    answer->answer.count--;
    return false;
}

/* It may be answered when the reply that it came in is gone: what a server says
 * of others than the first is then not looked at. */
static void drop_payload(struct hf_redis_answer *answer,
                         const struct hf_store_call *call)
{
    if (!call->whole && answer->answer.count > 1)
        answer->tickets[answer->answer.count - 1].payload = "";
}

/* The one reply to ENQUEUE or LIST. */
static void take_queue(struct hf_redis_answer *answer,
                       const struct hf_store_call *call,
                       const struct redisReply *rows)
{
    if (!is_array(rows, 0)) {
        fail_nonsense(answer);
        return;
    }
    for (size_t i = 0; i < rows->elements; i++) {
        if (take_row_of(answer, rows->element[i], take_ticket))
            drop_payload(answer, call);
        else if (call->whole)
            take_foreign(answer, rows->element[i], rows->elements);
    }
}

/* Behind the rows, where these are a part of the queue: how many more are ahead
 * of the ticket of the call. */
static void take_more(struct hf_redis_answer *answer,
                      const struct redisReply *more)
{
    uint64_t number;

    if (!get_number(more, &number)) {
        fail_nonsense(answer);
        return;
    }
    answer->answer.partial = true;
    answer->answer.more = (size_t)number;
}

/* Rows of our script about tickets that we named: nothing else is in between.
 */
static void take_rows(struct hf_redis_answer *answer,
                      const struct redisReply *rows, take_row *take)
{
    bool taken = is_array(rows, 0);

    for (size_t i = 0; taken && i < rows->elements; i++)
        taken = take_row_of(answer, rows->element[i], take);
    if (!taken)
        fail_nonsense(answer);
}

/* --------------------------------------------------------------- replies -- */

static void take_body(struct hf_redis_answer *answer,
                      const struct hf_store_call *call,
                      const struct redisReply *body)
{
    switch (call->kind) {
    case HF_STORE_ENQUEUE:
    case HF_STORE_LIST:
        take_queue(answer, call, body);
        break;
    case HF_STORE_PROBE:
        take_rows(answer, body, take_probed);
        break;
    case HF_STORE_RENEW:
        take_rows(answer, body, take_renewed);
        break;
    case HF_STORE_REMOVE:
    case HF_STORE_DOWNGRADE:
    case HF_STORE_REVOKE:
    case HF_STORE_DESCRIBE:
    case HF_STORE_RAISE:
    case HF_STORE_LOWER:
    case HF_STORE_STAMP:
        if (body->type == REDIS_REPLY_INTEGER)
            answer->answer.found = body->integer > 0;
        else
            fail_nonsense(answer);
        break;
    case HF_STORE_GOODBYE:
        break;
    }
}

/* ${done}: what it was about has been done, or a part of it may have been. */
static void take_error(struct hf_redis_answer *answer,
                       const struct redisReply *reply, bool done)
{
    struct hf_redis_fault fault = hf_redis_fault_of(reply->str);
    const char *text = reply->str;

    if (text[0] == '\0')
        text = "the server answered with an error and no word of it; look at "
               "its log";
    fail(answer, done ? HF_FAILURE_UNSURE : fault.failure, fault.status, text,
         fault.advice);
}

/* It may be answered when the reply it came in is gone. */
static void keep_payload(struct hf_redis_answer *answer)
{
    const char *payload;

    if (answer->answer.count == 0)
        return;
    payload = answer->tickets[0].payload;
    memcpy(answer->payload, payload, strlen(payload) + 1);
    answer->tickets[0].payload = answer->payload;
}

void hf_redis_answer_take(struct hf_redis_answer *answer,
                          const struct hf_store_call *call,
                          const struct redisReply *reply)
{
    if (reply->type == REDIS_REPLY_ERROR) {
        take_error(answer, reply,
                   hf_store_call_writes(call) &&
                       hf_redis_fault_of(reply->str).partial);
        return;
    }
    if (!is_array(reply, 2) || !is_text(reply->element[1]) ||
        !get_number(reply->element[0], &answer->answer.server_ms))
        fail_nonsense(answer);
    else if (strcmp(reply->element[1]->str, "late") == 0)
        fail(answer, HF_FAILURE_RETRY, HF_EUNREACHABLE, HF_STORE_LATE, "");
    else if (strcmp(reply->element[1]->str, "unsupported") == 0)
        fail(answer, HF_FAILURE_FATAL, HF_EUNSUPPORTED,
             "layout=redis-py has mutexes only; expected one, or a URL without "
             "layout=",
             "");
    else if (reply->elements < 3)
        fail_nonsense(answer);
    else
        take_body(answer, call, reply->element[2]);
    if (reply->elements > 3)
        take_more(answer, reply->element[3]);
    keep_payload(answer);
}

void hf_redis_answer_take_wait(struct hf_redis_answer *answer, unsigned wanted,
                               const struct redisReply *reply)
{
    char text[96];

    if (reply->type == REDIS_REPLY_ERROR) {
        take_error(answer, reply, true);
        return;
    }
    if (reply->type == REDIS_REPLY_INTEGER && reply->integer >= 0 &&
        (unsigned long long)reply->integer >= wanted)
        return;
    (void)snprintf(text, sizeof text,
                   "%lld replicas have it in time, expected wait=%u",
                   reply->integer, wanted);
    fail(answer, HF_FAILURE_UNSURE, HF_EUNREACHABLE, text, "");
}

void hf_redis_answer_free(struct hf_redis_answer *answer)
{
    hf_free(answer->tickets);
    hf_free(answer->leases);
    hf_free(answer->foreign);
    hf_free(answer);
}
