// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

/// Distributed locks for C++20 coroutines on Boost.Asio, over Redis or Valkey.

#include <colock/acquire_many.hpp>
#include <colock/blocking.hpp>
#include <colock/claim.hpp>
#include <colock/client.hpp>
#include <colock/config.hpp>
#include <colock/countdown_latch.hpp>
#include <colock/diagnostics.hpp>
#include <colock/durability.hpp>
#include <colock/election.hpp>
#include <colock/error.hpp>
#include <colock/fair_lock.hpp>
#include <colock/fence.hpp>
#include <colock/fenced_lock.hpp>
#include <colock/hold.hpp>
#include <colock/lock.hpp>
#include <colock/lock_event.hpp>
#include <colock/lock_watch.hpp>
#include <colock/log.hpp>
#include <colock/multi_lock.hpp>
#include <colock/observer.hpp>
#include <colock/once_per.hpp>
#include <colock/options.hpp>
#include <colock/owner.hpp>
#include <colock/permit_semaphore.hpp>
#include <colock/read_write_lock.hpp>
#include <colock/red_lock.hpp>
#include <colock/semaphore.hpp>
#include <colock/spin_lock.hpp>
#include <colock/with_lock.hpp>
#include <colock/with_permits.hpp>
