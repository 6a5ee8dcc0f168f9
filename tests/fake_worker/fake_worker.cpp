// SPDX-License-Identifier: BSD-3-Clause
// A worker without torch that acts out every way to answer, and every way not to.
//
// Seeds say what happens. Options, from the command line or from $FAKE_WORKER (separated by
// spaces):
//   --plan 3=abort,5=hang     what the programs of these seeds do; the others agree
//   --log FILE                one line per evaluated item: seed, process, pack, cache folder
//   --pid-file FILE           process number of a child that was spawned
//   --once FOLDER             for the acts "...-once": each happens only the first time
//   --start ready|error|die|garbage|slow     what the worker does instead of becoming ready
//   --torch VERSION           what it claims to run
// Acts: agree, gradient, forward, flaky, abort, segv, kill, exit, hang, hang-with-child, garbage,
// truncated, too-large, chatty, big, slow, leave, retire, refuse, usage, die-generating,
// hang-eager, die-after, done-early, invalid; and abort-once, hang-once, gradient-once.
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "gradfuzz/message/outcome.h"
#include "gradfuzz/message/request.h"
#include "gradfuzz/program/json.h"
#include "gradfuzz/support/frame.h"

namespace {

using namespace gradfuzz;  // NOLINT: a program of one file
using nlohmann::json;

struct Config {
  int fd = 3;
  std::string cache_dir, machine_cache, log, pid_file, once, start = "ready", torch = "2.15.0+fake";
  std::map<uint64_t, std::string> plan;
};

void Raw(int fd, const std::string& bytes) {
  if (write(fd, bytes.data(), bytes.size()) < 0) _exit(9);
}

// Seeds differ in their sizes; odd ones have a relu before the sum.
program::Program ProgramOf(uint64_t seed) {
  program::Program p;
  const auto size = static_cast<int64_t>(seed % 7 + 1);
  p.storages.push_back({program::DType::kFloat32, size, {}});
  p.storages[0].values.seed = seed;
  p.leaves.push_back({0, {size}, {1}, 0, true});
  if (seed % 2 == 1) p.statements.push_back({"relu", {program::Arg::Value(0)}, {}, 1});
  p.statements.push_back({"sum", {program::Arg::Value(seed % 2 == 1 ? 1 : 0)}, {}, 1});
  p.outputs.push_back({seed % 2 == 1 ? 2 : 1, {}});
  return p;
}

Outcome OutcomeOf(const RunOptions& run, Verdict verdict) {
  Outcome outcome;
  outcome.lane = "real";
  outcome.verdict = verdict;
  for (const std::string& name : run.rungs) {
    RungOutcome rung;
    rung.rung = name;
    rung.device = run.device;
    rung.verdict = name == "inductor" ? verdict : Verdict::kAgree;
    Comparison c;
    c.what = "grad x0";
    c.verdict = rung.verdict;
    c.sizes = {2};
    c.numel = 2;
    c.wrong = c.verdict == Verdict::kAgree ? 0 : 1;
    rung.comparisons.push_back(c);
    rung.graphs = 1;
    if (IsFinding(rung.verdict) && outcome.first_wrong_rung.empty()) {
      outcome.first_wrong_rung = name;
    }
    outcome.rungs.push_back(rung);
  }
  outcome.stats = {{"tensors", 2}, {"features", {"op.sum", "op_gradient.sum"}}};
  return outcome;
}

// True the first time that it is asked for this seed, in any process.
bool FirstTime(const Config& config, uint64_t seed) {
  const std::string path = config.once + "/" + std::to_string(seed);
  const int fd = open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
  if (fd >= 0) close(fd);
  return fd >= 0;
}

[[noreturn]] void Hang() {
  for (;;) pause();
}

class FakeWorker {
 public:
  explicit FakeWorker(Config config) : config_(std::move(config)) {}

  int Serve() {
    if (config_.start == "die") {
      std::fprintf(stderr, "ImportError: libtorch.so: no such file\n");
      return 4;
    }
    if (config_.start == "error") {
      Send({{"type", "error"}, {"kind", "environment"}, {"message", "no torch in this Python"}});
      return 0;
    }
    if (config_.start == "garbage") Raw(config_.fd, "hello, this is not a frame");
    if (config_.start == "slow") Hang();
    json ready = Description();
    ready["type"] = "ready";
    Send(ready);
    FrameReader reader(config_.fd);
    for (;;) {
      const FrameRead read = reader.Read(Deadline::Never());
      if (read.status != FrameStatus::kFrame) return 0;
      const std::string type = read.frame.value("type", "");
      if (type == "evaluate") {
        Evaluate(read.frame);
      } else if (type == "describe") {
        json answer = Description();
        answer["type"] = "answer";
        Send(answer);
      } else if (type == "generate") {
        json programs = json::array();
        for (const json& item : read.frame.at("items")) {
          programs.push_back(
              {{"program", program::ToJson(ProgramOf(item.at("seed").get<uint64_t>()))}});
        }
        Send({{"type", "answer"}, {"programs", programs}});
      } else if (type == "parse") {
        Parse(read.frame);
      } else if (type == "ops") {
        Send({{"type", "answer"},
              {"ops",
               {{{"name", "sum"},
                 {"family", "aggregation"},
                 {"exact", true},
                 {"differentiable", true},
                 {"weight", 1.5}}}},
              {"database",
               {{{"name", "sum"}, {"paths", {"sum", "Tensor.sum"}}, {"left_out", ""}},
                {{"name", "normal"}, {"paths", {"normal"}}, {"left_out", "random"}},
                {{"name", "amax"}, {"paths", {"amax"}}, {"left_out", ""}}}}});
      } else if (type == "abort") {
        std::fprintf(stderr, "asked to abort\n");
        abort();
      } else if (type == "hang") {
        Hang();
      } else {
        Send({{"type", "error"}, {"kind", "usage"}, {"message", "unknown request " + type}});
      }
    }
  }

 private:
  void Send(const json& frame) const {
    if (!WriteFrame(config_.fd, frame).ok()) _exit(8);
  }

  json Description() const {
    return {{"torch", config_.torch},
            {"python", "3.11.7"},
            {"devices", {"cpu"}},
            {"rungs", {"eager", "aot_eager", "inductor"}},
            {"knobs", json::object()}};
  }

  // A file that holds one number is the program of that seed; "# expect: " lines go to the header.
  void Parse(const json& request) const {
    std::stringstream lines(request.at("text").get<std::string>());
    std::string line;
    json header = json::object();
    while (std::getline(lines, line)) {
      if (line.rfind("# expect: ", 0) == 0) header["expect"].push_back(line.substr(10));
      if (line.empty() || line[0] == '#') continue;
      char* end = nullptr;
      const uint64_t seed = std::strtoull(line.c_str(), &end, 10);
      if (end == line.c_str()) break;
      Send({{"type", "answer"}, {"program", program::ToJson(ProgramOf(seed))}, {"header", header}});
      return;
    }
    Send({{"type", "error"},
          {"kind", "usage"},
          {"message", request.at("path").get<std::string>() + " does not parse: line 1"}});
  }

  void Evaluate(const json& frame) {
    const auto request = EvaluateRequestFromJson(frame);
    if (!request) {
      Send({{"type", "error"}, {"kind", "internal"}, {"message", request.error().message}});
      return;
    }
    if (request->run.device != "cpu") {
      Send({{"type", "error"},
            {"kind", "environment"},
            {"message", "no device " + request->run.device}});
      return;
    }
    for (size_t i = 0; i < request->items.size(); ++i) {
      const WorkItem& item = request->items[i];
      uint64_t seed = 0;
      if (item.program) {
        seed = item.program->storages[0].values.seed;
      } else {
        seed = *item.seed;
      }
      if (!EvaluateOne(i, seed, item, *request)) return;
    }
    Send({{"type", "done"}});
  }

  void Begin(size_t item, const char* phase) const {
    Send({{"type", "begin"}, {"item", item}, {"phase", phase}});
  }

  bool EvaluateOne(size_t i, uint64_t seed, const WorkItem& item, const EvaluateRequest& request) {
    const auto planned = config_.plan.find(seed);
    std::string act = planned == config_.plan.end() ? "agree" : planned->second;
    if (act.ends_with("-once")) {
      act = FirstTime(config_, seed) ? act.substr(0, act.size() - 5) : "agree";
    }
    Log(seed, act, request);
    if (act == "refuse" || act == "usage") {
      Send({{"type", "error"},
            {"kind", act == "usage" ? "usage" : "internal"},
            {"message", "cannot do seed " + std::to_string(seed)}});
      return false;
    }
    if (!item.program) Begin(i, "generate");
    if (act == "die-generating") abort();
    Begin(i, "eager");
    if (act == "hang-eager") Hang();
    Begin(i, "inductor");
    if (act == "abort") {
      std::fprintf(stderr, "terminate called: seed %llu\n", static_cast<unsigned long long>(seed));
      abort();
    }
    if (act == "segv") raise(SIGSEGV);
    if (act == "kill") raise(SIGKILL);
    if (act == "exit") _exit(3);
    if (act == "hang") Hang();
    if (act == "hang-with-child") HangWithChild();
    if (act == "leave") {  // closes the channel and lives on
      close(config_.fd);
      Hang();
    }
    if (act == "garbage") Raw(config_.fd, std::string("\x05\0\0\0oops!", 9));
    if (act == "too-large") Raw(config_.fd, "\xff\xff\xff\xff");
    if (act == "truncated") {
      Raw(config_.fd, std::string("\x40\0\0\0{\"type\":", 12));
      _exit(0);
    }
    if (act == "chatty") {
      std::printf("this must not reach the results\n");
      for (int line = 0; line < 20000; ++line) std::fprintf(stderr, "%0400d\n", line);
    }
    if (act == "slow") usleep(300'000);
    if (act == "done-early") {
      Send({{"type", "done"}});
      return false;
    }

    Verdict verdict = Verdict::kAgree;
    if (act == "gradient" || act == "die-after") verdict = Verdict::kGradientMismatch;
    if (act == "forward") verdict = Verdict::kForwardMismatch;
    // Wrong in the campaign, right whenever it is confirmed.
    if (act == "flaky" && !request.run.fresh_caches) verdict = Verdict::kGradientMismatch;
    Outcome outcome = OutcomeOf(request.run, verdict);
    if (act == "invalid") {
      outcome.verdict = Verdict::kInvalid;
      outcome.note = "eager rejects the program: AttributeError: no attribute 'x'\n  File y";
    }
    if (act == "big") outcome.note = std::string(6'000'000, 'b');
    json result = {{"type", "result"},
                   {"item", i},
                   {"program", program::ToJson(item.program ? *item.program : ProgramOf(seed))},
                   {"outcome", ToJson(outcome)}};
    if (item.seed) result["seed"] = *item.seed;
    if (act == "retire") result["recycle"] = true;
    Send(result);
    if (act == "retire") _exit(0);
    if (act == "die-after") abort();
    return true;
  }

  [[noreturn]] void HangWithChild() const {
    const pid_t child = fork();
    if (child == 0) Hang();
    if (FILE* file = std::fopen(config_.pid_file.c_str(), "a")) {
      std::fprintf(file, "%d\n%d\n", static_cast<int>(getpid()), static_cast<int>(child));
      std::fclose(file);
    }
    Hang();
  }

  void Log(uint64_t seed, const std::string& act, const EvaluateRequest& request) const {
    if (config_.log.empty()) return;
    // One write, so that lines of several workers do not mix.
    const std::string line = std::to_string(seed) + " " + std::to_string(getpid()) +
                             " pack=" + std::to_string(request.run.pack) +
                             " items=" + std::to_string(request.items.size()) + " " + act + " " +
                             config_.cache_dir + "\n";
    const int fd = open(config_.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
    if (fd >= 0) {
      Raw(fd, line);
      close(fd);
    }
  }

  Config config_;
};

Config Configure(const std::vector<std::string>& words) {
  Config config;
  for (size_t i = 0; i + 1 < words.size(); i += 2) {
    const std::string &name = words[i], &value = words[i + 1];
    if (name == "--fd") config.fd = std::atoi(value.c_str());
    if (name == "--cache-dir") config.cache_dir = value;
    if (name == "--machine-cache") config.machine_cache = value;
    if (name == "--log") config.log = value;
    if (name == "--pid-file") config.pid_file = value;
    if (name == "--once") config.once = value;
    if (name == "--start") config.start = value;
    if (name == "--torch") config.torch = value;
    if (name == "--plan") {
      std::stringstream entries(value);
      std::string entry;
      while (std::getline(entries, entry, ',')) {
        const size_t at = entry.find('=');
        config.plan[std::strtoull(entry.c_str(), nullptr, 10)] = entry.substr(at + 1);
      }
    }
  }
  return config;
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> words;
  if (const char* more = std::getenv("FAKE_WORKER")) {
    std::stringstream stream(more);
    std::string word;
    while (stream >> word) words.push_back(word);
  }
  words.insert(words.end(), argv + 1, argv + argc);
  Config config = Configure(words);
  fcntl(config.fd, F_SETFD, FD_CLOEXEC);
  return FakeWorker(std::move(config)).Serve();
}
