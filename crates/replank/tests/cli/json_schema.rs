//! JSON Schema (draft 4 and 7), as much of it as the schemas of SARIF use. A keyword that is not known fails, so nothing passes unseen.

use serde_json::{Map, Value};

/// What of a value a schema does not allow, each with its path.
pub(crate) fn violations(schema: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    Checker { whole: schema, found: &mut found }.check(schema, value, "$");
    found
}

struct Checker<'a> {
    whole: &'a Value,
    found: &'a mut Vec<String>,
}

impl Checker<'_> {
    fn check(&mut self, schema: &Value, value: &Value, path: &str) {
        let schema = schema.as_object().unwrap_or_else(|| panic!("{path}: a schema is an object"));
        for (keyword, wanted) in schema {
            match keyword.as_str() {
                "title" | "description" | "default" | "definitions" | "$schema" | "$id" | "id" => {}
                "$ref" => {
                    let pointer =
                        wanted.as_str().and_then(|name| name.strip_prefix('#')).expect("a local reference");
                    let target = self.whole.pointer(pointer).unwrap_or_else(|| panic!("no {pointer}"));
                    self.check(target, value, path);
                }
                "type" => {
                    let names = wanted.as_array().map_or(std::slice::from_ref(wanted), Vec::as_slice);
                    let is_one = names.iter().any(|name| is_of(name.as_str().expect("a type"), value));
                    self.hold(is_one, path, || format!("is no {wanted}"));
                }
                "enum" => {
                    self.hold(list(wanted).contains(value), path, || format!("{value} is none of {wanted}"));
                }
                "format" | "pattern" => self.text(wanted.as_str().expect("text"), value, path),
                "minimum" => {
                    self.hold(number(value) >= number(wanted), path, || format!("{value} is below {wanted}"));
                }
                "maximum" => {
                    self.hold(number(value) <= number(wanted), path, || format!("{value} is above {wanted}"));
                }
                "anyOf" | "oneOf" => self.alternatives(keyword, list(wanted), value, path),
                "required" | "properties" | "additionalProperties" => {
                    if let Value::Object(members) = value {
                        self.object(schema, keyword, members, path);
                    }
                }
                "items" | "minItems" | "uniqueItems" => {
                    if let Value::Array(items) = value {
                        self.array(keyword, wanted, items, path);
                    }
                }
                unknown => panic!("{path}: the schema has the keyword {unknown}, which is not checked"),
            }
        }
    }

    fn object(
        &mut self,
        schema: &Map<String, Value>,
        keyword: &str,
        members: &Map<String, Value>,
        path: &str,
    ) {
        let wanted = &schema[keyword];
        match keyword {
            "required" => {
                for name in list(wanted) {
                    let is_there = members.contains_key(name.as_str().expect("a name"));
                    self.hold(is_there, path, || format!("lacks {name}"));
                }
            }
            "properties" => {
                for (name, schema) in wanted.as_object().expect("an object") {
                    if let Some(member) = members.get(name) {
                        self.check(schema, member, &format!("{path}.{name}"));
                    }
                }
            }
            _ => {
                let known = schema.get("properties").and_then(Value::as_object);
                for (name, member) in members {
                    if known.is_some_and(|known| known.contains_key(name)) {
                        continue;
                    }
                    if let Value::Bool(allowed) = wanted {
                        self.hold(*allowed, path, || format!("has {name}, which is not allowed"));
                    } else {
                        self.check(wanted, member, &format!("{path}.{name}"));
                    }
                }
            }
        }
    }

    fn array(&mut self, keyword: &str, wanted: &Value, items: &[Value], path: &str) {
        match keyword {
            "items" => {
                for (index, item) in items.iter().enumerate() {
                    self.check(wanted, item, &format!("{path}[{index}]"));
                }
            }
            "minItems" => {
                let least = wanted.as_u64().expect("a number");
                self.hold(items.len() as u64 >= least, path, || format!("has fewer than {least} items"));
            }
            _ => {
                let repeats = items.iter().enumerate().any(|(index, item)| items[..index].contains(item));
                self.hold(!(wanted == true && repeats), path, || "has an item twice".to_owned());
            }
        }
    }

    /// Formats, and the patterns of SARIF: of what Replank prints, only URIs meet one.
    fn text(&mut self, form: &str, value: &Value, path: &str) {
        let Value::String(text) = value else { return };
        let is_escaped =
            |text: &str| text.bytes().all(|byte| byte.is_ascii_graphic() && !br#"<>"\^`{|}"#.contains(&byte));
        match form {
            "uri" => {
                let has_scheme = text.split_once(':').is_some_and(|(scheme, _)| !scheme.is_empty());
                self.hold(has_scheme && is_escaped(text), path, || format!("{text} is no URI"));
            }
            "uri-reference" => {
                let scheme = text.split('/').next().is_some_and(|first| first.contains(':'));
                self.hold(!scheme && is_escaped(text), path, || format!("{text} is no relative reference"));
            }
            other => panic!("{path}: {text} has the form {other}, which is not checked"),
        }
    }

    /// One of several schemas, or at least one; where none fits, what the nearest does not allow.
    fn alternatives(&mut self, keyword: &str, schemas: &[Value], value: &Value, path: &str) {
        let tried = schemas.iter().map(|schema| {
            let mut found = Vec::new();
            Checker { whole: self.whole, found: &mut found }.check(schema, value, path);
            found
        });
        let tried: Vec<Vec<String>> = tried.collect();
        let fitting = tried.iter().filter(|found| found.is_empty()).count();
        if keyword == "oneOf" && fitting > 1 {
            self.found.push(format!("{path}: fits {fitting} of oneOf"));
        }
        if fitting == 0 {
            let nearest = tried.into_iter().min_by_key(Vec::len).unwrap_or_default();
            self.found.push(format!("{path}: fits no alternative; the nearest: {}", nearest.join("; ")));
        }
    }

    fn hold(&mut self, holds: bool, path: &str, otherwise: impl FnOnce() -> String) {
        if !holds {
            self.found.push(format!("{path}: {}", otherwise()));
        }
    }
}

fn list(value: &Value) -> &Vec<Value> {
    value.as_array().expect("a list")
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

fn is_of(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the type {other} is not checked"),
    }
}
