/* SPDX-License-Identifier: Apache-2.0 */
/* Writes calls as EVALSHA commands, and parses the messages of notices. */
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

/* Write the part of a key of ${queue} before its last word.  Returns where that
 * word goes. */
static char *put_key_prefix(char key[HF_REDIS_KEY_BYTES], const char *queue)
{
    char *to = stpcpy(key, "holdfast:{");

    for (const char *at = queue; *at != '\0'; at++) {
        assert(to + HF_REDIS_KEY_END_BYTES < key + HF_REDIS_KEY_BYTES);
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
    (void)stpcpy(put_key_prefix(key, queue), word);
}

/* -------------------------------------------------------------- commands -- */

/* The number of keys that every call may use, and of those that it may also use
 * with layout=redis-py. */
#define KEYS 7
#define REDIS_PY_KEYS 2
/* the number of arguments that every call has: the operation; "2 not_after
 * ttl"; and "session" with the ticket, if there is one */
#define ARGUMENTS 3

/* The script compares not_after with the server's clock as texts.  Until the
 * year 2286 a time in milliseconds has this many digits. */
#define NOT_AFTER_DIGITS 13

/* Goes before the name of the operation with layout=redis-py. */
#define REDIS_PY "redis-py:"
/* Room for the longest name of an operation, and the NUL. */
#define OPERATION_BYTES (sizeof REDIS_PY "new_generation")

static const char *const key_words[KEYS] = {
    "last", "queue", "until", "tickets", "watchers", "writers", "participants"};

/* The keys at a server of a quorum, in the same order. */
static const char *const quorum_key_words[KEYS] = {
    "quorum:last",     "quorum:queue",   "quorum:until",       "quorum:tickets",
    "quorum:watchers", "quorum:writers", "quorum:participants"};

/* The last word of the key that READ_SUCCESS and WRITE_SUCCESS use besides
 * these. */
#define SUCCESS_KEY "success"
#define QUORUM_SUCCESS_KEY "quorum:success"

/* The operation of the script that carries out each kind of call. */
static const char *const operations[] = {
    [HF_STORE_RENEW] = "renew",
    [HF_STORE_ENQUEUE] = "enqueue",
    [HF_STORE_LIST] = "list",
    [HF_STORE_EXISTS] = "exists",
    [HF_STORE_REMOVE] = "remove",
    [HF_STORE_DOWNGRADE] = "downgrade",
    [HF_STORE_SET_FLAG] = "set_flag",
    [HF_STORE_CLEAR_FLAG] = "clear_flag",
    [HF_STORE_NEW_GENERATION] = "new_generation",
    [HF_STORE_REVOKE] = "revoke",
    [HF_STORE_DESCRIBE] = "describe",
    [HF_STORE_CLOSE_SESSION] = "close_session",
    [HF_STORE_READ_SUCCESS] = "read_success",
    [HF_STORE_WRITE_SUCCESS] = "write_success",
};

/* The same for a server of a quorum. */
static const char *const quorum_operations[] = {
    [HF_STORE_RENEW] = "quorum_renew",
    [HF_STORE_ENQUEUE] = "propose",
    [HF_STORE_LIST] = "quorum_list",
    [HF_STORE_EXISTS] = "quorum_exists",
    [HF_STORE_REMOVE] = "remove",
    [HF_STORE_DOWNGRADE] = "downgrade",
    [HF_STORE_REVOKE] = "quorum_revoke",
    [HF_STORE_DESCRIBE] = "describe",
    [HF_STORE_CLOSE_SESSION] = "close_session",
    [HF_STORE_READ_SUCCESS] = "read_success",
    [HF_STORE_WRITE_SUCCESS] = "write_success",
};

/* The name of the script's operation that carries out ${call}. */
static const char *operation_of(const struct hf_store_call *call)
{
    if (call->quorum == NULL && call->kind == HF_STORE_ENQUEUE &&
        hf_store_is_double_barrier_kind(call->ticket_kind))
        return "participate";
    if (call->quorum == NULL)
        return operations[call->kind];
    if (call->quorum->step == HF_STORE_COMMIT)
        return "commit";
    if (call->quorum->step == HF_STORE_REPAIR)
        return "repair";
    assert(quorum_operations[call->kind] != NULL);
    return quorum_operations[call->kind];
}

/* Returns whether the script also uses the key of redis-py.  Queues of flags,
 * whose names end with '/', have no such key. */
static bool uses_redis_py_key(const struct hf_redis_script_options *script,
                              const char *queue)
{
    return script->redis_py && queue[strlen(queue) - 1] != '/';
}

static bool uses_success_key(const struct hf_store_call *call)
{
    return call->kind == HF_STORE_READ_SUCCESS ||
           call->kind == HF_STORE_WRITE_SUCCESS;
}

static size_t key_count(const struct hf_store_call *call,
                        const struct hf_redis_script_options *script,
                        const char *queue)
{
    size_t count = KEYS;

    if (!script->declares_keys)
        return 1;
    if (uses_redis_py_key(script, queue))
        count += REDIS_PY_KEYS;
    if (uses_success_key(call))
        count++;
    return count;
}

/* Append the keys.  A Redis Cluster must get all keys that the script may use.
 * Any other server gets only the first key, from which the script derives the
 * others, because each word of a command costs the server time. */
static void put_keys(struct hf_resp *resp, const struct hf_store_call *call,
                     const struct hf_redis_script_options *script,
                     const char *queue)
{
    const char *const *words =
        call->quorum != NULL ? quorum_key_words : key_words;
    bool redis_py = uses_redis_py_key(script, queue);
    bool success = uses_success_key(call);
    char key[HF_REDIS_KEY_BYTES];
    char *word = put_key_prefix(key, queue);

    hf_resp_put_number(resp, key_count(call, script, queue));
    for (size_t i = 0; i < (script->declares_keys ? KEYS : 1); i++) {
        (void)stpcpy(word, words[i]);
        hf_resp_put_text(resp, key);
    }
    if (script->declares_keys && redis_py) {
        (void)stpcpy(word, "holder");
        hf_resp_put_text(resp, queue);
        hf_resp_put_text(resp, key);
    }
    if (script->declares_keys && success) {
        (void)stpcpy(word,
                     call->quorum != NULL ? QUORUM_SUCCESS_KEY : SUCCESS_KEY);
        hf_resp_put_text(resp, key);
    }
}

/* Write ${number} into ${text}, with zeros in front so that it has at least
 * NOT_AFTER_DIGITS digits.  Returns where it begins. */
static const char *padded(char text[HF_RESP_NUMBER_BYTES], uint64_t number)
{
    const char *all = text + HF_RESP_NUMBER_BYTES - 1 - NOT_AFTER_DIGITS;
    const char *digits;

    memset(text, '0', HF_RESP_NUMBER_BYTES);
    digits = hf_resp_number(text, number);
    return digits < all ? digits : all;
}

/* Append "2 not_after ttl", see prologue.lua. */
static void put_times(struct hf_resp *resp, const struct hf_store_call *call)
{
    char not_after[HF_RESP_NUMBER_BYTES], ttl[HF_RESP_NUMBER_BYTES];
    uint64_t not_after_ms =
        hf_store_call_writes(call) ? call->not_after_ms : UINT64_MAX;
    const char *const words[] = {"2", padded(not_after, not_after_ms),
                                 hf_resp_number(ttl, call->ttl_ms)};

    hf_resp_put_joined(resp, words, sizeof words / sizeof words[0]);
}

/* Append the command up to the third argument, which is made of the ${count}
 * words of ${ticket}.  The caller then appends ${more} arguments. */
static void put_command(struct hf_resp *resp, const struct hf_store_call *call,
                        const struct hf_redis_script_options *script,
                        const char *queue, const char *const ticket[],
                        size_t count, size_t more)
{
    char operation[OPERATION_BYTES];

    (void)stpcpy(
        stpcpy(operation, uses_redis_py_key(script, queue) ? REDIS_PY : ""),
        operation_of(call));
    hf_resp_begin(resp, 3 + key_count(call, script, queue) + ARGUMENTS + more);
    hf_resp_put_text(resp, "EVALSHA");
    hf_resp_put_text(resp, script->sha);
    put_keys(resp, call, script, queue);
    hf_resp_put_text(resp, operation);
    put_times(resp, call);
    hf_resp_put_joined(resp, ticket, count);
}

static void put_command_head(struct hf_resp *resp,
                             const struct hf_store_call *call,
                             const struct hf_redis_script_options *script,
                             const char *queue, size_t more)
{
    put_command(resp, call, script, queue, &call->session, 1, more);
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

/* Append the RENEW for a server of a quorum, in which each id is followed by
 * the number of its ticket. */
static void put_numbered_sets(struct hf_resp *resp,
                              const struct hf_store_call *call,
                              const struct hf_redis_script_options *script)
{
    const uint64_t *number = call->quorum->numbers;

    for (size_t i = 0; i < call->ticket_set_count; i++) {
        const struct hf_store_ticket_set *set = &call->ticket_sets[i];

        put_command_head(resp, call, script, set->queue, 1 + 2 * set->count);
        put_flag(resp, set->watches_queue);
        for (size_t k = 0; k < set->count; k++) {
            put_id(resp, &set->tickets[k]);
            hf_resp_put_number(resp, *number++);
        }
    }
}

/* Append RENEW or CLOSE_SESSION: one command for each queue. */
static void put_sets(struct hf_resp *resp, const struct hf_store_call *call,
                     const struct hf_redis_script_options *script)
{
    size_t flags = call->kind == HF_STORE_RENEW ? 1 : 0;

    if (call->quorum != NULL && call->quorum->numbers != NULL) {
        put_numbered_sets(resp, call, script);
        return;
    }
    for (size_t i = 0; i < call->ticket_set_count; i++) {
        const struct hf_store_ticket_set *set = &call->ticket_sets[i];

        put_command_head(resp, call, script, set->queue, flags + set->count);
        if (flags > 0)
            put_flag(resp, set->watches_queue);
        put_ids(resp, set->tickets, set->count);
    }
}

/* Append an ENQUEUE.  At a server of a quorum this is a proposal or a
 * repair. */
static void put_enqueue(struct hf_resp *resp, const struct hf_store_call *call,
                        const struct hf_redis_script_options *script)
{
    bool repairs =
        call->quorum != NULL && call->quorum->step == HF_STORE_REPAIR;
    char id[HF_TICKET_ID_TEXT_BYTES];
    char ttl[HF_RESP_NUMBER_BYTES], kind[HF_RESP_NUMBER_BYTES];
    char weight[HF_RESP_NUMBER_BYTES];
    const char *const ticket[] = {call->session,
                                  id,
                                  hf_resp_number(ttl, call->ttl_ms),
                                  hf_resp_number(kind, call->ticket_kind),
                                  hf_resp_number(weight, call->weight),
                                  call->payload};

    hf_ticket_id_format(&call->ticket, id);
    put_command(resp, call, script, call->queue, ticket,
                sizeof ticket / sizeof ticket[0], repairs ? 1 : 0);
    if (repairs)
        hf_resp_put_number(resp, call->quorum->number);
}

/* Append ${call} if it has other arguments at a server of a quorum.  Returns
 * whether it was appended. */
static bool put_quorum_call(struct hf_resp *resp,
                            const struct hf_store_call *call,
                            const struct hf_redis_script_options *script)
{
    if (call->quorum == NULL)
        return false;
    if (call->kind == HF_STORE_LIST) {
        put_command_head(resp, call, script, call->queue, 3);
        put_flag(resp, call->watches_queue);
        put_flag(resp, call->detailed);
    } else if (call->quorum->step == HF_STORE_COMMIT ||
               call->kind == HF_STORE_REVOKE) {
        put_command_head(resp, call, script, call->queue, 2);
        put_id(resp, &call->ticket);
    } else {
        return false;
    }
    hf_resp_put_number(resp, call->quorum->number);
    return true;
}

/* Append REMOVE, with who evicted the ticket if that is known. */
static void put_remove(struct hf_resp *resp, const struct hf_store_call *call,
                       const struct hf_redis_script_options *script)
{
    char hex[HF_EVICTED_BY_HEX_BYTES] = "";
    char id[HF_TICKET_ID_TEXT_BYTES];
    const char *const ticket[] = {call->session, id};

    if (call->evicted_by != NULL)
        hf_evicted_by_encode(call->evicted_by, hex);
    hf_ticket_id_format(&call->ticket, id);
    put_command(resp, call, script, call->queue, ticket, 2,
                hex[0] != '\0' ? 1 : 0);
    if (hex[0] != '\0')
        hf_resp_put_text(resp, hex);
}

size_t hf_redis_command_count(const struct hf_store_call *call)
{
    bool of_all_queues =
        call->kind == HF_STORE_RENEW || call->kind == HF_STORE_CLOSE_SESSION;

    return of_all_queues ? call->ticket_set_count : 1;
}

void hf_redis_command_put(struct hf_resp *resp,
                          const struct hf_store_call *call,
                          const struct hf_redis_script_options *script)
{
    if (put_quorum_call(resp, call, script))
        return;
    switch (call->kind) {
    case HF_STORE_RENEW:
    case HF_STORE_CLOSE_SESSION:
        put_sets(resp, call, script);
        break;
    case HF_STORE_ENQUEUE:
        put_enqueue(resp, call, script);
        break;
    case HF_STORE_LIST:
        put_command_head(resp, call, script, call->queue, 6);
        put_flag(resp, call->watches_queue);
        put_flag(resp, call->detailed);
        hf_resp_put_number(resp, call->ticket_kind);
        if (hf_store_call_may_be_partial(call))
            put_id(resp, &call->ticket);
        else
            hf_resp_put_text(resp, "");
        hf_resp_put_number(resp, call->texts.from);
        hf_resp_put_number(resp, call->texts.count);
        break;
    case HF_STORE_EXISTS:
        put_command_head(resp, call, script, call->queue, call->count);
        put_ids(resp, call->tickets, call->count);
        break;
    case HF_STORE_REMOVE:
        put_remove(resp, call, script);
        break;
    case HF_STORE_DOWNGRADE:
    case HF_STORE_REVOKE:
        put_command_head(resp, call, script, call->queue, 1);
        put_id(resp, &call->ticket);
        break;
    case HF_STORE_DESCRIBE:
        put_command_head(resp, call, script, call->queue, 2);
        put_id(resp, &call->ticket);
        hf_resp_put_text(resp, call->payload);
        break;
    case HF_STORE_READ_SUCCESS:
        put_command_head(resp, call, script, call->queue, 0);
        break;
    case HF_STORE_WRITE_SUCCESS:
        put_command_head(resp, call, script, call->queue, 2);
        put_id(resp, &call->ticket);
        hf_resp_put_number(resp, call->success_token);
        break;
    case HF_STORE_SET_FLAG:
        put_command_head(resp, call, script, call->queue, 2);
        hf_resp_put_number(resp, call->ticket_kind);
        put_id(resp, &call->ticket);
        break;
    case HF_STORE_CLEAR_FLAG:
        put_command_head(resp, call, script, call->queue, 1);
        hf_resp_put_number(resp, call->ticket_kind);
        break;
    case HF_STORE_NAMES:   /* see scan.h */
    case HF_STORE_EXAMINE: /* see examine.h */
        break;
    case HF_STORE_NEW_GENERATION:
        put_command_head(resp, call, script, call->queue, 3);
        put_id(resp, &call->ticket);
        hf_resp_put_number(resp, call->limit);
        put_id(resp, &call->flag);
        break;
    }
}

/* --------------------------------------------------------------- notices -- */

/* Parse "ID QUEUE". */
static bool read_id(struct hf_store_notice *notice, const char *at)
{
    if (strnlen(at, HF_TICKET_ID_TEXT_BYTES) != HF_TICKET_ID_TEXT_BYTES ||
        at[HF_TICKET_ID_TEXT_BYTES - 1] != ' ' ||
        !hf_ticket_id_parse(&notice->ticket, at, HF_TICKET_ID_TEXT_BYTES - 1))
        return false;
    notice->queue = at + HF_TICKET_ID_TEXT_BYTES;
    return true;
}

/* Parse "TEXT ID QUEUE", where TEXT encodes who evicted the ticket.  If TEXT
 * cannot be decoded, it is ignored, because the ticket is gone all the same. */
static bool read_evicted(struct hf_store_notice *notice, const char *at)
{
    size_t digits = strcspn(at, " ");

    (void)hf_evicted_by_explain_hex(at, digits, notice->why);
    return at[digits] == ' ' && read_id(notice, at + digits + 1);
}

/* Parse "NUMBER ID QUEUE". */
static bool read_ticket(struct hf_store_notice *notice, const char *at,
                        unsigned long *number)
{
    char *end;

    if (*at < '0' || *at > '9')
        return false;
    *number = strtoul(at, &end, 10);
    if (*end != ' ' || *number > UINT32_MAX)
        return false;
    return read_id(notice, end + 1);
}

/* Returns the text behind ${word}, or NULL if ${text} does not begin with
 * ${word}. */
static const char *after_prefix(const char *text, const char *word)
{
    size_t bytes = strlen(word);

    return strncmp(text, word, bytes) == 0 ? text + bytes : NULL;
}

bool hf_redis_notice_read(struct hf_store_notice *notice, const char *text)
{
    unsigned long number = 0;
    const char *body;
    bool valid;

    *notice = (struct hf_store_notice){0};
    if ((body = after_prefix(text, "changed ")) != NULL) {
        notice->kind = HF_STORE_CHANGED;
        notice->queue = body;
        return true;
    }
    if ((body = after_prefix(text, "gone ")) != NULL) {
        notice->kind = HF_STORE_GONE;
        valid = read_ticket(notice, body, &number) &&
                (number == 0 || number == HF_TICKET_WRITE);
        notice->ticket_kind = (enum hf_ticket_kind)number;
        return valid;
    }
    if ((body = after_prefix(text, "evicted ")) != NULL) {
        notice->kind = HF_STORE_GONE;
        return read_evicted(notice, body);
    }
    if ((body = after_prefix(text, "revoked ")) == NULL)
        return false;
    notice->kind = HF_STORE_REVOKED;
    valid = read_ticket(notice, body, &number);
    notice->revoked = (uint32_t)number;
    return valid;
}
