// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/store/database.h"

#include <sqlite3.h>

namespace gradfuzz::store {
namespace {

// How long to wait for another process that reads while we write, say a report.
constexpr int kBusyMilliseconds = 10'000;

std::string InWords(int code, const char* message) {
  switch (code & 0xff) {
    case SQLITE_FULL:
      return "the disk is full";
    case SQLITE_IOERR:
      return "the disk refuses to be written to or read (" + std::string(message) + ")";
    case SQLITE_NOTADB:
    case SQLITE_CORRUPT:
      return "it is no database of gradfuzz, or a damaged one";
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
      return "no permission, or no such file";
    default:
      return message;
  }
}

}  // namespace

Result<std::unique_ptr<Database>> Database::Open(const std::string& path, Mode mode) {
  std::unique_ptr<Database> database(new Database(path));
  int flags = SQLITE_OPEN_READWRITE;
  if (mode == Mode::kCreate) flags |= SQLITE_OPEN_CREATE;
  // Also a reader opens for writing if it can: it may have to replay the log of a killed writer.
  int code = sqlite3_open_v2(path.c_str(), &database->handle_, flags, nullptr);
  if (code != SQLITE_OK && mode == Mode::kRead) {
    sqlite3_close_v2(database->handle_);
    code = sqlite3_open_v2(path.c_str(), &database->handle_, SQLITE_OPEN_READONLY, nullptr);
  }
  if (!database->Check(code)) return database->TakeError().error();
  sqlite3_busy_timeout(database->handle_, kBusyMilliseconds);
  // WAL: readers do not block the writer, and what is committed survives a SIGKILL of it. NORMAL:
  // after a power cut the last transactions may be missing, but the file is whole.
  if (mode != Mode::kRead) {
    database->Execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL;");
  }
  database->Execute("PRAGMA foreign_keys = ON; PRAGMA schema_version;");
  if (Status status = database->TakeError(); !status) return status.error();
  return database;
}

Database::~Database() { sqlite3_close_v2(handle_); }

bool Database::Check(int code) {
  if (code == SQLITE_OK || code == SQLITE_ROW || code == SQLITE_DONE) return true;
  if (!error_) {
    const char* message = handle_ != nullptr ? sqlite3_errmsg(handle_) : sqlite3_errstr(code);
    error_ = EnvironmentError("cannot use " + path_ + ": " + InWords(code, message));
  }
  return false;
}

Status Database::TakeError() {
  Status status;
  if (error_) status = *error_;
  error_.reset();
  return status;
}

bool Database::Execute(const char* sql) {
  return Check(sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr));
}

Statement::Statement(Database* database, const char* sql) : database_(database) {
  database_->Check(sqlite3_prepare_v3(database_->handle_, sql, -1, SQLITE_PREPARE_PERSISTENT,
                                      &statement_, nullptr));
}

Statement::~Statement() { sqlite3_finalize(statement_); }

void Statement::Reset() {
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

bool Statement::Step() {
  if (statement_ == nullptr) return false;
  const int code = sqlite3_step(statement_);
  database_->Check(code);
  if (code != SQLITE_ROW) sqlite3_reset(statement_);
  return code == SQLITE_ROW;
}

bool Statement::Run() {
  if (statement_ == nullptr) return false;
  const int code = sqlite3_step(statement_);
  const bool good = database_->Check(code);
  sqlite3_reset(statement_);
  return good;
}

int64_t Statement::Int(int column) const { return sqlite3_column_int64(statement_, column); }
double Statement::Double(int column) const { return sqlite3_column_double(statement_, column); }
bool Statement::IsNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}
std::string Statement::Text(int column) const {
  const unsigned char* text = sqlite3_column_text(statement_, column);
  if (text == nullptr) return "";
  return std::string(reinterpret_cast<const char*>(text),
                     static_cast<size_t>(sqlite3_column_bytes(statement_, column)));
}

void Statement::BindOne(int index, int64_t value) {
  if (statement_ != nullptr) database_->Check(sqlite3_bind_int64(statement_, index, value));
}
void Statement::BindOne(int index, double value) {
  if (statement_ != nullptr) database_->Check(sqlite3_bind_double(statement_, index, value));
}
void Statement::BindOne(int index, const std::string& value) {
  if (statement_ == nullptr) return;
  database_->Check(sqlite3_bind_text(statement_, index, value.data(),
                                     static_cast<int>(value.size()), SQLITE_TRANSIENT));
}
void Statement::BindOne(int index, const std::optional<std::string>& value) {
  if (value) BindOne(index, *value);  // else: unbound is NULL
}

}  // namespace gradfuzz::store
