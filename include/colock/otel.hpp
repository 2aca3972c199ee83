// Copyright the colock authors. Distributed under the Boost Software License, Version 1.0.
#pragma once

// For OpenTelemetry. Link colock::otel.
#include <colock/otel/meter.hpp>
#include <colock/otel/tracer.hpp>
