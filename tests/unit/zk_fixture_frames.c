/* SPDX-License-Identifier: Apache-2.0 */
/* Frames that the client sends: each is checked against the protocol, appended
 * to .sent as text, and kept as a call that the test has to answer. */
#include <string.h>

#include "engines/zookeeper/zk_queue.h"
#include "engines/zookeeper/zk_watches.h"
#include "zk_fixture.h"
#include "zk_server_frames.h"

/* ---------------------------------------------------------------- calls -- */

/* Keep a call behind the others. */
static struct zk_fixture_call *note_call(struct zk_fixture *f, int32_t xid,
                                         int32_t opcode, const char *path)
{
    struct zk_fixture_call *call = calloc(1, sizeof *call);

    ZK_FIXTURE_MUST(call != NULL);
    call->xid = xid;
    call->opcode = opcode;
    call->sent_at_ms = f->now_ms;
    call->path = path != NULL ? strdup(path) : NULL;
    *f->last = call;
    f->last = &call->next;
    f->calls++;
    return call;
}

void zk_fixture_drop_call(struct zk_fixture *f)
{
    struct zk_fixture_call *call = f->first;

    f->first = call->next;
    if (f->first == NULL)
        f->last = &f->first;
    f->calls--;
    free(call->path);
    free(call);
}

void zk_fixture_forget_calls(struct zk_fixture *f)
{
    while (f->first != NULL)
        zk_fixture_drop_call(f);
    f->pings = 0;
    f->handshake_read = false;
    f->out.used = 0;
    f->holding = false;
}

/* ---------------------------------------------------------------- paths -- */

static void read_path(struct hf_jute_reader *frame, char *path, size_t bytes)
{
    struct hf_jute_piece piece = hf_jute_get_buffer(frame);

    ZK_FIXTURE_MUST(!frame->failed && piece.count < bytes && piece.count > 0);
    memcpy(path, piece.bytes, piece.count);
    path[piece.count] = '\0';
    ZK_FIXTURE_MUST(strlen(path) == piece.count && path[0] == '/');
}

bool zk_fixture_is_ticket(const char *name, struct hf_zk_engine_node *node,
                          bool *whole)
{
    char text[ZK_FIXTURE_PATH_BYTES];

    *whole = hf_zk_engine_node_parse(name, strlen(name), node) ||
             hf_zk_engine_permit_parse(name, strlen(name), node) ||
             hf_zk_engine_participant_parse(name, strlen(name), node);
    snprintf(text, sizeof text, "%.*s0000000000", ZK_FIXTURE_PATH_BYTES - 11,
             name);
    return *whole || hf_zk_engine_node_parse(text, strlen(text), node);
}

/* The engine tries the right to delete with a node whose name begins so. */
#define TRIAL_PREFIX "holdfast-rights-"

/* Write "/chroot/q/_c_78...-lock-0000000007" as "q/x#7". */
static void shorten(const struct zk_fixture *f, const char *path, char *text,
                    size_t bytes)
{
    static const char *const suffixes[] = {
        [HF_TICKET_MUTEX] = "",        [HF_TICKET_READ] = "/r",
        [HF_TICKET_WRITE] = "/w",      [HF_TICKET_LEASE] = "/l",
        [HF_TICKET_ELECTION] = "/e",   [HF_TICKET_EXCLUSIVE] = "",
        [HF_TICKET_PARTICIPANT] = "/m"};
    size_t chroot = strlen(f->config.url.chroot);
    struct hf_zk_engine_node node;
    const char *slash;
    char name[16];
    bool whole;

    ZK_FIXTURE_MUST(strncmp(path, f->config.url.chroot, chroot) == 0);
    if (strcmp(path, f->config.url.chroot) == 0 || path[chroot + 1] == '\0') {
        snprintf(text, bytes, "/");
        return;
    }
    path += chroot + 1;
    slash = strrchr(path, '/');
    snprintf(text, bytes, "%s", path);
    if (slash == NULL || !zk_fixture_is_ticket(slash + 1, &node, &whole))
        return;
    zk_fixture_id_name(&node.id, name);
    snprintf(text, bytes, "%.*s/%s%s", (int)(slash - path), path, name,
             hf_zk_engine_node_is_permit(&node) ? "/p" : suffixes[node.kind]);
    if (whole && node.kind != HF_TICKET_PARTICIPANT)
        snprintf(text + strlen(text), bytes - strlen(text), "#%d",
                 (int)node.sequence);
}

/* --------------------------------------------------------------- frames -- */

/* An access list has one entry: for all, or with private nodes for the user. */
static void read_acl(struct zk_fixture *f, struct hf_jute_reader *frame)
{
    struct hf_jute_piece scheme;

    ZK_FIXTURE_MUST(hf_jute_get_int(frame) == 1);
    ZK_FIXTURE_MUST(hf_jute_get_int(frame) == HF_ZK_PERMISSIONS_ALL);
    scheme = hf_jute_get_buffer(frame);
    ZK_FIXTURE_MUST(scheme.count ==
                    (f->config.url.session.private_nodes ? 4u : 5u));
    (void)hf_jute_get_buffer(frame);
}

static bool ends(const char *path, const char *with)
{
    size_t bytes = strlen(path), less = strlen(with);

    return bytes >= less && strcmp(path + bytes - less, with) == 0;
}

/* The flags that a create of ${path} must have: the generation of a double
 * barrier is persistent, a ticket whose name has its number is ephemeral, any
 * other ticket gets its number from the server. */
static int32_t flags_of(const char *path)
{
    if (ends(path, "/ready"))
        return HF_ZK_PERSISTENT;
    return strchr(path, '#') != NULL || ends(path, "/m")
               ? HF_ZK_EPHEMERAL
               : HF_ZK_EPHEMERAL_SEQUENTIAL;
}

/* One operation of a MULTI: a path with "+" for a create, "-" for a delete. */
static void append_multi_op(struct zk_fixture *f, struct hf_jute_reader *frame,
                            int32_t opcode, struct zk_text *paths,
                            struct zk_fixture_call *as)
{
    const char *what = opcode == HF_ZK_CHECK    ? ""
                       : opcode == HF_ZK_CREATE ? "+"
                                                : "-";
    char path[ZK_FIXTURE_PATH_BYTES], text[ZK_FIXTURE_PATH_BYTES];
    struct hf_jute_piece data;
    int32_t version;

    read_path(frame, path, sizeof path);
    shorten(f, path, text, sizeof text);
    zk_text_append(&f->sent, "", " %s%s", what, text);
    zk_text_append(paths, " ", "%s%s", what, path);
    if (opcode == HF_ZK_CREATE) {
        data = hf_jute_get_buffer(frame);
        as->revokes = hf_zk_engine_is_revoke_data(data);
        ZK_FIXTURE_MUST(data.count ==
                            (ends(text, "/ready") ? 0 : strlen(f->payload)) ||
                        (as->revokes && strchr(text, '#') != NULL));
        read_acl(f, frame);
        ZK_FIXTURE_MUST(hf_jute_get_int(frame) == flags_of(text));
    } else {
        ZK_FIXTURE_MUST(opcode == HF_ZK_CHECK || opcode == HF_ZK_DELETE);
        version = hf_jute_get_int(frame);
        ZK_FIXTURE_MUST(version == HF_ZK_ANY_VERSION || opcode == HF_ZK_DELETE);
        if (version != HF_ZK_ANY_VERSION) {
            as->version = version;
            zk_text_append(&f->sent, "", " v%d", (int)version);
        }
    }
}

/* Is ${frame} at the create of a node that tries the right to delete?  If so,
 * that and its delete are read. */
static bool read_trial(struct zk_fixture *f, struct hf_jute_reader *frame)
{
    char path[ZK_FIXTURE_PATH_BYTES], text[ZK_FIXTURE_PATH_BYTES];
    struct hf_jute_reader rest = *frame;

    (void)hf_jute_get_int(&rest);
    (void)hf_jute_get_bool(&rest);
    (void)hf_jute_get_int(&rest);
    read_path(&rest, path, sizeof path);
    if (strncmp(strrchr(path, '/') + 1, TRIAL_PREFIX, strlen(TRIAL_PREFIX)) !=
        0)
        return false;
    ZK_FIXTURE_MUST(hf_jute_get_buffer(&rest).count == 0);
    read_acl(f, &rest);
    ZK_FIXTURE_MUST(hf_jute_get_int(&rest) == HF_ZK_EPHEMERAL);
    ZK_FIXTURE_MUST(hf_jute_get_int(&rest) == HF_ZK_DELETE);
    (void)hf_jute_get_bool(&rest);
    (void)hf_jute_get_int(&rest);
    read_path(&rest, text, sizeof text);
    ZK_FIXTURE_MUST(strcmp(path, text) == 0);
    ZK_FIXTURE_MUST(hf_jute_get_int(&rest) == HF_ZK_ANY_VERSION);
    *strrchr(path, '/') = '\0';
    shorten(f, path, text, sizeof text);
    zk_text_append(&f->sent, "", " ?%s", text);
    *frame = rest;
    return true;
}

static void append_multi(struct zk_fixture *f, int32_t xid,
                         struct hf_jute_reader *frame, const char *between)
{
    static struct zk_text paths;
    struct zk_fixture_call as = {.version = HF_ZK_ANY_VERSION}, *call;
    int32_t parts = 0, part = 0;
    bool guarded = false, trial;

    paths.used = 0;
    zk_text_append(&f->sent, between, "MULTI");
    trial = read_trial(f, frame);
    for (;;) {
        int32_t type = hf_jute_get_int(frame);
        bool last = hf_jute_get_bool(frame);

        ZK_FIXTURE_MUST(hf_jute_get_int(frame) == -1 && !frame->failed);
        if (last)
            break;
        ZK_FIXTURE_MUST(!guarded); /* such a check is the last operation */
        /* Operations are of one opcode, but for a downgrade, for permits with a
         * check behind them, and for a generation with checks in front. */
        if ((parts == 1 && part == HF_ZK_CREATE && type == HF_ZK_DELETE) ||
            (part == HF_ZK_CHECK && type != HF_ZK_CHECK))
            part = HF_ZK_MULTI;
        guarded = part == HF_ZK_CREATE && type == HF_ZK_CHECK;
        ZK_FIXTURE_MUST(parts == 0 || type == part || part == HF_ZK_MULTI ||
                        guarded);
        if (parts == 0)
            part = type;
        append_multi_op(f, frame, type, &paths, &as);
        parts++;
    }
    ZK_FIXTURE_MUST(parts > 0);
    call = note_call(f, xid, HF_ZK_MULTI, paths.text);
    call->trial = trial;
    call->multi_count = parts;
    call->multi_opcode = part;
    call->revokes = as.revokes;
    call->version = as.version;
}

/* How many nodes are read; which they are is not looked at. */
static void append_multi_read(struct zk_fixture *f, int32_t xid,
                              struct hf_jute_reader *frame, const char *between)
{
    unsigned parts = 0;

    for (;; parts++) {
        int32_t type = hf_jute_get_int(frame);
        bool last = hf_jute_get_bool(frame);

        ZK_FIXTURE_MUST(hf_jute_get_int(frame) == -1 && !frame->failed);
        if (last)
            break;
        ZK_FIXTURE_MUST(type == HF_ZK_GET_DATA);
        (void)hf_jute_get_buffer(frame);
        ZK_FIXTURE_MUST(!hf_jute_get_bool(frame));
    }
    zk_text_append(&f->sent, between, "MULTIREAD %u", parts);
    (void)note_call(f, xid, HF_ZK_MULTI_READ, NULL);
}

static void append_create(struct zk_fixture *f, int32_t opcode,
                          const char *path, struct hf_jute_reader *frame,
                          const char *between)
{
    struct hf_jute_piece payload = hf_jute_get_buffer(frame);
    int32_t flags;

    read_acl(f, frame);
    flags = hf_jute_get_int(frame);
    if (opcode == HF_ZK_CREATE2) {
        ZK_FIXTURE_MUST(flags == flags_of(path));
        ZK_FIXTURE_MUST(payload.count == strlen(f->payload));
        zk_text_append(&f->sent, between, "CREATE2 %s", path);
    } else if (opcode == HF_ZK_CREATE) {
        ZK_FIXTURE_MUST(flags == HF_ZK_PERSISTENT);
        zk_text_append(&f->sent, between, "CREATE %s", path);
        if (payload.count > 0)
            zk_text_append(&f->sent, "", "=%.*s", (int)payload.count,
                           payload.bytes);
    } else {
        ZK_FIXTURE_MUST(flags == HF_ZK_CONTAINER && payload.count == 0);
        zk_text_append(&f->sent, between, "CONTAINER %s", path);
    }
}

static void append_set_data(struct zk_fixture *f, struct zk_fixture_call *call,
                            const char *text, struct hf_jute_reader *frame,
                            const char *between)
{
    struct hf_jute_piece data = hf_jute_get_buffer(frame);

    call->revokes = hf_zk_engine_is_revoke_data(data);
    call->version = hf_jute_get_int(frame);
    zk_text_append(&f->sent, between, "SET %s v%d %.*s", text, call->version,
                   (int)data.count, data.bytes);
}

static void append_call(struct zk_fixture *f, int32_t xid, int32_t opcode,
                        struct hf_jute_reader *frame, const char *between)
{
    char path[ZK_FIXTURE_PATH_BYTES], text[ZK_FIXTURE_PATH_BYTES];
    struct zk_fixture_call *call;

    read_path(frame, path, sizeof path);
    shorten(f, path, text, sizeof text);
    call = note_call(f, xid, opcode, path);
    switch (opcode) {
    case HF_ZK_CREATE:
    case HF_ZK_CREATE2:
    case HF_ZK_CREATE_CONTAINER:
        append_create(f, opcode, text, frame, between);
        break;
    case HF_ZK_DELETE:
        ZK_FIXTURE_MUST(hf_jute_get_int(frame) == -1);
        zk_text_append(&f->sent, between, "DELETE %s", text);
        break;
    case HF_ZK_EXISTS:
        call->watch = hf_jute_get_bool(frame);
        zk_text_append(&f->sent, between, "EXISTS %s%s", text,
                       call->watch ? " w" : "");
        break;
    case HF_ZK_GET_DATA:
        call->watch = hf_jute_get_bool(frame);
        zk_text_append(&f->sent, between, "DATA %s%s", text,
                       call->watch ? " w" : "");
        break;
    case HF_ZK_SET_DATA:
        append_set_data(f, call, text, frame, between);
        break;
    case HF_ZK_GET_CHILDREN:
        call->watch = hf_jute_get_bool(frame);
        zk_text_append(&f->sent, between, "LIST %s%s", text,
                       call->watch ? " w" : "");
        break;
    case HF_ZK_REMOVE_WATCHES:
        zk_text_append(&f->sent, between, "UNWATCH %s %d", text,
                       hf_jute_get_int(frame));
        break;
    default:
        ZK_FIXTURE_MUST(opcode == HF_ZK_SYNC);
        zk_text_append(&f->sent, between, "SYNC %s", text);
    }
}

static void append_set_watches(struct zk_fixture *f,
                               struct hf_jute_reader *frame,
                               const char *between)
{
    char path[ZK_FIXTURE_PATH_BYTES], text[ZK_FIXTURE_PATH_BYTES];
    static const char *const ends[] = {"", "?",
                                       "/"}; /* data, exists, children */
    int64_t zxid = hf_jute_get_long(frame);

    zk_text_append(&f->sent, between, "SETWATCHES 0x%llx", (long long)zxid);
    for (int list = 0; list < 3; list++) {
        size_t count = hf_jute_get_count(frame, 4);

        for (size_t i = 0; i < count; i++) {
            read_path(frame, path, sizeof path);
            shorten(f, path, text, sizeof text);
            zk_text_append(&f->sent, "", " %s%s", text, ends[list]);
            if (f->on_set_watch != NULL && list != 1)
                f->on_set_watch(f, path, list == 2, zxid);
        }
    }
}

static void append_handshake(struct zk_fixture *f, struct hf_jute_reader *frame)
{
    const struct zk_server_handshake said = zk_server_read_handshake(frame);

    ZK_FIXTURE_MUST(said.version == 0 && !said.read_only);
    ZK_FIXTURE_MUST(said.password.count == HF_ZK_PASSWORD_BYTES);
    ZK_FIXTURE_MUST(said.id == 0 || f->raw_bytes ||
                    memcmp(said.password.bytes, ZK_SERVER_PASSWORD, 16) == 0);
    zk_text_append(&f->sent, " | ", "HANDSHAKE 0x%llx %d 0x%llx",
                   (long long)said.zxid, (int)said.timeout_ms,
                   (long long)said.id);
    f->handshake_read = true;
    f->connect_sent_at_ms = f->now_ms;
    f->handshake_session = said.id;
}

static void append_frame(struct zk_fixture *f, struct hf_jute_reader *frame,
                         const char *between)
{
    int32_t xid = hf_jute_get_int(frame);
    int32_t opcode = hf_jute_get_int(frame);
    struct hf_jute_piece user;

    ZK_FIXTURE_MUST(xid > 0 || opcode == HF_ZK_PING || opcode == HF_ZK_AUTH ||
                    opcode == HF_ZK_SET_WATCHES);
    switch (opcode) {
    case HF_ZK_PING:
        zk_text_append(&f->sent, between, "PING");
        f->pings++;
        break;
    case HF_ZK_CLOSE_SESSION:
        zk_text_append(&f->sent, between, "CLOSE");
        note_call(f, xid, opcode, NULL);
        break;
    case HF_ZK_AUTH:
        (void)hf_jute_get_int(frame);
        (void)hf_jute_get_buffer(frame); /* "digest" */
        user = hf_jute_get_buffer(frame);
        zk_text_append(&f->sent, between, "AUTH %.*s", (int)user.count,
                       user.bytes);
        break;
    case HF_ZK_SET_WATCHES:
        append_set_watches(f, frame, between);
        break;
    case HF_ZK_MULTI:
        append_multi(f, xid, frame, between);
        break;
    case HF_ZK_MULTI_READ:
        append_multi_read(f, xid, frame, between);
        break;
    default:
        append_call(f, xid, opcode, frame, between);
    }
}

void zk_fixture_read_frames(struct zk_fixture *f, const uint8_t *bytes,
                            size_t count)
{
    struct hf_jute_reader all = {bytes, count, false};
    struct hf_jute_reader frame;
    const char *between = " | ";
    size_t length;

    if (count == 7 && memcmp(bytes, "\x15\x03\x01\x00\x02\x01\x00", 7) == 0) {
        zk_text_append(&f->sent, between, "TLS?");
        return;
    }
    while (zk_server_read_frame(&all, &frame)) {
        length = frame.left;
        if (!f->handshake_read)
            append_handshake(f, &frame);
        else
            append_frame(f, &frame, between);
        ZK_FIXTURE_MUST(!frame.failed && frame.left == 0);
        f->frames++;
        if (length > f->longest_frame)
            f->longest_frame = length;
        between = "; ";
    }
}
