/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the supervisor, which is the whole of that process.
 *
 *   supervisor.c              the loop and the decisions
 *   supervisor_state.c        the table of legal moves
 *   supervisor_messages.c     messages from the launcher, signals, questions
 *   supervisor_lines.c        lines that the launcher prints for it
 *   supervisor_lock.c         acquire, loss, release
 *   supervisor_command.c      the process of the command
 *   supervisor_environment.c  its environment
 *   supervisor_success.c      run --once-per
 *   supervisor_hooks.c        elect --on-lead, --on-resign
 *   supervisor_elect.c        what follows when nothing of the command runs:
 *                             elect, run --at-least
 *   supervisor_outcome.c      how the run ended
 *
 * All of it runs on one thread, but for the log callback.
 */
#ifndef HF_CLI_SUPERVISOR_H
#define HF_CLI_SUPERVISOR_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include <holdfast/client.h>
#include <holdfast/lock.h>
#include <holdfast/status.h>

#include "cli/held_locks.h"
#include "cli/nested.h"
#include "cli/restart_policy.h"
#include "cli/run.h"
#include "cli/tree_termination.h"
#include "command/clock.h"

enum hf_supervisor_state {
    HF_SUPERVISOR_WAITING,     /* the acquire is under way */
    HF_SUPERVISOR_GRANTED,     /* a grant is there, no command yet */
    HF_SUPERVISOR_READING,     /* run --once-per: likewise; the last success is
                                  being read */
    HF_SUPERVISOR_ANNOUNCED,   /* likewise; the launcher was sent the tickets
                                  and GRANTED */
    HF_SUPERVISOR_RUNNING,     /* the command or a hook runs */
    HF_SUPERVISOR_TERMINATING, /* the command's tree is being ended */
    HF_SUPERVISOR_ENDED,   /* elect, run --at-least: nothing runs; the launcher
                              was asked for the signals that it has got */
    HF_SUPERVISOR_WRITING, /* run --once-per: nothing runs; that the
                              command has succeeded is being written */
    HF_SUPERVISOR_KEEPING, /* run --at-least: nothing runs any more; the
                              grant is kept until .next_at_ms */
    HF_SUPERVISOR_RESTARTING,      /* elect: it leads and nothing runs; the
                                      command is started at .next_at_ms, and
                                      never if there is none */
    HF_SUPERVISOR_CLOSING_TICKETS, /* nothing runs; the launcher was asked to
                                      close its tickets */
    HF_SUPERVISOR_RELEASING,       /* elect: the grant is being released */
    HF_SUPERVISOR_RESIGNED,        /* elect: no ticket; the next campaign begins
                                      at .next_at_ms */
    HF_SUPERVISOR_DONE             /* release, then exit */
};

/* What follows when nothing of the command runs. */
enum hf_supervisor_next {
    HF_SUPERVISOR_END,     /* release, then exit */
    HF_SUPERVISOR_KEEP,    /* run --at-least: keep the grant for a while, then
                              release and exit */
    HF_SUPERVISOR_RESTART, /* elect: keep the grant and start the command again
                            */
    HF_SUPERVISOR_CAMPAIGN /* elect: release, then enter the queue again */
};

/* run --once-per: what is known of successes. */
enum hf_supervisor_once {
    HF_ONCE_UNKNOWN,
    HF_ONCE_READING, /* the last one is being read */
    HF_ONCE_EARLY,   /* the last one is too young: nothing is started */
    HF_ONCE_FAILED,  /* it could not be read: .failure */
    HF_ONCE_DUE,
    HF_ONCE_WRITING, /* that of the command is being written */
    HF_ONCE_WRITTEN,
    HF_ONCE_UNWRITTEN /* it could not be: .failure */
};

/* The launcher, as far as the supervisor knows. */
enum hf_launcher_state {
    HF_LAUNCHER_READY,
    HF_LAUNCHER_PAUSED, /* do not start the command: the launcher is stopped, or
                           has something to do first */
    HF_LAUNCHER_GONE    /* it has ended, or can send nothing */
};

enum hf_command_state {
    HF_COMMAND_NONE,        /* not started yet, or, of elect, forgotten */
    HF_COMMAND_NOT_STARTED, /* its process could not be made: .failure */
    HF_COMMAND_RUNNING,
    HF_COMMAND_STOPPED,    /* as last reported by waitid(2) */
    HF_COMMAND_TERMINATED, /* its tree is ended, and .pid is no process of ours
                              any more as soon as that has reaped it */
    HF_COMMAND_ENDED       /* it was reaped; .exit_code is set */
};

/* A hook of elect runs in the place of the command, as a process of it. */
enum hf_command_role { HF_ROLE_COMMAND, HF_ROLE_ON_LEAD, HF_ROLE_ON_RESIGN };

struct hf_supervised_command {
    unsigned state;            /* enum hf_command_state */
    enum hf_command_role role; /* COMMAND until something is started */
    pid_t pid;                 /* 0: NONE; -1: NOT_STARTED */
    uint32_t instance;         /* how often it was started */
    int exit_code;             /* as a shell gives it */
    unsigned changes; /* how often it was seen to stop or to continue */
    bool continued;   /* it was seen to run again after a stop, and no CONTINUED
                         came since */
    int stop_signal;  /* STOPPED: the signal that stopped it */
    unsigned launcher_checks; /* checks of the launcher that are left, see
                                 hf_supervisor_check_launcher() */
    uint64_t launcher_check_at_ms;
    uint64_t started_at_ms, ended_at_ms;
    sigset_t passed; /* the signals that this instance got through holdfast */
};

struct hf_supervisor {
    struct hf_run *run;
    unsigned state; /* enum hf_supervisor_state */
    struct hf_client *client;
    struct hf_lock *locks[HF_LOCKS_MAX]; /* in the order of the command line */
    size_t lock_count;
    struct hf_error failure; /* why there is no grant, or no command */
    struct hf_alarm alarm;
    /* The wait. */
    struct hf_op *op;         /* the acquire, until its grant is released */
    bool queued;              /* a ticket of this run has been in a queue */
    int cancelled;            /* the signal that ended the wait; 0: none */
    const char *held_outside; /* the name that a run around this one holds, so
                                 that the wait cannot end; NULL: none */
    struct hf_nested nested;  /* the run that this one is part of */
    /* The grant, from GRANTED until its release. */
    struct hf_grant *grant;
    bool lost;            /* it was lost */
    bool not_renewed;     /* the lease was not renewed in time: the tree had to
                             be ended */
    const char *asked;    /* the name that another program asks for, and that
                             was not acted on yet; NULL: none, as always with
                             --on-revoke ignore */
    uint64_t watch_at_ms; /* when to ask for .loss_fd (again) */
    int loss_fd;          /* readable when the grant is lost; -1: not watched
                             yet */
    uint64_t granted_at_ms; /* when it was granted */
    /* The launcher. */
    unsigned launcher;   /* enum hf_launcher_state */
    bool tickets_shared; /* it has descriptors of tickets */
    unsigned lines_lost; /* lines for it to print that were dropped and that it
                            does not know of */
    uint32_t epoch;      /* as last received, see struct hf_ipc_message */
    /* The command. */
    struct hf_supervised_command command;
    const char *by_request; /* the name that was asked for, because of which the
                               command got a signal, is ended or was not
                               started; NULL: none */
    struct hf_termination termination; /* TERMINATING */
    uint64_t decide_at_ms;        /* ENDED: when to decide without an answer */
    enum hf_supervisor_next next; /* what follows once nothing runs */
    uint64_t next_at_ms;          /* when that follows, unless it is END */
    struct hf_restart_state restarts; /* of elect */
    /* The hooks of elect. */
    bool leading;  /* something of this leadership has begun, and --on-resign
                      was not started yet */
    bool prepared; /* --on-lead has succeeded in this leadership */
    bool outcome_is_set;      /* before --on-resign, which does not change it */
    uint64_t resign_until_ms; /* --on-resign runs: when it is killed */
    enum hf_supervisor_once once; /* of run --once-per */
};

/* Go to ${state}.  A move that is not in the table ends the supervisor. */
void hf_supervisor_move(struct hf_supervisor *supervisor,
                        enum hf_supervisor_state state);

/* Assert that the fields fit the state. */
void hf_supervisor_check(const struct hf_supervisor *supervisor);

/* ------------------------------------------------------------ messages -- */

/* Note what the launcher does.  Once it is gone it stays so: any other move
 * ends the supervisor. */
void hf_supervisor_set_launcher(struct hf_supervisor *supervisor,
                                enum hf_launcher_state state);

/* Cancel the acquire if it is still under way.  It then ends with a result, as
 * any other. */
void hf_supervisor_cancel_wait(struct hf_supervisor *supervisor);

/* Handle the signals that have arrived. */
void hf_supervisor_read_signals(const struct hf_supervisor *supervisor);

/* Handle all messages that have arrived, and notice when the launcher is gone:
 * a wait ends with it. */
void hf_supervisor_read_messages(struct hf_supervisor *supervisor);

/* Nothing of the command runs: ask the launcher for the signals that it has got
 * until now.  False if it cannot be asked. */
bool hf_supervisor_ask_for_signals(struct hf_supervisor *supervisor);

/* Nothing of the command runs: ask the launcher to close its descriptors of the
 * tickets; it answers with TICKETS_CLOSED.  False if it has none or cannot be
 * asked. */
bool hf_supervisor_ask_to_close_tickets(struct hf_supervisor *supervisor);

/* elect: have the launcher say ${line}, what this process does, to a service
 * manager.  Dropped if the launcher is far behind. */
void hf_supervisor_set_status(struct hf_supervisor *supervisor,
                              const char *line);

/* Have the launcher print ${line} as one of ${level}.  It is dropped and
 * counted if the launcher is far behind. */
void hf_supervisor_offer_line(struct hf_supervisor *supervisor,
                              enum hf_log_level level, const char *line);

/* Have the launcher print a line if the user's verbosity is ${at_least} or
 * more, in the same way. */
void hf_supervisor_print(struct hf_supervisor *supervisor,
                         enum hf_verbosity at_least, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* ------------------------------------------------------------- command -- */

/* Start the command, or the hook in that ${role}, and report that; needs a
 * grant.  False with .failure set. */
bool hf_supervisor_start_command(struct hf_supervisor *supervisor,
                                 enum hf_command_role role);

/* Is .command.pid still the number of our child?  Not once it is reaped, which
 * hf_termination_step() does too, because then the number may be another
 * process's. */
bool hf_supervisor_command_runs(const struct hf_supervisor *supervisor);

/* Does the command run, or has it run? */
bool hf_supervisor_has_started(const struct hf_supervisor *supervisor);

/* Report to the launcher that the command has stopped, with the epoch that is
 * known now. */
void hf_supervisor_report_stop(const struct hf_supervisor *supervisor);

/* Collect what has happened to children: to the command, and to orphans that
 * this subreaper inherited.  True if it stopped at its limit: do not sleep. */
bool hf_supervisor_reap(struct hf_supervisor *supervisor);

/* If the command was continued, continue the launcher too, when it is time for
 * that.  Returns when to look next; HF_FOREVER: not at all. */
uint64_t hf_supervisor_check_launcher(struct hf_supervisor *supervisor,
                                      uint64_t now_ms);

/* The command's tree is being ended from now on. */
void hf_supervisor_give_command_up(struct hf_supervisor *supervisor);

/* Forget the command: nothing of this instance counts for the next one. */
void hf_supervisor_forget_command(struct hf_supervisor *supervisor);

/* What .command is called in messages: "the command", "--on-lead". */
const char *hf_supervisor_command_name(const struct hf_supervisor *supervisor);

/* Assert that what is known of the command fits its state. */
void hf_supervisor_check_command(const struct hf_supervisor *supervisor);

/* --------------------------------------------------------------- hooks -- */

/* Returns what a new leader starts next: --on-lead if there is one that has not
 * run yet, and otherwise the command. */
enum hf_command_role
hf_supervisor_next_role(const struct hf_supervisor *supervisor);

/* Is --on-resign to be started before the grant is given back? */
bool hf_supervisor_has_to_resign(const struct hf_supervisor *supervisor);

/* How long the tree of the command has between SIGTERM and SIGKILL if the lease
 * is not renewed: the grace, but no more than --on-resign leaves of that time.
 * Without a lease: the grace. */
uint64_t hf_supervisor_grace_ms(const struct hf_supervisor *supervisor);

/* Under a lease that is not renewed: how long before the tree must have got
 * SIGKILL that of the command must have, because the rest is for --on-resign.
 * 0 without that and without a lease. */
uint64_t hf_supervisor_resign_ms(const struct hf_supervisor *supervisor);

/* Begin --on-resign: set .outcome if the run ends with it, and
 * .resign_until_ms. False if it could not be started, which was printed. */
bool hf_supervisor_start_on_resign(struct hf_supervisor *supervisor,
                                   uint64_t now_ms);

/* --on-resign runs or is being ended: until when at the latest? */
uint64_t hf_supervisor_resign_until_ms(struct hf_supervisor *supervisor);

/* ---------------------------------------------------------------- lock -- */

/* Open the client and the locks and start the acquire.  False with .failure
 * set. */
bool hf_supervisor_open(struct hf_supervisor *supervisor);

/* Start to wait for all locks at once.  False with .failure set. */
bool hf_supervisor_acquire(struct hf_supervisor *supervisor);

/* RELEASING: begin to release the grant.  The state is RESIGNED, and the
 * supervisor may acquire again, when the engine has answered. */
void hf_supervisor_begin_release(struct hf_supervisor *supervisor);

/* Nothing of the command runs, or it was not started.  Set .next and, unless it
 * is END, print why and set .next_at_ms; elect then forgets the command. */
void hf_supervisor_decide_next(struct hf_supervisor *supervisor,
                               uint64_t now_ms);

/* run --once-per: begin to read the last success; .once is READING until it is
 * known. */
void hf_supervisor_read_success(struct hf_supervisor *supervisor);

/* Is the success of the command to be written now?  And begin that; .once is
 * WRITING until it was answered. */
bool hf_supervisor_has_succeeded(const struct hf_supervisor *supervisor);
void hf_supervisor_write_success(struct hf_supervisor *supervisor);

struct hf_environment {
    char **entries; /* for execve(): "NAME=VALUE"; the last is NULL */
    char *text; /* our own variables, one after the other, each with its NUL */
    int url_fd; /* a descriptor that the command has to inherit, because the URL
                   is in it (client/client_url.h); -1: none */
};

/* Make the command's ${environment}, with the names and tokens of the
 * locks; needs a grant.  False with errno if there is no memory or no
 * descriptor.  Free it with hf_environment_free(), also then. */
bool hf_supervisor_environment(const struct hf_supervisor *supervisor,
                               struct hf_environment *environment);
/* Free what hf_supervisor_environment() made, and close the descriptor. */
void hf_environment_free(struct hf_environment *environment);

/* Send the launcher the descriptors of the tickets, publish the lease and send
 * GRANTED.  False with .failure set if the command must not be started. */
bool hf_supervisor_share_tickets(struct hf_supervisor *supervisor);

/* Write the grant's safe-until to the shared page.  Returns when to do so
 * again; HF_FOREVER where there is no lease. */
uint64_t hf_supervisor_publish_lease(struct hf_supervisor *supervisor,
                                     uint64_t now_ms);

/* Get .loss_fd, if it is time for that.  Returns when to try again; HF_FOREVER
 * once the loss wakes the loop. */
uint64_t hf_supervisor_watch_grant(struct hf_supervisor *supervisor,
                                   uint64_t now_ms);

/* Write to ${text} how and why the lock was lost; that another program asked
 * for the lock, and what became of the command. */
void hf_supervisor_describe_loss(const struct hf_supervisor *supervisor,
                                 char text[HF_ERROR_TEXT_BYTES]);
void hf_supervisor_describe_request(const struct hf_supervisor *supervisor,
                                    char text[HF_ERROR_TEXT_BYTES]);

/* Write how the run ended to the shared page. */
void hf_supervisor_set_outcome(struct hf_supervisor *supervisor);

/* Change the outcome after hf_supervisor_close() has returned false: the
 * command has ended by itself, but the release did not confirm that the lock
 * was held until then. */
void hf_supervisor_set_unconfirmed(struct hf_supervisor *supervisor);

/* Release the grant and close everything.  False if the release shows that the
 * grant had been lost. */
bool hf_supervisor_close(struct hf_supervisor *supervisor);

#endif
