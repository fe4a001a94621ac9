/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as what a ZooKeeper server sends.  The first byte chooses what
 * they are read as.  A second, simple reader reads them byte by byte, and
 * the client must have read the same. */
#include <string.h>

#include "core/admission.h"
#include "engines/zookeeper/node_name.h"
#include "fuzz.h"
#include "heap/heap.h"
#include "zk_fixture.h"

/* --------------------------------------------------------- second reader -- */

struct frame_input {
    const uint8_t *bytes;
    size_t left;
    bool ended; /* the input ended too early */
};

static int64_t number(struct frame_input *in, size_t count)
{
    uint64_t value = 0;

    if (in->ended || in->left < count) {
        in->ended = true;
        return 0;
    }
    for (size_t i = 0; i < count; i++)
        value = value * 256 + in->bytes[i];
    in->bytes += count;
    in->left -= count;
    return count == 4 ? (int32_t)(uint32_t)value : (int64_t)value;
}

/* A string or buffer; its length, or -1 for none. */
static int32_t text(struct frame_input *in, const uint8_t **bytes)
{
    int32_t count = (int32_t)number(in, 4);

    *bytes = in->bytes;
    if (in->ended || count < -1 || (count > 0 && (size_t)count > in->left)) {
        in->ended = true;
        return -1;
    }
    if (count > 0) {
        in->bytes += count;
        in->left -= (size_t)count;
    }
    return count;
}

static void skip_stat(struct frame_input *in)
{
    for (size_t i = 0; i < HF_ZK_STAT_BYTES; i++)
        (void)number(in, 1);
}

/* ------------------------------------------------------------------ jute -- */

enum { BYTE, BOOL, INT, LONG, BUFFER, COUNT, TYPES };

/* Read one value and write it unchanged. */
static void copy_value(struct hf_jute_reader *reader,
                       struct hf_jute_writer *writer, int type)
{
    struct hf_jute_piece piece;
    uint8_t first = reader->left > 0 && !reader->failed ? *reader->bytes : 0;
    size_t left = reader->left;
    size_t count;

    if (type == BYTE) {
        hf_jute_put_byte(writer, hf_jute_get_byte(reader));
    } else if (type == BOOL) {
        MUST(hf_jute_get_bool(reader) == (first != 0));
        hf_jute_put_byte(writer, first);
    } else if (type == INT) {
        hf_jute_put_int(writer, hf_jute_get_int(reader));
    } else if (type == LONG) {
        hf_jute_put_long(writer, hf_jute_get_long(reader));
    } else if (type == BUFFER) {
        piece = hf_jute_get_buffer(reader);
        if (piece.bytes != NULL)
            hf_jute_put_buffer(writer, piece.bytes, piece.count);
        else
            hf_jute_put_int(writer, -1);
        MUST(piece.bytes != NULL || piece.count == 0);
    } else {
        count = hf_jute_get_count(reader, 4);
        MUST(count <= reader->left / 4);
        hf_jute_put_int(writer, count == 0 && first != 0 ? -1 : (int)count);
    }
    MUST(reader->left <= left);
}

/* The first half of ${in} has the types, the second half the values. */
static void try_jute(struct frame_input *in)
{
    size_t types = in->left / 2;
    struct hf_jute_reader reader = {in->bytes + types, in->left - types, false};
    struct hf_jute_writer writer = {0};

    for (size_t i = 0; i < types; i++) {
        size_t used = writer.used;

        copy_value(&reader, &writer, in->bytes[i] % TYPES);
        if (reader.failed) {
            writer.used = used;
            break;
        }
    }
    MUST(!writer.failed);
    if (!reader.failed)
        MUST(writer.used == in->left - types - reader.left);
    MUST(writer.used == 0 ||
         memcmp(writer.bytes, in->bytes + types, writer.used) == 0);
    if (reader.failed) { /* it fails from now on, and returns zeros */
        MUST(hf_jute_get_byte(&reader) == 0 && hf_jute_get_long(&reader) == 0);
        MUST(hf_jute_get_buffer(&reader).bytes == NULL);
        MUST(hf_jute_get_count(&reader, 1) == 0 && reader.failed);
    }
    hf_jute_free(&writer);
}

/* ----------------------------------------------------------------- nodes -- */

static void check_sequence(const char *name, size_t bytes, int32_t sequence)
{
    uint64_t value = 0, power = 1;
    size_t i = bytes;

    for (; power < 10000000000 && i > 0; i--, power *= 10) {
        if (name[i - 1] < '0' || name[i - 1] > '9')
            break;
        value += power * (uint64_t)(name[i - 1] - '0');
    }
    MUST(i > 0 && (sequence >= 0 || name[i - 1] == '-'));
    MUST(value == (uint64_t)llabs(sequence));
}

static void try_name(struct frame_input *in)
{
    char *name = fuzz_text(in->bytes, in->left);
    struct hf_zk_engine_node node, again;
    char prefix[HF_ZK_PREFIX_BYTES];

    if (!hf_zk_engine_node_parse(name, in->left, &node)) {
        free(name);
        return;
    }
    MUST(strlen(name) == in->left && strchr(name, '/') == NULL);
    MUST(node.kind >= HF_TICKET_MUTEX && node.kind <= HF_TICKET_EXCLUSIVE);
    MUST(hf_zk_engine_node_parse(name, in->left, &again));
    MUST(hf_ticket_id_equal(&again.id, &node.id));
    check_sequence(name, in->left, node.sequence);
    if (node.dialect == HF_ZK_CURATOR && strncmp(name, "_c_", 3) == 0) {
        MUST(hf_zk_engine_node_prefix(HF_ZK_CURATOR, &node.id, node.kind,
                                      prefix));
        MUST(strncmp(name, prefix, strlen(prefix)) == 0);
    }
    /* A name that is cut or extended is another name or none. */
    if (hf_zk_engine_node_parse(name, in->left - 1, &again))
        MUST(again.sequence != node.sequence);
    free(name);
}

/* A name that we write and a server completes is read back. */
static void try_own_name(struct frame_input *in)
{
    static const enum hf_zk_engine_dialect layouts[] = {
        HF_ZK_CURATOR, HF_ZK_KAZOO, HF_ZK_WRITELOCK};
    static const enum hf_ticket_kind kinds[] = {
        HF_TICKET_MUTEX, HF_TICKET_READ, HF_TICKET_WRITE, HF_TICKET_ELECTION};
    enum hf_zk_engine_dialect layout;
    unsigned choice;
    char name[HF_ZK_NODE_BYTES], prefix[HF_ZK_PREFIX_BYTES];
    enum hf_ticket_kind kind;
    struct hf_zk_engine_node node;
    struct hf_ticket_id id;
    int32_t sequence;

    sequence = (int32_t)number(in, 4);
    choice = (unsigned)number(in, 1);
    kind = kinds[choice % 4];
    layout = layouts[choice / 4 % 3];
    for (size_t i = 0; i < sizeof id.bytes; i++)
        id.bytes[i] = (uint8_t)number(in, 1);
    if (!hf_zk_engine_node_prefix(layout, &id, kind, prefix)) {
        MUST(layout == HF_ZK_WRITELOCK && kind != HF_TICKET_MUTEX);
        return;
    }
    MUST(snprintf(name, sizeof name, "%s%010d", prefix, sequence) <
         (int)sizeof name);
    MUST(hf_zk_engine_node_parse(name, strlen(name), &node));
    MUST(node.dialect == layout);
    MUST(node.kind == kind ||
         (layout == HF_ZK_KAZOO && kind != HF_TICKET_READ &&
          node.kind == HF_TICKET_EXCLUSIVE));
    MUST(node.sequence == sequence && hf_ticket_id_equal(&node.id, &id));
}

/* --------------------------------------------------------------- answers -- */

static struct {
    size_t tickets; /* of the last snapshot */
    unsigned snapshots;
} seen;

static void on_event(struct zk_fixture *f, const struct hf_event *event)
{
    (void)f;
    if (event->kind != HF_EVENT_LISTED && event->kind != HF_EVENT_ENQUEUED)
        return;
    seen.snapshots++;
    seen.tickets = event->as.answer.snapshot.count;
}

static void begin(struct zk_fixture *f)
{
    memset(&seen, 0, sizeof seen);
    zk_fixture_connected(f);
    f->event_hook = on_event;
}

/* Requests for single nodes are answered: the nodes are gone. */
static void refuse_rest(struct zk_fixture *f)
{
    while (f->first != NULL)
        refused(f, HF_ZK_NO_NODE);
}

static void greet_raw(struct zk_fixture *f, const struct frame_input *in)
{
    uint8_t length[4];

    for (int i = 0; i < 4; i++)
        length[i] = (uint8_t)(in->left >> 8 * (3 - i));
    receive(f, length, sizeof length);
    if (in->left > 0)
        receive(f, in->bytes, in->left);
}

static void try_handshake(struct frame_input *in)
{
    struct frame_input mine = *in;
    const uint8_t *password;
    char expected[64] = "";
    int32_t timeout, count;
    struct zk_fixture f;
    int64_t id;

    zk_fixture_init(&f);
    MUST(zk_fixture_open(&f));
    link_up(&f);
    greet_raw(&f, in);
    (void)number(&mine, 4);
    timeout = (int32_t)number(&mine, 4);
    id = number(&mine, 8);
    count = text(&mine, &password);
    if (!mine.ended && timeout > 0 && id != 0 && count == 16)
        snprintf(expected, sizeof expected, "CONNECTED %d %d", timeout,
                 ZK_FIXTURE_START_MS);
    MUST(strcmp(zk_fixture_events(&f), expected) == 0);
    MUST((f.text[0] != '\0') ==
         (expected[0] == '\0')); /* the error has a text */
    zk_fixture_close(&f);
}

/* The number of tickets in a list of children; SIZE_MAX if it is not a list. */
static size_t count_tickets(struct frame_input in)
{
    int32_t count = (int32_t)number(&in, 4);
    struct hf_zk_engine_node node;
    size_t tickets = 0;
    const uint8_t *name;
    int32_t bytes;

    if (in.ended || count < -1)
        return SIZE_MAX;
    for (int32_t i = 0; i < count; i++) {
        bytes = text(&in, &name);
        if (in.ended)
            return SIZE_MAX;
        if (bytes > 0)
            tickets += hf_zk_engine_node_parse((const char *)name,
                                               (size_t)bytes, &node);
    }
    return tickets;
}

static void try_children(struct frame_input *in)
{
    size_t tickets = count_tickets(*in);
    struct zk_fixture f;

    begin(&f);
    ask(&f, HF_REQUEST_LIST, "z");
    done(&f); /* the sync */
    answer_with(&f, in->bytes, in->left);
    refuse_rest(&f);
    if (tickets !=
        SIZE_MAX) /* the answers that decide, the first in any case */
        MUST(seen.snapshots == 1 && seen.tickets <= tickets &&
             seen.tickets <= HF_ADMISSION_NEAREST + 2 &&
             (seen.tickets > 0) == (tickets > 0));
    else
        MUST(strcmp(zk_fixture_events(&f), "FAILED LIST z RETRY") == 0);
    zk_fixture_close(&f);
}

#define NODE_A "/q/_c_61616161-6161-6161-6161-616161616161-"

/* Is this the answer to a create of "a"? */
static bool is_created(struct frame_input in)
{
    struct hf_ticket_id id = zk_fixture_id("a");
    struct hf_zk_engine_node node;
    const uint8_t *path;
    int32_t bytes = text(&in, &path);

    skip_stat(&in);
    return !in.ended && bytes > 3 && memcmp(path, "/q/", 3) == 0 &&
           bytes - 3 < HF_ZK_NODE_BYTES &&
           hf_zk_engine_node_parse((const char *)path + 3, (size_t)bytes - 3,
                                   &node) &&
           hf_ticket_id_equal(&node.id, &id);
}

static void try_created(struct frame_input *in)
{
    struct zk_fixture f;
    const char *reported;

    begin(&f);
    ask(&f, HF_REQUEST_ENQUEUE, "a");
    answer_with(&f, in->bytes, in->left);
    children(&f, "b#1");
    reported = zk_fixture_events(&f);
    /* The ticket is ours, and somebody deleted it; or the answer leaves it
     * open. */
    MUST(strcmp(reported, is_created(*in) ? "FAILED ENQUEUE a RETRY"
                                          : "FAILED ENQUEUE a UNSURE") == 0);
    zk_fixture_close(&f);
}

/* The ticket at the head; reading it is optional. */
static void try_data(struct frame_input *in)
{
    struct zk_fixture f;

    begin(&f);
    ask(&f, HF_REQUEST_LIST, "z");
    done(&f);
    children(&f, "b#1");
    answer_with(&f, in->bytes, in->left);
    MUST(seen.snapshots == 1 && seen.tickets == 1);
    zk_fixture_close(&f);
}

/* The ticket that was searched for is ours only if the whole Stat says so. */
static void try_stat(struct frame_input *in)
{
    struct frame_input mine = *in;
    bool ours = false;
    struct zk_fixture f;

    begin(&f);
    ask(&f, HF_REQUEST_LIST, "a");
    done(&f);
    children(&f, "a#1");
    answer_with(&f, in->bytes, in->left);
    (void)number(&mine, 8);
    for (int i = 0; i < 36; i++)
        (void)number(&mine, 1);
    ours = number(&mine, 8) == f.session && !mine.ended;
    MUST(seen.snapshots == 1 && seen.tickets == 1);
    (void)zk_fixture_sent(&f);
    ask(&f, HF_REQUEST_PROVE, "");
    MUST(strcmp(zk_fixture_sent(&f), ours ? "MULTI q/a#1" : "MULTI /") == 0);
    zk_fixture_close(&f);
}

/* ---------------------------------------------------------------- events -- */

static void event_raw(struct zk_fixture *f, const struct frame_input *in)
{
    static const uint8_t header_[16] = {0xff, 0xff, 0xff, 0xff};
    struct frame_input entire = {NULL, sizeof header_ + in->left, false};
    uint8_t *bytes = malloc(entire.left);

    MUST(bytes != NULL);
    memcpy(bytes, header_, sizeof header_);
    if (in->left > 0)
        memcpy(bytes + sizeof header_, in->bytes, in->left);
    entire.bytes = bytes;
    greet_raw(f, &entire);
    free(bytes);
}

static void try_event(struct frame_input *in)
{
    static const char watched[] = NODE_A "lock-0000000001";
    struct frame_input mine = *in;
    const uint8_t *path;
    int32_t type, bytes;
    const char *reported, *sent = "";
    struct zk_fixture f;
    bool about;

    begin(&f);
    have_ticket(&f, "a", 1, 17);
    ask(&f, HF_REQUEST_WATCH, "a");
    data(&f, "me", 17, f.session);
    (void)zk_fixture_events(&f);
    (void)zk_fixture_sent(&f);
    event_raw(&f, in);
    type = (int32_t)number(&mine, 4);
    (void)number(&mine, 4);
    bytes = text(&mine, &path);
    about = !mine.ended && bytes == (int32_t)strlen(watched) &&
            memcmp(path, watched, strlen(watched)) == 0;
    reported = zk_fixture_events(&f);
    if (mine.ended)
        MUST(strcmp(reported, "SUSPENDED") == 0 && f.server == NULL);
    else
        MUST(strcmp(reported,
                    about && type == HF_ZK_NODE_DELETED ? "GONE a" : "") == 0);
    /* The parent of one that is gone may say who evicted it. */
    if (about && type == HF_ZK_NODE_DELETED)
        sent = "DATA q";
    else if (about && type > 0 && type != HF_ZK_NODE_CHILDREN_CHANGED)
        sent = "DATA q/a#1 w";
    MUST(strcmp(zk_fixture_sent(&f), sent) == 0);
    zk_fixture_close(&f);
}

/* ---------------------------------------------------------------- proofs -- */

static bool is_proof(struct frame_input in)
{
    for (;;) {
        int32_t type = (int32_t)number(&in, 4);
        bool last = number(&in, 1) != 0;

        (void)number(&in, 4);
        if (in.ended || last)
            return !in.ended;
        if (type != HF_ZK_CHECK && type != HF_ZK_DELETE)
            return false;
    }
}

static void try_multi(struct frame_input *in)
{
    struct zk_fixture f;

    begin(&f);
    ask(&f, HF_REQUEST_PROVE, "");
    answer_with(&f, in->bytes, in->left);
    MUST(strcmp(zk_fixture_events(&f),
                is_proof(*in) ? "PROVEN 1000" : "FAILED PROVE RETRY") == 0);
    zk_fixture_close(&f);
}

/* --------------------------------------------------------------- streams -- */

struct received {
    char events[ZK_FIXTURE_TEXT_BYTES];
    char sent[ZK_FIXTURE_TEXT_BYTES];
    bool linked;
};

static void receive_frame(const struct frame_input *in, size_t chunk,
                          bool greeted, struct received *received)
{
    struct zk_fixture f;

    zk_fixture_init(&f);
    MUST(zk_fixture_open(&f));
    link_up(&f);
    if (greeted) {
        accept_session(&f);
        ask(&f, HF_REQUEST_ENQUEUE, "a");
        ask(&f, HF_REQUEST_WATCH, "b");
        ask(&f, HF_REQUEST_PROVE, "");
    }
    f.chunk = chunk;
    if (in->left > 0)
        receive(&f, in->bytes, in->left);
    snprintf(received->events, sizeof received->events, "%s",
             zk_fixture_events(&f));
    snprintf(received->sent, sizeof received->sent, "%s", zk_fixture_sent(&f));
    received->linked = f.server != NULL;
    zk_fixture_close(&f);
}

static void receive_same(const struct frame_input *in, size_t chunk,
                         bool greeted, const struct received *entire)
{
    static struct received pieces;

    receive_frame(in, chunk, greeted, &pieces);
    MUST(entire->linked == pieces.linked);
    MUST(strcmp(entire->events, pieces.events) == 0);
    MUST(strcmp(entire->sent, pieces.sent) == 0);
}

/* The result does not depend on how the frames are cut into pieces. */
static void try_stream(struct frame_input *in)
{
    static struct received entire;
    bool greeted = number(in, 1) % 2 == 0;
    size_t chunk = (size_t)number(in, 1) % 16 + 2;

    receive_frame(in, 0, greeted, &entire);
    receive_same(in, 1, greeted, &entire);
    receive_same(in, chunk, greeted, &entire);
}

int LLVMFuzzerTestOneInput(const uint8_t *data_, size_t bytes)
{
    static void (*const tries[])(struct frame_input * in) = {
        try_jute,     try_name,    try_own_name, try_handshake,
        try_children, try_created, try_data,     try_stat,
        try_event,    try_multi,   try_stream,
    };
    struct frame_input in = {data_ + 1, bytes - 1, false};
    struct zk_fixture f;

    if (bytes == 0)
        return 0;
    zk_fixture_init(&f); /* the allocator, before anything is allocated */
    tries[data_[0] % (sizeof tries / sizeof tries[0])](&in);
    MUST(heap_live() == 0);
    return 0;
}
