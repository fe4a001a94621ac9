/* SPDX-License-Identifier: Apache-2.0 */
/* Included ahead of every file where lines are counted: a process that ends by
 * _exit() or _Exit() leaves its counts behind as one that returns from main()
 * does.  The program and each library and module in it have counts of their
 * own, so that each registers what writes them.  <unistd.h> and <stdlib.h>, if
 * they come, declare quick_exit() once more. */
#ifndef HF_COUNTED_EXIT_H
#define HF_COUNTED_EXIT_H

void __gcov_dump(void); /* of libgcov, and not shared either */
extern int at_quick_exit(void (*)(void)) __attribute__((__nothrow__));
extern void quick_exit(int) __attribute__((__nothrow__, __noreturn__));

/* One for all files of a program, or of a library. */
__attribute__((weak, visibility("hidden"))) _Bool hf_counts_registered;

__attribute__((constructor)) static inline void hf_register_counts(void)
{
    if (!hf_counts_registered)
        (void)at_quick_exit(__gcov_dump);
    hf_counts_registered = 1;
}

#define _exit(status) quick_exit(status)
#define _Exit(status) quick_exit(status)

#endif /* HF_COUNTED_EXIT_H */
