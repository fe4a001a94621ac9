/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passwords in texts that are printed or logged.  A URL has one in front of its
 * '@', or as an option.  People mistype URLs, and give them where something
 * else is expected; so every text of an error, of the log and of the tool is
 * looked through, also those of libraries and servers.
 */
#ifndef HF_BASE_SECRET_H
#define HF_BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* Is the key of ${bytes} one for passwords, as "password" and "auth" are, in
 * any case and with any escapes? */
bool hf_secret_key(const char *key, size_t bytes);

/* A password, by its offsets in a text. */
struct hf_secret {
    size_t from;
    size_t to; /* where it ends; .from: there is none */
};

/* A search for the passwords of a text.  The fields are private to it. */
struct hf_secrets {
    const char *text;
    size_t bytes;
    size_t next;             /* where the search for options goes on */
    struct hf_secret user;   /* in front of the '@', unless returned already */
    struct hf_secret option; /* the next one that is the value of an option */
};

/* Search ${text}, ${bytes} of something that may be a URL, also a mistyped one.
 * The text is not copied, and may be NULL if it is empty. */
void hf_secrets_begin(struct hf_secrets *secrets, const char *text,
                      size_t bytes);

/* Set ${secret} to the next password; they are in order and do not overlap.
 * Nothing in front of its end is read again.  False if there is no further
 * one. */
bool hf_secrets_next(struct hf_secrets *secrets, struct hf_secret *secret);

/* Replace each password in the words of ${text} by "***", or by as many '*' as
 * it has bytes if it is shorter; the text does not grow. */
void hf_secret_hide(char *text);

#endif
