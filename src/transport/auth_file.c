/* SPDX-License-Identifier: Apache-2.0 */
/* The file is read into memory and parsed line by line.  Every error text
 * gives the number of the line and never its content. */
#include "transport/auth_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/utf8.h"
#include "transport/secret_file.h"

/* The state of parsing a file. */
struct auth_search {
    const struct hf_auth_wanted *wanted;
    bool servers_required; /* each line must name its servers */
    struct hf_auth *auth;
    size_t line;    /* number of the last line read; 0: an error text names no
                       line */
    size_t lines;   /* lines of credentials so far */
    size_t matches; /* lines that are for the servers of the URL */
};

/* --------------------------------------------------------------- servers -- */

/* One server of "host,host:port,[::1]:port". */
struct auth_server {
    const char *host; /* with brackets; not NUL-terminated */
    size_t bytes;
    unsigned port;
};

/* Parse the first server of the list ${*at}, and move ${*at} behind it; NULL
 * after the last server.  ${port} is the default port.  Returns false if the
 * text is not a server. */
static bool take_server(const char **at, unsigned port,
                        struct auth_server *server)
{
    size_t all = strcspn(*at, ",");
    const char *end = *at + all;
    const char *bracket = memchr(*at, ']', all);
    const char *from = bracket != NULL ? bracket : *at;
    const char *colon = memchr(from, ':', (size_t)(end - from));
    char *stopped = NULL;

    server->host = *at;
    server->bytes = (size_t)((colon != NULL ? colon : end) - *at);
    server->port = port;
    *at = *end == ',' ? end + 1 : NULL;
    if (memchr(server->host, ' ', all) != NULL || server->bytes == 0)
        return false;
    if (colon == NULL)
        return true;
    if (colon[1] < '0' || colon[1] > '9')
        return false;
    server->port = (unsigned)strtoul(colon + 1, &stopped, 10);
    return stopped == end && server->port > 0 && server->port <= UINT16_MAX;
}

/* Is ${servers} a list of valid servers? */
static bool are_servers(const char *servers)
{
    struct auth_server server;
    bool good = true;

    while (servers != NULL && good)
        good = take_server(&servers, 1, &server);
    return good;
}

/* Does the list ${servers} contain the server ${wanted}? */
static bool has_server(const char *servers, const struct auth_server *wanted,
                       unsigned port)
{
    struct auth_server server;

    while (servers != NULL && take_server(&servers, port, &server)) {
        if (server.port == wanted->port && server.bytes == wanted->bytes &&
            strncasecmp(server.host, wanted->host, server.bytes) == 0)
            return true;
    }
    return false;
}

/* Does the list ${servers} contain all servers of ${wanted}, the list of the
 * URL?  Credentials for some of them are not enough, because the client may
 * connect to any server of the URL. */
static bool has_servers(const char *servers, const char *wanted, unsigned port)
{
    struct auth_server server;
    bool has = true;

    while (wanted != NULL && has)
        has = take_server(&wanted, port, &server) &&
              has_server(servers, &server, port);
    return has;
}

/* ----------------------------------------------------------------- lines -- */

/* Is the line valid UTF-8 without control characters? */
static bool is_text(const char *line)
{
    size_t bytes = strlen(line);
    uint32_t code = 0;

    for (size_t at = 0, length; at < bytes; at += length) {
        length = hf_utf8_decode(line + at, bytes - at, &code);
        if (length == 0 || hf_utf8_control(code))
            return false;
    }
    return true;
}

/* Store the user and the password of a line that is for the servers of the URL.
 * Returns NULL, or what is wrong with the line. */
static const char *use_credentials(struct auth_search *search, const char *user,
                                   size_t user_bytes, const char *password)
{
    struct hf_auth *auth = search->auth;

    if (search->matches++ > 0)
        return "more than one line of credentials for the servers of the URL";
    if (password[0] == '\0')
        return "a line without a user or without a password";
    if (user_bytes >= sizeof auth->user ||
        strlen(password) >= sizeof auth->password)
        return "a line that is too long";
    memcpy(auth->user, user, user_bytes);
    auth->user[user_bytes] = '\0';
    memcpy(auth->password, password, strlen(password) + 1);
    return NULL;
}

/* Read the line "user:password", which is for any server.  Returns NULL, or
 * what is wrong with the line. */
static const char *read_plain(struct auth_search *search, const char *text)
{
    const char *colon = strchr(text, ':');

    if (search->servers_required)
        return "a line that names no server";
    if (colon == NULL)
        return "a line without a user or without a password";
    return use_credentials(search, text, (size_t)(colon - text), colon + 1);
}

/* Is ${line} "scheme://user:password@servers", or the same with the path of a
 * socket instead of the servers? */
static bool is_credentials_url(const struct hf_url *line)
{
    bool socket = line->authority != NULL && line->authority[0] == '\0';

    return line->password != NULL && line->option_count == 0 &&
           (socket ? line->path[0] == '/' && line->path[1] != '\0'
                   : line->path[0] == '\0' && are_servers(line->authority));
}

/* Is ${line} for the scheme of the URL, and for all servers of the URL?  It may
 * be for other servers, too. */
static bool is_for_url(const struct auth_search *search,
                       const struct hf_url *line)
{
    const struct hf_url *url = search->wanted->url;

    if (strcmp(line->scheme, url->scheme) != 0)
        return false;
    if (url->authority == NULL)
        return strcmp(line->path, url->path) == 0;
    return line->authority[0] != '\0' &&
           has_servers(line->authority, url->authority, search->wanted->port);
}

/* Read a line that is a URL with credentials.  Returns NULL, or what is wrong
 * with the line. */
static const char *read_url(struct auth_search *search, const char *text)
{
    struct hf_error unused = {HF_OK, ""};
    const char *fault = NULL;
    struct hf_url line;

    if (hf_url_parse(text, &line, &unused) != HF_OK)
        return "a line that is not of the scheme of the URL, or not a URL";
    if (!is_credentials_url(&line))
        fault = "a line that is not a URL of credentials and servers alone";
    else if (is_for_url(search, &line))
        fault = use_credentials(search, line.user, strlen(line.user),
                                line.password);
    hf_url_free(&line);
    return fault;
}

/* Read one line; empty lines and comments are skipped.  Returns NULL, or what
 * is wrong with the line. */
static const char *read_line(struct auth_search *search, const char *line)
{
    size_t bytes = strlen(search->wanted->prefix);

    search->line++;
    if (line[0] == '\0' || line[0] == '#')
        return NULL;
    search->lines++;
    if (!is_text(line))
        return "bytes that are no text (a carriage return, perhaps)";
    if (strncmp(line, search->wanted->prefix, bytes) == 0 &&
        line[bytes] == ':' && strncmp(line + bytes, "://", 3) != 0)
        return read_plain(search, line + bytes + 1);
    return read_url(search, line);
}

/* ------------------------------------------------------------------ file -- */

/* Read all lines.  Returns NULL, or what is wrong with the file. */
static const char *read_lines(struct auth_search *search, char *text,
                              size_t bytes)
{
    const char *fault = NULL;
    char *rest = text;
    char *line;

    if (strlen(text) != bytes)
        return "a NUL in it";
    while (fault == NULL && (line = strsep(&rest, "\n")) != NULL)
        fault = read_line(search, line);
    if (fault != NULL)
        return fault;
    search->line = 0; /* the faults below are not those of a line */
    if (search->lines == 0)
        return "no line of credentials";
    if (search->matches == 0 && !search->servers_required)
        return "no line for the servers of the URL";
    return NULL;
}

/* Set ${error} to a text that names the file, the line and what is expected. */
static hf_status refuse(const struct auth_search *search, const char *path,
                        const char *fault, struct hf_error *error)
{
    char plain[64] = "", line[32] = "";

    if (!search->servers_required)
        (void)snprintf(plain, sizeof plain, "%.16s:USER:PASSWORD or ",
                       search->wanted->prefix);
    if (search->line > 0)
        (void)snprintf(line, sizeof line, " (line %zu)", search->line);
    return hf_error_set(error, HF_EURL,
                        "the file of credentials %s has %s%s; expected a line "
                        "%s%.16s://USER:PASSWORD@HOST:PORT, each part of less "
                        "than %d bytes",
                        path, fault, line, plain, search->wanted->url->scheme,
                        HF_AUTH_BYTES);
}

hf_status hf_auth_parse(const struct hf_auth_wanted *wanted, const char *path,
                        char *text, size_t bytes, struct hf_auth *auth,
                        struct hf_error *error)
{
    struct auth_search search = {
        .wanted = wanted,
        .servers_required = hf_url_option(wanted->url, "auth_file") == NULL,
        .auth = auth};
    const char *fault;

    *auth = (struct hf_auth){.path = path};
    fault = read_lines(&search, text, bytes);
    if (fault != NULL)
        return refuse(&search, path, fault, error);
    auth->for_other_servers = search.matches == 0;
    return HF_OK;
}

hf_status hf_auth_find(const struct hf_auth_wanted *wanted,
                       struct hf_auth *auth, struct hf_error *error)
{
    const char *path = hf_url_option(wanted->url, "auth_file");
    char text[HF_SECRET_FILE_BYTES];
    size_t bytes = 0;
    hf_status status;

    *auth = (struct hf_auth){.path = NULL};
    /* secure_getenv(), because the environment of a set-user-id program
     * belongs to its caller. */
    if (path == NULL && wanted->url->user == NULL)
        path = secure_getenv("HOLDFAST_AUTH_FILE");
    if (path == NULL)
        return HF_OK;
    if (path[0] == '\0')
        return hf_error_set(error, HF_EURL,
                            "%s is empty; expected the path of a file with "
                            "credentials, or nothing of that name",
                            hf_url_option(wanted->url, "auth_file") != NULL
                                ? "auth_file="
                                : "HOLDFAST_AUTH_FILE");
    status = hf_secret_file_read(path, text, &bytes, error);
    if (status == HF_OK)
        status = hf_auth_parse(wanted, path, text, bytes, auth, error);
    explicit_bzero(text, sizeof text);
    return status;
}
