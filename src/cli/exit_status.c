/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/exit_status.h"

/* By status and not by class: the classes are made for programs, which can do
 * something about a wrong call, and these for people. */
int hf_exit_status(hf_status status)
{
    switch (status) {
    case HF_EBUSY:
    case HF_ETIMEDOUT:
    case HF_EDEADLK:
        return HF_EXIT_BUSY;
    case HF_ELOST:
        return HF_EXIT_LOST;
    case HF_EUNREACHABLE:
    case HF_EREADONLY:
    case HF_EUNSURE:
    case HF_EEXHAUSTED:
    case HF_EPROTOCOL:
        return HF_EXIT_UNREACHABLE;
    case HF_EINVAL: /* what the user gave, passed on as it was */
    case HF_ENAME:
    case HF_EURL:
    case HF_EKIND:
    case HF_EUNSUPPORTED: /* a URL for which there is no engine here */
        return HF_EXIT_USAGE;
    case HF_EDENIED:
        return HF_EXIT_DENIED;
    case HF_EFULL:
    case HF_EDIR:
        return HF_EXIT_DIRECTORY;
    case HF_ELIMIT:
    case HF_ENOMEM:
        return HF_EXIT_LIMIT;
    case HF_OK:
    case HF_ECANCELLED:
    case HF_ECLOSED:
    case HF_ESTATE:
    case HF_EREENTRANT:
    case HF_EFORKED:
    case HF_EOWNER:
    case HF_EGONE:
    case HF_EEXISTS:
    case HF_EVERSION:
    case HF_ENOTEMPTY:
    case HF_EBUG:
        return HF_EXIT_BUG;
    }
    return HF_EXIT_BUG;
}
