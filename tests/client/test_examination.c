/* SPDX-License-Identifier: Apache-2.0 */
/* An examination of the service, in each way to use a client. */
#include <netinet/in.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "allocation_faults.h"
#include "client_fixture.h"
#include "cmocka/runner.h"
#include "heap/heap.h"
#include "in_each_way.h"

#define WAIT_MS 10000

/* The end of hf_client_examine_start(). */
struct examined {
    _Atomic int ended;
    _Atomic int dropped;
    hf_status status;
    struct hf_findings *findings;
};

static void on_examined(void *arg, const struct hf_result *result)
{
    struct examined *examined = arg;

    examined->status = result->status;
    examined->findings = result->findings;
    atomic_fetch_add(&examined->ended, 1);
}

static void on_drop(void *arg)
{
    atomic_fetch_add(&((struct examined *)arg)->dropped, 1);
}

static bool is_dropped(void *arg)
{
    return atomic_load(&((struct examined *)arg)->dropped) > 0;
}

static struct hf_findings *examine(struct client_fixture *fixture)
{
    struct examined examined = {.status = HF_OK};
    const struct hf_done done = {on_examined, &examined, on_drop};

    if (fixture->way == WAY_BLOCKING) {
        assert_int_equal(
            hf_client_examine(fixture->client, WAIT_MS, &examined.findings),
            HF_OK);
        return examined.findings;
    }
    assert_int_equal(hf_client_examine_start(fixture->client, WAIT_MS, done),
                     HF_OK);
    client_wait_until(fixture, is_dropped, &examined);
    assert_int_equal(examined.ended, 1);
    assert_int_equal(examined.status, HF_OK);
    return examined.findings;
}

/* The finding ${id} that is there once. */
static const struct hf_finding *find(const struct hf_findings *findings,
                                     const char *id)
{
    const struct hf_finding *finding, *found = NULL;

    for (size_t i = 0; (finding = hf_findings_at(findings, i)) != NULL; i++) {
        if (strcmp(finding->id, id) != 0)
            continue;
        assert_null(found);
        found = finding;
    }
    return found;
}

TEST_IN_EACH_WAY(the_root_is_well)
{
    struct client_directory directory;
    struct client_fixture fixture;
    struct hf_findings *findings;

    client_directory_create(&directory);
    client_open(&fixture, way, directory.url, no_listener);
    findings = examine(&fixture);
    assert_non_null(findings);
    assert_int_equal(find(findings, "file-root")->severity, HF_SEVERITY_OK);
    assert_int_equal(find(findings, "file-sharing")->severity, HF_SEVERITY_OK);
    assert_string_equal(find(findings, "file-root")->advice, "");
    assert_null(hf_findings_at(findings, hf_findings_count(findings)));
    hf_findings_free(findings);
    client_close(&fixture);
    client_directory_remove(&directory);
}

/* The service cannot be reached: that is what is found. */
TEST(no_service)
{
    struct hf_findings *findings;
    struct hf_client *client;

    assert_int_equal(hf_client_open("zk://127.0.0.1:1", NULL, &client), HF_OK);
    assert_int_equal(hf_client_examine(client, WAIT_MS, &findings), HF_OK);
    assert_int_equal(find(findings, "zookeeper-nodes")->severity,
                     HF_SEVERITY_UNKNOWN);
    hf_findings_free(findings);
    assert_int_equal(hf_client_close(client), HF_OK);
}

/* A port of this machine that accepts connections and never answers. */
static int silent_port(unsigned *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t bytes = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, bytes), 0);
    assert_int_equal(listen(fd, 16), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &bytes), 0);
    *port = ntohs(address.sin_port);
    return fd;
}

/* A wait that is over, and a client that is closed, while the server is
 * asked. */
TEST(ended_meanwhile)
{
    struct examined examined = {.status = HF_OK};
    const struct hf_done done = {on_examined, &examined, on_drop};
    struct hf_findings *findings;
    struct hf_client *client;
    unsigned port;
    char url[64];
    int fd = silent_port(&port);

    (void)snprintf(url, sizeof url, "zk://127.0.0.1:%u", port);
    assert_int_equal(hf_client_open(url, NULL, &client), HF_OK);
    assert_int_equal(hf_client_examine(client, 50, &findings), HF_EUNREACHABLE);
    assert_null(findings);
    assert_non_null(strstr(hf_last_error()->text, "hf_client_examine: "));
    assert_int_equal(hf_client_examine_start(client, WAIT_MS, done), HF_OK);
    assert_int_equal(hf_client_close(client), HF_OK);
    assert_int_equal(examined.ended, 1);
    assert_int_equal(examined.dropped, 1);
    assert_int_equal(examined.status, HF_ECLOSED);
    assert_null(examined.findings);
    assert_int_equal(close(fd), 0);
}

static void examining(const struct client_directory *directory)
{
    struct hf_findings *findings;
    struct hf_client *client;

    if (!status_is_expected(hf_client_open(directory->url, NULL, &client)))
        return;
    if (status_is_expected(
            hf_client_examine(client, allocation_wait_ms(), &findings)))
        assert_non_null(find(findings, "file-root"));
    hf_findings_free(findings);
    assert_int_equal(hf_client_close(client), HF_OK);
}

EACH_ALLOCATION_FAILS(each_fails_while_examining, all_fail_while_examining,
                      examining)

#define CASES_WITH_CALLBACKS(X)

TEST_FILE(examination)
{
    heap_install();
    return RUN_TESTS(NULL, NULL);
}
