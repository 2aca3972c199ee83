#!/usr/bin/env bash
# Builds the peers' drivers into $PEERS_BUILD (build/peers unless set). A peer whose toolchain is
# missing is named and skipped; what the drivers need comes from each language's own registry.
set -u

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
out=${PEERS_BUILD:-$here/../../build/peers}
mkdir -p "$out/logs"
out=$(cd "$out" && pwd)
failed=0

build() {
    local name=$1 function=$2 log=$out/logs/build-$1.log tool
    shift 2
    for tool in "$@"; do
        if ! command -v "$tool" >/dev/null; then
            echo "$name: skipped, no $tool"
            return
        fi
    done
    # As a condition of `if` the subshell would go on after a failure, set -e or not.
    (set -e; "$function") >"$log" 2>&1
    if (($? == 0)); then
        echo "$name: built"
    else
        failed=1
        echo "$name: FAILED, see $log"
        tail -n 3 "$log"
    fi
}

redisson() {
    mkdir -p "$out/redisson/classes"
    cp "$here/redisson/pom.xml" "$out/redisson/"
    cd "$out/redisson"
    mvn -q -B dependency:copy-dependencies -DoutputDirectory=lib
    javac -cp 'lib/*' -d classes "$here"/redisson/src/*.java
}

go_peers() {
    local peer
    mkdir -p "$out/gopeers/bin"
    cp -r "$here/gopeers/." "$out/gopeers/"
    cd "$out/gopeers"
    for peer in redsync rueidislock bsmredislock stalewrites; do
        go build -o "bin/$peer" "./$peer"
    done
}

node_peer() {
    mkdir -p "$out/nodepeers"
    cp "$here"/nodepeers/*.js* "$out/nodepeers/"
    cd "$out/nodepeers"
    npm install --no-audit --no-fund
}

redis_py() {
    mkdir -p "$out/redispy"
    cp "$here"/redispy/*.py "$out/redispy/"
    cd "$out/redispy"
    python3 -m venv venv
    venv/bin/pip -q install 'redis[hiredis]==8.1.0'
}

rslock() {
    mkdir -p "$out/rslock"
    cp -r "$here/rslock/." "$out/rslock/"
    cd "$out/rslock"
    cargo build --release
}

# In no registry; whoever has it installed can measure it.
redis_plus_plus() {
    mkdir -p "$out/redispp"
    g++ -O2 -std=c++17 "$here/redispp/driver.cpp" -o "$out/redispp/driver" \
        -lredis++ -lhiredis -pthread
}

build redisson redisson mvn javac
build go-peers go_peers go
build redis-semaphore node_peer npm
build redis-py redis_py python3
build rslock rslock cargo
if g++ -x c++ -fsyntax-only -include sw/redis++/redis++.h /dev/null 2>/dev/null; then
    build redis-plus-plus redis_plus_plus g++
else
    echo "redis-plus-plus: skipped, redis++ and hiredis are not installed"
fi
exit $failed
