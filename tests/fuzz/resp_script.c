/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the arguments of our script and makes a call of the lease store of
 * them. */
#include "resp_script.h"

#include <string.h>

#include "fuzz.h"

static const struct operation {
    const char *word;
    enum hf_store_call_kind kind;
    bool numbered;
} operations[] = {
    {"renew", HF_STORE_RENEW, false},
    {"enqueue", HF_STORE_ENQUEUE, false},
    {"participate", HF_STORE_ENQUEUE, false},
    {"list", HF_STORE_LIST, false},
    {"exists", HF_STORE_EXISTS, false},
    {"remove", HF_STORE_REMOVE, false},
    {"downgrade", HF_STORE_DOWNGRADE, false},
    {"set_flag", HF_STORE_SET_FLAG, false},
    {"clear_flag", HF_STORE_CLEAR_FLAG, false},
    {"new_generation", HF_STORE_NEW_GENERATION, false},
    {"revoke", HF_STORE_REVOKE, false},
    {"describe", HF_STORE_DESCRIBE, false},
    {"close_session", HF_STORE_CLOSE_SESSION, false},
    {"propose", HF_STORE_ENQUEUE, true},
    {"commit", HF_STORE_LIST, true},
    {"repair", HF_STORE_ENQUEUE, true},
    {"quorum_list", HF_STORE_LIST, true},
    {"quorum_renew", HF_STORE_RENEW, true},
    {"quorum_exists", HF_STORE_EXISTS, true},
    {"quorum_revoke", HF_STORE_REVOKE, true},
};

static const struct operation *operation_of(const char *word)
{
    for (size_t i = 0; i < sizeof operations / sizeof operations[0]; i++)
        if (strcmp(operations[i].word, word) == 0)
            return &operations[i];
    MUST(false); /* not an operation of our script */
    return NULL;
}

struct hf_ticket_id resp_id(const char *word)
{
    struct hf_ticket_id id;

    MUST(hf_ticket_id_parse(&id, word, strlen(word)));
    return id;
}

static void take_ids(struct resp_script *script, char **words, size_t count,
                     size_t step)
{
    size_t n = 0;

    for (size_t i = 0; i < count; i += step)
        script->ids[n++] = resp_id(words[i]);
    script->ticket_set =
        (struct hf_store_ticket_set){script->call.queue, script->ids, n, false};
    script->call.tickets = script->ids;
    script->call.count = n;
    script->call.ticket_sets = &script->ticket_set;
    script->call.ticket_set_count = 1;
}

/* The ticket of ${word}: "session id", and of a new one "session id ttl kind
 * weight payload".  A space that ends a word becomes a NUL. */
static void take_ticket(struct resp_script *script, char *word)
{
    struct hf_store_call *call = &script->call;
    char *at = word;

    call->session = strsep(&at, " ");
    if (at == NULL)
        return;
    call->ticket = resp_id(strsep(&at, " "));
    if (at == NULL)
        return;
    MUST(strtoull(strsep(&at, " "), NULL, 10) == call->ttl_ms);
    call->ticket_kind = (enum hf_ticket_kind)atoi(strsep(&at, " "));
    call->weight = (uint32_t)atoi(strsep(&at, " "));
    MUST(at != NULL);
    call->payload = at;
}

/* The arguments of the operation itself, from ${words} on. */
static void take_own(struct resp_script *script, char **words, size_t count)
{
    struct hf_store_call *call = &script->call;
    bool numbered = script->numbered;

    switch (call->kind) {
    case HF_STORE_RENEW:
        take_ids(script, words + 1, count - 1, numbered ? 2 : 1);
        script->ticket_set.watches_queue = words[0][0] == '1';
        break;
    case HF_STORE_CLOSE_SESSION:
    case HF_STORE_EXISTS:
        take_ids(script, words, count, 1);
        break;
    case HF_STORE_ENQUEUE:
    case HF_STORE_REMOVE:
        break; /* take_ticket() */
    case HF_STORE_LIST:
        if (strcmp(script->word, "commit") == 0)
            break;
        call->watches_queue = words[0][0] == '1';
        call->detailed = words[1][0] == '1';
        if (!numbered)
            call->ticket_kind = (enum hf_ticket_kind)atoi(words[2]);
        break;
    case HF_STORE_DESCRIBE:
        call->ticket = resp_id(words[0]);
        call->payload = words[1];
        break;
    case HF_STORE_SET_FLAG:
        call->ticket_kind = (enum hf_ticket_kind)atoi(words[0]);
        call->ticket = resp_id(words[1]);
        break;
    case HF_STORE_CLEAR_FLAG:
        call->ticket_kind = (enum hf_ticket_kind)atoi(words[0]);
        break;
    case HF_STORE_NEW_GENERATION:
        call->ticket = resp_id(words[0]);
        call->limit = (uint32_t)atoi(words[1]);
        call->flag = resp_id(words[2]);
        break;
    default:
        call->ticket = resp_id(words[0]);
    }
}

/* The name of the queue in ${key}, "holdfast:{NAME}:...", unescaped there. */
static const char *take_queue(char *key)
{
    static const char *const escaped[] = {"%25", "%7B", "%7D"};
    char *from = strchr(key, '{');
    char *name, *to;

    MUST(from != NULL);
    name = to = ++from;
    while (*from != '}') {
        char c = *from++;

        MUST(c != '\0');
        for (size_t i = 0; c == '%' && i < 3; i++) {
            if (strncmp(from - 1, escaped[i], 3) != 0)
                continue;
            c = "%{}"[i];
            from += 2;
            break;
        }
        *to++ = c;
    }
    *to = '\0';
    return name;
}

void resp_script_read(struct resp_script *script, char *key, char **words,
                      size_t count)
{
    static const char redis_py[] = "redis-py:";
    const char *word = words[0];
    const struct operation *operation;

    if (strncmp(word, redis_py, strlen(redis_py)) == 0)
        word += strlen(redis_py);
    operation = operation_of(word);
    *script =
        (struct resp_script){.word = word, .numbered = operation->numbered};
    script->call.kind = operation->kind;
    script->call.queue = take_queue(key);
    MUST(strcmp(strsep(&words[1], " "), "2") == 0);
    script->call.not_after_ms = strtoull(strsep(&words[1], " "), NULL, 10);
    script->call.ttl_ms = strtoull(words[1], NULL, 10);
    take_ticket(script, words[2]);
    take_own(script, words + 3, count - 3);
}
