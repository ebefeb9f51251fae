//! What a scan finds: one place at which an API version is used that is deprecated or gone.

use std::fmt;

use crate::release::Release;
use crate::source::Place;
use crate::table::{Gvk, Product};

/// The versions that matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    /// What the cluster runs, where that is known.
    pub current: Option<Release>,
    /// What it is to run.
    pub target: Release,
}

/// How grave it is. The greater is the graver.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// Served at the target, with a warning.
    Deprecated,
    /// Not served at the target.
    Removed,
    /// Not even served at the current version.
    Gone,
}

impl Severity {
    /// One word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Deprecated => "deprecated",
            Self::Removed => "removed",
            Self::Gone => "gone",
        }
    }
}

/// How sure it is that this use has to be changed. The greater is the surer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Confidence {
    /// It is worth a look: it may be left over, or never be used.
    Low,
    /// It is so unless something that is not in the input says otherwise.
    Medium,
    /// It is written so.
    High,
}

impl Confidence {
    /// One word.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Low => "low",
            Self::Medium => "medium",
            Self::High => "high",
        }
    }
}

/// What keeps a Helm release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Storage {
    /// Helm 3, in a Secret.
    Secret,
    /// Helm 3, in a ConfigMap.
    ConfigMap,
    /// Helm 2, in Tiller's namespace.
    Tiller,
}

impl Storage {
    /// A few words.
    pub const fn words(self) -> &'static str {
        match self {
            Self::Secret => "Secret",
            Self::ConfigMap => "ConfigMap",
            Self::Tiller => "Tiller (Helm 2)",
        }
    }
}

/// How it was seen.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Evidence {
    /// A manifest says so.
    Manifest,
    /// A chart or kustomization says so once rendered.
    Rendered {
        /// The program.
        by: String,
        /// The template, where it says.
        template: Option<String>,
    },
    /// A template says so, which was read as text.
    Template {
        /// Whether something else decides if it comes to that.
        branch: Branch,
    },
    /// A Helm release in a dump: `helm upgrade` compares with it.
    HelmRelease {
        /// Its namespace and name.
        release: String,
        /// Its revision.
        revision: u64,
        /// Its status, such as `deployed`.
        status: String,
        /// What keeps it.
        storage: Storage,
        /// The template, where it says.
        template: Option<String>,
    },
    /// A Terraform state or plan.
    Terraform {
        /// The resource's address.
        address: String,
    },
    /// An object of a cluster was shown at this version. The object itself is served at every version.
    Live,
    /// The object is fine; what was last applied to it with `kubectl apply` is written so.
    LastApplied {
        /// Whether somebody has written it at a served version since.
        writer: Writer,
    },
    /// The object is fine; somebody writes it at this version.
    Manager {
        /// The field manager.
        manager: String,
        /// `Apply` or `Update`.
        operation: String,
        /// When it last did.
        time: Option<String>,
    },
    /// Another object refers to it at this version.
    Reference {
        /// The field.
        field: &'static str,
    },
    /// A role grants it in this group.
    Rule {
        /// Whether its replacement is granted too.
        beside: Beside,
    },
    /// A webhook or policy wants to see it in this group and version.
    Webhook {
        /// Whether it wants to see the successor, too.
        beside: Beside,
    },
    /// The API server's metric counts requests.
    Requested,
    /// An audit log has requests.
    Called {
        /// Who.
        user: String,
        /// With what.
        agent: String,
        /// How often.
        count: u64,
        /// When last.
        last: String,
    },
}

/// Whether a template's version is the only one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Branch {
    /// It is.
    Only,
    /// It depends on what the cluster serves (`.Capabilities`).
    ByCapability,
    /// There is another one for other cases, which is served.
    OneOf,
    /// The chart was rendered with its own values, and it did not come to that.
    LeftOut,
}

/// Who wrote last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Writer {
    /// Nothing contradicts the annotation.
    Unknown,
    /// Somebody has written at a served version since: the annotation is left over.
    WroteSince,
}

/// Whether a rule has the successor beside what is old.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Beside {
    /// It has not.
    Missing,
    /// It has: what is old may be taken out.
    There,
}

impl Evidence {
    /// Its kind, in one word.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Manifest => "manifest",
            Self::Rendered { .. } => "rendered",
            Self::Template { .. } => "template",
            Self::HelmRelease { .. } => "helm-release",
            Self::Terraform { .. } => "terraform",
            Self::Live => "live",
            Self::LastApplied { .. } => "last-applied",
            Self::Manager { .. } => "manager",
            Self::Reference { .. } => "reference",
            Self::Rule { .. } => "rbac-rule",
            Self::Webhook { .. } => "webhook-rule",
            Self::Requested => "metric",
            Self::Called { .. } => "audit",
        }
    }

    /// Whether the object is fine, and what writes, grants or calls it is not.
    pub const fn is_about_writer(&self) -> bool {
        match self {
            Self::LastApplied { .. } | Self::Manager { .. } | Self::Requested | Self::Called { .. } => true,
            Self::Manifest
            | Self::Rendered { .. }
            | Self::Template { .. }
            | Self::HelmRelease { .. }
            | Self::Terraform { .. }
            | Self::Live
            | Self::Reference { .. }
            | Self::Rule { .. }
            | Self::Webhook { .. } => false,
        }
    }
}

/// For a person, in a few words.
impl fmt::Display for Evidence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let of = |template: &Option<String>| {
            template.as_ref().map(|template| format!(", template {template}")).unwrap_or_default()
        };
        match self {
            Self::Manifest => f.write_str("manifest"),
            Self::Rendered { by, template } => write!(f, "rendered by {by}{}", of(template)),
            Self::Template { branch: Branch::Only } => f.write_str("template, read as text"),
            Self::Template { branch: Branch::ByCapability } => {
                f.write_str("template, read as text: only where the cluster serves it")
            }
            Self::Template { branch: Branch::OneOf } => {
                f.write_str("template, read as text: one of several versions, of which another is served")
            }
            Self::Template { branch: Branch::LeftOut } => {
                f.write_str("template, read as text: the chart's own values leave it out")
            }
            Self::HelmRelease { release, revision, status, storage, template } => {
                write!(
                    f,
                    "Helm release {release} v{revision} ({status}, in a {}){}",
                    storage.words(),
                    of(template)
                )
            }
            Self::Terraform { address } => write!(f, "Terraform {address}"),
            Self::Live => f.write_str("live object"),
            Self::LastApplied { writer: Writer::Unknown } => {
                f.write_str("the object is fine: its source is stale (last applied at this version)")
            }
            Self::LastApplied { writer: Writer::WroteSince } => f.write_str(
                "the object is fine: last applied at this version, and written at a served one since",
            ),
            Self::Manager { manager, operation, time } => {
                write!(f, "the object is fine: {manager} writes it at this version ({operation}")?;
                match time {
                    Some(time) => write!(f, ", last {time})"),
                    None => f.write_str(")"),
                }
            }
            Self::Reference { field } => write!(f, "reference in {field}"),
            Self::Rule { beside: Beside::Missing } => {
                f.write_str("rule of a role; its replacement is not granted")
            }
            Self::Rule { beside: Beside::There } => {
                f.write_str("rule of a role; its replacement is granted too")
            }
            Self::Webhook { beside: Beside::Missing } => {
                f.write_str("admission rule; its replacement is not matched")
            }
            Self::Webhook { beside: Beside::There } => {
                f.write_str("admission rule; its replacement is matched too")
            }
            Self::Requested => f.write_str("requests counted by the API server, including its own"),
            Self::Called { user, agent, count, last } => {
                write!(f, "{count} requests by {user} ({agent}), last {last}")
            }
        }
    }
}

/// One use of an API version that is deprecated or gone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How grave it is.
    pub severity: Severity,
    /// Where.
    pub place: Place,
    /// Namespace of the object, where it says one.
    pub namespace: Option<String>,
    /// Its name; empty where none is known.
    pub name: String,
    /// The object that was looked at, where that is not of the kind below: a role, say.
    pub holder: Option<String>,
    /// What is used.
    pub used: Gvk,
    /// Whose versions the next two are.
    pub product: Product,
    /// First version that warns of it.
    pub deprecated: Option<Release>,
    /// First version that does not serve it.
    pub removed: Option<Release>,
    /// What to use instead, if there is such a thing.
    pub replacement: Option<Gvk>,
    /// First version that serves that, where it is behind the current one: until then the old one must stay.
    pub replacement_from: Option<Release>,
    /// What else must change, in a few words each.
    pub changes: Vec<&'static str>,
    /// How it was seen.
    pub evidence: Evidence,
    /// How sure it is.
    pub confidence: Confidence,
}

impl Finding {
    /// `NAMESPACE/NAME`, or what there is of it.
    pub fn full_name(&self) -> String {
        match &self.namespace {
            Some(namespace) => format!("{namespace}/{}", self.name),
            None => self.name.clone(),
        }
    }
}
