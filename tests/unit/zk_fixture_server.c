/* SPDX-License-Identifier: Apache-2.0 */
/* The answers of the server, which the test gives one by one. */
#include <string.h>

#include "heap/heap.h"
#include "zk_fixture.h"
#include "zk_server_frames.h"

/* -------------------------------------------------------------- answers -- */

void hold_answers(struct zk_fixture *f)
{
    f->holding = true;
}

void deliver_answers(struct zk_fixture *f)
{
    static uint8_t bytes[1 << 20];
    size_t count = f->out.used;

    ZK_FIXTURE_MUST(count <= sizeof bytes && !f->out.failed);
    if (count > 0)
        memcpy(bytes, f->out.bytes, count);
    f->out.used = 0;
    f->holding = false;
    heap_exempt(false);
    zk_fixture_receive(f, bytes, count);
}

/* The memory of frames is not that of the client, so no allocation for it
 * fails: heap_exempt() goes in front of each.  At its end it is delivered,
 * unless answers are held. */
static void deliver(struct zk_fixture *f)
{
    heap_exempt(false);
    if (!f->holding)
        deliver_answers(f);
}

static void end(struct zk_fixture *f, size_t at_)
{
    hf_jute_end_frame(&f->out, at_);
    deliver(f);
}

static bool writes(int32_t opcode)
{
    return opcode == HF_ZK_CREATE || opcode == HF_ZK_CREATE2 ||
           opcode == HF_ZK_CREATE_CONTAINER || opcode == HF_ZK_DELETE ||
           opcode == HF_ZK_SET_DATA || opcode == HF_ZK_MULTI;
}

/* Begin the answer to the oldest call, which must be of ${opcode} if that is
 * not 0, and drop the call. */
static size_t begin_answer(struct zk_fixture *f, int32_t opcode, int32_t error)
{
    int32_t xid;

    ZK_FIXTURE_MUST(f->first != NULL);
    ZK_FIXTURE_MUST(opcode == 0 || f->first->opcode == opcode);
    xid = f->first->xid;
    if (error == HF_ZK_OK && writes(f->first->opcode) &&
        f->first->sent_at_ms > f->committed_ms)
        f->committed_ms = f->first->sent_at_ms;
    zk_fixture_drop_call(f);
    heap_exempt(true);
    return zk_server_begin(&f->out, xid, f->zxid++, error);
}

static void put_stat(struct zk_fixture *f, int64_t czxid, int64_t owner)
{
    zk_server_put_stat(&f->out,
                       &(struct hf_zookeeper_stat){.czxid = czxid,
                                                   .mzxid = 1,
                                                   .created_utc_ms = 1,
                                                   .modified_utc_ms = 1,
                                                   .version = f->version,
                                                   .cversion = 2,
                                                   .aversion = 2,
                                                   .ephemeral_owner = owner,
                                                   .bytes = 3,
                                                   .children = f->nodes,
                                                   .pzxid = 4});
}

void accept_session_as(struct zk_fixture *f, int32_t timeout_ms, int64_t id)
{
    if (id != 0 && f->connect_sent_at_ms > f->committed_ms)
        f->committed_ms = f->connect_sent_at_ms;
    heap_exempt(true);
    zk_server_session(&f->out, timeout_ms, id, false);
    deliver(f);
}

void accept_session(struct zk_fixture *f)
{
    accept_session_as(f, ZK_FIXTURE_TIMEOUT_MS, f->session);
}

void refuse_session(struct zk_fixture *f)
{
    accept_session_as(f, 0, 0);
}

/* The results of the trial in front of a multi that succeeded. */
static void put_trial(struct zk_fixture *f)
{
    zk_server_put_result(&f->out, HF_ZK_CREATE, false, 0);
    hf_jute_put_string(&f->out, "/what/was/tried");
    zk_server_put_result(&f->out, HF_ZK_DELETE, false, 0);
}

/* The path in the call of a create, which may be the MULTI of a trial. */
static const char *path_of_create(const struct zk_fixture *f)
{
    ZK_FIXTURE_MUST(f->first != NULL && f->first->path != NULL);
    return f->first->path + (f->first->opcode == HF_ZK_MULTI ? 1 : 0);
}

void created_as(struct zk_fixture *f, const char *path, int64_t czxid)
{
    bool trial = f->first != NULL && f->first->opcode == HF_ZK_MULTI;
    size_t at_;

    ZK_FIXTURE_MUST(!trial || (f->first->trial && f->first->multi_count == 1));
    if (trial)
        f->zxid = czxid;
    at_ = begin_answer(f, trial ? HF_ZK_MULTI : HF_ZK_CREATE2, HF_ZK_OK);
    if (trial) {
        put_trial(f);
        zk_server_put_result(&f->out, HF_ZK_CREATE, false, 0);
    }
    hf_jute_put_string(&f->out, path);
    if (trial)
        zk_server_put_result(&f->out, -1, true, -1);
    else
        put_stat(f, czxid, f->session);
    end(f, at_);
}

void created(struct zk_fixture *f, int32_t sequence, int64_t czxid)
{
    char path[ZK_FIXTURE_PATH_BYTES];

    snprintf(path, sizeof path, "%s%010d", path_of_create(f), sequence);
    created_as(f, path, czxid);
}

void participant_created(struct zk_fixture *f, int64_t czxid)
{
    char path[ZK_FIXTURE_PATH_BYTES];

    snprintf(path, sizeof path, "%s", path_of_create(f));
    created_as(f, path, czxid);
}

void children(struct zk_fixture *f, const char *tickets)
{
    size_t at_ = begin_answer(f, HF_ZK_GET_CHILDREN, HF_ZK_OK);
    size_t count_at = hf_jute_begin_frame(&f->out);
    char *copy = strdup(tickets), *rest = NULL;
    char node[ZK_FIXTURE_PATH_BYTES];
    int32_t count = 0;

    ZK_FIXTURE_MUST(copy != NULL);
    for (char *name = strtok_r(copy, " ", &rest); name != NULL;
         name = strtok_r(NULL, " ", &rest)) {
        zk_fixture_node(f, name, node, sizeof node);
        hf_jute_put_string(&f->out, node);
        count++;
    }
    hf_jute_set_int(&f->out, count_at, count);
    free(copy);
    end(f, at_);
}

void data(struct zk_fixture *f, const char *text, int64_t czxid, int64_t owner)
{
    size_t at_ = begin_answer(f, HF_ZK_GET_DATA, HF_ZK_OK);

    if (text != NULL)
        hf_jute_put_string(&f->out, text);
    else
        hf_jute_put_int(&f->out, -1);
    put_stat(f, czxid, owner);
    end(f, at_);
}

void exists(struct zk_fixture *f, int64_t czxid, int64_t owner)
{
    size_t at_ = begin_answer(f, HF_ZK_EXISTS, HF_ZK_OK);

    put_stat(f, czxid, owner);
    end(f, at_);
}

void data_written(struct zk_fixture *f)
{
    size_t at_ = begin_answer(f, HF_ZK_SET_DATA, HF_ZK_OK);

    put_stat(f, 2, 2);
    end(f, at_);
}

/* The result of a create of ${path}; a ticket without a number gets one. */
static void put_created(struct zk_fixture *f, const char *path, size_t bytes,
                        uint32_t sequence)
{
    char made[ZK_FIXTURE_PATH_BYTES + 16];
    struct hf_zk_engine_node node;
    bool whole;

    snprintf(made, sizeof made, "%.*s", (int)bytes, path);
    if (strcmp(strrchr(made, '/'), "/ready") != 0 &&
        (!zk_fixture_is_ticket(strrchr(made, '/') + 1, &node, &whole) ||
         !whole))
        snprintf(made + bytes, sizeof made - bytes, "%010d", (int32_t)sequence);
    hf_jute_put_string(&f->out, made);
}

/* The results of the operations ${paths}; numbers begin at ${sequence} and go
 * up by ${step}. */
static void put_results(struct zk_fixture *f, const char *paths,
                        int32_t sequence, uint32_t step)
{
    size_t bytes;

    for (uint32_t i = 0; *paths != '\0'; i++, paths += bytes) {
        paths += *paths == ' ';
        bytes = strcspn(paths, " ");
        zk_server_put_result(&f->out,
                             *paths == '+'   ? HF_ZK_CREATE
                             : *paths == '-' ? HF_ZK_DELETE
                                             : HF_ZK_CHECK,
                             false, 0);
        if (*paths == '+')
            put_created(f, paths + 1, bytes - 1, (uint32_t)sequence + i * step);
    }
}

static void answer_multi(struct zk_fixture *f, int32_t sequence, uint32_t step)
{
    bool trial = f->first != NULL && f->first->trial;
    char paths[ZK_FIXTURE_TEXT_BYTES] = "";
    size_t at_;

    if (f->first != NULL)
        snprintf(paths, sizeof paths, "%s", f->first->path);
    at_ = begin_answer(f, HF_ZK_MULTI, HF_ZK_OK);
    if (trial)
        put_trial(f);
    put_results(f, paths, sequence, step);
    zk_server_put_result(&f->out, -1, true, -1);
    end(f, at_);
}

void checked(struct zk_fixture *f)
{
    ZK_FIXTURE_MUST(f->first != NULL &&
                    f->first->multi_opcode != HF_ZK_CREATE &&
                    f->first->multi_opcode != HF_ZK_MULTI);
    answer_multi(f, 0, 1);
}

void multi_done(struct zk_fixture *f)
{
    ZK_FIXTURE_MUST(f->first != NULL && f->first->multi_opcode == HF_ZK_MULTI);
    answer_multi(f, 0, 1);
}

void created_all(struct zk_fixture *f, int32_t sequence)
{
    created_apart(f, sequence, 1);
}

void created_apart(struct zk_fixture *f, int32_t sequence, uint32_t step)
{
    ZK_FIXTURE_MUST(f->first != NULL && f->first->multi_opcode == HF_ZK_CREATE);
    answer_multi(f, sequence, step);
}

/* The operation ${nth} of all that the MULTI has failed. */
static void operation_failed(struct zk_fixture *f, int32_t nth, int32_t parts,
                             int32_t why)
{
    uint64_t committed_ms = f->committed_ms;
    size_t at_ = begin_answer(f, HF_ZK_MULTI, HF_ZK_OK);
    int32_t error;

    ZK_FIXTURE_MUST(nth < parts);
    f->committed_ms = committed_ms;
    for (int32_t i = 0; i < parts; i++) {
        /* As a server says it: operations before the one that failed were
         * rolled back (0), those behind it were not tried (-2, "runtime
         * inconsistency"). */
        error = i < nth ? 0 : i == nth ? why : -2;
        zk_server_put_result(&f->out, HF_ZK_ERROR_RESULT, false, error);
        hf_jute_put_int(&f->out, error);
    }
    zk_server_put_result(&f->out, -1, true, -1);
    end(f, at_);
}

void multi_failed(struct zk_fixture *f, int32_t nth, int32_t why)
{
    int32_t trial = f->first != NULL && f->first->trial ? 2 : 0;

    ZK_FIXTURE_MUST(f->first != NULL);
    operation_failed(f, trial + nth, trial + f->first->multi_count, why);
}

void trial_failed(struct zk_fixture *f, int32_t nth, int32_t why)
{
    ZK_FIXTURE_MUST(f->first != NULL && f->first->trial && nth < 2);
    operation_failed(f, nth, 2 + f->first->multi_count, why);
}

void downgrade_done(struct zk_fixture *f)
{
    size_t at_;

    ZK_FIXTURE_MUST(f->first != NULL && f->first->multi_opcode == HF_ZK_MULTI);
    at_ = begin_answer(f, HF_ZK_MULTI, HF_ZK_OK);

    zk_server_put_result(&f->out, HF_ZK_CREATE, false, 0);
    hf_jute_put_string(&f->out, "/what/it/is/called");
    zk_server_put_result(&f->out, HF_ZK_DELETE, false, 0);
    zk_server_put_result(&f->out, -1, true, -1);
    end(f, at_);
}

void check_failed(struct zk_fixture *f, int32_t nth)
{
    multi_failed(f, nth, HF_ZK_NO_NODE);
}

void done(struct zk_fixture *f)
{
    int32_t opcode = f->first != NULL ? f->first->opcode : 0;
    char path[ZK_FIXTURE_PATH_BYTES] = "";
    size_t at_;

    if (f->first != NULL && f->first->path != NULL)
        snprintf(path, sizeof path, "%s", f->first->path);
    at_ = begin_answer(f, 0, HF_ZK_OK);
    switch (opcode) {
    case HF_ZK_CREATE:
    case HF_ZK_SYNC:
        hf_jute_put_string(&f->out, path);
        break;
    case HF_ZK_CREATE_CONTAINER:
        hf_jute_put_string(&f->out, path);
        put_stat(f, 1, 0);
        break;
    default:
        ZK_FIXTURE_MUST(opcode == HF_ZK_DELETE ||
                        opcode == HF_ZK_REMOVE_WATCHES ||
                        opcode == HF_ZK_CLOSE_SESSION);
    }
    end(f, at_);
}

void refused(struct zk_fixture *f, int32_t error)
{
    end(f, begin_answer(f, 0, error));
}

void answer_with(struct zk_fixture *f, const void *body, size_t count)
{
    size_t at_ = begin_answer(f, 0, HF_ZK_OK);

    f->raw_bytes = true;
    for (size_t i = 0; i < count; i++)
        hf_jute_put_byte(&f->out, ((const uint8_t *)body)[i]);
    end(f, at_);
}

void header(struct zk_fixture *f, int32_t xid, int32_t error)
{
    heap_exempt(true);
    zk_server_header(&f->out, xid, f->zxid, error);
    deliver(f);
}

void pong(struct zk_fixture *f)
{
    ZK_FIXTURE_MUST(f->pings > 0);
    f->pings--;
    header(f, HF_ZK_XID_PING, HF_ZK_OK);
}

void event_at(struct zk_fixture *f, int32_t type, const char *path)
{
    heap_exempt(true);
    /* Servers from 3.9 on put the transaction here. */
    zk_server_event(&f->out, f->zxid, type, path);
    deliver(f);
}

void event(struct zk_fixture *f, int32_t type, const char *ticket)
{
    const char *slash = strchr(ticket, '/');
    char path[ZK_FIXTURE_PATH_BYTES], node[256];

    ZK_FIXTURE_MUST(slash != NULL);
    if (slash[1] == '\0') {
        snprintf(path, sizeof path, "%s/%.*s", f->config.url.chroot,
                 (int)(slash - ticket), ticket);
        event_at(f, type, path);
        return;
    }
    zk_fixture_node(f, slash + 1, node, sizeof node);
    snprintf(path, sizeof path, "%s/%.*s/%s", f->config.url.chroot,
             (int)(slash - ticket), ticket, node);
    event_at(f, type, path);
}

/* --------------------------------------------------------- several steps -- */

void have_ticket(struct zk_fixture *f, const char *ticket, int32_t sequence,
                 int64_t czxid)
{
    char list[64];

    snprintf(list, sizeof list, "%s#%d", ticket, sequence);
    ask(f, HF_REQUEST_ENQUEUE, ticket);
    created(f, sequence, czxid);
    children(f, list);
    (void)zk_fixture_sent(f);
    (void)zk_fixture_events(f);
}

void resume(struct zk_fixture *f)
{
    link_down(f, "reset");
    while (f->server == NULL)
        wake(f);
    link_up(f);
    accept_session(f);
    (void)zk_fixture_sent(f);
    (void)zk_fixture_events(f);
}
