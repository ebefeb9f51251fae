//! Writes as those see them whose rules name another version of the same resource (`matchPolicy: Equivalent`; apiserver
//! `pkg/admission/plugin/webhook/generic`, `pkg/admission/plugin/policy/matching`).

use serde_json::Value;

use super::managed::{Other, Others};
use super::policies::{Attempt, matches};
use crate::server::{Api, ApiError, ResourceType};

/// How a write is seen by those whose rules are looked at.
#[derive(Debug)]
pub(super) enum Fit {
    /// It is none that they are asked about.
    Not,
    /// As it is.
    AsItIs,
    /// In another version.
    As(Box<Fitted>),
}

/// A write in another version of its resource.
#[derive(Debug)]
pub(super) struct Fitted {
    resource: ResourceType,
    object: Option<Value>,
    old: Option<Value>,
}

impl Fitted {
    /// The write as it is in that version.
    pub(super) fn attempt<'a>(&'a self, of: &Attempt<'a>) -> Attempt<'a> {
        Attempt {
            resource: &self.resource,
            requested: Some(of.resource),
            object: self.object.as_ref(),
            old: self.old.as_ref(),
            ..*of
        }
    }
}

impl Api {
    /// How a write is seen by those who have such constraints: rules, selectors, and whether equivalent versions are meant.
    ///
    /// # Errors
    /// Where it cannot be converted.
    pub(super) fn fit(&self, constraints: &Value, attempt: &Attempt<'_>) -> Result<Fit, ApiError> {
        if matches(self, constraints, attempt) {
            return Ok(Fit::AsItIs);
        }
        if constraints["matchPolicy"] == "Exact" || attempt.resource.custom.is_none() {
            return Ok(Fit::Not);
        }
        let name = &attempt.resource.name;
        let is_other = |one: &ResourceType| one.name == *name && one.version != attempt.resource.version;
        let others: Vec<ResourceType> = self.custom_resources().into_iter().filter(is_other).collect();
        let rules = constraints.get("resourceRules").and_then(Value::as_array);
        for rule in rules.into_iter().flatten() {
            let mut only = constraints.clone();
            only["resourceRules"] = Value::from(vec![rule.clone()]);
            let fits = |one: &&ResourceType| {
                matches(self, &only, &Attempt { resource: one, requested: None, ..*attempt })
            };
            if let Some(other) = others.iter().find(fits) {
                return Ok(Fit::As(Box::new(self.fitted(attempt, other)?)));
            }
        }
        Ok(Fit::Not)
    }

    fn fitted(&self, attempt: &Attempt<'_>, other: &ResourceType) -> Result<Fitted, ApiError> {
        let to = other.api_version();
        let convert =
            |value: Option<&Value>| value.map(|value| self.in_version(attempt.resource, value, &to));
        Ok(Fitted {
            resource: other.clone(),
            object: convert(attempt.object).transpose()?,
            old: convert(attempt.old).transpose()?,
        })
    }

    /// A custom resource in another version of its definition.
    ///
    /// # Errors
    /// Where it cannot be converted.
    pub(super) fn in_version(
        &self,
        resource: &ResourceType,
        value: &Value,
        to: &str,
    ) -> Result<Value, ApiError> {
        Ok(match self.versions(resource, None).convert(value, to)? {
            Other::Known(value) => value,
            Other::Gone | Other::Unknown => value.clone(),
        })
    }
}
