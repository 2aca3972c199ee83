// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/admin/layout.hpp>
#include <colock/admin/reply.hpp>

#include <boost/json/object.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace cli {

using colock::admin::reply;
using std::chrono::milliseconds;

class session;

/// One owner of a lock.
struct holder {
    std::string field;  ///< `<client uuid>:<number>`
    std::string side;   ///< of a read-write lock: read or write
    std::int64_t depth = 0;
    std::string label{};                     ///< of its client, if that tells one
    std::optional<milliseconds> held_for{};  ///< if its client tells that

    friend bool operator==(holder const&, holder const&) = default;
};

/// The contents of a key in Redis, as far as they concern locks.
struct picture {
    enum class content { nothing, lock, something_else };

    std::string key;
    content what = content::nothing;
    std::string type;  ///< what else it is, in the words of TYPE
    std::string kind;  ///< lock, fair, fenced or read-write
    std::vector<holder> holders;
    std::int64_t more_holders = 0;          ///< beside those, which were not read
    std::optional<milliseconds> lease;      ///< none: it has no TTL, and stays until released
    std::optional<std::int64_t> listeners;  ///< clients that are told of its releases, at least
    std::vector<std::string> queue;         ///< of a fair lock: the fields that wait, in order
};

using colock::admin::is_owner;

/// The owners in the reply to HGETALL, or to HSCAN; and `read` or `write` as the mode of a
/// read-write lock. Nothing if it isn't a lock's.
struct owners {
    std::vector<holder> all;
    std::string mode;
};
std::optional<owners> read_owners(reply const&);

/// The first part of a hash, as HSCAN gives it, shows that the hash is no lock.
bool shows_no_lock(reply const& scanned);

/// The holders of the first picture that the second one doesn't have.
std::vector<holder> those_who_went(picture const& before, picture const& now);

/// The words of a holder, for people.
std::string shown(holder const&);

/// `held by …, lease 3 s left`, for people.
std::string summary(picture const&);

boost::json::object to_json(picture const&);

/// Text for JSON: as it is if it is UTF-8, else escaped.
std::string json_text(std::string const&);

/// The holder of the lock for which we wait; the question runs during the wait.
class holder_names {
public:
    /// `on_no_lock` is called if the key holds a hash of somebody else's.
    void refresh(session&, std::string const& key, std::function<void()> on_no_lock);

    /// `, held by …`, or nothing while it isn't known.
    std::string text() const { return *text_; }

private:
    std::shared_ptr<std::string> text_ = std::make_shared<std::string>();
};

}  // namespace cli
