/* SPDX-License-Identifier: Apache-2.0 */
/* Fake Redis servers: connections, commands, replies, notices, and the steps
 * in which they misbehave. */
#include "resp_server.h"

#include <inttypes.h>
#include <string.h>

#include "engines/redis/redis_connection.h"
#include "fuzz.h"
#include "resp_reply.h"
#include "resp_script.h"
#include "transport/connection.h"

#define LINKS_MAX 64
#define PASSES_MAX 64

struct hf_connection {
    struct hf_connection_callbacks user;
    uint64_t number;
    struct lease_fake_server *leases;
    bool up, failed, hung_up;
    struct bytes out; /* sent by the client */
    struct bytes in;  /* to be delivered to the client */
    char channel[128];
    struct hf_connection *next;
};

static struct {
    struct leased_client *client;
    struct lease_fake_server leases[LEASE_FAKES];
    struct hf_connection *links;
    uint64_t number;
    bool clustered;
    /* How the next answers are wrong: */
    bool muted[LEASE_FAKES];
    const char *reply; /* replaces the reply to the next script */
    size_t hold;       /* deliver this many bytes next, and no more yet */
    int miscount;      /* announce this many more rows */
    const char *handshake_reply;   /* replaces the reply to the next ... */
    const char *handshake_command; /* ... command of this name */
} net;

/* ----------------------------------------------------------------- links -- */

struct hf_connection *
__wrap_hf_connection_open(const struct hf_connection_config *way,
                          const struct hf_connection_callbacks *user,
                          hf_status *status,
                          char why[HF_CONNECTION_TEXT_BYTES]);
bool __wrap_hf_connection_send(struct hf_connection *link, const void *bytes,
                               size_t count, size_t *taken);
const char *__wrap_hf_connection_why(const struct hf_connection *link);
hf_status __wrap_hf_connection_status(const struct hf_connection *link);
bool __wrap_hf_connection_closed_by_peer(const struct hf_connection *link);
bool __wrap_hf_connection_awaits_tls(const struct hf_connection *link);
void __wrap_hf_connection_close(struct hf_connection *link,
                                enum hf_connection_close_mode end);

struct hf_connection *
__wrap_hf_connection_open(const struct hf_connection_config *way,
                          const struct hf_connection_callbacks *user,
                          hf_status *status, char why[HF_CONNECTION_TEXT_BYTES])
{
    struct hf_connection *link = calloc(1, sizeof *link);
    char digit = '0';

    (void)status;
    (void)why;
    MUST(link != NULL);
    if (way->host[0] != '\0')
        digit = way->host[strlen(way->host) - 1];
    link->user = *user;
    link->number = ++net.number;
    link->leases = &net.leases[(unsigned char)digit % LEASE_FAKES];
    link->next = net.links;
    net.links = link;
    return link;
}

bool __wrap_hf_connection_send(struct hf_connection *link, const void *bytes,
                               size_t count, size_t *taken)
{
    *taken = link->up ? count : 0;
    bytes_put(&link->out, bytes, *taken);
    return !link->failed;
}

const char *__wrap_hf_connection_why(const struct hf_connection *link)
{
    (void)link;
    return "broken";
}

hf_status __wrap_hf_connection_status(const struct hf_connection *link)
{
    (void)link;
    return HF_EUNREACHABLE;
}

bool __wrap_hf_connection_closed_by_peer(const struct hf_connection *link)
{
    return link->hung_up;
}

bool __wrap_hf_connection_awaits_tls(const struct hf_connection *link)
{
    (void)link;
    return false;
}

void __wrap_hf_connection_close(struct hf_connection *link,
                                enum hf_connection_close_mode end)
{
    struct hf_connection **at = &net.links;

    (void)end;
    while (*at != link)
        at = &(*at)->next;
    *at = link->next;
    bytes_free(&link->out);
    bytes_free(&link->in);
    free(link);
}

/* A callback may close any connection, so each is looked up again by its
 * number. */
static struct hf_connection *find(uint64_t number)
{
    struct hf_connection *link = net.links;

    while (link != NULL && link->number != number)
        link = link->next;
    return link;
}

static struct hf_connection *connection_at(uint8_t which)
{
    struct hf_connection *link = net.links;

    for (; link != NULL && which > 0; which--)
        link = link->next != NULL ? link->next : net.links;
    return link;
}

/* -------------------------------------------------------------- commands -- */

struct command {
    char *words[RESP_WORDS_MAX];
    size_t count;
};

/* The next word; the byte behind it becomes a NUL. */
static char *take_word(char **at, char *end)
{
    char *word;
    size_t bytes;

    if (*at >= end || **at != '$')
        return NULL;
    bytes = strtoul(*at + 1, &word, 10);
    word += 2;
    MUST(word + bytes + 2 <= end);
    word[bytes] = '\0';
    *at = word + bytes + 2;
    return word;
}

/* Is the next thing a probe for TLS? */
static bool take_tls_probe(const struct hf_connection *link, size_t *taken)
{
    const char *at = (const char *)link->out.bytes + *taken;
    size_t left = link->out.count - *taken;

    if (left < HF_REDIS_TLS_PROBE_BYTES ||
        memcmp(at, hf_redis_tls_probe, HF_REDIS_TLS_PROBE_BYTES) != 0)
        return false;
    *taken += HF_REDIS_TLS_PROBE_BYTES;
    return true;
}

/* False if there is no more.  The engine sends whole commands, because no
 * buffer is ever full here. */
static bool take_command(struct hf_connection *link, struct command *command,
                         size_t *taken)
{
    static char none[] = "", asked[] = "TLS?";
    char *start = (char *)link->out.bytes, *at = start + *taken;
    char *end = start + link->out.count;
    size_t count;

    for (size_t i = 0; i < RESP_WORDS_MAX; i++)
        command->words[i] = none;
    if (*taken == link->out.count)
        return false;
    if (take_tls_probe(link, taken)) {
        command->words[0] = asked;
        command->count = 1;
        return true;
    }
    MUST(*at == '*');
    count = strtoul(at + 1, &at, 10);
    MUST(count > 0 && count < RESP_WORDS_MAX);
    at += 2;
    for (size_t i = 0; i < count; i++)
        MUST((command->words[i] = take_word(&at, end)) != NULL);
    command->count = count;
    *taken = (size_t)(at - start);
    return true;
}

/* --------------------------------------------------------------- scripts -- */

/* One of several servers: the ticket has this number from now on. */
static void commit(struct lease_fake_server *leases, const char *queue,
                   const char *id, const char *number)
{
    struct hf_ticket_id ticket = resp_id(id);
    struct lease_row *row = lease_row_find(leases->server, queue, &ticket);

    if (row == NULL)
        return;
    row->ticket.sequence = row->ticket.token = strtoull(number, NULL, 10);
    row->ticket.dialect = "settled";
}

static void mark_proposed(const struct lease_fake_server *leases,
                          const char *queue, struct lease_answer *answer)
{
    for (size_t i = 0; i < answer->answer.count; i++) {
        const struct lease_row *row =
            lease_row_find(leases->server, queue, &answer->tickets[i].id);

        answer->leases[i].proposed =
            row != NULL && (row->ticket.dialect == NULL ||
                            strcmp(row->ticket.dialect, "settled") != 0);
    }
}

/* A server returns its queue in order, the rows here are as they were added. */
static void sort(struct lease_answer *answer)
{
    for (size_t i = 1; i < answer->answer.count; i++)
        for (size_t k = i; k > 0; k--)
            if (hf_ticket_compare(&answer->tickets[k - 1],
                                  &answer->tickets[k]) > 0)
                lease_fake_swap(answer, k - 1, k);
}

static void run_script(struct hf_connection *link,
                       const struct command *command)
{
    size_t keys = strtoul(command->words[2], NULL, 10);
    char **words = (char **)(uintptr_t)command->words + 3 + keys;
    struct resp_script script;
    struct lease_answer answer;
    char id[HF_TICKET_ID_TEXT_BYTES];

    resp_script_read(&script, words[-(ptrdiff_t)keys], words,
                     command->count - 3 - keys);
    if (strcmp(words[0], "commit") == 0)
        commit(link->leases, script.call.queue, words[3], words[4]);
    if (net.reply != NULL) {
        bytes_print(&link->in, "%s\r\n", net.reply);
        net.reply = NULL;
        return;
    }
    lease_fake_answer(link->leases, &script.call, &answer);
    if (strcmp(words[0], "repair") == 0) {
        hf_ticket_id_format(&script.call.ticket, id);
        commit(link->leases, script.call.queue, id, words[3]);
    }
    if (script.numbered)
        mark_proposed(link->leases, script.call.queue, &answer);
    if (script.numbered && link->leases->number != 3)
        sort(&answer);
    resp_put_answer(&link->in, script.call.kind, &answer, script.numbered,
                    net.miscount);
    net.miscount = 0;
    lease_answer_free(&answer);
}

/* --------------------------------------------------------------- replies -- */

static void put_info(struct bytes *to)
{
    char text[256];

    (void)snprintf(text, sizeof text,
                   "redis_version:7.0.1\r\nrole:master\r\ncluster_enabled:%d"
                   "\r\nuptime_in_seconds:100000\r\n"
                   "maxmemory_policy:noeviction\r\n",
                   net.clustered);
    resp_put_bulk(to, text);
}

static void put_cluster_nodes(struct bytes *to)
{
    bytes_print(to, "*2\r\n");
    for (int i = 0; i < 2; i++) {
        bytes_print(to, "*3\r\n:%d\r\n:%d\r\n*2\r\n", i * 8192,
                    i * 8192 + 8191);
        resp_put_bulk(to, i == 0 ? "127.0.0.1" : "127.0.0.2");
        bytes_print(to, ":6379\r\n");
    }
}

static void reply(struct hf_connection *link, const struct command *command)
{
    const char *word = command->words[0];
    uint64_t ms = lease_fake_clock_ms(link->leases);

    if (net.handshake_reply != NULL &&
        strcmp(word, net.handshake_command) == 0) {
        bytes_print(&link->in, "%s\r\n", net.handshake_reply);
        net.handshake_reply = NULL;
    } else if (strcmp(word, "TLS?") == 0) {
        bytes_print(&link->in, "-ERR unknown command\r\n");
    } else if (strcmp(word, "EVALSHA") == 0 &&
               strcmp(command->words[3], "rights") == 0) {
        bytes_print(&link->in, "*4\r\n:1\r\n:1\r\n$0\r\n\r\n$0\r\n\r\n");
    } else if (strcmp(word, "EVALSHA") == 0) {
        run_script(link, command);
    } else if (strcmp(word, "INFO") == 0) {
        put_info(&link->in);
    } else if (strcmp(word, "SCRIPT") == 0) {
        resp_put_bulk(&link->in, "0123456789012345678901234567890123456789");
    } else if (strcmp(word, "TIME") == 0) {
        bytes_print(&link->in, "*2\r\n");
        resp_put_number(&link->in, ms / 1000);
        resp_put_number(&link->in, ms % 1000 * 1000);
    } else if (strcmp(word, "SUBSCRIBE") == 0) {
        (void)snprintf(link->channel, sizeof link->channel, "%s",
                       command->words[1]);
        bytes_print(&link->in, "*3\r\n$9\r\nsubscribe\r\n");
        resp_put_bulk(&link->in, link->channel);
        bytes_print(&link->in, ":1\r\n");
    } else if (strcmp(word, "PING") == 0) {
        bytes_print(&link->in, "*2\r\n$4\r\npong\r\n$0\r\n\r\n");
    } else if (strcmp(word, "WAIT") == 0) {
        bytes_print(&link->in, ":%s\r\n", command->words[1]);
    } else if (strcmp(word, "CLUSTER") == 0) {
        put_cluster_nodes(&link->in);
    } else {
        bytes_print(&link->in, "+OK\r\n");
    }
}

static void on_notice(struct lease_fake_server *leases,
                      const struct lease_notice *notice)
{
    const struct hf_store_notice *n = &notice->notice;
    char id[HF_TICKET_ID_TEXT_BYTES], text[512];

    hf_ticket_id_format(&n->ticket, id);
    if (n->kind == HF_STORE_CHANGED)
        (void)snprintf(text, sizeof text, "changed %s", n->queue);
    else if (n->kind == HF_STORE_GONE)
        (void)snprintf(text, sizeof text, "gone %d %s %s", (int)n->ticket_kind,
                       id, n->queue);
    else
        (void)snprintf(text, sizeof text, "revoked %" PRIu32 " %s %s",
                       n->revoked, id, n->queue);
    for (struct hf_connection *link = net.links; link != NULL;
         link = link->next) {
        if (link->leases != leases || link->channel[0] == '\0')
            continue;
        bytes_print(&link->in, "*3\r\n$7\r\nmessage\r\n");
        resp_put_bulk(&link->in, link->channel);
        resp_put_bulk(&link->in, text);
    }
}

/* ----------------------------------------------------------------- serve -- */

static void answer_commands(struct hf_connection *link)
{
    struct command command;
    size_t taken = 0;

    while (take_command(link, &command, &taken))
        reply(link, &command);
    bytes_drop(&link->out, taken);
}

static void deliver(struct hf_connection *link)
{
    struct bytes arrived = link->in;
    size_t count = arrived.count;

    if (net.hold > 0 && net.hold < count) {
        count = net.hold;
        net.hold = 0;
    }
    link->in = (struct bytes){NULL, 0, 0};
    bytes_put(&link->in, arrived.bytes + count, arrived.count - count);
    link->user.received(link->user.arg, arrived.bytes, count);
    bytes_free(&arrived);
}

/* True if anything happened. */
static bool serve_one(struct hf_connection *link)
{
    if (net.muted[link->leases->number])
        return false;
    if (!link->up) {
        link->up = true;
        link->user.up(link->user.arg);
        return true;
    }
    answer_commands(link);
    if (link->in.count == 0)
        return false;
    deliver(link);
    return true;
}

static bool serve_all(struct leased_client *client)
{
    uint64_t numbers[LINKS_MAX];
    size_t count = 0;
    bool happened = false;

    for (struct hf_connection *link = net.links; link != NULL;
         link = link->next) {
        MUST(count < LINKS_MAX);
        numbers[count++] = link->number;
    }
    while (count-- > 0) {
        struct hf_connection *link = find(numbers[count]);

        if (link != NULL && serve_one(link))
            happened = true;
    }
    client_run_loop(client);
    return happened;
}

void resp_serve(struct leased_client *client)
{
    for (int i = 0; i < PASSES_MAX && serve_all(client); i++)
        continue;
}

/* ----------------------------------------------------------------- steps -- */

static const char *const replies[] = {
    "-NOSCRIPT no",
    "-MOVED 1 127.0.0.2:6379",
    "-ASK 1 127.0.0.1:6379",
    "-MOVED 9 127.0.0.3:6379",
    "-OOM no",
    "-LOADING no",
    "-READONLY no",
    "-",
    "-TRYAGAIN no",
    "+OK",
    ":1",
    "$-1",
    "*0",
    "*-1",
    "*1\r\n*1\r\n*0",
    "*2147483647",
    "*4294967295",
    "*-2",
    "$536870912",
    "-CLUSTERDOWN no",
    "-WRONGTYPE no",
    "-NOPERM no",
    "*3\r\n$1\r\n1\r\n+ok\r\n*2\r\n*0\r\n:1",
    "*3\r\n$1\r\n1\r\n+ok\r\n*3\r\n*1\r\n+x\r\n*1\r\n+y\r\n*1\r\n+z",
    "*3\r\n$1\r\n1\r\n+ok\r\n$-1",
    "*3\r\n$-1\r\n+ok\r\n:1"};

static const char *const handshake_command[] = {
    "INFO", "SCRIPT", "TIME", "SUBSCRIBE", "PING", "CLUSTER", "WAIT"};

static const char *const handshake_replies[] = {
    ":1",         "+OK",     "*0",     "$-1",
    "-NOPERM no", "-ERR no", "$0\r\n", "$17\r\ncluster_enabled:1"};

static void send_raw(struct leased_client *client, struct hf_connection *link)
{
    size_t count = client_next(client);
    const uint8_t *bytes = client_some(client, &count);

    bytes_put(&link->in, bytes, count);
}

static void lie_in_handshake(uint8_t how)
{
    net.handshake_reply =
        how < 252 ? handshake_replies[how % 8] : "\x15\x03\x03";
    net.handshake_command = how < 248 ? handshake_command[how / 8 % 7] : "TLS?";
}

static void disconnect(struct hf_connection *link)
{
    link->hung_up = true;
    link->user.down(link->user.arg, HF_EUNREACHABLE, "reset");
}

void resp_step(struct leased_client *client)
{
    uint8_t what = client_next(client) % 12, how = client_next(client);
    struct hf_connection *link = connection_at(how);

    if (what < 4)
        lease_fake_lie(&net.leases[how % LEASE_FAKES]);
    else if (what < 6)
        lease_fake_disturb(&net.leases[how % LEASE_FAKES]);
    else if (what == 6)
        net.reply = replies[how % (sizeof replies / sizeof replies[0])];
    else if (what == 7)
        lie_in_handshake(how);
    else if (what == 8)
        net.hold = how;
    else if (what == 9 && how >= 128)
        net.miscount = how % 8 - 4;
    else if (what == 9)
        net.muted[how % LEASE_FAKES] = how & 16;
    else if (link != NULL && what == 10)
        send_raw(client, link);
    else if (link != NULL)
        disconnect(link);
}

/* --------------------------------------------------------- begin and end -- */

void resp_begin(struct leased_client *client)
{
    memset(&net, 0, sizeof net);
    net.client = client;
    for (size_t i = 0; i < LEASE_FAKES; i++) {
        lease_fake_begin(&net.leases[i], client, i);
        net.leases[i].notice = on_notice;
    }
}

void resp_end(struct leased_client *client)
{
    (void)client;
    MUST(net.links == NULL);
    for (size_t i = 0; i < LEASE_FAKES; i++)
        lease_fake_end(&net.leases[i]);
}

void resp_cluster(bool clustered)
{
    net.clustered = clustered;
}
