/* SPDX-License-Identifier: Apache-2.0 */
/* The exit statuses of holdfast itself; see holdfast-run(1). */
#ifndef HF_COMMAND_EXIT_STATUS_H
#define HF_COMMAND_EXIT_STATUS_H

#include <holdfast/status.h>

/* The numbers are those of sysexits.h where they fit, because commands seldom
 * exit with these numbers themselves. */
enum {
    HF_EXIT_VIOLATION = 1, /* verify, torture: a rule was broken */
    HF_EXIT_NOT_HELD = 1,  /* show --held: nobody holds the lock */
    HF_EXIT_NONE = 1,      /* last: there was no success */
    HF_EXIT_NO_LEADER = 1, /* leading: nobody leads, or not that machine */
    HF_EXIT_NO_TICKET = 1, /* revoke, evict: a ticket does not exist, its
                              owner receives no requests, or the user
                              answered no */
    HF_EXIT_CONDITION = 1, /* zk: the node does not exist, exists already,
                              has another version, or has children */
    HF_EXIT_WARNING = 1,   /* doctor: the worst finding is a warning; explain
                              --all: a deadlock is possible */
    HF_EXIT_ERROR = 2,     /* doctor: the worst finding is an error; explain
                              --all: there is a deadlock */
    HF_EXIT_USAGE = 64,    /* the command line is wrong */
    HF_EXIT_DATA = 65,     /* verify: not a history, or one without a grant */
    HF_EXIT_NO_INPUT = 66, /* verify: the history cannot be read */
    HF_EXIT_UNREACHABLE = 69, /* the engine cannot be reached */
    HF_EXIT_BUG = 70,         /* a fault of holdfast */
    HF_EXIT_LIMIT = 71,       /* no processes, descriptors or memory are left */
    HF_EXIT_DIRECTORY = 73,   /* a file cannot be written, or is full */
    HF_EXIT_BUSY = 75,        /* the lock was not obtained */
    HF_EXIT_LOST = 76,        /* the lock was lost while the command ran */
    HF_EXIT_DENIED = 77,      /* the engine refuses us */
    /* Further numbers, because sysexits.h has nothing similar. */
    HF_EXIT_REVOKED = 79,    /* run --on-revoke: another program asked for the
                                release of the lock */
    HF_EXIT_DEADLOCK = 80,   /* run: the wait was part of a deadlock */
    HF_EXIT_NOT_RUN = 126,   /* a program cannot be executed, as in shells */
    HF_EXIT_NOT_FOUND = 127, /* a program does not exist, as in shells */
    HF_EXIT_SIGNAL = 128     /* plus the signal that ended the command */
};

/* Return the exit status for a failure with ${status}, which must not be HF_OK.
 */
int hf_exit_status(hf_status status);

#endif
