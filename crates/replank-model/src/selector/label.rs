//! The compiled label selector (apimachinery 1.36, `pkg/labels/selector.go`).

use std::fmt;
use std::sync::Arc;

use smallvec::{SmallVec, smallvec};

use super::validate::{
    FieldError, FieldErrors, is_label_key, is_label_value, label_key_problems, label_value_problems,
};
use crate::go;

/// How a requirement relates a label to its values.
///
/// Node affinity has the same operators; `Gt` and `Lt` compare integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Operator {
    /// `in`: there, and one of the values.
    In,
    /// `notin`: not there, or none of the values.
    NotIn,
    /// `=`: as `in` with one value.
    Equals,
    /// `==`: the same, written so.
    DoubleEquals,
    /// `!=`: as `notin` with one value.
    NotEquals,
    /// There, whatever its value.
    Exists,
    /// `!`: not there.
    DoesNotExist,
    /// `>`: there, an integer, and greater.
    GreaterThan,
    /// `<`: there, an integer, and less.
    LessThan,
}

impl Operator {
    /// Upstream's name (`pkg/selection/operator.go`).
    pub fn name(self) -> &'static str {
        match self {
            Self::In => "in",
            Self::NotIn => "notin",
            Self::Equals => "=",
            Self::DoubleEquals => "==",
            Self::NotEquals => "!=",
            Self::Exists => "exists",
            Self::DoesNotExist => "!",
            Self::GreaterThan => "gt",
            Self::LessThan => "lt",
        }
    }
}

/// One condition on one label.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Requirement {
    key: Arc<str>,
    operator: Operator,
    /// Sorted; a value that was given twice is there twice, as in upstream's text.
    values: SmallVec<[Arc<str>; 1]>,
}

impl Requirement {
    /// A requirement that holds to the rules of keys, values and operators (`NewRequirement`).
    ///
    /// # Errors
    /// Every rule that is broken, with `key` and `values` as the fields' names.
    pub fn new(key: Arc<str>, operator: Operator, mut values: Vec<Arc<str>>) -> Result<Self, FieldErrors> {
        if !is_sound(&key, operator, &values) {
            FieldErrors::check(requirement_errors(&key, operator, &values))?;
        }
        values.sort();
        Ok(Self { key, operator, values: values.into() })
    }

    /// A requirement of one value.
    ///
    /// # Errors
    /// As there.
    pub(super) fn equals(key: &Arc<str>, value: &Arc<str>) -> Result<Self, FieldErrors> {
        if !is_label_key(key) || !is_label_value(value) {
            return Self::new(key.clone(), Operator::Equals, vec![value.clone()]);
        }
        Ok(Self { key: key.clone(), operator: Operator::Equals, values: smallvec![value.clone()] })
    }

    /// The label's key.
    pub fn key(&self) -> &Arc<str> {
        &self.key
    }

    /// How the label relates to the values.
    pub fn operator(&self) -> Operator {
        self.operator
    }

    /// The values, sorted.
    pub fn values(&self) -> &[Arc<str>] {
        &self.values
    }

    /// Whether it holds for a label of that value, or without one.
    pub fn matches(&self, value: Option<&str>) -> bool {
        match self.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => {
                value.is_some_and(|value| self.has_value(value))
            }
            Operator::NotIn | Operator::NotEquals => !value.is_some_and(|value| self.has_value(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::GreaterThan => self.compare(value).is_some_and(|(label, bound)| label > bound),
            Operator::LessThan => self.compare(value).is_some_and(|(label, bound)| label < bound),
        }
    }

    fn has_value(&self, value: &str) -> bool {
        self.values.iter().any(|one| **one == *value)
    }

    /// The label's value and the bound, if both are integers.
    fn compare(&self, value: Option<&str>) -> Option<(i64, i64)> {
        let label = go::parse_int(value?.as_bytes()).ok()?;
        let bound = go::parse_int(self.values.first()?.as_bytes()).ok()?;
        Some((label, bound))
    }
}

/// Whether a requirement is one of those that nearly all are and breaks no rule. Of others [`requirement_errors`] knows.
fn is_sound(key: &str, operator: Operator, values: &[Arc<str>]) -> bool {
    let has_its_values = match operator {
        Operator::In | Operator::NotIn => !values.is_empty(),
        Operator::Equals | Operator::DoubleEquals | Operator::NotEquals => values.len() == 1,
        Operator::Exists | Operator::DoesNotExist => values.is_empty(),
        Operator::GreaterThan | Operator::LessThan => false,
    };
    has_its_values && is_label_key(key) && values.iter().all(|value| is_label_value(value))
}

fn requirement_errors(key: &str, operator: Operator, values: &[Arc<str>]) -> Vec<FieldError> {
    let mut errors = Vec::new();
    errors.extend(label_key_error("key", key));
    let texts: Vec<&str> = values.iter().map(|value| &**value).collect();
    let mut all = |detail| errors.push(FieldError::invalid_list("values".to_owned(), &texts, detail));
    match operator {
        Operator::In | Operator::NotIn if texts.is_empty() => {
            all("for 'in', 'notin' operators, values set can't be empty");
        }
        Operator::Equals | Operator::DoubleEquals | Operator::NotEquals if texts.len() != 1 => {
            all("exact-match compatibility requires one single value");
        }
        Operator::Exists | Operator::DoesNotExist if !texts.is_empty() => {
            all("values set must be empty for exists and does not exist");
        }
        Operator::GreaterThan | Operator::LessThan => {
            if texts.len() != 1 {
                all("for 'Gt', 'Lt' operators, exactly one value is required");
            }
            errors.extend(texts.iter().enumerate().filter_map(|(index, value)| {
                let detail = "for 'Gt', 'Lt' operators, the value must be an integer";
                let error = || FieldError::invalid(format!("values[{index}]"), value, detail);
                go::parse_int(value.as_bytes()).is_err().then(error)
            }));
        }
        Operator::In
        | Operator::NotIn
        | Operator::Equals
        | Operator::DoubleEquals
        | Operator::NotEquals
        | Operator::Exists
        | Operator::DoesNotExist => {}
    }
    for (index, value) in texts.iter().enumerate() {
        let problems = label_value_problems(value);
        if !problems.is_empty() {
            errors.push(FieldError::invalid(format!("values[{index}][{key}]"), value, problems.join("; ")));
        }
    }
    errors
}

pub(super) fn label_key_error(path: &str, key: &str) -> Option<FieldError> {
    let problems = label_key_problems(key);
    (!problems.is_empty()).then(|| FieldError::invalid(path.to_owned(), key, problems.join("; ")))
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let key = &self.key;
        match self.operator {
            Operator::Exists => return f.write_str(key),
            Operator::DoesNotExist => return write!(f, "!{key}"),
            Operator::In => write!(f, "{key} in (")?,
            Operator::NotIn => write!(f, "{key} notin (")?,
            Operator::Equals => write!(f, "{key}=")?,
            Operator::DoubleEquals => write!(f, "{key}==")?,
            Operator::NotEquals => write!(f, "{key}!=")?,
            Operator::GreaterThan => write!(f, "{key}>")?,
            Operator::LessThan => write!(f, "{key}<")?,
        }
        for (index, value) in self.values.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{value}")?;
        }
        match self.operator {
            Operator::In | Operator::NotIn => f.write_str(")"),
            Operator::Equals
            | Operator::DoubleEquals
            | Operator::NotEquals
            | Operator::Exists
            | Operator::DoesNotExist
            | Operator::GreaterThan
            | Operator::LessThan => Ok(()),
        }
    }
}

/// A compiled label selector. Displays in the string syntax, requirements sorted by key.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Selector {
    /// Matches nothing: a selector that is null in the API.
    Nothing,
    /// Matches what meets every requirement, hence everything if there are none. Sorted by key; requirements of one
    /// key stay in the order in which they were given.
    All(Arc<[Requirement]>),
}

impl Selector {
    /// Matches everything.
    pub fn everything() -> Self {
        Self::All(Arc::default())
    }

    /// Of requirements in any order.
    pub fn new(mut requirements: Vec<Requirement>) -> Self {
        requirements.sort_by(|left, right| left.key.cmp(&right.key));
        Self::All(requirements.into())
    }

    /// Of a map of labels, not validated: a Service's or a ReplicationController's selector (`SelectorFromSet`).
    ///
    /// An empty map matches everything; those who mean nothing by it must look first.
    pub fn from_set(labels: impl IntoIterator<Item = (Arc<str>, Arc<str>)>) -> Self {
        let requirement =
            |(key, value)| Requirement { key, operator: Operator::Equals, values: smallvec![value] };
        Self::new(labels.into_iter().map(requirement).collect())
    }

    /// Whether it restricts nothing. [`Selector::Nothing`] does restrict.
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Nothing => false,
            Self::All(requirements) => requirements.is_empty(),
        }
    }

    /// The requirements, sorted by key; none of a selector that matches nothing.
    pub fn requirements(&self) -> &[Requirement] {
        match self {
            Self::Nothing => &[],
            Self::All(requirements) => requirements,
        }
    }

    /// Whether an object is selected, given its labels by key. Allocates nothing.
    ///
    /// ```
    /// use replank_model::selector::Selector;
    ///
    /// let selector: Selector = "app=web,!canary".parse()?;
    /// assert!(selector.matches(|key| (key == "app").then_some("web")));
    /// # Ok::<(), replank_model::selector::parse::SelectorError>(())
    /// ```
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        match self {
            Self::Nothing => false,
            Self::All(requirements) => {
                requirements.iter().all(|requirement| requirement.matches(label(&requirement.key)))
            }
        }
    }

    /// A label, and the one value that it must have, of a selector that asks for such a thing: whatever it matches is among
    /// what has that label.
    pub fn anchor(&self) -> Option<(&Arc<str>, &Arc<str>)> {
        let keys = self.requirements().iter().map(Requirement::key);
        keys.filter_map(|key| Some((key, self.exact_value(key)?))).next()
    }

    /// The one value that the label must have, if the first requirement on it asks for one (`RequiresExactMatch`):
    /// what an index by label can be asked for.
    pub fn exact_value(&self, key: &str) -> Option<&Arc<str>> {
        let requirement = self.requirements().iter().find(|requirement| *requirement.key == *key)?;
        match requirement.operator {
            Operator::In | Operator::Equals | Operator::DoubleEquals => match &*requirement.values {
                [value] => Some(value),
                _ => None,
            },
            Operator::NotIn
            | Operator::NotEquals
            | Operator::Exists
            | Operator::DoesNotExist
            | Operator::GreaterThan
            | Operator::LessThan => None,
        }
    }
}

impl fmt::Display for Selector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, requirement) in self.requirements().iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            write!(f, "{comma}{requirement}")?;
        }
        Ok(())
    }
}
