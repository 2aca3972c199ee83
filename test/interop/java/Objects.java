// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.

import static java.util.concurrent.TimeUnit.MILLISECONDS;

import java.time.Duration;

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
            default -> throw no("kind", kind);
        };
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

    private static Object semaphore(RSemaphore semaphore, String command, Arguments a)
            throws Exception {
        return switch (command) {
            case "trySetPermits" -> semaphore.trySetPermits(a.count());
            case "addPermits" -> nothing(() -> semaphore.addPermits(a.count()));
            case "acquire" -> nothing(() -> semaphore.acquire(a.count()));
            case "tryAcquire" -> semaphore.tryAcquire(a.count(), Duration.ofMillis(a.number()));
            case "release" -> nothing(() -> semaphore.release(a.count()));
            case "availablePermits" -> semaphore.availablePermits();
            case "drainPermits" -> semaphore.drainPermits();
            default -> throw no("command", command);
        };
    }

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
            case "getLeaseTime" -> permits.getLeaseTime(a.text());
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
