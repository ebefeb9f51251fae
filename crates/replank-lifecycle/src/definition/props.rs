//! A schema, read as Go reads `JSONSchemaProps`: what is `null` is not there, and an empty text, `false` and an empty list of
//! names say as little.

use std::collections::BTreeMap;

use crate::tree::Plain;

/// One schema.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Props<'v> {
    pub(super) id: bool,
    pub(super) schema: bool,
    pub(super) reference: Option<&'v str>,
    pub(super) description: bool,
    pub(super) of: &'v str,
    pub(super) nullable: bool,
    pub(super) format: &'v str,
    pub(super) title: bool,
    pub(super) default: Option<&'v Plain<'v>>,
    pub(super) maximum: Option<f64>,
    pub(super) exclusive_maximum: bool,
    pub(super) minimum: Option<f64>,
    pub(super) exclusive_minimum: bool,
    pub(super) max_length: Option<i64>,
    pub(super) min_length: Option<i64>,
    pub(super) pattern: &'v str,
    pub(super) max_items: Option<i64>,
    pub(super) min_items: Option<i64>,
    pub(super) unique_items: bool,
    pub(super) multiple_of: Option<f64>,
    pub(super) one_of_values: Option<&'v [Plain<'v>]>,
    pub(super) max_properties: Option<i64>,
    pub(super) min_properties: Option<i64>,
    pub(super) required: Option<Vec<&'v str>>,
    pub(super) items: Option<Items<'v>>,
    pub(super) all_of: Option<Vec<Props<'v>>>,
    pub(super) one_of: Option<Vec<Props<'v>>>,
    pub(super) any_of: Option<Vec<Props<'v>>>,
    pub(super) not: Option<Box<Props<'v>>>,
    pub(super) properties: Named<'v>,
    /// Whether there are any, or none that are said to be all.
    pub(super) has_properties: bool,
    pub(super) additional_properties: Option<SchemaOrBool<'v>>,
    pub(super) pattern_properties: Option<BTreeMap<&'v str, Props<'v>>>,
    pub(super) dependencies: Option<BTreeMap<&'v str, Option<Props<'v>>>>,
    pub(super) additional_items: bool,
    pub(super) definitions: Option<BTreeMap<&'v str, Props<'v>>>,
    pub(super) external_docs: bool,
    pub(super) example: bool,
    pub(super) preserves: Option<bool>,
    pub(super) embedded: bool,
    pub(super) int_or_string: bool,
    pub(super) list_map_keys: Option<Vec<&'v str>>,
    pub(super) list_type: Option<&'v str>,
    pub(super) map_type: Option<&'v str>,
    pub(super) rules: bool,
}

/// `items`: one schema, or one for each item, which is refused.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Items<'v> {
    One(Box<Props<'v>>),
    Each(Vec<Props<'v>>),
    /// A list of no schemas.
    None,
}

/// `additionalProperties`.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum SchemaOrBool<'v> {
    Schema(Box<Props<'v>>),
    Bool(bool),
}

impl<'v> Items<'v> {
    pub(super) fn one(&self) -> Option<&Props<'v>> {
        match self {
            Self::One(one) => Some(one),
            Self::Each(_) | Self::None => None,
        }
    }
}

impl<'v> SchemaOrBool<'v> {
    pub(super) fn schema(&self) -> Option<&Props<'v>> {
        match self {
            Self::Schema(schema) => Some(schema),
            Self::Bool(_) => None,
        }
    }
}

impl<'v> Props<'v> {
    /// The one schema of the items.
    pub(super) fn item(&self) -> Option<&Props<'v>> {
        self.items.as_ref().and_then(Items::one)
    }

    pub(super) fn is_preserving(&self) -> bool {
        self.preserves == Some(true)
    }

    /// Reads a schema. Members of another type than theirs count as not there: [`crate::schema`] refuses these.
    pub(super) fn read(value: &'v Plain<'v>) -> Self {
        let mut of = Self::default();
        for (key, value) in value.as_map().into_iter().flatten().filter(|(_, value)| !value.is_null()) {
            of.member(key, value);
        }
        of
    }

    fn member(&mut self, key: &str, value: &'v Plain<'v>) {
        let text = || value.as_text().unwrap_or_default();
        let is_true = || value.as_bool() == Some(true);
        match key {
            "id" => self.id = !text().is_empty(),
            "$schema" => self.schema = !text().is_empty(),
            "$ref" => self.reference = value.as_text(),
            "description" => self.description = !text().is_empty(),
            "type" => self.of = text(),
            "nullable" => self.nullable = is_true(),
            "format" => self.format = text(),
            "title" => self.title = !text().is_empty(),
            "default" => self.default = Some(value),
            "maximum" => self.maximum = value.as_f64(),
            "exclusiveMaximum" => self.exclusive_maximum = is_true(),
            "minimum" => self.minimum = value.as_f64(),
            "exclusiveMinimum" => self.exclusive_minimum = is_true(),
            "maxLength" => self.max_length = value.as_i64(),
            "minLength" => self.min_length = value.as_i64(),
            "pattern" => self.pattern = text(),
            "maxItems" => self.max_items = value.as_i64(),
            "minItems" => self.min_items = value.as_i64(),
            "uniqueItems" => self.unique_items = is_true(),
            "multipleOf" => self.multiple_of = value.as_f64(),
            "enum" => self.one_of_values = value.as_list(),
            "maxProperties" => self.max_properties = value.as_i64(),
            "minProperties" => self.min_properties = value.as_i64(),
            "required" => self.required = texts(value),
            "items" => self.items = items(value),
            "allOf" => self.all_of = list(value),
            "oneOf" => self.one_of = list(value),
            "anyOf" => self.any_of = list(value),
            "not" => self.not = Some(Box::new(Self::read(value))),
            "properties" => {
                self.has_properties = true;
                let all = value.as_map().into_iter().flatten();
                self.properties = Named(all.map(|(key, of)| (*key, Self::read(of))).collect());
            }
            "additionalProperties" => self.additional_properties = schema_or_bool(value),
            "patternProperties" => self.pattern_properties = named(value),
            "dependencies" => {
                self.dependencies = value.as_map().map(|map| {
                    let of = |value: &'v Plain<'v>| value.is_map().then(|| Self::read(value));
                    map.iter().map(|(key, value)| (*key, of(value))).collect()
                });
            }
            "additionalItems" => self.additional_items = true,
            "definitions" => self.definitions = named(value),
            "externalDocs" => self.external_docs = true,
            "example" => self.example = true,
            "x-kubernetes-preserve-unknown-fields" => self.preserves = value.as_bool(),
            "x-kubernetes-embedded-resource" => self.embedded = is_true(),
            "x-kubernetes-int-or-string" => self.int_or_string = is_true(),
            "x-kubernetes-list-map-keys" => self.list_map_keys = texts(value),
            "x-kubernetes-list-type" => self.list_type = value.as_text(),
            "x-kubernetes-map-type" => self.map_type = value.as_text(),
            "x-kubernetes-validations" => {
                self.rules = value.as_list().is_some_and(|all| !all.is_empty());
            }
            _ => {}
        }
    }
}

/// Schemas by name, in its order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Named<'v>(Vec<(&'v str, Props<'v>)>);

impl<'v> Named<'v> {
    pub(super) fn get(&self, name: &str) -> Option<&Props<'v>> {
        let at = self.0.binary_search_by(|(of, _)| (*of).cmp(name)).ok()?;
        Some(&self.0[at].1)
    }

    pub(super) fn contains_key(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &'v str> {
        self.0.iter().map(|(name, _)| *name)
    }

    pub(super) fn values(&self) -> impl Iterator<Item = &Props<'v>> {
        self.0.iter().map(|(_, of)| of)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.0.clear();
    }
}

impl<'n, 'v> IntoIterator for &'n Named<'v> {
    type Item = &'n (&'v str, Props<'v>);
    type IntoIter = std::slice::Iter<'n, (&'v str, Props<'v>)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

fn texts<'v>(value: &'v Plain<'v>) -> Option<Vec<&'v str>> {
    Some(value.as_list()?.iter().map(|item| item.as_text().unwrap_or_default()).collect())
}

fn list<'v>(value: &'v Plain<'v>) -> Option<Vec<Props<'v>>> {
    Some(value.as_list()?.iter().map(Props::read).collect())
}

fn named<'v>(value: &'v Plain<'v>) -> Option<BTreeMap<&'v str, Props<'v>>> {
    Some(value.as_map()?.iter().map(|(key, of)| (*key, Props::read(of))).collect())
}

fn items<'v>(of: &'v Plain<'v>) -> Option<Items<'v>> {
    match of {
        Plain::Map(_) => Some(Items::One(Box::new(Props::read(of)))),
        Plain::List(all) if all.is_empty() => Some(Items::None),
        Plain::List(all) => Some(Items::Each(all.iter().map(Props::read).collect())),
        Plain::Null | Plain::Bool(_) | Plain::Number(_) | Plain::Text(_) => None,
    }
}

fn schema_or_bool<'v>(of: &'v Plain<'v>) -> Option<SchemaOrBool<'v>> {
    match of {
        Plain::Map(_) => Some(SchemaOrBool::Schema(Box::new(Props::read(of)))),
        Plain::Bool(value) => Some(SchemaOrBool::Bool(*value)),
        Plain::Null | Plain::Number(_) | Plain::Text(_) | Plain::List(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_null_empty_or_false_is_not_there() {
        let empty = json!({
            "type": "", "nullable": false, "default": null, "items": null, "properties": null, "title": "",
            "x-kubernetes-embedded-resource": false,
        });
        assert_eq!(Props::read(&Plain::of_value(&empty)), Props::default());
        let none = json!({"items": []});
        assert_eq!(Props::read(&Plain::of_value(&none)).items, Some(Items::None));
    }
}
