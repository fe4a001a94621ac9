/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules for lock names.  A name is a path of components.  It must be valid
 * for every engine, so the strictest one decides: ZooKeeper for characters, and
 * the dialects of ZooKeeper locks for components that look like tickets.
 */
#include "core/lock_name.h"

#include <assert.h>
#include <inttypes.h>
#include <string.h>

#include <holdfast/lock.h>

#include "base/error.h"
#include "base/quote.h"
#include "base/secret.h"
#include "base/utf8.h"

struct name_span {
    const char *text;
    size_t bytes;
};

static bool is(struct name_span span, const char *word)
{
    return span.bytes == strlen(word) &&
           memcmp(span.text, word, span.bytes) == 0;
}

static bool starts(struct name_span span, const char *with)
{
    size_t bytes = strlen(with);

    return span.bytes >= bytes && memcmp(span.text, with, bytes) == 0;
}

static bool ends(struct name_span span, const char *with)
{
    size_t bytes = strlen(with);

    return span.bytes >= bytes &&
           memcmp(span.text + span.bytes - bytes, with, bytes) == 0;
}

/* -------------------------------------------------------------- tickets -- */

/*
 * A lock "a/b" on ZooKeeper is a node below that of the lock "a", among its
 * tickets.  A component that some dialect reads as a ticket would stand in that
 * queue for ever, because no session owns it.
 *
 * The rule, for every dialect at once: a ticket's prefix and then a sequence
 * number at the end.  The prefixes are those of Curator and go-zookeeper
 * (lock-, lease-, latch-, __READ__, __WRIT__) and of kazoo (__lock__,
 * __rlock__), whatever comes before them.  ZooKeeper's own WriteLock has "x-",
 * anything, and "-".
 */
static const char *const ticket_prefixes[] = {
    "lock-",    "lease-",   "latch-",    "__READ__",
    "__WRIT__", "__lock__", "__rlock__",
};

/* Drop ${count} digits from the end of ${span}; false if there are fewer. */
static bool drop_digits(struct name_span *span, size_t count)
{
    if (span->bytes < count)
        return false;
    for (size_t i = span->bytes - count; i < span->bytes; i++)
        if (span->text[i] < '0' || span->text[i] > '9')
            return false;
    span->bytes -= count;
    return true;
}

/* Drop a minus from the end; false if there is none. */
static bool drop_minus(struct name_span *span)
{
    if (!ends(*span, "-"))
        return false;
    span->bytes--;
    return true;
}

/* Is the end what a ticket's name has in front of its sequence number? */
static bool ends_in_ticket_prefix(struct name_span span)
{
    for (size_t i = 0; i < sizeof(ticket_prefixes) / sizeof(ticket_prefixes[0]);
         i++)
        if (ends(span, ticket_prefixes[i]))
            return true;
    return starts(span, "x-") && ends(span, "-") && span.bytes > 2;
}

/* Would some dialect read ${span} as a ticket?  The server writes the sequence
 * number as "%010d" of an int32: ten digits, a minus and ten, or a minus and
 * nine. */
static bool looks_like_ticket(struct name_span span)
{
    struct name_span shorter = span;

    if (drop_digits(&span, 10))
        return ends_in_ticket_prefix(span) ||
               (drop_minus(&span) && ends_in_ticket_prefix(span));
    return drop_digits(&shorter, 9) && drop_minus(&shorter) &&
           ends_in_ticket_prefix(shorter);
}

/* ----------------------------------------------------------- characters -- */

/* Refuse a ${name} with a character that is not valid UTF-8 or not allowed. */
static hf_status check_characters(struct name_span name, struct hf_error *error)
{
    uint32_t code;

    for (size_t at = 0, length; at < name.bytes; at += length) {
        const char *why;

        length = hf_utf8_decode(name.text + at, name.bytes - at, &code);
        if (length == 0)
            return hf_error_set(error, HF_ENAME,
                                "the lock name %s has the byte \\x%02X at "
                                "offset %zu, which is not valid UTF-8; "
                                "expected UTF-8 text",
                                hf_quote(name.text, name.bytes).text,
                                (unsigned char)name.text[at], at);
        why = hf_path_character_why_refused(code);
        if (why != NULL)
            return hf_error_set(
                error, HF_ENAME,
                "the lock name %s has U+%04" PRIX32 " at offset %zu, %s; "
                "expected other characters",
                hf_quote(name.text, name.bytes).text, code, at, why);
    }
    return HF_OK;
}

/* ----------------------------------------------------------- components -- */

/* Refuse a ${component} that is empty, too long, "." or "..". */
static hf_status check_shape(struct name_span name, struct name_span component,
                             struct hf_error *error)
{
    struct hf_quoted quoted_name = hf_quote(name.text, name.bytes);

    if (component.bytes == 0)
        return hf_error_set(error, HF_ENAME,
                            "the lock name %s has an empty component; "
                            "expected one '/' between components and none "
                            "at the end",
                            quoted_name.text);
    if (component.bytes > HF_NAME_COMPONENT_BYTES)
        return hf_error_set(
            error, HF_ENAME,
            "the component %s of the lock name has %zu bytes; expected at "
            "most %d",
            hf_quote(component.text, component.bytes).text, component.bytes,
            HF_NAME_COMPONENT_BYTES);
    if (is(component, ".") || is(component, ".."))
        return hf_error_set(error, HF_ENAME,
                            "the lock name %s has the component %s; expected "
                            "a name without \".\" and \"..\"",
                            quoted_name.text,
                            hf_quote(component.text, component.bytes).text);
    return HF_OK;
}

/* Refuse a ${component} that ZooKeeper or the node of a success uses, or that
 * looks like a ticket. */
static hf_status check_reserved(struct name_span component, bool first,
                                struct hf_error *error)
{
    struct hf_quoted quoted = hf_quote(component.text, component.bytes);

    if (first && is(component, "zookeeper"))
        return hf_error_set(error, HF_ENAME,
                            "the lock name begins with the component %s, "
                            "which ZooKeeper keeps for itself; expected "
                            "another first component",
                            quoted.text);
    if (starts(component, HF_NAME_SUCCESS))
        return hf_error_set(error, HF_ENAME,
                            "the component %s of the lock name begins with "
                            "\"" HF_NAME_SUCCESS "\", as the node of a success "
                            "does; expected another name",
                            quoted.text);
    if (looks_like_ticket(component))
        return hf_error_set(error, HF_ENAME,
                            "the component %s of the lock name looks like a "
                            "ticket; expected one that does not end in a "
                            "ticket's prefix and sequence number",
                            quoted.text);
    return HF_OK;
}

/* Check each component of ${name}. */
static hf_status check_components(struct name_span name, struct hf_error *error)
{
    const char *end = name.text + name.bytes;
    const char *from = name.text;
    hf_status st = HF_OK;

    /* Each turn takes a component and its '/'; the last has none. */
    while (st == HF_OK && from != NULL) {
        const char *slash = memchr(from, '/', (size_t)(end - from));
        struct name_span component = {
            from, (size_t)((slash != NULL ? slash : end) - from)};

        st = check_shape(name, component, error);
        if (st == HF_OK)
            st = check_reserved(component, from == name.text, error);
        from = slash != NULL ? slash + 1 : NULL;
    }
    return st;
}

/* Anybody may look at names and print them.  A URL with a password is refused,
 * because it was given as a name by mistake. */
static hf_status check_secret(struct name_span name, struct hf_error *error)
{
    struct hf_secrets secrets;
    struct hf_secret secret;

    hf_secrets_begin(&secrets, name.text, name.bytes);
    if (!hf_secrets_next(&secrets, &secret))
        return HF_OK;
    return hf_error_set(error, HF_ENAME,
                        "the lock name %s looks like a URL with a password; "
                        "expected a name, and the URL as -c URL, in "
                        "HOLDFAST_URL, or as the argument of "
                        "hf_client_open()",
                        hf_quote(name.text, name.bytes).text);
}

hf_status hf_lock_name_check(const char *text, const char **canonical,
                             struct hf_error *error)
{
    struct name_span name;
    hf_status st;

    assert(text != NULL && canonical != NULL);
    name.text = text[0] == '/' ? text + 1 : text;
    name.bytes = strnlen(name.text, HF_NAME_BYTES + 1);
    if (name.bytes == 0)
        return hf_error_set(error, HF_ENAME,
                            "the lock name %s is empty; expected 1 to %d bytes",
                            hf_quote(text, strlen(text)).text, HF_NAME_BYTES);
    if (name.bytes > HF_NAME_BYTES)
        return hf_error_set(
            error, HF_ENAME,
            "the lock name %s has %zu bytes; expected at most %d",
            hf_quote(name.text, name.bytes).text, strlen(name.text),
            HF_NAME_BYTES);
    st = check_characters(name, error);
    if (st == HF_OK)
        st = check_components(name, error);
    if (st == HF_OK)
        st = check_secret(name, error);
    if (st == HF_OK)
        *canonical = name.text;
    return st;
}
