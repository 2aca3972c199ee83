// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include <cstdint>
#include <ostream>
#include <span>
#include <string_view>

namespace colock::test {

/// Writes one operation of a history for the outside checker: README.md says what each field means.
/// What it is given needs no escapes.
class operation_line {
public:
    operation_line(std::ostream& to, std::string_view op, std::string_view name) : to_{to}
    {
        to_ << R"({"op":")" << op << '"';
        if (!name.empty())
            with("name", name);
    }
    operation_line(operation_line const&) = delete;
    operation_line& operator=(operation_line const&) = delete;
    ~operation_line() { to_ << "}\n"; }

    operation_line& with(std::string_view field, std::string_view text)
    {
        begin(field) << '"' << text << '"';
        return *this;
    }
    operation_line& with(std::string_view field, std::int64_t number)
    {
        begin(field) << number;
        return *this;
    }
    /// What isn't so needs no word.
    operation_line& if_so(std::string_view field, bool is_so)
    {
        if (is_so)
            begin(field) << "true";
        return *this;
    }
    operation_line& tokens(std::span<std::uint64_t const> all)
    {
        begin("tokens");
        char before = '[';
        for (auto const each : all) {
            to_ << before << each;
            before = ',';
        }
        to_ << ']';
        return *this;
    }

private:
    std::ostream& begin(std::string_view field) { return to_ << ",\"" << field << "\":"; }

    std::ostream& to_;
};

}  // namespace colock::test
