//! Sessions: commands as a person types them, with what they print. One file is played on a real control plane and on the served cluster.
//!
//! ```text
//! == a section; "(served)" or "(real)" at its end: only there
//! $ a command that succeeds
//!     what it prints, without what differs between any two clusters
//! ! a command that fails
//! ? a command that is repeated until it prints this
//! ```

mod form;
mod normal;
mod play;

pub use form::{Section, Session, Side, Step, Way};
pub use normal::Normal;
pub use play::{Setting, play};
