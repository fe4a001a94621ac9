/* SPDX-License-Identifier: Apache-2.0 */
/* A buffer of commands in RESP (redis.io/docs/reference/protocol-spec) that are
 * to be sent on one connection. */
#ifndef HF_ENGINES_REDIS_RESP_H
#define HF_ENGINES_REDIS_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bytes of commands; .bytes has room for .room of them. */
struct hf_resp {
    char *bytes;
    size_t used;
    size_t room;
    bool failed; /* memory ran out: the buffer must not be sent */
};

/* The digits of 2^64 - 1, and the NUL. */
#define HF_RESP_NUMBER_BYTES 21

/* Write ${number} somewhere into ${text}; returns where.  printf() is not used,
 * because a call has about twenty numbers. */
const char *hf_resp_number(char text[HF_RESP_NUMBER_BYTES], uint64_t number);

/* Begin a command of ${count} words.  The words are put next. */
void hf_resp_begin(struct hf_resp *resp, size_t count);
/* Append one word. */
void hf_resp_put(struct hf_resp *resp, const void *bytes, size_t count);
void hf_resp_put_text(struct hf_resp *resp, const char *text);
/* Append bytes as they are, outside of any command. */
void hf_resp_put_raw(struct hf_resp *resp, const void *bytes, size_t count);
/* Append one word of ${count} texts, with a space between two. */
void hf_resp_put_joined(struct hf_resp *resp, const char *const texts[],
                        size_t count);
void hf_resp_put_number(struct hf_resp *resp, uint64_t number);

/* The first ${count} bytes were sent: remove them. */
void hf_resp_drop(struct hf_resp *resp, size_t count);
void hf_resp_free(struct hf_resp *resp);

#endif
