//! What things are called in a script. Names of pods and nodes that are made in a rehearsal are drawn: nobody can write them down
//! beforehand.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use replank_model::object::meta::Key;
use replank_model::text::{GroupName, InstanceId, NodeName};
use replank_model::time::Time;
use replank_model::view::{Change, View};

use crate::world::Observer;

/// Finds what a script means.
pub trait Names {
    /// The pod that is called so.
    fn pod(&self, alias: &Key) -> Key;

    /// The node that is called so.
    fn node(&self, alias: &str, view: &View) -> NodeName;
}

/// Everything is called as it is called.
#[derive(Clone, Copy, Debug, Default)]
pub struct AsGiven;

impl Names for AsGiven {
    fn pod(&self, alias: &Key) -> Key {
        alias.clone()
    }

    fn node(&self, alias: &str, _view: &View) -> NodeName {
        NodeName::from(alias)
    }
}

/// Besides names as they are: `web+2` is the second node that the group `web` launched in the rehearsal.
#[derive(Clone, Debug, Default)]
pub struct Launched(Rc<RefCell<Counted>>);

#[derive(Debug, Default)]
struct Counted {
    by_group: BTreeMap<GroupName, u32>,
    instances: BTreeMap<String, InstanceId>,
}

impl Observer for Launched {
    fn changed(&mut self, _at: Time, change: &Change, _view: &View) {
        if let Change::Instance { old: None, new: Some(instance) } = change {
            let counted = &mut *self.0.borrow_mut();
            let count = counted.by_group.entry(instance.group.clone()).or_default();
            *count += 1;
            counted.instances.insert(format!("{}+{count}", instance.group), instance.id.clone());
        }
    }
}

impl Names for Launched {
    fn pod(&self, alias: &Key) -> Key {
        alias.clone()
    }

    fn node(&self, alias: &str, view: &View) -> NodeName {
        let counted = self.0.borrow();
        let node = counted.instances.get(alias).and_then(|id| view.instances().get(id)?.node.clone());
        node.unwrap_or_else(|| NodeName::from(alias))
    }
}
