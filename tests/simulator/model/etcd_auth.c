/* SPDX-License-Identifier: Apache-2.0 */
/* Simple tokens (auth/simple_token.go): every member has them in memory, and
 * forgets one that was not used for a while.  A change of a role makes all
 * tokens old, as JSON Web Tokens are then. */
#include "simulator/model/etcd_internal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TOKEN_TEXT "model."

struct etcd_token *etcd_token_new(struct etcd_cluster *cluster)
{
    struct etcd_token *token = sim_alloc(cluster->sim, sizeof *token);

    token->number = ++cluster->token_count;
    token->auth_revision = cluster->auth_revision;
    token->next = cluster->tokens;
    cluster->tokens = token;
    return token;
}

static void use(const struct etcd_member *member, struct etcd_token *token)
{
    token->valid_until_us[member->index] =
        etcd_clock_us(member) + 1000 * member->sim->config.etcd.token_ttl_ms;
}

void etcd_token_applied(struct etcd_member *member, struct etcd_token *token)
{
    use(member, token);
}

const char *etcd_token_text(struct hf_sim *sim, const struct etcd_token *token)
{
    char text[40];

    snprintf(text, sizeof text, TOKEN_TEXT "%llu",
             (unsigned long long)token->number);
    return sim_strdup(sim, text);
}

static struct etcd_token *find(const struct etcd_cluster *cluster,
                               const char *text)
{
    struct etcd_token *token = cluster->tokens;
    uint64_t number;

    if (strncmp(text, TOKEN_TEXT, strlen(TOKEN_TEXT)) != 0)
        return NULL;
    number = strtoull(text + strlen(TOKEN_TEXT), NULL, 10);
    while (token != NULL && token->number != number)
        token = token->next;
    return token;
}

enum etcd_error etcd_auth_check(struct etcd_call *call, int64_t *revision)
{
    const struct etcd_member *member = call->member;
    struct etcd_token *token;

    *revision = 0;
    if (!member->sim->config.etcd.auth)
        return ETCD_DONE;
    if (call->token == NULL)
        return ETCD_NO_TOKEN;
    token = find(member->sim->etcd, call->token);
    if (token == NULL ||
        token->valid_until_us[member->index] <= etcd_clock_us(member))
        return ETCD_OLD_TOKEN;
    if (token->auth_revision != member->applied->auth_revision)
        return ETCD_OLD_AUTH_REVISION;
    use(member, token);
    *revision = token->auth_revision;
    return ETCD_DONE;
}
