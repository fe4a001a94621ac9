/* SPDX-License-Identifier: Apache-2.0 */
/* A name is parsed from left to right: each skip function consumes one part or
 * leaves the rest as it is.  Each dialect is tried in turn. */
#include "engines/zookeeper/node_name.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/sha256.h"

#define UUID_BYTES 36 /* with hyphens */
#define HEX_BYTES 32
#define DIGITS_LEAST 10 /* "%010d"; a sign counts */
#define DIGITS_MOST 11
#define SESSION_DIGITS_MOST 20 /* 64 bits in decimal, with a sign */

/* A text within a name that stands for the kind of the ticket. */
struct marker {
    const char *text;
    enum hf_ticket_kind kind;
};

static const struct marker curator_markers[] = {
    {"lock-", HF_TICKET_MUTEX},     {"__READ__", HF_TICKET_READ},
    {"__WRIT__", HF_TICKET_WRITE},  {"lease-", HF_TICKET_LEASE},
    {"latch-", HF_TICKET_ELECTION},
};

static const struct marker kazoo_markers[] = {
    {"__lock__", HF_TICKET_EXCLUSIVE},
    {"__rlock__", HF_TICKET_READ},
};

/* What is left of a name that is being parsed. */
struct name_rest {
    const char *text;
    size_t bytes;
};

/* Consume ${text} if the rest begins with it. */
static bool skip(struct name_rest *rest, const char *text)
{
    size_t bytes = strlen(text);

    if (rest->bytes < bytes || memcmp(rest->text, text, bytes) != 0)
        return false;
    rest->text += bytes;
    rest->bytes -= bytes;
    return true;
}

/* Consume one of ${markers} and set ${kind}. */
static bool skip_marker(struct name_rest *rest, const struct marker *markers,
                        size_t count, enum hf_ticket_kind *kind)
{
    for (size_t i = 0; i < count; i++) {
        if (skip(rest, markers[i].text)) {
            *kind = markers[i].kind;
            return true;
        }
    }
    return false;
}

/* The value of a lower-case hexadecimal digit, or -1. */
static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    return -1;
}

/* Consume an id of 32 hexadecimal digits. */
static bool skip_hex(struct name_rest *rest, struct hf_ticket_id *id)
{
    if (rest->bytes < HEX_BYTES)
        return false;
    for (size_t i = 0; i < HF_TICKET_ID_BYTES; i++) {
        int high = hex_digit(rest->text[2 * i]);
        int low = hex_digit(rest->text[2 * i + 1]);

        if (high < 0 || low < 0)
            return false;
        id->bytes[i] = (uint8_t)(high << 4 | low);
    }
    rest->text += HEX_BYTES;
    rest->bytes -= HEX_BYTES;
    return true;
}

bool hf_zk_engine_node_parse_hex(const char *text, size_t bytes,
                                 struct hf_ticket_id *id)
{
    struct name_rest rest = {text, bytes};

    return bytes == HEX_BYTES && skip_hex(&rest, id);
}

/* Consume an id in the form of a UUID. */
static bool skip_uuid(struct name_rest *rest, struct hf_ticket_id *id)
{
    if (rest->bytes < UUID_BYTES ||
        !hf_ticket_id_parse(id, rest->text, UUID_BYTES))
        return false;
    rest->text += UUID_BYTES;
    rest->bytes -= UUID_BYTES;
    return true;
}

/* Is all of the rest a sequence number as servers write it? */
static bool is_sequence(const struct name_rest *rest, int32_t *sequence)
{
    bool negative = rest->bytes > 0 && rest->text[0] == '-';
    int64_t value = 0;

    if (rest->bytes < DIGITS_LEAST || rest->bytes > DIGITS_MOST)
        return false;
    for (size_t i = negative; i < rest->bytes; i++) {
        if (rest->text[i] < '0' || rest->text[i] > '9')
            return false;
        value = 10 * value + (rest->text[i] - '0');
    }
    value = negative ? -value : value;
    if (value < INT32_MIN || value > INT32_MAX ||
        (!negative && rest->bytes != DIGITS_LEAST))
        return false;
    *sequence = (int32_t)value;
    return true;
}

/* An id for a name that contains none: a digest of the name, marked as UUID
 * version 8 ("vendor specific", RFC 9562), which no program generates. */
static struct hf_ticket_id digest_id(const char *name, size_t bytes)
{
    struct hf_ticket_id id;
    uint8_t digest[HF_SHA256_BYTES];

    hf_sha256(name, bytes, digest);
    memcpy(id.bytes, digest, sizeof id.bytes);
    id.bytes[6] = (uint8_t)((id.bytes[6] & 0x0f) | 0x80);
    id.bytes[8] = (uint8_t)((id.bytes[8] & 0x3f) | 0x80);
    return id;
}

/* Parse a name of Curator, or of go-zookeeper, which begins in the same way. */
static bool is_curator(struct name_rest rest, struct hf_zk_engine_node *node)
{
    size_t count = sizeof curator_markers / sizeof curator_markers[0];
    const char *name = rest.text;
    size_t bytes = rest.bytes;

    node->dialect = HF_ZK_CURATOR;
    if (!skip(&rest, "_c_")) {
        node->id = digest_id(name, bytes);
    } else if (!skip_uuid(&rest, &node->id)) {
        node->dialect = HF_ZK_GO;
        if (!skip_hex(&rest, &node->id) || !skip(&rest, "-lock-"))
            return false;
        node->kind = HF_TICKET_MUTEX;
        return is_sequence(&rest, &node->sequence);
    } else if (!skip(&rest, "-")) {
        return false;
    }
    return skip_marker(&rest, curator_markers, count, &node->kind) &&
           is_sequence(&rest, &node->sequence);
}

/* Parse a name of kazoo. */
static bool is_kazoo(struct name_rest rest, struct hf_zk_engine_node *node)
{
    size_t count = sizeof kazoo_markers / sizeof kazoo_markers[0];

    node->dialect = HF_ZK_KAZOO;
    return skip_hex(&rest, &node->id) &&
           skip_marker(&rest, kazoo_markers, count, &node->kind) &&
           is_sequence(&rest, &node->sequence);
}

/* Consume a session id, in decimal as Java writes it (it may be negative) or
 * in hexadecimal as the C client does. */
static bool skip_session(struct name_rest *rest)
{
    size_t digits = 0;

    (void)skip(rest, "-");
    while (digits < rest->bytes && digits < SESSION_DIGITS_MOST &&
           hex_digit(rest->text[digits]) >= 0)
        digits++;
    rest->text += digits;
    rest->bytes -= digits;
    return digits > 0;
}

/* Parse a name of WriteLock: x-, a session or our id, -, the sequence. */
static bool is_writelock(struct name_rest rest, struct hf_zk_engine_node *node)
{
    const char *name = rest.text;
    size_t bytes = rest.bytes;

    if (!skip(&rest, "x-"))
        return false;
    node->dialect = HF_ZK_WRITELOCK;
    node->kind = HF_TICKET_MUTEX;
    if (!skip_hex(&rest, &node->id)) {
        node->id = digest_id(name, bytes);
        if (!skip_session(&rest))
            return false;
    }
    return skip(&rest, "-") && is_sequence(&rest, &node->sequence);
}

bool hf_zk_engine_node_parse(const char *name, size_t bytes,
                             struct hf_zk_engine_node *node)
{
    struct name_rest rest = {name, bytes};

    return is_curator(rest, node) || is_kazoo(rest, node) ||
           is_writelock(rest, node);
}

/* --------------------------------------------------------------- layouts -- */

/* How a layout writes names: a text before the id, the id, and a text after it
 * that depends on the kind, NULL if the layout has none for that kind. */
struct layout {
    const char *name;
    const char *before;
    const char *after[HF_TICKET_QUEUED_LAST + 1];
    bool hyphens;                 /* the id is written with hyphens */
    bool seen_by[HF_ZK_DIALECTS]; /* see hf_zk_engine_dialect_sees() */
};

static const struct layout layouts[] = {
    [HF_ZK_CURATOR] = {.name = "curator",
                       .before = "_c_",
                       .after = {[HF_TICKET_MUTEX] = "-lock-",
                                 [HF_TICKET_READ] = "-__READ__",
                                 [HF_TICKET_WRITE] = "-__WRIT__",
                                 [HF_TICKET_LEASE] = "-lease-",
                                 [HF_TICKET_ELECTION] = "-latch-"},
                       .hyphens = true,
                       .seen_by = {[HF_ZK_CURATOR] = true,
                                   [HF_ZK_GO] = true,
                                   [HF_ZK_WRITELOCK] = true}},
    [HF_ZK_KAZOO] = {.name = "kazoo",
                     .before = "",
                     .after = {[HF_TICKET_MUTEX] = "__lock__",
                               [HF_TICKET_READ] = "__rlock__",
                               [HF_TICKET_WRITE] = "__lock__",
                               [HF_TICKET_ELECTION] = "__lock__"},
                     .seen_by = {[HF_ZK_KAZOO] = true, [HF_ZK_GO] = true}},
    [HF_ZK_WRITELOCK] =
        {.name = "writelock",
         .before = "x-",
         .after = {[HF_TICKET_MUTEX] = "-"},
         .seen_by = {[HF_ZK_WRITELOCK] = true, [HF_ZK_GO] = true}},
};

/* Write the id with or without hyphens. */
static void format_id(const struct hf_ticket_id *id, bool hyphens,
                      char text[HF_TICKET_ID_TEXT_BYTES])
{
    char *to = text;

    hf_ticket_id_format(id, text);
    if (hyphens)
        return;
    for (const char *from = text; *from != '\0'; from++)
        if (*from != '-')
            *to++ = *from;
    *to = '\0';
}

void hf_zk_engine_node_format_hex(const struct hf_ticket_id *id,
                                  char text[HF_ZK_NODE_BYTES])
{
    format_id(id, false, text);
}

bool hf_zk_engine_node_prefix(enum hf_zk_engine_dialect layout,
                              const struct hf_ticket_id *id,
                              enum hf_ticket_kind kind,
                              char prefix[HF_ZK_PREFIX_BYTES])
{
    /* Only Curator has numbered leases, so every layout uses its names. */
    const struct layout *of =
        &layouts[kind == HF_TICKET_LEASE ? HF_ZK_CURATOR : layout];
    char text[HF_TICKET_ID_TEXT_BYTES];

    assert(of->name != NULL);
    assert(kind >= HF_TICKET_MUTEX && kind <= HF_TICKET_QUEUED_LAST);
    if (of->after[kind] == NULL)
        return false;
    format_id(id, of->hyphens, text);
    snprintf(prefix, HF_ZK_PREFIX_BYTES, "%s%s%s", of->before, text,
             of->after[kind]);
    return true;
}

const char *hf_zk_engine_dialect_name(enum hf_zk_engine_dialect dialect)
{
    return dialect == HF_ZK_GO ? "go-zookeeper" : layouts[dialect].name;
}

const char *hf_zk_engine_layout_name(enum hf_zk_engine_dialect layout)
{
    return layouts[layout].name;
}

bool hf_zk_engine_dialect_sees(enum hf_zk_engine_dialect dialect,
                               enum hf_zk_engine_dialect layout)
{
    return layouts[layout].seen_by[dialect];
}

void hf_zk_engine_node_format_name(const char *prefix, int32_t sequence,
                                   char name[HF_ZK_NODE_BYTES])
{
    int bytes =
        snprintf(name, HF_ZK_NODE_BYTES, "%s%010" PRId32, prefix, sequence);

    assert(bytes > 0 && bytes < HF_ZK_NODE_BYTES);
    (void)bytes;
}

size_t hf_zk_engine_node_sequence_bytes(int32_t sequence)
{
    return (size_t)snprintf(NULL, 0, "%010" PRId32, sequence);
}

uint64_t hf_zk_engine_node_order(int32_t sequence)
{
    return (uint32_t)sequence;
}

/* --------------------------------------------------------------- pattern -- */

/* The name must have exactly the length that our layout gives it. */
bool hf_zk_engine_pattern_of(const struct hf_zk_engine_node *node,
                             const char *name,
                             struct hf_zk_engine_pattern *pattern)
{
    const struct layout *layout = &layouts[node->dialect];
    size_t bytes = strlen(name), after;

    if (node->kind > HF_TICKET_QUEUED_LAST || node->sequence < 0 ||
        layout->after[node->kind] == NULL)
        return false;
    after = strlen(layout->after[node->kind]);
    if (bytes != strlen(layout->before) +
                     (layout->hyphens ? UUID_BYTES : HEX_BYTES) + after +
                     DIGITS_LEAST)
        return false;
    *pattern = (struct hf_zk_engine_pattern){
        .name = name,
        .bytes = bytes,
        .id_at = strlen(layout->before),
        .kind_at = bytes - DIGITS_LEAST - after,
        .digits_at = bytes - DIGITS_LEAST,
    };
    return true;
}

/* Numbers of the same length compare as their texts do.  A text with a sign
 * compares below.  A text that is no number may compare above; the name is then
 * no ticket. */
bool hf_zk_engine_pattern_precedes(const struct hf_zk_engine_pattern *pattern,
                                   const char *name, size_t bytes)
{
    const char *reference = pattern->name;
    size_t kind_at = pattern->kind_at, digits = pattern->digits_at;

    return bytes == pattern->bytes &&
           memcmp(name + digits, reference + digits, bytes - digits) > 0 &&
           memcmp(name, reference, pattern->id_at) == 0 &&
           memcmp(name + kind_at, reference + kind_at, digits - kind_at) == 0;
}

bool hf_zk_engine_participant_parse(const char *name, size_t bytes,
                                    struct hf_zk_engine_node *node)
{
    if (!hf_ticket_id_parse(&node->id, name, bytes))
        return false;
    node->dialect = HF_ZK_CURATOR;
    node->kind = HF_TICKET_PARTICIPANT;
    node->sequence = 0;
    return true;
}

/* --------------------------------------------------------------- permits -- */

/* The tag of a permit: the version and the variant of its UUID, six bits that
 * all UUIDs of version 4 have alike.  FIRST_TAG is their value there. */
#define TAGS 64
#define FIRST_TAG ((4 << 2) | 2)

static_assert(HF_WEIGHT_MAX <= TAGS, "each permit has a tag of its own");

static unsigned get_tag(const struct hf_ticket_id *id)
{
    return (unsigned)(id->bytes[6] >> 4) << 2 | (unsigned)(id->bytes[8] >> 6);
}

/* get_tag() and set_tag() read and write the six bits. */
static void set_tag(struct hf_ticket_id *id, unsigned tag)
{
    id->bytes[6] = (uint8_t)((id->bytes[6] & 0x0f) | (tag >> 2) << 4);
    id->bytes[8] = (uint8_t)((id->bytes[8] & 0x3f) | (tag & 3) << 6);
}

void hf_zk_engine_permit_name(const struct hf_ticket_id *id, uint32_t nth,
                              char name[HF_ZK_NODE_BYTES])
{
    struct hf_ticket_id permit = *id;

    assert(nth < HF_WEIGHT_MAX);
    if (nth > 0)
        set_tag(&permit, (get_tag(id) + nth) % TAGS);
    hf_zk_engine_node_format_hex(&permit, name);
}

/* The tag (the six bits that count the permits of a ticket) becomes .sequence.
 * With the tag of a first permit the id is the id of the ticket.  A name that
 * kazoo made is a UUID of version 4, so it has the tag of a first permit. */
bool hf_zk_engine_permit_parse(const char *name, size_t bytes,
                               struct hf_zk_engine_node *node)
{
    if (!hf_zk_engine_node_parse_hex(name, bytes, &node->id))
        return false;
    node->dialect = HF_ZK_KAZOO;
    node->kind = HF_TICKET_LEASE;
    node->sequence = (int32_t)((get_tag(&node->id) + TAGS - FIRST_TAG) % TAGS);
    set_tag(&node->id, FIRST_TAG);
    return true;
}

bool hf_zk_engine_node_is_permit(const struct hf_zk_engine_node *node)
{
    return node->kind == HF_TICKET_LEASE && node->dialect == HF_ZK_KAZOO;
}
