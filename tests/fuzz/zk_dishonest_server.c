/* SPDX-License-Identifier: Apache-2.0 */
/* A fake ZooKeeper server that sends anything: bytes of the program, answers
 * that are wrong, events of nothing. */
#include <stdio.h>

#include "engines/zookeeper/zk_watches.h"
#include "zk_program.h"

/* Take some bytes of the program. */
static size_t take_bytes(struct zk_program *p, uint8_t *bytes, size_t size)
{
    size_t count = zk_program_next(p) % size;

    for (size_t i = 0; i < count; i++)
        bytes[i] = zk_program_next(p);
    return count;
}

static void send_raw(struct zk_program *p, bool framed)
{
    uint8_t bytes[68];
    size_t count = take_bytes(p, bytes + 4, 64);

    bytes[0] = bytes[1] = bytes[2] = 0;
    bytes[3] = (uint8_t)count;
    receive(&p->f, framed ? bytes : bytes + 4, framed ? count + 4 : count);
}

static const int32_t errors[] = {
    HF_ZK_NO_NODE,        HF_ZK_NODE_EXISTS,     HF_ZK_NO_AUTH,
    HF_ZK_NOT_EMPTY,      HF_ZK_SESSION_EXPIRED, HF_ZK_SESSION_MOVED,
    HF_ZK_UNIMPLEMENTED,  HF_ZK_THROTTLED,       HF_ZK_CONNECTION_LOSS,
    HF_ZK_QUOTA_EXCEEDED, HF_ZK_SYSTEM_ERROR,    HF_ZK_DISCONNECTED,
    HF_ZK_MALFORMED,      HF_ZK_NOT_READ_ONLY,   -4711,
};

static int32_t choose_error(struct zk_program *p)
{
    return errors[zk_program_next(p) % (sizeof errors / sizeof errors[0])];
}

static int32_t choose_sequence(struct zk_program *p)
{
    static const int32_t odd[] = {-1,
                                  INT32_MIN,
                                  INT32_MAX,
                                  1 << 30,
                                  INT32_MAX - (1 << 20),
                                  INT32_MAX - (1 << 20) + 1};
    uint8_t which = zk_program_next(p);

    return which < 240 ? which % 8 : odd[which % 6];
}

/* The zxid of a transaction, or an impossible one. */
static int64_t choose_zxid(struct zk_program *p)
{
    static const int64_t odd[] = {0, -1, 1, INT64_MIN, INT64_MAX, 1 << 30};
    uint8_t which = zk_program_next(p);

    return which < 240 ? p->f.zxid : odd[which % 6];
}

static size_t put_children(struct zk_program *p, uint8_t which, char *text,
                           size_t room)
{
    size_t used = 0;

    for (int i = 0; i < PROGRAM_TICKETS; i++) {
        if (which >> i & 1)
            used += (size_t)snprintf(text + used, room - used, "%c#%d ",
                                     'a' + i, choose_sequence(p));
    }
    return used;
}

/* Children of the queue: tickets of ours and of others, some twice, with one
 * sequence number or two, and other nodes. */
static void send_children(struct zk_program *p)
{
    char text[1024] = "";
    uint8_t which = zk_program_next(p);
    size_t used = put_children(p, which, text, sizeof text);

    if (which % 3 == 0)
        used += put_children(p, zk_program_next(p), text + used,
                             sizeof text - used);
    if (which % 5 == 0)
        snprintf(text + used, sizeof text - used, "ready i/m j/m l/m");
    children(&p->f, text);
}

/* A success of the type of the oldest request, true or not. */
static void send_success(struct zk_program *p)
{
    uint8_t choice = zk_program_next(p);
    int64_t owner = choice & 1 ? p->f.session : 7;

    switch (p->f.first->opcode) {
    case HF_ZK_CREATE2:
        created(&p->f, choose_sequence(p), choose_zxid(p));
        break;
    case HF_ZK_GET_CHILDREN:
        send_children(p);
        break;
    case HF_ZK_GET_DATA:
        data(&p->f,
             owner == 7   ? NULL
             : choice & 2 ? HF_ZK_REVOKE
                          : "me",
             choose_zxid(p), owner);
        break;
    case HF_ZK_SET_DATA:
        data_written(&p->f);
        break;
    case HF_ZK_EXISTS:
        exists(&p->f, choose_zxid(p), owner);
        break;
    case HF_ZK_MULTI:
        if (owner == 7)
            check_failed(&p->f, 0);
        else if (p->f.first->multi_opcode == HF_ZK_CREATE)
            created_all(&p->f, choose_sequence(p));
        else if (p->f.first->multi_opcode == HF_ZK_MULTI)
            multi_done(&p->f);
        else
            checked(&p->f);
        break;
    default:
        done(&p->f);
    }
}

static void send_record(struct zk_program *p)
{
    uint8_t bytes[64];
    size_t count = take_bytes(p, bytes, sizeof bytes);

    answer_with(&p->f, bytes, count);
}

static void send_event(struct zk_program *p)
{
    static const char *const tickets[] = {
        "q/a#0", "q/a#1", "q/b#1", "q/b/l#2", "q/c#3", "q/", "q/d#-1", "x/y",
    };
    uint8_t which = zk_program_next(p);

    event(&p->f, which >> 3 & 7, tickets[which & 7]);
}

static void accept_client(struct zk_program *p, uint8_t choice)
{
    static const int32_t timeouts[] = {1, 2, 10, 1000, 40000, INT32_MAX};
    int64_t id = p->f.handshake_session;

    if (choice < 250)
        accept_session_as(&p->f, ZK_FIXTURE_TIMEOUT_MS,
                          id != 0 ? id : ++p->f.session);
    else
        accept_session_as(&p->f, timeouts[choice - 250], id != 0 ? id : 1);
}

/* A step of the dishonest server, if the connection is up. */
void dishonest_answer(struct zk_program *p, uint8_t step)
{
    bool handshaking = p->f.handshake_read && !p->f.connected;

    if (p->honest || !p->f.up)
        return;
    if (step == 20)
        send_raw(p, false);
    else if (step == 21)
        send_raw(p, true);
    else if (step == 22 && handshaking)
        accept_client(p, zk_program_next(p));
    else if (step == 23 && handshaking)
        refuse_session(&p->f);
    else if (step == 24 && p->f.first != NULL)
        send_success(p);
    else if (step == 25 && p->f.first != NULL)
        refused(&p->f, choose_error(p));
    else if (step == 26 && p->f.first != NULL)
        send_record(p);
    else if (step == 27)
        send_event(p);
    else if (step == 28)
        header(&p->f, (int32_t)zk_program_next(p) - 8, choose_error(p));
}
