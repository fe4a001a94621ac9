/* SPDX-License-Identifier: Apache-2.0 */
#include "transport/secure.h"

#include <assert.h>

#include "core/memory.h"
#include "transport/socket.h"

struct hf_secure *hf_secure_new(const struct hf_tls_ops *ops,
                                struct hf_tls_context *context,
                                const char *host)
{
    struct hf_secure *secure = hf_alloc(sizeof(*secure));

    if (secure == NULL)
        return NULL;
    secure->ops = ops;
    secure->tls = ops->open(context, host);
    if (secure->tls == NULL) {
        hf_free(secure);
        return NULL;
    }
    return secure;
}

void hf_secure_free(struct hf_secure *secure)
{
    if (secure == NULL)
        return;
    secure->ops->close(secure->tls);
    hf_free(secure);
}

bool hf_secure_blocked(const struct hf_secure *secure)
{
    return secure->out_sent < secure->out_count;
}

/* Ends because the filter makes no more than it was given. */
bool hf_secure_drain(struct hf_secure *secure, int fd)
{
    bool unbroken = true;
    size_t sent;

    do {
        if (!hf_secure_blocked(secure)) {
            secure->out_sent = 0;
            secure->out_count = secure->ops->pull(secure->tls, secure->out,
                                                  sizeof(secure->out));
        }
        unbroken = hf_socket_send(fd, secure->out + secure->out_sent,
                                  secure->out_count - secure->out_sent, &sent);
        secure->out_sent += sent;
    } while (unbroken && secure->out_count > 0 && !hf_secure_blocked(secure));
    return unbroken;
}

enum hf_tls_answer hf_secure_send(struct hf_secure *secure, int fd,
                                  const char *bytes, size_t count,
                                  size_t *taken)
{
    size_t part;

    *taken = 0;
    if (!hf_secure_drain(secure, fd))
        return HF_TLS_MORE;
    while (*taken < count && !hf_secure_blocked(secure)) {
        part = count - *taken;
        if (part > HF_SECURE_BYTES)
            part = HF_SECURE_BYTES;
        if (secure->ops->write(secure->tls, bytes + *taken, part) !=
            HF_TLS_DONE)
            return HF_TLS_FAILED;
        *taken += part;
        if (!hf_secure_drain(secure, fd))
            return HF_TLS_MORE;
    }
    return HF_TLS_DONE;
}
