/* SPDX-License-Identifier: Apache-2.0 */
import java.io.FileOutputStream;
import java.io.RandomAccessFile;
import java.nio.charset.StandardCharsets;
import java.util.Comparator;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderSelector;
import org.apache.curator.framework.recipes.leader.LeaderSelectorListenerAdapter;
import org.apache.curator.framework.recipes.leader.Participant;
import org.apache.curator.retry.RetryNTimes;

/**
 * A candidate that uses Apache Curator as its users do.
 *
 *     CuratorElection latch|selector add SERVERS PATH DIRECTORY ID COUNT
 *         Print "ready", wait for a line, and COUNT times: stand, and when
 *         elected raise the number in DIRECTORY/counter by reading and writing
 *         it, log "ID CZXID NUMBER" to DIRECTORY/log, and leave.
 *     CuratorElection latch|selector stand SERVERS PATH ID
 *         Print "ready", stand, print "elected", lead until the end of standard
 *         input.
 *     CuratorElection latch|selector look SERVERS PATH
 *         Print "ready" and the id of each participant, that of the leader
 *         behind a "*".
 */
public final class CuratorElection {
    private interface Work {
        void run() throws Exception;
    }

    private static byte[] bytes(String text) {
        return text.getBytes(StandardCharsets.UTF_8);
    }

    private static void raise(CuratorFramework client, String node,
            String directory, String id) throws Exception {
        long zxid = client.checkExists().forPath(node).getCzxid();
        long number = 1;

        try (RandomAccessFile file =
                new RandomAccessFile(directory + "/counter", "rw")) {
            String line = file.readLine();

            if (line != null)
                number = Long.parseLong(line) + 1;
            file.seek(0);
            file.write(bytes(number + "\n"));
        }
        try (FileOutputStream log =
                new FileOutputStream(directory + "/log", true)) {
            log.write(bytes(id + " " + zxid + " " + number + "\n"));
        }
    }

    /** The first in the queue, which had better be ours. */
    private static String first(CuratorFramework client, String path,
            String mark, String id) throws Exception {
        List<String> names = client.getChildren().forPath(path);

        names.sort(Comparator.comparing(
                name -> name.substring(name.lastIndexOf(mark))));
        String node = path + "/" + names.get(0);
        String data = new String(client.getData().forPath(node),
                StandardCharsets.UTF_8);
        if (!data.equals(id))
            throw new IllegalStateException(
                    id + " leads, and the first is " + data);
        return node;
    }

    private static void latch(CuratorFramework client, String path, String id,
            Work work) throws Exception {
        try (LeaderLatch latch = new LeaderLatch(client, path, id)) {
            latch.start();
            latch.await();
            work.run();
        }
    }

    private static void selector(CuratorFramework client, String path,
            String id, Work work) throws Exception {
        CountDownLatch done = new CountDownLatch(1);
        Exception[] failure = {null};

        try (LeaderSelector selector = new LeaderSelector(client, path,
                new LeaderSelectorListenerAdapter() {
                    @Override
                    public void takeLeadership(CuratorFramework unused) {
                        try {
                            work.run();
                        } catch (Exception e) {
                            failure[0] = e;
                        }
                        done.countDown();
                    }
                })) {
            selector.setId(id);
            selector.start();
            done.await();
        }
        if (failure[0] != null)
            throw failure[0];
    }

    private static void stand(CuratorFramework client, boolean latch,
            String path, String id, Work work) throws Exception {
        if (latch)
            latch(client, path, id, work);
        else
            selector(client, path, id, work);
    }

    private static void awaitLineOrEnd() throws Exception {
        int c = System.in.read();

        while (c != '\n' && c != -1)
            c = System.in.read();
    }

    private static void show(Iterable<Participant> participants) {
        for (Participant one : participants)
            System.out.println((one.isLeader() ? "*" : "") + one.getId());
    }

    private static void look(CuratorFramework client, boolean latch,
            String path) throws Exception {
        if (latch) {
            try (LeaderLatch one = new LeaderLatch(client, path, "watcher")) {
                show(one.getParticipants());
                one.start(); /* or it could not be closed */
            }
        } else {
            try (LeaderSelector one = new LeaderSelector(client, path,
                    new LeaderSelectorListenerAdapter() {
                        @Override
                        public void takeLeadership(CuratorFramework unused) {
                        }
                    })) {
                show(one.getParticipants());
                one.start();
            }
        }
    }

    private static void run(CuratorFramework client, String[] arguments)
            throws Exception {
        boolean latch = arguments[0].equals("latch");
        String path = arguments[3];

        System.out.println("ready");
        if (arguments[1].equals("look")) {
            look(client, latch, path);
        } else if (arguments[1].equals("stand")) {
            stand(client, latch, path, arguments[4], () -> {
                System.out.println("elected");
                awaitLineOrEnd();
            });
        } else {
            awaitLineOrEnd();
            for (int i = Integer.parseInt(arguments[6]); i > 0; i--)
                stand(client, latch, path, arguments[5],
                        () -> raise(client,
                                first(client, path, latch ? "latch-" : "lock-",
                                        arguments[5]),
                                arguments[4], arguments[5]));
        }
    }

    public static void main(String[] arguments) throws Exception {
        try (CuratorFramework client = CuratorFrameworkFactory.newClient(
                arguments[2], 10000, 10000, new RetryNTimes(100, 100))) {
            client.start();
            client.blockUntilConnected();
            run(client, arguments);
        }
    }
}
