#include "redis/credential_query.hpp"
#include "redis/link_settings.hpp"

#include <boost/asio/post.hpp>
#include <openssl/crypto.h>

#include <algorithm>
#include <mutex>
#include <optional>
#include <utility>

namespace colock {

namespace {

/// Longer is as good as without end, and the sum with the time of now does not overflow.
constexpr std::chrono::hours longest_validity{24 * 3'650};

constexpr char const* failed_by_exception =
    " threw an exception; its text may contain a secret and is not shown. Remedy: a provider that "
    "completes with an error_code, whose message is shown";

}  // namespace

/// The provider's handler and the query share this. The handler may outlive the query.
struct credential_query::question {
    std::mutex lock;
    std::optional<strand_type> to;  ///< none: answered, or nobody waits for the answer any more
    credential_query* asker;        ///< used on the strand alone
    std::weak_ptr<void> life;

    bool is_open()
    {
        std::lock_guard const locked{lock};
        return to.has_value();
    }

    /// The lock keeps the execution context alive: the query cancels before the context ends.
    static void answer(std::shared_ptr<question> const& self, result what)
    {
        std::lock_guard const locked{self->lock};
        if (auto const strand = std::exchange(self->to, std::nullopt))
            asio::post(*strand, [self, what = std::move(what)]() mutable {
                auto const client = self->life.lock();
                if (client && self->asker)
                    self->asker->complete(std::move(what));
            });
    }
};

credential_query::credential_query(link_context const& context, purpose what_for)
    : context_{context}
    , purpose_{what_for}
    , limit_{[this] {
        complete(
            {" did not answer within config::connect_timeout (" +
             std::to_string(connect_limit(context_.settings).count()) +
             " ms). Remedy: a provider that has the credentials ready, or a longer limit"}
        );
    }}
{}

/// On the thread of the provider's.
credential_query::result credential_query::judge(error_code ec, credentials got)
{
    if (ec)
        return {" failed: " + ec.message() + ". Remedy: look at what issues the credentials"};
    auto expires = never;
    if (got.valid_for) {
        if (*got.valid_for <= milliseconds{0})
            return {
                " gave credentials that have expired. Remedy: a provider that gets new ones "
                "before"};
        expires = clock::now() + std::min<milliseconds>(*got.valid_for, longest_validity);
    }
    return {{}, std::move(got), expires};
}

void credential_query::start(address const& server, on_result done)
{
    cancel();
    auto const& c = context_.settings;
    bool const for_servers = purpose_ == purpose::servers;
    auto const& provider = for_servers ? c.credentials : c.sentinel_credentials;
    auto const& username = for_servers ? c.username : c.sentinel_username;
    if (!provider)
        return done({{}, {username, for_servers ? c.password : c.sentinel_password}, never});
    done_ = std::move(done);
    asked_ = std::make_shared<question>();
    asked_->to = context_.strand;
    asked_->asker = this;
    asked_->life = context_.life;
    context_.set_alarm(limit_, clock::now() + connect_limit(c));
    auto act =
        [provider, asked = asked_, wanted = credentials_request{server, username}]() mutable {
            if (!asked->is_open())
                return;
            try {
                provider(std::move(wanted), [asked](error_code ec, credentials got) {
                    question::answer(asked, judge(ec, std::move(got)));
                });
            } catch (...) {
                question::answer(asked, {failed_by_exception});
            }
        };
    asio::post(context_.strand.get_inner_executor(), std::move(act));
}

void credential_query::complete(result got)
{
    bool const for_servers = purpose_ == purpose::servers;
    auto const done = std::exchange(done_, nullptr);
    cancel();
    if (!got.words.empty())
        got.words.insert(0, for_servers ? "config::credentials" : "config::sentinel_credentials");
    if (got.found.username.empty()) {
        auto const& c = context_.settings;
        got.found.username = for_servers ? c.username : c.sentinel_username;
    }
    done(std::move(got));
}

void credential_query::cancel() noexcept
{
    limit_.clear();
    auto const asked = std::exchange(asked_, nullptr);
    if (!asked)
        return;
    asked->asker = nullptr;
    std::lock_guard const locked{asked->lock};
    asked->to.reset();
}

void wipe(credentials& old) noexcept
{
    ::OPENSSL_cleanse(old.password.data(), old.password.size());
    old = {};
}

}  // namespace colock
