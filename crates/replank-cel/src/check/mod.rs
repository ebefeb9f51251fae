//! Whether an expression makes sense, before it is asked: names, fields, arguments (cel-go `checker`).

mod signatures;
mod unify;

use std::collections::BTreeMap;

use crate::ast::{Each, Expr, Literal, Node, What};
use crate::fault::{Fault, Faults};
use crate::names::{dotted, is_type_name};
use crate::types::Type;
use signatures::signatures;
use unify::Known;

/// What names stand for.
pub type Names = BTreeMap<String, Type>;

/// The type of an expression.
///
/// # Errors
/// Everything that is wrong with it.
pub fn check(text: &str, expression: &Expr, names: &Names) -> Result<Type, Faults> {
    let mut checker = Checker { scopes: vec![names.clone()], known: Known::default(), faults: Vec::new() };
    let of = checker.expression(expression);
    if checker.faults.is_empty() {
        return Ok(checker.known.resolve(&of));
    }
    checker.faults.sort_by_key(|fault| fault.at);
    Err(Faults { text: text.to_owned(), all: checker.faults })
}

struct Checker {
    scopes: Vec<Names>,
    known: Known,
    faults: Vec<Fault>,
}

impl Checker {
    fn fault(&mut self, at: usize, message: String) -> Type {
        self.faults.push(Fault { at, message });
        Type::Dyn
    }

    fn lookup(&self, name: &str) -> Option<Type> {
        let of_type = |name: &str| is_type_name(name).then_some(Type::Type);
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).cloned().or_else(|| of_type(name))
    }

    fn within(&mut self, names: Vec<(&str, Type)>, expression: &Expr) -> Type {
        let names = names.into_iter().map(|(name, of)| (name.to_owned(), of)).collect();
        self.scopes.push(names);
        let of = self.expression(expression);
        self.scopes.pop();
        of
    }

    fn expression(&mut self, of: &Expr) -> Type {
        let found = match &of.node {
            Node::Literal(literal) => of_literal(literal),
            Node::Name(name) => match self.lookup(name) {
                Some(of) => of,
                None => self.undeclared(of.at, name),
            },
            Node::Field { of: target, field, is_optional } => {
                if let Some(name) = dotted(of)
                    && let Some(found) = self.lookup(&name)
                {
                    return found;
                }
                let target = self.expression(target);
                self.field(of.at, &target, field, *is_optional)
            }
            Node::Has { of: target, field } => {
                let target = self.expression(target);
                self.field(of.at, &target, field, false);
                Type::Bool
            }
            Node::Call { target, function, arguments } => {
                self.call(of.at, target.as_deref(), function, arguments)
            }
            Node::List(items) => self.list(items),
            Node::Map(entries) => self.map(entries),
            Node::Struct { name, fields } => self.structure(of.at, name, fields),
            Node::Each(each) => self.each(each),
            Node::Bind { name, value, within } => {
                let value = self.expression(value);
                self.within(vec![(name, value)], within)
            }
            Node::OptionalMap { target, name, within, is_flat } => {
                let target = self.expression(target);
                let item = match self.known.resolve(&target) {
                    Type::Optional(item) => Type::clone(&item),
                    _ => Type::Dyn,
                };
                let made = self.within(vec![(name, item)], within);
                if *is_flat { made } else { Type::optional(made) }
            }
        };
        self.known.resolve(&found)
    }

    fn undeclared(&mut self, at: usize, name: &str) -> Type {
        self.fault(at, format!("undeclared reference to '{name}' (in container '')"))
    }

    fn field(&mut self, at: usize, target: &Type, field: &str, is_optional: bool) -> Type {
        let target = self.known.resolve(target);
        let (target, through_optional) = match &target {
            Type::Optional(of) => (Type::clone(of), true),
            _ => (target, is_optional),
        };
        let found = match &target {
            Type::Object(object) => match object.fields.get(field) {
                Some(of) => of.clone(),
                None => self.fault(at, format!("undefined field '{field}'")),
            },
            Type::Map(key, value) => {
                if self.known.fits(&Type::Text, key) {
                    Type::clone(value)
                } else {
                    self.fault(at, format!("type '{target}' does not support field selection"))
                }
            }
            Type::Dyn | Type::Unknown(_) => Type::Dyn,
            _ => self.fault(at, format!("type '{target}' does not support field selection")),
        };
        if through_optional { Type::optional(found) } else { found }
    }

    fn list(&mut self, items: &[(Expr, bool)]) -> Type {
        let types: Vec<Type> = items
            .iter()
            .map(|(item, is_optional)| match (self.expression(item), is_optional) {
                (Type::Optional(of), true) => Type::clone(&of),
                (of, _) => of,
            })
            .collect();
        Type::list(self.joined(&types))
    }

    fn map(&mut self, entries: &[(Expr, Expr, bool)]) -> Type {
        let (mut keys, mut values) = (Vec::new(), Vec::new());
        for (key, value, is_optional) in entries {
            keys.push(self.expression(key));
            values.push(match (self.expression(value), is_optional) {
                (Type::Optional(of), true) => Type::clone(&of),
                (of, _) => of,
            });
        }
        let key = self.joined(&keys);
        Type::map(key, self.joined(&values))
    }

    /// One type for several values: theirs where it is one, else any.
    fn joined(&mut self, types: &[Type]) -> Type {
        let Some(first) = types.first() else { return self.known.fresh() };
        let all = types.iter().all(|of| *of == *first || self.known.fits(of, first));
        if all { first.clone() } else { Type::Dyn }
    }

    fn structure(&mut self, at: usize, name: &str, fields: &[(String, Expr, bool)]) -> Type {
        let types: Vec<Type> = fields.iter().map(|(_, value, _)| self.expression(value)).collect();
        match self.lookup(name) {
            // A name that stands for any object has fields of any name.
            Some(Type::Dyn) => Type::Dyn,
            Some(Type::Object(object)) => {
                for ((field, value, is_optional), is) in fields.iter().zip(types) {
                    let is = match is {
                        Type::Optional(of) if *is_optional => Type::clone(&of),
                        is => is,
                    };
                    match object.fields.get(field) {
                        None => {
                            self.fault(value.at.saturating_sub(1), format!("undefined field '{field}'"));
                        }
                        Some(wanted) if !self.known.fits(&is, wanted) => {
                            let what = format!(
                                "expected type of field '{field}' is '{wanted}' but provided type is '{is}'"
                            );
                            self.fault(value.at.saturating_sub(1), what);
                        }
                        Some(_) => {}
                    }
                }
                Type::Object(object)
            }
            _ if name == "Object" || name.starts_with("Object.") => Type::Dyn,
            Some(_) | None => self.undeclared(at, name),
        }
    }

    fn each(&mut self, each: &Each) -> Type {
        let range = self.expression(&each.range);
        let (item, key, value) = match self.known.resolve(&range) {
            Type::List(item) => (Type::clone(&item), Type::Int, Type::clone(&item)),
            Type::Map(key, value) => (Type::clone(&key), Type::clone(&key), Type::clone(&value)),
            Type::Dyn | Type::Unknown(_) => (Type::Dyn, Type::Dyn, Type::Dyn),
            other => {
                let what = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.fault(each.range.at, what);
                (Type::Dyn, Type::Dyn, Type::Dyn)
            }
        };
        let names: Vec<(&str, Type)> = match &each.second {
            Some(second) => vec![(&each.first, key.clone()), (second, value)],
            None => vec![(&each.first, item.clone())],
        };
        if let Some(filter) = &each.filter {
            let is = self.within(names.clone(), filter);
            self.want(filter.at, &is, &Type::Bool, "_?_:_");
        }
        let made = self.within(names, &each.body);
        match each.what {
            What::All | What::Exists | What::ExistsOne => {
                if !self.known.fits(&made, &Type::Bool) {
                    self.fault(each.body.at, format!("expected type 'bool' but found '{made}'"));
                }
                Type::Bool
            }
            What::Filter => {
                self.want(each.body.at, &made, &Type::Bool, "_?_:_");
                Type::list(item)
            }
            What::SortBy => range,
            What::Map | What::TransformList => Type::list(made),
            What::TransformMap => Type::map(key, made),
        }
    }

    fn want(&mut self, at: usize, is: &Type, wanted: &Type, operator: &str) {
        if !self.known.fits(is, wanted) {
            let what = format!("found no matching overload for '{operator}' applied to '({wanted}, {is})'");
            self.fault(at, what);
        }
    }

    fn call(&mut self, at: usize, target: Option<&Expr>, function: &str, arguments: &[Expr]) -> Type {
        // A function may have a name with dots: `optional.of(x)`.
        let qualified = target.and_then(|target| Some(format!("{}.{function}", dotted(target)?)));
        let is_qualified = qualified.as_ref().is_some_and(|name| signatures().contains_key(name.as_str()));
        let (target, function) = match (is_qualified, &qualified) {
            (true, Some(name)) => (None, name.as_str()),
            _ => (target, function),
        };
        let mut types: Vec<Type> = target.into_iter().map(|target| self.expression(target)).collect();
        types.extend(arguments.iter().map(|argument| self.expression(argument)));
        let Some(overloads) = signatures().get(function) else { return self.undeclared(at, function) };
        self.constant(function, arguments);
        let mut found: Option<(Type, Known)> = None;
        for overload in overloads.iter().filter(|one| one.is_method == target.is_some()) {
            if overload.takes.len() != types.len() {
                continue;
            }
            let mut known = self.known.clone();
            let mut open = Vec::new();
            let fits = overload.takes.iter().zip(&types).all(|(wanted, is)| {
                let wanted = known.instance(wanted, &mut open);
                known.fits(is, &wanted)
            });
            if fits {
                let gives = known.instance(&overload.gives, &mut open);
                match &found {
                    None => found = Some((gives, known)),
                    // Several may be meant: what comes out is known only where all say the same.
                    Some((one, _)) if *one == gives => {}
                    Some((_, known)) => found = Some((Type::Dyn, known.clone())),
                }
            }
        }
        match found {
            Some((gives, known)) => {
                self.known = known;
                self.known.resolve(&gives)
            }
            None => {
                let shown: Vec<String> =
                    types.iter().skip(usize::from(target.is_some())).map(ToString::to_string).collect();
                let on = if target.is_some() { format!("{}.", types[0]) } else { String::new() };
                let what = format!(
                    "found no matching overload for '{function}' applied to '{on}({})'",
                    shown.join(", ")
                );
                self.fault(at, what)
            }
        }
    }
}

impl Checker {
    /// Literals that a function cannot take are told before it is called (cel-go `cel/validator.go`).
    fn constant(&mut self, function: &str, arguments: &[Expr]) {
        let Some(last) = arguments.last() else { return };
        let Node::Literal(Literal::Text(text)) = &last.node else { return };
        let is_wrong = match function {
            "duration" => crate::time::duration(text).is_none(),
            "timestamp" => crate::time::timestamp(text).is_none(),
            "matches" => regex_lite::Regex::new(text).is_err(),
            _ => false,
        };
        if is_wrong {
            self.fault(last.at, format!("invalid {function} argument"));
        }
    }
}

fn of_literal(literal: &Literal) -> Type {
    match literal {
        Literal::Null => Type::Null,
        Literal::Bool(_) => Type::Bool,
        Literal::Int(_) => Type::Int,
        Literal::Uint(_) => Type::Uint,
        Literal::Double(_) => Type::Double,
        Literal::Text(_) => Type::Text,
        Literal::Bytes(_) => Type::Bytes,
    }
}
