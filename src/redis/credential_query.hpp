#pragma once

#include "base/clock.hpp"
#include "decide/alarm_queue.hpp"
#include "redis/link_context.hpp"
#include <colock/config.hpp>
#include <colock/error.hpp>

#include <functional>
#include <memory>
#include <string>

namespace colock {

/// Gets the credentials for one connection: those of the config, or what its provider gives.
///
/// The provider is code of the user's. It runs outside of the strand, may answer from any thread
/// and at any time, and may fail in every way. The strand sees one result, in time.
class credential_query {
public:
    enum class purpose { servers, sentinels };

    struct result {
        std::string words{};  ///< why there are none, with a remedy; empty: there are some
        credentials found{};
        time_point expires = never;
    };
    using on_result = std::function<void(result)>;

    credential_query(link_context const& context, purpose what_for);
    ~credential_query() { cancel(); }
    credential_query(credential_query const&) = delete;
    credential_query& operator=(credential_query const&) = delete;

    /// Begins again. `done` is called once, on the strand, within this call only if there is no
    /// provider. It may destroy this.
    void start(address const& server, on_result done);
    void cancel() noexcept;

private:
    struct question;

    static result judge(error_code, credentials);
    void complete(result);

    link_context const& context_;
    purpose purpose_;
    on_result done_;
    std::shared_ptr<question> asked_;
    decide::alarm_queue::alarm limit_;
};

/// Overwrites the password in memory.
void wipe(credentials&) noexcept;

}  // namespace colock
