//! Who asks, as the wire knows them, and what they have been told by webhooks.

use std::sync::{Arc, Mutex};

use rustc_hash::FxHashMap;
use serde_json::Value;

/// Who has sent a request.
#[derive(Clone, Debug, Default)]
pub struct Caller {
    /// authentication.k8s.io/v1 UserInfo; `Null` where nobody has said.
    pub user: Value,
    /// What is wrong with what a CertificateSigningRequest asks for: whoever has the cryptography has looked.
    pub request_fault: Option<String>,
    /// Webhooks and their answers, where they are called.
    pub hooks: Option<Arc<Hooks>>,
}

impl PartialEq for Caller {
    fn eq(&self, other: &Self) -> bool {
        let same_hooks = match (&self.hooks, &other.hooks) {
            (Some(one), Some(other)) => Arc::ptr_eq(one, other),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        self.user == other.user && self.request_fault == other.request_fault && same_hooks
    }
}

impl Eq for Caller {}

/// What webhooks have answered about one request, and which are still to be called.
///
/// A write that needs an answer which is not there ends, and changes nothing; whoever makes it calls the webhooks, outside of the server, and makes it
/// again. An answer is good for what was asked: if the object has changed meanwhile, the webhook is asked again.
#[derive(Debug, Default)]
pub struct Hooks {
    answers: Mutex<FxHashMap<u64, Result<Value, String>>>,
    wanted: Mutex<Vec<HookCall>>,
    /// The name that an object was given which has only a prefix: it keeps it.
    name: Mutex<Option<String>>,
}

/// A call to be made.
#[derive(Clone, Debug, PartialEq)]
pub struct HookCall {
    /// What tells it apart.
    pub id: u64,
    /// `clientConfig`.
    pub client: Value,
    /// How long it may take.
    pub timeout_seconds: u64,
    /// What it is called for.
    pub purpose: HookPurpose,
    /// The review, less the uid of its request.
    pub review: Value,
}

/// What a webhook is called for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HookPurpose {
    /// Whether a write is allowed: the answer is an AdmissionReview.
    Admission {
        /// Whether it may change the object.
        may_patch: bool,
    },
    /// An object in another version: the answer is the object.
    Conversion,
}

impl Hooks {
    /// Calls that are to be made before the request is made again.
    ///
    /// # Panics
    /// Never: nobody panics while holding it.
    pub fn take_wanted(&self) -> Vec<HookCall> {
        std::mem::take(&mut *self.wanted.lock().expect("nobody panics while holding it"))
    }

    /// Takes in an answer, or why there is none.
    ///
    /// # Panics
    /// Never: nobody panics while holding it.
    pub fn answer(&self, call: &HookCall, answer: Result<Value, String>) {
        self.answers.lock().expect("nobody panics while holding it").insert(call.id, answer);
    }

    /// The answer to a call; `None`, and it is to be made.
    pub(crate) fn ask(&self, call: HookCall) -> Option<Result<Value, String>> {
        let known = self.answers.lock().expect("nobody panics while holding it").get(&call.id).cloned();
        if known.is_none() {
            self.wanted.lock().expect("nobody panics while holding it").push(call);
        }
        known
    }

    /// Whether calls are to be made.
    pub(crate) fn waits(&self) -> bool {
        !self.wanted.lock().expect("nobody panics while holding it").is_empty()
    }

    /// The name of an object that has only a prefix: the one that it was given before, else one that is made.
    pub(crate) fn named(&self, make: impl FnOnce() -> String) -> String {
        self.name.lock().expect("nobody panics while holding it").get_or_insert_with(make).clone()
    }
}
