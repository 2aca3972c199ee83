// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "messages.hpp"
#include "progress.hpp"
#include "text.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>

#include <algorithm>
#include <chrono>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

namespace cli {

namespace asio = boost::asio;
using boost::system::error_code;

struct progress::state {
    state(asio::any_io_executor const& executor, std::string c, line m)
        : command{std::move(c)}
        , make{std::move(m)}
        , timer{executor}
    {}

    void show()
    {
        auto const text = make ? make() : std::string{};
        if (text.empty())
            return;
        auto const all = "colock " + command + ": " + safe_to_print(text);
        if (!is_terminal) {
            remark(all);
            return;
        }
        winsize size{};
        bool const is_known = ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
        // A line that breaks could not be taken away again.
        auto const fits =
            is_known ? std::min(all.size(), size.ws_col - std::size_t{1}) : all.size();
        put_at_once("\r\033[K" + all.substr(0, fits));
        is_shown = true;
    }

    static void wait(std::shared_ptr<state> const& self, std::chrono::seconds how_long)
    {
        self->timer.expires_after(how_long);
        self->timer.async_wait([self](error_code ec) {
            if (ec || !self->make)
                return;
            self->show();
            wait(self, std::chrono::seconds{self->is_terminal ? 1 : 60});
        });
    }

    std::string command;
    line make;
    asio::steady_timer timer;
    bool is_terminal = isatty(STDERR_FILENO) != 0;
    bool is_shown = false;
};

progress::progress(asio::any_io_executor const& executor, std::string command, line make)
    : state_{std::make_shared<state>(executor, std::move(command), std::move(make))}
{
    state::wait(state_, std::chrono::seconds{2});
}

progress::~progress()
{
    state_->make = nullptr;
    state_->timer.cancel();
    hide();
}

void progress::hide()
{
    if (std::exchange(state_->is_shown, false))
        put_at_once("\r\033[K");
}

}  // namespace cli
