// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The side of the crate `redisson` in run.py: theirs PORT NAME SECTIONS FOLDER
use redisson::{RedissonClient, RedissonConfig};
use std::fs::{metadata, remove_file, OpenOptions};
use std::io::Write;
use std::time::Duration;

fn append(file: &str) {
    let mut to = OpenOptions::new().append(true).create(true).open(file).unwrap();
    to.write_all(b"t").unwrap();
}

fn section(folder: &str) {
    let inside = format!("{folder}/inside");
    let mine = OpenOptions::new().write(true).create_new(true).open(&inside);
    if mine.is_err() {
        append(&format!("{folder}/overlaps"));
    }
    append(&format!("{folder}/journal"));
    if mine.is_ok() {
        remove_file(&inside).unwrap();
    }
}

fn main() {
    let words: Vec<String> = std::env::args().collect();
    let (port, name, folder) = (&words[1], &words[2], &words[4]);
    let sections: u64 = words[3].parse().unwrap();
    let config = RedissonConfig::single_server(&format!("redis://127.0.0.1:{port}"))
        .with_watchdog_timeout(Duration::from_secs(30));
    let client = RedissonClient::new(config).unwrap();
    let journal = format!("{folder}/journal");
    while metadata(&journal).map_or(0, |file| file.len()) < sections {
        // Of one object, `unlock` forgets no owner of before, so each section has its own.
        let lock = client.get_lock(name);
        lock.lock().unwrap();
        section(folder);
        lock.unlock().unwrap();
    }
}
