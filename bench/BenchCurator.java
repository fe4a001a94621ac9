/* SPDX-License-Identifier: Apache-2.0 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.api.BackgroundCallback;
import org.apache.curator.framework.api.CuratorEvent;
import org.apache.curator.framework.recipes.cache.ChildData;
import org.apache.curator.framework.recipes.cache.CuratorCache;
import org.apache.curator.framework.recipes.cache.CuratorCacheListener;
import org.apache.curator.framework.recipes.cache.CuratorCacheStorage;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryNTimes;
import org.apache.zookeeper.CreateMode;

/**
 * BenchCurator SERVERS PATH [TIMEOUT_MS]: Apache Curator's InterProcessMutex,
 * asked and answering as bench/library.c and bench/hold.c; its operations, as
 * bench/operations.h; and its CuratorCache, as bench/holdfast_cache.c.
 */
public final class BenchCurator {
    private static final int WARM_UP = 50;
    private static final int SAMPLES_MAX = 200000;

    private static String servers;
    private static String path;
    private static int timeoutMs = 10000;

    private static final long[] samples = new long[SAMPLES_MAX];
    private static final AtomicInteger taken = new AtomicInteger();
    private static long beganNs;
    private static long beganCpuNs;

    /** Of the iteration: written by the holder of the lock. */
    private static volatile long releasedAtNs;
    private static volatile int holder;
    private static volatile long deadlineNs;

    /** What drain releases, and what waits for it. */
    private static InterProcessMutex head;
    private static final List<Thread> waiters = new ArrayList<>();

    private static final List<CuratorFramework> holders = new ArrayList<>();

    private static void begin() {
        taken.set(0);
        beganCpuNs = cpuNs();
        beganNs = System.nanoTime();
    }

    private static long cpuNs() {
        return ((com.sun.management.OperatingSystemMXBean)
                ManagementFactory.getOperatingSystemMXBean())
            .getProcessCpuTime();
    }

    private static void sample(long ns) {
        samples[taken.getAndIncrement()] = ns;
    }

    private static void end(long grants) {
        long passedNs = System.nanoTime() - beganNs;
        StringBuilder line = new StringBuilder();

        line.append(cpuNs() - beganCpuNs).append(' ').append(passedNs)
            .append(' ').append(grants);
        for (int i = 0; i < taken.get(); i++)
            line.append(' ').append(samples[i]);
        System.out.println(line);
    }

    private static CuratorFramework start(int timeoutMs) {
        CuratorFramework client = CuratorFrameworkFactory.newClient(
                servers, timeoutMs, 10000, new RetryNTimes(3, 100));

        client.start();
        return client;
    }

    private static CuratorFramework connect() throws Exception {
        CuratorFramework client = start(timeoutMs);

        client.blockUntilConnected();
        return client;
    }

    /** In a thread; what goes wrong there ends the program. */
    private interface Work {
        void run() throws Exception;
    }

    private static Thread start(Work work) {
        Thread thread = new Thread(() -> {
            try {
                work.run();
            } catch (Exception e) {
                e.printStackTrace();
                System.exit(1);
            }
        });

        thread.start();
        return thread;
    }

    private static void oneAfterTheOther(Work work, int count)
            throws Exception {
        for (int i = 0; i < WARM_UP; i++)
            work.run();
        begin();
        for (int i = 0; i < count; i++) {
            long before = System.nanoTime();
            work.run();
            sample(System.nanoTime() - before);
        }
        end(count);
    }

    private static final byte[] data = "0123456789".repeat(10).getBytes();

    private static void one(CuratorFramework client, String operation)
            throws Exception {
        if (operation.equals("get"))
            client.getData().forPath(path);
        else if (operation.equals("set"))
            client.setData().forPath(path, data);
        else
            client.create().withMode(CreateMode.PERSISTENT_SEQUENTIAL)
                .forPath(path + "/n-", data);
    }

    private static void start(CuratorFramework client, String operation,
            BackgroundCallback done) throws Exception {
        if (operation.equals("get"))
            client.getData().inBackground(done).forPath(path);
        else if (operation.equals("set"))
            client.setData().inBackground(done).forPath(path, data);
        else
            client.create().withMode(CreateMode.PERSISTENT_SEQUENTIAL)
                .inBackground(done).forPath(path + "/n-", data);
    }

    private static void many(CuratorFramework client, String operation,
            int count, int underway) throws Exception {
        AtomicInteger started = new AtomicInteger(underway);
        Semaphore ended = new Semaphore(0);
        BackgroundCallback done = new BackgroundCallback() {
            @Override
            public void processResult(CuratorFramework of,
                    CuratorEvent event)
                    throws Exception {
                if (event.getResultCode() != 0)
                    System.exit(1);
                if (started.getAndIncrement() < count)
                    start(client, operation, this);
                ended.release();
            }
        };

        begin();
        for (int i = 0; i < underway; i++)
            start(client, operation, done);
        ended.acquire(count);
        end(count);
    }

    /** The lock was just granted to a number. */
    private static void takeOver(int number) {
        long now = System.nanoTime();

        if (holder != 0 && holder != number)
            sample(now - releasedAtNs);
        holder = number;
    }

    private static void contend(int number, CyclicBarrier start,
            AtomicInteger grants, CountDownLatch finish) throws Exception {
        try (CuratorFramework client = connect()) {
            InterProcessMutex mutex = new InterProcessMutex(client, path);

            mutex.acquire();
            mutex.release();
            start.await(); // all have a session
            start.await(); // and clocks run
            while (System.nanoTime() < deadlineNs) {
                mutex.acquire();
                takeOver(number);
                grants.incrementAndGet();
                releasedAtNs = System.nanoTime();
                mutex.release();
            }
            finish.countDown();
        }
    }

    private static void contest(int clients, int ms) throws Exception {
        CyclicBarrier start = new CyclicBarrier(clients + 1);
        CountDownLatch finish = new CountDownLatch(clients);
        AtomicInteger grants = new AtomicInteger();
        List<Thread> threads = new ArrayList<>();

        holder = 0;
        for (int i = 1; i <= clients; i++) {
            int number = i;
            threads.add(start(() -> contend(number, start, grants, finish)));
        }
        start.await();
        begin();
        deadlineNs = System.nanoTime() + ms * 1000000L;
        start.await();
        finish.await();
        end(grants.get());
        for (Thread thread : threads)
            thread.join();
    }

    /** One object for each waiter: what Curator has for threads that share
     * one is another thing. */
    private static void queue(CuratorFramework client, int count)
            throws Exception {
        head = new InterProcessMutex(client, path);
        head.acquire();
        holder = 1;
        begin();
        for (int i = 0; i < count; i++) {
            int number = i + 2;
            InterProcessMutex mutex = new InterProcessMutex(client, path);
            waiters.add(start(() -> {
                mutex.acquire();
                takeOver(number);
                releasedAtNs = System.nanoTime();
                mutex.release();
            }));
        }
        end(0);
    }

    private static void drain() throws Exception {
        begin();
        releasedAtNs = System.nanoTime();
        head.release();
        for (Thread waiter : waiters)
            waiter.join();
        end(waiters.size());
        waiters.clear();
    }

    /** Each with a session and a lock of its own. */
    private static void hold(int count) throws Exception {
        int from = holders.size();

        begin();
        for (int i = 0; i < count; i++)
            holders.add(start(timeoutMs));
        for (int i = from; i < from + count; i++) {
            holders.get(i).blockUntilConnected();
            new InterProcessMutex(holders.get(i), path + "/" + i).acquire();
        }
        end(count);
    }

    /** What CuratorCache keeps its nodes in unless it gets another one, and a
     * count of those that it has read. */
    private static final class Storage implements CuratorCacheStorage {
        final CuratorCacheStorage standard = CuratorCacheStorage.standard();
        final Semaphore read = new Semaphore(0);

        @Override
        public Optional<ChildData> put(ChildData data) {
            Optional<ChildData> before = standard.put(data);
            read.release();
            return before;
        }

        @Override
        public Optional<ChildData> remove(String path) {
            return standard.remove(path);
        }

        @Override
        public void clear() {
            standard.clear();
        }

        @Override
        public Optional<ChildData> get(String path) {
            return standard.get(path);
        }

        @Override
        public int size() {
            return standard.size();
        }

        @Override
        public Stream<ChildData> stream() {
            return standard.stream();
        }
    }

    private static CuratorCache cache;
    private static Storage storage;
    private static final Semaphore seen = new Semaphore(0);
    private static volatile long seenAtNs;

    private static void changed(ChildData before, ChildData after) {
        seenAtNs = System.nanoTime();
        seen.release();
    }

    private static void fill(CuratorFramework client) throws Exception {
        CountDownLatch initialized = new CountDownLatch(1);

        begin();
        storage = new Storage();
        cache = CuratorCache.builder(client, path).withStorage(storage)
            .build();
        cache.listenable().addListener(CuratorCacheListener.builder()
            .forChanges(BenchCurator::changed)
            .forInitialized(initialized::countDown).build());
        cache.start();
        initialized.await();
        end(cache.size());
        storage.read.drainPermits();
    }

    /** It has no event for this: it is current when it has read each node
     * again. */
    private static void resync(int count) throws Exception {
        begin();
        storage.read.acquire(cache.size());
        seen.acquire(count);
        if (count > 0)
            sample(seenAtNs - beganNs);
        end(cache.size());
    }

    private static void memory() {
        Runtime runtime = Runtime.getRuntime();

        System.gc();
        System.gc();
        begin();
        sample(runtime.totalMemory() - runtime.freeMemory());
        end(0);
    }

    private static void freeCache() {
        begin();
        cache.close();
        cache = null;
        storage = null;
        end(0);
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader in =
            new BufferedReader(new InputStreamReader(System.in));
        String line;

        servers = arguments[0];
        path = arguments[1];
        if (arguments.length > 2)
            timeoutMs = Integer.parseInt(arguments[2]);
        try (CuratorFramework client = connect()) {
            InterProcessMutex mutex = new InterProcessMutex(client, path);

            while ((line = in.readLine()) != null) {
                String[] words = line.split(" ");
                if (words[0].equals("pair"))
                    oneAfterTheOther(() -> {
                        mutex.acquire();
                        mutex.release();
                    }, Integer.parseInt(words[1]));
                else if (words[0].matches("get|set|create")
                        && words.length == 2)
                    oneAfterTheOther(() -> one(client, words[0]),
                            Integer.parseInt(words[1]));
                else if (words[0].matches("get|set|create"))
                    many(client, words[0], Integer.parseInt(words[1]),
                            Integer.parseInt(words[2]));
                else if (words[0].equals("fill"))
                    fill(client);
                else if (words[0].equals("resync"))
                    resync(Integer.parseInt(words[1]));
                else if (words[0].equals("memory"))
                    memory();
                else if (words[0].equals("free"))
                    freeCache();
                else if (words[0].equals("contend"))
                    contest(Integer.parseInt(words[1]),
                            Integer.parseInt(words[2]));
                else if (words[0].equals("queue"))
                    queue(client, Integer.parseInt(words[1]));
                else if (words[0].equals("drain"))
                    drain();
                else if (words[0].equals("hold"))
                    hold(Integer.parseInt(words[1]));
                else
                    throw new IllegalArgumentException(line);
            }
        }
        System.exit(0); // with those that hold
    }
}
