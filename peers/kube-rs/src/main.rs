//! A small operator on kube-rs, and checks of what it meets: the cluster is the one of `KUBECONFIG`. One line for each check; fails if one of them does.

mod checks;
mod fleet;
mod operator;

use std::process::ExitCode;

use kube::Client;

#[tokio::main]
async fn main() -> ExitCode {
    let client = match Client::try_default().await {
        Ok(client) => client,
        Err(error) => {
            println!("FAILED connect: {error}");
            return ExitCode::FAILURE;
        }
    };
    if checks::run(client).await { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
