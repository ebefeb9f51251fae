//! Bodies of requests.

use replank_apiserver::ApiError;
use replank_apiserver::json::Repeated;
use serde_json::Value;

use super::media::Encoding;
use super::{json, proto, yaml};

/// A body that has been read.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Body {
    /// What it says; `Null` for none.
    pub(crate) value: Value,
    /// Members that stand twice in their object.
    pub(crate) duplicates: Vec<Repeated>,
}

/// What a body should be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Expected<'a> {
    /// An object of a kind: `apiVersion` and kind.
    Object(&'a str, &'a str),
    /// Options of a deletion.
    Options,
    /// A patch, whose media type says how it is applied.
    Patch,
    /// Whatever a proxy or a stream is sent.
    Nothing,
}

const PATCHES: [&str; 4] = [
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

/// Reads a body.
///
/// # Errors
/// 400 for what cannot be read, 415 for a media type that is not taken.
pub(crate) fn decode(
    content_type: &str,
    bytes: &[u8],
    expected: Expected<'_>,
    is_custom: bool,
) -> Result<Body, ApiError> {
    let essence = content_type.split(';').next().unwrap_or_default().trim();
    match expected {
        Expected::Nothing => Ok(Body::default()),
        Expected::Patch => patch(essence, bytes, is_custom),
        Expected::Options if bytes.is_empty() => Ok(Body::default()),
        Expected::Object(..) | Expected::Options => object(content_type, essence, bytes, expected),
    }
}

fn object(content_type: &str, essence: &str, bytes: &[u8], expected: Expected<'_>) -> Result<Body, ApiError> {
    let encoding = match essence {
        "" if content_type.is_empty() => Encoding::Json,
        "application/json" => Encoding::Json,
        "application/yaml" => Encoding::Yaml,
        "application/vnd.kubernetes.protobuf" => Encoding::Protobuf,
        _ => {
            let types = [Encoding::Json, Encoding::Yaml, Encoding::Protobuf].map(Encoding::media_type);
            return Err(ApiError::unsupported_media_type(&types));
        }
    };
    let read = match encoding {
        Encoding::Json => json::read(bytes)
            .map(|read| (read.value, paths(read.duplicates)))
            .and_then(|(value, duplicates)| kind(&value).map(|()| (value, duplicates)))
            .map_err(|why| format!("couldn't get version/kind; json parse error: {why}")),
        Encoding::Yaml => from_yaml(bytes),
        Encoding::Protobuf if bytes.is_empty() => Err("empty data".to_owned()),
        Encoding::Protobuf => protobuf(bytes, expected).map(|value| (value, Vec::new())),
    };
    match read {
        // What `null` is, depends on the kind.
        Ok((Value::Null, duplicates)) if matches!(expected, Expected::Object(..)) => {
            Ok(Body { value: Value::Null, duplicates })
        }
        Ok((Value::Null, duplicates)) => {
            Ok(Body { value: Value::Object(serde_json::Map::new()), duplicates })
        }
        Ok((value, duplicates)) => Ok(Body { value, duplicates }),
        Err(why) => Err(refused(bytes, &why, expected)),
    }
}

/// What Go says of a body that is no object, or whose kind is no text.
fn kind(value: &Value) -> Result<(), String> {
    const MEANT: &str = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;
    let word = |value: &Value| match value {
        Value::Null => None,
        Value::Bool(_) => Some("bool"),
        Value::Number(_) => Some("number"),
        Value::String(_) => Some("string"),
        Value::Array(_) => Some("array"),
        Value::Object(_) => Some("object"),
    };
    match (word(value), value) {
        (None, _) => Ok(()),
        (Some(_), Value::Object(members)) => {
            let wrong = ["apiVersion", "kind"].into_iter().find_map(|name| {
                let word = word(members.get(name)?).filter(|word| *word != "string")?;
                Some(format!("json: cannot unmarshal {word} into Go struct field .{name} of type string"))
            });
            wrong.map_or(Ok(()), Err)
        }
        (Some(word), _) => Err(format!("json: cannot unmarshal {word} into Go value of type {MEANT}")),
    }
}

fn paths(paths: Vec<String>) -> Vec<Repeated> {
    paths.into_iter().map(Repeated::Path).collect()
}

fn from_yaml(bytes: &[u8]) -> Result<(Value, Vec<Repeated>), String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "yaml: invalid Unicode character".to_owned())?;
    let (value, duplicates) = yaml::read(text)?;
    Ok((value, duplicates.into_iter().map(|(line, key)| Repeated::Line(line, key)).collect()))
}

fn protobuf(bytes: &[u8], expected: Expected<'_>) -> Result<Value, String> {
    let default = match expected {
        Expected::Object(api_version, kind) => (api_version, kind),
        Expected::Options | Expected::Patch | Expected::Nothing => ("v1", "DeleteOptions"),
    };
    proto::read(bytes, default).map_err(|error| error.to_string())
}

fn patch(essence: &str, bytes: &[u8], is_custom: bool) -> Result<Body, ApiError> {
    if !PATCHES.contains(&essence) {
        // The router looks first; definitions' objects do not pass it, and name no strategic patches.
        return Err(match is_custom {
            true => ApiError::unsupported_media_type(&[PATCHES[0], PATCHES[1], PATCHES[3]]),
            false => ApiError::unrouted(415, "UnsupportedMediaType", "415: Unsupported Media Type"),
        });
    }
    let refused = |why: String| ApiError::bad_request(&why);
    if essence == PATCHES[3] {
        let (value, duplicates) = from_yaml(bytes)
            .map_err(|why| refused(format!("error decoding YAML: error converting YAML to JSON: {why}")))?;
        return Ok(Body { value, duplicates });
    }
    let prefix = if essence == PATCHES[2] { "" } else { "error decoding patch: " };
    let read = json::read(bytes).map_err(|why| refused(format!("{prefix}{why}")))?;
    if essence == PATCHES[0] && !matches!(read.value, Value::Array(_) | Value::Null) {
        let word = match read.value {
            Value::Object(_) => "object",
            Value::String(_) => "string",
            Value::Bool(_) => "bool",
            Value::Null | Value::Number(_) | Value::Array(_) => "number",
        };
        let why = format!("json: cannot unmarshal {word} into Go value of type []handlers.jsonPatchOp");
        return Err(refused(format!("{prefix}{why}")));
    }
    Ok(Body { value: read.value, duplicates: paths(read.duplicates) })
}

fn refused(bytes: &[u8], why: &str, expected: Expected<'_>) -> ApiError {
    ApiError::bad_request(&match expected {
        Expected::Object(_, kind) => match why.strip_prefix("no kind \"") {
            Some(rest) => {
                let (word, rest) = rest.split_once('"').unwrap_or_default();
                let version = rest.split('"').nth(1).unwrap_or_default();
                format!("{word} in version \"{version}\" cannot be handled as a {kind}: {why}")
            }
            None => {
                let shown = summary(bytes);
                format!("the object provided is unrecognized (must be of type {kind}): {why} ({shown})")
            }
        },
        Expected::Options | Expected::Patch | Expected::Nothing => why.to_owned(),
    })
}

/// The first bytes of a body: as text where it may be JSON, else in hexadecimal.
fn summary(bytes: &[u8]) -> String {
    const SHOWN: usize = 30;
    let (shown, rest) = bytes.split_at(bytes.len().min(SHOWN));
    let more = if rest.is_empty() { "" } else { " ..." };
    match shown.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(shown)),
        Some(_) => {
            let digits: String = shown.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{digits}{more}")
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const MAP: Expected<'_> = Expected::Object("v1", "ConfigMap");

    fn error(content_type: &str, bytes: &[u8], expected: Expected<'_>) -> (u16, String) {
        let error = decode(content_type, bytes, expected, false).expect_err("it is refused");
        (error.code, error.message)
    }

    #[test]
    fn what_cannot_be_read_is_shown() {
        let prefix = "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: ";
        let told = error("application/json", b"{", MAP);
        assert_eq!(told, (400, format!("{prefix}unexpected end of JSON input ({{)")));
        assert!(error("", b"[1]", MAP).1.ends_with(r#"kind,omitempty\"" } (5b315d)"#));
        assert!(error("", b"", MAP).1.ends_with("unexpected end of JSON input (<empty>)"));
        assert_eq!(error("text/plain", b"{}", MAP).0, 415);
        assert_eq!(
            error("application/json", b"{}", Expected::Patch),
            (415, "415: Unsupported Media Type".to_owned())
        );
        let patch = error("application/json-patch+json", b"{}", Expected::Patch).1;
        assert_eq!(
            patch,
            "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
        );
        let options = error("application/json", b"{", Expected::Options).1;
        assert_eq!(options, "couldn't get version/kind; json parse error: unexpected end of JSON input");
    }

    #[test]
    fn every_encoding_is_read() {
        let yaml = decode("application/yaml", b"a: 1\na: 2\n", MAP, false).expect("it is YAML");
        assert_eq!((yaml.value, yaml.duplicates), (json!({"a": 2}), vec![Repeated::Line(2, "a".to_owned())]));
        let json = decode("application/json; charset=utf-8", b"{\"a\":1}", MAP, false).expect("it is JSON");
        assert_eq!(json.value, json!({"a": 1}));
        let object =
            json!({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": "m"}, "data": {"a": "b"}});
        let bytes = proto::write(&object).expect("it has a message");
        let protobuf =
            decode("application/vnd.kubernetes.protobuf", &bytes, MAP, false).expect("it is protobuf");
        assert_eq!(protobuf.value, object);
    }

    /// Numbers that look random and are the same each time.
    fn next(state: &mut u64) -> usize {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) as usize
    }

    #[test]
    fn no_bytes_make_it_panic() {
        let pod = json!({"kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p", "labels": {"a": "b"}, "creationTimestamp": "2026-11-25T08:00:00Z",
            "managedFields": [{"fieldsV1": {"f:x": {}}}]}, "spec": {"containers": [{"name": "c", "resources": {"limits": {"cpu": "1"}},
            "ports": [{"containerPort": 80}], "livenessProbe": {"httpGet": {"port": "http"}}}]}});
        let seeds = [
            ("application/vnd.kubernetes.protobuf", proto::write(&pod).expect("it has a message")),
            ("application/json", pod.to_string().into_bytes()),
            ("application/yaml", yaml::write(&pod).into_bytes()),
        ];
        let (mut state, mut refused, mut taken) = (1_u64, 0, 0);
        for (content_type, seed) in &seeds {
            for _ in 0..3_000 {
                let mut bytes = seed.clone();
                for _ in 0..=next(&mut state) % 4 {
                    let at = next(&mut state) % bytes.len();
                    match next(&mut state) % 4 {
                        0 => bytes[at] = next(&mut state) as u8,
                        1 => bytes[at] ^= 1 << (next(&mut state) % 8),
                        2 => bytes.truncate(at.max(1)),
                        _ => bytes.insert(at, next(&mut state) as u8),
                    }
                }
                match decode(content_type, &bytes, Expected::Object("v1", "Pod"), false) {
                    // What was read can be written, too.
                    Ok(body) => {
                        drop((proto::write(&body.value), yaml::write(&body.value)));
                        taken += 1;
                    }
                    Err(error) => {
                        assert_eq!(error.code, 400, "{}", error.message);
                        refused += 1;
                    }
                }
            }
        }
        assert!(refused > 1_000 && taken > 1_000, "{refused} refused, {taken} taken");
    }
}
