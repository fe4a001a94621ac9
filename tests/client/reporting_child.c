/* SPDX-License-Identifier: Apache-2.0 */
#include "reporting_child.h"

#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka/runner.h"
#include "server_url.h"

static int remove_entry(const char *path, const struct stat *status, int type,
                        struct FTW *walk)
{
    (void)status;
    (void)type;
    (void)walk;
    return remove(path);
}

void reporting_child_run(reporting_child_main *child, const void *arg)
{
    char url[512], directory[] = "/tmp/holdfast-child-XXXXXX", text[512];
    int ends[2], ended;
    ssize_t bytes;
    pid_t pid;

    server_url(url, sizeof url, "file:");
    assert_non_null(mkdtemp(directory));
    assert_int_equal(setenv("HOLDFAST_DIR", directory, 1), 0);
    assert_int_equal(setenv("HOLDFAST_METRICS_DIR", directory, 1), 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid = test_fork();
    if (pid == 0)
        child(arg, url, ends[1]);
    close(ends[1]);
    bytes = read(ends[0], text, sizeof text - 1);
    text[bytes > 0 ? bytes : 0] = '\0';
    close(ends[0]);
    assert_int_equal(waitpid(pid, &ended, 0), pid);
    assert_int_equal(nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS),
                     0);
    assert_string_equal(text, "");
    assert_int_equal(ended, 0);
}
