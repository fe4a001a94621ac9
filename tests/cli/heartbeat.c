/* SPDX-License-Identifier: Apache-2.0 */
/*
 * heartbeat FILE ID COUNT [FLAGS]: append "ID PID MICROSECONDS" to FILE every
 * two milliseconds, COUNT times (0: until killed), on CLOCK_BOOTTIME.  FLAGS:
 *   t   ignore SIGTERM, SIGHUP and SIGINT
 *   s   in a session of its own
 *   d   from a grandchild whose parents have gone
 */
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static void beat(int file, const char *id)
{
    struct timespec now;
    char line[128];
    int length;

    clock_gettime(CLOCK_BOOTTIME, &now);
    length =
        snprintf(line, sizeof line, "%s %d %" PRId64 "\n", id, (int)getpid(),
                 (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
    if (write(file, line, (size_t)length) != length)
        exit(1);
}

/* Go on in a child; the parent leaves. */
static void leave_parent(void)
{
    pid_t child = fork();

    if (child < 0)
        exit(1);
    if (child > 0)
        _exit(0);
}

int main(int argc, char **argv)
{
    static const struct timespec pace = {0, 2000000};
    const char *flags = argc > 4 ? argv[4] : "";
    long count;
    int file;

    if (argc < 4)
        return 64;
    count = atol(argv[3]);
    file = open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (file < 0)
        return 1;
    if (strchr(flags, 't')) {
        signal(SIGTERM, SIG_IGN);
        signal(SIGHUP, SIG_IGN);
        signal(SIGINT, SIG_IGN);
    }
    if (strchr(flags, 'd')) {
        leave_parent();
        setsid();
        leave_parent();
    }
    if (strchr(flags, 's'))
        setsid();
    for (long i = 0; count == 0 || i < count; i++) {
        beat(file, argv[2]);
        nanosleep(&pace, NULL);
    }
    return 0;
}
