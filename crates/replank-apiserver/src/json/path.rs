//! Paths of the API: which resource, which object, which of its subresources.

use replank_model::object::meta::Key;
use replank_model::text::{Name, Namespace};
use serde_json::Value;

use super::Effect;
use crate::server::ResourceType;
use crate::server::{Api, ApiError};

/// Where a request goes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    /// The resource.
    pub resource: ResourceType,
    /// The namespace; `None` for cluster-scoped resources, and for all namespaces.
    pub namespace: Option<Namespace>,
    /// The object; `None` for the collection.
    pub name: Option<Name>,
    /// A part of the object that is written on its own.
    pub subresource: Option<Subresource>,
    /// What stands behind the `?`.
    pub(super) parameters: Vec<(String, String)>,
}

/// A part of an object that is read or written on its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Subresource {
    /// `status`.
    Status,
    /// `scale`.
    Scale,
    /// `eviction`, of pods.
    Eviction,
    /// `binding`, of pods.
    Binding,
    /// `ephemeralcontainers`, of pods.
    EphemeralContainers,
    /// `resize`, of pods.
    Resize,
    /// `approval`, of certificate signing requests.
    Approval,
    /// `finalize`, of namespaces.
    Finalize,
}

impl Subresource {
    /// The part's name in a path.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Status => "status",
            Self::Scale => "scale",
            Self::Eviction => "eviction",
            Self::Binding => "binding",
            Self::EphemeralContainers => "ephemeralcontainers",
            Self::Resize => "resize",
            Self::Approval => "approval",
            Self::Finalize => "finalize",
        }
    }
}

impl Address {
    /// A resource in a namespace, or an object in it.
    #[must_use]
    pub fn new(resource: ResourceType, namespace: Option<Namespace>, name: Option<Name>) -> Self {
        let namespace = namespace.filter(|_| resource.is_namespaced);
        Self { resource, namespace, name, subresource: None, parameters: Vec::new() }
    }

    /// The same object's subresource.
    #[must_use]
    pub fn with(self, subresource: Subresource) -> Self {
        Self { subresource: Some(subresource), ..self }
    }

    /// The same address with a query parameter.
    #[must_use]
    pub fn with_parameter(mut self, name: &str, value: &str) -> Self {
        self.parameters.push((name.to_owned(), value.to_owned()));
        self
    }

    /// The object's key; `None` for a collection.
    #[must_use]
    pub fn key(&self) -> Option<Key> {
        Some(Key { namespace: self.namespace.clone().unwrap_or_default(), name: self.name.clone()? })
    }

    /// The value of a query parameter.
    #[must_use]
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// All values of a query parameter.
    pub(super) fn parameters_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.parameters.iter().filter(move |(key, _)| key == name).map(|(_, value)| value.as_str())
    }

    /// Whether the request is a dry run, by its query or its body (DeleteOptions).
    pub(super) fn effect(&self, body: &Value) -> Result<Effect, ApiError> {
        let in_body = body.get("dryRun").and_then(|list| list.get(0)).and_then(Value::as_str);
        let in_body = in_body.filter(|_| body.get("kind").is_none_or(|kind| kind == "DeleteOptions"));
        match self.parameter("dryRun").or(in_body) {
            None | Some("") => Ok(Effect::Real),
            Some("All") => Ok(Effect::DryRun),
            Some(other) => Err(ApiError::bad_request(&format!("invalid dryRun value: {other}"))),
        }
    }
}

impl Api {
    /// Reads a path with its query.
    ///
    /// # Errors
    /// 404 where no resource is behind it.
    pub fn address(&self, path: &str) -> Result<Address, ApiError> {
        let (path, query) = path.split_once('?').unwrap_or((path, ""));
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (api_version, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => ((*version).to_owned(), rest),
            ["apis", group, version, rest @ ..] => (format!("{group}/{version}"), rest),
            _ => return Err(ApiError::no_resource()),
        };
        let resolve = |plural: &str| self.resource_of_plural(&api_version, plural);
        // `namespaces/x/pods` is a resource in a namespace, `namespaces/x` and `namespaces/x/status` are the namespace.
        let (namespace, rest) = match rest {
            ["namespaces", namespace, rest @ ..]
                if !rest.is_empty() && *rest != ["status"] && *rest != ["finalize"] =>
            {
                (Some(Namespace::from(*namespace)), rest)
            }
            rest => (None, rest),
        };
        let (plural, name, subresource) = match rest {
            // Bindings are made, not kept: what is written is a part of a pod.
            ["bindings"] if api_version == "v1" => ("pods", None, Some(Subresource::Binding)),
            [plural] => (*plural, None, None),
            [plural, name] => (*plural, Some(Name::from(*name)), None),
            [plural, name, part] => {
                let part = subresource(&resolve(plural)?, part)?;
                (*plural, Some(Name::from(*name)), Some(part))
            }
            _ => return Err(ApiError::no_resource()),
        };
        Ok(Address {
            resource: resolve(plural)?,
            namespace,
            name,
            subresource,
            parameters: parameters(query),
        })
    }
}

/// The parameters of a query.
pub(super) fn parameters(query: &str) -> Vec<(String, String)> {
    let pairs = query.split('&').filter(|pair| !pair.is_empty());
    let read = pairs.map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (unescape(key), unescape(value))
    });
    read.collect()
}

/// The part of a resource that a word in a path names, if the resource has it.
fn subresource(resource: &ResourceType, word: &str) -> Result<Subresource, ApiError> {
    let part = match (word, &*resource.name.plural) {
        ("status", _) => Subresource::Status,
        ("scale", _) => Subresource::Scale,
        ("eviction", "pods") => Subresource::Eviction,
        ("binding", "pods") => Subresource::Binding,
        ("ephemeralcontainers", "pods") => Subresource::EphemeralContainers,
        ("resize", "pods") => Subresource::Resize,
        ("approval", "certificatesigningrequests") => Subresource::Approval,
        ("finalize", "namespaces") => Subresource::Finalize,
        _ => return Err(ApiError::no_resource()),
    };
    Ok(part)
}

/// Takes percent escapes and pluses out of a part of a query.
fn unescape(text: &str) -> String {
    let mut bytes: Vec<u8> = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        match byte {
            b'+' => bytes.push(b' '),
            b'%' => {
                let digits = [rest.next().unwrap_or(b'0'), rest.next().unwrap_or(b'0')];
                let digits = std::str::from_utf8(&digits).unwrap_or("00");
                bytes.push(u8::from_str_radix(digits, 16).unwrap_or(b'?'));
            }
            byte => bytes.push(byte),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_undone_and_broken_ones_do_no_harm() {
        assert_eq!(unescape("a%3Db%2Cc+d"), "a=b,c d");
        assert_eq!(unescape("100%"), "100\0");
        assert_eq!(unescape("%zz"), "?");
    }
}
