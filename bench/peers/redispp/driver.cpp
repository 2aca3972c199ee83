// redis-plus-plus RedMutex driver. One shared LockWatcher, one RedMutex per worker, ConnectionPool
// size = min(workers, 64). variant default: RedMutex::lock() (it sleeps 0..5 ms at random before
// EVERY attempt); trylock: try_lock(), 1 ms sleep when refused. W6 uses ttl 30 s (watcher extends
// every 15 s = ttl/2).
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <iostream>
#include <map>
#include <random>
#include <sw/redis++/patterns/redlock.h>
#include <sw/redis++/redis++.h>
#include <unistd.h>
using namespace sw::redis;
using Clock = std::chrono::steady_clock;
static long counter = 0;
static int inside_ = 0;  // plain on purpose: the lock under test must protect them
struct Wk {
    std::vector<int64_t> lat;
    long n = 0, nall = 0, errs = 0, hold = 0, ov = 0;
};
static std::string W, variant = "default", redis_ = "127.0.0.1:7711", key = "peerlock",
                      xfile = "/dev/shm/peerlock.x";
static double seconds = 5, warmup = 1;
static int workers = 0, locks = 10000, holdUs = 1000;
static long startAt = 0;
static int64_t ns(Clock::time_point a, Clock::time_point b)
{
    return std::chrono::duration_cast<std::chrono::nanoseconds>(b - a).count();
}
static void acquire(RedMutex& m)
{
    if (variant == "trylock") {
        while (!m.try_lock())
            usleep(1000);
    } else
        m.lock();
}
static void lat(std::vector<int64_t>& v)
{
    if (v.empty())
        return;
    std::sort(v.begin(), v.end());
    auto q = [&](double p) { return v[(size_t)(p * (v.size() - 1))] / 1e3; };
    printf(",\"p50_us\":%.3f,\"p99_us\":%.3f,\"max_us\":%.3f", q(.5), q(.99), q(1));
}
int main(int argc, char** argv)
{
    W = argv[1];
    std::map<std::string, std::string> o;
    for (int i = 2; i + 1 < argc; i += 2)
        o[argv[i] + 2] = argv[i + 1];
    auto s = [&](char const* k, std::string& d) {
        if (o.count(k))
            d = o[k];
    };
    s("redis", redis_);
    s("variant", variant);
    s("key", key);
    s("xfile", xfile);
    if (o.count("seconds"))
        seconds = std::stod(o["seconds"]);
    if (o.count("warmup"))
        warmup = std::stod(o["warmup"]);
    if (o.count("workers"))
        workers = std::stoi(o["workers"]);
    if (o.count("locks"))
        locks = std::stoi(o["locks"]);
    if (o.count("hold-us"))
        holdUs = std::stoi(o["hold-us"]);
    if (o.count("start-at"))
        startAt = std::stol(o["start-at"]);
    if (!workers)
        workers = std::map<std::string, int>{
            {"W1", 1},
            {"W2", 64},
            {"W3", 100},
            {"W4", 8},
            {"W5", 1000},
            {"W6", 64},
            {"W11", 32}}[W];
    ConnectionOptions co;
    auto c = redis_.find(':');
    co.host = redis_.substr(0, c);
    co.port = std::stoi(redis_.substr(c + 1));
    ConnectionPoolOptions po;
    po.size = std::min(workers, 64);
    auto r = std::make_shared<Redis>(co, po);
    r->ping();
    auto watcher = std::make_shared<LockWatcher>();
    RedMutexOptions mo;
    if (W == "W6")
        mo.ttl = std::chrono::seconds(30);
    printf(
        "{\"peer\":\"redispp\",\"variant\":\"%s\",\"w\":\"%s\",\"workers\":%d",
        variant.c_str(),
        W.c_str(),
        workers
    );
    std::vector<std::thread> ts;
    if (W == "W5") {
        std::vector<int64_t> l(workers);
        std::atomic<long> errs{0};
        auto t0 = Clock::now();
        for (int i = 0; i < workers; i++)
            ts.emplace_back([&, i] {
                try {
                    RedMutex m(r, key, nullptr, mo, watcher);
                    acquire(m);
                    counter++;
                    l[i] = ns(t0, Clock::now());
                    m.unlock();
                } catch (const std::exception& e) {
                    errs++;
                }
            });
        for (auto& t : ts)
            t.join();
        printf(",\"total_s\":%.6f", ns(t0, Clock::now()) / 1e9);
        lat(l);
        printf(
            ",\"acq_all\":%ld,\"errors\":%ld,\"mutex_ok\":%s",
            counter,
            errs.load(),
            counter == workers - errs ? "true" : "false"
        );
    } else if (W == "W6") {
        std::vector<std::unique_ptr<RedMutex>> ms(locks);
        std::atomic<long> next{0}, errs{0};
        auto t0 = Clock::now();
        for (int i = 0; i < workers; i++)
            ts.emplace_back([&] {
                for (long k; (k = next++) < locks;)
                    try {
                        ms[k] = std::make_unique<RedMutex>(
                            r, key + ":" + std::to_string(k), nullptr, mo, watcher
                        );
                        if (!ms[k]->try_lock())
                            errs++;
                    } catch (const std::exception& e) {
                        errs++;
                    }
            });
        for (auto& t : ts)
            t.join();
        printf(
            ",\"acquire_s\":%.6f,\"errors\":%ld,\"locks\":%d",
            ns(t0, Clock::now()) / 1e9,
            errs.load(),
            locks
        );
        fprintf(stderr, "HELD\n");
        usleep(seconds * 1e6);
        fprintf(stderr, "END\n");
        usleep(500000);
    } else {
        bool own = W == "W1" || W == "W2", w3 = W == "W3", mix = W == "W11", w4 = W == "W4" || mix;
        std::vector<double> zipf(1000);  // W11: few of the keys come often
        double sum = 0;
        for (std::size_t k = 0; k != zipf.size(); k++)
            zipf[k] = sum += std::pow(double(k + 1), -0.99);
        auto start = Clock::now() + std::chrono::nanoseconds((long)(warmup * 1e9));
        if (startAt)
            start = Clock::now() +
                std::chrono::milliseconds(
                        startAt -
                        std::chrono::duration_cast<std::chrono::milliseconds>(
                            std::chrono::system_clock::now().time_since_epoch()
                        )
                            .count()
                );
        auto end = start + std::chrono::nanoseconds((long)(seconds * 1e9));
        std::vector<Wk> ws(workers);
        for (int i = 0; i < workers; i++)
            ts.emplace_back([&, i] {
                Wk& w = ws[i];
                auto const make = [&](std::string const& name) {
                    return std::make_unique<RedMutex>(r, name, nullptr, mo, watcher);
                };
                std::mt19937_64 dice(getpid() * 64 + i);
                auto made = make(own ? key + ":" + std::to_string(i) : key);
                auto file = xfile;
                for (;;) {
                    if (mix) {
                        auto const at = std::uniform_real_distribution<>(0, sum)(dice);
                        auto const k =
                            std::lower_bound(zipf.begin(), zipf.end() - 1, at) - zipf.begin();
                        made = make(key + ":" + std::to_string(k));
                        file = xfile + "." + std::to_string(k);
                    }
                    RedMutex& m = *made;
                    auto t0 = Clock::now();
                    if (t0 > end)
                        return;
                    try {
                        acquire(m);
                    } catch (const std::exception& e) {
                        w.errs++;
                        continue;
                    }
                    auto t1 = Clock::now();
                    if (w3) {
                        inside_++;
                        if (inside_ != 1)
                            w.ov++;
                        counter++;
                        inside_--;
                    } else if (w4) {
                        int fd = open(file.c_str(), O_CREAT | O_EXCL | O_WRONLY, 0600);
                        if (fd < 0)
                            w.ov++;
                        std::this_thread::sleep_for(std::chrono::microseconds(holdUs));
                        if (fd >= 0) {
                            close(fd);
                            unlink(file.c_str());
                        }
                        w.hold += ns(t1, Clock::now());
                    }
                    m.unlock();
                    w.nall++;
                    auto t2 = Clock::now();
                    if (t0 > start && t2 < end) {
                        w.n++;
                        w.lat.push_back(own ? ns(t0, t2) : ns(t0, t1));
                    }
                }
            });
        for (auto& t : ts)
            t.join();
        std::vector<int64_t> all;
        long n = 0, nall = 0, errs = 0, hold = 0, ov = 0, mn = 1L << 60, mx = 0;
        for (auto& w : ws) {
            all.insert(all.end(), w.lat.begin(), w.lat.end());
            n += w.n;
            nall += w.nall;
            errs += w.errs;
            hold += w.hold;
            ov += w.ov;
            mn = std::min(mn, w.n);
            mx = std::max(mx, w.n);
        }
        lat(all);
        printf(
            ",\"acq\":%ld,\"acq_all\":%ld,\"errors\":%ld,\"rate\":%.3f,\"min_w\":%ld,\"max_w\":%ld,"
            "\"overlaps\":%ld",
            n,
            nall,
            errs,
            n / seconds,
            mn,
            mx,
            ov
        );
        if (w3)
            printf(",\"mutex_ok\":%s", counter == nall && !ov ? "true" : "false");
        if (w4 && nall)
            printf(
                ",\"hold_us\":%.3f,\"mutex_ok\":%s",
                hold / (double)nall / 1e3,
                ov ? "false" : "true"
            );
    }
    printf("}\n");
    fflush(stdout);
    _exit(0);
}
