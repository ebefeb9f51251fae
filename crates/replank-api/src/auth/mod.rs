//! Who asks, and whether they may.
//!
//! Layers, each uses only those above it: `user` and `attributes`, `rule`, `policy`, `rbac`, `signer`, `claims`; then what requests need of them.

mod attributes;
mod authenticate;
mod claims;
mod cover;
mod escalation;
mod impersonate;
mod jwks;
mod modes;
mod outside;
mod policy;
mod rbac;
mod refuse;
mod review;
mod rule;
mod signer;
mod token_request;
mod user;

pub use attributes::{Attributes, Place};
pub use authenticate::authenticate;
pub use claims::{Account, Claims, Named};
pub use escalation::{EscalationCheck, escalates, guards};
pub use impersonate::impersonated;
pub use jwks::{keys, provider};
pub use modes::Ways;
pub use outside::OutsideTokens;
pub use rbac::{Authorization, Authorizer, Verdict};
pub use refuse::denied;
pub use review::{Reviewer, is_review};
pub use signer::TokenSigner;
pub use token_request::token_request;
pub use user::User;
