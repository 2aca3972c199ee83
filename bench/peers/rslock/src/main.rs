// rslock driver (tokio multi-thread). variant default: its 200 ms retry delay, retry count lifted; fast: 1 ms. No watchdog in this peer.
use rslock::LockManager;
use std::{
    collections::HashMap,
    fs::OpenOptions,
    sync::Arc,
    sync::atomic::{AtomicI64, Ordering::*},
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};
static mut COUNTER: i64 = 0; // plain on purpose: the lock under test must protect it
static mut INSIDE: i32 = 0;
fn lat(v: &mut Vec<u64>) -> String {
    if v.is_empty() {
        return String::new();
    }
    v.sort();
    let q = |p: f64| v[(p * (v.len() - 1) as f64) as usize] as f64 / 1e3;
    format!(
        ",\"p50_us\":{:.3},\"p99_us\":{:.3},\"max_us\":{:.3}",
        q(0.5),
        q(0.99),
        q(1.0)
    )
}
#[derive(Default)]
struct Wk {
    lat: Vec<u64>,
    n: i64,
    nall: i64,
    errs: i64,
    hold: u128,
    ov: i64,
}
#[tokio::main]
async fn main() {
    let a: Vec<String> = std::env::args().collect();
    let w = a[1].clone();
    let mut o = HashMap::new();
    for c in a[2..].chunks(2) {
        if c.len() == 2 {
            o.insert(c[0].trim_start_matches('-').to_string(), c[1].clone());
        }
    }
    let g = |k: &str, d: &str| o.get(k).cloned().unwrap_or(d.to_string());
    let (redis, variant, key, xfile) = (
        g("redis", "127.0.0.1:7711"),
        g("variant", "default"),
        g("key", "peerlock"),
        g("xfile", "/dev/shm/peerlock.x"),
    );
    let seconds: f64 = g("seconds", "5").parse().unwrap();
    let warmup: f64 = g("warmup", "1").parse().unwrap();
    let hold: u64 = g("hold-us", "1000").parse().unwrap();
    let start_at: i64 = g("start-at", "0").parse().unwrap();
    let def = match w.as_str() {
        "W1" => "1",
        "W2" => "64",
        "W3" => "100",
        "W4" => "8",
        _ => "1000",
    };
    let workers: usize = match g("workers", "0").as_str() {
        "0" => def.parse().unwrap(),
        s => s.parse().unwrap(),
    };
    let mut rl = LockManager::new(vec![format!("redis://{redis}/")]);
    rl.set_retry(
        1 << 30,
        Duration::from_millis(if variant == "fast" { 1 } else { 200 }),
    );
    let ttl = Duration::from_secs(30);
    rl.acquire("warm", ttl).await.unwrap().release().await;
    let mut out = format!(
        "{{\"peer\":\"rslock\",\"variant\":\"{variant}\",\"w\":\"{w}\",\"workers\":{workers}"
    );
    if w == "W5" {
        let t0 = Instant::now();
        let errs = Arc::new(AtomicI64::new(0));
        let mut hs = vec![];
        for _ in 0..workers {
            let (rl, key, errs) = (rl.clone(), key.clone(), errs.clone());
            hs.push(tokio::spawn(async move {
                match rl.acquire(key.as_str(), ttl).await {
                    Ok(l) => {
                        unsafe {
                            COUNTER += 1;
                        }
                        let d = t0.elapsed().as_nanos() as u64;
                        l.release().await;
                        d
                    }
                    Err(_) => {
                        errs.fetch_add(1, Relaxed);
                        0
                    }
                }
            }));
        }
        let mut l = vec![];
        for h in hs {
            l.push(h.await.unwrap());
        }
        let c = unsafe { COUNTER };
        let e = errs.load(Relaxed);
        out += &format!(
            ",\"total_s\":{:.6}{},\"acq_all\":{c},\"errors\":{e},\"mutex_ok\":{}",
            t0.elapsed().as_secs_f64(),
            lat(&mut l),
            c == workers as i64 - e
        );
    } else {
        let off = if start_at > 0 {
            (start_at
                - SystemTime::now()
                    .duration_since(UNIX_EPOCH)
                    .unwrap()
                    .as_millis() as i64)
                .max(0) as f64
                / 1e3
        } else {
            warmup
        };
        let start = Instant::now() + Duration::from_secs_f64(off);
        let end = start + Duration::from_secs_f64(seconds);
        let own = w == "W1" || w == "W2";
        let mut hs = vec![];
        for i in 0..workers {
            let (rl, w, xfile) = (rl.clone(), w.clone(), xfile.clone());
            let key = if own {
                format!("{key}:{i}")
            } else {
                key.clone()
            };
            hs.push(tokio::spawn(async move {
                let mut k = Wk::default();
                loop {
                    let t0 = Instant::now();
                    if t0 > end {
                        return k;
                    }
                    let l = match rl.acquire(key.as_str(), ttl).await {
                        Ok(l) => l,
                        Err(_) => {
                            k.errs += 1;
                            continue;
                        }
                    };
                    let t1 = Instant::now();
                    if w == "W3" {
                        unsafe {
                            INSIDE += 1;
                            if INSIDE != 1 {
                                k.ov += 1;
                            }
                            COUNTER += 1;
                            INSIDE -= 1;
                        }
                    } else if w == "W4" {
                        let f = OpenOptions::new().write(true).create_new(true).open(&xfile);
                        if f.is_err() {
                            k.ov += 1;
                        }
                        tokio::time::sleep(Duration::from_micros(hold)).await;
                        if f.is_ok() {
                            drop(f);
                            let _ = std::fs::remove_file(&xfile);
                        }
                        k.hold += t1.elapsed().as_nanos();
                    }
                    l.release().await;
                    k.nall += 1;
                    let t2 = Instant::now();
                    if t0 > start && t2 < end {
                        k.n += 1;
                        k.lat
                            .push((if own { t2 - t0 } else { t1 - t0 }).as_nanos() as u64);
                    }
                }
            }));
        }
        let mut ws = vec![];
        for h in hs {
            ws.push(h.await.unwrap());
        }
        let mut all: Vec<u64> = ws.iter().flat_map(|k| k.lat.iter().copied()).collect();
        let s = |f: fn(&Wk) -> i64| ws.iter().map(f).sum::<i64>();
        let (n, nall, ov) = (s(|k| k.n), s(|k| k.nall), s(|k| k.ov));
        out += &format!(
            "{},\"acq\":{n},\"acq_all\":{nall},\"errors\":{},\"rate\":{:.3},\"min_w\":{},\"max_w\":{},\"overlaps\":{ov}",
            lat(&mut all),
            s(|k| k.errs),
            n as f64 / seconds,
            ws.iter().map(|k| k.n).min().unwrap(),
            ws.iter().map(|k| k.n).max().unwrap()
        );
        if w == "W3" {
            out += &format!(",\"mutex_ok\":{}", unsafe { COUNTER } == nall && ov == 0);
        }
        if w == "W4" && nall > 0 {
            out += &format!(
                ",\"hold_us\":{:.3},\"mutex_ok\":{}",
                ws.iter().map(|k| k.hold).sum::<u128>() as f64 / nall as f64 / 1e3,
                ov == 0
            );
        }
    }
    println!("{out}}}");
}
