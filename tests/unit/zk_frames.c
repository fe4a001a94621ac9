/* SPDX-License-Identifier: Apache-2.0 */
/* What was sent to the server of the stage: described, and noted as calls that
 * it has to answer. */
#include <string.h>

#include "engines/zookeeper/permit.h"
#include "engines/zookeeper/zk_watches.h"
#include "zk_stage.h"

/* ---------------------------------------------------------------- calls -- */

static struct stage_call *put_off(struct stage *s, int32_t xid, int32_t opcode,
                                  const char *path)
{
    struct stage_call *call = calloc(1, sizeof *call);

    STAGE_MUST(call != NULL);
    call->xid = xid;
    call->opcode = opcode;
    call->sent_at_ms = s->now_ms;
    call->path = path != NULL ? strdup(path) : NULL;
    *s->last = call;
    s->last = &call->next;
    s->calls++;
    return call;
}

void stage_drop_call(struct stage *s)
{
    struct stage_call *call = s->first;

    s->first = call->next;
    if (s->first == NULL)
        s->last = &s->first;
    s->calls--;
    free(call->path);
    free(call);
}

void stage_forget_calls(struct stage *s)
{
    while (s->first != NULL)
        stage_drop_call(s);
    s->pings = 0;
    s->greeting = false;
    s->out.used = 0;
    s->holding = false;
}

/* ---------------------------------------------------------------- paths -- */

static void read_path(struct hf_jute_reader *frame, char *path, size_t bytes)
{
    struct hf_jute_piece piece = hf_jute_get_buffer(frame);

    STAGE_MUST(!frame->failed && piece.count < bytes && piece.count > 0);
    memcpy(path, piece.bytes, piece.count);
    path[piece.count] = '\0';
    STAGE_MUST(strlen(path) == piece.count && path[0] == '/');
}

/* The name of a ticket; or what a create has of it, lacking its number. */
bool stage_is_ticket(const char *name, struct hf_zk_node *node, bool *whole)
{
    char text[STAGE_PATH_BYTES];

    *whole = hf_zk_node_parse(name, strlen(name), node) ||
             hf_zk_permit_parse(name, strlen(name), node) ||
             hf_zk_participant_parse(name, strlen(name), node);
    snprintf(text, sizeof text, "%.*s0000000000", STAGE_PATH_BYTES - 11, name);
    return *whole || hf_zk_node_parse(text, strlen(text), node);
}

/* "/chroot/q/_c_78...-lock-0000000007" as "q/x#7". */
static void shorten(const struct stage *s, const char *path, char *text,
                    size_t bytes)
{
    static const char *const suffixes[] = {
        [HF_TICKET_MUTEX] = "",        [HF_TICKET_READ] = "/r",
        [HF_TICKET_WRITE] = "/w",      [HF_TICKET_LEASE] = "/l",
        [HF_TICKET_ELECTION] = "/e",   [HF_TICKET_EXCLUSIVE] = "",
        [HF_TICKET_PARTICIPANT] = "/m"};
    size_t chroot = strlen(s->config.chroot);
    struct hf_zk_node node;
    const char *slash;
    char name[16];
    bool whole;

    STAGE_MUST(strncmp(path, s->config.chroot, chroot) == 0);
    if (strcmp(path, s->config.chroot) == 0 || path[chroot + 1] == '\0') {
        snprintf(text, bytes, "/");
        return;
    }
    path += chroot + 1;
    slash = strrchr(path, '/');
    snprintf(text, bytes, "%s", path);
    if (slash == NULL || !stage_is_ticket(slash + 1, &node, &whole))
        return;
    stage_id_name(&node.id, name);
    snprintf(text, bytes, "%.*s/%s%s", (int)(slash - path), path, name,
             hf_zk_node_is_permit(&node) ? "/p" : suffixes[node.kind]);
    if (whole && node.kind != HF_TICKET_PARTICIPANT)
        snprintf(text + strlen(text), bytes - strlen(text), "#%d",
                 (int)node.sequence);
}

/* --------------------------------------------------------------- frames -- */

/* An access list: one entry, which the story of credentials looks at. */
static void read_acl(struct stage *s, struct hf_jute_reader *frame)
{
    struct hf_jute_piece scheme;

    STAGE_MUST(hf_jute_get_int(frame) == 1);
    STAGE_MUST(hf_jute_get_int(frame) == HF_ZK_PERMISSIONS_ALL);
    scheme = hf_jute_get_buffer(frame);
    STAGE_MUST(scheme.count == (s->config.session.private_nodes ? 4u : 5u));
    (void)hf_jute_get_buffer(frame);
}

static bool ends(const char *path, const char *with)
{
    size_t bytes = strlen(path), less = strlen(with);

    return bytes >= less && strcmp(path + bytes - less, with) == 0;
}

/* What a create is to be: of a mark, of a ticket with its number in its name,
 * or of one that gets it. */
static int32_t flags_of(const char *path)
{
    if (ends(path, "/ready"))
        return HF_ZK_PERSISTENT;
    return strchr(path, '#') != NULL || ends(path, "/m")
               ? HF_ZK_EPHEMERAL
               : HF_ZK_EPHEMERAL_SEQUENTIAL;
}

/* One operation: its path, with what it does in front of it. */
static void say_part(struct stage *s, struct hf_jute_reader *frame,
                     int32_t opcode, struct stage_text *paths,
                     struct stage_call *as)
{
    const char *what = opcode == HF_ZK_CHECK    ? ""
                       : opcode == HF_ZK_CREATE ? "+"
                                                : "-";
    char path[STAGE_PATH_BYTES], text[STAGE_PATH_BYTES];
    struct hf_jute_piece data;
    int32_t version;

    read_path(frame, path, sizeof path);
    shorten(s, path, text, sizeof text);
    stage_say(&s->sent, "", " %s%s", what, text);
    stage_say(paths, " ", "%s%s", what, path);
    if (opcode == HF_ZK_CREATE) {
        data = hf_jute_get_buffer(frame);
        as->revokes = hf_zk_is_revoke_data(data);
        STAGE_MUST(data.count ==
                       (ends(text, "/ready") ? 0 : strlen(s->payload)) ||
                   (as->revokes && strchr(text, '#') != NULL));
        read_acl(s, frame);
        STAGE_MUST(hf_jute_get_int(frame) == flags_of(text));
    } else {
        STAGE_MUST(opcode == HF_ZK_CHECK || opcode == HF_ZK_DELETE);
        version = hf_jute_get_int(frame);
        STAGE_MUST(version == HF_ZK_ANY_VERSION || opcode == HF_ZK_DELETE);
        if (version != HF_ZK_ANY_VERSION) {
            as->version = version;
            stage_say(&s->sent, "", " v%d", (int)version);
        }
    }
}

static void say_multi(struct stage *s, int32_t xid,
                      struct hf_jute_reader *frame, const char *between)
{
    static struct stage_text paths;
    struct stage_call as = {.version = HF_ZK_ANY_VERSION}, *call;
    int32_t parts = 0, part = 0;
    bool guarded = false;

    paths.used = 0;
    stage_say(&s->sent, between, "MULTI");
    for (;;) {
        int32_t type = hf_jute_get_int(frame);
        bool last = hf_jute_get_bool(frame);

        STAGE_MUST(hf_jute_get_int(frame) == -1 && !frame->failed);
        if (last)
            break;
        STAGE_MUST(!guarded); /* with the check at the end */
        /* All of a kind, but for a downgrade, see changed(), permits, and
         * checks in front of a stamp. */
        if ((parts == 1 && part == HF_ZK_CREATE && type == HF_ZK_DELETE) ||
            (part == HF_ZK_CHECK && type != HF_ZK_CHECK))
            part = HF_ZK_MULTI;
        guarded = part == HF_ZK_CREATE && type == HF_ZK_CHECK;
        STAGE_MUST(parts == 0 || type == part || part == HF_ZK_MULTI ||
                   guarded);
        if (parts == 0)
            part = type;
        say_part(s, frame, type, &paths, &as);
        parts++;
    }
    STAGE_MUST(parts > 0);
    call = put_off(s, xid, HF_ZK_MULTI, paths.text);
    call->parts = parts;
    call->part = part;
    call->revokes = as.revokes;
    call->version = as.version;
}

static void say_create(struct stage *s, int32_t opcode, const char *path,
                       struct hf_jute_reader *frame, const char *between)
{
    struct hf_jute_piece payload = hf_jute_get_buffer(frame);
    int32_t flags;

    read_acl(s, frame);
    flags = hf_jute_get_int(frame);
    if (opcode == HF_ZK_CREATE2) {
        STAGE_MUST(flags == flags_of(path));
        STAGE_MUST(payload.count == strlen(s->payload));
        stage_say(&s->sent, between, "CREATE2 %s", path);
    } else if (opcode == HF_ZK_CREATE) {
        STAGE_MUST(flags == HF_ZK_PERSISTENT);
        stage_say(&s->sent, between, "CREATE %s", path);
        if (payload.count > 0)
            stage_say(&s->sent, "", "=%.*s", (int)payload.count, payload.bytes);
    } else {
        STAGE_MUST(flags == HF_ZK_CONTAINER && payload.count == 0);
        stage_say(&s->sent, between, "CONTAINER %s", path);
    }
}

static void say_set_data(struct stage *s, struct stage_call *call,
                         const char *text, struct hf_jute_reader *frame,
                         const char *between)
{
    struct hf_jute_piece data = hf_jute_get_buffer(frame);

    call->revokes = hf_zk_is_revoke_data(data);
    call->version = hf_jute_get_int(frame);
    stage_say(&s->sent, between, "SET %s v%d %.*s", text, call->version,
              (int)data.count, data.bytes);
}

static void say_call(struct stage *s, int32_t xid, int32_t opcode,
                     struct hf_jute_reader *frame, const char *between)
{
    char path[STAGE_PATH_BYTES], text[STAGE_PATH_BYTES];
    struct stage_call *call;

    read_path(frame, path, sizeof path);
    shorten(s, path, text, sizeof text);
    call = put_off(s, xid, opcode, path);
    switch (opcode) {
    case HF_ZK_CREATE:
    case HF_ZK_CREATE2:
    case HF_ZK_CREATE_CONTAINER:
        say_create(s, opcode, text, frame, between);
        break;
    case HF_ZK_DELETE:
        STAGE_MUST(hf_jute_get_int(frame) == -1);
        stage_say(&s->sent, between, "DELETE %s", text);
        break;
    case HF_ZK_EXISTS:
        STAGE_MUST(!hf_jute_get_bool(frame)); /* would stay for ever */
        stage_say(&s->sent, between, "EXISTS %s", text);
        break;
    case HF_ZK_GET_DATA:
        call->watch = hf_jute_get_bool(frame);
        stage_say(&s->sent, between, "DATA %s%s", text,
                  call->watch ? " w" : "");
        break;
    case HF_ZK_SET_DATA:
        say_set_data(s, call, text, frame, between);
        break;
    case HF_ZK_GET_CHILDREN:
        call->watch = hf_jute_get_bool(frame);
        stage_say(&s->sent, between, "LIST %s%s", text,
                  call->watch ? " w" : "");
        break;
    default:
        STAGE_MUST(opcode == HF_ZK_SYNC);
        stage_say(&s->sent, between, "SYNC %s", text);
    }
}

static void say_set_watches(struct stage *s, struct hf_jute_reader *frame,
                            const char *between)
{
    char path[STAGE_PATH_BYTES], text[STAGE_PATH_BYTES];
    int64_t zxid = hf_jute_get_long(frame);

    stage_say(&s->sent, between, "SETWATCHES 0x%llx", (long long)zxid);
    for (int list = 0; list < 3; list++) {
        size_t count = hf_jute_get_count(frame, 4);

        STAGE_MUST(list != 1 || count == 0); /* nothing is to come */
        for (size_t i = 0; i < count; i++) {
            read_path(frame, path, sizeof path);
            shorten(s, path, text, sizeof text);
            stage_say(&s->sent, "", " %s%s", text, list == 2 ? "/" : "");
            if (s->watched != NULL)
                s->watched(s, path, list == 2, zxid);
        }
    }
}

static void say_greeting(struct stage *s, struct hf_jute_reader *frame)
{
    struct hf_jute_piece password;
    int64_t zxid, id;
    int32_t timeout;

    STAGE_MUST(hf_jute_get_int(frame) == 0);
    zxid = hf_jute_get_long(frame);
    timeout = hf_jute_get_int(frame);
    id = hf_jute_get_long(frame);
    password = hf_jute_get_buffer(frame);
    STAGE_MUST(password.count == HF_ZK_PASSWORD_BYTES);
    STAGE_MUST(id == 0 || s->strange ||
               memcmp(password.bytes, "0123456789abcdef", 16) == 0);
    STAGE_MUST(!hf_jute_get_bool(frame));
    stage_say(&s->sent, " | ", "GREET 0x%llx %d 0x%llx", (long long)zxid,
              timeout, (long long)id);
    s->greeting = true;
    s->connect_sent_at_ms = s->now_ms;
    s->greeted_session = id;
}

static void say_frame(struct stage *s, struct hf_jute_reader *frame,
                      const char *between)
{
    int32_t xid = hf_jute_get_int(frame);
    int32_t opcode = hf_jute_get_int(frame);
    struct hf_jute_piece user;

    STAGE_MUST(xid > 0 || opcode == HF_ZK_PING || opcode == HF_ZK_AUTH ||
               opcode == HF_ZK_SET_WATCHES);
    switch (opcode) {
    case HF_ZK_PING:
        stage_say(&s->sent, between, "PING");
        s->pings++;
        break;
    case HF_ZK_CLOSE_SESSION:
        stage_say(&s->sent, between, "CLOSE");
        put_off(s, xid, opcode, NULL);
        break;
    case HF_ZK_AUTH:
        (void)hf_jute_get_int(frame);
        (void)hf_jute_get_buffer(frame); /* "digest" */
        user = hf_jute_get_buffer(frame);
        stage_say(&s->sent, between, "AUTH %.*s", (int)user.count, user.bytes);
        break;
    case HF_ZK_SET_WATCHES:
        say_set_watches(s, frame, between);
        break;
    case HF_ZK_MULTI:
        say_multi(s, xid, frame, between);
        break;
    default:
        say_call(s, xid, opcode, frame, between);
    }
}

void stage_read_frames(struct stage *s, const uint8_t *bytes, size_t count)
{
    struct hf_jute_reader all = {bytes, count, false};
    struct hf_jute_reader frame;
    const char *between = " | ";
    struct hf_jute_piece piece;

    if (count == 7 && memcmp(bytes, "\x15\x03\x01\x00\x02\x01\x00", 7) == 0) {
        stage_say(&s->sent, between, "TLS?");
        return;
    }
    while (all.left > 0) {
        piece = hf_jute_get_buffer(&all);
        STAGE_MUST(!all.failed && piece.count > 0); /* whole frames */
        frame.bytes = (const uint8_t *)piece.bytes;
        frame.left = piece.count;
        frame.failed = false;
        if (!s->greeting)
            say_greeting(s, &frame);
        else
            say_frame(s, &frame, between);
        STAGE_MUST(!frame.failed && frame.left == 0);
        s->frames++;
        if (piece.count > s->longest)
            s->longest = piece.count;
        between = "; ";
    }
}
