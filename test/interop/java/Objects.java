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
        switch (kind) {
            case "semaphore":
                return semaphore(redisson.getSemaphore(name), command, a);
            case "permit":
                return permit(redisson.getPermitExpirableSemaphore(name), command, a);
            case "latch":
                return latch(redisson.getCountDownLatch(name), command, a);
            default:
                return lock(lock(redisson, kind, name), command, a);
        }
    }

    static RLock lock(RedissonClient redisson, String kind, String name) {
        switch (kind) {
            case "lock":
                return redisson.getLock(name);
            case "fair":
                return redisson.getFairLock(name);
            case "read":
                return redisson.getReadWriteLock(name).readLock();
            case "write":
                return redisson.getReadWriteLock(name).writeLock();
            case "fenced":
                return redisson.getFencedLock(name);
            case "spin":
                return redisson.getSpinLock(name);
            default:
                throw new IllegalArgumentException("no such kind: " + kind);
        }
    }

    private static Object lock(RLock lock, String command, Arguments a) throws Exception {
        switch (command) {
            case "lock":
                lock.lock(a.number(), MILLISECONDS);
                return null;
            case "tryLock":
                return lock.tryLock(a.number(), a.number(), MILLISECONDS);
            case "unlock":
                lock.unlock();
                return null;
            case "forceUnlock":
                return lock.forceUnlock();
            case "isLocked":
                return lock.isLocked();
            case "isHeldByCurrentThread":
                return lock.isHeldByCurrentThread();
            case "remainTimeToLive":
                return lock.remainTimeToLive();
            case "getHoldCount":
                return lock.getHoldCount();
            case "lockAndGetToken":
                return ((RFencedLock) lock).lockAndGetToken();
            case "getToken":
                return ((RFencedLock) lock).getToken();
            default:
                throw new IllegalArgumentException("no such command: " + command);
        }
    }

    private static Object semaphore(RSemaphore semaphore, String command, Arguments a)
            throws Exception {
        switch (command) {
            case "trySetPermits":
                return semaphore.trySetPermits(a.count());
            case "addPermits":
                semaphore.addPermits(a.count());
                return null;
            case "acquire":
                semaphore.acquire(a.count());
                return null;
            case "tryAcquire":
                return semaphore.tryAcquire(a.count(), Duration.ofMillis(a.number()));
            case "release":
                semaphore.release(a.count());
                return null;
            case "availablePermits":
                return semaphore.availablePermits();
            case "drainPermits":
                return semaphore.drainPermits();
            default:
                throw new IllegalArgumentException("no such command: " + command);
        }
    }

    private static Object permit(RPermitExpirableSemaphore permits, String command, Arguments a)
            throws Exception {
        switch (command) {
            case "trySetPermits":
                return permits.trySetPermits(a.count());
            case "addPermits":
                permits.addPermits(a.count());
                return null;
            case "acquire":
                return permits.acquire(a.number(), MILLISECONDS);
            case "tryAcquire":
                return permits.tryAcquire(a.number(), a.number(), MILLISECONDS);
            case "release":
                permits.release(a.text());
                return null;
            case "tryRelease":
                return permits.tryRelease(a.text());
            case "updateLeaseTime":
                return permits.updateLeaseTime(a.text(), a.number(), MILLISECONDS);
            case "getLeaseTime":
                return permits.getLeaseTime(a.text());
            case "availablePermits":
                return permits.availablePermits();
            case "acquiredPermits":
                return permits.acquiredPermits();
            case "getPermits":
                return permits.getPermits();
            default:
                throw new IllegalArgumentException("no such command: " + command);
        }
    }

    private static Object latch(RCountDownLatch latch, String command, Arguments a)
            throws Exception {
        switch (command) {
            case "trySetCount":
                return latch.trySetCount(a.number());
            case "countDown":
                latch.countDown();
                return null;
            case "await":
                return latch.await(a.number(), MILLISECONDS);
            case "getCount":
                return latch.getCount();
            case "delete":
                return latch.delete();
            default:
                throw new IllegalArgumentException("no such command: " + command);
        }
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
