// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <boost/asio/any_io_executor.hpp>

#include <functional>
#include <memory>
#include <string>

namespace cli {

/// A line that shows what takes so long: on a terminal from two seconds on, each second; elsewhere
/// after two seconds and then each minute.
class progress {
public:
    /// Makes the line; an empty one isn't shown.
    using line = std::function<std::string()>;

    progress(boost::asio::any_io_executor const&, std::string command, line);
    ~progress();

    /// Takes the line away until it is due again: something is printed to the same terminal.
    void hide();

private:
    struct state;
    std::shared_ptr<state> state_;
};

}  // namespace cli
