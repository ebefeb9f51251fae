//! What an expression comes to (cel-go `interpreter`).

use std::collections::BTreeMap;
use std::sync::Arc;

use super::operators;
use crate::ast::{Expr, Literal, Node};
use crate::functions;
use crate::names::{dotted, is_type_name};
use crate::value::{Failure, Key, Val};

/// What an evaluation comes to.
pub(crate) type Evaluated = Result<Val, Failure>;

/// What names stand for.
pub trait Scope {
    /// The value of a name; `None` for one that is not known.
    fn value(&self, name: &str) -> Option<Result<Val, Failure>>;
}

impl Scope for BTreeMap<String, Val> {
    fn value(&self, name: &str) -> Option<Result<Val, Failure>> {
        self.get(name).cloned().map(Ok)
    }
}

/// How much an expression may cost: about one for each step.
const COST_MAX: u64 = 1_000_000;

/// Evaluates an expression.
///
/// # Errors
/// Why it comes to nothing.
pub fn evaluate(expression: &Expr, scope: &dyn Scope) -> Result<Val, Failure> {
    Evaluation { scope, bound: Vec::new(), cost: 0 }.value(expression)
}

/// One evaluation.
pub(super) struct Evaluation<'s> {
    scope: &'s dyn Scope,
    /// Names that macros have bound, the innermost last.
    pub(super) bound: Vec<(String, Val)>,
    cost: u64,
}

impl Evaluation<'_> {
    pub(super) fn spend(&mut self) -> Result<(), Failure> {
        self.cost += 1;
        if self.cost > COST_MAX {
            return Err(Failure("operation cancelled: actual cost limit exceeded".to_owned()));
        }
        Ok(())
    }

    fn name(&self, name: &str) -> Option<Evaluated> {
        if let Some((_, value)) = self.bound.iter().rev().find(|(one, _)| one == name) {
            return Some(Ok(value.clone()));
        }
        self.scope.value(name).or_else(|| is_type_name(name).then(|| Ok(Val::Type(name.into()))))
    }

    pub(super) fn value(&mut self, of: &Expr) -> Evaluated {
        self.spend()?;
        match &of.node {
            Node::Literal(literal) => Ok(of_literal(literal)),
            Node::Name(name) => {
                self.name(name).unwrap_or_else(|| Err(Failure(format!("no such attribute(s): {name}"))))
            }
            Node::Field { of: target, field, is_optional } => {
                let target = self.value(target)?;
                field_of(&target, field, *is_optional)
            }
            Node::Has { of: target, field } => {
                let target = self.value(target)?;
                has(&target, field)
            }
            Node::Call { target, function, arguments } => self.call(target.as_deref(), function, arguments),
            Node::List(items) => self.list(items),
            Node::Map(entries) => self.map(entries),
            Node::Struct { fields, .. } => {
                let mut members = Vec::new();
                for (name, value, is_optional) in fields {
                    let value = self.value(value)?;
                    members.extend(present(value, *is_optional).map(|value| (name.clone(), value)));
                }
                Ok(Val::object(members))
            }
            Node::Each(each) => self.each(each),
            Node::Bind { name, value, within } => {
                let value = self.value(value)?;
                self.with(name, value, within)
            }
            Node::OptionalMap { target, name, within, is_flat } => match self.value(target)? {
                Val::Optional(Some(value)) => {
                    let made = self.with(name, Val::clone(&value), within)?;
                    Ok(if *is_flat { made } else { Val::some(made) })
                }
                Val::Optional(None) => Ok(Val::Optional(None)),
                _ => Err(Failure::no_overload()),
            },
        }
    }

    /// The value of an expression in which a name is bound.
    pub(super) fn with(&mut self, name: &str, value: Val, within: &Expr) -> Evaluated {
        self.bound.push((name.to_owned(), value));
        let made = self.value(within);
        self.bound.pop();
        made
    }

    fn list(&mut self, items: &[(Expr, bool)]) -> Evaluated {
        let mut values = Vec::with_capacity(items.len());
        for (item, is_optional) in items {
            let value = self.value(item)?;
            values.extend(present(value, *is_optional));
        }
        Ok(Val::list(values))
    }

    fn map(&mut self, entries: &[(Expr, Expr, bool)]) -> Evaluated {
        let mut map = BTreeMap::new();
        for (key, value, is_optional) in entries {
            let key = self.value(key)?.key().ok_or_else(|| Failure("unsupported key type".to_owned()))?;
            let value = self.value(value)?;
            let Some(value) = present(value, *is_optional) else { continue };
            if map.insert(key, value).is_some() {
                return Err(Failure("Failed with repeated key".to_owned()));
            }
        }
        Ok(Val::Map(Arc::new(map)))
    }

    fn call(&mut self, target: Option<&Expr>, function: &str, arguments: &[Expr]) -> Evaluated {
        match (function, arguments) {
            ("_&&_", [left, right]) => return self.both(left, right, false),
            ("_||_", [left, right]) => return self.both(left, right, true),
            ("_?_:_", [condition, then, otherwise]) => {
                return match self.value(condition)? {
                    Val::Bool(true) => self.value(then),
                    Val::Bool(false) => self.value(otherwise),
                    _ => Err(Failure::no_overload()),
                };
            }
            _ => {}
        }
        let Some(target) = target else {
            let values = self.values(arguments)?;
            return match operators::operator(function, &values) {
                Some(made) => made,
                None => functions::call(function, &values),
            };
        };
        let qualified = dotted(target).map(|name| format!("{name}.{function}"));
        if let Some(name) = qualified.filter(|name| functions::is_qualified(name)) {
            let values = self.values(arguments)?;
            return functions::call(&name, &values);
        }
        let target = self.value(target)?;
        // What stands in place of an empty optional is asked for only then.
        if let (Val::Optional(of), "or" | "orValue", [other]) = (&target, function, arguments) {
            return match of {
                Some(value) if function == "orValue" => Ok(Val::clone(value)),
                Some(_) => Ok(target),
                None => self.value(other),
            };
        }
        let mut values = vec![target];
        values.extend(self.values(arguments)?);
        functions::call(function, &values)
    }

    fn values(&mut self, all: &[Expr]) -> Result<Vec<Val>, Failure> {
        all.iter().map(|one| self.value(one)).collect()
    }

    /// `&&` and `||`: a side that decides makes up for an error of the other.
    fn both(&mut self, left: &Expr, right: &Expr, decides: bool) -> Evaluated {
        let left = self.value(left);
        if matches!(left, Ok(Val::Bool(flag)) if flag == decides) {
            return left;
        }
        let right = self.value(right);
        match (&left, &right) {
            (_, Ok(Val::Bool(flag))) if *flag == decides => right,
            (Ok(Val::Bool(_)), Ok(Val::Bool(_))) => right,
            (Err(_), _) => left,
            (_, Err(_)) => right,
            (Ok(_), Ok(_)) => Err(Failure::no_overload()),
        }
    }
}

/// An item or a member; none for an empty optional where one is meant.
fn present(value: Val, is_optional: bool) -> Option<Val> {
    match (value, is_optional) {
        (Val::Optional(of), true) => of.map(|of| Val::clone(&of)),
        (value, _) => Some(value),
    }
}

fn of_literal(literal: &Literal) -> Val {
    match literal {
        Literal::Null => Val::Null,
        Literal::Bool(flag) => Val::Bool(*flag),
        Literal::Int(number) => Val::Int(*number),
        Literal::Uint(number) => Val::Uint(*number),
        Literal::Double(number) => Val::Double(*number),
        Literal::Text(text) => Val::text(text),
        Literal::Bytes(bytes) => Val::Bytes(bytes.as_slice().into()),
    }
}

fn has(target: &Val, field: &str) -> Evaluated {
    match target {
        Val::Map(map) => Ok(Val::Bool(map.contains_key(&Key::Text(field.into())))),
        Val::Optional(Some(of)) => has(of, field),
        Val::Optional(None) => Ok(Val::Bool(false)),
        _ => Err(Failure::no_overload()),
    }
}

/// A field of an object or a member of a map.
fn field_of(target: &Val, field: &str, is_optional: bool) -> Evaluated {
    match target {
        Val::Map(map) => match (map.get(&Key::Text(field.into())), is_optional) {
            (Some(value), false) => Ok(value.clone()),
            (Some(value), true) => Ok(Val::some(value.clone())),
            (None, true) => Ok(Val::Optional(None)),
            (None, false) => Err(Failure(format!("no such key: {field}"))),
        },
        Val::Optional(None) => Ok(Val::Optional(None)),
        Val::Optional(Some(of)) => field_of(of, field, true),
        _ => Err(Failure::no_overload()),
    }
}
