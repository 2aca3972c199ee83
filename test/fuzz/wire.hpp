// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "decide/reply.hpp"

#include <boost/redis/adapter/any_adapter.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace colock::fuzz {

/// What a server sends, parsed as Boost.Redis does.
///
/// It ends before what Boost.Redis 1.92's parser does not survive, for that is known and not ours:
/// README.md names the headers, none of which a server sends.
class wire {
public:
    explicit wire(std::string_view bytes) : rest_{bytes} {}

    /// The next message. False if there is no whole one.
    bool next(boost::redis::any_adapter&);

    /// It has come to such a header.
    bool is_cut() const noexcept { return is_cut_; }

    /// It has come to what is no message.
    bool has_failed() const noexcept { return has_failed_; }

    /// What has not been parsed, in front of it or of a message that isn't whole.
    std::string_view rest() const noexcept { return rest_; }

private:
    std::string_view rest_;
    bool is_cut_ = false;
    bool has_failed_ = false;
};

/// The bytes before the first header that Boost.Redis does not survive.
std::string_view without_fatal_headers(std::string_view bytes);

/// The messages as replies, each as `collect_replies` builds it.
std::vector<decide::reply> replies_in(std::string_view bytes);

/// Writes it as a server does.
std::string written(decide::reply const&);

bool is_same(decide::reply const&, decide::reply const&) noexcept;

}  // namespace colock::fuzz
