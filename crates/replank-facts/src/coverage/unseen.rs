//! What a single finding could not see: of the kinds that it rests on, those that are not all in the input.

use std::fmt;

use replank_model::object::Kind;
use serde::Serialize;

use super::form::Coverage;
use crate::finding::counted;

/// A kind that was not seen, or not all of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Unseen {
    /// The kind; none where parts of the input could not be read, and nobody knows what they hold.
    pub kind: Option<&'static str>,
    /// Why it was not seen.
    pub why: Why,
    /// How many objects or parts; 0 where the input has none of the kind.
    pub count: u64,
}

/// Why something was not seen.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Why {
    /// The input has no object of the kind, and no list of it.
    Absent,
    /// Other objects name it, and it is not in the input.
    Dangling,
    /// It is in the input and could not be read.
    Unread,
}

impl fmt::Display for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = usize::try_from(self.count).unwrap_or(usize::MAX);
        match (self.why, self.kind) {
            (Why::Absent, kind) => write!(f, "no {} in the input", kind.unwrap_or("object")),
            (Why::Dangling, kind) => {
                write!(f, "{} named and not in the input", counted(number, kind.unwrap_or("object")))
            }
            (Why::Unread, Some(kind)) => write!(f, "{} that could not be read", counted(number, kind)),
            (Why::Unread, None) => {
                write!(f, "{} of the input that could not be read", counted(number, "part"))
            }
        }
    }
}

impl Coverage {
    /// What an answer that rests on some kinds could not see of them.
    #[must_use]
    pub fn unseen(&self, reads: &[Kind]) -> Vec<Unseen> {
        let mut all = Vec::new();
        for kind in reads.iter().map(|kind| kind.as_str()) {
            let mut say = |why: Why, count: u64| all.push(Unseen { kind: Some(kind), why, count });
            if self.absent.iter().any(|absent| absent.kind == kind) {
                say(Why::Absent, 0);
            }
            if let Some(dangling) = self.dangling.iter().find(|dangling| dangling.kind == kind) {
                say(Why::Dangling, u64::try_from(dangling.objects).unwrap_or(u64::MAX));
            }
            if let Some(parts) = self.skipped.kinds.get(kind) {
                say(Why::Unread, *parts);
            }
        }
        let unknown = self.skipped.parts.saturating_sub(self.skipped.kinds.values().sum());
        if unknown > 0 && !reads.is_empty() {
            all.push(Unseen { kind: None, why: Why::Unread, count: unknown });
        }
        all
    }
}

/// What could not be seen, in words; none: everything was.
#[must_use]
pub fn not_seen(unseen: &[Unseen]) -> Option<String> {
    let words: Vec<String> = unseen.iter().map(ToString::to_string).collect();
    (!words.is_empty()).then(|| format!("not seen: {}", words.join(", ")))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::form::{AbsentKind, Dangling, Skipped};
    use super::*;

    fn coverage() -> Coverage {
        Coverage {
            absent: vec![AbsentKind {
                kind: "PodDisruptionBudget".to_owned(),
                resource: "poddisruptionbudgets".to_owned(),
                unseen: "which evictions a disruption budget refuses",
                needed: true,
            }],
            dangling: vec![Dangling {
                kind: "ReplicaSet".to_owned(),
                resource: "replicasets".to_owned(),
                objects: 2,
                references: 5,
                example: String::new(),
            }],
            skipped: Skipped { parts: 4, kinds: BTreeMap::from([("Pod".to_owned(), 3)]), first: Vec::new() },
            ..Coverage::default()
        }
    }

    fn words(reads: &[Kind]) -> Vec<String> {
        coverage().unseen(reads).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn only_kinds_that_an_answer_rests_on_are_named_and_unknown_parts_may_be_any() {
        assert_eq!(
            words(&[Kind::Pod, Kind::PodDisruptionBudget, Kind::ReplicaSet]),
            [
                "3 Pods that could not be read",
                "no PodDisruptionBudget in the input",
                "2 ReplicaSets named and not in the input",
                "1 part of the input that could not be read",
            ]
        );
        assert_eq!(words(&[Kind::Node]), ["1 part of the input that could not be read"]);
        assert!(words(&[]).is_empty());
    }
}
