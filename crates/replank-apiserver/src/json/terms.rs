//! How a write is to be made: what a request says beside its body (`CreateOptions`, `UpdateOptions`, `PatchOptions`).

use serde_json::Value;

use super::Effect;
use super::patch::{self, PatchType};
use super::path::Address;
use super::request::{Method, Repeated, Request, Spoken};
use crate::server::{ApiError, Cause, ResourceName};

/// How a write is to be made.
#[derive(Debug)]
pub struct Terms {
    pub(super) effect: Effect,
    /// The client, where the request came over the wire.
    pub(super) client: Option<Client>,
    /// What the client is warned of.
    pub(super) warnings: Vec<String>,
    /// Whether a client's patch led to what is written.
    pub(super) is_patch: bool,
    /// Whether the write has made an object.
    pub(super) has_created: bool,
    /// Whether it is written down in the object already who manages what.
    pub(super) is_accounted: bool,
}

/// What the wire knows of a client.
#[derive(Clone, Debug)]
pub(super) struct Client {
    /// Manager of the fields that it writes.
    pub(super) manager: String,
    pub(super) strictness: Strictness,
    /// Members that stand twice in the body.
    pub(super) duplicates: Vec<Repeated>,
    /// Whether fields of other managers are taken over by an apply.
    pub(super) force: bool,
    /// The version in which it writes, where that is not the one that is kept.
    pub(super) spoken: Option<Spoken>,
    /// The version by which it manages fields, where its types are not known.
    pub(super) named: Option<Spoken>,
}

/// What becomes of unknown and duplicate fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Strictness {
    Ignore,
    Warn,
    Strict,
}

const MANAGER_MAX: usize = 128;

impl Terms {
    /// For writes of the program itself.
    pub(super) fn own(effect: Effect) -> Self {
        Self {
            effect,
            client: None,
            warnings: Vec::new(),
            has_created: false,
            is_patch: false,
            is_accounted: false,
        }
    }

    /// Reads what a request asks for.
    ///
    /// # Errors
    /// 400 or 422 where an option is none.
    pub(super) fn read(address: &Address, request: &Request) -> Result<Self, ApiError> {
        let Some(wire) = &request.wire else { return Ok(Self::own(address.effect(&request.body)?)) };
        let options = match request.method {
            Method::Get => return Ok(Self::own(Effect::Real)),
            Method::Delete => return Ok(Self::own(deletion_effect(address, &request.body))),
            Method::Post => "CreateOptions",
            Method::Put => "UpdateOptions",
            Method::Patch => "PatchOptions",
        };
        let is_apply = request.content_type.starts_with("application/apply-patch");
        if request.method == Method::Patch
            && let Ok(kind) = PatchType::of(&request.content_type)
        {
            patch::check_type(&address.resource, kind)?;
        }
        let given = address.parameter("fieldManager").unwrap_or_default();
        let mut causes = Vec::new();
        let mut force = false;
        if request.method == Method::Patch {
            force = address.parameter("force").is_some_and(|text| !matches!(text, "false" | "0"));
            if is_apply && given.is_empty() {
                causes.push(Cause::required("fieldManager", "is required for apply patch"));
            }
            if !is_apply && address.parameter("force").is_some() {
                causes.push(Cause::forbidden("force", "may not be specified for non-apply patch"));
            }
        }
        causes.extend(bad_manager(given));
        let dry: Vec<&str> = address.parameters_named("dryRun").collect();
        if dry.iter().any(|word| *word != "All") {
            causes.push(Cause {
                reason: "FieldValueNotSupported",
                message: format!("Unsupported value: {}: supported values: \"All\"", listed(&dry)),
                field: Some("dryRun".to_owned()),
            });
        }
        let word = address.parameter("fieldValidation").unwrap_or_default();
        let strictness = match word {
            "Ignore" => Strictness::Ignore,
            "Strict" => Strictness::Strict,
            "" | "Warn" => Strictness::Warn,
            other => {
                let supported = ["", "Ignore", "Strict", "Warn"];
                causes.push(Cause::not_supported("fieldValidation", other, &supported));
                Strictness::Warn
            }
        };
        if !causes.is_empty() {
            let name =
                ResourceName { group: "meta.k8s.io".into(), plural: options.into(), kind: options.into() };
            return Err(ApiError::invalid(name, "", causes));
        }
        let manager = if given.is_empty() { of_agent(&wire.user_agent) } else { given.to_owned() };
        let effect = if dry.is_empty() { Effect::Real } else { Effect::DryRun };
        let client = Client {
            manager,
            strictness,
            duplicates: wire.duplicates.clone(),
            force,
            spoken: wire.spoken.clone(),
            named: wire.named.clone(),
        };
        Ok(Self {
            effect,
            client: Some(client),
            warnings: Vec::new(),
            has_created: false,
            is_patch: false,
            is_accounted: false,
        })
    }

    /// The version in which the client writes, where that is not the one that is kept.
    pub(super) fn spoken(&self) -> Option<Spoken> {
        self.client.as_ref()?.spoken.clone()
    }

    /// Unknown and duplicate fields: the client is warned, or it is an error.
    ///
    /// # Errors
    /// What strict decoding says.
    pub(super) fn strict(&mut self, unknown: &[String]) -> Result<(), String> {
        let Some(client) = &self.client else { return Ok(()) };
        let lines = lines(&client.duplicates);
        let mut others: Vec<String> = unknown.iter().map(|path| format!("unknown field {path:?}")).collect();
        others.extend(client.duplicates.iter().filter_map(|one| match one {
            Repeated::Path(path) => Some(format!("duplicate field {path:?}")),
            Repeated::Line(..) => None,
        }));
        match client.strictness {
            Strictness::Strict if !lines.is_empty() || !others.is_empty() => {
                let first = (!lines.is_empty()).then(|| in_lines(&lines));
                let all: Vec<String> = first.into_iter().chain(others).collect();
                Err(format!("strict decoding error: {}", all.join(", ")))
            }
            Strictness::Strict | Strictness::Ignore => Ok(()),
            Strictness::Warn => {
                self.warnings.extend(lines.into_iter().chain(others));
                Ok(())
            }
        }
    }

    /// Duplicate fields of a configuration that is applied: it is read before anything else is looked at.
    ///
    /// # Errors
    /// 400 with what strict decoding says.
    pub(super) fn strict_configuration(&mut self) -> Result<(), ApiError> {
        let Some(client) = &self.client else { return Ok(()) };
        let lines = lines(&client.duplicates);
        match client.strictness {
            Strictness::Strict if !lines.is_empty() => Err(ApiError::bad_request(&format!(
                "error strict decoding YAML: error converting YAML to JSON: {}",
                in_lines(&lines)
            ))),
            Strictness::Strict | Strictness::Ignore => Ok(()),
            Strictness::Warn => {
                self.warnings.extend(lines);
                Ok(())
            }
        }
    }
}

/// What go-yaml says of keys that stand twice.
fn lines(duplicates: &[Repeated]) -> Vec<String> {
    let of_line = duplicates.iter().filter_map(|one| match one {
        Repeated::Line(line, key) => Some(format!("line {line}: key {key:?} already set in map")),
        Repeated::Path(_) => None,
    });
    of_line.collect()
}

fn in_lines(lines: &[String]) -> String {
    format!("yaml: unmarshal errors:\n  {}", lines.join("\n  "))
}

/// Whether a deletion is a dry run; what is none of the known words is refused with the other options.
fn deletion_effect(address: &Address, body: &Value) -> Effect {
    let in_body = body.get("dryRun").and_then(Value::as_array).is_some_and(|words| !words.is_empty());
    let is_dry = in_body || address.parameter("dryRun").is_some();
    if is_dry { Effect::DryRun } else { Effect::Real }
}

/// The manager's name where none is given: what `User-Agent` begins with.
pub fn of_agent(agent: &str) -> String {
    let first = agent.split('/').next().unwrap_or_default();
    let mut name = String::new();
    for letter in first.chars().filter(|letter| !letter.is_control()) {
        if name.len() + letter.len_utf8() > MANAGER_MAX {
            break;
        }
        name.push(letter);
    }
    name
}

fn bad_manager(name: &str) -> Vec<Cause> {
    let mut causes = Vec::new();
    if name.len() > MANAGER_MAX {
        causes.push(Cause {
            reason: "FieldValueTooLong",
            message: format!("Too long: may not be more than {MANAGER_MAX} bytes"),
            field: Some("fieldManager".to_owned()),
        });
    }
    for (at, letter) in name.char_indices().filter(|(_, letter)| letter.is_control()) {
        let code = u32::from(letter);
        let shown = format!("\"{}\"", name.escape_debug().to_string().replace("\\u{1}", "\\x01"));
        let why = format!("invalid character U+{code:04X} (at position {at})");
        causes.push(Cause::invalid("fieldManager", &shown, &why));
    }
    causes
}

fn listed(words: &[&str]) -> String {
    Value::from(words.to_vec()).to_string()
}
