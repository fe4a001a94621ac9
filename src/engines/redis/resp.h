/* SPDX-License-Identifier: Apache-2.0 */
/* RESP (redis.io/docs/reference/protocol-spec) on one connection: a buffer of
 * commands that are to be sent, and a reader of replies, which hiredis parses.
 */
#ifndef HF_ENGINES_REDIS_RESP_H
#define HF_ENGINES_REDIS_RESP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <hiredis/hiredis.h>

/* -------------------------------------------------------------- commands -- */

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

/* --------------------------------------------------------------- replies -- */

#if HIREDIS_MAJOR < 1
typedef int hf_resp_elements;
#else
typedef size_t hf_resp_elements;
#endif

/* Bounds of a reply, so that a server cannot make us allocate without end: its
 * bytes, the elements of an array, and the elements of all arrays in it, which
 * are six for each ticket.  That much is held in memory before a reply is
 * complete: some 70 MiB, because hiredis makes an object of 100 bytes for each
 * element. */
#define HF_RESP_REPLY_BYTES_MAX (16 << 20)
#define HF_RESP_ELEMENTS_MAX ((size_t)65536)
#define HF_RESP_ELEMENTS_ALL_MAX (8 * HF_RESP_ELEMENTS_MAX)

/* What has come of the replies.  A struct of zeros is closed. */
struct hf_resp_reader {
    redisReader *reader; /* NULL: closed */
    /* those of hiredis, with a bound for arrays */
    redisReplyObjectFunctions functions;
    void *(*create_array)(const redisReadTask *task, hf_resp_elements elements);
    size_t unread_bytes; /* of the reply that is not complete */
    size_t elements;     /* of the arrays of that reply */
};

/* Begin to read; ${reader} is closed, and must not be moved until it is closed
 * again.  False if memory runs out. */
bool hf_resp_reader_open(struct hf_resp_reader *reader);

/* Forget what was read; allowed if it is closed. */
void hf_resp_reader_close(struct hf_resp_reader *reader);

enum hf_resp_feed {
    HF_RESP_FED,
    HF_RESP_TOO_LONG, /* the reply has too many bytes */
    HF_RESP_NO_MEMORY
};

/* Add ${count} bytes that were received. */
enum hf_resp_feed hf_resp_reader_feed(struct hf_resp_reader *reader,
                                      const void *bytes, size_t count);

/* Set ${reply} to the next one that is complete, to be freed with
 * freeReplyObject(), or NULL.  False: the bytes are no reply, or it has too
 * many elements. */
bool hf_resp_reader_next(struct hf_resp_reader *reader,
                         struct redisReply **reply);

#endif
