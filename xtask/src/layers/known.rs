//! Circles that are still there. A new one fails; one that is gone must leave the list.

/// A crate, and the modules that need each other.
pub(super) type Circle<'a> = (&'a str, &'a [&'a str]);

/// Most are a parent that declares what its children use: it goes into a file beneath them.
pub(super) const KNOWN_CIRCLES: &[Circle<'_>] = &[
    (
        "replank-apiserver",
        &["json::policies", "json::policies::ask", "json::policies::matching", "json::policies::scope"],
    ),
    (
        "replank-cel",
        &[
            "functions",
            "functions::basic",
            "functions::format",
            "functions::lists",
            "functions::net",
            "functions::numbers",
            "functions::quantity",
            "functions::semver",
            "functions::texts",
            "functions::url",
        ],
    ),
    ("replank-cel", &["eval", "eval::each"]),
    ("replank-custom", &["schema", "schema::read"]),
    ("replank-custom", &["object::compose", "object::format", "object::scalar", "object::validate"]),
    (
        "replank-custom",
        &[
            "definition",
            "definition::names",
            "definition::rules",
            "definition::schema",
            "definition::structural",
            "definition::update",
            "definition::versions",
        ],
    ),
    ("xtask", &["bench", "bench_cluster"]),
];
