// SPDX-License-Identifier: BSD-3-Clause
#include "gradfuzz/campaign/worker.h"

#include <signal.h>
#include <time.h>

#include <algorithm>
#include <cstdio>

#include "gradfuzz/program/json.h"
#include "gradfuzz/support/file.h"
#include "gradfuzz/support/paths.h"

namespace gradfuzz::campaign {
namespace {

using nlohmann::json;

constexpr int kChannel = 3;
// How long a thread may sleep before it looks at the interrupt flag and at the child again.
constexpr double kSlice = 0.1;
// What a worker may take to leave when asked, and to die after it closed its channel.
constexpr double kLeaveSeconds = 1;
constexpr size_t kNoteBytes = 3000;

// Fixed for every worker: verdicts must not depend on how many run side by side.
std::vector<std::pair<std::string, std::string>> Environment(const WorkerOptions& options,
                                                             int index,
                                                             const std::string& cache_dir) {
  const std::string threads = std::to_string(options.threads);
  return {
      {"TORCHINDUCTOR_CACHE_DIR", JoinPath(cache_dir, "inductor")},
      {"TRITON_CACHE_DIR", JoinPath(cache_dir, "triton")},
      // Compilers leave files behind when they are killed.
      {"TMPDIR", JoinPath(cache_dir, "tmp")},
      // In-process compilation: no pool of helper processes beside each worker.
      {"TORCHINDUCTOR_COMPILE_THREADS", "1"},
      // Debug information, which no report of ours shows: a part of each CUDA kernel's compilation.
      {"TRITON_DISABLE_LINE_INFO", "1"},
      {"OMP_NUM_THREADS", threads},
      {"MKL_NUM_THREADS", threads},
      {"OPENBLAS_NUM_THREADS", threads},
      {"GRADFUZZ_WORKER_INDEX", std::to_string(index)},
  };
}

std::string LastLines(const std::string& output) {
  if (output.size() <= kNoteBytes) return output;
  std::string tail = output.substr(output.size() - kNoteBytes);
  const size_t line = tail.find('\n');
  return line == std::string::npos ? tail : tail.substr(line + 1);
}

std::string LastLine(std::string output) {
  while (!output.empty() && (output.back() == '\n' || output.back() == ' ')) output.pop_back();
  const size_t line = output.rfind('\n');
  return line == std::string::npos ? output : output.substr(line + 1);
}

Error ErrorFrom(const json& frame) {
  const std::string kind = frame.value("kind", "internal");
  const std::string message = frame.value("message", "the worker gave no reason");
  if (kind == "usage") return UsageError(message);
  if (kind == "environment") return EnvironmentError(message);
  return InternalError(message);
}

std::string TypeOf(const json& frame) {
  if (!frame.is_object() || !frame.contains("type") || !frame["type"].is_string()) return "";
  return frame["type"].get<std::string>();
}

std::string Seconds(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, "%.3g s", seconds);
  return text;
}

// The case of a `result` frame, or why it is none.
Result<CaseResult> CaseFrom(const json& frame) {
  CaseResult result;
  try {
    if (frame.contains("seed") && !frame.at("seed").is_null()) {
      result.seed = frame.at("seed").get<uint64_t>();
    }
    if (frame.contains("program") && !frame.at("program").is_null()) {
      auto program = program::FromJson(frame.at("program"));
      if (!program) return program.error();
      result.program = std::move(*program);
    }
    auto outcome = OutcomeFromJson(frame.at("outcome"));
    if (!outcome) return outcome.error();
    result.outcome = std::move(*outcome);
  } catch (const std::exception& e) {
    return InternalError(e.what());
  }
  return result;
}

}  // namespace

Worker::Worker(const WorkerOptions& options, int index, std::string cache_dir,
               std::unique_ptr<Subprocess> process)
    : options_(options),
      index_(index),
      cache_dir_(std::move(cache_dir)),
      process_(std::move(process)),
      reader_(process_->channel()) {}

Worker::~Worker() {
  if (busy_) {
    process_->Kill();  // in the middle of something that nobody waits for any more
  } else {
    process_->Stop(Deadline::After(kLeaveSeconds));
  }
  RemoveTree(cache_dir_);
}

Result<std::unique_ptr<Worker>> Worker::Start(const WorkerOptions& options, int index,
                                              const std::string& cache_dir, Guardian* guardian,
                                              const std::function<bool()>& interrupted) {
  for (const char* sub : {"inductor", "triton", "tmp"}) {
    if (Status made = MakeWritableFolder(JoinPath(cache_dir, sub)); !made) return made.error();
  }
  if (Status made = MakeWritableFolder(options.machine_cache); !made) return made.error();

  SpawnOptions spawn;
  spawn.argv = {options.path};
  spawn.argv.insert(spawn.argv.end(), options.arguments.begin(), options.arguments.end());
  for (const std::string& word :
       {std::string("--fd"), std::to_string(kChannel), std::string("--cache-dir"), cache_dir,
        std::string("--machine-cache"), options.machine_cache}) {
    spawn.argv.push_back(word);
  }
  spawn.env = Environment(options, index, cache_dir);
  spawn.channel_fd = kChannel;
  auto process = Subprocess::Spawn(spawn, guardian);
  if (!process) {
    RemoveTree(cache_dir);
    return process.error();
  }
  std::unique_ptr<Worker> worker(new Worker(options, index, cache_dir, std::move(*process)));

  bool stopped = false;
  const FrameRead read =
      worker->ReadUntil(Deadline::After(options.start_deadline), interrupted, &stopped);
  if (stopped) {
    worker->busy_ = true;
    return EnvironmentError("interrupted while a worker was starting");
  }
  if (read.status != FrameStatus::kFrame) {
    const Loss loss = worker->Lose(read, options.start_deadline);
    const std::string last = LastLine(loss.output);
    return EnvironmentError("the worker " + options.path + " " + loss.how + " before it was ready" +
                            (last.empty() ? "" : ": " + last));
  }
  const std::string type = TypeOf(read.frame);
  if (type == "error") return ErrorFrom(read.frame);
  if (type != "ready") {
    return EnvironmentError(options.path + " is no gradfuzz worker: its first message is " +
                            read.frame.dump().substr(0, 80));
  }
  worker->description_ = read.frame;
  worker->description_.erase("type");
  return worker;
}

FrameRead Worker::ReadUntil(const Deadline& deadline, const std::function<bool()>& interrupted,
                            bool* stopped) {
  for (;;) {
    // Asked before the read: what a dead worker still sent is in the socket by then.
    const bool alive = process_->Alive();
    FrameRead read = reader_.Read(alive ? deadline.OrAfter(kSlice) : Deadline::After(0));
    if (read.status != FrameStatus::kDeadline) return read;
    if (!alive) {
      // A child of the dead worker may hold the channel open: do not wait for its end.
      return {FrameStatus::kClosed, nullptr, "the worker ended"};
    }
    if (interrupted()) {
      *stopped = true;
      return read;
    }
    if (options_.memory_limit > 0 && process_->Usage().rss_bytes > options_.memory_limit) {
      over_memory_ = true;
      return read;
    }
    if (deadline.Passed()) return read;
  }
}

Loss Worker::Lose(const FrameRead& read, double allowed) {
  Loss loss;
  switch (read.status) {
    case FrameStatus::kDeadline:
      if (over_memory_) {
        loss.how = "used more than " + std::to_string(options_.memory_limit >> 20) +
                   " MiB of memory and was killed";
        process_->Kill();
        break;
      }
      loss.verdict = Verdict::kTimeout;
      loss.how = "did not answer within " + Seconds(allowed);
      process_->Kill();
      break;
    case FrameStatus::kClosed:
    case FrameStatus::kTruncated: {
      // Give it the time to die of what it is dying of, so that the signal can be named.
      const Deadline patience = Deadline::After(kLeaveSeconds);
      while (process_->Alive() && !patience.Passed()) {
        const timespec pause{0, 5'000'000};
        nanosleep(&pause, nullptr);
      }
      const bool hangs = process_->Alive();
      const ExitInfo exit = process_->Kill();
      loss.how = hangs ? "closed its channel without ending" : exit.Text();
      if (exit.signal == SIGKILL && !hangs) {
        loss.by_outsider = true;
        loss.how += " (out of memory, or by hand)";
      }
      if (read.status == FrameStatus::kTruncated) loss.how += " in the middle of an answer";
      break;
    }
    default:
      loss.how = "sent a broken answer (" + read.error + ")";
      process_->Kill();
      break;
  }
  loss.output = LastLines(process_->StderrTail());
  return loss;
}

double Worker::ItemSeconds(const EvaluateRequest& request, size_t answered) const {
  const double base = programs_ == 0 ? options_.first_item_deadline : options_.item_deadline;
  // The first result of a pack comes when all of the pack is compiled. A packed program costs
  // about an eighth of a lone one at most (measured: 0.25 to 0.9 s against 2.2 s at a pack of 4+).
  const auto left = static_cast<int>(request.items.size() - answered);
  const int packed = std::max(1, std::min(request.run.pack, left));
  return base * (1 + (packed - 1) / 8.0);
}

BatchEnd Worker::Evaluate(const EvaluateRequest& request, const OnResult& on_result,
                          const std::function<bool()>& interrupted) {
  std::vector<bool> answered(request.items.size(), false);
  size_t count = 0;
  Loss position;  // item and phase of the last `begin`
  auto lost = [&](const FrameRead& read, double allowed) {
    BatchEnd end{BatchEnd::Kind::kLost, Lose(read, allowed), {}};
    end.loss.item = position.item;
    end.loss.phase = position.phase;
    end.loss.program = position.program;
    return end;
  };
  auto broken = [&](const std::string& why) {
    return lost({FrameStatus::kMalformed, nullptr, why}, 0);
  };

  double allowed = ItemSeconds(request, 0);
  Deadline deadline = Deadline::After(allowed);
  double since = MonotonicSeconds();
  double cpu = process_->Usage().cpu_seconds;
  if (Status sent = WriteFrame(process_->channel(), ToJson(request), deadline); !sent) {
    return lost({deadline.Passed() ? FrameStatus::kDeadline : FrameStatus::kClosed, nullptr,
                 sent.error().message},
                allowed);
  }
  for (;;) {
    bool stopped = false;
    const FrameRead read = ReadUntil(deadline, interrupted, &stopped);
    if (stopped) {
      busy_ = true;
      return {BatchEnd::Kind::kInterrupted, {}, {}};
    }
    if (read.status != FrameStatus::kFrame) return lost(read, allowed);
    const json& frame = read.frame;
    const std::string type = TypeOf(frame);
    if (type == "error") {
      ++requests_;
      return {BatchEnd::Kind::kRefused, {}, ErrorFrom(frame)};
    }
    if (type == "done") {
      ++requests_;
      if (count < answered.size()) return broken("it said done before it was");
      const bool retire = frame.value("recycle", false);
      return {retire ? BatchEnd::Kind::kRetired : BatchEnd::Kind::kDone, {}, {}};
    }
    if (type != "begin" && type != "result") return broken("unknown message '" + type + "'");
    if (!frame.contains("item") || !frame["item"].is_number_unsigned() ||
        frame["item"].get<uint64_t>() >= answered.size()) {
      return broken("a message about an item that was not sent");
    }
    const auto item = frame["item"].get<size_t>();
    if (type == "begin") {
      position.item = item;
      position.phase = frame.value("phase", "");
      position.program.reset();
      if (frame.contains("program")) {
        if (auto program = program::FromJson(frame["program"])) {
          position.program = std::move(*program);
        }
      }
      continue;
    }
    if (answered[item]) return broken("two results for one item");
    auto result = CaseFrom(frame);
    if (!result) return broken(result.error().message);
    const double now = MonotonicSeconds();
    const double cpu_now = process_->Usage().cpu_seconds;
    result->seconds = now - since;
    result->cpu_seconds = std::max(cpu_now - cpu, 0.0);
    result->worker = index_;
    if (!result->seed) result->seed = request.items[item].seed;
    since = now;
    cpu = cpu_now;
    answered[item] = true;
    ++count;
    ++programs_;
    on_result(item, std::move(*result));
    if (frame.value("recycle", false)) return {BatchEnd::Kind::kRetired, {}, {}};
    allowed = ItemSeconds(request, count);
    deadline = Deadline::After(allowed);
  }
}

Result<json> Worker::Ask(const json& request, const std::function<bool()>& interrupted,
                         bool* lost) {
  *lost = false;
  const std::string what = TypeOf(request);
  const Deadline deadline = Deadline::After(options_.ask_deadline);
  FrameRead read{FrameStatus::kClosed, nullptr, ""};
  if (WriteFrame(process_->channel(), request, deadline).ok()) {
    bool stopped = false;
    read = ReadUntil(deadline, interrupted, &stopped);
    if (stopped) {
      busy_ = *lost = true;
      return InternalError("interrupted");
    }
  }
  if (read.status != FrameStatus::kFrame) {
    *lost = true;
    const Loss loss = Lose(read, options_.ask_deadline);
    const std::string last = LastLine(loss.output);
    return InternalError("the worker " + loss.how + " on '" + what + "'" +
                         (last.empty() ? "" : ": " + last));
  }
  if (what != "describe") ++requests_;  // that only asks what there is
  if (TypeOf(read.frame) == "error") return ErrorFrom(read.frame);
  json answer = read.frame;
  if (answer.is_object()) answer.erase("type");
  return answer;
}

}  // namespace gradfuzz::campaign
