/* SPDX-License-Identifier: Apache-2.0 */
/* The texts that a walk over names reads: a key that SCAN shows, if the first
 * byte is 'k', else a cursor of ours.  Properties: a key of ours is written
 * again as it was, and no other is accepted; a cursor names a hash slot that
 * there is, and the next one is of the same. */
#include <string.h>

#include "core/ticket.h"
#include "engines/redis/hash_slot.h"
#include "engines/redis/scan.h"
#include "fuzz.h"

static void check_key(const char *key)
{
    char queue[HF_REDIS_KEY_BYTES], again[HF_REDIS_KEY_BYTES];
    static const char *const words[] = {
        [HF_REDIS_SCAN_QUEUE] = "queue",
        [HF_REDIS_SCAN_PARTICIPANTS] = "participants",
        [HF_REDIS_SCAN_LAST] = "last",
    };
    enum hf_redis_scan_key which = hf_redis_scan_read_key(key, queue);

    if (which == HF_REDIS_SCAN_NO_KEY)
        return;
    MUST(queue[0] != '\0' && queue[strlen(queue) - 1] != '/');
    if (strlen(queue) > HF_NAME_BYTES + strlen(HF_QUEUE_LEASES))
        return; /* the walk refuses it (host/names.c), so no key is made of it
                 */
    hf_redis_key(queue, words[which], again);
    MUST(strcmp(key, again) == 0);
}

static void check_cursor(const char *text, size_t bytes)
{
    static const char run_id[] = "0123456789012345678901234567890123456789";
    const struct hf_names_request names = {.cursor = text,
                                           .cursor_bytes = bytes};
    struct hf_store_call call = {.names = &names, .prefix = "all/[a]*"};
    char cursor[HF_REDIS_CURSOR_BYTES];
    unsigned slot = hf_redis_scan_slot(&call);
    const struct hf_names_request next = {
        .cursor = cursor,
        .cursor_bytes = hf_redis_scan_next(&call, run_id, text, cursor)};

    MUST(slot < HF_REDIS_HASH_SLOTS);
    MUST(next.cursor_bytes < sizeof cursor);
    call.names = &next;
    MUST(next.cursor_bytes == 0 || hf_redis_scan_slot(&call) == slot);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *text;

    if (bytes == 0)
        return 0;
    text = fuzz_text(data + 1, bytes - 1);
    if (data[0] == 'k')
        check_key(text);
    else
        check_cursor(text, bytes - 1);
    free(text);
    return 0;
}
