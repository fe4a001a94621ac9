/* SPDX-License-Identifier: Apache-2.0 */
/* See notify_socket.h. */
#include "cli/notify_socket.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <holdfast/holdfast.h>

#include "base/secret.h"
#include "base/utf8.h"
#include "command/clock.h"
#include "command/ui.h"

/* When to try again if the socket is full, because the service manager is busy.
 */
#define HF_NOTIFY_RETRY_MS 200

/* The address of the socket; NULL: there is none. */
static const char *given_address(void)
{
    const char *value = secure_getenv("NOTIFY_SOCKET");

    return value != NULL && value[0] != '\0' ? value : NULL;
}

bool hf_notify_socket_is_set(void)
{
    return given_address() != NULL;
}

/* Send ${text} to ${to}, which is a path or '@' and an abstract name.  Returns
 * 0 or an errno; EAFNOSUPPORT: ${to} is another kind of address. */
static int send_datagram(const char *to, const char *text)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    size_t length = strlen(to);
    socklen_t bytes;
    int fd, error = 0;

    if (to[0] != '/' && to[0] != '@')
        return EAFNOSUPPORT;
    if (length >= sizeof address.sun_path)
        return ENAMETOOLONG;
    memcpy(address.sun_path, to, length);
    bytes =
        (socklen_t)(offsetof(struct sockaddr_un, sun_path) + length +
                    (to[0] == '/')); /* an abstract name ends without a NUL */
    if (to[0] == '@')
        address.sun_path[0] = '\0';
    fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd < 0)
        return errno;
    if (sendto(fd, text, strlen(text), MSG_NOSIGNAL,
               (const struct sockaddr *)&address, bytes) < 0)
        error = errno;
    close(fd);
    return error;
}

/* Send .status, or set when to try again.  A failure is logged, and no further
 * one until one has succeeded. */
static void send_status(struct hf_notify_socket *notify)
{
    char text[sizeof notify->status + sizeof "READY=1\nSTATUS="];
    const char *to = given_address();
    int error;

    notify->retry_at_ms = HF_FOREVER;
    if (to == NULL)
        return;
    (void)snprintf(text, sizeof text, "READY=1\nSTATUS=%s", notify->status);
    error = send_datagram(to, text);
    if (error == EAGAIN || error == ENOBUFS) {
        notify->retry_at_ms =
            hf_clock_add(hf_clock_now_ms(), HF_NOTIFY_RETRY_MS);
        return;
    }
    if (error != 0 && !notify->failed)
        hf_ui_log(HF_LOG_WARNING,
                  "NOTIFY_SOCKET '%.200s': the service manager cannot be "
                  "notified: %s; expected the path of its socket, or '@' and "
                  "an abstract name; until that is mended, use a unit of "
                  "Type=exec",
                  to, strerror(error));
    notify->failed = error != 0;
}

/* The text of others in ${status} must not become a line of its own, which
 * would be a notification. */
void hf_notify_socket_set_status(struct hf_notify_socket *notify,
                                 const char *status)
{
    char text[sizeof notify->status];
    int wanted = snprintf(text, sizeof text, "%s", status);

    hf_utf8_make_printable(text, wanted >= (int)sizeof text);
    hf_secret_hide(text);
    if (strcmp(text, notify->status) == 0)
        return;
    strcpy(notify->status, text);
    send_status(notify);
}

void hf_notify_socket_retry(struct hf_notify_socket *notify, uint64_t now_ms)
{
    if (now_ms >= notify->retry_at_ms)
        send_status(notify);
}
