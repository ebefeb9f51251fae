//! JSONPath, as columns of definitions use it: members, indices, slices, wildcards, recursive descent, unions, and filters that compare (client-go
//! `util/jsonpath`).

use std::cmp::Ordering;

use serde_json::Value;

/// The longest path that is read.
const LENGTH_MAX: usize = 1_024;

/// A step of a path.
#[derive(Clone, Debug, PartialEq)]
enum Step {
    Member(String),
    Index(i64),
    Slice(Option<i64>, Option<i64>),
    All,
    Deep,
    Filter(Box<Filter>),
    Union(Vec<Step>),
}

/// `?(@.a == "b")`; without a comparison: whether there is something.
#[derive(Clone, Debug, PartialEq)]
struct Filter {
    left: Path,
    compared: Option<(String, Operand)>,
}

#[derive(Clone, Debug, PartialEq)]
enum Operand {
    Path(Path),
    Value(Value),
}

/// A path.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Path(Vec<Step>);

impl Path {
    /// Reads a path; `None` for what is none.
    pub(super) fn read(text: &str) -> Option<Self> {
        let text = text.trim();
        let text = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(text);
        if text.len() > LENGTH_MAX {
            return None;
        }
        let mut rest = text.trim_start_matches(['$', '@']);
        let mut steps = Vec::new();
        while !rest.is_empty() {
            rest = step(rest, &mut steps)?;
        }
        Some(Self(steps))
    }

    /// What it leads to, in order.
    pub(super) fn find<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        let mut found = vec![value];
        for step in &self.0 {
            found = found.into_iter().flat_map(|value| step.from(value)).collect();
        }
        found
    }
}

/// Takes one step off the front of a path.
fn step<'a>(text: &'a str, steps: &mut Vec<Step>) -> Option<&'a str> {
    if let Some(rest) = text.strip_prefix("..") {
        steps.push(Step::Deep);
        // A bracket may follow at once, a name has lost its dot.
        return if rest.starts_with('[') { Some(rest) } else { name(rest, steps) };
    }
    if let Some(rest) = text.strip_prefix('.') {
        return if rest.starts_with('[') { Some(rest) } else { name(rest, steps) };
    }
    match text.strip_prefix('[') {
        Some(inner) => {
            let end = closing(inner)?;
            steps.push(bracket(inner[..end].trim())?);
            Some(&inner[end + 1..])
        }
        None => name(text, steps),
    }
}

fn name<'a>(text: &'a str, steps: &mut Vec<Step>) -> Option<&'a str> {
    let mut word = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => word.extend(letters.next().map(|(_, letter)| letter)),
            '.' | '[' => {
                steps.push(named(word));
                return Some(&text[at..]);
            }
            letter => word.push(letter),
        }
    }
    if word.is_empty() {
        return None;
    }
    steps.push(named(word));
    Some("")
}

fn named(word: String) -> Step {
    if word == "*" { Step::All } else { Step::Member(word) }
}

/// Where the bracket that is open closes.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0_usize, None);
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), letter) if letter == open => quote = None,
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(letter),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            (None, _) => {}
        }
    }
    None
}

fn bracket(inner: &str) -> Option<Step> {
    if let Some(filter) = inner.strip_prefix("?(").and_then(|rest| rest.strip_suffix(')')) {
        return Some(Step::Filter(Box::new(self::filter(filter.trim())?)));
    }
    if let Some(word) = quoted(inner) {
        return Some(Step::Member(word.to_owned()));
    }
    if inner == "*" {
        return Some(Step::All);
    }
    if inner.contains(',') {
        return inner.split(',').map(|part| bracket(part.trim())).collect::<Option<_>>().map(Step::Union);
    }
    if let Some((from, to)) = inner.split_once(':') {
        let bound =
            |text: &str| if text.trim().is_empty() { Some(None) } else { text.trim().parse().ok().map(Some) };
        return Some(Step::Slice(bound(from)?, bound(to)?));
    }
    inner.parse().ok().map(Step::Index)
}

fn quoted(text: &str) -> Option<&str> {
    let of = |quote: char| text.strip_prefix(quote)?.strip_suffix(quote).filter(|word| !word.contains(quote));
    of('\'').or_else(|| of('"'))
}

fn filter(text: &str) -> Option<Filter> {
    let found = ["==", "!=", "<=", ">=", "<", ">"].iter().filter_map(|word| Some((text.find(word)?, *word)));
    let Some((at, word)) = found.min_by_key(|(at, word)| (*at, std::cmp::Reverse(word.len()))) else {
        return Some(Filter { left: Path::read(text)?, compared: None });
    };
    let right = text[at + word.len()..].trim();
    let operand = match quoted(right) {
        Some(word) => Operand::Value(word.into()),
        None if right.starts_with('@') => Operand::Path(Path::read(right)?),
        None => Operand::Value(serde_json::from_str(right).ok()?),
    };
    Some(Filter { left: Path::read(text[..at].trim())?, compared: Some((word.to_owned(), operand)) })
}

impl Step {
    fn from<'a>(&self, value: &'a Value) -> Vec<&'a Value> {
        let children = |value: &'a Value| -> Vec<&'a Value> {
            match value {
                Value::Array(items) => items.iter().collect(),
                Value::Object(members) => members.values().collect(),
                Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Vec::new(),
            }
        };
        let place = |index: i64, length: usize| {
            let length = i64::try_from(length).unwrap_or(i64::MAX);
            usize::try_from(if index < 0 { index + length } else { index }).ok()
        };
        match self {
            Self::Member(name) => value.get(name).into_iter().collect(),
            Self::Index(index) => {
                let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
                place(*index, items.len()).and_then(|index| items.get(index)).into_iter().collect()
            }
            Self::Slice(from, to) => {
                let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
                let to = to.map_or(Some(items.len()), |to| place(to, items.len())).unwrap_or(0);
                let from = place(from.unwrap_or(0), items.len()).unwrap_or(0);
                items.get(from..to.min(items.len())).unwrap_or_default().iter().collect()
            }
            Self::All => children(value),
            Self::Deep => {
                let mut all = vec![value];
                let mut next = 0;
                while let Some(one) = all.get(next).copied() {
                    all.extend(children(one));
                    next += 1;
                }
                all
            }
            Self::Filter(filter) => children(value).into_iter().filter(|one| filter.holds(one)).collect(),
            Self::Union(steps) => steps.iter().flat_map(|step| step.from(value)).collect(),
        }
    }
}

impl Filter {
    fn holds(&self, value: &Value) -> bool {
        let left = self.left.find(value);
        let Some((word, operand)) = &self.compared else { return !left.is_empty() };
        let right = match operand {
            Operand::Value(value) => Some(value),
            Operand::Path(path) => path.find(value).first().copied(),
        };
        let (Some(left), Some(right)) = (left.first().copied(), right) else { return false };
        let order = match (left.as_f64(), right.as_f64(), left.as_str(), right.as_str()) {
            (Some(left), Some(right), ..) => left.partial_cmp(&right),
            (.., Some(left), Some(right)) => Some(left.cmp(right)),
            _ => (left == right).then_some(Ordering::Equal),
        };
        match (word.as_str(), order) {
            ("==", order) => order == Some(Ordering::Equal),
            ("!=", order) => order != Some(Ordering::Equal),
            ("<", order) => order == Some(Ordering::Less),
            (">", order) => order == Some(Ordering::Greater),
            ("<=", order) => matches!(order, Some(Ordering::Less | Ordering::Equal)),
            (_, order) => matches!(order, Some(Ordering::Greater | Ordering::Equal)),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn told(path: &str) -> Vec<Value> {
        let object =
            json!({"spec": {"n": 3, "a.b/c": "x", "list": [{"t": "A", "v": 1}, {"t": "B", "v": 2}]}});
        Path::read(path).expect(path).find(&object).into_iter().cloned().collect()
    }

    #[test]
    fn paths_of_columns_are_followed() {
        assert_eq!(told(".spec.n"), [json!(3)]);
        assert_eq!(told("{.spec['a.b/c']}"), [json!("x")]);
        assert_eq!(told(r".spec.a\.b/c"), [json!("x")]);
        assert_eq!(told(".spec.list[-1].v"), [json!(2)]);
        assert_eq!(told(".spec.list[?(@.t==\"B\")].v"), [json!(2)]);
        assert_eq!(told(".spec.list[?(@.v<=1)].t"), [json!("A")]);
        assert_eq!(told(".spec.list[*].t"), [json!("A"), json!("B")]);
        assert_eq!(told(".spec.list[0:1].t"), [json!("A")]);
        assert_eq!(told("..v"), [json!(1), json!(2)]);
        assert!(told(".status.none").is_empty());
    }

    #[test]
    fn what_is_no_path_is_none() {
        for text in [".a[", ".a[x]", ".a[?(@.b==)]", "."] {
            assert_eq!(Path::read(text), None, "{text}");
        }
    }
}
