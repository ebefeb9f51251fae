//! The chart of a release, with what it was rendered from and what was rendered.

use std::io::Read as _;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::base64::Base64;
use super::open::open;
use super::release::ReleaseError;

/// What Helm 3 stores of a release's chart (helm, pkg/release/release.go and pkg/chart): the charts that it depends on are not stored with it.
#[derive(Clone, Debug, PartialEq)]
pub struct ChartRelease {
    /// The chart's name.
    pub name: String,
    /// The charts that it depends on, as its `Chart.yaml` names them.
    pub dependencies: Vec<Dependency>,
    /// Its own templates, by name: `templates/pdb.yaml`.
    pub templates: Vec<(String, String)>,
    /// Its own values.
    pub defaults: Map<String, Value>,
    /// Values of the release, which stand over those.
    pub values: Map<String, Value>,
    /// What was rendered.
    pub manifest: String,
}

/// A chart that another one depends on (helm.sh/docs/topics/charts, "Chart Dependencies").
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
pub struct Dependency {
    /// Its name.
    pub name: String,
    /// The name that it has in the other one, if that is another.
    #[serde(default)]
    pub alias: String,
    /// Paths of values, with commas between: the first that is there says whether it is rendered.
    #[serde(default)]
    pub condition: String,
}

/// What a release of Helm 3 stores of its chart.
///
/// # Errors
/// Where it cannot be unpacked, is no release, or has a template that is no text.
pub fn chart(data: &str) -> Result<ChartRelease, ReleaseError> {
    let stored: Stored = serde_json::from_reader(open(data)?.bytes)?;
    let Chart { metadata, templates, values } = stored.chart;
    let templates = templates.into_iter().map(|file| {
        let mut text = String::new();
        Base64::new(file.data.as_bytes()).read_to_string(&mut text)?;
        Ok((file.name, text))
    });
    Ok(ChartRelease {
        name: metadata.name,
        dependencies: metadata.dependencies.unwrap_or_default(),
        templates: templates.collect::<Result<_, ReleaseError>>()?,
        defaults: values.unwrap_or_default(),
        values: stored.config.unwrap_or_default(),
        manifest: stored.manifest,
    })
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
    #[serde(default)]
    dependencies: Option<Vec<Dependency>>,
}

#[derive(Deserialize)]
struct File {
    name: String,
    data: String,
}

#[cfg(test)]
mod tests {
    use replank_intake::base64::encode;
    use serde_json::json;

    use super::*;

    fn stored(template: &[u8]) -> String {
        let release = json!({"name": "web", "info": {"status": "deployed"}, "manifest": "kind: A\n", "config": null,
            "chart": {"metadata": {"name": "web", "dependencies": [{"name": "redis", "repository": "x", "condition": "cache.enabled", "tags": ["a"]}]},
                "templates": [{"name": "templates/a.yaml", "data": encode(template)}], "values": {"a": 1}, "files": [{"name": "README.md", "data": "!"}]}});
        encode(encode(release.to_string().as_bytes()).as_bytes())
    }

    #[test]
    fn the_chart_is_read_with_what_it_depends_on() {
        let release = chart(&stored(b"kind: A")).unwrap();
        assert_eq!((&*release.name, &*release.manifest), ("web", "kind: A\n"));
        assert_eq!(release.templates, [("templates/a.yaml".to_owned(), "kind: A".to_owned())]);
        assert_eq!((release.defaults.len(), release.values.len()), (1, 0));
        let redis = Dependency {
            name: "redis".to_owned(),
            condition: "cache.enabled".to_owned(),
            ..Dependency::default()
        };
        assert_eq!(release.dependencies, [redis]);
    }

    #[test]
    fn what_cannot_be_read_whole_is_not_read() {
        assert!(chart(&stored(&[0xff, 0xfe])).is_err(), "a template that is no text");
        assert!(chart("!").is_err());
        assert!(chart(&encode(br#"{"name": "web"}"#)).is_err(), "no chart");
    }
}
