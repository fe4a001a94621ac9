/* SPDX-License-Identifier: Apache-2.0 */
/*
 * bench-bare-redis PORT: what the Redis of 127.0.0.1:PORT itself takes, without
 * a library, on blocking sockets.  Requests:
 *
 *   pair COUNT      SET with NX and PX, then DEL: one round trip each, and the
 *                   least that anybody's lock has to send
 *   script COUNT    the same SET, then a script that deletes the key if it is
 *                   still one's own: what a lock with an owner has to send
 *   handoff COUNT   PUBLISH, and wait for the message at another connection
 */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "round.h"

#define WARM_UP 50
#define REPLY_BYTES 4096

static const char set[] = "*6\r\n$3\r\nSET\r\n$10\r\nbench:bare\r\n$32\r\n"
                          "0123456789abcdef0123456789abcdef\r\n$2\r\nNX\r\n"
                          "$2\r\nPX\r\n$5\r\n10000\r\n";
static const char del[] = "*2\r\n$3\r\nDEL\r\n$10\r\nbench:bare\r\n";
static const char compare[] = "*5\r\n$4\r\nEVAL\r\n$92\r\n"
                              "if redis.call('get', KEYS[1]) == ARGV[1] then "
                              "return redis.call('del', KEYS[1]) end return 0"
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
static void hear(int fd)
{
    char reply[REPLY_BYTES];
    ssize_t bytes = read(fd, reply, sizeof(reply));

    if (bytes <= 0 || reply[0] == '-')
        bench_fail("the server answers with an error");
}

static void one_pair(int fd, const char *release)
{
    send_all(fd, set);
    hear(fd);
    send_all(fd, release);
    hear(fd);
}

static void pairs(int fd, const char *release, unsigned count)
{
    uint64_t began_ns;

    for (unsigned i = 0; i < WARM_UP; i++)
        one_pair(fd, release);
    bench_begin();
    for (unsigned i = 0; i < count; i++) {
        began_ns = bench_now_ns();
        one_pair(fd, release);
        bench_sample(bench_now_ns() - began_ns);
    }
    bench_end(count);
}

static void handoffs(int fd, int listener, unsigned count)
{
    uint64_t began_ns;

    bench_begin();
    for (unsigned i = 0; i < count; i++) {
        began_ns = bench_now_ns();
        send_all(fd, publish);
        hear(listener);
        bench_sample(bench_now_ns() - began_ns);
        hear(fd);
    }
    bench_end(count);
}

int main(int count, char **arguments)
{
    struct bench_request request;
    int fd, listener;

    if (count != 2)
        return 64;
    fd = dial((uint16_t)strtoul(arguments[1], NULL, 10));
    listener = dial((uint16_t)strtoul(arguments[1], NULL, 10));
    send_all(listener, subscribe);
    hear(listener);
    while (bench_told(&request)) {
        if (strcmp(request.word, "pair") == 0)
            pairs(fd, del, request.first);
        else if (strcmp(request.word, "script") == 0)
            pairs(fd, compare, request.first);
        else if (strcmp(request.word, "handoff") == 0)
            handoffs(fd, listener, request.first);
        else
            bench_fail("a request that is not known");
    }
    return 0;
}
