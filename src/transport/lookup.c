/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/lookup.h"

#include <assert.h>
#include <errno.h>
#include <netdb.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "core/errno_text.h"
#include "core/memory.h"
#include "thread/thread.h"

struct hf_lookup_desk {
    pthread_mutex_t lock;
    unsigned references; /* the resolver's and each thread's */
    uv_async_t *async;   /* NULL: closed; sent to under the lock */
    struct hf_lookup *done;
};

struct hf_lookup_desk *hf_lookup_desk_new(uv_async_t *async)
{
    struct hf_lookup_desk *desk = hf_alloc(sizeof(*desk));

    if (desk == NULL)
        return NULL;
    pthread_mutex_init(&desk->lock, NULL);
    desk->references = 1;
    desk->async = async;
    return desk;
}

/* Gives up the lock, and with it a reference. */
static void leave_for_good(struct hf_lookup_desk *desk)
{
    bool last = --desk->references == 0;
    struct hf_lookup *next;

    pthread_mutex_unlock(&desk->lock);
    if (!last)
        return;
    for (struct hf_lookup *done = desk->done; done != NULL; done = next) {
        next = done->next;
        hf_free(done);
    }
    pthread_mutex_destroy(&desk->lock);
    hf_free(desk);
}

void hf_lookup_desk_close(struct hf_lookup_desk *desk)
{
    pthread_mutex_lock(&desk->lock);
    assert(desk->async != NULL);
    desk->async = NULL;
    leave_for_good(desk);
}

struct hf_lookup *hf_lookup_collect(struct hf_lookup_desk *desk)
{
    struct hf_lookup *done;

    pthread_mutex_lock(&desk->lock);
    done = desk->done;
    desk->done = NULL;
    pthread_mutex_unlock(&desk->lock);
    return done;
}

/* ---------------------------------------------------------------- thread -- */

static void copy_addresses(struct hf_lookup *lookup,
                           const struct addrinfo *found)
{
    for (; found != NULL && lookup->address_count < HF_RESOLVER_ADDRESSES_MAX;
         found = found->ai_next) {
        if ((found->ai_family != AF_INET && found->ai_family != AF_INET6) ||
            found->ai_addrlen > sizeof(lookup->addresses[0]))
            continue;
        memcpy(&lookup->addresses[lookup->address_count++], found->ai_addr,
               found->ai_addrlen);
    }
}

static void look_up(struct hf_lookup *lookup)
{
    /* No AI_ADDRCONFIG: it takes away 127.0.0.1 and ::1 from a machine that
     * has no other address, where a server may well be. */
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

static void *thread_main(void *arg)
{
    struct hf_lookup *lookup = arg;
    struct hf_lookup_desk *desk = lookup->desk;

    look_up(lookup);
    pthread_mutex_lock(&desk->lock);
    lookup->next = desk->done;
    desk->done = lookup;
    if (desk->async != NULL)
        (void)uv_async_send(desk->async);
    leave_for_good(desk);
    return NULL;
}

bool hf_lookup_start(struct hf_lookup_desk *desk, const char *host)
{
    struct hf_lookup *lookup = hf_alloc(sizeof(*lookup));
    size_t bytes = strlen(host) + 1;
    int failure = ENOMEM;

    assert(bytes <= sizeof(lookup->host));
    if (lookup == NULL)
        goto fail;
    memcpy(lookup->host, host, bytes);
    lookup->desk = desk;
    pthread_mutex_lock(&desk->lock);
    desk->references++;
    pthread_mutex_unlock(&desk->lock);
    if ((failure = hf_thread_start(NULL, thread_main, lookup)) != 0)
        goto free_lookup;
    return true;
free_lookup:
    pthread_mutex_lock(&desk->lock);
    desk->references--;
    pthread_mutex_unlock(&desk->lock);
    hf_free(lookup);
fail:
    assert(failure != 0);
    errno = failure;
    return false;
}
