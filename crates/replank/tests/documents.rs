//! README.md and README.ja.md are kept in step.

use std::path::Path;

fn page(name: &str) -> String {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two levels below the workspace");
    std::fs::read_to_string(root.join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
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

#[test]
fn every_link_to_a_file_leads_somewhere() {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("two levels below the workspace");
    for name in [
        "README.md",
        "README.ja.md",
        "CONTRIBUTING.md",
        "ARCHITECTURE.md",
        "examples/bad-ami/README.md",
        "examples/job-site/README.md",
        "examples/roles/README.md",
        "docs/audit.md",
        "docs/batch.md",
        "docs/scale.md",
        "docs/connections.md",
        "docs/script.md",
        "docs/check.md",
        "docs/hpa.md",
        "docs/findings.md",
        "docs/leftover.md",
        "docs/migrate.md",
        "docs/upgrade.md",
    ] {
        let text = page(name);
        let from = root.join(name);
        let from = from.parent().expect("a page lies in a directory");
        for link in links(&text).into_iter().filter(|link| !link.contains("://")) {
            let file = link.split_once('#').map_or(link, |(file, _)| file);
            assert!(from.join(file).exists(), "{name}: {link}");
        }
    }
}
