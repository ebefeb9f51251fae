//! From text to expressions (the grammar of the CEL specification, with optional syntax).

mod macros;
mod token;

use crate::ast::{Expr, Literal, Node};
use crate::fault::{Fault, Faults};
use token::{Kind, Token};

/// How deeply expressions may nest: a guard for the stack.
const DEPTH_MAX: u32 = 100;

/// How many operators, fields or methods may follow on each other: each is one level deeper for whoever evaluates them.
const CHAIN_MAX: u32 = 400;

/// Names that are kept for other languages.
const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// Reads an expression.
///
/// # Errors
/// Where it is none.
pub fn parse(text: &str) -> Result<Expr, Faults> {
    let faults = |fault: Fault| Faults { text: text.to_owned(), all: vec![fault] };
    let tokens = token::tokens(text).map_err(faults)?;
    let mut parser = Parser { tokens, next: 0, depth: 0 };
    let whole = parser.expression().map_err(faults)?;
    match parser.peek() {
        Kind::End => Ok(whole),
        _ => Err(faults(parser.unexpected("<EOF>"))),
    }
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
    depth: u32,
}

type Parsed = Result<Expr, Fault>;

impl Parser {
    fn peek(&self) -> &Kind {
        &self.tokens[self.next.min(self.tokens.len() - 1)].kind
    }

    fn at(&self) -> usize {
        self.tokens[self.next.min(self.tokens.len() - 1)].at
    }

    fn is(&self, mark: &str) -> bool {
        matches!(self.peek(), Kind::Mark(one) if *one == mark)
    }

    fn take(&mut self, mark: &str) -> bool {
        let is = self.is(mark);
        self.next += usize::from(is);
        is
    }

    fn expect(&mut self, mark: &str) -> Result<(), Fault> {
        if self.take(mark) { Ok(()) } else { Err(self.unexpected(&format!("'{mark}'"))) }
    }

    fn unexpected(&self, expected: &str) -> Fault {
        let found = match self.peek() {
            Kind::Name(name) | Kind::Quoted(name) => format!("'{name}'"),
            Kind::Literal(Literal::Text(text)) => format!("'{text:?}'"),
            Kind::Literal(_) => "a literal".to_owned(),
            Kind::Mark(mark) => format!("'{mark}'"),
            Kind::End => "'<EOF>'".to_owned(),
        };
        Fault {
            at: self.at(),
            message: format!("Syntax error: mismatched input {found} expecting {expected}"),
        }
    }

    fn expression(&mut self) -> Parsed {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(Fault {
                at: self.at(),
                message: "expression recursion limit exceeded: 250".to_owned(),
            });
        }
        let condition = self.binary(0)?;
        let at = self.at();
        let whole = if self.take("?") {
            let then = self.binary(0)?;
            self.expect(":")?;
            let otherwise = self.expression()?;
            call(at, "_?_:_", vec![condition, then, otherwise])
        } else {
            condition
        };
        self.depth -= 1;
        Ok(whole)
    }

    /// Operators of a level and those that bind closer.
    fn binary(&mut self, level: usize) -> Parsed {
        const LEVELS: [&[&str]; 5] =
            [&["||"], &["&&"], &["<", "<=", ">=", ">", "==", "!=", "in"], &["+", "-"], &["*", "/", "%"]];
        let Some(operators) = LEVELS.get(level) else { return self.unary() };
        let mut left = self.binary(level + 1)?;
        let mut chain = 0;
        loop {
            let operator = operators.iter().find(|operator| match self.peek() {
                Kind::Mark(mark) => mark == *operator,
                Kind::Name(name) => name == *operator,
                Kind::Quoted(_) | Kind::Literal(_) | Kind::End => false,
            });
            let Some(operator) = operator else { return Ok(left) };
            let at = self.at();
            self.next += 1;
            chain += 1;
            self.check_chain(chain)?;
            let right = self.binary(level + 1)?;
            let function = if *operator == "in" { "@in".to_owned() } else { format!("_{operator}_") };
            left = call(at, &function, vec![left, right]);
        }
    }

    fn check_chain(&self, chain: u32) -> Result<(), Fault> {
        if chain > CHAIN_MAX {
            return Err(Fault {
                at: self.at(),
                message: "expression recursion limit exceeded: 250".to_owned(),
            });
        }
        Ok(())
    }

    fn unary(&mut self) -> Parsed {
        let at = self.at();
        let Some(operator) = ["!", "-"].into_iter().find(|operator| self.is(operator)) else {
            return self.member();
        };
        let mut count = 0;
        while self.take(operator) {
            count += 1;
        }
        // A minus belongs to the number behind it.
        if operator == "-"
            && count % 2 == 1
            && let Kind::Literal(Literal::Int(_) | Literal::Double(_)) = self.peek()
        {
            let mut of = self.member()?;
            negate(&mut of);
            of.at = at;
            return Ok(of);
        }
        let of = self.member()?;
        if count % 2 == 0 {
            return Ok(of);
        }
        Ok(call(at, if operator == "!" { "!_" } else { "-_" }, vec![of]))
    }

    fn member(&mut self) -> Parsed {
        let mut of = self.primary()?;
        let mut chain = 0;
        loop {
            let at = self.at();
            chain += 1;
            self.check_chain(chain)?;
            if self.take(".?")
                || (self.is(".") && self.tokens[self.next + 1].kind == Kind::Mark("?") && {
                    self.next += 2;
                    true
                })
            {
                let field = self.field_name()?;
                of = Expr { at, node: Node::Field { of: Box::new(of), field, is_optional: true } };
            } else if self.take(".") {
                let field = self.field_name()?;
                if self.is("(") {
                    let at = self.at();
                    let arguments = self.arguments()?;
                    of = macros::method(at, of, field, arguments)?;
                } else {
                    of = Expr { at, node: Node::Field { of: Box::new(of), field, is_optional: false } };
                }
            } else if self.take("[?") {
                let index = self.expression()?;
                self.expect("]")?;
                of = call(at, "_[?_]", vec![of, index]);
            } else if self.take("[") {
                let function = if self.take("?") { "_[?_]" } else { "_[_]" };
                let index = self.expression()?;
                self.expect("]")?;
                of = call(at, function, vec![of, index]);
            } else if self.is("{")
                && let Some(name) = dotted(&of)
            {
                let fields = self.fields()?;
                of = Expr { at, node: Node::Struct { name, fields } };
            } else {
                return Ok(of);
            }
        }
    }

    fn field_name(&mut self) -> Result<String, Fault> {
        match self.peek().clone() {
            Kind::Name(name) | Kind::Quoted(name) => {
                self.next += 1;
                Ok(name)
            }
            Kind::Literal(_) | Kind::Mark(_) | Kind::End => Err(self.unexpected("IDENTIFIER")),
        }
    }

    fn primary(&mut self) -> Parsed {
        let at = self.at();
        match self.peek().clone() {
            Kind::Literal(literal) => {
                self.next += 1;
                Ok(Expr { at, node: Node::Literal(literal) })
            }
            Kind::Name(name) => {
                self.next += 1;
                if RESERVED.contains(&name.as_str()) {
                    return Err(Fault { at, message: format!("reserved identifier: {name}") });
                }
                if !self.is("(") {
                    return Ok(Expr { at, node: Node::Name(name) });
                }
                let at = self.at();
                let arguments = self.arguments()?;
                macros::function(at, name, arguments)
            }
            Kind::Mark(".") => {
                self.next += 1;
                self.primary()
            }
            Kind::Mark("(") => {
                self.next += 1;
                let within = self.expression()?;
                self.expect(")")?;
                Ok(within)
            }
            Kind::Mark("[") => {
                self.next += 1;
                self.list(at)
            }
            Kind::Mark("[?") => {
                self.next += 1;
                let first = self.expression()?;
                self.items(at, vec![(first, true)])
            }
            Kind::Mark("{") => self.map(at),
            Kind::Mark(_) | Kind::Quoted(_) | Kind::End => Err(self.unexpected(
                "{'[', '{', '(', '.', '-', '!', 'true', 'false', 'null', NUM_FLOAT, NUM_INT, NUM_UINT, STRING, BYTES, IDENTIFIER}",
            )),
        }
    }

    fn arguments(&mut self) -> Result<Vec<Expr>, Fault> {
        self.expect("(")?;
        let mut all = Vec::new();
        if self.take(")") {
            return Ok(all);
        }
        loop {
            all.push(self.expression()?);
            if !self.take(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok(all)
    }

    fn list(&mut self, at: usize) -> Parsed {
        self.items(at, Vec::new())
    }

    fn items(&mut self, at: usize, mut items: Vec<(Expr, bool)>) -> Parsed {
        if !items.is_empty() && !self.take(",") {
            self.expect("]")?;
            return Ok(Expr { at, node: Node::List(items) });
        }
        while !self.take("]") {
            let is_optional = self.take("?");
            items.push((self.expression()?, is_optional));
            if !self.take(",") {
                self.expect("]")?;
                break;
            }
        }
        Ok(Expr { at, node: Node::List(items) })
    }

    fn map(&mut self, at: usize) -> Parsed {
        self.expect("{")?;
        let mut entries = Vec::new();
        while !self.take("}") {
            let is_optional = self.take("?");
            let key = self.expression()?;
            self.expect(":")?;
            entries.push((key, self.expression()?, is_optional));
            if !self.take(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok(Expr { at, node: Node::Map(entries) })
    }

    fn fields(&mut self) -> Result<Vec<(String, Expr, bool)>, Fault> {
        self.expect("{")?;
        let mut fields = Vec::new();
        while !self.take("}") {
            let is_optional = self.take("?");
            let name = self.field_name()?;
            self.expect(":")?;
            fields.push((name, self.expression()?, is_optional));
            if !self.take(",") {
                self.expect("}")?;
                break;
            }
        }
        Ok(fields)
    }
}

fn negate(of: &mut Expr) {
    match &mut of.node {
        Node::Literal(Literal::Int(number)) => *number = number.wrapping_neg(),
        Node::Literal(Literal::Double(number)) => *number = -*number,
        Node::Field { of, .. } => negate(of),
        Node::Call { target: Some(target), .. } => negate(target),
        Node::Call { target: None, arguments, .. } => arguments.iter_mut().take(1).for_each(negate),
        Node::Literal(_)
        | Node::Name(_)
        | Node::Has { .. }
        | Node::List(_)
        | Node::Map(_)
        | Node::Struct { .. }
        | Node::Each(_)
        | Node::Bind { .. }
        | Node::OptionalMap { .. } => {}
    }
}

pub(crate) fn call(at: usize, function: &str, arguments: Vec<Expr>) -> Expr {
    Expr { at, node: Node::Call { target: None, function: function.to_owned(), arguments } }
}

/// A name with dots, as types have.
fn dotted(of: &Expr) -> Option<String> {
    match &of.node {
        Node::Name(name) => Some(name.clone()),
        Node::Field { of, field, is_optional: false } => Some(format!("{}.{field}", dotted(of)?)),
        Node::Field { is_optional: true, .. }
        | Node::Literal(_)
        | Node::Has { .. }
        | Node::Call { .. }
        | Node::List(_)
        | Node::Map(_)
        | Node::Struct { .. }
        | Node::Each(_)
        | Node::Bind { .. }
        | Node::OptionalMap { .. } => None,
    }
}
