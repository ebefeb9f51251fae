//! What happens between a driver and its cluster besides decisions and answers.

use std::fmt;

use replank_model::time::Span;
use replank_protocol::command::CommandKey;

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The server answers.
    Connected {
        /// Its address.
        server: String,
        /// Major and minor version.
        version: (u32, u32),
    },
    /// A resource is not read: the server does not let us, and decisions can do without.
    Unseen {
        /// Which: `workflows.argoproj.io`.
        resource: String,
        /// The server's words.
        why: String,
    },
    /// Everything has been listed once: decisions begin.
    Complete {
        /// How many objects.
        objects: usize,
    },
    /// An object is there and cannot be read. Its node counts as one that is not empty.
    Unread {
        /// Which: kind, namespace and name.
        object: String,
        /// What is wrong with it.
        why: String,
    },
    /// A list or a watch broke off. It is tried again.
    Lost {
        /// Which resource.
        resource: String,
        /// Why.
        why: String,
        /// How long from now.
        again_in: Span,
    },
    /// A list or a watch that was lost is there again.
    Back {
        /// Which resource.
        resource: String,
    },
    /// A watch cannot go on from where it was: the resource is listed anew.
    Relisting {
        /// Which resource.
        resource: String,
        /// The server's words.
        why: String,
    },
    /// A resource has been listed anew.
    Relisted {
        /// Which resource.
        resource: String,
        /// Objects that were not known.
        added: usize,
        /// Objects that had changed.
        changed: usize,
        /// Objects that were gone.
        removed: usize,
    },
    /// What would destroy something is not sent: not everything is seen at the moment.
    Held {
        /// Commands that wait.
        commands: usize,
        /// Resources that are not seen.
        resources: Vec<String>,
    },
    /// What was held is sent.
    Released {
        /// Commands that had waited.
        commands: usize,
    },
    /// The server asks for fewer requests (API Priority and Fairness).
    Throttled {
        /// What it does not take at the moment.
        request: String,
        /// For how long nothing is sent.
        pause: Span,
    },
    /// No answer came to a command: what it was to change is read.
    ReadBack {
        /// Which command.
        key: CommandKey,
        /// Why no answer came.
        why: String,
    },
    /// What was written has not been seen for a while. Decisions go on without.
    Lagging {
        /// What was written: kind, namespace and name.
        object: String,
        /// For how long.
        waited: Span,
    },
    /// The server does not accept our credentials any more. They are read anew, and tried for a while.
    Unauthorized {
        /// What the server, or the program that gets credentials, says.
        why: String,
    },
    /// The server accepts our credentials again.
    Authorized,
}

impl Event {
    /// Whether it is how things go, and nothing that a person needs to be told while they look on.
    #[must_use]
    pub fn is_routine(&self) -> bool {
        match self {
            Self::Connected { .. } | Self::Complete { .. } | Self::ReadBack { .. } => true,
            Self::Unseen { .. }
            | Self::Unread { .. }
            | Self::Lost { .. }
            | Self::Back { .. }
            | Self::Relisting { .. }
            | Self::Relisted { .. }
            | Self::Held { .. }
            | Self::Released { .. }
            | Self::Throttled { .. }
            | Self::Lagging { .. }
            | Self::Unauthorized { .. }
            | Self::Authorized => false,
        }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Connected { server, version: (major, minor) } => {
                write!(out, "connected to {server} (Kubernetes {major}.{minor})")
            }
            Self::Unseen { resource, why } => write!(out, "{resource} are not read: {why}"),
            Self::Complete { objects } => write!(out, "{objects} objects listed; decisions begin"),
            Self::Unread { object, why } => {
                write!(out, "{object} cannot be read, and counts as being there: {why}")
            }
            Self::Lost { resource, why, again_in } => {
                write!(out, "cannot see {resource}: {why}; trying again in {again_in}")
            }
            Self::Back { resource } => write!(out, "{resource} are seen again"),
            Self::Relisting { resource, why } => write!(out, "listing {resource} anew: {why}"),
            Self::Relisted { resource, added, changed, removed } => {
                write!(out, "{resource} listed anew: {added} added, {changed} changed, {removed} removed")
            }
            Self::Held { commands: 1, resources } => {
                write!(out, "1 eviction or deletion waits until {} are seen again", resources.join(", "))
            }
            Self::Held { commands, resources } => write!(
                out,
                "{commands} evictions and deletions wait until {} are seen again",
                resources.join(", ")
            ),
            Self::Released { commands: 1 } => write!(out, "1 eviction or deletion goes on"),
            Self::Released { commands } => write!(out, "{commands} evictions and deletions go on"),
            Self::Throttled { request, pause } => {
                write!(out, "the API server is busy ({request}); nothing is sent for {pause}")
            }
            Self::ReadBack { key, why } => {
                write!(out, "no answer to {key} ({why}); reading what became of it")
            }
            Self::Lagging { object, waited } => {
                write!(out, "what was written on {object} has not been seen for {waited}; going on")
            }
            Self::Unauthorized { why } => {
                write!(out, "the API server does not accept the credentials; trying new ones: {why}")
            }
            Self::Authorized => out.write_str("the API server accepts the credentials again"),
        }
    }
}
