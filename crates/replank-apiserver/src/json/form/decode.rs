//! From JSON to an object of the kind's Go type: what a body is read as, and what it is refused with (`sigs.k8s.io/json`,
//! and apimachinery's `serializer/json`).
//!
//! Members are read in the order of their names. The first member of a wrong type is what is reported, unless a type that
//! reads itself fails anywhere: that ends the reading.

use replank_schema::{GoForm, GoId, GoOwn, GoStruct, GoTypes, GoZero, go_types};
use serde_json::{Map, Value};

use super::own::{self, Wrong, word_for};

/// An object that was read.
#[derive(Debug)]
pub(in crate::json) struct Decoded {
    /// Without unknown members, nulls, and zeros that say the same as nothing.
    pub(in crate::json) object: Value,
    /// Paths of members that the type does not have, in the order in which they are read.
    pub(in crate::json) unknown: Vec<String>,
}

/// Reads an object as a Go type.
///
/// # Errors
/// What Go says of it.
pub(in crate::json) fn decode(of: GoId, value: &Value) -> Result<Decoded, String> {
    let mut reader = Reader {
        types: go_types(),
        structs: Vec::new(),
        go_path: Vec::new(),
        path: String::new(),
        first: None,
        unknown: Vec::new(),
    };
    let object = reader.value(of, value)?;
    match reader.first {
        Some(error) => Err(error),
        None => Ok(Decoded {
            object: object.unwrap_or_else(|| Value::Object(Map::new())),
            unknown: reader.unknown,
        }),
    }
}

struct Reader {
    types: &'static GoTypes,
    /// Names of the Go structs that are being read, without their package.
    structs: Vec<&'static str>,
    /// Names of the members that lead here, as Go's errors have them.
    go_path: Vec<&'static str>,
    /// The same with indices, as strict errors have them.
    path: String,
    /// The first member of a wrong type.
    first: Option<String>,
    unknown: Vec<String>,
}

impl Reader {
    /// The value in normal form; `None` for what Go has as its zero value then.
    fn value(&mut self, of: GoId, value: &Value) -> Result<Option<Value>, String> {
        if value.is_null() {
            return Ok(None);
        }
        match (&self.types.get(of).form, value) {
            (GoForm::Pointer(inner), _) => self.value(*inner, value),
            (GoForm::List(item), Value::Array(items)) => self.list(*item, items).map(Some),
            (GoForm::Map(item), Value::Object(members)) => self.map(*item, members).map(Some),
            (GoForm::Struct(of), Value::Object(members)) => self.members(of, members).map(Some),
            (GoForm::Own(of), _) => self.own(*of, value).map(Some),
            (GoForm::Bytes, Value::String(text)) => Ok(self.bytes(text)),
            // Bytes are a list as well, of numbers.
            (GoForm::Bytes, Value::Array(items)) if items.is_empty() => Ok(Some("".into())),
            (GoForm::Bytes, Value::Array(items)) if items.iter().any(|item| !is_byte(item)) => {
                for item in items.iter().filter(|item| !is_byte(item)) {
                    let what =
                        if item.is_number() { format!("number {item}") } else { word_for(item).to_owned() };
                    if self.first.is_none() {
                        self.first = Some(self.message(&what, "uint8"));
                    }
                }
                Ok(None)
            }
            (GoForm::Bytes, Value::Array(items)) => Ok(Some(base64(items).into())),
            (GoForm::Text, Value::String(_)) | (GoForm::Bool, Value::Bool(_)) => Ok(Some(value.clone())),
            (GoForm::Float, Value::Number(_)) => Ok(Some(value.clone())),
            (GoForm::Int(bits), Value::Number(number)) => {
                let least = number.as_i64().filter(|number| *bits == 64 || i32::try_from(*number).is_ok());
                if least.is_none() {
                    self.wrong(of, &format!("number {number}"));
                    return Ok(None);
                }
                Ok(Some(value.clone()))
            }
            (
                GoForm::List(_)
                | GoForm::Map(_)
                | GoForm::Struct(_)
                | GoForm::Bytes
                | GoForm::Text
                | GoForm::Bool
                | GoForm::Int(_)
                | GoForm::Float,
                _,
            ) => {
                self.wrong(of, word_for(value));
                Ok(None)
            }
        }
    }

    fn list(&mut self, item: GoId, items: &[Value]) -> Result<Value, String> {
        let length = self.path.len();
        let mut list = Vec::with_capacity(items.len());
        for (index, one) in items.iter().enumerate() {
            self.path.push_str(&format!("[{index}]"));
            list.push(self.value(item, one)?.unwrap_or_else(|| self.zero(item)));
            self.path.truncate(length);
        }
        Ok(Value::Array(list))
    }

    fn map(&mut self, item: GoId, members: &Map<String, Value>) -> Result<Value, String> {
        let length = self.path.len();
        let mut map = Map::new();
        for (key, one) in members {
            if length > 0 {
                self.path.push('.');
            }
            self.path.push_str(key);
            let read = self.value(item, one)?.unwrap_or_else(|| self.zero(item));
            self.path.truncate(length);
            map.insert(key.clone(), read);
        }
        Ok(Value::Object(map))
    }

    fn members(&mut self, of: &'static GoStruct, given: &Map<String, Value>) -> Result<Value, String> {
        let mut object = Map::new();
        let (length, depth) = (self.path.len(), self.go_path.len());
        self.structs.push(&of.name);
        for (name, one) in given {
            if length > 0 {
                self.path.push('.');
            }
            self.path.push_str(name);
            match of.member(name) {
                Some(member) => {
                    self.go_path.extend(member.embedded.iter().map(String::as_str));
                    self.go_path.push(&member.name);
                    if let Some(read) = self.value(member.of, one)?
                        && !(member.zero != GoZero::Kept && self.says_nothing(member.of, &read))
                    {
                        object.insert(name.clone(), read);
                    }
                    self.go_path.truncate(depth);
                }
                None => self.unknown.push(self.path.clone()),
            }
            self.path.truncate(length);
        }
        self.structs.pop();
        Ok(Value::Object(object))
    }

    /// Whether a value is what Go has without it: only behind a pointer a zero says something.
    fn says_nothing(&self, of: GoId, value: &Value) -> bool {
        match (&self.types.get(of).form, value) {
            (GoForm::List(_), Value::Array(items)) => items.is_empty(),
            (GoForm::Map(_), Value::Object(members)) => members.is_empty(),
            (GoForm::Bytes | GoForm::Text, Value::String(text)) => text.is_empty(),
            (GoForm::Bool, Value::Bool(is)) => !is,
            (GoForm::Int(_) | GoForm::Float, Value::Number(number)) => number.as_f64() == Some(0.0),
            (
                GoForm::Pointer(_)
                | GoForm::Struct(_)
                | GoForm::Own(_)
                | GoForm::List(_)
                | GoForm::Map(_)
                | GoForm::Bytes
                | GoForm::Text
                | GoForm::Bool
                | GoForm::Int(_)
                | GoForm::Float,
                _,
            ) => false,
        }
    }

    fn own(&mut self, of: GoOwn, value: &Value) -> Result<Value, String> {
        own::read(of, value).map_err(|wrong| match wrong {
            Wrong::Text(why) => why,
            Wrong::Type(what, shown) => self.message(&what, shown),
        })
    }

    /// Bytes in base64 (`encoding/base64`, standard alphabet).
    fn bytes(&mut self, text: &str) -> Option<Value> {
        match wrong_byte(text) {
            None => Some(text.into()),
            Some(at) => {
                self.first.get_or_insert(format!("illegal base64 data at input byte {at}"));
                None
            }
        }
    }

    /// What an item of a list or map is where JSON says null.
    fn zero(&self, of: GoId) -> Value {
        match &self.types.get(of).form {
            GoForm::Pointer(_) | GoForm::List(_) | GoForm::Map(_) => Value::Null,
            // The storage does not tell no bytes from none.
            GoForm::Bytes => "".into(),
            GoForm::Struct(_) => Value::Object(Map::new()),
            GoForm::Own(of) => own::zero(*of),
            GoForm::Text => "".into(),
            GoForm::Bool => false.into(),
            GoForm::Int(_) | GoForm::Float => 0.into(),
        }
    }

    fn wrong(&mut self, of: GoId, what: &str) {
        if self.first.is_none() {
            self.first = Some(self.message(what, &self.types.get(of).shown));
        }
    }

    fn message(&self, what: &str, of: &str) -> String {
        match self.structs.last() {
            Some(of_struct) => format!(
                "json: cannot unmarshal {what} into Go struct field {of_struct}.{} of type {of}",
                self.go_path.join(".")
            ),
            None => format!("json: cannot unmarshal {what} into Go value of type {of}"),
        }
    }
}

/// Bytes that are given one by one, as they are written.
fn base64(items: &[Value]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    // Null is none of a number's values, and reads as the one that is there without it.
    let bytes: Vec<u64> = items.iter().map(|item| item.as_u64().unwrap_or(0)).collect();
    let mut text = String::new();
    for three in bytes.chunks(3) {
        let of = |at: usize| three.get(at).copied().unwrap_or(0);
        let bits = of(0) << 16 | of(1) << 8 | of(2);
        for at in 0..4 {
            let is_there = at <= three.len();
            let letter = usize::try_from(bits >> (18 - 6 * at) & 63).unwrap_or(0);
            text.push(if is_there { char::from(LETTERS[letter]) } else { '=' });
        }
    }
    text
}

fn is_byte(value: &Value) -> bool {
    value.is_null() || value.as_u64().is_some_and(|number| u8::try_from(number).is_ok())
}

/// Where a text stops being base64.
fn wrong_byte(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let is_break = |at: usize| matches!(bytes.get(at), Some(b'\r' | b'\n'));
    let mut at = 0;
    loop {
        // A group of four letters, the last one or two of which may be padding.
        let mut taken = 0;
        while taken < 4 {
            let Some(byte) = bytes.get(at) else {
                return (taken > 0).then(|| at - taken);
            };
            at += 1;
            match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'+' | b'/' => taken += 1,
                b'\r' | b'\n' => {}
                b'=' if taken >= 2 => {
                    let skip = |mut at: usize| {
                        while is_break(at) {
                            at += 1;
                        }
                        at
                    };
                    if taken == 2 {
                        at = skip(at);
                        match bytes.get(at) {
                            None => return Some(bytes.len()),
                            Some(b'=') => at += 1,
                            Some(_) => return Some(at - 1),
                        }
                    }
                    at = skip(at);
                    return (at < bytes.len()).then_some(at);
                }
                _ => return Some(at - 1),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(kind: (&str, &str, &str), value: &Value) -> Result<Decoded, String> {
        decode(go_types().of_kind(kind.0, kind.1, kind.2).expect("it is served"), value)
    }

    #[test]
    fn the_first_wrong_byte_is_told() {
        let cases = [
            ("", None),
            ("YQ==", None),
            ("YWI=", None),
            ("Yg==1", Some(4)),
            ("x", Some(0)),
            ("YWJjZA", Some(4)),
            ("YQ=", Some(3)),
            ("YQ=x", Some(2)),
            ("=", Some(0)),
            ("YW J", Some(2)),
            ("YQ=\n=", None),
        ];
        for (text, at) in cases {
            assert_eq!(wrong_byte(text), at, "{text:?}");
        }
    }

    #[test]
    fn what_says_nothing_is_left_out_and_what_is_unknown_is_told() {
        let given = json!({"kind": "Service", "metadata": {"name": "s", "labels": {}, "finalizers": null},
            "spec": {"ports": [{"port": 80, "nodePort": 0, "x": 1}], "selector": {}, "sessionAffinityConfig": {}},
            "Status": {}});
        let read = read(("", "v1", "Service"), &given).expect("it can be read");
        assert_eq!(
            read.object,
            json!({"kind": "Service", "metadata": {"name": "s"},
                "spec": {"ports": [{"port": 80}], "sessionAffinityConfig": {}}})
        );
        assert_eq!(read.unknown, ["Status", "spec.ports[0].x"]);
    }

    #[test]
    fn a_wrong_type_is_told_in_gos_words() {
        let deployment = ("apps", "v1", "Deployment");
        let why = |value: &Value| read(deployment, value).expect_err("it cannot be read");
        assert_eq!(
            why(&json!({"spec": {"replicas": "x"}})),
            "json: cannot unmarshal string into Go struct field DeploymentSpec.spec.replicas of type int32"
        );
        assert_eq!(
            why(&json!({"metadata": []})),
            "json: cannot unmarshal array into Go struct field Deployment.metadata of type v1.ObjectMeta"
        );
        assert_eq!(
            why(&json!({"metadata": {"creationTimestamp": "yesterday"}})),
            "parsing time \"yesterday\" as \"2006-01-02T15:04:05Z07:00\": cannot parse \"yesterday\" as \"2006\""
        );
        assert_eq!(
            why(&json!({"metadata": {"creationTimestamp": "2026-01-01T00:00:00Z-"}})),
            "parsing time \"2026-01-01T00:00:00Z-\": extra text: \"-\""
        );
    }

    #[test]
    fn a_micro_time_has_six_digits_and_bytes_may_be_a_list() {
        let lease = |time: &str| {
            read(("coordination.k8s.io", "v1", "Lease"), &json!({"spec": {"renewTime": time}}))
                .map(|read| read.object)
        };
        assert!(lease("2026-01-02T03:04:05.000000Z").is_ok());
        let layout = "2006-01-02T15:04:05.000000Z07:00";
        let why =
            format!("parsing time \"2026-01-02T03:04:05Z\" as {layout:?}: cannot parse \"Z\" as \".000000\"");
        assert_eq!(lease("2026-01-02T03:04:05Z"), Err(why));
        let why = "parsing time \"2026-01-02T03:04:05.000000Z1\": extra text: \"1\"";
        assert_eq!(lease("2026-01-02T03:04:05.000000Z1"), Err(why.to_owned()));
        let secret = read(("", "v1", "Secret"), &json!({"data": {"a": ["x"]}})).map(|read| read.object);
        let why = "json: cannot unmarshal string into Go struct field Secret.data of type uint8";
        assert_eq!(secret, Err(why.to_owned()));
    }

    #[test]
    fn base64_ends_where_it_is_wrong() {
        assert_eq!(wrong_byte("YQ=="), None);
        assert_eq!(base64(&[json!(97)]), "YQ==");
        assert_eq!(base64(&[json!(97), json!(98), json!(99), json!(255)]), "YWJj/w==");
        assert_eq!(base64(&[Value::Null]), "AA==");
        assert_eq!(wrong_byte("not base64!"), Some(3));
        assert_eq!(wrong_byte("YWJj"), None);
    }
}
