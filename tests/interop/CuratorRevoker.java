/* SPDX-License-Identifier: Apache-2.0 */
import java.util.concurrent.CountDownLatch;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.retry.RetryNTimes;

/**
 * Revocation as users of Apache Curator know it.
 *
 *     CuratorRevoker hold SERVERS PATH
 *         Take the lock, print "held"; when its revocation is asked for print
 *         "revoked", release it and print "released".
 *     CuratorRevoker ask SERVERS NODE
 *         Ask for the revocation of the lock whose node is NODE; print "asked".
 */
public final class CuratorRevoker {
    private static void hold(CuratorFramework client, String path)
            throws Exception {
        InterProcessMutex mutex = new InterProcessMutex(client, path);
        CountDownLatch asked = new CountDownLatch(1);

        mutex.makeRevocable(lock -> asked.countDown());
        mutex.acquire();
        System.out.println("held");
        asked.await();
        System.out.println("revoked");
        mutex.release();
        System.out.println("released");
    }

    public static void main(String[] arguments) throws Exception {
        try (CuratorFramework client = CuratorFrameworkFactory.newClient(
                arguments[1], 10000, 10000, new RetryNTimes(100, 100))) {
            client.start();
            client.blockUntilConnected();
            if (arguments[0].equals("hold")) {
                hold(client, arguments[2]);
            } else {
                Revoker.attemptRevoke(client, arguments[2]);
                System.out.println("asked");
            }
        }
    }
}
