/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names to addresses, without anybody waiting for it: each lookup is a detached
 * thread in getaddrinfo(), which nothing can interrupt, and which finds nobody
 * at home if the resolver has been freed meanwhile.
 *
 * The last known addresses of a name are used when it stops resolving, and
 * when lookups hang.
 *
 * Everything here is used with the client's lock held.
 */
#ifndef HF_TRANSPORT_RESOLVER_H
#define HF_TRANSPORT_RESOLVER_H

#include <netinet/in.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <uv.h>

#include <holdfast/holdfast.h>

#define HF_RESOLVER_HOST_BYTES 256
#define HF_RESOLVER_NAMES_MAX 64
#define HF_RESOLVER_ADDRESSES_MAX 16
/* Lookups under way at a time, one for a name at most. */
#define HF_RESOLVER_THREADS_MAX 8
/* What is said of a name that has no address. */
#define HF_RESOLVER_TEXT_BYTES 160

/* Without a port: that is not the name's. */
union hf_address {
    struct sockaddr any;
    struct sockaddr_in in;
    struct sockaddr_in6 in6;
};

struct hf_resolver;

/* Where notes for people go: as hf_engine_host.log, with its .host. */
struct hf_resolver_log {
    void (*write)(void *arg, enum hf_log_level level, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
    void *arg;
};

/* One who wants an address.  Zeroed, then .fn and .arg set. */
struct hf_resolver_request {
    /* ${address} lives for the call; NULL: there is none, for the reason
     * ${why}.  May ask and forget, but not free the resolver. */
    void (*fn)(void *arg, const union hf_address *address, const char *why);
    void *arg;
    /* The resolver's own. */
    struct hf_resolver_name *name; /* waits for it; NULL: does not wait */
    struct hf_resolver_request *next;
};

enum hf_resolver_result {
    HF_RESOLVER_FOUND,   /* at once: ${address} is set */
    HF_RESOLVER_PENDING, /* .fn will be called, once, from the loop */
    HF_RESOLVER_FAILED,  /* at once: ${why} is set */
};

/* NULL if the loop takes no more handles or for lack of memory. */
struct hf_resolver *hf_resolver_new(uv_loop_t *loop,
                                    const struct hf_resolver_log *log);

/* No ask may wait any more.  Its handle is closed on the loop. */
void hf_resolver_free(struct hf_resolver *resolver);

/* An address of ${host}, which is a name or a numeric address; the latter is
 * always known.  Where there are several it is the one whose turn it is. */
enum hf_resolver_result hf_resolver_find(struct hf_resolver *resolver,
                                         const char *host,
                                         struct hf_resolver_request *request,
                                         union hf_address *address,
                                         char why[HF_RESOLVER_TEXT_BYTES]);

/* Take back an ask; without effect if it does not wait. */
void hf_resolver_cancel(struct hf_resolver_request *request);

/* The address that was given last could not be connected to: it is the next
 * one's turn. */
void hf_resolver_address_failed(struct hf_resolver *resolver, const char *host);

#endif
