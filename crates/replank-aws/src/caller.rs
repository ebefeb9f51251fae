//! Who asks.

use crate::text::hash;

/// Who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Caller {
    /// Whoever has the account's one access key.
    #[default]
    User,
    /// Whoever has assumed a role.
    Role {
        /// The role's name, without its path.
        role: String,
        /// The session's name.
        session: String,
    },
    /// Nobody who has signed; a token of the cluster is shown instead, and this is what it says, where the cluster has signed it.
    Web(Option<WebIdentity>),
}

/// What a token of the cluster says that is shown to STS.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WebIdentity {
    /// Who has signed it.
    pub issuer: String,
    /// For whom: `system:serviceaccount:NAMESPACE:NAME`.
    pub subject: String,
    /// Whom it is to be shown to.
    pub audiences: Vec<String>,
    /// Until when it is worth something: seconds since 1970.
    pub until: i64,
    /// When it was shown, by the clock that it was signed by: seconds since 1970.
    pub shown: i64,
}

impl Caller {
    /// The ARN, in an account.
    #[must_use]
    pub fn arn(&self, account: &str) -> String {
        match self {
            Self::User => format!("arn:aws:iam::{account}:user/rehearsal"),
            Self::Role { role, session } => format!("arn:aws:sts::{account}:assumed-role/{role}/{session}"),
            Self::Web(_) => format!("arn:aws:iam::{account}:anonymous"),
        }
    }

    /// The unique id, with the session's name where there is one.
    #[must_use]
    pub fn id(&self) -> String {
        match self {
            Self::User => "AIDAREHEARSALREHEARSA".to_owned(),
            Self::Role { role, session } => format!("{}:{session}", role_id(role)),
            Self::Web(_) => String::new(),
        }
    }
}

/// The unique id of a role: it follows from its name.
pub(crate) fn role_id(role: &str) -> String {
    let mut left = u128::from(hash(role)) << 64 | u128::from(hash(&format!("{role}/")));
    let mut id = "AROA".to_owned();
    for _ in 0..17 {
        id.push(char::from(b"ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"[(left % 32) as usize]));
        left /= 32;
    }
    id
}
