/* SPDX-License-Identifier: Apache-2.0 */
/* See ipc.h. */
#include "cli/ipc.h"

#include <assert.h>
#include <errno.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

/* Messages that may be dropped are not sent while more than this is unread.
 * It is a fraction of the smallest socket buffer that Linux starts with (about
 * 200 kB), so that GRANTED always finds room. */
#define HF_IPC_BACKLOG_BYTES 32768

/* Room for one descriptor, aligned as cmsg(3) asks. */
union hf_ipc_control {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(int))];
};

int hf_ipc_pair(int ends[2])
{
    return socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0,
                      ends);
}

bool hf_ipc_send(int end, const struct hf_ipc_message *message, int fd)
{
    union hf_ipc_control control = {0};
    struct hf_ipc_message copy = *message;
    struct iovec data = {&copy, sizeof copy};
    struct msghdr header = {0};
    struct cmsghdr *rights;
    ssize_t sent;

    header.msg_iov = &data;
    header.msg_iovlen = 1;
    if (fd >= 0) {
        header.msg_control = control.bytes;
        header.msg_controllen = sizeof control.bytes;
        rights = CMSG_FIRSTHDR(&header);
        rights->cmsg_level = SOL_SOCKET;
        rights->cmsg_type = SCM_RIGHTS;
        rights->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(rights), &fd, sizeof fd);
    }
    do
        sent = sendmsg(end, &header, MSG_NOSIGNAL | MSG_DONTWAIT);
    while (sent < 0 && errno == EINTR);
    assert(sent < 0 || (size_t)sent == sizeof *message);
    return sent >= 0;
}

bool hf_ipc_send_droppable(int end, const struct hf_ipc_message *message)
{
    int unread = 0;

    if (ioctl(end, SIOCOUTQ, &unread) < 0 || unread > HF_IPC_BACKLOG_BYTES)
        return false;
    return hf_ipc_send(end, message, -1);
}

int hf_ipc_receive(int end, struct hf_ipc_message *message, int *fd)
{
    union hf_ipc_control control;
    struct iovec data = {message, sizeof *message};
    struct msghdr header = {0};
    struct cmsghdr *rights;
    ssize_t got;

    *fd = -1;
    header.msg_iov = &data;
    header.msg_iovlen = 1;
    header.msg_control = control.bytes;
    header.msg_controllen = sizeof control.bytes;
    do
        got = recvmsg(end, &header, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return errno == EAGAIN ? 0 : -1;
    if (got == 0)
        return -1;
    assert((size_t)got == sizeof *message);
    rights = CMSG_FIRSTHDR(&header);
    if (rights && rights->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(rights), sizeof *fd);
    return 1;
}
