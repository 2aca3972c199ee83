#include "decide/number.hpp"
#include "redis/credential_query.hpp"
#include "redis/link_settings.hpp"
#include "redis/sentinel_query.hpp"
#include "redis/set_up.hpp"

#include <algorithm>
#include <utility>

namespace colock {

using decide::reply;

namespace {

/// How long others may still contradict the first answer.
constexpr milliseconds to_agree{50};

std::optional<address> read_address(reply const& r)
{
    if (r.what != reply::kind::list || r.items.size() != 2)
        return std::nullopt;
    auto const port = decide::number_of<std::uint16_t>(r.items[1].text);
    if (!port || *port == 0 || r.items[0].text.empty())
        return std::nullopt;
    return address{r.items[0].text, *port};
}

}  // namespace

/// One Sentinel, and what it said.
class sentinel_query::sentinel final : private connection::listener {
public:
    sentinel(sentinel_query& all, address const& where)
        : all_{all}
        , where_{where}
        , connection_{std::make_shared<connection>(
              all.context_, static_cast<connection::listener&>(*this), nullptr, set_up_limits()
          )}
        , query_{all.context_, credential_query::purpose::sentinels}
    {
        query_.start(where_, [this](credential_query::result got) { begin(std::move(got)); });
    }
    ~sentinel()
    {
        wipe(credentials_);
        connection_->detach();
    }

    bool is_done() const noexcept { return done_; }
    bool is_refused() const noexcept { return refused_; }
    bool has_answered() const noexcept { return answered_; }
    std::optional<address> const& named() const noexcept { return named_; }
    unsigned replicas() const noexcept { return replicas_; }
    error_code why() const noexcept { return ec_; }
    std::string text() const { return describe(where_) + ": " + words_; }

private:
    void begin(credential_query::result got)
    {
        credentials_ = std::move(got.found);
        if (got.words.empty())
            return connection_->open(where_);
        words_ = std::move(got.words);
        ec_ = error::unavailable;
        finish();
    }

    void on_open() override
    {
        auto const& settings = all_.context_.settings;
        auto const first = set_up_of_sentinels(credentials_);
        auto& out = connection_->pipeline().out();
        out.reserve(4'096);
        first.write(out);
        out.push("SENTINEL", "GET-MASTER-ADDR-BY-NAME", settings.master_name);
        bool const asks_replicas = settings.durability != durability::none && !settings.replicas;
        if (asks_replicas)
            out.push("SENTINEL", "REPLICAS", settings.master_name);
        question_ = std::make_unique<exchange>(
            first.replies() + (asks_replicas ? 2 : 1),
            [this](error_code ec, replies const& got) {
                // A server that refuses all clients says so in one error, and closes.
                if (!ec || (!got.empty() && got.front().what == reply::kind::error))
                    judge(got);
            }
        );
        connection_->pipeline().expect(question_.get(), clock::now());
        connection_->flush(true);
    }

    void judge(replies const& got)
    {
        auto const& settings = all_.context_.settings;
        auto const accepted = set_up_of_sentinels(credentials_).judge(got);
        answered_ = true;
        auto const at = std::min(set_up_of_sentinels(credentials_).replies(), got.size() - 1);
        auto const& answer = got[at];
        if (auto const& listed = got.back(); &listed != &answer && listed.what == reply::kind::list)
            replicas_ = static_cast<unsigned>(listed.items.size());
        ec_ = error::server_refused;
        named_ = read_address(answer);
        if (accepted.ec) {
            named_.reset();
            refused_ = accepted.ec == error::server_refused;
            words_ = accepted.words;
        } else if (answer.what == reply::kind::nil) {
            refused_ = true;
            words_ = "does not know a primary \"" + settings.master_name + "\"";
        } else if (named_)
            named_ = all_.context_.reached_at(*named_);
        else {
            bool const is_none = answer.text.find("unknown command") != std::string::npos;
            refused_ = answer.what == reply::kind::error &&
                decide::classify(answer.text) == decide::fault::refused &&
                !answer.text.starts_with("IDONTKNOW");
            ec_ = is_none ? error::wrong_topology : error::server_refused;
            words_ = "gives no address: " + answer.text;
            for (auto const& item : answer.items)
                words_ += "\"" + item.text + "\" ";
        }
        words_ = redacted(words_, settings, credentials_.password);
        finish();
    }

    void on_closed(error_code why) override
    {
        if (done_)
            return;
        auto const& tls = all_.context_.tls;
        if (auto text = tls ? tls->refusal(why, connection_->tls_complaint(), where_) : "";
            !text.empty()) {
            refused_ = true;
            words_ = std::move(text);
            ec_ = error::tls_refused;
        } else {
            bool const in_handshake = connection_->how_far() == connection::stage::tls;
            words_ = why.message().append(tls_hint(why, tls != nullptr, in_handshake));
            ec_ = why;
        }
        finish();
    }

    void finish()
    {
        if (!std::exchange(done_, true))
            all_.on_answer();
    }

    sentinel_query& all_;
    address where_;
    std::shared_ptr<connection> connection_;
    credential_query query_;
    credentials credentials_;
    std::unique_ptr<exchange> question_;
    std::optional<address> named_;
    unsigned replicas_ = 0;
    std::string words_ = "no answer in time";
    error_code ec_ = asio::error::timed_out;
    bool done_ = false;
    bool refused_ = false;
    bool answered_ = false;
};

sentinel_query::sentinel_query(link_context const& context, on_result done)
    : context_{context}
    , done_{std::move(done)}
    , limit_{[this] { finish(); }}
{}

sentinel_query::~sentinel_query() { cancel(); }

void sentinel_query::start()
{
    cancel();
    has_answer_ = false;
    // The provider has a limit of its own, which comes first.
    auto const steps = context_.settings.sentinel_credentials ? 2 : 1;
    context_.set_alarm(limit_, clock::now() + steps * connect_limit(context_.settings));
    for (auto const& where : context_.settings.addresses)
        asked_.push_back(std::make_unique<sentinel>(*this, where));
}

void sentinel_query::cancel() noexcept
{
    limit_.clear();
    asked_.clear();
}

// Ends by the alarm even if it could end at once, because the answering code is still on the stack.
void sentinel_query::on_answer()
{
    bool const are_all_done =
        std::ranges::all_of(asked_, [](auto const& each) { return each->is_done(); });
    bool const is_enough = are_all_done || 2 * most_named() > asked_.size();
    bool const has_named =
        std::ranges::any_of(asked_, [](auto const& each) { return each->named().has_value(); });
    if (is_enough)
        context_.set_alarm(limit_, clock::now());
    else if (has_named && !std::exchange(has_answer_, true))
        context_.set_alarm(limit_, clock::now() + to_agree);
}

std::size_t sentinel_query::most_named() const
{
    std::ptrdiff_t most = 0;
    for (auto const& each : asked_)
        if (each->named())
            most = std::max(most, std::ranges::count_if(asked_, [&](auto const& other) {
                                return other->named() == each->named();
                            }));
    return static_cast<std::size_t>(most);
}

sentinel_query::result sentinel_query::best() const
{
    result found;
    std::ptrdiff_t most = 0;
    bool is_refused = true;
    for (auto const& each : asked_) {
        found.is_answered = found.is_answered || each->has_answered();
        found.replicas = std::max(found.replicas, each->replicas());
        if (each->named()) {
            auto const same = std::ranges::count_if(asked_, [&](auto const& other) {
                return other->named() == each->named();
            });
            if (same > most) {
                most = same;
                found.primary = each->named();
            }
            continue;
        }
        is_refused = is_refused && each->is_refused();
        found.ec = each->why();
        found.words += (found.words.empty() ? "" : "; ") + each->text();
    }
    // One name may lead to a different Sentinel each time.
    found.is_by_most = 2 * static_cast<std::size_t>(most) > asked_.size();
    found.is_agreed = most > 1 && found.is_by_most;
    if (!is_refused && colock::is_refusal(found.ec))
        found.ec = error::unavailable;
    return found;
}

void sentinel_query::finish()
{
    auto const found = best();
    auto const done = done_;
    cancel();
    done(found);
}

}  // namespace colock
