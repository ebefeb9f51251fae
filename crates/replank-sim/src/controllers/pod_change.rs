//! A change of a pod, with what several controllers ask about it: found out once for all of them.

use std::sync::Arc;

use replank_model::object::Object;
use replank_model::object::meta::OwnerReference;
use replank_model::object::pod::Pod;
use replank_model::view::Change;

/// A pod before and after a change.
pub(crate) struct PodChange<'a> {
    /// Where it is in the View.
    pub(crate) slot: u32,
    /// How it was; `None` if it is new.
    pub(crate) old: Option<&'a Arc<Pod>>,
    /// How it is; `None` if it is gone.
    pub(crate) new: Option<&'a Arc<Pod>>,
    /// Its managing owner as it was.
    pub(crate) old_owner: Option<&'a OwnerReference>,
    /// Its managing owner as it is.
    pub(crate) owner: Option<&'a OwnerReference>,
    /// Whether it was ready.
    pub(crate) was_ready: bool,
    /// Whether it is ready.
    pub(crate) is_ready: bool,
    /// Whether it has the labels and the owners that it had.
    pub(crate) is_same_member: bool,
}

impl<'a> PodChange<'a> {
    /// What a change does to a pod; `None` if it is one of something else.
    pub(crate) fn of(change: &'a Change) -> Option<Self> {
        let Change::Object { slot, old, new } = change else { return None };
        let (old, new) = (pod(old.as_ref()), pod(new.as_ref()));
        let is_same_member = match (old, new) {
            (Some(old), Some(new)) => {
                old.meta.owner_references == new.meta.owner_references && old.meta.labels == new.meta.labels
            }
            (None, Some(_)) | (Some(_), None) => false,
            (None, None) => return None,
        };
        let was_ready = old.is_some_and(|old| old.is_ready());
        let is_ready = match (old, new) {
            // Most writes of a pod leave its conditions as they are.
            (Some(old), Some(new)) if old.status.conditions.is_same(&new.status.conditions) => was_ready,
            (Some(_) | None, new) => new.is_some_and(|new| new.is_ready()),
        };
        let owner_of = |pod: Option<&'a Arc<Pod>>| pod.and_then(|pod| pod.meta.controller());
        let (old_owner, owner) = (owner_of(old), owner_of(new));
        Some(Self { slot: *slot, old, new, old_owner, owner, was_ready, is_ready, is_same_member })
    }

    /// Whether the pod was made, bound, or bound elsewhere.
    pub(crate) fn is_moved(&self) -> bool {
        self.new.is_some_and(|new| self.old.is_none_or(|old| old.node != new.node))
    }

    /// Whether anything that makes a pod count for its owner, or for a budget, has changed: that it is there, is ready, has ended, is on its way out, or
    /// belongs to others.
    pub(crate) fn counts_anew(&self) -> bool {
        let (Some(old), Some(new)) = (self.old, self.new) else { return true };
        !self.is_same_member
            || self.was_ready != self.is_ready
            || old.is_terminating() != new.is_terminating()
            || old.is_terminal() != new.is_terminal()
    }

    /// Whether an owner of a kind may be concerned: the pod is managed by one, or was, or waits for somebody to adopt it.
    pub(crate) fn concerns(&self, kind: &str) -> bool {
        let is_of_kind = |owner: Option<&OwnerReference>| owner.is_some_and(|owner| &*owner.kind == kind);
        self.is_unmanaged() || is_of_kind(self.old_owner) || is_of_kind(self.owner)
    }

    /// Whether the pod is there and nobody manages it.
    pub(crate) fn is_unmanaged(&self) -> bool {
        self.new.is_some() && self.owner.is_none()
    }
}

fn pod(object: Option<&Object>) -> Option<&Arc<Pod>> {
    match object {
        Some(Object::Pod(pod)) => Some(pod),
        Some(_) | None => None,
    }
}
