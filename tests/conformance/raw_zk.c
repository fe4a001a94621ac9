/* SPDX-License-Identifier: Apache-2.0 */
/* A ZooKeeper client of one blocking socket. */
#include "conformance/raw_zk.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cmocka.h>

#include "zookeeper/protocol.h"

#define SESSION_MS 40000
#define TIMEOUT_S 30
#define PATH_BYTES 4096

struct raw_zk {
    int fd;
    int32_t xid;
    struct hf_jute_writer out;
    uint8_t *frame; /* the last one that came */
};

/* ---------------------------------------------------------------- frames -- */

static void read_all(const struct raw_zk *raw, void *bytes, size_t count)
{
    size_t got = 0;
    ssize_t part;

    while (got < count) {
        part = recv(raw->fd, (char *)bytes + got, count - got, 0);
        if (part <= 0)
            fail_msg("the server says nothing more to the raw client");
        got += (size_t)part;
    }
}

/* Send the request and read the answer. */
static struct hf_jute_reader exchange(struct raw_zk *raw)
{
    uint8_t head[4];
    struct hf_jute_reader reader = {head, sizeof(head), false};
    int32_t length;

    assert_false(raw->out.failed);
    assert_int_equal(send(raw->fd, raw->out.bytes, raw->out.used, MSG_NOSIGNAL),
                     (ssize_t)raw->out.used);
    hf_jute_consume(&raw->out, raw->out.used);
    read_all(raw, head, sizeof(head));
    length = hf_jute_get_int(&reader);
    assert_in_range(length, 0, 1 << 24);
    free(raw->frame);
    raw->frame = malloc((size_t)length + 1);
    assert_non_null(raw->frame);
    read_all(raw, raw->frame, (size_t)length);
    return (struct hf_jute_reader){raw->frame, (size_t)length, false};
}

static size_t begin(struct raw_zk *raw, enum hf_zk_opcode opcode)
{
    size_t at = hf_jute_begin_frame(&raw->out);

    hf_jute_put_int(&raw->out, ++raw->xid);
    hf_jute_put_int(&raw->out, opcode);
    return at;
}

/* The error of the answer; its record is in ${body}. */
static int32_t end(struct raw_zk *raw, size_t at, struct hf_jute_reader *body)
{
    int32_t error;

    hf_jute_end_frame(&raw->out, at);
    *body = exchange(raw);
    assert_int_equal(hf_jute_get_int(body), raw->xid);
    (void)hf_jute_get_long(body);
    error = hf_jute_get_int(body);
    assert_false(body->failed);
    return error;
}

/* --------------------------------------------------------------- session -- */

static int connect_to(const char *address)
{
    const struct timeval timeout = {.tv_sec = TIMEOUT_S};
    struct sockaddr_in to = {.sin_family = AF_INET};
    unsigned port;
    int fd;

    assert_int_equal(sscanf(address, "127.0.0.1:%u", &port), 1);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    to.sin_port = htons((uint16_t)port);
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(
        setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout)), 0);
    assert_int_equal(connect(fd, (struct sockaddr *)&to, sizeof(to)), 0);
    return fd;
}

struct raw_zk *raw_zk_open(const char *address)
{
    static const uint8_t no_password[HF_ZK_PASSWORD_BYTES];
    struct raw_zk *raw = calloc(1, sizeof(*raw));
    struct hf_jute_reader answer;
    size_t at;

    assert_non_null(raw);
    raw->fd = connect_to(address);
    at = hf_jute_begin_frame(&raw->out);
    hf_jute_put_int(&raw->out, 0);
    hf_jute_put_long(&raw->out, 0);
    hf_jute_put_int(&raw->out, SESSION_MS);
    hf_jute_put_long(&raw->out, 0);
    hf_jute_put_buffer(&raw->out, no_password, sizeof(no_password));
    hf_jute_put_bool(&raw->out, false);
    hf_jute_end_frame(&raw->out, at);
    answer = exchange(raw);
    (void)hf_jute_get_int(&answer);
    assert_true(hf_jute_get_int(&answer) > 0);
    return raw;
}

void raw_zk_close(struct raw_zk *raw)
{
    struct hf_jute_reader body;

    assert_int_equal(end(raw, begin(raw, HF_ZK_CLOSE_SESSION), &body), 0);
    (void)close(raw->fd);
    hf_jute_free(&raw->out);
    free(raw->frame);
    free(raw);
}

/* ------------------------------------------------------------------ tree -- */

void raw_zk_create(struct raw_zk *raw, const char *path)
{
    size_t at = begin(raw, HF_ZK_CREATE);
    struct hf_jute_reader body;

    hf_jute_put_string(&raw->out, path);
    hf_jute_put_buffer(&raw->out, "", 0);
    hf_jute_put_int(&raw->out, 1);
    hf_jute_put_int(&raw->out, HF_ZK_PERMISSIONS_ALL);
    hf_jute_put_string(&raw->out, "world");
    hf_jute_put_string(&raw->out, "anyone");
    hf_jute_put_int(&raw->out, HF_ZK_PERSISTENT);
    assert_int_equal(end(raw, at, &body), 0);
}

bool raw_zk_delete(struct raw_zk *raw, const char *path)
{
    size_t at = begin(raw, HF_ZK_DELETE);
    struct hf_jute_reader body;
    int32_t error;

    hf_jute_put_string(&raw->out, path);
    hf_jute_put_int(&raw->out, -1);
    error = end(raw, at, &body);
    assert_true(error == HF_ZK_OK || error == HF_ZK_NO_NODE);
    return error == HF_ZK_OK;
}

/* Append the first child to ${path}; false if there is none. */
static bool go_down(struct raw_zk *raw, char path[PATH_BYTES])
{
    size_t at = begin(raw, HF_ZK_GET_CHILDREN);
    size_t bytes = strlen(path);
    struct hf_jute_reader body;
    struct hf_jute_piece name;
    int32_t error;

    hf_jute_put_string(&raw->out, path);
    hf_jute_put_bool(&raw->out, false);
    error = end(raw, at, &body);
    assert_true(error == HF_ZK_OK || error == HF_ZK_NO_NODE);
    if (error != HF_ZK_OK || hf_jute_get_count(&body, 4) == 0)
        return false;
    name = hf_jute_get_buffer(&body);
    assert_false(body.failed);
    assert_true(bytes + 1 + name.count < PATH_BYTES);
    (void)snprintf(path + bytes, PATH_BYTES - bytes, "/%.*s", (int)name.count,
                   name.bytes);
    return true;
}

/* Delete a leaf and begin at the top again, until ${path} is gone. */
size_t raw_zk_clear(struct raw_zk *raw, const char *path,
                    bool (*counts)(const char *name))
{
    size_t counted = 0;
    char leaf[PATH_BYTES];

    do {
        (void)snprintf(leaf, sizeof(leaf), "%s", path);
        while (go_down(raw, leaf))
            ;
        if (counts(strrchr(leaf, '/') + 1))
            counted++;
        (void)raw_zk_delete(raw, leaf);
    } while (strcmp(leaf, path) != 0);
    return counted;
}
