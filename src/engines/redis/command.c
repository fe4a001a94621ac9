/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/redis/command.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ------------------------------------------------------------------ keys -- */

static char *put_escaped(char *to, char c)
{
    static const char digits[] = "0123456789ABCDEF";

    *to++ = '%';
    *to++ = digits[(unsigned char)c >> 4];
    *to++ = digits[(unsigned char)c & 15];
    return to;
}

/* All of a key but its word, whose place is returned. */
static char *put_stem(char key[HF_REDIS_KEY_BYTES], const char *queue)
{
    char *to = stpcpy(key, "holdfast:{");

    for (const char *at = queue; *at != '\0'; at++) {
        assert(to + 24 < key + HF_REDIS_KEY_BYTES);
        if (*at == '%' || *at == '{' || *at == '}')
            to = put_escaped(to, *at);
        else
            *to++ = *at;
    }
    return stpcpy(to, "}:");
}

void hf_redis_key(const char *queue, const char *word,
                  char key[HF_REDIS_KEY_BYTES])
{
    (void)stpcpy(put_stem(key, queue), word);
}

/* -------------------------------------------------------------- commands -- */

#define KEYS 7
#define PLAIN_KEYS 2
/* Operation, lock name, not_after, ttl, session. */
#define ARGUMENTS 5

static const char *const words[KEYS] = {"queue", "until",   "tickets", "last",
                                        "looks", "writers", "members"};

/* Of a server that is one of several, whose tickets are others. */
static const char *const accord_words[KEYS] = {
    "quorum:queue", "quorum:until",   "quorum:tickets", "quorum:last",
    "quorum:looks", "quorum:writers", "quorum:members"};

static const char *const operations[] = {
    [HF_STORE_RENEW] = "renew",       [HF_STORE_ENQUEUE] = "enqueue",
    [HF_STORE_LIST] = "list",         [HF_STORE_PROBE] = "probe",
    [HF_STORE_REMOVE] = "withdraw",   [HF_STORE_DOWNGRADE] = "downgrade",
    [HF_STORE_RAISE] = "raise",       [HF_STORE_LOWER] = "lower",
    [HF_STORE_STAMP] = "stamp",       [HF_STORE_REVOKE] = "revoke",
    [HF_STORE_DESCRIBE] = "describe", [HF_STORE_GOODBYE] = "goodbye",
};

static const char *const accord_operations[] = {
    [HF_STORE_RENEW] = "confirm",   [HF_STORE_ENQUEUE] = "propose",
    [HF_STORE_LIST] = "show",       [HF_STORE_PROBE] = "glimpse",
    [HF_STORE_REMOVE] = "withdraw", [HF_STORE_DOWNGRADE] = "downgrade",
    [HF_STORE_REVOKE] = "ask",      [HF_STORE_DESCRIBE] = "describe",
    [HF_STORE_GOODBYE] = "goodbye",
};

static const char *operation_of(const struct hf_store_call *call)
{
    if (call->accord == NULL)
        return operations[call->kind];
    if (call->accord->step == HF_STORE_SETTLE)
        return "settle";
    if (call->accord->step == HF_STORE_MEND)
        return "mend";
    assert(accord_operations[call->kind] != NULL);
    return accord_operations[call->kind];
}

/* Those of marks have no part in the locks of others. */
static bool is_plain(const struct hf_redis_manner *manner, const char *queue)
{
    return manner->plain && queue[strlen(queue) - 1] != '/';
}

/* All but what is the operation's own, of which ${more} words follow. */
static void put_head(struct hf_resp *resp, const struct hf_store_call *call,
                     const struct hf_redis_manner *manner, const char *queue,
                     size_t more)
{
    bool plain = is_plain(manner, queue);
    size_t keys = KEYS + (plain ? PLAIN_KEYS : 0);
    char key[HF_REDIS_KEY_BYTES];
    char *word = put_stem(key, queue);

    hf_resp_begin(resp, 3 + keys + ARGUMENTS + more);
    hf_resp_put_text(resp, "EVALSHA");
    hf_resp_put_text(resp, manner->sha);
    hf_resp_put_number(resp, keys);
    for (size_t i = 0; i < KEYS; i++) {
        (void)stpcpy(word, call->accord != NULL ? accord_words[i] : words[i]);
        hf_resp_put_text(resp, key);
    }
    if (plain) {
        (void)stpcpy(word, "having");
        hf_resp_put_text(resp, queue);
        hf_resp_put_text(resp, key);
    }
    hf_resp_put_text(resp, operation_of(call));
    hf_resp_put_text(resp, queue);
    if (hf_store_call_writes(call))
        hf_resp_put_number(resp, call->not_after_ms);
    else
        hf_resp_put_text(resp, "");
    hf_resp_put_number(resp, call->ttl_ms);
    hf_resp_put_text(resp, call->session);
}

static void put_id(struct hf_resp *resp, const struct hf_ticket_id *id)
{
    char text[HF_TICKET_ID_TEXT_BYTES];

    hf_ticket_id_format(id, text);
    hf_resp_put_text(resp, text);
}

static void put_ids(struct hf_resp *resp, const struct hf_ticket_id *ids,
                    size_t count)
{
    for (size_t i = 0; i < count; i++)
        put_id(resp, &ids[i]);
}

static void put_flag(struct hf_resp *resp, bool flag)
{
    hf_resp_put_text(resp, flag ? "1" : "0");
}

static void put_numbered_stakes(struct hf_resp *resp,
                                const struct hf_store_call *call,
                                const struct hf_redis_manner *manner)
{
    const uint64_t *number = call->accord->numbers;

    for (size_t i = 0; i < call->stake_count; i++) {
        const struct hf_store_stake *stake = &call->stakes[i];

        put_head(resp, call, manner, stake->queue, 1 + 2 * stake->count);
        put_flag(resp, stake->looks);
        for (size_t k = 0; k < stake->count; k++) {
            put_id(resp, &stake->tickets[k]);
            hf_resp_put_number(resp, *number++);
        }
    }
}

static void put_stakes(struct hf_resp *resp, const struct hf_store_call *call,
                       const struct hf_redis_manner *manner)
{
    size_t flags = call->kind == HF_STORE_RENEW ? 1 : 0;

    if (call->accord != NULL && call->accord->numbers != NULL) {
        put_numbered_stakes(resp, call, manner);
        return;
    }
    for (size_t i = 0; i < call->stake_count; i++) {
        const struct hf_store_stake *stake = &call->stakes[i];

        put_head(resp, call, manner, stake->queue, flags + stake->count);
        if (flags > 0)
            put_flag(resp, stake->looks);
        put_ids(resp, stake->tickets, stake->count);
    }
}

static void put_enqueue(struct hf_resp *resp, const struct hf_store_call *call,
                        const struct hf_redis_manner *manner)
{
    bool mends = call->accord != NULL && call->accord->step == HF_STORE_MEND;

    put_head(resp, call, manner, call->queue, mends ? 5 : 4);
    put_id(resp, &call->ticket);
    hf_resp_put_number(resp, call->ticket_kind);
    hf_resp_put_number(resp, call->weight);
    hf_resp_put_text(resp, call->payload);
    if (mends)
        hf_resp_put_number(resp, call->accord->number);
}

/* Of one of several servers: with the number it is told.  True if that is all.
 */
static bool put_accord(struct hf_resp *resp, const struct hf_store_call *call,
                       const struct hf_redis_manner *manner)
{
    if (call->accord == NULL)
        return false;
    if (call->kind == HF_STORE_LIST) {
        put_head(resp, call, manner, call->queue, 3);
        put_flag(resp, call->looks);
        put_flag(resp, call->whole);
    } else if (call->accord->step == HF_STORE_SETTLE ||
               call->kind == HF_STORE_REVOKE) {
        put_head(resp, call, manner, call->queue, 2);
        put_id(resp, &call->ticket);
    } else {
        return false;
    }
    hf_resp_put_number(resp, call->accord->number);
    return true;
}

size_t hf_redis_command_count(const struct hf_store_call *call)
{
    bool of_session =
        call->kind == HF_STORE_RENEW || call->kind == HF_STORE_GOODBYE;

    return of_session ? call->stake_count : 1;
}

void hf_redis_command_put(struct hf_resp *resp,
                          const struct hf_store_call *call,
                          const struct hf_redis_manner *manner)
{
    if (put_accord(resp, call, manner))
        return;
    switch (call->kind) {
    case HF_STORE_RENEW:
    case HF_STORE_GOODBYE:
        put_stakes(resp, call, manner);
        break;
    case HF_STORE_ENQUEUE:
        put_enqueue(resp, call, manner);
        break;
    case HF_STORE_LIST:
        put_head(resp, call, manner, call->queue, 4);
        put_flag(resp, call->looks);
        put_flag(resp, call->whole);
        hf_resp_put_number(resp, call->ticket_kind);
        if (hf_store_call_may_be_partial(call))
            put_id(resp, &call->ticket);
        else
            hf_resp_put_text(resp, "");
        break;
    case HF_STORE_PROBE:
        put_head(resp, call, manner, call->queue, call->count);
        put_ids(resp, call->tickets, call->count);
        break;
    case HF_STORE_REMOVE:
    case HF_STORE_DOWNGRADE:
    case HF_STORE_REVOKE:
        put_head(resp, call, manner, call->queue, 1);
        put_id(resp, &call->ticket);
        break;
    case HF_STORE_DESCRIBE:
        put_head(resp, call, manner, call->queue, 2);
        put_id(resp, &call->ticket);
        hf_resp_put_text(resp, call->payload);
        break;
    case HF_STORE_RAISE:
        put_head(resp, call, manner, call->queue, 2);
        hf_resp_put_number(resp, call->ticket_kind);
        put_id(resp, &call->ticket);
        break;
    case HF_STORE_LOWER:
        put_head(resp, call, manner, call->queue, 1);
        hf_resp_put_number(resp, call->ticket_kind);
        break;
    case HF_STORE_STAMP:
        put_head(resp, call, manner, call->queue, 3);
        put_id(resp, &call->ticket);
        hf_resp_put_number(resp, call->limit);
        put_id(resp, &call->mark);
        break;
    }
}

/* --------------------------------------------------------------- notices -- */

/* A number, a space, an id and a space in front of the queue. */
static bool read_ticket(struct hf_store_notice *notice, const char *at,
                        unsigned long *number)
{
    char *end;

    if (*at < '0' || *at > '9')
        return false;
    *number = strtoul(at, &end, 10);
    if (*end != ' ' || *number > UINT32_MAX)
        return false;
    at = end + 1;
    if (strnlen(at, HF_TICKET_ID_TEXT_BYTES) != HF_TICKET_ID_TEXT_BYTES ||
        at[HF_TICKET_ID_TEXT_BYTES - 1] != ' ' ||
        !hf_ticket_id_parse(&notice->ticket, at, HF_TICKET_ID_TEXT_BYTES - 1))
        return false;
    notice->queue = at + HF_TICKET_ID_TEXT_BYTES;
    return true;
}

/* What is behind ${word}, or NULL. */
static const char *behind(const char *text, const char *word)
{
    size_t bytes = strlen(word);

    return strncmp(text, word, bytes) == 0 ? text + bytes : NULL;
}

bool hf_redis_notice_read(struct hf_store_notice *notice, const char *text)
{
    unsigned long number = 0;
    const char *rest;
    bool known;

    *notice = (struct hf_store_notice){0};
    if ((rest = behind(text, "changed ")) != NULL) {
        notice->kind = HF_STORE_CHANGED;
        notice->queue = rest;
        return true;
    }
    if ((rest = behind(text, "gone ")) != NULL) {
        notice->kind = HF_STORE_GONE;
        known = read_ticket(notice, rest, &number) &&
                (number == 0 || number == HF_TICKET_WRITE);
        notice->ticket_kind = (enum hf_ticket_kind)number;
        return known;
    }
    if ((rest = behind(text, "revoked ")) == NULL)
        return false;
    notice->kind = HF_STORE_REVOKED;
    known = read_ticket(notice, rest, &number);
    notice->revoked = (uint32_t)number;
    return known;
}
