/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that fill in a struct hf_error, and the meaning of an errno. */
#ifndef HF_BASE_ERROR_H
#define HF_BASE_ERROR_H

#include <holdfast/status.h>

/* Set ${error}, which may be NULL, to ${status} and the formatted text.  The
 * text is cut at a UTF-8 boundary, made printable, and its passwords are
 * hidden.  Returns ${status}, so that a failing path is one line. */
hf_status hf_error_set(struct hf_error *error, hf_status status,
                       const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Put "${context}: " in front of the text.  Nothing happens if ${error} is NULL
 * or has no failure. */
void hf_error_prefix(struct hf_error *error, const char *context);

/* Return what ${number}, a value of errno, means: never NULL, and in English in
 * any locale.  The text is valid until the next call in the same thread.  Every
 * thread may call it.  In a forked child of a process with threads it must not
 * be called before exec, because it may take locks. */
const char *hf_errno_text(int number);

/* Remember ${error} as the failure of the public call ${api_name}, so that
 * hf_last_error() has it on this thread, and return its status.  Each call that
 * returns a failure does this last, on the thread that called it. */
hf_status hf_fail(const char *api_name, const struct hf_error *error);

/* Called before a callback of the user on this thread, when something has ended
 * with ${status} for the reason ${text}: hf_last_error() returns both within
 * that callback.  Nothing happens if ${status} is HF_OK. */
void hf_last_error_report(hf_status status, const char *text);

#endif
