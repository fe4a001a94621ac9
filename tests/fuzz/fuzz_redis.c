/* SPDX-License-Identifier: Apache-2.0 */
/* What a Redis server replies to a client of leased tickets, in RESP: each
 * reply is a byte with its length and so many bytes, for each command of the
 * call; and messages of its channel. */
#include <string.h>

#include "core/memory.h"
#include "engines/redis/answer.h"
#include "engines/redis/command.h"
#include "fuzz.h"
#include "talk.h"

/* Is it an array for whose elements hiredis would take more memory, before the
 * first of them has come, than a fuzzer is given?  It has no bound for that in
 * every version. */
static bool is_huge(const uint8_t *bytes, size_t count)
{
    size_t digits = 0;

    for (size_t i = 0; i < count; i++) {
        digits = bytes[i] >= '0' && bytes[i] <= '9' ? digits + 1 : 0;
        if (digits > 5 && i >= digits && strchr("*%~>", bytes[i - digits]))
            return true;
    }
    return false;
}

/* NULL: it is none, or not whole. */
static redisReply *read_reply(struct talk *talk)
{
    redisReader *reader = redisReaderCreate();
    size_t count = 4 * (size_t)talk_next(talk);
    const uint8_t *bytes = talk_some(talk, &count);
    void *reply = NULL;

    MUST(reader != NULL);
    if (is_huge(bytes, count) ||
        redisReaderFeed(reader, (const char *)bytes, count) != REDIS_OK ||
        redisReaderGetReply(reader, &reply) != REDIS_OK)
        reply = NULL;
    redisReaderFree(reader);
    return reply;
}

/* False: not all of its replies are any. */
static bool take_all(struct talk *talk, const struct hf_store_call *call,
                     struct hf_redis_answer *answer, redisReply **last)
{
    size_t count = hf_redis_command_count(call);

    for (size_t i = 0; i < count; i++) {
        /* Its texts are those of the last one. */
        if (*last != NULL)
            freeReplyObject(*last);
        *last = read_reply(talk);
        if (*last == NULL)
            return false;
        hf_redis_answer_take(answer, call, *last);
    }
    return true;
}

static void answer(struct talk *talk, struct hf_store_call *call)
{
    struct hf_redis_answer *answer = hf_alloc(sizeof *answer);
    redisReply *last = NULL;

    MUST(answer != NULL);
    if (take_all(talk, call, answer, &last)) {
        answer->answer.ok = answer->answer.status == HF_OK;
        hf_leased_answered(talk->leased, call, &answer->answer, talk->now_ms);
    } else {
        talk_down(talk);
    }
    if (last != NULL)
        freeReplyObject(last);
    hf_redis_answer_free(answer);
}

static void notice(struct talk *talk)
{
    size_t count = talk_next(talk);
    const uint8_t *bytes = talk_some(talk, &count);
    char *text = fuzz_text(bytes, count);
    struct hf_store_notice notice;

    if (hf_redis_notice_read(&notice, text))
        hf_leased_notice(talk->leased, &notice, talk->now_ms);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    static const struct talk_words words = {answer, notice};
    struct talk talk = {0};

    talk_run(&talk, &words, NULL, data, bytes);
    return 0;
}
