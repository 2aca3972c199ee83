// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The side of node-redisson in run.py: theirs PORT NAME SECTIONS FOLDER
"use strict";
const fs = require("node:fs");
const { Redisson } = require("node-redisson");

const [port, name, sections, folder] = process.argv.slice(2);

function section() {
    let mine = null;
    try {
        mine = fs.openSync(`${folder}/inside`, "wx");
    } catch {
        fs.appendFileSync(`${folder}/overlaps`, "t");
    }
    fs.appendFileSync(`${folder}/journal`, "t");
    if (mine !== null) {
        fs.closeSync(mine);
        fs.unlinkSync(`${folder}/inside`);
    }
}

function isDone() {
    try {
        return fs.statSync(`${folder}/journal`).size >= Number(sections);
    } catch {
        return false;
    }
}

async function work() {
    const redisson = new Redisson({ redis: { options: { host: "127.0.0.1", port: Number(port) } } });
    const lock = redisson.getLock(name);
    while (!isDone()) {
        await lock.lock();
        section();
        await lock.unlock();
    }
    process.exit(0); // its timers run on
}

work().catch((error) => {
    console.error(error);
    process.exit(1);
});
