/* SPDX-License-Identifier: Apache-2.0 */
#include "zookeeper/op_support.h"

/* The opcodes that servers from 3.5 on may not know, or have switched off. */
static const enum hf_zk_opcode optional_opcodes[] = {
    HF_ZK_CREATE_CONTAINER,
    HF_ZK_CREATE_TTL,
    HF_ZK_MULTI_READ,
    HF_ZK_GET_EPHEMERALS,
    HF_ZK_GET_ALL_CHILDREN_NUMBER,
    HF_ZK_ADD_WATCH,
    HF_ZK_WHO_AM_I};

/* The bit of ${opcode}; 0 if every server is expected to know it. */
static uint32_t bit_of(enum hf_zk_opcode opcode)
{
    for (size_t i = 0; i < sizeof optional_opcodes / sizeof *optional_opcodes;
         i++) {
        if (optional_opcodes[i] == opcode)
            return UINT32_C(1) << i;
    }
    return 0;
}

const char *hf_zk_op_support_expected(enum hf_zk_opcode opcode)
{
    switch (opcode) {
    case HF_ZK_CREATE2:
    case HF_ZK_CREATE_CONTAINER:
        return "; expected ZooKeeper 3.5 or later";
    case HF_ZK_CREATE_TTL:
        return "; expected ZooKeeper 3.5.3 or later with "
               "zookeeper.extendedTypesEnabled=true";
    case HF_ZK_GET_EPHEMERALS:
    case HF_ZK_GET_ALL_CHILDREN_NUMBER:
    case HF_ZK_MULTI_READ:
    case HF_ZK_ADD_WATCH:
        return "; expected ZooKeeper 3.6 or later";
    case HF_ZK_RECONFIG:
        return "; expected standaloneEnabled=false, if it has to be alone";
    case HF_ZK_WHO_AM_I:
        return "; expected ZooKeeper 3.7 or later";
    default:
        return "; expected a later version of ZooKeeper";
    }
}

bool hf_zk_op_support_may_lack(const struct hf_zk_op_support *support,
                               size_t server, enum hf_zk_opcode opcode)
{
    uint32_t bit = bit_of(opcode);

    return bit != 0 && (support->known[server] & bit) == 0;
}

bool hf_zk_op_support_lacks(const struct hf_zk_op_support *support,
                            size_t server, enum hf_zk_opcode opcode)
{
    return (support->unknown[server] & bit_of(opcode)) != 0;
}

void hf_zk_op_support_note(struct hf_zk_op_support *support, size_t server,
                           enum hf_zk_opcode opcode, enum hf_zk_error error)
{
    uint32_t *bits =
        error == HF_ZK_UNIMPLEMENTED ? support->unknown : support->known;

    bits[server] |= bit_of(opcode);
}

void hf_zk_op_support_move(struct hf_zk_op_support *support, const size_t *was)
{
    struct hf_zk_op_support moved;

    for (size_t i = 0; i <= HF_ZK_SERVERS_MAX; i++) {
        moved.known[i] = was[i] == SIZE_MAX ? 0 : support->known[was[i]];
        moved.unknown[i] = was[i] == SIZE_MAX ? 0 : support->unknown[was[i]];
    }
    *support = moved;
}
