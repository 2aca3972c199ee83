// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

// For tests of your own code. Link colock::testing.
#include <colock/testing/private_server.hpp>
#include <colock/testing/scripted_client.hpp>
