// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// The same with a table of SQLite: the fence is one condition of the UPDATE.
//
//     5_fencing_sqlite [URL]        redis://127.0.0.1:6379 by default
#include "tutorial.hpp"
#include <colock/colock.hpp>

#include <boost/asio/detached.hpp>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <sqlite3.h>
#include <thread>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using tutorial::expect;

/// A database in memory.
class database {
public:
    database()
    {
        sqlite3* opened = nullptr;
        int const failed = sqlite3_open(":memory:", &opened);
        handle_.reset(opened);
        expect(!failed, "a database");
        query("CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER, token INTEGER)", {});
        query("INSERT INTO account VALUES (7, 100, 0)", {});
    }

    /// Executes a statement; its first number, if it has any.
    std::int64_t query(char const* sql, std::initializer_list<std::int64_t> values)
    {
        sqlite3_stmt* prepared = nullptr;
        int failed = sqlite3_prepare_v2(handle_.get(), sql, -1, &prepared, nullptr);
        std::unique_ptr<sqlite3_stmt, int (*)(sqlite3_stmt*)> const owned{
            prepared, sqlite3_finalize};
        for (int i = 0; auto const value : values)
            failed |= sqlite3_bind_int64(prepared, ++i, value);
        int const step = sqlite3_step(prepared);
        expect(
            !failed && (step == SQLITE_ROW || step == SQLITE_DONE), sqlite3_errmsg(handle_.get())
        );
        return step == SQLITE_ROW ? sqlite3_column_int64(prepared, 0) : 0;
    }

    int changes() const { return sqlite3_changes(handle_.get()); }

private:
    std::unique_ptr<sqlite3, int (*)(sqlite3*)> handle_{nullptr, sqlite3_close};
};

// [update
bool set_balance(database& bank, int amount, std::uint64_t token)
{
    auto const newest = static_cast<std::int64_t>(token);  // tokens fit: they stay below 2^63
    bank.query(
        "UPDATE account SET balance = ?, token = ? WHERE id = 7 AND token <= ?",
        {amount, newest, newest}
    );
    return bank.changes() == 1;  // no row: a newer holder was here
}
// update]

// [show
bool show_token(database& bank, std::uint64_t token)
{
    auto const newest = static_cast<std::int64_t>(token);
    bank.query("UPDATE account SET token = ? WHERE id = 7 AND token <= ?", {newest, newest});
    return bank.changes() == 1;
}
// show]

void write(database& bank, char const* who, int amount, std::uint64_t token)
{
    bool const accepted = set_balance(bank, amount, token);
    std::printf("%s writes %d: %s\n", who, amount, accepted ? "accepted" : "refused");
}

asio::awaitable<void> lesson(std::string url)
{
    auto const executor = co_await asio::this_coro::executor;
    colock::client process_a{executor, colock::config::from_url(url)};
    colock::client process_b{executor, colock::config::from_url(url)};
    process_a.run(asio::detached);
    process_b.run(asio::detached);
    database bank;

    colock::hold a = co_await colock::lock{process_a, "account:7"}.acquire({.lease = 300ms});
    std::puts("A has the lock, and stands still");
    std::this_thread::sleep_for(400ms);

    colock::hold b = co_await colock::lock{process_b, "account:7"}.acquire();
    bool const shown = show_token(bank, b.fencing_token());
    auto const balance = bank.query("SELECT balance FROM account WHERE id = 7", {});
    std::printf(
        "B shows its token: %s, and reads %d\n", shown ? "accepted" : "refused", int(balance)
    );
    std::puts("A wakes up");
    write(bank, "A", 110, a.fencing_token());  // comes between B's read and its write
    write(bank, "B", int(balance) - 10, b.fencing_token());
    auto const left = bank.query("SELECT balance FROM account WHERE id = 7", {});
    std::printf("the balance is %d\n", int(left));
    expect(left == 90, "nothing of A");

    co_await b.release();
    co_await process_b.close();
    co_await process_a.close();
}

int main(int argc, char** argv) { return tutorial::run(lesson(tutorial::server(argc, argv))); }
