// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Many tasks take locks of all kinds while connections and the server suffer, for as long as is
// wanted. In the end nothing may be left, and no more memory be used than after the warm-up.
#include "soak/soak.hpp"
#include "support/environment.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iomanip>
#include <iostream>
#include <sstream>
#include <string_view>

namespace colock::soak {

namespace {

using clock = std::chrono::steady_clock;

double mebibytes(std::size_t bytes) { return static_cast<double>(bytes) / (1U << 20U); }

config by_way_of(test::proxy const& network, plan const& what)
{
    config c;
    c.addresses.front().port = network.port();
    c.lease = what.lease;
    c.linger = what.linger;
    c.timeout = 1s;
    c.log = {[](log_level, std::string_view) {}, log_level::error};
    return c;
}

/// One run from beginning to end.
class run {
public:
    explicit run(plan const& what) : plan_{what}
    {
        // What they would remember grows.
        for (auto* each : {&near_, &far_})
            each->remember(false);
        for (auto* each : {&first_, &second_})
            each->run(asio::detached);
    }

    bool is_good()
    {
        std::exception_ptr thrown;
        asio::co_spawn(context_, all(), [&](std::exception_ptr e) {
            thrown = e;
            context_.stop();
        });
        context_.run();
        if (thrown)
            std::rethrow_exception(thrown);
        for (auto const& each : wrong_)
            std::cout << "WRONG: " << each << '\n';
        std::cout << (wrong_.empty() ? "nothing is left" : "FAILED") << std::endl;
        return wrong_.empty();
    }

private:
    asio::awaitable<void> all()
    {
        bool const made = co_await crowd_.prepare();
        if (!made)
            throw std::runtime_error{"the semaphores could not be made"};
        co_await work_until([this] {
            auto const least = plan_.length / 5;
            return (worked_ >= least && crowd_.all_names_used()) || worked_ >= 3 * least;
        });
        auto const before = co_await look("after the warm-up");
        if (!crowd_.all_names_used())
            std::cout << "  (not all names were used in it)" << std::endl;
        co_await work_until([this] { return worked_ >= plan_.length; });
        auto const after = co_await look("at the end");
        compare(before, after);
        co_await close();
    }

    template <class Until>
    asio::awaitable<void> work_until(Until is_enough)
    {
        crowd_.start();
        asio::co_spawn(context_, faults_.rage(), [](std::exception_ptr thrown) {
            if (thrown)
                std::rethrow_exception(thrown);
        });
        auto last = clock::now();
        while (!is_enough()) {
            co_await rest(50ms);
            auto const now = clock::now();
            worked_ += now - last;
            last = now;
            if (worked_ >= next_line_)
                show();
        }
        co_await faults_.end();
        co_await crowd_.stop();
    }

    asio::awaitable<findings> look(std::string_view when)
    {
        auto seen = co_await audit_.look();
        std::cout << when << ": " << mebibytes(seen.memory) << " MiB resident, quiet after "
                  << seen.until_quiet.count() << " ms; at the server " << seen.fencing_counters
                  << " fencing counters, " << seen.records << " records of requests, "
                  << seen.semaphores << " semaphores with all their permits; " << seen.latches
                  << " latches were left closed" << std::endl;
        for (auto const& each : seen.wrong)
            wrong_.push_back(std::string{when} + ", " + each);
        co_return seen;
    }

    void show()
    {
        auto const seconds = std::chrono::duration<double>(worked_).count();
        auto const& sum = crowd_.so_far();
        auto const a = first_.stats(), b = second_.stats();
        auto const rate = static_cast<double>(sum.cycles - shown_cycles_) / 10;
        shown_cycles_ = sum.cycles;
        next_line_ += 10s;
        std::cout << std::setw(6) << seconds << " s: " << sum.cycles << " cycles, " << rate
                  << "/s, held " << a.holds + b.holds << ", waiting " << a.waiters + b.waiters
                  << ", " << mebibytes(resident_memory()) << " MiB, faults " << faults_.count()
                  << std::endl;
    }

    void compare(findings const& before, findings const& after)
    {
        auto const& sum = crowd_.so_far();
        std::cout << sum.cycles << " cycles, " << sum.taken << " taken, " << sum.cancelled
                  << " cancelled, " << sum.lost << " lost, overlaps " << sum.overlaps
                  << ", reconnects " << first_.stats().reconnects + second_.stats().reconnects
                  << ", memory " << std::showpos
                  << mebibytes(after.memory) - mebibytes(before.memory) << std::noshowpos
                  << " MiB\n  faults:";
        for (auto const& [what, count] : faults_.by_kind())
            std::cout << ' ' << count << " x " << what << ';';
        std::cout << "\n  errors:";
        for (auto const& [what, count] : sum.errors)
            std::cout << ' ' << count << " x " << what << ';';
        std::cout << std::endl;
        if (after.memory > before.memory + plan_.growth_allowed)
            wrong_.emplace_back("memory has grown by more than 5 MiB");
        if (sum.overlaps != 0)
            wrong_.emplace_back("two owners at a time");
    }

    asio::awaitable<void> close()
    {
        for (auto* each : {&first_, &second_}) {
            auto const [ec] = co_await each->close(asio::as_tuple(asio::deferred));
            if (ec)
                wrong_.push_back("close: " + ec.message());
        }
    }

    plan plan_;
    test::redis_server server_;
    test::proxy near_{server_.port()}, far_{server_.port()};
    asio::io_context context_{1};
    client first_{context_.get_executor(), by_way_of(near_, plan_)};
    client second_{context_.get_executor(), by_way_of(far_, plan_)};
    crowd crowd_{plan_, {&first_, &second_}, context_};
    faults faults_{plan_, server_, {&near_, &far_}};
    audit audit_{plan_, server_, {&first_, &second_}};
    clock::duration worked_{0}, next_line_ = 10s;
    std::uint64_t shown_cycles_ = 0;
    std::vector<std::string> wrong_;
};

plan read(int count, char const* const* words)
{
    double minutes = 1;
    std::uint64_t seed = test::given_seed(1);
    for (int i = 1; i < count; i += 2) {
        std::string_view const option{words[i]};
        if (i + 1 == count || (option != "--minutes" && option != "--seed"))
            throw std::invalid_argument{"usage: soak [--minutes N] [--seed S]"};
        std::istringstream from{words[i + 1]};
        if (option == "--minutes" ? !(from >> minutes) : !(from >> seed))
            throw std::invalid_argument{std::string{option} + ": not a number"};
    }
    if (!(minutes > 0))
        throw std::invalid_argument{"--minutes: a number above 0"};
    return {seconds{static_cast<std::int64_t>(minutes * 60)}, seed};
}

}  // namespace

}  // namespace colock::soak

int main(int count, char** words)
try {
    using namespace colock::soak;
    auto const what = read(count, words);
    std::cout << std::fixed << std::setprecision(1) << "soak: seed " << what.seed << ", "
              << what.length.count() << " s of load, " << what.names << " names, " << what.tasks
              << " tasks, 2 clients, lease " << what.lease.count() << " ms" << std::endl;
    return run{what}.is_good() ? EXIT_SUCCESS : EXIT_FAILURE;
} catch (std::exception const& e) {
    std::cerr << "soak: " << e.what() << '\n';
    return EXIT_FAILURE;
}
