//! What is to be looked at, and when.

use std::collections::{BTreeMap, BTreeSet};

use replank_model::object::Kind;
use replank_model::object::meta::Key;
use replank_model::time::Time;

/// What is to be looked at.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Task {
    /// What every namespace has, in one.
    Namespace(Key),
    /// A Secret that holds a token.
    Token(Key),
    /// A cluster role that others are added up to.
    Aggregate(Key),
    /// The Endpoints of a Service.
    Endpoints(Key),
    /// The slices of Endpoints that somebody keeps by hand.
    Mirror(Key),
    /// The finalizer of a claim or a volume.
    Protect(Kind, Key),
    /// The approval and the certificate of a signing request.
    Certificate(Key),
    /// A signing request that may be old.
    CleanRequest(Key),
    /// The finalizer of a class of volume attributes.
    Class(Key),
    /// The condition of a FlowSchema.
    FlowSchema(Key),
    /// The conditions of those that refer to a priority level.
    PriorityLevel(Key),
    /// What controllers write on a node: how long its kubelet may keep Secrets, and old labels.
    Node(Key),
}

/// What is to be looked at, and when: each thing once, at the earliest moment.
#[derive(Debug, Default)]
pub(super) struct Queue {
    due: BTreeMap<Task, Time>,
    order: BTreeSet<(Time, Task)>,
}

impl Queue {
    /// Has something looked at, at a moment or earlier if that was planned.
    pub(super) fn add(&mut self, task: Task, at: Time) {
        if let Some(known) = self.due.get(&task) {
            if *known <= at {
                return;
            }
            self.order.remove(&(*known, task.clone()));
        }
        self.due.insert(task.clone(), at);
        self.order.insert((at, task));
    }

    /// When something is to be looked at next.
    pub(super) fn next_due(&self) -> Option<Time> {
        self.order.first().map(|(at, _)| *at)
    }

    /// What is to be looked at by now.
    pub(super) fn pop(&mut self, now: Time) -> Option<Task> {
        if self.next_due()? > now {
            return None;
        }
        let (_, task) = self.order.pop_first()?;
        self.due.remove(&task);
        Some(task)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_is_done_once_at_the_earliest_moment() {
        let mut queue = Queue::default();
        let task = || Task::Token(Key::new("a", "b"));
        queue.add(task(), Time::from_millis(20));
        queue.add(task(), Time::from_millis(10));
        queue.add(task(), Time::from_millis(30));
        assert_eq!(queue.next_due(), Some(Time::from_millis(10)));
        assert_eq!(queue.pop(Time::from_millis(9)), None);
        assert_eq!(queue.pop(Time::from_millis(10)), Some(task()));
        assert_eq!(queue.next_due(), None);
    }
}
