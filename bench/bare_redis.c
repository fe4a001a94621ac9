/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-bare-redis PORT: what the Redis of 127.0.0.1:PORT itself takes, without
 * a library.  Requests:
 *
 *   pair COUNT      SET with NX and PX, then DEL: one round trip each, and the
 *                   least that anybody's lock has to send
 *   script COUNT    the same SET, then a script, called by its SHA-1, that
 *                   deletes the key if it is still one's own: what a lock with
 *                   an owner has to send; both on a blocking socket
 *   polled COUNT    the same as script, from a client with a loop: its socket
 *                   is one of a set of descriptors (epoll), and the caller
 *                   sleeps until one of them is ready, as the library's do
 *   handed COUNT    the same, with a loop of a thread of its own, to which the
 *                   caller hands each request and which wakes it
 *   handoff COUNT MS  PUBLISH, and wait for the message at another connection;
 * MS before each PUBLISH nothing happens
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "protocol.h"

#define WARM_UP 50
#define REPLY_BYTES 4096
#define COMPARE_BYTES 256

static const char set[] = "*6\r\n$3\r\nSET\r\n$10\r\nbench:bare\r\n$32\r\n"
                          "0123456789abcdef0123456789abcdef\r\n$2\r\nNX\r\n"
                          "$2\r\nPX\r\n$5\r\n10000\r\n";
static const char del[] = "*2\r\n$3\r\nDEL\r\n$10\r\nbench:bare\r\n";
static const char load[] = "*3\r\n$6\r\nSCRIPT\r\n$4\r\nLOAD\r\n$92\r\n"
                           "if redis.call('get', KEYS[1]) == ARGV[1] then "
                           "return redis.call('del', KEYS[1]) end return 0"
                           "\r\n";
/* Its SHA-1 goes between the two. */
static const char compare_head[] = "*5\r\n$7\r\nEVALSHA\r\n$40\r\n";
static const char compare_tail[] =
    "\r\n$1\r\n1\r\n$10\r\nbench:bare\r\n"
    "$32\r\n0123456789abcdef0123456789abcdef\r\n";
static const char subscribe[] = "*2\r\n$9\r\nSUBSCRIBE\r\n$5\r\nbench\r\n";
static const char publish[] =
    "*3\r\n$7\r\nPUBLISH\r\n$5\r\nbench\r\n$4\r\nnews\r\n";

static int dial(uint16_t port)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int on = 1;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 ||
        connect(fd, (struct sockaddr *)&address, sizeof(address)) != 0 ||
        setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0)
        bench_fail("no connection");
    return fd;
}

static void send_all(int fd, const char *text)
{
    size_t bytes = strlen(text);

    if (write(fd, text, bytes) != (ssize_t)bytes)
        bench_fail("the server does not take it");
}

/* Whatever it is: these are so short that they come in one piece. */
static void receive_into(int fd, char reply[REPLY_BYTES])
{
    ssize_t bytes = read(fd, reply, REPLY_BYTES);

    if (bytes <= 0 || reply[0] == '-')
        bench_fail("the server answers with an error");
}

static void receive(int fd)
{
    char reply[REPLY_BYTES];

    receive_into(fd, reply);
}

static void load_compare(int fd, char compare[COMPARE_BYTES])
{
    char reply[REPLY_BYTES];

    send_all(fd, load);
    receive_into(fd, reply);
    if (strncmp(reply, "$40\r\n", 5) != 0)
        bench_fail("the server names its script in an unknown way");
    (void)snprintf(compare, COMPARE_BYTES, "%s%.40s%s", compare_head, reply + 5,
                   compare_tail);
}

/* ------------------------------------------------------------- exchanges -- */

/* Send ${request} and wait for its reply. */
typedef void exchange_fn(int fd, const char *request);

static void exchange_blocking(int fd, const char *request)
{
    send_all(fd, request);
    receive(fd);
}

/* The set that the socket is in. */
static int epoll_fd;

/* Until the reply can be read. */
static void sleep_on_set(void)
{
    struct pollfd ready = {.fd = epoll_fd, .events = POLLIN};
    struct epoll_event event;

    do {
        if (poll(&ready, 1, -1) != 1)
            bench_fail("poll() failed");
    } while (epoll_wait(epoll_fd, &event, 1, 0) != 1);
}

static void exchange_polled(int fd, const char *request)
{
    send_all(fd, request);
    sleep_on_set();
    receive(fd);
}

/* What the caller and the thread of the loop have in common. */
static struct {
    pthread_mutex_t lock;
    pthread_cond_t answered;
    const char *request; /* NULL: it is answered */
    int fd;
    int wake_fd; /* there is one */
} loop = {.lock = PTHREAD_MUTEX_INITIALIZER,
          .answered = PTHREAD_COND_INITIALIZER};

static void *run_loop(void *arg)
{
    struct pollfd ready = {.fd = loop.wake_fd, .events = POLLIN};
    uint64_t count;

    (void)arg;
    for (;;) {
        if (poll(&ready, 1, -1) != 1 ||
            read(loop.wake_fd, &count, sizeof(count)) != sizeof(count))
            bench_fail("the loop is not woken");
        exchange_polled(loop.fd, loop.request);
        (void)pthread_mutex_lock(&loop.lock);
        loop.request = NULL;
        (void)pthread_cond_signal(&loop.answered);
        (void)pthread_mutex_unlock(&loop.lock);
    }
    return NULL;
}

static void exchange_handed(int fd, const char *request)
{
    const uint64_t one = 1;

    (void)pthread_mutex_lock(&loop.lock);
    loop.fd = fd;
    loop.request = request;
    if (write(loop.wake_fd, &one, sizeof(one)) != sizeof(one))
        bench_fail("the loop cannot be woken");
    while (loop.request != NULL)
        (void)pthread_cond_wait(&loop.answered, &loop.lock);
    (void)pthread_mutex_unlock(&loop.lock);
}

static void begin_loops(int fd)
{
    struct epoll_event event = {.events = EPOLLIN, .data.fd = fd};
    pthread_t thread;

    epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    loop.wake_fd = eventfd(0, EFD_CLOEXEC);
    if (epoll_fd < 0 || loop.wake_fd < 0 ||
        epoll_ctl(epoll_fd, EPOLL_CTL_ADD, fd, &event) != 0 ||
        pthread_create(&thread, NULL, run_loop, NULL) != 0)
        bench_fail("no loop");
}

/* ------------------------------------------------------------ iterations -- */

static void one_pair(exchange_fn *exchange, int fd, const char *release)
{
    exchange(fd, set);
    exchange(fd, release);
}

static void pairs(exchange_fn *exchange, int fd, const char *release,
                  unsigned count)
{
    uint64_t began_ns;

    for (unsigned i = 0; i < WARM_UP; i++)
        one_pair(exchange, fd, release);
    bench_begin();
    for (unsigned i = 0; i < count; i++) {
        began_ns = bench_now_ns();
        one_pair(exchange, fd, release);
        bench_sample(bench_now_ns() - began_ns);
    }
    bench_end(count);
}

static void handoffs(int fd, int listener, unsigned count, unsigned pause_ms)
{
    uint64_t began_ns;

    bench_begin();
    for (unsigned i = 0; i < count; i++) {
        bench_pause(pause_ms);
        began_ns = bench_now_ns();
        send_all(fd, publish);
        receive(listener);
        bench_sample(bench_now_ns() - began_ns);
        receive(fd);
    }
    bench_end(count);
}

int main(int count, char **arguments)
{
    struct bench_request request;
    char compare[COMPARE_BYTES];
    int fd, listener;

    if (count != 2)
        return 64;
    fd = dial((uint16_t)strtoul(arguments[1], NULL, 10));
    listener = dial((uint16_t)strtoul(arguments[1], NULL, 10));
    send_all(listener, subscribe);
    receive(listener);
    load_compare(fd, compare);
    begin_loops(fd);
    while (bench_next_request(&request)) {
        if (strcmp(request.word, "pair") == 0)
            pairs(exchange_blocking, fd, del, request.first);
        else if (strcmp(request.word, "script") == 0)
            pairs(exchange_blocking, fd, compare, request.first);
        else if (strcmp(request.word, "polled") == 0)
            pairs(exchange_polled, fd, compare, request.first);
        else if (strcmp(request.word, "handed") == 0)
            pairs(exchange_handed, fd, compare, request.first);
        else if (strcmp(request.word, "handoff") == 0)
            handoffs(fd, listener, request.first, request.second);
        else
            bench_fail("a request that is not known");
    }
    return 0;
}
