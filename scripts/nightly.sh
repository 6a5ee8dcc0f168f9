#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# One night's run: sets up, fuzzes for a while, writes the reports, says what was new.
#
#   scripts/nightly.sh [OUT]        default OUT: out/nightly-<date>
#
#   DEVICE=all       cpu, cuda or all
#   DURATION=2h      how long to fuzz
#   SEED=N           first seed; default: a million for every day, so no two nights overlap
#   GRADFUZZ_TORCH=VERSION, GRADFUZZ_PYTHON=PATH     as for scripts/setup
#
# Called again with the same OUT, for instance after the machine was taken away, it goes on where it
# was. The exit code is gradfuzz's: 0 clean, 1 new findings, 3 the machine can't run it.
set -euo pipefail
here=$(readlink -f "${BASH_SOURCE[0]}")
here=${here%/*}

case ${1:-} in
  -h | --help) sed -n '3,/^set /{/^set /!s/^# \{0,1\}//p}' "$here/nightly.sh" && exit 0 ;;
  -*) printf 'gradfuzz: scripts/nightly.sh knows no option %s\n' "$1" >&2 && exit 2 ;;
esac
out=${1:-$here/../out/nightly-$(date -u +%Y-%m-%d)}
day=$(($(date -u +%s) / 86400))
seed=${SEED:-$((day * 1000000))}

status=0
if [[ -f $out/campaign.db ]]; then
  "$here/gradfuzz" --resume "$out" || status=$?
else
  "$here/gradfuzz" --device "${DEVICE:-all}" --duration "${DURATION:-2h}" --seed "$seed" \
    --out "$out" || status=$?
fi

# What was recorded is reported whatever ended the run.
if [[ -f $out/campaign.db ]]; then
  "$here/gradfuzz" report "$out" >/dev/null || printf 'gradfuzz: no report could be made of %s\n' "$out" >&2
fi
if [[ -n ${GITHUB_STEP_SUMMARY:-} && -f $out/summary.md ]]; then
  cat "$out/summary.md" >>"$GITHUB_STEP_SUMMARY"
fi
exit "$status"
