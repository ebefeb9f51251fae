//! Operations: what a method of a path takes and answers, in both forms of OpenAPI.

use serde_json::{Map, Value, json};

use super::shape::Form;

/// What a method of a path takes and answers.
#[derive(Clone, Debug)]
pub(super) struct Operation {
    /// Its method, in small letters.
    pub(super) method: String,
    /// Its id, unique among all.
    pub(super) id: String,
    /// What it is listed under.
    pub(super) tag: String,
    /// What it does, for people.
    pub(super) words: String,
    /// What it does, for machines; none for discovery.
    pub(super) action: Option<String>,
    /// What it is about: group, version, kind.
    pub(super) about: Option<(String, String, String)>,
    /// Names of query and path parameters.
    pub(super) parameters: Vec<String>,
    /// What it takes.
    pub(super) body: Option<Body>,
    /// Codes of answers that have a body.
    pub(super) codes: Vec<&'static str>,
    /// The type of the answers; a string where there is none.
    pub(super) answers: Option<String>,
    /// Media types that it takes.
    pub(super) consumes: Vec<String>,
    /// Media types that it answers in.
    pub(super) produces: Vec<&'static str>,
}

/// What an operation takes.
#[derive(Clone, Debug)]
pub(super) struct Body {
    /// Its type.
    pub(super) name: String,
    /// Whether it must be there.
    pub(super) is_required: bool,
}

/// A path with its operations. Parameters that all of them take are the path's own.
pub(super) fn path_item(operations: &[Operation], form: Form) -> Value {
    let shared: Vec<&String> = operations.first().map_or_else(Vec::new, |first| {
        let is_shared = |name: &&String| operations.iter().all(|one| one.parameters.contains(*name));
        first.parameters.iter().filter(is_shared).collect()
    });
    let mut made = Map::new();
    for one in operations {
        made.insert(one.method.clone(), operation(one, &shared, form));
    }
    if !shared.is_empty() {
        let is_again = |at: usize| shared[..at].contains(&shared[at]);
        let named = shared.iter().enumerate();
        let parameters: Vec<Value> =
            named.map(|(at, name)| parameter(name, is_again(at), operations, form)).collect();
        made.insert("parameters".into(), parameters.into());
    }
    Value::Object(made)
}

fn operation(one: &Operation, shared: &[&String], form: Form) -> Value {
    let mut made = json!({"operationId": one.id, "tags": [one.tag], "description": one.words});
    let own = one.parameters.iter().filter(|name| !shared.contains(name));
    let mut parameters: Vec<Value> =
        own.map(|name| parameter(name, false, std::slice::from_ref(one), form)).collect();
    match form {
        Form::V2 => {
            made["consumes"] = json!(one.consumes);
            made["produces"] = json!(one.produces);
            made["schemes"] = json!(["https"]);
            if let Some(body) = &one.body {
                let mut given = json!({"name": "body", "in": "body", "schema": form.refer(&body.name)});
                if body.is_required {
                    given["required"] = true.into();
                }
                parameters.insert(0, given);
            }
        }
        Form::V3 => {
            if let Some(body) = &one.body {
                let mut content = content(one.consumes.iter().map(String::as_str), &form.refer(&body.name));
                if body.is_required {
                    content["required"] = true.into();
                }
                made["requestBody"] = content;
            }
        }
    }
    if !parameters.is_empty() {
        made["parameters"] = parameters.into();
    }
    made["responses"] = responses(one, form);
    if let Some(action) = &one.action {
        made["x-kubernetes-action"] = action.as_str().into();
    }
    if let Some((group, version, kind)) = &one.about {
        made["x-kubernetes-group-version-kind"] = json!({"group": group, "version": version, "kind": kind});
    }
    made
}

fn responses(one: &Operation, form: Form) -> Value {
    let schema = one.answers.as_ref().map_or_else(|| json!({"type": "string"}), |name| form.refer(name));
    let mut made = json!({"401": {"description": "Unauthorized"}});
    for code in &one.codes {
        let mut answer = match form {
            Form::V2 => json!({"schema": schema}),
            Form::V3 => content(one.produces.iter().copied(), &schema),
        };
        answer["description"] = match *code {
            "201" => "Created",
            "202" => "Accepted",
            _ => "OK",
        }
        .into();
        made[*code] = answer;
    }
    made
}

fn content<'a>(media_types: impl Iterator<Item = &'a str>, schema: &Value) -> Value {
    let all: Map<String, Value> =
        media_types.map(|media_type| (media_type.to_owned(), json!({"schema": schema}))).collect();
    json!({"content": all})
}

/// A parameter; `is_again`: one of this name stands before it.
fn parameter(name: &str, is_again: bool, of: &[Operation], form: Form) -> Value {
    let basic = match name {
        "allowWatchBookmarks"
        | "follow"
        | "force"
        | "ignoreStoreReadErrorWithClusterBreakingPotential"
        | "insecureSkipTLSVerifyBackend"
        | "orphanDependents"
        | "previous"
        | "sendInitialEvents"
        | "stderr"
        | "stdin"
        | "stdout"
        | "timestamps"
        | "tty"
        | "watch" => "boolean",
        "gracePeriodSeconds" | "limit" | "limitBytes" | "ports" | "sinceSeconds" | "tailLines"
        | "timeoutSeconds" => "integer",
        _ => "string",
    };
    let is_of_path = match name {
        "name" | "namespace" => true,
        // A proxy takes its path in the URL, and as a parameter.
        "path" => !is_again && of.iter().all(|one| one.id.ends_with("WithPath")),
        _ => false,
    };
    let mut made = json!({"name": name, "in": if is_of_path { "path" } else { "query" }});
    if is_of_path {
        made["required"] = true.into();
    }
    match form {
        Form::V2 => {
            made["type"] = basic.into();
            made["uniqueItems"] = true.into();
        }
        Form::V3 => made["schema"] = json!({"type": basic, "uniqueItems": true}),
    }
    made
}
