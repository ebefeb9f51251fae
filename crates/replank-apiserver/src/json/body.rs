//! Bodies: what is sent is read as an object of the address' kind (apiserver `endpoints/handlers/{create,update,patch}.go`).

use replank_schema::{GoForm, GoId, go_types, types};
use serde_json::{Map, Value};

use super::patch::PatchType;
use super::path::Address;
use super::terms::Terms;
use super::{custom, form};
use crate::server::{ApiError, Cause, ResourceName, ResourceType};

/// How much of a body is shown that cannot be read.
const SUMMARY_MAX: usize = 30;

const GO_HEAD: &str = "struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \
                       \"json:\\\"kind,omitempty\\\"\" }";

/// The Go type of a built-in resource.
pub(super) fn go_type(resource: &ResourceType) -> Option<GoId> {
    go_types().of_kind(&resource.name.group, &resource.version, &resource.name.kind)
}

/// Reads a body.
///
/// # Errors
/// 400 where it is no object of the kind.
pub(super) fn read(address: &Address, body: Value, terms: &mut Terms) -> Result<Value, ApiError> {
    // A member that is null is one, whether the type knows it or not.
    let nulls: Vec<String> = match &body {
        Value::Object(members) => {
            members.iter().filter(|(_, value)| value.is_null()).map(|(name, _)| name.clone()).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => Vec::new(),
    };
    let members = head(address, body, terms)?;
    let mut value = Value::Object(members);
    let unknown = custom::take_in(&address.resource, &mut value)?;
    if terms.client.is_some() && !terms.is_accounted && address.resource.custom.is_some() {
        terms.strict(&unknown).map_err(|why| cannot_be_handled(address, None, &why))?;
    }
    if terms.client.is_some()
        && !terms.is_accounted
        && let Some(of) = go_type(&address.resource)
    {
        let unreadable = |why: &str| cannot_be_handled(address, None, why);
        let mut decoded = form::decode(of, &value).map_err(|why| unreadable(&why))?;
        if let GoForm::Struct(of) = &go_types().get(of).form {
            decoded.unknown.extend(nulls.into_iter().filter(|name| of.member(name).is_none()));
        }
        terms.strict(&decoded.unknown).map_err(|why| unreadable(&why))?;
        value = with_reset(&value, decoded.object);
    }
    check_namespace(address, &mut value)?;
    Ok(value)
}

/// An empty list of managers says that all are to be forgotten, where no list says nothing.
fn with_reset(given: &Value, mut read: Value) -> Value {
    let managers = given.get("metadata").and_then(|meta| meta.get("managedFields"));
    if managers.and_then(Value::as_array).is_some_and(Vec::is_empty)
        && let Some(Value::Object(meta)) = read.get_mut("metadata")
    {
        meta.insert("managedFields".to_owned(), Value::Array(Vec::new()));
    }
    read
}

/// What every object begins with: kind and version, which must be those of the address where they are given.
fn head(address: &Address, body: Value, terms: &mut Terms) -> Result<Map<String, Value>, ApiError> {
    let name = &address.resource.name;
    let is_wire = terms.client.is_some();
    let unrecognized = |why: &str, shown: &str| {
        ApiError::bad_request(&format!(
            "the object provided is unrecognized (must be of type {}): couldn't get version/kind; json parse error: {why} \
             ({shown})",
            name.kind
        ))
    };
    let mut members = match body {
        Value::Object(members) => members,
        Value::Null if is_wire && address.resource.custom.is_some() => {
            return Err(no_kind(&name.kind, "null", "6e756c6c"));
        }
        // To Go, `null` is an object without members.
        Value::Null if is_wire => Map::new(),
        Value::Null => return Err(unrecognized("unexpected end of JSON input", "<empty>")),
        other @ (Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_)) => {
            let why =
                format!("json: cannot unmarshal {} into Go value of type {GO_HEAD}", form::word_for(&other));
            let hex: String = other.to_string().bytes().map(|byte| format!("{byte:02x}")).collect();
            return Err(unrecognized(&why, &hex));
        }
    };
    members.retain(|_, member| !member.is_null());
    let text = |member: &str| members.get(member).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (kind, api_version) = (text("kind"), text("apiVersion"));
    let wanted = address.resource.api_version();
    if is_wire && address.resource.custom.is_some() {
        check_custom_head(address, &members, &kind, &api_version)?;
    }
    let kind = if kind.is_empty() { name.kind.to_string() } else { kind };
    let api_version = if api_version.is_empty() { wanted.clone() } else { api_version };
    if address.resource.custom.is_some() && api_version != wanted {
        // Nothing is known of another version: every field of it is unknown. What is of another group is not looked at.
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        let is_ours = group == &*name.group && *kind == *name.kind;
        let is_known = |name: &&String| matches!(name.as_str(), "apiVersion" | "kind" | "metadata");
        let unknown: Vec<String> =
            members.keys().filter(|member| is_ours && !is_known(member)).cloned().collect();
        terms.strict(&unknown).map_err(|why| cannot_be_handled(address, None, &why))?;
        return Err(ApiError::bad_request(&format!(
            "the API version in the data ({api_version}) does not match the expected API version ({wanted})"
        )));
    }
    // Of an object that is there, name and version are looked at first.
    let is_update = address.name.is_some();
    if address.resource.custom.is_some() && *kind != *name.kind && !is_update {
        let cause = Cause::invalid("kind", &format!("{kind:?}"), &format!("must be {}", name.kind));
        let given = ResourceName { kind: kind.as_str().into(), ..name.clone() };
        let of = members.get("metadata").and_then(|meta| meta.get("name")).and_then(Value::as_str);
        return Err(ApiError::invalid(given, of.unwrap_or_default(), vec![cause]));
    }
    if (*kind != *name.kind && !(is_update && address.resource.custom.is_some())) || api_version != wanted {
        let why = other_kind(address, &kind, &api_version);
        return Err(cannot_be_handled(address, Some((&kind, &api_version)), &why));
    }
    members.insert("kind".to_owned(), kind.into());
    members.insert("apiVersion".to_owned(), wanted.into());
    Ok(members)
}

/// A custom resource says itself what it is (`apiextensions-apiserver`, `customresource_handler.go`).
fn check_custom_head(
    address: &Address,
    members: &Map<String, Value>,
    kind: &str,
    api_version: &str,
) -> Result<(), ApiError> {
    let name = &address.resource.name;
    let shown = || Value::Object(members.clone()).to_string();
    for (text, member) in [(kind, "Kind"), (api_version, "apiVersion")] {
        if text.is_empty() {
            let body = shown();
            let begins: String = body.chars().take(SUMMARY_MAX).collect();
            let summary = if body.len() > SUMMARY_MAX { format!("{begins} ...") } else { begins };
            return Err(ApiError::bad_request(&format!(
                "the object provided is unrecognized (must be of type {}): Object '{member}' is missing in '{body}' ({summary})",
                name.kind
            )));
        }
    }
    if api_version == address.resource.api_version() && kind != &*name.kind && address.name.is_none() {
        let object = members.get("metadata").and_then(|meta| meta.get("name")).and_then(Value::as_str);
        let cause = Cause::invalid("kind", &format!("{kind:?}"), &format!("must be {}", name.kind));
        let given = ResourceName { kind: kind.into(), ..name.clone() };
        return Err(ApiError::invalid(given, object.unwrap_or_default(), vec![cause]));
    }
    Ok(())
}

/// What is said of a body that names no kind.
fn no_kind(kind: &str, body: &str, shown: &str) -> ApiError {
    ApiError::bad_request(&format!(
        "the object provided is unrecognized (must be of type {kind}): Object 'Kind' is missing in '{body}' ({shown})"
    ))
}

/// Why an object of another kind is none of the address'.
fn other_kind(address: &Address, kind: &str, api_version: &str) -> String {
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    if types().name_of(group, version, kind).is_none() {
        return format!(
            "no kind {kind:?} is registered for version {api_version:?} in scheme \"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30\""
        );
    }
    let name = &address.resource.name;
    let package = match name.group.split('.').next().unwrap_or_default() {
        "" | "events" => "core",
        package => package,
    };
    format!("converting ({version}.{kind}) to ({package}.{}): unknown conversion", name.kind)
}

fn cannot_be_handled(address: &Address, given: Option<(&str, &str)>, why: &str) -> ApiError {
    let resource = &address.resource;
    let (kind, version) = match given {
        Some((kind, api_version)) => (kind, api_version.rsplit('/').next().unwrap_or_default()),
        None => (&*resource.name.kind, &*resource.version),
    };
    ApiError::bad_request(&format!(
        "{kind} in version \"{version}\" cannot be handled as a {}: {why}",
        resource.name.kind
    ))
}

/// The namespace of an object is that of the address.
fn check_namespace(address: &Address, value: &mut Value) -> Result<(), ApiError> {
    let namespace = value.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or_default();
    match &address.namespace {
        Some(expected) if !namespace.is_empty() && namespace != expected.as_str() => {
            Err(ApiError::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ))
        }
        None if !namespace.is_empty() && !address.resource.is_namespaced => {
            if let Some(Value::Object(meta)) = value.get_mut("metadata") {
                meta.remove("namespace");
            }
            Ok(())
        }
        Some(_) | None => Ok(()),
    }
}

/// The name of an object is that of the address.
///
/// # Errors
/// 400 where it is not.
pub(super) fn check_name(address: &Address, name: &str) -> Result<(), ApiError> {
    let wanted = address.name.as_ref().map_or("", |name| name.as_str());
    if name.is_empty() {
        return Err(ApiError::bad_request(&format!(
            "the name of the object ({wanted} based on URL) was undeterminable: name must be provided"
        )));
    }
    if name != wanted {
        return Err(ApiError::bad_request(&format!(
            "the name of the object ({name}) does not match the name on the URL ({wanted})"
        )));
    }
    Ok(())
}

/// Reads what a patch has made of an object.
///
/// # Errors
/// 422 where it is none any more, 400 where it is another one.
pub(super) fn patched(
    address: &Address,
    kind: PatchType,
    value: Value,
    patch: &Value,
    terms: &mut Terms,
) -> Result<Value, ApiError> {
    let shown = match kind {
        PatchType::Strategic => form::go_map(patch),
        PatchType::Merge | PatchType::Json | PatchType::Apply => value.to_string(),
    };
    let wrong = |why: &str| ApiError::invalid_patch(&shown, why);
    let mut value = value;
    let wanted = (&*address.resource.name.kind, address.resource.api_version());
    let text = |member: &str| value.get(member).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (given, api_version) = (text("kind"), text("apiVersion"));
    match kind {
        // A strategic patch is laid over the object's own type: kind and version say nothing.
        PatchType::Strategic => {
            value["kind"] = wanted.0.into();
            value["apiVersion"] = wanted.1.clone().into();
        }
        PatchType::Merge | PatchType::Json | PatchType::Apply => {
            let given = if given.is_empty() { wanted.0.to_owned() } else { given };
            let api_version = if api_version.is_empty() { wanted.1.clone() } else { api_version };
            if address.resource.custom.is_some() && given != wanted.0 && api_version == wanted.1 {
                let cause = Cause::invalid("kind", &format!("{given:?}"), &format!("must be {}", wanted.0));
                let named = ResourceName { kind: given.as_str().into(), ..address.resource.name.clone() };
                let object = value.pointer("/metadata/name").and_then(Value::as_str);
                return Err(ApiError::invalid(named, object.unwrap_or_default(), vec![cause]));
            }
            if given != wanted.0 || api_version != wanted.1 {
                return Err(wrong(&other_kind(address, &given, &api_version)));
            }
        }
    }
    let unknown = custom::take_in(&address.resource, &mut value)?;
    if address.resource.custom.is_some() {
        terms.strict(&unknown).map_err(|why| wrong(&why))?;
    }
    if let Some(of) = go_type(&address.resource) {
        let decoded = form::decode(of, &value);
        let decoded = decoded.map_err(|why| match kind {
            PatchType::Strategic if why.starts_with("illegal base64") => {
                wrong(&format!("error decoding from json: {why}"))
            }
            PatchType::Strategic => wrong(&form::restored(of, &value).unwrap_or(why)),
            PatchType::Merge | PatchType::Json | PatchType::Apply => wrong(&why),
        })?;
        terms.strict(&decoded.unknown).map_err(|why| wrong(&why))?;
        value = with_reset(&value, decoded.object);
    }
    check_namespace(address, &mut value)?;
    let name = value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    check_name(address, name)?;
    Ok(value)
}

/// Whether a configuration can be applied at an address.
///
/// # Errors
/// 400.
pub(super) fn check_applied(address: &Address, body: &Value) -> Result<(), ApiError> {
    if !body.is_object() {
        let why = format!(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {} into Go value of \
             type map[string]interface {{}}",
            form::word_for(body)
        );
        return Err(ApiError::bad_request(&why));
    }
    let text = |member: &str| body.get(member).and_then(Value::as_str).unwrap_or_default();
    let (kind, api_version) = (text("kind"), text("apiVersion"));
    if kind != &*address.resource.name.kind || api_version != address.resource.api_version() {
        let shown =
            if api_version.contains('/') { api_version.to_owned() } else { format!("/{api_version}") };
        return Err(ApiError::bad_request(&format!("invalid object type: {shown}, Kind={kind}")));
    }
    if body.pointer("/metadata/managedFields").is_some_and(|list| !list.is_null()) {
        return Err(ApiError::bad_request("metadata.managedFields must be nil"));
    }
    Ok(())
}

/// Reads what an apply has made of an object.
///
/// # Errors
/// 500 where a field has another type, 400 where the object is another one.
pub(super) fn applied(address: &Address, value: Value) -> Result<Value, ApiError> {
    let mut value = value;
    custom::take_in(&address.resource, &mut value)?;
    if let Some(of) = go_type(&address.resource) {
        let decoded = form::decode(of, &value);
        value = decoded.map_err(|why| unconverted(&value, &why))?.object;
    }
    check_namespace(address, &mut value)?;
    let name = value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default();
    check_name(address, name)?;
    Ok(value)
}

/// What is said of a configuration that has all its types, and cannot be read for all that. Go names no fields here.
fn unconverted(value: &Value, why: &str) -> ApiError {
    let text = |path: &str| value.pointer(path).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind, name) = (text("/apiVersion"), text("/kind"), text("/metadata/name"));
    let slash = if api_version.contains('/') { "" } else { "/" };
    let why = match (why.split_once("Go struct field "), why.rsplit_once(" of type ")) {
        (Some((before, _)), Some((_, of))) => format!("{before}Go value of type {of}"),
        (_, _) if why.starts_with("illegal base64") => format!("error decoding from json: {why}"),
        (_, _) => why.to_owned(),
    };
    let of = format!("{slash}{api_version}, Kind={kind}");
    ApiError::internal(&format!(
        "failed to convert new object (/{name}; {of}) to proper version: unable to convert unstructured object to {of}: {why}"
    ))
}

/// Reads the options of a deletion.
///
/// # Errors
/// 400 where they are none.
pub(super) fn options(body: &Value) -> Result<Value, ApiError> {
    match body {
        Value::Null => Ok(Value::Object(Map::new())),
        Value::Object(members) => match members.get("kind").and_then(Value::as_str) {
            None | Some("" | "DeleteOptions") => {
                let Some(of) = go_types().named("io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions") else {
                    return Ok(body.clone());
                };
                form::decode(of, body)
                    .map(|decoded| decoded.object)
                    .map_err(|why| ApiError::bad_request(&why))
            }
            Some(kind) => {
                let given = members.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
                let version = if given.is_empty() { "meta.k8s.io/v1" } else { given };
                let scheme = "in scheme \"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30\"";
                let why = format!("no kind {kind:?} is registered for version {version:?} {scheme}");
                Err(ApiError::bad_request(&why))
            }
        },
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            let word = form::word_for(body);
            Err(ApiError::bad_request(&format!(
                "couldn't get version/kind; json parse error: json: cannot unmarshal {word} into Go value of type {GO_HEAD}"
            )))
        }
    }
}
