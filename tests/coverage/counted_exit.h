/* SPDX-License-Identifier: Apache-2.0 */
/* Included ahead of every file where lines are counted: a process that ends by
 * _exit() leaves its counts behind as one that returns from main() does.
 * <unistd.h>, if it comes, declares this function once more. */
#ifndef HF_COUNTED_EXIT_H
#define HF_COUNTED_EXIT_H

void __gcov_dump(void); /* of libgcov */
extern void _exit(int status) __attribute__((__noreturn__));

__attribute__((__noreturn__)) static inline void hf_counted_exit(int status)
{
    __gcov_dump();
    _exit(status);
}

#define _exit(status) hf_counted_exit(status)

#endif /* HF_COUNTED_EXIT_H */
