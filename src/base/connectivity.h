/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of the connection of a session that outlives its connections, and
 * when to act on it: when to connect, and when to give an attempt up.  It is
 * used by the sessions of src/zookeeper, src/etcd and src/engines/leased.
 *
 * The idea is that of Open vSwitch's lib/reconnect.c: one machine knows the
 * state and the instants, and its owner, which has the socket, reports what
 * happened and asks what to do.  Nothing here reads a clock, keeps a timer
 * or touches a connection.  The owner passes the time (CLOCK_BOOTTIME in ms):
 *
 *     hf_connectivity_due()          CONNECT: begin an attempt, and call
 *                                    hf_connectivity_connecting();
 *                                    GIVE_UP: end the attempt, and call
 *                                    hf_connectivity_timed_out() and
 *                                    hf_connectivity_disconnected(); in
 *                                    CLOSING call hf_connectivity_closed()
 *     hf_connectivity_wake_at_ms()   when to ask again
 *
 * What a connection carries is the owner's: the handshake, pings, requests,
 * and until when the session lives.
 */
#ifndef HF_BASE_CONNECTIVITY_H
#define HF_BASE_CONNECTIVITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <holdfast/client.h>
#include <holdfast/status.h>

#include "base/random.h"
#include "base/reconnect.h"

/* Servers whose errors are logged apart: those of a list, and one that was
 * taken out of it while the session was connected to it. */
#define HF_CONNECTIVITY_SERVERS_MAX 33

/* A connection that stayed up this long counts as a success and resets the
 * backoff. */
#define HF_CONNECTIVITY_STEADY_MS 1000

/* An answer of the server gives an attempt its time again, but only the first
 * ones do, up to this many: so an attempt ends whatever the server sends. */
#define HF_CONNECTIVITY_ANSWERS_MAX 24

/* How long a session waits for the answer to the one request that ends it. */
#define HF_CLOSE_TIMEOUT_MS 1000

enum hf_connectivity_state {
    HF_CONNECTIVITY_IDLE,        /* the policy gave up, or the servers refuse
                                    us for good; waits for
                                    hf_connectivity_resume() */
    HF_CONNECTIVITY_WAITING,     /* for the instant of the next attempt */
    HF_CONNECTIVITY_CONNECTING,  /* the transport is connecting */
    HF_CONNECTIVITY_HANDSHAKING, /* connected; the server was asked to accept
                                    or confirm the session */
    HF_CONNECTIVITY_UP,          /* requests can be sent */
    HF_CONNECTIVITY_CLOSING,     /* the requests that end the session were
                                    sent */
    HF_CONNECTIVITY_CLOSED,      /* final */
};

/* What the owner has to do now. */
enum hf_connectivity_action {
    HF_CONNECTIVITY_NOTHING,
    HF_CONNECTIVITY_CONNECT,
    HF_CONNECTIVITY_GIVE_UP, /* the attempt, or the close, took too long */
};

struct hf_connectivity_config {
    const struct hf_reconnect *policy; /* copied; NULL: the default */
    size_t servers;                    /* attempts of a round; 0: one */
    uint64_t session_ms;               /* timeout of the session */
    size_t share_servers; /* servers, each of which gets its share of
                             .session_ms in a round; at least 1 */
};

/* The connection of one session.  Others read .state and .error; only
 * connectivity.c writes.  Instants are in ms of the owner's clock. */
struct hf_connectivity {
    unsigned state; /* enum hf_connectivity_state */
    uint64_t session_ms;
    size_t share_servers;
    struct hf_reconnect_backoff backoff;
    uint64_t until_ms; /* WAITING: when the next attempt begins; CONNECTING,
                          HANDSHAKING, CLOSING: when it times out */
    uint64_t up_at_ms; /* when the state became UP */
    size_t silent_attempts; /* attempts that timed out since the last UP, or
                               since the servers were changed */
    size_t answers;         /* how often this attempt got its time again */
    /* Why there is no connection, with the server's name; "" while UP. */
    char error[HF_ERROR_TEXT_BYTES];
    /* A digest of each server's last text since the last UP, or since the
     * servers were changed, so that servers that stay dead do not fill the log
     * with the same lines. */
    uint64_t logged[HF_CONNECTIVITY_SERVERS_MAX];
};

/* Set up ${connectivity}: WAITING, for an attempt that is due at once. */
void hf_connectivity_init(struct hf_connectivity *connectivity,
                          const struct hf_connectivity_config *config);

bool hf_connectivity_is_up(const struct hf_connectivity *connectivity);

/* Is there a connection, or an attempt to make one? */
bool hf_connectivity_has_connection(const struct hf_connectivity *connectivity);

/* ----------------------------------------------------- what has happened -- */

/* An attempt begins.  WAITING and due. */
void hf_connectivity_connecting(struct hf_connectivity *connectivity,
                                uint64_t now_ms);

/* The transport has connected; the handshake begins, within the same timeout.
 * CONNECTING. */
void hf_connectivity_handshaking(struct hf_connectivity *connectivity);

/* The server has sent something of the handshake, so the attempt has its time
 * again: a server that is far needs many round trips.  At most
 * HF_CONNECTIVITY_ANSWERS_MAX of them count.  CONNECTING or HANDSHAKING. */
void hf_connectivity_answered(struct hf_connectivity *connectivity,
                              uint64_t now_ms);

/* The server has accepted the session: the text of the last error is forgotten.
 * HANDSHAKING. */
void hf_connectivity_up(struct hf_connectivity *connectivity, uint64_t now_ms);

/* GIVE_UP was due: the attempt counts as silent, so the next ones may take
 * longer.  Returns the timeout of the attempt, for the text of the error; in
 * CLOSING it is not the limit that has passed.  hf_connectivity_disconnected()
 * must follow, in CLOSING hf_connectivity_closed(). */
uint64_t hf_connectivity_timed_out(struct hf_connectivity *connectivity);

/* The connection has ended, or the attempt has failed, with ${status}.  The
 * next attempt is due when the policy says so, or never (IDLE).  The end of a
 * steady connection is no failed attempt: the next one is due at once if there
 * are other servers, else after a short pause, whatever the policy says.
 * CONNECTING, HANDSHAKING or UP. */
void hf_connectivity_disconnected(struct hf_connectivity *connectivity,
                                  hf_status status, uint64_t now_ms,
                                  struct hf_random *random);

/* As hf_connectivity_disconnected(), because the server refuses what is sent
 * once the connection is up, such as credentials.  That is a failed attempt,
 * however long the connection was up.  If the error is final now, no further
 * attempt is made (IDLE), although the policy may allow some: it would be
 * accepted and refused again.  HANDSHAKING or UP. */
void hf_connectivity_refused(struct hf_connectivity *connectivity,
                             hf_status status, uint64_t now_ms,
                             struct hf_random *random);

/* The connection is given up without having failed, because the session that
 * it carried is over: the next attempt is due at once.  CONNECTING, HANDSHAKING
 * or UP. */
void hf_connectivity_restart(struct hf_connectivity *connectivity,
                             uint64_t now_ms);

/* Begin again: an attempt is due at once.  False, and nothing changes, in other
 * states than IDLE. */
bool hf_connectivity_resume(struct hf_connectivity *connectivity,
                            uint64_t now_ms);

/* The requests that end the session were sent, or one of several was answered.
 * The close is given up after ${limit_ms}.  UP or CLOSING. */
void hf_connectivity_closing(struct hf_connectivity *connectivity,
                             uint64_t now_ms, uint64_t limit_ms);

/* The session is closed.  In any state. */
void hf_connectivity_closed(struct hf_connectivity *connectivity);

/* The session has other servers from now on, ${servers} of them: attempts are
 * counted anew, and each server gets its share of a round. */
void hf_connectivity_set_servers(struct hf_connectivity *connectivity,
                                 size_t servers);

/* ------------------------------------------------------------ what to do -- */

enum hf_connectivity_action
hf_connectivity_due(const struct hf_connectivity *connectivity,
                    uint64_t now_ms);

/* When something will be due; HF_FOREVER: nothing before another call. */
uint64_t hf_connectivity_wake_at_ms(const struct hf_connectivity *connectivity);

/* ------------------------------------------------ the connection's error -- */

/* Set .error to ${text}, about the server with the index ${server}.  True if
 * it is new and should be logged, at hf_connectivity_error_level(). */
bool hf_connectivity_set_error(struct hf_connectivity *connectivity,
                               size_t server, const char *text);

/* Is ${text} another one than the last one about ${server} since the connection
 * was up?  Then it is worth a line of the log.  It is remembered as the last
 * one. */
bool hf_connectivity_text_changed(struct hf_connectivity *connectivity,
                                  size_t server, const char *text);

/* The status of the error: why there is no connection, if all servers agree; if
 * they refuse us for different reasons, the last one; else HF_EUNREACHABLE. */
hf_status hf_connectivity_status(const struct hf_connectivity *connectivity);

/* Is it an error that waiting does not change? */
bool hf_connectivity_is_final(const struct hf_connectivity *connectivity);

/* A final error is logged at a lower level, because it is also the text of the
 * operations that it ends. */
enum hf_log_level
hf_connectivity_error_level(const struct hf_connectivity *connectivity);

/* IDLE: how many retries the policy has allowed, and how long they took, from
 * the first failed round on. */
void hf_connectivity_gave_up_after(const struct hf_connectivity *connectivity,
                                   uint64_t now_ms, uint32_t *retries,
                                   uint64_t *elapsed_ms);

#endif
