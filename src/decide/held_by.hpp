#pragma once

#include "decide/reply.hpp"
#include <colock/admin/layout.hpp>
#include <colock/error.hpp>
#include <colock/inspect.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace colock::decide {

using admin::add_labels;
using admin::client_of;
using admin::is_owner;
using admin::question;
using admin::questions_about_clients;

/// The commands that tell who holds the lock of this key.
std::vector<question> questions_about(std::string const& key, std::string_view prefix = {});

/// Reads the answers to these, which have no labels yet.
error_code read_lock_info(std::vector<reply> const& answers, lock_info& into);

}  // namespace colock::decide
