# Copies what pom.xml names into FOLDER/libraries: from Maven's own store if it is there, so that a
# machine needs the network once.
#
#   cmake -DMAVEN=mvn -DFOLDER=folder -P fetch.cmake
set(folder "${FOLDER}/libraries")
file(REMOVE_RECURSE "${folder}")
foreach(offline -o "")
    execute_process(
        COMMAND "${MAVEN}" -q -B ${offline} dependency:copy-dependencies
            "-DoutputDirectory=${folder}"
        WORKING_DIRECTORY "${FOLDER}"
        RESULT_VARIABLE result OUTPUT_VARIABLE said ERROR_VARIABLE said)
    if(result EQUAL 0)
        file(TOUCH "${folder}")
        return()
    endif()
    file(REMOVE_RECURSE "${folder}")
endforeach()
message("${said}")
message(FATAL_ERROR "Maven could not fetch what ${FOLDER}/pom.xml names")
