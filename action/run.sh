#!/usr/bin/env bash
# A command of Replank in a GitHub workflow: annotations in the log, the report as the step's summary, both forms of it as files.
# Ends as the command does. What it takes: REPLANK_COMMAND, REPLANK_ARGUMENTS; RUNNER_TEMP, GITHUB_STEP_SUMMARY and GITHUB_OUTPUT are the runner's.
set -uo pipefail

case "${REPLANK_COMMAND:-}" in
scan | check | rehearse) ;;
*)
    echo "::error::the input command is \"${REPLANK_COMMAND:-}\": it must be scan, check or rehearse"
    exit 2
    ;;
esac

# Quotes count as in a shell; nothing is expanded or run.
arguments=()
if [[ -n "${REPLANK_ARGUMENTS:-}" ]]; then
    if ! words="$(xargs printf '%s\n' <<<"$REPLANK_ARGUMENTS" 2>&1)"; then
        echo "::error::the input arguments cannot be read: $words"
        exit 2
    fi
    mapfile -t arguments <<<"$words"
fi

reports="$RUNNER_TEMP/replank"
mkdir -p "$reports"
# Of an earlier step of the same job.
rm -f "$reports"/report.* "$reports"/annotations.txt

# A rehearsal writes all forms at once: each of them would take another one.
beside=()
if [[ "$REPLANK_COMMAND" == rehearse ]]; then
    beside=(--reports "$reports")
fi
replank --color never "$REPLANK_COMMAND" ${arguments[@]+"${arguments[@]}"} ${beside[@]+"${beside[@]}"} -o json >"$reports/report.json"
code=$?
echo "exit-code=$code" >>"$GITHUB_OUTPUT"
if ((code == 1 || code == 2)); then
    rm -f "$reports"/report.* "$reports/annotations.txt"
    echo "::error::replank $REPLANK_COMMAND cannot do this; its message is above"
    exit "$code"
fi
if [[ "$REPLANK_COMMAND" != rehearse ]]; then
    # The same again in the forms for people: what it says besides was said already.
    replank --quiet "$REPLANK_COMMAND" ${arguments[@]+"${arguments[@]}"} -o markdown >"$reports/report.md" 2>/dev/null
    replank --quiet "$REPLANK_COMMAND" ${arguments[@]+"${arguments[@]}"} -o github >"$reports/annotations.txt" 2>/dev/null
fi
# Many seeds have no change request; comparisons and sweeps have no annotations either.
if [[ -f "$reports/report.md" ]]; then
    cat "$reports/report.md" >>"$GITHUB_STEP_SUMMARY"
fi
if [[ -f "$reports/annotations.txt" ]]; then
    cat "$reports/annotations.txt"
    rm "$reports/annotations.txt"
fi
exit "$code"
