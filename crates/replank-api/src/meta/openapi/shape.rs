//! Schemas of built-in types, in the two forms of OpenAPI that are served.

use replank_schema::{ListType, Shape, Type, types};
use serde_json::{Map, Value, json};

/// Which OpenAPI.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// 2.0, `/openapi/v2`.
    V2,
    /// 3.0, `/openapi/v3`.
    V3,
}

impl Form {
    /// Where the schema of a type is found.
    pub(super) fn place(self, name: &str) -> String {
        match self {
            Self::V2 => format!("#/definitions/{name}"),
            Self::V3 => format!("#/components/schemas/{name}"),
        }
    }

    /// What leads to the schema of a type.
    pub(super) fn refer(self, name: &str) -> Value {
        json!({"$ref": self.place(name)})
    }
}

/// What `metadata` of objects refers to.
pub(super) const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";
/// What `metadata` of lists refers to.
pub(super) const LIST_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta";

/// What is said of the fields that every object has; people meet it in `kubectl explain`.
pub(super) const API_VERSION: &str = "APIVersion defines the group and version of the schema that this object is written in. \
     The server converts versions it knows and refuses others.";
/// The same of the kind.
pub(super) const KIND: &str =
    "Kind is the name of the REST resource that this object represents, in CamelCase. It cannot be changed.";
/// The same of the metadata.
pub(super) const METADATA: &str =
    "Standard object's metadata: name, namespace, labels, annotations and what the server keeps.";
/// The same of the time of creation, which every object's metadata has.
const CREATED: &str =
    "CreationTimestamp is a timestamp: when the server stored the object. Only the server sets it.";

/// The schema of a built-in type.
pub(super) fn definition(name: &str, known: &Type, form: Form) -> Value {
    let mut made = Map::new();
    let is_plain = known.fields.is_empty();
    let basic = if is_plain { known.basic.as_deref() } else { Some("object") };
    match (basic, form, known.one_of.is_empty()) {
        // 2.0 has no alternatives: what may be a number or a string is a string there.
        (_, Form::V2, false) => {
            made.insert("type".into(), "string".into());
        }
        (_, Form::V3, false) => {
            made.insert("oneOf".into(), known.one_of.clone().into());
        }
        (Some(basic), _, true) => {
            made.insert("type".into(), basic.into());
        }
        (None, _, true) => {}
    }
    set(&mut made, "format", known.format.as_deref());
    if !is_plain {
        let properties = known
            .fields
            .iter()
            .map(|(field, shape)| (field.clone(), property(name, field, shape, form, known)));
        made.insert("properties".into(), Value::Object(properties.collect()));
    }
    if !known.required.is_empty() {
        made.insert("required".into(), json!(known.required));
    }
    if !known.gvk.is_empty() {
        let kinds: Vec<Value> = known
            .gvk
            .iter()
            .map(|(group, version, kind)| json!({"group": group, "version": version, "kind": kind}))
            .collect();
        made.insert("x-kubernetes-group-version-kind".into(), kinds.into());
    }
    set(&mut made, "x-kubernetes-map-type", known.map_type.as_deref());
    if !known.unions.is_empty() {
        made.insert("x-kubernetes-unions".into(), known.unions.clone().into());
    }
    assert!(!name.is_empty());
    Value::Object(made)
}

/// Fields of which Go's comments say nothing: their references need no wrapping.
const WORDLESS: [(&str, &str); 7] = [
    ("io.k8s.api.networking.v1.IngressRule", "http"),
    (JSON_SCHEMA, "additionalItems"),
    (JSON_SCHEMA, "additionalProperties"),
    (JSON_SCHEMA, "example"),
    (JSON_SCHEMA, "externalDocs"),
    (JSON_SCHEMA, "items"),
    (JSON_SCHEMA, "not"),
];
const JSON_SCHEMA: &str = "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaProps";

fn property(of: &str, field: &str, shape: &Shape, form: Form, parent: &Type) -> Value {
    let place = if WORDLESS.contains(&(of, field)) { Place::Wordless } else { Place::Field };
    let mut made = schema(shape, form, place);
    let words = match (of, field) {
        (OBJECT_META, "creationTimestamp") => CREATED,
        (_, "apiVersion") if !parent.gvk.is_empty() => API_VERSION,
        (_, "kind") if !parent.gvk.is_empty() => KIND,
        _ => return made,
    };
    made["description"] = words.into();
    made
}

/// Where a shape stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A field: its default is told.
    Field,
    /// A field that nothing is said of.
    Wordless,
    /// An item of a list, or a value of a map: Go's zero is its default.
    Item,
}

fn schema(shape: &Shape, form: Form, place: Place) -> Value {
    let mut made = Map::new();
    match (&shape.refers, form) {
        (Some(name), Form::V2) => {
            made.insert("$ref".into(), form.place(name).into());
        }
        // A reference with nothing beside it needs no wrapping.
        (Some(name), Form::V3) if place != Place::Field && default(shape, place).is_none() => {
            made.insert("$ref".into(), form.place(name).into());
        }
        (Some(name), Form::V3) => {
            made.insert("allOf".into(), json!([form.refer(name)]));
        }
        (None, _) => set(&mut made, "type", shape.basic.as_deref()),
    }
    set(&mut made, "format", shape.format.as_deref());
    if form == Form::V3
        && let Some(value) = default(shape, place)
    {
        made.insert("default".into(), value);
    }
    if let Some(items) = &shape.items {
        made.insert("items".into(), schema(items, form, Place::Item));
    }
    if let Some(values) = &shape.values {
        made.insert("additionalProperties".into(), schema(values, form, Place::Item));
    }
    if !shape.words.is_empty() {
        made.insert("enum".into(), json!(shape.words));
    }
    let list = shape.list_type.map(|list| match list {
        ListType::Atomic => "atomic",
        ListType::Set => "set",
        ListType::Map => "map",
    });
    set(&mut made, "x-kubernetes-list-type", list);
    if !shape.list_map_keys.is_empty() {
        made.insert("x-kubernetes-list-map-keys".into(), json!(shape.list_map_keys));
    }
    set(&mut made, "x-kubernetes-map-type", shape.map_type.as_deref());
    set(&mut made, "x-kubernetes-patch-merge-key", shape.merge_key.as_deref());
    set(&mut made, "x-kubernetes-patch-strategy", shape.strategy.as_deref());
    Value::Object(made)
}

/// The default of a shape. Items of a list are what Go makes of nothing, where nothing else is said.
fn default(shape: &Shape, place: Place) -> Option<Value> {
    if shape.default.is_some() || place != Place::Item {
        return shape.default.clone();
    }
    if let Some(name) = &shape.refers {
        let is_plain = types().named(name).is_some_and(|one| one.fields.is_empty());
        return (!is_plain).then(|| json!({}));
    }
    match shape.basic.as_deref() {
        Some("string") if shape.format.is_none() => Some("".into()),
        Some("integer" | "number") => Some(0.into()),
        Some("boolean") => Some(false.into()),
        _ => None,
    }
}

fn set(made: &mut Map<String, Value>, name: &str, text: Option<&str>) {
    if let Some(text) = text {
        made.insert(name.to_owned(), text.into());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str, form: Form) -> Value {
        definition(name, types().named(name).expect("it is known"), form)
    }

    #[test]
    fn a_field_that_refers_to_a_type_keeps_what_merging_it_needs() {
        let spec = of("io.k8s.api.apps.v1.DeploymentSpec", Form::V3);
        let strategy = "#/components/schemas/io.k8s.api.apps.v1.DeploymentStrategy";
        let expected = json!({"default": {}, "allOf": [{"$ref": strategy}], "x-kubernetes-patch-strategy": "retainKeys"});
        assert_eq!(spec["properties"]["strategy"], expected);
        let spec = of("io.k8s.api.core.v1.PodSpec", Form::V2);
        let containers = &spec["properties"]["containers"];
        assert_eq!(containers["items"], json!({"$ref": "#/definitions/io.k8s.api.core.v1.Container"}));
        assert_eq!(containers["x-kubernetes-patch-merge-key"], "name");
    }

    #[test]
    fn a_field_that_nothing_is_said_of_is_a_reference_alone() {
        let rule = of("io.k8s.api.networking.v1.IngressRule", Form::V3);
        let http = "#/components/schemas/io.k8s.api.networking.v1.HTTPIngressRuleValue";
        assert_eq!(rule["properties"]["http"], json!({"$ref": http}));
    }

    #[test]
    fn what_may_be_a_number_is_a_string_in_the_old_form() {
        let name = "io.k8s.apimachinery.pkg.util.intstr.IntOrString";
        assert_eq!(of(name, Form::V2), json!({"type": "string", "format": "int-or-string"}));
        assert_eq!(
            of(name, Form::V3),
            json!({"oneOf": [{"type": "integer"}, {"type": "string"}], "format": "int-or-string"})
        );
    }
}
