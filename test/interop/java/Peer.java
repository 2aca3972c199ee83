// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.net.URLDecoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

import org.redisson.Redisson;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;
import org.redisson.config.ReadMode;

/**
 * Redisson, told by lines what to do:
 *
 * <pre>
 *   java Peer redis://host:port WATCHDOG_MS
 *   java Peer cluster://host:port WATCHDOG_MS      one node of a cluster
 *   java Peer URL WATCHDOG_MS PREFIX               with a NameMapper that puts PREFIX before each name
 *
 *   N THREAD COMMAND KIND NAME [ARGUMENT...]      →  N ok [VALUE]     or     N error TEXT
 * </pre>
 *
 * The number comes back with the answer, so any number of commands may be under way. Those of one
 * THREAD run one after the other on a Java thread of that name, which is who holds a lock: another
 * name is another owner. NAME is percent-encoded. Commands and kinds are those of Objects, and
 * "fleet", which is that of Fleet. "0 ok" is printed once the connection is up; the end of the
 * input ends the program, with whatever it holds.
 */
public final class Peer {
    private static final PrintStream OUT = System.out;

    private final RedissonClient redisson;
    private final Map<String, ExecutorService> threads = new HashMap<>();

    private Peer(String url, long watchdog, String prefix) throws Exception {
        Config config = new Config();
        config.setLockWatchdogTimeout(watchdog);
        if (url.startsWith("cluster://")) {
            config.useClusterServers()
                    .addNodeAddress(url.replace("cluster://", "redis://"))
                    .setReadMode(ReadMode.MASTER)
                    .setMasterConnectionMinimumIdleSize(2)
                    .setSubscriptionConnectionMinimumIdleSize(1);
        } else {
            Object single = config.useSingleServer()
                    .setAddress(url)
                    .setConnectionPoolSize(32)
                    .setConnectionMinimumIdleSize(2)
                    .setSubscriptionConnectionMinimumIdleSize(1);
            if (!prefix.isEmpty()) {
                map(config, single, prefix);
            }
        }
        redisson = Redisson.create(config);
    }

    /** The type and the place of a mapper differ from release to release. */
    private static void map(Config config, Object server, String prefix) throws Exception {
        for (Object each : new Object[] {config, server}) {
            for (Method setter : each.getClass().getMethods()) {
                if (!setter.getName().equals("setNameMapper")) {
                    continue;
                }
                Class<?> type = setter.getParameterTypes()[0];
                setter.invoke(each, Proxy.newProxyInstance(
                        type.getClassLoader(), new Class<?>[] {type}, (self, method, given) -> {
                            String name = (String) given[0];
                            if (method.getName().equals("map")) {
                                return prefix + name;
                            }
                            return name.startsWith(prefix) ? name.substring(prefix.length()) : name;
                        }));
                return;
            }
        }
        throw new IllegalStateException("this Redisson has no NameMapper");
    }

    public static void main(String[] arguments) throws Exception {
        String prefix = arguments.length > 2 ? arguments[2] : "";
        Peer peer = new Peer(arguments[0], Long.parseLong(arguments[1]), prefix);
        answer("0", "ok");
        BufferedReader in =
                new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            peer.take(line.split(" "));
        }
        Runtime.getRuntime().halt(0);
    }

    private void take(String[] words) {
        threads.computeIfAbsent(
                words[1],
                name -> Executors.newSingleThreadExecutor(task -> {
                    Thread thread = new Thread(task, name);
                    thread.setDaemon(true);
                    return thread;
                })
        ).execute(() -> run(words));
    }

    private void run(String[] words) {
        try {
            String name = URLDecoder.decode(words[4], StandardCharsets.UTF_8);
            String[] rest = Arrays.copyOfRange(words, 5, words.length);
            Object value = words[2].equals("fleet")
                    ? new Fleet(redisson, words[3], name, rest).run()
                    : Objects.call(redisson, words[2], words[3], name, rest);
            answer(words[0], value == null ? "ok" : "ok " + value);
        } catch (Throwable e) {
            answer(words[0], "error " + e.toString().replaceAll("\\s+", " "));
        }
    }

    private static synchronized void answer(String number, String text) {
        OUT.println(number + " " + text);
        OUT.flush();
    }
}
