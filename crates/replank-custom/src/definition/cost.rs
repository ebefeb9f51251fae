//! What a rule may cost at the most, by the sizes that a schema allows (apiextensions `pkg/apiserver/schema/cel`, cel-go `checker/cost.go`).
//!
//! An estimate: one for each step, a tenth for each character that is gone through, and the items of a list times what is done with each. What has no
//! bound in the schema has that of a request.

use std::collections::BTreeMap;

use replank_cel::ast::{Expr, Literal, Node, What};

use crate::schema::{Additional, Schema};

/// The most that one rule may cost.
pub(super) const RULE_MAX: f64 = 10_000_000.0;
/// The most that all rules of a definition may cost together.
pub(super) const TOTAL_MAX: f64 = 100_000_000.0;
/// The bytes of the largest request.
const REQUEST_MAX: f64 = 3.0 * 1024.0 * 1024.0;

/// How large a value may be.
#[derive(Clone, Debug)]
struct Size {
    /// Characters, items or members.
    most: f64,
    /// Items, or values of a map.
    each: Option<Box<Size>>,
    members: BTreeMap<String, Size>,
}

impl Size {
    fn plain(most: f64) -> Self {
        Self { most, each: None, members: BTreeMap::new() }
    }

    fn of(schema: &Schema) -> Self {
        let limits = &schema.limits;
        #[expect(clippy::cast_precision_loss, reason = "bounds of schemas are far below what a double holds")]
        let bound = |limit: Option<u64>, without: f64| limit.map_or(without, |limit| limit as f64);
        match &*schema.basic {
            "array" => {
                let items = schema.items.as_deref();
                let least = items.map_or(1.0, least_bytes);
                let most = bound(limits.max_items, items_max(schema, least));
                Self { each: items.map(|items| Box::new(Self::of(items))), ..Self::plain(most) }
            }
            "object" => {
                let members = schema.properties.iter();
                let members = members
                    .filter_map(|(name, below)| Some((replank_cel::convert::escape(name)?, Self::of(below))));
                let each = match &schema.additional {
                    Some(Additional::Of(below)) => Some(Box::new(Self::of(below))),
                    Some(Additional::Any(_)) | None => None,
                };
                let least = each.as_ref().map_or(8.0, |_| 8.0);
                let most = bound(limits.max_properties, (REQUEST_MAX - 2.0) / least);
                Self { most, each, members: members.collect() }
            }
            "string" => {
                let longest = schema.words.iter().filter_map(serde_json::Value::as_str).map(str::len).max();
                #[expect(clippy::cast_precision_loss, reason = "words of schemas are short")]
                let without = longest.map_or(REQUEST_MAX - 2.0, |longest| longest as f64);
                Self::plain(bound(limits.max_length, without))
            }
            _ => Self::plain(1.0),
        }
    }
}

/// The fewest bytes of a value in JSON.
fn least_bytes(schema: &Schema) -> f64 {
    match &*schema.basic {
        "boolean" => 4.0,
        "integer" | "number" => 1.0,
        _ => 2.0,
    }
}

/// How many items of a list fit in a request.
pub(super) fn items_max(schema: &Schema, least: f64) -> f64 {
    #[expect(clippy::cast_precision_loss, reason = "bounds of schemas are far below what a double holds")]
    schema.limits.max_items.map_or(((REQUEST_MAX - 2.0) / (least + 1.0)).floor(), |limit| limit as f64)
}

/// How often what stands below a schema may be there: the items of a list, the values of a map.
pub(super) fn times(schema: &Schema) -> f64 {
    Size::of(schema).most.max(1.0)
}

/// What an expression about a value of a schema may cost.
pub(super) fn estimate(expression: &Expr, schema: &Schema) -> f64 {
    let size = Size::of(schema);
    let names = vec![("self".to_owned(), size.clone()), ("oldSelf".to_owned(), size)];
    Estimate { names }.node(expression).0
}

struct Estimate {
    names: Vec<(String, Size)>,
}

impl Estimate {
    fn node(&mut self, of: &Expr) -> (f64, Size) {
        match &of.node {
            Node::Literal(literal) => (0.0, of_literal(literal)),
            Node::Name(name) => {
                let known = self.names.iter().rev().find(|(one, _)| one == name);
                (1.0, known.map_or_else(|| Size::plain(1.0), |(_, size)| size.clone()))
            }
            Node::Field { of, field, .. } | Node::Has { of, field } => {
                let (cost, size) = self.node(of);
                let below = size.members.get(field).or(size.each.as_deref()).cloned();
                (cost + 1.0, below.unwrap_or_else(|| Size::plain(1.0)))
            }
            Node::Call { target, function, arguments } => self.call(target.as_deref(), function, arguments),
            Node::List(items) => {
                let mut cost = 10.0;
                let mut each = Size::plain(1.0);
                for (item, _) in items {
                    let (of_item, size) = self.node(item);
                    cost += of_item;
                    each = size;
                }
                #[expect(clippy::cast_precision_loss, reason = "lists in expressions are short")]
                let most = items.len() as f64;
                (cost, Size { each: Some(Box::new(each)), ..Size::plain(most) })
            }
            Node::Map(entries) => {
                let cost =
                    entries.iter().map(|(key, value, _)| self.node(key).0 + self.node(value).0).sum::<f64>();
                (cost + 30.0, Size::plain(1.0))
            }
            Node::Struct { fields, .. } => {
                (fields.iter().map(|(_, value, _)| self.node(value).0).sum::<f64>() + 40.0, Size::plain(1.0))
            }
            Node::Each(each) => {
                let (cost, range) = self.node(&each.range);
                let item = range.each.as_deref().cloned().unwrap_or_else(|| Size::plain(1.0));
                let begin = self.names.len();
                self.names.push((each.first.clone(), item.clone()));
                self.names.extend(each.second.clone().map(|name| (name, item.clone())));
                let filter = each.filter.as_ref().map_or(0.0, |filter| self.node(filter).0);
                let (body, made) = self.node(&each.body);
                self.names.truncate(begin);
                let cost = cost + range.most * (body + filter + 2.0);
                let size = match each.what {
                    What::All | What::Exists | What::ExistsOne => Size::plain(1.0),
                    What::Filter | What::SortBy => range,
                    What::Map | What::TransformList | What::TransformMap => {
                        Size { each: Some(Box::new(made)), ..Size::plain(range.most) }
                    }
                };
                (cost, size)
            }
            Node::Bind { name, value, within } => {
                let (cost, size) = self.node(value);
                self.names.push((name.clone(), size));
                let (more, size) = self.node(within);
                self.names.pop();
                (cost + more, size)
            }
            Node::OptionalMap { target, name, within, .. } => {
                let (cost, size) = self.node(target);
                self.names.push((name.clone(), size));
                let (more, size) = self.node(within);
                self.names.pop();
                (cost + more, size)
            }
        }
    }

    fn call(&mut self, target: Option<&Expr>, function: &str, arguments: &[Expr]) -> (f64, Size) {
        let mut cost = 1.0;
        let mut sizes = Vec::new();
        for one in target.into_iter().chain(arguments) {
            let (of, size) = self.node(one);
            cost += of;
            sizes.push(size);
        }
        let most = |index: usize| sizes.get(index).map_or(1.0, |size: &Size| size.most);
        let all: f64 = sizes.iter().map(|size| size.most).sum();
        match function {
            "_==_" | "_!=_" => (cost + 0.1 * most(0).min(most(1)), Size::plain(1.0)),
            "_?_:_" => (cost, sizes.pop().unwrap_or_else(|| Size::plain(1.0))),
            "_[_]" | "_[?_]" => {
                let each = sizes.first().and_then(|size| size.each.as_deref().cloned());
                (cost, each.unwrap_or_else(|| Size::plain(1.0)))
            }
            "@in" => (cost + most(1), Size::plain(1.0)),
            "_+_" => (cost + 0.1 * all, Size::plain(all)),
            "contains" => (cost + 0.1 * most(0) * (0.1 * most(1)).max(1.0), Size::plain(1.0)),
            "startsWith" | "endsWith" => (cost + 0.1 * most(1), Size::plain(1.0)),
            "matches" | "find" | "findAll" => {
                (cost + (0.1 * most(0)).max(1.0) * (0.25 * most(1)).max(1.0), Size::plain(most(0)))
            }
            "split" | "join" | "replace" | "lowerAscii" | "upperAscii" | "trim" | "substring" | "reverse" => {
                let each = Some(Box::new(Size::plain(most(0))));
                (cost + 0.1 * most(0), Size { each, ..Size::plain(most(0)) })
            }
            "sum" | "min" | "max" | "isSorted" | "indexOf" | "lastIndexOf" => {
                (cost + most(0), Size::plain(1.0))
            }
            _ => (cost, sizes.into_iter().next().unwrap_or_else(|| Size::plain(1.0))),
        }
    }
}

#[expect(clippy::cast_precision_loss, reason = "literals are short")]
fn of_literal(literal: &Literal) -> Size {
    match literal {
        Literal::Text(text) => Size::plain(text.chars().count() as f64),
        Literal::Bytes(bytes) => Size::plain(bytes.len() as f64),
        Literal::Null | Literal::Bool(_) | Literal::Int(_) | Literal::Uint(_) | Literal::Double(_) => {
            Size::plain(1.0)
        }
    }
}

/// How far a cost is above a bound, in the server's words.
pub(super) fn factor(cost: f64, most: f64) -> String {
    let factor = cost / most;
    if factor > 100.0 { "more than 100x".to_owned() } else { format!("{factor:.1}x") }
}
