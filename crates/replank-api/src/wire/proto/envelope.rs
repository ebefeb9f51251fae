//! Whole objects, as they are on the wire.

use serde_json::Value;

use super::shape::name_of;
use super::wire::{Broken, put_bytes};
use super::{decode, encode, unknown};

/// Reads an object in its envelope. `default` says which kind it is where the envelope does not: `apiVersion` and kind.
///
/// # Errors
/// What is no protobuf, and kinds that there are not.
pub(crate) fn read(bytes: &[u8], default: (&str, &str)) -> Result<Value, Broken> {
    let Some(rest) = bytes.strip_prefix(unknown::MAGIC) else { return Err(Broken::Prefix) };
    if rest.is_empty() {
        return Err(Broken::Empty);
    }
    let mut opened = unknown::open(rest)?;
    if opened.api_version.is_empty() && opened.kind.is_empty() {
        (opened.api_version, opened.kind) = (default.0.to_owned(), default.1.to_owned());
    }
    decode::object(&opened, 0)
}

/// Writes an object in its envelope; `None` for a kind that has no message.
#[must_use]
pub(crate) fn write(object: &Value) -> Option<Vec<u8>> {
    let (api_version, kind) = kind_of(object);
    Some(unknown::close(api_version, kind, &message(object)?))
}

/// Writes an object without an envelope; `None` for a kind that has no message.
#[must_use]
pub(crate) fn message(object: &Value) -> Option<Vec<u8>> {
    let (api_version, kind) = kind_of(object);
    let (group, version) = unknown::group_version(api_version);
    let mut raw = Vec::with_capacity(512);
    encode::message(&name_of(group, version, kind)?, object, &mut raw)?;
    Some(raw)
}

fn kind_of(object: &Value) -> (&str, &str) {
    let word = |name: &str| object.get(name).and_then(Value::as_str).unwrap_or_default();
    (word("apiVersion"), word("kind"))
}

/// An event of a watch, less the length in front of it: its object is in an envelope, it itself is not.
#[must_use]
pub(crate) fn frame(what: &str, object: &[u8]) -> Vec<u8> {
    let mut raw = Vec::with_capacity(object.len() + 8);
    put_bytes(&mut raw, 1, object);
    let mut event = Vec::with_capacity(raw.len() + 24);
    put_bytes(&mut event, 1, what.as_bytes());
    put_bytes(&mut event, 2, &raw);
    let mut frame = Vec::with_capacity(event.len() + 4);
    frame.extend_from_slice(&u32::try_from(event.len()).unwrap_or(u32::MAX).to_be_bytes());
    frame.extend_from_slice(&event);
    frame
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_deployment_comes_back_as_it_was() {
        let web = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "web", "labels": {"app": "web"}, "creationTimestamp": "2026-11-25T08:00:00Z",
                "managedFields": [{"manager": "m", "operation": "Apply", "fieldsV1": {"f:spec": {}}}]},
            "spec": {"replicas": 0, "paused": false, "selector": {"matchLabels": {"app": "web"}},
                "strategy": {"rollingUpdate": {"maxSurge": "25%", "maxUnavailable": 1}},
                "template": {"metadata": {}, "spec": {"containers": [{"name": "c", "image": "nginx",
                    "resources": {"requests": {"cpu": "100m"}},
                    "livenessProbe": {"httpGet": {"path": "/", "port": "http"}, "periodSeconds": 3}}],
                    "volumes": [{"name": "v", "emptyDir": {}}]}}},
            "status": {"observedGeneration": -1}});
        let bytes = write(&web).expect("it has a message");
        assert_eq!(&bytes[..4], b"k8s\0");
        let mut expected = web.clone();
        // A bool that is no pointer is left out when it is false.
        expected["spec"].as_object_mut().expect("it is one").remove("paused");
        assert_eq!(read(&bytes, ("", "")).expect("it is one"), expected);
    }

    #[test]
    fn definitions_and_secrets_have_forms_of_their_own() {
        let crd = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "a"},
            "spec": {"group": "g", "scope": "Cluster", "names": {"plural": "a", "kind": "A"}, "versions": [{"name": "v1",
                "served": true, "storage": false, "schema": {"openAPIV3Schema": {"type": "object", "properties": {"x": {
                    "default": {"a": [1, 2.5, null]}, "items": {"type": "string"}, "additionalProperties": true, "enum": ["b", 3]}}}}}]},
            "status": {"acceptedNames": {"plural": "", "kind": ""}, "conditions": null, "storedVersions": null}});
        assert_eq!(read(&write(&crd).expect("it has"), ("", "")).expect("it is one"), crd);
        let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {}, "data": {"a": "AP8=", "b": ""}, "type": "x"});
        assert_eq!(read(&write(&secret).expect("it has"), ("", "")).expect("it is one"), secret);
    }

    #[test]
    fn what_is_no_protobuf_is_refused() {
        assert!(matches!(read(b"{}", ("v1", "Pod")), Err(Broken::Prefix)));
        assert!(matches!(read(b"k8s\0\x12\x05a", ("v1", "Pod")), Err(Broken::End)));
        let unknown = read(b"k8s\0\x0a\x07\x0a\x02v1\x12\x01X", ("", "")).unwrap_err().to_string();
        assert!(unknown.starts_with("no kind \"X\" is registered for version \"v1\""), "{unknown}");
        assert!(matches!(read(b"k8s\0", ("v1", "Eviction")), Err(Broken::Empty)));
    }
}
