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

/* A buffer of commands; .bytes has room for .room bytes. */
struct hf_resp {
    char *bytes;
    size_t used;
    size_t room;
    bool failed; /* memory ran out: the buffer must not be sent */
};

/* The digits of 2^64 - 1, and the NUL. */
#define HF_RESP_NUMBER_BYTES 21

/* Write ${number} into ${text} and return where it begins, which may not be the
 * first byte.  printf() would be slower, and a call has about twenty
 * numbers. */
const char *hf_resp_number(char text[HF_RESP_NUMBER_BYTES], uint64_t number);

/* Begin a command of ${count} words.  The caller then appends exactly that
 * many. */
void hf_resp_begin(struct hf_resp *resp, size_t count);
/* Append one word. */
void hf_resp_put(struct hf_resp *resp, const void *bytes, size_t count);
void hf_resp_put_text(struct hf_resp *resp, const char *text);
/* Append bytes as they are, outside of any command. */
void hf_resp_put_raw(struct hf_resp *resp, const void *bytes, size_t count);
/* Append ${count} texts as one word, with a space between two texts. */
void hf_resp_put_joined(struct hf_resp *resp, const char *const texts[],
                        size_t count);
void hf_resp_put_number(struct hf_resp *resp, uint64_t number);

/* Remove the first ${count} bytes, because they were sent. */
void hf_resp_drop(struct hf_resp *resp, size_t count);
void hf_resp_free(struct hf_resp *resp);

/* --------------------------------------------------------------- replies -- */

#if HIREDIS_MAJOR < 1
typedef int hf_resp_elements;
#else
typedef size_t hf_resp_elements;
#endif

/* Bounds of a reply, so that a server cannot make us allocate without end: the
 * bytes of a reply, the elements of one array, and the elements of all arrays
 * of a reply (six for each ticket).  hiredis makes an object of 100 bytes for
 * each element, so a reply that is not complete may take some 70 MiB. */
#define HF_RESP_REPLY_BYTES_MAX (16 << 20)
#define HF_RESP_ELEMENTS_MAX ((size_t)65536)
#define HF_RESP_ELEMENTS_ALL_MAX (8 * HF_RESP_ELEMENTS_MAX)

/* The replies that are being received.  A struct of zeros is a closed
 * reader. */
struct hf_resp_reader {
    redisReader *reader; /* NULL: closed */
    /* the functions of hiredis, with .createArray replaced to check the
     * bounds */
    redisReplyObjectFunctions functions;
    void *(*create_array)(const redisReadTask *task, hf_resp_elements elements);
    size_t unread_bytes; /* number of bytes of the reply that is not complete */
    size_t elements;     /* number of elements in all arrays of that reply */
};

/* Open ${reader}, which must be closed.  It must not be moved until it is
 * closed again.  Returns false if memory runs out. */
bool hf_resp_reader_open(struct hf_resp_reader *reader);

/* Close ${reader} and drop what was received.  Does nothing if it is closed. */
void hf_resp_reader_close(struct hf_resp_reader *reader);

enum hf_resp_feed {
    HF_RESP_FED,
    HF_RESP_TOO_LONG, /* the reply has too many bytes */
    HF_RESP_NO_MEMORY
};

/* Add ${count} received bytes. */
enum hf_resp_feed hf_resp_reader_feed(struct hf_resp_reader *reader,
                                      const void *bytes, size_t count);

/* Set ${reply} to the next complete reply, which the caller frees with
 * freeReplyObject(), or to NULL if none is complete.  Returns false if the
 * bytes are no reply, or the reply has too many elements. */
bool hf_resp_reader_next(struct hf_resp_reader *reader,
                         struct redisReply **reply);

#endif
