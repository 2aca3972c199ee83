// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// With COLOCK_PRECOMPILE, what most tests include. A test includes what it uses all the same.
#include "../../cmake/precompiled.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/intrusive/set.hpp>
#include <boost/system/result.hpp>
#include <boost/test/data/monomorphic.hpp>
#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <iostream>
#include <random>
#include <set>
#include <sstream>
#include <thread>
#include <unordered_set>
