/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of the library.
 */
#ifndef HF_MONITOR_CLOCK_H
#define HF_MONITOR_CLOCK_H

#include <stdint.h>

/* Milliseconds of CLOCK_BOOTTIME, which goes on while the machine is suspended,
 * so that a lease does not outlive a suspend. */
uint64_t hf_now_ms(void);

/* The same in microseconds, for what is measured; nothing is decided by it. */
uint64_t hf_now_us(void);

#endif
