/* SPDX-License-Identifier: Apache-2.0 */
/* Statuses, error texts, quoting, and the allocator. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "cmocka/runner.h"
#include <holdfast/holdfast.h>

#include "base/error.h"
#include "base/memory.h"
#include "base/quote.h"
#include "base/sha256.h"
#include "base/utf8.h"

/* -------------------------------------------------------------- statuses -- */

TEST(test_rows_are_found)
{
#define CHECK(name, number, class_, retry, text)                               \
    assert_int_equal(name, number);                                            \
    assert_string_equal(hf_status_name(name), #name);                          \
    assert_string_equal(hf_status_text(name), text);                           \
    assert_int_equal(hf_status_class(name), class_);                           \
    assert_int_equal(hf_status_retry(name), retry);
    HF_STATUS_TABLE(CHECK)
#undef CHECK
}

/* Numbers are for ever: this list only grows. */
TEST(test_numbers_are_kept)
{
    static const char *const by_number[] = {
        "HF_OK",         "HF_EBUSY",        "HF_ETIMEDOUT",    "HF_ECANCELLED",
        "HF_ELOST",      "HF_EUNSURE",      "HF_EUNREACHABLE", "HF_ECLOSED",
        "HF_EINVAL",     "HF_ENAME",        "HF_EURL",         "HF_ESTATE",
        "HF_EREENTRANT", "HF_EFORKED",      "HF_EOWNER",       "HF_EKIND",
        "HF_EDENIED",    "HF_EFULL",        "HF_EDIR",         "HF_ELIMIT",
        "HF_ENOMEM",     "HF_EUNSUPPORTED", "HF_EEXHAUSTED",   "HF_EPROTOCOL",
        "HF_EBUG",       "HF_EGONE",        "HF_EDEADLK",      "HF_EEXISTS",
        "HF_EVERSION",   "HF_ENOTEMPTY",    "HF_EREADONLY",
    };

    for (size_t i = 0; i < sizeof(by_number) / sizeof(by_number[0]); i++)
        assert_string_equal(hf_status_name((hf_status)i), by_number[i]);
}

TEST(test_other_numbers_are_unknown)
{
    static const int numbers[] = {-1, 31, 1000, INT32_MAX, INT32_MIN};

    for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++) {
        hf_status st = (hf_status)numbers[i];

        assert_string_equal(hf_status_name(st), "HF_?");
        assert_string_equal(hf_status_text(st), "unknown status");
        assert_int_equal(hf_status_class(st), HF_CLASS_BUG);
        assert_int_equal(hf_status_retry(st), HF_RETRY_NEVER);
    }
}

TEST(test_version_is_the_headers)
{
    assert_int_equal(hf_version(), HF_VERSION);
    assert_string_equal(HF_VERSION_STRING, "0.1.0");
}

/* ----------------------------------------------------------- error texts -- */

TEST(test_error_is_set_and_prefixed)
{
    struct hf_error error = {HF_OK, ""};

    hf_error_prefix(&error, "hf_lock_acquire");
    assert_string_equal(error.text, "");
    assert_int_equal(hf_error_set(&error, HF_EBUSY, "pid %d has it", 7),
                     HF_EBUSY);
    assert_int_equal(error.status, HF_EBUSY);
    hf_error_prefix(&error, "hf_lock_acquire");
    assert_string_equal(error.text, "hf_lock_acquire: pid 7 has it");
    assert_int_equal(error.status, HF_EBUSY);
    assert_int_equal(hf_error_set(NULL, HF_EURL, "nobody reads this"), HF_EURL);
    hf_error_prefix(NULL, "hf_lock_acquire");
}

TEST(test_error_may_quote_itself)
{
    struct hf_error error;

    (void)hf_error_set(&error, HF_EDIR, "inner");
    (void)hf_error_set(&error, HF_EFULL, "outer, after %s", error.text);
    assert_string_equal(error.text, "outer, after inner");
    assert_int_equal(error.status, HF_EFULL);
}

TEST(test_error_is_printable)
{
    struct hf_error error;

    (void)hf_error_set(&error, HF_EDIR, "a%sb", "\n\x1b[2J\xff\xc2\x85\xc3");
    assert_string_equal(error.text, "a??[2J????b");
}

/* Whichever character the end of the buffer falls into, it is left out
 * whole. */
TEST(test_error_is_cut_between_characters)
{
    static const char *const characters[] = {"x", "\u00e9", "\u20ac",
                                             "\U0001F511"};

    for (size_t c = 0; c < 4; c++) {
        for (size_t shift = 0; shift < 4; shift++) {
            struct hf_error error;
            char text[3000] = "abcd";
            size_t bytes = c + 1;

            text[shift] = '\0';
            while (strlen(text) < 2500)
                strcat(text, characters[c]);
            (void)hf_error_set(&error, HF_EDIR, "%s", text);
            assert_true(hf_utf8_valid(error.text, strlen(error.text)));
            assert_true(strlen(error.text) < HF_ERROR_TEXT_BYTES);
            assert_true(strlen(error.text) + bytes >= HF_ERROR_TEXT_BYTES);
            assert_null(strchr(error.text, '?'));
        }
    }
}

/* ------------------------------------------------------ UTF-8 and quotes -- */

TEST(test_utf8)
{
    static const struct {
        const char *text;
        uint32_t code; /* 0: refused */
    } rows[] = {
        {"A", 0x41},
        {"\x7f", 0x7F},
        {"\xc2\x80", 0x80},
        {"\xdf\xbf", 0x7FF},
        {"\xe0\xa0\x80", 0x800},
        {"\xed\x9f\xbf", 0xD7FF},
        {"\xee\x80\x80", 0xE000},
        {"\xef\xbf\xbf", 0xFFFF},
        {"\xf0\x90\x80\x80", 0x10000},
        {"\xf4\x8f\xbf\xbf", 0x10FFFF},
        {"\x80", 0},             /* a continuation alone */
        {"\xc0\xaf", 0},         /* overlong '/' */
        {"\xc1\xbf", 0},         /* overlong DEL */
        {"\xe0\x80\xaf", 0},     /* overlong '/' */
        {"\xe0\x9f\xbf", 0},     /* overlong U+07FF */
        {"\xf0\x80\x80\xaf", 0}, /* overlong '/' */
        {"\xf0\x8f\xbf\xbf", 0}, /* overlong U+FFFF */
        {"\xed\xa0\x80", 0},     /* U+D800 */
        {"\xed\xbf\xbf", 0},     /* U+DFFF */
        {"\xf4\x90\x80\x80", 0}, /* U+110000 */
        {"\xf8\x88\x80\x80\x80", 0},
        {"\xff", 0},
        {"\xc3", 0},
        {"\xc3(", 0},
        {"\xe2\x82", 0},
        {"\xe2\x82(", 0},
        {"\xf0\x9f\x94", 0},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t bytes = strlen(rows[i].text);
        uint32_t code = 0;
        size_t length = hf_utf8_decode(rows[i].text, bytes, &code);

        assert_int_equal(length, rows[i].code == 0 ? 0 : bytes);
        assert_int_equal(code, rows[i].code);
        assert_int_equal(hf_utf8_valid(rows[i].text, bytes), rows[i].code != 0);
    }
    assert_true(hf_utf8_valid("", 0));
    assert_int_equal(hf_utf8_cut("a\u20acb", 3), 1);
    assert_int_equal(hf_utf8_cut("a\u20acb", 4), 4);
}

/* The first and the last of each range, and what is next to it. */
TEST(test_what_cannot_be_shown)
{
    static const uint32_t hidden[] = {
        0x0,    0x1F,   0x7F,    0x9F,    0xAD,    0x61C,  0x180E,
        0x200B, 0x34F,  0x3164,  0xFE0F,  0x17B4,  0x180B, 0x115F,
        0xFFA0, 0xFFF8, 0x1D173, 0x200F,  0x2028,  0x202E, 0x2060,
        0x206F, 0xFEFF, 0xFFF9,  0xFFFB,  0x200E,  0x202A, 0x202D,
        0x2029, 0x2066, 0x2069,  0xE0000, 0xE0FFF,
    };
    static const uint32_t shown[] = {
        0x20,   0x7E,   0xA0,   0xAC,   0xAE,    0x61B,   0x61D,
        0x180A, 0x1810, 0x200A, 0x350,  0x600,   0x17B6,  0x2010,
        0x2027, 0x202F, 0x205F, 0x2070, 0xFEFE,  0xFF00,  0xFFEF,
        0xFFFC, 0xFFFD, 0x5D0,  0x627,  0xDFFFF, 0xE1000,
    };

    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0]; i++) {
        if (!hf_utf8_unprintable(hidden[i]))
            fail_msg("U+%04X", hidden[i]);
    }
    for (size_t i = 0; i < sizeof shown / sizeof shown[0]; i++) {
        if (hf_utf8_unprintable(shown[i]))
            fail_msg("U+%04X", shown[i]);
    }
}

TEST(test_errors_do_not_wrap)
{
    struct hf_error error;

    (void)hf_error_set(&error, HF_EDIR, "a\u202eb\u2066\n%s", "\u200f\xff.");
    assert_string_equal(error.text, "a???b????????.");
}

TEST(test_quote)
{
    char long_text[300];

    assert_string_equal(hf_quote("", 0).text, "\"\"");
    assert_string_equal(hf_quote("caf\u00e9", 5).text, "\"caf\u00e9\"");
    assert_string_equal(hf_quote("a\"b\\c", 5).text, "\"a\\\"b\\\\c\"");
    assert_string_equal(hf_quote("a\n\0b\xff\xc2\x85", 7).text,
                        "\"a\\x0A\\x00b\\xFF\\xC2\\x85\"");
    assert_string_equal(hf_quote("a\u202eb", 5).text, "\"a\\xE2\\x80\\xAEb\"");
    for (size_t i = 0; i + 4 < sizeof long_text; i += 4)
        memcpy(long_text + i, "\xf3\xa0\x81\x81", 4);
    for (size_t bytes = 0; bytes < sizeof long_text - 4; bytes += 4)
        assert_true(strlen(hf_quote(long_text, bytes).text) < HF_QUOTE_BYTES);
    for (int byte = 1; byte < 256; byte++) {
        struct hf_quoted quoted;

        memset(long_text, byte, sizeof(long_text));
        quoted = hf_quote(long_text, sizeof(long_text));
        assert_true(strlen(quoted.text) < HF_QUOTE_BYTES);
        assert_string_equal(quoted.text + strlen(quoted.text) - 4, "\"...");
    }
}

/* --------------------------------------------------------------- SHA-256 -- */

/* FIPS 180-2, appendix B, and lengths around the end of a block. */
TEST(test_sha256)
{
    static const struct {
        const char *data;
        size_t repeat;
        const char *hex;
    } rows[] = {
        {"", 0,
         "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"},
        {"abc", 1,
         "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1,
         "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"},
        {"a", 55,
         "9f4390f8d30c2dd92ec9f095b65e2b9ae9b0a925a5258e241c9f1e910f734318"},
        {"a", 56,
         "b35439a4ac6f0948b6d6f9e3c6af0f5f590ce20f1bde7090ef7970686ec6738a"},
        {"a", 64,
         "ffe054fe7ae0cb6dc65c3af9b61d5209f439851db43d0ba5997337df154668eb"},
        {"a", 1000000,
         "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"},
    };

    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        size_t bytes = strlen(rows[i].data);
        char *data = malloc(bytes * rows[i].repeat + 1);
        char hex[HF_SHA256_TEXT_BYTES];

        assert_non_null(data);
        for (size_t r = 0; r < rows[i].repeat; r++)
            memcpy(data + r * bytes, rows[i].data, bytes);
        hf_sha256_text(data, bytes * rows[i].repeat, hex);
        assert_string_equal(hex, rows[i].hex);
        free(data);
    }
}

/* ------------------------------------------------------------- allocator -- */

static struct {
    size_t allocated, resized, released;
    bool fail;
} counts;

static void *counting_allocate(size_t bytes, void *arg)
{
    void *memory = counts.fail ? NULL : malloc(bytes);

    assert_ptr_equal(arg, &counts);
    counts.allocated++;
    if (memory != NULL)
        memset(memory, 0xA5, bytes);
    return memory;
}

static void *counting_resize(void *memory, size_t bytes, void *arg)
{
    assert_ptr_equal(arg, &counts);
    counts.resized++;
    return counts.fail ? NULL : realloc(memory, bytes);
}

static void counting_release(void *memory, void *arg)
{
    assert_ptr_equal(arg, &counts);
    assert_non_null(memory);
    counts.released++;
    free(memory);
}

/* One test, because what it sets lasts as long as the process. */
TEST(test_allocator)
{
    struct hf_allocator whole = {counting_allocate, counting_resize,
                                 counting_release, &counts};
    struct hf_allocator holed = whole;
    char *memory;

    hf_free(NULL); /* allocates nothing, so that setting is still allowed */
    holed.release = NULL;
    assert_int_equal(hf_set_allocator(&holed), HF_EINVAL);
    assert_int_equal(hf_set_allocator(&whole), HF_OK);
    assert_int_equal(hf_set_allocator(&whole), HF_OK);

    memory = hf_alloc(100);
    assert_non_null(memory);
    for (size_t i = 0; i < 100; i++)
        assert_int_equal(memory[i], 0);
    assert_int_equal(hf_set_allocator(&whole), HF_ESTATE);
    memory = hf_realloc(memory, 200);
    assert_non_null(memory);
    hf_free(memory);
    hf_free(NULL);
    memory = hf_strdup("kelp");
    assert_string_equal(memory, "kelp");
    hf_free(memory);
    assert_int_equal(counts.allocated, 2);
    assert_int_equal(counts.resized, 1);
    assert_int_equal(counts.released, 2);

    counts.fail = true;
    assert_null(hf_alloc(1));
    assert_null(hf_strdup("kelp"));
    assert_null(hf_realloc(NULL, 1));
    counts.fail = false;
    assert_int_equal(hf_set_allocator(&whole), HF_ESTATE);
}
