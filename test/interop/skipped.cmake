# Stands for the interop tests where they can't be built.
if(DEFINED ENV{CI})
    message(FATAL_ERROR "interop tests need java, javac, mvn and redis-server; tools/setup installs them")
endif()
message("interop: skipped, for java, javac, mvn or redis-server is missing")
