//! The API's `metav1.LabelSelector` (apimachinery 1.36: `pkg/apis/meta/v1/types.go`, `helpers.go`,
//! `validation/validation.go`).

use std::collections::BTreeMap;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::label::{Operator, Requirement, Selector};
use super::validate::{FieldError, FieldErrors, label_key_problems, label_value_problems};
use crate::go::Quoted;

/// Labels and expressions that must all hold. None of either selects everything; a selector that is absent, where the
/// API lets it be, selects nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Each label with exactly this value.
    #[serde(deserialize_with = "nulls_in_map", skip_serializing_if = "MatchLabels::are_none")]
    pub match_labels: MatchLabels,
    /// Each expression.
    #[serde(deserialize_with = "null_is_empty", skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<LabelSelectorRequirement>,
}

/// Labels with their values. All copies of a selector share them until one is changed: an object is copied whenever
/// anything in it changes, and its selector hardly ever does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MatchLabels(Arc<Texts>);

impl MatchLabels {
    fn are_none(&self) -> bool {
        self.0.is_empty()
    }
}

impl Deref for MatchLabels {
    type Target = BTreeMap<Arc<str>, Arc<str>>;

    fn deref(&self) -> &Self::Target {
        &self.0
    }
}

impl DerefMut for MatchLabels {
    fn deref_mut(&mut self) -> &mut Self::Target {
        Arc::make_mut(&mut self.0)
    }
}

impl From<BTreeMap<Arc<str>, Arc<str>>> for MatchLabels {
    fn from(labels: BTreeMap<Arc<str>, Arc<str>>) -> Self {
        Self(Arc::new(labels))
    }
}

impl FromIterator<(Arc<str>, Arc<str>)> for MatchLabels {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, Arc<str>)>>(labels: I) -> Self {
        labels.into_iter().collect::<Texts>().into()
    }
}

impl<'a> IntoIterator for &'a MatchLabels {
    type Item = (&'a Arc<str>, &'a Arc<str>);
    type IntoIter = std::collections::btree_map::Iter<'a, Arc<str>, Arc<str>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl Serialize for MatchLabels {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

/// One of [`LabelSelector::match_expressions`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelectorRequirement {
    /// The label's key.
    #[serde(deserialize_with = "null_is_empty")]
    pub key: Arc<str>,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`. Kept as it came, for an object with another one must be reported,
    /// not lost.
    #[serde(deserialize_with = "null_is_empty")]
    pub operator: Arc<str>,
    /// For `In` and `NotIn` at least one, else none.
    #[serde(deserialize_with = "nulls_in_list", skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<Arc<str>>,
}

// Go reads a null as nothing there, wherever it stands.

fn null_is_empty<'de, D: Deserializer<'de>, T: Default + Deserialize<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

type Texts = BTreeMap<Arc<str>, Arc<str>>;

fn nulls_in_map<'de, D: Deserializer<'de>>(deserializer: D) -> Result<MatchLabels, D::Error> {
    let texts: BTreeMap<Arc<str>, Option<Arc<str>>> = null_is_empty(deserializer)?;
    Ok(texts.into_iter().map(|(key, value)| (key, value.unwrap_or_default())).collect())
}

fn nulls_in_list<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Arc<str>>, D::Error> {
    let texts: Vec<Option<Arc<str>>> = null_is_empty(deserializer)?;
    Ok(texts.into_iter().map(Option::unwrap_or_default).collect())
}

/// Why a label selector cannot be compiled; reads as upstream's message.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LabelSelectorError {
    /// None of the four operators.
    #[error("{} is not a valid label selector operator", Quoted(.operator))]
    Operator {
        /// As it came.
        operator: Arc<str>,
    },
    /// The first label or expression that breaks the rules of keys and values.
    #[error(transparent)]
    Requirement(#[from] FieldErrors),
}

impl LabelSelectorRequirement {
    fn operator(&self) -> Option<Operator> {
        match &*self.operator {
            "In" => Some(Operator::In),
            "NotIn" => Some(Operator::NotIn),
            "Exists" => Some(Operator::Exists),
            "DoesNotExist" => Some(Operator::DoesNotExist),
            _ => None,
        }
    }

    fn compile(&self) -> Result<Requirement, LabelSelectorError> {
        let unknown = || LabelSelectorError::Operator { operator: self.operator.clone() };
        let operator = self.operator().ok_or_else(unknown)?;
        Ok(Requirement::new(self.key.clone(), operator, self.values.clone())?)
    }

    fn validate(&self, path: &str, errors: &mut Vec<FieldError>) {
        match self.operator() {
            Some(Operator::In | Operator::NotIn) if self.values.is_empty() => {
                let detail = "must be specified when `operator` is 'In' or 'NotIn'";
                errors.push(FieldError::required(format!("{path}.values"), detail));
            }
            Some(Operator::Exists | Operator::DoesNotExist) if !self.values.is_empty() => {
                let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
                errors.push(FieldError::forbidden(format!("{path}.values"), detail));
            }
            Some(_) => {}
            None => {
                let detail = "not a valid selector operator";
                errors.push(FieldError::invalid_word(format!("{path}.operator"), &self.operator, detail));
            }
        }
        for problem in label_key_problems(&self.key) {
            errors.push(FieldError::invalid(format!("{path}.key"), &self.key, problem));
        }
        for (index, value) in self.values.iter().enumerate() {
            for problem in label_value_problems(value) {
                errors.push(FieldError::invalid(format!("{path}.values[{index}]"), value, problem));
            }
        }
    }
}

impl LabelSelector {
    /// What the API server would say of it at `path` (`ValidateLabelSelector`); empty if nothing.
    ///
    /// Labels are looked at in the order of their keys; upstream takes them as its map happens to lie.
    pub fn validate(&self, path: &str) -> Vec<FieldError> {
        let mut errors = Vec::new();
        for (key, value) in &self.match_labels {
            let keys = label_key_problems(key).into_iter().map(|problem| (key, problem));
            let values = label_value_problems(value).into_iter().map(|problem| (value, problem));
            errors
                .extend(keys.chain(values).map(|(text, problem)| {
                    FieldError::invalid(format!("{path}.matchLabels"), text, problem)
                }));
        }
        for (index, expression) in self.match_expressions.iter().enumerate() {
            expression.validate(&format!("{path}.matchExpressions[{index}]"), &mut errors);
        }
        errors
    }

    /// For matching (`LabelSelectorAsSelector`).
    ///
    /// # Errors
    /// The first label, or else expression, that cannot be compiled.
    pub fn compile(&self) -> Result<Selector, LabelSelectorError> {
        let mut requirements = Vec::with_capacity(self.match_labels.len() + self.match_expressions.len());
        for (key, value) in &self.match_labels {
            requirements.push(Requirement::equals(key, value)?);
        }
        for expression in &self.match_expressions {
            requirements.push(expression.compile()?);
        }
        Ok(Selector::new(requirements))
    }

    /// As [`LabelSelector::compile`]; an absent selector matches nothing.
    ///
    /// # Errors
    /// As there.
    pub fn compile_option(selector: Option<&Self>) -> Result<Selector, LabelSelectorError> {
        selector.map_or(Ok(Selector::Nothing), Self::compile)
    }

    /// Whether it requires nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.match_labels.are_none() && self.match_expressions.is_empty()
    }

    /// As kubectl prints it (`FormatLabelSelector`): the string syntax, `<none>` or `<error>`.
    pub fn formatted(selector: Option<&Self>) -> String {
        match Self::compile_option(selector).map(|selector| selector.to_string()) {
            Ok(text) if text.is_empty() => "<none>".to_owned(),
            Ok(text) => text,
            Err(_) => "<error>".to_owned(),
        }
    }
}
