//! What an answer could see of the cluster, in reports and exit codes.

use replank_facts::coverage::{AbsentKind, Allowed, Coverage, DataEnd};
use replank_facts::plan::Plan;
use replank_lifecycle::release::Release;
use replank_lifecycle::table::DATA_NEWEST;

use crate::exit::Exit;
use crate::report::words::{count, grouped};
use crate::report::{Look, Page, Tone};

/// Column of the text beside a label.
const AT: usize = 12;
/// Parts that could not be read and are named.
const SKIPPED_MAX: usize = 3;

/// Where the built-in data ends, if a version is beyond it.
pub(crate) fn data_end(asked: Release) -> Option<DataEnd> {
    let newest: Release = DATA_NEWEST.parse().ok()?;
    (asked > newest).then(|| DataEnd {
        what: "deprecated and removed APIs",
        until: newest.to_string(),
        asked: asked.to_string(),
    })
}

/// What can be seen of a roll to the version of a plan: what is known of versions ends somewhere.
pub(crate) fn of_plan(coverage: Coverage, plan: &Plan, allowed: &Allowed) -> Coverage {
    let wanted = plan.target.version();
    let wanted: Option<Release> = wanted.and_then(|version| version.to_string().parse().ok());
    // Patches come and go within what is known of a minor version.
    let wanted = wanted.map(|release| Release::minor(release.major, release.minor));
    let end = wanted.and_then(data_end).map(|end| DataEnd { what: "versions of Kubernetes", ..end });
    coverage.beyond(end, allowed)
}

/// Writes what could be seen, what could not, and what that means.
pub(crate) fn write(page: &mut Page, coverage: &Coverage) {
    let looked: Vec<&AbsentKind> = coverage.absent.iter().filter(|absent| !absent.needed).collect();
    let word = match (coverage.complete, coverage.accepted.is_empty()) {
        (true, true) => page.paint("complete", Tone::Good),
        (true, false) => page.paint("accepted as it is", Tone::Note),
        (false, _) => page.paint("incomplete", Tone::Bad),
    };
    page.heading("Coverage", &word);
    for missing in &coverage.missing {
        page.labelled(AT, "missing", missing);
    }
    for accepted in &coverage.accepted {
        page.labelled(AT, "accepted", accepted);
    }
    let skipped = &coverage.skipped;
    for first in skipped.first.iter().take(SKIPPED_MAX) {
        page.labelled(AT, "not read", first);
    }
    let more = usize::try_from(skipped.parts).unwrap_or(usize::MAX).saturating_sub(SKIPPED_MAX);
    if more > 0 {
        page.wrapped(AT, &format!("and {} more", grouped(more)), Tone::Faint);
    }
    if !coverage.present.is_empty() {
        let objects: u64 = coverage.present.values().sum();
        let objects = count(usize::try_from(objects).unwrap_or(usize::MAX), "object");
        page.labelled(AT, "read", &format!("{objects} of {}", count(coverage.present.len(), "kind")));
    }
    if !looked.is_empty() {
        let kinds: Vec<&str> = looked.iter().map(|absent| &*absent.kind).collect();
        let text = format!("{}: if the cluster has any, this report does not see them", kinds.join(", "));
        page.labelled(AT, "none of", &text);
    }
}

/// The same in Markdown.
pub(crate) fn markdown(coverage: &Coverage) -> String {
    let mut text = String::from("\n## Coverage\n\n");
    if coverage.missing.is_empty() && coverage.accepted.is_empty() {
        text.push_str("Complete: everything in the input was read.\n");
    }
    let mut lines = |word: &str, all: &[String]| {
        for one in all {
            text.push_str(&format!("- **{word}**: {}\n", crate::report::markdown::escape(one)));
        }
    };
    lines("missing", &coverage.missing);
    lines("accepted", &coverage.accepted);
    text
}

/// How a command ends that could see so much: what looks good with parts missing is not known to be good.
pub(crate) fn end(coverage: &Coverage, exit: Exit) -> Exit {
    match exit {
        Exit::Passes | Exit::Findings if !coverage.complete => Exit::Incomplete,
        Exit::Passes
        | Exit::Findings
        | Exit::Incomplete
        | Exit::Internal
        | Exit::Usage
        | Exit::Blocked
        | Exit::Refused
        | Exit::Interrupted => exit,
    }
}

/// The section for reports that are short: only where something is missing, or was accepted to be.
pub(crate) fn section(coverage: &Coverage, look: Look) -> String {
    if coverage.missing.is_empty() && coverage.accepted.is_empty() {
        return String::new();
    }
    let mut page = Page::new(look);
    write(&mut page, coverage);
    format!("\n{}", page.into_text())
}

#[cfg(test)]
mod tests {
    use std::collections::{BTreeMap, BTreeSet};

    use replank_facts::coverage::{Dangling, Skipped, Unanswered};
    use serde_json::Value;

    use super::*;
    use crate::report::Color;

    fn partial() -> Coverage {
        Coverage {
            complete: false,
            present: BTreeMap::from([("Node".to_owned(), 3), ("Pod".to_owned(), 1_200)]),
            absent: vec![
                AbsentKind {
                    kind: "PodDisruptionBudget".to_owned(),
                    resource: "poddisruptionbudgets".to_owned(),
                    unseen: "which evictions a disruption budget refuses",
                    needed: true,
                },
                AbsentKind {
                    kind: "CronJob".to_owned(),
                    resource: "cronjobs".to_owned(),
                    unseen: "which runs start on a schedule",
                    needed: false,
                },
            ],
            dangling: vec![Dangling {
                kind: "Node".to_owned(),
                resource: "nodes".to_owned(),
                objects: 1,
                references: 2,
                example: "Pod shop/web-1 names Node gone".to_owned(),
            }],
            skipped: Skipped {
                parts: 5,
                kinds: BTreeMap::from([("Pod".to_owned(), 4)]),
                first: vec!["cluster.json: items[3]: …".to_owned()],
            },
            data: data_end("1.50".parse().expect("a version")).into_iter().collect(),
            aws: vec![Unanswered {
                unseen: "sg-1: its rules are not compared".to_owned(),
                command: "aws ec2 describe-security-groups --output json".to_owned(),
            }],
            missing: vec!["there is no PodDisruptionBudget in the input".to_owned()],
            accepted: vec!["5 parts of the input could not be read".to_owned()],
        }
    }

    fn members(value: &Value, path: &str, all: &mut BTreeSet<String>) {
        match value {
            Value::Object(object) if !matches!(path, "present" | "skipped.kinds") => {
                for (key, member) in object {
                    members(
                        member,
                        &if path.is_empty() { key.clone() } else { format!("{path}.{key}") },
                        all,
                    );
                }
            }
            Value::Array(items) if items.iter().any(Value::is_object) => {
                items.iter().for_each(|item| members(item, &format!("{path}[]"), all));
            }
            Value::Object(_)
            | Value::Array(_)
            | Value::Null
            | Value::Bool(_)
            | Value::Number(_)
            | Value::String(_) => {
                all.insert(path.to_owned());
            }
        }
    }

    #[test]
    fn the_page_has_every_member_of_the_json_and_no_other() {
        let mut all = BTreeSet::new();
        members(&serde_json::to_value(partial()).expect("JSON"), "", &mut all);
        let page = include_str!("../../../docs/coverage.md");
        let (_, section) = page.split_once("## As JSON").expect("the page has the section");
        let rows = section.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
        assert_eq!(rows.map(|(member, _)| member.to_owned()).collect::<BTreeSet<_>>(), all);
    }

    #[test]
    fn what_is_missing_comes_first() {
        let mut page = Page::new(Look { width: 100, color: Color::None });
        write(&mut page, &partial());
        insta::assert_snapshot!(page.into_text());
    }

    #[test]
    fn only_what_looks_good_is_made_incomplete() {
        let (whole, partial) = (Coverage::default(), partial());
        for (exit, expected) in [
            (Exit::Passes, Exit::Incomplete),
            (Exit::Findings, Exit::Incomplete),
            (Exit::Blocked, Exit::Blocked),
            (Exit::Refused, Exit::Refused),
            (Exit::Interrupted, Exit::Interrupted),
        ] {
            assert_eq!(end(&partial, exit), expected);
            assert_eq!(end(&whole, exit), exit);
        }
    }

    #[test]
    fn the_data_ends_behind_its_newest_version() {
        assert!(data_end(DATA_NEWEST.parse().expect("a version")).is_none());
        assert!(data_end("1.50".parse().expect("a version")).is_some());
    }
}
