//! AWS' protocols on the wire, in front of the simulated cloud: what `aws --endpoint-url`, boto3, Cluster Autoscaler and the node termination handler speak.
//!
//! A request is verified ([`sigv4`]), becomes a [`Call`] whichever protocol it came by ([`wire`]), and is answered by an [`Account`]: what AWS keeps of an account
//! beside its machines. Groups and instances are somebody else's, reached through [`Region`]. Time is an argument; the only clock here is that of the signatures.

pub mod account;
mod call;
mod caller;
mod fault;
mod gate;
mod image;
mod input;
mod members;
mod page;
mod region;
mod server;
mod service;
pub mod sigv4;
mod text;
pub mod trouble;
mod wire;

pub use account::{Account, Setting, Takes};
pub use call::{Answered, Call, Reply};
pub use caller::{Caller, WebIdentity};
pub use fault::Fault;
pub use gate::{Gate, Temporary};
pub use input::Input;
pub use region::{InstanceType, Machine, Region};
pub use server::{Backend, Server};
pub use service::Service;
pub use sigv4::Credentials;
