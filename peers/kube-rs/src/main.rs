//! A small operator on kube-rs, and checks of what it meets: the cluster is the one of `KUBECONFIG`. One line for each check; fails if one of them does.

mod checks;
mod fleet;
mod operator;

use std::process::ExitCode;

use kube::{Client, Config};

#[tokio::main]
async fn main() -> ExitCode {
    let client = match connect().await {
        Ok(client) => client,
        Err(error) => {
            println!("FAILED connect: {error}");
            return ExitCode::FAILURE;
        }
    };
    if checks::run(client).await { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A client that tries nothing again by itself: an eviction that a budget blocks is answered with the time to wait.
async fn connect() -> Result<Client, Box<dyn std::error::Error>> {
    let mut config = Config::infer().await?;
    config.default_retry = false;
    Ok(Client::try_from(config)?)
}
