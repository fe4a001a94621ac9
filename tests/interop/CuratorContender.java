/* SPDX-License-Identifier: Apache-2.0 */
import java.io.FileOutputStream;
import java.io.RandomAccessFile;
import java.lang.reflect.Method;
import java.nio.charset.StandardCharsets;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.retry.RetryNTimes;

/**
 * A contender that uses Apache Curator as its users do.
 *
 *     CuratorContender add SERVERS PATH DIRECTORY ID COUNT
 *         Print "ready", wait for a line, and COUNT times: take the lock, raise
 *         the number in DIRECTORY/counter by reading and writing it, log
 *         "ID CZXID NUMBER NODE" to DIRECTORY/log, release.
 *     CuratorContender share SERVERS PATH DIRECTORY ID COUNT
 *         The same by turns as a writer, who raises the numbers in
 *         DIRECTORY/one and DIRECTORY/two, and as a reader, who fails if they
 *         differ; it logs "ID CZXID KIND NUMBER".  It never downgrades: in
 *         5.4.0 that lets a second writer in (CURATOR-621).
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

    private static long read(String path) throws Exception {
        try (RandomAccessFile file = new RandomAccessFile(path, "rw")) {
            String line = file.readLine();
            return line == null ? 0 : Long.parseLong(line);
        }
    }

    private static void write(String path, long number) throws Exception {
        try (RandomAccessFile file = new RandomAccessFile(path, "rw")) {
            file.write(bytes(number + "\n"));
        }
    }

    private static void log(String directory, String line) throws Exception {
        try (FileOutputStream log =
                new FileOutputStream(directory + "/log", true)) {
            log.write(bytes(line + "\n"));
        }
    }

    private static void add(CuratorFramework client, Mutex mutex,
            String directory, String id) throws Exception {
        long zxid = client.checkExists().forPath(mutex.node()).getCzxid();
        long number = read(directory + "/counter") + 1;
        String node = mutex.node();

        write(directory + "/counter", number);
        log(directory, id + " " + zxid + " " + number + " "
                + node.substring(node.lastIndexOf('/') + 1));
    }

    private static void share(CuratorFramework client, String node,
            String directory, String id, boolean writes) throws Exception {
        long zxid = client.checkExists().forPath(node).getCzxid();
        long number = read(directory + "/one");

        if (number != read(directory + "/two"))
            throw new IllegalStateException(
                    "the two files differ: another contender writes");
        if (writes) {
            number++;
            write(directory + "/one", number);
            write(directory + "/two", number);
        }
        log(directory,
                id + " " + zxid + (writes ? " w " : " r ") + number);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    /** Wait for a line; false at the end of standard input. */
    private static boolean awaitLine() throws Exception {
        int c = System.in.read();

        while (c != '\n' && c != -1)
            c = System.in.read();
        return c != -1;
    }

    private static void addMany(CuratorFramework client, String[] arguments)
            throws Exception {
        Mutex mutex = new Mutex(client, arguments[2]);
        int count = Integer.parseInt(arguments[5]);

        awaitLine();
        for (int i = 0; i < count; i++) {
            mutex.acquire();
            try {
                add(client, mutex, arguments[3], arguments[4]);
            } finally {
                mutex.release();
            }
        }
    }

    private static void shareMany(CuratorFramework client,
            String[] arguments) throws Exception {
        InterProcessReadWriteLock lock =
                new InterProcessReadWriteLock(client, arguments[2]);
        Method path = InterProcessMutex.class.getDeclaredMethod("getLockPath");
        String id = arguments[4];
        int turn = id.charAt(id.length() - 1) - '0';
        int end = turn + Integer.parseInt(arguments[5]);

        path.setAccessible(true);
        awaitLine();
        for (; turn < end; turn++) {
            boolean writes = turn % 2 == 0;
            InterProcessMutex mutex =
                    writes ? lock.writeLock() : lock.readLock();
            mutex.acquire();
            try {
                share(client, (String) path.invoke(mutex), arguments[3], id,
                        writes);
            } finally {
                mutex.release();
            }
        }
    }

    private static void tryEach(CuratorFramework client, String[] arguments)
            throws Exception {
        Mutex mutex = new Mutex(client, arguments[2]);

        while (awaitLine()) {
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
            else if (arguments[0].equals("share"))
                shareMany(client, arguments);
            else
                tryEach(client, arguments);
        }
    }
}
