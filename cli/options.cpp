// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "arguments.hpp"
#include "help.hpp"
#include "messages.hpp"
#include "options.hpp"
#include "status.hpp"
#include "text.hpp"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>

namespace cli {

namespace {

/// Help as `help.hpp` has it: the usage line is the one that wrong usage shows, too.
class formatter final : public CLI::Formatter {
public:
    std::string make_usage(CLI::App const* app, std::string) const override
    {
        return "Usage: " + std::string{help_of(app->get_name()).usage} + "\n";
    }
};

/// The words behind the first `--` of `run` or `elect`, which CLI11 is not to read.
std::vector<std::string> take_program(std::vector<std::string>& words)
{
    auto const command = std::ranges::find_if(words, [](std::string const& word) {
        return word == "run" || word == "elect";
    });
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
    auto const say = command == "run" || command == "elect" ? remark : complain;
    say(name + ": " + why);
    say("Usage: " + std::string{help.usage});
    say("'" + name + " --help' says more.");
    std::exit(status_usage);
}

/// `rest` begins with the mark, if there is one. A key that looks like an option stands behind a
/// mark of its own.
void settle_program(options& o, std::vector<std::string> rest, bool has_extra)
{
    if (rest.empty())
        refuse(
            o.command,
            has_extra || !o.key.empty() ? "there is no '--' before the command to run"
                                        : "KEY is missing"
        );
    rest.erase(rest.begin());
    if (o.key.empty()) {
        if (rest.size() < 2 || rest[1] != "--")
            refuse(o.command, "KEY is missing (one that begins with '-' stands between two '--')");
        o.key = rest.front();
        rest.erase(rest.begin(), rest.begin() + 2);
        if (auto const why = complaint_about_key(o.key); !why.empty())
            refuse(o.command, why);
    }
    if (rest.empty() || rest.front().empty())
        refuse(o.command, "CMD is missing: there is nothing to run behind '--'");
    o.program = std::move(rest);
}

void check_together(options const& o)
{
    if (o.certificate_file.empty() != o.private_key_file.empty())
        refuse(o.command, "--tls-cert and --tls-key go together");
    if (o.at_least != milliseconds{0} && o.kind == lock_kind::read)
        refuse(o.command, "--at-least and --kind read do not go together");
}

/// With a page, the word is a pattern; else it is a key, and may not be missing.
void settle_watch(options& o)
{
    if (o.command != "watch")
        return;
    if (!o.web_port) {
        if (o.key.empty())
            refuse(o.command, "KEY is required");
        return;
    }
    if (!o.key.empty())
        o.pattern = std::exchange(o.key, {});
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

/// The words behind an option that does not exist are left over as well, and are not to blame.
std::string said_of_extras(std::vector<std::string> const& left, std::string otherwise)
{
    auto const wrong =
        std::ranges::find_if(left, [](auto const& each) { return each.starts_with('-'); });
    return wrong == left.end() ? std::move(otherwise) : "there is no option " + shown(*wrong);
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
    add_commands(app, o);

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
        o.command = command_in(app);
        if (o.runs_program() && program.empty())
            settle_program(o, {}, true);
        refuse(command_in(app), said_of_extras(app.remaining(true), e.what()));
    } catch (CLI::RequiredError const& e) {
        auto const command = command_in(app);
        if (!command.empty())
            refuse(command, e.what());
        refuse(
            "",
            (argc > 1 ? shown(argv[1]) + " is no command: " : std::string{"which command? "}) +
                "run, elect, acquire, release, info, ls, watch, unlock, doctor or bench"
        );
    } catch (CLI::ParseError const& e) {
        refuse(command_in(app), e.what());
    }
    if (is_help)
        std::exit(status_ok);
    if (o.runs_program())
        settle_program(o, std::move(program), false);
    check_together(o);
    settle_watch(o);
    return o;
}

}  // namespace cli
