/* SPDX-License-Identifier: Apache-2.0 */
#include "operations.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "protocol.h"

#define WARM_UP 50

#define TEN "0123456789"

const char operation_data[OPERATION_BYTES + 1] =
    TEN TEN TEN TEN TEN TEN TEN TEN TEN TEN;
char operation_node[OPERATION_PATH_BYTES];
char operation_child[OPERATION_PATH_BYTES];

bool operations_next(struct operations *operations)
{
    return atomic_fetch_add(&operations->started, 1) < operations->count;
}

bool operations_ended(struct operations *operations)
{
    return atomic_fetch_add(&operations->ended, 1) + 1 == operations->count;
}

/* The operation with the name ${word}. */
static enum operation named(const char *word)
{
    static const char *const names[] = {"get", "set", "create"};

    for (unsigned i = 0; i < sizeof names / sizeof *names; i++) {
        if (strcmp(word, names[i]) == 0)
            return (enum operation)i;
    }
    bench_fail("a request that is not known");
}

static void one_after_the_other(const struct operations_client *client,
                                enum operation operation, unsigned count)
{
    uint64_t began_ns;

    for (unsigned i = 0; i < WARM_UP; i++)
        client->one(operation);
    bench_begin();
    for (unsigned i = 0; i < count; i++) {
        began_ns = bench_now_ns();
        client->one(operation);
        bench_sample(bench_now_ns() - began_ns);
    }
    bench_end(count);
}

static void start_first(const struct operations_client *client,
                        struct operations *operations)
{
    for (unsigned i = 0; i < operations->underway; i++) {
        if (operations_next(operations))
            client->start(operations);
    }
}

static void many_under_way(const struct operations_client *client,
                           enum operation operation, unsigned count,
                           unsigned underway)
{
    struct operations operations = {
        .operation = operation, .count = count, .underway = underway};

    client->one(operation);
    bench_begin();
    start_first(client, &operations);
    client->await(&operations);
    bench_end(count);
}

/* A server that never answers: a socket whose connections nobody accepts. */
static int listen_silently(int *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t bytes = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (fd < 0 || bind(fd, (struct sockaddr *)&address, bytes) != 0 ||
        listen(fd, 8) != 0 ||
        getsockname(fd, (struct sockaddr *)&address, &bytes) != 0)
        bench_fail("no socket could be made");
    *port = ntohs(address.sin_port);
    return fd;
}

static void memory(const struct operations_client *client, unsigned count)
{
    struct operations operations = {
        .operation = OPERATION_GET, .count = count, .underway = count};
    uint64_t before;
    int port, fd = listen_silently(&port);

    client->open(port, false);
    before = bench_resident_bytes();
    bench_begin();
    start_first(client, &operations);
    bench_sample(bench_resident_bytes() - before);
    bench_end(count);
    atomic_store(&operations.abandoned, true);
    client->close();
    (void)close(fd);
}

static void carry_out(const struct operations_client *client, int port,
                      const struct bench_request *request)
{
    client->open(port, true);
    if (request->second == 0)
        one_after_the_other(client, named(request->word), request->first);
    else
        many_under_way(client, named(request->word), request->first,
                       request->second);
    client->close();
}

int operations_main(int count, char **arguments,
                    const struct operations_client *client)
{
    struct bench_request request;

    if (count != 3)
        return 64;
    (void)snprintf(operation_node, sizeof operation_node, "%s", arguments[2]);
    (void)snprintf(operation_child, sizeof operation_child, "%s/n-",
                   arguments[2]);
    while (bench_next_request(&request)) {
        if (strcmp(request.word, "memory") == 0)
            memory(client, request.first);
        else
            carry_out(client, atoi(arguments[1]), &request);
    }
    return 0;
}
