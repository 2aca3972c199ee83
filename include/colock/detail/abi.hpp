// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <boost/asio/detail/config.hpp>
#include <boost/version.hpp>

// Types of Boost and of the standard library are part of the library's binary interface, so a
// program has to agree with the library on Boost's release and on the switches below, which change
// these types. The name of one symbol has them all. A program that differs does not link:
// "undefined reference to `colock_abi_boost_1_92_handler_tracking'" names the program's release and
// each switch that it has set.

// _GLIBCXX_DEBUG: containers are larger.
#ifdef _GLIBCXX_DEBUG
#    define COLOCK_ABI_DEBUG "_glibcxx_debug"
#else
#    define COLOCK_ABI_DEBUG ""
#endif

// _GLIBCXX_USE_CXX11_ABI=0: std::string is another type. libc++ does not define it.
#if defined(_GLIBCXX_USE_CXX11_ABI) && !_GLIBCXX_USE_CXX11_ABI
#    define COLOCK_ABI_STRING "_old_string"
#else
#    define COLOCK_ABI_STRING ""
#endif

// -fno-rtti: any_io_executor compares types by other means.
#if defined(__cpp_rtti) || defined(__GXX_RTTI)
#    define COLOCK_ABI_RTTI ""
#else
#    define COLOCK_ABI_RTTI "_no_rtti"
#endif

// BOOST_ASIO_ENABLE_HANDLER_TRACKING, BOOST_ASIO_CUSTOM_HANDLER_TRACKING: operations are larger.
#if defined(BOOST_ASIO_ENABLE_HANDLER_TRACKING) || defined(BOOST_ASIO_CUSTOM_HANDLER_TRACKING)
#    define COLOCK_ABI_TRACKING "_handler_tracking"
#else
#    define COLOCK_ABI_TRACKING ""
#endif

// BOOST_ASIO_DISABLE_EPOLL, BOOST_ASIO_HAS_IO_URING_AS_DEFAULT: another reactor.
// BOOST_ASIO_HAS_IO_URING: the memory that a thread keeps is counted in other units.
#ifdef BOOST_ASIO_HAS_IO_URING_AS_DEFAULT
#    define COLOCK_ABI_REACTOR "_io_uring"
#elif defined(BOOST_ASIO_HAS_IO_URING)
#    define COLOCK_ABI_REACTOR "_io_uring_for_files"
#elif defined(BOOST_ASIO_HAS_EPOLL) || !defined(__linux__)
#    define COLOCK_ABI_REACTOR ""
#else
#    define COLOCK_ABI_REACTOR "_no_epoll"
#endif

// BOOST_ASIO_DISABLE_THREADS: mutexes are empty.
#ifdef BOOST_ASIO_HAS_THREADS
#    define COLOCK_ABI_THREADS ""
#else
#    define COLOCK_ABI_THREADS "_no_threads"
#endif

// BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE: what Asio keeps of a thread is larger or smaller. Asio
// itself sets it to 2.
#if defined(BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE) && \
    BOOST_ASIO_RECYCLING_ALLOCATOR_CACHE_SIZE != 2
#    define COLOCK_ABI_CACHE "_cache_size"
#else
#    define COLOCK_ABI_CACHE ""
#endif

// BOOST_ASIO_USE_TS_EXECUTOR_AS_DEFAULT: any_io_executor is another type.
#ifdef BOOST_ASIO_USE_TS_EXECUTOR_AS_DEFAULT
#    define COLOCK_ABI_EXECUTOR "_ts_executor"
#else
#    define COLOCK_ABI_EXECUTOR ""
#endif

namespace colock {
inline namespace v0_3 {
namespace detail {

extern char const abi_boost __asm__("colock_abi_boost_" BOOST_LIB_VERSION COLOCK_ABI_DEBUG
                                        COLOCK_ABI_STRING COLOCK_ABI_RTTI COLOCK_ABI_TRACKING
                                            COLOCK_ABI_REACTOR COLOCK_ABI_THREADS COLOCK_ABI_CACHE
                                                COLOCK_ABI_EXECUTOR);

[[gnu::used]] inline char const* const abi_boost_used = &abi_boost;

}  // namespace detail
}  // namespace v0_3
}  // namespace colock

#undef COLOCK_ABI_DEBUG
#undef COLOCK_ABI_STRING
#undef COLOCK_ABI_RTTI
#undef COLOCK_ABI_TRACKING
#undef COLOCK_ABI_REACTOR
#undef COLOCK_ABI_THREADS
#undef COLOCK_ABI_CACHE
#undef COLOCK_ABI_EXECUTOR
