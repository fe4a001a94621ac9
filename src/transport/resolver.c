/* SPDX-License-Identifier: Apache-2.0 */
/* A name that was looked up stays in the table with its last addresses.  They
 * are used if the next lookup fails or hangs. */
#include "transport/resolver.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/time_math.h"
#include "transport/lookup_thread.h"

/* One name: what is known of it, and the requests that wait for it. */
struct hf_resolver_name {
    char host[HF_HOST_BYTES];
    bool under_way;             /* a thread is looking it up */
    bool uses_old_addresses;    /* the known addresses are used although they
                                   may be out of date */
    uint64_t next_lookup_at_ms; /* no lookup is started before that instant of
                                   CLOCK_BOOTTIME */
    char why[HF_LOOKUP_TEXT_BYTES]; /* why the last lookup has no result */
    union hf_address addresses[HF_LOOKUP_ADDRESSES_MAX];
    size_t address_count; /* 0: no address is known */
    size_t next_address; /* the index of the address to use, modulo the count */
    struct hf_resolver_request *requests;  /* requests that wait for the
                                              lookup */
    struct hf_resolver_request *answering; /* requests that are being
                                              answered now */
};

/* The resolver of one client. */
struct hf_resolver {
    uv_async_t async;
    struct hf_lookup_completions *completions;
    struct hf_resolver_host host;
    unsigned under_way; /* lookups in progress */
    struct hf_resolver_name *names[HF_RESOLVER_NAMES_MAX];
    size_t name_count;
};

/* ----------------------------------------------------------------- names -- */

/* The entry of ${host}, or NULL. */
static struct hf_resolver_name *find_name(struct hf_resolver *resolver,
                                          const char *host)
{
    for (size_t i = 0; i < resolver->name_count; i++)
        if (strcmp(resolver->names[i]->host, host) == 0)
            return resolver->names[i];
    return NULL;
}

/* Find or add a name.  Returns NULL if there are too many names or no memory.
 */
static struct hf_resolver_name *get_name(struct hf_resolver *resolver,
                                         const char *host)
{
    struct hf_resolver_name *name = find_name(resolver, host);

    if (name != NULL)
        return name;
    if (resolver->name_count == HF_RESOLVER_NAMES_MAX ||
        strlen(host) >= sizeof(name->host) ||
        (name = hf_alloc(sizeof(*name))) == NULL)
        return NULL;
    memcpy(name->host, host, strlen(host) + 1);
    resolver->names[resolver->name_count++] = name;
    return name;
}

/* Return the address to use now. */
static const union hf_address *
current_address(const struct hf_resolver_name *name)
{
    assert(name->address_count > 0);
    return &name->addresses[name->next_address % name->address_count];
}

/* Is ${host} a numeric address?  Then ${address} is set to it. */
static bool is_numeric(const char *host, union hf_address *address)
{
    memset(address, 0, sizeof(*address));
    return uv_ip4_addr(host, 0, &address->in) == 0 ||
           uv_ip6_addr(host, 0, &address->in6) == 0;
}

/* Log that old addresses are used, once each time that their use begins. */
static void warn_old_addresses(struct hf_resolver *resolver,
                               struct hf_resolver_name *name, const char *why)
{
    if (!name->uses_old_addresses)
        resolver->host.log(resolver->host.host, HF_LOG_WARNING,
                           "the name %s does not resolve (%s); its last known "
                           "addresses are used",
                           name->host, why);
    name->uses_old_addresses = true;
}

/* --------------------------------------------------------------- answers -- */

/* Write the error text of a request that gets no address because of ${reason}.
 */
static void set_no_address(char why[HF_RESOLVER_TEXT_BYTES], const char *reason)
{
    (void)snprintf(why, HF_RESOLVER_TEXT_BYTES, "no address: %s", reason);
}

/* Store the result of a lookup.  If the lookup failed, the old addresses are
 * kept. */
static void store_result(struct hf_resolver *resolver,
                         struct hf_resolver_name *name,
                         const struct hf_lookup *found)
{
    name->under_way = false;
    resolver->under_way--;
    memcpy(name->why, found->why, sizeof(name->why));
    if (found->address_count > 0) {
        memcpy(name->addresses, found->addresses, sizeof(name->addresses));
        name->address_count = found->address_count;
        name->uses_old_addresses = false;
    } else if (name->address_count > 0) {
        warn_old_addresses(resolver, name, found->why);
    }
}

/* Answer from what is known of ${name}: FOUND with an address, which may be
 * older than the last lookup, or FAILED if no address is known. */
static enum hf_resolver_result last_result(const struct hf_resolver_name *name,
                                           union hf_address *address,
                                           char why[HF_RESOLVER_TEXT_BYTES])
{
    if (name->address_count > 0) {
        *address = *current_address(name);
        return HF_RESOLVER_FOUND;
    }
    set_no_address(why, name->why);
    return HF_RESOLVER_FAILED;
}

/* Answer the requests that wait now.  Requests that a callback adds meanwhile
 * are not answered here. */
static void answer_all(struct hf_resolver_name *name)
{
    char why[HF_RESOLVER_TEXT_BYTES];
    union hf_address address;
    struct hf_resolver_request *request;

    name->answering = name->requests;
    name->requests = NULL;
    while ((request = name->answering) != NULL) {
        hf_resolver_cancel(request);
        if (last_result(name, &address, why) == HF_RESOLVER_FOUND)
            request->fn(request->arg, &address, NULL);
        else
            request->fn(request->arg, NULL, why);
    }
}

/* Store and report the results of the lookups that have ended. */
static void on_done(uv_async_t *async)
{
    struct hf_resolver *resolver = async->data;
    struct hf_lookup *next;

    for (struct hf_lookup *found = hf_lookup_collect(resolver->completions);
         found != NULL; found = next) {
        struct hf_resolver_name *name = find_name(resolver, found->host);

        assert(name != NULL && name->under_way);
        next = found->next;
        store_result(resolver, name, found);
        answer_all(name);
        hf_free(found);
    }
}

/* ------------------------------------------------------------- interface -- */

/* The loop has closed the handle: free the resolver, which contains it. */
static void on_closed(uv_handle_t *handle)
{
    hf_free(handle->data);
}

struct hf_resolver *hf_resolver_new(uv_loop_t *loop,
                                    const struct hf_resolver_host *host)
{
    struct hf_resolver *resolver = hf_alloc(sizeof(*resolver));

    if (resolver == NULL)
        return NULL;
    resolver->host = *host;
    if (uv_async_init(loop, &resolver->async, on_done) != 0)
        goto free_resolver;
    resolver->async.data = resolver;
    if ((resolver->completions = hf_lookup_completions_new(&resolver->async)) ==
        NULL)
        goto close_async;
    return resolver;
close_async:
    uv_close((uv_handle_t *)&resolver->async, on_closed);
    return NULL;
free_resolver:
    hf_free(resolver);
    return NULL;
}

void hf_resolver_free(struct hf_resolver *resolver)
{
    hf_lookup_completions_close(resolver->completions);
    for (size_t i = 0; i < resolver->name_count; i++) {
        assert(resolver->names[i]->requests == NULL);
        hf_free(resolver->names[i]);
    }
    uv_close((uv_handle_t *)&resolver->async, on_closed);
}

/* Was ${name} looked up so short a time ago that the result still stands? */
static bool has_fresh_result(const struct hf_resolver_name *name,
                             uint64_t now_ms)
{
    return !name->under_way && now_ms < name->next_lookup_at_ms;
}

/* Start a lookup unless one is in progress.  Returns NULL, or why no lookup can
 * be started. */
static const char *start_lookup(struct hf_resolver *resolver,
                                struct hf_resolver_name *name, uint64_t now_ms)
{
    if (name->under_way)
        return NULL;
    if (resolver->under_way == HF_RESOLVER_THREADS_MAX)
        return "as many other lookups as there may be are under way";
    if (!hf_lookup_start(resolver->completions, name->host))
        return hf_errno_text(errno);
    name->under_way = true;
    name->next_lookup_at_ms = hf_after_ms(now_ms, HF_RESOLVER_INTERVAL_MS);
    resolver->under_way++;
    return NULL;
}

enum hf_resolver_result hf_resolver_find(struct hf_resolver *resolver,
                                         const char *host,
                                         struct hf_resolver_request *request,
                                         union hf_address *address,
                                         char why[HF_RESOLVER_TEXT_BYTES])
{
    /* If any lookup is still in progress, name service may hang, and so might a
     * new lookup.  Then a known address is better than waiting. */
    bool lookup_under_way = resolver->under_way > 0;
    const char *fault = "too many names, or no memory for another";
    struct hf_resolver_name *name;
    uint64_t now_ms;

    assert(request->name == NULL);
    if (is_numeric(host, address))
        return HF_RESOLVER_FOUND;
    now_ms = resolver->host.now_ms(resolver->host.host);
    name = get_name(resolver, host);
    if (name != NULL && has_fresh_result(name, now_ms))
        return last_result(name, address, why);
    if (name != NULL)
        fault = start_lookup(resolver, name, now_ms);
    if (name != NULL && name->address_count > 0 &&
        (lookup_under_way || fault != NULL)) {
        warn_old_addresses(resolver, name,
                           fault != NULL ? fault : "a lookup takes too long");
        *address = *current_address(name);
        return HF_RESOLVER_FOUND;
    }
    if (fault != NULL) {
        set_no_address(why, fault);
        return HF_RESOLVER_FAILED;
    }
    request->name = name;
    request->next = name->requests;
    name->requests = request;
    return HF_RESOLVER_PENDING;
}

/* Remove ${request} from a list; false if it is not there. */
static bool unlink_request(struct hf_resolver_request **link,
                           const struct hf_resolver_request *request)
{
    while (*link != NULL && *link != request)
        link = &(*link)->next;
    if (*link == NULL)
        return false;
    *link = request->next;
    return true;
}

void hf_resolver_cancel(struct hf_resolver_request *request)
{
    bool found;

    if (request->name == NULL)
        return;
    found = unlink_request(&request->name->requests, request) ||
            unlink_request(&request->name->answering, request);
    assert(found);
    request->name = NULL;
}

void hf_resolver_address_failed(struct hf_resolver *resolver, const char *host)
{
    struct hf_resolver_name *name = find_name(resolver, host);

    if (name != NULL)
        name->next_address++;
}
