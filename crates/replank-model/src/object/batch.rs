//! Workloads that end: Job and CronJob.

use crate::cron::{self, Schedule};
use crate::list::List;
use crate::object::condition::{self, Condition};
use crate::object::meta::Meta;
use crate::object::pod::{PodTemplate, TemplateMeta};
use crate::selector::LabelSelector;
use crate::text::{Name, Namespace, Text, Uid};
use crate::time::Time;
use crate::wire::{wire, words};

words! {
    /// Whether completions have numbers.
    pub enum CompletionMode {
        /// Any pod that succeeds counts.
        NonIndexed = "NonIndexed",
        /// Each index must succeed once.
        Indexed = "Indexed",
    }

    /// When a Job makes a pod in place of another.
    pub enum PodReplacementPolicy {
        /// As soon as the old one terminates or has failed.
        TerminatingOrFailed = "TerminatingOrFailed",
        /// Only when the old one has reached its end.
        Failed = "Failed",
    }

    /// What a rule of a pod failure policy does.
    pub enum PodFailureAction {
        /// The Job fails.
        FailJob = "FailJob",
        /// The index fails.
        FailIndex = "FailIndex",
        /// The failure does not count.
        Ignore = "Ignore",
        /// The failure counts, as without a rule.
        Count = "Count",
    }

    /// How a rule compares exit codes.
    pub enum ExitCodeOperator {
        /// One of the values.
        In = "In",
        /// None of the values.
        NotIn = "NotIn",
    }

    /// What a CronJob does when the last run is still going.
    pub enum ConcurrencyPolicy {
        /// Both run.
        Allow = "Allow",
        /// The new one is skipped.
        Forbid = "Forbid",
        /// The old one is deleted.
        Replace = "Replace",
    }
}

wire! {
    /// batch/v1 Job.
    pub struct Job {
        /// Metadata.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// Desired state.
        pub spec: JobSpec,
        /// Observed state.
        pub status: JobStatus,
    }

    /// batch/v1 JobSpec.
    pub struct JobSpec {
        /// Pods at once; absent means 1.
        pub parallelism: Option<i32>,
        /// Successes wanted; absent: any success of any pod ends the Job.
        pub completions: Option<i32>,
        /// Seconds after which the Job is failed.
        pub active_deadline_seconds: Option<i64>,
        /// Failures that are borne; absent means 6.
        pub backoff_limit: Option<i32>,
        /// Failures per index that are borne.
        pub backoff_limit_per_index: Option<i32>,
        /// Failed indexes that are borne.
        pub max_failed_indexes: Option<i32>,
        /// Which pods are its own.
        pub selector: Option<LabelSelector>,
        /// Whether the user chose the selector.
        pub manual_selector: Option<bool>,
        /// What its pods look like.
        pub template: PodTemplate,
        /// Seconds after the end when the Job is deleted.
        pub ttl_seconds_after_finished: Option<i32>,
        /// Absent means NonIndexed.
        pub completion_mode: Option<CompletionMode>,
        /// Whether it is held.
        pub suspend: Option<bool>,
        /// What failures mean.
        pub pod_failure_policy: Option<PodFailurePolicy>,
        /// When enough has succeeded.
        pub success_policy: Option<SuccessPolicy>,
        /// Absent: TerminatingOrFailed, or Failed with a pod failure policy.
        pub pod_replacement_policy: Option<PodReplacementPolicy>,
        /// Somebody else's controller.
        pub managed_by: Option<Text>,
    }

    /// batch/v1 PodFailurePolicy.
    pub struct PodFailurePolicy {
        /// The first that fits decides.
        pub rules: Vec<PodFailurePolicyRule>,
    }

    /// batch/v1 PodFailurePolicyRule.
    pub struct PodFailurePolicyRule {
        /// What is done; always there in stored objects.
        pub action: Option<PodFailureAction>,
        /// A condition on exit codes.
        pub on_exit_codes: Option<OnExitCodes>,
        /// A condition on pod conditions.
        pub on_pod_conditions: Vec<OnPodCondition>,
    }

    /// batch/v1 PodFailurePolicyOnExitCodesRequirement.
    pub struct OnExitCodes {
        /// Only this container; absent means any.
        pub container_name: Option<Text>,
        /// How to compare.
        pub operator: Option<ExitCodeOperator>,
        /// Exit codes.
        pub values: Vec<i32>,
    }

    /// batch/v1 PodFailurePolicyOnPodConditionsPattern.
    pub struct OnPodCondition {
        /// Type of the condition.
        pub r#type: Text,
        /// Its status; absent means True.
        pub status: Text,
    }

    /// batch/v1 SuccessPolicy.
    pub struct SuccessPolicy {
        /// The first that holds ends the Job.
        pub rules: Vec<SuccessPolicyRule>,
    }

    /// batch/v1 SuccessPolicyRule.
    pub struct SuccessPolicyRule {
        /// Indexes, such as `0,2-4`.
        pub succeeded_indexes: Option<Text>,
        /// How many of them.
        pub succeeded_count: Option<i32>,
    }

    /// batch/v1 JobStatus.
    pub struct JobStatus {
        /// Conditions.
        pub conditions: List<Condition>,
        /// When the Job (last) began.
        pub start_time: Option<Time>,
        /// When it was complete.
        pub completion_time: Option<Time>,
        /// Pods that are neither ended nor terminating.
        pub active: i32,
        /// Of these, ready.
        pub ready: Option<i32>,
        /// Pods on their way out.
        pub terminating: Option<i32>,
        /// Pods that succeeded.
        pub succeeded: i32,
        /// Pods that failed.
        pub failed: i32,
        /// Indexes that succeeded, such as `0,2-4`.
        pub completed_indexes: Text,
        /// Indexes that failed.
        pub failed_indexes: Option<Text>,
        /// Pods seen to end and not yet counted.
        pub uncounted_terminated_pods: Option<UncountedTerminatedPods>,
    }

    /// batch/v1 UncountedTerminatedPods.
    pub struct UncountedTerminatedPods {
        /// Succeeded.
        pub succeeded: Vec<Uid>,
        /// Failed.
        pub failed: Vec<Uid>,
    }

    /// batch/v1 CronJob.
    pub struct CronJob {
        /// Metadata.
        #[serde(rename = "metadata")]
        pub meta: Meta,
        /// Desired state.
        pub spec: CronJobSpec,
        /// Observed state.
        pub status: CronJobStatus,
    }

    /// batch/v1 CronJobSpec.
    pub struct CronJobSpec {
        /// Five fields, or `@hourly` and the like.
        pub schedule: Text,
        /// IANA name; absent means the controller manager's own (UTC on EKS).
        pub time_zone: Option<Text>,
        /// How late a run may start.
        pub starting_deadline_seconds: Option<i64>,
        /// Absent means Allow.
        pub concurrency_policy: Option<ConcurrencyPolicy>,
        /// Whether it is held.
        pub suspend: Option<bool>,
        /// The Job that is made.
        pub job_template: JobTemplate,
        /// Succeeded Jobs to keep; absent means 3.
        pub successful_jobs_history_limit: Option<i32>,
        /// Failed Jobs to keep; absent means 1.
        pub failed_jobs_history_limit: Option<i32>,
    }

    /// batch/v1 JobTemplateSpec.
    pub struct JobTemplate {
        /// Metadata of the Jobs.
        #[serde(rename = "metadata")]
        pub meta: TemplateMeta,
        /// Spec of the Jobs.
        pub spec: JobSpec,
    }

    /// batch/v1 CronJobStatus.
    pub struct CronJobStatus {
        /// Jobs that run.
        pub active: Vec<ObjectReference>,
        /// Slot of the last run.
        pub last_schedule_time: Option<Time>,
        /// End of the last good run.
        pub last_successful_time: Option<Time>,
    }

    /// core/v1 ObjectReference.
    pub struct ObjectReference {
        /// API version.
        pub api_version: Text,
        /// Kind.
        pub kind: Text,
        /// Namespace.
        pub namespace: Namespace,
        /// Name.
        pub name: Name,
        /// Uid.
        pub uid: Uid,
    }
}

impl Job {
    /// Whether the Job has ended, well or badly.
    #[must_use]
    pub fn is_finished(&self) -> bool {
        condition::is_true(&self.status.conditions, "Complete")
            || condition::is_true(&self.status.conditions, "Failed")
    }
}

impl CronJob {
    /// When it makes Jobs, held or not; by the clock of the controller manager (UTC) if it names no zone.
    ///
    /// # Errors
    ///
    /// What is wrong with schedule or zone, in upstream's words.
    pub fn schedule(&self) -> Result<Schedule, String> {
        let zone = cron::zone(self.spec.time_zone.as_deref().unwrap_or_default())?;
        Schedule::parse(&self.spec.schedule, &zone)
    }
}
