/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the monitor of a client asks of it: when something is due, whether a
 * thread has to poll, and the steps of the end.
 */
#ifndef HF_HOST_CLIENT_MONITOR_H
#define HF_HOST_CLIENT_MONITOR_H

#include "monitor/monitor.h"

/* For hf_monitor_init(), whose owner then is a struct hf_client. */
extern const struct hf_monitor_ops hf_client_monitor_ops;

#endif
