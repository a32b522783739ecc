// The memory report as one page: bytes against the plan's time line with every buffer at its
// address, and the tables of the text report. Self-contained: no script or style from elsewhere.
#pragma once

#include <string>

#include "report/memory_report.h"

namespace ullage {

std::string to_html(const MemoryReport& report, const Plan& plan, const LocationTable& locations,
                    const std::string& title);

}  // namespace ullage
