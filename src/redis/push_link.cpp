#include "redis/push_link.hpp"

#include <utility>

namespace colock {

namespace redis = boost::redis;
using decide::reply;

namespace {

/// An argument that goes out as it is: what it begins with has to be a whole argument.
struct raw_bytes {
    std::string_view bytes;
};

void boost_redis_to_bulk(std::string& payload, raw_bytes raw) { payload += raw.bytes; }

void add_bulk(std::string& to, std::string_view text)
{
    to.append("$").append(std::to_string(text.size())).append("\r\n");
    to.append(text).append("\r\n");
}

}  // namespace

push_link::push_link(
    link_context const& context, listener& who, std::string name, unsigned index, address where
)
    : context_{context}
    , listener_{who}
    , index_{index}
    , loop_{std::make_shared<connection_loop>(
          context, static_cast<connection_loop::owner&>(*this), std::move(name), std::move(where)
      )}
    , check_{[this] {
        if (waiting_)
            loop_->restart(asio::error::timed_out);
        else
            send({});
    }}
{
    loop_->without_health_check();
}

push_link::~push_link()
{
    *alive_ = false;
    loop_->detach();
}

void push_link::start()
{
    started_ = true;
    loop_->start();
}

void push_link::stop()
{
    started_ = false;
    loop_->stop();
}

// ---- Asking ------------------------------------------------------------------------------------

void push_link::change(subscription_change const& what, publishing how)
{
    bool const sharded = how == publishing::sharded || how == publishing::both;
    bool const plain = how != publishing::sharded;
    outgoing next;
    for (auto const& channel : what.unsubscribe) {
        if (plain)
            add_command(next, "UNSUBSCRIBE", {"unsubscribe", channel});
        if (sharded)
            add_command(next, "SUNSUBSCRIBE", {"sunsubscribe", channel});
    }
    for (auto const& channel : what.subscribe) {
        if (plain)
            add_command(next, "SUBSCRIBE", {"subscribe", channel, !sharded});
        if (sharded)
            add_command(next, "SSUBSCRIBE", {"ssubscribe", channel, true});
    }
    changing_ = true;
    if (!waiting_)
        send(std::move(next));
    else
        next_ = std::move(next);
}

// Each channel in a command of its own, for one that is refused must not take others along, and
// in a cluster they have different slots.
void push_link::add_command(outgoing& to, std::string_view verb, asked what)
{
    to.commands += "*2\r\n";
    add_bulk(to.commands, verb);
    add_bulk(to.commands, what.channel);
    to.of.push_back(std::move(what));
}

void push_link::send(outgoing what)
{
    asked_ = std::move(what.of);
    std::string bytes;
    add_bulk(bytes, "");
    bytes += what.commands;
    bytes += "*2\r\n";
    add_bulk(bytes, "PING");
    add_bulk(bytes, std::to_string(++pings_));
    redis::request request;
    request.push("PING", raw_bytes{bytes});
    waiting_ = true;
    loop_->exec(
        std::make_shared<redis::request>(std::move(request)),
        [](error_code, connection_loop::replies const&) {}
    );
    check_later();
}

void push_link::check_later()
{
    if (context_.agenda.set(check_, clock::now() + silence_limit(context_.settings)))
        context_.agenda_changed();
}

// ---- Hearing -----------------------------------------------------------------------------------

void push_link::prepare(std::shared_ptr<connection_loop::redis_connection> connection)
{
    using event = redis::any_adapter::parse_event;
    using type = redis::resp3::type;
    auto into = std::make_shared<receiver>();
    redis::any_adapter adapter{redis::any_adapter::impl_t{
        [into](event what, redis::resp3::node_view const& node, boost::system::error_code&) {
            auto& next = into->next;
            if (what == event::init)
                next = {};
            else if (what == event::done)
                into->whole.push_back(std::exchange(next, {}));
            else if (node.data_type == type::push)
                next.is_push = true;
            else {
                next.is_error = next.is_error || node.data_type == type::simple_error ||
                    node.data_type == type::blob_error;
                next.words.emplace_back(node.value);
            }
        }}};
    connection->set_receive_response(adapter);
    receive(std::move(connection), std::move(into));
}

void push_link::receive(
    std::shared_ptr<connection_loop::redis_connection> from, std::shared_ptr<receiver> into
)
{
    auto& connection = *from;
    connection.async_receive2(
        [this, alive = alive_, from = std::move(from), into = std::move(into)](error_code ec
        ) mutable {
            auto const life = *alive ? context_.life.lock() : nullptr;
            if (!life || ec)
                return;
            if (loop_->is_up())
                check_later();  // it is alive, however long the answer is
            for (auto const& m : std::exchange(into->whole, {})) {
                take(m);
                if (!*alive)
                    return;
            }
            receive(std::move(from), std::move(into));
        }
    );
}

void push_link::take(message const& m)
{
    if (m.is_push && m.words.size() == 3) {
        if (m.words[0] == "message" || m.words[0] == "smessage")
            listener_.on_published(m.words[1], m.words[2]);
        else
            take_event(m.words[0], m.words[1]);
    } else if (m.is_error && !asked_.empty()) {
        auto const refused = std::move(asked_.front());
        asked_.pop_front();
        if (!refused.event.ends_with("unsubscribe"))
            listener_.on_refused(*this, refused.channel, m.words.front());
        else if (decide::classify(m.words.front()) == decide::fault::not_now)
            loop_->restart(error::unavailable);  // or it would be heard for good
    } else if (m.is_error || m.words == std::vector{std::to_string(pings_)})
        end_change();  // an error is an answer too: the server is there
}

void push_link::take_event(std::string_view kind, std::string const& channel)
{
    if (asked_.empty() || asked_.front().event != kind || asked_.front().channel != channel) {
        // The slot has moved, and the server tells its subscribers so.
        if (kind == "sunsubscribe")
            listener_.on_ended(*this, channel);
        return;
    }
    bool const is_confirmed = asked_.front().confirms;
    asked_.pop_front();
    if (is_confirmed)
        listener_.on_confirmed(*this, channel);
}

void push_link::end_change()
{
    waiting_ = false;
    asked_.clear();
    if (!next_.of.empty())
        return send(std::exchange(next_, {}));
    if (std::exchange(changing_, false))
        listener_.on_changed(*this);
}

// ---- The connection ----------------------------------------------------------------------------

void push_link::write_probe(redis::request& to) { to.push("PING"); }

error_code push_link::judge_probe(connection_loop::replies const& got)
{
    if (got.size() != 1)
        return error::bad_reply;
    if (got.front().what != reply::kind::error)
        return {};
    switch (decide::classify(got.front().text)) {
    case decide::fault::passing: return {};  // it is writing that is refused
    case decide::fault::not_now: return error::unavailable;
    default: return error::server_refused;
    }
}

void push_link::on_up()
{
    asked_.clear();
    next_ = {};
    waiting_ = changing_ = false;
    check_later();
    listener_.on_push_link_up(*this);
}

void push_link::on_down(error_code)
{
    check_.clear();
    listener_.on_push_link_down(*this);
}

}  // namespace colock
