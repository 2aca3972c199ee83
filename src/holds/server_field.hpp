#pragma once

#include "base/clock.hpp"
#include "base/script_texts.hpp"
#include "holds/lock_traits.hpp"
#include <colock/detail/initiate.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace colock {

using detail::core;

/// The mark of an ownership at the server: a field in the hash of a lock, or the id of a permit
/// among the leases of its semaphore. Writes its part of a script call.
class server_field {
public:
    server_field(core&, lock_traits const&, std::string_view name, std::uint64_t number);

    core& inside() const noexcept { return core_; }
    lock_traits const& how() const noexcept { return how_; }
    std::string const& name() const noexcept { return name_; }
    std::uint64_t number() const noexcept { return number_; }
    unsigned slot() const noexcept { return slot_; }

    /// The name as the caller gave it.
    std::string_view given_name() const noexcept;

    /// For the log.
    std::string description() const;

    // For the client's report.
    std::string_view kind_word() const noexcept;
    std::string shown_id() const;  ///< the field; of a permit its id in hexadecimal digits

    std::string channel() const;

    /// Sets the lease, and the depth if one is named; a permit has none.
    void write_lease(script_texts&, milliseconds lease, std::optional<std::size_t> depth = {})
        const;

    /// `joins`: the request with that number goes to the end of the wait list if another one has
    /// the turn; zero for none.
    void write_release(script_texts&, std::string_view channel, std::uint64_t joins) const;

private:
    std::string const& prefix() const noexcept;
    void write_id(script_texts&) const;

    core& core_;
    lock_traits const& how_;
    std::string name_;
    std::uint64_t number_;
    unsigned slot_;
};

}  // namespace colock
