//! What could not be read, where, and what to do about it.

use std::fmt;
use std::sync::Arc;

/// A place in the input, as far as it is known.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The path as it was given or found, or `<stdin>`.
    pub source: Arc<str>,
    /// Number of the document in its source, from 1; documents without content are not counted.
    pub document: Option<u32>,
    /// Position in the list, from 0, as in `.items[0]`.
    pub item: Option<u32>,
    /// Line, from 1.
    pub line: Option<u64>,
    /// Column in characters, from 1.
    pub column: Option<u64>,
}

impl Place {
    /// A whole source.
    pub fn source(source: Arc<str>) -> Self {
        Self { source, document: None, item: None, line: None, column: None }
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.source)?;
        let mut separator = ": ";
        let mut part = |f: &mut fmt::Formatter<'_>, text: fmt::Arguments<'_>| {
            let result = write!(f, "{separator}{text}");
            separator = ", ";
            result
        };
        if let Some(document) = self.document {
            part(f, format_args!("document {document}"))?;
        }
        if let Some(item) = self.item {
            part(f, format_args!("items[{item}]"))?;
        }
        if let Some(line) = self.line {
            part(f, format_args!("line {line}"))?;
        }
        if let Some(column) = self.column {
            part(f, format_args!("column {column}"))?;
        }
        Ok(())
    }
}

/// What a problem kept from being read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Lost {
    /// Nothing: the document was read, and what was done about the problem is in its message.
    Nothing,
    /// One item of a list.
    Item,
    /// One document.
    Document,
    /// The list from this place on.
    RestOfList,
    /// The source from this place on.
    RestOfSource,
    /// The whole source.
    Source,
}

impl Lost {
    fn clause(self) -> &'static str {
        match self {
            Lost::Nothing => "",
            Lost::Item => "; the item was left out",
            Lost::Document => "; the document was left out",
            Lost::RestOfList => "; the rest of the list was left out",
            Lost::RestOfSource => "; the rest of the input was left out",
            Lost::Source => "; it was left out",
        }
    }
}

/// Something in the input that is not as it must be. The rest is read all the same.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {kind}{lost}: {help}", lost = lost.clause(), help = kind.help())]
pub struct Problem {
    /// Where.
    pub place: Place,
    /// What was expected and what was found.
    pub kind: ProblemKind,
    /// What is missing because of it.
    pub lost: Lost,
}

/// What was expected and what was found.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ProblemKind {
    /// Text that is not YAML.
    #[error("invalid YAML: {message}")]
    Yaml {
        /// The parser's words.
        message: String,
        /// Whether the document holds `{{`, the sign of a template that was not rendered.
        template: Template,
    },
    /// Text that is not JSON.
    #[error("invalid JSON: expected {expected}, found {found}")]
    Json {
        /// What could have come here.
        expected: String,
        /// What came.
        found: String,
    },
    /// A JSON value that the grammar allows and a number or string type does not.
    #[error("invalid JSON: {message}")]
    JsonValue {
        /// serde_json's words.
        message: String,
    },
    /// Bytes that are not UTF-8.
    #[error("expected UTF-8 text, found the byte {byte:#04x} at byte {offset} of the input")]
    NotUtf8 {
        /// Offset of the byte in its source (after decompression), from 0.
        offset: u64,
        /// The byte.
        byte: u8,
    },
    /// A control character where text is expected.
    #[error("expected text, found the control character {byte:#04x} at byte {offset} of the input")]
    ControlCharacter {
        /// Offset of the byte in its source (after decompression), from 0.
        offset: u64,
        /// The byte.
        byte: u8,
    },
    /// A file that is not text.
    #[error("expected YAML or JSON, found {looks_like}")]
    Binary {
        /// What its first bytes say it is.
        looks_like: &'static str,
    },
    /// The same key twice in one object.
    #[error("duplicate key {key:?} in one object; the last value is used")]
    DuplicateKey {
        /// The key, with the path to it where no line is known.
        key: String,
    },
    /// A value YAML has and JSON has not.
    #[error("{what} cannot be written in JSON: expected {expected}")]
    NotJson {
        /// What was found.
        what: String,
        /// What could stand there.
        expected: &'static str,
    },
    /// A bound was reached.
    #[error("{what} exceeds the limit of {bound}")]
    Bound {
        /// What was counted.
        what: &'static str,
        /// The bound, with its unit.
        bound: String,
    },
    /// The file, or the pipe, could not be read to its end.
    #[error("cannot be read: {message}")]
    Read {
        /// The operating system's or the decompressor's words.
        message: String,
        /// What kind of failure it is, which decides the next step.
        cause: ReadFailure,
    },
    /// A symbolic link that leads back to a directory above it.
    #[error("the symbolic link leads back to {target}")]
    SymlinkLoop {
        /// Where it leads.
        target: String,
    },
    /// A document or item that is no JSON object.
    #[error("expected an object with apiVersion, kind and metadata, found {found}")]
    NotAnObject {
        /// What was found.
        found: String,
    },
    /// An object without a field that every Kubernetes object has, or with a value of another type there.
    #[error("expected {field} to be a non-empty string, found {found}{object}")]
    Field {
        /// `kind`, `apiVersion`, `metadata.name` or `metadata.namespace`.
        field: Field,
        /// What was found.
        found: String,
        /// ` in KIND NAME`, as far as known, or nothing.
        object: String,
    },
    /// A list that goes on elsewhere.
    #[error("the list is one page of a longer one ({remaining}): metadata.continue is set")]
    Incomplete {
        /// How many items remain, in words.
        remaining: String,
    },
    /// A member that is modelled has a value that the API does not have there.
    #[error("invalid object: {message}")]
    Projection {
        /// Kind, name, path, and what was expected.
        message: String,
    },
    /// An object that no API server stores.
    #[error("{object} is invalid: {why}")]
    Refused {
        /// Kind, namespace and name.
        object: String,
        /// Path and reason, in the API server's words.
        why: String,
    },
    /// An object of an unsupported API version that could not be converted.
    #[error("{object} cannot be converted to a supported version: {why}")]
    OldVersion {
        /// Version, kind, namespace and name.
        object: String,
        /// Why not.
        why: String,
    },
    /// An object that is there in two states.
    #[error("{object} is in the input twice; the one at {taken} is used, because of {why}")]
    Duplicate {
        /// Kind, namespace and name.
        object: String,
        /// Where the state is that was taken.
        taken: String,
        /// What decided.
        why: &'static str,
    },
    /// The API server's answer was an error, and that was saved.
    #[error("expected objects, found an error from the API server: {message}")]
    ApiError {
        /// The message of the `Status`.
        message: String,
    },
}

/// Whether text holds the sign of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Template {
    /// It holds `{{`.
    Likely,
    /// It does not.
    No,
}

/// Why reading stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadFailure {
    /// Not allowed to.
    Permission,
    /// A gzip stream that ends early.
    TruncatedGzip,
    /// A gzip stream whose bytes are not right.
    CorruptGzip,
    /// Anything else the operating system says.
    Other,
}

/// A field that identifies an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// `kind`
    Kind,
    /// `apiVersion`
    ApiVersion,
    /// `metadata.name`
    Name,
    /// `metadata.name`, where `metadata.generateName` is there instead.
    GeneratedName,
    /// `metadata.name`, in a program's configuration file, which is not a cluster object.
    NameOfConfiguration,
    /// `metadata.namespace`
    Namespace,
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Field::Kind => "kind",
            Field::ApiVersion => "apiVersion",
            Field::Name | Field::GeneratedName | Field::NameOfConfiguration => "metadata.name",
            Field::Namespace => "metadata.namespace",
        })
    }
}

impl ProblemKind {
    /// The next step to take.
    pub fn help(&self) -> &'static str {
        match self {
            ProblemKind::Yaml { template: Template::Likely, .. } => {
                "this looks like a template; render it first (`helm template`, `kustomize build`) and pass the result"
            }
            ProblemKind::Yaml { template: Template::No, .. } => {
                "correct the line (often indentation, a tab or a missing quote) and run again"
            }
            ProblemKind::Json { .. } | ProblemKind::JsonValue { .. } => {
                "correct it, or save the objects again with `kubectl get … -o json`"
            }
            ProblemKind::NotUtf8 { .. } => "convert the file to UTF-8 (`iconv -t utf-8`)",
            ProblemKind::ControlCharacter { byte: 0, .. } => {
                "if this is text, convert it to UTF-8 (`iconv -f utf-16 -t utf-8`)"
            }
            ProblemKind::ControlCharacter { .. } => {
                "remove the character, or escape it in double quotes, such as \"\\x7f\""
            }
            ProblemKind::Binary { .. } => {
                "unpack or convert it first; YAML and JSON are supported, also compressed with gzip"
            }
            ProblemKind::DuplicateKey { .. } => "remove one of the two",
            ProblemKind::NotJson { .. } => "quote the value, or write it as in JSON",
            ProblemKind::Bound { .. } => "split the input into smaller parts, or leave this one out",
            ProblemKind::Read { cause, .. } => match cause {
                ReadFailure::Permission => "make it readable (`chmod +r`), or leave it out",
                ReadFailure::TruncatedGzip => "the file is cut off; copy or save it again",
                ReadFailure::CorruptGzip => {
                    "the file is damaged (check with `gzip -t`); copy or save it again"
                }
                ReadFailure::Other => "make sure that the path is readable, and run again",
            },
            ProblemKind::SymlinkLoop { .. } => "remove the link, or pass the files",
            ProblemKind::NotAnObject { .. } => {
                "pass Kubernetes objects, as `kubectl get … -o yaml` or `-o json` prints them"
            }
            ProblemKind::Field { field, .. } => match field {
                Field::Kind | Field::ApiVersion => {
                    "pass Kubernetes objects, as `kubectl get … -o yaml` or `-o json` prints them"
                }
                Field::Name | Field::Namespace => {
                    "add it, in quotes if it looks like a number or a boolean (`\"1\"`, `\"on\"`)"
                }
                Field::GeneratedName => {
                    "the API server generates its name; pass the created object (`kubectl get … -o yaml`)"
                }
                Field::NameOfConfiguration => {
                    "this is a program's configuration, not a cluster object; leave it out, or pass its output (`kubectl kustomize DIR`)"
                }
            },
            ProblemKind::Incomplete { .. } => {
                "fetch the complete list: use `kubectl get … -o json` instead of `--raw` with a limit"
            }
            ProblemKind::Projection { .. } => {
                "correct the value, or save the object again with `kubectl get … -o yaml`"
            }
            ProblemKind::Refused { .. } => "correct it: the API server would refuse it",
            ProblemKind::OldVersion { .. } => {
                "correct it, or use the newer version (`replank scan` names it)"
            }
            ProblemKind::Duplicate { .. } => "remove the older one, or pass a single dump",
            ProblemKind::ApiError { .. } => "run the command that saved this again, and check its error",
        }
    }
}
