/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine needs from the program around it: time, a loop, filters and a
 * log.  The code that drives a session with a server needs the same, without
 * .event and .list_only, which are about locks. */
#ifndef HF_BASE_ENGINE_HOST_H
#define HF_BASE_ENGINE_HOST_H

#include <holdfast/client.h>
#include <holdfast/status.h>

struct hf_allocator;
struct hf_event;
struct hf_reconnect;
struct hf_sasl_ops;
struct hf_tls_ops;
struct uv_loop_s;

/* Functions of the program that runs an engine (the host, or a test).  These
 * functions, and those of the engine's vtable, are called with the client's
 * lock held. */
struct hf_engine_host {
    /* Hand an event to the core; ${event}->now_ms is filled in. */
    void (*event)(void *host, struct hf_event *event);
    /* CLOCK_BOOTTIME in milliseconds.  While the kernel slews that clock to be
     * slow, the time is corrected: see monitor/clock.h.  Comments of the core
     * and of engines call the corrected clock CLOCK_BOOTTIME. */
    uint64_t (*now_ms)(void *host);
    /* For a timer: returns what CLOCK_BOOTTIME itself will show when .now_ms
     * returns ${at_ms}.  HF_FOREVER is returned unchanged.  The pointer is NULL
     * if the two clocks are the same. */
    uint64_t (*boottime_of_ms)(void *host, uint64_t at_ms);
    /* Return the loop for the engine's handles, which is made on the first
     * call; NULL if it cannot be made.  Its uv timers stop while the machine is
     * suspended, so use timerfd. */
    struct uv_loop_s *(*loop)(void *host);
    /* Set ${tls} to the TLS filter of transport/tls.h, whose module is loaded
     * on the first call.  Fails with HF_EUNSUPPORTED and a text that names what
     * is missing.  The pointer is NULL if no TLS is available. */
    hf_status (*tls)(void *host, const struct hf_tls_ops **tls,
                     struct hf_error *error);
    /* The same for the filter of transport/sasl.h.  The pointer is NULL if no
     * SASL is available. */
    hf_status (*sasl)(void *host, const struct hf_sasl_ops **sasl,
                      struct hf_error *error);
    void (*log)(void *host, enum hf_log_level level, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
    /* The user's policy of reconnecting; NULL: the default.  The URL may give
     * another one: hf_reconnect_choose(). */
    const struct hf_reconnect *reconnect;
    /* The allocator for an engine in a module: the module has its own copy of
     * base/memory.h, which does not know which allocator the program has set.
     * NULL: use the allocator of that copy. */
    const struct hf_allocator *allocator;
    void *host;
    /* The client only lists.  It will request only LIST, NAMES, EXAMINE,
     * READ_SUCCESS, END, and REMOVE and REVOKE of tickets of other clients.
     * The engine creates nothing at its server. */
    bool list_only;
};

#endif
