//! Interruptions as a table: which instances are taken away in a rehearsal, and when.
//!
//! ```text
//! time,target,kind,count,notice
//! 10m,ip-10-0-1-7.ec2.internal,spot,,
//! 12m,web@eu-west-1a,spot,2,
//! 30m,ip-10-0-2-9.ec2.internal,retirement,,2h
//! ```
//!
//! docs/load.md describes it for people who write one.

use replank_model::text::{GroupName, Zone};
use replank_model::time::Span;

use super::time::{When, span};
use super::what::{Befalls, CloudSays, Hand, What};
use super::{Origin, ScriptEvent};

/// What is wrong in a table.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {message}")]
pub struct TableError {
    /// Line, from 1.
    pub line: usize,
    /// What was expected, what was found.
    pub message: String,
}

/// What a target is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A node that is there, or one that a group launches in the rehearsal (`web+2`).
    Node,
    /// A node group.
    Group,
}

/// Columns, and whether a table must have them.
const COLUMNS: [(&str, bool); 5] =
    [("time", true), ("target", true), ("kind", true), ("count", false), ("notice", false)];
const KINDS: &str = "spot, rebalance, retirement or ended";

/// Reads a table. Lines that begin with `#` and empty ones say nothing; `target` tells what a name stands for.
///
/// # Errors
/// The first line that is wrong.
pub fn interruptions(
    text: &str,
    target: &dyn Fn(&str) -> Option<Target>,
) -> Result<Vec<ScriptEvent>, TableError> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    let mut lines = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'));
    let wrong = |line, message: String| TableError { line, message };
    let Some((number, head)) = lines.next() else {
        return Err(wrong(1, "the file is empty, expected the header time,target,kind".to_owned()));
    };
    let columns = columns(head).map_err(|message| wrong(number, message))?;
    let rows = lines.map(|(number, line)| {
        let cells: Vec<&str> = line.split(',').map(str::trim).collect();
        let known = columns.len();
        if cells.len() > known {
            return Err(wrong(number, format!("{} cells, the header has {known}", cells.len())));
        }
        let cell = |name: &str| {
            let at = columns.iter().position(|column| *column == name)?;
            cells.get(at).copied().filter(|cell| !cell.is_empty())
        };
        row(number, &cell, target).map_err(|message| wrong(number, message))
    });
    rows.collect()
}

fn columns(head: &str) -> Result<Vec<&str>, String> {
    let columns: Vec<&str> = head.split(',').map(str::trim).collect();
    let known = |name: &&str| COLUMNS.iter().any(|(column, _)| column == name);
    if let Some(other) = columns.iter().find(|name| !known(name)) {
        return Err(format!("unknown column {other:?}: expected time, target, kind, count or notice"));
    }
    let missing = COLUMNS.iter().find(|(name, must)| *must && !columns.contains(name));
    missing.map_or(Ok(columns), |(name, _)| Err(format!("the header has no column {name}")))
}

fn row<'a>(
    line: usize,
    cell: &dyn Fn(&str) -> Option<&'a str>,
    target: &dyn Fn(&str) -> Option<Target>,
) -> Result<ScriptEvent, String> {
    let must = |name: &str| cell(name).ok_or_else(|| format!("no {name}"));
    let time = must("time")?;
    let when = seconds(time).or_else(|| When::read(time)).ok_or_else(|| {
        format!(
            "{time:?} is not a time: expected seconds (90), a duration (10m) or a time (2026-11-20T09:52:00Z)"
        )
    })?;
    let name = must("target")?;
    let (plain, zone) = name.split_once('@').map_or((name, None), |(group, zone)| (group, Some(zone)));
    let is = target(plain).ok_or_else(|| format!("no node or node group {plain:?}"))?;
    let befalls = befalls(must("kind")?, cell("notice"))?;
    let count = match cell("count") {
        None => 1,
        Some(text) => text
            .parse::<u32>()
            .ok()
            .filter(|count| *count > 0)
            .ok_or_else(|| format!("{text:?} is not a count: expected a number of at least 1"))?,
    };
    let what = match is {
        Target::Node if zone.is_some() => {
            return Err(format!("{plain} is a node, so it cannot have a zone"));
        }
        Target::Node if count > 1 => return Err(format!("{plain} is one node, but the count is {count}")),
        Target::Node => match befalls {
            Befalls::Cloud(says) => What::Cloud(vec![plain.to_owned()], says),
            Befalls::End => What::Hand(Hand::EndInstance(plain.to_owned())),
        },
        Target::Group => What::Some(GroupName::from(plain), zone.map(Zone::from), count, befalls),
    };
    Ok(ScriptEvent { origin: Origin::Interruptions, line, when, text: words(name, count, befalls), what })
}

fn seconds(text: &str) -> Option<When> {
    let seconds = text.parse::<f64>().ok().filter(|seconds| seconds.is_finite() && *seconds >= 0.0)?;
    Some(When::After(Span::from_millis((seconds * 1_000.0).round() as i64)))
}

fn befalls(kind: &str, notice: Option<&str>) -> Result<Befalls, String> {
    let befalls = match kind {
        "spot" => Befalls::Cloud(CloudSays::Spot),
        "rebalance" => Befalls::Cloud(CloudSays::Rebalance),
        "retirement" => {
            let notice = notice.ok_or("a retirement needs a notice, such as 2h or 14d")?;
            let notice = span(notice).filter(|span| *span >= Span::ZERO);
            let notice = notice.ok_or("the notice must be a duration such as 30m, 2h or 14d")?;
            return Ok(Befalls::Cloud(CloudSays::Retirement(notice)));
        }
        "ended" => Befalls::End,
        other => return Err(format!("unknown kind of interruption {other:?}: expected {KINDS}")),
    };
    match notice {
        None => Ok(befalls),
        Some(_) if kind == "spot" => {
            Err("the notice of a spot interruption is always two minutes: leave it empty".to_owned())
        }
        Some(_) => Err(format!("the kind {kind} takes no notice")),
    }
}

fn words(target: &str, count: u32, befalls: Befalls) -> String {
    let of = if count == 1 { target.to_owned() } else { format!("{count} of {target}") };
    match befalls {
        Befalls::Cloud(CloudSays::Spot) => format!("spot interruption of {of}"),
        Befalls::Cloud(CloudSays::Rebalance) => format!("rebalance recommendation for {of}"),
        Befalls::Cloud(CloudSays::Retirement(notice)) => format!("retirement of {of} in {notice}"),
        Befalls::End => format!("termination of {of} without notice"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn known(name: &str) -> Option<Target> {
        match name {
            "web" => Some(Target::Group),
            "node-1" => Some(Target::Node),
            _ => None,
        }
    }

    #[test]
    fn rows_are_interruptions_of_nodes_and_groups() {
        let text = "# one evening\ntime,target,kind,count,notice\n10m,node-1,spot\n\n90,web@z1,spot,2,\n1h,node-1,retirement,,2h\n2h,web,ended\n";
        let all = interruptions(text, &known).expect("it is right");
        let told: Vec<(usize, &str)> = all.iter().map(|one| (one.line, one.text.as_str())).collect();
        assert_eq!(
            told,
            [
                (3, "spot interruption of node-1"),
                (5, "spot interruption of 2 of web@z1"),
                (6, "retirement of node-1 in 2h"),
                (7, "termination of web without notice"),
            ]
        );
        assert_eq!(all[1].when, When::After(Span::from_secs(90)));
        let drawn = What::Some("web".into(), Some("z1".into()), 2, Befalls::Cloud(CloudSays::Spot));
        assert_eq!(all[1].what, drawn);
        assert_eq!(all[0].what, What::Cloud(vec!["node-1".to_owned()], CloudSays::Spot));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_line() {
        let told = |text: &str| interruptions(text, &known).expect_err("it is wrong").to_string();
        assert!(told("").contains("line 1: the file is empty"));
        assert!(told("time,target,kind,when\n").contains("line 1: unknown column \"when\""));
        assert!(told("time,target\n").contains("the header has no column kind"));
        for (row, why) in [
            ("10m,web,spot,1,,9", "6 cells, the header has 5"),
            ("soon,web,spot", "\"soon\" is not a time"),
            ("10m,wbe,spot", "no node or node group \"wbe\""),
            ("10m,web,sopt", "unknown kind of interruption \"sopt\": expected spot, rebalance"),
            ("10m,web,spot,none", "\"none\" is not a count"),
            ("10m,node-1,spot,2", "node-1 is one node, but the count is 2"),
            ("10m,node-1@z1,spot", "node-1 is a node, so it cannot have a zone"),
            ("10m,web,spot,,5m", "is always two minutes"),
            ("10m,web,retirement", "a retirement needs a notice"),
            ("10m,,spot", "no target"),
        ] {
            let message = told(&format!("time,target,kind,count,notice\n{row}\n"));
            assert!(message.starts_with("line 2: ") && message.contains(why), "{message}");
        }
    }
}
