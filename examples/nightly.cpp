/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One machine at a time writes a report, in C++20.
 *
 * c++ -std=c++20 -o nightly nightly.cpp $(pkg-config --cflags --libs holdfast)
 * HOLDFAST_URL=zk://zk1,zk2,zk3 ./nightly
 */
#include <iostream>

#include <holdfast/holdfast.hpp>

/* Stands for the work: it looks at ${stop} now and then, and hands ${token} to
 * what it writes to, which refuses a lower one than it has seen. */
static void write_report(std::uint64_t token, std::stop_token stop)
{
    if (!stop.stop_requested())
        std::cout << "written under token " << token << "\n";
}

int main()
try {
    holdfast::client client;
    holdfast::lock lock(client, "nightly");
    holdfast::grant grant = lock.try_acquire_for(std::chrono::seconds(30));

    if (!grant) {
        std::cerr << "another machine is at it\n";
        return 75;
    }
    write_report(grant.token(), grant.stop_token());
    grant.release(); /* throws if the lock was lost meanwhile */
} catch (const holdfast::error &error) {
    std::cerr << error.what() << "\n";
    return 1;
}
