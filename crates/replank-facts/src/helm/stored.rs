//! The release that is deployed, from the Secret in which Helm 3 keeps it (helm, pkg/storage/driver/secrets.go). Dumps have Secrets only if they were asked for;
//! `replank snapshot` leaves them out. Who asks hands in what unpacks one: the crate that knows Helm's storage is not below this one.

use std::collections::BTreeSet;

use replank_model::object::meta::Key;
use replank_model::object::{Object, render};
use replank_model::view::View;
use serde_json::{Map, Value};

/// A release that is deployed.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Release {
    /// The chart's name.
    pub chart: String,
    /// The charts that it depends on.
    pub dependencies: Vec<Dependency>,
    /// Its own templates, by name: `templates/pdb.yaml`. Those of charts that it depends on are not among them.
    pub templates: Vec<(String, String)>,
    /// The chart's values with those of the release.
    pub values: Value,
    /// What was rendered.
    pub manifest: String,
}

/// A chart that another one depends on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Dependency {
    /// The member of the values that are its own: its alias, or its name.
    pub values: String,
    /// Paths of values, with commas between, of which one says whether it is rendered.
    pub condition: String,
}

/// Reads what a Secret of Helm stores, as its `data.release` has it.
pub type Unpack<'u> = &'u dyn Fn(&str) -> Option<Release>;

/// The release of this name that is deployed, if the dump has it and it can be read.
#[must_use]
pub fn deployed(view: &View, release: &Key, unpack: Unpack<'_>) -> Option<Release> {
    let secret = view.others_in("", "Secret", &release.namespace).find(|other| {
        let label = |key: &str| other.meta.labels.value(key);
        label("owner") == Some("helm")
            && label("name") == Some(release.name.as_str())
            && label("status") == Some("deployed")
    })?;
    let value = render(&Object::Other(secret.clone()));
    unpack(value.pointer("/data/release")?.as_str()?)
}

impl Release {
    /// The members of the values that charts read on which this one depends: their own, and those of all (helm.sh/docs/chart_template_guide/subcharts_and_globals).
    /// A chart may stand in `charts/` without being named in `Chart.yaml`: what was rendered of it tells.
    fn shared(&self) -> BTreeSet<&str> {
        let named = self.dependencies.iter().map(|one| &*one.values);
        let below = format!("# Source: {}/charts/", self.chart);
        let rendered = self.manifest.lines().filter_map(|line| line.strip_prefix(&*below)?.split('/').next());
        // `tags` says which dependencies are rendered, as conditions do.
        ["global", "tags"].into_iter().chain(named).chain(rendered).collect()
    }

    /// Whether a value is one that charts read on which this one depends, or says whether one of them is rendered.
    pub(super) fn is_shared(&self, path: &[&str]) -> bool {
        let conditions = self.dependencies.iter().flat_map(|one| one.condition.split(','));
        let mut conditions = conditions.map(|one| one.trim().split('.').collect::<Vec<_>>());
        path.first().is_none_or(|first| self.shared().contains(first))
            || conditions.any(|one| one.starts_with(path) || path.starts_with(&one))
    }
}

/// A release's values over its chart's: maps are merged, and null takes a member away (helm.sh/docs/chart_template_guide/values_files, "Deleting a default key").
pub fn coalesce(into: &mut Map<String, Value>, over: Map<String, Value>) {
    for (key, value) in over {
        match (into.get_mut(&key), value) {
            (_, Value::Null) => {
                into.remove(&key);
            }
            (Some(Value::Object(known)), Value::Object(more)) => coalesce(known, more),
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}
