// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Who is told within the turn of the reactor, and who by a post.
#include "base/completion.hpp"
#include "base/recycling.hpp"
#include "support/thread_sanitizer.hpp"
#include "unit/resp/allocations.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/strand.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <cstring>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

namespace colock::test {

namespace {

using int_completion = completion<int>;

struct turn_lab {
    asio::io_context context;
    std::vector<int> told;

    int_completion place(int number)
    {
        return {
            [this, number](error_code, int value) { told.push_back(number * 10 + value); },
            context.get_executor()};
    }

    /// As the handler of an event does it.
    template <class Act>
    void turn(Act act)
    {
        asio::post(context, [this, act] {
            completion_turn now;
            act();
            BOOST_TEST(told.empty());
            now.resume();
            seen = told.size();
        });
        context.run();
    }

    std::size_t seen = 0;  ///< told when the turn was over
};

}  // namespace

BOOST_AUTO_TEST_SUITE(base_completion_turn)

BOOST_AUTO_TEST_CASE(one_goes_on_within_the_turn)
{
    turn_lab t;
    auto one = t.place(1);
    t.turn([&] { one({}, 7); });
    BOOST_TEST(t.seen == 1U);
    BOOST_TEST(t.told == std::vector{17}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(several_are_posted_in_their_order)
{
    turn_lab t;
    auto one = t.place(1), two = t.place(2), three = t.place(3);
    t.turn([&] {
        one({}, 0);
        two({}, 0);
        three({}, 0);
    });
    BOOST_TEST(t.seen == 0U);
    BOOST_TEST(t.told == (std::vector{10, 20, 30}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(without_a_turn_it_is_posted)
{
    turn_lab t;
    auto one = t.place(1);
    asio::post(t.context, [&] {
        one({}, 1);
        BOOST_TEST(t.told.empty());
    });
    t.context.run();
    BOOST_TEST(t.told == std::vector{11}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_is_completed_by_whoever_goes_on_is_posted)
{
    turn_lab t;
    auto inner = t.place(2);
    int_completion outer{
        [&](error_code, int) {
            inner({}, 0);
            BOOST_TEST(t.told.empty());
        },
        t.context.get_executor()};
    t.turn([&] { outer({}, 0); });
    BOOST_TEST(t.seen == 0U);
    BOOST_TEST(t.told == std::vector{20}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(it_runs_on_its_own_executor)
{
    turn_lab t;
    asio::io_context other;
    bool told = false;
    int_completion one{
        asio::bind_executor(
            asio::make_strand(other),
            [&](error_code, int) {
                told = true;
                BOOST_TEST(other.get_executor().running_in_this_thread());
            }
        ),
        t.context.get_executor()};
    t.turn([&] { one({}, 0); });
    BOOST_TEST(!told);
    other.run();
    BOOST_TEST(told);
}

BOOST_AUTO_TEST_CASE(until_then_its_executor_has_work)
{
    turn_lab t;
    {
        auto const one = t.place(1);
        t.context.poll();
        BOOST_TEST(!t.context.stopped());
    }
    t.context.poll();
    BOOST_TEST(t.context.stopped());
}

BOOST_AUTO_TEST_CASE(a_turn_in_a_turn)
{
    turn_lab t;
    auto one = t.place(1), two = t.place(2);
    asio::post(t.context, [&] {
        completion_turn outer;
        one({}, 0);
        {
            completion_turn inner;
            two({}, 0);
            inner.resume();
        }
        BOOST_TEST(t.told == std::vector{20}, boost::test_tools::per_element());
        outer.resume();
        BOOST_TEST(t.told == (std::vector{20, 10}), boost::test_tools::per_element());
    });
    t.context.run();
}

BOOST_AUTO_TEST_CASE(what_a_handler_throws_ends_the_turn)
{
    turn_lab t;
    int_completion one{
        [](error_code, int) { throw std::runtime_error{"thrown"}; }, t.context.get_executor()};
    BOOST_CHECK_THROW(t.turn([&] { one({}, 0); }), std::runtime_error);
    auto two = t.place(2);
    two({}, 0);  // posted: the turn is over
    BOOST_TEST(t.told.empty());
    t.context.restart();
    t.context.run();
    BOOST_TEST(t.told == std::vector{20}, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()

namespace {

struct many_blocks {
    explicit many_blocks(std::size_t count, std::size_t size) : size_{size}
    {
        for (std::size_t i = 0; i != count; ++i) {
            blocks.push_back(recycled_memory::allocate(size));
            std::memset(blocks.back(), static_cast<int>(i), size);
        }
    }
    ~many_blocks()
    {
        for (auto* const each : blocks)
            recycled_memory::release(each, size_);
    }
    many_blocks(many_blocks const&) = delete;
    many_blocks& operator=(many_blocks const&) = delete;

    std::vector<void*> blocks;

private:
    std::size_t size_;
};

}  // namespace

BOOST_AUTO_TEST_SUITE(base_recycling)

BOOST_AUTO_TEST_CASE(blocks_of_every_size_are_apart)
{
    for (std::size_t size : {1U, 63U, 64U, 65U, 1023U, 1535U, 1536U, 1537U, 5000U})
        for (int round = 0; round != 3; ++round) {
            many_blocks const some{40, size};
            std::set<void*> const distinct(some.blocks.begin(), some.blocks.end());
            BOOST_TEST(distinct.size() == 40U);
            for (std::size_t i = 0; i != some.blocks.size(); ++i)
                for (std::size_t at = 0; at != size; ++at)
                    BOOST_REQUIRE_EQUAL(
                        static_cast<unsigned char*>(some.blocks[i])[at],
                        static_cast<unsigned char>(i)
                    );
        }
}

BOOST_AUTO_TEST_CASE(a_block_may_be_freed_on_another_thread)
{
    auto* const block = recycled_memory::allocate(100);
    std::set<void*> distinct;
    std::thread{[&] {
        recycled_memory::release(block, 100);
        many_blocks const some{10, 100};
        distinct = {some.blocks.begin(), some.blocks.end()};
    }}.join();
    BOOST_TEST(distinct.size() == 10U);
}

#ifndef COLOCK_THREAD_SANITIZER  // which counts no allocations

BOOST_AUTO_TEST_CASE(a_thread_keeps_a_limited_number_of_bytes_of_all_sizes)
{
    constexpr auto more = 2 * recycled_memory::most_kept;
    std::size_t allocated = 0;
    allocations steady_before, steady;
    std::thread{[&] {
        auto const take_steadily = [] {
            for (int i = 0; i != 100; ++i)
                recycled_memory::release(recycled_memory::allocate(1'000), 1'000);
        };
        take_steadily();
        steady_before = allocations::so_far();
        take_steadily();
        steady_before = allocations::so_far().since(steady_before);
        auto const take_and_give = [] {
            many_blocks const one{more / 1'000, 1'000};
            many_blocks const other{more / 100, 100};
        };
        take_and_give();
        auto const before = allocations::so_far();
        take_and_give();
        allocated = allocations::so_far().since(before).bytes;
        take_steadily();
        steady = allocations::so_far();
        take_steadily();
        steady = allocations::so_far().since(steady);
    }}.join();
    BOOST_TEST(allocated >= 2 * more - recycled_memory::most_kept);
    BOOST_TEST(steady.count <= steady_before.count);  // it is as if nothing had filled the memory
}

#endif

BOOST_AUTO_TEST_CASE(an_object_of_its_own)
{
    auto const weak = [] {
        auto const made = make_recycled<std::vector<int>>(3, 7);
        BOOST_TEST(made->at(2) == 7);
        return std::weak_ptr{made};
    }();
    BOOST_TEST(weak.expired());
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::test
