// SPDX-License-Identifier: BSD-3-Clause
// A thin skin over SQLite's C API: statements, values, errors that name the file.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gradfuzz/support/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace gradfuzz::store {

class Database;

// A prepared statement, used again and again. Errors are kept by the database: see Database::ok.
class Statement {
 public:
  Statement(Database* database, const char* sql);
  ~Statement();
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  // Binds the values to ?1, ?2, ... in order and starts anew.
  template <typename... Values>
  Statement& Bind(const Values&... values) {
    Reset();
    int index = 0;
    (BindOne(++index, values), ...);
    return *this;
  }
  // The next row. RETURNS: false at the end or on an error.
  bool Step();
  // For a statement without rows.
  bool Run();

  int64_t Int(int column) const;
  double Double(int column) const;
  std::string Text(int column) const;
  bool IsNull(int column) const;

 private:
  void Reset();
  void BindOne(int index, int64_t value);
  void BindOne(int index, int value) { BindOne(index, static_cast<int64_t>(value)); }
  void BindOne(int index, bool value) { BindOne(index, static_cast<int64_t>(value)); }
  void BindOne(int index, uint64_t value) { BindOne(index, static_cast<int64_t>(value)); }
  void BindOne(int index, double value);
  void BindOne(int index, const std::string& value);
  void BindOne(int index, const char* value) { BindOne(index, std::string(value)); }
  void BindOne(int index, const std::optional<std::string>& value);

  Database* database_;
  sqlite3_stmt* statement_ = nullptr;
};

class Database {
 public:
  enum class Mode : uint8_t { kCreate, kWrite, kRead };
  static Result<std::unique_ptr<Database>> Open(const std::string& path, Mode mode);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  bool Execute(const char* sql);  // one or several statements, no rows
  bool Execute(const std::string& sql) { return Execute(sql.c_str()); }

  // The first error since the last time that it was asked for; ok() when there was none.
  Status TakeError();
  const std::string& path() const { return path_; }

 private:
  friend class Statement;
  explicit Database(std::string path) : path_(std::move(path)) {}
  bool Check(int code);

  std::string path_;
  sqlite3* handle_ = nullptr;
  std::optional<Error> error_;
};

}  // namespace gradfuzz::store
