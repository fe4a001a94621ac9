/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/link.h"

#include <assert.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/memory.h"
#include "transport/secure.h"
#include "transport/socket.h"

#define READ_BYTES 65536

/* How often one turn of the loop reads before others get theirs. */
#define READS_MAX 8

#define HANDSHAKE_CLOSED                                                       \
    "closed by the server during the TLS handshake; expected its port for "    \
    "TLS, or a URL without TLS"

enum hf_link_phase {
    HF_LINK_RESOLVING,
    HF_LINK_CONNECTING,
    HF_LINK_HANDSHAKING, /* with TLS only */
    HF_LINK_UP,
    HF_LINK_ENDED, /* nothing is told any more */
};

struct hf_link {
    struct hf_link_way way; /* .host is ours */
    char host[HF_RESOLVER_HOST_BYTES];
    struct hf_link_user user;
    enum hf_link_phase phase;
    struct hf_resolver_ask ask;
    int fd; /* -1: none */
    uv_poll_t poll;
    uv_idle_t again;
    unsigned handles;         /* those two; memory is freed with the last */
    int events;               /* what is polled for */
    bool blocked;             /* waits for room */
    bool hung_up;             /* see hf_link_hung_up() */
    bool shaking;             /* the TLS handshake has begun, not ended */
    bool heard;               /* of TLS: bytes have come */
    struct hf_secure *secure; /* NULL: no TLS */
    hf_status status;         /* of .why */
    char why[HF_LINK_TEXT_BYTES];
    char bytes[READ_BYTES];
};

/* ------------------------------------------------------------------- end -- */

static void set_why(struct hf_link *link, hf_status status, const char *text)
{
    link->status = status;
    (void)snprintf(link->why, sizeof(link->why), "%s", text);
}

static void set_tls_why(struct hf_link *link)
{
    link->status = link->way.tls->status(link->secure->tls);
    (void)snprintf(link->why, sizeof(link->why), "TLS: %s",
                   link->way.tls->why(link->secure->tls));
}

/* A server without TLS does that, and so does a balancer without a server. */
static void set_why_of_handshake(struct hf_link *link)
{
    set_why(link, link->heard ? HF_EUNREACHABLE : HF_EPROTOCOL,
            HANDSHAKE_CLOSED);
}

/* What the system's error means for who gave the URL. */
static void set_why_of_system(struct hf_link *link, int failure)
{
    bool local = link->way.path != NULL;

    if (local && (failure == ENOENT || failure == ENOTDIR))
        set_why(link, HF_EURL,
                "there is no such socket file; expected the path of the "
                "server's; see its configuration");
    else if (local && failure == EACCES)
        set_why(link, HF_EDENIED,
                "the socket file may not be used: permission denied; expected "
                "write permission on it, and search permission on its path");
    else
        set_why(link, HF_EUNREACHABLE, uv_strerror(-failure));
}

/* The socket failed: set .why.  While it connects too the server may have ended
 * it: a port where nobody listens refuses instead. */
static void break_off(struct hf_link *link, int failure)
{
    bool by_server = failure == ECONNRESET || failure == EPIPE;
    bool shaking = link->secure != NULL && link->phase != HF_LINK_UP;

    link->hung_up = by_server && !shaking;
    if (by_server && shaking)
        set_why_of_handshake(link);
    else
        set_why_of_system(link, failure);
}

static void end(struct hf_link *link)
{
    if (link->way.path == NULL && (link->phase == HF_LINK_CONNECTING ||
                                   link->phase == HF_LINK_HANDSHAKING))
        hf_resolver_skip(link->way.resolver, link->host);
    link->phase = HF_LINK_ENDED;
    if (link->handles > 0)
        (void)uv_poll_stop(&link->poll);
}

/* As .why tells.  The user may close the link, which then may be gone. */
static void fail(struct hf_link *link)
{
    char why[HF_LINK_TEXT_BYTES];

    assert(link->phase != HF_LINK_ENDED);
    memcpy(why, link->why, sizeof(why));
    end(link);
    link->user.down(link->user.arg, link->status, why);
}

static void fail_with(struct hf_link *link, const char *text)
{
    set_why(link, HF_EUNREACHABLE, text);
    fail(link);
}

static void fail_tls(struct hf_link *link)
{
    set_tls_why(link);
    fail(link);
}

static void fail_as(struct hf_link *link, int failure)
{
    break_off(link, failure);
    fail(link);
}

/* ------------------------------------------------------------------ poll -- */

static void on_poll(uv_poll_t *poll, int status, int events);

static void on_again(uv_idle_t *again)
{
    (void)uv_idle_stop(again);
}

/* The kernel hears of what is polled for when the loop next runs: an idle
 * handle sees to it that this is before anybody sleeps. */
static void poll_for(struct hf_link *link)
{
    int events = link->phase == HF_LINK_CONNECTING ? UV_WRITABLE : UV_READABLE;
    int rest;

    if (link->phase == HF_LINK_ENDED)
        return;
    if (link->blocked)
        events |= UV_WRITABLE;
    if (events == link->events)
        return;
    rest = uv_poll_start(&link->poll, events, on_poll);
    assert(rest == 0);
    link->events = events;
    (void)uv_idle_start(&link->again, on_again);
}

/* ------------------------------------------------------------------ send -- */

static bool drain(struct hf_link *link)
{
    bool unbroken = hf_secure_drain(link->secure, link->fd);

    if (!unbroken)
        break_off(link, errno);
    link->blocked = unbroken && hf_secure_blocked(link->secure);
    return unbroken;
}

static bool send_secure(struct hf_link *link, const void *bytes, size_t count,
                        size_t *taken)
{
    enum hf_tls_answer answer =
        hf_secure_send(link->secure, link->fd, bytes, count, taken);

    if (answer == HF_TLS_MORE)
        break_off(link, errno);
    else if (answer == HF_TLS_FAILED)
        set_tls_why(link);
    return answer == HF_TLS_DONE;
}

bool hf_link_send(struct hf_link *link, const void *bytes, size_t count,
                  size_t *taken)
{
    bool unbroken;

    *taken = 0;
    if (link->phase != HF_LINK_UP || link->blocked || count == 0)
        return true;
    if (link->secure != NULL) {
        unbroken = send_secure(link, bytes, count, taken);
    } else {
        unbroken = hf_socket_send(link->fd, bytes, count, taken);
        if (!unbroken)
            break_off(link, errno);
    }
    if (!unbroken) {
        end(link);
        return false;
    }
    link->blocked = *taken < count ||
                    (link->secure != NULL && hf_secure_blocked(link->secure));
    poll_for(link);
    return true;
}

hf_status hf_link_status(const struct hf_link *link)
{
    return link->status;
}

const char *hf_link_why(const struct hf_link *link)
{
    return link->why;
}

bool hf_link_hung_up(const struct hf_link *link)
{
    return link->hung_up;
}

bool hf_link_awaits_tls(const struct hf_link *link)
{
    return link->shaking && !link->heard;
}

static void on_room(struct hf_link *link)
{
    link->blocked = false;
    if (link->secure != NULL && !drain(link)) {
        fail(link);
        return;
    }
    if (!link->blocked && link->phase == HF_LINK_UP)
        link->user.writable(link->user.arg);
}

/* --------------------------------------------------------------- receive -- */

static void reach_end(struct hf_link *link)
{
    link->hung_up = link->phase == HF_LINK_UP;
    if (link->hung_up)
        set_why(link, HF_EUNREACHABLE, "closed by the server");
    else
        set_why_of_handshake(link);
    fail(link);
}

static void go_up(struct hf_link *link)
{
    link->phase = HF_LINK_UP;
    link->shaking = false;
    link->user.up(link->user.arg);
}

/* What TLS makes of what it was pushed. */
static void read_secure(struct hf_link *link)
{
    struct hf_secure *secure = link->secure;
    enum hf_tls_answer answer = HF_TLS_DONE;
    size_t count = 0;

    while (link->phase == HF_LINK_UP && answer == HF_TLS_DONE) {
        answer = link->way.tls->read(secure->tls, secure->in,
                                     sizeof(secure->in), &count);
        if (answer == HF_TLS_DONE)
            link->user.received(link->user.arg, secure->in, count);
    }
    if (link->phase != HF_LINK_UP)
        return;
    if (answer == HF_TLS_CLOSED)
        reach_end(link);
    else if (answer == HF_TLS_FAILED)
        fail_tls(link);
    else if (!link->blocked &&
             !drain(link)) /* else on_room() does, and tells */
        fail(link);
}

static void shake_hands(struct hf_link *link)
{
    enum hf_tls_answer answer = link->way.tls->handshake(link->secure->tls);
    bool unbroken = drain(link); /* also what tells the peer why not */

    if (answer == HF_TLS_FAILED)
        fail_tls(link);
    else if (!unbroken)
        fail(link);
    else if (answer == HF_TLS_DONE)
        go_up(link);
}

static void take_secure(struct hf_link *link, size_t count)
{
    link->heard = true;
    if (link->way.tls->push(link->secure->tls, link->bytes, count) !=
        HF_TLS_DONE) {
        fail_tls(link);
        return;
    }
    if (link->phase == HF_LINK_HANDSHAKING)
        shake_hands(link);
    if (link->phase == HF_LINK_UP)
        read_secure(link);
}

static void receive(struct hf_link *link)
{
    ssize_t count = READ_BYTES;

    for (int i = 0;
         i < READS_MAX && count == READ_BYTES && link->phase != HF_LINK_ENDED;
         i++) {
        count = recv(link->fd, link->bytes, READ_BYTES, 0);
        if (count < 0 && errno != EAGAIN && errno != EINTR)
            fail_as(link, errno);
        else if (count == 0)
            reach_end(link);
        else if (count > 0 && link->secure != NULL)
            take_secure(link, (size_t)count);
        else if (count > 0)
            link->user.received(link->user.arg, link->bytes, (size_t)count);
    }
}

/* --------------------------------------------------------------- connect -- */

static void on_connected(struct hf_link *link)
{
    int failure = hf_socket_connected(link->fd);

    if (failure != 0) {
        fail_as(link, failure);
    } else if (link->secure != NULL) {
        link->phase = HF_LINK_HANDSHAKING;
        link->shaking = true;
        shake_hands(link);
    } else {
        go_up(link);
    }
}

/* The socket has an error that no read has shown: it was before the data, or
 * libuv would have said so by what is readable. */
static void on_error(struct hf_link *link)
{
    int failure = hf_socket_connected(link->fd);

    if (failure != 0)
        fail_as(link, failure);
    else
        fail_with(link, "the connection broke");
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    struct hf_link *link = poll->data;

    if (link->phase == HF_LINK_CONNECTING) {
        on_connected(link);
    } else {
        if ((events & UV_WRITABLE) != 0)
            on_room(link);
        if (link->phase != HF_LINK_ENDED)
            receive(link);
        /* libuv has stopped polling. */
        if (status != 0 && link->phase != HF_LINK_ENDED)
            on_error(link);
    }
    poll_for(link);
}

/* If false, .status and .why are set.  ${address} is NULL for a unix socket. */
static bool connect_to(struct hf_link *link, const union hf_address *address)
{
    int failure;

    link->phase = HF_LINK_CONNECTING;
    link->fd = address == NULL ? hf_socket_connect_unix(link->way.path)
                               : hf_socket_connect(address, link->way.port);
    if (link->fd < 0) {
        set_why_of_system(link, errno);
        return false;
    }
    failure = uv_poll_init(link->way.loop, &link->poll, link->fd);
    if (failure != 0) {
        set_why(link, HF_EUNREACHABLE, uv_strerror(failure));
        return false;
    }
    (void)uv_idle_init(link->way.loop, &link->again);
    link->handles = 2;
    link->poll.data = link;
    link->again.data = link;
    poll_for(link);
    return true;
}

static void on_resolved(void *arg, const union hf_address *address,
                        const char *why)
{
    struct hf_link *link = arg;

    if (address == NULL)
        fail_with(link, why);
    else if (!connect_to(link, address))
        fail(link);
}

/* ------------------------------------------------------------- interface -- */

/* Begin to look the name up, or to connect.  If false, .status and .why are
 * set. */
static bool begin(struct hf_link *link)
{
    char no_address[HF_RESOLVER_TEXT_BYTES];
    enum hf_resolver_answer answer;
    union hf_address address;

    if (link->way.path != NULL)
        return connect_to(link, NULL);
    answer = hf_resolver_find(link->way.resolver, link->host, &link->ask,
                              &address, no_address);
    if (answer == HF_RESOLVER_KNOWN)
        return connect_to(link, &address);
    if (answer == HF_RESOLVER_FAILED)
        set_why(link, HF_EUNREACHABLE, no_address);
    return answer == HF_RESOLVER_LATER;
}

static struct hf_link *make(const struct hf_link_way *way,
                            const struct hf_link_user *user)
{
    struct hf_link *link = hf_alloc(sizeof(*link));

    if (link == NULL)
        return NULL;
    link->way = *way;
    link->user = *user;
    link->fd = -1;
    (void)snprintf(link->host, sizeof(link->host), "%s", way->host);
    link->way.host = link->host;
    link->ask = (struct hf_resolver_ask){.fn = on_resolved, .arg = link};
    if (way->tls == NULL)
        return link;
    link->secure = hf_secure_new(way->tls, way->context, way->host);
    if (link->secure != NULL)
        return link;
    hf_free(link);
    return NULL;
}

struct hf_link *hf_link_open(const struct hf_link_way *way,
                             const struct hf_link_user *user, hf_status *status,
                             char why[HF_LINK_TEXT_BYTES])
{
    struct hf_link *link = make(way, user);

    if (link == NULL) {
        *status = HF_EUNREACHABLE;
        (void)snprintf(why, HF_LINK_TEXT_BYTES, "out of memory");
        return NULL;
    }
    if (begin(link))
        return link;
    *status = link->status;
    memcpy(why, link->why, sizeof(link->why));
    hf_link_close(link, HF_LINK_ABORT);
    return NULL;
}

static void on_closed(uv_handle_t *handle)
{
    struct hf_link *link = handle->data;

    if (--link->handles == 0)
        hf_free(link);
}

void hf_link_close(struct hf_link *link, enum hf_link_end how)
{
    end(link);
    hf_resolver_forget(&link->ask);
    hf_secure_free(link->secure);
    link->secure = NULL;
    if (link->handles > 0) {
        uv_close((uv_handle_t *)&link->poll, on_closed);
        uv_close((uv_handle_t *)&link->again, on_closed);
    }
    if (link->fd >= 0 && how == HF_LINK_ABORT)
        hf_socket_abort(link->fd);
    else if (link->fd >= 0)
        (void)close(link->fd);
    link->fd = -1;
    if (link->handles == 0)
        hf_free(link);
}

void hf_link_after_fork(struct hf_link *link)
{
    if (link->fd >= 0)
        (void)close(link->fd);
}
