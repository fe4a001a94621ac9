/* SPDX-License-Identifier: Apache-2.0 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.List;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.PredicateResults;
import org.apache.curator.framework.recipes.locks.StandardLockInternalsDriver;
import org.apache.curator.retry.RetryNTimes;

/**
 * CuratorOwners SERVERS: tests/chaos/owners.c as a program of Apache Curator.
 * It has mutexes only, no time-outs, and nothing that looks for deadlocks.
 *
 *     acquire ID OWNER WAIT_MS HOW NAME:m
 *     release ID
 */
public final class CuratorOwners {
    private static final Map<String, CountDownLatch> RELEASES =
            new ConcurrentHashMap<>();

    private static synchronized void print(String id, String event) {
        System.out.println(id + " " + event);
    }

    /** Reports that a mutex is in its queue. */
    private static final class Driver extends StandardLockInternalsDriver {
        private final String id;

        Driver(String id) {
            this.id = id;
        }

        @Override
        public PredicateResults getsTheLock(CuratorFramework client,
                List<String> children, String node, int maxLeases)
                throws Exception {
            PredicateResults results =
                    super.getsTheLock(client, children, node, maxLeases);

            if (!results.getsTheLock())
                print(id, "waits");
            return results;
        }
    }

    /** A mutex belongs to a thread. */
    private static void acquire(CuratorFramework client, String id,
            String path) {
        InterProcessMutex mutex =
                new InterProcessMutex(client, path, new Driver(id));

        try {
            mutex.acquire();
            print(id, "granted");
            RELEASES.get(id).await();
            mutex.release();
            print(id, "released");
        } catch (Exception error) {
            print(id, "ended " + error);
        }
    }

    private static void run(CuratorFramework client, String[] words) {
        String id = words[1];

        if (words[0].equals("release")) {
            RELEASES.get(id).countDown();
            return;
        }
        RELEASES.put(id, new CountDownLatch(1));
        Thread thread = new Thread(() -> acquire(client, id,
                "/" + words[5].substring(0, words[5].lastIndexOf(':'))));
        thread.setDaemon(true);
        thread.start();
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader input =
                new BufferedReader(new InputStreamReader(System.in));

        try (CuratorFramework client = CuratorFrameworkFactory.newClient(
                arguments[0], 10000, 10000, new RetryNTimes(100, 100))) {
            client.start();
            client.blockUntilConnected();
            System.out.println("ready");
            for (String line; (line = input.readLine()) != null;)
                run(client, line.split(" "));
        }
    }
}
