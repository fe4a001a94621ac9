/* SPDX-License-Identifier: Apache-2.0 */
import java.io.FileOutputStream;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.zookeeper.Watcher;
import org.apache.zookeeper.ZooDefs;
import org.apache.zookeeper.ZooKeeper;
import org.apache.zookeeper.recipes.lock.LockListener;
import org.apache.zookeeper.recipes.lock.WriteLock;

/**
 * A contender that uses the lock that comes with ZooKeeper.
 *
 *     WriteLockContender SERVERS PATH DIRECTORY ID COUNT
 *         Print "ready", wait for a line, and COUNT times: take the lock, raise
 *         the number in DIRECTORY/counter by reading and writing it, log
 *         "ID CZXID NUMBER NODE" to DIRECTORY/log, release.
 *
 * What it does beyond what anybody would write at first:
 *
 *   - When the ticket ahead goes between WriteLock's list and its exists(), it
 *     waits for an event that never comes.  So lock() is called again while
 *     no event arrives.
 *   - Its watcher calls lock() whenever it fires, also when the lock has been
 *     released meanwhile, and so puts a ticket into the queue that nobody asked
 *     for.  The next acquire takes that one, and the last one's goes with the
 *     session, which ends right behind.
 */
public final class WriteLockContender implements LockListener {
    private static final int AGAIN_MS = 100;

    private final Semaphore acquired = new Semaphore(0);
    private final ZooKeeper client;
    private final WriteLock lock;

    private WriteLockContender(ZooKeeper client, String path) {
        this.client = client;
        lock = new WriteLock(client, path, ZooDefs.Ids.OPEN_ACL_UNSAFE, this);
    }

    @Override
    public void lockAcquired() {
        acquired.release();
    }

    @Override
    public void lockReleased() {
    }

    private void acquire() throws Exception {
        while (!lock.lock())
            acquired.tryAcquire(AGAIN_MS, TimeUnit.MILLISECONDS);
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private void add(String directory, String id) throws Exception {
        String node = lock.getId();
        long zxid = client.exists(node, false).getCzxid();
        long number = 1;

        try (RandomAccessFile counter =
                new RandomAccessFile(directory + "/counter", "rw")) {
            String line = counter.readLine();
            if (line != null)
                number += Long.parseLong(line);
            counter.seek(0);
            counter.write(bytes(number + "\n"));
        }
        try (FileOutputStream log =
                new FileOutputStream(directory + "/log", true)) {
            log.write(bytes(id + " " + zxid + " " + number + " "
                    + node.substring(node.lastIndexOf('/') + 1) + "\n"));
        }
    }

    private void addMany(String directory, String id, int count)
            throws Exception {
        for (int i = 0; i < count; i++) {
            acquire();
            try {
                add(directory, id);
            } finally {
                lock.unlock();
            }
        }
    }

    public static void main(String[] arguments) throws Exception {
        CountDownLatch connected = new CountDownLatch(1);
        Watcher watcher = event -> {
            if (event.getState() == Watcher.Event.KeeperState.SyncConnected)
                connected.countDown();
        };

        ZooKeeper client = new ZooKeeper(arguments[0], 10000, watcher);
        try {
            connected.await();
            System.out.println("ready");
            int c = System.in.read();
            while (c != '\n' && c != -1)
                c = System.in.read();
            new WriteLockContender(client, arguments[1]).addMany(
                    arguments[2], arguments[3],
                    Integer.parseInt(arguments[4]));
        } finally {
            client.close();
        }
    }
}
