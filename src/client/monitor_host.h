/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an engine, or the I/O of a session, asks of the program that it runs in,
 * where that is a handle with a monitor: the clock, the loop, TLS, SASL and log
 * lines.
 */
#ifndef HF_CLIENT_MONITOR_HOST_H
#define HF_CLIENT_MONITOR_HOST_H

#include "core/engine.h"
#include "monitor/monitor.h"

/* A host whose .host is ${monitor}, with .now_ms, .boottime_of_ms, .loop, .tls,
 * .sasl, .log and .allocator.  The owner of ${monitor} adds the others: .event
 * of a client is hf_client_engine_event(). */
struct hf_engine_host hf_monitor_host(struct hf_monitor *monitor);

#endif
