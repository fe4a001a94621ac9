/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Engine URLs: SCHEME:REST?KEY=VALUE&KEY=VALUE, where REST is empty, a path
 * ("file:/run/holdfast"), or "//" with servers and path
 * ("zk://h1:2181,h2/chroot").  Behind "quorum:" stand other URLs, which the
 * engine parses.  Every other part is percent-decoded after it was cut out.  An
 * engine has a table of its options (url_options.h) and refuses others.
 *
 * The parser is stricter than RFC 3986 where a mistake would put a piece of a
 * password into another part: '#' is refused, and so is an unescaped '@' behind
 * the hosts.
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

/* All text points into .memory, but for a .path of "". */
struct hf_url {
    const char *scheme;    /* lower case */
    const char *user;      /* decoded; NULL if there is none */
    const char *password;  /* decoded; NULL if there is none.  Never printed */
    const char *authority; /* decoded, "h1:2181,h2" without user and password;
                              NULL if there is no "//" */
    const char *path;      /* decoded; "" if there is none */
    const char *inner; /* of quorum:URL,URL,URL what is between the scheme and
                          '?', as it stands; it may hold passwords.  NULL with
                          any other scheme */
    struct hf_url_option options[HF_URL_OPTIONS];
    size_t option_count;
    char *memory;
    size_t memory_bytes;
};

/* Parse ${text} to ${url}, which hf_url_free() frees.  On failure (HF_EURL,
 * HF_ENOMEM) ${error} names the offending part, never a password, and ${url}
 * needs no freeing. */
hf_status hf_url_parse(const char *text, struct hf_url *url,
                       struct hf_error *error);

/* Overwrite and free the memory of ${url}. */
void hf_url_free(struct hf_url *url);

/* The value of ${key}, or NULL. */
const char *hf_url_option(const struct hf_url *url, const char *key);

/* Does ${text} contain a password, in front of an '@' or as the value of an
 * option for passwords?  Also for text that is no URL; in doubt true. */
bool hf_url_has_secret(const char *text);

/* Set ${ms} to the duration ${text}, such as "250ms", "10s", "1m30s" or
 * "1d12h": unsigned integers, each with its unit (d h m s ms), the larger unit
 * first.  False if ${text} is no duration or does not fit 64 bits of
 * milliseconds. */
bool hf_duration_parse(const char *text, uint64_t *ms);

/* Write ${ms} as "2d07h", "1h02m", "3m05s" or "12s". */
#define HF_DURATION_BYTES 32
void hf_duration_format(uint64_t ms, char text[HF_DURATION_BYTES]);

/* The same for how long something took or may take, so that "1500ms" and "30m"
 * can be recognized: in tenths of a second below a minute, in milliseconds
 * below a second, and without a second part that is 0: "30m", "3m05s", "1.5s",
 * "2s" or "250ms". */
void hf_duration_format_short(uint64_t ms, char text[HF_DURATION_BYTES]);

/* The end of error texts about durations. */
#define HF_DURATION_EXPECTED                                                   \
    "expected a whole number and a unit (d h m s ms), or several, the larger " \
    "unit first"

#endif
