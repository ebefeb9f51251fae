//! Evictions that somebody besides the run asks for: a person with kubectl, or EKS.

use std::sync::Arc;

use replank_apiserver::{Api, DeleteOptions, Eviction};
use replank_model::object::pod::Pod;

/// An eviction that somebody asked for, and the server's words where it refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asked {
    /// The pod, as it was.
    pub pod: Arc<Pod>,
    /// The refusal; nothing where it was granted.
    pub refused: Option<String>,
    /// Whether kubectl does not ask again after this answer: it tries again where a budget refuses (429), and where the namespace of the pod is on its way
    /// out (403), and gives up a pod after any other error (`evictPods` in `drain.go`).
    pub is_final: bool,
    /// Who it was.
    pub by: Asker,
}

/// Somebody besides the run who asks for evictions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Asker {
    /// A person with kubectl.
    Person,
    /// EKS, in a managed node group of its own.
    Eks,
}

/// Asks for a pod's eviction.
pub(crate) fn ask(api: &mut Api, pod: Arc<Pod>, by: Asker) -> Asked {
    let key = pod.meta.key();
    let options = DeleteOptions { uid: Some(pod.meta.uid.clone()), ..DeleteOptions::default() };
    let answer = api.evict(&Eviction::of(key.clone(), options));
    let refused = answer.err().map(|refused| refused.into_error(&key));
    // One that is not there any more is done with. No pod is made in a namespace that goes, so that its 403 does not come up here.
    let is_final = refused.as_ref().is_some_and(|error| ![404, 429].contains(&error.code));
    Asked { refused: refused.map(|error| error.message), is_final, pod, by }
}
