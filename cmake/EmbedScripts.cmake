# colock_embed_scripts(target): generates colock_scripts.hpp from scripts/*.lua, again whenever one
# of them changes, and puts it on the target's include path.
set(colock_generated "${PROJECT_BINARY_DIR}/generated")

function(colock_embed_scripts target)
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
    target_include_directories(${target} PRIVATE "${colock_generated}")
endfunction()
