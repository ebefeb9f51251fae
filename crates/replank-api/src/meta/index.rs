//! `/`: the paths that are served.

use serde::Serialize;

use super::discovery::Catalog;
use super::health::Health;

/// What `/` answers.
#[derive(Debug, Serialize)]
pub(crate) struct Index {
    paths: Vec<String>,
}

/// Paths that are there whatever is served.
const FIXED: [&str; 14] = [
    "/.well-known/openid-configuration",
    "/api",
    "/api/v1",
    "/apis",
    "/apis/",
    "/metrics",
    "/metrics/slis",
    "/openapi/v2",
    "/openapi/v3",
    "/openapi/v3/",
    "/openid/v1/jwks",
    "/statusz",
    "/flagz",
    "/version",
];

/// The paths that are served.
pub(crate) fn index(catalog: &Catalog) -> Index {
    let mut paths: Vec<String> = FIXED.map(str::to_owned).to_vec();
    for group in &catalog.groups {
        let name = group.name();
        paths.push(format!("/apis/{name}"));
        paths.extend(group.versions.iter().map(|version| format!("/apis/{name}/{}", version.version)));
    }
    for health in Health::ALL {
        let word = health.word();
        paths.push(format!("/{word}"));
        paths.extend(health.checks().iter().map(|check| format!("/{word}/{check}")));
    }
    paths.sort();
    Index { paths }
}
