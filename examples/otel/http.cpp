// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// An HTTP server that takes a lock for each request, with a trace of each request: the spans of
// colock belong to that of the request. It answers until SIGTERM.
//
//     traced_http URL FILE        redis://..., and the file of the spans; prints its port
#include <colock/colock.hpp>
#include <colock/otel.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <opentelemetry/context/propagation/text_map_propagator.h>
#include <opentelemetry/exporters/ostream/span_exporter_factory.h>
#include <opentelemetry/sdk/trace/simple_processor_factory.h>
#include <opentelemetry/sdk/trace/tracer_provider.h>
#include <opentelemetry/sdk/trace/tracer_provider_factory.h>
#include <opentelemetry/trace/propagation/http_trace_context.h>
#include <opentelemetry/trace/provider.h>
#include <stdexcept>
#include <string>
#include <utility>

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
namespace trace = opentelemetry::trace;
using asio::ip::tcp;
using namespace std::chrono_literals;
using http_request = http::request<http::string_body>;
using response = http::response<http::string_body>;
using span_ptr = opentelemetry::nostd::shared_ptr<trace::Span>;

trace::StartSpanOptions options(opentelemetry::context::Context parent, trace::SpanKind kind)
{
    trace::StartSpanOptions made;
    made.parent = std::move(parent);
    made.kind = kind;
    return made;
}

opentelemetry::nostd::shared_ptr<trace::Tracer> shop()
{
    return trace::Provider::GetTracerProvider()->GetTracer("shop");
}

// ---- The request's own span
// ----------------------------------------------------------------------

/// The header `traceparent` of a request, by which the caller names its span.
class headers final : public opentelemetry::context::propagation::TextMapCarrier {
public:
    explicit headers(http_request const& of) : of_{of} {}

    opentelemetry::nostd::string_view Get(opentelemetry::nostd::string_view name
    ) const noexcept override
    {
        auto const found = of_[{name.data(), name.size()}];
        return {found.data(), found.size()};
    }

    void Set(opentelemetry::nostd::string_view, opentelemetry::nostd::string_view) noexcept override
    {}

private:
    http_request const& of_;
};

span_ptr begin_request(http_request const& asked)
{
    trace::propagation::HttpTraceContext propagator;
    opentelemetry::context::Context nobody;
    auto const caller = propagator.Extract(headers{asked}, nobody);
    return shop()->StartSpan("POST /{user}", options(caller, trace::SpanKind::kServer));
}

// The client outlives all sessions, because the context has nothing left to run before main ends.
// NOLINTBEGIN(cppcoreguidelines-avoid-reference-coroutine-parameters)
asio::awaitable<void> sell(span_ptr parent, std::uint64_t /*token, for the shop's data*/)
{
    auto const span = shop()->StartSpan("sell", options({trace::kSpanKey, parent}, {}));
    asio::steady_timer work{co_await asio::this_coro::executor, 20ms};
    co_await work.async_wait(asio::deferred);
}

// [handler
/// One purchase of a user at a time. The wait, the hold and the release belong to the request.
asio::awaitable<http::status> buy(colock::lock lock, colock::otel::tracer traces, span_ptr request)
{
    using held = colock::otel::traced<colock::hold>;
    auto const work = [](held& mine) { return sell(mine.span(), mine->fencing_token()); };
    bool const done = co_await traces.under(request).with_lock_for(lock, 2s, work);
    co_return done ? http::status::ok : http::status::too_many_requests;
}
// handler]

asio::awaitable<void> serve(
    beast::tcp_stream stream, colock::client& redis, colock::otel::tracer traces
)
{
    stream.expires_after(10s);
    beast::flat_buffer buffer;
    http_request asked;
    co_await http::async_read(stream, buffer, asked, asio::use_awaitable);
    auto const span = begin_request(asked);
    colock::lock const lock{redis, "user:" + std::string{asked.target()}};
    response made{co_await buy(lock, traces, span), asked.version()};
    span->SetAttribute("http.response.status_code", made.result_int());
    made.keep_alive(false);
    made.prepare_payload();
    co_await http::async_write(stream, made, asio::use_awaitable);
    span->End();
}

asio::awaitable<void> accept(
    tcp::acceptor& door, colock::client& redis, colock::otel::tracer traces
)
{
    for (;;) {
        beast::tcp_stream stream{co_await door.async_accept(asio::use_awaitable)};
        asio::co_spawn(
            door.get_executor(), serve(std::move(stream), redis, traces), asio::detached
        );
    }
}
// NOLINTEND(cppcoreguidelines-avoid-reference-coroutine-parameters)

/// In a program of yours the exporter is that of your collector, and the processor is a batch's.
void write_spans_to(std::ostream& file)
{
    namespace sdk = opentelemetry::sdk::trace;
    std::shared_ptr<trace::TracerProvider> const provider =
        sdk::TracerProviderFactory::Create(sdk::SimpleSpanProcessorFactory::Create(
            opentelemetry::exporter::trace::OStreamSpanExporterFactory::Create(file)
        ));
    trace::Provider::SetTracerProvider(provider);
}

int main(int argc, char** argv)
try {
    if (argc != 3)
        throw std::invalid_argument{"usage: traced_http URL FILE"};
    std::ofstream file{argv[2]};
    write_spans_to(file);
    asio::io_context context;
    auto settings = colock::config::from_url(argv[1]);
    settings.observer = std::make_shared<colock::otel::meter>(settings);
    colock::client redis{context.get_executor(), settings};
    colock::otel::tracer const traces{settings};
    tcp::acceptor door{context, {asio::ip::address_v4::loopback(), 0}};
    asio::signal_set signals{context, SIGINT, SIGTERM};
    signals.async_wait([&](boost::system::error_code, int) {
        door.close();
        redis.close(asio::detached);
    });
    asio::co_spawn(context, accept(door, redis, traces), asio::detached);
    std::printf("%d\n", door.local_endpoint().port());
    std::fflush(stdout);
    context.run();
    trace::Provider::SetTracerProvider({});  // writes what is left
} catch (std::exception const& e) {
    std::fprintf(stderr, "%s\n", e.what());
    return 1;
}
