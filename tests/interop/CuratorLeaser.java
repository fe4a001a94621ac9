/* SPDX-License-Identifier: Apache-2.0 */
import java.io.FileOutputStream;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.util.Collection;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.retry.RetryNTimes;

/**
 * Permits of a semaphore as users of Apache Curator take them.
 *
 *     CuratorLeaser take SERVERS PATH LIMIT PERMITS LOG ID COUNT
 *         Print "ready", wait for a line, and COUNT times: take PERMITS of
 *         LIMIT, log "+ ID PERMITS 0", stay for a moment, log "- ID PERMITS 0",
 *         give them back.  Of more than one, which Curator takes one by one,
 *         it gives back what it has after half a second, and tries again.
 *     CuratorLeaser steps SERVERS PATH LIMIT
 *         Print "ready"; then for each line take one permit more, and print
 *         how many it has.
 *     CuratorLeaser try SERVERS PATH LIMIT
 *         Print "ready"; then for each line "taken" or "full", whether a permit
 *         could be had within a second, and how many are.
 *     CuratorLeaser add SERVERS PATH DIRECTORY ID COUNT
 *         As CuratorContender, with an InterProcessSemaphoreMutex, whose lease
 *         is its own secret: the log has 0 for a CZXID.
 */
public final class CuratorLeaser {
    private static final long INSIDE_MS = 1;
    private static final long ATTEMPT_MS = 500;

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static void log(String path, String line) throws Exception {
        try (FileOutputStream log = new FileOutputStream(path, true)) {
            log.write(bytes(line + "\n"));
        }
    }

    /** Wait for a line; false at the end of standard input. */
    private static boolean awaitLine() throws Exception {
        int c = System.in.read();

        while (c != '\n' && c != -1)
            c = System.in.read();
        return c != -1;
    }

    private static Collection<Lease> acquire(InterProcessSemaphoreV2 semaphore,
            int permits) throws Exception {
        Collection<Lease> leases = null;

        if (permits == 1)
            return java.util.List.of(semaphore.acquire());
        while (leases == null)
            leases = semaphore.acquire(permits, ATTEMPT_MS,
                    TimeUnit.MILLISECONDS);
        return leases;
    }

    private static void takeMany(InterProcessSemaphoreV2 semaphore,
            String[] arguments) throws Exception {
        int permits = Integer.parseInt(arguments[4]);
        String line = " " + arguments[6] + " " + permits + " 0";

        awaitLine();
        for (int i = Integer.parseInt(arguments[7]); i > 0; i--) {
            Collection<Lease> leases = acquire(semaphore, permits);
            try {
                log(arguments[5], "+" + line);
                TimeUnit.MILLISECONDS.sleep(INSIDE_MS);
                log(arguments[5], "-" + line);
            } finally {
                semaphore.returnAll(leases);
            }
        }
    }

    private static void steps(InterProcessSemaphoreV2 semaphore)
            throws Exception {
        for (int has = 1; awaitLine(); has++) {
            semaphore.acquire();
            System.out.println(has);
        }
    }

    private static void tryEach(InterProcessSemaphoreV2 semaphore)
            throws Exception {
        while (awaitLine()) {
            Lease lease = semaphore.acquire(1, TimeUnit.SECONDS);
            int taken = semaphore.getParticipantNodes().size();

            System.out.println((lease == null ? "full " : "taken ") + taken);
            if (lease != null)
                semaphore.returnLease(lease);
        }
    }

    private static long raise(String path) throws Exception {
        try (RandomAccessFile file = new RandomAccessFile(path, "rw")) {
            String line = file.readLine();
            long number = (line == null ? 0 : Long.parseLong(line)) + 1;

            file.seek(0);
            file.write(bytes(number + "\n"));
            return number;
        }
    }

    private static void addMany(CuratorFramework client, String[] arguments)
            throws Exception {
        InterProcessSemaphoreMutex mutex =
                new InterProcessSemaphoreMutex(client, arguments[2]);
        String directory = arguments[3];

        awaitLine();
        for (int i = Integer.parseInt(arguments[5]); i > 0; i--) {
            mutex.acquire();
            try {
                log(directory + "/log", arguments[4] + " 0 "
                        + raise(directory + "/counter"));
            } finally {
                mutex.release();
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        try (CuratorFramework client = CuratorFrameworkFactory.newClient(
                arguments[1], 10000, 10000, new RetryNTimes(100, 100))) {
            client.start();
            client.blockUntilConnected();
            System.out.println("ready");
            if (arguments[0].equals("add")) {
                addMany(client, arguments);
                return;
            }
            InterProcessSemaphoreV2 semaphore = new InterProcessSemaphoreV2(
                    client, arguments[2], Integer.parseInt(arguments[3]));
            if (arguments[0].equals("take"))
                takeMany(semaphore, arguments);
            else if (arguments[0].equals("steps"))
                steps(semaphore);
            else
                tryEach(semaphore);
        }
    }
}
