//! The release that is deployed, from the Secret in which Helm 3 keeps it (helm, pkg/storage/driver/{secrets,util}.go): JSON, packed with gzip, in base64, and once more
//! in base64 as all data of Secrets. Dumps have Secrets only if they were asked for; `replank snapshot` leaves them out.

use std::io::Read as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use flate2::read::GzDecoder;
use replank_model::object::meta::Key;
use replank_model::object::{Object, render};
use replank_model::view::View;
use serde::Deserialize;
use serde_json::{Map, Value};

/// Bytes that a release may unpack to. A Secret holds 1 MB, and text packs at 1:10 or so.
const UNPACKED_MAX: u64 = 64 << 20;

/// A release that is deployed.
#[derive(Clone, Debug, PartialEq)]
pub struct Release {
    /// The chart's name.
    pub chart: String,
    /// Its own templates, by name: `templates/pdb.yaml`. Those of charts that it depends on are not among them.
    pub templates: Vec<(String, String)>,
    /// The chart's values with those of the release.
    pub values: Value,
    /// What was rendered.
    pub manifest: String,
}

#[derive(Deserialize)]
struct Stored {
    chart: Chart,
    #[serde(default)]
    config: Option<Map<String, Value>>,
    #[serde(default)]
    manifest: String,
}

#[derive(Deserialize)]
struct Chart {
    metadata: Metadata,
    #[serde(default)]
    templates: Vec<File>,
    #[serde(default)]
    values: Option<Map<String, Value>>,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
}

#[derive(Deserialize)]
struct File {
    name: String,
    data: String,
}

/// The release of this name that is deployed, if the dump has it and it can be read.
#[must_use]
pub fn deployed(view: &View, release: &Key) -> Option<Release> {
    let secret = view.others().find(|other| {
        let label = |key: &str| other.meta.labels.value(key);
        &*other.api_version == "v1"
            && &*other.kind == "Secret"
            && other.meta.namespace == release.namespace
            && label("owner") == Some("helm")
            && label("name") == Some(release.name.as_str())
            && label("status") == Some("deployed")
    })?;
    let value = render(&Object::Other(secret.clone()));
    let outer = STANDARD.decode(value.pointer("/data/release")?.as_str()?).ok()?;
    let packed = STANDARD.decode(outer.trim_ascii()).ok()?;
    let mut text = String::new();
    GzDecoder::new(&*packed).take(UNPACKED_MAX).read_to_string(&mut text).ok()?;
    let stored: Stored = serde_json::from_str(&text).ok()?;
    let mut values = stored.chart.values.unwrap_or_default();
    coalesce(&mut values, stored.config.unwrap_or_default());
    let templates = stored.chart.templates.into_iter().filter_map(|file| {
        let bytes = STANDARD.decode(file.data).ok()?;
        Some((file.name, String::from_utf8(bytes).ok()?))
    });
    Some(Release {
        chart: stored.chart.metadata.name,
        templates: templates.collect(),
        values: Value::Object(values),
        manifest: stored.manifest,
    })
}

/// A release's values over its chart's: maps are merged, and null takes a member away (helm.sh/docs/chart_template_guide/values_files, "Deleting a default key").
pub(super) fn coalesce(into: &mut Map<String, Value>, over: Map<String, Value>) {
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
