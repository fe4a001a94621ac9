/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-bare-etcd HOST PORT: what an etcd itself takes, by calls on a socket
 * that blocks, with the messages that the engine sends.  Requests:
 *
 *   pair COUNT      a transaction that puts a key of a lease and reads the four
 *                   newest keys and the oldest, and one that deletes it: the
 *                   least that a queue of tickets has to do
 *   prove COUNT     a transaction that compares a key and deletes another one
 *                   that is never there
 *   handoff COUNT MS  a deletion, and its event at a watch of another
 * connection; MS before each deletion nothing happens
 */
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "etcd/call.h"
#include "etcd/message.h"
#include "protocol.h"

#define WARM_UP 50
#define LEASE INT64_C(0x686f6c6466617374)
#define KEY "bench-bare/1"
#define BELOW "bench-bare/"
#define BEHIND "bench-bare0"

/* A connection, and the call on it. */
struct etcd_link {
    int fd;
    struct hf_grpc *grpc;
    struct hf_grpc_call call;
    bool ended;
    int64_t created; /* the revision of the key that was put */
    struct hf_grpc_call watch;
    unsigned events; /* deletions that the watch has seen */
};

static struct etcd_link main_link;
static struct etcd_link watcher;

/* ------------------------------------------------------------ connection -- */

static int dial(const char *host, const char *port)
{
    const struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    const int on = 1;
    int fd;

    if (getaddrinfo(host, port, &wanted, &found) != 0)
        bench_fail("the name of the server is not known");
    fd = socket(found->ai_family, found->ai_socktype, 0);
    if (fd < 0 || connect(fd, found->ai_addr, found->ai_addrlen) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on) != 0)
        bench_fail("no connection to the server");
    freeaddrinfo(found);
    return fd;
}

static void open_link(struct etcd_link *link, const char *host,
                      const char *port)
{
    const struct hf_grpc_config config = {.authority = host,
                                          .message_bytes = 1u << 20,
                                          .waiting_bytes = 1u << 20,
                                          .calls = 8};

    link->fd = dial(host, port);
    link->grpc = hf_grpc_new(&config);
    if (link->grpc == NULL)
        bench_fail("no memory");
}

static void send_output(struct etcd_link *link)
{
    const void *bytes;
    size_t count;
    ssize_t sent;

    while ((bytes = hf_grpc_output(link->grpc, &count)) != NULL && count > 0) {
        sent = send(link->fd, bytes, count, MSG_NOSIGNAL);
        if (sent < 0)
            bench_fail("the server has closed the connection");
        hf_grpc_written(link->grpc, (size_t)sent);
    }
}

static void receive(struct etcd_link *link)
{
    static char bytes[65536];
    ssize_t count = recv(link->fd, bytes, sizeof bytes, 0);

    if (count <= 0 || !hf_grpc_receive(link->grpc, bytes, (size_t)count))
        bench_fail("the connection is broken");
}

/* ----------------------------------------------------------------- calls -- */

static void on_message(struct hf_grpc_call *call, const void *bytes,
                       size_t count)
{
    struct etcd_link *link = call->user;
    const struct hf_etcd_bytes message = {bytes, count};
    struct hf_etcd_txn_answer answer;
    struct hf_etcd_response response;
    struct hf_etcd_key_value kv;

    if (!hf_etcd_read_txn(message, &answer))
        return;
    while (hf_etcd_next_response(&answer.responses, &response)) {
        if (response.kind == HF_ETCD_RANGE_RESPONSE &&
            hf_etcd_next_kv(&response.range.kvs, &kv))
            link->created = kv.create_revision;
    }
}

static void on_ended(struct hf_grpc_call *call,
                     const struct hf_grpc_result *result)
{
    if (result->status != HF_GRPC_OK)
        bench_fail(result->text);
    ((struct etcd_link *)call->user)->ended = true;
}

static const struct hf_grpc_call_ops call_ops = {on_message, on_ended};

/* Make the call, and wait for its end. */
static void call(struct etcd_link *link, enum hf_etcd_method method,
                 struct hf_etcd_buffer *request)
{
    link->call.ops = &call_ops;
    link->call.user = link;
    link->ended = false;
    if (request->failed ||
        hf_grpc_start(link->grpc, &link->call, hf_etcd_method_path(method),
                      NULL) != HF_OK ||
        hf_grpc_send(link->grpc, &link->call, request->bytes, request->used,
                     true) != HF_OK)
        bench_fail("no memory for a call");
    hf_etcd_buffer_clear(request);
    send_output(link);
    while (!link->ended) {
        receive(link);
        send_output(link);
    }
}

static void put(struct etcd_link *link, struct hf_etcd_buffer *request)
{
    static const char value[] =
        "mutex 6f2a6c1e-6a0b-4e9d-9d0e-2f5c3a1b7d44\nhost pid 1234";
    struct hf_etcd_range range = {
        .key = hf_etcd_bytes_of(BELOW),
        .range_end = hf_etcd_bytes_of(BEHIND),
        .limit = 1,
        .order = HF_ETCD_ASCENDING,
        .target = HF_ETCD_BY_CREATE_REVISION,
    };

    hf_etcd_txn_compare(request, &(struct hf_etcd_comparison){
                                     .key = hf_etcd_bytes_of(KEY),
                                     .target = HF_ETCD_CREATE_REVISION});
    hf_etcd_txn_put(request, HF_ETCD_SUCCESS,
                    &(struct hf_etcd_put){.key = hf_etcd_bytes_of(KEY),
                                          .value = hf_etcd_bytes_of(value),
                                          .lease = LEASE});
    hf_etcd_txn_range(request, HF_ETCD_SUCCESS, &range);
    range.limit = 4;
    range.order = HF_ETCD_DESCENDING;
    hf_etcd_txn_range(request, HF_ETCD_SUCCESS, &range);
    call(link, HF_ETCD_TXN, request);
}

/* Append the transaction that deletes ${key} if ours is the one that was
 * put. */
static void write_deletion(const struct etcd_link *link,
                           struct hf_etcd_buffer *request, const char *key)
{
    hf_etcd_txn_compare(
        request, &(struct hf_etcd_comparison){.key = hf_etcd_bytes_of(KEY),
                                              .target = HF_ETCD_CREATE_REVISION,
                                              .number = link->created});
    hf_etcd_txn_delete(request, HF_ETCD_SUCCESS,
                       &(struct hf_etcd_delete){.key = hf_etcd_bytes_of(key)});
}

/* -------------------------------------------------------------- requests -- */

static void pairs(unsigned count)
{
    struct hf_etcd_buffer request = {0};
    uint64_t began_ns;

    for (unsigned i = 0; i < WARM_UP + count; i++) {
        if (i == WARM_UP)
            bench_begin();
        began_ns = bench_now_ns();
        put(&main_link, &request);
        write_deletion(&main_link, &request, KEY);
        call(&main_link, HF_ETCD_TXN, &request);
        if (i >= WARM_UP)
            bench_sample(bench_now_ns() - began_ns);
    }
    bench_end(count);
    hf_etcd_buffer_free(&request);
}

static void proofs(unsigned count)
{
    struct hf_etcd_buffer request = {0};
    uint64_t began_ns;

    put(&main_link, &request);
    bench_begin();
    for (unsigned i = 0; i < count; i++) {
        began_ns = bench_now_ns();
        write_deletion(&main_link, &request, "bench-bare.never");
        call(&main_link, HF_ETCD_TXN, &request);
        bench_sample(bench_now_ns() - began_ns);
    }
    bench_end(count);
    write_deletion(&main_link, &request, KEY);
    call(&main_link, HF_ETCD_TXN, &request);
    hf_etcd_buffer_free(&request);
}

static void on_watched(struct hf_grpc_call *call, const void *bytes,
                       size_t count)
{
    struct etcd_link *link = call->user;
    struct hf_etcd_watch_answer answer;
    struct hf_etcd_event event;

    if (!hf_etcd_read_watch((struct hf_etcd_bytes){bytes, count}, &answer))
        bench_fail("the server sends something else than events");
    if (answer.created)
        link->ended = true;
    while (hf_etcd_next_event(&answer.events, &event))
        link->events += event.deleted ? 1 : 0;
}

static void start_watch(void)
{
    static const struct hf_grpc_call_ops watch_ops = {on_watched, on_ended};
    struct hf_etcd_buffer request = {0};

    watcher.watch.ops = &watch_ops;
    watcher.watch.user = &watcher;
    hf_etcd_write_watch_create(
        &request, &(struct hf_etcd_watch_create){.key = hf_etcd_bytes_of(KEY),
                                                 .watch_id = 1});
    if (hf_grpc_start(watcher.grpc, &watcher.watch, HF_ETCD_WATCH_PATH, NULL) !=
            HF_OK ||
        hf_grpc_send(watcher.grpc, &watcher.watch, request.bytes, request.used,
                     false) != HF_OK)
        bench_fail("no memory for a watch");
    hf_etcd_buffer_free(&request);
    send_output(&watcher);
    while (!watcher.ended)
        receive(&watcher);
}

/* The deletion is written, and its event comes; its own answer after that. */
static void handoffs(unsigned count, unsigned pause_ms)
{
    struct hf_etcd_buffer request = {0};
    uint64_t began_ns;
    unsigned before;

    if (!hf_grpc_running(&watcher.watch))
        start_watch();
    bench_begin();
    for (unsigned i = 0; i < count; i++) {
        put(&main_link, &request);
        bench_pause(pause_ms);
        before = watcher.events;
        write_deletion(&main_link, &request, KEY);
        began_ns = bench_now_ns();
        main_link.ended = false;
        if (hf_grpc_start(main_link.grpc, &main_link.call,
                          hf_etcd_method_path(HF_ETCD_TXN), NULL) != HF_OK ||
            hf_grpc_send(main_link.grpc, &main_link.call, request.bytes,
                         request.used, true) != HF_OK)
            bench_fail("no memory for a call");
        hf_etcd_buffer_clear(&request);
        send_output(&main_link);
        while (watcher.events == before) {
            receive(&watcher);
            send_output(&watcher);
        }
        bench_sample(bench_now_ns() - began_ns);
        while (!main_link.ended)
            receive(&main_link);
    }
    bench_end(count);
    hf_etcd_buffer_free(&request);
}

int main(int argc, char **argv)
{
    struct hf_etcd_buffer request = {0};
    struct bench_request asked;

    if (argc != 3)
        bench_fail("expected HOST PORT");
    open_link(&main_link, argv[1], argv[2]);
    open_link(&watcher, argv[1], argv[2]);
    hf_etcd_write_grant(&request, LEASE, 600);
    call(&main_link, HF_ETCD_LEASE_GRANT, &request);
    hf_etcd_buffer_free(&request);
    while (bench_next_request(&asked)) {
        if (strcmp(asked.word, "pair") == 0)
            pairs(asked.first);
        else if (strcmp(asked.word, "prove") == 0)
            proofs(asked.first);
        else if (strcmp(asked.word, "handoff") == 0)
            handoffs(asked.first, asked.second);
        else
            bench_fail("expected pair, prove or handoff");
    }
    hf_etcd_write_revoke(&request, LEASE);
    call(&main_link, HF_ETCD_LEASE_REVOKE, &request);
    hf_etcd_buffer_free(&request);
    return 0;
}
