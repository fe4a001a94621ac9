/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns names into addresses without blocking.  Each lookup is a detached
 * thread in getaddrinfo(), which nothing can interrupt.  If the resolver is
 * freed meanwhile, the thread discards its result.
 *
 * The last known addresses of a name are used if it does not resolve any more,
 * and if lookups hang.  A name is looked up at most once in
 * HF_RESOLVER_INTERVAL_MS: until then the result of its last lookup stands, so
 * that clients that try again and again do not flood the name service.
 *
 * Everything here is used with the client's lock held.
 */
#ifndef HF_TRANSPORT_RESOLVER_H
#define HF_TRANSPORT_RESOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <uv.h>

#include <holdfast/client.h>

#include "transport/socket.h"

#define HF_RESOLVER_NAMES_MAX 64
/* Lookups in progress at a time, at most one for each name. */
#define HF_RESOLVER_THREADS_MAX 8
/* The least time between the starts of two lookups of a name. */
#define HF_RESOLVER_INTERVAL_MS 1000
/* Length of a text that says why a name has no address. */
#define HF_RESOLVER_TEXT_BYTES 160

struct hf_resolver;

/* Where log lines go, and CLOCK_BOOTTIME in milliseconds: the fields of struct
 * hf_engine_host with these names. */
struct hf_resolver_host {
    void *host;
    void (*log)(void *host, enum hf_log_level level, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
    uint64_t (*now_ms)(void *host);
};

/* A request for an address.  Zero it, then set .fn and .arg. */
struct hf_resolver_request {
    /* The answer.  ${address} is valid during the call, or NULL for the reason
     * ${why}.  The callback may make and cancel requests but may not free the
     * resolver. */
    void (*fn)(void *arg, const union hf_address *address, const char *why);
    void *arg;
    /* Written by the resolver only. */
    struct hf_resolver_name *name; /* the name it waits for; NULL: it does
                                      not wait */
    struct hf_resolver_request *next;
};

/* How hf_resolver_find() went. */
enum hf_resolver_result {
    HF_RESOLVER_FOUND,   /* ${address} is set */
    HF_RESOLVER_PENDING, /* .fn will be called once, from the loop */
    HF_RESOLVER_FAILED,  /* ${why} is set */
};

/* Make a resolver.  NULL if the loop takes no more handles, or for lack of
 * memory; the loop may then still have a handle to close, as after
 * hf_resolver_free(). */
struct hf_resolver *hf_resolver_new(uv_loop_t *loop,
                                    const struct hf_resolver_host *host);

/* Free the resolver.  No request may be waiting.  Its handle is closed by the
 * loop. */
void hf_resolver_free(struct hf_resolver *resolver);

/* Find an address of ${host}, a name or a numeric address, which is always
 * known.  If there are several, one of them is used until
 * hf_resolver_address_failed().  The answer is FOUND or FAILED at once, from
 * what is known, if a lookup of the name that began less than
 * HF_RESOLVER_INTERVAL_MS ago has ended, or if none can be started.  It is
 * FOUND at once with a known address while another lookup is under way. */
enum hf_resolver_result hf_resolver_find(struct hf_resolver *resolver,
                                         const char *host,
                                         struct hf_resolver_request *request,
                                         union hf_address *address,
                                         char why[HF_RESOLVER_TEXT_BYTES]);

/* Cancel a request; does nothing if it does not wait. */
void hf_resolver_cancel(struct hf_resolver_request *request);

/* No connection to the last address of ${host} could be made: use the next one
 * from now on. */
void hf_resolver_address_failed(struct hf_resolver *resolver, const char *host);

#endif
