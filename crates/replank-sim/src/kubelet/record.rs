//! What kubelets know of their pods.

use replank_model::text::Uid;

use super::crash::BackOff;
use super::pod_delays::Readiness;
use crate::event::Step;

/// What the kubelet knows of each pod, by slot.
#[derive(Debug, Default)]
pub(super) struct Records(Vec<Option<Record>>);

/// What a kubelet knows of a pod.
#[derive(Clone, Debug)]
pub(super) struct Record {
    pub(super) uid: Uid,
    /// Tells this incarnation's events from those of an earlier one in the same slot.
    pub(super) number: u32,
    /// Whether the pod's deletion was seen.
    pub(super) is_stopping: bool,
    /// What became due while the kubelet was silent, or cannot happen because of a fault of its node's image.
    pub(super) missed: Vec<Step>,
    /// What is remembered of crashes.
    pub(super) back_off: Option<BackOff>,
    /// How long its containers take from running to ready, as far as that was settled when it was seen first.
    pub(super) readiness: Readiness,
}

impl Records {
    pub(super) fn get(&self, slot: u32) -> Option<&Record> {
        self.0.get(slot as usize).and_then(Option::as_ref)
    }

    pub(super) fn get_mut(&mut self, slot: u32) -> Option<&mut Record> {
        self.0.get_mut(slot as usize).and_then(Option::as_mut)
    }

    pub(super) fn set(&mut self, slot: u32, record: Record) {
        let at = slot as usize;
        if self.0.len() <= at {
            self.0.resize(at + 1, None);
        }
        self.0[at] = Some(record);
    }

    pub(super) fn forget(&mut self, slot: u32) {
        if let Some(record) = self.0.get_mut(slot as usize) {
            *record = None;
        }
    }
}
