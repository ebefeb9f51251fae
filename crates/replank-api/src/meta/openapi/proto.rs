//! The document in OpenAPI 2.0 as protobuf: gnostic's `openapi.v2.Document`, which client-go asks for.

use serde_json::{Map, Value};

/// The media type of it, as it is answered.
pub(super) const MEDIA: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// A message that is being written.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.0.push(u8::try_from(number & 0x7f).unwrap_or(0) | 0x80);
            number >>= 7;
        }
        self.0.push(u8::try_from(number).unwrap_or(0));
    }

    fn bytes(&mut self, field: u64, bytes: &[u8]) {
        self.varint(field << 3 | 2);
        self.varint(bytes.len() as u64);
        self.0.extend_from_slice(bytes);
    }

    fn text(&mut self, field: u64, value: Option<&Value>) {
        if let Some(text) = value.and_then(Value::as_str) {
            self.bytes(field, text.as_bytes());
        }
    }

    fn texts(&mut self, field: u64, value: Option<&Value>) {
        for one in value.and_then(Value::as_array).into_iter().flatten() {
            self.text(field, Some(one));
        }
    }

    fn boolean(&mut self, field: u64, value: Option<&Value>) {
        if value == Some(&Value::Bool(true)) {
            self.varint(field << 3);
            self.varint(1);
        }
    }

    fn number(&mut self, field: u64, value: Option<&Value>) {
        if let Some(number) = value.and_then(Value::as_f64) {
            self.varint(field << 3 | 1);
            self.0.extend_from_slice(&number.to_le_bytes());
        }
    }

    fn count(&mut self, field: u64, value: Option<&Value>) {
        if let Some(number) = value.and_then(Value::as_u64) {
            self.varint(field << 3);
            self.varint(number);
        }
    }

    fn message(&mut self, field: u64, message: &Self) {
        self.bytes(field, &message.0);
    }

    /// gnostic's Any: a value as YAML; JSON is YAML.
    fn any(&mut self, field: u64, value: Option<&Value>) {
        if let Some(value) = value {
            self.message(field, &any(value));
        }
    }

    /// What begins with `x-`, by name.
    fn extensions(&mut self, field: u64, members: &Map<String, Value>) {
        for (name, value) in members.iter().filter(|(name, _)| name.starts_with("x-")) {
            self.message(field, &named(name, &any(value)));
        }
    }
}

fn any(value: &Value) -> Message {
    let mut made = Message::default();
    made.bytes(2, value.to_string().as_bytes());
    made
}

fn named(name: &str, value: &Message) -> Message {
    let mut made = Message::default();
    made.bytes(1, name.as_bytes());
    made.message(2, value);
    made
}

/// Writes a document.
pub(super) fn write(document: &Value) -> Vec<u8> {
    let mut made = Message::default();
    made.text(1, document.get("swagger"));
    let mut info = Message::default();
    info.text(1, document.pointer("/info/title"));
    info.text(2, document.pointer("/info/version"));
    made.message(2, &info);
    let mut paths = Message::default();
    for (path, item) in members(document.get("paths")) {
        paths.message(2, &named(path, &path_item(item)));
    }
    made.message(8, &paths);
    let mut definitions = Message::default();
    for (name, one) in members(document.get("definitions")) {
        definitions.message(1, &named(name, &schema(one)));
    }
    made.message(9, &definitions);
    for requirement in document.get("security").and_then(Value::as_array).into_iter().flatten() {
        let mut one = Message::default();
        for (name, _) in members(Some(requirement)) {
            one.message(1, &named(name, &Message::default()));
        }
        made.message(12, &one);
    }
    let mut security = Message::default();
    for (name, one) in members(document.get("securityDefinitions")) {
        let mut key = Message::default();
        for (field, member) in [(1, "type"), (2, "name"), (3, "in"), (4, "description")] {
            key.text(field, one.get(member));
        }
        let mut item = Message::default();
        item.message(2, &key);
        security.message(1, &named(name, &item));
    }
    made.message(13, &security);
    made.0
}

fn members(value: Option<&Value>) -> impl Iterator<Item = (&String, &Value)> {
    value.and_then(Value::as_object).into_iter().flatten()
}

fn path_item(item: &Value) -> Message {
    let mut made = Message::default();
    for (field, method) in [(2, "get"), (3, "put"), (4, "post"), (5, "delete"), (8, "patch")] {
        if let Some(one) = item.get(method) {
            made.message(field, &operation(one));
        }
    }
    parameters(&mut made, 9, item.get("parameters"));
    made
}

fn operation(one: &Value) -> Message {
    let mut made = Message::default();
    made.texts(1, one.get("tags"));
    made.text(3, one.get("description"));
    made.text(5, one.get("operationId"));
    made.texts(6, one.get("produces"));
    made.texts(7, one.get("consumes"));
    parameters(&mut made, 8, one.get("parameters"));
    let mut responses = Message::default();
    for (code, answer) in members(one.get("responses")) {
        let mut response = Message::default();
        response.text(1, answer.get("description"));
        if let Some(of) = answer.get("schema") {
            let mut item = Message::default();
            item.message(1, &schema(of));
            response.message(2, &item);
        }
        let mut value = Message::default();
        value.message(1, &response);
        responses.message(1, &named(code, &value));
    }
    made.message(9, &responses);
    made.texts(10, one.get("schemes"));
    if let Value::Object(all) = one {
        made.extensions(13, all);
    }
    made
}

fn parameters(into: &mut Message, field: u64, all: Option<&Value>) {
    for one in all.and_then(Value::as_array).into_iter().flatten() {
        let mut parameter = Message::default();
        match one["in"].as_str() {
            Some("body") => {
                let mut body = Message::default();
                body.text(1, one.get("description"));
                body.text(2, one.get("name"));
                body.text(3, one.get("in"));
                body.boolean(4, one.get("required"));
                if let Some(of) = one.get("schema") {
                    body.message(5, &schema(of));
                }
                parameter.message(1, &body);
            }
            place => {
                // Query parameters may be left empty, which puts one field before the type.
                let is_query = place == Some("query");
                let mut simple = Message::default();
                simple.boolean(1, one.get("required"));
                simple.text(2, one.get("in"));
                simple.text(3, one.get("description"));
                simple.text(4, one.get("name"));
                simple.text(if is_query { 6 } else { 5 }, one.get("type"));
                simple.boolean(if is_query { 20 } else { 19 }, one.get("uniqueItems"));
                let mut which = Message::default();
                which.message(if is_query { 3 } else { 4 }, &simple);
                parameter.message(2, &which);
            }
        }
        let mut item = Message::default();
        item.message(1, &parameter);
        into.message(field, &item);
    }
}

fn schema(one: &Value) -> Message {
    let mut made = Message::default();
    for (field, member) in [(1, "$ref"), (2, "format"), (3, "title"), (4, "description")] {
        made.text(field, one.get(member));
    }
    made.any(5, one.get("default"));
    for (field, member) in [(6, "multipleOf"), (7, "maximum"), (9, "minimum")] {
        made.number(field, one.get(member));
    }
    for (field, member) in [(8, "exclusiveMaximum"), (10, "exclusiveMinimum"), (16, "uniqueItems")] {
        made.boolean(field, one.get(member));
    }
    let counts = [
        (11, "maxLength"),
        (12, "minLength"),
        (14, "maxItems"),
        (15, "minItems"),
        (17, "maxProperties"),
        (18, "minProperties"),
    ];
    for (field, member) in counts {
        made.count(field, one.get(member));
    }
    made.text(13, one.get("pattern"));
    made.texts(19, one.get("required"));
    for word in one.get("enum").and_then(Value::as_array).into_iter().flatten() {
        made.any(20, Some(word));
    }
    match one.get("additionalProperties") {
        Some(Value::Bool(is_allowed)) => {
            let mut item = Message::default();
            item.varint(2 << 3);
            item.varint(u64::from(*is_allowed));
            made.message(21, &item);
        }
        Some(of) => {
            let mut item = Message::default();
            item.message(1, &schema(of));
            made.message(21, &item);
        }
        None => {}
    }
    if one.get("type").is_some() {
        let mut basic = Message::default();
        basic.text(1, one.get("type"));
        made.message(22, &basic);
    }
    if let Some(items) = one.get("items") {
        let mut item = Message::default();
        item.message(1, &schema(items));
        made.message(23, &item);
    }
    if one.get("properties").is_some() {
        let mut properties = Message::default();
        for (name, of) in members(one.get("properties")) {
            properties.message(1, &named(name, &schema(of)));
        }
        made.message(25, &properties);
    }
    if let Value::Object(all) = one {
        made.extensions(31, all);
    }
    made
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_document_is_written_field_by_field() {
        let written = write(
            &json!({"swagger": "2.0", "info": {"title": "K", "version": "1"}, "definitions": {"A": {"type": "string"}}}),
        );
        let expected: &[u8] = &[
            0x0a, 3, b'2', b'.', b'0', // swagger
            0x12, 6, 0x0a, 1, b'K', 0x12, 1, b'1', // info
            0x42, 0, // paths
            0x4a, 18, 0x0a, 16, 0x0a, 1, b'A', 0x12, 11, 0xb2, 1, 8, 0x0a, 6, b's', b't', b'r', b'i', b'n',
            b'g', // definitions
            0x6a, 0, // security definitions
        ];
        assert_eq!(written, expected);
    }
}
