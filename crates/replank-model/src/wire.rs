//! How typed objects are read from and written to the API's JSON.
//!
//! Every struct that [`wire!`] declares has the API's field names in camelCase, takes absent fields as their default
//! and leaves defaults out when written. A field whose zero means something (`replicas: 0`) is an `Option`.

/// Whether a value is its type's default, and so left out of the JSON.
pub(crate) fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// Members by which elements of a list are told apart, most telling first (the merge keys of the API's schema).
pub(crate) const MERGE_KEYS: [&str; 8] =
    ["name", "type", "uid", "key", "topologyKey", "containerPort", "mountPath", "port"];

/// Removes `null` members at every depth: to the API server they say the same as an absent member.
pub(crate) fn strip_nulls(value: &mut serde_json::Value) {
    match value {
        serde_json::Value::Object(map) => {
            map.retain(|_, member| !member.is_null());
            map.values_mut().for_each(strip_nulls);
        }
        serde_json::Value::Array(items) => items.iter_mut().for_each(strip_nulls),
        serde_json::Value::Null
        | serde_json::Value::Bool(_)
        | serde_json::Value::Number(_)
        | serde_json::Value::String(_) => {}
    }
}

/// Declares structs that mirror API types (see the module's page).
macro_rules! wire {
    ($(
        $(#[$doc:meta])*
        pub struct $name:ident {
            $( $(#[$field_doc:meta])* pub $field:ident : $ty:ty ),* $(,)?
        }
    )*) => { $(
        $(#[$doc])*
        #[derive(Clone, Debug, Default, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        pub struct $name {
            $(
                $(#[$field_doc])*
                #[serde(skip_serializing_if = "crate::wire::is_default")]
                pub $field: $ty,
            )*
        }
    )* };
}

pub(crate) use wire;

/// Declares a closed set of API words, such as a pod's phase.
///
/// A word outside the set is an error that names the expected ones: what is not understood is not guessed.
macro_rules! words {
    ($(
        $(#[$doc:meta])*
        pub enum $name:ident { $( $(#[$variant_doc:meta])* $variant:ident = $word:literal ),* $(,)? }
    )*) => { $(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name { $( $(#[$variant_doc])* #[serde(rename = $word)] $variant ),* }

        impl $name {
            /// The word as the API writes it.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $( Self::$variant => $word ),* }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }
    )* };
}

pub(crate) use words;
