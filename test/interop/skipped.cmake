# Stands for the interop tests where they can't be built.
set(missing "java, javac, mvn, redis-server or what test/interop/java/pom.xml names is missing")
if(DEFINED ENV{CI})
    message(FATAL_ERROR "interop: ${missing}; tools/setup brings them")
endif()
message("interop: skipped, for ${missing}")
