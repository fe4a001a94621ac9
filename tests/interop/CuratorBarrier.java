/* SPDX-License-Identifier: Apache-2.0 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.barriers.DistributedBarrier;
import org.apache.curator.retry.RetryNTimes;

/**
 * A barrier as users of Apache Curator know it.
 *
 *     CuratorBarrier SERVERS PATH
 *         Print "ready"; then answer each line: of "set"
 *         and "clear" "done", of "wait" "passed", and of "try" "set" or "clear".
 */
public final class CuratorBarrier {
    private static String run(DistributedBarrier barrier, String word)
            throws Exception {
        switch (word) {
        case "set":
            barrier.setBarrier();
            return "done";
        case "clear":
            barrier.removeBarrier();
            return "done";
        case "wait":
            barrier.waitOnBarrier();
            return "passed";
        default:
            return barrier.waitOnBarrier(0, TimeUnit.SECONDS) ? "clear" : "set";
        }
    }

    public static void main(String[] arguments) throws Exception {
        BufferedReader words = new BufferedReader(
                new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String word;

        try (CuratorFramework client = CuratorFrameworkFactory.newClient(
                arguments[0], 10000, 10000, new RetryNTimes(100, 100))) {
            client.start();
            client.blockUntilConnected();
            DistributedBarrier barrier =
                    new DistributedBarrier(client, arguments[1]);
            System.out.println("ready");
            while ((word = words.readLine()) != null)
                System.out.println(run(barrier, word));
        }
    }
}
