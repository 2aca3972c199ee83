# The caller has found another Boost before colock.
find_package(Boost CONFIG REQUIRED)
