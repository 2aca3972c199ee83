// Alone in its unit: its symbols clash with those of any other that includes it.
#include <boost/redis/src.hpp>
