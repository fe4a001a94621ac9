/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What launcher and supervisor say to each other, one fixed struct per packet
 * of a SOCK_SEQPACKET pair.  Nothing that must not get lost travels here: how
 * the run ended is in the shared page.  Sending never blocks, since the other
 * side may be frozen.
 */
#ifndef HF_CLI_IPC_H
#define HF_CLI_IPC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <holdfast/holdfast.h>

#include "core/ticket.h"

enum hf_ipc_kind {
    /* Keeper to launcher. */
    HF_IPC_TEXT,          /* .text: show it */
    HF_IPC_WAITING,       /* .wait: show it where it is time to */
    HF_IPC_TICKET,        /* carries a descriptor that keeps a ticket */
    HF_IPC_GRANTED,       /* all of it: the command is about to start */
    HF_IPC_STARTED,       /* the command is in the launcher's group */
    HF_IPC_STOPPED,       /* .signal: the command, .process, stopped */
    HF_IPC_CLOSE_TICKETS, /* the tree is gone: let go of the ticket */
    /* Front to supervisor. */
    HF_IPC_SIGNAL,         /* .signal: for the command, or to end the wait */
    HF_IPC_PAUSE,          /* the launcher stops; start no command meanwhile */
    HF_IPC_RESUME,         /* it did not stop, or goes on */
    HF_IPC_TICKETS_CLOSED, /* the ticket's descriptor is closed */
    HF_IPC_CONTINUED       /* .signal.epoch: the launcher got a SIGCONT */
};

/* How often the wait is told where stderr is no terminal. */
#define HF_WAIT_LINE_EVERY_MS 60000

struct hf_ipc_message {
    enum hf_ipc_kind kind;
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
            /* How many times the launcher was continued, as far as the sender
             * knew: a stop that was reported before a SIGCONT is over. */
            uint32_t epoch;
            pid_t process;
            /* CONTINUED: no shell controls jobs here, which would have
             * continued the command as well. */
            bool no_job_control;
        } signal;
    } as;
};

/* Make the pair; 0, or -1 with errno. */
int hf_ipc_pair(int ends[2]);

/* Send ${message}, with the descriptor ${fd} unless that is -1.  False with
 * errno if it did not go: EAGAIN when the other side reads nothing. */
bool hf_ipc_send(int end, const struct hf_ipc_message *message, int fd);

/* The same for what may be dropped: false without sending when the other side
 * is so far behind that what matters might find no room. */
bool hf_ipc_send_droppable(int end, const struct hf_ipc_message *message);

/* Take the next message; ${fd} is set to the descriptor that came along, or
 * -1.  1: got one; 0: none now; -1: there will be none, the other side is
 * gone. */
int hf_ipc_receive(int end, struct hf_ipc_message *message, int *fd);

#endif
