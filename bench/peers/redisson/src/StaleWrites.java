import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import org.redisson.Redisson;
import org.redisson.RedissonRedLock;
import org.redisson.api.*;
import org.redisson.config.Config;

/**
 * RedissonRedLock over five servers, as a control of tools/endurance: how many writes of late owners
 * a store takes that nobody fences. Restarts of the servers are the caller's.
 */
public class StaleWrites {

    static final int OWNERS = 8;

    /** What a lock protects. It knows who came after whom, and takes each write. */
    static class Store {

        long sections, lastWriter, stale;

        synchronized long enter() {
            return ++sections;
        }

        synchronized void write(long number) {
            if (number < lastWriter) stale++;
            lastWriter = Math.max(lastWriter, number);
        }
    }

    public static void main(String[] words) throws Exception {
        Map<String, String> given = new HashMap<>();
        for (int i = 0; i + 1 < words.length; i += 2) given.put(words[i], words[i + 1]);
        long wanted = Long.parseLong(given.getOrDefault("--sections", "1000"));
        long lease = Long.parseLong(given.getOrDefault("--lease-ms", "1000"));
        int stops = Integer.parseInt(given.getOrDefault("--stops-one-in", "100"));

        List<RedissonClient> clients = new ArrayList<>();
        for (String server : given.get("--redis").split(",")) {
            Config config = new Config();
            config.useSingleServer().setAddress("redis://" + server);
            clients.add(Redisson.create(config));
        }
        Store[] stores = { new Store(), new Store(), new Store(), new Store() };
        AtomicLong all = new AtomicLong();
        ExecutorService owners = Executors.newFixedThreadPool(OWNERS);
        for (int i = 0; i < OWNERS; i++) owners.submit(() -> {
            ThreadLocalRandom dice = ThreadLocalRandom.current();
            while (all.get() < wanted) {
                int key = dice.nextInt(stores.length);
                try {
                    RLock[] parts = clients.stream().map(c -> c.getLock("stale:" + key)).toArray(RLock[]::new);
                    RLock held = new RedissonRedLock(parts);
                    if (!held.tryLock(5000, lease, TimeUnit.MILLISECONDS)) continue;
                    long number = stores[key].enter();
                    all.incrementAndGet();
                    if (dice.nextInt(stops) == 0) Thread.sleep(lease + dice.nextInt(500));
                    stores[key].write(number);
                    held.unlock();
                } catch (Exception e) {
                    // A server is away, or the lock is no longer its own: it tries the next one.
                }
            }
        });
        owners.shutdown();
        owners.awaitTermination(1, TimeUnit.HOURS);
        System.out.println(
            "{\"sections\": " + all + ", \"stale\": " + Arrays.stream(stores).mapToLong(s -> s.stale).sum() + "}"
        );
        System.exit(0);
    }
}
