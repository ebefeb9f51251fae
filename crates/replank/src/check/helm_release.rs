//! Releases of Helm in a dump: one crate knows how Helm stores them, another what their values change.

use replank_facts::helm::{Dependency, Release, coalesce};
use replank_lifecycle::helm::{ChartRelease, chart};
use serde_json::Value;

/// What a Secret of Helm stores; nothing where it cannot be read whole.
pub(crate) fn unpacked(data: &str) -> Option<Release> {
    let ChartRelease { name, dependencies, templates, defaults: mut values, values: own, manifest } =
        chart(data).ok()?;
    coalesce(&mut values, own);
    let dependencies = dependencies.into_iter().map(|one| Dependency {
        values: if one.alias.is_empty() { one.name } else { one.alias },
        condition: one.condition,
    });
    let dependencies = dependencies.collect();
    Some(Release { chart: name, dependencies, templates, values: Value::Object(values), manifest })
}
