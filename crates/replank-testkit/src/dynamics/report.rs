//! The test target: finds recordings, runs them, prints a table per group, and fails unless all of them pass.

use std::collections::BTreeMap;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, ensure};
use serde_json::Value;

use super::{Outcome, Scenario, compare, run};
use replank_oracle::recordings::{lines, walk_recordings};

/// Names another directory than the repository's `testdata/transcripts`.
const DIRECTORY_VARIABLE: &str = "REPLANK_TRANSCRIPTS";
/// Names one scenario that is run alone, with all its differences.
const ONLY_VARIABLE: &str = "DYNAMICS_ONLY";
/// If set, all failures are shown in full.
const ALL_VARIABLE: &str = "DYNAMICS_ALL";
/// If set, all events of our run are printed.
const EVENTS_VARIABLE: &str = "DYNAMICS_EVENTS";
/// Failures that are shown in full, per group, and differences of each.
const SHOWN_FAILURES: usize = 3;
const SHOWN_DIFFERENCES: usize = 12;
/// Life-cycle events that must come within 1 s of the recorded ones. What is left are draws at the edge of a range.
const NEAR_PERCENT_MIN: usize = 99;

/// One row of the table.
#[derive(Debug, Default)]
struct Row {
    scenarios: usize,
    passed: usize,
    life: usize,
    life_near: usize,
    status: usize,
    status_seen: usize,
    missing: usize,
    extra: usize,
    order: usize,
    finals: usize,
    shown: Vec<(String, Vec<String>)>,
}

impl Row {
    fn take(&mut self, id: &str, outcome: &Outcome, all: bool) {
        self.scenarios += 1;
        self.passed += usize::from(outcome.passed());
        self.life += outcome.life;
        self.life_near += outcome.life_near;
        self.status += outcome.status;
        self.status_seen += outcome.status_seen;
        self.missing += outcome.missing.len();
        self.extra += outcome.extra.len();
        self.order += outcome.order.len();
        self.finals += outcome.finals.len();
        if !outcome.passed() && (all || self.shown.len() < SHOWN_FAILURES) {
            let mut lines = outcome.lines();
            if all {
                lines.extend(outcome.unseen.iter().map(|line| format!("(status not seen: {line})")));
            } else if lines.len() > SHOWN_DIFFERENCES {
                let more = lines.len() - SHOWN_DIFFERENCES;
                lines.truncate(SHOWN_DIFFERENCES);
                lines.push(format!("… {more} more"));
            }
            self.shown.push((id.to_owned(), lines));
        }
    }
}

/// What a harness for requests found.
#[derive(Debug, Default)]
pub struct RequestTally {
    /// Scenarios.
    pub scenarios: usize,
    /// Of these, without a difference.
    pub passed: usize,
    /// Answers that were compared.
    pub answers: usize,
    /// Of these, as recorded.
    pub equal: usize,
    /// Scenario and differences, of the first few that failed.
    pub shown: Vec<(String, Vec<String>)>,
}

/// Runs recorded API requests: the records of one file that have `op`, in order; or only one scenario of them.
pub type Requests = fn(&[Value], Option<&str>) -> RequestTally;

/// Body of the test target.
#[must_use]
pub fn main(requests: Option<Requests>) -> ExitCode {
    if std::env::args().any(|argument| argument == "--list") {
        println!("dynamics: test");
        return ExitCode::SUCCESS;
    }
    match run_all(requests) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            println!("failed: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn run_all(requests: Option<Requests>) -> anyhow::Result<bool> {
    let directory: PathBuf = match std::env::var_os(DIRECTORY_VARIABLE) {
        Some(directory) => directory.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../testdata/transcripts"),
    };
    let only = std::env::var(ONLY_VARIABLE).ok();
    let all = only.is_some() || std::env::var_os(ALL_VARIABLE).is_some();
    println!("\nrecorded dynamics below {}", directory.display());
    let mut table = Table::default();
    let mut asked = RequestTally::default();
    for path in walk_recordings(&directory)? {
        let records = lines(&path)?;
        let mut requested = Vec::new();
        for line in records {
            let record: Value =
                serde_json::from_str(&line).with_context(|| format!("reading {}", path.display()))?;
            if record.get("steps").is_some() {
                if only.as_ref().is_none_or(|only| record["id"] == only.as_str()) {
                    table.run(record, all);
                }
            } else if record.get("op").is_some() {
                requested.push(record);
            }
        }
        if let Some(requests) = requests
            && !requested.is_empty()
        {
            let tally = requests(&requested, only.as_deref());
            asked.scenarios += tally.scenarios;
            asked.passed += tally.passed;
            asked.answers += tally.answers;
            asked.equal += tally.equal;
            asked.shown.extend(tally.shown);
        }
    }
    ensure!(!table.rows.is_empty() || asked.scenarios > 0, "no scenario below {}", directory.display());
    print!("{table}");
    if asked.scenarios > 0 {
        let (scenarios, passed) = (asked.scenarios, asked.passed);
        println!("requests: {passed} of {scenarios} scenarios, {} of {} answers", asked.equal, asked.answers);
        for (id, lines) in &asked.shown {
            println!("\nrequests {id}");
            lines.iter().for_each(|line| println!("    {line}"));
        }
    }
    let failures = failures(&table, &asked, only.is_some());
    failures.iter().for_each(|failure| println!("{failure}"));
    Ok(failures.is_empty())
}

#[derive(Debug, Default)]
struct Table {
    rows: BTreeMap<String, Row>,
}

impl Table {
    fn run(&mut self, record: Value, all: bool) {
        let id = record["id"].as_str().unwrap_or("(a scenario without id)").to_owned();
        let group = record["group"].as_str().unwrap_or("(no group)").to_owned();
        let outcome = panic::catch_unwind(AssertUnwindSafe(|| one(record))).unwrap_or_else(|_| Outcome {
            problems: vec!["the scenario panicked (the message is above)".to_owned()],
            ..Outcome::default()
        });
        self.rows.entry(group).or_default().take(&id, &outcome, all);
    }
}

/// Why the target fails; empty if it passes. A scenario that runs alone is too short for a share of its events.
fn failures(table: &Table, asked: &RequestTally, alone: bool) -> Vec<String> {
    let mut failures = Vec::new();
    let (mut life, mut near) = (0, 0);
    for (group, row) in &table.rows {
        if row.passed < row.scenarios {
            failures.push(format!("{group}: {} of {} scenarios passed", row.passed, row.scenarios));
        }
        life += row.life;
        near += row.life_near;
    }
    if !alone && near * 100 < life * NEAR_PERCENT_MIN {
        failures
            .push(format!("{near} of {life} life-cycle events within 1 s: fewer than {NEAR_PERCENT_MIN}%"));
    }
    if asked.passed < asked.scenarios {
        failures.push(format!("requests: {} of {} scenarios passed", asked.passed, asked.scenarios));
    }
    failures
}

fn one(record: Value) -> Outcome {
    let scenario: Scenario = match serde_json::from_value(record) {
        Ok(scenario) => scenario,
        Err(error) => {
            return Outcome { problems: vec![format!("cannot be read: {error}")], ..Outcome::default() };
        }
    };
    match run(&scenario) {
        Ok(run) => {
            if std::env::var_os(EVENTS_VARIABLE).is_some() {
                println!("\n{}: events of our run", scenario.id);
                run.events.iter().for_each(|event| println!("    {event}"));
            }
            compare(&scenario, &run)
        }
        Err(error) => Outcome { problems: vec![format!("cannot be run: {error:#}")], ..Outcome::default() },
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{:<16} {:>9} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>6} {:>6} {:>6}",
            "group",
            "scenarios",
            "passed",
            "failed",
            "events",
            "in 1 s",
            "status",
            "missing",
            "extra",
            "order",
            "final"
        )?;
        for (group, row) in &self.rows {
            writeln!(
                f,
                "{group:<16} {:>9} {:>7} {:>7} {:>7} {:>7} {:>7} {:>7} {:>6} {:>6} {:>6}",
                row.scenarios,
                row.passed,
                row.scenarios - row.passed,
                row.life,
                percent(row.life_near, row.life),
                percent(row.status_seen, row.status),
                row.missing,
                row.extra,
                row.order,
                row.finals
            )?;
        }
        for (group, row) in &self.rows {
            for (id, lines) in &row.shown {
                writeln!(f, "\n{group} {id}")?;
                lines.iter().try_for_each(|line| writeln!(f, "    {line}"))?;
            }
            let failed = row.scenarios - row.passed;
            if failed > row.shown.len() {
                writeln!(f, "\n{group}: {} more failed", failed - row.shown.len())?;
            }
        }
        Ok(())
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts of events, far below 2^52")]
fn percent(part: usize, whole: usize) -> String {
    if whole == 0 { "-".to_owned() } else { format!("{:.1}%", part as f64 * 100.0 / whole as f64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(passed: usize, life_near: usize) -> Table {
        let row = Row { scenarios: 10, passed, life: 200, life_near, ..Row::default() };
        Table { rows: BTreeMap::from([("job".to_owned(), row)]) }
    }

    fn asked(passed: usize) -> RequestTally {
        RequestTally { scenarios: 5, passed, ..RequestTally::default() }
    }

    #[test]
    fn all_scenarios_all_requests_and_99_percent_of_the_events_must_pass() {
        assert_eq!(failures(&table(10, 198), &asked(5), false), Vec::<String>::new());
        assert_eq!(failures(&table(9, 200), &asked(5), false), ["job: 9 of 10 scenarios passed"]);
        let near = "197 of 200 life-cycle events within 1 s: fewer than 99%";
        assert_eq!(failures(&table(10, 197), &asked(5), false), [near]);
        assert_eq!(failures(&table(10, 197), &asked(5), true), Vec::<String>::new());
        assert_eq!(failures(&table(10, 200), &asked(4), false), ["requests: 4 of 5 scenarios passed"]);
    }
}
