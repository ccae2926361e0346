# Everything we link comes from the distribution's packages; `tools/setup` installs them by name.

find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED COMPONENTS json context url)
find_package(CURL REQUIRED)
find_package(OpenSSL 3 REQUIRED)
find_package(simdjson REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(fmt REQUIRED)
find_package(prometheus-cpp REQUIRED)
find_package(CLI11 REQUIRED)

if(BERTH_TESTS)
  find_package(GTest REQUIRED)
  find_package(nlohmann_json REQUIRED)
endif()
