// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.

import java.io.RandomAccessFile;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.VarHandle;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicReference;

import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisTimeoutException;

/**
 * Threads that enter one critical section until it has been entered so often, by them and by all
 * other processes of the fleet. Arguments: THREADS SECTIONS STAY_US FILE; who is inside stays for
 * STAY_US microseconds. The answer is the number of turns that these threads had. Of kind
 * "read_write" every other thread reads, and the others write.
 *
 * FILE is the scoreboard that all share, memory of native integers: test/interop/mixed_fleet.hpp
 * says what they mean.
 */
final class Fleet {
    private static final int WRITERS = 0, READERS = 1, OVERLAPS = 2, SECTIONS = 3, EXPECTED = 4,
            ARRIVED = 5, SIZE = 6;
    private static final int LOST_SUBSCRIPTIONS = Boolean.getBoolean("oldest") ? 3 : 0;
    private static final VarHandle INT =
            MethodHandles.byteBufferViewVarHandle(int[].class, ByteOrder.nativeOrder());

    private final RedissonClient redisson;
    private final String kind;
    private final String name;
    private final int threads;
    private final int sections;
    private final long stayNanos;
    private final MappedByteBuffer board;
    private final AtomicInteger turns = new AtomicInteger();
    private final AtomicReference<Throwable> failure = new AtomicReference<>();

    Fleet(RedissonClient redisson, String kind, String name, String[] arguments)
            throws Exception {
        this.redisson = redisson;
        this.kind = kind;
        this.name = name;
        threads = Integer.parseInt(arguments[0]);
        sections = Integer.parseInt(arguments[1]);
        stayNanos = 1000 * Long.parseLong(arguments[2]);
        try (RandomAccessFile file = new RandomAccessFile(arguments[3], "rw")) {
            board = file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, SIZE * 4);
        }
    }

    int run() throws Exception {
        add(ARRIVED, 1);
        while (get(ARRIVED) < get(EXPECTED)) {
            Thread.onSpinWait();
        }
        Thread[] all = new Thread[threads];
        for (int i = 0; i < threads; i++) {
            boolean reading = kind.equals("read_write") && i % 2 == 0;
            all[i] = new Thread(() -> work(reading));
            all[i].start();
        }
        for (Thread each : all) {
            each.join();
        }
        if (failure.get() != null) {
            throw new Exception(failure.get());
        }
        return turns.get();
    }

    private void work(boolean reading) {
        try {
            RLock lock = Objects.lock(
                    redisson, reading ? "read" : kind.equals("read_write") ? "write" : kind, name);
            while (get(SECTIONS) < sections) {
                lock(lock);
                try {
                    enter(reading);
                } finally {
                    lock.unlock();
                }
            }
        } catch (Throwable e) {
            failure.set(e);
        }
    }

    /**
     * Redisson 3.20 loses a subscription at times: lock() then throws after 7.5 s, and its place in
     * the queue of a fair lock stays for 5 minutes. A thread that calls again has the same place.
     */
    private static void lock(RLock lock) {
        for (int i = 0;; i++) {
            try {
                lock.lock();
                return;
            } catch (RedisTimeoutException e) {
                if (i == LOST_SUBSCRIPTIONS) {
                    throw e;
                }
            }
        }
    }

    private void enter(boolean reading) {
        int before = add(reading ? READERS : WRITERS, 1);
        if (!reading && before != 0 || get(reading ? WRITERS : READERS) != 0) {
            add(OVERLAPS, 1);
        }
        for (long end = System.nanoTime() + stayNanos; System.nanoTime() - end < 0;) {
            Thread.onSpinWait();
        }
        add(SECTIONS, 1);
        turns.incrementAndGet();
        add(reading ? READERS : WRITERS, -1);
    }

    private int get(int which) {
        return (int) INT.getVolatile((ByteBuffer) board, which * 4);
    }

    private int add(int which, int by) {
        return (int) INT.getAndAdd((ByteBuffer) board, which * 4, by);
    }
}
