// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <colock/config.hpp>
#include <colock/error.hpp>

#include <array>
#include <cstdint>
#include <opentelemetry/common/attribute_value.h>
#include <opentelemetry/nostd/string_view.h>
#include <string>
#include <utility>
#include <vector>

// The server in spans and metrics, by OpenTelemetry's conventions for databases.
namespace colock {
inline namespace v0_3 {
namespace otel {
/// \cond
namespace detail {

using text = opentelemetry::nostd::string_view;
using attributes = std::vector<std::pair<text, opentelemetry::common::AttributeValue>>;

inline text view(std::string const& s) { return {s.data(), s.size()}; }

/// Names an error for `error.type`, which has few values.
inline std::string error_type(error_code ec)
{
    static constexpr std::array<std::pair<error, char const*>, 18> names{
        {{error::closed, "closed"},
         {error::lost, "lost"},
         {error::not_held, "not_held"},
         {error::wrong_type, "wrong_type"},
         {error::invalid_argument, "invalid_argument"},
         {error::not_replicated, "not_replicated"},
         {error::no_quorum, "no_quorum"},
         {error::server_refused, "server_refused"},
         {error::unavailable, "unavailable"},
         {error::bad_reply, "bad_reply"},
         {error::unsupported, "unsupported"},
         {error::invalid_tls, "invalid_tls"},
         {error::tls_refused, "tls_refused"},
         {error::wrong_topology, "wrong_topology"},
         {error::invalid_config, "invalid_config"},
         {error::would_deadlock, "would_deadlock"},
         {error::no_hash_tag, "no_hash_tag"},
         {error::claim_gone, "claim_gone"}}};
    for (auto const& [code, name] : names)
        if (ec == code)
            return name;
    return std::string{ec.category().name()} + ':' + std::to_string(ec.value());
}

class database {
public:
    explicit database(config const& settings) : namespace_{std::to_string(settings.database)}
    {
        if (settings.addresses.size() != 1)  // which one answers is not known here
            return;
        auto const& only = settings.addresses.front();
        server_ = only.unix_socket.empty() ? only.host : only.unix_socket;
        if (only.unix_socket.empty())
            port_ = only.port;
    }

    /// The texts are valid as long as this lives.
    attributes about(char const* operation) const
    {
        attributes all{
            {"db.system.name", "redis"},
            {"db.operation.name", operation},
            {"db.namespace", view(namespace_)}};
        if (!server_.empty())
            all.emplace_back("server.address", view(server_));
        if (port_ != 0)
            all.emplace_back("server.port", port_);
        return all;
    }

private:
    std::string namespace_, server_;
    std::int32_t port_ = 0;
};

}  // namespace detail
/// \endcond
}  // namespace otel
}  // namespace v0_3
}  // namespace colock
