/* SPDX-License-Identifier: Apache-2.0 */
#include "thread/thread.h"

#include <signal.h>
#include <stddef.h>

int hf_thread_start(pthread_t *thread, void *(*main)(void *arg), void *arg)
{
    sigset_t all, before;
    pthread_attr_t attributes;
    pthread_t detached;
    int failure = pthread_attr_init(&attributes);

    if (failure != 0)
        return failure;
    if (thread == NULL) {
        (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
        thread = &detached;
    }
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    failure = pthread_create(thread, &attributes, main, arg);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    return failure;
}
