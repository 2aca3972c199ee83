// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "job.hpp"
#include "options.hpp"

namespace cli {

/// How the process found itself.
struct surroundings {
    inherited_descriptors descriptors;
};

/// Does what was asked for. \returns what to exit with. \throws failure
int carry_out(options const&, surroundings const&);

int run(options const&, surroundings const&);
int elect(options const&, surroundings const&);
int acquire(options const&);
int release(options const&);
int info(options const&);
int ls(options const&);
int watch(options const&);
int watch_web(options const&);
int unlock(options const&);
int doctor(options const&);
int deadlocks(options const&);
int bench_load(options const&);

}  // namespace cli
