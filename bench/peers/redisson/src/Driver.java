import java.io.*;
// Redisson driver. --variant default (RLock, watchdog), lease (RLock lock(30s), no watchdog), fair (getFairLock), spin (getSpinLock)
import java.net.*;
import java.nio.file.*;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.*;
import java.util.concurrent.*;
import java.util.concurrent.atomic.*;
import java.util.function.Function;
import javax.net.ssl.TrustManagerFactory;
import org.redisson.Redisson;
import org.redisson.RedissonMultiLock;
import org.redisson.api.*;
import org.redisson.config.Config;

public class Driver {

    static long counter;
    static int inside; // plain on purpose: the lock under test must protect them
    static String W,
        variant = "default",
        authority = "", // whom TLS trusts; without it there is no TLS
        replicas = "", // HOST:PORT,...: it waits for them, as it does by itself
        redis = "127.0.0.1:7711",
        key = "peerlock",
        xfile = "/dev/shm/peerlock.x";
    static double seconds = 5,
        warmup = 3;
    static int workers = 0,
        locks = 10000,
        holdUs = 1000;
    static long startAt = 0;

    static class Wk {

        long[] lat = new long[1 << 12];
        int nl;
        long n, nall, errs, hold, ov;

        void add(long v) {
            if (nl == lat.length) lat = Arrays.copyOf(lat, nl * 2);
            lat[nl++] = v;
        }
    }

    static RLock lockOf(RedissonClient r, String k) {
        switch (variant) {
            case "fair":
                return r.getFairLock(k);
            case "spin":
                return r.getSpinLock(k);
            default:
                return r.getLock(k);
        }
    }

    static void acquire(RLock l) {
        if (variant.equals("lease")) l.lock(30, TimeUnit.SECONDS);
        else l.lock();
    }

    public static void main(String[] a) throws Exception {
        W = a[0];
        for (int i = 1; i + 1 < a.length; i += 2) switch (a[i]) {
            case "--redis":
                redis = a[i + 1];
                break;
            case "--ca-file":
                authority = a[i + 1];
                break;
            case "--replicas":
                replicas = a[i + 1];
                break;
            case "--variant":
                variant = a[i + 1];
                break;
            case "--key":
                key = a[i + 1];
                break;
            case "--xfile":
                xfile = a[i + 1];
                break;
            case "--seconds":
                seconds = Double.parseDouble(a[i + 1]);
                break;
            case "--warmup":
                warmup = Double.parseDouble(a[i + 1]);
                break;
            case "--workers":
                workers = Integer.parseInt(a[i + 1]);
                break;
            case "--locks":
                locks = Integer.parseInt(a[i + 1]);
                break;
            case "--hold-us":
                holdUs = Integer.parseInt(a[i + 1]);
                break;
            case "--start-at":
                startAt = Long.parseLong(a[i + 1]);
                break;
        }
        if (workers == 0) workers = Map.of(
            "W1",
            1,
            "W2",
            64,
            "W3",
            100,
            "W4",
            8,
            "W5",
            1000,
            "W6",
            256,
            "many",
            10000
        ).get(W);
        Config c = new Config();
        String at = (authority.isEmpty() ? "redis://" : "rediss://") + redis;
        if (!authority.isEmpty()) c.setSslTrustManagerFactory(trust(authority));
        if (replicas.isEmpty()) c.useSingleServer().setAddress(at);
        else {
            var servers = c.useMasterSlaveServers().setMasterAddress("redis://" + redis);
            for (String each : replicas.split(",")) servers.addSlaveAddress("redis://" + each);
        }
        // everything else default: pool 64 (min idle 24), subscription pool 50
        RedissonClient r = Redisson.create(c);
        Map<String, Object> res = new LinkedHashMap<>();
        res.put("peer", "redisson");
        res.put("variant", variant);
        res.put("w", W);
        res.put("workers", workers);
        if (W.equals("W5")) herd(r, res);
        else if (W.equals("W6")) idle(r, res);
        else if (W.equals("many")) many(r, res);
        else loop(r, res);
        StringBuilder sb = new StringBuilder("{");
        for (var e : res.entrySet()) {
            if (sb.length() > 1) sb.append(",");
            Object v = e.getValue();
            sb.append('"')
                .append(e.getKey())
                .append("\":")
                .append(v instanceof String ? "\"" + v + "\"" : v.toString());
        }
        System.out.println(sb.append("}"));
        System.out.flush();
        Runtime.getRuntime().halt(0);
    }

    static void loop(RedissonClient r, Map<String, Object> res) throws Exception {
        long now = System.nanoTime();
        long start =
            startAt > 0
                ? now + (startAt - System.currentTimeMillis()) * 1_000_000L
                : now + (long) (warmup * 1e9);
        long end = start + (long) (seconds * 1e9);
        Wk[] ws = new Wk[workers];
        Thread[] ts = new Thread[workers];
        boolean own = W.equals("W1") || W.equals("W2"),
            w3 = W.equals("W3"),
            w4 = W.equals("W4");
        Path xp = Path.of(xfile);
        for (int i = 0; i < workers; i++) {
            Wk w = (ws[i] = new Wk());
            String k = own ? key + ":" + i : key;
            ts[i] = new Thread(() -> {
                RLock l = lockOf(r, k);
                while (true) {
                    long t0 = System.nanoTime();
                    if (t0 > end) return;
                    try {
                        acquire(l);
                    } catch (RuntimeException e) {
                        w.errs++;
                        continue;
                    }
                    long t1 = System.nanoTime();
                    if (w3) {
                        inside++;
                        if (inside != 1) w.ov++;
                        counter++;
                        inside--;
                    } else if (w4) {
                        boolean ok = true;
                        try {
                            Files.createFile(xp);
                        } catch (IOException e) {
                            ok = false;
                            w.ov++;
                        }
                        try {
                            Thread.sleep(holdUs / 1000, (holdUs % 1000) * 1000);
                        } catch (InterruptedException e) {}
                        if (ok) try {
                            Files.delete(xp);
                        } catch (IOException e) {}
                        w.hold += System.nanoTime() - t1;
                    }
                    try {
                        l.unlock();
                    } catch (RuntimeException e) {
                        w.errs++;
                    }
                    w.nall++;
                    long t2 = System.nanoTime();
                    if (t0 > start && t2 < end) {
                        w.n++;
                        w.add(own ? t2 - t0 : t1 - t0);
                    }
                }
            });
            ts[i].start();
        }
        for (Thread t : ts) t.join();
        long n = 0,
            nall = 0,
            errs = 0,
            hold = 0,
            ov = 0,
            mn = Long.MAX_VALUE,
            mx = 0;
        int tot = 0;
        for (Wk w : ws) {
            n += w.n;
            nall += w.nall;
            errs += w.errs;
            hold += w.hold;
            ov += w.ov;
            mn = Math.min(mn, w.n);
            mx = Math.max(mx, w.n);
            tot += w.nl;
        }
        long[] all = new long[tot];
        int p = 0;
        for (Wk w : ws) {
            System.arraycopy(w.lat, 0, all, p, w.nl);
            p += w.nl;
        }
        lat(all, res);
        res.put("acq", n);
        res.put("acq_all", nall);
        res.put("errors", errs);
        res.put("rate", n / seconds);
        res.put("min_w", mn);
        res.put("max_w", mx);
        res.put("overlaps", ov);
        if (w3) res.put("mutex_ok", counter == nall && ov == 0);
        if (w4 && nall > 0) {
            res.put("hold_us", hold / (double) nall / 1e3);
            res.put("mutex_ok", ov == 0);
        }
    }

    static void lat(long[] all, Map<String, Object> res) {
        if (all.length == 0) return;
        Arrays.sort(all);
        res.put("p50_us", all[(int) (0.5 * (all.length - 1))] / 1e3);
        res.put("p99_us", all[(int) (0.99 * (all.length - 1))] / 1e3);
        res.put("max_us", all[all.length - 1] / 1e3);
    }

    static void herd(RedissonClient r, Map<String, Object> res) throws Exception {
        // async API: lockAsync(threadId)/unlockAsync(threadId)
        CountDownLatch done = new CountDownLatch(workers);
        long[] l = new long[workers];
        AtomicLong errs = new AtomicLong();
        RLock lock = lockOf(r, key);
        long t0 = System.nanoTime();
        for (int i = 0; i < workers; i++) {
            final int id = i;
            final long tid = 1_000_000L + i;
            lock.lockAsync(tid).whenComplete((v, e) -> {
                if (e != null) {
                    errs.incrementAndGet();
                    done.countDown();
                    return;
                }
                counter++;
                l[id] = System.nanoTime() - t0;
                lock.unlockAsync(tid).whenComplete((v2, e2) -> done.countDown());
            });
        }
        boolean all = done.await(120, TimeUnit.SECONDS);
        res.put("total_s", (System.nanoTime() - t0) / 1e9);
        lat(l, res);
        res.put("acq_all", counter);
        res.put("errors", errs.get());
        res.put("finished", all);
        res.put("mutex_ok", counter == workers - errs.get());
    }

    static TrustManagerFactory trust(String file) throws Exception {
        KeyStore trusted = KeyStore.getInstance(KeyStore.getDefaultType());
        trusted.load(null);
        try (InputStream pem = new FileInputStream(file)) {
            trusted.setCertificateEntry("ca", CertificateFactory.getInstance("X.509").generateCertificate(pem));
        }
        var factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        factory.init(trusted);
        return factory;
    }

    /** 10,000 free names: by a RedissonMultiLock, or with the variant "loop" by a lock for each, all at once. */
    static void many(RedissonClient r, Map<String, Object> res) throws Exception {
        RLock[] each = new RLock[locks];
        for (int i = 0; i < locks; i++) each[i] = r.getLock(key + ":" + i);
        RLock one = new RedissonMultiLock(each);
        int rounds = 8;
        AtomicLong errs = new AtomicLong();
        double[] take = new double[rounds - 1], release = new double[rounds - 1];
        for (int i = 0; i < rounds; i++) {
            long t0 = System.nanoTime();
            if (variant.equals("loop")) all(each, l -> l.lockAsync(1L), errs);
            else one.lock();
            long t1 = System.nanoTime();
            if (variant.equals("loop")) all(each, l -> l.unlockAsync(1L), errs);
            else one.unlock();
            if (i == 0) continue; // what comes once is past
            take[i - 1] = (t1 - t0) / 1e9;
            release[i - 1] = (System.nanoTime() - t1) / 1e9;
        }
        Arrays.sort(take);
        Arrays.sort(release);
        res.put("locks", locks);
        res.put("acquire_s", take[take.length / 2]);
        res.put("release_s", release[release.length / 2]);
        res.put("errors", errs.get());
    }

    static void all(RLock[] each, Function<RLock, RFuture<Void>> what, AtomicLong errs) throws Exception {
        CountDownLatch done = new CountDownLatch(each.length);
        for (RLock l : each) what.apply(l).whenComplete((v, e) -> {
            if (e != null) errs.incrementAndGet();
            done.countDown();
        });
        done.await();
    }

    static void idle(RedissonClient r, Map<String, Object> res) throws Exception {
        Semaphore sem = new Semaphore(workers);
        AtomicLong errs = new AtomicLong();
        long t0 = System.nanoTime();
        for (int i = 0; i < locks; i++) {
            sem.acquire();
            lockOf(r, key + ":" + i)
                .lockAsync(1L)
                .whenComplete((v, e) -> {
                    if (e != null) errs.incrementAndGet();
                    sem.release();
                });
        }
        sem.acquire(workers);
        res.put("acquire_s", (System.nanoTime() - t0) / 1e9);
        res.put("errors", errs.get());
        res.put("locks", locks);
        System.err.println("HELD");
        System.err.flush();
        Thread.sleep((long) (seconds * 1000));
        System.err.println("END");
        System.err.flush();
        Thread.sleep(500);
    }
}
