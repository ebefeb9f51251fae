//! Policies in CEL (admissionregistration.k8s.io ValidatingAdmissionPolicy and MutatingAdmissionPolicy): asked on every write that a client makes
//! (apiserver `pkg/admission/plugin/policy`).

mod ask;
mod attempt;
mod matching;
mod scope;
mod types;
pub(super) mod valid;

use std::sync::Arc;

use serde_json::Value;

pub(super) use crate::server::policies::expression;

use crate::server::policies::Policies;
use crate::server::{Api, ApiError};
pub(super) use attempt::{Attempt, Of};
pub(super) use matching::matches;
pub(super) use scope::Names;
pub(super) use types::warnings as type_warnings;

impl Api {
    fn policies(&self) -> Arc<Policies> {
        let known = self.policies.borrow().clone();
        if let Some(known) = known {
            return known;
        }
        let made = Arc::new(Policies::read(self.view().others()));
        *self.policies.borrow_mut() = Some(made.clone());
        made
    }

    /// Whether there are policies that change objects, and such that refuse writes.
    pub(super) fn has_policies(&self) -> (bool, bool) {
        let policies = self.policies();
        (!policies.mutating.is_empty(), !policies.validating.is_empty())
    }

    /// Asks the policies that may refuse a write. What the client is warned of.
    ///
    /// # Errors
    /// What a policy refuses it with.
    pub(super) fn ask_policies(&self, attempt: &Attempt<'_>) -> Result<Vec<String>, ApiError> {
        let policies = self.policies();
        if policies.validating.is_empty() || attempt.is_exempt() {
            return Ok(Vec::new());
        }
        let mut warnings = Vec::new();
        for policy in &policies.validating {
            for binding in policies.bindings.iter().filter(|binding| binding.policy == policy.name) {
                ask::ask(self, policy, binding, attempt, &mut warnings)?;
            }
        }
        Ok(warnings)
    }

    /// Has an object changed by the policies that do so. Whether anything was changed.
    ///
    /// # Errors
    /// What a policy refuses the write with.
    pub(super) fn mutate_by_policies(
        &self,
        attempt: &Attempt<'_>,
        value: &mut Value,
    ) -> Result<bool, ApiError> {
        let policies = self.policies();
        if policies.mutating.is_empty() || attempt.is_exempt() {
            return Ok(false);
        }
        let before = value.clone();
        for policy in &policies.mutating {
            for binding in policies.mutating_bindings.iter().filter(|binding| binding.policy == policy.name) {
                let current = value.clone();
                let attempt = Attempt { object: Some(&current), ..*attempt };
                ask::mutate(self, policy, binding, &attempt, value)?;
            }
        }
        Ok(before != *value)
    }
}
