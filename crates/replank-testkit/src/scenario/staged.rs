//! A small cluster without a roll, for other stories.

use std::path::Path;

use replank_model::time::Time;
use replank_model::view::View;

use super::file::Scenario;
use super::names::Names;
use super::stage;

/// A cluster that has come about.
pub(crate) struct Staged {
    pub(crate) view: View,
    pub(crate) now: Time,
    pub(crate) names: Names,
}

impl Staged {
    /// Makes the cluster that sections `cluster` and `objects` describe.
    pub(crate) fn of(name: &str, cluster: &str, objects: &str) -> anyhow::Result<Self> {
        let text =
            format!("# {name}\nA cluster.\n-- cluster --\n{cluster}\n-- objects --\n{objects}\n-- plan --\n");
        let scenario = Scenario::read(Path::new(name), &text)?;
        let stage = stage::set(&scenario)?;
        Ok(Self { view: stage.view, now: stage.start, names: stage.names })
    }
}
