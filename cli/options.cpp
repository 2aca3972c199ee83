// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "help.hpp"
#include "options.hpp"
#include "status.hpp"
#include "text.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

namespace cli {

namespace {

constexpr std::size_t longest_key = 10'000;

/// Help as `help.hpp` has it: the usage line is the one that wrong usage shows, too.
class formatter final : public CLI::Formatter {
public:
    std::string make_usage(CLI::App const* app, std::string) const override
    {
        return "Usage: " + std::string{help_of(app->get_name()).usage} + "\n";
    }
};

/// What a value has to be, for CLI11: empty if it is that, else what is wrong.
std::string complaint_about_key(std::string const& key)
{
    if (key.empty())
        return "KEY is empty: a lock has a name of 1 to 10,000 bytes";
    if (key.size() > longest_key)
        return "KEY has " + std::to_string(key.size()) + " bytes: a lock's name has at most 10,000";
    return {};
}

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

void add_deployment(CLI::App& app, options& o)
{
    auto const add = [&](char const* name, std::string& into, char const* what, char const* type) {
        app.add_option(name, into, what)->type_name(type)->group("Server");
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

void add_json(CLI::App& app, options& o)
{
    app.add_flag("--json", o.json, "for programs: one JSON object a line");
}

void add_run(CLI::App& app, options& o)
{
    auto& run = *add_command(app, o, "run");
    run.add_option("KEY", o.key, "the name of the lock")->check(complaint_about_key);
    add_duration(
        run,
        "--wait",
        [&o](milliseconds d) { o.wait = d; },
        "how long to wait for the lock; 0 tries once (without end)"
    );
    add_duration(
        run,
        "--lease",
        [&o](milliseconds d) { o.lease = d; },
        "how long the lock outlives colock; renewed while CMD runs (30s)",
        milliseconds{100}
    );
    static std::map<std::string, lock_kind> const kinds{
        {"lock", lock_kind::lock},
        {"fair", lock_kind::fair},
        {"read", lock_kind::read},
        {"write", lock_kind::write},
        {"spin", lock_kind::spin},
        {"fenced", lock_kind::fenced}};
    static std::map<std::string, on_lost> const ways{
        {"term", on_lost::term}, {"kill", on_lost::kill}, {"ignore", on_lost::ignore}};
    auto const one_of = [](auto const& map, auto& into) {
        return [&map, &into](std::string const& word) {
            auto const at = map.find(word);
            if (at != map.end()) {
                into = at->second;
                return;
            }
            std::string all;
            for (auto const& [name, value] : map)
                all += (all.empty() ? "" : ", ") + name;
            throw CLI::ValidationError(shown(word) + " is none of " + all);
        };
    };
    run.add_option_function<std::string>("--kind", one_of(kinds, o.kind), "which lock (lock)")
        ->type_name("lock|fair|read|write|spin|fenced");
    run.add_option(
           "--conflict-exit-code", o.conflict_status, "what to exit with when the wait is over (75)"
    )
        ->type_name("N")
        ->check(CLI::Range(0, 255));
    run.add_option_function<std::string>(
           "--on-lost", one_of(ways, o.when_lost), "what CMD gets when the lock is lost (term)"
    )
        ->type_name("term|kill|ignore");
    add_duration(
        run, "--grace", [&o](milliseconds d) { o.grace = d; }, "from SIGTERM to SIGKILL then (5s)"
    );
    run.add_flag("-q,--quiet", o.quiet, "say nothing while waiting");
    run.add_flag("-v,--verbose", o.verbose, "say what happens");
}

void add_all(CLI::App& app, options& o)
{
    add_run(app, o);
    for (char const* name : {"info", "watch", "unlock"}) {
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
    add_json(*add_command(app, o, "doctor"), o);

    auto& load = *add_command(app, o, "bench");
    bench::add_options(load, o.load);
    add_json(load, o);
}

/// The words behind the first `--` of `run`, which CLI11 is not to read.
std::vector<std::string> take_program(std::vector<std::string>& words)
{
    auto const command = std::ranges::find(words, "run");
    if (command == words.end() ||
        std::any_of(words.begin(), command, [](auto const& w) { return w == "--"; }))
        return {};
    auto const mark = std::find(command, words.end(), "--");
    std::vector<std::string> program{mark, words.end()};
    words.erase(mark, words.end());
    return program;
}

[[noreturn]] void refuse(std::string const& command, std::string const& why)
{
    auto const& help = help_of(command);
    auto const name = command.empty() || command == "colock" ? "colock" : "colock " + command;
    complain(name + ": " + why);
    complain("Usage: " + std::string{help.usage});
    complain("'" + name + " --help' says more.");
    std::exit(status_usage);
}

/// `rest` begins with the mark, if there is one. A key that looks like an option stands behind a
/// mark of its own.
void settle_program(options& o, std::vector<std::string> rest, bool has_extra)
{
    if (rest.empty())
        refuse(
            "run",
            has_extra || !o.key.empty() ? "there is no '--' before the command to run"
                                        : "KEY is missing"
        );
    rest.erase(rest.begin());
    if (o.key.empty()) {
        if (rest.size() < 2 || rest[1] != "--")
            refuse("run", "KEY is missing (one that begins with '-' stands between two '--')");
        o.key = rest.front();
        rest.erase(rest.begin(), rest.begin() + 2);
        if (auto const why = complaint_about_key(o.key); !why.empty())
            refuse("run", why);
    }
    if (rest.empty() || rest.front().empty())
        refuse("run", "CMD is missing: there is nothing to run behind '--'");
    o.program = std::move(rest);
}

void check_together(options const& o)
{
    if (o.certificate_file.empty() != o.private_key_file.empty())
        refuse(o.command, "--tls-cert and --tls-key go together");
}

/// Others see the words of a process; a password in them is not for them.
void blank_out(int argc, char** argv)
{
    for (int i = 1; i < argc && std::string_view{argv[i]} != "--"; ++i) {
        std::string_view const word{argv[i]};
        auto const begin = word.find("://");
        auto const end = word.rfind('@');
        if (begin == word.npos || end == word.npos || end < begin)
            continue;
        std::fill(argv[i] + begin + 3, argv[i] + end, '*');
    }
}

std::string command_in(CLI::App const& app)
{
    auto const chosen = app.get_subcommands();
    return chosen.empty() ? std::string{} : chosen.front()->get_name();
}

}  // namespace

options read_options(int argc, char** argv)
{
    options o;
    CLI::App app{std::string{help_of("").about}, "colock"};
    app.formatter(std::make_shared<formatter>());
    app.footer(std::string{help_of("").more});
    app.set_version_flag("--version", "colock " COLOCK_VERSION);
    app.require_subcommand(1);
    add_all(app, o);

    std::vector<std::string> words(argv + 1, argv + argc);
    blank_out(argc, argv);
    auto program = take_program(words);
    bool is_help = false;
    try {
        std::ranges::reverse(words);  // as CLI11 wants them
        app.parse(words);
    } catch (CLI::Success const& asked) {
        is_help = true;
        app.exit(asked);
    } catch (CLI::ExtrasError const& e) {
        if (command_in(app) == "run" && program.empty())
            settle_program(o, {}, true);
        refuse(command_in(app), e.what());
    } catch (CLI::RequiredError const& e) {
        auto const command = command_in(app);
        if (!command.empty())
            refuse(command, e.what());
        refuse(
            "",
            (argc > 1 ? shown(argv[1]) + " is no command: " : std::string{"which command? "}) +
                "run, info, ls, watch, unlock, doctor or bench"
        );
    } catch (CLI::ParseError const& e) {
        refuse(command_in(app), e.what());
    }
    if (is_help)
        std::exit(status_ok);
    if (o.command == "run")
        settle_program(o, std::move(program), false);
    check_together(o);
    return o;
}

}  // namespace cli
