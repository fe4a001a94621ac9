/* SPDX-License-Identifier: Apache-2.0 */
/* A program of another project: take a lock, print its token, release it. */
#include <stdio.h>

#include <holdfast/holdfast.h>

int main(void)
{
    struct hf_client *client;
    struct hf_lock *lock;
    struct hf_grant *grant;

    if (hf_version() != HF_VERSION)
        return 2;
    if (hf_client_open(NULL, NULL, &client) != HF_OK) {
        fprintf(stderr, "%s\n", hf_last_error()->text);
        return 1;
    }
    if (hf_lock_open(client, "install/test", NULL, &lock) != HF_OK) {
        fprintf(stderr, "%s\n", hf_last_error()->text);
        return 1;
    }
    if (hf_lock_acquire(lock, NULL, &grant) != HF_OK) {
        fprintf(stderr, "%s\n", hf_last_error()->text);
        return 1;
    }
    printf("token %llu\n", (unsigned long long)hf_grant_token(grant));
    if (hf_grant_release(grant) != HF_OK)
        return 3;
    hf_lock_free(lock);
    return hf_client_close(client) == HF_OK ? 0 : 4;
}
