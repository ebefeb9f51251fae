//! What has changed of one kind, and has not been shown yet.

use replank_model::delta::Delta;
use replank_model::object::{Kind, Object};
use replank_model::view::Change;

/// Changes of one stream, in the order in which they happened.
///
/// What changed several times meanwhile is shown once, as it was last: a decision reads what there is, and a watch promises no more than
/// that its last state arrives. Nodes, and changes of what an object asks for, are shown one by one: what others do to them is noticed in between.
#[derive(Debug, Default)]
pub(super) struct Backlog {
    deltas: Vec<Delta>,
    last: Last,
}

/// Where the last change of each object is, by its slot. Taking all of it clears nothing, as that happens several times a second.
#[derive(Debug, Default)]
struct Last {
    /// How often all was taken before the change, and where it is.
    at: Vec<Option<(u32, u32)>>,
    taken: u32,
}

impl Last {
    fn get(&self, slot: u32) -> Option<usize> {
        let (taken, at) = (*self.at.get(slot as usize)?)?;
        (taken == self.taken).then_some(at as usize)
    }

    fn set(&mut self, slot: u32, at: Option<usize>) {
        let slot = slot as usize;
        if slot >= self.at.len() {
            self.at.resize(slot + 1, None);
        }
        let at = at.map(|at| u32::try_from(at).expect("fewer than 2^32 changes at a time"));
        self.at[slot] = at.map(|at| (self.taken, at));
    }
}

impl Backlog {
    pub(super) fn is_empty(&self) -> bool {
        self.deltas.is_empty()
    }

    pub(super) fn push(&mut self, change: &Change, delta: Delta) {
        let slot = match change {
            // Those of other kinds have no slots.
            Change::Object { slot, old, new: Some(new) } => {
                let has_slot = !matches!(new.kind(), Kind::Node | Kind::Other);
                let is_as_asked = old.as_ref().is_none_or(|old| asks_the_same(old, new));
                (has_slot && is_as_asked).then_some(*slot)
            }
            Change::Object { new: None, .. }
            | Change::Group { .. }
            | Change::Instance { .. }
            | Change::Message { .. }
            | Change::Unread(_)
            | Change::Stale => None,
        };
        let Some(slot) = slot else {
            if let Change::Object { slot, .. } = change {
                // What changes from here on is shown after this.
                self.last.set(*slot, None);
            }
            return self.deltas.push(delta);
        };
        let known = self.last.get(slot).and_then(|at| self.deltas.get_mut(at));
        match known.filter(|known| is_same(known, &delta)) {
            Some(known) => *known = delta,
            None => {
                self.last.set(slot, Some(self.deltas.len()));
                self.deltas.push(delta);
            }
        }
    }

    /// Takes all of it.
    pub(super) fn take(&mut self) -> Vec<Delta> {
        self.last.taken += 1;
        std::mem::take(&mut self.deltas)
    }

    /// Takes over the room of what was taken, now that it is shown: the next changes fill it again.
    pub(super) fn make_room(&mut self, shown: Vec<Delta>) {
        if self.deltas.is_empty() {
            self.deltas = shown;
        }
    }

    /// Puts something back that is shown later.
    pub(super) fn put_back(&mut self, delta: Delta) {
        self.deltas.push(delta);
    }
}

/// Whether two states of an object ask for the same. The API server counts how often that changes, and a deletion with it: only where the count has moved
/// is there anything to compare.
fn asks_the_same(old: &Object, new: &Object) -> bool {
    let (before, after) = (old.meta(), new.meta());
    let is_one_count = after.generation > 0 && before.generation == after.generation;
    is_one_count && before.uid == after.uid || old.same_spec(new)
}

/// Whether both are of one incarnation of one object, which is there.
fn is_same(known: &Delta, new: &Delta) -> bool {
    match (known, new) {
        (Delta::Put(known), Delta::Put(new)) => {
            known.kind() == new.kind() && known.meta().uid == new.meta().uid
        }
        (
            Delta::Put(_)
            | Delta::Gone(_)
            | Delta::Unread(_)
            | Delta::Group(_)
            | Delta::GroupGone(_)
            | Delta::Instance(_)
            | Delta::InstanceGone(_)
            | Delta::Message(_)
            | Delta::MessageGone(_),
            _,
        ) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(uid: &str, phase: &str) -> Object {
        let value = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "n", "uid": uid},
            "spec": {"containers": []}, "status": {"phase": phase}});
        Object::from_json(value).expect("a pod")
    }

    fn put(slot: u32, old: Option<Object>, new: Object) -> (Change, Delta) {
        (Change::Object { slot, old, new: Some(new.clone()) }, Delta::Put(new))
    }

    #[test]
    fn what_changes_twice_is_shown_once_as_it_is_last() {
        let mut backlog = Backlog::default();
        let (pending, running, next) = (pod("a", "Pending"), pod("a", "Running"), pod("b", "Pending"));
        let gone = Delta::Gone(running.reference());
        for (change, delta) in [
            put(0, None, pending.clone()),
            put(1, None, next.clone()),
            put(0, Some(pending), running.clone()),
            (Change::Object { slot: 0, old: Some(running.clone()), new: None }, gone.clone()),
            // Another pod, in the slot that is free.
            put(0, None, next.clone()),
        ] {
            backlog.push(&change, delta);
        }
        let next = Delta::Put(next);
        assert_eq!(backlog.take(), [Delta::Put(running.clone()), next.clone(), gone, next]);
        assert!(backlog.is_empty());
        let (change, delta) = put(0, None, running);
        backlog.push(&change, delta.clone());
        assert_eq!(backlog.take(), [delta], "what was taken is not changed any more");
    }

    #[test]
    fn what_others_ask_for_meanwhile_is_shown_each_time() {
        let set = |replicas: u32, ready: u32| {
            let value = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d", "namespace": "n", "uid": "d"},
                "spec": {"replicas": replicas, "template": {"spec": {"containers": []}}}, "status": {"readyReplicas": ready}});
            Object::from_json(value).expect("a Deployment")
        };
        let steps = [(3, 0), (3, 1), (5, 1), (5, 2), (5, 3), (3, 3), (3, 2)];
        let mut backlog = Backlog::default();
        let mut old = Some(set(3, 3));
        for (replicas, ready) in steps {
            let new = set(replicas, ready);
            let (change, delta) = put(0, old.replace(new.clone()), new);
            backlog.push(&change, delta);
        }
        let shown = [(3, 1), (5, 1), (5, 3), (3, 3), (3, 2)];
        assert_eq!(backlog.take(), shown.map(|(replicas, ready)| Delta::Put(set(replicas, ready))));
    }
}
