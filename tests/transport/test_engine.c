/* SPDX-License-Identifier: Apache-2.0 */
/* The ZooKeeper engine's own part: how it begins, what moves it, how it ends at
 * each stage.  What it says to servers is tested elsewhere; the server here
 * greets, answers everything with success and closes. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "engines/zookeeper/auth_file.h"
#include "engines/zookeeper/zookeeper.h"
#include "kit.h"

#define PASSWORD "QJXZW"
#define PATIENCE_MS 10000

/* ---------------------------------------------------------------- memory -- */

static long blocks;
static long until_failure = -1; /* allocations that succeed; -1: all */

static bool may_allocate(void)
{
    if (until_failure > 0)
        until_failure--;
    return until_failure != 0;
}

static void *allocate(size_t bytes, void *arg)
{
    void *memory = may_allocate() ? malloc(bytes) : NULL;

    (void)arg;
    blocks += memory != NULL;
    return memory;
}

static void *resize(void *memory, size_t bytes, void *arg)
{
    void *resized = may_allocate() ? realloc(memory, bytes) : NULL;

    (void)arg;
    blocks += memory == NULL && resized != NULL;
    return resized;
}

static void release(void *memory, void *arg)
{
    (void)arg;
    blocks--;
    free(memory);
}

/* ---------------------------------------------------------------- server -- */

enum manner {
    REFUSES,
    KEEPS_SILENT,
    HANGS_UP,
    GREETS,
    MANNERS,
};

struct peer {
    struct server server;
    enum manner manner;
    bool greeted;
    unsigned char bytes[8192];
    size_t used;
    bool heard_password;
};

static void put(unsigned char *to, uint64_t value, int bytes)
{
    for (int i = bytes - 1; i >= 0; i--, value >>= 8)
        to[i] = (unsigned char)value;
}

static uint32_t get(const unsigned char *from)
{
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 |
           (uint32_t)from[2] << 8 | from[3];
}

static void greet(struct peer *peer, const unsigned char *request)
{
    unsigned char answer[41] = {0};

    put(answer, 37, 4);
    memcpy(answer + 8, request + 12, 4); /* the timeout that it asks for */
    put(answer + 12, 4711, 8);           /* the session */
    put(answer + 20, 16, 4);             /* its password's length */
    peer->greeted = true;
    server_send(&peer->server, answer, sizeof(answer));
}

static void agree(struct peer *peer, const unsigned char *request)
{
    unsigned char answer[20] = {0};

    put(answer, 16, 4);
    memcpy(answer + 4, request, 4);
    put(answer + 8, 1, 8);
    server_send(&peer->server, answer, sizeof(answer));
    if (get(request + 4) == (uint32_t)-11) /* closeSession */
        server_hang_up(&peer->server);
}

static void answer_frames(struct peer *peer)
{
    size_t at = 0;
    size_t bytes;

    while (peer->server.fd >= 0 && peer->used - at >= 4) {
        bytes = 4 + get(peer->bytes + at);
        if (bytes > peer->used - at)
            break;
        if (peer->greeted)
            agree(peer, peer->bytes + at + 4);
        else
            greet(peer, peer->bytes + at + 4);
        at += bytes;
    }
    memmove(peer->bytes, peer->bytes + at, peer->used - at);
    peer->used -= at;
}

/* Do what there is to do, without waiting. */
static void serve(struct peer *peer)
{
    struct pollfd fd = {.fd = peer->server.listener, .events = POLLIN};
    ssize_t got;

    if (peer->manner == REFUSES || peer->manner == KEEPS_SILENT)
        return;
    if (peer->server.fd < 0 && poll(&fd, 1, 0) == 1) {
        server_accept(&peer->server);
        peer->greeted = false;
        peer->used = 0;
    }
    if (peer->server.fd < 0)
        return;
    if (peer->manner == HANGS_UP) {
        server_hang_up(&peer->server);
        return;
    }
    got = recv(peer->server.fd, peer->bytes + peer->used,
               sizeof(peer->bytes) - peer->used, MSG_DONTWAIT);
    if (got == 0 || (got < 0 && errno != EAGAIN))
        server_hang_up(&peer->server);
    if (got <= 0)
        return;
    peer->used += (size_t)got;
    if (memmem(peer->bytes, peer->used, "u:" PASSWORD, 7) != NULL)
        peer->heard_password = true;
    answer_frames(peer);
}

static void peer_start(struct peer *peer, enum manner manner)
{
    memset(peer, 0, sizeof(*peer));
    peer->manner = manner;
    server_listen(&peer->server, 16);
    if (manner == REFUSES)
        server_stop(&peer->server);
}

/* ------------------------------------------------------------------ seat -- */

struct seat {
    uv_loop_t loop;
    struct hf_engine_host host;
    const struct hf_engine_ops *ops;
    struct hf_engine *engine;
    struct hf_error error;
    unsigned events;
    bool connected;
    bool closed;
};

static void on_event(void *arg, struct hf_event *event)
{
    struct seat *seat = arg;

    assert_false(seat->closed);
    seat->events++;
    if (event->kind == HF_EVENT_CONNECTED)
        seat->connected = true;
    if (event->kind == HF_EVENT_SUSPENDED)
        seat->connected = false;
    seat->closed = event->kind == HF_EVENT_CLOSED;
}

static uint64_t now_ms(void *arg)
{
    struct timespec now;

    (void)arg;
    clock_gettime(CLOCK_BOOTTIME, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static struct uv_loop_s *get_loop(void *arg)
{
    return &((struct seat *)arg)->loop;
}

static void on_log(void *arg, enum hf_log_level level, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void on_log(void *arg, enum hf_log_level level, const char *format, ...)
{
    char line[1024];
    va_list args;

    (void)arg;
    (void)level;
    va_start(args, format);
    (void)vsnprintf(line, sizeof(line), format, args);
    va_end(args);
    assert_null(strstr(line, PASSWORD));
}

static void seat_start(struct seat *seat)
{
    memset(seat, 0, sizeof(*seat));
    assert_int_equal(uv_loop_init(&seat->loop), 0);
    seat->host = (struct hf_engine_host){
        .event = on_event,
        .now_ms = now_ms,
        .loop = get_loop,
        .log = on_log,
        .host = seat,
    };
}

static hf_status seat_open(struct seat *seat, const char *text)
{
    struct hf_url url;
    hf_status status;

    seat->closed = seat->connected = false;
    seat->error = (struct hf_error){HF_OK, ""};
    status = hf_url_parse(text, &url, &seat->error);
    if (status != HF_OK)
        return status;
    seat->ops = strcmp(url.scheme, "zks") == 0 ? &hf_engine_zookeeper_tls
                                               : &hf_engine_zookeeper;
    status = seat->ops->open(&url, &seat->host, &seat->engine, &seat->error);
    hf_url_free(&url);
    assert_int_equal(status == HF_OK, seat->engine != NULL);
    assert_null(strstr(seat->error.text, PASSWORD));
    return status;
}

static void open_at(struct seat *seat, const struct peer *peer,
                    const char *options)
{
    char url[256];

    (void)snprintf(url, sizeof(url), "zk://u:%s@127.0.0.1:%u/locks%s", PASSWORD,
                   (unsigned)peer->server.port, options);
    if (seat_open(seat, url) != HF_OK)
        fail_msg("%s", seat->error.text);
}

/* Until ${what} becomes true, the server doing its part. */
static void run_until(struct seat *seat, struct peer *peer, const bool *what)
{
    uint64_t until_ms = now_ms(NULL) + PATIENCE_MS;
    struct pollfd fd = {.fd = uv_backend_fd(&seat->loop), .events = POLLIN};

    for (kit_turn(&seat->loop); !*what; kit_turn(&seat->loop)) {
        assert_true(now_ms(NULL) < until_ms);
        serve(peer);
        (void)poll(&fd, 1, 2);
    }
}

static void seat_end(struct seat *seat, struct peer *peer)
{
    struct hf_request end = {.kind = HF_REQUEST_END, .payload = ""};
    unsigned events;

    seat->ops->request(seat->engine, &end);
    run_until(seat, peer, &seat->closed);
    events = seat->events;
    seat->ops->free(seat->engine);
    seat->engine = NULL;
    kit_turn(&seat->loop);
    assert_int_equal(seat->events, events);
}

/* ------------------------------------------------------------------ ends -- */

static bool end_after(enum manner manner, int turns)
{
    struct seat seat;
    struct peer peer;
    bool connected;

    peer_start(&peer, manner);
    seat_start(&seat);
    open_at(&seat, &peer, "?timeout=1s");
    for (int i = 0; i < turns; i++) {
        (void)uv_run(&seat.loop, UV_RUN_NOWAIT);
        serve(&peer);
    }
    connected = seat.connected;
    seat_end(&seat, &peer);
    kit_loop_end(&seat.loop);
    server_stop(&peer.server);
    return connected;
}

static void it_can_end_at_each_stage(void **state)
{
    bool connected = end_after(REFUSES, 0); /* libuv keeps some for itself */
    int fds = kit_fds();

    (void)state;
    for (enum manner manner = REFUSES; manner < MANNERS; manner++)
        for (int turns = 0; turns < 12; turns++)
            connected = end_after(manner, turns);
    assert_true(connected); /* there was nothing left to interrupt */
    assert_int_equal(kit_fds(), fds);
    assert_int_equal(blocks, 0);
}

/* In whichever call memory runs out, once or from then on. */
static void it_can_end_without_memory(void **state)
{
    struct seat seat;
    struct peer peer;
    bool opened = false;
    long n = 0;
    int extra = 0;

    (void)state;
    for (n = 1; extra < 20; n++) {
        peer_start(&peer, GREETS);
        seat_start(&seat);
        until_failure = n;
        opened = true;
        if (seat_open(&seat, "zk://127.0.0.1:1") != HF_OK) {
            opened = false;
            assert_int_equal(seat.error.status, HF_ENOMEM);
        }
        for (int i = 0; opened && i < 4; i++)
            kit_turn(&seat.loop);
        until_failure = -1;
        if (opened)
            seat_end(&seat, &peer);
        extra += opened;
        kit_loop_end(&seat.loop);
        server_stop(&peer.server);
        assert_int_equal(blocks, 0);
    }
    assert_true(n > 21);
}

static void it_can_end_without_descriptors(void **state)
{
    struct rlimit limit, few;
    struct seat seat;
    struct peer peer;
    hf_status status = HF_ELIMIT;
    int fds;

    (void)state;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    peer_start(&peer, GREETS);
    seat_start(&seat);
    fds = kit_fds();
    for (rlim_t more = 0; status != HF_OK; more++) {
        few = (struct rlimit){(rlim_t)fds - 1 + more, limit.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
        status = seat_open(&seat, "zk://127.0.0.1:1");
        if (status != HF_OK)
            assert_true(status == HF_ELIMIT || status == HF_ENOMEM);
        for (int i = 0; i < 4; i++)
            kit_turn(&seat.loop);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    }
    seat_end(&seat, &peer);
    kit_loop_end(&seat.loop);
    server_stop(&peer.server);
    assert_int_equal(blocks, 0);
}

/* -------------------------------------------------------------- sessions -- */

static void a_session_begins_and_ends(void **state)
{
    struct seat seat;
    struct peer peer;

    (void)state;
    peer_start(&peer, GREETS);
    seat_start(&seat);
    open_at(&seat, &peer, "");
    run_until(&seat, &peer, &seat.connected);
    assert_true(strstr(seat.ops->describe(seat.engine), "/locks") != NULL);
    seat_end(&seat, &peer);
    assert_true(peer.heard_password); /* only the server */
    kit_loop_end(&seat.loop);
    server_stop(&peer.server);
}

static void it_is_described_without_secrets(void **state)
{
    static const struct {
        const char *url;
        const char *description;
    } rows[] = {
        {"zk://127.0.0.1", "zk://127.0.0.1:2181"},
        {"zk://u:" PASSWORD "@127.0.0.1:7,[::1]:8/a/b?timeout=4s",
         "zk://127.0.0.1:7,[::1]:8/a/b"},
        {"zk://[::1]/", "zk://[::1]:2181"},
    };
    struct seat seat;
    struct peer peer;

    (void)state;
    peer_start(&peer, REFUSES);
    seat_start(&seat);
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        assert_int_equal(seat_open(&seat, rows[i].url), HF_OK);
        assert_string_equal(seat.ops->describe(seat.engine),
                            rows[i].description);
        seat_end(&seat, &peer);
    }
    kit_loop_end(&seat.loop);
    server_stop(&peer.server);
}

static void a_connection_that_breaks_is_made_again(void **state)
{
    struct seat seat;
    struct peer peer;

    (void)state;
    peer_start(&peer, GREETS);
    seat_start(&seat);
    open_at(&seat, &peer, "");
    for (int i = 0; i < 3; i++) {
        run_until(&seat, &peer, &seat.connected);
        if (i % 2 == 0)
            server_reset(&peer.server);
        else
            server_hang_up(&peer.server);
        seat.connected = false;
    }
    run_until(&seat, &peer, &seat.connected);
    seat_end(&seat, &peer);
    kit_loop_end(&seat.loop);
    server_stop(&peer.server);
    assert_int_equal(blocks, 0);
}

/* The timer and the link are the engine's; the rest the loop's. */
static void a_child_closes_what_is_the_engines(void **state)
{
    struct seat seat;
    struct peer peer;
    int status;
    pid_t child;

    (void)state;
    peer_start(&peer, GREETS);
    seat_start(&seat);
    open_at(&seat, &peer, "");
    run_until(&seat, &peer, &seat.connected);
    child = fork();
    if (child == 0) {
        int fds = kit_fds();

        seat.ops->after_fork(seat.engine);
        _exit(fds - kit_fds());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 2);
    seat_end(&seat, &peer);
    kit_loop_end(&seat.loop);
    server_stop(&peer.server);
}

/* ----------------------------------------------------------- credentials -- */

static void assert_refused(const char *url, hf_status status, const char *part)
{
    struct seat seat;

    seat_start(&seat);
    assert_int_equal(seat_open(&seat, url), status);
    if (strstr(seat.error.text, part) == NULL)
        fail_msg("\"%s\" does not say \"%s\"", seat.error.text, part);
    kit_loop_end(&seat.loop);
    assert_int_equal(blocks, 0);
}

static void what_cannot_be_opened_says_why(void **state)
{
    (void)state;
    assert_refused("zk://", HF_EURL, "names no server");
    assert_refused("zk://h:0", HF_EURL, "port");
    assert_refused("zk://h?acl=creator", HF_EURL, "acl=creator");
    assert_refused("zk://u:" PASSWORD "@h?nonsense=1", HF_EURL, "nonsense");
    assert_refused("zk://h?auth_file=/nonexistent/file", HF_EURL,
                   "/nonexistent/file");
    assert_refused("zk://h?auth_file=/dev/null", HF_EURL, "/dev/null");
    assert_refused("zk://h?auth_file=/tmp", HF_EURL, "/tmp");
    assert_refused("zks://h", HF_EUNSUPPORTED, "no TLS");
}

struct secret {
    char path[64];
    char url[128];
};

static void secret_write(struct secret *secret, const char *text, size_t bytes,
                         mode_t mode)
{
    int fd;

    memset(secret, 0, sizeof(*secret));
    (void)snprintf(secret->path, sizeof(secret->path),
                   "/tmp/holdfast-auth-XXXXXX");
    fd = mkstemp(secret->path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, bytes), (ssize_t)bytes);
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
    (void)snprintf(secret->url, sizeof(secret->url), "zk://h?auth_file=%s",
                   secret->path);
}

static void secret_remove(const struct secret *secret)
{
    assert_int_equal(unlink(secret->path), 0);
}

static void a_file_that_others_can_read_is_refused(void **state)
{
    static const mode_t modes[] = {0604, 0640, 0602, 0620, 0601, 0610, 0666};
    static const char text[] = "digest:u:" PASSWORD "\n";
    struct secret secret;

    (void)state;
    for (size_t i = 0; i < sizeof(modes) / sizeof(modes[0]); i++) {
        secret_write(&secret, text, sizeof(text) - 1, modes[i]);
        assert_refused(secret.url, HF_EDENIED, secret.path);
        assert_refused(secret.url, HF_EDENIED, "chmod");
        secret_remove(&secret);
    }
    if (geteuid() != 0)
        return; /* nobody else may give a file away */
    secret_write(&secret, text, sizeof(text) - 1, 0600);
    assert_int_equal(chown(secret.path, 1, 1), 0);
    assert_refused(secret.url, HF_EDENIED, "belongs to user 1");
    secret_remove(&secret);
}

static void a_file_that_makes_no_sense_is_refused(void **state)
{
    static const struct {
        const char *text;
        size_t bytes; /* 0: strlen */
        const char *part;
    } rows[] = {
        {"\n", 0, "no line"},
        {"# digest:u:" PASSWORD "\n", 0, "no line"},
        {PASSWORD "\n", 0, "not of the scheme"},
        {"u:" PASSWORD "\n", 0, "not of the scheme"},
        {"sasl:u:" PASSWORD "\n", 0, "not of the scheme"},
        {"digest:" PASSWORD "\n", 0, "without a user"},
        {"digest::" PASSWORD "\n", 0, "without a user"},
        {"digest:u:\n", 0, "without a password"},
        {"digest:u:" PASSWORD "\ndigest:v:" PASSWORD "\n", 0, "more than one"},
        {"digest:u:" PASSWORD "\r\n", 0, "no text"},
        {"digest:u:" PASSWORD "\xff\n", 0, "no text"},
        {"digest:u:" PASSWORD "\0\n", 16, "NUL"},
    };
    struct secret secret;
    char longer[5000];

    (void)state;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        secret_write(&secret, rows[i].text,
                     rows[i].bytes > 0 ? rows[i].bytes : strlen(rows[i].text),
                     0600);
        assert_refused(secret.url, HF_EURL, rows[i].part);
        secret_remove(&secret);
    }
    memset(longer, 'x', sizeof(longer));
    memcpy(longer, "digest:u:", 9);
    secret_write(&secret, longer, 1000, 0600);
    assert_refused(secret.url, HF_EURL, "too long");
    secret_remove(&secret);
    secret_write(&secret, longer, sizeof(longer), 0600);
    assert_refused(secret.url, HF_EURL, "too long");
    secret_remove(&secret);
}

static void a_fifo_holds_nobody_up(void **state)
{
    char path[] = "/tmp/holdfast-auth-XXXXXX";
    char url[128];

    (void)state;
    assert_non_null(mkdtemp(path));
    (void)snprintf(url, sizeof(url), "%s/fifo", path);
    assert_int_equal(mkfifo(url, 0600), 0);
    (void)snprintf(url, sizeof(url), "zk://h?auth_file=%s/fifo", path);
    assert_refused(url, HF_EURL, "not a plain file");
    (void)snprintf(url, sizeof(url), "%s/fifo", path);
    assert_int_equal(unlink(url), 0);
    assert_int_equal(rmdir(path), 0);
}

/* Is the password of the file shown to the server? */
static bool is_shown(const char *options)
{
    struct seat seat;
    struct peer peer;
    char url[256];

    peer_start(&peer, GREETS);
    seat_start(&seat);
    (void)snprintf(url, sizeof(url), "zk://127.0.0.1:%u%s",
                   (unsigned)peer.server.port, options);
    if (seat_open(&seat, url) != HF_OK)
        fail_msg("%s", seat.error.text);
    run_until(&seat, &peer, &seat.connected);
    seat_end(&seat, &peer);
    kit_loop_end(&seat.loop);
    server_stop(&peer.server);
    return peer.heard_password;
}

static void a_good_file_is_used(void **state)
{
    static const char text[] = "# for the locks\n\ndigest:u:" PASSWORD "\n";
    struct secret secret;
    char options[128];

    (void)state;
    secret_write(&secret, text, sizeof(text) - 1, 0400);
    (void)snprintf(options, sizeof(options), "?auth_file=%s&acl=creator",
                   secret.path);
    assert_true(is_shown(options));
    assert_false(is_shown(""));
    assert_int_equal(setenv("HOLDFAST_AUTH_FILE", secret.path, 1), 0);
    assert_true(is_shown(""));
    assert_true(is_shown("?acl=creator"));
    assert_int_equal(setenv("HOLDFAST_AUTH_FILE", "/nonexistent", 1), 0);
    assert_refused("zk://h", HF_EURL, "/nonexistent");
    assert_true(is_shown(options)); /* the URL's own goes before */
    assert_int_equal(setenv("HOLDFAST_AUTH_FILE", "", 1), 0);
    assert_false(is_shown(""));
    assert_int_equal(unsetenv("HOLDFAST_AUTH_FILE"), 0);
    secret_remove(&secret);
}

int main(void)
{
    static const struct hf_allocator allocator = {allocate, resize, release,
                                                  NULL};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(it_can_end_at_each_stage),
        cmocka_unit_test(it_can_end_without_memory),
        cmocka_unit_test(it_can_end_without_descriptors),
        cmocka_unit_test(a_session_begins_and_ends),
        cmocka_unit_test(it_is_described_without_secrets),
        cmocka_unit_test(a_connection_that_breaks_is_made_again),
        cmocka_unit_test(a_child_closes_what_is_the_engines),
        cmocka_unit_test(what_cannot_be_opened_says_why),
        cmocka_unit_test(a_file_that_others_can_read_is_refused),
        cmocka_unit_test(a_file_that_makes_no_sense_is_refused),
        cmocka_unit_test(a_fifo_holds_nobody_up),
        cmocka_unit_test(a_good_file_is_used),
    };

    if (hf_set_allocator(&allocator) != HF_OK)
        return 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
