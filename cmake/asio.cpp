// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Asio's own code, for COLOCK_SEPARATE_ASIO.
#include <boost/asio/impl/src.hpp>
#include <boost/asio/ssl/impl/src.hpp>
