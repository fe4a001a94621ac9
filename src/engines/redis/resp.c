/* SPDX-License-Identifier: Apache-2.0 */
#include "engines/redis/resp.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/memory.h"

#define ROOM_LEAST 4096

/* Room for ${count} bytes more, or .failed. */
static bool make_room(struct hf_resp *resp, size_t count)
{
    size_t room = resp->room > 0 ? resp->room : ROOM_LEAST;
    char *bytes;

    while (room - resp->used < count)
        room *= 2;
    if (resp->failed || room == resp->room)
        return !resp->failed;
    bytes = hf_realloc(resp->bytes, room);
    if (bytes == NULL) {
        resp->failed = true;
        return false;
    }
    resp->bytes = bytes;
    resp->room = room;
    return true;
}

static void append(struct hf_resp *resp, const void *bytes, size_t count)
{
    if (!make_room(resp, count))
        return;
    memcpy(resp->bytes + resp->used, bytes, count);
    resp->used += count;
}

static void append_header(struct hf_resp *resp, char kind, size_t count)
{
    char text[32];
    int length = snprintf(text, sizeof text, "%c%zu\r\n", kind, count);

    assert(length > 0);
    append(resp, text, (size_t)length);
}

void hf_resp_begin(struct hf_resp *resp, size_t count)
{
    append_header(resp, '*', count);
}

void hf_resp_put(struct hf_resp *resp, const void *bytes, size_t count)
{
    append_header(resp, '$', count);
    if (count > 0)
        append(resp, bytes, count);
    append(resp, "\r\n", 2);
}

void hf_resp_put_text(struct hf_resp *resp, const char *text)
{
    hf_resp_put(resp, text, strlen(text));
}

void hf_resp_put_raw(struct hf_resp *resp, const void *bytes, size_t count)
{
    append(resp, bytes, count);
}

void hf_resp_put_number(struct hf_resp *resp, uint64_t number)
{
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRIu64, number);
    hf_resp_put_text(resp, text);
}

void hf_resp_drop(struct hf_resp *resp, size_t count)
{
    assert(count <= resp->used);
    resp->used -= count;
    if (resp->used > 0 && count > 0)
        memmove(resp->bytes, resp->bytes + count, resp->used);
}

void hf_resp_free(struct hf_resp *resp)
{
    hf_free(resp->bytes);
    *resp = (struct hf_resp){0};
}
