//! Workloads that run for ever: Deployment, ReplicaSet, ReplicationController, StatefulSet, DaemonSet.

use std::sync::Arc;

use crate::int_or_string::IntOrString;
use crate::labels::TextMap;
use crate::list::List;
use crate::object::condition::Condition;
use crate::object::meta::Meta;
use crate::object::pod::PodTemplate;
use crate::object::volume::PersistentVolumeClaimTemplate;
use crate::selector::LabelSelector;
use crate::shared::Shared;
use crate::text::{Name, Text};
use crate::wire::{wire, words};

words! {
    /// How a Deployment replaces its pods.
    pub enum DeploymentStrategyType {
        /// All old pods go first.
        Recreate = "Recreate",
        /// Step by step.
        RollingUpdate = "RollingUpdate",
    }

    /// In what order a StatefulSet makes and removes pods.
    pub enum PodManagementPolicy {
        /// One after the other.
        OrderedReady = "OrderedReady",
        /// All at once.
        Parallel = "Parallel",
    }

    /// How a StatefulSet or DaemonSet replaces its pods.
    pub enum UpdateStrategyType {
        /// Step by step.
        RollingUpdate = "RollingUpdate",
        /// Only when a pod is deleted by somebody.
        OnDelete = "OnDelete",
    }

    /// What becomes of a StatefulSet's claims.
    pub enum ClaimRetention {
        /// They stay.
        Retain = "Retain",
        /// They go.
        Delete = "Delete",
    }
}

wire! {
    /// apps/v1 Deployment.
    pub struct Deployment {
        /// Metadata.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// Desired state.
        pub spec: Shared<DeploymentSpec>,
        /// Observed state.
        pub status: DeploymentStatus,
    }

    /// apps/v1 DeploymentSpec.
    pub struct DeploymentSpec {
        /// Pods wanted; absent means 1.
        pub replicas: Option<i32>,
        /// Which pods are its own.
        pub selector: Option<LabelSelector>,
        /// What its pods look like.
        pub template: PodTemplate,
        /// How pods are replaced.
        pub strategy: DeploymentStrategy,
        /// Seconds of readiness that make a pod available.
        pub min_ready_seconds: i32,
        /// Old ReplicaSets to keep; absent means 10.
        pub revision_history_limit: Option<i32>,
        /// Whether rollouts are held.
        pub paused: bool,
        /// Seconds without progress after which a rollout is called failed; absent means 600.
        pub progress_deadline_seconds: Option<i32>,
    }

    /// apps/v1 DeploymentStrategy.
    pub struct DeploymentStrategy {
        /// Kind of strategy; absent means RollingUpdate.
        pub r#type: Option<DeploymentStrategyType>,
        /// Its parameters.
        pub rolling_update: Option<RollingUpdateDeployment>,
    }

    /// apps/v1 RollingUpdateDeployment.
    pub struct RollingUpdateDeployment {
        /// Absent means 25%.
        pub max_unavailable: Option<IntOrString>,
        /// Absent means 25%.
        pub max_surge: Option<IntOrString>,
    }

    /// apps/v1 DeploymentStatus.
    pub struct DeploymentStatus {
        /// Generation that the controller has seen.
        pub observed_generation: i64,
        /// Pods that are not terminating.
        pub replicas: i32,
        /// Of these, with the current template.
        pub updated_replicas: i32,
        /// Of these, ready.
        pub ready_replicas: i32,
        /// Of these, available.
        pub available_replicas: i32,
        /// Pods still missing.
        pub unavailable_replicas: i32,
        /// Pods on their way out.
        pub terminating_replicas: Option<i32>,
        /// Counter that avoids name collisions.
        pub collision_count: Option<i32>,
        /// Conditions.
        pub conditions: List<Condition>,
    }

    /// apps/v1 ReplicaSet.
    pub struct ReplicaSet {
        /// Metadata.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// Desired state.
        pub spec: Shared<ReplicaSetSpec>,
        /// Observed state.
        pub status: ReplicaSetStatus,
    }

    /// apps/v1 ReplicaSetSpec.
    pub struct ReplicaSetSpec {
        /// Pods wanted; absent means 1.
        pub replicas: Option<i32>,
        /// Seconds of readiness that make a pod available.
        pub min_ready_seconds: i32,
        /// Which pods are its own.
        pub selector: Option<LabelSelector>,
        /// What its pods look like.
        pub template: PodTemplate,
    }

    /// apps/v1 ReplicaSetStatus (core/v1 ReplicationControllerStatus has the same members).
    pub struct ReplicaSetStatus {
        /// Pods that are not terminating.
        pub replicas: i32,
        /// Of these, with all labels of the template.
        pub fully_labeled_replicas: i32,
        /// Of these, ready.
        pub ready_replicas: i32,
        /// Of these, available.
        pub available_replicas: i32,
        /// Pods on their way out.
        pub terminating_replicas: Option<i32>,
        /// Generation that the controller has seen.
        pub observed_generation: i64,
        /// Conditions.
        pub conditions: List<Condition>,
    }

    /// core/v1 ReplicationController.
    pub struct ReplicationController {
        /// Metadata.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// Desired state.
        pub spec: ReplicationControllerSpec,
        /// Observed state.
        pub status: ReplicaSetStatus,
    }

    /// core/v1 ReplicationControllerSpec.
    pub struct ReplicationControllerSpec {
        /// Pods wanted; absent means 1.
        pub replicas: Option<i32>,
        /// Seconds of readiness that make a pod available.
        pub min_ready_seconds: i32,
        /// Labels of its own pods.
        pub selector: TextMap,
        /// What its pods look like.
        pub template: Option<PodTemplate>,
    }

    /// apps/v1 StatefulSet.
    pub struct StatefulSet {
        /// Metadata.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// Desired state.
        pub spec: StatefulSetSpec,
        /// Observed state.
        pub status: StatefulSetStatus,
    }

    /// apps/v1 StatefulSetSpec.
    pub struct StatefulSetSpec {
        /// Pods wanted; absent means 1.
        pub replicas: Option<i32>,
        /// Which pods are its own.
        pub selector: Option<LabelSelector>,
        /// What its pods look like.
        pub template: PodTemplate,
        /// Claims that every pod gets.
        pub volume_claim_templates: Vec<Arc<PersistentVolumeClaimTemplate>>,
        /// Service that gives the pods their names.
        pub service_name: Name,
        /// Order; absent means OrderedReady.
        pub pod_management_policy: Option<PodManagementPolicy>,
        /// How pods are replaced.
        pub update_strategy: StatefulSetUpdateStrategy,
        /// Old revisions to keep; absent means 10.
        pub revision_history_limit: Option<i32>,
        /// Seconds of readiness that make a pod available.
        pub min_ready_seconds: i32,
        /// What becomes of claims.
        pub persistent_volume_claim_retention_policy: Option<ClaimRetentionPolicy>,
        /// Where numbering starts.
        pub ordinals: Option<Ordinals>,
    }

    /// apps/v1 StatefulSetUpdateStrategy.
    pub struct StatefulSetUpdateStrategy {
        /// Kind; absent means RollingUpdate.
        pub r#type: Option<UpdateStrategyType>,
        /// Its parameters.
        pub rolling_update: Option<RollingUpdateStatefulSet>,
    }

    /// apps/v1 RollingUpdateStatefulSetStrategy.
    pub struct RollingUpdateStatefulSet {
        /// Ordinals below this keep the old revision.
        pub partition: Option<i32>,
        /// Ignored in 1.36: its gate is off.
        pub max_unavailable: Option<IntOrString>,
    }

    /// apps/v1 StatefulSetPersistentVolumeClaimRetentionPolicy.
    pub struct ClaimRetentionPolicy {
        /// When the set is deleted; absent means Retain.
        pub when_deleted: Option<ClaimRetention>,
        /// When the set shrinks; absent means Retain.
        pub when_scaled: Option<ClaimRetention>,
    }

    /// apps/v1 StatefulSetOrdinals.
    pub struct Ordinals {
        /// First ordinal.
        pub start: i32,
    }

    /// apps/v1 StatefulSetStatus.
    pub struct StatefulSetStatus {
        /// Generation that the controller has seen.
        pub observed_generation: i64,
        /// Pods there are.
        pub replicas: i32,
        /// Of these, ready.
        pub ready_replicas: i32,
        /// Of these, with the current revision.
        pub current_replicas: i32,
        /// Of these, with the update revision.
        pub updated_replicas: i32,
        /// Of these, available.
        pub available_replicas: i32,
        /// Revision that pods had before the update.
        pub current_revision: Text,
        /// Revision that pods are to have.
        pub update_revision: Text,
        /// Counter that avoids name collisions.
        pub collision_count: Option<i32>,
        /// Conditions.
        pub conditions: List<Condition>,
    }

    /// apps/v1 DaemonSet.
    pub struct DaemonSet {
        /// Metadata.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// Desired state.
        pub spec: DaemonSetSpec,
        /// Observed state.
        pub status: DaemonSetStatus,
    }

    /// apps/v1 DaemonSetSpec.
    pub struct DaemonSetSpec {
        /// Which pods are its own.
        pub selector: Option<LabelSelector>,
        /// What its pods look like.
        pub template: PodTemplate,
        /// How pods are replaced.
        pub update_strategy: DaemonSetUpdateStrategy,
        /// Seconds of readiness that make a pod available.
        pub min_ready_seconds: i32,
        /// Old revisions to keep; absent means 10.
        pub revision_history_limit: Option<i32>,
    }

    /// apps/v1 DaemonSetUpdateStrategy.
    pub struct DaemonSetUpdateStrategy {
        /// Kind; absent means RollingUpdate.
        pub r#type: Option<UpdateStrategyType>,
        /// Its parameters.
        pub rolling_update: Option<RollingUpdateDaemonSet>,
    }

    /// apps/v1 RollingUpdateDaemonSet.
    pub struct RollingUpdateDaemonSet {
        /// Absent means 1.
        pub max_unavailable: Option<IntOrString>,
        /// Absent means 0.
        pub max_surge: Option<IntOrString>,
    }

    /// apps/v1 DaemonSetStatus.
    pub struct DaemonSetStatus {
        /// Nodes that have a pod and should.
        pub current_number_scheduled: i32,
        /// Nodes that have a pod and should not.
        pub number_misscheduled: i32,
        /// Nodes that should have a pod.
        pub desired_number_scheduled: i32,
        /// Of these, with a ready pod.
        pub number_ready: i32,
        /// Generation that the controller has seen.
        pub observed_generation: i64,
        /// Nodes with a pod of the current template.
        pub updated_number_scheduled: i32,
        /// Nodes with an available pod.
        pub number_available: i32,
        /// Nodes without one.
        pub number_unavailable: i32,
        /// Counter that avoids name collisions.
        pub collision_count: Option<i32>,
    }

    /// apps/v1 ControllerRevision; its data is only in the raw JSON.
    pub struct ControllerRevision {
        /// Metadata.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// Number of the revision.
        pub revision: i64,
        /// The template this revision stands for.
        #[serde(skip)]
        pub template: Option<Arc<PodTemplate>>,
    }
}
