// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Boost.Test's own code and its main(): compiled here alone, for it takes as long as all the rest.
#define BOOST_TEST_MODULE colock
// A signal ends the program. Caught, that of a server that ends as a child would fail the test.
#define BOOST_TEST_DEFAULTS_TO_CORE_DUMP
#include <boost/test/included/unit_test.hpp>
