//! What a person is told before anything is done: findings ([`check`], [`audit`]), where pods can go ([`place`]), and the way to
//! another Kubernetes version ([`upgrade`]). Nothing here acts.

pub mod audit;
pub mod check;
pub mod place;
pub mod preflight;
mod rule;
pub mod sweep;
#[cfg(test)]
mod testing;
pub mod upgrade;
