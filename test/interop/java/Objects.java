// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.lang.reflect.Method;
import java.time.Duration;
import java.util.List;
import java.util.stream.Stream;

import org.redisson.RedissonMultiLock;
import org.redisson.RedissonRedLock;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;

/**
 * Commands by their Redisson names, each with the arguments in the order of Redisson's. Times are
 * in milliseconds; a lease of -1 asks for the watchdog.
 */
final class Objects {
    private Objects() {}

    static Object call(RedissonClient redisson, String command, String kind, String name,
            String[] arguments) throws Exception {
        Arguments a = new Arguments(arguments);
        return switch (kind) {
            case "semaphore" -> semaphore(redisson.getSemaphore(name), command, a);
            case "permit" -> permit(redisson.getPermitExpirableSemaphore(name), command, a);
            case "latch" -> latch(redisson.getCountDownLatch(name), command, a);
            default -> lock(lock(redisson, kind, name), command, a);
        };
    }

    static RLock lock(RedissonClient redisson, String kind, String name) {
        return switch (kind) {
            case "lock" -> redisson.getLock(name);
            case "fair" -> redisson.getFairLock(name);
            case "read" -> redisson.getReadWriteLock(name).readLock();
            case "write" -> redisson.getReadWriteLock(name).writeLock();
            case "fenced" -> redisson.getFencedLock(name);
            case "spin" -> redisson.getSpinLock(name);
            case "multi" -> new RedissonMultiLock(parts(redisson, name));
            case "red" -> red(redisson, name);
            default -> throw no("kind", kind);
        };
    }

    @SuppressWarnings("deprecation")
    private static RLock red(RedissonClient redisson, String names) {
        return new RedissonRedLock(parts(redisson, names));
    }

    /** The locks whose names stand in a text, with commas between them. */
    private static RLock[] parts(RedissonClient redisson, String names) {
        return Stream.of(names.split(",")).map(redisson::getLock).toArray(RLock[]::new);
    }

    private static Object lock(RLock lock, String command, Arguments a) throws Exception {
        return switch (command) {
            case "lock" -> nothing(() -> lock.lock(a.number(), MILLISECONDS));
            case "tryLock" -> lock.tryLock(a.number(), a.number(), MILLISECONDS);
            case "unlock" -> nothing(() -> lock.unlock());
            case "forceUnlock" -> lock.forceUnlock();
            case "isLocked" -> lock.isLocked();
            case "isHeldByCurrentThread" -> lock.isHeldByCurrentThread();
            case "remainTimeToLive" -> lock.remainTimeToLive();
            case "getHoldCount" -> lock.getHoldCount();
            case "lockAndGetToken" -> ((RFencedLock) lock).lockAndGetToken();
            case "getToken" -> ((RFencedLock) lock).getToken();
            default -> throw no("command", command);
        };
    }

    @SuppressWarnings("deprecation")  // 3.20 has no other tryAcquire with a wait
    private static Object semaphore(RSemaphore semaphore, String command, Arguments a)
            throws Exception {
        return switch (command) {
            case "trySetPermits" -> semaphore.trySetPermits(a.count());
            case "addPermits" -> nothing(() -> semaphore.addPermits(a.count()));
            case "acquire" -> nothing(() -> semaphore.acquire(a.count()));
            case "tryAcquire" -> semaphore.tryAcquire(a.count(), a.number(), MILLISECONDS);
            case "release" -> nothing(() -> semaphore.release(a.count()));
            case "releaseIfExists" -> newer(semaphore, RSemaphore.class, command, a.count());
            case "trySetPermitsFor" -> newer(
                    semaphore, RSemaphore.class, "trySetPermits", a.count(),
                    Duration.ofMillis(a.number()));
            case "availablePermits" -> semaphore.availablePermits();
            case "drainPermits" -> semaphore.drainPermits();
            default -> throw no("command", command);
        };
    }

    @SuppressWarnings("unchecked")
    private static Object permit(RPermitExpirableSemaphore permits, String command, Arguments a)
            throws Exception {
        return switch (command) {
            case "trySetPermits" -> permits.trySetPermits(a.count());
            case "addPermits" -> nothing(() -> permits.addPermits(a.count()));
            case "acquire" -> permits.acquire(a.number(), MILLISECONDS);
            case "tryAcquire" -> permits.tryAcquire(a.number(), a.number(), MILLISECONDS);
            case "release" -> nothing(() -> permits.release(a.text()));
            case "tryRelease" -> permits.tryRelease(a.text());
            case "updateLeaseTime" -> permits.updateLeaseTime(a.text(), a.number(), MILLISECONDS);
            case "acquireMany" -> String.join(",", (List<String>) newer(
                    permits, RPermitExpirableSemaphore.class, "acquire", a.count(), a.number(),
                    MILLISECONDS));
            case "releaseMany" -> newer(
                    permits, RPermitExpirableSemaphore.class, "release",
                    List.of(a.text().split(",")));
            case "setPermits" -> newer(
                    permits, RPermitExpirableSemaphore.class, command, a.count());
            case "getLeaseTime" -> newer(
                    permits, RPermitExpirableSemaphore.class, command, a.text());
            case "availablePermits" -> permits.availablePermits();
            case "acquiredPermits" -> permits.acquiredPermits();
            case "getPermits" -> permits.getPermits();
            default -> throw no("command", command);
        };
    }

    private static Object latch(RCountDownLatch latch, String command, Arguments a)
            throws Exception {
        return switch (command) {
            case "trySetCount" -> latch.trySetCount(a.number());
            case "countDown" -> nothing(() -> latch.countDown());
            case "await" -> latch.await(a.number(), MILLISECONDS);
            case "getCount" -> latch.getCount();
            case "delete" -> latch.delete();
            default -> throw no("command", command);
        };
    }

    /** Calls what the oldest Redisson of these tests does not have yet. */
    private static Object newer(Object of, Class<?> type, String method, Object... arguments)
            throws Exception {
        for (Method each : type.getMethods()) {
            if (each.getName().equals(method) && fits(each.getParameterTypes(), arguments)) {
                return each.invoke(of, arguments);
            }
        }
        throw no("method", method);
    }

    private static boolean fits(Class<?>[] types, Object[] arguments) {
        boolean fits = types.length == arguments.length;
        for (int i = 0; fits && i != types.length; ++i) {
            Class<?> wanted = types[i] == int.class ? Integer.class
                    : types[i] == long.class ? Long.class : types[i];
            fits = wanted.isInstance(arguments[i]);
        }
        return fits;
    }

    private interface Call {
        void make() throws Exception;
    }

    private static Object nothing(Call call) throws Exception {
        call.make();
        return null;
    }

    private static IllegalArgumentException no(String what, String name) {
        return new IllegalArgumentException("no such " + what + ": " + name);
    }

    /** Taken in order. */
    private static final class Arguments {
        private final String[] words;
        private int next;

        Arguments(String[] words) {
            this.words = words;
        }

        String text() {
            return words[next++];
        }

        long number() {
            return Long.parseLong(text());
        }

        int count() {
            return Integer.parseInt(text());
        }
    }
}
