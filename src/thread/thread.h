/* SPDX-License-Identifier: Apache-2.0 */
/* Threads of the library.  They block all signals, so that they receive no
 * signal that is meant for the program. */
#ifndef HF_THREAD_THREAD_H
#define HF_THREAD_THREAD_H

#include <pthread.h>

/* Start a thread that runs ${main} with ${arg}.  The caller joins it by
 * ${thread}; if that is NULL, the thread is detached, and must own everything
 * that it uses.  Returns 0, or the error of pthread_create(). */
int hf_thread_start(pthread_t *thread, void *(*main)(void *arg), void *arg);

#endif
