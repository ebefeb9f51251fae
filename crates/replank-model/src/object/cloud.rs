//! What stands behind nodes: groups of instances and the instances themselves.
//!
//! These are not Kubernetes objects. They come from a cloud's API, or are derived from the nodes of a snapshot, and are
//! observed through the View like everything else.

mod eks_code;
mod image;
mod nodegroup;
mod process;
mod profile;
mod size;
mod target;
mod template;

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::int_or_string::IntOrString;
use crate::labels::{Labels, TextMap};
use crate::text::{GroupName, InstanceId, MessageId, NodeName, Text, Zone};
use crate::time::{Span, Time};
pub use eks_code::{EksSubject, explained};
pub use image::AmiType;
pub use nodegroup::{
    GroupId, GroupKind, NodegroupChange, NodegroupUpdate, UpdateError, UpdateStatus, UpdateStrategy,
};
pub use process::ScalingProcess;
pub use profile::{NodeProfile, NodeShape};
pub use size::GroupSize;
pub use target::{Registrar, Target, TargetGroup, TargetHealth};
pub use template::{BadLaunchTemplateRef, LaunchTemplate, LaunchTemplateRef, LaunchTemplates, VersionWord};

/// A group of interchangeable instances: an Auto Scaling group, or the one behind an EKS managed node group.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct NodeGroup {
    /// Name: the managed node group's, or the one by which nodes show their group.
    pub name: GroupName,
    /// Name of the Auto Scaling group behind it.
    pub auto_scaling_group: Text,
    /// Who owns that.
    pub kind: GroupKind,
    /// How many instances there must and may be, and how many are wanted.
    pub size: GroupSize,
    /// Zones in which instances are launched, sorted.
    pub zones: Vec<Zone>,
    /// Launch template version that new instances get; one of `templates`.
    pub current: LaunchTemplateRef,
    /// The word by which it names that version, if it does: then another version is current as soon as the word means another.
    pub follows: Option<VersionWord>,
    /// The version that is the launch template's default, where that is known.
    pub default_version: Option<LaunchTemplateRef>,
    /// The launch template versions that are known: those of its instances, and those that it could go back to.
    #[serde(with = "crate::pairs")]
    pub templates: LaunchTemplates,
    /// Tags: where a run writes the original bounds before it raises them.
    pub tags: TextMap,
    /// Lifecycle hooks, sorted by name.
    pub hooks: Vec<LifecycleHook>,
    /// How it launches and ends instances.
    pub ways: Ways,
    /// Target groups of load balancers in which its instances are registered, as far as they are known.
    pub target_groups: Vec<TargetGroup>,
    /// What became of its last launches that failed.
    pub failures: Vec<LaunchFailure>,
    /// The last update of a managed node group that is known.
    pub update: Option<NodegroupUpdate>,
    /// How many nodes EKS replaces at once in an update of a managed node group: `updateConfig.maxUnavailable`, or a percentage; EKS's default is 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub update_at_once: Option<IntOrString>,
    /// In which order it does: `updateConfig.updateStrategy`.
    #[serde(default, skip_serializing_if = "UpdateStrategy::is_default")]
    pub update_strategy: UpdateStrategy,
}

impl NodeGroup {
    /// A group of which no more is known than this: without tags and hooks, and with one version of a launch template whose id is invented.
    #[must_use]
    pub fn new(name: GroupName, size: GroupSize, zones: Vec<Zone>, template: LaunchTemplate) -> Self {
        let current = LaunchTemplateRef::invented(&name);
        Self {
            auto_scaling_group: name.text().clone(),
            kind: GroupKind::SelfManaged,
            name,
            size,
            zones,
            templates: [(current.clone(), template)].into(),
            current,
            follows: None,
            default_version: None,
            tags: TextMap::default(),
            hooks: Vec::new(),
            ways: Ways::default(),
            target_groups: Vec::new(),
            failures: Vec::new(),
            update: None,
            update_at_once: None,
            update_strategy: UpdateStrategy::default(),
        }
    }

    /// The hook that EKS puts on the Auto Scaling group of a managed node group.
    pub const EKS_TERMINATION_HOOK: &str = "Terminate-LC-Hook";

    /// Makes it a managed node group: EKS owns its Auto Scaling group, which has a name of EKS's making and EKS's hook.
    #[must_use]
    pub fn managed_by_eks(mut self) -> Self {
        if self.auto_scaling_group == *self.name.text() {
            let id = LaunchTemplateRef::invented(&self.name).id;
            self.auto_scaling_group =
                Text::from(format!("eks-{}-{}", self.name, id.trim_start_matches("lt-")));
        }
        self.kind = GroupKind::EksManaged;
        if !self.hooks.iter().any(|hook| &*hook.name == Self::EKS_TERMINATION_HOOK) {
            self.hooks.push(LifecycleHook {
                name: Text::from(Self::EKS_TERMINATION_HOOK),
                at: Transition::Terminating,
                timeout: Span::from_minutes(30),
                result: HookResult::default(),
            });
            self.hooks.sort();
        }
        self
    }

    /// The version of its launch template that nodes like these are made from: the one that is there, or the next. No number comes back.
    #[must_use]
    pub fn version_of(&self, template: &LaunchTemplate) -> LaunchTemplateRef {
        let own = || self.templates.iter().filter(|(version, _)| version.id == self.current.id);
        let known = own().find(|(_, known)| *known == template);
        let last = own().map(|(version, _)| version.version).max().unwrap_or(self.current.version);
        known.map_or_else(|| self.current.at(last + 1), |(version, _)| version.clone())
    }

    /// The last version of its launch template, and the version that nodes like these are made from if it is to be the last: that one, or the next.
    #[must_use]
    pub fn last_version_of(&self, template: &LaunchTemplate) -> LaunchTemplateRef {
        let own = || self.templates.iter().filter(|(version, _)| version.id == self.current.id);
        match own().next_back() {
            Some((last, known)) if known == template => last.clone(),
            Some((last, _)) => self.current.at(last.version + 1),
            None => self.current.clone(),
        }
    }

    /// The version that a word means.
    #[must_use]
    pub fn version_called(&self, word: VersionWord) -> LaunchTemplateRef {
        let last = || self.templates.keys().rfind(|version| version.id == self.current.id);
        let called = match word {
            VersionWord::Latest => last(),
            VersionWord::Default => self.default_version.as_ref(),
        };
        called.unwrap_or(&self.current).clone()
    }

    /// Under all of its names.
    #[must_use]
    pub fn id(&self) -> GroupId {
        GroupId {
            node_group: self.name.clone(),
            auto_scaling_group: self.auto_scaling_group.clone(),
            kind: self.kind,
        }
    }

    /// The update that is under way.
    #[must_use]
    pub fn update_in_progress(&self) -> Option<&NodegroupUpdate> {
        self.update.as_ref().filter(|update| update.status == UpdateStatus::InProgress)
    }

    /// Whether its Auto Scaling group registers instances in target groups.
    #[must_use]
    pub fn registers_instances(&self) -> bool {
        self.target_groups.iter().any(|target_group| target_group.registrar == Registrar::AutoScaling)
    }

    /// The template that new instances get.
    #[must_use]
    pub fn template(&self) -> &LaunchTemplate {
        &self.templates[&self.current]
    }

    /// What nodes are expected to look like that it launches.
    #[must_use]
    pub fn profile(&self) -> &NodeProfile {
        &self.template().profile
    }

    /// What an instance was made from; `None` where that version is not known any more.
    #[must_use]
    pub fn made_from(&self, instance: &Instance) -> Option<&LaunchTemplate> {
        self.templates.get(&instance.template)
    }
}

/// How a group launches and ends instances by itself (describe-auto-scaling-groups).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ways {
    /// Which instance goes first when it wants fewer; none is [`TerminationPolicy::Default`].
    pub policies: Vec<TerminationPolicy>,
    /// Processes that are suspended.
    pub suspended: BTreeSet<ScalingProcess>,
    /// Whether new instances are protected from scale-in.
    pub protects_new: bool,
}

impl Default for Ways {
    /// What is not known is as in a group of which nobody has changed anything, but that it does not balance its zones: EKS suspends that in the
    /// groups that it manages when it has to.
    fn default() -> Self {
        Self {
            policies: Vec::new(),
            suspended: BTreeSet::from([ScalingProcess::AzRebalance]),
            protects_new: false,
        }
    }
}

impl Ways {
    /// Whether a process is active: nobody has suspended it.
    #[must_use]
    pub fn is_active(&self, process: ScalingProcess) -> bool {
        !self.suspended.contains(&process)
    }

    /// Suspends a process.
    #[must_use]
    pub fn without(mut self, process: ScalingProcess) -> Self {
        self.suspended.insert(process);
        self
    }
}

/// Which instance a group ends first when it wants fewer, within the zone that has most ("Configure termination policies" in the EC2 Auto
/// Scaling guide).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum TerminationPolicy {
    /// Of the oldest launch template version, then the nearest to its next hour.
    Default,
    /// What does not fit the allocation strategy. Which does is a matter of prices.
    AllocationStrategy,
    /// Of the oldest launch template version.
    OldestLaunchTemplate,
    /// Of the oldest launch configuration.
    OldestLaunchConfiguration,
    /// The nearest to its next hour.
    ClosestToNextInstanceHour,
    /// The newest.
    NewestInstance,
    /// The oldest.
    OldestInstance,
}

impl TerminationPolicy {
    /// All of them.
    pub const ALL: [Self; 7] = [
        Self::Default,
        Self::AllocationStrategy,
        Self::OldestLaunchTemplate,
        Self::OldestLaunchConfiguration,
        Self::ClosestToNextInstanceHour,
        Self::NewestInstance,
        Self::OldestInstance,
    ];

    /// As Auto Scaling writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "Default",
            Self::AllocationStrategy => "AllocationStrategy",
            Self::OldestLaunchTemplate => "OldestLaunchTemplate",
            Self::OldestLaunchConfiguration => "OldestLaunchConfiguration",
            Self::ClosestToNextInstanceHour => "ClosestToNextInstanceHour",
            Self::NewestInstance => "NewestInstance",
            Self::OldestInstance => "OldestInstance",
        }
    }

    /// The policy of such a word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.as_str() == word)
    }
}

/// A launch that failed, as describe-scaling-activities tells it: the last one for each type, zone and market.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LaunchFailure {
    /// When.
    pub at: Time,
    /// EC2's error code, such as `InsufficientInstanceCapacity`.
    pub code: Text,
    /// Instance type that was asked for.
    pub instance_type: Text,
    /// Zone in which it was.
    pub zone: Zone,
    /// How it was to be paid for.
    pub market: Market,
}

impl LaunchFailure {
    /// EC2's error code where there is no capacity.
    pub const NO_CAPACITY: &'static str = "InsufficientInstanceCapacity";
}

impl fmt::Display for LaunchFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {} {} in {}", self.code, self.market, self.instance_type, self.zone)
    }
}

/// One machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Instance {
    /// Id.
    pub id: InstanceId,
    /// Group that launched it.
    pub group: GroupName,
    /// Zone.
    pub zone: Zone,
    /// Where it is in its life.
    pub state: InstanceState,
    /// Launch template version it was made from.
    pub template: LaunchTemplateRef,
    /// When it was asked for; unknown for instances that only a snapshot's nodes speak of.
    pub launched: Option<Time>,
    /// The node it registered as, once it has.
    pub node: Option<NodeName>,
    /// Where it is in its group.
    pub lifecycle: Lifecycle,
    /// How it is paid for.
    pub market: Market,
    /// Whether its group leaves it alone when it wants fewer (scale-in protection). It protects against nothing else.
    pub is_protected: bool,
    /// What its group takes it for.
    pub health: HealthStatus,
    /// Target groups in which it is registered, sorted.
    pub targets: Vec<Target>,
}

impl Instance {
    /// Whether the group counts it towards what it wants: one that is held on its way out is not counted any more.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        self.state.is_alive() && self.lifecycle.is_counted()
    }
}

/// What an Auto Scaling group takes an instance for (Auto Scaling HealthStatus). One that is unhealthy is replaced, unless that is suspended; it hardly ever becomes
/// healthy again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HealthStatus {
    /// Nothing else is known.
    #[default]
    Healthy,
    /// It has failed a health check, or somebody has said so.
    Unhealthy,
}

impl fmt::Display for HealthStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Healthy => "Healthy",
            Self::Unhealthy => "Unhealthy",
        })
    }
}

/// Where an instance is in its group (Auto Scaling LifecycleState).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Lifecycle {
    /// It is launched.
    Pending,
    /// A launch hook holds it.
    PendingWait,
    /// The launch hook was completed, or its time is over.
    PendingProceed,
    /// It serves.
    #[default]
    InService,
    /// It is ended.
    Terminating,
    /// A termination hook holds it.
    TerminatingWait,
    /// The termination hook was completed, or its time is over.
    TerminatingProceed,
    /// It is gone from the group.
    Terminated,
    /// Somebody took it out of the group for a while.
    Standby,
    /// It was taken out of the group, or is on its way.
    Detached,
    /// It is in the warm pool, or on its way there and held by no hook.
    Warmed,
}

impl Lifecycle {
    /// As Auto Scaling writes it; states of warm pools and standby that differ in nothing here have one word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::PendingWait => "Pending:Wait",
            Self::PendingProceed => "Pending:Proceed",
            Self::InService => "InService",
            Self::Terminating => "Terminating",
            Self::TerminatingWait => "Terminating:Wait",
            Self::TerminatingProceed => "Terminating:Proceed",
            Self::Terminated => "Terminated",
            Self::Standby => "Standby",
            Self::Detached => "Detached",
            Self::Warmed => "Warmed",
        }
    }

    /// Whether the group counts an instance there towards what it wants.
    #[must_use]
    pub fn is_counted(self) -> bool {
        match self {
            Self::Pending | Self::PendingWait | Self::PendingProceed | Self::InService => true,
            Self::Terminating
            | Self::TerminatingWait
            | Self::TerminatingProceed
            | Self::Terminated
            | Self::Standby
            | Self::Detached
            | Self::Warmed => false,
        }
    }
}

impl fmt::Display for Lifecycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// How an instance is paid for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Market {
    /// It stays until somebody ends it.
    #[default]
    OnDemand,
    /// It is taken back when the capacity is needed, two minutes after a warning.
    Spot,
}

impl fmt::Display for Market {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::OnDemand => "on-demand",
            Self::Spot => "spot",
        })
    }
}

impl Market {
    /// What a node's labels say (`eks.amazonaws.com/capacityType`, `karpenter.sh/capacity-type`).
    #[must_use]
    pub fn of(labels: &Labels) -> Self {
        let is_spot = labels.value("eks.amazonaws.com/capacityType") == Some("SPOT")
            || labels.value("karpenter.sh/capacity-type") == Some("spot");
        if is_spot { Self::Spot } else { Self::OnDemand }
    }
}

/// A lifecycle hook of a group: it holds an instance at launch or termination until somebody completes the action.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct LifecycleHook {
    /// Name.
    pub name: Text,
    /// What it holds instances at.
    pub at: Transition,
    /// How long it holds one after its beginning and after every heartbeat (HeartbeatTimeout: 30 s to 2 h).
    pub timeout: Span,
    /// What a launch comes to when that time is over (DefaultResult). A termination goes on either way.
    #[serde(default, skip_serializing_if = "HookResult::is_abandon")]
    pub result: HookResult,
}

/// What a lifecycle action comes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum HookResult {
    /// `ABANDON`: the instance that is launched is terminated.
    #[default]
    Abandon,
    /// `CONTINUE`: it goes into service.
    Continue,
}

impl HookResult {
    /// As Auto Scaling writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Abandon => "ABANDON",
            Self::Continue => "CONTINUE",
        }
    }

    /// By Auto Scaling's word.
    #[must_use]
    pub fn of(word: &str) -> Option<Self> {
        [Self::Abandon, Self::Continue].into_iter().find(|one| one.as_str() == word)
    }

    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde hands over a reference")]
    fn is_abandon(&self) -> bool {
        *self == Self::Abandon
    }
}

impl LifecycleHook {
    /// Whether a hook is one that EKS puts on the groups that it manages: its actions are EKS's to complete, which drains the instance's node
    /// first. To complete one would end the instance in the middle of that.
    #[must_use]
    pub fn is_of_eks(name: &str) -> bool {
        matches!(name, "Terminate-LC-Hook" | "Launch-LC-Hook")
    }

    /// How long it holds an instance at most, whatever heartbeats there are: 48 h, or a hundred times its timeout if that is
    /// less (GlobalTimeout).
    #[must_use]
    pub fn ceiling(&self) -> Span {
        Span::from_millis(self.timeout.as_millis().saturating_mul(100)).min(Span::from_minutes(48 * 60))
    }
}

/// What a lifecycle hook holds instances at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Transition {
    /// `autoscaling:EC2_INSTANCE_LAUNCHING`.
    Launching,
    /// `autoscaling:EC2_INSTANCE_TERMINATING`.
    Terminating,
}

/// A message of a queue that this process has received and not deleted: nobody else receives it until its visibility timeout
/// is over.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Id: the same whenever it is delivered.
    pub id: MessageId,
    /// What it is deleted by: another one at every delivery.
    pub receipt: Text,
    /// Its body, unread.
    pub body: Text,
    /// When it was sent.
    pub sent: Time,
    /// When this process received it, with this receipt.
    pub received: Time,
    /// Until when nobody else receives it.
    pub hidden_until: Time,
    /// How often it has been received, by whomever.
    pub received_count: u32,
}

impl Message {
    /// How long a message can be hidden from others after it was received, however often that is asked for (ChangeMessageVisibility: 43,200
    /// seconds). Then it is received again.
    pub const HIDDEN_MAX: Span = Span::from_minutes(12 * 60);

    /// Until when it can be hidden from others.
    #[must_use]
    pub fn hidden_until_max(&self) -> Time {
        self.received + Self::HIDDEN_MAX
    }
}

/// Where an instance is in its life (EC2 InstanceStateName).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum InstanceState {
    /// Booting.
    Pending,
    /// Up.
    Running,
    /// Going down for good.
    ShuttingDown,
    /// Gone.
    Terminated,
}

impl InstanceState {
    /// As EC2 writes it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::ShuttingDown => "shutting-down",
            Self::Terminated => "terminated",
        }
    }

    /// Whether the group counts the instance.
    #[must_use]
    pub fn is_alive(self) -> bool {
        match self {
            Self::Pending | Self::Running => true,
            Self::ShuttingDown | Self::Terminated => false,
        }
    }
}

impl fmt::Display for InstanceState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

/// The instance id at the end of a provider id (`aws:///eu-west-1a/i-0abc` → `i-0abc`).
#[must_use]
pub fn instance_of(provider_id: &str) -> Option<InstanceId> {
    let id = provider_id.rsplit('/').next()?;
    (!id.is_empty()).then(|| InstanceId::from(id))
}
