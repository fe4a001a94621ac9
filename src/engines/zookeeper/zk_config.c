/* SPDX-License-Identifier: Apache-2.0 */
/* Parsing a URL.  Error texts name a server by its position and never quote
 * it, because in "zk://user:password", which has no host, the password stands
 * where a port is expected. */
#include "engines/zookeeper/zk_config.h"

#include <arpa/inet.h>
#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/lock_name.h"
#include "core/quote.h"
#include "core/reconnect_policy.h"
#include "core/url_options.h"
#include "core/utf8.h"

#define TIMEOUT_MS 10000
#define TIMEOUT_MIN_MS 1000
#define TIMEOUT_MAX_MS 600000
#define TICK_MIN_MS 10
#define TICK_MAX_MS 60000

struct url_span {
    const char *from;
    const char *end;
};

static size_t bytes_of(struct url_span span)
{
    return (size_t)(span.end - span.from);
}

/* Does ${span} consist of ${characters} only? */
static bool is_made_of(struct url_span span, const char *characters)
{
    for (const char *at = span.from; at < span.end; at++)
        if (strchr(characters, *at) == NULL)
            return false;
    return true;
}

/* --------------------------------------------------------------- servers -- */

#define DIGITS "0123456789"
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"

/* Read a port from 1 to 65535. */
static bool take_port(struct url_span text, uint16_t *port)
{
    unsigned number = 0;

    if (bytes_of(text) == 0 || bytes_of(text) > 5 || !is_made_of(text, DIGITS))
        return false;
    for (const char *at = text.from; at < text.end; at++)
        number = number * 10 + (unsigned)(*at - '0');
    *port = (uint16_t)number;
    return number >= 1 && number <= UINT16_MAX;
}

/* Is ${text}, which was in brackets, an IPv6 address, perhaps with a "%zone"?
 */
static bool is_ipv6(struct url_span text)
{
    const char *percent = memchr(text.from, '%', bytes_of(text));
    struct url_span address = {text.from, percent != NULL ? percent : text.end};
    struct in6_addr parsed;
    char copy[INET6_ADDRSTRLEN];

    if (bytes_of(address) >= sizeof(copy) ||
        (percent != NULL &&
         (percent + 1 == text.end ||
          !is_made_of((struct url_span){percent + 1, text.end},
                      DIGITS LETTERS "._-"))))
        return false;
    memcpy(copy, address.from, bytes_of(address));
    copy[bytes_of(address)] = '\0';
    return inet_pton(AF_INET6, copy, &parsed) == 1;
}

/* Can ${text} be a host name or an IPv4 address? */
static bool is_name(struct url_span text)
{
    return is_made_of(text, DIGITS LETTERS "._-") && text.from[0] != '-' &&
           text.from[0] != '.';
}

/* Split ${text} into a host without brackets and the rest.  Returns what is
 * wrong with it, or NULL. */
static const char *cut_host(struct url_span text, struct url_span *host,
                            struct url_span *rest)
{
    const char *end;
    bool bracketed = bytes_of(text) > 0 && text.from[0] == '[';

    end = memchr(text.from, bracketed ? ']' : ':', bytes_of(text));
    if (bracketed && end == NULL)
        return "has a '[' without its ']'";
    *host =
        (struct url_span){text.from + bracketed, end != NULL ? end : text.end};
    *rest = (struct url_span){host->end + bracketed, text.end};
    if (!bracketed && bytes_of(*rest) > 1 &&
        memchr(rest->from + 1, ':', bytes_of(*rest) - 1) != NULL)
        return "has more than one ':', which an IPv6 address may have inside "
               "brackets only";
    if (bytes_of(*host) == 0)
        return "is empty";
    if (bytes_of(*host) >= HF_ZK_HOST_BYTES)
        return "is too long for a host";
    if (bracketed ? !is_ipv6(*host) : !is_name(*host))
        return bracketed ? "has no IPv6 address inside its brackets"
                         : "has characters that no host name has";
    return NULL;
}

/* Read HOST or HOST:PORT into ${server}.  Returns what is wrong with it, or
 * NULL. */
static const char *take_server(struct url_span text, uint16_t usual_port,
                               struct hf_zk_server *server)
{
    struct url_span host, rest;
    const char *fault = cut_host(text, &host, &rest);

    if (fault != NULL)
        return fault;
    memcpy(server->host, host.from, bytes_of(host));
    server->host[bytes_of(host)] = '\0';
    server->port = usual_port;
    if (bytes_of(rest) == 0)
        return NULL;
    if (rest.from[0] != ':')
        return "goes on behind its ']'";
    rest.from++;
    return take_port(rest, &server->port) ? NULL : "has no valid port";
}

/* Read the comma-separated servers of the URL. */
static hf_status take_servers(struct hf_zk_config *config, const char *text,
                              struct hf_error *error)
{
    uint16_t port = config->session.tls ? HF_ZK_PORT_TLS : HF_ZK_PORT;
    struct url_span rest = {text, text + strlen(text)};
    const char *comma, *fault;

    /* An escaped '@' gets past the URL parser's check for a misplaced
     * password. */
    if (strchr(text, '@') != NULL)
        return hf_error_set(error, HF_EURL,
                            "the servers of the URL have an escaped '@' among "
                            "them; expected USER:PASSWORD@HOST with a plain "
                            "one");
    do {
        if (config->session.server_count == HF_ZK_SERVERS_MAX)
            return hf_error_set(error, HF_EURL,
                                "the URL has more than %d servers; expected "
                                "fewer, a few of them are enough",
                                HF_ZK_SERVERS_MAX);
        comma = memchr(rest.from, ',', bytes_of(rest));
        fault = take_server(
            (struct url_span){rest.from, comma != NULL ? comma : rest.end},
            port, &config->session.servers[config->session.server_count++]);
        if (fault != NULL)
            return hf_error_set(error, HF_EURL,
                                "server %zu of the URL %s; expected HOST or "
                                "HOST:PORT or [IPV6]:PORT, with a port from 1 "
                                "to 65535",
                                config->session.server_count, fault);
        if (comma != NULL)
            rest.from = comma + 1;
    } while (comma != NULL);
    return HF_OK;
}

/* ---------------------------------------------------------------- chroot -- */

/* Why ${component} cannot be part of a ZooKeeper path, or NULL. */
static const char *why_no_component(struct url_span component)
{
    if (bytes_of(component) == 0)
        return "an empty component, or a '/' at its end";
    if ((bytes_of(component) == 1 && component.from[0] == '.') ||
        (bytes_of(component) == 2 && memcmp(component.from, "..", 2) == 0))
        return "a component \".\" or \"..\"";
    for (const char *at = component.from; at < component.end;) {
        uint32_t code = 0;
        size_t length = hf_utf8_decode(at, (size_t)(component.end - at), &code);

        assert(length > 0); /* the URL parser has checked the UTF-8 */
        if (hf_lock_name_why_refused(code) != NULL)
            return hf_lock_name_why_refused(code);
        at += length;
    }
    return NULL;
}

/* Why ${path} cannot be a ZooKeeper path, or NULL. */
static const char *why_no_path(const char *path)
{
    const char *from = path;
    const char *fault = NULL;

    assert(path[0] == '/');
    /* Each iteration takes a '/' and the component after it. */
    while (fault == NULL && from != NULL) {
        const char *slash = strchr(from + 1, '/');

        fault = why_no_component((struct url_span){
            from + 1, slash != NULL ? slash : from + strlen(from)});
        from = slash;
    }
    return fault;
}

/* Read the path of the URL as the chroot. */
static hf_status take_chroot(struct hf_zk_config *config, const char *path,
                             struct hf_error *error)
{
    size_t bytes = strlen(path);
    const char *fault;

    if (bytes <= 1) /* "/" means no chroot */
        return HF_OK;
    if (bytes >= sizeof(config->chroot))
        return hf_error_set(error, HF_EURL,
                            "the path of the URL has %zu bytes; expected at "
                            "most %zu",
                            bytes, sizeof(config->chroot) - 1);
    if ((fault = why_no_path(path)) != NULL)
        return hf_error_set(error, HF_EURL,
                            "the path %s of the URL has %s; expected a path "
                            "that ZooKeeper takes, such as /locks",
                            hf_quote(path, bytes).text, fault);
    memcpy(config->chroot, path, bytes + 1);
    return HF_OK;
}

/* ----------------------------------------------------------- credentials -- */

bool hf_zk_config_authenticate(struct hf_zk_config *config, const char *user,
                               const char *password)
{
    size_t user_bytes = strlen(user);
    size_t password_bytes = strlen(password);

    if (user_bytes == 0 || strchr(user, ':') != NULL || password_bytes == 0 ||
        user_bytes + 1 + password_bytes >= sizeof(config->session.auth))
        return false;
    memcpy(config->session.auth, user, user_bytes);
    config->session.auth[user_bytes] = ':';
    memcpy(config->session.auth + user_bytes + 1, password, password_bytes + 1);
    return true;
}

/* Read USER:PASSWORD of the URL. */
static hf_status take_auth(struct hf_zk_config *config,
                           const struct hf_url *url, struct hf_error *error)
{
    if (url->user == NULL)
        return HF_OK;
    if (hf_url_option(url, "auth_file") != NULL)
        return hf_error_set(error, HF_EURL,
                            "the URL has both a user and auth_file=; expected "
                            "one of them");
    if (url->password == NULL ||
        !hf_zk_config_authenticate(config, url->user, url->password))
        return hf_error_set(error, HF_EURL,
                            "the URL has an '@' but not a user and a password "
                            "in front of it; expected USER:PASSWORD@ with a "
                            "user without ':', at most %zu bytes together",
                            sizeof(config->session.auth) - 2);
    return HF_OK;
}

/* --------------------------------------------------------------- options -- */

enum proof { EAGER, LAZY, STRICT };
enum acl { OPEN, CREATOR, BY_CREDENTIALS };

/* What the options say, before it is spread over the configuration. */
struct options {
    uint64_t timeout_ms;
    uint64_t timeout_floor_ms;
    uint64_t tick_ms;
    uint64_t token_floor;
    int layout; /* an index of dialects[] */
    int proof;  /* enum proof */
    int acl;    /* enum acl; BY_CREDENTIALS where the URL does not say */
    struct hf_pem_files files;
};

static const char *const layouts[] = {"curator", "kazoo", "writelock", NULL};
static const enum hf_zk_dialect dialects[] = {HF_ZK_CURATOR, HF_ZK_KAZOO,
                                              HF_ZK_WRITELOCK};
static const char *const proofs[] = {"eager", "lazy", "strict", NULL};
static const char *const acls[] = {"open", "creator", NULL};

static const struct hf_url_option_row rows[] = {
    {.key = "timeout",
     .read = hf_url_read_duration,
     .offset = offsetof(struct options, timeout_ms),
     .min = TIMEOUT_MIN_MS,
     .max = TIMEOUT_MAX_MS,
     .help = "the session timeout to ask the server for"},
    {.key = "timeout_floor",
     .read = hf_url_read_duration,
     .offset = offsetof(struct options, timeout_floor_ms),
     .min = TIMEOUT_MIN_MS,
     .max = TIMEOUT_MAX_MS,
     .help = "the least session timeout that any server grants"},
    {.key = "tick",
     .read = hf_url_read_duration,
     .offset = offsetof(struct options, tick_ms),
     .min = TICK_MIN_MS,
     .max = TICK_MAX_MS,
     .help = "the tickTime of the servers"},
    {.key = "proof",
     .read = hf_url_read_choice,
     .offset = offsetof(struct options, proof),
     .choices = proofs,
     .help = "when the session is proven alive"},
    /* A czxid is an int64, so the sum of both cannot overflow. */
    {.key = "token_floor",
     .read = hf_url_read_number,
     .offset = offsetof(struct options, token_floor),
     .max = INT64_MAX,
     .help = "a number to add to every token"},
    {.key = "layout",
     .read = hf_url_read_choice,
     .offset = offsetof(struct options, layout),
     .choices = layouts,
     .help = "the library whose nodes ours look like"},
    {.key = "acl",
     .read = hf_url_read_choice,
     .offset = offsetof(struct options, acl),
     .choices = acls,
     .help = "who may change the nodes that we make"},
    {.key = "auth_file"},         /* hf_auth_find() */
    {.key = HF_RECONNECT_OPTION}, /* hf_reconnect_choose() */
    HF_PEM_OPTIONS(struct options, files),
};
#define ROW_COUNT (sizeof rows / sizeof rows[0])

static bool has_credentials(const struct hf_url *url)
{
    return url->user != NULL || hf_url_option(url, "auth_file") != NULL;
}

/* Read all options, with their defaults. */
static hf_status parse_options(struct hf_zk_config *config,
                               const struct hf_url *url, struct hf_error *error)
{
    struct options options = {.timeout_ms = TIMEOUT_MS, .acl = BY_CREDENTIALS};
    struct hf_zk_session_config *session = &config->session;
    hf_status status = hf_url_options_read(
        url, rows, ROW_COUNT - (session->tls ? 0 : HF_PEM_OPTION_COUNT),
        &options, error);

    if (status != HF_OK)
        return status;
    session->timeout_ms = options.timeout_ms;
    session->timeout_floor_ms = options.timeout_floor_ms;
    session->tick_ms = options.tick_ms;
    session->lazy_proof = options.proof == LAZY;
    session->strict_proof = options.proof == STRICT;
    session->private_nodes =
        options.acl == CREATOR ||
        (options.acl == BY_CREDENTIALS && has_credentials(url));
    config->token_floor = options.token_floor;
    config->layout = dialects[options.layout];
    config->files = options.files;
    return hf_pem_files_check(&config->files, error);
}

/* ------------------------------------------------------------- interface -- */

/* The parts of the URL are read in order, and the first fault is reported. */
hf_status hf_zk_config_parse(struct hf_zk_config *config,
                             const struct hf_url *url, struct hf_error *error)
{
    hf_status status;

    *config = (struct hf_zk_config){
        .session = {.tls = strcmp(url->scheme, "zks") == 0,
                    .reconnect = hf_reconnect_default}};
    if (url->authority == NULL || url->authority[0] == '\0')
        return hf_error_set(error, HF_EURL,
                            "the URL names no server; expected something like "
                            "\"%s://host1:%d,host2:%d/locks\"",
                            url->scheme,
                            config->session.tls ? HF_ZK_PORT_TLS : HF_ZK_PORT,
                            config->session.tls ? HF_ZK_PORT_TLS : HF_ZK_PORT);
    status = take_servers(config, url->authority, error);
    if (status == HF_OK)
        status = take_chroot(config, url->path, error);
    if (status == HF_OK)
        status = parse_options(config, url, error);
    if (status == HF_OK)
        status = take_auth(config, url, error);
    assert(status != HF_OK || config->session.server_count > 0);
    return status;
}

/* The Fisher-Yates shuffle. */
void hf_zk_config_shuffle(struct hf_zk_config *config)
{
    struct hf_zk_server moved;

    for (size_t left = config->session.server_count; left > 1; left--) {
        size_t chosen = (size_t)hf_random_below(&config->session.random, left);

        moved = config->session.servers[chosen];
        config->session.servers[chosen] = config->session.servers[left - 1];
        config->session.servers[left - 1] = moved;
    }
}
