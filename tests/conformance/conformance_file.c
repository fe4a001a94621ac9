/* SPDX-License-Identifier: Apache-2.0 */
/* A temporary directory as the root of the file engine. */
#include "conformance/conformance_file.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/engine_host.h"
#include "conformance/real_host.h"
#include "engines/file/file.h"
#include "engines/file/file_names.h"

struct file_fixture {
    char root[64];
    const char *query; /* more of the URL */
    char log[512];     /* the last line */
    unsigned lines;    /* of the log */
};

static struct file_fixture directories;

__attribute__((format(printf, 3, 4))) static void
log_line(void *host, enum hf_log_level level, const char *format, ...)
{
    va_list args;

    (void)host;
    (void)level;
    directories.lines++;
    va_start(args, format);
    (void)vsnprintf(directories.log, sizeof(directories.log), format, args);
    va_end(args);
}

static void begin(struct conformance_fixture *fixture)
{
    (void)fixture;
    directories.log[0] = '\0';
    directories.lines = 0;
    directories.query = "";
    /* Not "holdfast-test-": tests/servers/machine.py removes what is called so
     * and is not locked. */
    (void)snprintf(directories.root, sizeof(directories.root),
                   "/tmp/holdfast-conformance-XXXXXX");
    assert_non_null(mkdtemp(directories.root));
    real_host_begin();
}

static void finish(struct conformance_fixture *fixture)
{
    char command[320];

    (void)fixture;
    real_host_finish();
    /* No ticket and no lock directory of any client may be left, but those of
     * successes. */
    (void)snprintf(command, sizeof(command),
                   "cd %s && for s in locks/*/success; do "
                   "test ! -h \"$s\" || { rm \"$s\" && "
                   "rmdir \"${s%%/success}\" ; } ; done && "
                   "{ test ! -e locks || rmdir locks; } && rm -r %s",
                   directories.root, directories.root);
    assert_int_equal(system(command), 0);
}

static struct hf_engine *open_client(struct conformance_fixture *fixture,
                                     const struct hf_engine_host *host)
{
    struct hf_engine_host logging = *host;
    char text[256];

    logging.log = log_line;
    (void)snprintf(text, sizeof(text), "file:%s?state=%s/state-%u%s",
                   directories.root, directories.root, (unsigned)geteuid(),
                   directories.query);
    return real_host_open(fixture, &logging, text);
}

static void evict(struct conformance_fixture *fixture, const char *queue,
                  const struct hf_ticket *ticket)
{
    char file[HF_PAYLOAD_FILE_BYTES];
    char dir[CONFORMANCE_FILE_PATH_BYTES];
    char path[CONFORMANCE_FILE_PATH_BYTES + sizeof(file)];

    (void)fixture;
    conformance_file_path(queue, dir);
    hf_file_name_format(ticket, file);
    (void)snprintf(path, sizeof(path), "%s/%s", dir, file);
    assert_int_equal(unlink(path), 0);
}

struct conformance_fixture conformance_file = {
    .name = "file",
    .ops = &hf_engine_file,
    .begin = begin,
    .finish = finish,
    .open = open_client,
    .pump = real_host_pump,
    .victim_start = real_host_victim,
    .victim_kill = real_host_kill,
    .evict = evict,
    .has_double_barriers = true,
};

const char *conformance_file_root(void)
{
    return directories.root;
}

void conformance_file_share(void)
{
    /* With the sticky bit no other user can remove a floor in it. */
    assert_int_equal(chmod(directories.root, 01777), 0);
    directories.query = "&mode=1777";
}

void conformance_file_move(const char *root)
{
    assert_true(strlen(root) < sizeof(directories.root));
    (void)strcpy(directories.root, root);
}

void conformance_file_path(const char *queue,
                           char path[CONFORMANCE_FILE_PATH_BYTES])
{
    char entry[HF_DIR_NAME_BYTES];

    hf_file_dir_name_format(queue, entry);
    (void)snprintf(path, CONFORMANCE_FILE_PATH_BYTES, "%s/locks/%s",
                   directories.root, entry);
}

const char *conformance_file_log(void)
{
    return directories.log;
}

unsigned conformance_file_log_lines(void)
{
    return directories.lines;
}
