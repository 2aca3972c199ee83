#pragma once

#include "decide/alarm_queue.hpp"
#include "redis/credential_query.hpp"
#include "redis/exchange.hpp"
#include "redis/link_context.hpp"

#include <cstdint>
#include <string>

namespace colock {

/// Keeps a living connection logged in whose credentials expire.
///
/// It asks for new credentials when three quarters of their validity are over, and sends AUTH. If
/// the server refuses, it asks again with a growing pause, and has the connection replaced shortly
/// before the old credentials expire. If there are no new credentials, a new connection would not
/// come up either, so the old one is kept for as long as the server keeps it.
class reauthentication {
public:
    class listener {
    public:
        /// Sends AUTH. `done` is called with its reply, or with an error if the connection is lost.
        virtual void send_auth(credentials const&, exchange::on_replies done) = 0;

        /// For the log.
        virtual void report(std::string words) = 0;

        /// The connection is to end; a new one begins with new credentials.
        virtual void replace(error_code why) = 0;

    protected:
        ~listener() = default;
    };

    reauthentication(link_context const& context, listener& who);

    /// The connection to this server is up, with credentials that expire then.
    void begin(address const& server, time_point expires);

    /// The connection is gone.
    void end() noexcept;

private:
    void plan(time_point expires);
    void on_alarm();
    void authenticate(credential_query::result);
    void judge(error_code, replies const&);
    void try_again();

    link_context const& context_;
    listener& listener_;
    credential_query query_;
    address server_;
    decide::alarm_queue::alarm alarm_;
    credentials offered_;         ///< to the server, which has not answered yet
    time_point expires_ = never;  ///< of those
    time_point replace_at_ = never;
    std::uint32_t tries_ = 0;  ///< in vain
    bool is_refused_ = false;  ///< by the server, the last time
};

}  // namespace colock
