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

/// Writes into an object who manages its replicas by its scale. Upstream tells managers by update apart by their version, too, and a scale has another:
/// whoever has updated the object loses the replicas, and has an entry of its own for them until the next write, which keeps the last of the two.
pub(in crate::json) fn to_object(scale: &Value, replicas: &str, api_version: &str, object: &mut Value) {
    let (there, here) = (path(replicas), path("spec.replicas"));
    let mut by_scale = entries::read(scale);
    let mut kept = entries::read(object);
    for (manager, entry) in &mut kept {
        if entry.set.has(&there) && by_scale.remove(manager).is_none() {
            entry.set = entry.set.difference(&only(&there));
        }
    }
    // Upstream keeps no time of an entry that comes from a scale.
    let entry = Entry { set: only(&there), api_version: api_version.to_owned(), time: None };
    let taken =
        by_scale.iter().filter(|(_, entry)| entry.set.has(&here)).map(|(manager, _)| (manager, &entry));
    entries::write_list(object, taken.chain(&kept));
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

    #[test]
    fn who_has_updated_an_object_has_its_replicas_apart_after_its_scale_was_written() {
        let entry = |fields: Value| json!({"manager": "one", "operation": "Update", "apiVersion": "apps/v1", "fieldsType": "FieldsV1", "fieldsV1": fields, "time": "2026-01-01T00:00:00Z"});
        let mut object = json!({"metadata": {"managedFields": [entry(json!({"f:spec": {"f:replicas": {}, "f:paused": {}}}))]}});
        let mut scale = json!({"metadata": {}});
        to_scale(&object, ".spec.replicas", &mut scale);
        to_object(&scale, ".spec.replicas", "apps/v1", &mut object);
        let managers: Vec<&Value> = object["metadata"]["managedFields"]
            .as_array()
            .expect("it has some")
            .iter()
            .map(|one| &one["fieldsV1"])
            .collect();
        assert_eq!(managers, [&json!({"f:spec": {"f:replicas": {}}}), &json!({"f:spec": {"f:paused": {}}})]);
    }
}
