//! A real control plane to be judged by: etcd, kube-apiserver, kube-controller-manager and kube-scheduler on loopback, kubelets played for it, and
//! rehearsals carried out on it, eviction by eviction.
//!
//! Nothing of the product is linked here: a rehearsal comes as the JSON that the program prints, so that what is compared is what a user gets.

mod agenda;
mod assets;
mod building;
mod clean;
mod client;
pub mod conformance;
pub mod differential;
mod etcd;
mod feeder;
mod kubelets;
mod plane;
mod proxy;
pub mod record;
pub mod replay;
mod served;
pub mod session;
mod webhook;
mod wire;

pub use assets::{Assets, BUILT, find as find_assets};
pub use building::{build as build_assets, build_suite};
pub use clean::Beginning;
pub use client::{Answer, Client, Method};
pub use feeder::Feeder;
pub use kubelets::{Kubelets, NodeSpec};
pub use plane::{AUDITED, ControlPlane};
pub use proxy::{Asked, Fault, Passed, Plan, Proxy};
pub use served::Served;
pub use webhook::{Denial, Judgement, Webhook};
pub use wire::{Endpoint, Received, Sent};
