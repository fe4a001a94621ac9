/* SPDX-License-Identifier: Apache-2.0 */
/* The client of the commands that look at queues and take no ticket: show, ls,
 * revoke, evict and metrics. */
#ifndef HF_CLI_LIST_CLIENT_H
#define HF_CLI_LIST_CLIENT_H

#include <holdfast/client.h>
#include <holdfast/status.h>

/* Open a client of the engine at ${url} (NULL: the environment's) that makes
 * nothing there, waits ${wait_ms} for the first connection, and prints what the
 * library logs up to ${level} on stderr. */
hf_status hf_list_client_open(const char *url, uint64_t wait_ms,
                              enum hf_log_level level,
                              struct hf_client **client);

/* Have a client with ${opts} print its log as hf_list_client_open() does,
 * unless HOLDFAST_LOG asks for something else. */
void hf_list_client_set_log(struct hf_client_opts *opts,
                            enum hf_log_level level);

#endif
