// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#include "picture.hpp"
#include "session.hpp"
#include "text.hpp"

#include <boost/json/array.hpp>

#include <algorithm>
#include <utility>

namespace cli {

namespace {

constexpr std::string_view write_side = ":write";

std::optional<std::int64_t> depth_of(reply const& r)
{
    return r.what == reply::kind::integer ? r.number : number_of<std::int64_t>(r.text);
}

}  // namespace

std::optional<owners> read_owners(reply const& hash)
{
    owners found;
    if (hash.what != reply::kind::list || hash.items.size() % 2 != 0)
        return {};
    for (std::size_t i = 0; i + 1 < hash.items.size(); i += 2) {
        auto const& field = hash.items[i].text;
        auto const& value = hash.items[i + 1];
        if (field == "mode" && (value.text == "read" || value.text == "write")) {
            found.mode = value.text;
            continue;
        }
        auto const depth = depth_of(value);
        if (!is_owner(field) || !depth)
            return {};
        found.all.push_back({field, {}, *depth});
    }
    if (found.all.empty())
        return {};
    if (!found.mode.empty())
        for (auto& each : found.all)
            each.side = each.field.ends_with(write_side) ? "write" : "read";
    std::ranges::sort(found.all, {}, &holder::field);
    return found;
}

// ---- Two pictures ------------------------------------------------------------------------------

std::vector<holder> those_who_went(picture const& before, picture const& now)
{
    std::vector<holder> found;
    for (auto const& h : before.holders)
        if (std::ranges::find(now.holders, h.field, &holder::field) == now.holders.end())
            found.push_back(h);
    return found;
}

// ---- For people --------------------------------------------------------------------------------

std::string shown(holder const& h)
{
    auto text = shown(h.field);
    if (h.side == "read")
        text += " (reads)";
    if (h.side == "write")
        text += " (writes)";
    if (h.depth != 1)
        text += ", " + counted(h.depth, "time");
    if (!h.label.empty())
        text += ", " + shown(h.label);
    if (h.held_for)
        text += ", for " + shown(*h.held_for);
    return text;
}

std::string summary(picture const& p)
{
    if (p.what != picture::content::lock)
        return "free";
    auto text = "held by " + shown(p.holders.front());
    if (p.holders.size() > 1)
        text += " and " + counted(static_cast<std::int64_t>(p.holders.size()) - 1, "other");
    return text + (p.lease ? ", lease " + shown(*p.lease) + " left" : ", without a lease");
}

// ---- For programs ------------------------------------------------------------------------------

std::string json_text(std::string const& text)
{
    return is_utf8(text) ? text : shown(text, text.size());
}

boost::json::object to_json(picture const& p)
{
    boost::json::object made{
        {"key", json_text(p.key)},
        {"locked", p.what == picture::content::lock},
        {"kind", nullptr},
        {"lease_ms", nullptr},
        {"holders", boost::json::array{}}};
    if (!p.kind.empty())
        made["kind"] = p.kind;
    if (p.lease)
        made["lease_ms"] = p.lease->count();
    auto& holders = made["holders"].as_array();
    for (auto const& h : p.holders) {
        boost::json::object one{{"owner", json_text(h.field)}, {"depth", h.depth}};
        if (!h.side.empty())
            one["side"] = h.side;
        if (!h.label.empty())
            one["label"] = json_text(h.label);
        if (h.held_for)
            one["held_ms"] = h.held_for->count();
        holders.push_back(std::move(one));
    }
    if (p.more_holders != 0)
        made["more_holders"] = p.more_holders;
    if (p.listeners)
        made["waiting_clients"] = *p.listeners;
    if (!p.queue.empty()) {
        auto& queue = (made["queue"] = boost::json::array{}).as_array();
        for (auto const& field : p.queue)
            queue.push_back(boost::json::value(json_text(field)));
    }
    return made;
}

bool shows_no_lock(reply const& scanned)
{
    if (scanned.items.size() != 2 || scanned.items[1].items.empty())
        return false;
    auto const& fields = scanned.items[1];
    // A single field of several may be that of the mode.
    bool const tells = scanned.items[0].text == "0" || fields.items.size() > 2;
    return tells && !read_owners(fields);
}

// ---- While waiting -----------------------------------------------------------------------------

void holder_names::refresh(session& from, std::string const& key, std::function<void()> on_no_lock)
{
    // One of them is enough, and what is no lock may have millions of fields.
    std::vector<std::string> scan{"HSCAN", key, "0", "COUNT", "16"};
    from.server().ask(
        key,
        std::move(scan),
        [text = text_, on_no_lock = std::move(on_no_lock)](error_code ec, reply const& answer) {
            bool const is_known = !ec && answer.items.size() == 2;
            auto const found = is_known ? read_owners(answer.items[1]) : std::nullopt;
            *text = found ? ", held by " + shown(found->all.front()) : "";
            if (is_known && shows_no_lock(answer))
                on_no_lock();
        }
    );
}

}  // namespace cli
