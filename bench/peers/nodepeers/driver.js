// redis-semaphore Mutex on ioredis (one shared connection, as ioredis pipelines). lockTimeout 10 s default (30 s in W6), retryInterval 10 ms default,
// acquireTimeout lifted to 10 minutes, auto-refresh on (0.8 * lockTimeout). variant fast: retryInterval 1 ms.
const { Mutex } = require('redis-semaphore'),
    Redis = require('ioredis'),
    fs = require('fs');
const W = process.argv[2],
    o = {
        redis: '127.0.0.1:7711',
        'ca-file': '',
        variant: 'default',
        key: 'peerlock',
        xfile: '/dev/shm/peerlock.x',
        seconds: 5,
        warmup: 1,
        workers: 0,
        locks: 10000,
        'hold-us': 1000,
        'start-at': 0,
    };
for (let i = 3; i + 1 < process.argv.length; i += 2) {
    const k = process.argv[i].slice(2);
    o[k] = typeof o[k] === 'number' ? +process.argv[i + 1] : process.argv[i + 1];
}
o.workers = o.workers || { W1: 1, W2: 64, W3: 100, W4: 8, W5: 1000, W6: 256 }[W];
const res = { peer: 'redis-semaphore', variant: o.variant, w: W, workers: o.workers };
const [host, port] = o.redis.split(':'),
    r = new Redis(+port, host, o['ca-file'] ? { tls: { ca: fs.readFileSync(o['ca-file']) } } : {});
const mk = (k) =>
    new Mutex(r, k, {
        acquireTimeout: 600000,
        lockTimeout: W === 'W6' ? 30000 : 10000,
        ...(o.variant === 'fast' ? { retryInterval: 1 } : {}),
    });
const now = () => Number(process.hrtime.bigint()),
    turn = () => new Promise((f) => setImmediate(f)),
    sleep = (ms) => new Promise((f) => setTimeout(f, ms));
let counter = 0;
function lat(a) {
    if (!a.length) return;
    a.sort((x, y) => x - y);
    const q = (p) => a[Math.floor(p * (a.length - 1))] / 1e3;
    Object.assign(res, { p50_us: q(0.5), p99_us: q(0.99), max_us: q(1) });
}
async function loop() {
    const st = now() + (o['start-at'] ? (o['start-at'] - Date.now()) * 1e6 : o.warmup * 1e9),
        end = st + o.seconds * 1e9,
        own = W === 'W1' || W === 'W2';
    const ws = Array.from({ length: o.workers }, () => ({
        lat: [],
        n: 0,
        nall: 0,
        errs: 0,
        hold: 0,
        ov: 0,
    }));
    await Promise.all(
        ws.map(async (w, i) => {
            const k = own ? o.key + ':' + i : o.key;
            for (;;) {
                const t0 = now();
                if (t0 > end) return;
                const m = mk(k);
                try {
                    await m.acquire();
                } catch (e) {
                    w.errs++;
                    continue;
                }
                const t1 = now();
                if (W === 'W3') {
                    const c = counter;
                    await turn();
                    counter = c + 1;
                } // a turn inside: lost updates show any overlap
                else if (W === 'W4') {
                    let ok = true;
                    try {
                        fs.closeSync(fs.openSync(o.xfile, 'wx'));
                    } catch (e) {
                        ok = false;
                        w.ov++;
                    }
                    await sleep(o['hold-us'] / 1000);
                    if (ok) fs.unlinkSync(o.xfile);
                    w.hold += now() - t1;
                }
                try {
                    await m.release();
                } catch (e) {
                    w.errs++;
                }
                w.nall++;
                const t2 = now();
                if (t0 > st && t2 < end) {
                    w.n++;
                    w.lat.push(own ? t2 - t0 : t1 - t0);
                }
            }
        }),
    );
    const s = (f) => ws.reduce((a, w) => a + w[f], 0),
        ns = ws.map((w) => w.n);
    lat(ws.flatMap((w) => w.lat));
    Object.assign(res, {
        acq: s('n'),
        acq_all: s('nall'),
        errors: s('errs'),
        rate: s('n') / o.seconds,
        min_w: Math.min(...ns),
        max_w: Math.max(...ns),
        overlaps: s('ov'),
    });
    if (W === 'W3') res.mutex_ok = counter === s('nall');
    if (W === 'W4' && s('nall')) {
        res.hold_us = s('hold') / s('nall') / 1e3;
        res.mutex_ok = s('ov') === 0;
    }
}
async function herd() {
    const l = [],
        t0 = now();
    let errs = 0;
    await Promise.all(
        Array.from({ length: o.workers }, async () => {
            const m = mk(o.key);
            try {
                await m.acquire();
                const c = counter;
                await turn();
                counter = c + 1;
                l.push(now() - t0);
                await m.release();
            } catch (e) {
                errs++;
            }
        }),
    );
    res.total_s = (now() - t0) / 1e9;
    lat(l);
    Object.assign(res, { acq_all: counter, errors: errs, mutex_ok: counter === o.workers - errs });
}
async function idle() {
    let next = 0,
        errs = 0;
    const t0 = now(),
        keep = [];
    await Promise.all(
        Array.from({ length: o.workers }, async () => {
            for (let k; (k = next++) < o.locks;) {
                const m = mk(o.key + ':' + k);
                keep.push(m);
                try {
                    await m.acquire();
                } catch (e) {
                    errs++;
                }
            }
        }),
    );
    Object.assign(res, { acquire_s: (now() - t0) / 1e9, errors: errs, locks: o.locks });
    process.stderr.write('HELD\n');
    await sleep(o.seconds * 1000);
    process.stderr.write('END\n');
    await sleep(500);
}
(async () => {
    await r.ping();
    await (W === 'W5' ? herd() : W === 'W6' ? idle() : loop());
    console.log(JSON.stringify(res));
    process.exit(0);
})();
