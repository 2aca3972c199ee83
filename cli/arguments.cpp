// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "arguments.hpp"
#include "help.hpp"
#include "text.hpp"

#include <CLI/CLI.hpp>
#include <boost/asio/ip/address.hpp>

#include <functional>
#include <map>
#include <utility>

namespace cli {

namespace {

constexpr std::size_t longest_key = 10'000;

/// An option that takes a duration of at least so much.
void add_duration(
    CLI::App& app,
    std::string const& name,
    std::function<void(milliseconds)> take,
    std::string const& what,
    milliseconds least = milliseconds{0}
)
{
    auto const read = [name, take = std::move(take), least](std::string const& text) {
        auto const d = read_duration(text);
        if (!d)
            throw CLI::ValidationError(
                name, shown(text) + " is no duration: write 500ms, 2s, 1m, 1h or plain seconds"
            );
        if (*d < least)
            throw CLI::ValidationError(
                name, shown(text) + " is too short: at least " + shown(least)
            );
        take(*d);
    };
    app.add_option_function<std::string>(name, read, what)->type_name("DURATION");
}

/// Takes one of the words that the map has.
template <class T, class Into>
void add_choice(
    CLI::App& app,
    std::string const& name,
    std::map<std::string, T> const& words,
    Into& into,
    std::string const& what,
    std::string const& type
)
{
    auto const read = [words, &into](std::string const& word) {
        auto const at = words.find(word);
        if (at != words.end()) {
            into = at->second;
            return;
        }
        std::string all;
        for (auto const& [each, value] : words)
            all += (all.empty() ? "" : ", ") + each;
        throw CLI::ValidationError(shown(word) + " is none of " + all);
    };
    app.add_option_function<std::string>(name, read, what)->type_name(type);
}

std::map<std::string, colock::durability> const profiles{
    {"none", colock::durability::none},
    {"replica", colock::durability::replica},
    {"majority", colock::durability::majority},
    {"all", colock::durability::all},
    {"disk", colock::durability::disk}};

/// A script whose variable is not set means another server than the default one.
std::string complaint_if_empty(std::string const& text)
{
    return text.empty() ? "is empty: leave the option out, or give it a value" : "";
}

void add_deployment(CLI::App& app, options& o)
{
    auto const add = [&](char const* name, std::string& into, char const* what, char const* type) {
        app.add_option(name, into, what)
            ->type_name(type)
            ->group("Server")
            ->check(complaint_if_empty);
    };
    add("--url", o.url, "the server ($COLOCK_URL, else redis://127.0.0.1:6379)", "URL");
    add("--tls-ca", o.ca_file, "whom to trust with rediss:// (the system's authorities)", "FILE");
    add("--tls-cert", o.certificate_file, "what to show to a server that asks for it", "FILE");
    add("--tls-key", o.private_key_file, "the key of that", "FILE");
    add("--tls-name", o.server_name, "the name that the server's certificate has to have", "NAME");
    app.add_flag("--tls-insecure", o.insecure, "take any certificate: for tests")->group("Server");
    add_duration(
        app,
        "--connect-timeout",
        [&o](milliseconds d) { o.connect_timeout = d; },
        "how long to try to connect (5s)",
        milliseconds{1}
    );
    app.get_option("--connect-timeout")->group("Server");
    add_choice(
        app,
        "--durability",
        profiles,
        o.durability,
        "who must have each step of a lock, besides the primary's memory (none)",
        "none|replica|majority|all|disk"
    );
    app.get_option("--durability")->group("Server");
    app.add_option("--replicas", o.replicas, "how many replicas each primary has (what is seen)")
        ->type_name("N")
        ->group("Server")
        ->check(CLI::Range(0, 100));
}

std::string complaint_if_no_url(std::string const& text)
{
    return text.find("://") == text.npos ? shown(text) + " is no URL" : "";
}

CLI::App* add_command(CLI::App& app, options& o, std::string const& name)
{
    auto const& help = help_of(name);
    auto* const command = app.add_subcommand(name, std::string{help.about});
    command->footer(std::string{help.more});
    command->callback([&o, name] { o.command = name; });
    add_deployment(*command, o);
    return command;
}

void add_key(CLI::App& app, options& o)
{
    app.add_option("KEY", o.key, "the name of the lock")->required()->check(complaint_about_key);
}

std::string complaint_about_address(std::string const& text)
{
    boost::system::error_code ec;
    boost::asio::ip::make_address(text, ec);
    return ec ? shown(text) + " is no IP address: 127.0.0.1 for this machine, 0.0.0.0 for all" : "";
}

void add_json(CLI::App& app, options& o)
{
    app.add_flag("--json", o.json, "for programs: one JSON object a line");
}

std::map<std::string, lock_kind> const kinds{
    {"lock", lock_kind::lock},
    {"fair", lock_kind::fair},
    {"read", lock_kind::read},
    {"write", lock_kind::write},
    {"spin", lock_kind::spin},
    {"fenced", lock_kind::fenced}};

std::map<std::string, on_lost> const ways{
    {"term", on_lost::term}, {"kill", on_lost::kill}, {"ignore", on_lost::ignore}};

/// The options that `run` and `elect` share.
CLI::App& add_program(CLI::App& app, options& o, std::string const& name)
{
    auto& command = *add_command(app, o, name);
    command.add_option("KEY", o.key, "the name of the lock")->check(complaint_about_key);
    add_duration(
        command,
        "--lease",
        [&o](milliseconds d) { o.lease = d; },
        "how long the lock outlives colock; renewed while CMD runs (30s)",
        milliseconds{100}
    );
    auto const about_loss = "what CMD gets when the lock is lost (term)";
    add_choice(command, "--on-lost", ways, o.when_lost, about_loss, "term|kill|ignore");
    add_duration(
        command,
        "--grace",
        [&o](milliseconds d) { o.grace = d; },
        "from SIGTERM to SIGKILL then (5s)"
    );
    command.add_flag("-q,--quiet", o.quiet, "say nothing while waiting");
    command.add_flag("-v,--verbose", o.verbose, "say what happens");
    return command;
}

void add_run(CLI::App& app, options& o)
{
    auto& run = add_program(app, o, "run");
    add_duration(
        run,
        "--wait",
        [&o](milliseconds d) { o.wait = d; },
        "how long to wait for the lock; 0 tries once (without end)"
    );
    add_duration(
        run,
        "--at-least",
        [&o](milliseconds d) { o.at_least = d; },
        "how long the lock stays taken, also if CMD ends earlier or colock dies (0)"
    );
    add_choice(
        run, "--kind", kinds, o.kind, "which lock (lock)", "lock|fair|read|write|spin|fenced"
    );
    run.add_option(
           "--conflict-exit-code", o.conflict_status, "what to exit with when the wait is over (75)"
    )
        ->type_name("N")
        ->check(CLI::Range(0, 255));
}

void add_elect(CLI::App& app, options& o)
{
    auto& elect = add_program(app, o, "elect");
    elect.add_option("--say", o.words, "what everybody hears of the leader (host:pid)")
        ->type_name("WORDS");
}

void add_claim_file(CLI::App& command, options& o, char const* what)
{
    command.add_option("--claim-file", o.claim_file, what)
        ->type_name("FILE")
        ->check(complaint_if_empty);
}

void add_pair(CLI::App& app, options& o)
{
    auto& acquire = *add_command(app, o, "acquire");
    add_key(acquire, o);
    add_duration(
        acquire,
        "--lease",
        [&o](milliseconds d) { o.lease = d; },
        "how long the lock stays taken if nobody releases it; nobody renews it",
        milliseconds{100}
    );
    acquire.get_option("--lease")->required();
    add_duration(
        acquire,
        "--wait",
        [&o](milliseconds d) { o.wait = d; },
        "how long to wait for the lock; 0 tries once (without end)"
    );
    std::map<std::string, lock_kind> const given{
        {"lock", lock_kind::lock}, {"spin", lock_kind::spin}, {"fenced", lock_kind::fenced}};
    add_choice(acquire, "--kind", given, o.kind, "which lock (lock)", "lock|spin|fenced");
    add_claim_file(acquire, o, "where to write the claim (standard output)");
    add_claim_file(*add_command(app, o, "release"), o, "where the claim is (standard input)");
}

void add_watch(CLI::App& app, options& o)
{
    auto& watch = *add_command(app, o, "watch");
    watch.add_option("KEY", o.key, "the name of the lock; of a page, a pattern as for ls (*)")
        ->check(complaint_about_key);
    auto* const json = watch.add_flag("--json", o.json, "for programs: one JSON object a line");
    auto* const web =
        watch
            .add_option(
                "--web", o.web_port, "show all locks on a page, on this port; 0 is a free one"
            )
            ->type_name("PORT")
            ->check(CLI::Range(0, 65'535))
            ->excludes(json);
    watch.add_option("--web-address", o.web_address, "where the page listens (127.0.0.1)")
        ->type_name("IP")
        ->check(complaint_about_address)
        ->needs(web);
}

void add_bench(CLI::App& app, options& o)
{
    auto& load = *add_command(app, o, "bench");
    load.footer(bench::list_of_workloads() + "\n\n" + std::string{help_of("bench").more});
    // On a server of others, a key should tell where it comes from.
    o.load.asked.key = "colock-bench";
    bench::add_options(load, o.load);
    add_json(load, o);
}

}  // namespace

std::string complaint_about_key(std::string const& key)
{
    if (key.empty())
        return "KEY is empty: a lock has a name of 1 to 10,000 bytes";
    if (key.size() > longest_key)
        return "KEY has " + std::to_string(key.size()) + " bytes: a lock's name has at most 10,000";
    // A key is printed, and seen by all who look at the server; a password may not be.
    auto const scheme = key.substr(0, std::min(key.find("://"), key.size()));
    bool const is_url =
        scheme.size() != key.size() && (scheme.starts_with("redis") || scheme == "unix");
    if (is_url && key.find('@') != key.npos)
        return "KEY is a URL with a password: the server's URL is given with --url or $COLOCK_URL";
    return {};
}

void add_commands(CLI::App& app, options& o)
{
    add_run(app, o);
    add_elect(app, o);
    add_pair(app, o);
    add_watch(app, o);
    for (char const* name : {"info", "unlock"}) {
        auto& command = *add_command(app, o, name);
        add_key(command, o);
        if (std::string{name} == "unlock")
            command.add_flag("-y,--yes", o.yes, "don't ask");
        else
            add_json(command, o);
    }
    auto& ls = *add_command(app, o, "ls");
    ls.add_option("PATTERN", o.pattern, "with *, ? and [...], as Redis has them (*)");
    add_json(ls, o);
    auto& doctor = *add_command(app, o, "doctor");
    add_json(doctor, o);
    doctor.add_flag(
        "--deadlocks", o.deadlocks, "look for clients that wait for each other instead"
    );
    add_choice(
        doctor,
        "--failovers",
        std::map<std::string, bool>{{"paused", true}, {"any", false}},
        o.are_failovers_paused,
        "whether failovers by hand pause the primary first (any)",
        "paused|any"
    );
    add_duration(
        doctor,
        "--lease",
        [&o](milliseconds d) { o.lease = d; },
        "the shortest lease of your locks (30s)",
        milliseconds{100}
    );
    doctor.add_option("URL", o.urls, "the servers, if there are several: those of a red lock")
        ->check(complaint_if_no_url);
    add_bench(app, o);
}

}  // namespace cli
