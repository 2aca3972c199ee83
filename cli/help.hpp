// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <string_view>

namespace cli {

/// The text of `--help` after the options.
struct help {
    std::string_view command;
    std::string_view usage;
    std::string_view about;
    std::string_view more;  ///< examples, exit statuses
};

/// Of a command; of colock itself, if there is none of this name.
help const& help_of(std::string_view command);

}  // namespace cli
