//! What keeps a node from being empty in time.

use replank_facts::workload::workload_of;
use replank_model::object::pod::Pod;

use super::super::super::survey::Survey;

/// How sure it is that a pod is still there after 15 minutes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Sure {
    /// It is, as things are.
    Certain,
    /// It may be.
    Possible,
}

/// What keeps a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Hold {
    pub(super) sure: Sure,
    pub(super) what: String,
    pub(super) remedy: String,
}

impl Hold {
    pub(super) fn new(sure: Sure, what: String, remedy: impl Into<String>) -> Self {
        Self { sure, what, remedy: remedy.into() }
    }
}

/// Pods, the first of them by name.
pub(super) fn named(survey: &Survey<'_>, pods: &[&Pod]) -> String {
    let Some(first) = pods.first() else { return String::new() };
    let of = workload_of(survey.view, first).map_or_else(String::new, |workload| format!(" of {workload}"));
    match pods.len() {
        1 => format!("pod {}{of}", first.meta.key()),
        count => format!("{count} pods such as {}{of}", first.meta.key()),
    }
}
