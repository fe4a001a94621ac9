/* SPDX-License-Identifier: Apache-2.0 */
/* See raw_etcd.h.  The gateway writes keys in base64, and numbers of 64 bits as
 * text. */
#include "conformance/raw_etcd.h"

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
#include <jansson.h>

#define TIMEOUT_S 30
#define ANSWER_BYTES ((size_t)4 << 20)
/* Longer than the longest name of a lock, with what surrounds it. */
#define KEY_BYTES 4096
#define BASE64_BYTES (KEY_BYTES / 3 * 4 + 8)

struct raw_etcd {
    struct sockaddr_in address;
    char *answer; /* to the last request, of ANSWER_BYTES */
};

/* ---------------------------------------------------------------- base64 -- */

static const char digits[] =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void encode(const void *data, size_t count, char text[BASE64_BYTES])
{
    const uint8_t *bytes = data;
    char *out = text;

    assert_true(count <= KEY_BYTES);
    for (size_t i = 0; i < count; i += 3) {
        size_t left = count - i;
        uint32_t bits = (uint32_t)bytes[i] << 16;

        if (left > 1)
            bits |= (uint32_t)bytes[i + 1] << 8;
        if (left > 2)
            bits |= bytes[i + 2];
        *out++ = digits[bits >> 18];
        *out++ = digits[bits >> 12 & 63];
        *out++ = (char)(left > 1 ? digits[bits >> 6 & 63] : '=');
        *out++ = (char)(left > 2 ? digits[bits & 63] : '=');
    }
    *out = '\0';
}

/* "key":..,"range_end":..: all keys that begin with ${prefix}. */
static void write_range(const char *prefix, char *text, size_t size)
{
    char key[BASE64_BYTES], end[BASE64_BYTES];
    char next[KEY_BYTES];
    size_t count = strlen(prefix);

    assert_true(count > 0 && count < sizeof(next));
    assert_int_equal(prefix[count - 1], '/');
    memcpy(next, prefix, count - 1);
    next[count - 1] = '/' + 1;
    encode(prefix, count, key);
    encode(next, count, end);
    (void)snprintf(text, size, "\"key\":\"%s\",\"range_end\":\"%s\"", key, end);
}

/* ------------------------------------------------------------------ HTTP -- */

static void send_all(int fd, const char *text)
{
    size_t count = strlen(text);

    assert_int_equal(send(fd, text, count, MSG_NOSIGNAL), (ssize_t)count);
}

/* All that the server says until it closes. */
static void read_answer(struct raw_etcd *raw, int fd)
{
    size_t used = 0;
    ssize_t part;

    do {
        assert_true(used < ANSWER_BYTES - 1);
        part = recv(fd, raw->answer + used, ANSWER_BYTES - 1 - used, 0);
        if (part < 0)
            fail_msg("the server says nothing more to the raw client");
        used += (size_t)part;
    } while (part > 0);
    raw->answer[used] = '\0';
}

/* HTTP 1.0, so that the answer has no chunks. */
static json_t *ask(struct raw_etcd *raw, const char *what, const char *body)
{
    struct timeval limit = {TIMEOUT_S, 0};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    char head[256];
    const char *text;
    json_t *answer;

    assert_true(fd >= 0);
    (void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof(limit));
    assert_int_equal(connect(fd, (const struct sockaddr *)&raw->address,
                             sizeof(raw->address)),
                     0);
    (void)snprintf(head, sizeof(head),
                   "POST /v3/%s HTTP/1.0\r\nContent-Length: %zu\r\n\r\n", what,
                   strlen(body));
    send_all(fd, head);
    send_all(fd, body);
    read_answer(raw, fd);
    (void)close(fd);
    text = strstr(raw->answer, "\r\n\r\n");
    if (text == NULL || strstr(raw->answer, " 200 ") == NULL)
        fail_msg("%s: %s", what, raw->answer);
    answer = json_loads(text, 0, NULL);
    assert_non_null(answer);
    return answer;
}

/* ------------------------------------------------------------------ keys -- */

struct raw_etcd *raw_etcd_open(const char *addresses)
{
    struct raw_etcd *raw = calloc(1, sizeof(*raw));
    char host[64] = "";
    const char *colon = strchr(addresses, ':');

    assert_non_null(raw);
    assert_non_null(colon);
    assert_true((size_t)(colon - addresses) < sizeof(host));
    memcpy(host, addresses, (size_t)(colon - addresses));
    raw->address.sin_family = AF_INET;
    raw->address.sin_port = htons((uint16_t)strtoul(colon + 1, NULL, 10));
    assert_int_equal(inet_pton(AF_INET, host, &raw->address.sin_addr), 1);
    raw->answer = malloc(ANSWER_BYTES);
    assert_non_null(raw->answer);
    return raw;
}

void raw_etcd_close(struct raw_etcd *raw)
{
    free(raw->answer);
    free(raw);
}

static uint64_t number(const json_t *of, const char *field)
{
    const char *text = json_string_value(json_object_get(of, field));

    return text == NULL ? 0 : strtoull(text, NULL, 10);
}

/* The keys below ${prefix}, without their values. */
static json_t *list(struct raw_etcd *raw, const char *prefix)
{
    char range[2 * BASE64_BYTES + 64];
    char body[sizeof(range) + 32];

    write_range(prefix, range, sizeof(range));
    (void)snprintf(body, sizeof(body), "{%s,\"keys_only\":true}", range);
    return ask(raw, "kv/range", body);
}

bool raw_etcd_delete_created(struct raw_etcd *raw, const char *prefix,
                             uint64_t revision)
{
    json_t *found = list(raw, prefix);
    json_t *key;
    size_t i;
    bool deleted = false;

    json_array_foreach(json_object_get(found, "kvs"), i, key)
    {
        char body[BASE64_BYTES + 32];

        if (number(key, "create_revision") != revision)
            continue;
        (void)snprintf(body, sizeof(body), "{\"key\":\"%s\"}",
                       json_string_value(json_object_get(key, "key")));
        json_decref(ask(raw, "kv/deleterange", body));
        deleted = true;
    }
    json_decref(found);
    return deleted;
}

size_t raw_etcd_clear(struct raw_etcd *raw, const char *prefix)
{
    json_t *found = list(raw, prefix);
    json_t *key;
    size_t i;
    size_t leased = 0;
    char range[2 * BASE64_BYTES + 64];
    char body[sizeof(range) + 32];

    json_array_foreach(json_object_get(found, "kvs"), i, key)
    {
        if (number(key, "lease") == 0)
            continue;
        print_message("base64 %s is left\n",
                      json_string_value(json_object_get(key, "key")));
        leased++;
    }
    json_decref(found);
    write_range(prefix, range, sizeof(range));
    (void)snprintf(body, sizeof(body), "{%s}", range);
    json_decref(ask(raw, "kv/deleterange", body));
    return leased;
}

void raw_etcd_compact(struct raw_etcd *raw)
{
    json_t *now = ask(raw, "kv/range", "{\"key\":\"AA==\",\"limit\":\"1\"}");
    char body[64];

    (void)snprintf(
        body, sizeof(body), "{\"revision\":\"%llu\"}",
        (unsigned long long)number(json_object_get(now, "header"), "revision"));
    json_decref(now);
    json_decref(ask(raw, "kv/compaction", body));
}
