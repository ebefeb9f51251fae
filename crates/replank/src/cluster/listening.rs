//! The addresses that a served cluster listens on.

use std::net::SocketAddr;

use anyhow::Context;

use crate::failure::Failure;

/// Takes an address: before anything else, since nothing else is so likely to fail.
///
/// # Errors
/// Where somebody has it.
pub(super) fn listen(address: SocketAddr, flag: &str) -> Result<std::net::TcpListener, Failure> {
    let bound = std::net::TcpListener::bind(address);
    bound
        .with_context(|| format!("cannot listen on {address}"))
        .map_err(|error| Failure::usage(error).next(format!("take another port: {flag} 0 takes a free one")))
}
