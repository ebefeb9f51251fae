//! Managers of an object's replicas, as those of its scale, and back (apimachinery `util/managedfields/scalehandler.go`).

use serde_json::Value;

use super::entries::{self, Entries, Entry};
use super::set::{Set, Step};

/// `apiVersion` of a Scale.
pub(in crate::json) const SCALE: &str = "autoscaling/v1";

fn path(text: &str) -> Vec<Step> {
    text.split('.').filter(|name| !name.is_empty()).map(|name| Step::Field(name.to_owned())).collect()
}

fn only(path: &[Step]) -> Set {
    let mut set = Set::default();
    set.insert(path);
    set
}

/// Writes into a scale who manages the replicas of an object; `replicas` is their path in it.
pub(in crate::json) fn to_scale(object: &Value, replicas: &str, scale: &mut Value) {
    let (there, here) = (path(replicas), path("spec.replicas"));
    let managed = entries::read(object).into_iter().filter(|(_, entry)| entry.set.has(&there));
    let entries: Entries = managed
        .map(|(mut manager, entry)| {
            if !manager.applies {
                SCALE.clone_into(&mut manager.api_version);
            }
            (manager, Entry { set: only(&here), api_version: SCALE.to_owned(), time: entry.time })
        })
        .collect();
    entries::write(scale, &entries);
}

/// Writes into an object who manages its replicas by its scale.
pub(in crate::json) fn to_object(scale: &Value, replicas: &str, api_version: &str, object: &mut Value) {
    let (there, here) = (path(replicas), path("spec.replicas"));
    let mut by_scale: Entries = entries::read(scale)
        .into_iter()
        .map(|(mut manager, entry)| {
            if !manager.applies {
                api_version.clone_into(&mut manager.api_version);
            }
            (manager, entry)
        })
        .collect();
    let mut entries = entries::read(object);
    entries.retain(|manager, entry| {
        if entry.set.has(&there) && by_scale.remove(manager).is_none() {
            entry.set = entry.set.difference(&only(&there));
        }
        !entry.set.is_empty()
    });
    for (manager, _) in by_scale.into_iter().filter(|(_, entry)| entry.set.has(&here)) {
        // Upstream keeps no time of an entry that comes from a scale.
        let entry = Entry { set: only(&there), api_version: api_version.to_owned(), time: None };
        entries.entry(manager).or_insert(entry);
    }
    entries::write(object, &entries);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn replicas_go_from_one_manager_to_another() {
        let entry = |manager: &str, operation: &str, version: &str, fields: Value| json!({"manager": manager, "operation": operation, "apiVersion": version, "fieldsType": "FieldsV1", "fieldsV1": fields});
        let both = json!({"f:spec": {"f:replicas": {}, "f:paused": {}}});
        let mut object = json!({"metadata": {"managedFields": [entry("one", "Update", "apps/v1", both)]}});
        let mut scale = json!({"metadata": {}});
        to_scale(&object, ".spec.replicas", &mut scale);
        let replicas = json!({"f:spec": {"f:replicas": {}}});
        assert_eq!(
            scale["metadata"]["managedFields"],
            json!([entry("one", "Update", SCALE, replicas.clone())])
        );
        scale["metadata"]["managedFields"] = json!([entry("two", "Apply", SCALE, replicas.clone())]);
        to_object(&scale, ".spec.replicas", "apps/v1", &mut object);
        let left = entry("one", "Update", "apps/v1", json!({"f:spec": {"f:paused": {}}}));
        let taken = entry("two", "Apply", "apps/v1", replicas);
        assert_eq!(object["metadata"]["managedFields"], json!([taken, left]));
    }
}
