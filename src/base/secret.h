/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passwords in texts that are printed or logged.  A URL has a password in front
 * of its '@', or as the value of an option.  People mistype URLs, and give them
 * where something else is expected.  Therefore every text of an error, of the
 * log and of the tool is searched for passwords, also texts that come from
 * libraries and servers.
 */
#ifndef HF_BASE_SECRET_H
#define HF_BASE_SECRET_H

#include <stdbool.h>
#include <stddef.h>

/* Is the key of an option, with its length ${bytes}, one whose value is a
 * password, such as "password" or "auth"?  Upper case and percent escapes in
 * the key make no difference. */
bool hf_secret_key(const char *key, size_t bytes);

/* A password, by its offsets in a text. */
struct hf_secret {
    size_t from;
    size_t to; /* behind its last byte; equal to .from: no password */
};

/* A search for the passwords of a text.  The fields are private to it. */
struct hf_secrets {
    const char *text;
    size_t bytes;
    size_t next;             /* where the search for the next option begins */
    struct hf_secret user;   /* the password in front of the '@', unless it
                                was returned already */
    struct hf_secret option; /* the next password that is the value of an
                                option */
};

/* Begin to search the ${bytes} of ${text}, which may be a URL, also a mistyped
 * one.  The text is not copied, and may be NULL if it is empty. */
void hf_secrets_begin(struct hf_secrets *secrets, const char *text,
                      size_t bytes);

/* Set ${secret} to the next password.  Passwords are returned in their order
 * and do not overlap.  The text up to ${secret}->to is not read again, so the
 * caller may overwrite it.  Returns false if there is no further password. */
bool hf_secrets_next(struct hf_secrets *secrets, struct hf_secret *secret);

/* Replace each password in the words of ${text} by "***", or by as many '*' as
 * it has bytes if it is shorter; the text does not grow. */
void hf_secret_hide(char *text);

#endif
