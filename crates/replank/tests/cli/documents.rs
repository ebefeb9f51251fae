//! README.md and README.ja.md are kept in step, links lead somewhere, every page is in the index, and every test that a promise names exists.

use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().nth(2).expect("two levels below the workspace").to_owned()
}

fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Headings' levels in order, and the code blocks whole; headings in code blocks are none.
fn outline(text: &str) -> (Vec<usize>, Vec<String>) {
    let (mut headings, mut blocks) = (Vec::new(), Vec::new());
    for (number, part) in text.split("```").enumerate() {
        if number % 2 == 1 {
            blocks.push(part.to_owned());
            continue;
        }
        let levels = part.lines().map(|line| line.chars().take_while(|letter| *letter == '#').count());
        headings.extend(levels.filter(|level| *level > 0));
    }
    (headings, blocks)
}

/// Where links lead, in order.
fn links(text: &str) -> Vec<&str> {
    let links = text.split("](").skip(1).filter_map(|rest| rest.split_once(')').map(|(target, _)| target));
    links.filter(|target| !target.starts_with("README")).collect()
}

#[test]
fn both_readmes_have_the_same_sections_code_and_links() {
    let (english, japanese) = (page("README.md"), page("README.ja.md"));
    let (headings, blocks) = outline(&english);
    assert!(headings.len() > 5 && blocks.len() > 2, "{headings:?}, {} blocks", blocks.len());
    assert_eq!(outline(&japanese), (headings, blocks));
    let bullets = |text: &str| text.lines().filter(|line| line.starts_with("- ")).count();
    assert_eq!(bullets(&japanese), bullets(&english));
    let sorted = |text| {
        let mut links = links(text);
        links.sort_unstable();
        links.into_iter().map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(sorted(&japanese), sorted(&english));
}

/// Every page: those at the top, and all below `docs`, `examples` and `scenarios`.
fn pages() -> Vec<String> {
    fn below(root: &Path, directory: &str, all: &mut Vec<String>) {
        for entry in std::fs::read_dir(root.join(directory)).expect("the directory is there") {
            let entry = entry.expect("an entry can be read");
            let name = entry.file_name().into_string().expect("names are UTF-8");
            let path = if directory.is_empty() { name } else { format!("{directory}/{name}") };
            if path.ends_with(".md") {
                all.push(path);
            } else if !directory.is_empty() && entry.path().is_dir() {
                below(root, &path, all);
            }
        }
    }
    let mut all = Vec::new();
    for directory in ["", "docs", "examples", "scenarios"] {
        below(&root(), directory, &mut all);
    }
    all.sort_unstable();
    all
}

#[test]
fn every_link_to_a_file_leads_somewhere() {
    let pages = pages();
    assert!(pages.len() > 30, "{pages:?}");
    for name in pages {
        let text = page(&name);
        let from = root().join(&name);
        let from = from.parent().expect("a page lies in a directory");
        for link in links(&text).into_iter().filter(|link| !link.contains("://")) {
            let file = link.split_once('#').map_or(link, |(file, _)| file);
            assert!(from.join(file).exists(), "{name}: {link}");
        }
    }
}

#[test]
fn every_page_of_the_documentation_is_in_its_index() {
    let index = page("docs/README.md");
    let listed = links(&index);
    for name in pages() {
        let Some(name) = name.strip_prefix("docs/").filter(|name| *name != "README.md") else { continue };
        assert!(listed.contains(&name), "docs/README.md lacks {name}");
    }
}

#[test]
fn every_example_has_a_page() {
    for entry in std::fs::read_dir(root().join("examples")).expect("the directory is there") {
        let path = entry.expect("an entry can be read").path();
        assert!(!path.is_dir() || path.join("README.md").exists(), "{} has no README.md", path.display());
    }
}

/// Every source file below a directory.
fn sources(directory: &Path, all: &mut Vec<String>) {
    for entry in std::fs::read_dir(directory).expect("the directory is there") {
        let path = entry.expect("an entry can be read").path();
        if path.is_dir() {
            sources(&path, all);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            all.push(std::fs::read_to_string(&path).expect("a source file can be read"));
        }
    }
}

#[test]
fn every_test_that_a_promise_names_is_there() {
    let mut all = Vec::new();
    sources(&root().join("crates"), &mut all);
    let promises = page("docs/promises.md");
    let is_test =
        |word: &&str| word.contains('_') && word.chars().all(|c| c.is_ascii_lowercase() || c == '_');
    let named: Vec<&str> = promises.split('`').skip(1).step_by(2).filter(is_test).collect();
    assert!(named.len() > 30, "{named:?}");
    for name in named {
        let head = format!("fn {name}(");
        assert!(
            all.iter().any(|text| text.contains(&head)),
            "docs/promises.md names {name}, which is not a test"
        );
    }
}
