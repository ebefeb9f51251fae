//! Events: one resource in two groups. They are kept as those of the core group, whichever they were written in
//! (`pkg/apis/events/v1/conversion.go`).

use replank_model::text::Text;
use serde_json::Value;

use crate::server::ResourceType;

const GROUP: &str = "events.k8s.io";

/// Members that the groups call differently: in the core group, in `events.k8s.io`.
const NAMES: [(&str, &str); 7] = [
    ("count", "deprecatedCount"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("involvedObject", "regarding"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
];

/// Whether a resource is that of the other group.
fn is_other(resource: &ResourceType) -> bool {
    &*resource.name.group == GROUP && &*resource.name.kind == "Event"
}

/// The group that objects of a resource are kept in.
pub(super) fn group_of(resource: &ResourceType) -> Text {
    if is_other(resource) { Text::default() } else { resource.name.group.clone() }
}

/// An event as it is kept; any other object as it is.
pub(super) fn keep(resource: &ResourceType, value: &mut Value) {
    if is_other(resource) {
        rename(value, NAMES.map(|(core, other)| (other, core)));
        value["apiVersion"] = "v1".into();
    }
}

/// An event as its resource shows it; any other object as it is.
pub(super) fn show(resource: &ResourceType, value: &mut Value) {
    if is_other(resource) {
        rename(value, NAMES);
        value["apiVersion"] = resource.api_version().into();
    }
}

fn rename(value: &mut Value, names: [(&str, &str); 7]) {
    let Value::Object(members) = value else { return };
    for (from, to) in names {
        if let Some(member) = members.remove(from) {
            members.insert(to.to_owned(), member);
        }
    }
}

/// What a field is called in the events that are kept.
pub(super) fn kept_field(field: &str) -> String {
    match field.strip_prefix("regarding.") {
        Some(rest) => format!("involvedObject.{rest}"),
        None if field == "reportingController" => "reportingComponent".to_owned(),
        None => field.to_owned(),
    }
}
