/* SPDX-License-Identifier: Apache-2.0 */
/* What is to be sent on one connection: commands in RESP, as a buffer. */
#ifndef HF_ENGINES_REDIS_RESP_H
#define HF_ENGINES_REDIS_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hf_resp {
    char *bytes;
    size_t used;
    size_t room;
    bool failed; /* for lack of memory: nothing of it may be sent */
};

/* A command of ${count} words, which are put next. */
void hf_resp_begin(struct hf_resp *resp, size_t count);
void hf_resp_put(struct hf_resp *resp, const void *bytes, size_t count);
void hf_resp_put_text(struct hf_resp *resp, const char *text);
/* Bytes that are not a word of a command, sent as they are. */
void hf_resp_put_raw(struct hf_resp *resp, const void *bytes, size_t count);
void hf_resp_put_number(struct hf_resp *resp, uint64_t number);

/* The first ${count} bytes have been sent. */
void hf_resp_drop(struct hf_resp *resp, size_t count);
void hf_resp_free(struct hf_resp *resp);

#endif
