/* SPDX-License-Identifier: Apache-2.0 */
/* The boot of this machine, which CLOCK_BOOTTIME counts from. */
#ifndef HF_ENGINES_FILE_BOOT_H
#define HF_ENGINES_FILE_BOOT_H

#include "core/ticket.h"

/* The id of this boot; all zero, which no boot has, if it cannot be read. */
struct hf_ticket_id hf_file_boot(void);

#endif
