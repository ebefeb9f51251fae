//! Expressions, as they are parsed: macros are forms of their own.

/// An expression and where it stands.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    /// Offset in characters.
    pub at: usize,
    /// What it is.
    pub node: Node,
}

/// Forms of expressions.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// A literal.
    Literal(Literal),
    /// A name.
    Name(String),
    /// `of.field`; `of.?field`.
    Field {
        /// What has the field.
        of: Box<Expr>,
        /// Its name.
        field: String,
        /// Whether what is not there is an empty optional.
        is_optional: bool,
    },
    /// `has(of.field)`.
    Has {
        /// What has the field.
        of: Box<Expr>,
        /// Its name.
        field: String,
    },
    /// A function, a method or an operator (`_+_`).
    Call {
        /// What the method is called on.
        target: Option<Box<Expr>>,
        /// The name.
        function: String,
        /// Arguments.
        arguments: Vec<Expr>,
    },
    /// `[a, ?b]`; items with a mark are optionals.
    List(Vec<(Expr, bool)>),
    /// `{k: v, ?l: w}`.
    Map(Vec<(Expr, Expr, bool)>),
    /// `Name{field: value}`.
    Struct {
        /// The type's name.
        name: String,
        /// Its fields.
        fields: Vec<(String, Expr, bool)>,
    },
    /// `all`, `exists`, `map` and so on, over the items of a list or the keys of a map.
    Each(Box<Each>),
    /// `cel.bind(name, value, within)`.
    Bind {
        /// The name.
        name: String,
        /// What it stands for.
        value: Box<Expr>,
        /// Where it does.
        within: Box<Expr>,
    },
    /// `target.optMap(name, within)`, and `optFlatMap`.
    OptionalMap {
        /// The optional.
        target: Box<Expr>,
        /// What its value is called.
        name: String,
        /// What is made of it.
        within: Box<Expr>,
        /// Whether that is an optional itself.
        is_flat: bool,
    },
}

/// A literal.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// `null`
    Null,
    /// `true`
    Bool(bool),
    /// `1`
    Int(i64),
    /// `1u`
    Uint(u64),
    /// `1.0`
    Double(f64),
    /// `"a"`
    Text(String),
    /// `b"a"`
    Bytes(Vec<u8>),
}

/// What is done with each item.
#[derive(Clone, Debug, PartialEq)]
pub struct Each {
    /// What for.
    pub what: What,
    /// What is gone through.
    pub range: Expr,
    /// What an item is called; with a second name, its index or key.
    pub first: String,
    /// What the value is called beside its index or key.
    pub second: Option<String>,
    /// Which items count, for `map` with a condition and the `transform` forms.
    pub filter: Option<Expr>,
    /// What is asked of an item, or made of it.
    pub body: Expr,
}

/// The forms of [`Each`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Whether it holds of all.
    All,
    /// Whether it holds of one at least.
    Exists,
    /// Whether it holds of exactly one.
    ExistsOne,
    /// A list of what is made of each.
    Map,
    /// The items of which it holds; of a map, the keys.
    Filter,
    /// A list of what is made of each index or key and value.
    TransformList,
    /// A map of what is made of each value.
    TransformMap,
    /// The list, sorted by what is made of each item.
    SortBy,
}
