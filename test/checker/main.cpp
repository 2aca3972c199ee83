// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
//
// Reads histories, says what they show, and fails if it is what may never be, or an overlap:
//
//     colock-check-history LEASE_MS FILE...
#include "checker/checker.hpp"

#include <exception>
#include <iostream>
#include <string>
#include <vector>

int main(int count, char** words)
{
    try {
        if (count < 3) {
            std::cerr << "usage: colock-check-history LEASE_MS FILE...\n";
            return 64;
        }
        auto const lease = std::stoll(words[1]) * 1'000'000;
        std::vector<std::string> const files(words + 2, words + count);
        auto const found = colock::test::check(colock::test::read_history(files), lease);
        std::cout << to_string(found) << '\n';
        for (auto const& each : found.examples)
            std::cout << "  " << each << '\n';
        return found.never() + found.overlaps == 0 ? 0 : 1;
    } catch (std::exception const& thrown) {
        std::cerr << "colock-check-history: " << thrown.what() << '\n';
        return 2;
    }
}
