//! Schemas and operations of resources that CustomResourceDefinitions declare (apiextensions-apiserver, controller/openapi/builder and v2).

use replank_schema::Scope;
use serde_json::{Map, Value, json};

use super::built_in::{Paths, camel_path, tag};
use super::operation::{Body, Operation};
use super::shape::{API_VERSION, Form, KIND, LIST_META, METADATA, OBJECT_META};
use crate::meta::discovery::Definition;

const META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1";
/// What custom resources are read and written in.
const FORMS: [&str; 2] = ["application/json", "application/yaml"];
const PATCHES: [&str; 3] =
    ["application/apply-patch+yaml", "application/json-patch+json", "application/merge-patch+json"];
const LIST_PARAMETERS: [&str; 11] = [
    "allowWatchBookmarks",
    "continue",
    "fieldSelector",
    "labelSelector",
    "limit",
    "resourceVersion",
    "resourceVersionMatch",
    "sendInitialEvents",
    "shardSelector",
    "timeoutSeconds",
    "watch",
];
const WRITE_PARAMETERS: [&str; 3] = ["dryRun", "fieldManager", "fieldValidation"];
const DELETE_PARAMETERS: [&str; 5] = [
    "dryRun",
    "gracePeriodSeconds",
    "ignoreStoreReadErrorWithClusterBreakingPotential",
    "orphanDependents",
    "propagationPolicy",
];

/// One version of a definition.
#[derive(Clone, Copy, Debug)]
pub(super) struct Custom<'a> {
    /// The definition.
    pub(super) definition: &'a Definition,
    /// The version as it stands in it.
    pub(super) version: &'a Value,
}

impl Custom<'_> {
    fn version(&self) -> &str {
        self.version["name"].as_str().unwrap_or_default()
    }

    /// The name of the type of a kind of the group: its labels in reverse, as Java names packages.
    fn type_name(&self, kind: &str) -> String {
        let labels: Vec<&str> = self.definition.group().split('.').rev().collect();
        format!("{}.{}.{kind}", labels.join("."), self.version())
    }

    /// The types that it adds.
    pub(super) fn definitions(&self, form: Form) -> [(String, Value); 2] {
        let kind = self.definition.kind();
        let own = self.type_name(kind);
        let list_kind = self.definition.list_kind();
        let list = json!({"description": format!("{list_kind} is a list of {kind}"), "type": "object", "required": ["items"],
            "properties": {"apiVersion": {"description": API_VERSION, "type": "string"},
                "items": {"description": format!("List of {}.", self.definition.plural()), "type": "array",
                    "items": form.refer(&own)},
                "kind": {"description": KIND, "type": "string"},
                "metadata": metadata(form, LIST_META)},
            "x-kubernetes-group-version-kind": [self.kind(&list_kind)]});
        let mut schema = self.schema(form);
        schema["x-kubernetes-group-version-kind"] = json!([self.kind(kind)]);
        [(own, schema), (self.type_name(&list_kind), list)]
    }

    fn kind(&self, kind: &str) -> Value {
        json!({"group": self.definition.group(), "version": self.version(), "kind": kind})
    }

    fn schema(&self, form: Form) -> Value {
        let declared = &self.version["schema"]["openAPIV3Schema"];
        let keeps_unknown = declared["x-kubernetes-preserve-unknown-fields"] == true;
        // What kubectl would refuse by 2.0 although the server keeps it is not told at all.
        if !declared.is_object() || (form == Form::V2 && keeps_unknown) {
            return json!({"type": "object"});
        }
        let mut made = match form {
            Form::V2 => in_v2(declared),
            Form::V3 => in_v3(declared),
        };
        let object = json!({"apiVersion": {"description": API_VERSION, "type": "string"},
            "kind": {"description": KIND, "type": "string"}, "metadata": metadata(form, OBJECT_META)});
        add_properties(&mut made, object);
        made
    }

    /// The paths that it adds.
    pub(super) fn paths(&self) -> Paths {
        let group = self.definition.group();
        let plural = self.definition.plural();
        let root = format!("/apis/{group}/{}", self.version());
        let is_namespaced = self.definition.scope() == Scope::Namespaced;
        let all = format!("{root}/{plural}");
        let collection =
            if is_namespaced { format!("{root}/namespaces/{{namespace}}/{plural}") } else { all.clone() };
        let mut made = Paths::new();
        if is_namespaced {
            made.insert(all, vec![self.operation("get", "list", "", false)]);
        }
        let object = format!("{collection}/{{name}}");
        let of_all = [("get", "list"), ("post", "post"), ("delete", "deletecollection")];
        let of_one = [("get", "get"), ("put", "put"), ("delete", "delete"), ("patch", "patch")];
        let make = |rows: &[(&str, &str)], part: &str| {
            rows.iter()
                .map(|(method, action)| self.operation(method, action, part, is_namespaced))
                .collect::<Vec<_>>()
        };
        made.insert(collection, make(&of_all, ""));
        for part in ["status", "scale"] {
            if self.version["subresources"][part].is_object() {
                made.insert(
                    format!("{object}/{part}"),
                    make(&[("get", "get"), ("put", "put"), ("patch", "patch")], part),
                );
            }
        }
        made.insert(object, make(&of_one, ""));
        made
    }

    fn operation(&self, method: &str, action: &str, part: &str, is_namespaced: bool) -> Operation {
        let kind = self.definition.kind();
        let own =
            if part == "scale" { "io.k8s.api.autoscaling.v1.Scale".to_owned() } else { self.type_name(kind) };
        let head = ["apis", self.definition.group(), self.version()];
        let word = match action {
            "get" => "read",
            "post" => "create",
            "put" => "replace",
            "deletecollection" => "delete",
            other => other,
        };
        let collection = if action == "deletecollection" { "Collection" } else { "" };
        let namespaced = if is_namespaced { "Namespaced" } else { "" };
        let of_all = self.definition.scope() == Scope::Namespaced && !is_namespaced;
        let part_word = match part {
            "status" => "Status",
            "scale" => "Scale",
            _ => "",
        };
        let all = if of_all { "ForAllNamespaces" } else { "" };
        let (body, answers, codes): (Option<(String, bool)>, String, &[&'static str]) = match action {
            "list" => (None, self.type_name(&self.definition.list_kind()), &["200"]),
            "post" => (Some((own.clone(), true)), own, &["200", "201", "202"]),
            "put" => (Some((own.clone(), true)), own, &["200", "201"]),
            "patch" => (Some((format!("{META}.Patch"), true)), own, &["200"]),
            "delete" => {
                (Some((format!("{META}.DeleteOptions"), false)), format!("{META}.Status"), &["200", "202"])
            }
            "deletecollection" => {
                (Some((format!("{META}.DeleteOptions"), false)), format!("{META}.Status"), &["200"])
            }
            _ => (None, own, &["200"]),
        };
        Operation {
            method: method.to_owned(),
            id: format!("{word}{}{collection}{namespaced}{kind}{part_word}{all}", camel_path(&head)),
            tag: tag(&head),
            words: words(action, part, kind),
            action: Some(action.to_owned()),
            about: Some((self.definition.group().to_owned(), self.version().to_owned(), kind.to_owned())),
            parameters: parameters(action, is_namespaced),
            body: body.map(|(name, is_required)| Body { name, is_required }),
            codes: codes.to_vec(),
            answers: Some(answers),
            consumes: if action == "patch" {
                PATCHES.map(str::to_owned).to_vec()
            } else {
                FORMS.map(str::to_owned).to_vec()
            },
            produces: FORMS.to_vec(),
        }
    }
}

fn parameters(action: &str, is_namespaced: bool) -> Vec<String> {
    let own: Vec<&str> = match action {
        "list" => LIST_PARAMETERS.to_vec(),
        "post" | "put" => WRITE_PARAMETERS.to_vec(),
        "patch" => [&WRITE_PARAMETERS[..], &["force"]].concat(),
        "get" => vec!["resourceVersion"],
        "delete" => DELETE_PARAMETERS.to_vec(),
        // A collection is deleted by selectors; how each object goes is told in the body.
        "deletecollection" => LIST_PARAMETERS.to_vec(),
        _ => Vec::new(),
    };
    let mut all: Vec<String> = own.into_iter().chain(["pretty"]).map(str::to_owned).collect();
    if matches!(action, "get" | "put" | "patch" | "delete") {
        all.push("name".to_owned());
    }
    if is_namespaced {
        all.push("namespace".to_owned());
    }
    all.sort();
    all
}

fn words(action: &str, part: &str, kind: &str) -> String {
    let of = if part.is_empty() { "the specified ".to_owned() } else { format!("{part} of the specified ") };
    match action {
        "get" => format!("read {of}{kind}"),
        "list" => format!("list objects of kind {kind}"),
        "post" => format!("create a {kind}"),
        "put" => format!("replace {of}{kind}"),
        "patch" => format!("partially update {of}{kind}"),
        "delete" => format!("delete a {kind}"),
        "deletecollection" => format!("delete collection of {kind}"),
        other => other.to_owned(),
    }
}

fn metadata(form: Form, name: &str) -> Value {
    match form {
        Form::V2 => json!({"description": METADATA, "$ref": form.place(name)}),
        Form::V3 => json!({"description": METADATA, "allOf": [form.refer(name)]}),
    }
}

/// Adds properties that stand before those that were declared under the same names.
fn add_properties(schema: &mut Value, properties: Value) {
    if !schema["properties"].is_object() {
        schema["properties"] = json!({});
    }
    if let (Value::Object(known), Value::Object(more)) = (&mut schema["properties"], properties) {
        known.extend(more);
    }
}

/// Calls a function for each schema directly below one.
fn each_below(schema: &mut Map<String, Value>, change: &dyn Fn(&Value) -> Value) {
    if let Some(properties) = schema.get_mut("properties").and_then(Value::as_object_mut) {
        properties.values_mut().for_each(|one| *one = change(one));
    }
    for member in ["items", "additionalProperties"] {
        if let Some(one) = schema.get_mut(member).filter(|one| one.is_object()) {
            *one = change(one);
        }
    }
}

/// What an embedded object is known to have.
fn embedded(schema: &mut Value, form: Form) {
    let object = json!({"apiVersion": {"description": API_VERSION, "type": "string"},
        "kind": {"description": KIND, "type": "string"}, "metadata": metadata(form, OBJECT_META)});
    add_properties(schema, object);
    let mut required: Vec<Value> = schema["required"].as_array().cloned().unwrap_or_default();
    for member in ["kind", "apiVersion"] {
        if !required.iter().any(|one| one == member) {
            required.push(member.into());
        }
    }
    schema["required"] = required.into();
}

/// A structural schema in 3.0: what is told by extensions alone is told in its own words, too.
fn in_v3(declared: &Value) -> Value {
    let Value::Object(members) = declared else { return declared.clone() };
    let mut made = members.clone();
    each_below(&mut made, &in_v3);
    let is_int_or_string = made.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true));
    if is_int_or_string && !made.contains_key("anyOf") {
        made.insert("anyOf".into(), json!([{"type": "integer"}, {"type": "string"}]));
    }
    let is_embedded = made.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true));
    let mut made = Value::Object(made);
    if is_embedded {
        embedded(&mut made, Form::V3);
    }
    made
}

/// A structural schema in 2.0: what kubectl's reader of 2.0 would take for more than it is, is left out.
fn in_v2(declared: &Value) -> Value {
    let Value::Object(members) = declared else { return declared.clone() };
    let mut made = members.clone();
    for member in ["allOf", "anyOf", "oneOf", "not", "default"] {
        made.remove(member);
    }
    let is = |made: &Map<String, Value>, name: &str| made.get(name) == Some(&Value::Bool(true));
    if is(&made, "nullable") {
        for member in ["nullable", "type", "items", "properties", "additionalProperties"] {
            made.remove(member);
        }
    }
    if is(&made, "x-kubernetes-preserve-unknown-fields") {
        for member in ["type", "items", "properties"] {
            made.remove(member);
        }
    }
    drop_nullable_from_required(&mut made);
    if made.contains_key("properties") {
        // It reads either the one or the other.
        made.remove("additionalProperties");
    }
    each_below(&mut made, &in_v2);
    let is_embedded =
        is(&made, "x-kubernetes-embedded-resource") && !is(&made, "x-kubernetes-preserve-unknown-fields");
    let mut made = Value::Object(made);
    if is_embedded {
        embedded(&mut made, Form::V2);
    }
    made
}

/// A field that may be null counts as not required, for kubectl takes null for absent.
fn drop_nullable_from_required(made: &mut Map<String, Value>) {
    let Some(properties) = made.get("properties").and_then(Value::as_object) else { return };
    let nullable: Vec<String> =
        properties.iter().filter(|(_, one)| one["nullable"] == true).map(|(name, _)| name.clone()).collect();
    if let Some(required) = made.get_mut("required").and_then(Value::as_array_mut) {
        required.retain(|name| !nullable.iter().any(|one| name == one));
        if required.is_empty() {
            made.remove("required");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_old_form_cannot_say_is_left_out() {
        let declared = json!({"type": "object", "required": ["a", "b"], "oneOf": [{"required": ["a"]}], "properties": {
            "a": {"type": "string", "nullable": true}, "b": {"type": "string", "default": "x", "pattern": "^.*$"},
            "extra": {"type": "object", "x-kubernetes-preserve-unknown-fields": true, "properties": {"k": {"type": "string"}}}}});
        let expected = json!({"type": "object", "required": ["b"], "properties": {"a": {},
            "b": {"type": "string", "pattern": "^.*$"}, "extra": {"x-kubernetes-preserve-unknown-fields": true}}});
        assert_eq!(in_v2(&declared), expected);
    }

    #[test]
    fn extensions_are_told_in_words_of_the_new_form() {
        let made =
            in_v3(&json!({"type": "object", "properties": {"any": {"x-kubernetes-int-or-string": true},
            "emb": {"type": "object", "x-kubernetes-embedded-resource": true}}}));
        let expected =
            json!({"x-kubernetes-int-or-string": true, "anyOf": [{"type": "integer"}, {"type": "string"}]});
        assert_eq!(made["properties"]["any"], expected);
        let embedded = &made["properties"]["emb"];
        assert_eq!(embedded["required"], json!(["kind", "apiVersion"]));
        assert_eq!(
            embedded["properties"]["metadata"]["allOf"][0]["$ref"],
            "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
        );
    }
}
