/* SPDX-License-Identifier: Apache-2.0 */
/* What each method does that is answered once (api/v3rpc, v3_server.go).
 * Writes are proposals, answered when this member has applied their entry.
 * Reads ask the leader for the index to read at, unless they are serializable
 * or this run has stale reads. */
#include "simulator/model/etcd_internal.h"

#include <string.h>

#define MS_US UINT64_C(1000)
#define READ_AGAIN_US (500 * MS_US) /* readIndexRetryTime */
/* The last one looks whether it still leads before it proposes the end of a
 * lease. */
#define OLD_VERSION "3.4.23"
#define VERSION "3.5.16"

static void time_out(void *arg)
{
    struct etcd_call *call = arg;

    if (!call->ended)
        etcd_call_end(call, ETCD_TIMED_OUT);
}

static void limit(struct etcd_call *call)
{
    etcd_member_after(call->member,
                      5000 * MS_US + 2 * etcd_election_us(call->member->sim),
                      time_out, call);
}

/* ----------------------------------------------------------------- reads -- */

/* A transaction without a write is none, and changes nothing: the store is as
 * it was for the member. */
static void answer_txn(struct etcd_call *call)
{
    const struct etcd_entry *applied = call->member->applied;
    struct etcd_store *store = &call->member->sim->etcd->store;
    struct etcd_writer out = {0};
    struct etcd_txn txn;

    (void)etcd_read_txn(call->member->sim, call->first_message->bytes, &txn);
    store->view = applied->revision;
    (void)etcd_store_txn(store, &txn, NULL, NULL, &out);
    store->view = ETCD_LATEST;
    etcd_call_answer(call, etcd_written(&out), applied->revision);
    etcd_writer_free(&out);
}

/* ${call}->first_message is what is to be read, see read_soon(). */
static void answer_range(struct etcd_call *call)
{
    const struct etcd_entry *applied = call->member->applied;
    const struct etcd_store *store = &call->member->sim->etcd->store;
    struct etcd_range range;
    struct etcd_writer out = {0};
    int64_t revision;

    if (!etcd_read_range(call->first_message->bytes, &range)) {
        etcd_call_end(call, ETCD_MALFORMED);
        return;
    }
    revision = range.revision == 0 ? applied->revision : range.revision;
    if (revision > applied->revision) {
        etcd_call_end(call, ETCD_FUTURE_REVISION);
    } else if (revision < applied->compacted) {
        etcd_call_end(call, ETCD_COMPACTED);
    } else {
        etcd_store_range(store, &range, revision, &out);
        etcd_call_answer(call, etcd_written(&out), applied->revision);
    }
    etcd_writer_free(&out);
}

static void answer_read(struct etcd_call *call)
{
    if (strcmp(call->method, "/etcdserverpb.KV/Txn") == 0)
        answer_txn(call);
    else
        answer_range(call);
}

/* The index is known: wait until it is applied. */
void etcd_read_done(struct etcd_read *read)
{
    struct etcd_member *member = read->member;

    if (member->down || !etcd_call_lives(read->call) || !read->at_known)
        return;
    if (read->index <= member->applied->index) {
        answer_read(read->call);
        return;
    }
    read->next = member->reads;
    member->reads = read;
}

/* A request to the leader may be lost; each repetition counts anew who has
 * answered, unlike that of etcd before 3.4.42 (issue 20418). */
static void begin_read(void *arg)
{
    struct etcd_call *call = arg;
    struct etcd_read *read;

    if (!etcd_call_lives(call))
        return;
    read = sim_alloc(call->member->sim, sizeof *read);
    read->member = call->member;
    read->call = call;
    etcd_member_after(call->member, READ_AGAIN_US, begin_read, call);
    etcd_read_begin(call->member, read);
}

/* Answer ${call}, which reads, with its ${message}. */
static void read_soon(struct etcd_call *call, struct etcd_bytes message,
                      bool serializable)
{
    struct hf_sim *sim = call->member->sim;
    struct etcd_request *kept = sim_alloc(sim, sizeof *kept);

    kept->bytes = message;
    call->first_message = kept;
    if (serializable || sim->config.etcd.stale_reads) {
        answer_read(call);
        return;
    }
    limit(call);
    begin_read(call);
}

static void run_range(struct etcd_call *call, struct etcd_bytes message)
{
    struct etcd_range range;

    if (etcd_read_range(message, &range))
        read_soon(call, message, range.serializable);
    else
        etcd_call_end(call, ETCD_MALFORMED);
}

/* ------------------------------------------------------------- proposals -- */

static struct etcd_command *command_new(struct etcd_call *call,
                                        enum etcd_command_kind kind,
                                        int64_t auth_revision)
{
    struct etcd_command *command =
        sim_alloc(call->member->sim, sizeof *command);

    command->kind = kind;
    command->call = call;
    command->member = call->member;
    command->engine = call->connection->engine;
    command->auth_revision = auth_revision;
    return command;
}

static void submit(struct etcd_call *call, struct etcd_command *command)
{
    limit(call);
    etcd_propose(call->member, command);
}

/* The right to put a key is looked at before the proposal. */
static bool is_denied(const struct etcd_call *call,
                      const struct etcd_command *command)
{
    struct hf_sim *sim = call->member->sim;
    const struct etcd_op *op = &command->op;

    return command->kind == ETCD_WRITE && op->kind == ETCD_OP_TXN &&
           etcd_txn_puts(op->txn) && sim_happens(sim, sim->config.deny_chance);
}

static enum etcd_error read_write(struct etcd_call *call,
                                  struct etcd_command *command,
                                  struct etcd_bytes message)
{
    struct etcd_op *op = &command->op;

    if (strcmp(call->method, "/etcdserverpb.KV/Put") == 0) {
        op->kind = ETCD_OP_PUT;
        return etcd_read_put(message, &op->put) ? ETCD_DONE : ETCD_MALFORMED;
    }
    if (strcmp(call->method, "/etcdserverpb.KV/DeleteRange") == 0) {
        op->kind = ETCD_OP_DELETE;
        return etcd_read_delete(message, &op->deletion) ? ETCD_DONE
                                                        : ETCD_MALFORMED;
    }
    op->kind = ETCD_OP_TXN;
    op->txn = sim_alloc(call->member->sim, sizeof *op->txn);
    return etcd_read_txn(call->member->sim, message, op->txn)
               ? etcd_txn_check(op->txn)
               : ETCD_MALFORMED;
}

static void run_write(struct etcd_call *call, struct etcd_bytes message,
                      int64_t auth_revision)
{
    struct etcd_command *command = command_new(call, ETCD_WRITE, auth_revision);
    enum etcd_error error = read_write(call, command, message);

    if (error == ETCD_DONE && is_denied(call, command))
        error = ETCD_DENIED;
    if (error != ETCD_DONE)
        etcd_call_end(call, error);
    else if (command->op.kind == ETCD_OP_TXN &&
             !etcd_txn_writes(command->op.txn))
        read_soon(call, message, false);
    else
        submit(call, command);
}

static void run_pair(struct etcd_call *call, struct etcd_bytes message,
                     enum etcd_command_kind kind)
{
    struct etcd_command *command = command_new(call, kind, 0);
    struct etcd_pair pair;

    if (!etcd_read_pair(message, &pair)) {
        etcd_call_end(call, ETCD_MALFORMED);
        return;
    }
    command->lease = kind == ETCD_GRANT ? pair.second : pair.first;
    command->number = pair.first;
    submit(call, command);
}

void etcd_proposal_done(struct etcd_call *call, const struct etcd_entry *entry)
{
    if (call->ended)
        return;
    if (entry->error == ETCD_DONE)
        etcd_call_answer(call, entry->answer, entry->revision);
    else
        etcd_call_end(call, entry->error);
}

/* ---------------------------------------------------------------- others -- */

static void run_authenticate(struct etcd_call *call, struct etcd_bytes message)
{
    struct etcd_credentials credentials;

    if (!etcd_read_credentials(message, &credentials))
        etcd_call_end(call, ETCD_MALFORMED);
    else if (!call->member->sim->config.etcd.auth)
        etcd_call_end(call, ETCD_AUTH_OFF);
    else if (!etcd_bytes_equal(credentials.name, etcd_text("user")) ||
             !etcd_bytes_equal(credentials.password, etcd_text("password")))
        etcd_call_end(call, ETCD_WRONG_PASSWORD);
    else
        submit(call, command_new(call, ETCD_AUTHENTICATE, 0));
}

static void run_status(struct etcd_call *call)
{
    const struct etcd_member *member = call->member;
    struct etcd_writer out = {0};

    etcd_put_bytes(&out, 2,
                   etcd_text(member->sim->config.etcd.stale_revokes
                                 ? OLD_VERSION
                                 : VERSION));
    etcd_put_integer(&out, 3, 1 << 20);
    etcd_put_integer(&out, 4, (uint64_t)member->known_lead + 1);
    etcd_put_integer(&out, 5, member->commit->index);
    etcd_put_integer(&out, 6, member->term);
    etcd_put_integer(&out, 7, member->applied->index);
    etcd_call_answer(call, etcd_written(&out), member->applied->revision);
    etcd_writer_free(&out);
}

static void run_member_list(struct etcd_call *call)
{
    const struct etcd_cluster *cluster = call->member->sim->etcd;
    struct etcd_writer out = {0};

    for (unsigned i = 0; i < cluster->count; i++) {
        struct etcd_writer member = {0};
        char name[] = "m1";

        name[1] = (char)('1' + (int)i);
        etcd_put_integer(&member, 1, 1 + i);
        etcd_put_bytes(&member, 2, etcd_text(name));
        etcd_put_message(&out, 2, &member);
        etcd_writer_free(&member);
    }
    etcd_call_answer(call, etcd_written(&out), call->member->applied->revision);
    etcd_writer_free(&out);
}

/* GET alone. */
static void run_alarm(struct etcd_call *call)
{
    struct etcd_writer out = {0}, alarm = {0};

    if (call->member->sim->etcd->store.no_space) {
        etcd_put_integer(&alarm, 1, 1);
        etcd_put_integer(&alarm, 2, 1);
        etcd_put_message(&out, 2, &alarm);
    }
    etcd_call_answer(call, etcd_written(&out), call->member->applied->revision);
    etcd_writer_free(&alarm);
    etcd_writer_free(&out);
}

/* The seconds that are left are not in the answer, because nobody may rely on
 * them. */
static void run_time_to_live(struct etcd_call *call, struct etcd_bytes message)
{
    struct etcd_pair pair = {0, 0};
    const struct etcd_lease *lease = NULL;
    struct etcd_writer out = {0};

    if (etcd_read_pair(message, &pair))
        lease = etcd_lease_find(call->member->sim->etcd, pair.first,
                                call->member->applied->index);
    etcd_put_integer(&out, 2, (uint64_t)pair.first);
    etcd_put_integer(&out, 3, lease == NULL ? UINT64_MAX : 1);
    etcd_put_integer(&out, 4, lease == NULL ? 0 : lease->ttl_ms / 1000);
    etcd_call_answer(call, etcd_written(&out), call->member->applied->revision);
    etcd_writer_free(&out);
}

/* ------------------------------------------------------------- the table -- */

enum method {
    METHOD_RANGE,
    METHOD_WRITE,
    METHOD_COMPACT,
    METHOD_GRANT,
    METHOD_REVOKE,
    METHOD_TIME_TO_LIVE,
    METHOD_AUTHENTICATE,
    METHOD_STATUS,
    METHOD_MEMBERS,
    METHOD_ALARM,
    METHOD_STREAM,
};

static const struct {
    const char *path;
    enum method method;
    bool needs_token;
} methods[] = {
    {"/etcdserverpb.KV/Range", METHOD_RANGE, true},
    {"/etcdserverpb.KV/Put", METHOD_WRITE, true},
    {"/etcdserverpb.KV/DeleteRange", METHOD_WRITE, true},
    {"/etcdserverpb.KV/Txn", METHOD_WRITE, true},
    {"/etcdserverpb.KV/Compact", METHOD_COMPACT, true},
    {"/etcdserverpb.Lease/LeaseGrant", METHOD_GRANT, false},
    {"/etcdserverpb.Lease/LeaseRevoke", METHOD_REVOKE, true},
    {"/etcdserverpb.Lease/LeaseTimeToLive", METHOD_TIME_TO_LIVE, false},
    {"/etcdserverpb.Lease/LeaseKeepAlive", METHOD_STREAM, false},
    {"/etcdserverpb.Watch/Watch", METHOD_STREAM, false},
    {"/etcdserverpb.Auth/Authenticate", METHOD_AUTHENTICATE, false},
    {"/etcdserverpb.Cluster/MemberList", METHOD_MEMBERS, false},
    {"/etcdserverpb.Maintenance/Status", METHOD_STATUS, false},
    {"/etcdserverpb.Maintenance/Alarm", METHOD_ALARM, false},
};
#define METHODS (sizeof methods / sizeof methods[0])

static size_t find(const char *path)
{
    size_t i = 0;

    while (i < METHODS && strcmp(methods[i].path, path) != 0)
        i++;
    return i;
}

bool etcd_method_streams(const char *path)
{
    size_t i = find(path);

    return i < METHODS && methods[i].method == METHOD_STREAM;
}

static void run_method(struct etcd_call *call, enum method method,
                       struct etcd_bytes message, int64_t auth_revision)
{
    switch (method) {
    case METHOD_RANGE:
        run_range(call, message);
        break;
    case METHOD_WRITE:
        run_write(call, message, auth_revision);
        break;
    case METHOD_COMPACT:
        run_pair(call, message, ETCD_COMPACT);
        break;
    case METHOD_GRANT:
        run_pair(call, message, ETCD_GRANT);
        break;
    case METHOD_REVOKE:
        run_pair(call, message, ETCD_REVOKE);
        break;
    case METHOD_TIME_TO_LIVE:
        run_time_to_live(call, message);
        break;
    case METHOD_AUTHENTICATE:
        run_authenticate(call, message);
        break;
    case METHOD_STATUS:
        run_status(call);
        break;
    case METHOD_MEMBERS:
        run_member_list(call);
        break;
    case METHOD_ALARM:
        run_alarm(call);
        break;
    case METHOD_STREAM:
        break;
    }
}

void etcd_method_run(struct etcd_call *call, struct etcd_bytes message)
{
    struct hf_sim *sim = call->member->sim;
    size_t i = find(call->method);
    int64_t auth_revision = 0;
    enum etcd_error error = ETCD_DONE;

    if (i == METHODS)
        error = ETCD_UNKNOWN_METHOD;
    else if (sim_happens(sim, sim->config.refuse_chance))
        error = ETCD_TOO_MANY_REQUESTS;
    else if (methods[i].needs_token)
        error = etcd_auth_check(call, &auth_revision);
    if (error != ETCD_DONE)
        etcd_call_end(call, error);
    else
        run_method(call, methods[i].method, message, auth_revision);
}
