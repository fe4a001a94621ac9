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

/* Is the key of ${bytes} one for passwords, as "password" and "auth" are? */
bool hf_secret_key(const char *key, size_t bytes);

/* Find the first password in ${text}, ${bytes} of something that may be a URL,
 * also a mistyped one: it is from ${from} up to ${to}.  False if it looks like
 * no URL, or has none. */
bool hf_secret_find(const char *text, size_t bytes, size_t *from, size_t *to);

/* Replace each password in the words of ${text} by "***". */
void hf_secret_hide(char *text);

#endif
