//! Aggregated discovery: all groups with all resources in one answer (apidiscovery.k8s.io/v2).

use bytes::Bytes;
use replank_schema::Group;
use serde::Serialize;
use serde_json::json;

use crate::meta::written;

/// The media type of an answer in JSON.
pub(crate) const MEDIA: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct List<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: serde_json::Value,
    items: &'a [Group],
}

/// An aggregated answer, and its tag.
#[derive(Debug)]
pub(crate) struct Aggregated {
    /// JSON.
    pub(crate) body: Bytes,
    /// What changes with it.
    pub(crate) tag: String,
}

/// The aggregated answer of some groups.
pub(crate) fn aggregated(groups: &[Group]) -> Aggregated {
    let list = List {
        kind: "APIGroupDiscoveryList",
        api_version: "apidiscovery.k8s.io/v2",
        metadata: json!({}),
        items: groups,
    };
    let mut body = serde_json::to_vec(&list).unwrap_or_default();
    body.push(b'\n');
    Aggregated { tag: written::tag(&body), body: body.into() }
}
