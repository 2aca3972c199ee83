// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "chaos/leftovers.hpp"
#include "support/patience.hpp"
#include "unit/random_seed.hpp"

#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace colock::test {

/// What happens to a client just before it is closed, and lasts until that is done.
enum class trouble { none, cut, refused, black_hole, paused };

std::ostream& operator<<(std::ostream&, trouble);

/// One client that is closed while its tasks use locks of all kinds, beside one whose tasks want
/// the same ones.
class closing_ordeal {
public:
    static constexpr milliseconds close_timeout = within(400ms);

    closing_ordeal(redis_server&, proxy&, client const& beside, random_numbers&);

    asio::awaitable<void> run(trouble);

    std::vector<std::string> wrong;
    std::int64_t took = 0;   ///< milliseconds
    bool succeeded = false;  ///< all was released
    int held = 0;            ///< when it was closed
    int reported = 0;        ///< of those, to their owners who waited for that

    std::string name(kind of) const { return base_ + ':' + std::string{name_of(of)}; }

private:
    void start(asio::any_io_executor const& on, client const& at, bool to_the_end);
    asio::awaitable<void> live(client const& at, bool to_the_end);
    asio::awaitable<void> use(taken& got, bool of_mine);
    asio::awaitable<void> stay(taken& got, bool of_mine);
    manner some_manner(bool without_end);
    void begin(trouble);
    void end(trouble);
    asio::awaitable<void> close(running_client&, trouble);
    asio::awaitable<void> look(running_client&);
    asio::awaitable<void> pass_by();
    bool is_clean(client const&) const;
    std::string all_left();

    redis_server& server_;
    proxy& network_;
    client const& other_;
    random_numbers& dice_;
    std::string base_ = unique_name("closing");
    int mine_ = 0, others_ = 0;  ///< tasks of the client that is closed, and of the other
    bool stopping_ = false, closed_ = false;
    std::vector<taken*> inside_;
    int not_returned_ = 0;  ///< permits that nobody else can know of
};

}  // namespace colock::test
