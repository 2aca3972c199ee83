// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A getaddrinfo that knows names of the tests' own. It is part of test programs, and a library of
// its own to be loaded before all else (LD_PRELOAD) into programs that are tested from outside;
// those find the names in COLOCK_HOST_NAMES: name=milliseconds[,address...], with blanks between.
#include "support/host_names.hpp"

#include <condition_variable>
#include <cstdlib>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <netdb.h>
#include <optional>
#include <pthread.h>
#include <sstream>
#include <utility>

namespace colock::test {

namespace {

struct entry {
    std::vector<std::string> addresses;
    std::chrono::milliseconds takes{0};
    bool is_asked = false;
};

struct table {
    std::mutex mutex;
    std::condition_variable changed;
    std::condition_variable asked;  // another one: in a forked child the lookups that wait are gone
    std::map<std::string, entry> known;
};

/// Is never destroyed, because a lookup may outlive the end of main().
table& names()
{
    static auto& all = *new table;
    return all;
}

// A child must find the names, and their mutex free.
__attribute__((constructor)) void mind_forks()
{
    auto const unlock = [] { names().mutex.unlock(); };
    ::pthread_atfork([] { names().mutex.lock(); }, unlock, unlock);
}

__attribute__((constructor)) void read_environment()
{
    auto const* given = std::getenv("COLOCK_HOST_NAMES");
    std::istringstream all{given ? given : ""};
    for (std::string one; all >> one;) {
        std::istringstream words{one.substr(one.find('=') + 1)};
        std::string word;
        std::getline(words, word, ',');
        entry read{{}, std::chrono::milliseconds{std::stoi(word)}};
        while (std::getline(words, word, ','))
            read.addresses.push_back(word);
        names().known[one.substr(0, one.find('='))] = std::move(read);
    }
}

/// What a lookup of this name finds; nothing if it is none of ours.
std::optional<std::vector<std::string>> look_up(std::string const& name)
{
    auto& all = names();
    std::unique_lock guard{all.mutex};
    auto const at = all.known.find(name);
    if (at == all.known.end())
        return std::nullopt;
    at->second.is_asked = true;
    all.asked.notify_all();
    auto const found = at->second;
    all.changed.wait_for(guard, found.takes, [&] { return !all.known.contains(name); });
    return all.known.contains(name) ? found.addresses : std::vector<std::string>{};
}

}  // namespace

host_name::host_name(
    std::string name, std::vector<std::string> addresses, std::chrono::milliseconds takes
)
    : name_{std::move(name)}
{
    std::scoped_lock const guard{names().mutex};
    names().known[name_] = {std::move(addresses), takes, false};
}

void host_name::wait_until_asked() const
{
    std::unique_lock guard{names().mutex};
    names().asked.wait(guard, [this] { return names().known.at(name_).is_asked; });
}

host_name::~host_name()
{
    std::scoped_lock const guard{names().mutex};
    names().known.erase(name_);
    names().changed.notify_all();
}

}  // namespace colock::test

// NOLINTBEGIN(readability-inconsistent-declaration-parameter-name)
extern "C" int getaddrinfo(
    char const* name, char const* service, addrinfo const* hints, addrinfo** found
)
{
    using function = int(char const*, char const*, addrinfo const*, addrinfo**);
    static auto* const real = reinterpret_cast<function*>(::dlsym(RTLD_NEXT, "getaddrinfo"));
    auto const addresses = name ? colock::test::look_up(name) : std::nullopt;
    if (!addresses)
        return real(name, service, hints, found);
    int result = EAI_AGAIN;
    // The lists are linked: the system frees a list node by node.
    for (auto** end = found; auto const& each : *addresses)
        if (result = real(each.c_str(), service, hints, end); result == 0)
            while (*end)
                end = &(*end)->ai_next;
    return result;
}
// NOLINTEND(readability-inconsistent-declaration-parameter-name)
