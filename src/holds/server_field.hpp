#pragma once

#include "base/clock.hpp"
#include "base/recycling.hpp"
#include "holds/protocol.hpp"
#include <colock/detail/initiate.hpp>

#include <boost/container/small_vector.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace colock {

using detail::core;

/// The keys and arguments of a script call, for as long as it is under way. Each is appended to
/// `text` and then ended.
class script_texts {
public:
    recycled_string& text() noexcept { return text_; }
    void end_key() { end(keys_); }
    void end_argument() { end(arguments_); }

    void add_key(std::string_view key)
    {
        text_ += key;
        end_key();
    }
    void add_argument(std::string_view argument)
    {
        text_ += argument;
        end_argument();
    }

    // When all are there, and no more follow.
    using views = boost::container::small_vector<std::string_view, 4>;
    views keys() const { return cut(keys_); }
    views arguments() const { return cut(arguments_); }

private:
    using spans = boost::container::small_vector<std::pair<std::size_t, std::size_t>, 4>;

    void end(spans& of)
    {
        of.emplace_back(begin_, text_.size());
        begin_ = text_.size();
    }
    views cut(spans const& at) const
    {
        views all;
        all.reserve(at.size());
        for (auto const& [begin, end] : at)
            all.push_back(std::string_view{text_}.substr(begin, end - begin));
        return all;
    }

    recycled_string text_;
    std::size_t begin_ = 0;
    spans keys_, arguments_;
};

/// The mark of an ownership at the server: a field in the hash of a lock, or the id of a permit
/// among the leases of its semaphore. Writes its part of a script call.
class server_field {
public:
    server_field(core&, protocol const&, std::string_view name, std::uint64_t number);

    core& inside() const noexcept { return core_; }
    protocol const& how() const noexcept { return how_; }
    std::string const& name() const noexcept { return name_; }
    std::uint64_t number() const noexcept { return number_; }
    unsigned slot() const noexcept { return slot_; }

    /// The name as the caller gave it.
    std::string given_name() const;

    /// For the log.
    std::string description() const;

    // For the client's report.
    std::string_view kind_word() const noexcept;
    std::string shown_id() const;  ///< the field; of a permit its id in hexadecimal digits

    std::string channel() const;

    void write_extension(script_texts&, std::size_t depth, milliseconds lease) const;
    void write_renewal(script_texts&, milliseconds lease) const;

    /// `entry`: with it this client goes to the end of the wait list if another one is told; empty
    /// if it does not.
    void write_release(script_texts&, std::string_view channel, std::string_view entry) const;

private:
    std::string const& prefix() const noexcept;
    void write_id(script_texts&) const;

    core& core_;
    protocol const& how_;
    std::string name_;
    std::uint64_t number_;
    unsigned slot_;
};

}  // namespace colock
