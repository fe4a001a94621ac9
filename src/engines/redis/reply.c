/* SPDX-License-Identifier: Apache-2.0 */
/* Turns replies of the script into answers.  Other programs may write to the
 * keys of the script, so every value is checked. */
#include "engines/redis/reply.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/quote.h"

/* ---------------------------------------------------------------- errors -- */

#define RIGHTS                                                                 \
    "; the user needs ~holdfast:* &holdfast:* and the commands that "          \
    "holdfast-url(7) has"

/*
 * Errors, by a part of the server's text.  The part may stand anywhere in the
 * text, because Redis 6 puts in front of it what the script was doing.
 *
 * The errors about memory, disk, replicas and the role of the server come only
 * before the first write of a script, and Redis kills no script that has
 * written.  So .partial is false for these errors, even if a script caused
 * them.
 */
static const struct {
    const char *pattern;
    struct hf_redis_error error_class;
} error_classes[] = {
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
    {"max number of clients",
     {HF_FAILURE_RETRY, HF_EUNREACHABLE, "; see maxclients", true, false,
      false}},
    {"protected mode",
     {HF_FAILURE_FATAL, HF_EDENIED,
      "; expected a server with a password, which has its address in bind",
      true, false, false}},
    {"DB index is out of range",
     {HF_FAILURE_FATAL, HF_EURL, "; see databases", true, false, false}},
    {"SELECT is not allowed in cluster mode",
     {HF_FAILURE_FATAL, HF_EURL, "; expected 0", true, false, false}},
    {"unknown command",
     {HF_FAILURE_FATAL, HF_EUNSUPPORTED,
      "; expected a Redis of 6.0 or later without rename-command for what "
      "holdfast-url(7) has",
      false, false, false}},
};

/* Returns whether the error came from a command inside of a running script. */
static bool is_from_running_script(const char *error)
{
    return strstr(error, "@user_script") != NULL;
}

struct hf_redis_error hf_redis_error_classify(const char *error)
{
    struct hf_redis_error error_class = {
        HF_FAILURE_FATAL, HF_EPROTOCOL, "", false, false, true};

    for (size_t i = 0; i < sizeof error_classes / sizeof error_classes[0];
         i++) {
        if (strstr(error, error_classes[i].pattern) == NULL)
            continue;
        error_class = error_classes[i].error_class;
        error_class.partial =
            error_class.partial && is_from_running_script(error);
        break;
    }
    return error_class;
}

const char *hf_redis_error_pattern(size_t index)
{
    return index < sizeof error_classes / sizeof error_classes[0]
               ? error_classes[index].pattern
               : NULL;
}

hf_status hf_redis_connection_status(const char *error)
{
    hf_status status = hf_redis_error_classify(error).status;

    return status == HF_EPROTOCOL ? HF_EUNREACHABLE : status;
}

/* -------------------------------------------------------------- failures -- */

/* Make the answer a failure, unless it is one already. */
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
    /* the call was carried out, but its result is lost */
    fail(answer, HF_FAILURE_UNSURE, HF_ENOMEM, "out of memory", "");
}

/* Fail the call as HF_FAILURE_UNSURE, because the script has run. */
static void fail_malformed(struct hf_redis_answer *answer)
{
    fail(answer, HF_FAILURE_UNSURE, HF_EPROTOCOL,
         "the reply of the server is malformed; expected that of our script",
         "");
}

/* ---------------------------------------------------------------- values -- */

static bool is_text(const struct redisReply *reply)
{
    return reply->type == REDIS_REPLY_STRING ||
           reply->type == REDIS_REPLY_STATUS;
}

static bool is_array(const struct redisReply *reply, size_t min_elements)
{
    return reply->type == REDIS_REPLY_ARRAY && reply->elements >= min_elements;
}

/* Parse digits up to the character ${end} and move ${at} behind it. */
static bool parse_number(const char **at, char end, uint64_t *number)
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

static bool parse_number_reply(const struct redisReply *reply, uint64_t *number)
{
    const char *at = reply->str;

    return is_text(reply) && parse_number(&at, '\0', number);
}

static bool parse_id_reply(const struct redisReply *reply,
                           struct hf_ticket_id *id)
{
    return is_text(reply) &&
           hf_ticket_id_parse(id, reply->str, (size_t)reply->len);
}

/* Append a ticket with default values; NULL if memory runs out. */
static struct hf_ticket *add_ticket(struct hf_redis_answer *answer)
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

/* Parse the value that a ticket has in the hash: "kind weight revoked created
 * session payload". */
static bool parse_ticket_data(struct hf_ticket *ticket,
                              struct hf_store_lease *lease,
                              const struct redisReply *reply)
{
    uint64_t kind, weight, revoked;
    const char *at = reply->str;
    const char *space;

    if (!is_text(reply) || !parse_number(&at, ' ', &kind) ||
        !parse_number(&at, ' ', &weight) || !parse_number(&at, ' ', &revoked) ||
        !parse_number(&at, ' ', &ticket->created_utc_ms) ||
        (space = strchr(at, ' ')) == NULL)
        return false;
    if (!hf_store_is_stored_kind(kind) || weight < 1 ||
        weight > HF_WEIGHT_MAX || revoked > UINT32_MAX)
        return false;
    ticket->kind = (enum hf_ticket_kind)kind;
    ticket->weight = (uint32_t)weight;
    lease->revoked = (uint32_t)revoked;
    ticket->payload = hf_store_payload(
        space + 1, (size_t)(reply->str + reply->len - space - 1));
    return true;
}

/* Parse a row of a list: {id, sequence, expires_in, data, proposed}.  Only a
 * server of a quorum sends the last element.  Returns false if the row is no
 * ticket. */
static bool parse_ticket(struct hf_ticket *ticket, struct hf_store_lease *lease,
                         const struct redisReply *row)
{
    if (!is_array(row, 4) || !parse_id_reply(row->element[0], &ticket->id) ||
        !parse_number_reply(row->element[1], &ticket->sequence) ||
        !parse_number_reply(row->element[2], &lease->expires_in_ms) ||
        (row->elements > 4 && !is_text(row->element[4])))
        return false;
    ticket->token = ticket->sequence;
    lease->proposed =
        row->elements > 4 && strcmp(row->element[4]->str, "1") == 0;
    /* it stands for a lock of another program, with layout=redis-py */
    if (ticket->sequence == 0)
        ticket->dialect = "redis-py";
    return parse_ticket_data(ticket, lease, row->element[3]);
}

/* Parse a row of EXISTS: {id, expires_in, kind, revoked}.  Only a server of a
 * quorum sends the last element. */
static bool parse_exists_row(struct hf_ticket *ticket,
                             struct hf_store_lease *lease,
                             const struct redisReply *row)
{
    uint64_t kind, revoked = 0;

    if (!is_array(row, 3) || !parse_id_reply(row->element[0], &ticket->id) ||
        !parse_number_reply(row->element[1], &lease->expires_in_ms) ||
        !parse_number_reply(row->element[2], &kind) ||
        !hf_store_is_stored_kind(kind))
        return false;
    if (row->elements > 3 && (!parse_number_reply(row->element[3], &revoked) ||
                              revoked > UINT32_MAX))
        return false;
    lease->revoked = (uint32_t)revoked;
    ticket->kind = (enum hf_ticket_kind)kind;
    return true;
}

/* Parse a row of RENEW: {id, revoked}; revoked is -1 if the ticket is
 * missing. */
static bool parse_renew_row(struct hf_ticket *ticket,
                            struct hf_store_lease *lease,
                            const struct redisReply *row)
{
    uint64_t revoked = 0;

    if (!is_array(row, 2) || !parse_id_reply(row->element[0], &ticket->id) ||
        !is_text(row->element[1]))
        return false;
    lease->missing = strcmp(row->element[1]->str, "-1") == 0;
    if (!lease->missing && (!parse_number_reply(row->element[1], &revoked) ||
                            revoked > UINT32_MAX))
        return false;
    lease->revoked = (uint32_t)revoked;
    return true;
}

typedef bool parse_row_fn(struct hf_ticket *ticket,
                          struct hf_store_lease *lease,
                          const struct redisReply *row);

/* Add the name in ${row}, which is no ticket because another program put it
 * there, to the unknown names.  ${rows} is the number of all rows. */
static void add_unknown_name(struct hf_redis_answer *answer,
                             const struct redisReply *row, size_t rows)
{
    if (answer->unknown == NULL)
        answer->unknown = hf_alloc(rows * sizeof *answer->unknown);
    if (answer->unknown == NULL || !is_array(row, 1) ||
        !is_text(row->element[0]))
        return;
    answer->unknown[answer->answer.unknown_count++] = row->element[0]->str;
    answer->answer.unknown = answer->unknown;
}

/* Append the ticket that ${parse} reads from ${row}.  Returns false if ${row}
 * is malformed or memory runs out. */
static bool add_row(struct hf_redis_answer *answer,
                    const struct redisReply *row, parse_row_fn *parse)
{
    struct hf_ticket *ticket = add_ticket(answer);

    if (ticket == NULL) {
        fail_memory(answer);
        return false;
    }
    if (parse(ticket, &answer->leases[answer->answer.count - 1], row))
        return true;
    answer->answer.count--;
    return false;
}

/* Unless this is the first ticket of a list that is not detailed, remove its
 * payload: it would not outlive the reply, of which only the first payload is
 * copied (keep_payload()). */
static void drop_payload(struct hf_redis_answer *answer,
                         const struct hf_store_call *call)
{
    if (!call->detailed && answer->answer.count > 1)
        answer->tickets[answer->answer.count - 1].payload = "";
}

/* Add the rows of an ENQUEUE or LIST.  Rows that are no tickets are skipped; a
 * detailed list has their names. */
static void add_queue(struct hf_redis_answer *answer,
                      const struct hf_store_call *call,
                      const struct redisReply *rows)
{
    if (!is_array(rows, 0)) {
        fail_malformed(answer);
        return;
    }
    for (size_t i = 0; i < rows->elements; i++) {
        if (add_row(answer, rows->element[i], parse_ticket))
            drop_payload(answer, call);
        else if (call->detailed)
            add_unknown_name(answer, rows->element[i], rows->elements);
    }
}

/* Note that the list is partial.  ${more} is how many tickets ahead of the
 * caller's ticket it leaves out. */
static void set_more(struct hf_redis_answer *answer,
                     const struct redisReply *more)
{
    uint64_t number;

    if (!parse_number_reply(more, &number)) {
        fail_malformed(answer);
        return;
    }
    answer->answer.partial = true;
    answer->answer.more_ahead = (size_t)number;
}

/* Add rows about tickets that the call named.  Each row must be valid. */
static void add_rows(struct hf_redis_answer *answer,
                     const struct redisReply *rows, parse_row_fn *parse)
{
    bool valid = is_array(rows, 0);

    for (size_t i = 0; valid && i < rows->elements; i++)
        valid = add_row(answer, rows->element[i], parse);
    if (!valid)
        fail_malformed(answer);
}

/* Add the reply to READ_SUCCESS: the token and the time, or an empty array.
 * The age is computed with the clock of the server that has the success. */
static void add_success(struct hf_redis_answer *answer,
                        const struct redisReply *body)
{
    struct hf_success *success = &answer->answer.success;
    uint64_t token, at_ms;

    if (is_array(body, 0) && body->elements == 0)
        return;
    if (!is_array(body, 2) || !parse_number_reply(body->element[0], &token) ||
        !parse_number_reply(body->element[1], &at_ms) || token == 0 ||
        at_ms > INT64_MAX) {
        fail_malformed(answer);
        return;
    }
    success->token = token;
    success->at_utc_ms = (int64_t)at_ms;
    success->age_ms = (int64_t)answer->answer.server_ms - (int64_t)at_ms;
}

/* --------------------------------------------------------------- replies -- */

/* Add the element of the reply that depends on the kind of ${call}. */
static void add_body(struct hf_redis_answer *answer,
                     const struct hf_store_call *call,
                     const struct redisReply *body)
{
    switch (call->kind) {
    case HF_STORE_ENQUEUE:
    case HF_STORE_LIST:
        add_queue(answer, call, body);
        break;
    case HF_STORE_EXISTS:
        add_rows(answer, body, parse_exists_row);
        break;
    case HF_STORE_RENEW:
        add_rows(answer, body, parse_renew_row);
        break;
    case HF_STORE_REMOVE:
    case HF_STORE_DOWNGRADE:
    case HF_STORE_REVOKE:
    case HF_STORE_DESCRIBE:
    case HF_STORE_SET_FLAG:
    case HF_STORE_CLEAR_FLAG:
    case HF_STORE_NEW_GENERATION:
    case HF_STORE_WRITE_SUCCESS:
        if (body->type == REDIS_REPLY_INTEGER)
            answer->answer.found = body->integer > 0;
        else
            fail_malformed(answer);
        break;
    case HF_STORE_READ_SUCCESS:
        add_success(answer, body);
        break;
    case HF_STORE_CLOSE_SESSION:
    case HF_STORE_NAMES: /* these two run no script */
    case HF_STORE_EXAMINE:
        break;
    }
}

/* Parse the answer of the script's short path (uncontended.lua): "2 " and 16
 * digits, the server's clock in microseconds. */
static bool parse_clock(const struct redisReply *reply, uint64_t *micros)
{
    const char *at;

    if (!is_text(reply) || reply->len != 18 ||
        strncmp(reply->str, "2 ", 2) != 0)
        return false;
    at = reply->str + 2;
    return *at != '0' && parse_number(&at, '\0', micros) &&
           *micros <= HF_STORE_NUMBER_MAX;
}

/* Returns whether the script's short path may have answered ${call}. */
static bool has_short_answer(const struct hf_store_call *call)
{
    return call->kind == HF_STORE_REMOVE ||
           (call->kind == HF_STORE_ENQUEUE && call->quorum == NULL);
}

/* Add the answer of the short path: ${micros} is the server's clock in
 * microseconds, and also the sequence of the new ticket.  No other ticket is in
 * the queue. */
static void add_short_answer(struct hf_redis_answer *answer,
                             const struct hf_store_call *call, uint64_t micros)
{
    struct hf_ticket *ticket;

    answer->answer.server_ms = micros / 1000;
    answer->answer.found = true;
    if (call->kind == HF_STORE_REMOVE)
        return;
    ticket = add_ticket(answer);
    if (ticket == NULL) {
        fail_memory(answer);
        return;
    }
    ticket->id = call->ticket;
    ticket->kind = call->ticket_kind;
    ticket->weight = call->weight;
    ticket->sequence = ticket->token = micros;
    ticket->created_utc_ms = answer->answer.server_ms;
    ticket->payload = call->payload;
    answer->leases[0].expires_in_ms = call->ttl_ms;
    answer->answer.partial = hf_store_call_may_be_partial(call);
}

/* Add an error reply.  ${done}: the call may have changed something before the
 * error. */
static void add_error(struct hf_redis_answer *answer,
                      const struct redisReply *reply, bool done)
{
    struct hf_redis_error error_class = hf_redis_error_classify(reply->str);
    const char *text = reply->str;

    if (text[0] == '\0')
        text = "the server answered with an error and no word of it; look at "
               "its log";
    fail(answer, done ? HF_FAILURE_UNSURE : error_class.failure,
         error_class.status, text, error_class.advice);
}

/* Copy the payload of the first ticket, because the answer may be used after
 * the reply was freed. */
static void keep_payload(struct hf_redis_answer *answer)
{
    const char *payload;

    if (answer->answer.count == 0)
        return;
    payload = answer->tickets[0].payload;
    memcpy(answer->payload, payload, strlen(payload) + 1);
    answer->tickets[0].payload = answer->payload;
}

/* Fail because the script has found keys of another release.  ${reply} is {now,
 * 'layout', value of the key "last"}. */
static void fail_layout(struct hf_redis_answer *answer,
                        const struct redisReply *reply)
{
    const struct redisReply *last =
        reply->elements > 2 ? reply->element[2] : NULL;
    char text[192];

    if (last == NULL || !is_text(last)) {
        fail_malformed(answer);
        return;
    }
    (void)snprintf(text, sizeof text,
                   "the keys of this lock are of another release of holdfast: "
                   "the key \"last\" has %s",
                   hf_quote(last->str, (size_t)last->len).text);
    fail(answer, HF_FAILURE_FATAL, HF_EUNSUPPORTED, text,
         "; expected a number: use one release everywhere");
}

void hf_redis_answer_add_reply(struct hf_redis_answer *answer,
                               const struct hf_store_call *call,
                               const struct redisReply *reply)
{
    uint64_t micros;

    if (reply->type == REDIS_REPLY_ERROR) {
        add_error(answer, reply,
                  hf_store_call_writes(call) &&
                      hf_redis_error_classify(reply->str).partial);
        return;
    }
    if (has_short_answer(call) && parse_clock(reply, &micros)) {
        add_short_answer(answer, call, micros);
        keep_payload(answer);
        return;
    }
    if (!is_array(reply, 2) || !is_text(reply->element[1]) ||
        !parse_number_reply(reply->element[0], &answer->answer.server_ms))
        fail_malformed(answer);
    else if (strcmp(reply->element[1]->str, "late") == 0)
        fail(answer, HF_FAILURE_RETRY, HF_EUNREACHABLE, HF_STORE_LATE, "");
    else if (strcmp(reply->element[1]->str, "unsupported") == 0)
        fail(answer, HF_FAILURE_FATAL, HF_EUNSUPPORTED,
             "layout=redis-py has mutexes only; expected one, or a URL without "
             "layout=",
             "");
    else if (strcmp(reply->element[1]->str, "layout") == 0)
        fail_layout(answer, reply);
    else if (reply->elements < 3)
        fail_malformed(answer);
    else
        add_body(answer, call, reply->element[2]);
    if (reply->elements > 3)
        set_more(answer, reply->element[3]);
    keep_payload(answer);
}

void hf_redis_answer_add_wait_reply(struct hf_redis_answer *answer,
                                    unsigned wanted,
                                    const struct redisReply *reply)
{
    char text[96];

    if (reply->type == REDIS_REPLY_ERROR) {
        add_error(answer, reply, true);
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

/* Add the queue of ${key} to the names, if ${key} is a key of ours and the name
 * of the queue is below ${prefix}. */
static void add_key(struct hf_redis_answer *answer, const char *prefix,
                    const char *key)
{
    char queue[HF_REDIS_KEY_BYTES];
    enum hf_redis_scan_key which = hf_redis_scan_read_key(key, queue);
    struct hf_name_list *list = &answer->name_list;

    if (which == HF_REDIS_SCAN_NO_KEY || !hf_name_is_below(queue, prefix))
        return;
    /* a longer name is no lock of ours, so there is no need to read its
     * "last" */
    if (which == HF_REDIS_SCAN_LAST && strlen(queue) <= HF_NAME_BYTES)
        list = &answer->last_list;
    hf_name_list_add(list, queue, strlen(queue),
                     which == HF_REDIS_SCAN_PARTICIPANTS);
}

/* Put the names into the answer, or fail if memory ran out for one of them. */
static void set_names(struct hf_redis_answer *answer)
{
    if (answer->name_list.failed || answer->last_list.failed) {
        fail_memory(answer);
        return;
    }
    hf_name_list_answer(&answer->name_list, &answer->names);
    answer->answer.names = &answer->names;
}

void hf_redis_answer_add_scan_reply(struct hf_redis_answer *answer,
                                    const struct hf_store_call *call,
                                    const char *run_id,
                                    const struct redisReply *reply)
{
    const struct redisReply *keys;

    if (reply->type == REDIS_REPLY_ERROR) {
        add_error(answer, reply, false);
        return;
    }
    if (!is_array(reply, 2) || !is_text(reply->element[0]) ||
        !is_array(reply->element[1], 0)) {
        fail_malformed(answer);
        return;
    }
    keys = reply->element[1];
    for (size_t i = 0; i < keys->elements; i++) {
        if (is_text(keys->element[i]))
            add_key(answer, call->prefix, keys->element[i]->str);
    }
    answer->names.looked_at = HF_REDIS_SCAN_COUNT;
    answer->names.cursor = answer->cursor;
    answer->names.cursor_bytes = hf_redis_scan_next(
        call, run_id, reply->element[0]->str, answer->cursor);
    set_names(answer);
}

const char *hf_redis_answer_next_last(const struct hf_redis_answer *answer,
                                      size_t index)
{
    return index < answer->last_list.count
               ? answer->last_list.text + answer->last_list.offsets[index]
               : NULL;
}

void hf_redis_answer_add_last_reply(struct hf_redis_answer *answer,
                                    const struct redisReply *reply)
{
    const char *queue = hf_redis_answer_next_last(answer, answer->lasts_read++);

    if (reply->type == REDIS_REPLY_NIL ||
        !hf_redis_scan_last_is_open(is_text(reply) ? reply->str : NULL))
        return;
    hf_name_list_add(&answer->name_list, queue, strlen(queue), false);
    if (answer->answer.names != NULL)
        set_names(answer);
}

void hf_redis_answer_free(struct hf_redis_answer *answer)
{
    hf_name_list_free(&answer->name_list);
    hf_name_list_free(&answer->last_list);
    hf_finding_list_free(&answer->examination.findings);
    hf_free(answer->tickets);
    hf_free(answer->leases);
    hf_free(answer->unknown);
    hf_free(answer);
}

void hf_redis_answer_drop(struct hf_store_call *call)
{
    if (call == NULL || call->store_data == NULL)
        return;
    hf_redis_answer_free(call->store_data);
    call->store_data = NULL;
}
