//! A program on client-go: `peers/clients-go`.

use anyhow::Result;

use super::build::go;
use super::task::{Task, What};

pub(super) fn tasks() -> Result<Vec<Task>> {
    let program = go("peers/clients-go", "clients-go", ".")?;
    Ok(vec![Task { name: "client-go".to_owned(), what: What::Program { program, arguments: Vec::new() } }])
}
