//! A definition as a whole: its names, its versions, and what each of them has.

use crate::tree::Plain;

use replank_model::selector::validate::{label_key_problems, label_value_problems};

use super::place::Place;
use super::problem::{DefinitionProblem, Problems};
use super::props::Props;
use super::{conversion, defaults, names, openapi, structural};

/// Everything that is wrong with a definition.
pub(super) fn check<'v>(object: &'v Plain<'v>) -> Vec<DefinitionProblem> {
    let mut problems = Problems::default();
    let spec = object.get("spec").unwrap_or(&Plain::Null);
    metadata(object, spec, &mut problems);
    self::spec(spec, &Place::root("spec"), &mut problems);
    approval(object, spec, &mut problems);
    problems.0
}

fn get<'v>(of: &'v Plain<'v>, key: &str) -> Option<&'v Plain<'v>> {
    of.get(key).filter(|value| !value.is_null())
}

fn text<'v>(of: &'v Plain<'v>, keys: &[&str]) -> &'v str {
    keys.iter().try_fold(of, |of, key| get(of, key)).and_then(Plain::as_text).unwrap_or_default()
}

fn list<'v>(of: &'v Plain<'v>, key: &str) -> &'v [Plain<'v>] {
    get(of, key).and_then(Plain::as_list).unwrap_or_default()
}

fn is_true(of: &Plain<'_>, key: &str) -> bool {
    get(of, key).and_then(Plain::as_bool) == Some(true)
}

fn metadata(object: &Plain<'_>, spec: &Plain<'_>, problems: &mut Problems) {
    let at = Place::root("metadata");
    let name = text(object, &["metadata", "name"]);
    let required = format!("{}.{}", text(spec, &["names", "plural"]), text(spec, &["group"]));
    if name.is_empty() {
        problems.refuse(at.child("name"), "required");
    } else if let Some(why) = names::subdomain(name) {
        problems.refuse(at.child("name"), why);
    } else if name != required {
        problems.refuse(at.child("name"), format!("has to be {required}"));
    }
    let generated = text(object, &["metadata", "generateName"]);
    if !generated.is_empty() && generated != required {
        problems.refuse(at.child("generateName"), "the name is fixed");
    }
    let metadata = object.get("metadata").unwrap_or(&Plain::Null);
    for (key, value) in get(metadata, "labels").and_then(Plain::as_map).into_iter().flatten() {
        let problems_of =
            label_key_problems(key).len() + label_value_problems(value.as_text().unwrap_or_default()).len();
        for _ in 0..problems_of.min(1) {
            problems.refuse(at.child("labels"), format!("{key} is no label"));
        }
    }
    for (key, _) in get(metadata, "annotations").and_then(Plain::as_map).into_iter().flatten() {
        if !label_key_problems(&key.to_lowercase()).is_empty() {
            problems.refuse(at.child("annotations"), format!("{key} is no key"));
        }
    }
    for key in ["ownerReferences", "finalizers", "managedFields"] {
        if !list(metadata, key).is_empty() {
            problems.unknown(at.child(key), "not checked here");
        }
    }
}

/// Groups of the Kubernetes community are protected: they need the place of their approval (KEP-1111).
fn approval(object: &Plain<'_>, spec: &Plain<'_>, problems: &mut Problems) {
    const KEY: &str = "api-approved.kubernetes.io";
    let group = text(spec, &["group"]);
    let within =
        |suffix: &str| group.strip_suffix(suffix).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'));
    if !within("k8s.io") && !within("kubernetes.io") {
        return;
    }
    let approval = text(object, &["metadata", "annotations", KEY]);
    let has_host = approval.split_once("://").is_some_and(|(scheme, rest)| {
        scheme.starts_with(|first: char| first.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
            && !rest.starts_with(['/', '?', '#'])
            && !rest.is_empty()
            && approval.bytes().all(|byte| byte.is_ascii_graphic())
    });
    let at = Place::root("metadata").child("annotations").key(KEY);
    if approval.is_empty() {
        problems.refuse(at, "required for groups under k8s.io and kubernetes.io");
    } else if !approval.starts_with("unapproved") && !has_host {
        problems.refuse(at, "has to be a URL, or to begin with `unapproved`");
    }
}

fn spec(spec: &Plain<'_>, at: &Place, problems: &mut Problems) {
    let group = text(spec, &["group"]);
    if group.is_empty() {
        problems.refuse(at.child("group"), "required");
    } else if let Some(why) = names::subdomain(group) {
        problems.refuse(at.child("group"), why);
    } else if !group.contains('.') {
        problems.refuse(at.child("group"), "has to be a domain with a dot at least");
    }
    if !matches!(text(spec, &["scope"]), "Cluster" | "Namespaced") {
        problems.refuse(at.child("scope"), "has to be Cluster or Namespaced");
    }
    if is_true(spec, "preserveUnknownFields") {
        problems.refuse(at.child("preserveUnknownFields"), "may not be true");
    }
    versions(spec, at, problems);
    self::names(spec, &at.child("names"), problems);
    if let Some(of) = get(spec, "conversion") {
        if is_true(spec, "preserveUnknownFields") && text(of, &["strategy"]) != "None" {
            problems.refuse(
                at.child("conversion").child("strategy"),
                "has to be None with preserveUnknownFields",
            );
        }
        conversion::check(of, &at.child("conversion"), problems);
    }
}

fn names(spec: &Plain<'_>, at: &Place, problems: &mut Problems) {
    let kind = text(spec, &["names", "kind"]);
    let of = |key: &str, default: String| match text(spec, &["names", key]) {
        "" => default,
        name => name.to_owned(),
    };
    let list_of = if kind.is_empty() { String::new() } else { format!("{kind}List") };
    let list_kind = of("listKind", list_of);
    let all = [
        ("plural", of("plural", String::new())),
        ("singular", of("singular", kind.to_lowercase())),
        ("kind", kind.to_lowercase()),
        ("listKind", list_kind.to_lowercase()),
    ];
    for (key, name) in &all {
        if name.is_empty() {
            problems.refuse(at.child(key), "required");
        } else if let Some(why) = names::label_1035(name) {
            problems.refuse(at.child(key), why);
        }
    }
    if !kind.is_empty() && kind == list_kind {
        problems.refuse(at.child("listKind"), "may not be the kind itself");
    }
    let names = spec.get("names").unwrap_or(&Plain::Null);
    for key in ["shortNames", "categories"] {
        for (index, name) in list(names, key).iter().enumerate() {
            if let Some(why) = names::label_1035(name.as_text().unwrap_or_default()) {
                problems.refuse(at.child(key).item(index), why);
            }
        }
    }
}

/// Whether all versions say the same of something: it is then looked at once.
fn is_alike<'v>(versions: &'v [Plain<'v>], key: &str) -> bool {
    let of = |version: &'v Plain<'v>| get(version, key).map(said);
    versions.windows(2).all(|pair| get(&pair[0], key) == get(&pair[1], key) || of(&pair[0]) == of(&pair[1]))
}

/// Fields of schemas that say nothing where they are false.
const FALSE_BY_DEFAULT: [&str; 6] = [
    "nullable",
    "uniqueItems",
    "exclusiveMinimum",
    "exclusiveMaximum",
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
];

/// Texts that are told from none where they are empty.
const TOLD_WHERE_EMPTY: [&str; 3] = ["$ref", "x-kubernetes-list-type", "x-kubernetes-map-type"];
/// Maps by name, which are not told from none where they are empty.
const MAPS: [&str; 4] = ["properties", "patternProperties", "definitions", "dependencies"];

/// A value without what Go does not tell from a field that is not there.
fn said<'v>(value: &Plain<'v>) -> Plain<'v> {
    match value {
        Plain::Map(map) => {
            let says_nothing = |key: &str, value: &Plain<'_>| match value {
                Plain::Null => true,
                Plain::Bool(value) => !value && FALSE_BY_DEFAULT.contains(&key),
                Plain::Text(text) => text.is_empty() && !TOLD_WHERE_EMPTY.contains(&key),
                Plain::List(items) => items.is_empty() && key != "items",
                Plain::Map(map) => map.is_empty() && MAPS.contains(&key),
                Plain::Number(_) => false,
            };
            let of = |(key, value): &(&'v str, Plain<'v>)| match *key {
                // These are the author's values.
                "default" | "example" if !value.is_null() => Some((*key, value.clone())),
                _ => (!says_nothing(key, value)).then(|| (*key, said(value))),
            };
            Plain::Map(map.iter().filter_map(of).collect())
        }
        Plain::List(items) => Plain::List(items.iter().map(said).collect()),
        Plain::Null | Plain::Bool(_) | Plain::Number(_) | Plain::Text(_) => value.clone(),
    }
}

fn versions(spec: &Plain<'_>, at: &Place, problems: &mut Problems) {
    let versions = list(spec, "versions");
    let at = at.child("versions");
    let alike = |key: &str| is_alike(versions, key);
    let (schema_alike, subresources_alike, columns_alike) =
        (alike("schema"), alike("subresources"), alike("additionalPrinterColumns"));
    let has_status =
        |version: &Plain<'_>| version.get("subresources").and_then(|of| get(of, "status")).is_some();
    for (index, version) in versions.iter().enumerate() {
        let at = at.item(index);
        let name = text(version, &["name"]);
        if let Some(why) = names::label_1035(name) {
            problems.refuse(at.child("name"), why);
        }
        deprecation(version, &at, problems);
        let is_first = index == 0;
        let schema = version.get("schema").and_then(|of| get(of, "openAPIV3Schema"));
        let of_schema = at.child("schema").child("openAPIV3Schema");
        match schema {
            None => problems.refuse(of_schema, "required"),
            Some(schema) if is_first || !schema_alike => {
                let status = if schema_alike { versions.iter().any(has_status) } else { has_status(version) };
                self::schema(&Props::read(schema), status, &of_schema, problems);
            }
            Some(_) => {}
        }
        if is_first || !subresources_alike {
            subresources(version, &at.child("subresources"), problems);
        }
        if is_first || !columns_alike {
            for (index, column) in list(version, "additionalPrinterColumns").iter().enumerate() {
                self::column(column, &at.child("additionalPrinterColumns").item(index), problems);
            }
        }
        if !list(version, "selectableFields").is_empty() {
            problems.unknown(at.child("selectableFields"), "not checked here");
        }
    }
    let named = |version: &Plain<'_>| text(version, &["name"]).to_owned();
    let mut all: Vec<String> = versions.iter().map(named).collect();
    all.sort();
    all.dedup();
    if all.len() < versions.len() {
        problems.refuse(at.clone(), "a version is there twice");
    }
    if versions.iter().filter(|version| is_true(version, "storage")).count() != 1 {
        problems.refuse(at, "one version, and one only, has to be the storage version");
    }
}

fn deprecation(version: &Plain<'_>, at: &Place, problems: &mut Problems) {
    let at = at.child("deprecationWarning");
    let Some(warning) = get(version, "deprecationWarning").and_then(Plain::as_text) else { return };
    if !is_true(version, "deprecated") {
        problems.refuse(at, "only allowed for deprecated versions");
    } else if warning.is_empty() || warning.len() > 256 {
        problems.refuse(at, "has to have between 1 and 256 characters");
    } else if warning.chars().any(char::is_control) {
        problems.refuse(at, "has to be printable");
    } else if !warning.chars().all(|of| of.is_ascii() || of.is_alphanumeric()) {
        problems.unknown(at, "whether it can be printed is not checked here");
    }
}

/// One schema, of one version or of all: first without places, which only matter where something is wrong.
fn schema(of: &Props<'_>, has_status: bool, at: &Place, problems: &mut Problems) {
    let mut untold = Problems::default();
    schema_at(of, has_status, &Place::untold(), &mut untold);
    if untold.grew(0) {
        schema_at(of, has_status, at, problems);
    }
}

fn schema_at(of: &Props<'_>, has_status: bool, at: &Place, problems: &mut Problems) {
    let before = problems.len();
    if has_status {
        root_with_status(of, at, problems);
    }
    if of.nullable {
        problems.refuse(at.child("nullable"), "not allowed at the root");
    }
    let has_form = structural::has_form(of);
    if has_form {
        let before = problems.len();
        structural::check(of, at, problems);
        if !problems.grew(before) {
            defaults::check(of, at, problems);
        }
    }
    openapi::check(of, at, problems);
    if !problems.grew(before) && !has_form {
        problems.refuse(at.clone(), "it has fields that a structural schema cannot have");
    }
}

/// With a status of its own, what is said at the root would not be said of the status.
fn root_with_status(of: &Props<'_>, at: &Place, problems: &mut Problems) {
    let before_type = of.id || of.schema || of.reference.is_some();
    if !before_type && !of.of.is_empty() && of.of != "object" {
        return problems.refuse(at.child("type"), "has to be object with the subresource status");
    }
    let has_other = before_type
        || of.nullable
        || of.default.is_some()
        || of.max_properties.is_some()
        || of.min_properties.is_some()
        || of.one_of_values.is_some()
        || of.all_of.is_some()
        || of.one_of.is_some()
        || of.any_of.is_some()
        || of.not.is_some()
        || of.additional_properties.is_some()
        || of.pattern_properties.is_some()
        || of.dependencies.is_some()
        || of.additional_items
        || of.definitions.is_some()
        || of.embedded
        || of.int_or_string
        || of.list_map_keys.is_some()
        || of.list_type.is_some()
        || of.map_type.is_some();
    if has_other {
        problems.refuse(
            at.clone(),
            "with the subresource status the root may have no default, enum, allOf, anyOf, oneOf, not, additionalProperties and the like",
        );
    }
}

fn subresources(version: &Plain<'_>, at: &Place, problems: &mut Problems) {
    let Some(scale) = version.get("subresources").and_then(|of| get(of, "scale")) else { return };
    let at = at.child("scale");
    let mut path = |key: &str, roots: &[&str], is_required: bool| {
        let value = text(scale, &[key]);
        let at = at.child(key);
        match value {
            "" if is_required => problems.refuse(at, "required"),
            "" => {}
            _ if !value.starts_with('.') => problems.refuse(at, "has to begin with `.`"),
            _ if !roots.iter().any(|root| value.starts_with(root)) => {
                problems.refuse(at, format!("has to begin with {}", roots.join(" or ")));
            }
            _ => {}
        }
    };
    path("specReplicasPath", &[".spec."], true);
    path("statusReplicasPath", &[".status."], true);
    path("labelSelectorPath", &[".spec.", ".status."], false);
}

const COLUMN_TYPES: [&str; 5] = ["integer", "number", "string", "boolean", "date"];
const COLUMN_FORMATS: [&str; 9] =
    ["", "int32", "int64", "float", "double", "byte", "date", "date-time", "password"];

fn column(column: &Plain<'_>, at: &Place, problems: &mut Problems) {
    if text(column, &["name"]).is_empty() {
        problems.refuse(at.child("name"), "required");
    }
    if !COLUMN_TYPES.contains(&text(column, &["type"])) {
        problems.refuse(at.child("type"), format!("has to be one of {}", COLUMN_TYPES.join(", ")));
    }
    if !COLUMN_FORMATS.contains(&text(column, &["format"])) {
        problems.refuse(at.child("format"), format!("has to be one of {}", COLUMN_FORMATS[1..].join(", ")));
    }
    match text(column, &["jsonPath"]) {
        "" => problems.refuse(at.child("JSONPath"), "required"),
        path if !path.starts_with('.') => problems.refuse(at.child("JSONPath"), "has to begin with `.`"),
        _ => {}
    }
}
