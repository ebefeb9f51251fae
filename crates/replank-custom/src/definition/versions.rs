//! The versions of a definition: schemas, subresources, columns, fields.

use serde_json::Value;

use super::member::{is_true, list, text};
use super::{names, schema};
use crate::problem::{Problem, quoted, shown};
use crate::schema::read;

pub(super) fn check(spec: &Value, problems: &mut Vec<Problem>) {
    let versions = list(spec, "versions");
    for (index, version) in versions.iter().enumerate() {
        names::version(text(version, "name"), format!("spec.versions[{index}].name"), problems);
        deprecation(version, index, problems);
    }
    whole(spec, versions, problems);
    // What all versions have in common is looked at once, at the place where it stood before there were versions.
    let is_alike = |name: &str| versions.windows(2).all(|pair| pair[0].get(name) == pair[1].get(name));
    let has_schema =
        |version: &Value| version.pointer("/schema/openAPIV3Schema").is_some_and(Value::is_object);
    let schemas_alike = is_alike("schema") && versions.iter().all(has_schema);
    let has_status =
        |version: &Value| version.pointer("/subresources/status").is_some_and(|one| !one.is_null());
    for (index, version) in versions.iter().enumerate() {
        let place = |name: &str, before: &str, alike: bool| match alike {
            true => format!("spec.{before}"),
            false => format!("spec.versions[{index}].{name}"),
        };
        let is_first = index == 0;
        let at = match schemas_alike {
            true => "spec.validation.openAPIV3Schema".to_owned(),
            false => format!("spec.versions[{index}].schema.openAPIV3Schema"),
        };
        match version.pointer("/schema/openAPIV3Schema").filter(|one| one.is_object()) {
            None => problems.push(Problem::required(at, "")),
            Some(value) if is_first || !schemas_alike => {
                schema::check(value, has_status(version), &at, problems);
            }
            Some(_) => {}
        }
        let alike = is_alike("subresources");
        if is_first || !alike {
            scale(version, &place("subresources", "subresources", alike), problems);
        }
        let alike = is_alike("additionalPrinterColumns");
        if is_first || !alike {
            columns(version, &place("additionalPrinterColumns", "additionalPrinterColumns", alike), problems);
        }
        let alike = is_alike("selectableFields");
        if is_first || !alike {
            fields(version, &place("selectableFields", "selectableFields", alike), problems);
        }
    }
}

/// The versions as Go shows them: without what has been moved elsewhere.
fn shown_versions(spec: &Value, versions: &[Value]) -> String {
    if spec.get("versions").is_none_or(Value::is_null) {
        return "null".to_owned();
    }
    let one = |version: &Value| {
        format!(
            "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":null,\
             \"Subresources\":null,\"AdditionalPrinterColumns\":null,\"SelectableFields\":null}}",
            Value::from(text(version, "name")),
            is_true(version, "served"),
            is_true(version, "storage"),
            is_true(version, "deprecated"),
            version.get("deprecationWarning").unwrap_or(&Value::Null)
        )
    };
    format!("[{}]", versions.iter().map(one).collect::<Vec<_>>().join(","))
}

fn whole(spec: &Value, versions: &[Value], problems: &mut Vec<Problem>) {
    let mut all: Vec<&str> = versions.iter().map(|version| text(version, "name")).collect();
    all.sort_unstable();
    if all.windows(2).any(|pair| pair[0] == pair[1]) {
        let shown = shown_versions(spec, versions);
        problems.push(Problem::invalid("spec.versions", &shown, "must contain unique version names"));
    }
    if versions.iter().filter(|version| is_true(version, "storage")).count() != 1 {
        let shown = shown_versions(spec, versions);
        let why = "must have exactly one version marked as storage version";
        problems.push(Problem::invalid("spec.versions", &shown, why));
    }
    if let Some(first) = versions.first().filter(|first| !text(first, "name").is_empty()) {
        names::version(text(first, "name"), "spec.version".to_owned(), problems);
    }
}

fn deprecation(version: &Value, index: usize, problems: &mut Vec<Problem>) {
    let Some(warning) = version.get("deprecationWarning").and_then(Value::as_str) else { return };
    let field = format!("spec.versions[{index}].deprecationWarning");
    if !is_true(version, "deprecated") {
        problems.push(Problem::invalid(field, &quoted(warning), "can only be set for deprecated versions"));
    } else if warning.is_empty() {
        problems.push(Problem::invalid(field, &quoted(warning), "must not be an empty string"));
    } else if warning.len() > 256 {
        problems.push(Problem::invalid(field, &quoted(warning), "must be <= 256 characters in length"));
    }
}

fn is_simple_path(path: &str) -> bool {
    path.starts_with('.')
        && path[1..].split('.').all(|part| {
            !part.is_empty()
                && part.chars().all(|one| one.is_ascii_alphanumeric() || "_-[]'\"\\".contains(one))
        })
        && path.matches('[').count() == path.matches(']').count()
}

fn scale(version: &Value, at: &str, problems: &mut Vec<Problem>) {
    let Some(scale) = version.pointer("/subresources/scale").filter(|one| one.is_object()) else { return };
    for (name, under) in [("specReplicasPath", ".spec"), ("statusReplicasPath", ".status")] {
        let path = text(scale, name);
        let field = format!("{at}.scale.{name}");
        if path.is_empty() {
            problems.push(Problem::required(field, ""));
        } else if !is_simple_path(path) {
            problems.push(Problem::invalid(
                field,
                &quoted(path),
                "must be a simple json path starting with .",
            ));
        } else if !path.starts_with(&format!("{under}.")) {
            let why = format!("should be a json path under {under}");
            problems.push(Problem::invalid(field, &quoted(path), &why));
        }
    }
    let path = text(scale, "labelSelectorPath");
    if !path.is_empty() {
        let field = format!("{at}.scale.labelSelectorPath");
        if !is_simple_path(path) {
            problems.push(Problem::invalid(
                field,
                &quoted(path),
                "must be a simple json path starting with .",
            ));
        } else if !path.starts_with(".spec.") && !path.starts_with(".status.") {
            let why = "should be a json path under either .spec or .status";
            problems.push(Problem::invalid(field, &quoted(path), why));
        }
    }
}

fn columns(version: &Value, at: &str, problems: &mut Vec<Problem>) {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    const FORMATS: [&str; 8] = ["int32", "int64", "float", "double", "byte", "date", "date-time", "password"];
    for (index, column) in list(version, "additionalPrinterColumns").iter().enumerate() {
        let at = format!("{at}[{index}]");
        if text(column, "name").is_empty() {
            problems.push(Problem::required(format!("{at}.name"), ""));
        }
        let of = text(column, "type");
        if of.is_empty() {
            problems.push(Problem::required(
                format!("{at}.type"),
                &format!("must be one of {}", TYPES.join(",")),
            ));
        } else if !TYPES.contains(&of) {
            let why = format!("must be one of {}", TYPES.join(","));
            problems.push(Problem::invalid(format!("{at}.type"), &quoted(of), &why));
        }
        let format = text(column, "format");
        if !format.is_empty() && !FORMATS.contains(&format) {
            let mut known = FORMATS;
            known.sort_unstable();
            let why = format!("must be one of {}", known.join(","));
            problems.push(Problem::invalid(format!("{at}.format"), &quoted(format), &why));
        }
        let path = text(column, "jsonPath");
        if path.is_empty() {
            problems.push(Problem::required(format!("{at}.JSONPath"), ""));
        } else if path.starts_with('.') && path.matches('[').count() == path.matches(']').count() {
            // A path with conditions is taken too.
        } else {
            let why = "must be a simple json path starting with .";
            problems.push(Problem::invalid(format!("{at}.JSONPath"), &quoted(path), why));
        }
    }
}

fn fields(version: &Value, at: &str, problems: &mut Vec<Problem>) {
    let all = list(version, "selectableFields");
    let Some(schema) = version.pointer("/schema/openAPIV3Schema").filter(|one| one.is_object()) else {
        if !all.is_empty() {
            let why = "may only be set when validations.schema is included";
            problems.push(Problem::invalid(at, "\"\"", why));
        }
        return;
    };
    let schema = read(schema);
    if all.len() > 8 {
        problems.push(Problem::too_many(at, all.len(), 8));
    }
    for (index, field) in all.iter().enumerate() {
        let path = text(field, "jsonPath");
        let place = format!("{at}[{index}].jsonPath");
        let Some(rest) = path.strip_prefix('.') else {
            if path.is_empty() {
                problems.push(Problem::required(place, ""));
            } else {
                let first = path.split('.').next().unwrap_or_default();
                let why = format!("is an invalid path: expected [ or . but got: {first}");
                problems.push(Problem::invalid(place, &quoted(path), &why));
            }
            continue;
        };
        let found = rest.split('.').try_fold(&schema, |schema, name| schema.properties.get(name));
        match found.map(|found| &*found.basic) {
            None => {
                let why = "is an invalid path: does not refer to a valid field";
                problems.push(Problem::invalid(place, &quoted(path), why));
            }
            Some("string" | "boolean" | "integer") if rest.starts_with("metadata.") => {
                problems.push(Problem::invalid(place, &quoted(path), "must not point to fields in metadata"));
            }
            Some("string" | "boolean" | "integer") => {
                if all[..index].iter().any(|one| text(one, "jsonPath") == path) {
                    problems.push(Problem::duplicate(place, &shown(&Value::from(path))));
                }
            }
            Some(_) => {
                let why = "must point to a field of type string, boolean or integer. Enum string fields and strings with \
                           formats are allowed.";
                problems.push(Problem::invalid(place, &quoted(path), why));
            }
        }
    }
}

pub(super) fn conversion(spec: &Value, problems: &mut Vec<Problem>) {
    let Some(conversion) = spec.get("conversion").filter(|one| one.is_object()) else { return };
    match text(conversion, "strategy") {
        "None" => {}
        "" => problems.push(Problem::required("spec.conversion.strategy", "")),
        "Webhook" => {
            let client = conversion.pointer("/webhook/clientConfig").filter(|one| one.is_object());
            let at = "spec.conversion.webhookClientConfig";
            match client {
                None => problems.push(Problem::required(at, "required when strategy is set to Webhook")),
                Some(client) => {
                    let (url, service) = (client.get("url"), client.get("service"));
                    if url.is_some() == service.is_some() {
                        problems.push(Problem::required(at, "exactly one of url or service is required"));
                    }
                }
            }
            if list(conversion.get("webhook").unwrap_or(&Value::Null), "conversionReviewVersions").is_empty()
            {
                problems.push(Problem::required("spec.conversion.conversionReviewVersions", ""));
            }
        }
        other => {
            let known = ["None".to_owned(), "Webhook".to_owned()];
            problems.push(Problem::not_supported("spec.conversion.strategy", &quoted(other), &known));
        }
    }
}
