//! Files, directories, links, gzip, standard input.

use std::fs;
use std::io::{self, Read, Write as _};
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::GzEncoder;
use replank_intake::document::{Document, Found};
use replank_intake::limits::Limits;
use replank_intake::problem::{Lost, Problem, ProblemKind, ReadFailure};
use replank_intake::read::{Report, read};
use replank_intake::source::{Fatal, Source, WhyPassedOver};
use replank_oracle::tell::tell;

/// A directory that is removed at the end of its test.
struct Scratch(PathBuf);

impl Scratch {
    fn new(test: &str) -> Self {
        let path = std::env::temp_dir().join(format!("replank-intake-{}-{test}", std::process::id()));
        drop(fs::remove_dir_all(&path));
        fs::create_dir_all(&path).expect("the temporary directory can be written");
        Self(path)
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().expect("it is below the scratch directory")).expect("writable");
        fs::write(&path, content).expect("writable");
        path
    }

    #[cfg(unix)]
    fn link(&self, target: impl AsRef<Path>, name: &str) {
        std::os::unix::fs::symlink(target, self.0.join(name)).expect("links can be made");
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(fs::remove_dir_all(&self.0));
    }
}

fn gzip(content: impl AsRef<[u8]>) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(content.as_ref()).expect("memory takes all");
    encoder.finish().expect("memory takes all")
}

#[derive(Debug)]
struct Everything {
    documents: Vec<Document>,
    problems: Vec<Problem>,
    report: Report,
}

impl Everything {
    /// The value of `a` in each document.
    fn values(&self) -> Vec<u64> {
        self.documents.iter().filter_map(|document| document.value["a"].as_u64()).collect()
    }
}

fn everything(sources: Vec<Source>) -> Result<Everything, Fatal> {
    let (mut documents, mut problems) = (Vec::new(), Vec::new());
    let report = read(sources, &Limits::default(), &mut |found| match found {
        Found::Document(document) => documents.push(document),
        Found::List { .. } => {}
        Found::Problem(problem) => problems.push(problem),
    })?;
    Ok(Everything { documents, problems, report })
}

fn paths(paths: &[&Path]) -> Vec<Source> {
    paths.iter().map(|path| Source::Path(path.to_path_buf())).collect()
}

#[test]
fn a_directory_is_read_in_order_and_the_rest_is_passed_over() {
    let dir = Scratch::new("order");
    dir.write("b.yaml", "a: 2");
    dir.write("a.json", r#"{"a": 1}"#);
    dir.write("c.yml.gz", gzip("a: 3"));
    dir.write("d/z.JSON", r#"{"a": 4}"#);
    dir.write("d/e/y.yaml.gz", gzip("a: 5\n---\na: 6"));
    dir.write("README.md", "a: 7");
    dir.write(".hidden.yaml", "a: 8");
    dir.write(".git/x.yaml", "a: 9");
    dir.write("values.yaml.bak", "a: 10");
    let found = everything(paths(&[&dir.0])).expect("it can be read");
    // d/e/y.yaml.gz comes before d/z.JSON.
    assert_eq!(found.values(), [1, 2, 3, 5, 6, 4]);
    assert_eq!(found.problems, []);
    let passed: Vec<_> = found
        .report
        .passed_over
        .iter()
        .map(|passed| (passed.path.strip_prefix(&dir.0).expect("below").to_str().expect("ascii"), passed.why))
        .collect();
    assert_eq!(
        passed,
        [
            (".git", WhyPassedOver::Hidden),
            (".hidden.yaml", WhyPassedOver::Hidden),
            ("README.md", WhyPassedOver::Name),
            ("values.yaml.bak", WhyPassedOver::Name),
        ]
    );
    assert!(found.documents[0].source.ends_with("a.json"), "{}", found.documents[0].source);
}

#[test]
fn a_file_that_is_named_is_read_whatever_its_name() {
    let dir = Scratch::new("named");
    let one = dir.write("dump", "a: 1");
    let two = dir.write(".two", r#"{"a": 2}"#);
    let three = dir.write("three.yaml", gzip(r#"{"a": 3}"#));
    let four = dir.write("four.json.gz", "a: 4");
    let found = everything(paths(&[&one, &two, &three, &four])).expect("they can be read");
    assert_eq!(found.values(), [1, 2, 3, 4], "packing and format are told by content");
}

#[test]
fn a_file_is_read_once_by_whatever_name() {
    let dir = Scratch::new("once");
    let file = dir.write("a.yaml", "a: 1");
    let again = dir.0.join(".").join("a.yaml");
    let found = everything(paths(&[&file, &again, &dir.0])).expect("they can be read");
    assert_eq!(found.values(), [1]);
    assert_eq!(found.report.passed_over.len(), 2);
    assert!(found.report.passed_over.iter().all(|passed| passed.why == WhyPassedOver::ReadAlready));
}

#[test]
fn what_is_not_there_is_fatal() {
    let dir = Scratch::new("missing");
    let wrong = everything(paths(&[&dir.0.join("nope.yaml")])).expect_err("it is not there");
    let message = wrong.to_string();
    assert!(matches!(wrong, Fatal::NotFound { .. }), "{message}");
    assert!(message.contains("nope.yaml: no such file or directory: check the path"), "{message}");

    assert!(matches!(everything(Vec::new()), Err(Fatal::NoSource)));
    let twice = vec![Source::from_argument("-".as_ref()), Source::Stdin];
    assert!(matches!(everything(twice), Err(Fatal::StdinTwice)));
}

#[test]
fn a_directory_without_any_file_that_is_read_is_fatal() {
    let dir = Scratch::new("empty");
    let empty = everything(paths(&[&dir.0])).expect_err("nothing is in it");
    assert!(
        empty.to_string().ends_with("in this directory or below: pass the files, or another directory"),
        "{empty}"
    );
    dir.write("a.txt", "a: 1");
    dir.write("sub/b.txt", "a: 1");
    let empty = everything(paths(&[&dir.0])).expect_err("nothing of use is in it");
    assert!(empty.to_string().contains("a.txt and 1 more)"), "{empty}");
}

#[test]
fn an_empty_file_is_reported_as_such() {
    let dir = Scratch::new("nothing");
    let file = dir.write("a.yaml", "");
    let found = everything(paths(&[&file])).expect("it can be read");
    assert_eq!(found.report.empty_sources.len(), 1);
    let found = everything(vec![Source::bytes("b", gzip("# nothing"))]).expect("it can be read");
    assert_eq!(&*found.report.empty_sources[0], "b");
}

#[cfg(unix)]
#[test]
fn links_are_followed_and_loops_are_told() {
    let dir = Scratch::new("links");
    let elsewhere = Scratch::new("links-elsewhere");
    dir.write("a.yaml", "a: 1");
    elsewhere.write("b.yaml", "a: 2");
    dir.link(&elsewhere.0, "other");
    dir.link(&dir.0, "up");
    dir.link("a.yaml", "same.yaml");
    dir.link("nowhere", "dangling.yaml");
    dir.link("nowhere", "dangling.txt");
    dir.link("x.yaml", "y.yaml");
    dir.link("y.yaml", "x.yaml");
    let found = everything(paths(&[&dir.0])).expect("it can be read");
    assert_eq!(found.values(), [1, 2]);
    let mut told: Vec<_> = found.problems.iter().map(ToString::to_string).collect();
    told.sort();
    assert_eq!(told.len(), 4, "{told:#?}");
    assert!(told[0].contains("dangling.yaml: cannot be read: the symbolic link leads to nowhere, which"));
    assert!(told[1].contains("up: the symbolic link leads back to"), "{}", told[1]);
    // The operating system tells of links that lead to each other.
    assert!(told[2].contains("x.yaml: cannot be read:") && told[3].contains("y.yaml: cannot be read:"));
    assert!(found.problems.iter().all(|problem| problem.lost == Lost::Source));
}

#[cfg(unix)]
#[test]
fn a_mounted_config_map_is_read_once() {
    let dir = Scratch::new("mounted");
    dir.write("..2026_11_20/a.yaml", "a: 1");
    dir.link("..2026_11_20", "..data");
    dir.link("..data/a.yaml", "a.yaml");
    let found = everything(paths(&[&dir.0])).expect("it can be read");
    assert_eq!(found.values(), [1]);
}

#[cfg(unix)]
#[test]
fn a_file_without_permission_is_told_and_the_rest_is_read() {
    use std::os::unix::fs::PermissionsExt as _;
    let dir = Scratch::new("permission");
    let closed = dir.write("a.yaml", "a: 1");
    dir.write("b.yaml", "a: 2");
    fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).expect("it is ours");
    if fs::File::open(&closed).is_ok() {
        tell("skipped: this user (root?) may read every file");
        return;
    }
    let found = everything(paths(&[&dir.0])).expect("the other one can be read");
    assert_eq!(found.values(), [2]);
    let [problem] = found.problems.as_slice() else { panic!("one problem: {:?}", found.problems) };
    assert!(matches!(problem.kind, ProblemKind::Read { cause: ReadFailure::Permission, .. }), "{problem}");
    assert!(problem.to_string().contains("chmod"), "{problem}");
}

#[test]
fn directories_that_go_too_deep_are_told() {
    let dir = Scratch::new("deep");
    dir.write("a.yaml", "a: 1");
    dir.write("1/2/3/4/b.yaml", "a: 2");
    let limits = Limits { directory_depth_max: 3, ..Limits::default() };
    let mut values = Vec::new();
    let mut told = Vec::new();
    read(paths(&[&dir.0]), &limits, &mut |found| match found {
        Found::Document(document) => values.push(document.value["a"].as_u64()),
        Found::List { .. } => {}
        Found::Problem(problem) => told.push(problem.to_string()),
    })
    .expect("it can be read");
    assert_eq!(values, [Some(1)]);
    assert!(
        matches!(told.as_slice(), [one] if one.contains("the depth of directories exceeds the limit of 3 levels")),
        "{told:?}"
    );
}

#[test]
fn members_of_gzip_follow_each_other() {
    let mut both = gzip("a: 1\n---\n");
    both.extend(gzip("a: 2\n"));
    let found = everything(vec![Source::bytes("in", both)]).expect("it can be read");
    assert_eq!(found.values(), [1, 2]);
}

#[test]
fn gzip_that_ends_early_gives_what_is_whole_and_says_so() {
    let mut text = String::new();
    for a in 0..2000 {
        text.push_str(&format!("---\na: {a}\nnoise: \"{:x}\"\n", a * 0x9e37_79b9_u64));
    }
    let whole = gzip(&text);
    let whole_documents = everything(vec![Source::bytes("in", whole.clone())]).expect("readable").documents;
    for cut in [
        1,
        2,
        5,
        9,
        10,
        11,
        whole.len() / 3,
        whole.len() / 2,
        whole.len() - 9,
        whole.len() - 8,
        whole.len() - 1,
    ] {
        let found = everything(vec![Source::bytes("in", &whole[..cut])]).expect("readable");
        if cut < 2 {
            continue;
        }
        let [problem] = found.problems.as_slice() else { panic!("{cut}: {:?}", found.problems) };
        assert!(
            matches!(problem.kind, ProblemKind::Read { cause: ReadFailure::TruncatedGzip, .. }),
            "{cut}: {problem}"
        );
        assert!(
            found.documents.len() < 2000 && found.documents == whole_documents[..found.documents.len()],
            "{cut}"
        );
    }
}

#[test]
fn a_document_that_the_end_of_gzip_cuts_is_not_taken_for_whole() {
    // The text up to any cut is valid YAML, and is not what was written.
    let text = format!("a: 1\n---\na: 2\nb: [{}]\n", "1, 2, 3, ".repeat(20_000));
    let whole = gzip(&text);
    let found = everything(vec![Source::bytes("in", &whole[..whole.len() / 2])]).expect("readable");
    assert_eq!(found.values(), [1]);
    let json = gzip(format!("{{\"a\": 1}} {{\"a\": 2, \"b\": [{}]}}", "1, 2, 3, ".repeat(20_000)));
    let found = everything(vec![Source::bytes("in", &json[..json.len() / 2])]).expect("readable");
    assert_eq!(found.values(), [1]);
    assert_eq!(found.problems.len(), 1, "the cut is told once, not as broken json too: {:?}", found.problems);
    assert_eq!(found.problems[0].lost, Lost::RestOfSource);
}

#[test]
fn gzip_that_is_damaged_is_told() {
    let mut damaged = gzip("a: 1\n".repeat(1000) + "---\nb: 1\n");
    let middle = damaged.len() / 2;
    damaged[middle] ^= 0xff;
    let found = everything(vec![Source::bytes("in", damaged)]).expect("readable");
    let told: Vec<_> = found.problems.iter().map(ToString::to_string).collect();
    assert!(
        told.iter().any(|told| told.contains("gzip -t") || told.contains("the file ends too early")),
        "{told:?}"
    );
    let twice = gzip(gzip("a: 1"));
    let found = everything(vec![Source::bytes("in", twice)]).expect("readable");
    assert!(found.problems[0].to_string().contains("found gzip inside gzip"), "{:?}", found.problems);
}

/// Gives some text and then an error.
struct Breaks(io::Cursor<Vec<u8>>, io::ErrorKind);

impl Read for Breaks {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 => Err(io::Error::new(self.1, "the connection was reset")),
            read => Ok(read),
        }
    }
}

#[test]
fn an_error_while_reading_gives_what_came_before() {
    let text = b"a: 1\n---\na: 2\n---\na: 3\n".to_vec();
    let reader = Box::new(Breaks(io::Cursor::new(text), io::ErrorKind::ConnectionReset));
    let found = everything(vec![Source::Reader { name: "pipe".into(), reader }]).expect("readable");
    assert_eq!(found.values(), [1, 2], "the third may go on");
    assert_eq!(
        found.problems[0].to_string(),
        "pipe: document 3, line 6: cannot be read: the connection was reset; the rest of the input was left out: \
         make sure that the path is readable, and run again"
    );
}

#[cfg(unix)]
#[test]
fn pipes_are_passed_over_in_directories_and_read_when_named() {
    let dir = Scratch::new("pipe");
    dir.write("a.yaml", "a: 1");
    let pipe = dir.0.join("pipe.yaml");
    let made = std::process::Command::new("mkfifo").arg(&pipe).status();
    if !made.is_ok_and(|status| status.success()) {
        tell("skipped: mkfifo is not at hand");
        return;
    }
    let found = everything(paths(&[&dir.0])).expect("the file can be read");
    assert_eq!(found.values(), [1]);
    assert_eq!(found.report.passed_over[0].why, WhyPassedOver::NotAFile);
    let writer = std::thread::spawn({
        let pipe = pipe.clone();
        move || fs::write(pipe, "a: 7")
    });
    let found = everything(paths(&[&pipe])).expect("the pipe can be read");
    writer.join().expect("the writer ends").expect("the pipe takes the text");
    assert_eq!(found.values(), [7]);
}
