//! Shared reasons of runs: commands, pauses and windows; and why a run as a whole does not go on.

use std::fmt;

use replank_model::object::meta::Key;
use replank_model::text::{RunId, Text};
use replank_model::time::{Span, Time};
use serde::{Deserialize, Serialize};

use super::finality::Finality;
use crate::mark::Ailment;
use crate::mark::version::WRITTEN;
use crate::subject::Hope;

/// How often a webhook may deny one command until it counts as what blocks: a webhook that is being rolled out denies for a minute or two, and the
/// pauses between the tries grow to a minute.
pub const DENIED_TRIES_MAX: u32 = 5;

/// What a run waits on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RunWait {
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
    /// It is outside of the plan's windows.
    Window {
        /// When the next one opens.
        opens: Time,
    },
    /// The operator has paused the run.
    Paused,
}

impl RunWait {
    pub(super) fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::Effect { .. } => ("effect", "a command to take effect"),
            Self::Retry { .. } => ("retry", "a refused command to be retried"),
            Self::Denied { .. } => ("denied", "an admission webhook to allow a command"),
            Self::Window { .. } => ("window", "the plan's next window"),
            Self::Paused => ("paused", "the operator to resume the run"),
        }
    }

    pub(super) fn hope(&self) -> Hope {
        match self {
            Self::Effect { .. } | Self::Window { .. } | Self::Paused => Hope::Moving,
            // After so many tries nothing but a change of the webhook, or of what it looks at, helps.
            Self::Denied { tries, .. } if *tries >= DENIED_TRIES_MAX => Hope::None,
            Self::Denied { .. } | Self::Retry { .. } => Hope::Possible,
        }
    }
}

impl fmt::Display for RunWait {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Effect { what } => write!(f, "{what} to take effect"),
            Self::Retry { what, message, at } => {
                write!(f, "{what} to be retried at {at}; last refusal: {message}")
            }
            Self::Denied { what, webhook, message, tries, at } if *tries >= DENIED_TRIES_MAX => write!(
                f,
                "webhook {webhook} to allow {what}; manual action needed: denied {tries} times: {message}; retry at {at}"
            ),
            Self::Denied { what, webhook, message, tries: _, at } => {
                write!(f, "webhook {webhook} to allow {what}; last denial: {message}; retry at {at}")
            }
            Self::Window { opens } => write!(f, "the plan's next window, which opens at {opens}"),
            Self::Paused => f.write_str("the operator to resume the run"),
        }
    }
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
                "is the record of another plan's run with the same name: rename the plan, or delete the ConfigMap",
            ),
            Self::Unreadable { member } => {
                write!(f, "is not a readable run record ({member}): delete it if nothing needs it")
            }
        }
    }
}

/// Why a run does not go on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum RunEnd {
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
    /// Another run has marked it.
    OtherRun {
        /// The run.
        run: RunId,
        /// When its mark expires.
        until: Time,
    },
    /// Something blocking was found before the start, and the plan refuses to begin.
    Finding {
        /// The rule's id.
        rule: Text,
        /// What is wrong.
        reason: Text,
    },
    /// Nothing has moved for as long as the plan allows.
    Stalled {
        /// Since when.
        since: Time,
        /// How long the plan allows.
        limit: Span,
    },
    /// The run has halted, because only an operator could help.
    Halted {
        /// When.
        at: Time,
    },
    /// The run has halted, because more is unhealthy than the plan allows.
    Unhealthy {
        /// When.
        at: Time,
        /// In which way.
        ailment: Ailment,
    },
    /// The run has halted, because the operator cancelled it.
    Cancelled {
        /// When.
        at: Time,
    },
    /// The run has halted, because the operator wants everything to be as before.
    Undone {
        /// When.
        at: Time,
    },
    /// The run is over, and the operator wants to cancel it or to roll it back.
    Over,
    /// The run's time is up.
    Deadline {
        /// When it was.
        at: Time,
    },
    /// The run's time is up, and its windows were closed for most of it, or for some.
    Windows {
        /// When the time was up.
        at: Time,
        /// How long they were open.
        open: Span,
        /// Of how long a run.
        run: Span,
    },
    /// It would have to be done in an Auto Scaling group that EKS owns.
    OwnedByEks {
        /// What is not done.
        what: Text,
    },
}

impl RunEnd {
    pub(super) fn names(&self) -> (&'static str, &'static str) {
        match self {
            Self::NewerVersion { .. } => ("newerVersion", "written by a newer Replank"),
            Self::Record { .. } => ("record", "the run record's name is taken"),
            Self::OtherRun { .. } => ("otherRun", "marked by another run"),
            Self::Finding { .. } => ("finding", "blocking finding"),
            Self::Stalled { .. } => ("stalled", "progress of the run"),
            Self::Halted { .. } => ("halted", "halted, nothing left to try"),
            Self::Unhealthy { .. } => ("unhealthy", "halted by a health gate"),
            Self::Cancelled { .. } => ("cancelled", "cancelled"),
            Self::Undone { .. } => ("undone", "rolled back"),
            Self::Over => ("over", "already over"),
            Self::Deadline { .. } => ("deadline", "deadline passed"),
            Self::Windows { .. } => ("windows", "the plan's windows are too short"),
            Self::OwnedByEks { .. } => ("ownedByEks", "Auto Scaling group owned by EKS"),
        }
    }

    pub(super) fn finality(&self) -> Finality {
        match self {
            Self::Cancelled { .. } | Self::Undone { .. } | Self::Over => Finality::GivenUp,
            Self::NewerVersion { .. }
            | Self::Record { .. }
            | Self::OtherRun { .. }
            | Self::Finding { .. }
            | Self::Stalled { .. }
            | Self::Halted { .. }
            | Self::Unhealthy { .. }
            | Self::Deadline { .. }
            | Self::Windows { .. }
            | Self::OwnedByEks { .. } => Finality::Blocked,
        }
    }
}

impl fmt::Display for RunEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NewerVersion { version } => {
                write!(
                    f,
                    "a newer Replank has written on it (version {version}, this one reads {WRITTEN}): upgrade Replank"
                )
            }
            Self::Record { holder, why } => write!(f, "ConfigMap {holder} {why}"),
            Self::OtherRun { run, until } => write!(f, "run {run} has marked it until {until}"),
            Self::Finding { rule, reason } => write!(f, "{rule}: {reason}"),
            Self::Stalled { since, limit } => {
                write!(f, "no progress since {since}, the plan allows {limit}")
            }
            Self::Halted { at } => write!(f, "run halted at {at}, nothing left to try"),
            Self::Unhealthy { at, ailment } => write!(f, "run halted at {at}: {ailment}"),
            Self::Cancelled { at } => write!(f, "cancelled at {at}"),
            Self::Undone { at } => write!(f, "rolled back since {at}"),
            Self::Over => f.write_str("the run is over, there is nothing to roll back"),
            Self::Deadline { at } => write!(f, "the run's deadline passed at {at}"),
            Self::Windows { at, open, run } => write!(
                f,
                "the run's deadline passed at {at}; its windows were open for {open} of {run}: plan longer windows, or a later deadline"
            ),
            Self::OwnedByEks { what } => {
                write!(f, "EKS owns the Auto Scaling group of this managed node group: no {what} there")
            }
        }
    }
}
