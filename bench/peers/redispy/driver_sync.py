"""redis-py sync Lock driver, threads. variant default: sleep=0.1 (library default); fast: sleep=0.001. No watchdog in this peer."""

import sys, os, json, time, argparse, threading
import redis

ap = argparse.ArgumentParser()
ap.add_argument("W")
for n, t, d in (
    ("redis", str, "127.0.0.1:7711"),
    ("ca-file", str, ""),
    ("variant", str, "default"),
    ("key", str, "peerlock"),
    ("xfile", str, "/dev/shm/peerlock.x"),
    ("seconds", float, 5),
    ("warmup", float, 1),
    ("workers", int, 0),
    ("locks", int, 10000),
    ("hold-us", int, 1000),
    ("start-at", int, 0),
):
    ap.add_argument("--" + n, type=t, default=d)
o = ap.parse_args()
W = o.W
o.workers = o.workers or {"W1": 1, "W2": 64, "W3": 100, "W4": 8, "W5": 1000}[W]
res = {"peer": "redispy_sync", "variant": o.variant, "w": W, "workers": o.workers}
SLEEP = 0.001 if o.variant == "fast" else 0.1
counter = 0
ns = time.perf_counter_ns


def lat(a):
    if a:
        a.sort()
        q = lambda p: a[int(p * (len(a) - 1))] / 1e3
        res.update(p50_us=q(0.5), p99_us=q(0.99), max_us=q(1))


h, p = o.redis.split(":")
over_tls = {"ssl": True, "ssl_ca_certs": o.ca_file} if o.ca_file else {}
r = redis.Redis(host=h, port=int(p), max_connections=5000, **over_tls)
r.ping()
mk = lambda k: r.lock(k, timeout=30, sleep=SLEEP)
ws = [dict(lat=[], n=0, nall=0, errs=0, hold=0, ov=0) for _ in range(o.workers)]
own = W in ("W1", "W2")
T0 = ns()
st = T0 + (int((o.start_at / 1e3 - time.time()) * 1e9) if o.start_at else int(o.warmup * 1e9))
end = st + int(o.seconds * 1e9)


def herd(i):
    global counter
    try:
        k = mk(o.key)
        k.acquire()
        counter += 1
        ws[i]["lat"].append(ns() - T0)
        k.release()
    except Exception as e:
        ws[i]["errs"] += 1
        print(repr(e), file=sys.stderr)


def worker(i):
    global counter
    w = ws[i]
    k = mk(f"{o.key}:{i}" if own else o.key)
    while True:
        t0 = ns()
        if t0 > end:
            return
        try:
            k.acquire()
        except Exception as e:
            w["errs"] += 1
            print(repr(e), file=sys.stderr)
            continue
        t1 = ns()
        if W == "W3":
            c = counter
            time.sleep(0)
            counter = c + 1  # a GIL yield inside: lost updates show any overlap
        elif W == "W4":
            ok = True
            try:
                os.close(os.open(o.xfile, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            except FileExistsError:
                ok = False
                w["ov"] += 1
            time.sleep(o.hold_us / 1e6)
            if ok:
                os.unlink(o.xfile)
            w["hold"] += ns() - t1
        try:
            k.release()
        except Exception as e:
            w["errs"] += 1
            print(repr(e), file=sys.stderr)
        w["nall"] += 1
        t2 = ns()
        if t0 > st and t2 < end:
            w["n"] += 1
            w["lat"].append(t2 - t0 if own else t1 - t0)


ts = [threading.Thread(target=herd if W == "W5" else worker, args=(i,)) for i in range(o.workers)]
[t.start() for t in ts]
[t.join() for t in ts]
s = lambda f: sum(w[f] for w in ws)
lat([x for w in ws for x in w["lat"]])
if W == "W5":
    res.update(
        total_s=(ns() - T0) / 1e9,
        acq_all=counter,
        errors=s("errs"),
        mutex_ok=counter == o.workers - s("errs"),
    )
else:
    res.update(
        acq=s("n"),
        acq_all=s("nall"),
        errors=s("errs"),
        rate=s("n") / o.seconds,
        min_w=min(w["n"] for w in ws),
        max_w=max(w["n"] for w in ws),
        overlaps=s("ov"),
    )
    if W == "W3":
        res["mutex_ok"] = counter == s("nall")
    if W == "W4" and s("nall"):
        res.update(hold_us=s("hold") / s("nall") / 1e3, mutex_ok=s("ov") == 0)
print(json.dumps(res), flush=True)
