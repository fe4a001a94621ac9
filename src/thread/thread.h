/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of the library's own: they block all signals, so that none of them is
 * the one that takes the program's. */
#ifndef HF_THREAD_THREAD_H
#define HF_THREAD_THREAD_H

#include <pthread.h>

/* Have a new thread run ${main} with ${arg}.  It is to be joined by ${thread},
 * or, if that is NULL, detached: then it owns all that it touches.  0, or what
 * pthread_create() says. */
int hf_thread_start(pthread_t *thread, void *(*main)(void *arg), void *arg);

#endif
