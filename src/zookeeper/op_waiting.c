/* SPDX-License-Identifier: Apache-2.0 */
#include "zookeeper/op_waiting.h"

#include <holdfast/zookeeper.h>

#include "zookeeper/zk_op.h"

/* The priorities in the order in which they are served. */
static const enum hf_zookeeper_priority served[HF_ZK_PRIORITIES] = {
    HF_ZOOKEEPER_URGENT, HF_ZOOKEEPER_NORMAL, HF_ZOOKEEPER_BULK};

/* ----------------------------------------------------------------- lists -- */

static void list_append(struct hf_zk_op_list *list, struct hf_zk_op *op)
{
    op->list = list;
    op->next = NULL;
    op->previous = list->last;
    if (list->last != NULL)
        list->last->next = op;
    else
        list->first = op;
    list->last = op;
}

static void list_remove(struct hf_zk_op *op)
{
    struct hf_zk_op_list *list = op->list;

    if (op->previous != NULL)
        op->previous->next = op->next;
    else
        list->first = op->next;
    if (op->next != NULL)
        op->next->previous = op->previous;
    else
        list->last = op->previous;
    op->list = NULL;
}

/* Move all of ${left} to the front of ${list}. */
static void list_prepend_all(struct hf_zk_op_list *list,
                             struct hf_zk_op_list *left)
{
    if (left->last == NULL)
        return;
    for (struct hf_zk_op *op = left->first; op != NULL; op = op->next)
        op->list = list;
    left->last->next = list->first;
    if (list->first != NULL)
        list->first->previous = left->last;
    else
        list->last = left->last;
    list->first = left->first;
    *left = (struct hf_zk_op_list){NULL, NULL};
}

/* --------------------------------------------------------------- waiting -- */

/* Have ${op} wait as the last one of ${list}. */
static void wait_in(struct hf_zk_op_waiting *waiting,
                    struct hf_zk_op_list *list, struct hf_zk_op *op)
{
    list_append(list, op);
    waiting->count++;
}

void hf_zk_op_waiting_add(struct hf_zk_op_waiting *waiting, struct hf_zk_op *op)
{
    wait_in(waiting, &waiting->added[op->priority], op);
}

void hf_zk_op_waiting_repeat(struct hf_zk_op_waiting *waiting,
                             struct hf_zk_op *op)
{
    wait_in(waiting, &waiting->repeated[op->priority], op);
}

void hf_zk_op_waiting_add_credential(struct hf_zk_op_waiting *waiting,
                                     struct hf_zk_op *op)
{
    wait_in(waiting, &waiting->credentials, op);
}

void hf_zk_op_waiting_remove(struct hf_zk_op_waiting *waiting,
                             struct hf_zk_op *op)
{
    if (op->list == NULL)
        return;
    list_remove(op);
    waiting->count--;
}

struct hf_zk_op *hf_zk_op_waiting_next(const struct hf_zk_op_waiting *waiting)
{
    for (size_t i = 0; i < HF_ZK_PRIORITIES; i++) {
        if (waiting->repeated[served[i]].first != NULL)
            return waiting->repeated[served[i]].first;
        if (waiting->added[served[i]].first != NULL)
            return waiting->added[served[i]].first;
    }
    return NULL;
}

/* ----------------------------------------------- the end of a connection -- */

void hf_zk_op_waiting_suspended(struct hf_zk_op_waiting *waiting)
{
    for (size_t i = 0; i < HF_ZK_PRIORITIES; i++)
        list_prepend_all(&waiting->added[i], &waiting->repeated[i]);
}

/* Move the operations of ${list} with .only_try to ${tries}. */
static void move_tries(struct hf_zk_op_list *list, struct hf_zk_op_list *tries)
{
    struct hf_zk_op *next;

    for (struct hf_zk_op *op = list->first; op != NULL; op = next) {
        next = op->next;
        if (!op->only_try)
            continue;
        list_remove(op);
        list_append(tries, op);
    }
}

void hf_zk_op_waiting_take_tries(struct hf_zk_op_waiting *waiting,
                                 struct hf_zk_op_list *tries)
{
    for (size_t i = 0; i < HF_ZK_PRIORITIES; i++)
        move_tries(&waiting->added[served[i]], tries);
    move_tries(&waiting->credentials, tries);
}
