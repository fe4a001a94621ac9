/* SPDX-License-Identifier: Apache-2.0 */
import java.io.FileOutputStream;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryNTimes;

/**
 * A contender that uses Apache Curator as its users do.
 *
 *     CuratorContender add SERVERS PATH DIRECTORY ID COUNT
 *         Print "ready", wait for a line, and COUNT times: take the lock, raise
 *         the number in DIRECTORY/counter by reading and writing it, log
 *         "ID CZXID NUMBER NODE" to DIRECTORY/log, release.
 *     CuratorContender try SERVERS PATH
 *         Print "ready" and, for each line, "taken" or "refused": whether the
 *         lock could be had within a second.
 */
public final class CuratorContender {
    /** Its own node is known to subclasses only. */
    private static final class Mutex extends InterProcessMutex {
        Mutex(CuratorFramework client, String path) {
            super(client, path);
        }

        String node() {
            return getLockPath();
        }
    }

    private static void add(CuratorFramework client, Mutex mutex,
            String directory, String id) throws Exception {
        long zxid = client.checkExists().forPath(mutex.node()).getCzxid();
        long number = 1;

        try (RandomAccessFile counter =
                new RandomAccessFile(directory + "/counter", "rw")) {
            String line = counter.readLine();
            if (line != null)
                number += Long.parseLong(line);
            counter.seek(0);
            counter.write(bytes(number + "\n"));
        }
        String node = mutex.node();
        try (FileOutputStream log =
                new FileOutputStream(directory + "/log", true)) {
            log.write(bytes(id + " " + zxid + " " + number + " "
                    + node.substring(node.lastIndexOf('/') + 1) + "\n"));
        }
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** Until somebody wants something; false at the end of standard input. */
    private static boolean told() throws Exception {
        int c = System.in.read();

        while (c != '\n' && c != -1)
            c = System.in.read();
        return c != -1;
    }

    private static void addMany(CuratorFramework client, String[] arguments)
            throws Exception {
        Mutex mutex = new Mutex(client, arguments[2]);
        int count = Integer.parseInt(arguments[5]);

        told();
        for (int i = 0; i < count; i++) {
            mutex.acquire();
            try {
                add(client, mutex, arguments[3], arguments[4]);
            } finally {
                mutex.release();
            }
        }
    }

    private static void tryEach(CuratorFramework client, String[] arguments)
            throws Exception {
        Mutex mutex = new Mutex(client, arguments[2]);

        while (told()) {
            boolean taken =
                mutex.acquire(1, java.util.concurrent.TimeUnit.SECONDS);
            System.out.println(taken ? "taken" : "refused");
            if (taken)
                mutex.release();
        }
    }

    public static void main(String[] arguments) throws Exception {
        try (CuratorFramework client = CuratorFrameworkFactory.newClient(
                arguments[1], 10000, 10000, new RetryNTimes(100, 100))) {
            client.start();
            client.blockUntilConnected();
            System.out.println("ready");
            if (arguments[0].equals("add"))
                addMany(client, arguments);
            else
                tryEach(client, arguments);
        }
    }
}
