//! Cordons that a person makes (`replank cordon`, `replank drain`): they do not expire, and any `kubectl uncordon` ends them.
//!
//! One annotation beside `spec.unschedulable` tells who has cordoned the node and since when; without the cordon it means nothing.

use replank_model::object::node::Node;
use replank_model::text::{RunId, Text};
use replank_model::time::Time;

use super::tags::pairs;
use super::version::written;

/// Annotation on a node that a person has cordoned: by which call, since when, and from when on it is drained.
pub const BY_HAND: &str = "replank.dev/cordoned-by-hand";
/// What [`BY_HAND`] says of a cordon that had been there before.
const FOREIGN: &str = "foreign";

/// What [`BY_HAND`] says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ByHand {
    /// The call.
    pub run: RunId,
    /// Since when the node is cordoned for it.
    pub since: Time,
    /// When its drain began; `None` while its turn has not come.
    pub from: Option<Time>,
    /// Whether the node was cordoned before.
    pub is_foreign: bool,
}

impl ByHand {
    /// What a node's annotation says; `None` where it has none, or one that cannot be read.
    #[must_use]
    pub fn of(node: &Node) -> Option<Self> {
        let (run, pairs) = pairs(node.meta.annotations.value(BY_HAND)?, &["since", "from", "cordon"])?;
        let time = |key| pairs.get(key).and_then(|text| text.parse::<Time>().ok());
        let is_foreign = pairs.get("cordon") == Some(&FOREIGN);
        Some(Self { run, since: time("since")?, from: time("from"), is_foreign })
    }

    fn to_text(&self) -> Text {
        let Self { run, since, from, is_foreign } = self;
        let from = from.map(|from| format!(" from={from}")).unwrap_or_default();
        let cordon = if *is_foreign { " cordon=foreign" } else { "" };
        Text::from(written(&format!("{run} since={since}{from}{cordon}")))
    }
}

/// The node, cordoned for a call. One that is its own already keeps since when it is, and whose cordon it was.
#[must_use]
pub fn cordoned_by_hand(node: &Node, run: &RunId, since: Time, from: Option<Time>) -> Node {
    let known = ByHand::of(node).filter(|known| known.run == *run);
    let is_foreign = known.as_ref().map_or(node.spec.unschedulable, |known| known.is_foreign);
    let since = known.map_or(since, |known| known.since);
    let mut node = node.clone();
    let said = ByHand { run: run.clone(), since, from, is_foreign };
    node.meta.annotations = node.meta.annotations.with(BY_HAND, said.to_text());
    node.spec.unschedulable = true;
    node
}

/// The node, uncordoned by a person, whoever had cordoned it. Marks of runs stay: they are theirs.
#[must_use]
pub fn uncordoned_by_hand(node: &Node) -> Node {
    let mut node = node.clone();
    node.meta.annotations = node.meta.annotations.without(BY_HAND);
    node.spec.unschedulable = false;
    node
}

#[cfg(test)]
mod tests {
    use super::super::{Mark, NodeRole, Owner, is_cordoned_by_us, laid, lifted, of};
    use super::*;

    fn time(text: &str) -> Time {
        text.parse().expect("a time")
    }

    #[test]
    fn a_cordon_by_hand_is_read_as_it_was_written_and_uncordoning_leaves_nothing() {
        let run = RunId::from("drain by jane");
        let (since, from) = (time("2026-01-01T00:00:00Z"), time("2026-01-01T01:00:00Z"));
        let cordoned = cordoned_by_hand(&Node::default(), &run, since, None);
        assert!(cordoned.spec.unschedulable);
        assert_eq!(
            ByHand::of(&cordoned),
            Some(ByHand { run: run.clone(), since, from: None, is_foreign: false })
        );
        let begun = cordoned_by_hand(&cordoned, &run, from, Some(from));
        let said = ByHand { run, since, from: Some(from), is_foreign: false };
        assert_eq!(ByHand::of(&begun), Some(said), "it is the same cordon");
        assert_eq!(uncordoned_by_hand(&begun), Node::default());
    }

    #[test]
    fn a_cordon_that_was_there_before_is_told_apart() {
        let mut node = Node::default();
        node.spec.unschedulable = true;
        let (first, second) = (RunId::from("first"), RunId::from("second"));
        let at = time("2026-01-01T00:00:00Z");
        let held = cordoned_by_hand(&node, &first, at, None);
        assert!(ByHand::of(&held).is_some_and(|by| by.is_foreign));
        let own = cordoned_by_hand(&Node::default(), &first, at, None);
        let taken = cordoned_by_hand(&own, &second, at, None);
        assert!(ByHand::of(&taken).is_some_and(|by| by.is_foreign && by.run == second));
    }

    #[test]
    fn a_run_takes_a_cordon_by_hand_for_somebody_elses() {
        let at = time("2026-01-01T00:00:00Z");
        let node = cordoned_by_hand(&Node::default(), &RunId::from("drain"), at, None);
        assert!(!is_cordoned_by_us(&node) && of(&node).is_none());
        let mark = Mark { owner: Owner::Run, role: NodeRole::Queued, since: at, expires: at };
        assert_eq!(lifted(&laid(&node, &RunId::from("run"), &mark)), node, "it outlives the run");
    }
}
