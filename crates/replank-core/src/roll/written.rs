//! What the run has written on its groups.
//!
//! A group's tags are asked for at every decision and change a dozen times in a run: they are read once for each state of the group.

use std::collections::BTreeMap;
use std::sync::Arc;

use replank_model::object::cloud::{GroupSize, NodeGroup};
use replank_model::text::{GroupName, RunId};
use replank_model::time::Time;
use replank_model::view::View;
use replank_protocol::mark::{self, Before, Begun, Halted, Until, read_size};

/// What is written on a group.
#[derive(Clone, Debug, Default)]
pub(super) struct Written {
    /// The group's size before a run, whichever that was.
    pub(super) original: Option<GroupSize>,
    /// What the run wrote when it had raised the group.
    pub(super) begun: Option<Begun>,
    /// What it wrote when it ended without being done.
    pub(super) halted: Option<Halted>,
    /// How pods were when it began.
    pub(super) health_before: Option<Before>,
    /// Until when what was replaced is retained.
    pub(super) retained_until: Option<Time>,
}

impl Written {
    fn read(group: &NodeGroup, run: &RunId) -> Self {
        let tag = |key| group.tags.value(key);
        let retained = tag(mark::RETAINED).and_then(Until::read).filter(|until| until.run == *run);
        Self {
            original: tag(mark::ORIGINAL_SIZE).and_then(read_size),
            begun: tag(mark::BEGUN).and_then(Begun::read).filter(|begun| begun.run == *run),
            halted: tag(mark::HALTED).and_then(Halted::read).filter(|halted| halted.run == *run),
            health_before: tag(mark::HEALTH).and_then(Before::read).filter(|before| before.run == *run),
            retained_until: retained.map(|retained| retained.until),
        }
    }
}

/// What has been read, and of which state of a group.
#[derive(Debug, Default)]
pub(super) struct Readings(BTreeMap<GroupName, (Arc<NodeGroup>, Written)>);

impl Readings {
    /// Reads what has changed.
    pub(super) fn refresh(&mut self, view: &View, run: &RunId) {
        self.0.retain(|name, _| view.groups().contains_key(name));
        for (name, group) in view.groups() {
            let is_read = self.0.get(name).is_some_and(|(read, _)| Arc::ptr_eq(read, group));
            if !is_read {
                self.0.insert(name.clone(), (group.clone(), Written::read(group, run)));
            }
        }
    }

    /// What is written on a group; on what stands for one it is read when it is asked for.
    pub(super) fn of(&self, group: &NodeGroup, run: &RunId) -> Written {
        let known = self.0.get(&group.name).filter(|(read, _)| std::ptr::eq(&**read, group));
        known.map_or_else(|| Written::read(group, run), |(_, written)| written.clone())
    }
}
