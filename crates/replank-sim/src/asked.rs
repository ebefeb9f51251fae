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
    Asked { refused: answer.err().map(|refused| refused.into_error(&key).message), pod, by }
}
