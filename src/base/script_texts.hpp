#pragma once

#include "base/recycling.hpp"

#include <boost/container/small_vector.hpp>

#include <cstddef>
#include <string_view>
#include <utility>

namespace colock {

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
    // A release of a lock has five arguments.
    using views = boost::container::small_vector<std::string_view, 5>;
    views keys() const { return cut(keys_); }
    views arguments() const { return cut(arguments_); }

private:
    using spans = boost::container::small_vector<std::pair<std::size_t, std::size_t>, 5>;

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

}  // namespace colock
