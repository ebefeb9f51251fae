//! What Replank writes on other people's objects, and where.
//!
//! Every cordon of ours names its owner, its run and its expiry (promise S3), so that a person can see whose it is and a
//! later run can find and clear what a dead one left. Marks are also what a run remembers: since when a node waits, when
//! its drain begins. [`laid`] and [`lifted`] say exactly what a node looks like with a mark and without, so that a driver
//! has nothing to decide.
//!
//! All of it carries a version ([`version`]): what a newer Replank wrote is left alone, and that is said.

mod by_hand;
mod tags;
pub mod version;

use replank_model::labels::Annotations;
use replank_model::object::affinity::{Taint, TaintEffect};
use replank_model::object::node::Node;
use replank_model::object::pod::PodTemplate;
use replank_model::text::{InstanceId, RunId, Text};
use replank_model::time::Time;

use crate::cause::Cause;
use crate::command::{Mark, NodeRole};
use crate::owner::Owner;

pub use by_hand::{BY_HAND, ByHand, cordoned_by_hand, uncordoned_by_hand};
pub use tags::template_tag;
pub use tags::{Ailment, Before, Begun, Halt, Halted, Illness, Moment, Until, Whose};
pub use tags::{process_tag, read_followed, read_process, read_size, read_template, size_tag, size_text};
pub use tags::{protected_by, protected_tag};
pub use version::{OURS, VERSION, newer_on_group, newer_on_node};

/// Annotation on a node: which part of Replank has it, as an [`Owner`].
pub const OWNER: &str = "replank.dev/owner";
/// Annotation on a node: the run that cordoned it.
pub const RUN: &str = "replank.dev/run";
/// Annotation on a node: what the node is to the run.
pub const ROLE: &str = "replank.dev/role";
/// Annotation on a node: since when the run has had it.
pub const SINCE: &str = "replank.dev/since";
/// Annotation on a node: when its drain begins.
pub const DRAIN_FROM: &str = "replank.dev/drain-from";
/// Annotation on a node that is not capacity, although it is Ready and its drain has not begun: pods were moved off it while it was interrupted, and it has been
/// cordoned ever since.
pub const DEPLETED: &str = "replank.dev/depleted";
/// Annotation on a node that is interrupted: by what. The taint of this key says it too.
pub const INTERRUPTED: &str = "replank.dev/interrupted";
/// Annotation on a node that is interrupted: when it is gone for certain, where that is known.
pub const INTERRUPTED_UNTIL: &str = "replank.dev/interrupted-until";
/// Annotation on a node: how often the run has uncordoned it because it could not be emptied. While it is uncordoned, a taint of this key (`PreferNoSchedule`) says it, too. The annotation outlives the role, for as long as the run has the node.
pub const POSTPONED: &str = "replank.dev/postponed";
/// Taint on a node that is to be replaced and takes pods until its turn comes (`PreferNoSchedule`): pods go elsewhere if there is room.
pub const LISTED: &str = "replank.dev/listed";
/// Annotation on a node: when the mark may be cleared by anybody.
pub const EXPIRES: &str = "replank.dev/expires";
/// Annotation on a node: [`FOREIGN`] if it was cordoned before the run came. Such a cordon stays when the mark goes.
pub const CORDON: &str = "replank.dev/cordon";
/// Value of [`CORDON`].
pub const FOREIGN: &str = "foreign";
/// Label on a node that is to be no target of load balancers (KEP-1143, `node.kubernetes.io` well-known labels). The service
/// controller and the AWS Load Balancer Controller read it.
pub const EXCLUDE: &str = "node.kubernetes.io/exclude-from-external-load-balancers";
/// Annotation on a node: the run that has set [`EXCLUDE`]. Without it the label is somebody else's, and stays.
pub const EXCLUDED: &str = "replank.dev/excluded";
/// Annotation on a node: when it was excluded.
pub const EXCLUDED_AT: &str = "replank.dev/excluded-at";
/// Annotation on a pod template: when `kubectl rollout restart` was last asked for (kubectl's own key).
pub const RESTARTED_AT: &str = "kubectl.kubernetes.io/restartedAt";
/// Annotation on a pod template: the run that has asked for the restart at [`RESTARTED_AT`].
pub const RESTARTED_BY: &str = "replank.dev/restarted-by";
/// Tag on a group that is rolled, moved out of or moved into: its size before the run, as `min/max/desired`. Like the value of every tag of ours, this one
/// begins with its version: `v1 0/5/3`.
pub const ORIGINAL_SIZE: &str = "replank.dev/original-size";
/// Tag on a group: the run that has raised it, how many nodes it replaces and by how many it raised the group, as
/// `<run> nodes=<n> surge=<n>`.
pub const BEGUN: &str = "replank.dev/begun";
/// Tag on a group: the number of the launch template version that was current before the run: what `undo` and
/// `onFailure: rollback` go back to.
pub const ORIGINAL_TEMPLATE: &str = "replank.dev/original-template";
/// Tag on a group: the process that the run has suspended, and resumes when it is over. It names no run, like the size.
pub const SUSPENDED: &str = "replank.dev/suspended";
/// Tag on a group, with the id of an instance behind it: the run that protects the instance from scale-in, and ends that when nothing on it is waited for any
/// more. It is written before the instance is protected, so that a protection without it is somebody else's.
pub const PROTECTED: &str = "replank.dev/protected-";
/// Tag on a group: what was wrong with the cluster's pods when the run began, as [`Before`].
pub const HEALTH: &str = "replank.dev/health-before";
/// Tag on a group, with the number of a stage behind it: until when the run stands still after that stage, as [`Until`].
pub const STAGE: &str = "replank.dev/stage-";
/// Tag on a group: until when what was replaced is retained, as [`Until`].
pub const RETAINED: &str = "replank.dev/retained";
/// Tag on a group: since when a person has paused the run, as [`Moment`]. It goes when the end of the pause is written down.
pub const PAUSED: &str = "replank.dev/paused";
/// Tag on a group: when the run's last pause ended, as [`Moment`].
pub const RESUMED: &str = "replank.dev/resumed";
/// Note on a group that somebody else keeps: since when one of its nodes is gone and none has come in its place, as [`Moment`].
pub const AWAITED: &str = "replank.dev/awaited";
/// Tag on a group: the run that ended without being done, when and why, as [`Halted`].
pub const HALTED: &str = "replank.dev/halted";

/// A mark as it is found on a node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Whose it is.
    pub run: RunId,
    /// What it says.
    pub mark: Mark,
}

impl Found {
    /// Whether it is that run's.
    #[must_use]
    pub fn is_of_run(&self, run: &RunId) -> bool {
        self.mark.owner == Owner::Run && self.run == *run
    }
}

/// The mark on a node. Annotations that cannot be read as one count as none: they are nobody's mark, or a newer Replank's ([`newer_on_node`]).
#[must_use]
pub fn of(node: &Node) -> Option<Found> {
    let annotations = &node.meta.annotations;
    if version::Version::of(annotations) != version::Version::Known {
        return None;
    }
    let time = |key| annotations.value(key).and_then(|text| text.parse::<Time>().ok());
    let run = RunId::new(annotations.get(RUN)?.clone());
    let expires = time(EXPIRES)?;
    let role = match annotations.value(ROLE)? {
        "queued" => NodeRole::Queued,
        "listed" => NodeRole::Listed,
        "draining" => NodeRole::Draining { from: time(DRAIN_FROM)? },
        "postponed" => NodeRole::Postponed { times: postponed(node)? },
        "skipped" => NodeRole::Skipped,
        "surplus" => NodeRole::Surplus,
        "retained" => NodeRole::Retained,
        "drained" => NodeRole::Drained,
        "interrupted" => {
            let until = match annotations.value(INTERRUPTED_UNTIL) {
                Some(text) => Some(text.parse().ok()?),
                None => None,
            };
            let by = Cause::of(annotations.value(INTERRUPTED)?)?;
            NodeRole::Interrupted { by, until, from: time(DRAIN_FROM) }
        }
        _ => return None,
    };
    let owner = match annotations.value(OWNER) {
        Some(text) => Owner::read(text)?,
        None => owner_unsaid(&run, role),
    };
    Some(Found { run, mark: Mark { owner, role, since: time(SINCE)?, expires } })
}

/// Whose a mark is that does not say so: what it says besides tells it.
fn owner_unsaid(run: &RunId, role: NodeRole) -> Owner {
    match role {
        NodeRole::Interrupted { .. } => Owner::Interruptions,
        NodeRole::Draining { .. } if run.as_str() == Owner::Autoscaler.as_str() => Owner::Autoscaler,
        NodeRole::Queued
        | NodeRole::Draining { .. }
        | NodeRole::Postponed { .. }
        | NodeRole::Skipped
        | NodeRole::Surplus
        | NodeRole::Retained
        | NodeRole::Drained
        | NodeRole::Listed => Owner::Run,
    }
}

/// How often a run has uncordoned a node because it could not be emptied, where that is written.
#[must_use]
pub fn postponed(node: &Node) -> Option<u32> {
    node.meta.annotations.value(POSTPONED)?.parse().ok()
}

/// The node with a run's mark on it, cordoned if the mark says so.
#[must_use]
pub fn laid(node: &Node, run: &RunId, mark: &Mark) -> Node {
    let mut node = node.clone();
    let is_foreign = match node.meta.annotations.value(CORDON) {
        Some(owner) => owner == FOREIGN,
        // What bears a mark that cordons nothing was cordoned by somebody else.
        None => node.spec.unschedulable && of(&node).is_none_or(|found| !found.mark.role.is_cordoned()),
    };
    let is_kept = of(&node).is_some_and(|found| found.is_of_run(run)) && mark.role.is_cordoned();
    let times = postponed(&node).filter(|_| is_kept);
    let is_depleted = is_depleted(&node) && mark.role.is_cordoned() && !mark.role.depletes();
    untold(&mut node);
    let annotations = cleared(&node.meta.annotations)
        .with(VERSION, version::WRITTEN.to_string())
        .with(OWNER, mark.owner.as_str())
        .with(RUN, run.text().clone())
        .with(ROLE, mark.role.as_str())
        .with(SINCE, mark.since.to_string())
        .with(EXPIRES, mark.expires.to_string());
    let annotations = match mark.role {
        NodeRole::Draining { from } => annotations.with(DRAIN_FROM, from.to_string()),
        NodeRole::Interrupted { by, until, from } => {
            node.spec.taints.push(told(by));
            let annotations = annotations.with(INTERRUPTED, by.as_str());
            let times = [(INTERRUPTED_UNTIL, until), (DRAIN_FROM, from)];
            let known = times.into_iter().filter_map(|(key, time)| Some((key, time?)));
            known.fold(annotations, |all, (key, time)| all.with(key, time.to_string()))
        }
        NodeRole::Postponed { times } => {
            node.spec.taints.push(avoided());
            annotations.with(POSTPONED, times.to_string())
        }
        NodeRole::Listed => {
            node.spec.taints.push(Taint::new(LISTED, TaintEffect::PreferNoSchedule));
            annotations
        }
        NodeRole::Queued | NodeRole::Skipped | NodeRole::Surplus | NodeRole::Retained | NodeRole::Drained => {
            annotations
        }
    };
    let annotations = match times {
        Some(times) => annotations.with(POSTPONED, times.to_string()),
        None => annotations,
    };
    let annotations = if is_depleted { annotations.with(DEPLETED, "true") } else { annotations };
    node.meta.annotations = if is_foreign { annotations.with(CORDON, FOREIGN) } else { annotations };
    node.spec.unschedulable = is_foreign || mark.role.is_cordoned();
    if !mark.role.is_cordoned() {
        included(&mut node);
    }
    node
}

/// Whether a node is not capacity because pods were moved off it while it was interrupted, and none can have arrived since.
#[must_use]
pub fn is_depleted(node: &Node) -> bool {
    let has_been = || node.meta.annotations.contains_key(DEPLETED);
    node.spec.unschedulable && (has_been() || of(node).is_some_and(|found| found.mark.role.depletes()))
}

/// The node as no target of load balancers; as it is where somebody has said already what it is to them.
#[must_use]
pub fn excluded(node: &Node, run: &RunId, at: Time) -> Node {
    let mut node = node.clone();
    if !node.meta.labels.contains_key(EXCLUDE) {
        node.meta.labels = node.meta.labels.with(EXCLUDE, "true");
        let annotations = node.meta.annotations.with(EXCLUDED, run.text().clone());
        node.meta.annotations = annotations.with(EXCLUDED_AT, at.to_string());
    }
    node
}

/// When a run excluded a node from load balancers.
#[must_use]
pub fn excluded_since(node: &Node) -> Option<Time> {
    node.meta.annotations.value(EXCLUDED_AT)?.parse().ok()
}

/// Makes a node a target of load balancers again, if it was a run that had excluded it.
fn included(node: &mut Node) {
    if node.meta.annotations.contains_key(EXCLUDED) {
        node.meta.labels = node.meta.labels.without(EXCLUDE);
        node.meta.annotations = node.meta.annotations.without(EXCLUDED).without(EXCLUDED_AT);
    }
}

/// The template of a workload that a run restarts: another one, so that every pod is made anew.
#[must_use]
pub fn restarted(template: &PodTemplate, run: &RunId, at: Time) -> PodTemplate {
    let mut template = template.clone();
    let annotations = template.meta.annotations.with(RESTARTED_AT, at.to_string());
    template.meta.annotations = annotations.with(RESTARTED_BY, run.text().clone());
    template
}

/// The node without any mark; uncordoned, if it was we who had cordoned it; a target of load balancers again, if it was we who
/// had excluded it.
#[must_use]
pub fn lifted(node: &Node) -> Node {
    let is_ours = is_cordoned_by_us(node);
    let mut node = node.clone();
    included(&mut node);
    untold(&mut node);
    node.meta.annotations = cleared(&node.meta.annotations);
    node.spec.unschedulable = node.spec.unschedulable && !is_ours;
    node
}

/// Whether a node's cordon is one of ours: what stands beside it says so, and not that somebody else had been first.
#[must_use]
pub fn is_cordoned_by_us(node: &Node) -> bool {
    let annotations = &node.meta.annotations;
    let bears_ours = match annotations.value(ROLE) {
        Some("queued" | "draining" | "surplus" | "retained" | "drained" | "interrupted") => {
            newer_on_node(node).is_none()
        }
        Some(_) | None => false,
    };
    node.spec.unschedulable && bears_ours && annotations.value(CORDON) != Some(FOREIGN)
}

/// What tells people and other tools why a node is cordoned. The cordon keeps pods off; this taint does not, so that pods of
/// DaemonSets that restart there come back while the node is held.
fn told(by: Cause) -> Taint {
    Taint {
        key: Text::from(INTERRUPTED),
        value: Text::from(by.as_str()),
        ..Taint::new(INTERRUPTED, TaintEffect::PreferNoSchedule)
    }
}

/// What has pods go elsewhere if there is room: the node is to be emptied as soon as that is possible.
fn avoided() -> Taint {
    Taint::new(POSTPONED, TaintEffect::PreferNoSchedule)
}

fn untold(node: &mut Node) {
    node.spec.taints.retain(|taint| ![INTERRUPTED, POSTPONED, LISTED].contains(&&*taint.key));
}

fn cleared(annotations: &Annotations) -> Annotations {
    [
        VERSION,
        OWNER,
        RUN,
        ROLE,
        SINCE,
        DRAIN_FROM,
        DEPLETED,
        POSTPONED,
        EXPIRES,
        CORDON,
        INTERRUPTED,
        INTERRUPTED_UNTIL,
    ]
    .iter()
    .fold(annotations.clone(), |all, key| all.without(key))
}

/// The key of the tag that says that a run protects an instance from scale-in ([`PROTECTED`]).
#[must_use]
pub fn protected_key(instance: &InstanceId) -> Text {
    Text::from(format!("{PROTECTED}{instance}"))
}

/// The instance that such a key names.
#[must_use]
pub fn protected_in(key: &str) -> Option<InstanceId> {
    key.strip_prefix(PROTECTED).filter(|id| !id.is_empty()).map(InstanceId::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::limits;

    fn time(text: &str) -> Time {
        text.parse().expect("a time")
    }

    fn mark(role: NodeRole) -> Mark {
        let owner = match role {
            NodeRole::Interrupted { .. } => Owner::Interruptions,
            NodeRole::Queued
            | NodeRole::Draining { .. }
            | NodeRole::Postponed { .. }
            | NodeRole::Skipped
            | NodeRole::Surplus
            | NodeRole::Retained
            | NodeRole::Drained
            | NodeRole::Listed => Owner::Run,
        };
        Mark { owner, role, since: time("2026-01-01T00:00:00Z"), expires: time("2026-01-08T00:00:00Z") }
    }

    #[test]
    fn a_mark_is_read_as_it_was_laid_and_lifting_leaves_nothing() {
        let run = RunId::from("run");
        let roles = [
            NodeRole::Queued,
            NodeRole::Draining { from: time("2026-01-01T01:00:00Z") },
            NodeRole::Postponed { times: 2 },
            NodeRole::Skipped,
            NodeRole::Surplus,
            NodeRole::Retained,
            NodeRole::Drained,
            NodeRole::Listed,
            NodeRole::Interrupted { by: Cause::Spot, until: Some(time("2026-01-01T00:02:00Z")), from: None },
            NodeRole::Interrupted { by: Cause::Rebalance, until: None, from: None },
            NodeRole::Interrupted {
                by: Cause::Rebalance,
                until: None,
                from: Some(time("2026-01-01T00:01:00Z")),
            },
        ];
        for role in roles {
            let node = laid(&Node::default(), &run, &mark(role));
            assert_eq!(of(&node), Some(Found { run: run.clone(), mark: mark(role) }));
            assert_eq!(node.spec.unschedulable, role.is_cordoned());
            assert_eq!(lifted(&node), Node::default());
        }
    }

    #[test]
    fn a_mark_without_a_version_or_an_owner_is_read_as_version_1() {
        let run = RunId::from("autoscaler");
        let from = time("2026-01-01T01:00:00Z");
        let interrupted = NodeRole::Interrupted { by: Cause::Spot, until: None, from: None };
        for (role, owner) in [
            (NodeRole::Queued, Owner::Run),
            (NodeRole::Draining { from }, Owner::Autoscaler),
            (interrupted, Owner::Interruptions),
        ] {
            let mut node = laid(&Node::default(), &run, &Mark { owner, ..mark(role) });
            assert_eq!(node.meta.annotations.value(VERSION), Some("1"));
            assert_eq!(node.meta.annotations.value(OWNER), Some(owner.as_str()));
            let written = of(&node);
            node.meta.annotations = node.meta.annotations.without(VERSION).without(OWNER);
            assert!(written.is_some());
            assert_eq!(of(&node), written);
            assert_eq!(lifted(&node), Node::default());
        }
    }

    #[test]
    fn a_mark_of_a_newer_replank_is_nobodys_that_this_one_knows() {
        let mut node = laid(&Node::default(), &RunId::from("run"), &mark(NodeRole::Queued));
        assert_eq!(newer_on_node(&node), None);
        node.meta.annotations = node.meta.annotations.with(VERSION, "2");
        assert_eq!((of(&node), newer_on_node(&node)), (None, Some(2)));
        assert!(!is_cordoned_by_us(&node), "what its cordon means is not known");
        for unreadable in ["0", "one", "-1", ""] {
            node.meta.annotations = node.meta.annotations.with(VERSION, unreadable);
            assert_eq!((of(&node), newer_on_node(&node)), (None, None), "{unreadable}");
        }
        node.meta.annotations = node.meta.annotations.with(VERSION, "1").with(OWNER, "somebody");
        assert_eq!(of(&node), None);
    }

    #[test]
    fn the_key_of_a_protection_names_its_instance() {
        let instance = InstanceId::from("i-0123456789abcdef0");
        assert_eq!(protected_in(&protected_key(&instance)), Some(instance));
        assert_eq!(protected_in(PROTECTED), None);
        assert_eq!(protected_in(SUSPENDED), None);
    }

    #[test]
    fn keys_fit_what_aws_and_kubernetes_take() {
        let stage = format!("{STAGE}{}", u32::MAX);
        let protected = protected_key(&"i-0123456789abcdef0".into());
        for key in [
            ORIGINAL_SIZE,
            BEGUN,
            ORIGINAL_TEMPLATE,
            SUSPENDED,
            &protected,
            HEALTH,
            &stage,
            RETAINED,
            PAUSED,
            RESUMED,
            HALTED,
            VERSION,
            OWNER,
            RUN,
            ROLE,
            SINCE,
            DRAIN_FROM,
            DEPLETED,
            POSTPONED,
            INTERRUPTED,
            INTERRUPTED_UNTIL,
            EXPIRES,
            CORDON,
            EXCLUDED,
            EXCLUDED_AT,
            RESTARTED_BY,
        ] {
            assert!(key.chars().count() <= limits::TAG_KEY_MAX, "{key}");
            assert!(limits::is_taggable(key), "{key}");
            let name = key.strip_prefix(OURS).expect("all of ours begin alike");
            assert!((1..=63).contains(&name.len()), "{key}: an annotation's name has at most 63 characters");
        }
    }

    #[test]
    fn a_node_that_was_interrupted_and_began_to_be_drained_is_no_capacity_until_it_takes_pods_again() {
        let (others, run) = (RunId::from("interruptions"), RunId::from("run"));
        let from = Some(time("2026-01-01T00:01:00Z"));
        let interrupted = |by, from| {
            laid(&Node::default(), &others, &mark(NodeRole::Interrupted { by, until: None, from }))
        };
        let queued = |node| laid(&node, &run, &mark(NodeRole::Queued));
        assert!(!is_depleted(&queued(interrupted(Cause::Rebalance, None))), "nothing was moved");
        for by in [Cause::Rebalance, Cause::Spot] {
            let queued = queued(interrupted(by, from));
            assert!(is_depleted(&queued));
            let draining =
                laid(&queued, &run, &mark(NodeRole::Draining { from: time("2026-01-01T01:00:00Z") }));
            assert!(is_depleted(&draining), "and so it stays");
            let skipped = laid(&queued, &run, &mark(NodeRole::Skipped));
            assert!(!is_depleted(&skipped), "it takes pods again");
            assert_eq!(lifted(&queued), Node::default());
            let mut by_hand = queued.clone();
            by_hand.spec.unschedulable = false;
            assert!(
                !is_depleted(&laid(&by_hand, &run, &mark(NodeRole::Queued))),
                "somebody has uncordoned it"
            );
        }
        assert!(
            is_depleted(&queued(interrupted(Cause::Spot, None))),
            "there was no time to write anything down"
        );
    }

    #[test]
    fn how_often_a_node_was_postponed_outlives_the_role_and_goes_with_the_run() {
        let (run, other) = (RunId::from("run"), RunId::from("other"));
        let from = time("2026-01-01T01:00:00Z");
        let postponed_once = laid(&Node::default(), &run, &mark(NodeRole::Postponed { times: 1 }));
        assert!(!postponed_once.spec.unschedulable, "it takes pods again");
        let draining = laid(&postponed_once, &run, &mark(NodeRole::Draining { from }));
        assert_eq!((postponed(&draining), draining.spec.unschedulable), (Some(1), true));
        let twice = laid(&draining, &run, &mark(NodeRole::Postponed { times: 2 }));
        assert_eq!(postponed(&twice), Some(2));
        assert_eq!(
            postponed(&laid(&twice, &other, &mark(NodeRole::Queued))),
            None,
            "another run's count is its own"
        );
        assert_eq!(lifted(&twice), Node::default());
    }

    #[test]
    fn a_foreign_cordon_outlives_every_mark() {
        let mut node = Node::default();
        node.spec.unschedulable = true;
        let run = RunId::from("run");
        let queued = laid(&node, &run, &mark(NodeRole::Queued));
        let skipped = laid(&queued, &run, &mark(NodeRole::Skipped));
        assert!(skipped.spec.unschedulable, "the cordon is not ours");
        assert_eq!(lifted(&skipped), node);
    }

    #[test]
    fn a_later_run_that_takes_a_mark_over_owns_the_cordon() {
        let first = laid(&Node::default(), &RunId::from("first"), &mark(NodeRole::Queued));
        let second = laid(&first, &RunId::from("second"), &mark(NodeRole::Queued));
        assert!(!lifted(&second).spec.unschedulable);
    }

    #[test]
    fn an_uncordon_by_hand_is_not_undone_by_lifting() {
        let mut node = laid(&Node::default(), &RunId::from("run"), &mark(NodeRole::Queued));
        node.spec.unschedulable = false;
        assert!(!lifted(&node).spec.unschedulable);
    }

    #[test]
    fn an_exclusion_of_ours_outlives_later_marks_and_goes_with_the_last() {
        let run = RunId::from("run");
        let excluded = excluded(
            &laid(&Node::default(), &run, &mark(NodeRole::Queued)),
            &run,
            time("2026-01-01T00:30:00Z"),
        );
        assert_eq!(excluded.meta.labels.value(EXCLUDE), Some("true"));
        let from = time("2026-01-01T01:00:00Z");
        let draining = laid(&excluded, &run, &mark(NodeRole::Draining { from }));
        assert!(draining.meta.labels.contains_key(EXCLUDE), "it is drained out of the load balancer");
        assert_eq!(excluded_since(&draining), Some(time("2026-01-01T00:30:00Z")));
        assert_eq!(lifted(&draining), Node::default());
        let skipped = laid(&draining, &run, &mark(NodeRole::Skipped));
        assert!(!skipped.meta.labels.contains_key(EXCLUDE), "it takes pods again");
    }

    #[test]
    fn what_somebody_else_says_of_load_balancers_stays() {
        let run = RunId::from("run");
        for value in ["true", "false"] {
            let mut node = Node::default();
            node.meta.labels = node.meta.labels.with(EXCLUDE, value);
            assert_eq!(excluded(&node, &run, time("2026-01-01T00:30:00Z")), node);
            assert_eq!(lifted(&laid(&node, &run, &mark(NodeRole::Queued))), node);
        }
    }

    #[test]
    fn a_restart_makes_another_template_and_names_its_run() {
        let run = RunId::from("run");
        let once = restarted(&PodTemplate::default(), &run, time("2026-01-01T00:00:00Z"));
        assert_eq!(once.meta.annotations.value(RESTARTED_BY), Some("run"));
        let twice = restarted(&once, &run, time("2026-01-01T00:10:00Z"));
        assert_ne!(once, twice);
        assert_eq!(once.spec, twice.spec);
    }
}
