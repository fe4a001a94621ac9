/* SPDX-License-Identifier: Apache-2.0 */
/* The replies that are expected on the connection for calls.  A server replies
 * in the order of the commands, so a list says what each reply answers. */
#include <stdio.h>

#include "base/memory.h"
#include "engines/redis/redis_link.h"
#include "engines/redis/reply.h"

struct hf_redis_expected_reply {
    enum hf_redis_reply_kind what;
    struct hf_store_call *call;
    struct hf_redis_expected_reply *next;
};

bool hf_redis_expect(struct hf_redis_link *link, enum hf_redis_reply_kind what,
                     struct hf_store_call *call)
{
    struct hf_redis_expected_reply *expected = hf_alloc(sizeof *expected);

    if (expected == NULL) {
        link->why_status = HF_EUNREACHABLE;
        (void)snprintf(link->why, sizeof link->why, "out of memory");
        link->calls.out.failed = true; /* a reply would have no call */
        return false;
    }
    expected->what = what;
    expected->call = call;
    if (link->last != NULL)
        link->last->next = expected;
    else
        link->first = expected;
    link->last = expected;
    return true;
}

bool hf_redis_expected_take(struct hf_redis_link *link,
                            enum hf_redis_reply_kind *what,
                            struct hf_store_call **call)
{
    struct hf_redis_expected_reply *expected = link->first;

    if (expected == NULL)
        return false;
    *what = expected->what;
    *call = expected->call;
    link->first = expected->next;
    if (link->first == NULL)
        link->last = NULL;
    hf_free(expected);
    return true;
}

void hf_redis_expected_clear(struct hf_redis_link *link)
{
    struct hf_store_call *call;
    enum hf_redis_reply_kind what;

    while (hf_redis_expected_take(link, &what, &call))
        hf_redis_answer_drop(call);
}
