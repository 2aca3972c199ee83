#include "redis/push_link.hpp"

#include <utility>

namespace colock {

namespace redis = boost::redis;
using decide::reply;

push_link::push_link(link_context const& context, transport_listener& who)
    : context_{context}
    , listener_{who}
    , loop_{std::make_shared<connection_loop>(
          context, static_cast<connection_loop::owner&>(*this), "push link"
      )}
    , check_{[this] {
        if (answered_ != pings_)
            loop_->restart(asio::error::timed_out);
        else
            send(redis::request{}, false);
    }}
{}

push_link::~push_link()
{
    *alive_ = false;
    loop_->detach();
}

void push_link::start() { loop_->start(); }

void push_link::stop() { loop_->stop(); }

void push_link::change(subscription_change const& what)
{
    redis::request request;
    if (!what.subscribe.empty())
        request.push_range("SUBSCRIBE", what.subscribe);
    if (!what.unsubscribe.empty())
        request.push_range("UNSUBSCRIBE", what.unsubscribe);
    send(std::move(request), true);
}

void push_link::send(redis::request request, bool is_change)
{
    auto const number = ++pings_;
    request.push("PING", number);
    loop_->exec(
        std::make_shared<redis::request>(std::move(request)),
        [this, number, is_change](error_code ec, connection_loop::replies const& got) {
            if (!ec)
                on_answer(got, number, is_change);
        }
    );
    check_later();
}

void push_link::on_answer(connection_loop::replies const& got, std::uint64_t number, bool is_change)
{
    if (got.size() == 1 && got.front().text == std::to_string(number)) {
        answered_ = number;
        if (is_change)
            listener_.on_changed({});
        return;
    }
    if (!got.empty())
        write_log(
            context_.settings.log,
            log_level::warning,
            "push link: the server refuses to subscribe: " + got.front().text
        );
    if (is_change)
        listener_.on_changed(error::subscription_failed);
    loop_->restart(error::subscription_failed);
}

void push_link::check_later()
{
    if (context_.agenda.set(check_, clock::now() + silence_limit(context_.settings)))
        context_.agenda_changed();
}

void push_link::write_probe(redis::request& to) { to.push("PING"); }

error_code push_link::judge_probe(connection_loop::replies const& got)
{
    if (got.size() == 1 && got.front().what != reply::kind::error)
        return {};
    auto const text = got.empty() ? std::string{} : got.front().text;
    if (decide::classify(text) == decide::fault::not_now)
        return error::unavailable;
    return error::server_refused;
}

void push_link::prepare(std::shared_ptr<connection_loop::redis_connection> connection)
{
    using event = redis::any_adapter::parse_event;
    auto words = std::make_shared<receiver>();
    redis::any_adapter adapter{redis::any_adapter::impl_t{
        [words](event what, redis::resp3::node_view const& node, boost::system::error_code&) {
            if (what == event::init)
                words->words.clear();
            else if (what == event::node && node.depth != 0)
                words->words.emplace_back(node.value);
            else if (what == event::done)
                words->messages.push_back(std::exchange(words->words, {}));
        }}};
    connection->set_receive_response(adapter);
    receive(std::move(connection), std::move(words));
}

void push_link::receive(
    std::shared_ptr<connection_loop::redis_connection> from, std::shared_ptr<receiver> words
)
{
    auto& connection = *from;
    connection.async_receive2(
        [this, alive = alive_, from = std::move(from), words = std::move(words)](error_code ec
        ) mutable {
            auto const life = *alive ? context_.life.lock() : nullptr;
            if (!life || ec)
                return;
            deliver(*words);
            if (*alive)
                receive(std::move(from), std::move(words));
        }
    );
}

void push_link::deliver(receiver& from)
{
    auto const alive = alive_;
    for (auto const& m : std::exchange(from.messages, {})) {
        if (!*alive)
            return;
        if (m.size() != 3)
            continue;
        if (m[0] == "message")
            listener_.on_message(m[1], m[2]);
        else if (m[0] == "subscribe")
            listener_.on_subscribed(m[1]);
    }
}

void push_link::on_up()
{
    answered_ = pings_;
    check_later();
    listener_.on_push_up();
}

void push_link::on_down(error_code)
{
    check_.clear();
    listener_.on_push_down();
}

}  // namespace colock
