/* SPDX-License-Identifier: Apache-2.0 */
/* See zk_acl.h.  A list keeps the order of the request, because answers show
 * it. */
#include "simulator/model/zk_acl.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "simulator/model/sim_internal.h"
#include "zookeeper/protocol.h"

#define ENTRY_BYTES 12 /* the fewest of an entry in a request */

static const struct zk_acl everybody = {
    .permissions = ZK_PERM_ALL, .scheme = "world", .id = "anyone"};

void zk_identities_add(struct zk_identities *who, const char *text)
{
    for (unsigned i = 0; i < who->count; i++) {
        if (strcmp(who->digests[i], text) == 0)
            return;
    }
    assert(who->count < ZK_IDENTITIES_MAX);
    who->digests[who->count++] = text;
}

/* Is the entry for one of the identities? */
static bool names(const struct zk_acl *entry, const struct zk_identities *who)
{
    if (strcmp(entry->scheme, "world") == 0)
        return true;
    for (unsigned i = 0; i < who->count; i++) {
        if (strcmp(entry->id, who->digests[i]) == 0)
            return true;
    }
    return false;
}

bool zk_acl_permits(const struct zk_acl *acl, int32_t permissions,
                    const struct zk_identities *who)
{
    if (acl == NULL || who == NULL)
        return true;
    while (acl != NULL &&
           ((acl->permissions & permissions) == 0 || !names(acl, who)))
        acl = acl->next;
    return acl != NULL;
}

/* ------------------------------------------------------------- a request -- */

static const char *take_string(struct hf_sim *sim, struct hf_jute_reader *body)
{
    struct hf_jute_piece piece = hf_jute_get_buffer(body);
    char *text = sim_alloc(sim, piece.count + 1);

    if (piece.count > 0)
        memcpy(text, piece.bytes, piece.count);
    return text;
}

/* Append an entry at ${end}, unless the list has it.  Returns the new end. */
static const struct zk_acl **append(struct hf_sim *sim,
                                    const struct zk_acl *first,
                                    const struct zk_acl **end,
                                    struct zk_acl entry)
{
    struct zk_acl *kept;

    for (const struct zk_acl *a = first; a != NULL; a = a->next) {
        if (a->permissions == entry.permissions &&
            strcmp(a->scheme, entry.scheme) == 0 &&
            strcmp(a->id, entry.id) == 0)
            return end;
    }
    kept = sim_alloc(sim, sizeof *kept);
    *kept = entry;
    kept->next = NULL;
    *end = kept;
    return &kept->next;
}

/* "auth" stands for all identities of the connection; the request fails if
 * there is none, as it does with an empty list or an unknown scheme. */
int32_t zk_acl_read(struct hf_sim *sim, struct hf_jute_reader *body,
                    const struct zk_identities *who, const struct zk_acl **acl)
{
    const struct zk_acl **end = acl;
    int32_t error = 0;

    *acl = NULL;
    for (size_t n = hf_jute_get_count(body, ENTRY_BYTES); n > 0; n--) {
        struct zk_acl entry = {.permissions = hf_jute_get_int(body)};

        entry.scheme = take_string(sim, body);
        entry.id = take_string(sim, body);
        if (strcmp(entry.scheme, "auth") == 0) {
            entry.scheme = "digest";
            if (who->count == 0)
                error = HF_ZK_INVALID_ACL;
            for (unsigned i = 0; i < who->count; i++) {
                entry.id = who->digests[i];
                end = append(sim, *acl, end, entry);
            }
        } else if (strcmp(entry.scheme, "digest") == 0 ||
                   (strcmp(entry.scheme, "world") == 0 &&
                    strcmp(entry.id, "anyone") == 0)) {
            end = append(sim, *acl, end, entry);
        } else {
            error = HF_ZK_INVALID_ACL;
        }
    }
    if (*acl == NULL)
        return HF_ZK_INVALID_ACL;
    if ((*acl)->next == NULL && (*acl)->permissions == ZK_PERM_ALL &&
        strcmp((*acl)->scheme, "world") == 0)
        *acl = NULL;
    return error;
}

/* ------------------------------------------------------------- an answer -- */

void zk_acl_put(struct hf_jute_writer *out, const struct zk_acl *acl,
                const struct zk_identities *who)
{
    bool hides = !zk_acl_permits(acl, ZK_PERM_ADMIN, who);
    int32_t count = 0;

    if (acl == NULL)
        acl = &everybody;
    for (const struct zk_acl *a = acl; a != NULL; a = a->next)
        count++;
    hf_jute_put_int(out, count);
    for (; acl != NULL; acl = acl->next) {
        char id[64];

        snprintf(id, sizeof id, "%s", acl->id);
        if (hides && strcmp(acl->scheme, "digest") == 0 && strchr(id, ':'))
            snprintf(strchr(id, ':'), 3, ":x");
        hf_jute_put_int(out, acl->permissions);
        hf_jute_put_string(out, acl->scheme);
        hf_jute_put_string(out, id);
    }
}
