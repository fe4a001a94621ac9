/* SPDX-License-Identifier: Apache-2.0 */
#include "command/exit_status.h"

/* The exit status depends on the status and not on its class
 * (hf_status_class()).  Classes say what a program can do about a failure; exit
 * statuses show people and scripts what happened. */
int hf_exit_status(hf_status status)
{
    switch (status) {
    case HF_EBUSY:
    case HF_ETIMEDOUT:
        return HF_EXIT_BUSY;
    case HF_EDEADLK:
        return HF_EXIT_DEADLOCK;
    case HF_ELOST:
        return HF_EXIT_LOST;
    case HF_EUNREACHABLE:
    case HF_EREADONLY:
    case HF_EUNSURE:
    case HF_EEXHAUSTED:
    case HF_EPROTOCOL:
        return HF_EXIT_UNREACHABLE;
    case HF_EINVAL: /* arguments that the library refused */
    case HF_ENAME:
    case HF_EURL:
    case HF_EKIND:
    case HF_EUNSUPPORTED: /* the URL has no engine in this installation */
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
