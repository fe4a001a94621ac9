/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a lock name.  Properties: an accepted name is canonical, and
 * accepted again; a refused one has an error text. */
#include <string.h>

#include <holdfast/holdfast.h>

#include "base/utf8.h"
#include "core/lock_name.h"
#include "fuzz.h"

static void check_accepted(const char *name, const char *canonical)
{
    const char *again = NULL;
    size_t bytes = strlen(canonical);

    MUST(canonical == name || (name[0] == '/' && canonical == name + 1));
    MUST(bytes >= 1 && bytes <= HF_NAME_BYTES);
    MUST(hf_utf8_valid(canonical, bytes));
    MUST(canonical[0] != '/' && canonical[bytes - 1] != '/');
    MUST(strstr(canonical, "//") == NULL);
    /* A canonical name is accepted as it is, and also behind a '/'. */
    MUST(hf_lock_name_check(canonical, &again, NULL) == HF_OK);
    MUST(again == canonical);
}

/* As a component between others a name is refused for the same reasons, and
 * no path leads out of its parent. */
static void check_embedded(const char *canonical)
{
    char longer[HF_NAME_BYTES + 16];
    const char *again;
    int bytes = snprintf(longer, sizeof(longer), "above/%s", canonical);

    MUST(bytes > 0 && (size_t)bytes < sizeof(longer));
    MUST((hf_lock_name_check(longer, &again, NULL) == HF_OK) ==
         (bytes <= HF_NAME_BYTES));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    char *name = fuzz_text(data, bytes);
    struct hf_error error = {HF_OK, ""};
    struct hf_error second = {HF_OK, ""};
    const char *canonical = NULL;
    const char *again = NULL;
    hf_status st = hf_lock_name_check(name, &canonical, &error);

    MUST(hf_lock_name_check(name, &again, &second) == st);
    MUST(again == canonical && strcmp(error.text, second.text) == 0);
    if (st == HF_OK) {
        check_accepted(name, canonical);
        check_embedded(canonical);
    } else {
        MUST(st == HF_ENAME && error.status == HF_ENAME);
        MUST(canonical == NULL);
        MUST(hf_utf8_valid(error.text, strlen(error.text)));
        MUST(strstr(error.text, "expected") != NULL);
    }
    free(name);
    return 0;
}
