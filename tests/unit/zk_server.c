/* SPDX-License-Identifier: Apache-2.0 */
/* The other side of the stage: what was sent, described, and what a server says
 * to it. */
#include <assert.h>
#include <string.h>

#include "engines/zookeeper/permit.h"
#include "zk_stage.h"

/* --------------------------------------------------------- what was sent -- */

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

static void drop_first(struct stage *s)
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
        drop_first(s);
    s->pings = 0;
    s->greeting = false;
    s->out.used = 0;
    s->holding = false;
}

static void read_path(struct hf_jute_reader *frame, char *path, size_t bytes)
{
    struct hf_jute_piece piece = hf_jute_get_buffer(frame);

    STAGE_MUST(!frame->failed && piece.count < bytes && piece.count > 0);
    memcpy(path, piece.bytes, piece.count);
    path[piece.count] = '\0';
    STAGE_MUST(strlen(path) == piece.count && path[0] == '/');
}

#define PATH_BYTES 4096

/* The name of a ticket; or what a create has of it, lacking its number. */
static bool is_ticket(const char *name, struct hf_zk_node *node, bool *whole)
{
    char text[PATH_BYTES];

    *whole = hf_zk_node_parse(name, strlen(name), node) ||
             hf_zk_permit_parse(name, strlen(name), node);
    snprintf(text, sizeof text, "%.*s0000000000", PATH_BYTES - 11, name);
    return *whole || hf_zk_node_parse(text, strlen(text), node);
}

/* "/chroot/q/_c_78...-lock-0000000007" as "q/x#7". */
static void shorten(const struct stage *s, const char *path, char *text,
                    size_t bytes)
{
    static const char *const suffixes[] = {
        [HF_TICKET_MUTEX] = "",      [HF_TICKET_READ] = "/r",
        [HF_TICKET_WRITE] = "/w",    [HF_TICKET_LEASE] = "/l",
        [HF_TICKET_ELECTION] = "/e", [HF_TICKET_EXCLUSIVE] = ""};
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
    if (slash == NULL || !is_ticket(slash + 1, &node, &whole))
        return;
    stage_id_name(&node.id, name);
    snprintf(text, bytes, "%.*s/%s%s", (int)(slash - path), path, name,
             hf_zk_node_is_permit(&node) ? "/p" : suffixes[node.kind]);
    if (whole)
        snprintf(text + strlen(text), bytes - strlen(text), "#%d",
                 (int)node.sequence);
}

/* An access list: one entry, which the story of credentials looks at. */
static void read_acl(struct stage *s, struct hf_jute_reader *frame)
{
    struct hf_jute_piece scheme;

    STAGE_MUST(hf_jute_get_int(frame) == 1);
    STAGE_MUST(hf_jute_get_int(frame) == HF_ZK_PERMISSIONS_ALL);
    scheme = hf_jute_get_buffer(frame);
    STAGE_MUST(scheme.count == (s->config.private_nodes ? 4u : 5u));
    (void)hf_jute_get_buffer(frame);
}

/* One operation: its path, with what it does in front of it. */
static void say_part(struct stage *s, struct hf_jute_reader *frame,
                     int32_t opcode, struct stage_text *paths)
{
    const char *what = opcode == HF_ZK_CHECK    ? ""
                       : opcode == HF_ZK_CREATE ? "+"
                                                : "-";
    char path[PATH_BYTES], text[PATH_BYTES];

    read_path(frame, path, sizeof path);
    shorten(s, path, text, sizeof text);
    stage_say(&s->sent, "", " %s%s", what, text);
    stage_say(paths, " ", "%s%s", what, path);
    if (opcode == HF_ZK_CREATE) {
        STAGE_MUST(hf_jute_get_buffer(frame).count == strlen(s->payload));
        read_acl(s, frame);
        STAGE_MUST(hf_jute_get_int(frame) == (strchr(text, '#') == NULL
                                                  ? HF_ZK_EPHEMERAL_SEQUENTIAL
                                                  : HF_ZK_EPHEMERAL));
    } else {
        STAGE_MUST(opcode == HF_ZK_CHECK || opcode == HF_ZK_DELETE);
        STAGE_MUST(hf_jute_get_int(frame) == -1); /* version */
    }
}

static void say_multi(struct stage *s, int32_t xid,
                      struct hf_jute_reader *frame, const char *between)
{
    static struct stage_text paths;
    struct stage_call *call;
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
        /* All of a kind, but for a downgrade, see changed(), and permits. */
        if (parts == 1 && part == HF_ZK_CREATE && type == HF_ZK_DELETE)
            part = HF_ZK_MULTI;
        guarded = part == HF_ZK_CREATE && type == HF_ZK_CHECK;
        STAGE_MUST(parts == 0 || type == part || part == HF_ZK_MULTI ||
                   guarded);
        if (parts == 0)
            part = type;
        say_part(s, frame, type, &paths);
        parts++;
    }
    STAGE_MUST(parts > 0);
    call = put_off(s, xid, HF_ZK_MULTI, paths.text);
    call->parts = parts;
    call->part = part;
}

static void say_create(struct stage *s, int32_t opcode, const char *path,
                       struct hf_jute_reader *frame, const char *between)
{
    struct hf_jute_piece payload = hf_jute_get_buffer(frame);
    int32_t flags;

    read_acl(s, frame);
    flags = hf_jute_get_int(frame);
    if (opcode == HF_ZK_CREATE2) {
        STAGE_MUST(flags == HF_ZK_EPHEMERAL_SEQUENTIAL);
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

static void say_call(struct stage *s, int32_t xid, int32_t opcode,
                     struct hf_jute_reader *frame, const char *between)
{
    char path[PATH_BYTES], text[PATH_BYTES];
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
    char path[PATH_BYTES], text[PATH_BYTES];
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
    s->greeted_at_ms = s->now_ms;
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

/* -------------------------------------------------------------- answers -- */

void hold(struct stage *s)
{
    s->holding = true;
}

void deliver(struct stage *s)
{
    static uint8_t bytes[1 << 20];
    size_t count = s->out.used;

    STAGE_MUST(count <= sizeof bytes && !s->out.failed);
    if (count > 0)
        memcpy(bytes, s->out.bytes, count);
    s->out.used = 0;
    s->holding = false;
    stage_allocates(false);
    stage_receive(s, bytes, count);
}

/* Begin and end an answer. */
static size_t begin(struct stage *s)
{
    stage_allocates(true);
    return hf_jute_begin_frame(&s->out);
}

static void end(struct stage *s, size_t at_)
{
    hf_jute_end_frame(&s->out, at_);
    stage_allocates(false);
    if (!s->holding)
        deliver(s);
}

static size_t begin_header(struct stage *s, int32_t xid, int64_t zxid,
                           int32_t error)
{
    size_t at_ = begin(s);

    hf_jute_put_int(&s->out, xid);
    hf_jute_put_long(&s->out, zxid);
    hf_jute_put_int(&s->out, error);
    return at_;
}

static bool writes(int32_t opcode)
{
    return opcode == HF_ZK_CREATE || opcode == HF_ZK_CREATE2 ||
           opcode == HF_ZK_CREATE_CONTAINER || opcode == HF_ZK_DELETE ||
           opcode == HF_ZK_MULTI;
}

/* Of the oldest request, which is one of ${opcode}, or of any for 0. */
static size_t begin_answer(struct stage *s, int32_t opcode, int32_t error)
{
    int32_t xid;

    STAGE_MUST(s->first != NULL);
    STAGE_MUST(opcode == 0 || s->first->opcode == opcode);
    xid = s->first->xid;
    if (error == HF_ZK_OK && writes(s->first->opcode) &&
        s->first->sent_at_ms > s->committed_ms)
        s->committed_ms = s->first->sent_at_ms;
    drop_first(s);
    return begin_header(s, xid, s->zxid++, error);
}

static void put_stat(struct stage *s, int64_t czxid, int64_t owner)
{
    hf_jute_put_long(&s->out, czxid);
    for (int i = 0; i < 3; i++)
        hf_jute_put_long(&s->out, 1);
    for (int i = 0; i < 3; i++)
        hf_jute_put_int(&s->out, 2);
    hf_jute_put_long(&s->out, owner);
    hf_jute_put_int(&s->out, 3);
    hf_jute_put_int(&s->out, s->nodes);
    hf_jute_put_long(&s->out, 4);
}

void accept_session_as(struct stage *s, int32_t timeout_ms, int64_t id)
{
    size_t at_ = begin(s);

    if (id != 0 && s->greeted_at_ms > s->committed_ms)
        s->committed_ms = s->greeted_at_ms;
    hf_jute_put_int(&s->out, 0);
    hf_jute_put_int(&s->out, timeout_ms);
    hf_jute_put_long(&s->out, id);
    hf_jute_put_buffer(&s->out, "0123456789abcdef", 16);
    hf_jute_put_bool(&s->out, false);
    end(s, at_);
}

void accept_session(struct stage *s)
{
    accept_session_as(s, STAGE_TIMEOUT_MS, s->session);
}

void refuse_session(struct stage *s)
{
    accept_session_as(s, 0, 0);
}

void created_as(struct stage *s, const char *path, int64_t czxid)
{
    size_t at_ = begin_answer(s, HF_ZK_CREATE2, HF_ZK_OK);

    hf_jute_put_string(&s->out, path);
    put_stat(s, czxid, s->session);
    end(s, at_);
}

void created(struct stage *s, int32_t sequence, int64_t czxid)
{
    char path[PATH_BYTES];

    STAGE_MUST(s->first != NULL && s->first->path != NULL);
    snprintf(path, sizeof path, "%s%010d", s->first->path, sequence);
    created_as(s, path, czxid);
}

void children(struct stage *s, const char *tickets)
{
    size_t at_ = begin_answer(s, HF_ZK_GET_CHILDREN, HF_ZK_OK);
    size_t count_at = hf_jute_begin_frame(&s->out);
    char *copy = strdup(tickets), *rest = NULL;
    char node[PATH_BYTES];
    int32_t count = 0;

    STAGE_MUST(copy != NULL);
    for (char *name = strtok_r(copy, " ", &rest); name != NULL;
         name = strtok_r(NULL, " ", &rest)) {
        stage_node(s, name, node, sizeof node);
        hf_jute_put_string(&s->out, node);
        count++;
    }
    hf_jute_set_int(&s->out, count_at, count);
    free(copy);
    end(s, at_);
}

void data(struct stage *s, const char *text, int64_t czxid, int64_t owner)
{
    size_t at_ = begin_answer(s, HF_ZK_GET_DATA, HF_ZK_OK);

    if (text != NULL)
        hf_jute_put_string(&s->out, text);
    else
        hf_jute_put_int(&s->out, -1);
    put_stat(s, czxid, owner);
    end(s, at_);
}

void exists(struct stage *s, int64_t czxid, int64_t owner)
{
    size_t at_ = begin_answer(s, HF_ZK_EXISTS, HF_ZK_OK);

    put_stat(s, czxid, owner);
    end(s, at_);
}

static void put_result(struct stage *s, int32_t type, bool last, int32_t error)
{
    hf_jute_put_int(&s->out, type);
    hf_jute_put_bool(&s->out, last);
    hf_jute_put_int(&s->out, error);
}

/* A create of ${path}, which is numbered if it lacks one. */
static void put_created(struct stage *s, const char *path, size_t bytes,
                        uint32_t sequence)
{
    char made[PATH_BYTES + 16];
    struct hf_zk_node node;
    bool whole;

    snprintf(made, sizeof made, "%.*s", (int)bytes, path);
    if (!is_ticket(strrchr(made, '/') + 1, &node, &whole) || !whole)
        snprintf(made + bytes, sizeof made - bytes, "%010d", (int32_t)sequence);
    hf_jute_put_string(&s->out, made);
}

/* What was done of ${paths}.  The first that is numbered gets ${sequence}. */
static void put_results(struct stage *s, const char *paths, int32_t sequence)
{
    size_t bytes;

    for (uint32_t i = 0; *paths != '\0'; i++, paths += bytes) {
        paths += *paths == ' ';
        bytes = strcspn(paths, " ");
        put_result(s,
                   *paths == '+'   ? HF_ZK_CREATE
                   : *paths == '-' ? HF_ZK_DELETE
                                   : HF_ZK_CHECK,
                   false, 0);
        if (*paths == '+')
            put_created(s, paths + 1, bytes - 1, (uint32_t)sequence + i);
    }
}

static void answer_multi(struct stage *s, int32_t sequence)
{
    char paths[STAGE_TEXT_BYTES] = "";
    size_t at_;

    if (s->first != NULL)
        snprintf(paths, sizeof paths, "%s", s->first->path);
    at_ = begin_answer(s, HF_ZK_MULTI, HF_ZK_OK);
    put_results(s, paths, sequence);
    put_result(s, -1, true, -1);
    end(s, at_);
}

void checked(struct stage *s)
{
    STAGE_MUST(s->first != NULL && s->first->part != HF_ZK_CREATE &&
               s->first->part != HF_ZK_MULTI);
    answer_multi(s, 0);
}

void created_all(struct stage *s, int32_t sequence)
{
    STAGE_MUST(s->first != NULL && s->first->part == HF_ZK_CREATE);
    answer_multi(s, sequence);
}

void part_failed(struct stage *s, int32_t nth, int32_t why)
{
    int32_t parts = s->first != NULL ? s->first->parts : 0;
    uint64_t committed_ms = s->committed_ms;
    size_t at_ = begin_answer(s, HF_ZK_MULTI, HF_ZK_OK);
    int32_t error;

    STAGE_MUST(nth < parts);
    s->committed_ms = committed_ms;
    for (int32_t i = 0; i < parts; i++) {
        /* What is before the one that failed was rolled back, what is behind
         * it not tried: -2, "runtime inconsistency". */
        error = i < nth ? 0 : i == nth ? why : -2;
        put_result(s, HF_ZK_ERROR_RESULT, false, error);
        hf_jute_put_int(&s->out, error);
    }
    put_result(s, -1, true, -1);
    end(s, at_);
}

void changed(struct stage *s)
{
    size_t at_;

    STAGE_MUST(s->first != NULL && s->first->part == HF_ZK_MULTI);
    at_ = begin_answer(s, HF_ZK_MULTI, HF_ZK_OK);

    put_result(s, HF_ZK_CREATE, false, 0);
    hf_jute_put_string(&s->out, "/what/it/is/called");
    put_result(s, HF_ZK_DELETE, false, 0);
    put_result(s, -1, true, -1);
    end(s, at_);
}

void check_failed(struct stage *s, int32_t nth)
{
    part_failed(s, nth, HF_ZK_NO_NODE);
}

void done(struct stage *s)
{
    int32_t opcode = s->first != NULL ? s->first->opcode : 0;
    char path[PATH_BYTES] = "";
    size_t at_;

    if (s->first != NULL && s->first->path != NULL)
        snprintf(path, sizeof path, "%s", s->first->path);
    at_ = begin_answer(s, 0, HF_ZK_OK);
    switch (opcode) {
    case HF_ZK_CREATE:
    case HF_ZK_SYNC:
        hf_jute_put_string(&s->out, path);
        break;
    case HF_ZK_CREATE_CONTAINER:
        hf_jute_put_string(&s->out, path);
        put_stat(s, 1, 0);
        break;
    default:
        STAGE_MUST(opcode == HF_ZK_DELETE || opcode == HF_ZK_CLOSE_SESSION);
    }
    end(s, at_);
}

void refused(struct stage *s, int32_t error)
{
    end(s, begin_answer(s, 0, error));
}

void answer_with(struct stage *s, const void *body, size_t count)
{
    size_t at_ = begin_answer(s, 0, HF_ZK_OK);

    s->strange = true;
    for (size_t i = 0; i < count; i++)
        hf_jute_put_byte(&s->out, ((const uint8_t *)body)[i]);
    end(s, at_);
}

void header(struct stage *s, int32_t xid, int32_t error)
{
    end(s, begin_header(s, xid, 0, error));
}

void pong(struct stage *s)
{
    STAGE_MUST(s->pings > 0);
    s->pings--;
    header(s, HF_ZK_XID_PING, HF_ZK_OK);
}

void event_at(struct stage *s, int32_t type, const char *path)
{
    size_t at_ = begin_header(s, HF_ZK_XID_EVENT, -1, HF_ZK_OK);

    hf_jute_put_int(&s->out, type);
    hf_jute_put_int(&s->out, 3); /* SyncConnected */
    hf_jute_put_string(&s->out, path);
    end(s, at_);
}

/* ${ticket} is "q/x#1"; "q/" is the queue. */
void event(struct stage *s, int32_t type, const char *ticket)
{
    const char *slash = strchr(ticket, '/');
    char path[PATH_BYTES], node[256];

    STAGE_MUST(slash != NULL);
    if (slash[1] == '\0') {
        snprintf(path, sizeof path, "%s/%.*s", s->config.chroot,
                 (int)(slash - ticket), ticket);
        event_at(s, type, path);
        return;
    }
    stage_node(s, slash + 1, node, sizeof node);
    snprintf(path, sizeof path, "%s/%.*s/%s", s->config.chroot,
             (int)(slash - ticket), ticket, node);
    event_at(s, type, path);
}

/* --------------------------------------------------------- short stories -- */

void have(struct stage *s, const char *ticket, int32_t sequence, int64_t czxid)
{
    char list[64];

    snprintf(list, sizeof list, "%s#%d", ticket, sequence);
    ask(s, HF_REQUEST_ENQUEUE, ticket);
    created(s, sequence, czxid);
    children(s, list);
    (void)stage_sent(s);
    (void)stage_told(s);
}

void resume(struct stage *s)
{
    link_down(s, "reset");
    while (s->server == NULL)
        ring(s);
    link_up(s);
    accept_session(s);
    (void)stage_sent(s);
    (void)stage_told(s);
}
