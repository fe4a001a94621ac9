/* SPDX-License-Identifier: Apache-2.0 */
/* In the answer to getACL the id of a digest entry is USER:HASH, or USER:x if
 * the session lacks the right ADMIN.  So only the user is compared. */
#include "engines/zookeeper/access_list.h"

#include <string.h>

/* The fewest bytes of an entry: its permissions and two empty texts. */
#define ENTRY_BYTES 12

/* The user who has all rights, unless the servers are configured with another
 * name. */
#define SUPERUSER "super"

static bool equals(struct hf_jute_piece piece, const char *text)
{
    size_t bytes = strlen(text);

    return piece.count == bytes && memcmp(piece.bytes, text, bytes) == 0;
}

/* Is the digest ${id} of the user whose name is the first ${bytes} of
 * ${auth}? */
static bool is_of_user(struct hf_jute_piece id, const char *auth, size_t bytes)
{
    return bytes > 0 && id.count > bytes &&
           memcmp(id.bytes, auth, bytes) == 0 && id.bytes[bytes] == ':';
}

struct hf_zk_engine_access hf_zk_engine_access_read(struct hf_jute_reader *body,
                                                    const char *auth)
{
    size_t user_bytes = strcspn(auth, ":");
    size_t count = hf_jute_get_count(body, ENTRY_BYTES);
    struct hf_zk_engine_access access = {0};

    if (user_bytes == strlen(SUPERUSER) &&
        memcmp(auth, SUPERUSER, user_bytes) == 0)
        access.possible = INT32_MAX;
    for (size_t i = 0; i < count; i++) {
        int32_t permissions = hf_jute_get_int(body);
        struct hf_jute_piece scheme = hf_jute_get_buffer(body);
        struct hf_jute_piece id = hf_jute_get_buffer(body);

        if (body->failed)
            break;
        if (equals(scheme, "world"))
            access.anyone |= permissions;
        else if (!equals(scheme, "digest"))
            access.possible |= permissions;
        else if (is_of_user(id, auth, user_bytes))
            access.granted |= permissions;
    }
    access.granted |= access.anyone;
    return access;
}

bool hf_zk_engine_access_lacks(const struct hf_zk_engine_access *access,
                               int32_t permission)
{
    return ((access->granted | access->possible) & permission) == 0;
}
