// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <boost/test/unit_test.hpp>

#include <fcntl.h>
#include <string>
#include <string_view>
#include <unistd.h>

namespace colock::test {

/// For as long as it lives, standard error is a pipe that is full and that nobody reads.
class blocked_stderr {
public:
    blocked_stderr()
    {
        BOOST_REQUIRE(pipe(ends_) == 0);
        for (int const each : ends_)
            fcntl(each, F_SETFD, FD_CLOEXEC);
        fcntl(ends_[1], F_SETFL, O_NONBLOCK);
        while (write(ends_[1], "x", 1) == 1) {}
        fcntl(ends_[1], F_SETFL, 0);
        before_ = dup(STDERR_FILENO);
        dup2(ends_[1], STDERR_FILENO);
    }
    blocked_stderr(blocked_stderr const&) = delete;
    blocked_stderr& operator=(blocked_stderr const&) = delete;
    ~blocked_stderr()
    {
        dup2(before_, STDERR_FILENO);
        for (int const each : {before_, ends_[0], ends_[1]})
            close(each);
    }

    /// Reads, and so unblocks, until `is_all` finds that all has come. \returns what came after the
    /// filling.
    template <class Predicate>
    std::string read_until(Predicate is_all)
    {
        std::string got;
        char part[65'536];
        while (!is_all(got)) {
            auto const n = read(ends_[0], part, sizeof part);
            BOOST_REQUIRE(n > 0);
            got.append(part, static_cast<std::size_t>(n));
            got.erase(0, got.find_first_not_of('x'));
        }
        return got;
    }

    std::string read_until_end(std::string_view end)
    {
        return read_until([end](std::string const& got) { return got.ends_with(end); });
    }

private:
    int ends_[2];
    int before_;
};

}  // namespace colock::test
