//! How long names and values may be: what Kubernetes and AWS take, and what is kept to so that everything of ours fits.
//!
//! The name of a run stands in most of what is written. A plan may not be named longer than [`PLAN_NAME_MAX`], so the names of its runs fit; a name that
//! is made of something else (of the name of an object, say) is [`shortened`].

use replank_model::text::RunId;

/// Characters of the key of a tag (AWS, "Tag naming limits and requirements").
pub const TAG_KEY_MAX: usize = 128;
/// Characters of the value of a tag (same page).
pub const TAG_VALUE_MAX: usize = 256;
/// Characters of the name of an object whose name is a DNS subdomain (Kubernetes, "Object Names and IDs"): nodes, ConfigMaps.
pub const OBJECT_NAME_MAX: usize = 253;
/// Characters of the value of a label (Kubernetes, "Labels and Selectors"), and of a taint.
pub const LABEL_VALUE_MAX: usize = 63;
/// Characters of the name of a run. The longest value that it stands in says why a run has halted: the version, the name of the way back, a moment and the
/// reason with its numbers are less than 110 characters.
pub const RUN_NAME_MAX: usize = 128;
/// Characters of the name of a plan: a run is named after it, with a few words before or behind.
pub const PLAN_NAME_MAX: usize = 100;

/// Characters that AWS takes in tags for every service, letters, digits and spaces aside (same page).
const TAG_CHARACTERS: &str = "+-=._:/@";

/// Digits that tell names apart that were cut.
const DIGITS: usize = 16;

/// Whether everything of a text may stand in the value of a tag.
#[must_use]
pub fn is_taggable(text: &str) -> bool {
    text.chars().all(|one| one.is_alphanumeric() || one == ' ' || TAG_CHARACTERS.contains(one))
}

/// A text of at most `max` characters: the text itself, or its beginning and a number that is made of all of it, so that two long texts that
/// begin alike stay apart.
#[must_use]
pub fn shortened(text: &str, max: usize) -> String {
    if text.chars().count() <= max {
        return text.to_owned();
    }
    let head: String = text.chars().take(max.saturating_sub(DIGITS + 1)).collect();
    format!("{head}-{:016x}", number(text))
}

/// The name of a run that is made of something else's name.
#[must_use]
pub fn run_named(text: &str) -> RunId {
    RunId::new(shortened(text, RUN_NAME_MAX))
}

/// A text as part of an object's name (a DNS subdomain): the text itself if it is one, or what is left of it and a number that is made of all of it.
#[must_use]
pub fn slug(text: &str) -> String {
    let is_plain = |one: char| one.is_ascii_lowercase() || one.is_ascii_digit();
    let is_name = text.chars().all(|one| is_plain(one) || one == '-')
        && text.starts_with(is_plain)
        && text.ends_with(is_plain);
    if is_name {
        return text.to_owned();
    }
    let lowered = text.to_ascii_lowercase();
    let kept: String = lowered.chars().map(|one| if is_plain(one) { one } else { '-' }).collect();
    format!("{}-{:016x}", kept.trim_matches('-'), number(text))
}

/// FNV-1a, 64 bits: the same in every version, for names that were cut have to be found again.
fn number(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_fits_stays_and_what_does_not_stays_apart() {
        assert_eq!(shortened("web", 10), "web");
        let longest = "n".repeat(OBJECT_NAME_MAX);
        let (one, other) = (format!("{longest}1"), format!("{longest}2"));
        let (one, other) = (run_named(&one), run_named(&other));
        assert_ne!(one, other);
        assert_eq!(one.as_str().chars().count(), RUN_NAME_MAX);
        assert_eq!(shortened(&"ü".repeat(300), 256).chars().count(), 256);
    }

    #[test]
    fn the_number_of_a_name_never_changes() {
        assert_eq!(number(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(number("a"), 0xaf63_dc4c_8601_ec8c, "FNV-1a's own test vector");
    }

    #[test]
    fn characters_that_aws_refuses_in_tags_are_known() {
        assert!(is_taggable("web to 1.36 + more_@:/="));
        assert!(!is_taggable("web*") && !is_taggable("web\n") && !is_taggable("\"web\""));
    }
}
