/* SPDX-License-Identifier: Apache-2.0 */
/* The table is indexed by the digest: each digest has one place, which the last
 * path there keeps. */
#include "engines/zookeeper/delete_right.h"

#include <stdio.h>

#include "engines/zookeeper/zk_private.h"

/* Not the name of a ticket in any dialect, see node_name.h. */
#define TRIAL_PREFIX "holdfast-rights-"

/* FNV-1a of 64 bits, and never 0.  Paths that collide would leave out a trial,
 * no more. */
static uint64_t digest_of(const char *path)
{
    uint64_t digest = UINT64_C(14695981039346656037);

    for (; *path != '\0'; path++)
        digest = (digest ^ (unsigned char)*path) * UINT64_C(1099511628211);
    return digest != 0 ? digest : 1;
}

bool hf_zk_delete_right_known(const struct hf_zk *zk, const char *parent)
{
    uint64_t digest = digest_of(parent);

    return zk->delete_rights.digests[digest % HF_ZK_DELETE_RIGHTS] == digest;
}

void hf_zk_delete_right_note(struct hf_zk *zk, const char *parent)
{
    uint64_t digest = digest_of(parent);

    zk->delete_rights.digests[digest % HF_ZK_DELETE_RIGHTS] = digest;
}

void hf_zk_delete_right_forget(struct hf_zk *zk, const char *parent)
{
    if (hf_zk_delete_right_known(zk, parent))
        zk->delete_rights.digests[digest_of(parent) % HF_ZK_DELETE_RIGHTS] = 0;
}

void hf_zk_delete_rights_clear(struct hf_zk *zk)
{
    zk->delete_rights = (struct hf_zk_delete_rights){0};
}

/* The node is ephemeral, as tickets are, so a quota or a local session treats
 * it as one. */
void hf_zk_multi_try_delete(struct hf_zk *zk, const struct hf_zk_queue *queue,
                            const struct hf_ticket_id *ticket)
{
    char name[sizeof TRIAL_PREFIX + HF_TICKET_ID_TEXT_BYTES];
    const char *path;

    (void)snprintf(name, sizeof name, "%s", TRIAL_PREFIX);
    hf_ticket_id_format(ticket, name + sizeof TRIAL_PREFIX - 1);
    path = hf_zk_child_path(zk, queue, name);
    hf_zk_multi_create(&zk->session, path, "", HF_ZK_EPHEMERAL);
    hf_zk_multi_delete(&zk->session, path, HF_ZK_ANY_VERSION);
}
