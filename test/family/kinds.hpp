// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "decide/names.hpp"
#include <colock/colock.hpp>

#include <boost/mpl/list.hpp>

#include <chrono>
#include <string>
#include <vector>

// Each kind of lock with one owner at a time: how it is made, and what keys it has.
namespace colock::test {

using namespace std::chrono_literals;

struct plain {
    static constexpr auto name = "plain";
    static lock of(client const& at, std::string const& key) { return {at, key}; }
    static std::vector<std::string> keys(std::string const& key) { return {key}; }
};

struct spinning {
    static constexpr auto name = "spin";
    static spin_lock of(client const& at, std::string const& key)
    {
        return {at, key, backoff{1ms, 10ms, 2}};
    }
    static std::vector<std::string> keys(std::string const& key) { return {key}; }
};

struct fenced {
    static constexpr auto name = "fenced";
    static fenced_lock of(client const& at, std::string const& key) { return {at, key}; }
    static std::vector<std::string> keys(std::string const& key) { return {key}; }
};

struct fair {
    static constexpr auto name = "fair";
    static fair_lock of(client const& at, std::string const& key) { return {at, key}; }
    static std::vector<std::string> keys(std::string const& key)
    {
        decide::fair_keys const more{key};
        return {key, more.queue, more.timeouts, more.tickets};
    }
};

struct writing {
    static constexpr auto name = "write";
    static write_lock of(client const& at, std::string const& key)
    {
        return read_write_lock{at, key}.write();
    }
    static std::vector<std::string> keys(std::string const& key) { return {key}; }
};

struct reading {
    static constexpr auto name = "read";
    static read_lock of(client const& at, std::string const& key)
    {
        return read_write_lock{at, key}.read();
    }
};

struct several {
    static constexpr auto name = "multi";
    static multi_lock of(client const& at, std::string const& key)
    {
        return multi_lock{lock{at, key}, spin_lock{at, key + ":b"}, lock{at, "{" + key + "}c"}};
    }
    static std::vector<std::string> keys(std::string const& key)
    {
        return {key, key + ":b", "{" + key + "}c"};
    }
};

struct majority {
    static constexpr auto name = "red";
    static red_lock of(client const& at, std::string const& key)
    {
        return red_lock{lock{at, key}, lock{at, key + ":b"}, lock{at, key + ":c"}};
    }
    static std::vector<std::string> keys(std::string const& key)
    {
        return {key, key + ":b", key + ":c"};
    }
};

using exclusive = boost::mpl::list<plain, spinning, fenced, fair, writing, several, majority>;

}  // namespace colock::test
