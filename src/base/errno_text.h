/* SPDX-License-Identifier: Apache-2.0 */
/* The text of an errno. */
#ifndef HF_BASE_ERRNO_TEXT_H
#define HF_BASE_ERRNO_TEXT_H

/* What ${number}, a value of errno, means: never NULL, and in English in any
 * locale.  Safe in every thread; valid until the next call of the same thread.
 * Not for the child of a process with threads before its exec, because it may
 * take locks. */
const char *hf_errno_text(int number);

#endif
