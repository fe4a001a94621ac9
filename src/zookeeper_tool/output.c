/* SPDX-License-Identifier: Apache-2.0 */
/* See output.h. */
#include "zookeeper_tool/output.h"

#include <inttypes.h>
#include <string.h>
#include <time.h>

#include "base/memory.h"
#include "base/quote.h"
#include "base/utf8.h"
#include "zookeeper_tool/base64.h"

/* ---------------------------------------------------------------- words -- */

/* Does ${text} need quotes? */
static bool needs_quotes(const char *text)
{
    size_t bytes = strlen(text), length;

    for (size_t at = 0; at < bytes; at += length) {
        uint32_t code = 0;

        length = hf_utf8_decode(text + at, bytes - at, &code);
        if (length == 0 || hf_utf8_unprintable(code) || code == ' ' ||
            code == '"' || code == '\\')
            return true;
    }
    return bytes == 0;
}

void hf_tool_print_word(FILE *out, const char *text)
{
    size_t left = strlen(text);

    if (!needs_quotes(text)) {
        fputs(text, out);
        return;
    }
    putc('"', out);
    while (left > 0) {
        char quoted[HF_QUOTE_CHARACTER_BYTES];
        size_t written, length;

        length = hf_quote_character(text, left, quoted, &written);
        fwrite(quoted, 1, written, out);
        text += length;
        left -= length;
    }
    putc('"', out);
}

/* ----------------------------------------------------------------- Stat -- */

const char *hf_tool_mode_of(const struct hf_zookeeper_stat *stat)
{
    return stat->ephemeral_owner == 0 ? "persistent" : "ephemeral";
}

void hf_tool_format_time(int64_t utc_ms, char text[HF_TOOL_TIME_BYTES])
{
    time_t seconds = (time_t)(utc_ms / 1000);
    struct tm parts;

    if (utc_ms < 0 || gmtime_r(&seconds, &parts) == NULL ||
        strftime(text, HF_TOOL_TIME_BYTES, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        memcpy(text, "-", 2);
}

void hf_tool_print_stat(FILE *out, const struct hf_zookeeper_stat *stat)
{
    char created[HF_TOOL_TIME_BYTES], modified[HF_TOOL_TIME_BYTES];

    hf_tool_format_time(stat->created_utc_ms, created);
    hf_tool_format_time(stat->modified_utc_ms, modified);
    fprintf(out,
            "cZxid = 0x%" PRIx64 "\nctime = %s\nmZxid = 0x%" PRIx64
            "\nmtime = %s\npZxid = 0x%" PRIx64 "\n",
            (uint64_t)stat->czxid, created, (uint64_t)stat->mzxid, modified,
            (uint64_t)stat->pzxid);
    fprintf(out,
            "cversion = %" PRId32 "\ndataVersion = %" PRId32
            "\naclVersion = %" PRId32 "\nephemeralOwner = 0x%" PRIx64
            "\ndataLength = %" PRId32 "\nnumChildren = %" PRId32
            "\nmode = %s\n",
            stat->cversion, stat->version, stat->aversion,
            (uint64_t)stat->ephemeral_owner, stat->bytes, stat->children,
            hf_tool_mode_of(stat));
}

/* Write ${number} as a string in hexadecimal, because many readers of JSON keep
 * only 53 bits of a number. */
static void json_hex(struct hf_json *json, const char *key, int64_t number)
{
    char text[24];

    (void)snprintf(text, sizeof text, "0x%" PRIx64, (uint64_t)number);
    hf_json_string(json, key, text);
}

void hf_tool_json_stat(struct hf_json *json, const char *key,
                       const struct hf_zookeeper_stat *stat)
{
    hf_json_begin_object(json, key);
    json_hex(json, "czxid", stat->czxid);
    json_hex(json, "mzxid", stat->mzxid);
    json_hex(json, "pzxid", stat->pzxid);
    hf_json_signed(json, "created_utc_ms", stat->created_utc_ms);
    hf_json_signed(json, "modified_utc_ms", stat->modified_utc_ms);
    hf_json_signed(json, "version", stat->version);
    hf_json_signed(json, "cversion", stat->cversion);
    hf_json_signed(json, "aversion", stat->aversion);
    json_hex(json, "ephemeral_owner", stat->ephemeral_owner);
    hf_json_signed(json, "bytes", stat->bytes);
    hf_json_signed(json, "children", stat->children);
    hf_json_string(json, "mode", hf_tool_mode_of(stat));
    hf_json_end_object(json);
}

/* ----------------------------------------------------------------- data -- */

void hf_tool_print_data_on_terminal(FILE *out, const char *data, size_t bytes)
{
    for (size_t at = 0, length; at < bytes; at += length) {
        uint32_t code = 0;

        length = hf_utf8_decode(data + at, bytes - at, &code);
        if (length == 0 ||
            (hf_utf8_unprintable(code) && code != '\n' && code != '\t')) {
            length = length == 0 ? 1 : length;
            putc('?', out);
        } else {
            fwrite(data + at, 1, length, out);
        }
    }
    if (bytes > 0 && data[bytes - 1] != '\n')
        putc('\n', out);
}

bool hf_tool_json_data(struct hf_json *json, const void *data, size_t bytes)
{
    char *text;

    if (data == NULL) {
        hf_json_null(json, "data_base64");
        return true;
    }
    text = hf_base64_encode(data, bytes);
    if (text == NULL)
        return false;
    hf_json_string(json, "data_base64", text);
    hf_free(text);
    return true;
}

/* --------------------------------------------------------- access lists -- */

char *hf_tool_format_acl(const struct hf_zookeeper_acl *acl)
{
    static const struct {
        int32_t permission;
        char letter;
    } letters[] = {
        {HF_ZOOKEEPER_PERM_CREATE, 'c'}, {HF_ZOOKEEPER_PERM_DELETE, 'd'},
        {HF_ZOOKEEPER_PERM_READ, 'r'},   {HF_ZOOKEEPER_PERM_WRITE, 'w'},
        {HF_ZOOKEEPER_PERM_ADMIN, 'a'},
    };
    size_t bytes = strlen(acl->scheme) + strlen(acl->id) + 8;
    char *text = hf_alloc(bytes);
    size_t at;

    if (text == NULL)
        return NULL;
    at = (size_t)snprintf(text, bytes, "%s:%s:", acl->scheme, acl->id);
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++)
        if ((acl->permissions & letters[i].permission) != 0)
            text[at++] = letters[i].letter;
    return text;
}

bool hf_tool_json_acls(struct hf_json *json,
                       const struct hf_zookeeper_acl *acls, size_t count)
{
    hf_json_begin_list(json, "acl");
    for (size_t i = 0; i < count; i++) {
        char *text = hf_tool_format_acl(&acls[i]);

        if (text == NULL)
            return false;
        hf_json_string(json, NULL, text);
        hf_free(text);
    }
    hf_json_end_list(json);
    return true;
}
