//! Rules, read and checked once.

use std::collections::BTreeMap;

use replank_cel::ast::Node;
use replank_cel::{Expr, Names, Type, check, parse};

use super::types::of_schema;
use crate::schema::{Additional, Rule, Schema};

/// The rules of a schema and of those below it.
#[derive(Debug, Default)]
pub struct Program {
    /// Of the value itself.
    pub(super) rules: Vec<Compiled>,
    /// Of members, by name.
    pub(super) properties: BTreeMap<String, Program>,
    /// Of members that are not named.
    pub(super) additional: Option<Box<Program>>,
    /// Of items.
    pub(super) items: Option<Box<Program>>,
    /// Whether there are any.
    pub(super) has_rules: bool,
}

/// A rule that makes sense.
#[derive(Debug)]
pub(super) struct Compiled {
    pub(super) rule: Rule,
    pub(super) expression: Expr,
    pub(super) message: Option<Expr>,
    /// Whether it is about a change.
    pub(super) is_transition: bool,
}

/// Reads all rules of a schema; those that make no sense are left out: definitions with such are refused.
#[must_use]
pub fn program(schema: &Schema, is_root: bool) -> Program {
    let of = of_schema(schema, is_root);
    let rules: Vec<Compiled> = match of {
        Some(of) => schema.rules.iter().filter_map(|rule| compiled(rule, &of).ok()).collect(),
        None => Vec::new(),
    };
    let properties: BTreeMap<String, Program> = schema
        .properties
        .iter()
        .map(|(name, below)| (name.clone(), program(below, false)))
        .filter(|(_, program)| program.has_rules)
        .collect();
    let within = |below: &Schema| Some(Box::new(program(below, false))).filter(|program| program.has_rules);
    let additional = match &schema.additional {
        Some(Additional::Of(below)) => within(below),
        Some(Additional::Any(_)) | None => None,
    };
    let items = schema.items.as_deref().and_then(within);
    let has_rules = !rules.is_empty() || !properties.is_empty() || additional.is_some() || items.is_some();
    Program { rules, properties, additional, items, has_rules }
}

/// What is wrong with a rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// With the rule.
    Rule(String),
    /// With the expression of its message.
    Message(String),
    /// It does not use `oldSelf`, and has `optionalOldSelf`.
    NoOldSelf,
}

/// Reads a rule about a value of a type.
pub(super) fn compiled(rule: &Rule, of: &Type) -> Result<Compiled, Unfit> {
    let is_optional = rule.optional_old_self == Some(true);
    let old = if is_optional { Type::optional(of.clone()) } else { of.clone() };
    let names: Names = [("self".to_owned(), of.clone()), ("oldSelf".to_owned(), old)].into_iter().collect();
    let failed = |faults: &dyn std::fmt::Display| Unfit::Rule(format!("compilation failed: {faults}"));
    let expression = parse(&rule.rule).map_err(|faults| failed(&faults))?;
    let gives = check(&rule.rule, &expression, &names).map_err(|faults| failed(&faults))?;
    if !matches!(gives, Type::Bool | Type::Dyn) {
        return Err(Unfit::Rule("cel expression must evaluate to a bool".to_owned()));
    }
    let mentions_old = mentions(&expression, "oldSelf");
    if rule.optional_old_self.is_some() && !mentions_old {
        return Err(Unfit::NoOldSelf);
    }
    let text = rule.message_expression.trim();
    let message = match text {
        "" => None,
        text => {
            let failed = |faults: &dyn std::fmt::Display| {
                Unfit::Message(format!("messageExpression compilation failed: {faults}"))
            };
            let message = parse(text).map_err(|faults| failed(&faults))?;
            let gives = check(text, &message, &names).map_err(|faults| failed(&faults))?;
            if gives != Type::Text {
                return Err(Unfit::Message("messageExpression must evaluate to a string".to_owned()));
            }
            Some(message)
        }
    };
    Ok(Compiled {
        rule: rule.clone(),
        expression,
        message,
        is_transition: mentions_old && rule.optional_old_self.is_none(),
    })
}

/// Whether a name stands in an expression.
fn mentions(of: &Expr, name: &str) -> bool {
    let any = |all: &[Expr]| all.iter().any(|one| mentions(one, name));
    match &of.node {
        Node::Name(one) => one == name,
        Node::Literal(_) => false,
        Node::Field { of, .. } | Node::Has { of, .. } => mentions(of, name),
        Node::Call { target, arguments, .. } => {
            target.as_ref().is_some_and(|target| mentions(target, name)) || any(arguments)
        }
        Node::List(items) => items.iter().any(|(item, _)| mentions(item, name)),
        Node::Map(entries) => {
            entries.iter().any(|(key, value, _)| mentions(key, name) || mentions(value, name))
        }
        Node::Struct { fields, .. } => fields.iter().any(|(_, value, _)| mentions(value, name)),
        Node::Each(each) => {
            mentions(&each.range, name)
                || mentions(&each.body, name)
                || each.filter.as_ref().is_some_and(|filter| mentions(filter, name))
        }
        Node::Bind { value, within, .. } => mentions(value, name) || mentions(within, name),
        Node::OptionalMap { target, within, .. } => mentions(target, name) || mentions(within, name),
    }
}
