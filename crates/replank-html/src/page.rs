//! The frame of a page: its head, its policy, its styles and script, and its parts.

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use ring::digest::{SHA256, digest};

use crate::markup::Markup;

const STYLE: &str = include_str!("style.css");
const SCRIPT: &str = include_str!("page.js");

/// What a page is, and what is in it.
#[derive(Debug)]
pub(crate) struct Frame<'a> {
    /// The title, as the window shows it.
    pub(crate) title: &'a str,
    /// What kind of page it is.
    pub(crate) kind: &'a str,
    /// Its heading.
    pub(crate) heading: &'a str,
    /// What it is of: a snapshot, and when.
    pub(crate) of: &'a str,
    /// What comes first.
    pub(crate) first: Markup,
    /// All else.
    pub(crate) rest: Markup,
}

/// Nothing is fetched, and no style or script runs but the two that are in the program: each is named by its hash.
fn policy() -> String {
    let hash = |text: &str| format!("'sha256-{}'", BASE64_STANDARD.encode(digest(&SHA256, text.as_bytes())));
    format!(
        "default-src 'none'; style-src {}; script-src {}; base-uri 'none'; form-action 'none'",
        hash(STYLE),
        hash(SCRIPT)
    )
}

impl Frame<'_> {
    /// The page.
    pub(crate) fn into_page(self) -> String {
        let rest = self.rest.into_text();
        let mut out = Markup::default();
        out.raw("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n");
        out.open("meta", &[("http-equiv", "Content-Security-Policy"), ("content", &policy())]);
        out.raw("\n<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n");
        out.raw("<meta name=\"color-scheme\" content=\"light dark\">\n<meta name=\"referrer\" content=\"no-referrer\">\n");
        out.leaf("title", &[], self.title);
        out.raw("\n<style>");
        out.raw(STYLE);
        out.raw(
            "</style>\n</head>\n<body>\n<a class=\"skip\" href=\"#main\">Skip to the verdict</a>\n<header>",
        );
        out.leaf("p", &[("class", "kind")], self.kind);
        out.leaf("h1", &[], self.heading);
        out.leaf("p", &[("class", "of")], self.of);
        out.raw("</header>\n<main id=\"main\" tabindex=\"-1\">\n<div class=\"first\">");
        out.add(&self.first);
        out.raw("</div>\n<nav aria-label=\"Contents\"><ul>");
        for (id, title) in contents(&rest) {
            out.raw("<li>");
            out.leaf("a", &[("href", &format!("#{id}"))], &title);
            out.raw("</li>");
        }
        out.raw("</ul></nav>\n");
        let mut page = out.into_text();
        page.push_str(&rest);
        let mut end = Markup::default();
        end.raw("</main>\n<footer><p>Made by Replank. This file is complete: it loads nothing from the network.</p></footer>\n");
        end.raw("<p id=\"status\" class=\"unseen\" role=\"status\"></p>\n<script>");
        end.raw(SCRIPT);
        end.raw("</script>\n</body>\n</html>\n");
        page.push_str(&end.into_text());
        page
    }
}

/// Ids and headings of the sections, as [`section`] has written them.
fn contents(rest: &str) -> Vec<(String, String)> {
    rest.split("<section id=\"")
        .skip(1)
        .filter_map(|section| {
            let (id, section) = section.split_once('"')?;
            let title = section.split_once("<h2>")?.1.split_once("</h2>")?.0;
            Some((id.to_owned(), title.to_owned()))
        })
        .collect()
}

/// Begins a section.
pub(crate) fn section(id: &'static str, title: &'static str, beside: &str, out: &mut Markup) {
    out.open("section", &[("id", id), ("aria-labelledby", &format!("{id}-title"))]);
    out.open("div", &[("class", "title"), ("id", &format!("{id}-title"))]);
    out.leaf("h2", &[], title);
    if !beside.is_empty() {
        out.leaf("p", &[], beside);
    }
    out.raw("</div>\n");
}

/// Ends it.
pub(crate) fn end_section(out: &mut Markup) {
    out.raw("</section>\n");
}

/// Shows the words of all rows below it in their places; it works without the script.
pub(crate) fn toggle(out: &mut Markup) {
    out.raw(
        "<p class=\"toggle\"><input type=\"checkbox\" id=\"words\"> <label for=\"words\">Show every node's times and waits as text</label></p>",
    );
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_style_nor_script_ends_its_element_or_names_an_address() {
        for part in [STYLE, SCRIPT] {
            assert!(!part.contains("</") && !part.contains("<!--"), "{part}");
            for outside in ["http", "url(", "@import", "fetch(", "import("] {
                assert!(!part.contains(outside), "{outside}");
            }
        }
    }

    #[test]
    fn the_policy_allows_two_hashes_and_nothing_else() {
        let policy = policy();
        assert!(policy.starts_with("default-src 'none'; style-src 'sha256-"), "{policy}");
        assert!(!policy.contains("unsafe") && policy.matches("'sha256-").count() == 2, "{policy}");
    }
}
