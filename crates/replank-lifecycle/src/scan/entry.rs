//! What sort of a text it is.

use std::path::Path;
use std::sync::Arc;

use super::{Origin, Scan, metric, template};
use crate::source;

pub use super::hint::Hint;

/// Whether a text is of manifests as they are: neither metrics nor a template.
pub(crate) fn is_of_manifests(name: &str, text: &str, hint: &Hint) -> bool {
    !metric::is_metrics(text) && !((hint.in_chart || is_named_template(name)) && source::is_template(text))
}

pub(super) fn scan(scan: &mut Scan<'_>, name: &Arc<str>, text: &str, hint: &Hint) {
    if metric::is_metrics(text) {
        metric::scan(scan, name, text);
    } else if (hint.in_chart || is_named_template(name)) && source::is_template(text) {
        template::whole(scan, name, text, hint);
    } else {
        scan.text(name, text, &Origin::Plain, hint);
    }
}

/// Names by which template languages are known.
pub(crate) const TEMPLATE_ENDINGS: [&str; 6] = ["tpl", "tmpl", "gotmpl", "j2", "jinja2", "erb"];

fn is_named_template(name: &str) -> bool {
    let ending = Path::new(name).extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| TEMPLATE_ENDINGS.contains(&ending))
}
