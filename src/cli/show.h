/* SPDX-License-Identifier: Apache-2.0 */
/* holdfast show: who holds a lock, and who waits for it. */
#ifndef HF_CLI_SHOW_H
#define HF_CLI_SHOW_H

#include <stdio.h>

#include "command/json.h"
#include "command/queue_view.h"

/* Write to ${out} a table of the first ${most} tickets.  ${at} returns the
 * ticket with an index, from 0 on, and NULL after the last. */
typedef const struct hf_ticket_view *hf_show_at(const void *arg, size_t index);
void hf_show_tickets(FILE *out, hf_show_at *at, const void *arg, size_t most,
                     uint64_t utc_ms);

/* Write ${queue} to ${out} as a table.  ${utc_ms} is the time of day, used for
 * the age of tickets of which no better clock is known. */
void hf_show_table(FILE *out, const struct hf_queue_view *queue,
                   uint64_t utc_ms);

/* Write ${queue} to ${out} as one JSON object; ${engine} is what
 * hf_client_describe() says. */
void hf_show_json(FILE *out, const char *engine,
                  const struct hf_queue_view *queue);

/* Write what is known of ${view}, from "state" to "owner", as members of the
 * object that is open. */
void hf_show_json_ticket(struct hf_json *json,
                         const struct hf_ticket_view *view);

/* show_watch.c: print what happens to the queues of a name. */
struct hf_show_watch_options {
    const char *url;
    const char *name;
    uint64_t wait_ms; /* for the connection, and then for the first list */
    bool json;
};

/* Watch until a signal ends the process or the watch fails.  Returns the exit
 * status. */
int hf_show_watch(const struct hf_show_watch_options *options);

#endif
