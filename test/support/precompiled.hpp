// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// With COLOCK_PRECOMPILE, what most tests include. A test includes what it uses all the same.
#include "../../cmake/precompiled.hpp"
#include "client/client_state.hpp"
#include <colock/colock.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <iostream>
#include <random>
#include <sstream>
#include <thread>
