/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions that an engine calls and that need only a monitor.
 */
#include "client/monitor_host.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/engine_host.h"
#include "base/memory.h"
#include "client/engines.h"

/* The clock of the whole library. */
static uint64_t host_now_ms(void *host)
{
    (void)host;
    return hf_now_ms();
}

static uint64_t host_boottime_of_ms(void *host, uint64_t at_ms)
{
    (void)host;
    return hf_boottime_of_ms(at_ms);
}

/* The monitor's loop, which is created when an engine first asks for it. */
static struct uv_loop_s *host_loop(void *host)
{
    struct hf_monitor *monitor = host;

    return hf_loop_get(&monitor->loop);
}

/* From the module for TLS. */
static hf_status host_tls(void *host, const struct hf_tls_ops **tls,
                          struct hf_error *error)
{
    (void)host;
    return hf_engines_tls(tls, error);
}

/* From the module for SASL. */
static hf_status host_sasl(void *host, const struct hf_sasl_ops **sasl,
                           struct hf_error *error)
{
    (void)host;
    return hf_engines_sasl(sasl, error);
}

/* A line for the user. */
static void host_log(void *host, enum hf_log_level level, const char *format,
                     ...)
{
    struct hf_monitor *monitor = host;
    char line[HF_LOG_BYTES];
    va_list args;

    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    hf_log_write(&monitor->log, level, "%s", line);
}

struct hf_engine_host hf_monitor_host(struct hf_monitor *monitor)
{
    return (struct hf_engine_host){
        .now_ms = host_now_ms,
        .boottime_of_ms = host_boottime_of_ms,
        .loop = host_loop,
        .tls = host_tls,
        .sasl = host_sasl,
        .log = host_log,
        .allocator = hf_allocator_in_use(),
        .host = monitor,
    };
}
