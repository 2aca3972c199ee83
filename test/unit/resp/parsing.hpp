// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

#include "resp/parser.hpp"

#include <algorithm>
#include <cstring>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

namespace colock::test {

/// A value in a readable form: 5, 'text', !ERR error, nil, [a list].
inline std::string shown(decide::reply const& r)
{
    using kind = decide::reply::kind;
    switch (r.what) {
    case kind::nil: return "nil";
    case kind::integer: return std::to_string(r.number);
    case kind::text: return "'" + r.text + "'";
    case kind::error: return "!" + r.text;
    case kind::list: break;
    }
    std::string all = "[";
    for (auto const& each : r.items)
        all += (all.size() == 1 ? "" : " ") + shown(each);
    return all + "]";
}

inline std::string shown(resp::message const& m)
{
    return (m.is_push() ? ">" : "") + shown(resp::to_reply(m));
}

/// What became of some bytes.
struct parsed {
    std::vector<std::string> messages;
    bool is_broken = false;
    bool has_partial = false;

    bool operator==(parsed const&) const = default;

    friend std::ostream& operator<<(std::ostream& out, parsed const& p)
    {
        for (auto const& each : p.messages)
            out << each << "; ";
        return out << (p.is_broken ? "broken" : p.has_partial ? "partial" : "whole");
    }
};

/// Lets a parser read bytes as they come from a socket, in pieces.
class feeder {
public:
    explicit feeder(resp::limits most = {}) : parser_{most} {}

    void feed(std::string_view piece)
    {
        while (!piece.empty() && !seen_.is_broken) {
            auto const room = parser_.prepare();
            auto const size = std::min(room.size(), piece.size());
            std::memcpy(room.data(), piece.data(), size);
            parser_.commit(size);
            piece.remove_prefix(size);
            parse();
        }
    }

    parsed const& seen() const noexcept { return seen_; }
    resp::parser& parser() noexcept { return parser_; }

private:
    void parse()
    {
        auto found = parser_.next();
        for (; found == resp::parser::outcome::message; found = parser_.next())
            seen_.messages.push_back(shown(parser_.last()));
        seen_.is_broken = found == resp::parser::outcome::broken;
        seen_.has_partial = !seen_.is_broken && parser_.has_partial();
    }

    resp::parser parser_;
    parsed seen_;
};

/// All at once.
inline parsed parse(std::string_view bytes, resp::limits most = {})
{
    feeder f{most};
    f.feed(bytes);
    return f.seen();
}

/// In pieces of this size.
inline parsed parse_in_pieces(std::string_view bytes, std::size_t size, resp::limits most = {})
{
    feeder f{most};
    for (std::size_t i = 0; i < bytes.size(); i += size)
        f.feed(bytes.substr(i, size));
    return f.seen();
}

/// In two pieces.
inline parsed parse_cut(std::string_view bytes, std::size_t at, resp::limits most = {})
{
    feeder f{most};
    f.feed(bytes.substr(0, at));
    f.feed(bytes.substr(at));
    return f.seen();
}

/// Whole messages, with nothing left.
inline parsed whole(std::vector<std::string> messages) { return {std::move(messages)}; }

}  // namespace colock::test
