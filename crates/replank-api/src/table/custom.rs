//! Columns that a definition names for its objects.

use serde_json::{Value, json};

use super::jsonpath::Path;
use super::look::{Look, items, text};

/// A column of a definition.
#[derive(Clone, Debug)]
pub(crate) struct CustomColumn {
    pub(super) definition: Value,
    basic: String,
    path: Option<Path>,
}

/// The columns that a definition has for a version; the age where it names none.
pub(super) fn of_definition(definition: &Value, version: &str, age: &str) -> Vec<CustomColumn> {
    let versions = items(&definition["spec"]["versions"]);
    let version = versions.iter().find(|one| one["name"] == version);
    let named = version.map(|one| items(&one["additionalPrinterColumns"])).unwrap_or_default();
    if named.is_empty() {
        let column = json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp",
            "description": age});
        return vec![custom(&column)];
    }
    named.iter().map(custom).collect()
}

fn custom(column: &Value) -> CustomColumn {
    let path = text(&column["jsonPath"]);
    let description = match text(&column["description"]) {
        "" => format!("Custom resource definition column (in JSONPath format): {path}"),
        description => description.to_owned(),
    };
    let definition = json!({"name": text(&column["name"]), "type": text(&column["type"]), "format": text(&column["format"]),
        "description": description, "priority": column["priority"].as_i64().unwrap_or(0)});
    CustomColumn { definition, basic: text(&column["type"]).to_owned(), path: Path::read(path) }
}

impl CustomColumn {
    /// Its cell for an object; null where there is nothing that fits its type.
    pub(super) fn cell(&self, look: Look<'_>) -> Value {
        let Some(path) = &self.path else { return Value::Null };
        let Some(found) = path.find(look.object).first().copied() else { return Value::Null };
        match (self.basic.as_str(), found) {
            (_, Value::Null) => Value::Null,
            ("string", Value::String(text)) => text.as_str().into(),
            ("string", other) => other.to_string().into(),
            ("integer", Value::Number(number)) => {
                // The cast saturates.
                number.as_i64().or_else(|| number.as_f64().map(|number| number as i64)).into()
            }
            ("number", Value::Number(_)) | ("boolean", Value::Bool(_)) => found.clone(),
            ("date", Value::String(_)) => match look.ago(found) {
                unknown if unknown == "<unknown>" => "<invalid>".into(),
                age => age.into(),
            },
            _ => Value::Null,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_have_the_type_of_their_column() {
        let definition = json!({"spec": {"versions": [{"name": "v1", "additionalPrinterColumns": [
            {"name": "Size", "type": "integer", "jsonPath": ".spec.size"}, {"name": "Words", "type": "string", "jsonPath": ".spec.words"},
            {"name": "Since", "type": "date", "jsonPath": ".spec.since", "priority": 1}, {"name": "No", "type": "boolean", "jsonPath": ".spec.size"}]}]}});
        let columns = of_definition(&definition, "v1", "");
        let object = json!({"spec": {"size": 3, "words": ["a"], "since": "1970-01-01T00:00:00Z"}});
        let cells: Vec<Value> = columns
            .iter()
            .map(|column| column.cell(Look { object: &object, now: crate::table::Moment::At(90_000) }))
            .collect();
        assert_eq!(cells, [json!(3), json!("[\"a\"]"), json!("90s"), Value::Null]);
        assert_eq!(columns[2].definition["priority"], 1);
        let plain = of_definition(&definition, "v2", "when it was made");
        assert_eq!((plain.len(), &plain[0].definition["description"]), (1, &json!("when it was made")));
    }
}
