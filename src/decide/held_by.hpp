#pragma once

#include "decide/reply.hpp"
#include <colock/error.hpp>
#include <colock/inspect.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace colock::decide {

/// A command, and the key whose server it is for.
struct question {
    std::string about;
    std::vector<std::string> words;
};

/// Whether it is what a lock's hash has as a field: a client's uuid, a colon, a number.
bool is_owner(std::string_view field);

/// The client of such a field.
std::string_view client_of(std::string_view field);

/// The commands that tell who holds the lock of this key.
std::vector<question> questions_about(std::string const& key, std::string_view prefix = {});

/// Reads the answers to these, which have no labels yet.
error_code read_lock_info(std::vector<reply> const& answers, lock_info& into);

/// The commands that tell the labels of these holders; none if there is no holder.
std::vector<question> questions_about_clients(lock_info const&, std::string_view prefix = {});

/// Adds to the holders what the answers to these say.
void add_labels(lock_info&, std::string const& key, std::vector<reply> const& answers);

}  // namespace colock::decide
