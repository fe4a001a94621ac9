/* SPDX-License-Identifier: Apache-2.0 */
/* A linked list.  An added credential is one block: the struct, the scheme and
 * the bytes. */
#include "zookeeper/zk_credentials.h"

#include <assert.h>
#include <string.h>

#include "base/memory.h"

/* The bytes of the block of an added credential. */
static size_t block_bytes(const char *scheme, size_t count)
{
    return sizeof(struct hf_zk_credential) + strlen(scheme) + 1 + count;
}

/* Link ${credential} as the last one. */
static void append(struct hf_zk_credentials *credentials,
                   struct hf_zk_credential *credential)
{
    if (credentials->last != NULL)
        credentials->last->next = credential;
    else
        credentials->first = credential;
    credentials->last = credential;
}

void hf_zk_credentials_init(struct hf_zk_credentials *credentials,
                            const char *auth)
{
    *credentials = (struct hf_zk_credentials){0};
    if (auth[0] == '\0')
        return;
    credentials->of_url.scheme = "digest";
    credentials->of_url.bytes = auth;
    credentials->of_url.count = strlen(auth);
    append(credentials, &credentials->of_url);
}

struct hf_zk_credential *
hf_zk_credentials_add(struct hf_zk_credentials *credentials, const char *scheme,
                      const void *bytes, size_t count)
{
    struct hf_zk_credential *credential = hf_alloc(block_bytes(scheme, count));
    char *copy;

    if (credential == NULL)
        return NULL;
    copy = (char *)(credential + 1);
    strcpy(copy, scheme);
    credential->scheme = copy;
    copy += strlen(scheme) + 1;
    if (count > 0)
        memcpy(copy, bytes, count);
    credential->bytes = copy;
    credential->count = count;
    append(credentials, credential);
    return credential;
}

/* Wipe and free ${credential}, unless it is the one of the URL, which is a
 * member of ${credentials}. */
static void wipe(struct hf_zk_credentials *credentials,
                 struct hf_zk_credential *credential)
{
    if (credential == &credentials->of_url)
        return;
    explicit_bzero(credential,
                   block_bytes(credential->scheme, credential->count));
    hf_free(credential);
}

void hf_zk_credentials_remove(struct hf_zk_credentials *credentials,
                              struct hf_zk_credential *credential)
{
    struct hf_zk_credential **link = &credentials->first;
    struct hf_zk_credential *before = NULL;

    while (*link != credential) {
        before = *link;
        link = &before->next;
    }
    *link = credential->next;
    if (credentials->last == credential)
        credentials->last = before;
    if (credentials->unanswered == credential)
        credentials->unanswered = credential->next;
    wipe(credentials, credential);
}

void hf_zk_credentials_free(struct hf_zk_credentials *credentials)
{
    while (credentials->first != NULL)
        hf_zk_credentials_remove(credentials, credentials->first);
}

void hf_zk_credentials_send_all(struct hf_zk_credentials *credentials,
                                struct hf_zk_wire *wire, uint64_t now_ms)
{
    struct hf_zk_credential *credential;

    for (credential = credentials->first; credential != NULL;
         credential = credential->next)
        hf_zk_wire_auth(wire, credential->scheme, credential->bytes,
                        credential->count, now_ms);
    credentials->unanswered = credentials->first;
}

void hf_zk_credentials_send(struct hf_zk_credentials *credentials,
                            struct hf_zk_credential *credential,
                            struct hf_zk_wire *wire, uint64_t now_ms)
{
    assert(credential == credentials->last);
    hf_zk_wire_auth(wire, credential->scheme, credential->bytes,
                    credential->count, now_ms);
    if (credentials->unanswered == NULL)
        credentials->unanswered = credential;
}

void hf_zk_credential_notify(struct hf_zk_credential *credential,
                             enum hf_zk_error error)
{
    hf_zk_credential_answered *answered = credential->answered;

    credential->answered = NULL;
    if (answered != NULL)
        answered(credential->user, error);
}

void hf_zk_credentials_end(struct hf_zk_credentials *credentials)
{
    struct hf_zk_credential *credential;

    for (credential = credentials->first; credential != NULL;
         credential = credential->next)
        hf_zk_credential_notify(credential, HF_ZK_DISCONNECTED);
}
