/* SPDX-License-Identifier: Apache-2.0 */
#ifndef HF_MONITOR_CLOCK_H
#define HF_MONITOR_CLOCK_H

#include <stdint.h>

/* CLOCK_BOOTTIME, which goes on while the machine is suspended. */
uint64_t hf_now_ms(void);

#endif
