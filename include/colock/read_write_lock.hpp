// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/lock.hpp>

#include <string>
#include <utility>

namespace colock {

/// The side of a `read_write_lock` that many may hold together. Each operation is that of `lock`,
/// about this side.
///
/// \par Effects
///   `scripts/read_acquire.lua`, one round trip while nobody writes. If somebody does, subscribes,
///   and asks again on a message, when the writer's lease ends, and each `config::poll_cap`: the
///   first who waits here alone, until he gets in; then all. Readers of one client share nothing:
///   each owner has its own field and its own lease. Who comes after a writer that waits in the
///   same client waits for him, as long as that helps him.
/// \par Re-entry
///   With the owner of a hold of this side: no waiting, also where writers wait. With the owner of
///   the write side as well: whoever writes may read. Released in whichever order; who releases the
///   write side first stays as a reader, and other readers come in.
/// \par Tokens
///   None: `hold::fencing_token()` is 0. Who reads writes nothing that a resource could refuse.
/// \par is_locked, remaining_lease, force_release
///   Whether anybody reads, a writer who does among them. The lease is the longest of all who hold
///   the lock, on either side. Forced, all readers lose it; while somebody writes nothing is done.
class read_lock : public basic_lock<detail::lock_id> {
    friend class read_write_lock;
    using basic_lock::basic_lock;
};

/// The side of a `read_write_lock` that one holds alone. Each operation is that of `lock`, about
/// this side.
///
/// \par Effects
///   `scripts/write_acquire.lua`; otherwise as `lock`, with its queue, its turns between clients,
///   its tokens and its hand-over to the next writer of the client, as long as no reader of the
///   client waits before him and the one who releases doesn't read.
/// \par Re-entry
///   With the owner of a hold of this side: no waiting. With the owner of a hold of the read side
///   alone it waits for itself, as in Redisson, and everybody behind it: release that first.
///   One that is lost keeps everybody out while its owner reads, until it is dropped or released.
/// \par is_locked, remaining_lease, force_release
///   Whether anybody writes. The lease is the longest of all who hold the lock, on either side.
///   Forced, the writer loses both sides; while nobody writes nothing is done.
class write_lock : public basic_lock<detail::lock_id> {
    friend class read_write_lock;
    using basic_lock::basic_lock;
};

/// Many readers or one writer: Redisson's RReadWriteLock, on the same keys and channel, so that
/// Java and C++ share it.
///
/// In Redis it is a hash `name` with the `mode`, a field `<client uuid>:<number>` for each reader
/// and `<client uuid>:<number>:write` for the writer, beside keys
/// `{name}:<field>:rwlock_timeout:<n>`, which are the leases of the readers. Releases publish on
/// `redisson_rwlock:{name}`.
///
/// \par Guarantees
///   Those of `lock`, for the writer against everybody else. A reader may rely on there being no
///   writer, as long as its own hold is valid.
/// \par Who comes first
///   Those who wait in one client, on either side, are served in the order in which they came: a
///   stream of readers of the same client doesn't keep its writers out. Between clients there is no
///   such order: readers of others go on coming in while a writer waits. If for 10 ms it is only
///   they who keep a writer out, those who wait to read here pass it, too, once.
///
/// Executor, thread-safety, lifetimes, errors and cancellation are those of `lock`.
class read_write_lock {
public:
    /// The lock `name` at the client's server. Nothing is sent.
    read_write_lock(client const& where, std::string name)
        : read_{where, {name, detail::lock_kind::read}}
        , write_{where, {std::move(name), detail::lock_kind::write}}
    {}

    /// As it was given, without `config::key_prefix`.
    std::string const& name() const noexcept { return read_.name(); }

    /// The side of the readers, who hold it together.
    read_lock const& read() const noexcept { return read_; }

    /// The side of the one writer.
    write_lock const& write() const noexcept { return write_; }

private:
    read_lock read_;
    write_lock write_;
};

}  // namespace colock
