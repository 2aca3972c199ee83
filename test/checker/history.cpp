// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "checker/checker.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <unistd.h>

namespace colock::test {

history_writer::history_writer(std::string const& file)
    : file_{::open(file.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600)}
{
    if (file_ < 0)
        throw std::system_error{errno, std::generic_category(), file};
}

history_writer::~history_writer() { ::close(file_); }

void history_writer::add(event const& e)
{
    if (::write(file_, &e, sizeof e) != ssize_t{sizeof e})
        throw std::system_error{errno, std::generic_category(), "history"};
}

std::vector<event> read_history(std::vector<std::string> const& files)
{
    std::vector<event> all;
    for (auto const& name : files) {
        std::ifstream file{name, std::ios::binary | std::ios::ate};
        if (!file)
            throw std::runtime_error{"can't read " + name};
        auto const count = static_cast<std::size_t>(file.tellg()) / sizeof(event);
        auto const before = all.size();
        all.resize(before + count);
        file.seekg(0);
        file.read(
            reinterpret_cast<char*>(all.data() + before),
            static_cast<std::streamsize>(count * sizeof(event))
        );
    }
    std::ranges::stable_sort(all, {}, &event::at);
    return all;
}

std::string to_string(event const& e)
{
    static constexpr std::array names{
        "asked",
        "got",
        "failed",
        "used",
        "told",
        "left",
        "released",
        "killed",
        "stopped",
        "resumed",
        "fault begins",
        "fault is over",
        "stood still",
        "taken",
        "refused"};
    std::ostringstream text;
    text << e.at << " process " << e.process << " key " << e.key << " attempt " << e.attempt
         << (e.shared ? " shared " : " ") << names.at(static_cast<std::size_t>(e.kind));
    if (e.token != 0)
        text << " token " << e.token;
    if (e.kind == what::used)
        text << (e.accepted ? " accepted as " : " refused after ") << e.order;
    if (e.valid_until != 0)
        text << " valid for " << (e.valid_until - e.at) / 1'000 << " us";
    if (e.kind == what::released)
        text << (e.well ? " well" : " with an error");
    return text.str();
}

}  // namespace colock::test
