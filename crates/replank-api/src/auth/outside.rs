//! Tokens that somebody else knows.

use super::user::User;

/// Whoever else knows tokens, as a webhook does for an API server (`--authentication-token-webhook-config-file`).
pub trait OutsideTokens: std::fmt::Debug + Send + Sync {
    /// Who a token is of, if it is one of theirs and worth something.
    fn user(&self, token: &str) -> Option<User>;
}
