/* SPDX-License-Identifier: Apache-2.0 */
/* Log lines are written with the client's lock and told without it. */
#ifndef HF_HOST_LOG_H
#define HF_HOST_LOG_H

#include <holdfast/holdfast.h>

struct hf_client;

#define HF_LOG_LINES 16
#define HF_LOG_BYTES 512

struct hf_log_line {
    enum hf_log_level level;
    char text[HF_LOG_BYTES];
};

/* The lines of one turn.  More than fit are counted and the count told. */
struct hf_log {
    struct hf_on_log on_log;
    struct hf_log_line *lines; /* made with the first */
    unsigned count;
    unsigned dropped;
};

/* With the client's lock. */
void hf_log_write(struct hf_client *client, enum hf_log_level level,
                  const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Give the lock up and tell what was written.  The caller must hold a
 * reference to the client. */
void hf_log_unlock(struct hf_client *client);

#endif
