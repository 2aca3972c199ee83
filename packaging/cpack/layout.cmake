# CPack runs this on the files of each package before it packs them: what Debian has elsewhere than
# others, or packed, or beside the rest.
function(pack_to source target)
    file(COPY_FILE "${source}" "${target}")
    execute_process(COMMAND gzip -9nf "${target}" COMMAND_ERROR_IS_FATAL ANY)
endfunction()

function(lay_out folder name)
    set(documents "${folder}/share/doc/${name}")
    file(MAKE_DIRECTORY "${documents}")
    file(READ "${CPACK_RESOURCE_FILE_LICENSE}" license)
    set(whose "Copyright the colock authors.\n")
    if(EXISTS "${folder}/include/colock-boost")
        string(APPEND whose "What is in include/colock-boost: copyright those whom each file names, "
            "of the Boost\nlibraries, under the same licence.\n")
    endif()
    file(WRITE "${documents}/copyright" "${whose}\n${license}")
    pack_to("${CPACK_COLOCK_CHANGELOG}" "${documents}/changelog.Debian")

    file(GLOB pages "${folder}/share/man/man*/*.[0-9]")
    foreach(page IN LISTS pages)
        execute_process(COMMAND gzip -9nf "${page}" COMMAND_ERROR_IS_FATAL ANY)
    endforeach()

    if(EXISTS "${folder}/share/zsh/site-functions")
        file(RENAME "${folder}/share/zsh/site-functions" "${folder}/share/zsh/vendor-completions")
    endif()
endfunction()

foreach(component IN LISTS CPACK_COMPONENTS_ALL)
    string(TOUPPER "${component}" upper)
    lay_out("${CPACK_TEMPORARY_DIRECTORY}/${component}${CPACK_PACKAGING_INSTALL_PREFIX}"
        "${CPACK_DEBIAN_${upper}_PACKAGE_NAME}")
endforeach()
