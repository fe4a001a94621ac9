/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Engine URLs: SCHEME:REST?KEY=VALUE&KEY=VALUE, where REST is empty, a path
 * ("file:/run/holdfast"), or "//" with servers and path
 * ("zk://h1:2181,h2/chroot").  What follows "quorum:" are other URLs, which the
 * quorum engine parses.  Every other part is cut out first and then
 * percent-decoded.  An engine has a table of its options (url_options.h) and
 * refuses all others.
 *
 * The parser is stricter than RFC 3986 where a mistake would put a piece of a
 * password into another part: it refuses '#', and an unescaped '@' behind the
 * hosts.
 */
#ifndef HF_BASE_URL_H
#define HF_BASE_URL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/status.h>

#define HF_URL_BYTES 4096
#define HF_URL_OPTIONS 32

struct hf_url_option {
    const char *key;
    const char *value; /* percent-decoded, valid UTF-8, no NUL */
};

/* A parsed URL.  All texts point into .memory; only an empty .path may not. */
struct hf_url {
    const char *scheme;    /* lower case */
    const char *user;      /* decoded; NULL if there is none */
    const char *password;  /* decoded; NULL if there is none.  Never printed */
    const char *authority; /* decoded, "h1:2181,h2" without user and password;
                              NULL if there is no "//" */
    const char *path;      /* decoded; "" if there is none */
    const char *inner;     /* of quorum:URL,URL,URL the URLs, not decoded; may
                              hold passwords.  NULL with any other scheme */
    struct hf_url_option options[HF_URL_OPTIONS];
    size_t option_count;
    char *memory;
    size_t memory_bytes;
};

/* Parse ${text} and set ${url}, which hf_url_free() frees.  On failure
 * (HF_EURL, HF_ENOMEM) ${error} names the part that is wrong and never a
 * password, and ${url} needs no freeing. */
hf_status hf_url_parse(const char *text, struct hf_url *url,
                       struct hf_error *error);

/* Overwrite and free the memory of ${url}. */
void hf_url_free(struct hf_url *url);

/* Return the value of the option ${key}, or NULL if it is not given. */
const char *hf_url_option(const struct hf_url *url, const char *key);

/* Does ${text} contain a password, in front of an '@' or as the value of an
 * option for passwords?  ${text} need not be a URL.  In doubt the answer is
 * true. */
bool hf_url_has_secret(const char *text);

/* Set ${ms} to the duration ${text}, such as "250ms", "10s", "1m30s" or
 * "1d12h": unsigned integers, each with its unit (d h m s ms), the larger unit
 * first.  False if ${text} is no duration or does not fit 64 bits of
 * milliseconds. */
bool hf_duration_parse(const char *text, uint64_t *ms);

/* Write ${ms} as "2d07h", "1h02m", "3m05s" or "12s". */
#define HF_DURATION_BYTES 32
void hf_duration_format(uint64_t ms, char text[HF_DURATION_BYTES]);

/* Write how long something took or may take, so that the user recognizes a
 * duration that he gave as "1500ms" or "30m": below a second in milliseconds,
 * below a minute in tenths of a second, and above without a smaller unit that
 * is 0.  For example "250ms", "1.5s", "2s", "3m05s" or "30m". */
void hf_duration_format_short(uint64_t ms, char text[HF_DURATION_BYTES]);

/* The end of error texts about durations. */
#define HF_DURATION_EXPECTED                                                   \
    "expected a whole number and a unit (d h m s ms), or several, the larger " \
    "unit first"

#endif
