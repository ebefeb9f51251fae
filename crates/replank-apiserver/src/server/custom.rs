//! What definitions say of their objects, read once for each state of a definition.

use std::cell::RefCell;
use std::sync::Arc;

use replank_custom::Schema;
use replank_custom::rules::{Program, program};
use replank_custom::schema::read;
use replank_model::object::cluster::CustomResourceDefinition;
use replank_model::object::meta::ResourceVersion;
use replank_model::object::{Object, render};
use replank_model::text::Name;
use rustc_hash::FxHashMap;
use serde_json::Value;

/// What a version of a definition says of its objects.
#[derive(Debug)]
pub struct Custom {
    /// The schema.
    pub schema: Schema,
    /// Its rules.
    pub program: Program,
    /// Fields that lists can be selected by, such as `.spec.color`.
    pub fields: Vec<String>,
    /// What clients of this version are warned of.
    pub deprecation: Option<String>,
    /// How objects come to this version, if a webhook converts them.
    pub conversion: Option<Conversion>,
    /// Whether the definition is on its way out.
    pub(crate) is_going: bool,
    /// The state of the definition that it was read from.
    pub revision: ResourceVersion,
}

/// A webhook that converts the objects of a definition.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversion {
    /// `apiVersion` of what is stored.
    pub stored: String,
    /// `clientConfig`.
    pub client: Value,
    /// Versions of ConversionReview that it speaks.
    pub reviews: Vec<String>,
}

/// The same state of the same definition.
impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        self.revision == other.revision && self.schema == other.schema && self.fields == other.fields
    }
}

impl Eq for Custom {}

/// What has been read of definitions.
#[derive(Debug, Default)]
pub(crate) struct Customs(RefCell<FxHashMap<Name, Known>>);

/// A state of a definition, and what the versions say that it is served in.
type Known = (ResourceVersion, Vec<(String, Arc<Custom>)>);

impl Customs {
    /// What a version of a definition says.
    pub(crate) fn of(
        &self,
        definition: &Arc<CustomResourceDefinition>,
        version: &str,
    ) -> Option<Arc<Custom>> {
        let revision = definition.meta.resource_version;
        let name = &definition.meta.name;
        let mut known = self.0.borrow_mut();
        if known.get(name).is_none_or(|(read, _)| *read != revision) {
            known.insert(name.clone(), (revision, versions(definition, revision)));
        }
        let (_, versions) = known.get(name)?;
        versions.iter().find(|(name, _)| name == version).map(|(_, custom)| custom.clone())
    }
}

/// The webhook that converts the objects of a definition, if one does.
fn conversion(definition: &Value, group: &str) -> Option<Conversion> {
    let conversion = definition.pointer("/spec/conversion").filter(|one| one["strategy"] == "Webhook")?;
    let versions = definition.pointer("/spec/versions")?.as_array()?;
    let stored = versions.iter().find(|version| version["storage"] == true)?["name"].as_str()?;
    let reviews = conversion.pointer("/webhook/conversionReviewVersions").and_then(Value::as_array);
    let reviews = reviews.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect();
    let client = conversion.pointer("/webhook/clientConfig").cloned().unwrap_or_default();
    Some(Conversion { stored: format!("{group}/{stored}"), client, reviews })
}

fn versions(
    definition: &Arc<CustomResourceDefinition>,
    revision: ResourceVersion,
) -> Vec<(String, Arc<Custom>)> {
    let value = render(&Object::CustomResourceDefinition(definition.clone()));
    let kind = &definition.spec.names.kind;
    let conditions = value.pointer("/status/conditions").and_then(Value::as_array);
    let refused = |one: &Value| one["type"] == "Established" && one["status"] != "True";
    if conditions.is_some_and(|all| all.iter().any(refused)) {
        return Vec::new();
    }
    let versions = value.pointer("/spec/versions").and_then(Value::as_array);
    let conversion = conversion(&value, &definition.spec.group);
    let custom = |version: &Value| {
        // A snapshot may have left the schema out: then it takes nothing out.
        let without = || Schema { preserves: true, ..Schema::default() };
        let schema = version.pointer("/schema/openAPIV3Schema").map_or_else(without, read);
        let name = version.get("name").and_then(Value::as_str)?.to_owned();
        let fields = version.get("selectableFields").and_then(Value::as_array).into_iter().flatten();
        let path = |field: &Value| field.get("jsonPath").and_then(Value::as_str).map(str::to_owned);
        let is_deprecated = version.get("deprecated").and_then(Value::as_bool).unwrap_or(false);
        let warning = version.get("deprecationWarning").and_then(Value::as_str);
        let usual = || format!("{}/{name} {kind} is deprecated", definition.spec.group);
        let custom = Custom {
            program: program(&schema, true),
            schema,
            fields: fields.filter_map(path).collect(),
            deprecation: is_deprecated.then(|| warning.map_or_else(usual, str::to_owned)),
            conversion: conversion.clone(),
            is_going: definition.meta.is_terminating(),
            revision,
        };
        Some((name, Arc::new(custom)))
    };
    versions.into_iter().flatten().filter_map(custom).collect()
}
