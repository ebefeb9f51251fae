//! Why something is not done: one type for the terminal, the report, metrics and Kubernetes events.

use std::fmt;

use replank_model::object::cloud::GroupSize;
use replank_model::object::meta::Key;
use replank_model::text::{GroupName, RunId, Text, Zone};
use replank_model::time::{Span, Time};
use serde::{Deserialize, Serialize};

use crate::cause::Cause;
use crate::evidence::Evidence;
use crate::mark::version::WRITTEN;
use crate::mark::{Ailment, Illness};
use crate::migration::Wait;
use crate::policy::BatchKind;
use crate::policy::Refused;
use crate::policy::StuckAction;
use crate::provisioner::Provisioner;
use crate::release::Release;
use crate::scaling::{GroupWhy, Hold};

pub use super::subject::{Hope, Subject};

/// One thing that waits.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Waiting {
    /// What waits.
    pub what: Subject,
    /// What it waits on.
    pub on: WaitingOn,
}

/// Why a ConfigMap is not the record of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RecordWhy {
    /// It is the record of a run of the same name, with another plan.
    OtherPlan,
    /// It is none, or was changed by hand.
    Unreadable {
        /// What of it cannot be read.
        member: Text,
    },
}

impl fmt::Display for RecordWhy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OtherPlan => f.write_str(
                "is the record of a run of this name with another plan: give the plan another name, or delete the ConfigMap",
            ),
            Self::Unreadable { member } => {
                write!(f, "is no record of a run that can be read ({member}): delete it if nobody needs it")
            }
        }
    }
}

/// What is waited on, with its numbers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum WaitingOn {
    /// A disruption budget allows no eviction.
    Budget {
        /// The budget.
        budget: Key,
        /// Healthy pods there are.
        healthy: i32,
        /// Healthy pods there must be.
        needed: i32,
    },
    /// The disruption controller has not counted the budget's pods, or cannot.
    BudgetUncounted {
        /// The budget.
        budget: Key,
        /// The controller's words.
        message: Text,
    },
    /// Several disruption budgets cover the pod: the eviction API refuses such pods always.
    Budgets {
        /// The budgets, sorted.
        budgets: Vec<Key>,
    },
    /// A batch pod runs.
    Batch {
        /// Since when it runs.
        since: Option<Time>,
        /// Until when it is waited for.
        deadline: Time,
    },
    /// A batch pod has outlived its deadline, and the plan says to pause then.
    BatchOver {
        /// Since when it runs.
        since: Option<Time>,
        /// Until when it was waited for.
        deadline: Time,
    },
    /// A Workflow's pod has ended, and its result is not recorded yet.
    Unrecorded,
    /// The plan, or its defaults, refuse to move such a pod.
    Refused {
        /// What it is about the pod.
        reason: Refused,
    },
    /// The pod was made on a node whose drain had begun: no cordon keeps it off, and evicting it would have no end.
    CameBack,
    /// No node that stays can take the pod yet.
    Room {
        /// The pod.
        pod: Key,
        /// The scheduler's words.
        message: Text,
    },
    /// Instances were asked for and are not ready.
    Capacity {
        /// Ready nodes of the new template.
        ready: u32,
        /// How many there are to be.
        wanted: u32,
        /// Why the last launch failed, while instances are missing.
        failure: Option<Text>,
    },
    /// A new node is not ready, or its DaemonSet pods are not.
    NodeReady {
        /// DaemonSet pods that are missing or not ready.
        daemon_pods_missing: u32,
    },
    /// An instance has taken longer than any should and is no Ready node.
    InstanceLate {
        /// When it was launched, or its node registered.
        since: Time,
        /// DaemonSet pods that are missing or not ready, if the node itself is Ready.
        daemon_pods_missing: u32,
    },
    /// Pods are on their way out.
    Terminating {
        /// How many.
        pods: u32,
        /// The longest grace among them.
        grace_max: Span,
    },
    /// A pod has not ended though its grace and the plan's patience are over.
    Stuck {
        /// What the plan has done about it.
        action: StuckAction,
        /// What is known.
        evidence: Box<Evidence>,
    },
    /// A rolling restart brings a pod's successor up before the pod goes.
    Restart {
        /// The Deployment.
        workload: Key,
        /// When it was restarted, where that is written.
        since: Option<Time>,
    },
    /// An instance is kept until load balancers send nothing to it any more.
    Deregistration {
        /// Until when.
        until: Time,
    },
    /// An empty node is looked at a little longer, for pods that are not seen yet.
    Idle {
        /// Until when.
        until: Time,
    },
    /// A pause that the plan asks for.
    Pace {
        /// Its end.
        until: Time,
    },
    /// The canary is being watched.
    Soak {
        /// Its end.
        until: Time,
    },
    /// The run stands still after a wave.
    Bake {
        /// Which wave.
        wave: u32,
        /// Its end.
        until: Time,
    },
    /// A wave is not through yet.
    Wave {
        /// Which.
        wave: u32,
        /// Nodes that are replaced.
        replaced: u32,
        /// How many there are to be when it is over.
        nodes: u32,
    },
    /// It is outside of the plan's windows.
    Window {
        /// When the next one opens.
        opens: Time,
    },
    /// A person has paused the run.
    Paused,
    /// What was replaced is kept for a while.
    Retained {
        /// Until when.
        until: Time,
    },
    /// Something blocking was found before the start, and the plan refuses to begin.
    Finding {
        /// The rule's id.
        rule: Text,
        /// What is wrong.
        reason: Text,
    },
    /// The canary is not through yet.
    Canary {
        /// Nodes of the canary that are replaced.
        replaced: u32,
        /// How many it has.
        nodes: u32,
    },
    /// A command was sent and its effect is not observed yet.
    Effect {
        /// What was sent.
        what: Text,
    },
    /// A command was refused and is tried again.
    Retry {
        /// What was sent.
        what: Text,
        /// The refusal's words.
        message: Text,
        /// When it is tried again.
        at: Time,
    },
    /// An admission webhook denies a command, which is tried again.
    Denied {
        /// What was sent.
        what: Text,
        /// The webhook.
        webhook: Text,
        /// Its words.
        message: Text,
        /// How often it has denied it.
        tries: u32,
        /// When it is tried again.
        at: Time,
    },
    /// Other nodes come first: one entry for all nodes of a group whose turn has not come.
    Turn {
        /// How many nodes wait for their turn.
        nodes: u32,
        /// How many are being replaced.
        active: u32,
        /// How many may be at once.
        limit: u32,
    },
    /// Nothing is moved before every old node is cordoned.
    Cordon {
        /// Nodes that are not.
        nodes: u32,
    },
    /// The budget of nodes: fewer would be Ready than there must be.
    Available {
        /// Nodes that are Ready.
        ready: u32,
        /// Nodes that must stay Ready.
        needed: u32,
    },
    /// The budget of nodes in one zone.
    ZoneMinimum {
        /// The zone.
        zone: Zone,
        /// Nodes that are Ready there.
        ready: u32,
        /// Nodes that must stay Ready there.
        needed: u32,
    },
    /// A group that nodes are to leave may not want fewer.
    GroupMinimum {
        /// Its minimum.
        min: u32,
        /// How many it would want.
        left: u32,
    },
    /// A node is marked by another run.
    OtherRun {
        /// The run.
        run: RunId,
        /// When its mark expires.
        until: Time,
    },
    /// A newer Replank has written on it: it is left alone.
    NewerVersion {
        /// The version of what it wrote.
        version: u64,
    },
    /// Something else stands where the record of the run is to be.
    Record {
        /// The ConfigMap.
        holder: Key,
        /// What it is.
        why: RecordWhy,
    },
    /// What a run that is over has left is cleared first.
    Leftover {
        /// The run.
        run: RunId,
    },
    /// A node of the run was uncordoned by somebody else, and is left to them.
    Reopened,
    /// A new node was cordoned by somebody else.
    ForeignCordon,
    /// A node's instance is not known to the cloud, so that it can be neither ended nor replaced.
    NoInstance,
    /// A node is replaced by whoever made it, and is left to them.
    ManagedBy {
        /// Who made it.
        provisioner: Provisioner,
    },
    /// A node was left out for the sake of a pod on it: a batch pod that outlived its deadline, a singleton.
    Skipped,
    /// Instances are being ended.
    Leaving {
        /// How many.
        instances: u32,
    },
    /// Something that the plan speaks of is not there.
    Missing {
        /// What it is.
        what: Text,
    },
    /// The group cannot have its bounds back, because more instances are in use than they allow.
    Bounds {
        /// What it has.
        size: GroupSize,
        /// What it had before the run.
        original: GroupSize,
    },
    /// Nothing has moved for as long as the plan allows.
    Stalled {
        /// Since when.
        since: Time,
        /// How long the plan allows.
        limit: Span,
    },
    /// The run has halted, because only a person could help.
    Halted {
        /// When.
        at: Time,
    },
    /// The run has halted, because things became worse than the plan allows.
    Unhealthy {
        /// When.
        at: Time,
        /// In which way.
        ailment: Ailment,
    },
    /// A pod is in a bad way, which is why the run has halted.
    Ailing {
        /// In which.
        illness: Illness,
    },
    /// The run has halted, because a person wanted it to end.
    Cancelled {
        /// When.
        at: Time,
    },
    /// The run has halted, because a person wanted everything to be as before.
    Undone {
        /// When.
        at: Time,
    },
    /// The run is over, and a person wants it to end, or to be taken back.
    Over,
    /// The run's time is up.
    Deadline {
        /// When it was.
        at: Time,
    },
    /// A node is taken away, and drained in the time that is left.
    Interrupted {
        /// By what.
        by: Cause,
        /// When it is gone for certain, where that is known.
        until: Option<Time>,
        /// Pods that are still to go.
        pods: u32,
    },
    /// A node that was to be taken away runs on, and is let go of: its cordon is taken off, unless a run takes it over as it is.
    Release {
        /// What was to take it away.
        by: Cause,
        /// Why it is not waited for any more.
        why: Release,
        /// Pods that are still on it, those aside that stay on every node.
        pods: u32,
    },
    /// An instance that something was said about is no node, or none that is known.
    Unregistered {
        /// Until when it is looked for.
        until: Time,
    },
    /// A node that is empty has volumes attached.
    Volumes {
        /// How many.
        volumes: u32,
        /// Until when they are waited for.
        until: Time,
    },
    /// Pods that no node group helps.
    NoGroup {
        /// How many.
        pods: u32,
        /// What each group says.
        groups: Vec<(GroupName, GroupWhy)>,
    },
    /// Nodes that pods have brought.
    NewNodes {
        /// How many.
        count: u32,
        /// Until when they are waited for.
        until: Time,
    },
    /// A node that nobody needs is not taken away yet.
    NotNeeded {
        /// Why.
        hold: Hold,
    },
    /// A pod keeps a node that nobody else needs.
    KeepsNode {
        /// Why.
        why: Box<Blocks>,
    },
    /// A message cannot be read. It is left to the dead letters of its queue, and stops no other.
    Poison {
        /// What is wrong with it.
        why: Text,
        /// How often it has been received.
        received: u32,
    },
    /// A migration does not go on.
    Migration(Wait),
}

/// How often a webhook may deny one command until it counts as what blocks: a webhook that is being rolled out denies for a minute or two, and the
/// pauses between the tries grow to a minute.
pub const DENIED_TRIES_MAX: u32 = 5;

impl WaitingOn {
    /// One word for the kind of reason: what figures and metrics are grouped by.
    #[must_use]
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Budget { .. } => "budget",
            Self::BudgetUncounted { .. } => "budgetUncounted",
            Self::Budgets { .. } => "budgets",
            Self::Batch { .. } => "batch",
            Self::BatchOver { .. } => "batchOver",
            Self::Unrecorded => "unrecorded",
            Self::Refused { .. } => "refused",
            Self::CameBack => "cameBack",
            Self::Room { .. } => "room",
            Self::Capacity { .. } => "capacity",
            Self::NodeReady { .. } => "nodeReady",
            Self::InstanceLate { .. } => "instanceLate",
            Self::Terminating { .. } => "terminating",
            Self::Stuck { .. } => "stuck",
            Self::Restart { .. } => "restart",
            Self::Deregistration { .. } => "deregistration",
            Self::Idle { .. } => "quiet",
            Self::Pace { .. } => "pace",
            Self::Soak { .. } => "soak",
            Self::Bake { .. } => "bake",
            Self::Wave { .. } => "wave",
            Self::Window { .. } => "window",
            Self::Paused => "paused",
            Self::Retained { .. } => "retained",
            Self::Finding { .. } => "finding",
            Self::Canary { .. } => "canary",
            Self::Effect { .. } => "effect",
            Self::Retry { .. } => "retry",
            Self::Denied { .. } => "denied",
            Self::Turn { .. } => "turn",
            Self::Cordon { .. } => "cordon",
            Self::Available { .. } => "available",
            Self::ZoneMinimum { .. } => "zoneMinimum",
            Self::GroupMinimum { .. } => "groupMinimum",
            Self::OtherRun { .. } => "otherRun",
            Self::NewerVersion { .. } => "newerVersion",
            Self::Record { .. } => "record",
            Self::Leftover { .. } => "leftover",
            Self::Reopened => "reopened",
            Self::ForeignCordon => "foreignCordon",
            Self::NoInstance => "noInstance",
            Self::ManagedBy { .. } => "managedBy",
            Self::Skipped => "skipped",
            Self::Leaving { .. } => "leaving",
            Self::Missing { .. } => "missing",
            Self::Bounds { .. } => "bounds",
            Self::Stalled { .. } => "stalled",
            Self::Halted { .. } => "halted",
            Self::Unhealthy { .. } => "unhealthy",
            Self::Ailing { .. } => "ailing",
            Self::Cancelled { .. } => "cancelled",
            Self::Undone { .. } => "undone",
            Self::Over => "over",
            Self::Deadline { .. } => "deadline",
            Self::Interrupted { .. } => "interrupted",
            Self::Release { .. } => "letGo",
            Self::Unregistered { .. } => "unregistered",
            Self::Volumes { .. } => "volumes",
            Self::NoGroup { .. } => "noGroup",
            Self::NewNodes { .. } => "newNodes",
            Self::NotNeeded { .. } => "notNeeded",
            Self::KeepsNode { .. } => "keepsNode",
            Self::Poison { .. } => "poison",
            Self::Migration(_) => "migration",
        }
    }

    /// Whether waiting can help.
    #[must_use]
    pub fn hope(&self) -> Hope {
        match self {
            Self::Batch { .. }
            | Self::Capacity { .. }
            | Self::NodeReady { .. }
            | Self::Terminating { .. }
            | Self::Deregistration { .. }
            | Self::Idle { .. }
            | Self::Pace { .. }
            | Self::Soak { .. }
            | Self::Bake { .. }
            | Self::Window { .. }
            | Self::Paused
            | Self::Retained { .. }
            | Self::Effect { .. }
            | Self::Cordon { .. }
            | Self::Leaving { .. }
            | Self::Interrupted { .. }
            | Self::Release { .. }
            | Self::Unregistered { .. }
            | Self::NewNodes { .. }
            | Self::NotNeeded { .. }
            | Self::Volumes { .. } => Hope::Moving,
            Self::Budget { .. }
            | Self::BudgetUncounted { .. }
            | Self::Stuck { .. }
            | Self::Restart { .. }
            | Self::Unrecorded
            | Self::Room { .. }
            | Self::InstanceLate { .. }
            | Self::Canary { .. }
            | Self::Wave { .. }
            | Self::Retry { .. }
            | Self::Turn { .. }
            | Self::Available { .. }
            | Self::ZoneMinimum { .. }
            | Self::NoGroup { .. }
            | Self::KeepsNode { .. }
            | Self::NoInstance => Hope::Possible,
            Self::Budgets { .. }
            | Self::BatchOver { .. }
            | Self::Refused { .. }
            | Self::CameBack
            | Self::GroupMinimum { .. }
            | Self::OtherRun { .. }
            | Self::NewerVersion { .. }
            | Self::Record { .. }
            // What keeps it from being cleared has a reason of its own.
            | Self::Leftover { .. }
            | Self::Reopened
            | Self::ForeignCordon
            | Self::ManagedBy { .. }
            | Self::Skipped
            | Self::Missing { .. }
            | Self::Bounds { .. }
            | Self::Stalled { .. }
            | Self::Halted { .. }
            | Self::Finding { .. }
            | Self::Unhealthy { .. }
            | Self::Ailing { .. }
            | Self::Cancelled { .. }
            | Self::Undone { .. }
            | Self::Over
            | Self::Deadline { .. }
            | Self::Poison { .. } => Hope::None,
            // After so many tries nothing but a change of the webhook, or of what it looks at, helps.
            Self::Denied { tries, .. } if *tries >= DENIED_TRIES_MAX => Hope::None,
            Self::Denied { .. } => Hope::Possible,
            Self::Migration(wait) => wait.hope(),
        }
    }
}

/// `1 pod`, `2 pods`.
fn counted(count: u32, thing: &str) -> String {
    format!("{count} {thing}{}", if count == 1 { "" } else { "s" })
}

impl fmt::Display for WaitingOn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Budget { budget, healthy, needed } => {
                write!(f, "disruption budget {budget}: {healthy} healthy, {needed} needed")
            }
            Self::BudgetUncounted { budget, message } => {
                write!(f, "disruption budget {budget}, which allows nothing: {message}")
            }
            Self::Budgets { budgets } => {
                let names: Vec<String> = budgets.iter().map(ToString::to_string).collect();
                write!(f, "disruption budgets {}: a pod under several is never evicted", names.join(" and "))
            }
            Self::Batch { since: Some(since), deadline } => {
                write!(f, "batch pod running since {since}, waited for until {deadline}")
            }
            Self::Batch { since: None, deadline } => write!(f, "batch pod, waited for until {deadline}"),
            Self::BatchOver { deadline, since: _ } => {
                write!(f, "batch pod that was waited for until {deadline} and still runs")
            }
            Self::Unrecorded => f.write_str("the workflow controller to record the pod's result"),
            Self::Refused { reason } => write!(f, "a person: {reason}"),
            Self::Denied { what, webhook, message, tries, at } if *tries >= DENIED_TRIES_MAX => write!(
                f,
                "manual action needed: webhook {webhook} denied {what} {tries} times: {message}; retry at {at}"
            ),
            Self::Denied { what, webhook, message, tries: _, at } => {
                write!(f, "webhook {webhook}, which denied {what}: {message}; retry at {at}")
            }
            Self::CameBack => {
                f.write_str("a person: made on a node that is being drained, it bears every cordon")
            }
            Self::Room { pod, message } => write!(f, "room for pod {pod}: {message}"),
            Self::Capacity { ready, wanted, failure } => {
                write!(f, "new capacity: {ready} of {wanted} nodes ready")?;
                failure.as_ref().map_or(Ok(()), |failure| write!(f, "; {failure}"))
            }
            Self::NodeReady { daemon_pods_missing: 0 } => f.write_str("the new node to become Ready"),
            Self::NodeReady { daemon_pods_missing } => {
                write!(
                    f,
                    "{} of the new node to become Ready",
                    counted(*daemon_pods_missing, "DaemonSet pod")
                )
            }
            Self::InstanceLate { since, daemon_pods_missing: 0 } => {
                write!(f, "a Ready node: nothing since {since}")
            }
            Self::InstanceLate { since, daemon_pods_missing } => {
                let pods = counted(*daemon_pods_missing, "DaemonSet pod");
                write!(f, "{pods} of the new node to become Ready: nothing since {since}")
            }
            Self::Terminating { pods, grace_max } => {
                write!(f, "{} to terminate (grace up to {grace_max})", counted(*pods, "pod"))
            }
            Self::Stuck { action: StuckAction::Report, evidence } => {
                write!(f, "a person: it does not end: {evidence}")
            }
            Self::Stuck { action: StuckAction::ReplaceNode | StuckAction::ForceDelete, evidence } => {
                write!(f, "the end of its instance, for it does not end by itself: {evidence}")
            }
            Self::Restart { workload, since: Some(since) } => {
                write!(f, "deployment {workload}, restarted at {since}, to make it anew elsewhere")
            }
            Self::Restart { workload, since: None } => {
                write!(f, "deployment {workload}, which is being rolled out, to make it anew elsewhere")
            }
            Self::Deregistration { until } => {
                write!(f, "load balancers to let go of the instance, until {until}")
            }
            Self::Idle { until } => write!(f, "late news of pods on the empty node, until {until}"),
            Self::Pace { until } => write!(f, "the pace of the plan, until {until}"),
            Self::Soak { until } => write!(f, "the canary's soak, until {until}"),
            Self::Canary { replaced, nodes } => write!(f, "the canary: {replaced} of {nodes} replaced"),
            Self::Bake { wave, until } => write!(f, "the bake of wave {wave}, until {until}"),
            Self::Wave { wave, replaced, nodes } => {
                write!(f, "wave {wave}: {replaced} of {nodes} nodes replaced")
            }
            Self::Window { opens } => write!(f, "the plan's next window, which opens at {opens}"),
            Self::Paused => f.write_str("a person, who has paused the run"),
            Self::Retained { until } => write!(f, "the end of retention, until {until}"),
            Self::Finding { rule, reason } => write!(f, "a person: {rule}, {reason}"),
            Self::Effect { what } => write!(f, "{what} to be seen"),
            Self::Retry { what, message, at } => write!(f, "{what}, refused, again at {at}: {message}"),
            Self::Turn { nodes, active, limit } => {
                write!(
                    f,
                    "their turn: {}, {active} of at most {limit} being replaced",
                    counted(*nodes, "node")
                )
            }
            Self::Cordon { nodes } => write!(f, "{} to be cordoned", counted(*nodes, "old node")),
            Self::Available { ready, needed } => {
                write!(f, "more Ready nodes: {ready} there, {needed} must stay")
            }
            Self::ZoneMinimum { zone, ready, needed } => {
                write!(f, "more Ready nodes in zone {zone}: {ready} there, {needed} must stay")
            }
            Self::GroupMinimum { min, left } => {
                write!(f, "a person: its group's min is {min}, and {left} would be left: lower the min")
            }
            Self::OtherRun { run, until } => write!(f, "run {run}, which has marked it until {until}"),
            Self::NewerVersion { version } => {
                write!(
                    f,
                    "a newer Replank, which has written on it (version {version}, this one reads {WRITTEN}): upgrade Replank"
                )
            }
            Self::Record { holder, why } => write!(f, "a person: ConfigMap {holder} {why}"),
            Self::Leftover { run } => write!(f, "what run {run} has left to be cleared"),
            Self::Reopened => f.write_str("a person: somebody else uncordoned it"),
            Self::ForeignCordon => f.write_str("a person: somebody else cordoned the new node"),
            Self::NoInstance => f.write_str("its instance, which the cloud does not list"),
            Self::ManagedBy { provisioner } => {
                write!(f, "{provisioner}, which made it: {}", provisioner.way())
            }
            Self::Skipped => f.write_str("nothing: left out, as the plan says, for the sake of a pod on it"),
            Self::Leaving { instances } => write!(f, "{} to end", counted(*instances, "instance")),
            Self::Missing { what } => write!(f, "{what}, which is not there"),
            Self::Bounds { size, original } => {
                write!(f, "a person: its size is {size}, and was {original} before the run")
            }
            Self::Stalled { since, limit } => {
                write!(f, "a person: nothing has moved since {since}, the plan allows {limit}")
            }
            Self::Halted { at } => write!(f, "a person: it halted at {at}, when nothing else could help"),
            Self::Ailing { illness } => write!(f, "a person: {illness}"),
            Self::Unhealthy { at, ailment } => write!(f, "a person: it halted at {at}: {ailment}"),
            Self::Cancelled { at } => write!(f, "nothing: it was cancelled at {at}"),
            Self::Undone { at } => write!(f, "nothing: it was taken back from {at} on"),
            Self::Over => f.write_str("nothing: it is over, and nothing is left that could be taken back"),
            Self::Deadline { at } => write!(f, "a person: the run's time was up at {at}"),
            Self::Interrupted { by, until, pods } => {
                let pods = counted(*pods, "pod");
                match until {
                    Some(until) => write!(f, "{by}, over at {until}; {pods} to go"),
                    None => write!(f, "{by}; {pods} to go"),
                }
            }
            Self::Release { by, why, pods } => {
                write!(f, "nothing more: {by}, {why}; {} on it", counted(*pods, "pod"))
            }
            Self::Unregistered { until } => write!(f, "no node of it is known, looked for until {until}"),
            Self::Volumes { volumes, until } => {
                write!(f, "{} attached, waited for until {until}", counted(*volumes, "volume"))
            }
            Self::NoGroup { pods, groups } => {
                let said: Vec<String> = groups.iter().map(|(group, why)| format!("{group} {why}")).collect();
                let said = if said.is_empty() { "there is no group".to_owned() } else { said.join("; ") };
                write!(f, "a node for {}, which no group adds: {said}", counted(*pods, "pod"))
            }
            Self::NewNodes { count, until } => {
                write!(f, "{} asked for, expected until {until}", counted(*count, "node"))
            }
            Self::NotNeeded { hold } => write!(f, "its end, for nobody needs it: it {hold}"),
            Self::KeepsNode { why } => write!(f, "nothing: it {why}"),
            Self::Migration(wait) => wait.fmt(f),
            Self::Poison { why, received } => {
                write!(f, "a person: it cannot be read, {why} (received {received} times)")
            }
        }
    }
}

/// Why a pod keeps its node.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Blocks {
    /// Nobody would make it again.
    Bare,
    /// Its controller is of a kind that is not known to make it again.
    CustomController(Text),
    /// It belongs to the system, and has no disruption budget.
    System {
        /// Until when that counts.
        until: Time,
    },
    /// Its work would be lost, for it is a batch pod.
    Batch(BatchKind),
    /// It says so: `safe-to-evict=false`.
    NotSafe,
    /// It has data on the node, in this volume.
    LocalStorage(Text),
    /// Its controller has too few replicas.
    FewReplicas {
        /// How many it has.
        replicas: i32,
        /// How many it must have.
        min: i32,
    },
    /// Its disruption budget does not let it go now.
    Budget(WaitingOn),
    /// It cannot be read.
    Unreadable,
    /// Its Workflow has not recorded its result yet.
    Unrecorded,
    /// No cordon keeps it off: what is made in its place may be put onto the same node, again and again.
    BearsCordon,
}

impl fmt::Display for Blocks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bare => f.write_str("has no controller: nobody would make it again"),
            Self::CustomController(kind) => {
                write!(f, "is made by a {kind} (--skip-nodes-with-custom-controller-pods)")
            }
            Self::System { until } => {
                write!(
                    f,
                    "belongs to kube-system and has no disruption budget (until {until}; --skip-nodes-with-system-pods)"
                )
            }
            Self::Batch(kind) => write!(f, "would lose its work: {kind} (--skip-nodes-with-batch-pods)"),
            Self::NotSafe => f.write_str("says safe-to-evict=false"),
            Self::LocalStorage(volume) => {
                write!(f, "has data on the node, in volume {volume} (--skip-nodes-with-local-storage)")
            }
            Self::FewReplicas { replicas, min } => {
                write!(f, "is one of {replicas} replicas, of which there must be {min} (--min-replica-count)")
            }
            Self::Budget(on) => budget(f, on),
            Self::Unreadable => f.write_str("cannot be read"),
            Self::Unrecorded => f.write_str("has ended, and its Workflow has not recorded that"),
            Self::BearsCordon => f.write_str("tolerates a cordon: what is made in its place may come back"),
        }
    }
}

#[expect(clippy::wildcard_enum_match_arm, reason = "only what budgets keep comes here")]
fn budget(f: &mut fmt::Formatter<'_>, on: &WaitingOn) -> fmt::Result {
    match on {
        WaitingOn::Budget { budget, healthy, needed } => {
            write!(f, "is kept by budget {budget}: {healthy} healthy, {needed} needed")
        }
        WaitingOn::BudgetUncounted { budget, message } => write!(f, "is kept by budget {budget}: {message}"),
        WaitingOn::Budgets { budgets } => {
            let names: Vec<String> = budgets.iter().map(ToString::to_string).collect();
            write!(f, "is under several budgets, which the eviction API refuses: {}", names.join(", "))
        }
        _ => f.write_str("is kept by its budget"),
    }
}
