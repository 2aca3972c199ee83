// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/lock.hpp>

#include <string>
#include <utility>

namespace colock {
inline namespace v0_3 {

/// The side of a `read_write_lock` that many owners may hold together. The operations are as for
/// `lock`, on this side.
///
/// \par Effects
///   `scripts/read_acquire.lua`, one round trip while nobody writes. While there is a writer, the
///   client subscribes, and asks again on a message, when the writer's lease ends, and each
///   `config::poll_cap`. Only the first waiting reader of a client asks; when it has got in, the
///   others ask too. Readers of one client share nothing: each owner has its own field and its own
///   lease. A reader that comes after a waiting writer of the same client waits for that writer,
///   unless only readers of other clients keep that writer out: then the wait would not help it.
/// \par Re-entry
///   An owner of a hold of this side enters again without waiting, even while writers wait. So does
///   the owner of the write side: a writer may read, unless it writes with
///   `acquire_options::at_least` (`error::invalid_argument`). It may release the two in any order.
///   If it releases the write side first, it stays as a reader, and other readers come in.
/// \par Tokens
///   None: `hold::fencing_token()` is 0. A reader writes nothing that a resource could refuse.
/// \par is_locked, remaining_lease, force_release
///   `is_locked`: whether anybody reads; that may be the writer. `remaining_lease`: the longest
///   lease of all holders, on either side. `force_release`: all readers lose the lock; while
///   somebody writes it does nothing.
class read_lock : public basic_lock<detail::lock_id> {
    friend class read_write_lock;
    using basic_lock::basic_lock;
};

/// The side of a `read_write_lock` that one owner holds alone. The operations are as for `lock`, on
/// this side.
///
/// \par Effects
///   `scripts/write_acquire.lua`. Otherwise as `lock`: with its queue, its turns between clients
///   and its tokens. Hand-over to the client's next writer happens if no reader of the client waits
///   before that writer, and if the releasing owner does not read.
/// \par Re-entry
///   An owner of a hold of this side enters again without waiting. An owner that only has a hold of
///   the read side would wait for itself, as in Redisson, and everybody behind it would wait as
///   well. So its acquire ends with `error::would_deadlock`, and nothing is sent: release the read
///   side first. `try_acquire`, which does not wait, finds the lock taken. If a write hold is lost
///   while its owner also reads, everybody else stays locked out until that write hold is destroyed
///   or released.
/// \par is_locked, remaining_lease, force_release
///   `is_locked`: whether anybody writes. `remaining_lease`: the longest lease of all holders, on
///   either side. `force_release`: the writer loses both sides; while nobody writes it does
///   nothing.
class write_lock : public basic_lock<detail::lock_id> {
    friend class read_write_lock;
    using basic_lock::basic_lock;
};

/// Many readers or one writer: Redisson's RReadWriteLock, on the same keys and channel, so that
/// Java and C++ share it.
///
/// In Redis it is a hash `name` with the field `mode`, a field `<client uuid>:<number>` for each
/// reader and `<client uuid>:<number>:write` for the writer. The keys
/// `{name}:<field>:rwlock_timeout:<n>` are the leases of the readers. Releases publish on
/// `redisson_rwlock:{name}`.
///
/// \par Guarantees
///   As for `lock`, for the writer against everybody else. While a reader's own hold is valid,
///   there is no writer.
/// \par Who comes first
///   A client serves its waiters, on either side, in the order of their arrival, so a stream of
///   readers does not keep the writers of the same client out. Between clients the writers take
///   turns, as with `lock`, but readers of other clients may come in while a writer waits. If only
///   such readers have kept a writer out for 2 ms, or for the time of two scripts if that is
///   longer, the readers that wait in the writer's client pass it too, once.
///
/// Executor, thread-safety, lifetimes, errors and cancellation are as for `lock`.
class read_write_lock {
public:
    /// The lock `name` at the client's server. Sends nothing.
    read_write_lock(client const& where, std::string name)
        : read_{where, {name, detail::lock_kind::read}}
        , write_{where, {std::move(name), detail::lock_kind::write}}
    {}

    /// As it was given, without `config::key_prefix`.
    std::string const& name() const noexcept { return read_.name(); }

    /// The readers' side, which many may hold together.
    read_lock const& read() const noexcept { return read_; }

    /// The writer's side, which one may hold.
    write_lock const& write() const noexcept { return write_; }

private:
    read_lock read_;
    write_lock write_;
};

}  // namespace v0_3
}  // namespace colock
