//! A program on the Python client, `peers/clients-python`, in an environment of its own.

use std::process::Command;

use anyhow::{Context, Result};

use super::build::{build, folder};
use super::task::{Task, What};
use crate::root;

pub(super) fn tasks() -> Result<Vec<Task>> {
    let own = root().join("peers/clients-python");
    let wanted = own.join("requirements.txt");
    let environment = folder().join("python");
    let (program, installed) = (environment.join("bin/python"), environment.join("requirements.txt"));
    let list = std::fs::read(&wanted).with_context(|| format!("cannot read {}", wanted.display()))?;
    if std::fs::read(&installed).ok().as_ref() != Some(&list) {
        let mut make = Command::new("python3");
        make.args(["-m", "venv", "--clear"]).arg(&environment);
        build("Python's environment", "install Python 3 with venv", &mut make)?;
        let mut install = Command::new(&program);
        install.args(["-m", "pip", "install", "--quiet", "--requirement"]).arg(&wanted);
        build("the Python client", "it is in the environment", &mut install)?;
        std::fs::write(&installed, &list)?;
    }
    let arguments = vec![own.join("checks.py")];
    Ok(vec![Task { name: "python".to_owned(), what: What::Program { program, arguments } }])
}
