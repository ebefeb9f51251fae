//! Hashes of pod templates, as names carry them (pkg/controller `ComputeHash`, apimachinery `SafeEncodeString`).
//!
//! Upstream hashes Go's printed form of the struct. Here it is a hash of the template's JSON: of the same shape and as unlikely to collide, not the same value.
//! Where clients look, it is upstream's ([`replank_apiserver::template_hash`]).

use replank_apiserver::{Api, template_hash};
use replank_model::admission::default_pod_template;
use replank_model::object::pod::PodTemplate;
use xxhash_rust::xxh3::Xxh3;

/// The hash of a template and a counter that avoids collisions.
pub(crate) fn of_template(api: &Api, template: &PodTemplate, collisions: Option<i32>) -> String {
    if api.serving().traces {
        let mut value = serde_json::to_value(template).expect("a template is plain data");
        if let Some(members) = value.as_object_mut() {
            default_pod_template(members);
        }
        return template_hash(&value, collisions);
    }
    of_json(template, collisions)
}

/// The hash of a template's JSON.
pub(crate) fn of_json(template: &PodTemplate, collisions: Option<i32>) -> String {
    let mut hasher = Xxh3::new();
    let text = serde_json::to_vec(template).expect("a template is plain data");
    hasher.update(&text);
    if let Some(count) = collisions {
        hasher.update(&count.to_le_bytes());
    }
    let number = u32::try_from(hasher.digest() >> 32).expect("the high half of 64 bits");
    safe(&number.to_string())
}

/// The text in letters and digits that spell no word.
fn safe(text: &str) -> String {
    const LETTERS: &[u8; 27] = b"bcdfghjklmnpqrstvwxz2456789";
    text.bytes().map(|byte| char::from(LETTERS[usize::from(byte) % LETTERS.len()])).collect()
}
