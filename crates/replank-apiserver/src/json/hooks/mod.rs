//! Admission webhooks: which are asked about a write, and what follows from their answers (apiserver `pkg/admission/plugin/webhook`).
//!
//! Nothing is called here: what is to be called is left with the request ([`Hooks`]), which is made again when the answers are there.

mod configured;
mod review;
mod verdict;

use std::sync::Arc;

use replank_custom::cel::{Failure, Val};
use replank_model::object::meta::Key;
use replank_model::object::{Object, render};
use serde_json::Value;
use xxhash_rust::xxh3::xxh3_64;

use super::Effect;
use super::equivalent::Fit;
use super::patch;
use super::path::Address;
use super::policies::{Attempt, Names, expression, matches};
use super::{custom, defaults, form};
use crate::server::{Api, ApiError, HookCall, HookPurpose, Hooks};
use configured::{Hook, Kind};
use verdict::Verdict;

/// Webhooks that want to be asked again when others have changed the object are asked so often.
const ROUNDS: usize = 2;

impl Api {
    fn hooks(&self) -> Option<Arc<Hooks>> {
        self.caller.as_ref()?.hooks.clone()
    }

    fn configured(&self, kind: Kind) -> Vec<Hook> {
        let mut found: Vec<_> = self
            .view()
            .others()
            .filter(|other| other.group() == "admissionregistration.k8s.io" && *other.kind == *kind.name())
            .cloned()
            .collect();
        found.sort_by(|one, other| one.meta.name.cmp(&other.meta.name));
        let of = |other| configured::read(&render(&Object::Other(other)));
        found
            .into_iter()
            .flat_map(of)
            .map(|hook| Hook { may_patch: kind == Kind::Mutating, ..hook })
            .collect()
    }

    /// Has webhooks change an object.
    ///
    /// # Errors
    /// What a webhook refuses the write with, and what is wrong with its answer. While calls are to be made, an error that nobody is told.
    pub(super) fn change_by_hooks(
        &mut self,
        address: &Address,
        old: Option<&Value>,
        value: &mut Value,
        terms: (Effect, &mut Vec<String>),
    ) -> Result<(), ApiError> {
        let Some(hooks) = self.hooks() else { return Ok(()) };
        let (effect, warnings) = terms;
        let configured = self.configured(Kind::Mutating);
        let old = old.map(|old| shown(address, old));
        // Whom others have changed the object after.
        let mut invoked: Vec<usize> = Vec::new();
        let mut again: Vec<usize> = Vec::new();
        for round in 0..ROUNDS {
            for (index, hook) in configured.iter().enumerate() {
                if round > 0 && !again.contains(&index) {
                    continue;
                }
                let current = shown(address, value);
                let attempt = super::write::attempt(address, old.as_ref(), &current, effect);
                let fit = self.fit(&hook.constraints, &attempt)?;
                let attempt = match &fit {
                    Fit::Not => continue,
                    Fit::AsItIs => attempt,
                    Fit::As(fitted) => fitted.attempt(&attempt),
                };
                let Some(answer) = self.asked(&hooks, hook, &attempt, (address, round, None))? else {
                    continue;
                };
                if hooks.waits() {
                    return Err(waiting());
                }
                let Some(verdict) = verdict::read(hook, answer)? else { continue };
                warnings.extend(verdict.warnings.iter().cloned());
                let seen = attempt.object.unwrap_or(&current);
                if self.changed(address, &verdict, value, seen)? && round == 0 {
                    let earlier = invoked.iter().copied().filter(|index| configured[*index].is_reinvoked);
                    again.extend(earlier);
                }
                invoked.push(index);
            }
            if again.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Has webhooks change what is written to a part of an object.
    ///
    /// # Errors
    /// As [`Api::change_by_hooks`].
    pub(super) fn change_part_by_hooks(
        &self,
        address: &Address,
        attempt: &Attempt<'_>,
        value: &mut Value,
        warnings: &mut Vec<String>,
    ) -> Result<(), ApiError> {
        let Some(hooks) = self.hooks() else { return Ok(()) };
        for hook in self.configured(Kind::Mutating) {
            let current = value.clone();
            let attempt = Attempt { object: Some(&current), ..*attempt };
            if !matches(self, &hook.constraints, &attempt) {
                continue;
            }
            let asked = self.asked(&hooks, &hook, &attempt, (address, 0, None))?;
            let Some(answer) = asked else { continue };
            if hooks.waits() {
                return Err(waiting());
            }
            let Some(verdict) = verdict::read(&hook, answer)? else { continue };
            warnings.extend(verdict.warnings);
            if let Some(patch) = &verdict.patch {
                patch::apply_json(value, patch).map_err(|why| ApiError::internal_error(&why))?;
            }
        }
        Ok(())
    }

    /// Asks the webhooks that may refuse a write.
    ///
    /// # Errors
    /// As [`Api::change_by_hooks`].
    pub(super) fn agree_with_hooks(
        &mut self,
        address: &Address,
        old: Option<&Value>,
        value: Option<&Value>,
        terms: (Effect, &mut Vec<String>),
        options: Option<&Value>,
    ) -> Result<(), ApiError> {
        let Some(hooks) = self.hooks() else { return Ok(()) };
        let (effect, warnings) = terms;
        let old = old.map(|old| shown(address, old));
        let new = value.map(|value| shown(address, value));
        let mut answers = Vec::new();
        let of_kind = |kind| self.configured(kind);
        // Who changes objects may refuse a deletion, too.
        let configured = match value {
            Some(_) => of_kind(Kind::Validating),
            None => of_kind(Kind::Mutating).into_iter().chain(of_kind(Kind::Validating)).collect(),
        };
        for hook in configured {
            let attempt = match &new {
                Some(new) => super::write::attempt(address, old.as_ref(), new, effect),
                None => deletion(address, old.as_ref(), effect),
            };
            let fit = self.fit(&hook.constraints, &attempt)?;
            let attempt = match &fit {
                Fit::Not => continue,
                Fit::AsItIs => attempt,
                Fit::As(fitted) => fitted.attempt(&attempt),
            };
            if let Some(answer) = self.asked(&hooks, &hook, &attempt, (address, ROUNDS, options))? {
                answers.push((hook, answer));
            }
        }
        if hooks.waits() {
            return Err(waiting());
        }
        // All have been asked at once; the first that refuses is heard.
        for (hook, answer) in answers {
            if let Some(verdict) = verdict::read(&hook, answer)? {
                warnings.extend(verdict.warnings);
            }
        }
        Ok(())
    }

    /// Asks the webhooks that may refuse what is written to a part of an object.
    ///
    /// # Errors
    /// As [`Api::change_by_hooks`].
    pub(super) fn agree_part_with_hooks(
        &self,
        address: &Address,
        attempt: &Attempt<'_>,
        warnings: &mut Vec<String>,
    ) -> Result<(), ApiError> {
        let Some(hooks) = self.hooks() else { return Ok(()) };
        let mut answers = Vec::new();
        for hook in self.configured(Kind::Validating) {
            if !matches(self, &hook.constraints, attempt) {
                continue;
            }
            if let Some(answer) = self.asked(&hooks, &hook, attempt, (address, ROUNDS, None))? {
                answers.push((hook, answer));
            }
        }
        if hooks.waits() {
            return Err(waiting());
        }
        for (hook, answer) in answers {
            if let Some(verdict) = verdict::read(&hook, answer)? {
                warnings.extend(verdict.warnings);
            }
        }
        Ok(())
    }

    /// The answer of a webhook that is asked about a write; one that says nothing where the call is still to be made.
    fn asked(
        &self,
        hooks: &Hooks,
        hook: &Hook,
        attempt: &Attempt<'_>,
        (address, round, options): (&Address, usize, Option<&Value>),
    ) -> Result<Option<Result<Value, String>>, ApiError> {
        let kind = &*attempt.resource.name.plural;
        let is_exempt = &*attempt.resource.name.group == "admissionregistration.k8s.io"
            && (kind.ends_with("webhookconfigurations") || kind.contains("admissionpolic"));
        if is_exempt || !self.meets(hook, attempt)? {
            return Ok(None);
        }
        if attempt.is_dry && !hook.is_free_of_effects {
            return Err(verdict::no_dry_run(&hook.name));
        }
        let user = self.caller.as_ref().map(|caller| caller.user.clone()).unwrap_or_default();
        let review = review::review(hook, attempt, &user, (address, options))
            .map_err(|why| verdict::failed(hook, &why))?;
        let id =
            xxh3_64(format!("{} {} {round} {}", hook.configuration, hook.name, told(&review)).as_bytes());
        let call = HookCall {
            id,
            client: hook.client.clone(),
            timeout_seconds: hook.timeout_seconds,
            purpose: HookPurpose::Admission { may_patch: hook.may_patch },
            review,
        };
        Ok(Some(hooks.ask(call).unwrap_or(Ok(Value::Null))))
    }

    /// Whether the conditions of a webhook hold.
    fn meets(&self, hook: &Hook, attempt: &Attempt<'_>) -> Result<bool, ApiError> {
        if hook.conditions.is_empty() {
            return Ok(true);
        }
        let names = Names::new(self, attempt, None);
        let mut failures = Vec::new();
        for condition in &hook.conditions {
            match names.ask(&expression(condition, "expression")) {
                Ok(Val::Bool(true)) => {}
                Ok(_) => return Ok(false),
                Err(Failure(why)) => {
                    let text = condition["expression"].as_str().unwrap_or_default();
                    failures.push(format!("expression '{text}' resulted in error: {why}"));
                }
            }
        }
        match failures.as_slice() {
            [] => Ok(true),
            _ if hook.ignores_failures => Ok(false),
            all => {
                let key = Key::cluster(attempt.name);
                Err(ApiError::forbidden(attempt.resource.name.clone(), &key, &all.join(", ")))
            }
        }
    }

    /// Applies the patch of an answer. Whether anything was changed.
    fn changed(
        &self,
        address: &Address,
        verdict: &Verdict,
        value: &mut Value,
        current: &Value,
    ) -> Result<bool, ApiError> {
        let Some(patch) = &verdict.patch else { return Ok(false) };
        let resource = &address.resource;
        let mut patched = current.clone();
        patch::apply_json(&mut patched, patch).map_err(|why| ApiError::internal_error(&why))?;
        if patched == *current {
            return Ok(false);
        }
        if resource.custom.is_some() {
            patched = self.in_version(resource, &patched, &resource.api_version())?;
        }
        if let Some(of) = super::body::go_type(resource) {
            patched = form::decode(of, &patched).map_err(|why| ApiError::internal_error(&why))?.object;
        }
        custom::take_in(resource, &mut patched)?;
        defaults::fill(resource.kind, &mut patched);
        *value = patched;
        Ok(true)
    }
}

/// An object as it is served.
fn shown(address: &Address, value: &Value) -> Value {
    let mut value = value.clone();
    let resource = &address.resource;
    value["apiVersion"] = resource.api_version().into();
    value["kind"] = (*resource.name.kind).into();
    form::encode_kind(resource, &mut value);
    value
}

fn deletion<'a>(address: &'a Address, old: Option<&'a Value>, effect: Effect) -> Attempt<'a> {
    // Of a collection that is deleted no object is named.
    let name = address.name.as_ref().map_or("", |name| name.as_str());
    Attempt {
        operation: "DELETE",
        resource: &address.resource,
        requested: None,
        of: None,
        subresource: "",
        namespace: address.namespace.as_ref().map_or("", |namespace| namespace.as_str()),
        name,
        object: None,
        old,
        is_dry: effect == Effect::DryRun,
    }
}

/// What ends a write until the calls have been made; nobody is told.
fn waiting() -> ApiError {
    ApiError::internal("webhooks are to be called")
}

/// A review less what differs each time that a write is tried.
fn told(review: &Value) -> String {
    let mut review = review.clone();
    for object in ["object", "oldObject"] {
        let meta = review.pointer_mut(&format!("/request/{object}/metadata"));
        if let Some(meta) = meta.and_then(Value::as_object_mut) {
            for name in ["uid", "creationTimestamp", "managedFields"] {
                meta.remove(name);
            }
        }
    }
    review.to_string()
}
