//! Pods: what they ask for (shared between siblings) and how they are (their own).

use std::sync::Arc;

use crate::labels::{Annotations, Labels, TextMap};
use crate::list::List;
use crate::object::affinity::{Affinity, Toleration, TopologySpreadConstraint};
use crate::object::condition;
use crate::object::meta::Meta;
pub use crate::object::pod_conditions::PodConditions;
use crate::object::resources::{ResourceRequirements, Resources};
use crate::object::volume::VolumeSource;
use crate::text::{Name, NodeName, Text};
use crate::time::Time;
use crate::wire::{wire, words};

words! {
    /// `status.phase` of a pod.
    pub enum PodPhase {
        /// Accepted, not yet running.
        Pending = "Pending",
        /// At least one container runs.
        Running = "Running",
        /// All containers ended with 0 and stay so.
        Succeeded = "Succeeded",
        /// All containers ended, one of them badly, or the pod was stopped.
        Failed = "Failed",
        /// The kubelet cannot be asked (no longer written by Kubernetes).
        Unknown = "Unknown",
    }

    /// `spec.restartPolicy`.
    pub enum RestartPolicy {
        /// Containers are always started again.
        Always = "Always",
        /// Containers that failed are started again.
        OnFailure = "OnFailure",
        /// Containers are not started again.
        Never = "Never",
    }

    /// Whether a pod may push others out.
    pub enum PreemptionPolicy {
        /// It may.
        PreemptLowerPriority = "PreemptLowerPriority",
        /// It waits.
        Never = "Never",
    }
}

impl Default for PodPhase {
    /// The API server stores a new pod as `Pending`.
    fn default() -> Self {
        Self::Pending
    }
}

/// A pod.
///
/// What pods of one template have in common is behind [`Pod::spec`], shared. What differs between siblings is beside
/// it: the node, the pin that the DaemonSet controller writes into affinity, the suffix of the token volume.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Pod {
    /// Metadata.
    pub meta: Meta,
    /// The desired state, shared between siblings.
    pub spec: Arc<PodSpec>,
    /// `spec.nodeName`: where the pod is bound.
    pub node: Option<NodeName>,
    /// The one node that every required affinity term names by `metadata.name` (a DaemonSet pod). The shared spec
    /// has the terms without that requirement.
    pub pin: Option<NodeName>,
    /// Suffix of the generated service account token volume (`kube-api-access-<suffix>`).
    pub token: Option<Text>,
    /// How the pod is.
    pub status: PodStatus,
}

impl Pod {
    /// Whether the pod has reached `Succeeded` or `Failed`.
    #[must_use]
    pub fn is_terminal(&self) -> bool {
        matches!(self.status.phase, PodPhase::Succeeded | PodPhase::Failed)
    }

    /// Whether deletion was asked for.
    #[must_use]
    pub fn is_terminating(&self) -> bool {
        self.meta.is_terminating()
    }

    /// Whether the `Ready` condition is true.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.status.conditions.is_ready()
    }

    /// Whether the pod counts as running for its controller: neither ended nor on its way out
    /// (pkg/controller `IsPodActive`).
    #[must_use]
    pub fn is_active(&self) -> bool {
        !self.is_terminal() && !self.is_terminating()
    }

    /// Whether a kubelet runs the pod from a file: it cannot be moved (annotation `kubernetes.io/config.mirror`).
    #[must_use]
    pub fn is_mirror(&self) -> bool {
        self.meta.annotations.contains_key("kubernetes.io/config.mirror")
    }

    /// Since when the pod has been ready.
    #[must_use]
    pub fn ready_since(&self) -> Option<Time> {
        let ready = condition::find(&self.status.conditions, "Ready")?;
        (ready.status == condition::ConditionStatus::True).then_some(ready.last_transition_time).flatten()
    }

    /// Seconds of grace that the pod asks for at its end.
    #[must_use]
    pub fn grace_seconds(&self) -> i64 {
        self.spec.termination_grace_period_seconds.unwrap_or(30)
    }
}

wire! {
    /// core/v1 PodSpec, less what differs between siblings (see [`Pod`]).
    pub struct PodSpec {
        /// Containers that run side by side.
        pub containers: Vec<Container>,
        /// Containers that run first, in order; with `restartPolicy: Always` they stay (sidecars).
        pub init_containers: Vec<Container>,
        /// Volumes.
        pub volumes: Vec<Volume>,
        /// Labels that a node must have.
        pub node_selector: TextMap,
        /// Attraction and repulsion.
        pub affinity: Option<Arc<Affinity>>,
        /// Taints that the pod tolerates.
        pub tolerations: Vec<Toleration>,
        /// How siblings spread.
        pub topology_spread_constraints: Vec<TopologySpreadConstraint>,
        /// Priority value, resolved at admission.
        pub priority: Option<i32>,
        /// Name of the priority class.
        pub priority_class_name: Text,
        /// Whether the pod may preempt.
        pub preemption_policy: Option<PreemptionPolicy>,
        /// Which scheduler places the pod.
        pub scheduler_name: Text,
        /// What must be cleared before the pod is placed.
        pub scheduling_gates: Vec<SchedulingGate>,
        /// What the runtime class adds to the requests.
        pub overhead: Resources,
        /// Requests of the pod as a whole, which replace those of its containers.
        pub resources: Option<ResourceRequirements>,
        /// Whether containers share the node's network.
        pub host_network: bool,
        /// Whether the pod runs in the node's user namespace.
        pub host_users: Option<bool>,
        /// When containers are started again.
        pub restart_policy: Option<RestartPolicy>,
        /// Seconds between the request to stop and the kill.
        pub termination_grace_period_seconds: Option<i64>,
        /// Seconds after which the kubelet ends the pod.
        pub active_deadline_seconds: Option<i64>,
        /// Service account.
        pub service_account_name: Text,
        /// Host name within the pod.
        pub hostname: Text,
        /// Domain under which the host name is found.
        pub subdomain: Text,
        /// What else must hold for the pod to be ready.
        pub readiness_gates: Vec<ReadinessGate>,
        /// Claims of dynamic resource allocation.
        pub resource_claims: Vec<PodResourceClaim>,
        /// The JSON of the spec as it came, less what differs between siblings.
        #[serde(skip)]
        pub raw: Option<Arc<str>>,
    }

    /// core/v1 PodSchedulingGate.
    pub struct SchedulingGate {
        /// Name.
        pub name: Text,
    }

    /// core/v1 PodReadinessGate.
    pub struct ReadinessGate {
        /// Condition that must be true.
        pub condition_type: Text,
    }

    /// core/v1 PodResourceClaim.
    pub struct PodResourceClaim {
        /// Name within the pod.
        pub name: Text,
        /// Name of a ResourceClaim.
        pub resource_claim_name: Option<Name>,
        /// Name of a ResourceClaimTemplate.
        pub resource_claim_template_name: Option<Name>,
    }

    /// core/v1 Container.
    pub struct Container {
        /// Name.
        pub name: Text,
        /// Image.
        pub image: Text,
        /// What it asks for and may use.
        pub resources: ResourceRequirements,
        /// Ports.
        pub ports: Vec<ContainerPort>,
        /// `Always` marks a sidecar among the init containers.
        pub restart_policy: Option<RestartPolicy>,
        /// What to do when the container ends with certain exit codes.
        pub restart_policy_rules: Vec<RestartRule>,
        /// Decides readiness.
        pub readiness_probe: Option<Probe>,
        /// Decides when the other probes begin.
        pub startup_probe: Option<Probe>,
        /// Decides when the container is killed.
        pub liveness_probe: Option<Probe>,
        /// Hooks.
        pub lifecycle: Option<Lifecycle>,
        /// When the image is pulled.
        pub image_pull_policy: Text,
    }

    /// core/v1 ContainerRestartRule, its action.
    pub struct RestartRule {
        /// `Restart` or `RestartAllContainers`.
        pub action: Text,
    }

    /// core/v1 ContainerPort.
    pub struct ContainerPort {
        /// Name, for Services.
        pub name: Text,
        /// Port within the pod.
        pub container_port: i32,
        /// Port on the node; 0 for none.
        pub host_port: i32,
        /// Address on the node.
        #[serde(rename = "hostIP")]
        pub host_ip: Text,
        /// TCP, UDP or SCTP; empty means TCP.
        pub protocol: Text,
    }

    /// core/v1 Probe, its timing.
    pub struct Probe {
        /// Seconds before the first probe.
        pub initial_delay_seconds: i32,
        /// Seconds between probes; 0 means the default of 10.
        pub period_seconds: i32,
        /// Successes in a row that count.
        pub success_threshold: i32,
        /// Failures in a row that count.
        pub failure_threshold: i32,
        /// Seconds until a probe counts as failed.
        pub timeout_seconds: i32,
    }

    /// core/v1 Lifecycle, its end.
    pub struct Lifecycle {
        /// What runs before the stop signal.
        pub pre_stop: Option<PreStop>,
    }

    /// core/v1 LifecycleHandler of `preStop`.
    pub struct PreStop {
        /// A command.
        pub exec: Option<ExecAction>,
        /// A pause.
        pub sleep: Option<SleepAction>,
        /// A request.
        pub http_get: Option<HttpGetAction>,
    }

    /// core/v1 ExecAction.
    pub struct ExecAction {
        /// The command line.
        pub command: Vec<Text>,
    }

    /// core/v1 SleepAction.
    pub struct SleepAction {
        /// Seconds.
        pub seconds: i64,
    }

    /// core/v1 HTTPGetAction, its path.
    pub struct HttpGetAction {
        /// Path.
        pub path: Text,
    }

    /// core/v1 Volume.
    pub struct Volume {
        /// Name within the pod.
        pub name: Text,
        /// Where the volume comes from.
        #[serde(flatten)]
        pub source: VolumeSource,
    }

    /// core/v1 PodStatus.
    pub struct PodStatus {
        /// Where the pod is in its life.
        pub phase: PodPhase,
        /// One CamelCase word that says why (`Evicted`, `NodeLost`).
        pub reason: Text,
        /// A sentence that says why.
        pub message: Text,
        /// Conditions.
        pub conditions: PodConditions,
        /// When the kubelet took the pod.
        pub start_time: Option<Time>,
        /// Node that preemption made room on.
        pub nominated_node_name: Option<NodeName>,
        /// Address.
        #[serde(rename = "podIP")]
        pub pod_ip: Text,
        /// How the containers are.
        pub container_statuses: List<ContainerStatus>,
        /// How the init containers are.
        pub init_container_statuses: List<ContainerStatus>,
        /// Generation that the kubelet has acted on.
        pub observed_generation: i64,
        /// Requests of the pod as a whole that the kubelet has put in force.
        pub resources: Option<ResourceRequirements>,
        /// Requests of the pod as a whole that the node has set aside.
        pub allocated_resources: Resources,
    }

    /// core/v1 ContainerStatus.
    pub struct ContainerStatus {
        /// Name.
        pub name: Text,
        /// Whether the readiness probe says yes.
        pub ready: bool,
        /// How often the container was started again.
        pub restart_count: i32,
        /// How it is.
        pub state: ContainerState,
        /// How it ended last time.
        pub last_state: ContainerState,
        /// Requests in force.
        pub resources: Option<ResourceRequirements>,
        /// Requests set aside by the node.
        pub allocated_resources: Resources,
    }

    /// core/v1 ContainerState: at most one member is there.
    pub struct ContainerState {
        /// It has not begun.
        pub waiting: Option<ContainerWaiting>,
        /// It runs.
        pub running: Option<ContainerRunning>,
        /// It has ended.
        pub terminated: Option<ContainerTerminated>,
    }

    /// core/v1 ContainerStateWaiting.
    pub struct ContainerWaiting {
        /// Why (`CrashLoopBackOff`, `ImagePullBackOff`).
        pub reason: Text,
        /// Details.
        pub message: Text,
    }

    /// core/v1 ContainerStateRunning.
    pub struct ContainerRunning {
        /// Since when.
        pub started_at: Option<Time>,
    }

    /// core/v1 ContainerStateTerminated.
    pub struct ContainerTerminated {
        /// Exit code.
        pub exit_code: i32,
        /// Signal that ended it.
        pub signal: i32,
        /// Why.
        pub reason: Text,
        /// Details.
        pub message: Text,
        /// When it began.
        pub started_at: Option<Time>,
        /// When it ended.
        pub finished_at: Option<Time>,
    }

    /// A pod template's metadata.
    pub struct TemplateMeta {
        /// Labels of the pods.
        pub labels: Labels,
        /// Annotations of the pods.
        pub annotations: Annotations,
        /// Finalizers of the pods.
        pub finalizers: Vec<Text>,
    }

    /// core/v1 PodTemplateSpec.
    pub struct PodTemplate {
        /// Metadata of the pods.
        #[serde(rename = "metadata")]
        pub meta: TemplateMeta,
        /// Spec of the pods.
        #[serde(with = "crate::object::pod_wire::shared_spec")]
        pub spec: Arc<PodSpec>,
    }
}
