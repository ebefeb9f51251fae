//! What a request of a drain or a roll is for.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use replank_judge::Asked;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Phase {
    /// Nothing is carried out yet: what is allowed, what is there, what would happen.
    Preflight,
    Lease,
    Record,
    Cordon,
    Evict,
    /// Lists and watches.
    Wait,
    Uncordon,
    /// The record and the Lease go.
    Close,
}

impl Phase {
    pub(super) const ALL: [Self; 8] = [
        Self::Preflight,
        Self::Lease,
        Self::Record,
        Self::Cordon,
        Self::Evict,
        Self::Wait,
        Self::Uncordon,
        Self::Close,
    ];
}

/// Tells phases of requests, in the order in which they come.
#[derive(Default)]
pub(super) struct Phases {
    has_begun: bool,
}

impl Phases {
    pub(super) fn of(&mut self, asked: &Asked, is_roll: bool) -> Phase {
        let path = asked.path.split('?').next().unwrap_or_default();
        let is_gone = asked.method == "DELETE";
        let is_leased = path.contains("/leases");
        // A roll begins with its Lease; a drain with the lists of its driver, which come in pages of 500.
        self.has_begun |= match is_roll {
            true => is_leased && asked.is_write(),
            false => asked.path.contains("limit=500") && path.ends_with("/pods"),
        };
        let changes = asked.body.to_string();
        if is_leased && self.has_begun {
            return if is_gone { Phase::Close } else { Phase::Lease };
        }
        if path.contains("/configmaps") && asked.is_write() {
            return if is_gone { Phase::Close } else { Phase::Record };
        }
        if !self.has_begun {
            return Phase::Preflight;
        }
        if path.ends_with("/eviction") || path.contains("/pods/") {
            return Phase::Evict;
        }
        if path.starts_with("/api/v1/nodes/") && asked.is_write() {
            let gives_back = changes.contains(r#""op":"remove","path":"/spec/unschedulable"#)
                || changes.contains(r#""path":"/spec/unschedulable","value":false"#);
            return if gives_back { Phase::Uncordon } else { Phase::Cordon };
        }
        Phase::Wait
    }
}

/// How often something hit each phase, and what came of it.
#[derive(Default)]
pub(super) struct Hits(BTreeMap<Phase, u32>);

impl Hits {
    pub(super) fn add(&mut self, phase: Phase) {
        *self.0.entry(phase).or_default() += 1;
    }

    pub(super) fn of(&self, phase: Phase) -> u32 {
        self.0.get(&phase).copied().unwrap_or_default()
    }

    pub(super) fn all(&self) -> u32 {
        self.0.values().sum()
    }

    /// In a line.
    pub(super) fn told(&self) -> String {
        let mut text = String::new();
        for phase in Phase::ALL {
            let hits = self.of(phase);
            let share = f64::from(hits) * 100.0 / f64::from(self.all().max(1));
            write!(text, "{phase:?} {hits} ({share:.1}%)  ").expect("text takes all");
        }
        text.trim_end().to_owned()
    }
}
