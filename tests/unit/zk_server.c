/* SPDX-License-Identifier: Apache-2.0 */
/* What a server says to the stage. */
#include <string.h>

#include "heap/heap.h"
#include "zk_stage.h"

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
    heap_spare(false);
    stage_receive(s, bytes, count);
}

/* Begin and end an answer. */
static size_t begin(struct stage *s)
{
    heap_spare(true);
    return hf_jute_begin_frame(&s->out);
}

static void end(struct stage *s, size_t at_)
{
    hf_jute_end_frame(&s->out, at_);
    heap_spare(false);
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
           opcode == HF_ZK_SET_DATA || opcode == HF_ZK_MULTI;
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
    stage_drop_call(s);
    return begin_header(s, xid, s->zxid++, error);
}

static void put_stat(struct stage *s, int64_t czxid, int64_t owner)
{
    hf_jute_put_long(&s->out, czxid);
    for (int i = 0; i < 3; i++)
        hf_jute_put_long(&s->out, 1);
    hf_jute_put_int(&s->out, s->version);
    for (int i = 0; i < 2; i++)
        hf_jute_put_int(&s->out, 2);
    hf_jute_put_long(&s->out, owner);
    hf_jute_put_int(&s->out, 3);
    hf_jute_put_int(&s->out, s->nodes);
    hf_jute_put_long(&s->out, 4);
}

void accept_session_as(struct stage *s, int32_t timeout_ms, int64_t id)
{
    size_t at_ = begin(s);

    if (id != 0 && s->connect_sent_at_ms > s->committed_ms)
        s->committed_ms = s->connect_sent_at_ms;
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
    char path[STAGE_PATH_BYTES];

    STAGE_MUST(s->first != NULL && s->first->path != NULL);
    snprintf(path, sizeof path, "%s%010d", s->first->path, sequence);
    created_as(s, path, czxid);
}

void came(struct stage *s, int64_t czxid)
{
    char path[STAGE_PATH_BYTES];

    STAGE_MUST(s->first != NULL && s->first->path != NULL);
    snprintf(path, sizeof path, "%s", s->first->path);
    created_as(s, path, czxid);
}

void children(struct stage *s, const char *tickets)
{
    size_t at_ = begin_answer(s, HF_ZK_GET_CHILDREN, HF_ZK_OK);
    size_t count_at = hf_jute_begin_frame(&s->out);
    char *copy = strdup(tickets), *rest = NULL;
    char node[STAGE_PATH_BYTES];
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

void written(struct stage *s)
{
    size_t at_ = begin_answer(s, HF_ZK_SET_DATA, HF_ZK_OK);

    put_stat(s, 2, 2);
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
    char made[STAGE_PATH_BYTES + 16];
    struct hf_zk_node node;
    bool whole;

    snprintf(made, sizeof made, "%.*s", (int)bytes, path);
    if (strcmp(strrchr(made, '/'), "/ready") != 0 &&
        (!stage_is_ticket(strrchr(made, '/') + 1, &node, &whole) || !whole))
        snprintf(made + bytes, sizeof made - bytes, "%010d", (int32_t)sequence);
    hf_jute_put_string(&s->out, made);
}

/* What was done of ${paths}.  The first that is numbered gets ${sequence}, and
 * each ${step} more than what is before it. */
static void put_results(struct stage *s, const char *paths, int32_t sequence,
                        uint32_t step)
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
            put_created(s, paths + 1, bytes - 1, (uint32_t)sequence + i * step);
    }
}

static void answer_multi(struct stage *s, int32_t sequence, uint32_t step)
{
    char paths[STAGE_TEXT_BYTES] = "";
    size_t at_;

    if (s->first != NULL)
        snprintf(paths, sizeof paths, "%s", s->first->path);
    at_ = begin_answer(s, HF_ZK_MULTI, HF_ZK_OK);
    put_results(s, paths, sequence, step);
    put_result(s, -1, true, -1);
    end(s, at_);
}

void checked(struct stage *s)
{
    STAGE_MUST(s->first != NULL && s->first->part != HF_ZK_CREATE &&
               s->first->part != HF_ZK_MULTI);
    answer_multi(s, 0, 1);
}

void stamped(struct stage *s)
{
    STAGE_MUST(s->first != NULL && s->first->part == HF_ZK_MULTI);
    answer_multi(s, 0, 1);
}

void created_all(struct stage *s, int32_t sequence)
{
    created_apart(s, sequence, 1);
}

void created_apart(struct stage *s, int32_t sequence, uint32_t step)
{
    STAGE_MUST(s->first != NULL && s->first->part == HF_ZK_CREATE);
    answer_multi(s, sequence, step);
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
    char path[STAGE_PATH_BYTES] = "";
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
    end(s, begin_header(s, xid, s->zxid, error));
}

void pong(struct stage *s)
{
    STAGE_MUST(s->pings > 0);
    s->pings--;
    header(s, HF_ZK_XID_PING, HF_ZK_OK);
}

void event_at(struct stage *s, int32_t type, const char *path)
{
    /* The transaction, as servers from 3.9 on say it. */
    size_t at_ = begin_header(s, HF_ZK_XID_EVENT, s->zxid, HF_ZK_OK);

    hf_jute_put_int(&s->out, type);
    hf_jute_put_int(&s->out, 3); /* SyncConnected */
    hf_jute_put_string(&s->out, path);
    end(s, at_);
}

/* ${ticket} is "q/x#1"; "q/" is the queue. */
void event(struct stage *s, int32_t type, const char *ticket)
{
    const char *slash = strchr(ticket, '/');
    char path[STAGE_PATH_BYTES], node[256];

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
