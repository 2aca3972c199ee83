# colock_scripts.hpp holds scripts/*.lua. cmake/embed_scripts.py writes it, again whenever one of them
# changes. The archive of a release (tools/release) has it in generated/, so Python isn't needed to build
# from it. generated/sources.sha256 says which scripts it was made from: where one of them was
# changed since, the header is made anew.

# Sets `current` to whether generated/ has the header of the scripts that lie here.
function(colock_find_generated current)
    set(${current} OFF PARENT_SCOPE)
    set(sums "${PROJECT_SOURCE_DIR}/generated/sources.sha256")
    if(NOT EXISTS "${sums}")
        return()
    endif()
    file(GLOB sources RELATIVE "${PROJECT_SOURCE_DIR}" CONFIGURE_DEPENDS
        "${PROJECT_SOURCE_DIR}/scripts/*.lua" "${PROJECT_SOURCE_DIR}/scripts/parts/*.lua")
    list(APPEND sources cmake/embed_scripts.py)
    list(SORT sources)
    set(found "")
    foreach(source IN LISTS sources)
        file(SHA256 "${PROJECT_SOURCE_DIR}/${source}" sum)
        string(APPEND found "${sum}  ${source}\n")
        set_property(DIRECTORY "${PROJECT_SOURCE_DIR}" APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
            "${PROJECT_SOURCE_DIR}/${source}")
    endforeach()
    file(READ "${sums}" released)
    if(found STREQUAL released)
        set(${current} ON PARENT_SCOPE)
    else()
        message(STATUS "scripts have changed since this release: Python makes colock_scripts.hpp anew")
    endif()
endfunction()

colock_find_generated(colock_has_generated)
if(colock_has_generated)
    set(colock_generated "${PROJECT_SOURCE_DIR}/generated")
else()
    set(colock_generated "${PROJECT_BINARY_DIR}/generated")
endif()
if(NOT colock_has_generated OR COLOCK_BUILD_TESTS OR COLOCK_BUILD_EXAMPLES)
    find_package(Python3 REQUIRED COMPONENTS Interpreter)
endif()

# Puts the header on the target's include path.
function(colock_embed_scripts target)
    target_include_directories(${target} PRIVATE "${colock_generated}")
    if(colock_has_generated)
        add_custom_target(colock-scripts)
        return()
    endif()
    file(GLOB scripts CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/scripts/*.lua")
    list(SORT scripts)
    file(GLOB parts CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/scripts/parts/*.lua")
    set(generator "${PROJECT_SOURCE_DIR}/cmake/embed_scripts.py")
    set(header "${colock_generated}/colock_scripts.hpp")
    # The list of files is a dependency too: a script that goes away leaves the header.
    string(JOIN "\n" names ${scripts} ${parts})
    file(CONFIGURE OUTPUT "${colock_generated}/scripts.txt" CONTENT "${names}\n" @ONLY)
    add_custom_command(
        OUTPUT "${header}"
        COMMAND "${Python3_EXECUTABLE}" "${generator}" "${header}" ${scripts}
        DEPENDS "${generator}" "${colock_generated}/scripts.txt" ${scripts} ${parts}
        COMMENT "Embedding scripts/*.lua"
        VERBATIM)
    # For targets of other folders that include it.
    add_custom_target(colock-scripts DEPENDS "${header}")
    target_sources(${target} PRIVATE "${header}")
endfunction()
