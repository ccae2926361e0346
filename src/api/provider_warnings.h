// What an object asks for that the providers of its load balancers have not: kept, not acted on,
// and told to whoever writes it. One sentence for each, with object and field.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "api/ingress.h"
#include "api/port_pool.h"

namespace berth::api {

std::vector<std::string> warnings_about(const Ingress& ingress,
                                        const std::set<model::Provider>& providers);
std::vector<std::string> warnings_about(const PortPool& pool,
                                        const std::set<model::Provider>& providers);

}  // namespace berth::api
