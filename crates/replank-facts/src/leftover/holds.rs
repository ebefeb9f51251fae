//! What a leftover is, and who stands behind it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use replank_model::object::cloud::Lifecycle;
use replank_model::object::meta::Key;
use replank_model::text::{GroupName, InstanceId, NodeName, RunId, Text};
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::command::Effect;
use replank_protocol::mark::{self, version::WRITTEN};
use replank_protocol::owner::Owner;

/// What one run has left on one node or group.
#[derive(Clone, Debug, PartialEq)]
pub struct Leftover {
    /// Where it is.
    pub on: On,
    /// What it is, in a few words: `marked as draining`.
    pub what: String,
    /// Annotations or tags that it consists of.
    pub keys: Vec<Text>,
    /// Whose it is, where that can be read.
    pub run: Option<RunId>,
    /// Since when, where that is written.
    pub since: Option<Time>,
    /// Whether it holds.
    pub state: State,
    /// What clears it, in this order. A cordon or a label of somebody else's stays.
    pub effects: Vec<Effect>,
    /// The same for a person, a line each.
    pub lines: Vec<String>,
    /// What no command can restore, if anything.
    pub stays: Option<String>,
}

/// Where something was left.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum On {
    /// On a node.
    Node(NodeName),
    /// On a node group.
    Group(GroupName),
    /// In a ConfigMap of the run's own.
    Record(Key),
}

/// Whether something that was left still holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// It does: its run is at work, or has died a short while ago.
    Running {
        /// Until when.
        until: Time,
    },
    /// It does not.
    Expired {
        /// Since when; `None` where nothing of the run says so.
        at: Option<Time>,
    },
    /// It cannot be read: nobody's.
    Unreadable,
    /// A newer Replank wrote it: it is left alone.
    Newer {
        /// The version of what it wrote.
        version: u64,
    },
}

impl State {
    /// One word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Running { .. } => "running",
            Self::Expired { .. } => "expired",
            Self::Unreadable => "unreadable",
            Self::Newer { .. } => "newer",
        }
    }
}

impl Leftover {
    /// Whether its run is over, as far as the marks say.
    #[must_use]
    pub fn is_expired(&self) -> bool {
        match self.state {
            State::Expired { .. } => true,
            State::Running { .. } | State::Unreadable | State::Newer { .. } => false,
        }
    }
}

/// `marked as queued by run web since …; expired at …: the run ended without clearing it`
impl fmt::Display for Leftover {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)?;
        if let Some(run) = &self.run {
            write!(f, " by run {run}")?;
        }
        if let Some(since) = self.since {
            write!(f, " since {since}")?;
        }
        match self.state {
            State::Running { until } => {
                write!(f, ", valid until {until}: another run is active or has died")
            }
            State::Expired { at: Some(at) } => {
                write!(f, "; expired at {at}: the run ended without clearing it")
            }
            State::Expired { at: None } => f.write_str("; no node has a valid mark of that run"),
            State::Unreadable => f.write_str(": nobody's"),
            State::Newer { version } => {
                write!(
                    f,
                    ": left alone, a newer Replank wrote it (version {version}, this one reads {WRITTEN})"
                )
            }
        }
    }
}

/// Until when the marks of each run hold, and what else tells what is left.
#[derive(Debug)]
pub struct Holds {
    pub(super) now: Time,
    pub(super) until: BTreeMap<RunId, Time>,
    /// Instances of which Auto Scaling changes the protection from scale-in.
    pub(super) in_service: BTreeSet<InstanceId>,
}

impl Holds {
    /// Reads the marks of runs on all nodes, and which instances there are.
    pub fn of(view: &View, now: Time) -> Self {
        let mut until = BTreeMap::new();
        let found = view.nodes.unordered().filter_map(|(_, node)| mark::of(node));
        for found in found.filter(|found| found.mark.owner == Owner::Run) {
            let last = until.entry(found.run).or_insert(found.mark.expires);
            *last = found.mark.expires.max(*last);
        }
        let instances = view.instances().values().filter(|one| one.state.is_alive());
        let in_service =
            instances.filter(|one| matches!(one.lifecycle, Lifecycle::InService | Lifecycle::Standby));
        Self { now, until, in_service: in_service.map(|one| one.id.clone()).collect() }
    }

    /// Whether something of a run's holds that has no moment of its own, or has the given one.
    pub(super) fn state(&self, run: Option<&RunId>, own: Option<Time>) -> State {
        let last = run.and_then(|run| self.until.get(run).copied()).max(own);
        match last {
            Some(until) if until > self.now => State::Running { until },
            at => State::Expired { at },
        }
    }
}
