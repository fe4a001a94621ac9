/* SPDX-License-Identifier: Apache-2.0 */
/* The completions are reference-counted, because a thread in getaddrinfo()
 * cannot be cancelled and may end after the resolver was freed. */
#include "transport/lookup_thread.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "thread/descriptor_guard.h"
#include "thread/thread.h"

/* Shared by the resolver and the threads.  Every field is used with .lock held.
 */
struct hf_lookup_completions {
    pthread_mutex_t lock;
    unsigned references; /* one of the resolver, and one of each thread */
    uv_async_t *async;   /* woken when a lookup has ended; NULL: closed */
    struct hf_lookup *done;
};

struct hf_lookup_completions *hf_lookup_completions_new(uv_async_t *async)
{
    struct hf_lookup_completions *completions = hf_alloc(sizeof(*completions));

    if (completions == NULL)
        return NULL;
    pthread_mutex_init(&completions->lock, NULL);
    completions->references = 1;
    completions->async = async;
    return completions;
}

/* Release one reference and the lock.  Releasing the last reference frees
 * everything. */
static void unlock_and_release(struct hf_lookup_completions *completions)
{
    bool last = --completions->references == 0;
    struct hf_lookup *next;

    pthread_mutex_unlock(&completions->lock);
    if (!last)
        return;
    for (struct hf_lookup *done = completions->done; done != NULL;
         done = next) {
        next = done->next;
        hf_free(done);
    }
    pthread_mutex_destroy(&completions->lock);
    hf_free(completions);
}

void hf_lookup_completions_close(struct hf_lookup_completions *completions)
{
    pthread_mutex_lock(&completions->lock);
    assert(completions->async != NULL);
    completions->async = NULL;
    unlock_and_release(completions);
}

struct hf_lookup *hf_lookup_collect(struct hf_lookup_completions *completions)
{
    struct hf_lookup *done;

    pthread_mutex_lock(&completions->lock);
    done = completions->done;
    completions->done = NULL;
    pthread_mutex_unlock(&completions->lock);
    return done;
}

/* ---------------------------------------------------------------- thread -- */

/* Copy the IPv4 and IPv6 addresses of ${found}. */
static void copy_addresses(struct hf_lookup *lookup,
                           const struct addrinfo *found)
{
    for (; found != NULL && lookup->address_count < HF_LOOKUP_ADDRESSES_MAX;
         found = found->ai_next) {
        if ((found->ai_family != AF_INET && found->ai_family != AF_INET6) ||
            found->ai_addrlen > sizeof(lookup->addresses[0]))
            continue;
        memcpy(&lookup->addresses[lookup->address_count++], found->ai_addr,
               found->ai_addrlen);
    }
}

/* Call getaddrinfo(), which may take minutes. */
static void look_up(struct hf_lookup *lookup)
{
    /* AI_ADDRCONFIG is not set, because it drops 127.0.0.1 and ::1 on a machine
     * that has no other address, and a server may well be there. */
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC,
        .ai_socktype = SOCK_STREAM,
    };
    struct addrinfo *found = NULL;
    int failure = getaddrinfo(lookup->host, NULL, &hints, &found);
    const char *why =
        failure == EAI_SYSTEM ? hf_errno_text(errno) : gai_strerror(failure);

    if (failure == 0) {
        copy_addresses(lookup, found);
        freeaddrinfo(found);
        why = "none of a kind that can be used here";
    }
    if (lookup->address_count == 0)
        (void)snprintf(lookup->why, sizeof(lookup->why), "%s",
                       why != NULL ? why : "unknown error");
}

/* A lookup thread: look the name up, store the result, wake the resolver. */
static void *thread_main(void *arg)
{
    struct hf_lookup *lookup = arg;
    struct hf_lookup_completions *completions = lookup->completions;

    look_up(lookup);
    pthread_mutex_lock(&completions->lock);
    lookup->next = completions->done;
    completions->done = lookup;
    if (completions->async != NULL)
        hf_descriptor_guard_send(completions->async);
    unlock_and_release(completions);
    return NULL;
}

/* The thread gets a reference before it starts, so the completions outlive it.
 */
bool hf_lookup_start(struct hf_lookup_completions *completions,
                     const char *host)
{
    struct hf_lookup *lookup = hf_alloc(sizeof(*lookup));
    size_t bytes = strlen(host) + 1;
    int failure = ENOMEM;

    assert(bytes <= sizeof(lookup->host));
    if (lookup == NULL)
        goto fail;
    memcpy(lookup->host, host, bytes);
    lookup->completions = completions;
    pthread_mutex_lock(&completions->lock);
    completions->references++;
    pthread_mutex_unlock(&completions->lock);
    if ((failure = hf_thread_start(NULL, thread_main, lookup)) != 0)
        goto free_lookup;
    return true;
free_lookup:
    pthread_mutex_lock(&completions->lock);
    completions->references--;
    pthread_mutex_unlock(&completions->lock);
    hf_free(lookup);
fail:
    assert(failure != 0);
    errno = failure;
    return false;
}
