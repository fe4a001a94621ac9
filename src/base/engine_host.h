/* SPDX-License-Identifier: Apache-2.0 */
/* What an engine, and the code that drives a session with a server, has from
 * the program around it: time, a loop, filters, a log.  Only .event and
 * .list_only are about locks; code that is no engine does not use them. */
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

/* Functions of the program that runs an engine (the host, or a test).  These,
 * and those of the vtable, are called with the client's lock held. */
struct hf_engine_host {
    /* Hand an event to the core; ${event}->now_ms is filled in. */
    void (*event)(void *host, struct hf_event *event);
    /* CLOCK_BOOTTIME in milliseconds, corrected while it is slewed to be slow:
     * monitor/clock.h.  Comments of the core and of engines call this clock
     * CLOCK_BOOTTIME. */
    uint64_t (*now_ms)(void *host);
    /* For a timer: what CLOCK_BOOTTIME itself shows when .now_ms is ${at_ms};
     * HF_FOREVER stays what it is.  The pointer is NULL if the two clocks are
     * the same. */
    uint64_t (*boottime_of_ms)(void *host, uint64_t at_ms);
    /* The loop for the engine's handles, made on the first call; NULL if it
     * cannot be made.  Its uv timers stop while the machine is suspended: use
     * timerfd. */
    struct uv_loop_s *(*loop)(void *host);
    /* The TLS filter of transport/tls.h, whose module is loaded on the first
     * call.  HF_EUNSUPPORTED, with a text that names what is missing.  NULL: no
     * TLS is available. */
    hf_status (*tls)(void *host, const struct hf_tls_ops **tls,
                     struct hf_error *error);
    /* The same for the filter of transport/sasl.h; NULL: there is no SASL. */
    hf_status (*sasl)(void *host, const struct hf_sasl_ops **sasl,
                      struct hf_error *error);
    void (*log)(void *host, enum hf_log_level level, const char *format, ...)
        __attribute__((format(printf, 3, 4)));
    /* The user's policy of reconnecting; NULL: the default.  The URL may give
     * another one: hf_reconnect_choose(). */
    const struct hf_reconnect *reconnect;
    /* The allocator for a module, whose own copy of base/memory.h does not know
     * which one the program has set; NULL: the one of that copy. */
    const struct hf_allocator *allocator;
    void *host;
    /* Only LIST, NAMES, EXAMINE and READ_SUCCESS will be requested, REMOVE and
     * REVOKE of tickets of others, and END; the engine creates nothing at its
     * server. */
    bool list_only;
};

#endif
