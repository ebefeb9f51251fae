//! Controllers whose selectors tell siblings: when they are to be looked at again.

use replank_model::object::Object;

/// How often one of them came, went, or got another selector.
#[derive(Clone, Debug, Default)]
pub(super) struct Owners {
    changes: u64,
}

impl Owners {
    /// Takes in an object of any kind as it is, or that it is gone.
    pub(super) fn observe(&mut self, old: Option<&Object>, new: Option<&Object>) {
        let has_changed = match (old, new) {
            // The status changes with every pod.
            (Some(Object::ReplicaSet(old)), Some(Object::ReplicaSet(new))) => {
                old.spec.selector != new.spec.selector
            }
            (Some(Object::StatefulSet(old)), Some(Object::StatefulSet(new))) => {
                old.spec.selector != new.spec.selector
            }
            (Some(Object::ReplicationController(old)), Some(Object::ReplicationController(new))) => {
                old.spec.selector != new.spec.selector
            }
            (old, new) => [old, new].into_iter().flatten().any(tells_siblings),
        };
        self.changes += u64::from(has_changed);
    }

    /// How often that was, plus 1.
    pub(super) fn generation(&self) -> u64 {
        self.changes + 1
    }
}

fn tells_siblings(object: &Object) -> bool {
    matches!(object, Object::ReplicaSet(_) | Object::StatefulSet(_) | Object::ReplicationController(_))
}
