/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What front and keeper say to each other, one fixed struct per packet of a
 * SOCK_SEQPACKET pair.  Nothing that must not get lost travels here: how the
 * run ended is in the shared page.  Sending never blocks, since the other side
 * may be frozen.
 */
#ifndef HF_CLI_MESSAGE_H
#define HF_CLI_MESSAGE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <holdfast/holdfast.h>

#include "core/ticket.h"

enum hf_message_kind {
    /* Keeper to front. */
    HF_MESSAGE_TEXT,      /* .text: show it */
    HF_MESSAGE_WAITING,   /* .wait: show it where it is time to */
    HF_MESSAGE_TICKET,    /* carries a descriptor that keeps a ticket */
    HF_MESSAGE_GRANTED,   /* all of it: the command is about to start */
    HF_MESSAGE_STARTED,   /* the command is in the front's group */
    HF_MESSAGE_STOPPED,   /* .signal: the command, .process, stopped */
    HF_MESSAGE_RELEASING, /* the tree is gone: let go of the ticket */
    /* Front to keeper. */
    HF_MESSAGE_SIGNAL,   /* .signal: for the command, or to end the wait */
    HF_MESSAGE_PAUSE,    /* the front stops; start no command meanwhile */
    HF_MESSAGE_RESUME,   /* it did not stop, or goes on */
    HF_MESSAGE_LET_GO,   /* the ticket's descriptor is closed */
    HF_MESSAGE_CONTINUED /* .signal.epoch: the front got a SIGCONT */
};

/* How often the wait is told where stderr is no terminal. */
#define HF_LINE_EVERY_MS 60000

struct hf_message {
    enum hf_message_kind kind;
    union {
        struct {
            char line[HF_ERROR_TEXT_BYTES];
        } text;
        struct {
            uint32_t ahead;
            uint64_t waited_ms;
            char holder[HF_PAYLOAD_BYTES];
        } wait;
        struct {
            int number;
            /* How many times the front was continued, as far as the sender
             * knew: a stop that was reported before a SIGCONT is over. */
            uint32_t epoch;
            pid_t process;
            /* CONTINUED: no shell controls jobs here, which would have
             * continued the command as well. */
            bool alone;
        } signal;
    } as;
};

/* Make the pair; 0, or -1 with errno. */
int hf_message_pair(int ends[2]);

/* Send ${message}, with the descriptor ${fd} unless that is -1.  False with
 * errno if it did not go: EAGAIN when the other side reads nothing. */
bool hf_message_send(int end, const struct hf_message *message, int fd);

/* The same for what may be dropped: false without sending when the other side
 * is so far behind that what matters might find no room. */
bool hf_message_offer(int end, const struct hf_message *message);

/* Take the next message; ${fd} is set to the descriptor that came along, or
 * -1.  1: got one; 0: none now; -1: there will be none, the other side is
 * gone. */
int hf_message_take(int end, struct hf_message *message, int *fd);

#endif
