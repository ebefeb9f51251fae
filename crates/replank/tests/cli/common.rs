//! Running the binary.

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// The bundled example's files, relative to the workspace.
pub(crate) const SNAPSHOT: &str = "examples/job-site/snapshot.yaml";
pub(crate) const PLAN: &str = "examples/job-site/plan.yaml";

/// What a call came to.
#[derive(Debug)]
pub(crate) struct Ran {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl From<Output> for Ran {
    fn from(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("the program writes text");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }
}

impl Ran {
    /// Standard output as JSON.
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.stdout).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// What a usage error says; it says nothing on standard output.
    pub(crate) fn usage_error(&self) -> String {
        assert_eq!(self.code, Some(2), "{self:?}");
        assert_eq!(self.stdout, "", "{self:?}");
        assert!(self.stderr.contains("error: "), "{self:?}");
        without_paths(&self.stderr)
    }
}

/// Paths differ from machine to machine, and where lines break because of them, too.
fn without_paths(text: &str) -> String {
    let scratch = env!("CARGO_TARGET_TMPDIR");
    let root = root();
    let root = root.to_str().expect("the workspace's path is text");
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ").replace(scratch, "SCRATCH").replace(root, "ROOT")
}

pub(crate) fn root() -> PathBuf {
    let own = Path::new(env!("CARGO_MANIFEST_DIR"));
    own.ancestors().nth(2).expect("the crate lies two levels below the workspace").to_owned()
}

/// The binary, not yet run: in the workspace, with nothing of the environment that changes its output.
pub(crate) fn command<S: AsRef<OsStr>>(arguments: &[S]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_replank"));
    command.args(arguments).current_dir(root()).env_remove("COLUMNS").stdin(Stdio::null());
    for name in ["NO_COLOR", "CLICOLOR", "CLICOLOR_FORCE"] {
        command.env_remove(name);
    }
    // Whoever runs the tests may have a cluster of their own: none is read unless a test says so.
    command.env_remove("KUBECONFIG").env("HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

pub(crate) fn replank<S: AsRef<OsStr>>(arguments: &[S]) -> Ran {
    let ran = command(arguments).output().expect("the binary can be run").into();
    assert_documented(arguments, &ran);
    ran
}

/// Every call of these tests ends with a code that docs/exit-codes.md has for its command.
fn assert_documented<S: AsRef<OsStr>>(arguments: &[S], ran: &Ran) {
    let code = ran.code.expect("no signal ends it");
    let words: Vec<&str> = arguments.iter().filter_map(|argument| argument.as_ref().to_str()).collect();
    super::schemas::hold(&words, &ran.stdout);
    if [0, 2].contains(&code) {
        return;
    }
    let page = include_str!("../../../../docs/exit-codes.md");
    let row = page.lines().find(|line| {
        let command = line.strip_prefix("| `").and_then(|line| line.split('`').next());
        command.is_some_and(|command| words.starts_with(&command.split(' ').collect::<Vec<_>>()))
    });
    let row = row.unwrap_or_else(|| panic!("no row of docs/exit-codes.md is of {words:?}"));
    let column =
        [0, 3, 4, 5, 6].iter().position(|one| *one == code).unwrap_or_else(|| panic!("{words:?}: {ran:?}"));
    let meaning = row.split(" | ").nth(column + 1).expect("a cell").trim_end_matches(" |");
    assert_ne!(meaning, "–", "{words:?} ends with {code}, which docs/exit-codes.md does not have: {ran:?}");
}

/// With text on standard input.
pub(crate) fn replank_reading(arguments: &[&str], input: &[u8]) -> Ran {
    let mut child = command(arguments)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary can be run");
    let mut stdin = child.stdin.take().expect("standard input is a pipe");
    stdin.write_all(input).expect("the binary reads");
    drop(stdin);
    let ran = child.wait_with_output().expect("the binary ends").into();
    assert_documented(arguments, &ran);
    ran
}

/// A file with such content; `name` is the test's own.
pub(crate) fn scratch(name: &str, content: impl AsRef<[u8]>) -> String {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let dir = path.parent().expect("a scratch file lies in a directory");
    std::fs::create_dir_all(dir).expect("the scratch directory can be made");
    std::fs::write(&path, content).expect("the scratch file can be written");
    path.into_os_string().into_string().expect("the scratch path is text")
}

/// The example's snapshot.
pub(crate) fn snapshot_text() -> String {
    std::fs::read_to_string(root().join(SNAPSHOT)).expect("the example is there")
}

/// A plan with such a spec.
pub(crate) fn plan(name: &str, spec: &str) -> String {
    let text = format!(
        "apiVersion: replank.dev/v1alpha1\nkind: NodeRoll\nmetadata: {{name: test}}\nspec: {{{spec}}}\n"
    );
    scratch(name, text)
}

/// Every member of a value: `nodes.total`, `budgets[].name`.
pub(crate) fn members(value: &Value, path: &str, all: &mut BTreeSet<String>) {
    match value {
        Value::Object(object) => {
            for (key, member) in object {
                let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
                all.insert(path.clone());
                members(member, &path, all);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| members(item, &format!("{path}[]"), all)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
