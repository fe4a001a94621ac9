/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A client of a ZooKeeper ensemble (hf_zk) for tests, in virtual time.  The
 * test plays the server and says what each answer is, byte for byte if it
 * likes; zk_fake_server.h has a server that behaves by itself.  What the client
 * sends and the events that its host gets are read as text.
 *
 * A ticket has one lower-case letter, or n and a number; its id is made of
 * that. In paths and lists a ticket is NAME#SEQUENCE, with /r, /w or /l behind
 * the name of a reader, a writer or a lease.  "x/r#7" is the node
 * _c_78787878-7878-7878-7878-787878787878-__READ__0000000007 in Curator's
 * layout; without "#7" it is the prefix of a create.  All clients use the
 * layout .config.  Paths are below the chroot.  Sent frames read
 *
 *     HANDSHAKE 0x0 10000 0x0     last zxid, timeout, session
 *     CREATE2 q/a; LIST q         two frames of one write; " | " is between
 *                                 writes
 *     SYNC q; DELETE q/a#1; EXISTS q/a#1; DATA q/a#1 w; CONTAINER q;
 *     CREATE q; MULTI q/a#1 q/b#2; SETWATCHES 0x7 q/a#1; PING; AUTH u:p; CLOSE
 *     LIST q w                    with a watch; in a SETWATCHES it is "q/"
 *     UNWATCH q 3                 RemoveWatches of the type 3, any
 *     MULTI +q/x/l +q/x/l         creates; with "-" deletes
 *     MULTI +q/a/r#1 -q/a/w#1     a downgrade
 *     MULTI ?q +q/a               a ticket, and in front a trial of the right
 *                                 to delete in q (.tries_rights)
 *     MULTI +q/A/p#0 +q/A/p#1 q-__lock__/G#3
 *                                 permits in kazoo's layout, and the check that
 *                                 our ticket is in front.  The names A to O
 *                                 give UUIDs of version 4, which permits need
 *     CREATE q=5                  with data
 *     CREATE2 q/x/m               a participant of a double barrier
 *     MULTI q/x/m q/y/m -q/ready +q/ready
 *                                 a new generation
 *
 * A name that may be that of a mutex or of a writer reads as a mutex.  Events
 * read
 *
 *     CONNECTED 10000 990; RESUMED 10000 990; SUSPENDED; RESUMING 990 10000;
 *     LOST; CLOSED; ENQUEUED a: x#1 a#2@17; LISTED a: x#1=text;
 *     ENQUEUED x: x/l#7*3         a lease of 3 permits
 *     QUEUE_CHANGED z             of a WATCH_QUEUE
 *     WATCHING x; GONE x; REMOVED a found; REMOVED a; FLAG_UPDATED found;
 *     LISTED z: up@17             of a WATCH_QUEUE whose .kind is BARRIER
 *     LISTED z: x/m@7 ready@8     participants and generation, whose .kind is
 *                                 PARTICIPANT
 *     NAMED z: q r* more          names of queues, r of participants; there
 *                                 is another page
 *     PROVEN 990; PROVED 990      that was asked for, and that was not
 *     FAILED ENQUEUE a RETRY
 *
 * In every test the fixture checks the promises of the client: each request is
 * answered once, a watch ends once, no request is pending when the session is
 * lost or closed, no event follows CLOSED, texts are there and are UTF-8, a
 * proof is no later than the last write that was answered, a TICK that was
 * given is not wanted again at once, and no memory is left.  A promise that is
 * broken ends the program, so that fuzz targets can use the fixture too.
 */
#ifndef HF_TESTS_UNIT_ZK_FIXTURE_H
#define HF_TESTS_UNIT_ZK_FIXTURE_H

#include <stdio.h>
#include <stdlib.h>

#include "engines/zookeeper/zk_engine.h"
#include "zookeeper/protocol.h"

#define ZK_FIXTURE_START_MS 1000
#define ZK_FIXTURE_TIMEOUT_MS 10000
#define ZK_FIXTURE_SESSION 0x5e55
#define ZK_FIXTURE_TEXT_BYTES 4096
#define ZK_FIXTURE_PATH_BYTES 4096

/* Like assert(), but in every build, and it prints where. */
#define ZK_FIXTURE_MUST(property)                                              \
    do {                                                                       \
        if (!(property)) {                                                     \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__,  \
                    #property);                                                \
            abort();                                                           \
        }                                                                      \
    } while (0)

/* Text that a test reads: of frames or of events.  What does not fit is cut. */
struct zk_text {
    char text[ZK_FIXTURE_TEXT_BYTES]; /* .used bytes since it was last read */
    size_t used;
    char taken[ZK_FIXTURE_TEXT_BYTES]; /* what was read last */
};

/* Append a formatted text, with ${between} in front of it if there is any. */
void zk_text_append(struct zk_text *to, const char *between, const char *format,
                    ...) __attribute__((format(printf, 3, 4)));

/* A call of the client that the server has not answered. */
struct zk_fixture_call {
    struct zk_fixture_call *next;
    int32_t xid;
    int32_t opcode;
    bool trial;           /* MULTI: it begins with a trial of the right to
                             delete, which the next two do not count */
    int32_t multi_count;  /* MULTI: operations in it */
    int32_t multi_opcode; /* MULTI: their opcode; MULTI if they differ */
    bool watch;           /* DATA, LIST: it sets a watch */
    bool revokes;         /* SET, MULTI: it writes a request to let go */
    int32_t version;      /* SET, MULTI: the version of data that it requires */
    uint64_t sent_at_ms;
    char *path; /* of MULTI all, with a space between them; NULL: none */
};

enum zk_fixture_request_state {
    ZK_FIXTURE_ASKED,
    ZK_FIXTURE_WATCHING,
    ZK_FIXTURE_ENDED, /* freed at the end of the next input */
};

struct zk_fixture_request {
    struct hf_request request; /* first, see zk_fixture_request_of() */
    struct hf_ticket_id about; /* the ticket that names it in events */
    struct zk_fixture_request *next;
    enum zk_fixture_request_state state;
};

struct zk_fixture {
    struct hf_zk_engine_config
        config; /* may be changed before zk_fixture_open() */
    struct hf_zk_engine *zk;
    uint64_t now_ms;
    /* The link that the client wants. */
    uint64_t connection_number;
    const struct hf_zk_server *server; /* NULL: none */
    bool up;
    bool closed;
    /* Requests. */
    struct zk_fixture_request *requests;
    unsigned under_way; /* not answered; WATCHING is an answer */
    unsigned answered;  /* answers so far, of any kind */
    /* What ask() takes for the next request; a test sets it. */
    const char *queue;
    const char *payload;
    enum hf_ticket_kind kind;
    uint32_t weight;               /* permits of a lease */
    uint32_t limit;                /* of a semaphore or a double barrier */
    const char *entry_mutex;       /* the ticket in front of a lease, or NULL */
    bool detailed;                 /* a LIST is a detailed one */
    bool tries_rights;             /* an ENQUEUE finds a queue whose right to
                                      delete was not tried */
    struct hf_text_range texts;    /* of a detailed LIST */
    struct hf_names_request names; /* of a NAMES; stays until its answer */
    /* The server. */
    struct zk_fixture_call *first, **last; /* not answered, oldest first */
    size_t calls;
    size_t pings; /* not answered */
    int64_t session;
    int64_t zxid;              /* of the next answer */
    int32_t nodes;             /* children of every node, as Stat says it */
    int32_t version;           /* of the data of every node, likewise */
    size_t chunk;              /* bytes that arrive at a time; 0: all */
    bool holding;              /* answers are kept, see hold_answers() */
    struct hf_jute_writer out; /* answers that were not delivered */
    /* The test has sent bytes of its own.  The fixture does not know what they
     * answered, so it checks proofs less strictly. */
    bool raw_bytes;
    /* What the fixture has seen. */
    bool connected;              /* after CONNECTED, until SUSPENDED or LOST */
    bool handshake_read;         /* the first frame of this link was sent */
    uint64_t connect_sent_at_ms; /* when that was, and for which session: */
    int64_t handshake_session;   /* 0: a new one */
    /* When the last write that was answered, or the last handshake that was
     * accepted, was sent: no proof may be later. */
    uint64_t committed_ms;
    struct zk_text sent;
    struct zk_text events;
    size_t frames;                  /* that were sent */
    size_t longest_frame;           /* of those, in bytes */
    hf_status status;               /* of the last FAILED or LOST */
    char text[HF_ERROR_TEXT_BYTES]; /* of that, or of CONNECTION_ERROR, which
                                       is not among the events as text */
    hf_status error_status;         /* of the last CONNECTION_ERROR */
    bool error_final;
    char logged_digests[HF_ERROR_TEXT_BYTES]; /* the last line of the log */
    unsigned log_lines;
    /* Called with each event from inside its callback, if set. */
    void (*event_hook)(struct zk_fixture *f, const struct hf_event *event);
    /* Called with each path of a SETWATCHES, if set.  ${queue}: it is a watch
     * of children.  Changes in transactions after ${since} were missed. */
    void (*on_set_watch)(struct zk_fixture *f, const char *path, bool queue,
                         int64_t since);
    void *on_set_watch_arg;
};

/* ----------------------------------------------------- begin and end -- */

/* The layout of fixtures that begin from now on; at first Curator's. */
extern enum hf_zk_engine_dialect zk_fixture_layout;

/* One server "h1", no chroot, a timeout of ZK_FIXTURE_TIMEOUT_MS.  Makes the
 * allocator of heap/heap.h that of the library. */
void zk_fixture_init(struct zk_fixture *f);
/* Make the client, which wants a link then.  False if there is no memory; there
 * is nothing to close then. */
bool zk_fixture_open(struct zk_fixture *f);

/* Both, and a session; the frames and events of that are read already. */
void zk_fixture_connected(struct zk_fixture *f);

/* Free all and check that the library has no memory left. */
void zk_fixture_close(struct zk_fixture *f);

/* A test of f, a client with a session; and of one that ${open}, a call with f,
 * begins. */
#define ZK_TEST(name) ZK_TEST_FROM(name, zk_fixture_connected(f))
#define ZK_TEST_FROM(name, open)                                               \
    TEST_OF(name, zk_fixture, open, zk_fixture_close(f))

/* Frames, and events, since the last call; valid until the next. */
const char *zk_fixture_sent(struct zk_fixture *f);
const char *zk_fixture_events(struct zk_fixture *f);

/* --------------------------------------------------------------- tickets -- */

/* The id of "x", and back. */
struct hf_ticket_id zk_fixture_id(const char *name);
void zk_fixture_id_name(const struct hf_ticket_id *id, char name[16]);

/* The name of the node that "x/r#7" stands for.  A name of several letters
 * without '#' is copied. */
void zk_fixture_node(const struct zk_fixture *f, const char *ticket, char *node,
                     size_t bytes);

/* ------------------------------------------------------------ the client -- */

/* Make a request about ${ticket}, "" being one about no ticket.  The fixture
 * frees it. */
struct hf_request *ask(struct zk_fixture *f, enum hf_request_kind kind,
                       const char *ticket);
/* Take a watch or a queue watch back. */
void forget(struct zk_fixture *f, struct hf_request *watch);
void link_up(struct zk_fixture *f);
void link_down(struct zk_fixture *f, const char *why);
/* Any bytes from the server. */
void receive(struct zk_fixture *f, const void *bytes, size_t count);
/* Move the clock: without an input, and with a TICK. */
void set_time(struct zk_fixture *f, uint64_t now_ms);
void advance_to(struct zk_fixture *f, uint64_t now_ms);
/* Advance to the time at which the client wants its next TICK. */
void wake(struct zk_fixture *f);
/* Give all TICKs that are due until ${now_ms}; then it is that time. */
void run_until(struct zk_fixture *f, uint64_t now_ms);

/* ------------------------------------------------------------ the server -- */

/* Answers to the handshake: a session, another one, none. */
void accept_session(struct zk_fixture *f);
void accept_session_as(struct zk_fixture *f, int32_t timeout_ms, int64_t id);
void refuse_session(struct zk_fixture *f);

/* Keep the answers that follow, and deliver them in one piece. */
void hold_answers(struct zk_fixture *f);
void deliver_answers(struct zk_fixture *f);

/* Answers to the oldest call, which must be of the opcode that fits.  The MULTI
 * of a trial and one create is answered as a create. */
void created(struct zk_fixture *f, int32_t sequence, int64_t czxid);
/* To a MULTI of creates: the first node gets ${sequence}, the others follow. */
void created_all(struct zk_fixture *f, int32_t sequence);
/* The same, and each number is ${step} more than the one before. */
void created_apart(struct zk_fixture *f, int32_t sequence, uint32_t step);
void created_as(struct zk_fixture *f, const char *path, int64_t czxid);
void children(struct zk_fixture *f, const char *tickets);
void data(struct zk_fixture *f, const char *text, int64_t czxid, int64_t owner);
void data_written(struct zk_fixture *f); /* to a SET */
void exists(struct zk_fixture *f, int64_t czxid, int64_t owner);
/* To a MULTI of checks or of deletes: all is done. */
void checked(struct zk_fixture *f);
/* To a MULTI: its operation ${nth}, from 0, failed with NoNode, or ${error}. */
void check_failed(struct zk_fixture *f, int32_t nth);
void multi_failed(struct zk_fixture *f, int32_t nth, int32_t error);
/* The same, for the operation ${nth} of its trial. */
void trial_failed(struct zk_fixture *f, int32_t nth, int32_t error);
void downgrade_done(
    struct zk_fixture *f);             /* to a MULTI of a create and a delete */
void multi_done(struct zk_fixture *f); /* to a MULTI of several opcodes */
void participant_created(struct zk_fixture *f, int64_t czxid);
void done(
    struct zk_fixture *f); /* to a CREATE, CONTAINER, DELETE, SYNC, CLOSE */
void refused(struct zk_fixture *f, int32_t error); /* to any call */
/* To any call: success, with these bytes for a record. */
void answer_with(struct zk_fixture *f, const void *body, size_t count);

/* What is no answer to a call: a PING's, a watch event of a node ("q/x#1", or
 * "q/" for the queue) or of any path, a header alone. */
void pong(struct zk_fixture *f);
void event(struct zk_fixture *f, int32_t type,
           const char *ticket); /* "q/x#1" */
void event_at(struct zk_fixture *f, int32_t type, const char *path);
void header(struct zk_fixture *f, int32_t xid, int32_t error);

/* Several steps whose frames and events are read already: enqueue ${ticket} at
 * the head of the queue; break the link and resume the session on a new one. */
void have_ticket(struct zk_fixture *f, const char *ticket, int32_t sequence,
                 int64_t czxid);
void resume(struct zk_fixture *f);

/* --------------------------------- between the files of the fixture -- */

/* Read frames of the client: append them to .sent and keep them as calls. */
void zk_fixture_read_frames(struct zk_fixture *f, const uint8_t *bytes,
                            size_t count);
void zk_fixture_forget_calls(struct zk_fixture *f);
/* Drop the oldest call, which is answered now. */
void zk_fixture_drop_call(struct zk_fixture *f);
/* True if ${name} is the name of a ticket; ${whole} is false if it is only the
 * prefix of one, as a create has it. */
bool zk_fixture_is_ticket(const char *name, struct hf_zk_engine_node *node,
                          bool *whole);
/* Deliver bytes of the server, in chunks of .chunk. */
void zk_fixture_receive(struct zk_fixture *f, const void *bytes, size_t count);

/* The entry of a request; the client does not use the request any more.  It is
 * freed later, so that a test can still compare pointers. */
struct zk_fixture_request *zk_fixture_request_of(struct hf_request *request);
void zk_fixture_end_request(struct zk_fixture *f, struct zk_fixture_request *r);

/* hf_engine_host.event and .log; the host is the fixture. */
void zk_fixture_on_event(void *host, struct hf_event *event);
void zk_fixture_on_log(void *host, enum hf_log_level level, const char *format,
                       ...);

/* After an input: take the frames that the client wants to send, and note the
 * link that it wants. */
void zk_fixture_process(struct zk_fixture *f);

#endif
