// SPDX-License-Identifier: BSD-3-Clause
// The worker's answers to the requests of message/request.h, one request at a time.
#pragma once

#include <nlohmann/json.hpp>

#include "gradfuzz/support/result.h"

namespace gradfuzz::bridge {

class Service {
 public:
  // `fd`: the socket to the parent.
  explicit Service(int fd) : fd_(fd) {}

  // Serves until the parent closes the socket. RETURNS: the exit code.
  int Serve();

 private:
  void Handle(const nlohmann::json& request);
  void Evaluate(const nlohmann::json& request);
  void Send(const nlohmann::json& frame);
  void SendError(const Error& error);

  int fd_;
};

}  // namespace gradfuzz::bridge
