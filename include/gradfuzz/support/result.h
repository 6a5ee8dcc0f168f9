// SPDX-License-Identifier: BSD-3-Clause
// Result<T>: a value or an Error that a person can read.
//
// Used for faults of the user or the environment. Findings about torch are data, never errors;
// broken invariants are GF_CHECK (check.h).
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace gradfuzz {

enum class ErrorKind {
  kUsage,        // the command line or an input file is wrong: exit 2
  kEnvironment,  // no torch, no such device, no disk, no worker: exit 3
  kInternal,     // gradfuzz itself is at fault: exit 70
};

struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string message;  // one sentence that names the thing; no trailing newline
};

inline Error UsageError(std::string message) { return {ErrorKind::kUsage, std::move(message)}; }
inline Error EnvironmentError(std::string message) {
  return {ErrorKind::kEnvironment, std::move(message)};
}
inline Error InternalError(std::string message) {
  return {ErrorKind::kInternal, std::move(message)};
}

template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::move(value)) {}      // NOLINT(google-explicit-constructor)
  Result(Error error) : state_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return std::holds_alternative<T>(state_); }
  explicit operator bool() const { return ok(); }

  // REQUIRES: ok().
  const T& value() const& { return std::get<T>(state_); }
  T& value() & { return std::get<T>(state_); }
  T&& value() && { return std::get<T>(std::move(state_)); }
  const T& operator*() const& { return value(); }
  T& operator*() & { return value(); }
  const T* operator->() const { return &value(); }
  T* operator->() { return &value(); }

  // REQUIRES: !ok().
  const Error& error() const { return std::get<Error>(state_); }

 private:
  std::variant<T, Error> state_;
};

// The outcome of something that returns nothing.
class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(Error error) : error_(std::move(error)) {}  // NOLINT(google-explicit-constructor)

  bool ok() const { return !error_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Error& error() const { return *error_; }

 private:
  std::optional<Error> error_;
};

}  // namespace gradfuzz
