//! Objects as the server shows them: in the form that Go's types are written in.

use replank_model::admission::qos_class;
use replank_model::object::{Object, render};
use serde_json::{Map, Value, json};

use super::{custom, events, form};
use crate::server::ResourceType;

/// The object as it is served.
pub(super) fn served(object: &Object) -> Value {
    let mut value = render(object);
    form::encode_object(&mut value);
    if let Object::Pod(_) = object {
        let class = qos_class(&value["spec"]);
        if let Value::Object(members) = member(&mut value, "status") {
            members.entry("phase").or_insert_with(|| "Pending".into());
            members.entry("qosClass").or_insert_with(|| class.into());
        }
    }
    value
}

/// The object as it is served at an address: custom resources in the version that was asked for, whichever they were written in (a definition without a
/// conversion webhook converts nothing but `apiVersion`).
#[must_use]
pub fn served_at(resource: &ResourceType, object: &Object) -> Value {
    let mut value = served(object);
    if let Object::Other(_) = object
        && !resource.is_foreign(object)
    {
        value["apiVersion"] = resource.api_version().into();
        events::show(resource, &mut value);
        custom::bring_out(resource, &mut value);
    }
    value
}

/// A member of an object, made if it is not there.
pub(super) fn member<'a>(value: &'a mut Value, name: &str) -> &'a mut Value {
    if !value.is_object() {
        // What is none of its type is refused where it is read; here it must not end the program.
        *value = Value::Object(Map::new());
    }
    let slot = &mut value[name];
    if slot.is_null() {
        *slot = Value::Object(Map::new());
    }
    slot
}

/// The answer to a deletion that is done.
pub(super) fn deleted(resource: &ResourceType, object: &Object) -> Value {
    let mut details = json!({"name": object.meta().name.as_str(), "kind": &*resource.name.plural,
        "uid": object.meta().uid.as_str()});
    if !resource.name.group.is_empty() {
        details["group"] = (*resource.name.group).into();
    }
    json!({"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details})
}
