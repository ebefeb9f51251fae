//! Macros: what looks like a function and binds names.

use crate::ast::{Each, Expr, Node, What};
use crate::fault::Fault;

/// A function, or a macro that looks like one.
pub(super) fn function(at: usize, name: String, mut arguments: Vec<Expr>) -> Result<Expr, Fault> {
    if name == "has" && arguments.len() == 1 {
        let argument = arguments.remove(0);
        let place = argument.at;
        return match argument.node {
            Node::Field { of, field, is_optional: false } => Ok(Expr { at, node: Node::Has { of, field } }),
            Node::Field { .. }
            | Node::Literal(_)
            | Node::Name(_)
            | Node::Has { .. }
            | Node::Call { .. }
            | Node::List(_)
            | Node::Map(_)
            | Node::Struct { .. }
            | Node::Each(_)
            | Node::Bind { .. }
            | Node::OptionalMap { .. } => {
                Err(Fault { at: place, message: "invalid argument to has() macro".to_owned() })
            }
        };
    }
    Ok(Expr { at, node: Node::Call { target: None, function: name, arguments } })
}

/// A method, or a macro that looks like one.
pub(super) fn method(at: usize, target: Expr, name: String, mut arguments: Vec<Expr>) -> Result<Expr, Fault> {
    let is_cel = matches!(&target.node, Node::Name(name) if name == "cel");
    if is_cel && name == "bind" && arguments.len() == 3 {
        let (within, value) = (arguments.remove(2), arguments.remove(1));
        let name = variable(&arguments[0])?;
        return Ok(Expr { at, node: Node::Bind { name, value: Box::new(value), within: Box::new(within) } });
    }
    if matches!(name.as_str(), "optMap" | "optFlatMap") && arguments.len() == 2 {
        let within = Box::new(arguments.remove(1));
        let is_flat = name == "optFlatMap";
        let name = variable(&arguments[0])?;
        let node = Node::OptionalMap { target: Box::new(target), name, within, is_flat };
        return Ok(Expr { at, node });
    }
    let (what, names, has_filter) = match (name.as_str(), arguments.len()) {
        ("all", 2) => (What::All, 1, false),
        ("all", 3) => (What::All, 2, false),
        ("exists", 2) => (What::Exists, 1, false),
        ("exists", 3) => (What::Exists, 2, false),
        ("exists_one" | "existsOne", 2) => (What::ExistsOne, 1, false),
        ("exists_one" | "existsOne", 3) => (What::ExistsOne, 2, false),
        ("map", 2) => (What::Map, 1, false),
        ("map", 3) => (What::Map, 1, true),
        ("filter", 2) => (What::Filter, 1, false),
        ("transformList", 3) => (What::TransformList, 2, false),
        ("transformList", 4) => (What::TransformList, 2, true),
        ("transformMap", 3) => (What::TransformMap, 2, false),
        ("transformMap", 4) => (What::TransformMap, 2, true),
        ("sortBy", 2) => (What::SortBy, 1, false),
        _ => {
            let target = Some(Box::new(target));
            return Ok(Expr { at, node: Node::Call { target, function: name, arguments } });
        }
    };
    let first = variable(&arguments[0])?;
    let second = if names == 2 { Some(variable(&arguments[1])?) } else { None };
    let filter = has_filter.then(|| arguments.remove(names));
    let body = arguments.remove(names);
    Ok(Expr { at, node: Node::Each(Box::new(Each { what, range: target, first, second, filter, body })) })
}

fn variable(of: &Expr) -> Result<String, Fault> {
    match &of.node {
        Node::Name(name) => Ok(name.clone()),
        Node::Field { .. }
        | Node::Literal(_)
        | Node::Has { .. }
        | Node::Call { .. }
        | Node::List(_)
        | Node::Map(_)
        | Node::Struct { .. }
        | Node::Each(_)
        | Node::Bind { .. }
        | Node::OptionalMap { .. } => {
            Err(Fault { at: of.at, message: "argument must be a simple name".to_owned() })
        }
    }
}
