# colock::lua is Lua 5.1, with which colock::testing runs colock's scripts as a server does. Where it is
# missing there is no such target.
if(NOT TARGET colock::lua)
    find_package(Lua 5.1 EXACT QUIET)
    if(LUA_FOUND)
        add_library(colock::lua INTERFACE IMPORTED GLOBAL)
        set_target_properties(colock::lua PROPERTIES
            INTERFACE_INCLUDE_DIRECTORIES "${LUA_INCLUDE_DIR}"
            INTERFACE_LINK_LIBRARIES "${LUA_LIBRARIES}")
    endif()
endif()
set(colock_without_lua "colock::testing needs Lua 5.1, which is not found: on Debian and Ubuntu install liblua5.1-0-dev")
