/* SPDX-License-Identifier: Apache-2.0 */
/* A run of the public client of ZooKeeper: zookeeper.c has the processes and
 * faults, or shared_session.c if these are clients of locks, zookeeper_user.c
 * what their users do, zookeeper_check.c the checks against the committed
 * history, zookeeper_watch_check.c those of watches, and zookeeper_access.c
 * what is about access lists and credentials. */
#ifndef HF_TESTS_SIMULATOR_RANDOM_ZOOKEEPER_PRIVATE_H
#define HF_TESTS_SIMULATOR_RANDOM_ZOOKEEPER_PRIVATE_H

#include "base/random.h"
#include "simulator/model/sim.h"
#include "simulator/model/zk_acl.h"
#include "simulator/model/zk_handle.h"
#include "simulator/random/decision.h"
#include "simulator/random/zookeeper.h"
#include "zookeeper/zk_op.h"

#define ZOOKEEPER_CLIENTS_MAX 4
#define ZOOKEEPER_PARTS_MAX 3
#define ZOOKEEPER_PATHS_MAX 6
#define ZOOKEEPER_PATH_BYTES 128
#define ZOOKEEPER_EVENTS_MAX 512
#define ZOOKEEPER_USERS_MAX 3 /* who have a credential each */
#define ZOOKEEPER_ACLS_MAX 3
#define ZOOKEEPER_HANDLES_MAX 2

struct zookeeper_process;

/* One operation of a multi, or the one of another operation. */
struct zookeeper_part {
    enum hf_zookeeper_op_kind kind;
    char path[ZOOKEEPER_PATH_BYTES];
    char value[24]; /* of a create or a set: unique */
    struct hf_zookeeper_acl acls[ZOOKEEPER_ACLS_MAX]; /* if it sets a list */
    unsigned commits; /* how often that value was committed */
    int64_t zxid;     /* by which transaction */
    const char *made; /* the path at which it was */
    int32_t version;  /* the version that it got */
};

struct zookeeper_operation {
    struct hf_zk_op zk_op;
    struct zookeeper_process *process;
    unsigned handle; /* of the process: which one has it */
    unsigned number;
    enum hf_zookeeper_op_kind kind;
    struct zookeeper_part parts[ZOOKEEPER_PARTS_MAX];
    unsigned part_count;
    struct zookeeper_watch *watch; /* to be set, until it has ended */
    bool ended;
    bool released;
    hf_status status;
    unsigned session;   /* .session of the process when it was started */
    int64_t least_zxid; /* an event of that session was of this transaction */
    struct zk_identities who; /* .who of the process then */
    struct zookeeper_operation *next;
};

/* An event that a persistent watch was notified of. */
struct zookeeper_event {
    int32_t type;
    const char *path; /* lives as long as the run */
    bool optional;    /* of one that is due: it may have been kept back */
    size_t times;     /* of children that change: how often in a row */
};

/* An event that a server has kept back, because the session may not read. */
struct zookeeper_kept_event {
    int32_t type;
    const char *path;
    int64_t zxid;
    unsigned connection; /* of the process */
    struct zookeeper_kept_event *next;
};

/* Writes without a value, which are counted. */
struct zookeeper_count {
    uint64_t committed;
    uint64_t ok;
    uint64_t unsure;
};

struct zookeeper_watch {
    struct zk_handle_watch watch;
    struct zookeeper_process *process;
    unsigned handle;
    enum hf_zk_watch_mode mode;
    char path[ZOOKEEPER_PATH_BYTES];
    bool freed;
    /* The state of the watch, worked out from answers and events alone: */
    bool armed;
    int64_t armed_zxid;        /* of the answer that armed it */
    unsigned armed_connection; /* .connection of the process then */
    bool missing;              /* that answer showed no node */
    bool used_up; /* of a one-shot one: its event was kept back, so that it
                     need not fire any more */
    bool resync_due;
    /* Of a persistent one: it is known what it was notified of since
     * .base_zxid. */
    bool based;
    int64_t base_zxid;
    struct zookeeper_event events[ZOOKEEPER_EVENTS_MAX];
    size_t event_count;
    /* The last event that it was notified of, on that connection. */
    const struct zk_sent_event *event;
    unsigned event_connection;
    struct zookeeper_watch *next;
};

/* A process from its start to its end; a client that comes back is another. */
struct zookeeper_process {
    unsigned number;
    unsigned client;
    struct hf_engine *engine;
    struct zk_handle *handles[ZOOKEEPER_HANDLES_MAX]; /* on one session */
    unsigned handle_count;
    bool closing;
    bool gone;
    unsigned session;    /* counts sessions, */
    unsigned connection; /* and connections */
    bool losing;         /* the session has just ended */
    int64_t read_zxid;   /* the latest that a read of the session has shown */
    /* ... or an event of that handle has announced. */
    int64_t event_zxid[ZOOKEEPER_HANDLES_MAX];
    struct zookeeper_watch *watches;
    struct zookeeper_count deletes;
    struct zookeeper_count acls_set;
    /* The credentials of the session, and .connection when each was added:
     * later connections have begun with it. */
    struct zk_identities who;
    unsigned added[ZK_IDENTITIES_MAX];
    struct zookeeper_kept_event *kept_events; /* newest first */
    struct zookeeper_process *next;
};

/* A change of a node in the committed history. */
struct zookeeper_change {
    struct hf_sim_node_change change;
    const char *value; /* the data with a NUL */
};

struct zookeeper_run {
    struct hf_sim *sim;
    struct hf_random *random;
    struct hf_random own_random;      /* unless the run has one of locks */
    enum decision_kind user_decision; /* when a user does something */
    uint64_t step_every_us;           /* about as often */
    /* The sessions are those of clients of locks, whose nodes are read and
     * watched too. */
    bool with_locks;
    /* Called with the first violation; NULL: nothing is. */
    void (*broken)(int invariant, const char *check, const char *detail);
    uint64_t timeout_ms;
    unsigned count;      /* of clients */
    unsigned path_count; /* of nodes with fixed names */
    unsigned user_count; /* with a credential; 0: no access lists are set */
    bool checks_readers; /* as in the model */
    bool servers_read;   /* some of them without a quorum */
    bool two_handles;    /* some processes have two */
    struct zookeeper_process *clients[ZOOKEEPER_CLIENTS_MAX]; /* NULL: none */
    struct zookeeper_process *processes; /* all of the run, newest first */
    unsigned process_count;
    struct zookeeper_operation *operations; /* newest first */
    unsigned operation_count;
    struct zookeeper_change *history;
    size_t change_count;
    size_t change_room;
    bool faults_over;
    bool stopping; /* users start nothing any more */
    struct zookeeper_result *end;
    void (*line)(void *arg, const char *text); /* or NULL */
};

extern struct zookeeper_run zookeeper;

/* ----------------------------------------------------------- zookeeper.c -- */

uint64_t zookeeper_below(uint64_t bound);
void zookeeper_later(uint64_t us, void (*fn)(void *arg), void *arg);
/* Zeroed memory that lives as long as the run. */
void *zookeeper_alloc(size_t bytes);
/* The process has ${handle}, and perhaps another one on the same session. */
void zookeeper_take_handle(struct zookeeper_process *process,
                           struct zk_handle *handle);
/* Can its user do something now? */
bool zookeeper_runs(const struct zookeeper_process *process);

/* ------------------------------------------------------ zookeeper_user.c -- */

/* The user of the client ${number} does something again and again. */
void zookeeper_user_start(unsigned number);
/* The user reads the node of ${watch} because of an event, and may set it
 * again. */
void zookeeper_user_react(struct zookeeper_watch *watch);
void zookeeper_user_free_watch(struct zookeeper_watch *watch);
/* Is ${path} one that users write? */
bool zookeeper_user_writes(const char *path);

/* Prepare ${operation}, which is to be started, and start it. */
struct zookeeper_operation *
zookeeper_new_operation(struct zookeeper_process *process);
/* Add a part to ${operation}, and set ${op} to it. */
struct zookeeper_part *zookeeper_add_part(struct zookeeper_operation *operation,
                                          enum hf_zookeeper_op_kind kind,
                                          const char *path,
                                          struct hf_zookeeper_op *op);
void zookeeper_start(struct zookeeper_operation *operation,
                     struct hf_zookeeper_op *op);
/* One of the paths that the users of this run write. */
const char *zookeeper_any_path(void);

/* ---------------------------------------------------- zookeeper_access.c -- */

/* The process is about to start: choose the credential of its URL, NULL for
 * none. When it has started, perhaps add one more. */
const char *zookeeper_access_choose(struct zookeeper_process *process);
void zookeeper_access_begin(struct zookeeper_process *process);
/* Perhaps give ${op}, a create, an access list. */
void zookeeper_access_draw_list(struct zookeeper_part *part,
                                struct hf_zookeeper_op *op);
/* Set a list, read one, or add a credential. */
void zookeeper_access_step(struct zookeeper_process *process);
/* 6: ${part} of ${operation} was answered with ${status} at ${zxid}. */
void zookeeper_access_check(const struct zookeeper_operation *operation,
                            const struct zookeeper_part *part, hf_status status,
                            int64_t zxid);
/* 2: ${result} is the access list of the node at its zxid. */
void zookeeper_access_check_list(const struct zookeeper_operation *operation,
                                 const struct hf_zookeeper_result *result);
/* A server has kept back an event. */
void zookeeper_access_kept_back(void *arg, const struct hf_engine *engine,
                                int32_t type, const char *path, int64_t zxid,
                                const struct zk_acl *acl);

/* ----------------------------------------------------- zookeeper_check.c -- */

/* If ${holds} is false, record a violation, if it is the first.  ${detail} is
 * for the trace. */
void zookeeper_check(bool holds, int invariant, const char *check,
                     const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* A line of the trace; ${process} may be NULL. */
void zookeeper_trace(const struct zookeeper_process *process,
                     const char *format, ...)
    __attribute__((format(printf, 2, 3)));
struct hf_sim_observer zookeeper_observer(void);
/* The last change of the node up to ${zxid} that left it there; NULL: there
 * was no such node then. */
const struct zookeeper_change *zookeeper_node_at(const char *path,
                                                 int64_t zxid);
/* The last change of any kind up to ${zxid} of that node; NULL: none. */
const struct zookeeper_change *zookeeper_last_change(const char *path,
                                                     int64_t zxid);
struct zookeeper_process *zookeeper_process_of(const struct hf_engine *engine);
/* The operation has ended. */
void zookeeper_check_end(struct zookeeper_operation *operation,
                         hf_status status,
                         const struct hf_zookeeper_result *result);
/* Are there operations that have not ended? */
bool zookeeper_is_busy(void);
/* At the end of the run. */
void zookeeper_check_processes(void);

extern const struct zk_handle_callbacks zookeeper_callbacks;

/* ----------------------------------------------- zookeeper_watch_check.c -- */

/* A read of the process has shown the state at ${zxid}. */
void zookeeper_check_watches(struct zookeeper_process *process, int64_t zxid);
/* The answer at ${zxid} has set the watch. */
void zookeeper_watch_set(struct zookeeper_watch *watch, int64_t zxid);
void zookeeper_watch_fired(struct zk_handle_watch *watch,
                           const struct hf_zk_watch_event *event);
/* The connection was made; the session has ended, before and after the watches
 * were notified. */
void zookeeper_watches_up(struct zookeeper_process *process, bool resumed);
void zookeeper_watches_lost(struct zookeeper_process *process);
/* Was an event of that path kept back from the process?  Then a watch may be
 * set for which its client has seen the reason to fire.  A new connection
 * brings the event to all watches of the path, and the server may keep one of
 * these. */
bool zookeeper_was_kept_back(const struct zookeeper_process *process,
                             const char *path);

#endif
