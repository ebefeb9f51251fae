//! The conditions of a pod, and whether it is ready.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::list::List;
use crate::object::condition::{self, Condition};

/// The conditions of a pod: a list as any other. All who count pods, or what they take, ask each state of each the same, so the answers are beside the list:
/// it takes no look at what is elsewhere in memory.
#[derive(Clone, Default)]
pub struct PodConditions {
    list: List<Condition>,
    /// `None` since the list may have been changed.
    noted: Option<Noted>,
}

/// What conditions are asked for most.
#[derive(Clone, Copy)]
struct Noted {
    is_ready: bool,
    is_resize_refused: bool,
}

impl Noted {
    fn of(conditions: &[Condition]) -> Self {
        let pending = condition::find(conditions, "PodResizePending");
        Self {
            is_ready: condition::is_true(conditions, "Ready"),
            is_resize_refused: pending.is_some_and(|pending| &*pending.reason == "Infeasible"),
        }
    }
}

impl PodConditions {
    /// Whether the `Ready` condition is true.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.noted().is_ready
    }

    /// Whether the node has refused a resize for good.
    #[must_use]
    pub fn is_resize_refused(&self) -> bool {
        self.noted().is_resize_refused
    }

    fn noted(&self) -> Noted {
        self.noted.unwrap_or_else(|| Noted::of(self))
    }

    /// Finds out what is asked for most, so that it is known from here on: a pod is changed by one and then asked by many.
    pub fn note(&mut self) {
        self.noted = Some(self.noted());
    }

    /// Whether both are one list (the cheap, sufficient test of equality).
    #[must_use]
    pub fn is_same(&self, other: &Self) -> bool {
        self.list.is_same(&other.list)
    }

    /// Gives back what was set aside for conditions that did not come.
    pub fn shrink(&mut self) {
        self.list.shrink();
    }
}

impl Deref for PodConditions {
    type Target = Vec<Condition>;

    fn deref(&self) -> &Vec<Condition> {
        &self.list
    }
}

impl DerefMut for PodConditions {
    fn deref_mut(&mut self) -> &mut Vec<Condition> {
        self.noted = None;
        &mut self.list
    }
}

impl From<Vec<Condition>> for PodConditions {
    fn from(conditions: Vec<Condition>) -> Self {
        Self { list: conditions.into(), noted: None }
    }
}

impl FromIterator<Condition> for PodConditions {
    fn from_iter<I: IntoIterator<Item = Condition>>(conditions: I) -> Self {
        Vec::from_iter(conditions).into()
    }
}

impl<'a> IntoIterator for &'a PodConditions {
    type Item = &'a Condition;
    type IntoIter = std::slice::Iter<'a, Condition>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut PodConditions {
    type Item = &'a mut Condition;
    type IntoIter = std::slice::IterMut<'a, Condition>;

    fn into_iter(self) -> Self::IntoIter {
        self.noted = None;
        (&mut self.list).into_iter()
    }
}

impl PartialEq for PodConditions {
    fn eq(&self, other: &Self) -> bool {
        self.list == other.list
    }
}

impl Eq for PodConditions {}

impl Hash for PodConditions {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.list.hash(state);
    }
}

impl fmt::Debug for PodConditions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.list.fmt(f)
    }
}

impl Serialize for PodConditions {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.list.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for PodConditions {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Vec::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::object::condition::ConditionStatus;

    #[test]
    fn what_was_noted_is_forgotten_when_something_may_have_changed() {
        let ready =
            Condition { r#type: "Ready".into(), status: ConditionStatus::True, ..Condition::default() };
        let mut conditions = PodConditions::from(vec![ready]);
        assert!(conditions.is_ready());
        conditions.note();
        let noted = conditions.clone();
        assert!(noted.is_ready() && noted == PodConditions::from(noted.to_vec()));
        for condition in &mut conditions {
            condition.status = ConditionStatus::False;
        }
        assert!(!conditions.is_ready() && noted.is_ready());
        conditions.note();
        conditions[0].status = ConditionStatus::True;
        assert!(conditions.is_ready());
        conditions.note();
        conditions.clear();
        assert!(!conditions.is_ready());
    }

    #[test]
    fn a_refused_resize_is_noted_and_forgotten_too() {
        let pending = Condition { r#type: "PodResizePending".into(), ..Condition::default() };
        let mut conditions = PodConditions::from(vec![pending]);
        conditions.note();
        assert!(!conditions.is_resize_refused());
        conditions[0].reason = "Infeasible".into();
        assert!(conditions.is_resize_refused());
        conditions.note();
        assert!(conditions.is_resize_refused());
        conditions[0].reason = "Deferred".into();
        assert!(!conditions.is_resize_refused());
    }
}
