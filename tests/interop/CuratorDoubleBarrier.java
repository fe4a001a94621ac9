/* SPDX-License-Identifier: Apache-2.0 */
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.barriers.DistributedDoubleBarrier;
import org.apache.curator.retry.RetryNTimes;

/**
 * A participant of a double barrier as users of Apache Curator know it.
 *
 *     CuratorDoubleBarrier SERVERS PATH PARTICIPANTS
 *         Print "ready" and then, for each line, what came of it: of "enter"
 *         "inside" and of "leave" "left".
 */
public final class CuratorDoubleBarrier {
    public static void main(String[] arguments) throws Exception {
        BufferedReader words = new BufferedReader(
                new InputStreamReader(System.in, StandardCharsets.UTF_8));
        String word;

        try (CuratorFramework client = CuratorFrameworkFactory.newClient(
                arguments[0], 10000, 10000, new RetryNTimes(100, 100))) {
            client.start();
            client.blockUntilConnected();
            int participants = Integer.parseInt(arguments[2]);
            DistributedDoubleBarrier barrier = null;
            System.out.println("ready");
            while ((word = words.readLine()) != null) {
                if (word.equals("enter")) {
                    barrier = new DistributedDoubleBarrier(
                            client, arguments[1], participants);
                    barrier.enter();
                    System.out.println("inside");
                } else {
                    barrier.leave();
                    System.out.println("left");
                }
            }
        }
    }
}
