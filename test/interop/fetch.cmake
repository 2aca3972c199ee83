# Copies what pom.xml names into FOLDER/libraries: what is in Maven's own store if possible, so that
# a build needs the network once.
#
#   cmake -DMAVEN=mvn -DFOLDER=folder -P fetch.cmake
set(folder "${FOLDER}/libraries")
file(REMOVE_RECURSE "${folder}")
set(command "${MAVEN}" -q -B dependency:copy-dependencies "-DoutputDirectory=${folder}")
execute_process(COMMAND ${command} -o WORKING_DIRECTORY "${FOLDER}"
    RESULT_VARIABLE result OUTPUT_QUIET ERROR_QUIET)
if(NOT result EQUAL 0)
    file(REMOVE_RECURSE "${folder}")
    execute_process(COMMAND ${command} WORKING_DIRECTORY "${FOLDER}" RESULT_VARIABLE result)
endif()
if(NOT result EQUAL 0)
    file(REMOVE_RECURSE "${folder}")
    message(FATAL_ERROR "Maven could not fetch Redisson; -DCOLOCK_INTEROP=OFF builds without it")
endif()
file(TOUCH "${folder}")
