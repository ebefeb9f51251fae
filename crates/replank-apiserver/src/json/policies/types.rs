//! Types of objects from the tables of the API, and what a checker says of a policy's expressions about them (apiserver
//! `pkg/admission/plugin/policy/validating/typechecking.go`).

use std::sync::Arc;

use replank_custom::cel::types::AUTHORIZER;
use replank_custom::cel::{Names, ObjectType, Type, check, parse};
use replank_custom::rules::types::of_schema;
use replank_schema::{Shape, types};
use serde_json::{Value, json};

use crate::server::{Api, ResourceType};

/// How many types of resources are looked at for one policy.
const TYPES_MAX: usize = 10;
/// How deep a type is followed: schemas may contain themselves.
const DEPTH_MAX: u32 = 12;

/// Warnings about the expressions of a policy, for each kind that it is about.
pub(crate) fn warnings(api: &Api, spec: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    let kinds = kinds(api, &spec["matchConstraints"]);
    if kinds.is_empty() {
        return found;
    }
    let params = spec.get("paramKind").and_then(|kind| {
        let resource = api.resource_type(kind["apiVersion"].as_str()?, kind["kind"].as_str()?).ok()?;
        Some(of_resource(&resource))
    });
    for (index, validation) in spec["validations"].as_array().into_iter().flatten().enumerate() {
        for member in ["expression", "messageExpression"] {
            let Some(text) = validation[member].as_str().filter(|text| !text.is_empty()) else { continue };
            let told: Vec<String> = kinds
                .iter()
                .filter_map(|resource| {
                    let faults = checked(text, resource, params.as_ref(), spec)?;
                    Some(format!("{}, Kind={}: {faults}\n", resource.api_version(), resource.name.kind))
                })
                .collect();
            if !told.is_empty() {
                let field = format!("spec.validations[{index}].{member}");
                found.push(json!({"fieldRef": field, "warning": told.concat()}));
            }
        }
    }
    found
}

fn checked(text: &str, resource: &ResourceType, params: Option<&Type>, spec: &Value) -> Option<String> {
    let object = of_resource(resource);
    let mut names = names(&object, params.cloned());
    let mut variables = ObjectType { name: "kubernetes.variables".to_owned(), ..ObjectType::default() };
    for variable in spec["variables"].as_array().into_iter().flatten() {
        let (Some(name), Some(text)) = (variable["name"].as_str(), variable["expression"].as_str()) else {
            continue;
        };
        names.insert("variables".to_owned(), Type::Object(Arc::new(copy(&variables))));
        let of = parse(text).ok().and_then(|parsed| check(text, &parsed, &names).ok()).unwrap_or(Type::Dyn);
        variables.fields.insert(name.to_owned(), of);
    }
    names.insert("variables".to_owned(), Type::Object(Arc::new(variables)));
    let parsed = parse(text).ok()?;
    check(text, &parsed, &names).err().map(|faults| faults.to_string())
}

fn copy(of: &ObjectType) -> ObjectType {
    ObjectType { name: of.name.clone(), fields: of.fields.clone() }
}

/// What names are of, besides variables.
pub(super) fn names(object: &Type, params: Option<Type>) -> Names {
    let texts = |all: &[&str]| all.iter().map(|name| ((*name).to_owned(), Type::Text)).collect::<Vec<_>>();
    let named = |name: &str, fields: Vec<(String, Type)>| {
        Type::Object(Arc::new(ObjectType { name: name.to_owned(), fields: fields.into_iter().collect() }))
    };
    let kind = named("kubernetes.GroupVersionKind", texts(&["group", "version", "kind"]));
    let resource = named("kubernetes.GroupVersionResource", texts(&["group", "version", "resource"]));
    let mut user = texts(&["username", "uid"]);
    user.push(("groups".to_owned(), Type::list(Type::Text)));
    user.push(("extra".to_owned(), Type::map(Type::Text, Type::list(Type::Text))));
    let mut request = texts(&["name", "namespace", "operation", "subResource", "requestSubResource", "uid"]);
    for (name, of) in
        [("kind", &kind), ("requestKind", &kind), ("resource", &resource), ("requestResource", &resource)]
    {
        request.push((name.to_owned(), of.clone()));
    }
    request.push(("userInfo".to_owned(), named("kubernetes.UserInfo", user)));
    request.push(("dryRun".to_owned(), Type::Bool));
    request.push(("options".to_owned(), Type::Dyn));
    let mut names: Names = [
        ("object".to_owned(), object.clone()),
        ("oldObject".to_owned(), object.clone()),
        ("request".to_owned(), named("kubernetes.AdmissionRequest", request)),
        ("namespaceObject".to_owned(), built_in("", "v1", "Namespace")),
        ("authorizer".to_owned(), AUTHORIZER),
        ("authorizer.requestResource".to_owned(), replank_custom::cel::types::RESOURCE_CHECK),
    ]
    .into_iter()
    .collect();
    names.extend(params.map(|params| ("params".to_owned(), params)));
    names
}

/// The kinds that constraints name, without any that stands for all.
fn kinds(api: &Api, constraints: &Value) -> Vec<ResourceType> {
    let mut found: Vec<ResourceType> = Vec::new();
    let words = |rule: &Value, name: &str| -> Vec<String> {
        rule[name].as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    for rule in constraints["resourceRules"].as_array().into_iter().flatten() {
        for group in words(rule, "apiGroups") {
            for version in words(rule, "apiVersions") {
                for plural in words(rule, "resources") {
                    let whole = if group.is_empty() { version.clone() } else { format!("{group}/{version}") };
                    if let Ok(resource) = api.resource_of_plural(&whole, &plural)
                        && found.len() < TYPES_MAX
                        && !found.contains(&resource)
                    {
                        found.push(resource);
                    }
                }
            }
        }
    }
    found
}

fn of_resource(resource: &ResourceType) -> Type {
    match &resource.custom {
        Some(custom) => with_metadata(of_schema(&custom.schema, true).unwrap_or(Type::Dyn)),
        None => built_in(&resource.name.group, &resource.version, &resource.name.kind),
    }
}

/// Policies see all of an object's metadata, where rules of a schema see its name alone.
fn with_metadata(of: Type) -> Type {
    let Type::Object(object) = &of else { return of };
    let mut object = copy(object);
    if let Some(meta) = types().named("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta") {
        object.fields.insert("metadata".to_owned(), of_fields("ObjectMeta", meta, 0));
    }
    Type::Object(Arc::new(object))
}

fn built_in(group: &str, version: &str, kind: &str) -> Type {
    match types().of_kind(group, version, kind) {
        Some(of) => of_fields(kind, of, 0),
        None => Type::Dyn,
    }
}

fn of_fields(name: &str, of: &replank_schema::Type, depth: u32) -> Type {
    if of.fields.is_empty() {
        return match (of.basic.as_deref(), of.format.as_deref()) {
            (Some("string"), Some("date-time")) => Type::Timestamp,
            (Some("string"), _) if of.one_of.is_empty() => Type::Text,
            _ => Type::Dyn,
        };
    }
    if depth > DEPTH_MAX {
        return Type::Dyn;
    }
    let fields = of.fields.iter().map(|(name, shape)| {
        let name = replank_custom::cel::convert::escape(name).unwrap_or_else(|| name.clone());
        (name, of_shape(shape, depth + 1))
    });
    Type::Object(Arc::new(ObjectType { name: name.to_owned(), fields: fields.collect() }))
}

fn of_shape(shape: &Shape, depth: u32) -> Type {
    if let Some(name) = shape.refers.as_deref() {
        let short = name.rsplit('.').next().unwrap_or(name);
        return match (short, types().named(name)) {
            ("Quantity" | "IntOrString", _) | (_, None) => Type::Dyn,
            (_, Some(of)) => of_fields(short, of, depth),
        };
    }
    if let Some(values) = &shape.values {
        return Type::map(Type::Text, of_shape(values, depth));
    }
    match (shape.basic.as_deref(), &shape.items) {
        (Some("array"), Some(items)) => Type::list(of_shape(items, depth)),
        (Some("string"), _) => match shape.format.as_deref() {
            Some("byte") => Type::Bytes,
            Some("date-time") => Type::Timestamp,
            _ => Type::Text,
        },
        (Some("integer"), _) => Type::Int,
        (Some("number"), _) => Type::Double,
        (Some("boolean"), _) => Type::Bool,
        _ => Type::Dyn,
    }
}
