//! docs/findings.md, by finding.

use crate::report::{Color, Look, Page, Tone};

const PAGE: &str = include_str!("../../../../docs/findings.md");

/// Text that is not for a terminal of any width.
const UNWRAPPED: Look = Look { width: usize::MAX, color: Color::None };

/// What the page says of a finding.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Section {
    id: &'static str,
    body: &'static str,
}

/// All of them, as they stand on the page.
pub(super) fn sections() -> Vec<Section> {
    let parts = PAGE.split("\n## `").skip(1);
    parts
        .filter_map(|part| {
            let (id, body) = part.split_once("`\n")?;
            // A heading of a group of findings may follow.
            let body = body.split_once("\n# ").map_or(body, |(body, _)| body);
            Some(Section { id, body: body.trim() })
        })
        .collect()
}

/// The one of an id.
pub(crate) fn section(id: &str) -> Option<Section> {
    sections().into_iter().find(|section| section.id == id)
}

impl Section {
    pub(crate) fn id(&self) -> &'static str {
        self.id
    }

    /// As it stands on the page.
    pub(crate) fn markdown(&self) -> String {
        format!("## `{}`\n\n{}\n", self.id, self.body)
    }

    /// Without markup.
    pub(crate) fn text(&self) -> String {
        let mut page = Page::new(UNWRAPPED);
        self.write_at(&mut page, 0);
        page.into_text()
    }

    /// Without markup, on a page.
    pub(super) fn write(&self, page: &mut Page) {
        self.write_at(page, 2);
    }

    fn write_at(&self, page: &mut Page, indent: usize) {
        for paragraph in self.body.split("\n\n") {
            page.gap();
            if let Some(code) = paragraph.strip_prefix("```") {
                let lines = code.split_once('\n').map_or("", |(_, lines)| lines);
                page.verbatim(indent + 2, lines.trim_end_matches("```"), Tone::Note);
                continue;
            }
            let plain = without_links(&paragraph.replace(['`', '*'], ""));
            if plain.starts_with("- ") {
                for item in plain.split("\n- ") {
                    let item = item.trim_start_matches("- ").replace('\n', " ").replace("   ", " ");
                    page.wrapped(indent, &format!("- {item}"), Tone::Plain);
                }
            } else {
                page.wrapped(indent, &plain.replace('\n', " "), Tone::Plain);
            }
        }
    }
}

/// Links in words: a page beside this one is in docs, and a heading of this one is a finding's name.
fn without_links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, words, target, after)) = link(rest) {
        let file = target.split('#').next().unwrap_or_default();
        let place = if target.contains("://") { target.to_owned() } else { format!("docs/{file}") };
        out.push_str(before);
        out.push_str(&match file {
            "" => words.to_owned(),
            file if file == words => place,
            _ => format!("{words} ({place})"),
        });
        rest = after;
    }
    out + rest
}

/// The first link: what is before it, its words, where it leads, and what is behind it.
fn link(text: &str) -> Option<(&str, &str, &str, &str)> {
    let (before, rest) = text.split_once("](")?;
    let (target, after) = rest.split_once(')')?;
    let (before, words) = before.rsplit_once('[')?;
    Some((before, words, target, after))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_words_and_files() {
        for (markdown, text) in [
            ("none [here] (or there)", "none [here] (or there)"),
            (
                "[batch.md](batch.md#who) has it, and so has [the API](hpa.md).",
                "docs/batch.md has it, and so has the API (docs/hpa.md).",
            ),
            ("as [local-storage](#local-storage) says", "as local-storage says"),
            ("[krew](https://krew.sigs.k8s.io)", "krew (https://krew.sigs.k8s.io)"),
        ] {
            assert_eq!(without_links(markdown), text);
        }
        for section in sections() {
            assert!(!section.text().contains("]("), "{}", section.id);
        }
    }
}
