/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a service manager is notified of (NOTIFY_SOCKET, sd_notify(3)): that
 * holdfast elect is ready, and what it does at the moment.
 *
 * Each notification is one datagram, written here, because that takes less than
 * a library.  It has READY=1 and the whole status, so that any of them may be
 * lost and the next one has all.
 */
#ifndef HF_CLI_NOTIFY_SOCKET_H
#define HF_CLI_NOTIFY_SOCKET_H

#include <stdbool.h>
#include <stdint.h>

struct hf_notify_socket {
    char status[1024];    /* as last set; "": not ready yet */
    uint64_t retry_at_ms; /* the socket was full: when to send .status again;
                             HF_FOREVER: nothing is left to send */
    bool failed; /* a failure was logged, and none has succeeded since */
};
#define HF_NOTIFY_SOCKET_INIT                                                  \
    {                                                                          \
        .retry_at_ms = UINT64_MAX                                              \
    }

/* Does a service manager want notifications of this process? */
bool hf_notify_socket_is_set(void);

/* This service is ready, and does what ${status} says, a line for people: send
 * that, if it is new.  Never waits; a failure is logged.  Does nothing where
 * nobody wants it. */
void hf_notify_socket_set_status(struct hf_notify_socket *notify,
                                 const char *status);

/* Send what found no room, if it is time for that. */
void hf_notify_socket_retry(struct hf_notify_socket *notify, uint64_t now_ms);

#endif
