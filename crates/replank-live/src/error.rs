//! Why something cannot be had from an API server, and what to do next.

use std::fmt;
use std::path::PathBuf;

use thiserror::Error;

/// Why something cannot be had from an API server.
#[derive(Debug, Error)]
pub enum LiveError {
    /// There is no kubeconfig.
    #[error("there is no kubeconfig: {looked_at}")]
    NoKubeconfig {
        /// Where one was looked for.
        looked_at: String,
    },
    /// A kubeconfig cannot be used.
    #[error("cannot use the kubeconfig {files}: {why}")]
    Kubeconfig {
        /// The files that it is made of.
        files: String,
        /// What is wrong with it.
        why: String,
    },
    /// The kubeconfig has no such context.
    #[error("the kubeconfig has no context {context:?}")]
    NoContext {
        /// The name that was asked for.
        context: String,
        /// Those that it has.
        known: Vec<String>,
    },
    /// The kubeconfig names no context to use, and none was asked for.
    #[error("the kubeconfig has no current context")]
    NoCurrentContext {
        /// Those that it has.
        known: Vec<String>,
    },
    /// Nobody answers.
    #[error("cannot reach the API server {server}: {why}")]
    Unreachable {
        /// Its address.
        server: String,
        /// What the system says.
        why: String,
    },
    /// The server is not the one that the kubeconfig means.
    #[error("the certificate of the API server {server} is not one that the kubeconfig trusts: {why}")]
    Certificate {
        /// Its address.
        server: String,
        /// What TLS says.
        why: String,
    },
    /// The kubeconfig's credentials cannot be had: a program that it names fails.
    #[error("cannot get credentials for the context {context:?}: {why}")]
    Credentials {
        /// The context.
        context: String,
        /// What the program says.
        why: String,
    },
    /// The server does not know who asks.
    #[error(
        "the API server {server} does not accept the credentials of the context {context:?} (401 Unauthorized)"
    )]
    Unauthorized {
        /// Its address.
        server: String,
        /// The context.
        context: String,
    },
    /// Who asks may not.
    #[error("{message}")]
    Forbidden {
        /// The API server's words: who, which verb, which resource.
        message: String,
        /// The rule that is missing.
        missing: Missing,
    },
    /// The server says no.
    #[error("GET {path}: {message} ({code})")]
    Refused {
        /// What was asked for.
        path: String,
        /// HTTP status code.
        code: u16,
        /// The message of its Status, or the beginning of its body.
        message: String,
    },
    /// The answer cannot be read.
    #[error("GET {path}: the answer cannot be read: {why}")]
    Unreadable {
        /// What was asked for.
        path: String,
        /// Why.
        why: String,
    },
    /// The cluster is older than what is supported.
    #[error("the cluster is of Kubernetes {version}; 1.22 is the oldest that is supported")]
    TooOld {
        /// Its version.
        version: String,
    },
    /// What was read cannot be written down.
    #[error("cannot write {}: {why}", file.display())]
    Write {
        /// Where.
        file: PathBuf,
        /// What the system says.
        why: std::io::Error,
    },
}

/// A rule that is missing: RBAC would grant it by a ClusterRole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Missing {
    /// API group; empty for the core group.
    pub group: String,
    /// Resource, with its subresource.
    pub resource: String,
    /// Verbs.
    pub verbs: &'static [&'static str],
}

impl fmt::Display for Missing {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            out,
            "- apiGroups: [{:?}]\n  resources: [{:?}]\n  verbs: [{}]",
            self.group,
            self.resource,
            self.verbs.join(", ")
        )
    }
}

impl LiveError {
    /// The next step to take, where the error does not say it.
    #[must_use]
    pub fn next(&self) -> Option<String> {
        let contexts = |known: &[String]| match known {
            [] => "it has no context at all: pass another kubeconfig, --kubeconfig FILE".to_owned(),
            known => format!("it has: {}; pass one: --context NAME", known.join(", ")),
        };
        match self {
            Self::NoKubeconfig { .. } => {
                Some("set KUBECONFIG or pass --kubeconfig FILE; commands that only read can be given a SNAPSHOT instead".to_owned())
            }
            Self::NoContext { known, .. } | Self::NoCurrentContext { known } => Some(contexts(known)),
            Self::Unreachable { .. } => {
                Some("check that the cluster is there and reachable from here: kubectl version".to_owned())
            }
            Self::Certificate { .. } => {
                Some("fetch the kubeconfig anew; on EKS: aws eks update-kubeconfig --name CLUSTER".to_owned())
            }
            Self::Credentials { .. } | Self::Unauthorized { .. } => {
                Some("log in again, then try: kubectl auth whoami".to_owned())
            }
            Self::Forbidden { missing, .. } => Some(format!("grant the rule:\n{missing}")),
            Self::Kubeconfig { .. }
            | Self::Refused { .. }
            | Self::Unreadable { .. }
            | Self::TooOld { .. }
            | Self::Write { .. } => None,
        }
    }
}
