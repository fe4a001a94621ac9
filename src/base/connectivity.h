/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state machine of a connection that is made anew whenever it is lost,
 * while the session that it carries goes on.  It decides when to connect, and
 * when to give an attempt up.  The sessions of src/zookeeper, src/etcd and
 * src/engines/leased use it.
 *
 * The idea is that of Open vSwitch's lib/reconnect.c: the state machine knows
 * the state and the instants.  Its owner, which has the socket, reports what
 * happened and asks what to do.  Nothing here reads a clock, keeps a timer or
 * touches a connection.  The owner passes the time (CLOCK_BOOTTIME in ms) and
 * calls:
 *
 *     hf_connectivity_due()          CONNECT: begin an attempt, and call
 *                                    hf_connectivity_connecting();
 *                                    GIVE_UP: end the attempt, and call
 *                                    hf_connectivity_timed_out() and
 *                                    hf_connectivity_disconnected(); in
 *                                    CLOSING call hf_connectivity_closed()
 *     hf_connectivity_wake_at_ms()   to learn when to ask again
 *
 * The owner itself does the handshake, sends pings and requests, and knows
 * until when the session lives.
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

/* The most servers whose errors are logged separately: 32 of the list, and one
 * that was removed from the list while the session was connected to it. */
#define HF_CONNECTIVITY_SERVERS_MAX 33

/* A connection that stayed up this long counts as a success and resets the
 * backoff. */
#define HF_CONNECTIVITY_STEADY_MS 1000

/* When the server answers during an attempt, the timeout of the attempt begins
 * anew.  Only this many answers of one attempt count, so that the attempt ends
 * whatever the server sends. */
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
    size_t share_servers; /* the servers that share .session_ms: each may
                             take its part of it in a round; at least 1 */
};

/* The connection of one session.  Other files may read .state and .error; only
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
    size_t answers;         /* how often the timeout of this attempt began
                               anew */
    /* Why there is no connection, with the server's name; "" while UP. */
    char error[HF_ERROR_TEXT_BYTES];
    /* A digest of each server's last text since the last UP, or since the
     * servers were changed, so that servers that stay dead do not fill the log
     * with the same lines. */
    uint64_t logged[HF_CONNECTIVITY_SERVERS_MAX];
};

/* Set up ${connectivity} in state WAITING.  The first attempt is due at once.
 */
void hf_connectivity_init(struct hf_connectivity *connectivity,
                          const struct hf_connectivity_config *config);

bool hf_connectivity_is_up(const struct hf_connectivity *connectivity);

/* Is there a connection, or an attempt to make one? */
bool hf_connectivity_has_connection(const struct hf_connectivity *connectivity);

/* ----------------------------------------------------- what has happened -- */

/* An attempt begins.  Allowed in WAITING, when CONNECT is due. */
void hf_connectivity_connecting(struct hf_connectivity *connectivity,
                                uint64_t now_ms);

/* The transport has connected, and the handshake begins.  The timeout of the
 * attempt goes on.  Allowed in CONNECTING. */
void hf_connectivity_handshaking(struct hf_connectivity *connectivity);

/* The server has sent a part of the handshake.  The timeout of the attempt
 * begins anew, because a server that is far away needs many round trips; at
 * most HF_CONNECTIVITY_ANSWERS_MAX calls do so.  Allowed in CONNECTING and
 * HANDSHAKING. */
void hf_connectivity_answered(struct hf_connectivity *connectivity,
                              uint64_t now_ms);

/* The server has accepted the session.  The text of the last error is
 * forgotten.  Allowed in HANDSHAKING. */
void hf_connectivity_up(struct hf_connectivity *connectivity, uint64_t now_ms);

/* The action GIVE_UP was due.  The attempt counts as silent, so that the next
 * ones may take longer.  Returns the timeout of the attempt for the text of the
 * error; in CLOSING the returned number has no meaning.  Call
 * hf_connectivity_disconnected() next, or in CLOSING hf_connectivity_closed().
 */
uint64_t hf_connectivity_timed_out(struct hf_connectivity *connectivity);

/* The connection has ended, or the attempt has failed, with ${status}.  The
 * next attempt is due when the policy says so, or never (IDLE).  If the
 * connection was up for HF_CONNECTIVITY_STEADY_MS, its end is no failed
 * attempt: whatever the policy says, the next attempt is due at once if there
 * are other servers, else after a short pause.  Allowed in CONNECTING,
 * HANDSHAKING and UP. */
void hf_connectivity_disconnected(struct hf_connectivity *connectivity,
                                  hf_status status, uint64_t now_ms,
                                  struct hf_random *random);

/* The connection has ended because the server refuses what is sent once the
 * connection is up, such as credentials.  Unlike hf_connectivity_disconnected()
 * this counts a failed attempt, however long the connection was up.  If the
 * error is now final, no further attempt is made (IDLE), even if the policy
 * allows one: the server would accept the connection and refuse us again.
 * Allowed in HANDSHAKING and UP. */
void hf_connectivity_refused(struct hf_connectivity *connectivity,
                             hf_status status, uint64_t now_ms,
                             struct hf_random *random);

/* The owner has given the connection up because the session that it carried is
 * over.  This is no failure, so the next attempt is due at once.  Allowed in
 * CONNECTING, HANDSHAKING and UP. */
void hf_connectivity_restart(struct hf_connectivity *connectivity,
                             uint64_t now_ms);

/* Begin again in state IDLE: an attempt is due at once.  In any other state
 * nothing changes, and the function returns false. */
bool hf_connectivity_resume(struct hf_connectivity *connectivity,
                            uint64_t now_ms);

/* The requests that end the session were sent, or one of several was answered.
 * The close is given up after ${limit_ms}.  Allowed in UP and CLOSING. */
void hf_connectivity_closing(struct hf_connectivity *connectivity,
                             uint64_t now_ms, uint64_t limit_ms);

/* The session is closed.  Allowed in any state. */
void hf_connectivity_closed(struct hf_connectivity *connectivity);

/* From now on the session has ${servers} other servers.  Attempts are counted
 * anew, and each server gets its part of .session_ms in a round. */
void hf_connectivity_set_servers(struct hf_connectivity *connectivity,
                                 size_t servers);

/* ------------------------------------------------------------ what to do -- */

enum hf_connectivity_action
hf_connectivity_due(const struct hf_connectivity *connectivity,
                    uint64_t now_ms);

/* Returns when something will be due.  HF_FOREVER: nothing is due until another
 * function is called. */
uint64_t hf_connectivity_wake_at_ms(const struct hf_connectivity *connectivity);

/* ------------------------------------------------ the connection's error -- */

/* Set .error to ${text}, which is about the server with the index ${server}.
 * Returns true if the text is new for this server.  Then it should be logged at
 * hf_connectivity_error_level(). */
bool hf_connectivity_set_error(struct hf_connectivity *connectivity,
                               size_t server, const char *text);

/* Remember ${text} as the last text about the server with the index ${server}.
 * Returns true if it differs from the one before, or is the first one since the
 * connection was up.  Then it is worth a line of the log. */
bool hf_connectivity_text_changed(struct hf_connectivity *connectivity,
                                  size_t server, const char *text);

/* Return why there is no connection: the last status if all servers failed with
 * it, or if all refused us, even for different reasons; else HF_EUNREACHABLE.
 */
hf_status hf_connectivity_status(const struct hf_connectivity *connectivity);

/* Have all servers failed with an error that waiting does not mend? */
bool hf_connectivity_is_final(const struct hf_connectivity *connectivity);

/* The level at which .error is logged.  A final error has a lower level,
 * because the operations that it ends return the same text. */
enum hf_log_level
hf_connectivity_error_level(const struct hf_connectivity *connectivity);

/* In state IDLE: set ${retries} to the rounds that the policy has allowed after
 * the first one, and ${elapsed_ms} to the time since the first round failed. */
void hf_connectivity_gave_up_after(const struct hf_connectivity *connectivity,
                                   uint64_t now_ms, uint32_t *retries,
                                   uint64_t *elapsed_ms);

#endif
