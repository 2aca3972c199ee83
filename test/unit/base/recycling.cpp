// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "base/recycling.hpp"

#include <boost/test/unit_test.hpp>

#include <cstring>
#include <set>
#include <thread>
#include <vector>

namespace colock::test {

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
    for (std::size_t size : {1U, 63U, 64U, 65U, 1023U, 1024U, 1025U, 5000U})
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
    std::thread{[&] {
        recycled_memory::release(block, 100);
        many_blocks const some{10, 100};
    }}.join();
}

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
