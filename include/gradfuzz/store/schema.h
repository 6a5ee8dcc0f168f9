// SPDX-License-Identifier: BSD-3-Clause
// The schema of OUT/campaign.db, which is also its documentation: `sqlite3 OUT/campaign.db .schema`
// prints it with these comments.
#pragma once

namespace gradfuzz::store {

// PRAGMA user_version of the file. Raise it with every change below.
inline constexpr int kSchemaVersion = 1;
// PRAGMA application_id: "GFUZ".
inline constexpr int kApplicationId = 0x4746555a;

inline constexpr const char* kSchema = R"sql(
CREATE TABLE meta (
  -- What the campaign is: one row per fact, the value as JSON.
  --   gradfuzz_version, command, started ("2026-01-31T23:59:59Z"), finished, end, first_seed,
  --   programs (asked for, or null), duration (seconds asked for, or null), shard ("0/4" or ""),
  --   devices, workers, generate, run, environment (of the worker: torch, python, ...),
  --   known_bugs, warnings, elapsed (seconds of finished parts)
  key   TEXT PRIMARY KEY,
  value TEXT NOT NULL
) WITHOUT ROWID;

CREATE TABLE programs (
  -- One row per program that was run to a verdict, written as it came.
  seed             INTEGER NOT NULL,
  device           TEXT NOT NULL,     -- "cpu", "cuda"
  at               REAL NOT NULL,     -- seconds since the start, pauses before a resume left out
  verdict          TEXT NOT NULL,     -- "agree", "gradient_mismatch", ...
  first_wrong_rung TEXT NOT NULL,     -- "" when no rung is wrong
  fate             TEXT NOT NULL,     -- of a mismatch: "pending", "finding", "repeat",
                                      -- "unconfirmed"; else ""
  finding          TEXT,              -- id of the finding that it is a hit of
  lane             TEXT NOT NULL,     -- "exact", "real"
  calibrated       INTEGER NOT NULL,  -- 1: went past the cheap comparison
  statements       INTEGER NOT NULL,
  ops              TEXT NOT NULL,     -- "diagonal_scatter > sum"
  gradients        INTEGER NOT NULL,  -- tensors compared, over all draws, on rungs above eager
  outputs          INTEGER NOT NULL,
  seconds          REAL NOT NULL,     -- wall, of the worker
  cpu_seconds      REAL NOT NULL,     -- of the worker and its compilers
  torch_seconds    REAL NOT NULL,     -- wall, inside the rungs
  worker           INTEGER NOT NULL,
  note             TEXT NOT NULL,
  program          TEXT,              -- JSON, for mismatches
  features         TEXT,              -- JSON list, for mismatches
  PRIMARY KEY (seed, device)
) WITHOUT ROWID;
CREATE INDEX programs_by_fate ON programs (fate) WHERE fate <> '';

CREATE TABLE yields (
  -- How often a feature was in a program, and in a wrong one. The axis is what stands before the
  -- first point of a feature's name ("op", "dtype", "layout", "motif", "rung", "lane", ...).
  -- "op_gradient": operators whose gradient was compared under Inductor.
  axis       TEXT NOT NULL,
  name       TEXT NOT NULL,
  programs   INTEGER NOT NULL,
  mismatches INTEGER NOT NULL,
  findings   INTEGER NOT NULL,
  PRIMARY KEY (axis, name)
) WITHOUT ROWID;

CREATE TABLE findings (
  -- One row per bug.
  id         TEXT PRIMARY KEY,  -- also the name of its folder below findings/
  signature  TEXT NOT NULL,
  status     TEXT NOT NULL,     -- "new", "known"
  hits       INTEGER NOT NULL,
  first_seed INTEGER,
  at         REAL NOT NULL,
  json       TEXT NOT NULL      -- all of it (message/finding.h)
) WITHOUT ROWID;

CREATE TABLE events (
  -- What happened to workers, and how large the largest was ("memory", MiB in detail).
  at     REAL NOT NULL,
  kind   TEXT NOT NULL,     -- "started", "lost", "blamed", "recycled", "start failed", "memory"
  worker INTEGER NOT NULL,  -- -1: none
  detail TEXT NOT NULL
);
)sql";

}  // namespace gradfuzz::store
