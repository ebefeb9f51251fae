//! An object as it stands at one version, and how it has been written out.

use std::sync::Mutex;

use bytes::Bytes;
use replank_model::object::Object;
use replank_model::object::meta::Meta;
use replank_model::text::Text;

/// What an object is written out as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FormKind {
    /// JSON, less `kind` and `apiVersion`, from the first member to the closing brace: what comes before differs between an object and an item of a list.
    JsonTail,
    /// Its metadata as JSON, a part of [`Self::JsonTail`].
    Metadata,
    /// The protobuf message, without its envelope.
    Protobuf,
    /// Its row in a table as JSON, up to the object and without the closing brace, with ages left open.
    Row,
}

/// A form of an object: what it is written out as, in which version of its resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// As what.
    pub kind: FormKind,
    /// `apiVersion`.
    pub version: Text,
}

/// An object as it stands at one version.
#[derive(Debug)]
pub struct Stored {
    /// The object.
    pub object: Object,
    /// Each form in which somebody has asked for it: it never changes, so it is written out once.
    forms: Mutex<Vec<(Form, Bytes)>>,
}

impl Stored {
    /// An object that nobody has asked for yet.
    #[must_use]
    pub fn new(object: Object) -> Self {
        Self { object, forms: Mutex::default() }
    }

    /// Its metadata.
    #[must_use]
    pub fn meta(&self) -> &Meta {
        self.object.meta()
    }

    /// Its version.
    #[must_use]
    pub fn version(&self) -> u64 {
        self.meta().resource_version.0
    }

    /// The object in a form, written out by `write` the first time. Two who ask at once may both write; one result is kept.
    pub fn form(&self, form: &Form, write: impl FnOnce(&Object) -> Bytes) -> Bytes {
        if let Some(bytes) = self.known(form) {
            return bytes;
        }
        let bytes = write(&self.object);
        self.keep(form, bytes)
    }

    /// Takes in a form that somebody has written out already.
    pub fn keep(&self, form: &Form, bytes: Bytes) -> Bytes {
        let mut forms = self.forms.lock().expect("nobody panics while holding it");
        if let Some((_, known)) = forms.iter().find(|(known, _)| known == form) {
            return known.clone();
        }
        forms.reserve_exact(1);
        forms.push((form.clone(), bytes.clone()));
        bytes
    }

    /// The object in a form, if somebody has asked for it.
    pub fn known(&self, form: &Form) -> Option<Bytes> {
        let forms = self.forms.lock().expect("nobody panics while holding it");
        forms.iter().find(|(known, _)| known == form).map(|(_, bytes)| bytes.clone())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_form_is_written_once() {
        let object =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a", "namespace": "b"}});
        let stored = Stored::new(Object::from_json(object).expect("it is well formed"));
        let form = |version: &str| Form { kind: FormKind::JsonTail, version: version.into() };
        assert_eq!(stored.form(&form("v1"), |_| Bytes::from_static(b"one")), "one");
        assert_eq!(stored.form(&form("v1"), |_| unreachable!("it is known")), "one");
        assert_eq!(stored.form(&form("v2"), |_| Bytes::from_static(b"two")), "two");
        assert_eq!(stored.keep(&form("v1"), Bytes::from_static(b"other")), "one");
    }
}
