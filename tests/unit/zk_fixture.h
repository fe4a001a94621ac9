/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stage for stories about the client of an ensemble: one hf_zk, a server that
 * says what the story has it say, virtual time.  What the machine sends and
 * what it tells its host are read as text.
 *
 * Tickets are called by one letter, or n and a number: their ids are made of
 * that.  Everybody names them in the layout of .config.  In paths and lists a
 * ticket is NAME#SEQUENCE, with /r, /w or /l behind the name for a read or a
 * write ticket or a lease: "x/r#7" is the node
 * _c_78787878-7878-7878-7878-787878787878-__READ__0000000007, and without a
 * sequence the prefix that a create has.  In what was told, a lease of several
 * permits has them behind it: "x/l#7*3".  Sent frames read
 *
 *    HANDSHAKE 0x0 10000 0x0         last zxid, timeout, session
 *     CREATE2 q/a; LIST q         of one write; " | " is between two writes
 *     SYNC q; DELETE q/a#1; EXISTS q/a#1; DATA q/a#1 w; CONTAINER q;
 *     CREATE q; MULTI q/a#1 q/b#2; SETWATCHES 0x7 q/a#1; PING; AUTH u:p; CLOSE
 *     LIST q w                    with a watch, and in a SETWATCHES: "q/"
 *     MULTI +q/x/l +q/x/l         creates, and with "-" deletes
 *     MULTI +q/a/r#1 -q/a/w#1     a create and a delete
 *     MULTI +q/A/p#0 +q/A/p#1 q-__lock__/G#3
 *                                 permits as kazoo has them, with the check of
 *                                 the ticket in front; A to O are UUIDs of
 *                                 version 4, which permits are made of
 *     CREATE q=5                  with data
 *     CREATE2 q/x/m               a member of a double barrier, and a stamp:
 *     MULTI q/x/m q/y/m -q/ready +q/ready
 *
 * where paths are below the chroot and a ticket of which only so much is seen
 * that it is a mutex or a writer's reads as a mutex, and events
 *
 *     CONNECTED 10000 990; RESUMED 10000 990; SUSPENDED; RESUMING 990 10000;
 *     LOST; CLOSED; ENQUEUED a: x#1 a#2@17; LISTED a: x#1=text;
 *     QUEUE_CHANGED z (of a WATCH_QUEUE); WATCHING x; GONE x; REMOVED a found;
 * REMOVED a; FLAG_UPDATED found; LISTED z: up@17 (of a WATCH_QUEUE at a mark,
 * .kind being BARRIER); LISTED z: x/m@7 ready@8 (members and their mark, .kind
 * being MEMBER) PROVEN 990 (asked for); PROVED 990 (unasked); FAILED ENQUEUE a
 * RETRY
 *
 * Whatever the story, the stage sees to it that every request is answered
 * once, a watch ends once, nothing is under way when the session is lost or
 * closed, nothing comes behind CLOSED, texts are there and are UTF-8, a proof
 * is no later than what was sent, a wake-up that was carried out is not wanted
 * again at once, and no memory is left.  Where that does not hold it ends the
 * program, so that fuzz targets can use it too.
 */
#ifndef HF_TESTS_UNIT_ZK_FIXTURE_H
#define HF_TESTS_UNIT_ZK_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>

#include "engines/zookeeper/zk_machine.h"
#include "zookeeper/protocol.h"

#define ZK_FIXTURE_START_MS 1000
#define ZK_FIXTURE_TIMEOUT_MS 10000
#define ZK_FIXTURE_SESSION 0x5e55
#define ZK_FIXTURE_TEXT_BYTES 4096
#define ZK_FIXTURE_PATH_BYTES 4096

/* It holds in every build and every program. */
#define ZK_FIXTURE_MUST(property)                                              \
    do {                                                                       \
        if (!(property)) {                                                     \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__,  \
                    #property);                                                \
            abort();                                                           \
        }                                                                      \
    } while (0)

/* What one side wrote, described; what does not fit is cut. */
struct zk_text {
    char text[ZK_FIXTURE_TEXT_BYTES];
    size_t used;
    char taken[ZK_FIXTURE_TEXT_BYTES];
};

void zk_text_append(struct zk_text *to, const char *between, const char *format,
                    ...) __attribute__((format(printf, 3, 4)));

/* A request of the client's that the server has not answered. */
struct zk_fixture_call {
    struct zk_fixture_call *next;
    int32_t xid;
    int32_t opcode;
    int32_t multi_count;  /* of a MULTI, */
    int32_t multi_opcode; /* each of this opcode */
    bool watch;           /* of a DATA or LIST */
    bool revokes;         /* of a SET or MULTI: what it writes asks to let go */
    int32_t version; /* of a SET or MULTI: what it is to change has this one */
    uint64_t sent_at_ms;
    char *path; /* of a MULTI all, with a space between; or NULL */
};

enum zk_fixture_request_state {
    ZK_FIXTURE_ASKED,
    ZK_FIXTURE_WATCHING,
    ZK_FIXTURE_ENDED, /* freed once nobody on the stage works with it */
};

struct zk_fixture_request {
    struct hf_request request; /* first */
    struct hf_ticket_id about; /* its ticket, which it has until its answer */
    struct zk_fixture_request *next;
    enum zk_fixture_request_state state;
};

struct zk_fixture {
    struct hf_zk_config config; /* to be changed before stage_open() */
    struct hf_zk *zk;
    uint64_t now_ms;
    /* The link as the machine wants it. */
    uint64_t connection_number;
    const struct hf_zk_server *server; /* NULL: none */
    bool up;
    bool closed;
    /* Requests, and what to ask for. */
    struct zk_fixture_request *requests;
    const char *queue;
    const char *payload;
    enum hf_ticket_kind kind;
    uint32_t weight;
    uint32_t limit;
    bool detailed; /* LISTs are for people */
    unsigned under_way;
    unsigned answered; /* so many requests, ever */
    /* The server. */
    struct zk_fixture_call *first, **last;
    size_t calls;
    size_t pings;
    int64_t session;
    int64_t zxid;    /* of the next answer */
    int32_t nodes;   /* so many children each Stat says */
    int32_t version; /* and this one of the data */
    size_t chunk;    /* so many bytes come in at a time; 0: all */
    bool holding;    /* answers are kept back */
    struct hf_jute_writer out;
    /* It has sent bytes of the story's own: what they granted, and what of the
     * requests they answered, the stage does not know. */
    bool raw_bytes;
    /* What was seen. */
    bool connected;              /* CONNECTED was the last word */
    uint64_t connect_sent_at_ms; /* when, and for which session */
    int64_t handshake_session;   /* 0: for a new one */
    uint64_t committed_ms; /* when the last write that was answered was sent,
                              or the last greeting accepted */
    struct zk_text sent;
    struct zk_text events;
    size_t longest_frame;           /* of the frames sent, in bytes */
    size_t frames;                  /* so many were sent */
    bool handshake_read;            /* the greeting of this link was read */
    hf_status status;               /* of the last FAILED or LOST */
    char text[HF_ERROR_TEXT_BYTES]; /* its story, or that of TROUBLE, which
                                       is not told among the others */
    char logged_digests[HF_ERROR_TEXT_BYTES]; /* the last line */
    hf_status error_status;                   /* of the last TROUBLE */
    bool error_final;
    unsigned log_lines;
    /* To be called, if set, with each event while it is being told. */
    void (*event_hook)(struct zk_fixture *f, const struct hf_event *event);
    /* And with each path of a SETWATCHES, ${queue} that of a queue; of a queue
     * all that has changed in transactions later than ${since} was missed. */
    void (*on_set_watch)(struct zk_fixture *f, const char *path, bool queue,
                         int64_t since);
    void *on_set_watch_arg;
};

/* --------------------------------------------------------------- the set -- */

/* The layout of every stage to come; Curator's if nobody says otherwise. */
extern enum hf_zk_dialect zk_fixture_layout;

/* One server called "h1", no chroot, a timeout of STAGE_TIMEOUT_MS; a link to
 * it is wanted once the stage is open. */
void zk_fixture_init(struct zk_fixture *f);
/* False, and nothing to close, for lack of memory. */
bool zk_fixture_open(struct zk_fixture *f);

/* stage_init() and _open(), link up, session granted, all of that taken. */
void zk_fixture_connected(struct zk_fixture *f);

/* Free everything and see that nothing is left. */
void zk_fixture_close(struct zk_fixture *f);

/* What was sent, and told, since it was last asked. */
const char *zk_fixture_sent(struct zk_fixture *f);
const char *zk_fixture_events(struct zk_fixture *f);

/* --------------------------------------------------------------- tickets -- */

struct hf_ticket_id zk_fixture_id(const char *name);
void zk_fixture_id_name(const struct hf_ticket_id *id, char name[16]);

/* The node's name of "x/r#7"; what has no '#' and no letter alone stays. */
void zk_fixture_node(const struct zk_fixture *f, const char *ticket, char *node,
                     size_t bytes);

/* ----------------------------------------------------------- the machine -- */

struct hf_request *ask(struct zk_fixture *f, enum hf_request_kind kind,
                       const char *ticket);
void forget(struct zk_fixture *f, struct hf_request *watch);
void link_up(struct zk_fixture *f);
void link_down(struct zk_fixture *f, const char *why);
/* Bytes from the server, whatever they are. */
void receive(struct zk_fixture *f, const void *bytes, size_t count);
/* Let it be ${now_ms}, without a tick; and with one. */
void set_time(struct zk_fixture *f, uint64_t now_ms);
void advance_to(struct zk_fixture *f, uint64_t now_ms);
/* Let it be the moment the machine wants to be woken, and wake it. */
void wake(struct zk_fixture *f);
/* Do that until ${now_ms}. */
void run_until(struct zk_fixture *f, uint64_t now_ms);

/* ------------------------------------------------------------ the server -- */

/* Greetings. */
void accept_session(struct zk_fixture *f);
void accept_session_as(struct zk_fixture *f, int32_t timeout_ms, int64_t id);
void refuse_session(struct zk_fixture *f);

/* Keep answers back, and let all go at once. */
void hold_answers(struct zk_fixture *f);
void deliver_answers(struct zk_fixture *f);

/* Answers to the oldest request that has none, which must be of that kind. */
void created(struct zk_fixture *f, int32_t sequence, int64_t czxid);
/* To a MULTI of creates: the first is ${sequence}. */
void created_all(struct zk_fixture *f, int32_t sequence);
/* And each is ${step} more than the one before. */
void created_apart(struct zk_fixture *f, int32_t sequence, uint32_t step);
void created_as(struct zk_fixture *f, const char *path, int64_t czxid);
void children(struct zk_fixture *f, const char *tickets);
void data(struct zk_fixture *f, const char *text, int64_t czxid, int64_t owner);
void data_written(struct zk_fixture *f); /* to a SET */
void exists(struct zk_fixture *f, int64_t czxid, int64_t owner);
void checked(struct zk_fixture *f); /* or deleted: all of a MULTI */
void check_failed(struct zk_fixture *f, int32_t nth); /* from 0: NoNode */
void multi_failed(struct zk_fixture *f, int32_t nth, int32_t error);
void downgrade_done(
    struct zk_fixture *f); /* a MULTI of a create and a delete */
void generation_set(struct zk_fixture *f); /* or of checks and a mark */
void participant_created(struct zk_fixture *f, int64_t czxid); /* a member */
void done(
    struct zk_fixture *f); /* to a CREATE, CONTAINER, DELETE, SYNC, CLOSE */
void refused(struct zk_fixture *f, int32_t error); /* to any */
/* A success, to any, with this for a record. */
void answer_with(struct zk_fixture *f, const void *body, size_t count);

/* What comes unasked, or to what is no call. */
void pong(struct zk_fixture *f);
void event(struct zk_fixture *f, int32_t type,
           const char *ticket); /* "q/x#1" */
void event_at(struct zk_fixture *f, int32_t type, const char *path);
void header(struct zk_fixture *f, int32_t xid, int32_t error);

/* Short stories, what was sent and told in them being taken: ${ticket} is put
 * into the queue with nobody ahead; the session goes on on another
 * connection. */
void have_ticket(struct zk_fixture *f, const char *ticket, int32_t sequence,
                 int64_t czxid);
void resume(struct zk_fixture *f);

/* Frames that the machine sent, described into .sent and noted: for the stage
 * itself. */
void zk_fixture_read_frames(struct zk_fixture *f, const uint8_t *bytes,
                            size_t count);
void zk_fixture_forget_calls(struct zk_fixture *f);
/* The oldest call is being answered. */
void zk_fixture_drop_call(struct zk_fixture *f);
/* Is it the name of a ticket, or, not ${whole}, what a create has of one,
 * lacking its number? */
bool zk_fixture_is_ticket(const char *name, struct hf_zk_node *node,
                          bool *whole);
/* Bytes that the server of the stage has put together. */
void zk_fixture_receive(struct zk_fixture *f, const void *bytes, size_t count);

/* The stage's own of a request; the machine is done with it, and it is kept for
 * those who compare pointers. */
struct zk_fixture_request *zk_fixture_request_of(struct hf_request *request);
void zk_fixture_end_request(struct zk_fixture *f, struct zk_fixture_request *r);

/* What the machine tells its host, a struct stage: described into .told. */
void zk_fixture_on_event(void *host, struct hf_event *event);
void zk_fixture_on_log(void *host, enum hf_log_level level, const char *format,
                       ...);

/* Have the machine do as it wants after an input. */
void zk_fixture_process(struct zk_fixture *f);

#endif
