/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages between launcher and supervisor: one fixed struct in each packet of
 * a SOCK_SEQPACKET pair, some with a descriptor (SCM_RIGHTS).
 *
 * Sending never blocks, because the other side may be frozen, so a message can
 * get lost.  How the run ended is therefore not sent but written to the shared
 * page.  A launcher that cannot send what the supervisor waits for closes its
 * direction of the socket, which ends the run.
 */
#ifndef HF_CLI_IPC_H
#define HF_CLI_IPC_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include <holdfast/client.h>
#include <holdfast/status.h>

#include "core/ticket.h"

enum hf_ipc_kind {
    /* Supervisor to launcher. */
    HF_IPC_TEXT,    /* .text: print it */
    HF_IPC_STATUS,  /* elect, .text.line: what it does, for a service manager */
    HF_IPC_WAITING, /* .wait: how the wait goes; the launcher decides whether to
                       show it */
    HF_IPC_TICKET,  /* with a descriptor that keeps a ticket in its queue */
    HF_IPC_GRANTED, /* all locks are ours; the command is about to start */
    HF_IPC_STARTED, /* .signal.instance: the command is in the launcher's group;
                       .signal.token */
    HF_IPC_ENDED, /* elect, run --at-least: nothing of the command runs; pass on
                     the signals that came, and answer SIGNALS_PASSED */
    HF_IPC_STOPPED,       /* .signal: the command, .process, stopped */
    HF_IPC_CLOSE_TICKETS, /* the tree is gone: close the tickets */
    /* Launcher to supervisor. */
    HF_IPC_SIGNAL, /* .signal: send it to the command if that has not got it,
                      or end the wait */
    HF_IPC_PAUSE,  /* the launcher is about to stop: start no command */
    HF_IPC_RESUME, /* the launcher did not stop, or runs again */
    HF_IPC_TICKETS_CLOSED, /* the launcher has closed the tickets */
    HF_IPC_SIGNALS_PASSED, /* .signal.instance: all signals that came until the
                              end of this instance were passed on */
    HF_IPC_CONTINUED       /* .signal.epoch, .no_job_control: the launcher got a
                              SIGCONT */
};

/* How often a line about the wait is printed where stderr is no terminal. */
#define HF_WAIT_LINE_EVERY_MS 60000

struct hf_ipc_message {
    enum hf_ipc_kind kind;
    union {
        struct {
            char line[HF_ERROR_TEXT_BYTES];
            enum hf_log_level level;
            unsigned lost; /* lines that were dropped before this one */
        } text;
        struct {
            uint32_t ahead; /* tickets ahead of ours */
            uint64_t waited_ms;
            size_t number;                 /* of the name that is waited for */
            char holder[HF_PAYLOAD_BYTES]; /* payload of the ticket at the head
                                              of the queue */
        } wait;
        struct {
            int number; /* of the signal */
            /* How often the launcher was continued, as far as the sender knew.
             * The launcher ignores a report of a stop with an old epoch,
             * because a SIGCONT that came later has ended that stop. */
            uint32_t epoch;
            pid_t process;
            uint32_t instance; /* of the command: how often it was started */
            uint64_t token;    /* STARTED: of the grant; 0: of --on-resign */
            bool ends_wait;    /* SIGNAL: it ends a wait */
            bool delivered;    /* SIGNAL: .instance has got it already */
            /* CONTINUED: no shell controls jobs here, so nobody else continues
             * the command. */
            bool no_job_control;
        } signal;
    } as;
};

/* Make the socket pair, non-blocking.  0, or -1 with errno. */
int hf_ipc_pair(int ends[2]);

/* Send ${message}, with the descriptor ${fd} unless that is -1; ${fd} stays the
 * caller's.  False with errno if it was not sent.  EAGAIN: the socket is full,
 * because the other side does not read. */
bool hf_ipc_send(int end, const struct hf_ipc_message *message, int fd);

/* Send ${message} if the other side has read nearly all that was sent before.
 * For messages that may be dropped, so that they never take the room of those
 * that may not. */
bool hf_ipc_send_droppable(int end, const struct hf_ipc_message *message);

/* Receive the next message into ${message}.  ${fd} is the descriptor that came
 * with it, which is then the caller's, or -1.  1: there was a message; 0: there
 * is none now; -1: there will be none, because the other side is gone or has
 * closed its direction. */
int hf_ipc_receive(int end, struct hf_ipc_message *message, int *fd);

#endif
