// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A tracer whose spans stay in memory, and a scripted client.
#pragma once

#include <colock/otel.hpp>
#include <colock/testing/scripted_client.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <opentelemetry/exporters/memory/in_memory_span_exporter_factory.h>
#include <opentelemetry/sdk/trace/simple_processor_factory.h>
#include <opentelemetry/sdk/trace/span_data.h>
#include <opentelemetry/sdk/trace/tracer_provider.h>
#include <opentelemetry/sdk/trace/tracer_provider_factory.h>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace colock::test {

namespace asio = boost::asio;
namespace trace = opentelemetry::trace;
using namespace std::chrono_literals;
using span_ptr = opentelemetry::nostd::shared_ptr<trace::Span>;

template <class Id>
std::string hex(Id const& id)
{
    char text[2 * Id::kSize];
    id.ToLowerBase16(text);
    return {text, sizeof text};
}

struct identity {
    std::string trace, span;
    bool is_valid;
};

inline identity id_of(trace::SpanContext const& of)
{
    return {hex(of.trace_id()), hex(of.span_id()), of.IsValid()};
}
inline identity id_of(span_ptr const& of) { return id_of(of->GetContext()); }

/// A span that has ended.
struct exported {
    std::string name, trace, span, parent;
    std::string links;  ///< the spans
    trace::SpanKind kind;
    trace::StatusCode status;
    std::chrono::nanoseconds begin, end;
    std::vector<std::pair<std::string, std::string>> attributes;

    /// Of the attribute; empty if there is none.
    std::string text(std::string const& of) const
    {
        auto const at =
            std::ranges::find(attributes, of, &std::pair<std::string, std::string>::first);
        return at == attributes.end() ? "" : at->second;
    }
};

inline std::string names_of(std::vector<exported> const& spans)
{
    std::string names;
    for (auto const& each : spans)
        names += (names.empty() ? "" : " ") + each.name;
    return names;
}

inline exported exported_from(opentelemetry::sdk::trace::SpanData const& from)
{
    exported made{
        std::string{from.GetName()},
        hex(from.GetTraceId()),
        hex(from.GetSpanId()),
        hex(from.GetParentSpanId()),
        {},
        from.GetSpanKind(),
        from.GetStatus(),
        from.GetStartTime().time_since_epoch(),
        from.GetStartTime().time_since_epoch() + from.GetDuration(),
        {}};
    for (auto const& each : from.GetLinks())
        made.links += hex(each.GetSpanContext().span_id());
    for (auto const& [name, value] : from.GetAttributes()) {
        if (auto const* const text = opentelemetry::nostd::get_if<std::string>(&value))
            made.attributes.emplace_back(name, *text);
        if (auto const* const number = opentelemetry::nostd::get_if<std::int64_t>(&value))
            made.attributes.emplace_back(name, std::to_string(*number));
        if (auto const* const number = opentelemetry::nostd::get_if<std::int32_t>(&value))
            made.attributes.emplace_back(name, std::to_string(*number));
    }
    return made;
}

inline trace::StartSpanOptions child_of(span_ptr const& parent)
{
    trace::StartSpanOptions options;
    options.parent = parent->GetContext();
    return options;
}

/// Keeps the spans that have ended.
class exporter {
public:
    exporter()
    {
        namespace sdk = opentelemetry::sdk::trace;
        using opentelemetry::exporter::memory::InMemorySpanExporterFactory;
        provider_ = sdk::TracerProviderFactory::Create(
            sdk::SimpleSpanProcessorFactory::Create(InMemorySpanExporterFactory::Create(spans_))
        );
    }

    opentelemetry::nostd::shared_ptr<trace::Tracer> tracer() const
    {
        return provider_->GetTracer("colock");
    }

    /// Those since the last call, in the order of their ends.
    std::vector<exported> take()
    {
        std::vector<exported> made;
        for (auto const& each : spans_->GetSpans())
            made.push_back(exported_from(*each));
        return made;
    }

private:
    std::shared_ptr<opentelemetry::exporter::memory::InMemorySpanData> spans_;
    std::shared_ptr<trace::TracerProvider> provider_;
};

struct tracing {
    static config settings()
    {
        auto made = testing::scripted_client::quiet();
        made.addresses = {{"redis.internal", 6380}};
        made.database = 2;
        return made;
    }

    /// Those since the last call, which `all` gets, too.
    std::vector<exported> ended()
    {
        auto made = memory.take();
        all.insert(all.end(), made.begin(), made.end());
        return made;
    }

    exporter memory;
    opentelemetry::nostd::shared_ptr<trace::Tracer> to = memory.tracer();
    span_ptr request = to->StartSpan("request");
    otel::tracer traces{settings(), to};
    testing::scripted_client redis{settings()};
    std::vector<exported> all;
};

}  // namespace colock::test
