/* SPDX-License-Identifier: Apache-2.0 */
/* The list of findings: its bounds, its texts, and who is another machine. */
#include <string.h>
#include <sys/utsname.h>

#include "cmocka/runner.h"

#include "core/finding_list.h"

static const struct hf_finding_head head = {HF_SEVERITY_NOTICE, "some-id",
                                            "a subject", "do this"};

TEST(has_what_was_added)
{
    struct hf_finding_list list = {0};

    hf_finding_add(&list, &head, "there are %d", 3);
    assert_int_equal(list.count, 1);
    assert_int_equal(list.items[0].severity, HF_SEVERITY_NOTICE);
    assert_string_equal(list.items[0].id, "some-id");
    assert_string_equal(list.items[0].subject, "a subject");
    assert_string_equal(list.items[0].text, "there are 3");
    assert_string_equal(list.items[0].advice, "do this");
    assert_false(list.failed);
    hf_finding_list_free(&list);
    assert_int_equal(list.count, 0);
}

TEST(is_bounded)
{
    struct hf_finding_list list = {0}, copy = {0};

    for (int i = 0; i < 2 * HF_FINDINGS_MAX; i++)
        hf_finding_add(&list, &head, "number %d", i);
    assert_int_equal(list.count, HF_FINDINGS_MAX);
    assert_string_equal(list.items[HF_FINDINGS_MAX - 2].id, "some-id");
    assert_string_equal(list.items[HF_FINDINGS_MAX - 1].id, "more-findings");
    assert_true(hf_finding_list_copy(&list, &copy));
    hf_finding_list_free(&list);
    assert_int_equal(copy.count, HF_FINDINGS_MAX);
    assert_string_equal(copy.items[1].text, "number 1");
    hf_finding_list_free(&copy);
}

/* Nothing is missing, so nothing says so; one more, and the last two are. */
TEST(as_many_as_fit_are_all_there)
{
    struct hf_finding_list list = {0}, all = {0};

    for (int i = 0; i < HF_FINDINGS_MAX; i++)
        hf_finding_add(&list, &head, "number %d", i);
    hf_finding_list_append(&all, &list);
    assert_int_equal(all.count, HF_FINDINGS_MAX);
    assert_string_equal(all.items[HF_FINDINGS_MAX - 1].id, "some-id");
    assert_string_equal(all.items[HF_FINDINGS_MAX - 1].text, "number 255");
    hf_finding_add(&all, &head, "number %d", HF_FINDINGS_MAX);
    assert_int_equal(all.count, HF_FINDINGS_MAX);
    assert_string_equal(all.items[HF_FINDINGS_MAX - 2].text, "number 254");
    assert_string_equal(all.items[HF_FINDINGS_MAX - 1].id, "more-findings");
    hf_finding_list_free(&list);
    hf_finding_list_free(&all);
}

/* What others write is cut between two characters and steers no terminal. */
TEST(texts_are_harmless)
{
    char longest[2 * HF_FINDING_TEXT_BYTES];
    struct hf_finding_head other = {HF_SEVERITY_OK, "id", "a\033[2Jb", longest};
    struct hf_finding_list list = {0};

    memset(longest, 'x', sizeof longest);
    /* The last character that would fit has two bytes, of which one fits. */
    memcpy(longest + HF_FINDING_TEXT_BYTES - 2, "\xc3\xa9", 2);
    longest[sizeof longest - 1] = '\0';
    hf_finding_add(&list, &other, "%s", longest);
    assert_string_equal(list.items[0].subject, "a?[2Jb");
    assert_int_equal(strlen(list.items[0].text), HF_FINDING_TEXT_BYTES - 2);
    assert_int_equal(strlen(list.items[0].advice), HF_FINDING_TEXT_BYTES - 2);
    hf_finding_list_free(&list);
}

static enum hf_severity severity_of(const char *host, bool tls)
{
    struct hf_finding_list list = {0};
    enum hf_severity severity;

    hf_finding_add_transport(&list, host, tls, "zks:");
    assert_int_equal(list.count, 1);
    assert_string_equal(list.items[0].id, "plain-text");
    severity = list.items[0].severity;
    hf_finding_list_free(&list);
    return severity;
}

TEST(another_machine_needs_tls)
{
    static const char *const here[] = {
        "localhost", "127.0.0.1", "127.1.2.3", "::1", "/run/postgresql", ""};
    static const char *const elsewhere[] = {"db1", "10.0.0.1", "1270.example",
                                            "localhost.example", "fe80::1"};
    struct utsname machine;

    assert_int_equal(uname(&machine), 0);
    assert_int_equal(severity_of(machine.nodename, false), HF_SEVERITY_OK);
    for (size_t i = 0; i < sizeof here / sizeof *here; i++)
        assert_int_equal(severity_of(here[i], false), HF_SEVERITY_OK);
    for (size_t i = 0; i < sizeof elsewhere / sizeof *elsewhere; i++) {
        assert_int_equal(severity_of(elsewhere[i], false), HF_SEVERITY_WARNING);
        assert_int_equal(severity_of(elsewhere[i], true), HF_SEVERITY_OK);
    }
}

TEST(severities_have_names)
{
    assert_string_equal(hf_severity_name(HF_SEVERITY_OK), "ok");
    assert_string_equal(hf_severity_name(HF_SEVERITY_ERROR), "error");
    assert_string_equal(hf_severity_name((enum hf_severity)5), "?");
}
