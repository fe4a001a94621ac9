/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the URL into keywords for libpq and a list of hosts.  The hosts are
 * kept apart, because this engine looks up their names itself and tries them
 * one after the other. */
#include "engines/postgres/config.h"

#include <libpq-fe.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/reconnect.h"
#include "base/url_options.h"
#include "engines/leased/leased.h"
#include "transport/set_user_id.h"

#define MEMORY_BYTES ((size_t)4 * HF_URL_BYTES)

/* Copy the first ${bytes} of ${text} into .memory.  NULL if there is no room.
 */
static const char *copy_text(struct hf_pg_config *config, const char *text,
                             size_t bytes)
{
    char *copy = config->memory + config->memory_used;

    if (bytes >= MEMORY_BYTES - config->memory_used)
        return NULL;
    memcpy(copy, text, bytes);
    copy[bytes] = '\0';
    config->memory_used += bytes + 1;
    return copy;
}

static hf_status no_room(struct hf_error *error)
{
    return hf_error_set(error, HF_EURL,
                        "the URL and what the environment adds to it are too "
                        "long; expected less than %zu bytes",
                        MEMORY_BYTES);
}

/* --------------------------------------------------------------- options -- */

/* Append a keyword for libpq. */
static hf_status add_setting(struct hf_pg_config *config, const char *keyword,
                             const char *value, struct hf_error *error)
{
    struct hf_pg_setting *setting = &config->settings[config->setting_count];

    setting->keyword = copy_text(config, keyword, strlen(keyword));
    setting->value = copy_text(config, value, strlen(value));
    if (setting->keyword == NULL || setting->value == NULL)
        return no_room(error);
    config->setting_count++;
    return HF_OK;
}

static const char *find_setting(const struct hf_pg_config *config,
                                const char *keyword)
{
    for (size_t i = 0; i < config->setting_count; i++) {
        if (strcmp(config->settings[i].keyword, keyword) == 0)
            return config->settings[i].value;
    }
    return NULL;
}

/* The values of pooler=.  A pooler that pools by transaction would lose LISTEN,
 * and so the notices. */
static const char *const poolers[] = {"session", NULL};

/* Read schema_owner=, into a copy, because the URL is freed. */
static hf_status read_schema_owner(const struct hf_url_option_row *row,
                                   const char *text, void *field,
                                   struct hf_error *error)
{
    struct hf_pg_config *config = field;

    if (text[0] == '\0')
        return hf_error_set(error, HF_EURL,
                            "schema_owner= is empty; expected %s", row->help);
    config->schema_owner = copy_text(config, text, strlen(text));
    return config->schema_owner != NULL ? HF_OK : no_room(error);
}

/* Check target_session_attrs=.  The engine always looks for a server that
 * accepts writes. */
static hf_status check_target(const struct hf_url_option_row *row,
                              const char *target, void *field,
                              struct hf_error *error)
{
    (void)row;
    (void)field;
    if (strcmp(target, "read-write") == 0 || strcmp(target, "primary") == 0)
        return HF_OK;
    return hf_error_set(error, HF_EURL,
                        "the option \"target_session_attrs\" of the URL can "
                        "only be \"read-write\" or \"primary\": a lock needs "
                        "a server that can be written to");
}

/* Pass an option on to libpq, which reads its value. */
static hf_status pass_on(const struct hf_url_option_row *row, const char *text,
                         void *field, struct hf_error *error)
{
    return add_setting(field, row->key, text, error);
}

/* The options of the URL.  Some options of libpq are left out: those that would
 * change the kind of connection (replication, options, client_encoding), and
 * timeouts, because libpq does not control these here. */
static const struct hf_url_option_row rows[] = {
    {.key = "ttl",
     .read = hf_url_read_duration,
     .offset = offsetof(struct hf_pg_config, ttl_ms),
     .min = HF_LEASED_TTL_MIN_MS,
     .max = HF_LEASED_TTL_MAX_MS,
     .help = "how long a ticket outlives its last renewal"},
    HF_CLOCK_DRIFT_OPTION(struct hf_pg_config, clock_drift),
    {.key = "pooler",
     .read = hf_url_read_choice,
     .offset = offsetof(struct hf_pg_config, pooler),
     .choices = poolers,
     .help = "a pooler that keeps a connection for a session"},
    {.key = "schema_owner",
     .read = read_schema_owner,
     .help = "the role that owns the schema holdfast and is trusted"},
    {.key = HF_RECONNECT_OPTION}, /* read by hf_reconnect_choose() */
    {.key = "target_session_attrs", .read = check_target},
    {.key = "host"}, /* these three are read by parse_hosts() */
    {.key = "hostaddr"},
    {.key = "port"},
    {.key = "dbname", .read = pass_on},
    {.key = "user", .read = pass_on},
    {.key = "password", .read = pass_on},
    {.key = "passfile", .read = pass_on},
    {.key = "service", .read = pass_on},
    {.key = "application_name", .read = pass_on},
    {.key = "sslmode", .read = pass_on},
    {.key = "sslcert", .read = pass_on},
    {.key = "sslkey", .read = pass_on},
    {.key = "sslpassword", .read = pass_on},
    {.key = "sslrootcert", .read = pass_on},
    {.key = "sslcrl", .read = pass_on},
    {.key = "sslcrldir", .read = pass_on},
    {.key = "sslsni", .read = pass_on},
    {.key = "ssl_min_protocol_version", .read = pass_on},
    {.key = "ssl_max_protocol_version", .read = pass_on},
    {.key = "channel_binding", .read = pass_on},
    {.key = "requirepeer", .read = pass_on},
    {.key = "gssencmode", .read = pass_on},
    {.key = "krbsrvname", .read = pass_on},
    {.key = "keepalives", .read = pass_on},
    {.key = "keepalives_idle", .read = pass_on},
    {.key = "keepalives_interval", .read = pass_on},
    {.key = "keepalives_count", .read = pass_on},
    {.key = "tcp_user_timeout", .read = pass_on},
};

/* Add a part of the URL as a keyword. */
static hf_status add_url_part(struct hf_pg_config *config,
                              const struct hf_url *url, const char *keyword,
                              const char *value, struct hf_error *error)
{
    if (value == NULL || value[0] == '\0')
        return HF_OK;
    if (hf_url_option(url, keyword) != NULL)
        return hf_error_set(error, HF_EURL,
                            "the URL gives \"%s\" twice, in front of its "
                            "options and among them; expected it once",
                            keyword);
    return add_setting(config, keyword, value, error);
}

/* Read all of the URL except its servers. */
static hf_status parse_settings(struct hf_pg_config *config,
                                const struct hf_url *url,
                                struct hf_error *error)
{
    const char *database = url->path[0] == '/' ? url->path + 1 : url->path;
    hf_status status = add_url_part(config, url, "user", url->user, error);

    config->ttl_ms = HF_LEASED_TTL_MS;
    config->clock_drift = HF_CLOCK_DRIFT;
    config->schema_owner = "";
    config->pooler = HF_PG_NO_POOLER;
    if (status == HF_OK)
        status = add_url_part(config, url, "password", url->password, error);
    if (status == HF_OK)
        status = add_url_part(config, url, "dbname", database, error);
    if (status == HF_OK)
        status = hf_url_options_read(url, rows, sizeof rows / sizeof rows[0],
                                     config, error);
    return status;
}

/* ----------------------------------------------------------------- hosts -- */

static bool is_port(const char *text)
{
    unsigned long number = 0;
    size_t digits = strspn(text, "0123456789");

    for (size_t i = 0; i < digits && i < 6; i++)
        number = number * 10 + (unsigned long)(text[i] - '0');
    return digits <= 5 && text[digits] == '\0' &&
           (digits == 0 || (number >= 1 && number <= 65535));
}

/* Append a host with empty texts.  If there are too many, sets ${error} and
 * returns NULL. */
static struct hf_pg_host *add_host(struct hf_pg_config *config,
                                   struct hf_error *error)
{
    static const struct hf_pg_host nothing = {"", "", ""};
    struct hf_pg_host *host = &config->hosts[config->host_count];

    if (config->host_count == HF_PG_HOSTS_MAX) {
        (void)hf_error_set(error, HF_EURL,
                           "there are more than %d servers; expected fewer",
                           HF_PG_HOSTS_MAX);
        return NULL;
    }
    config->host_count++;
    *host = nothing;
    return host;
}

static hf_status check_port(const struct hf_pg_host *host,
                            struct hf_error *error)
{
    if (is_port(host->port))
        return HF_OK;
    return hf_error_set(error, HF_EURL,
                        "the port of a server is no number from 1 to 65535; "
                        "expected HOST:PORT, and an IPv6 address in brackets");
}

/* Add the server "HOST:PORT" between ${text} and ${end}. */
static hf_status parse_address(struct hf_pg_config *config, const char *text,
                               const char *end, struct hf_error *error)
{
    struct hf_pg_host *host = add_host(config, error);
    const char *name_end;
    const char *colon;

    if (host == NULL)
        return HF_EURL;
    if (text[0] == '[') {
        name_end = memchr(text, ']', (size_t)(end - text));
        if (name_end == NULL || (name_end + 1 < end && name_end[1] != ':'))
            return hf_error_set(error, HF_EURL,
                                "a server of the URL begins with '[' and is "
                                "no IPv6 address in brackets; expected "
                                "[ADDRESS]:PORT");
        colon = name_end + 1 < end ? name_end + 1 : NULL;
        text++;
    } else {
        colon = memchr(text, ':', (size_t)(end - text));
        name_end = colon != NULL ? colon : end;
    }
    host->name = copy_text(config, text, (size_t)(name_end - text));
    if (colon != NULL)
        host->port = copy_text(config, colon + 1, (size_t)(end - colon - 1));
    if (host->name == NULL || host->port == NULL)
        return no_room(error);
    return check_port(host, error);
}

static hf_status parse_authority(struct hf_pg_config *config,
                                 const char *authority, struct hf_error *error)
{
    hf_status status = HF_OK;
    const char *end;

    do {
        end = strchrnul(authority, ',');
        status = parse_address(config, authority, end, error);
        authority = end + 1;
    } while (status == HF_OK && *end != '\0');
    return status;
}

/* Copy item ${number}, counted from 0, of a list with commas.  Returns "" if
 * the list is shorter, and NULL if there is no room. */
static const char *list_item(struct hf_pg_config *config, const char *list,
                             size_t number)
{
    const char *end = strchrnul(list, ',');

    for (; number > 0 && *end != '\0'; number--) {
        list = end + 1;
        end = strchrnul(list, ',');
    }
    return number > 0 ? "" : copy_text(config, list, (size_t)(end - list));
}

static size_t count_items(const char *list)
{
    size_t count = list[0] != '\0';

    for (; *list != '\0'; list++)
        count += *list == ',';
    return count;
}

/* Add the servers in libpq's lists.  There is one port for each server, or one
 * for all. */
static hf_status parse_lists(struct hf_pg_config *config, const char *names,
                             const char *addresses, const char *ports,
                             struct hf_error *error)
{
    size_t count =
        count_items(names) > 0 ? count_items(names) : count_items(addresses);
    struct hf_pg_host *host;
    hf_status status = HF_OK;

    if (count == 0 && ports[0] != '\0')
        count = 1;
    if ((count_items(addresses) > 0 && count_items(addresses) != count) ||
        (count_items(ports) > 1 && count_items(ports) != count))
        return hf_error_set(error, HF_EURL,
                            "host, hostaddr and port are lists of different "
                            "length; expected one of each for a server, or "
                            "one port for all");
    for (size_t i = 0; i < count && status == HF_OK; i++) {
        if ((host = add_host(config, error)) == NULL)
            return HF_EURL;
        host->name = list_item(config, names, i);
        host->address = list_item(config, addresses, i);
        host->port = list_item(config, ports, count_items(ports) == 1 ? 0 : i);
        if (host->name == NULL || host->address == NULL || host->port == NULL)
            return no_room(error);
        status = check_port(host, error);
    }
    return status;
}

static const char *or_empty(const char *text)
{
    return text != NULL ? text : "";
}

/* Add the servers that libpq would take from the environment (PGHOST,
 * PGSERVICE).  Their names are looked up here, because libpq would block for
 * that. */
static hf_status parse_defaults(struct hf_pg_config *config,
                                struct hf_error *error)
{
    PQconninfoOption *defaults = PQconndefaults();
    const char *names = "";
    const char *addresses = "";
    const char *ports = "";
    hf_status status;

    if (defaults == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory for an engine");
    for (const PQconninfoOption *at = defaults; at->keyword != NULL; at++) {
        if (strcmp(at->keyword, "host") == 0)
            names = or_empty(at->val);
        else if (strcmp(at->keyword, "hostaddr") == 0)
            addresses = or_empty(at->val);
        else if (strcmp(at->keyword, "port") == 0)
            ports = or_empty(at->val);
    }
    status = parse_lists(config, names, addresses, ports, error);
    PQconninfoFree(defaults);
    return status;
}

/* Add the servers from the authority of the URL, or from its options, or from
 * the environment.  With service= none is added, because libpq reads the
 * servers from a file. */
static hf_status parse_hosts(struct hf_pg_config *config,
                             const struct hf_url *url, struct hf_error *error)
{
    const char *names = or_empty(hf_url_option(url, "host"));
    const char *addresses = or_empty(hf_url_option(url, "hostaddr"));
    const char *ports = or_empty(hf_url_option(url, "port"));
    bool listed = names[0] != '\0' || addresses[0] != '\0';

    if (url->authority != NULL && url->authority[0] != '\0') {
        if (listed || ports[0] != '\0')
            return hf_error_set(error, HF_EURL,
                                "the URL says where the server is behind its "
                                "\"//\" and among its options; expected one of "
                                "them");
        return parse_authority(config, url->authority, error);
    }
    if (listed)
        return parse_lists(config, names, addresses, ports, error);
    if (hf_url_option(url, "service") != NULL)
        return HF_OK;
    if (ports[0] != '\0')
        return parse_lists(config, "", "", ports, error);
    return parse_defaults(config, error);
}

/* ------------------------------------------------- set-user-id programs -- */

/* The files that libpq looks for in $HOME if no keyword names them.  The caller
 * of a program can set $HOME. */
static const struct {
    const char *keyword, *file;
} home_files[] = {
    {"passfile", ".pgpass"},
    {"sslcert", ".postgresql/postgresql.crt"},
    {"sslkey", ".postgresql/postgresql.key"},
    {"sslrootcert", ".postgresql/root.crt"},
    {"sslcrl", ".postgresql/root.crl"},
};

/* In a set-user-id program, keep libpq from using anything that the caller can
 * choose.  Variables are removed, because libpq uses some of them, such as
 * PGHOSTADDR, whatever the URL says, and no value of them stands for none. */
static hf_status exclude_caller(struct hf_pg_config *config,
                                const struct hf_url *url,
                                struct hf_error *error)
{
    char path[HF_URL_BYTES];
    hf_status status = HF_OK;

    if (!hf_set_user_id())
        return HF_OK;
    hf_set_user_id_clear("PG");
    if (hf_url_option(url, "service") != NULL)
        return hf_error_set(error, HF_EURL,
                            "service= is in the URL of a set-user-id program, "
                            "whose caller could say what it means; expected "
                            "the server and its options in the URL");
    for (size_t i = 0; i < sizeof home_files / sizeof home_files[0]; i++) {
        if (find_setting(config, home_files[i].keyword) != NULL)
            continue;
        if (!hf_set_user_id_home(home_files[i].file, path, sizeof path))
            return no_room(error);
        status = add_setting(config, home_files[i].keyword, path, error);
        if (status != HF_OK)
            return status;
    }
    return HF_OK;
}

/* ------------------------------------------------------------- interface -- */

hf_status hf_pg_config_parse(struct hf_pg_config *config,
                             const struct hf_url *url, struct hf_error *error)
{
    hf_status status;

    memset(config, 0, sizeof *config);
    config->memory = hf_alloc(MEMORY_BYTES);
    if (config->memory == NULL)
        return hf_error_set(error, HF_ENOMEM, "no memory for an engine");
    status = parse_settings(config, url, error);
    if (status == HF_OK)
        status = exclude_caller(config, url, error);
    if (status == HF_OK)
        status = parse_hosts(config, url, error);
    if (status != HF_OK)
        hf_pg_config_free(config);
    return status;
}

const char *hf_pg_host_port(const struct hf_pg_host *host)
{
    return host->port[0] != '\0' ? host->port : "5432";
}

void hf_pg_config_free(struct hf_pg_config *config)
{
    explicit_bzero(config->memory, MEMORY_BYTES); /* it may have a password */
    hf_free(config->memory);
    config->memory = NULL;
}

void hf_pg_config_describe(const struct hf_pg_config *config, char *text,
                           size_t room)
{
    const char *database = find_setting(config, "dbname");
    size_t at = 0;

    text[0] = '\0';
    for (size_t i = 0; i < config->host_count && at < room; i++) {
        const struct hf_pg_host *host = &config->hosts[i];
        const char *name = host->name[0] != '\0' ? host->name : host->address;
        bool colons = strchr(name, ':') != NULL;

        at += (size_t)snprintf(text + at, room - at, "%s%s%s%s%s%s",
                               i > 0 ? "," : "", colons ? "[" : "", name,
                               colons ? "]" : "",
                               host->port[0] != '\0' ? ":" : "", host->port);
    }
    if (database != NULL && at < room)
        (void)snprintf(text + at, room - at, "/%s", database);
}
