// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// A call for many locks does what a call for each of them does, also if one is of another type.
#include "simulation/tests/script_bench.hpp"

namespace colock::simulation {

namespace {

/// A script, and its keys and arguments for two locks; `front` stands before the arguments of both.
/// The key `z` holds a text.
struct call_for_two {
    scripts::script const& what;
    strings front, keys, more_keys, arguments, more_arguments;
};

strings together(strings a, strings const& b)
{
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

std::vector<call_for_two> calls_for_two()
{
    using namespace scripts;
    strings const none, f{"f", "fq", "ft", "fk"}, g{"g", "gq", "gt", "gk"};
    strings const a_fair{"a", "3000", "1", "c", "300000", "5000"},
        b_fair{"b", "4000", "64", "d", "200000", "4000"};
    auto const named = [](strings of, std::string const& field) {
        of.front() = field;
        return of;
    };
    auto const id = [](char last) { return std::string(15, 'i') + last; };
    return {
        {acquire,
         {""},
         {"z"},
         {"o"},
         {"a", "3000", "1", "w", "b:", "0"},
         {"b", "4000", "1", "v", "b:", ""}},
        {release, {"b:"}, {"z"}, {"o"}, {"a", "c", "w", ""}, {"b", "d", "v", "i:1"}},
        {read_acquire, none, {"z"}, {"o"}, {"a", "3000", "{z}"}, {"b", "4000", "{o}"}},
        {read_release, {"b:"}, {"z"}, {"o"}, {"a", "c", "w", "{z}"}, {"b", "d", "v", "{o}"}},
        {write_acquire,
         {""},
         {"z"},
         {"o"},
         {"a:write", "30", "1", "w", "b:", "0"},
         {"b:write", "40", "1", "", "", ""}},
        {write_release,
         {"b:"},
         {"z"},
         {"o"},
         {"a:write", "c", "w", "", ""},
         {"b:write", "d", "v", "i:1", ""}},
        {read_write_force,
         none,
         {"z"},
         {"o"},
         {"read", "c", "w", "b:", ""},
         {"read", "d", "v", "b:", ""}},
        {fair_acquire, {""}, named(f, "z"), named(g, "o"), a_fair, b_fair},
        {fair_release, none, named(f, "z"), named(g, "o"), {"a", "c", "3"}, {"b", "d", "2"}},
        {semaphore_acquire,
         none,
         {"z", "zt"},
         {"o", "ot"},
         {"2", "3", "50", "c", "w", "b:", "0", "x:1", ""},
         {"1", "4", "60", "d", "v", "b:", "", "", ""}},
        {permit_acquire,
         none,
         {"z", "zl"},
         {"o", "ol"},
         {id('a'), "50", "c", "w", "b:", "0", "x:1", ""},
         {id('b'), "60", "d", "v", "b:", "", "", ""}},
        {extend, none, {"z"}, {"o"}, {"a", "1", "50"}, {"b", "1", "60"}},
        {read_extend, none, {"z"}, {"o"}, {"a", "1", "50", "{z}"}, {"b", "1", "60", "{o}"}},
        {read_renew, none, {"z"}, {"o"}, {"a", "50", "{z}"}, {"b", "60", "{o}"}},
        {acquire,
         {"clock"},
         {"p", "n"},
         {"q", "m"},
         {"a", "3000", "1", "w", "b:", "0"},
         {"b", "4000", "64", "", "", ""}},
        {extend, none, {"p"}, {"q"}, {"a", "2", "5000"}, {"b", "3", "6000"}},
        {renew, none, {"p"}, {"q"}, {"a", "7000"}, {"b", "8000"}},
        {renew, none, {"x"}, {"q"}, {"a", "7000"}, {"b", "8100"}},
        {adopt, {"clock"}, {"p", "n"}, {"q", "m"}, {"a", "e", "7100"}, {"b", "g", "8200"}},
        {leader_publish,
         none,
         {"p", "pw"},
         {"q", "qw"},
         {"e", "7", "i", "60"},
         {"g", "8", "j", "70"}},
        {leader_read, none, {"p", "pw"}, {"q", "qw"}, none, none},
        {release, {"b:"}, {"x"}, {"q"}, {"e", "c", "w", ""}, {"g", "d", "v", "i:1"}},
        {force, none, {"x"}, {"p"}, {"c", "w", "b:"}, {"d", "v", "b:"}},
        {read_acquire, none, {"r"}, {"s"}, {"a", "3000", "{r}"}, {"b", "4000", "{s}"}},
        {read_extend, none, {"r"}, {"s"}, {"a", "2", "5000", "{r}"}, {"b", "3", "6000", "{s}"}},
        {read_renew, none, {"r"}, {"s"}, {"a", "7000", "{r}"}, {"b", "8000", "{s}"}},
        {read_release, {"b:"}, {"r"}, {"s"}, {"x", "c", "w", "{r}"}, {"b", "d", "v", "{s}"}},
        {read_write_force,
         none,
         {"r"},
         {"r"},
         {"write", "c", "w", "b:", "{r}"},
         {"read", "d", "v", "b:", "{r}"}},
        {write_acquire,
         {"clock"},
         {"t", "n"},
         {"u", "m"},
         {"a:write", "30", "1", "w", "b:", "0"},
         {"b:write", "40", "9", "", "", ""}},
        {read_extend, none, {"t"}, {"u"}, {"a", "1", "5000", "{t}"}, {"b", "1", "6000", "{u}"}},
        {write_release,
         {"b:"},
         {"t"},
         {"u"},
         {"a:write", "c", "w", "", "{t}"},
         {"b:write", "d", "v", "i:1", "{u}"}},
        {fair_acquire, {"clock"}, together(f, {"n"}), together(g, {"m"}), a_fair, b_fair},
        {fair_acquire, {""}, f, g, named(a_fair, "x"), named(b_fair, "y")},
        {fair_keep, none, f, g, {"x", "900000", "6000"}, {"y", "800000", "7000"}},
        {fair_release, none, f, g, {"a", "c", "300000"}, {"b", "d", "200000"}},
        {fair_acquire, {""}, f, g, named(a_fair, "x"), named(b_fair, "y")},
        {fair_force, none, f, g, {"c", "300000", "b"}, {"d", "200000", "b"}},
        {semaphore_set,
         none,
         {"k", "kr"},
         {"l", "lr"},
         {"5:50", "1", "5000", "c", "w", "b:"},
         {"6", "2", "6000", "d", "v", "b:"}},
        {semaphore_acquire,
         none,
         {"k", "kt"},
         {"l", "lt"},
         {"2", "3", "50", "c", "w", "b:", "0", "x:1", ""},
         {"1", "4", "60", "d", "v", "b:", "", "", ""}},
        {semaphore_undo,
         none,
         {"k", "kt"},
         {"l", "lt"},
         {"3", "5", "2", "50", "c", "w", "b:", "x:1"},
         {"4", "6", "1", "60", "d", "v", "b:", ""}},
        {semaphore_release,
         none,
         {"k", "kr"},
         {"l", "lr"},
         {"2", "7", "50", "c", "w", "b:"},
         {"3", "8", "60", "d", "v", "b:"}},
        {semaphore_release_existing,
         none,
         {"k", "kr"},
         {"l", "lr"},
         {"2", "9", "50", "c", "w", "b:"},
         {"3", "9", "60", "d", "v", "b:"}},
        {permit_acquire,
         none,
         {"k", "kl"},
         {"l", "ll"},
         {id('a'), "50", "c", "w", "b:", "0", "x:1", ""},
         {id('b') + id('c'), "60", "d", "v", "b:", "", "", ""}},
        {permit_extend, none, {"kl"}, {"ll"}, {id('a'), "70"}, {id('b'), "80"}},
        {permit_return,
         none,
         {"k", "kr", "kl"},
         {"l", "lr", "ll"},
         {id('x'), "10", "50", "c", "w", "b:"},
         {id('b'), "11", "60", "d", "v", "b:"}},
        {permit_release,
         {"b:"},
         {"k", "kl"},
         {"l", "ll"},
         {id('a'), "c", "w", ""},
         {id('c'), "d", "v", "x:1"}},
        {permit_set,
         none,
         {"k", "kr", "kl"},
         {"l", "lr", "ll"},
         {"20", "12", "50", "c", "w", "b:"},
         {"30", "13", "60", "d", "v", "b:"}},
        {permit_count, none, {"k", "kl"}, {"l", "ll"}, none, none},
        {permit_remove,
         none,
         {"m", "mr", "ml"},
         {"n", "nr", "nl"},
         {"0", "12", "50", "c"},
         {"0", "13", "60", "d"}},
        {semaphore_drain,
         none,
         {"k", "kr"},
         {"l", "lr"},
         {"0", "14", "50", "c"},
         {"0", "15", "60", "d"}},
        {latch_set, none, {"h", "hr"}, {"i", "ir"}, {"3", "1", "50", "c"}, {"4", "2", "60", "d"}},
        {latch_count_down,
         none,
         {"h", "hr"},
         {"i", "ir"},
         {"1", "3", "50", "c"},
         {"1", "4", "60", "d"}},
        {latch_remove,
         none,
         {"h", "hr"},
         {"i", "ir"},
         {"0", "5", "50", "c"},
         {"0", "6", "60", "d"}},
    };
}

}  // namespace

BOOST_AUTO_TEST_SUITE(scripts_for_many)

BOOST_DATA_TEST_CASE(as_for_each, each_place(), where)
{
    script_bench at{where};
    for (auto const* const channel : {"c", "d", "c:x", "d:y"})
        at.listen(channel);
    strings of_each;
    for (bool const joined : {false, true}) {
        at.ask("FLUSHALL");
        at.ask("SET", "z", "text");
        std::size_t place = 0;
        for (auto const& call : calls_for_two()) {
            auto parts = joined
                ? at.run_many(
                      call.what,
                      together(call.keys, call.more_keys),
                      together(together(call.front, call.arguments), call.more_arguments)
                  )
                : std::vector{
                      at.run(call.what, call.keys, together(call.front, call.arguments)),
                      at.run(call.what, call.more_keys, together(call.front, call.more_arguments))};
            bool const keeps =
                call.what.name.ends_with("extend") || call.what.name.ends_with("renew");
            if (call.keys.front() == "z")  // which stays as it is
                BOOST_TEST((keeps ? is(parts[0], 0) : is_wrong_type(parts[0])), call.what.name);
            parts.resize(2, parts.front());  // a renewal of both is one number
            auto const all = to_string(parts[0]) + ' ' + to_string(parts[1]) + ' ' + at.heard() +
                ' ' + to_string(at.everything());
            if (joined)
                BOOST_TEST(all == of_each.at(place++), call.what.name);
            else
                of_each.push_back(all);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace colock::simulation
