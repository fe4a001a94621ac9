/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The parser of URLs.  Error texts say in which part and at which offset
 * something is wrong.  They quote keys and schemes, once these were checked to
 * be plain words.  They never quote anything else, because a piece of the
 * password may be anywhere in a malformed URL.
 */
#include "base/url.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/secret.h"
#include "base/utf8.h"

#define SCHEME_BYTES 32
#define KEY_BYTES 64

/* A stretch of the text being parsed. */
struct url_span {
    const char *from;
    const char *end;
};

struct url_parser {
    const char *text;
    char *to; /* where the next decoded part is written, with a NUL */
    struct hf_url *url;
    struct hf_error *error;
};

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static char to_lower(char c)
{
    if (c >= 'A' && c <= 'Z')
        return (char)(c | 0x20);
    return c;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Is ${text} a lower-case word, as schemes and keys are? */
static bool is_word(const char *text)
{
    for (const char *at = text; *at != '\0'; at++)
        if (!is_lower(*at) &&
            !(at > text && (is_digit(*at) || strchr("_-.+", *at) != NULL)))
            return false;
    return text[0] != '\0';
}

static int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return -1;
}

/* Return where ${c} is first found in ${in}, or NULL. */
static const char *find(struct url_span in, char c)
{
    return memchr(in.from, c, (size_t)(in.end - in.from));
}

/* Return the part of ${in} before the first ${c}, and let ${in} begin after
 * that ${c}.  Without a ${c} return all of ${in}. */
static struct url_span cut_at(struct url_span *in, char c)
{
    const char *at = find(*in, c);
    struct url_span head = {in->from, at != NULL ? at : in->end};

    in->from = at != NULL ? at + 1 : in->end;
    return head;
}

/* The offset of ${at} in the URL, for error texts. */
static size_t offset(const struct url_parser *parser, const char *at)
{
    return (size_t)(at - parser->text);
}

/* ------------------------------------------------------------- decoding -- */

/* Decode ${in} into ${parser}->to, and set ${out} to the decoded text.  ${what}
 * is what error texts call this part of the URL. */
static hf_status decode(struct url_parser *parser, struct url_span in,
                        const char *what, const char **out)
{
    char *start = parser->to;

    for (const char *at = in.from; at < in.end; at++) {
        char byte = *at;

        if (byte == '%') {
            int high = in.end - at > 2 ? hex_value(at[1]) : -1;
            int low = in.end - at > 2 ? hex_value(at[2]) : -1;

            if (high < 0 || low < 0)
                return hf_error_set(
                    parser->error, HF_EURL,
                    "the URL has a '%%' at offset %zu, in the %s, that is no "
                    "escape; expected two hex digits after it, or \"%%25\" for "
                    "a plain '%%'",
                    offset(parser, at), what);
            byte = (char)(high * 16 + low);
            at += 2;
        }
        if (byte == '\0')
            return hf_error_set(parser->error, HF_EURL,
                                "the URL has a NUL (\"%%00\") at offset %zu, "
                                "in the %s; expected text without it",
                                offset(parser, at) - 2, what);
        *parser->to++ = byte;
    }
    if (!hf_utf8_valid(start, (size_t)(parser->to - start)))
        return hf_error_set(parser->error, HF_EURL,
                            "the %s of the URL is not valid UTF-8; expected "
                            "UTF-8 text once its escapes are decoded",
                            what);
    *parser->to++ = '\0';
    *out = start;
    return HF_OK;
}

/* ---------------------------------------------------------------- parts -- */

/* Refuse control characters and '#', before anything is cut. */
static hf_status check_raw(const struct url_parser *parser, struct url_span in)
{
    for (const char *at = in.from; at < in.end; at++) {
        if ((unsigned char)*at < 0x20 || *at == 0x7F)
            return hf_error_set(parser->error, HF_EURL,
                                "the URL has the control character \\x%02X at "
                                "offset %zu; expected it escaped, as %%%02X",
                                (unsigned)*at, offset(parser, at),
                                (unsigned)*at);
        if (*at == '#')
            return hf_error_set(parser->error, HF_EURL,
                                "the URL has a '#' at offset %zu; expected it "
                                "escaped, as %%23",
                                offset(parser, at));
    }
    return HF_OK;
}

/* Cut the scheme off ${rest}. */
static hf_status parse_scheme(struct url_parser *parser, struct url_span *rest)
{
    char *scheme = parser->to;
    bool has_colon = find(*rest, ':') != NULL;
    struct url_span in = cut_at(rest, ':');
    size_t bytes = (size_t)(in.end - in.from);

    if (*in.from == '@')
        return hf_error_set(parser->error, HF_EURL,
                            "a profile (@NAME) stands for a URL in the "
                            "commands of holdfast only; expected the URL "
                            "itself");
    if (has_colon && bytes <= SCHEME_BYTES) {
        for (size_t i = 0; i < bytes; i++)
            scheme[i] = to_lower(in.from[i]);
        scheme[bytes] = '\0';
        parser->to += bytes + 1;
        parser->url->scheme = scheme;
        if (is_word(scheme))
            return HF_OK;
    }
    return hf_error_set(parser->error, HF_EURL,
                        "the URL does not begin with a scheme and ':'; "
                        "expected something like \"file:/run/holdfast\" or "
                        "\"zk://host:2181\"");
}

/* Cut "user:password@" off the authority, if there is an '@'. */
static hf_status parse_userinfo(struct url_parser *parser,
                                struct url_span *authority)
{
    const char *at = memrchr(authority->from, '@',
                             (size_t)(authority->end - authority->from));
    struct url_span user, password;
    bool has_password;
    hf_status st;

    if (at == NULL)
        return HF_OK;
    password = (struct url_span){authority->from, at};
    authority->from = at + 1;
    has_password = find(password, ':') != NULL;
    user = cut_at(&password, ':');
    st = decode(parser, user, "user", &parser->url->user);
    if (st == HF_OK && has_password)
        st = decode(parser, password, "password", &parser->url->password);
    return st;
}

/* Refuse an '@' at or behind ${from}.  It would be the end of a password that
 * has an unescaped '/' or '?' in it. */
static hf_status refuse_at(struct url_parser *parser, const char *from)
{
    struct url_span after = {from, parser->text + strlen(parser->text)};

    if (find(after, '@') == NULL)
        return HF_OK;
    return hf_error_set(parser->error, HF_EURL,
                        "the URL has an '@' at offset %zu, behind its "
                        "hosts; expected it escaped, as %%40 (and in a "
                        "password '/' as %%2F and '?' as %%3F)",
                        offset(parser, find(after, '@')));
}

/* Cut user, password and hosts off ${rest}, which begins with "//". */
static hf_status parse_authority(struct url_parser *parser,
                                 struct url_span *rest)
{
    struct url_span authority;
    const char *slash;
    hf_status st;

    rest->from += 2;
    slash = find(*rest, '/');
    authority =
        (struct url_span){rest->from, slash != NULL ? slash : rest->end};
    rest->from = authority.end;
    st = refuse_at(parser, rest->from);
    if (st != HF_OK)
        return st;
    st = parse_userinfo(parser, &authority);
    if (st == HF_OK)
        st = decode(parser, authority, "host list", &parser->url->authority);
    return st;
}

/* Copy what follows "quorum:", the URLs of other engines, without decoding it.
 */
static hf_status parse_inner(struct url_parser *parser, struct url_span rest)
{
    size_t bytes = (size_t)(rest.end - rest.from);

    if (!hf_utf8_valid(rest.from, bytes))
        return hf_error_set(parser->error, HF_EURL,
                            "the servers of the URL are not valid UTF-8; "
                            "expected UTF-8 text");
    memcpy(parser->to, rest.from, bytes);
    parser->to[bytes] = '\0';
    parser->url->inner = parser->to;
    parser->url->path = "";
    parser->to += bytes + 1;
    return refuse_at(parser, rest.end);
}

/* Is there "user:password@" in ${rest}, which has no "//" and thus no servers?
 * The path of a socket may contain anything, but hardly a ':' before an '@'. */
static bool has_userinfo(struct url_span rest)
{
    const char *colon = find(rest, ':');

    return colon != NULL &&
           find((struct url_span){colon, rest.end}, '@') != NULL;
}

/* Parse the servers, if there are any, and the path. */
static hf_status parse_servers(struct url_parser *parser, struct url_span rest)
{
    hf_status st = HF_OK;

    if (rest.end - rest.from >= 2 && rest.from[0] == '/' && rest.from[1] == '/')
        st = parse_authority(parser, &rest);
    else if (rest.from < rest.end && rest.from[0] != '/')
        st = hf_error_set(parser->error, HF_EURL,
                          "the URL has neither \"//\" nor a path from '/' on "
                          "behind \"%s:\"; expected SCHEME://SERVERS, or "
                          "SCHEME: and an absolute path, so that every process "
                          "means the same place",
                          parser->url->scheme);
    else if (strcmp(parser->url->scheme, "file") != 0 && has_userinfo(rest))
        st = hf_error_set(parser->error, HF_EURL,
                          "the URL has a user and a password and no \"//\" in "
                          "front of them; expected "
                          "%s://USER:PASSWORD@HOST (a ':' or '@' in the path "
                          "of a socket as %%3A and %%40)",
                          parser->url->scheme);
    if (st == HF_OK)
        st = decode(parser, rest, "path", &parser->url->path);
    return st;
}

/* Parse one KEY=VALUE.  A key may be given once. */
static hf_status parse_option(struct url_parser *parser, struct url_span in)
{
    struct hf_url *url = parser->url;
    size_t number = url->option_count + 1;
    struct hf_url_option *option;
    bool has_value = find(in, '=') != NULL;
    struct url_span key = cut_at(&in, '=');
    char what[KEY_BYTES + 40];
    hf_status st;

    if (number > HF_URL_OPTIONS)
        return hf_error_set(parser->error, HF_EURL,
                            "the URL has more than %d options; expected fewer",
                            HF_URL_OPTIONS);
    option = &url->options[url->option_count];
    snprintf(what, sizeof(what), "key of option %zu", number);
    st = decode(parser, key, what, &option->key);
    if (st != HF_OK)
        return st;
    if (!has_value || !is_word(option->key) || strlen(option->key) > KEY_BYTES)
        return hf_error_set(parser->error, HF_EURL,
                            "option %zu of the URL, at offset %zu, is not "
                            "KEY=VALUE; expected a key of lower-case letters, "
                            "digits and '_', and '&' between options",
                            number, offset(parser, key.from));
    if (hf_url_option(url, option->key) != NULL)
        return hf_error_set(parser->error, HF_EURL,
                            "the URL has the option \"%s\" twice; expected it "
                            "once",
                            option->key);
    snprintf(what, sizeof(what), "value of the option \"%s\"", option->key);
    st = decode(parser, in, what, &option->value);
    if (st == HF_OK)
        url->option_count = number;
    return st;
}

/* Parse the options, which are separated by '&'. */
static hf_status parse_options(struct url_parser *parser, struct url_span query)
{
    hf_status st = HF_OK;
    bool more = query.from < query.end;

    while (st == HF_OK && more) {
        more = find(query, '&') != NULL;
        st = parse_option(parser, cut_at(&query, '&'));
    }
    return st;
}

/* Parse all parts in their order. */
static hf_status parse(struct url_parser *parser)
{
    struct url_span query = {parser->text, parser->text + strlen(parser->text)};
    struct url_span rest;
    hf_status st;

    st = check_raw(parser, query);
    if (st != HF_OK)
        return st;
    rest = cut_at(&query, '?');
    st = parse_scheme(parser, &rest);
    if (st == HF_OK)
        st = strcmp(parser->url->scheme, "quorum") == 0
                 ? parse_inner(parser, rest)
                 : parse_servers(parser, rest);
    if (st == HF_OK)
        st = parse_options(parser, query);
    return st;
}

/* ------------------------------------------------------------ interface -- */

hf_status hf_url_parse(const char *text, struct hf_url *url,
                       struct hf_error *error)
{
    struct url_parser parser = {.text = text, .url = url, .error = error};
    size_t bytes = strnlen(text, HF_URL_BYTES + 1);
    hf_status st;

    *url = (struct hf_url){0};
    if (bytes > HF_URL_BYTES)
        return hf_error_set(error, HF_EURL,
                            "the URL has %zu bytes; expected at most %d",
                            strlen(text), HF_URL_BYTES);
    /* No decoded part is longer than its escaped form, and its NUL takes the
     * place of the separator behind it.  Two bytes are added: one for the NUL
     * behind the servers, because the path keeps its '/', and one for the NUL
     * at the end. */
    url->memory_bytes = bytes + 2;
    url->memory = hf_alloc(url->memory_bytes);
    if (url->memory == NULL)
        return hf_error_set(error, HF_ENOMEM,
                            "no memory for a URL of %zu bytes", bytes);
    parser.to = url->memory;
    st = parse(&parser);
    assert(parser.to <= url->memory + url->memory_bytes);
    if (st != HF_OK)
        hf_url_free(url);
    return st;
}

void hf_url_free(struct hf_url *url)
{
    if (url->memory != NULL)
        explicit_bzero(url->memory, url->memory_bytes);
    hf_free(url->memory);
    *url = (struct hf_url){0};
}

const char *hf_url_option(const struct hf_url *url, const char *key)
{
    for (size_t i = 0; i < url->option_count; i++)
        if (strcmp(url->options[i].key, key) == 0)
            return url->options[i].value;
    return NULL;
}

/* ---------------------------------------------------------------- secret -- */

/* Is the key at the start of ${in} one for passwords?  A key with escapes is
 * taken for one, because nobody escapes a plain word without a reason. */
static bool is_secret_key(struct url_span in)
{
    struct url_span key = cut_at(&in, '=');

    return find(key, '%') != NULL ||
           hf_secret_key(key.from, (size_t)(key.end - key.from));
}

bool hf_url_has_secret(const char *text)
{
    struct url_span all = {text, text + strlen(text)};
    struct url_span query = all;
    const char *colon = find(all, ':');
    const char *at = memrchr(all.from, '@', (size_t)(all.end - all.from));

    /* Skip the colon of the scheme where it is certain to be that. */
    if (colon != NULL &&
        (strncmp(colon, "://", 3) == 0 || strncasecmp(text, "file:", 5) == 0))
        colon = find((struct url_span){colon + 1, all.end}, ':');
    if (colon != NULL && at != NULL && colon < at)
        return true;
    (void)cut_at(&query, '?');
    while (query.from < query.end)
        if (is_secret_key(cut_at(&query, '&')))
            return true;
    return false;
}
